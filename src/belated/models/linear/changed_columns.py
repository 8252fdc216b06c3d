"""Named features that came late, or that have been missing for long."""

from __future__ import annotations

from typing import Any, NamedTuple

from belated.limits import MOST_COLUMNS
from belated.tables import Row

_FEWEST = 100  # rows
_SHOWN = 5  # names


class ChangedColumns(NamedTuple):
    """Names, with the first row of those that came late and the last of those that are gone."""

    new: dict[str, int]
    gone: dict[str, int]


def changed_columns(hasher: Any) -> ChangedColumns:
    """Return the names that came late with their first row, those that are gone with their last.

    Late is after a tenth of all rows and 100 of them; gone is what so many rows have been without.
    Rows are counted since the model was made or restored. Where there are very many names they are
    words rather than columns, and none is returned.

    >>> from belated.core.hashing import Hasher
    >>> hasher = Hasher(8, (), None)
    >>> for row in [{"hour": 7}] * 150 + [{"day": 1}] * 150:
    ...     _ = hasher.row(row)
    >>> changed_columns(hasher)
    ChangedColumns(new={'day': 150}, gone={'hour': 149})
    """
    names, rows = list(hasher.seen), hasher.rows_read
    if len(names) == MOST_COLUMNS:
        names = []
    least, current = max(_FEWEST, rows // 10), set(hasher.cached[: hasher.width])
    first, last = (
        dict(zip(names, numbers, strict=False)) for numbers in hasher.first_and_last.tolist()
    )
    return ChangedColumns(
        {name: row for name, row in first.items() if row >= least},
        {name: row for name, row in last.items() if name not in current and rows - row > least},
    )


def column_rows(new: dict[str, int], gone: dict[str, int]) -> list[Row]:
    """Return the rows of a report on columns, if there is anything to say."""
    told = (("new columns", "since row", new), ("gone columns", "last in row", gone))
    return [
        (
            title,
            f"{len(found):,}",
            ", ".join(f"{name} ({when} {row:,})" for name, row in [*found.items()][:_SHOWN]),
        )
        for title, when, found in told
        if found
    ]
