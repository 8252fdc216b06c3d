"""The features that a whole column becomes, as ``Kind.features`` gives those of one cell."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from belated.arrays import Array, Bools
from belated.logs.cells import (
    Cells,
    each_word,
    with_gaps,
)
from belated.logs.kinds import AS_TEXT, DIGITS, Kind, calendar, word
from belated.logs.moments import read_moments
from belated.logs.numbers import read_answers, read_numbers, read_text
from belated.logs.numerals import NumberForm
from belated.logs.sources import arrow


def read_kind(column: Any, kind: Kind) -> Cells:
    """Return the cells of a column, read as what it becomes."""
    if kind.what == "text":
        return read_text(column)
    if kind.what == "yes or no" and kind.words != DIGITS:
        return read_answers(column, kind)
    if kind.what == "time":
        return read_moments(column, "calendar", kind.zone, kind.form)
    return read_numbers(column, cast("NumberForm", kind.form))


def features_of(kind: Kind, cells: Cells) -> dict[str, Array]:
    """Return the features that a column becomes, the same as ``Kind.features`` cell by cell."""
    if kind.what == "text":
        return {kind.name: cells.values}
    if kind.what == "time":
        columns = calendar(kind, cells.values)
        return {name: _with_gaps(column, cells.missing) for name, column in columns.items()}
    numbers = with_gaps(cells)
    if kind.what != "number and text":
        return {kind.name: numbers}
    words = each_word(arrow("reading a log").array(numbers, from_pandas=True), word, object)
    return {kind.name: numbers, kind.name + AS_TEXT: words}


def _with_gaps(column: Array, missing: Bools) -> Array:
    gapped = column.copy()
    gapped[missing] = np.nan if column.dtype.kind == "f" else None
    return gapped
