"""From rows to what a page shows: groups, means over seeds, series with bands, plain words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from belated.report import Series, Table
from belated.research.study.fits import Exponent, exponent
from belated.research.study.plan import Row

Rows = Sequence[Row]

BAND = "Lines are means over seeds, bands reach from the least to the largest."


def where(rows: Rows, **wanted: Any) -> list[Row]:
    """Return the rows with these values.

    >>> where([{"a": 1}, {"a": 2}], a=2)
    [{'a': 2}]
    """
    return [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]


def by(rows: Rows, *names: str) -> dict[Any, list[Row]]:
    """Group rows by one value, or by a tuple of several, in order of first appearance.

    >>> by([{"a": 1, "b": 0}, {"a": 2, "b": 0}], "a")
    {1: [{'a': 1, 'b': 0}], 2: [{'a': 2, 'b': 0}]}
    """
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        values = tuple(row[name] for name in names)
        groups.setdefault(values[0] if len(names) == 1 else values, []).append(row)
    return groups


def numbers(rows: Rows, name: str) -> list[float]:
    """Return the values of one column, without those that are missing."""
    return [float(row[name]) for row in rows if row.get(name) is not None]


def mean(rows: Rows, name: str) -> float | None:
    """Return the mean of a column, or None where it is empty."""
    values = numbers(rows, name)
    return sum(values) / len(values) if values else None


def means(rows: Rows, name: str, column: str = "regret") -> dict[str, float]:
    """Return the mean of a column by the values of another, where it is known."""
    found = {str(each): mean(group, column) for each, group in by(rows, name).items()}
    return {each: value for each, value in found.items() if value is not None}


Column = Callable[[Rows], str | float | None]
"""From the rows of one group to what stands in its cell."""


def mean_of(name: str, **wanted: Any) -> Column:
    """Return the column with the mean of those rows of a group that have these values."""
    return lambda rows: mean(where(rows, **wanted), name)


def means_table(rows: Rows, name: str, columns: Mapping[str, Column], caption: str) -> Table:
    """List the groups by one value of the rows, with these columns."""
    body = (
        (each, *(cell(some) for cell in columns.values())) for each, some in by(rows, name).items()
    )
    return Table((name, *columns), tuple(body), caption)


def line(name: str, rows: Rows, x: str, y: str, *, dashed: bool = False) -> Series:
    """Return the mean of ``y`` for every ``x``, with a band from the least to the largest seed."""
    groups = sorted((at, numbers(group, y)) for at, group in by(rows, x).items())
    points = [(float(at), values) for at, values in groups if values]
    return Series(
        name=name,
        x=tuple(at for at, _ in points),
        y=tuple(sum(values) / len(values) for _, values in points),
        low=None if dashed else tuple(min(values) for _, values in points),
        high=None if dashed else tuple(max(values) for _, values in points),
        dashed=dashed,
    )


def lines(rows: Rows, name: str, x: str, y: str) -> tuple[Series, ...]:
    """Return one line per value of the column ``name``."""
    return tuple(line(str(each), group, x, y) for each, group in by(rows, name).items())


def bars(name: str, groups: Iterable[Rows], column: str) -> Series:
    """Return the mean of a column for every group, with whiskers over the seeds.

    A group without any number has no bar.
    """
    values = [numbers(group, column) for group in groups]
    return Series(
        name=name,
        x=(),
        y=tuple(sum(each) / len(each) if each else None for each in values),
        low=tuple(min(each, default=None) for each in values),
        high=tuple(max(each, default=None) for each in values),
    )


def growth(rows: Rows, x: str, y: str) -> Exponent | None:
    """Fit the exponent with which ``y`` grows in ``x``; rows of one x differ in their seeds."""
    groups = sorted((at, numbers(group, y)) for at, group in by(rows, x).items())
    return exponent([at for at, _ in groups], [values for _, values in groups])


def least(names: Iterable[str], value: Callable[[str], float | None]) -> str | None:
    """Return the name with the least value, where any is known."""
    known = [(found, name) for name in names if (found := value(name)) is not None]
    return min(known)[1] if known else None


def short(value: float | None) -> str:
    """Write a number with three digits that count.

    >>> short(1234.5), short(0.012345), short(None)
    ('1,230', '0.0123', 'unknown')
    """
    if value is None:
        return "unknown"
    if abs(value) >= 100.0:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.3g}"


def percent(share: float) -> str:
    """Write a share in percent.

    >>> percent(0.1), percent(0.8125)
    ('10 %', '81 %')
    """
    return f"{100.0 * share:.0f} %"


def quoted(name: str | None) -> str:
    """Put a name into quotes that would be torn apart among others.

    >>> quoted("BOLD"), quoted("Ours, tight"), quoted(None)
    ('BOLD', "'Ours, tight'", 'nobody')
    """
    if name is None:
        return "nobody"
    return f"'{name}'" if "," in name else name


def listed(words: Sequence[str]) -> str:
    """Join words as a sentence does.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def counted(count: int, one: str, several: str | None = None) -> str:
    """Write a count with its noun.

    >>> counted(1, "cell"), counted(0, "cell")
    ('1 cell', '0 cells')
    """
    return f"{count} {one if count == 1 else several or one + 's'}"
