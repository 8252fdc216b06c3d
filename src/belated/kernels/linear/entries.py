"""Compiled entries for linear models, one set per loss.

The first four arguments are always the arrays of a model, ``f``, ``n``, ``c`` and ``pool``. Each
entry is compiled, or loaded from the cache on disk, when it is first asked for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from belated.arrays import Floats, Ints
from belated.kernels import tickets
from belated.kernels.jit import entry
from belated.kernels.linear import model as linear
from belated.kernels.linear.losses import is_label, of_loss
from belated.kernels.slots import status as S
from belated.kernels.stamps import stamp
from belated.kernels.vectors import vector

_FLOATS, _INTS = "float64[::1]", "int64[::1]"
_STATE = f"{_FLOATS}, {_INTS}, {_FLOATS}, {_FLOATS}"
_ROWS = f"{_INTS}, {_INTS}, {_FLOATS}"

Predict = Callable[[Floats, Ints, Floats, Floats, Ints, Floats, int], tuple[int, float]]
Observe = Callable[[Floats, Ints, Floats, Floats, int, float, float], int]
Cancel = Callable[[Floats, Ints, Floats, Floats, int], int]
PredictMany = Callable[[Floats, Ints, Floats, Floats, Ints, Ints, Floats, int, Floats], int]
ObserveMany = Callable[[Floats, Ints, Floats, Floats, Ints, Floats, Floats, Ints], None]
Replay = Callable[
    [
        Floats,
        Ints,
        Floats,
        Floats,
        Ints,
        Ints,
        Ints,
        Floats,
        int,
        Floats,
        Floats,
        int,
        Floats,
    ],
    int,
]
BadEntry = Callable[[int, Ints, Floats], int]
Find = Callable[[Floats, Ints, Ints, Ints], None]
BadLabel = Callable[[Floats], int]


@functools.cache
def predict(kind: int) -> Predict:
    """Return the entry (..., indices, values, count) -> (ticket or a refusal, prediction)."""
    code = (kind, stamp(__name__))

    def linear_predict(
        f: Floats, n: Ints, c: Floats, pool: Floats, indices: Ints, values: Floats, count: int
    ) -> tuple[int, float]:
        return linear.predict(
            of_loss(code),
            linear.state_of(f, n),
            vector(c),
            vector(pool),
            vector(indices),
            vector(values),
            0,
            count,
        )

    return entry(linear_predict, f"Tuple((int64, float64))({_STATE}, {_INTS}, {_FLOATS}, int64)")


@functools.cache
def peek(kind: int) -> Predict:
    """Return the entry (..., indices, values, count) -> (USED or a refusal, prediction)."""
    code = (kind, stamp(__name__))

    def linear_peek(
        f: Floats, n: Ints, c: Floats, pool: Floats, indices: Ints, values: Floats, count: int
    ) -> tuple[int, float]:
        return linear.peek(
            of_loss(code),
            linear.state_of(f, n),
            vector(c),
            vector(pool),
            vector(indices),
            vector(values),
            count,
        )

    return entry(linear_peek, f"Tuple((int64, float64))({_STATE}, {_INTS}, {_FLOATS}, int64)")


@functools.cache
def observe(kind: int) -> Observe:
    """Return the entry (..., ticket, label, weight) -> USED, DROPPED or a refusal."""
    code = (kind, stamp(__name__))

    def linear_observe(
        f: Floats, n: Ints, c: Floats, pool: Floats, ticket: int, label: float, weight: float
    ) -> int:
        return linear.observe(
            of_loss(code), linear.state_of(f, n), vector(c), vector(pool), ticket, label, weight
        )

    return entry(linear_observe, f"int64({_STATE}, int64, float64, float64)")


@functools.cache
def cancel() -> Cancel:
    """Return the entry (..., ticket) -> USED, DROPPED or a refusal."""
    sources = stamp(__name__)

    def linear_cancel(f: Floats, n: Ints, c: Floats, pool: Floats, ticket: int) -> int:
        s = linear.state_of(f, n)
        return linear.cancel(s, vector(c), vector(pool), ticket) if sources else S.UNKNOWN

    return entry(linear_cancel, f"int64({_STATE}, int64)")


@functools.cache
def predict_many(kind: int) -> PredictMany:
    """Return the entry (..., indptr, indices, values, first, out) -> rows done, from ``first`` on.

    It stops early when something must grow.
    """
    code = (kind, stamp(__name__))

    def linear_predict_many(
        f: Floats,
        n: Ints,
        c: Floats,
        pool: Floats,
        indptr: Ints,
        indices: Ints,
        values: Floats,
        first: int,
        out: Floats,
    ) -> int:
        s = linear.state_of(f, n)
        table, pairs = vector(c), vector(pool)
        places, numbers = vector(indices), vector(values)
        for row in range(first, indptr.size - 1):
            begin, count = indptr[row], indptr[row + 1] - indptr[row]
            ticket, value = linear.predict(
                of_loss(code), s, table, pairs, places, numbers, begin, count
            )
            if ticket < 0:
                return row
            out[row] = value
        return indptr.size - 1

    return entry(linear_predict_many, f"int64({_STATE}, {_ROWS}, int64, {_FLOATS})")


@functools.cache
def observe_many(kind: int) -> ObserveMany:
    """Return the entry (..., tickets, labels, weights, status), which writes what came of each."""
    code = (kind, stamp(__name__))

    def linear_observe_many(
        f: Floats,
        n: Ints,
        c: Floats,
        pool: Floats,
        tickets: Ints,
        labels: Floats,
        weights: Floats,
        status: Ints,
    ) -> None:
        s = linear.state_of(f, n)
        table, pairs = vector(c), vector(pool)
        for i in range(tickets.size):
            status[i] = linear.observe(
                of_loss(code), s, table, pairs, tickets[i], labels[i], weights[i]
            )

    return entry(linear_observe_many, f"void({_STATE}, {_INTS}, {_FLOATS}, {_FLOATS}, {_INTS})")


@functools.cache
def replay(kind: int) -> Replay:
    """Return the entry for a whole log.

    (..., events, indptr, indices, values, first_row, labels, weights, first_label, out) -> events
    done. Events are t for a prediction and ~t for a label; ticket t has row t - first_row, which
    is also where its prediction goes, and label t - first_label. It stops early when something
    must grow; everything else has been checked before.
    """
    code = (kind, stamp(__name__))

    def linear_replay(
        f: Floats,
        n: Ints,
        c: Floats,
        pool: Floats,
        events: Ints,
        indptr: Ints,
        indices: Ints,
        values: Floats,
        first_row: int,
        labels: Floats,
        weights: Floats,
        first_label: int,
        out: Floats,
    ) -> int:
        s = linear.state_of(f, n)
        table, pairs = vector(c), vector(pool)
        places, numbers = vector(indices), vector(values)
        for i in range(events.size):
            event = events[i]
            if event >= 0:
                row = event - first_row
                begin, count = indptr[row], indptr[row + 1] - indptr[row]
                status, value = linear.predict(
                    of_loss(code), s, table, pairs, places, numbers, begin, count
                )
                out[row] = value
            else:
                label = ~event - first_label
                y, weight = labels[label], weights[label]
                status = linear.observe(of_loss(code), s, table, pairs, ~event, y, weight)
            if status < 0:
                return i
        return events.size

    tail = f"int64, {_FLOATS}, {_FLOATS}, int64, {_FLOATS}"
    return entry(linear_replay, f"int64({_STATE}, {_INTS}, {_ROWS}, {tail})")


# --- Checks --------------------------------------------------------------------------------------


@functools.cache
def bad_entry() -> BadEntry:
    """Return the entry (coordinates, indices, values) -> first entry that is bad, or -1."""
    sources = stamp(__name__)

    def linear_bad_entry(coordinates: int, indices: Ints, values: Floats) -> int:
        count = indices.size if sources else 0
        return linear.bad_entry(coordinates, vector(indices), vector(values), 0, count)

    return entry(linear_bad_entry, f"int64(int64, {_INTS}, {_FLOATS})")


@functools.cache
def find() -> Find:
    """Return the entry (f, n, tickets, status): where each ticket is in the table, or a refusal."""
    sources = stamp(__name__)

    def linear_find(f: Floats, n: Ints, wanted: Ints, status: Ints) -> None:
        s = linear.state_of(f, n)
        for i in range(wanted.size if sources else 0):
            status[i] = tickets.locate(s, wanted[i])

    return entry(linear_find, f"void({_FLOATS}, {_INTS}, {_INTS}, {_INTS})")


@functools.cache
def bad_label(kind: int) -> BadLabel:
    """Return the entry (labels) -> the first one that the loss cannot use, or -1."""
    code = (kind, stamp(__name__))

    def linear_bad_label(labels: Floats) -> int:
        for i in range(labels.size):
            if not is_label(of_loss(code), labels[i]):
                return i
        return -1

    return entry(linear_bad_label, f"int64({_FLOATS})")
