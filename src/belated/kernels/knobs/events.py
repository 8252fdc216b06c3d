"""The events of knobs: a play, a cost, a ticket closed without one, and what was really played."""

from __future__ import annotations

import math

from belated.arrays import Floats
from belated.kernels.jit import leaf, limb
from belated.kernels.knobs import layout as L
from belated.kernels.knobs.answers import enqueue, learn_waiting, pack
from belated.kernels.knobs.clock import advance, forget, has_clock, past_due, set_due
from belated.kernels.knobs.constraints import check_rounded, go_inside, shorten
from belated.kernels.knobs.history import record
from belated.kernels.knobs.holdout import compare, is_compared
from belated.kernels.knobs.thompson import propose, settle
from belated.kernels.knobs.views import Views, views_of
from belated.kernels.slots import code as C
from belated.kernels.slots import ints as N
from belated.kernels.slots import status as S
from belated.kernels.slots import table as T
from belated.kernels.state import State
from belated.kernels.tickets import (
    close_without_answer,
    count_arrival,
    count_delay,
    forget_ghosts,
    has_room,
    is_ghost,
    lay_ghost,
    locate,
    of_lags,
    open_ticket,
    overdue,
)


@limb
def _settle(s: State, v: Views, is_free: bool) -> None:
    """Bring x to where settings can be; unless it is free, within a step of the last play."""
    if s.n[L.LIMITS] > 0:
        for i in range(v.k):
            v.low[i] = -1.0
            v.high[i] = 1.0
        go_inside(v, s.n)
        if not is_free:
            shorten(v)
    settle(v, is_free)
    if s.n[L.LIMITS] > 0:
        check_rounded(v, s.n, v.start if is_free else v.last)


@leaf
def _play(s: State, v: Views) -> None:
    """Write the next play to x, and its arm to f."""
    f, t = s.f, s.n[N.ROUNDS]
    if f[L.MODE] != L.LEARNING:
        f[L.ARM] = float(L.ASIDE)
    elif t % int(f[L.HOLD]) == 0 or f[L.FRESH] > 0.0:
        propose(v, s.n, t, False)
        _settle(s, v, False)
        f[L.ARM] = float(L.START if v.random[0] < f[L.HOLDOUT] else L.LEARNER)
        if f[L.ARM] == L.LEARNER:
            for i in range(v.k):
                v.last[i] = v.x[i]
    is_start = f[L.MODE] == L.REVERTED or f[L.ARM] == L.START
    for i in range(v.k):
        v.x[i] = v.start[i] if is_start else v.last[i]
    f[L.FRESH] = 0.0


@limb
def _predict(s: State, context: Floats, out: Floats) -> int:
    """Open the next ticket and write its play."""
    f = s.f
    v = views_of(f, s.n)
    for i in range(v.context.size):
        v.context[i] = math.floor((context[i] + 1.0) * L.GRID + 0.5) / L.GRID - 1.0
    _play(s, v)
    entry = open_ticket(s)
    at = entry * s.n[N.KEEP]
    if has_clock(s.n):
        set_due(s, entry)
    s.kept[at + L.LEARNED] = math.nan
    s.kept[at + L.SO_FAR] = math.nan
    s.kept[at + L.ITS_ARM] = f[L.ARM] if f[L.HOLDOUT] > 0.0 else float(L.ASIDE)
    pack(v.context, s.kept, pack(v.x, s.kept, at + L.OF_TICKET))
    for i in range(v.k):
        out[i] = v.x[i]
    return s.table[2 * entry]


@leaf
def _best(s: State, ticket: int, context: Floats, out: Floats) -> int:
    """Write the setting that seems best in a context, or the one that a ticket would draw."""
    v = views_of(s.f, s.n)
    for i in range(v.context.size):
        v.context[i] = context[i]
    propose(v, s.n, ticket if ticket >= 0 else s.n[N.ROUNDS], ticket < 0)
    _settle(s, v, True)
    for i in range(v.k):
        out[i] = v.x[i]
    return S.USED


@leaf
def _correct_place(s: State, entry: int, verb: int, given: Floats) -> int:
    """Replace the place of a ticket without a cost by what was really played; steps count from it.

    A place that constraints forbid is learned as it was, and steps count from the nearest allowed.
    """
    v, at, ticket = views_of(s.f, s.n), entry * s.n[N.KEEP], s.table[2 * entry]
    if s.kept[at + L.SO_FAR] == s.kept[at + L.SO_FAR]:
        return S.OUT_OF_ORDER
    for i in range(v.k):
        v.x[i] = given[i]
    settle(v, True)
    pack(v.x, s.kept, at + L.OF_TICKET)
    if ticket == s.n[N.ROUNDS] - 1 and s.f[L.ARM] == L.LEARNER:
        if s.n[L.LIMITS] > 0:
            _settle(s, v, True)
        for i in range(v.k):
            v.last[i] = v.x[i]
    if verb == L.OVERRIDDEN:  # the coin had no part in it
        s.kept[at + L.ITS_ARM] = float(L.ASIDE)
    return S.USED


@limb
def _hear(s: State, entry: int, cost: float, is_last: bool) -> bool:
    """Learn the cost of an open ticket; NaN: it stays what it was. Tell whether it has one."""
    f, at, ticket = s.f, entry * s.n[N.KEEP], s.table[2 * entry]
    so_far = s.kept[at + L.SO_FAR]
    is_news = cost == cost and cost != so_far
    if is_news:
        f[L.CORRECTED] += 1.0 if so_far == so_far else 0.0
        s.kept[at + L.SO_FAR] = cost
        so_far = cost
    is_known = so_far == so_far
    if is_news or (is_last and is_known):
        enqueue(s, entry, is_last)
    learn_waiting(s)
    if is_last and is_known:
        arm = s.kept[at + L.ITS_ARM]
        record(f, ticket, arm, so_far)
        if is_compared(f, ticket):
            compare(f, arm, so_far)
    return is_known


@limb
def _close(s: State, entry: int, is_skipped: bool) -> None:
    """Close a ticket that has no answer of its own."""
    count_arrival(of_lags(C.NOTHING), s, entry)
    close_without_answer(s, entry, is_skipped)


@leaf
def _next_due(s: State) -> int:
    """Return the entry that is past its deadline, or -1."""
    n = s.n
    if has_clock(n):
        return past_due(s)
    if n[N.PATIENCE] < 0 or n[N.ROUNDS] < n[N.CALM]:
        return -1
    return overdue(s)


@limb
def _give_up(s: State) -> None:
    """Close tickets past their deadline: their cost is the one so far, else that of silence."""
    entry = _next_due(s)
    while entry >= 0:
        so_far = s.kept[entry * s.n[N.KEEP] + L.SO_FAR]
        is_known = _hear(s, entry, so_far if so_far == so_far else s.f[L.SILENCE], True)
        s.f[L.SETTLED] += 1.0 if is_known else 0.0
        _close(s, entry, True)
        entry = _next_due(s)


@leaf
def _pass_time(s: State, verb: int, at: float) -> None:
    """Advance the clock of deadlines, which counts rounds if there are no times."""
    if has_clock(s.n):
        advance(s, at)
    if verb == L.PREDICT:
        forget_ghosts(s)
    if verb == L.PREDICT or has_clock(s.n):
        _give_up(s)
    if verb == L.PREDICT and has_clock(s.n):
        forget(s)


@leaf
def _take(s: State, verb: int, entry: int, cost: float, given: Floats) -> int:
    """Take an event of a ticket that is open or expired."""
    if is_ghost(s, entry):
        if verb == L.OBSERVE or verb == L.CANCEL:
            s.n[N.LATE] += 1 if verb == L.OBSERVE else 0
            lay_ghost(s, entry)
        return S.DROPPED
    if verb == L.PLAYED or verb == L.OVERRIDDEN:
        return _correct_place(s, entry, verb, given)
    if verb == L.CANCEL:
        _close(s, entry, False)
        return S.USED
    _hear(s, entry, cost, verb == L.OBSERVE)
    if verb == L.OBSERVE:
        count_arrival(of_lags(C.NOTHING), s, entry)
        count_delay(s, entry, N.MAX_DELAY)
        s.table[2 * entry + 1] = T.DEAD
    return S.USED


@leaf
def step(
    s: State,
    verb: int,
    ticket: int,
    cost: float,
    at: float,
    given: Floats,
    out: Floats,
) -> int:
    """Take one event; all checks come before any change.

    ``at`` is its time, NaN for none. ``given`` is the context of a prediction or the place that was
    played, ``out`` receives a play.
    """
    if verb == L.BEST:
        return _best(s, ticket, given, out)
    entry = -1
    if verb == L.PREDICT:
        if not has_room(s):
            return S.FULL
    elif verb != L.TICK:
        entry = locate(s, ticket)
        if entry < 0:
            return entry
        if (verb == L.OBSERVE or verb == L.REVISE) and not abs(cost) <= L.HUGE_COST:
            return S.BAD
    _pass_time(s, verb, at)
    if verb == L.PREDICT:
        return _predict(s, given, out)
    if verb == L.TICK:
        return S.USED
    return _take(s, verb, entry, cost, given)
