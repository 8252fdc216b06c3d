"""Words that mean nothing: those of a log of its own, and marks in a target of words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from belated.logs.cells import decoded, is_text
from belated.logs.kinds import NOTHING
from belated.logs.sources import arrow

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
