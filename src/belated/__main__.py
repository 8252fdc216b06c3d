"""``python -m belated``."""

from __future__ import annotations

import sys

from belated.cli import main

if __name__ == "__main__":
    sys.exit(main())
