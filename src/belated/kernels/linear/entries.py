"""Compiled entries for linear models, one set per loss.

The first four arguments are always the arrays of a model, ``f``, ``n``, ``c`` and ``pool``. Each
entry is compiled, or loaded from the cache on disk, when it is first asked for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from belated.arrays import Code, Floats, Ints
from belated.kernels import tickets
from belated.kernels.jit import entry
from belated.kernels.linear import layout as lm
from belated.kernels.linear import model as linear
from belated.kernels.linear import rows, undo
from belated.kernels.linear.losses import is_label, of_loss
from belated.kernels.slots import status as S
from belated.kernels.stamps import stamp
from belated.kernels.vectors import vector

_FLOATS, _INTS = "float64[::1]", "int64[::1]"
_STATE = f"{_FLOATS}, {_INTS}, {_INTS}, {_FLOATS}"
_ROWS = f"{_INTS}, {_INTS}, {_FLOATS}"


@functools.cache
def predict(code: Code) -> Callable[..., tuple[int, float]]:
    """Return the entry (..., indices, values, count, at, span) -> (ticket or less, prediction)."""
    stamped = (*code, stamp(__name__))

    def linear_predict(
        f: Floats,
        n: Ints,
        c: Ints,
        pool: Floats,
        indices: Ints,
        values: Floats,
        count: int,
        at: float,
        span: float,
    ) -> tuple[int, float]:
        s, table, pairs = rows.state_of(f, n), vector(c), vector(pool)
        places, numbers = vector(indices), vector(values)
        return linear.predict(
            linear.of_all(stamped), s, table, pairs, places, numbers, 0, count, at, span
        )

    row = f"{_INTS}, {_FLOATS}, int64"
    return entry(linear_predict, f"Tuple((int64, float64))({_STATE}, {row}, float64, float64)")


@functools.cache
def peek(code: Code) -> Callable[..., tuple[int, float]]:
    """Return the entry (..., indices, values, count) -> (USED or a refusal, prediction)."""
    stamped = (*code, stamp(__name__))

    def linear_peek(
        f: Floats, n: Ints, c: Ints, pool: Floats, indices: Ints, values: Floats, count: int
    ) -> tuple[int, float]:
        s, table, pairs = rows.state_of(f, n), vector(c), vector(pool)
        places, numbers = vector(indices), vector(values)
        return linear.peek(linear.of_all(stamped), s, table, pairs, places, numbers, count)

    return entry(linear_peek, f"Tuple((int64, float64))({_STATE}, {_INTS}, {_FLOATS}, int64)")


@functools.cache
def peek_many(code: Code) -> Callable[..., int]:
    """Return the entry (..., indptr, indices, values, first, out) -> rows done.

    It begins with row ``first``, and stops early when something must grow.
    """
    stamped = (*code, stamp(__name__))

    def linear_peek_many(
        f: Floats,
        n: Ints,
        c: Ints,
        pool: Floats,
        indptr: Ints,
        indices: Ints,
        values: Floats,
        first: int,
        out: Floats,
    ) -> int:
        s, table, pairs = rows.state_of(f, n), vector(c), vector(pool)
        for row in range(first, indptr.size - 1):
            begin, end = indptr[row], indptr[row + 1]
            places, numbers = vector(indices)[begin:end], vector(values)[begin:end]
            status, value = linear.peek(
                linear.of_all(stamped), s, table, pairs, places, numbers, end - begin
            )
            if status < 0:
                return row
            out[row] = value
        return indptr.size - 1

    return entry(linear_peek_many, f"int64({_STATE}, {_ROWS}, int64, {_FLOATS})")


@functools.cache
def observe_first(code: Code) -> Callable[..., int]:
    """Return the entry (..., ticket, label, weight, saved, marks) -> USED, DROPPED or a refusal.

    See ``undo``.
    """
    stamped = (*code, stamp(__name__))

    def linear_observe_first(
        f: Floats,
        n: Ints,
        c: Ints,
        pool: Floats,
        ticket: int,
        label: float,
        weight: float,
        saved: Floats,
        marks: Ints,
    ) -> int:
        s, table, pairs = rows.state_of(f, n), vector(c), vector(pool)
        numbers, words = vector(saved), vector(marks)
        return undo.observe_first(
            linear.of_all(stamped), s, table, pairs, ticket, label, weight, numbers, words
        )

    tail = f"int64, float64, float64, {_FLOATS}, {_INTS}"
    return entry(linear_observe_first, f"int64({_STATE}, {tail})")


@functools.cache
def take_back() -> Callable[..., None]:
    """Return the entry (..., saved, marks), which undoes ``observe_first``."""
    sources = stamp(__name__)

    def linear_take_back(
        f: Floats, n: Ints, c: Ints, pool: Floats, saved: Floats, marks: Ints
    ) -> None:
        if sources:
            undo.take_back(rows.state_of(f, n), vector(c), vector(saved), vector(marks))

    return entry(linear_take_back, f"void({_STATE}, {_FLOATS}, {_INTS})")


@functools.cache
def tick() -> Callable[..., None]:
    """Return the entry (..., at), which lets the clock go on."""
    sources = stamp(__name__)

    def linear_tick(f: Floats, n: Ints, c: Ints, pool: Floats, at: float) -> None:
        if sources:
            linear.tick(rows.state_of(f, n), vector(c), vector(pool), at)

    return entry(linear_tick, f"void({_STATE}, float64)")


@functools.cache
def cancel() -> Callable[..., int]:
    """Return the entry (..., ticket) -> USED, DROPPED or a refusal."""
    sources = stamp(__name__)

    def linear_cancel(f: Floats, n: Ints, c: Ints, pool: Floats, ticket: int) -> int:
        s = rows.state_of(f, n)
        return linear.cancel(s, vector(c), vector(pool), ticket) if sources else S.UNKNOWN

    return entry(linear_cancel, f"int64({_STATE}, int64)")


@functools.cache
def observe_many(code: Code) -> Callable[..., None]:
    """Return the entry (..., tickets, labels, weights, lasts), for labels that were checked.

    A label that is not the last word leaves its ticket open.
    """
    stamped = (*code, stamp(__name__))

    def linear_observe_many(
        f: Floats,
        n: Ints,
        c: Ints,
        pool: Floats,
        tickets: Ints,
        labels: Floats,
        weights: Floats,
        lasts: Ints,
    ) -> None:
        s, table, pairs = rows.state_of(f, n), vector(c), vector(pool)
        for i in range(tickets.size):
            y, weight, is_last = labels[i], weights[i], lasts[i] != 0
            linear.observe(linear.of_all(stamped), s, table, pairs, tickets[i], y, weight, is_last)

    tail = f"{_INTS}, {_FLOATS}, {_FLOATS}, {_INTS}"
    return entry(linear_observe_many, f"void({_STATE}, {tail})")


@functools.cache
def replay(code: Code) -> Callable[..., int]:
    """Return the entry for a whole log.

    (..., events, indptr, indices, values, first_row, labels, weights, first_label, times, spans,
    out) -> events done. Events are t for a prediction and ~t for a label; ticket t has row
    t - first_row, which is also where its prediction goes, and label t - first_label. ``times`` has
    one per event, ``spans`` one per row, or each one for all. It stops early when something must
    grow; everything else has been checked before.
    """
    stamped = (*code, stamp(__name__))

    def linear_replay(
        f: Floats,
        n: Ints,
        c: Ints,
        pool: Floats,
        events: Ints,
        indptr: Ints,
        indices: Ints,
        values: Floats,
        first_row: int,
        labels: Floats,
        weights: Floats,
        first_label: int,
        times: Floats,
        spans: Floats,
        out: Floats,
    ) -> int:
        s, table, pairs = rows.state_of(f, n), vector(c), vector(pool)
        places, numbers = vector(indices), vector(values)
        for i in range(events.size):
            event, at = events[i], times[min(i, times.size - 1)]
            if event >= 0:
                row = event - first_row
                begin, count = indptr[row], indptr[row + 1] - indptr[row]
                span = spans[min(row, spans.size - 1)]
                status, value = linear.predict(
                    linear.of_all(stamped), s, table, pairs, places, numbers, begin, count, at, span
                )
                if status < 0:
                    return i
                out[row] = value
            else:  # refused where the ticket was given up on so long ago that it was forgotten
                label = ~event - first_label
                y, weight = labels[label], weights[label]
                if stamped[lm.TIMED] and at == at:
                    linear.tick(s, table, pairs, at)
                linear.observe(linear.of_all(stamped), s, table, pairs, ~event, y, weight, True)
        return events.size

    tail = f"int64, {_FLOATS}, {_FLOATS}, int64, {_FLOATS}, {_FLOATS}, {_FLOATS}"
    return entry(linear_replay, f"int64({_STATE}, {_INTS}, {_ROWS}, {tail})")


# --- Checks --------------------------------------------------------------------------------------


@functools.cache
def bad_entry() -> Callable[..., int]:
    """Return the entry (coordinates, indices, values) -> first entry that is bad, or -1."""
    sources = stamp(__name__)

    def linear_bad_entry(coordinates: int, indices: Ints, values: Floats) -> int:
        count = indices.size if sources else 0
        return rows.bad_entry(coordinates, vector(indices), vector(values), 0, count)

    return entry(linear_bad_entry, f"int64(int64, {_INTS}, {_FLOATS})")


@functools.cache
def find() -> Callable[..., None]:
    """Return the entry (f, n, tickets, status): where each ticket is in the table, or a refusal."""
    sources = stamp(__name__)

    def linear_find(f: Floats, n: Ints, wanted: Ints, status: Ints) -> None:
        s = rows.state_of(f, n)
        for i in range(wanted.size if sources else 0):
            status[i] = tickets.locate(s, wanted[i])

    return entry(linear_find, f"void({_FLOATS}, {_INTS}, {_INTS}, {_INTS})")


@functools.cache
def bad_label(kind: int) -> Callable[..., int]:
    """Return the entry (labels) -> the first one that the loss cannot use, or -1."""
    code = (kind, stamp(__name__))

    def linear_bad_label(labels: Floats) -> int:
        for i in range(labels.size):
            if not is_label(of_loss(code), labels[i]):
                return i
        return -1

    return entry(linear_bad_label, f"int64({_FLOATS})")
