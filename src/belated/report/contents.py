"""The contents of a page, as plain values: questions, figures, answers and tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from belated.errors import SpecError
from belated.report.figures import Figure

Entry: TypeAlias = str | float | int | None


@dataclass(frozen=True)
class Table:
    """Named columns over rows of text and numbers; None is a cell without a value.

    >>> Table(("method", "regret"), (("OMD", 12.5), ("DMD", math.inf)))
    Traceback (most recent call last):
        ...
    belated.errors.SpecError: Table: 'regret' must be text, a finite number or None, got inf
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    caption: str = ""

    def __post_init__(self) -> None:
        """Check that every row has one cell per column, of a kind that can be shown."""
        if not self.columns:
            raise SpecError("Table: columns must not be empty, got none")
        for row in self.rows:
            if len(row) != len(self.columns):
                raise SpecError(
                    f"Table: a row must have {len(self.columns)} cells like columns, got {len(row)}"
                )
            for column, cell in zip(self.columns, row, strict=True):
                if not _can_be_shown(cell):
                    raise SpecError(
                        f"Table: {column!r} must be text, a finite number or None, got {cell!r}"
                    )


@dataclass(frozen=True)
class Section:
    """A question, the figure that answers it, what the figure says, and the numbers behind it."""

    question: str
    figure: Figure | None
    says: str
    table: Table | None = None


@dataclass(frozen=True)
class Page:
    """A page that is read from top to bottom.

    ``reproduce`` is what to type for the same page, where that is known. ``facts`` are what it was
    made from: version, seeds and whatever else a reader needs to believe it.
    """

    title: str
    lead: str
    sections: tuple[Section, ...]
    reproduce: str
    facts: Mapping[str, str]
    numbers: tuple[tuple[str, str], ...] = ()
    """The main results of the page: a number or a few words each, and what it is."""


def _can_be_shown(cell: object) -> bool:
    if isinstance(cell, bool):  # would read as 0 or 1
        return False
    if isinstance(cell, int | float):
        return math.isfinite(cell)
    return cell is None or isinstance(cell, str)
