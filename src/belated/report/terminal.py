"""Text for a terminal."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import TextIO

WIDTH = 96
"""Columns of the text."""


def takes_tables(out: TextIO) -> bool:
    """Whether a person looks on, and ``rich`` is there to set colours and tables."""
    return out.isatty() and importlib.util.find_spec("rich") is not None


def aligned(rows: Sequence[Sequence[str]], *, numbers: bool = True) -> list[str]:
    """Return lines in which every column is as wide as its longest cell; numbers end together.

    >>> aligned([("a", "1"), ("long", "1,000,000")])
    ['a             1', 'long  1,000,000']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [f"{first:<{widths[0]}}"]
        for cell, width in zip(others, widths[1:], strict=True):
            cells.append(f"{cell:>{width}}" if numbers else f"{cell:<{width}}")
        lines.append("  ".join(cells).rstrip())
    return lines
