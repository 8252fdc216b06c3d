"""Arrow columns as they come, and what was read of them: values, gaps, and what means nothing.

What a cell cannot mean is not an error here: it is marked, and the reason can be asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from belated.arrays import Array, Bools
from belated.logs.kinds import NOTHING
from belated.logs.sources import arrow

FEW = 32
"""Up to this many cells are read one by one when they cannot be read at once."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Values of a column, which of them are missing, and which mean nothing."""

    values: Array
    missing: Bools
    bad: Bools
    source: Any
    reason: Callable[[str], str]

    def text(self, i: int) -> str:
        """Return a cell as it was given."""
        item = self.source[i].as_py()
        return "" if item is None else str(item)


def with_gaps(cells: Cells) -> Array:
    """Return numbers with NaN where there is none."""
    return np.where(cells.missing, np.nan, cells.values.astype(np.float64, copy=False))


def count_like(text: Any, pattern: str) -> int:
    """Return how many cells match."""
    import pyarrow.compute as pc

    return pc.sum(pc.match_substring_regex(text, pattern)).as_py() or 0


def is_mostly(text: Any, pattern: str) -> bool:
    """Whether more than half of all cells match."""
    return 2 * count_like(text, pattern) > len(text)


def each_word(text: Any, read: Callable[[str], Any], dtype: Any) -> Array:
    """Return what a function makes of every cell, called once for every different one."""
    coded = text.dictionary_encode()
    words = [*map(read, coded.dictionary.to_pylist())]
    values = np.array([*words, None if dtype is object else 0], dtype=dtype)
    return values[filled(coded.indices, len(words), np.int64)]


def by_halves(
    text: Any, kind: Any, one: Callable[[str], int | float | None]
) -> tuple[Array, Bools]:
    """Return text as numbers: all at once, or else by halves, and the last few one by one."""
    pa = arrow("reading a log")
    dtype = np.float64 if kind == pa.float64() else np.int64
    try:
        found = text.cast(kind)
    except pa.ArrowInvalid:
        if len(text) <= FEW:
            cells = [one(cell) for cell in text.to_pylist()]
            bad = np.array([cell is None for cell in cells])
            return np.array([cell or 0 for cell in cells], dtype=dtype), bad
        half = len(text) // 2
        left, right = by_halves(text[:half], kind, one), by_halves(text[half:], kind, one)
        return np.concatenate([left[0], right[0]]), np.concatenate([left[1], right[1]])
    plain = found.cast(pa.int64()) if pa.types.is_timestamp(kind) else found
    return plain.to_numpy(zero_copy_only=False), np.zeros(len(text), dtype=np.bool_)


def decoded(column: Any) -> Any:
    """Return an array without an encoding by dictionary, in one piece."""
    pa = arrow("reading a log")
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(pa.string()) if is_text(column) else column


def is_text(column: Any) -> bool:
    """Whether a column holds text."""
    types = arrow("reading a log").types
    kind = column.type
    tests = (types.is_string, types.is_large_string, types.is_string_view)
    return any(test(kind) for test in tests)


def blanked(column: Any, nothing: tuple[str, ...]) -> Any:
    """Return text without the space around it, and null where it says that nothing is there."""
    import pyarrow.compute as pc

    pa = arrow("reading a log")
    text = pc.utf8_trim_whitespace(column)
    words = pa.array(nothing)
    blank = pc.is_in(pc.utf8_lower(text), value_set=words)
    return pc.if_else(blank, pa.scalar(None, pa.string()), text)


def nulls(column: Any) -> Bools:
    """Return which cells are null."""
    if not column.null_count:
        return np.zeros(len(column), dtype=np.bool_)
    nulls: Bools = column.is_null().to_numpy(zero_copy_only=False).copy()
    return nulls


def filled(column: Any, filler: Any, dtype: Any) -> Array:
    """Return the values, with a filler where there are none."""
    full = column.fill_null(filler) if column.null_count else column
    values: Array = full.to_numpy(zero_copy_only=False)
    return values if dtype is None else values.astype(dtype, copy=False)


def nothing(column: Any, missing: Bools, dtype: Any, reason: str) -> Cells:
    """Return a column of which no cell means anything."""
    return Cells(np.zeros(len(column), dtype), missing, ~missing, column, lambda _: reason)


# ---- words that mean nothing: those of a log of its own, and marks in a target of words ----------

NO_WORD = "none"
"""A mark that is a word too: fraud or none."""


def small(words: Sequence[str]) -> tuple[str, ...]:
    """Return words as they are compared: in small letters, without space around them."""
    return tuple(dict.fromkeys(word.strip().lower() for word in words))


def without_words(batch: Any, words: tuple[str, ...]) -> Any:
    """Return rows in which cells that are one of these words, numbers or dates are empty."""
    for place, name in enumerate(batch.schema.names) if words else ():
        column = decoded(batch.column(place))
        blank = without(column, words) if is_text(column) else _without_values(column, words)
        batch = batch.set_column(place, name, blank)
    return batch


def without(column: Any, words: tuple[str, ...]) -> Any:
    """Return text in which cells that are one of these words are empty, and others as they are."""
    import pyarrow.compute as pc

    pa = arrow("reading a log")
    plain = pc.utf8_lower(pc.utf8_trim_whitespace(column))
    blank = pc.is_in(plain, value_set=pa.array(words, pa.string()))
    return pc.if_else(blank, pa.scalar(None, pa.string()), column)


def _without_values(column: Any, words: tuple[str, ...]) -> Any:
    """Return numbers or dates without those that the words are."""
    import pyarrow.compute as pc

    pa = arrow("reading a log")
    for word in words:
        try:
            value = pa.scalar(word).cast(column.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue  # this one is no such thing
        column = pc.if_else(pc.equal(column, value), pa.scalar(None, column.type), column)
    return column


def marks_of(column: Any) -> tuple[tuple[str, ...], Counter[str]]:
    """Return which marks mean nothing in a target, and how often each one is there.

    ``none`` is a word where only one other is there, as a yes or no has two.
    """
    column = decoded(column)
    if not is_text(column):
        return (), Counter()
    cells = Counter(cell.strip() for cell in column.to_pylist() if cell is not None)
    words = {cell for cell in cells if cell.lower() not in NOTHING}
    kept = NO_WORD if len(words) == 1 else None
    marks = tuple(mark for mark in NOTHING if mark != kept)
    return marks, Counter({cell: n for cell, n in cells.items() if cell and cell.lower() in marks})
