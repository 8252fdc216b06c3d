"""Small tables: aligned text for terminals, and HTML for notebooks."""

from __future__ import annotations

import dataclasses
import html
import json
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, TypeVar

_SHOWN = 10  # rows of columns
Row = tuple[str, ...]
"""The cells of a row: a name, a number and, perhaps, a remark."""
Kind = TypeVar("Kind")


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


def as_html(title: str, rows: Iterable[Sequence[Any]], heads: Sequence[str] = ()) -> str:
    """Return a table for notebooks; texts are shown as they are, also those with markup.

    >>> as_html("Forecast", [("ticket", 7)])
    '<table><caption>Forecast</caption><tr><th>ticket</th><td>7</td></tr></table>'
    """
    first = "".join(f"<th>{html.escape(head)}</th>" for head in heads)
    lines = [f"<tr>{first}</tr>"] if heads else []
    for name, *cells in rows:
        texts = "".join(f"<td>{html.escape(str(cell))}</td>" for cell in cells)
        lines.append(f"<tr><th>{html.escape(str(name))}</th>{texts}</tr>")
    return f"<table><caption>{html.escape(title)}</caption>{''.join(lines)}</table>"


def shown_as_table(kind: type[Kind]) -> type[Kind]:
    """Let notebooks show a kind of named tuple as a table of its fields."""

    def fields_html(given: Any) -> str:
        """Return a table for notebooks."""
        return as_html(kind.__name__, zip(given._fields, given, strict=True))

    kind._repr_html_ = fields_html  # type: ignore[attr-defined]
    return kind


def shown_as_columns(kind: type[Kind]) -> type[Kind]:
    """Let notebooks show a kind of named tuple of columns as a table of the first rows."""

    def columns_html(given: Any) -> str:
        """Return a table for notebooks."""
        title = f"{kind.__name__}, {len(given[0]):,} rows"
        return as_html(title, islice(zip(*given, strict=True), _SHOWN), given._fields)

    kind._repr_html_ = columns_html  # type: ignore[attr-defined]
    return kind


def report_html(model: Any) -> str:
    """Return what a model says of itself as a table, under its settings."""
    return as_html(repr(model).strip("<>"), model.report().rows())


class Table:
    """A dataclass that prints as a table: a subclass has ``rows`` of a name, a number, a remark."""

    __slots__ = ()

    def rows(self) -> list[Row]:
        """Return the rows."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        found: dict[str, Any] = dataclasses.asdict(self)  # type: ignore[call-overload]
        return found

    def to_json(self, indent: int | None = None) -> str:
        """Return the fields as JSON."""
        return json.dumps(self.to_dict(), indent=indent)

    def __str__(self) -> str:
        """Return a table that a person can read."""
        rows = self.rows()
        widths = [max(least, *(len(row[k]) for row in rows)) for k, least in enumerate((12, 10))]
        lines = (
            f"{name:<{widths[0]}}  {number:>{widths[1]}}   {'   '.join(remarks)}".rstrip()
            for name, number, *remarks in rows
        )
        return "\n".join(lines)

    def __repr__(self) -> str:
        """Return the same table."""
        return str(self)

    def _repr_html_(self) -> str:
        """Return the table for notebooks."""
        return as_html(type(self).__name__, self.rows())
