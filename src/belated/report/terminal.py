"""Text for a terminal."""

from __future__ import annotations

import importlib.util
from typing import TextIO

WIDTH = 96
"""Columns of the text."""


def takes_tables(out: TextIO) -> bool:
    """Whether a person looks on, and ``rich`` is there to set colours and tables."""
    return out.isatty() and importlib.util.find_spec("rich") is not None
