"""Every play and every reported number is what it was; ``pins`` says how digests are made."""

from __future__ import annotations

import json

from conftest import Python
from pins import differing, stored


def test_every_pin_is_as_it_was(python: Python) -> None:
    """All pins are computed in one interpreter without a compiler."""
    found = json.loads(python("pins.py", "--print", BELATED_INTERPRETED="1"))
    lines = differing(stored(), found)
    assert not lines, "\n".join([f"{len(lines)} pins differ:", *lines])
