"""The two events of delayed Vovk-Azoury-Warmuth regression, and a whole log of them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from belated.arrays import Floats, Ints
from belated.kernels.jit import entry, leaf
from belated.kernels.learners.sets import dot, norm_of
from belated.kernels.learners.state import State, view
from belated.kernels.learners.uses import of_lags
from belated.kernels.slots import code as C
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import status as S
from belated.kernels.slots import table as T
from belated.kernels.stamps import stamp
from belated.kernels.tickets import (
    close_without_answer,
    count_arrival,
    count_delay,
    has_room,
    locate,
    open_ticket,
    tail,
)
from belated.kernels.vectors import flat, vector
from belated.rivals.matrices import (
    STALE,
    add_outer,
    inverse_at,
    invert_sum,
    matrix_at,
    sum_at,
    times,
)

# Slots of ``own``; behind them b, M = the sum of all z z', and P = (RIDGE I + M)^-1.
RIDGE = 0  # lambda_t, rounded up to lambda_0 times a power of 2
DRIFT = 1  # sum of delta
WIDTHS = 2  # sum of the widths of open tickets
SQUARES = 3  # sum of squared widths
UPDATES = 4  # of P, since it was computed afresh
HEADER = 5

LEAST = F.MINE  # lambda_0; Y is MAGNITUDE, and GAIN what lambda grows by per unit of DRIFT

HUGE = 1e50
"""Features and labels beyond this could overflow products of three."""
_NOTHING = C.NOTHING  # nobody looks at lags here


@leaf
def _raise_ridge(s: State) -> None:
    """Let lambda follow DRIFT; a new P also gives open tickets their widths of now."""
    ridge = s.f[LEAST] + s.f[F.GAIN] * s.own[DRIFT]
    if ridge <= s.own[RIDGE] and s.own[UPDATES] < STALE:
        return
    while s.own[RIDGE] < ridge:
        s.own[RIDGE] *= 2.0
    k = s.z.size
    invert_sum(matrix_at(s, HEADER), 1.0, s.own[RIDGE], inverse_at(s, HEADER), k)
    s.own[UPDATES] = s.own[WIDTHS] = 0.0
    for place in range(tail(s)):
        if s.table[2 * place + 1] >= 0:
            record = s.kept[place * (k + 1) : (place + 1) * (k + 1)]
            times(inverse_at(s, HEADER), record[:k], s.p)
            record[k] = math.sqrt(max(0.0, dot(record[:k], s.p)))
            s.own[WIDTHS] += record[k]
    for i in range(k):
        s.p[i] = 0.0


@leaf
def _predict(s: State, features: Floats) -> tuple[int, float]:
    """Clip z' A^-1 b, A with this round and all before it; FULL: the table must grow first."""
    k = s.z.size
    if features.size != k or not norm_of(features) <= HUGE:
        return S.BAD, 0.0
    if not has_room(s):
        return S.FULL, 0.0
    _raise_ridge(s)
    times(inverse_at(s, HEADER), features, s.p)  # P z for the P without this round
    square = max(0.0, dot(features, s.p))
    shrink = 1.0 / (1.0 + square)
    value = dot(s.p, sum_at(s, HEADER)) * shrink  # z' P b for the P with it
    add_outer(inverse_at(s, HEADER), s.p, -shrink)
    add_outer(matrix_at(s, HEADER), features, 1.0)
    width = math.sqrt(square * shrink)
    s.own[DRIFT] += width * s.own[WIDTHS]
    s.own[SQUARES] += width * width
    s.own[WIDTHS] += width
    s.own[UPDATES] += 1.0
    ticket = s.n[N.ROUNDS]
    record = s.kept[open_ticket(s) * (k + 1) : s.kept.size]
    for i in range(k):
        record[i] = features[i]
        s.p[i] = 0.0
    record[k] = width
    bound = s.f[F.MAGNITUDE]
    return ticket, min(bound, max(-bound, value))


@leaf
def _leave(s: State, entry: int) -> None:
    """Count an arrival, and let its width go."""
    s.own[WIDTHS] = max(0.0, s.own[WIDTHS] - s.kept[entry * s.n[N.KEEP] + s.z.size])
    count_arrival(of_lags(_NOTHING), s, entry)
    if s.n[N.ROUNDS] == s.n[N.ARRIVED]:
        s.own[WIDTHS] = 0.0


@leaf
def _observe(s: State, ticket: int, label: float) -> int:
    """b += y z. Every check comes before the first change."""
    entry = locate(s, ticket)
    if entry < 0:
        return entry
    if not abs(label) <= HUGE:
        return S.BAD
    if abs(label) > s.f[F.MAGNITUDE] * F.SLACK:
        if s.n[N.STRICT]:
            return S.TOO_LARGE
        s.n[N.EXCESS] += 1
    total, record = sum_at(s, HEADER), s.kept[entry * s.n[N.KEEP] : s.kept.size]
    for i in range(s.z.size):
        total[i] += label * record[i]
    _leave(s, entry)
    count_delay(s, entry, N.MAX_DELAY)
    s.table[2 * entry + 1] = T.DEAD
    return S.USED


@leaf
def _cancel(s: State, ticket: int) -> int:
    """Close a ticket whose label will never come; its features stay in A."""
    entry = locate(s, ticket)
    if entry < 0:
        return entry
    _leave(s, entry)
    close_without_answer(s, entry, False)
    return S.USED


_FLOATS = "float64[::1]"
_STATE = f"{_FLOATS}, int64[::1]"


@functools.cache
def predict() -> Callable[[Floats, Ints, Floats], tuple[int, float]]:
    """Return the entry (f, n, features) -> (ticket or a refusal, prediction)."""
    sources = stamp(__name__)

    def vaw_predict(f: Floats, n: Ints, features: Floats) -> tuple[int, float]:
        return _predict(view(f, n), vector(features)) if sources else (S.UNKNOWN, 0.0)

    return entry(vaw_predict, f"Tuple((int64, float64))({_STATE}, {_FLOATS})")


@functools.cache
def observe() -> Callable[[Floats, Ints, int, float], int]:
    """Return the entry (f, n, ticket, label) -> USED or a refusal."""
    sources = stamp(__name__)

    def vaw_observe(f: Floats, n: Ints, ticket: int, label: float) -> int:
        return _observe(view(f, n), ticket, label) if sources else S.UNKNOWN

    return entry(vaw_observe, f"int64({_STATE}, int64, float64)")


@functools.cache
def cancel() -> Callable[[Floats, Ints, int], int]:
    """Return the entry (f, n, ticket) -> USED or a refusal."""
    sources = stamp(__name__)

    def vaw_cancel(f: Floats, n: Ints, ticket: int) -> int:
        return _cancel(view(f, n), ticket) if sources else S.UNKNOWN

    return entry(vaw_cancel, f"int64({_STATE}, int64)")


@functools.cache
def replay() -> Callable[[Floats, Ints, Ints, Floats, Floats, int, Floats], int]:
    """Return the entry (f, n, events, rows, labels, first, values) -> events done.

    Ticket first + i has row i, label i and value i; a count below the number of events points at
    the one that was refused.
    """
    sources = stamp(__name__)

    def vaw_replay(
        f: Floats, n: Ints, events: Ints, rows: Floats, labels: Floats, first: int, values: Floats
    ) -> int:
        s, given, k = view(f, n), flat(rows), rows.shape[1]
        for i in range(events.size if sources else 0):
            place = (events[i] if events[i] >= 0 else ~events[i]) - first
            if events[i] >= 0:
                status, value = _predict(s, given[place * k : (place + 1) * k])
                if status >= 0:
                    values[place] = value
            else:
                status = _observe(s, ~events[i], labels[place])
            if status < 0:
                return i
        return events.size

    return entry(
        vaw_replay,
        f"int64({_STATE}, int64[::1], float64[:, ::1], {_FLOATS}, int64, {_FLOATS})",
    )
