"""The events of knobs: a play, a cost, a ticket closed without, and what was really played."""

from __future__ import annotations

import math

from belated.arrays import Code, Floats, Ints
from belated.kernels.choices import only
from belated.kernels.jit import leaf, limb
from belated.kernels.knobs import layout as L
from belated.kernels.knobs.clock import advance, forget, has_clock, past_due, set_due
from belated.kernels.knobs.comparing import compare, is_compared
from belated.kernels.knobs.evidence import catch_up, learn
from belated.kernels.knobs.features import write_features
from belated.kernels.knobs.limits import go_inside, mend, shorten
from belated.kernels.knobs.members import solve_due, write_prior
from belated.kernels.knobs.past import remember
from belated.kernels.knobs.plays import propose, settle
from belated.kernels.knobs.room import room_of
from belated.kernels.learners.state import State
from belated.kernels.learners.uses import of_lags
from belated.kernels.slots import code as C
from belated.kernels.slots import ints as N
from belated.kernels.slots import status as S
from belated.kernels.slots import table as T
from belated.kernels.tickets import (
    close_without_answer,
    count_arrival,
    count_delay,
    forget_ghosts,
    has_room,
    is_ghost,
    lay_ghost,
    locate,
    open_ticket,
    overdue,
    tail,
)

_NOTHING = C.NOTHING  # nobody looks at lags here
of_limits = only(L.LIMITED)  # what comes after it is a stamp


# --- What is kept per ticket ---------------------------------------------------------------------


@limb
def _pack(values: Floats, kept: Floats, at: int) -> int:
    """Write numbers of [-1, 1], two by two; return where the next ones go."""
    for i in range(0, values.size, 2):
        first = (values[i] + 1.0) * L.WIDE
        second = (values[i + 1] + 1.0) * L.WIDE if i + 1 < values.size else 0.0
        kept[at] = first * L.STEP + second
        at += 1
    return at


@limb
def _unpack(kept: Floats, at: int, values: Floats) -> int:
    """Undo ``_pack``."""
    for i in range(0, values.size, 2):
        first = math.floor(kept[at] / L.STEP)
        values[i] = first / L.WIDE - 1.0
        if i + 1 < values.size:
            values[i + 1] = (kept[at] - first * L.STEP) / L.WIDE - 1.0
        at += 1
    return at


# --- Costs ---------------------------------------------------------------------------------------


@limb
def _wait(
    f: Floats, n: Ints, kept: Floats, record: int, ticket: int, delta: float, is_last: bool
) -> None:
    """Put an answer behind those that wait to be learned, or in the place of an earlier one."""
    r = room_of(f, n)
    width = L.OF_ANSWER + r.k + r.context.size
    filled = int(f[L.FILLED])
    place = filled
    for i in range(filled):
        if r.buffer[i * width + L.ITS_TICKET] == ticket:
            place = i
    at = place * width
    r.buffer[at + L.COST] = delta
    r.buffer[at + L.IS_LAST] = 1.0 if is_last else 0.0
    if place == filled:
        learned = kept[record + L.LEARNED]
        r.buffer[at + L.ITS_TICKET] = ticket
        r.buffer[at + L.REPLACES] = 1.0 if learned == learned else 0.0
        after = at + L.OF_ANSWER + r.k
        packed = _unpack(kept, record + L.OF_TICKET, r.buffer[at + L.OF_ANSWER : after])
        _unpack(kept, packed, r.buffer[after : at + width])
        f[L.FILLED] = filled + 1.0


@leaf
def _middle(buffer: Floats, width: int, filled: int, about: float, is_apart: bool) -> float:
    """Return the median of the costs that wait, or of how far they are from ``about``."""
    for i in range(filled):
        mine = buffer[i * width + L.COST]
        mine = abs(mine - about) if is_apart else mine
        below, equal = 0, 0
        for j in range(filled):
            theirs = buffer[j * width + L.COST]
            theirs = abs(theirs - about) if is_apart else theirs
            below += 1 if theirs < mine else 0
            equal += 1 if theirs == mine else 0
        if below <= filled // 2 < below + equal:
            return mine
    return about


@leaf
def _believed(buffer: Floats, width: int, filled: int, first: float) -> tuple[float, float]:
    """Return a middle, and how far from it costs may be that the unit is made of.

    A few that are beyond all others say nothing of the unit: they are tamed when they are learned.
    Where they are no exception, or the others are all equal, as with rare sales, all count.
    """
    middle = _middle(buffer, width, filled, 0.0, False)
    apart = _middle(buffer, width, filled, middle, True)
    outside = 0
    for i in range(filled):
        is_outside = abs(buffer[i * width + L.COST] - middle) > L.BEYOND * apart
        outside += 1 if is_outside else 0
    rounding = L.ROUNDING * (abs(first) + abs(middle))
    is_exception = apart > rounding and 4 * outside <= filled
    return middle, L.BEYOND * apart if is_exception else math.inf


@leaf
def _ready(f: Floats, n: Ints, buffer: Floats, width: int) -> int:
    """Return how many of the answers that wait can be learned; find the unit, if it is time."""
    filled = int(f[L.FILLED])
    if f[L.UNIT] > 0.0 or filled < L.FIRST_COSTS + n[N.DIM]:
        return filled if f[L.UNIT] > 0.0 else 0
    common = f[L.SHIFT] if f[L.FED] > 0.0 else buffer[L.COST]
    far = 0.0
    for i in range(filled):
        far = max(far, abs(buffer[i * width + L.COST] - common))
    rounding = L.ROUNDING * (abs(f[L.FIRST]) + abs(common))
    middle, most = _believed(buffer, width, filled, f[L.FIRST])
    count, mean = f[L.FED], common if f[L.FED] > 0.0 else 0.0
    for i in range(filled):
        count += 1.0 if abs(buffer[i * width + L.COST] - middle) <= most else 0.0
    if f[L.FED] == 0.0:
        for i in range(filled):
            cost = buffer[i * width + L.COST]
            mean += cost / count if abs(cost - middle) <= most else 0.0
    squares = 0.0
    for i in range(filled):
        cost = buffer[i * width + L.COST]
        squares += (cost - mean) * (cost - mean) if abs(cost - middle) <= most else 0.0
    unit = math.sqrt(squares / count)
    if unit < L.LEAST_UNIT or far <= rounding:
        f[L.SHIFT] = common  # all equal so far: 0 in any unit, and nobody needs to wait
        return 1
    f[L.SHIFT] = mean
    f[L.UNIT] = unit
    write_prior(f, n)
    return filled


@limb
def _learn_waiting(s: State) -> None:
    """Learn the answers that have waited long enough."""
    f, n = s.f, s.n
    r = room_of(f, n)
    width = L.OF_ANSWER + r.k + r.context.size
    ready = _ready(f, n, r.buffer, width)
    for i in range(ready + 1):
        if i < ready:
            catch_up(f, n, int(r.buffer[i * width + L.ITS_TICKET]))
        if f[L.UNIT] > 0.0:
            solve_due(f, n)
        if i < ready:
            at = i * width
            ticket = int(r.buffer[at + L.ITS_TICKET])
            for j in range(r.k):
                r.x[j] = r.buffer[at + L.OF_ANSWER + j]
            for j in range(r.context.size):
                r.context[j] = r.buffer[at + L.OF_ANSWER + r.k + j]
            write_features(r.x, r.context, r.order, r.chebyshev, r.phi)
            entry = locate(s, ticket)
            record = entry * s.n[N.KEEP] if entry >= 0 else 0
            y, before = 0.0, 0.0
            is_new = r.buffer[at + L.REPLACES] == 0.0
            if f[L.UNIT] > 0.0:
                y = (r.buffer[at + L.COST] - f[L.SHIFT]) / f[L.UNIT]
            else:
                f[L.FED] += 1.0 if is_new else 0.0
            # One that was closed since then waited for a unit, and was learned as 0 before.
            if not is_new and entry >= 0:
                before = s.kept[record + L.LEARNED]
            learned = learn(f, n, ticket, y, before, is_new, r.buffer[at + L.IS_LAST] > 0.0)
            if entry >= 0:
                s.kept[record + L.LEARNED] = learned
    left = int(f[L.FILLED]) - ready
    for i in range(left * width):
        r.buffer[i] = r.buffer[ready * width + i]
    f[L.FILLED] = float(left)


@leaf
def _is_alone(s: State, ticket: int) -> bool:
    """Return whether no other ticket has had a cost: then its last word is the first cost."""
    r = room_of(s.f, s.n)
    return s.f[L.COUNT] == 0.0 and s.f[L.FILLED] == 1.0 and r.buffer[L.ITS_TICKET] == ticket


@leaf
def _is_drowned(f: Floats, cost: float) -> bool:
    """Tell whether little is left of a cost less the first one, before costs have a unit."""
    return f[L.UNIT] == 0.0 and 0.0 < abs(cost) < L.DROWNED * abs(f[L.FIRST])


@limb
def _count_from_zero(s: State) -> None:
    """Let costs be less 0, and no longer less the first one, wherever they are kept."""
    f = s.f
    r = room_of(f, s.n)
    first, width = f[L.FIRST], L.OF_ANSWER + r.k + r.context.size
    for entry in range(tail(s)):
        s.kept[entry * s.n[N.KEEP] + L.SO_FAR] += first
    for i in range(int(f[L.FILLED])):
        r.buffer[i * width + L.COST] += first
    for i in range(2 * L.STRETCHES):
        f[L.PAST + 2 * i + 1] += first * f[L.PAST + 2 * i]
    f[L.OF_ARM + 1] += first if f[L.OF_ARM] > 0.0 else 0.0
    f[L.OF_ARM + 3] += first if f[L.OF_ARM + 2] > 0.0 else 0.0
    f[L.BASELINE] += first if f[L.COMPARED] > 0.0 else 0.0
    f[L.SHIFT] += first if f[L.FED] > 0.0 else 0.0
    f[L.FIRST] = 0.0


@limb
def _hear(s: State, entry: int, cost: float, is_last: bool) -> None:
    """Learn the cost of an open ticket; NaN: it stays what it was."""
    f = s.f
    record = entry * s.n[N.KEEP]
    is_news = False
    if cost == cost:
        if f[L.COUNT] + f[L.FILLED] == 0.0 or _is_alone(s, int(s.table[2 * entry])):
            f[L.FIRST] = cost
        if _is_drowned(f, cost):
            _count_from_zero(s)
        delta = cost - f[L.FIRST]
        so_far = s.kept[record + L.SO_FAR]
        is_news = so_far != delta
        f[L.CORRECTED] += 1.0 if is_news and so_far == so_far else 0.0
        s.kept[record + L.SO_FAR] = delta
    so_far = s.kept[record + L.SO_FAR]
    if so_far == so_far and (is_news or is_last):
        _wait(f, s.n, s.kept, record, int(s.table[2 * entry]), so_far, is_last)
    _learn_waiting(s)
    if is_last and so_far == so_far:
        arm = s.kept[record + L.ITS_ARM]
        ticket = int(s.table[2 * entry])
        remember(f, ticket, arm, so_far)
        if is_compared(f, ticket):
            compare(f, arm, so_far)


# --- Tickets -------------------------------------------------------------------------------------


@limb
def _settle(code: Code, f: Floats, n: Ints, is_free: bool) -> None:
    """Bring x to where settings can be; unless it is free, within a step of the last play."""
    r = room_of(f, n)
    start, last = r.knobs[0 : r.k], r.knobs[L.LAST * r.k : (L.LAST + 1) * r.k]
    if code[L.LIMITED]:
        for i in range(r.k):
            r.low[i] = -1.0
            r.high[i] = 1.0
        go_inside(f, n, r.x, start, r.low, r.high, r.tilde)
        if not is_free:
            shorten(f, n, r.x, r.knobs)
    settle(r.x, r.knobs, is_free)
    if code[L.LIMITED]:
        mend(f, n, r.x, start, start if is_free else last)


@leaf
def _play(code: Code, f: Floats, n: Ints, knobs: Floats, x: Floats, coin: Floats) -> None:
    """Write the next play to x, and which arm it is to f."""
    k, t = x.size, n[N.ROUNDS]
    is_new = t % int(f[L.HOLD]) == 0 or f[L.FRESH] > 0.0
    if f[L.MODE] != L.LEARNING:
        f[L.ARM] = float(L.ASIDE)
    elif is_new:
        propose(code, f, n, t, False)
        _settle(code, f, n, False)
        f[L.ARM] = float(L.START if coin[0] < f[L.HOLDOUT] else L.LEARNER)
        if f[L.ARM] == L.LEARNER:
            for i in range(k):
                knobs[L.LAST * k + i] = x[i]
    is_start = f[L.MODE] == L.REVERTED or f[L.ARM] == L.START
    for i in range(k):
        x[i] = knobs[i if is_start else L.LAST * k + i]
    f[L.FRESH] = 0.0


@limb
def _issue(code: Code, s: State, context: Floats, out: Floats) -> int:
    """Hand out the next ticket and write its play."""
    f = s.f
    r = room_of(f, s.n)
    for i in range(r.context.size):
        r.context[i] = math.floor((context[i] + 1.0) * L.WIDE + 0.5) / L.WIDE - 1.0
    _play(code, f, s.n, r.knobs, r.x, r.random)
    entry = open_ticket(s)
    ticket = s.table[2 * entry]
    record = entry * s.n[N.KEEP]
    if has_clock(s.n):
        set_due(s, entry)
    s.kept[record + L.LEARNED] = math.nan
    s.kept[record + L.SO_FAR] = math.nan
    s.kept[record + L.ITS_ARM] = f[L.ARM] if f[L.HOLDOUT] > 0.0 else float(L.ASIDE)
    _pack(r.context, s.kept, _pack(r.x, s.kept, record + L.OF_TICKET))
    for i in range(r.k):
        out[i] = r.x[i]
    return ticket


@leaf
def _correct_place(
    code: Code, f: Floats, n: Ints, given: Floats, kept: Floats, record: int, ticket: int
) -> None:
    """Keep what was really played in the place of what was told; steps count from there.

    What constraints forbid is learned as it was, and steps count from what they allow beside it.
    """
    r = room_of(f, n)
    for i in range(r.k):
        r.x[i] = given[i]
    settle(r.x, r.knobs, True)
    _pack(r.x, kept, record + L.OF_TICKET)
    if ticket == n[N.ROUNDS] - 1 and f[L.ARM] == L.LEARNER:
        if code[L.LIMITED]:
            _settle(code, f, n, True)
        for i in range(r.k):
            r.knobs[L.LAST * r.k + i] = r.x[i]


@leaf
def _next_due(s: State) -> int:
    """Return the entry that is past its deadline, or -1."""
    n = s.n
    if has_clock(n):
        return past_due(s)
    if n[N.PATIENCE] < 0 or n[N.ROUNDS] < n[N.CALM]:
        return -1
    return overdue(s)


@leaf
def _best(code: Code, f: Floats, n: Ints, ticket: int, context: Floats, out: Floats) -> None:
    """Write the setting that seems best in a context, or the one that a ticket would draw."""
    r = room_of(f, n)
    for i in range(r.context.size):
        r.context[i] = context[i]
    propose(code, f, n, ticket if ticket >= 0 else n[N.ROUNDS], ticket < 0)
    _settle(code, f, n, True)
    for i in range(r.k):
        out[i] = r.x[i]


@limb
def _give_up(s: State) -> None:
    """Close what is past its deadline: its cost is the one so far, else that of silence."""
    entry = _next_due(s)
    while entry >= 0:
        record = entry * s.n[N.KEEP]
        so_far = s.kept[record + L.SO_FAR]
        _hear(s, entry, s.f[L.SILENCE] if so_far != so_far else math.nan, True)
        so_far = s.kept[record + L.SO_FAR]
        s.f[L.SETTLED] += 1.0 if so_far == so_far else 0.0
        _end(s, entry, True)
        entry = _next_due(s)


@limb
def _end(s: State, entry: int, is_skipped: bool) -> None:
    """Close a ticket that has no answer of its own."""
    count_arrival(of_lags(_NOTHING), s, entry)
    close_without_answer(s, entry, is_skipped)


@leaf
def _meet_ghost(s: State, entry: int, verb: int) -> int:
    """Take an event of a ticket that was given up on."""
    if verb == L.OBSERVE or verb == L.CANCEL:
        s.n[N.LATE] += 1 if verb == L.OBSERVE else 0
        lay_ghost(s, entry)
    return S.DROPPED


@leaf
def _replace(code: Code, s: State, entry: int, verb: int, ticket: int, given: Floats) -> int:
    """Take what was really played, unless a cost of it is in."""
    record = entry * s.n[N.KEEP]
    if s.kept[record + L.SO_FAR] == s.kept[record + L.SO_FAR]:
        return S.OUT_OF_ORDER
    _correct_place(code, s.f, s.n, given, s.kept, record, ticket)
    if verb == L.OVERRIDDEN:  # what was played had nothing to do with the coin
        s.kept[record + L.ITS_ARM] = float(L.ASIDE)
    return S.USED


@leaf
def _told(
    code: Code, s: State, verb: int, entry: int, ticket: int, cost: float, given: Floats
) -> int:
    """Take what is said of an open ticket."""
    if verb == L.PLAYED or verb == L.OVERRIDDEN:
        return _replace(code, s, entry, verb, ticket, given)
    if verb == L.CANCEL:
        _end(s, entry, False)
        return S.USED
    _hear(s, entry, cost, verb == L.OBSERVE)
    if verb == L.OBSERVE:
        count_arrival(of_lags(_NOTHING), s, entry)
        count_delay(s, entry, N.MAX_DELAY)
        s.table[2 * entry + 1] = T.DEAD
    return S.USED


@leaf
def _pass_time(s: State, verb: int, at: float) -> None:
    """Let the clock of a deadline go on: by rounds where there are no times."""
    if has_clock(s.n):
        advance(s, at)
    if verb == L.PREDICT:
        forget_ghosts(s)
    if verb == L.PREDICT or has_clock(s.n):
        _give_up(s)
    if verb == L.PREDICT and has_clock(s.n):
        forget(s)


@leaf
def step(
    code: Code,
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
    played, ``out`` takes a play.
    """
    if verb == L.BEST:
        _best(code, s.f, s.n, ticket, given, out)
        return S.USED
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
        return _issue(code, s, given, out)
    if verb == L.TICK:
        return S.USED
    if is_ghost(s, entry):
        return _meet_ghost(s, entry, verb)
    return _told(code, s, verb, entry, ticket, cost, given)
