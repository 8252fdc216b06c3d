"""Numbers that stand for "no answer" in a column of times: 0 and -1.

In counts since 1970 that is told by the others, which are all dates of this century. Plain numbers
tell it where so many answers would precede every question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from belated.arrays import Array
from belated.logs.cells import decoded
from belated.logs.dates import are_stamps
from belated.logs.moments import kind_of
from belated.logs.numbers import numbers
from belated.logs.rules import TIME_NAMES, epoch_of, plain_name
from belated.logs.sources import arrow

MARKS = (0.0, -1.0)
LEAST = 2
"""Rows of counts since 1970 that have the same mark."""
SHARE = 0.1
"""Least share of such rows among plain numbers."""


def marks_in(sample: Any) -> dict[str, float]:
    """Return what stands for nothing in columns that are called times and count since 1970."""
    found = {}
    for name in sample.schema.names:
        if not re.search(TIME_NAMES, plain_name(name)):
            continue
        values = _values(sample.column(name))
        for mark in MARKS:
            others = values[values != mark]
            if len(values) - len(others) >= LEAST and _are_dates(others):
                found[name] = mark
    return found


def mark_before(sample: Any, predicted: str, observed: str) -> float | None:
    """Return what stands for nothing among plain numbers, as it precedes all that was asked."""
    asked, answers = _values(sample.column(predicted)), _values(sample.column(observed))
    if not len(asked):
        return None
    early = answers[answers < asked.min()]
    is_one = len(early) >= SHARE * sample.num_rows and len(np.unique(early)) == 1
    return float(early[0]) if len(early) and is_one and early[0] in MARKS else None


def without(batch: Any, marks: Mapping[str, float]) -> Any:
    """Return rows in which what stands for nothing is nothing."""
    import pyarrow.compute as pc

    pa = arrow("reading a log")
    for name, mark in marks.items():
        place = batch.schema.get_field_index(name)
        column = decoded(batch.column(place))
        is_mark = pa.array(~_is_gap(column) & (_cells(column) == mark))
        blank = pc.if_else(is_mark, pa.scalar(None, column.type), column)
        batch = batch.set_column(place, name, blank)
    return batch


def count(batch: Any, name: str, mark: float) -> int:
    """Return in how many rows a mark stands."""
    return int(np.count_nonzero(_values(batch.column(name)) == mark))


def _are_dates(values: Array) -> bool:
    return epoch_of(values) is not None or are_stamps(values)


def _values(column: Any) -> Array:
    """Return the numbers of a column; none where it holds none."""
    column = decoded(column)
    if kind_of(column) not in ("whole", "number"):
        return np.empty(0)
    return _cells(column)[~_is_gap(column)]


def _cells(column: Any) -> Array:
    return numbers(column, np.float64, never=True).values


def _is_gap(column: Any) -> Array:
    cells = numbers(column, np.float64, never=True)
    return cells.missing | cells.bad
