"""A capacity: which tickets are tracked, and what their answers weigh.

Two rules, both unbiased: an answer weighs 1 over the chance that its ticket was still tracked when
it came, and that chance depends on nothing but its age (``Capacity`` in ``belated.reductions``).

========  ==========================================================================================
thinning  before every prediction t that g divides, ticket s stays if U_s (t - s + 1) <= B
coins     a ticket is tracked if U_s <= p, and then until its answer comes
========  ==========================================================================================

U_s is a pure function of (seed, ticket). Weights change at thinnings alone, so the sum over all
tracked tickets is the number of these and EXTRA, which is what the older ones weigh beyond 1.
"""

from __future__ import annotations

from belated.arrays import Code
from belated.kernels import thinning
from belated.kernels.choices import switch
from belated.kernels.directions import philox
from belated.kernels.exact import ln
from belated.kernels.jit import leaf
from belated.kernels.learners.state import State
from belated.kernels.slots import code as C
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import kinds as K
from belated.kernels.slots import table as T
from belated.kernels.tickets import count_arrival, count_delay, squeeze, tail

STREAM = 33  # second word of the counter, beside those of directions, losses and choosers
_MASK = 0xFFFFFFFF
_NEVER = 1 << 62

CHANCE = F.MINE  # B, or the p of coins
AHEAD = F.MINE + 1  # rounds that B is meant for, a power of 2
WEIGHT = F.MINE + 2  # of the newest arrival
EXTRA = F.MINE + 3  # sum over tracked tickets of weight - 1, where they are thinned
SQUARES = F.MINE + 4  # sum of squared weights of arrivals
CROSSED = F.MINE + 5  # sum over arrivals of weight times the weights still waiting
MOVING = (CHANCE, AHEAD, WEIGHT, EXTRA, SQUARES, CROSSED)

_limit = leaf(thinning.limit)


@leaf
def draw(s: State, ticket: int) -> float:
    """U of a ticket, uniform on (0, 1] in steps of 2^-53."""
    t = int(ticket)
    low, high = int(s.n[N.SEED_LOW]), int(s.n[N.SEED_HIGH])
    w0, w1, _, _ = philox(t - t, t - t + STREAM, t & _MASK, (t >> 32) & _MASK, low, high)
    return float((w0 << 21) + (w1 >> 11) + 1) * 1.1102230246251565e-16


@leaf
def _place(code: Code, s: State, entry: int) -> int:
    """Return where the U of an entry is kept, after the baseline; 0 there: not drawn yet."""
    return entry * s.n[N.KEEP] + code[C.BASELINE]


@leaf
def _drawn(code: Code, s: State, entry: int) -> float:
    """U of an entry, drawn when it is first asked for: most answers come before that."""
    place = _place(code, s, entry)
    if s.kept[place] == 0.0:
        s.kept[place] = draw(s, s.table[2 * entry])
    return s.kept[place]


# --- Weights -------------------------------------------------------------------------------------


@leaf
def _thinned_weight(code: Code, s: State, ticket: int) -> float:
    """max{1, (a + 1) / B}, a being the age at the newest thinning, or 0 if there was none since."""
    newest = s.n[N.ROUNDS] - 1
    if float(newest - ticket + 1) <= s.f[CHANCE]:
        return 1.0
    newest -= newest & (s.n[N.GAP] - 1)
    return max(1.0, float(max(newest - ticket, 0) + 1) / s.f[CHANCE])


@leaf
def _coin_weight(code: Code, s: State, ticket: int) -> float:
    return 1.0 / s.f[CHANCE]


@leaf
def _no_weight(code: Code, s: State, ticket: int) -> float:
    return 1.0


# What the answer to a tracked ticket weighs now.
weight = switch(
    C.WEIGHED, {K.UNWEIGHED: _no_weight, K.THINNED: _thinned_weight, K.COINS: _coin_weight}
)


@leaf
def _waiting_thinned(code: Code, s: State, open_lags: int) -> float:
    s.f[EXTRA] -= s.f[WEIGHT] - 1.0
    return float(open_lags) + max(0.0, s.f[EXTRA])  # rounding must not make the sum fall


@leaf
def _waiting_coins(code: Code, s: State, open_lags: int) -> float:
    return float(open_lags) * s.f[WEIGHT]


_waiting = switch(C.WEIGHED, {K.THINNED: _waiting_thinned, K.COINS: _waiting_coins})


@leaf
def _count_weight(code: Code, s: State, open_lags: int) -> float:
    """Sum up for the rates what arrived and what waits; return the weights that still wait."""
    w = s.f[WEIGHT]
    waiting = _waiting(code, s, open_lags)
    s.f[SQUARES] += w * w
    s.f[CROSSED] += w * waiting
    return waiting


@leaf
def _count_nothing(code: Code, s: State, open_lags: int) -> int:
    return open_lags


# The weights of tickets still open at an arrival: s*_n itself where nothing is weighed.
count_weight = switch(
    C.WEIGHED,
    {K.UNWEIGHED: _count_nothing, K.THINNED: _count_weight, K.COINS: _count_weight},
)


# --- Which tickets -------------------------------------------------------------------------------


@leaf
def lose(code: Code, s: State, entry: int) -> None:
    """Track a ticket no longer: nothing is fed in its place, as others weigh more instead."""
    count_arrival(code, s, entry)
    count_delay(s, entry, N.MAX_LOST)
    s.n[N.SKIPPED] += 1
    s.table[2 * entry + 1] = T.DEAD


@leaf
def look_ahead(s: State) -> None:
    """Set B, with T a power of 2 that reaches the next thinning."""
    gap = s.n[N.GAP]
    until = float(s.n[N.ROUNDS] + gap)
    if until > s.f[AHEAD]:
        ahead = max(1.0, s.f[AHEAD])
        while ahead < until:
            ahead *= 2.0
        s.f[AHEAD] = ahead
        s.f[CHANCE] = _limit(s.n[N.MOST_OPEN], gap, ln(ahead))


@leaf
def _thin(code: Code, s: State) -> int:
    """Return the entry to lose next in the thinning before this prediction, or -1.

    Entries stand in the order of tickets, so those that weigh more than 1 come first, and nobody
    looks at the others. FADING is where the next call goes on, and 0 between thinnings.
    """
    n, f = s.n, s.f
    t, gap = n[N.ROUNDS], n[N.GAP]
    since = t & (gap - 1)
    if since != 0:
        n[N.CALM] = t - since + gap
        return -1
    entry, end = n[N.FADING], tail(s)
    if entry == 0:
        look_ahead(s)
        f[EXTRA] = 0.0
        entry = n[N.HEAD]
        while entry < end and s.table[2 * entry + 1] < 0:
            entry += 1
        n[N.HEAD] = entry
    while entry < end:
        age = float(t - s.table[2 * entry] + 1)  # 1 more, as in B / (a + 1)
        if age <= f[CHANCE]:
            break
        if s.table[2 * entry + 1] >= 0:
            if _drawn(code, s, entry) * age > f[CHANCE]:
                n[N.FADING] = entry + 1
                return entry
            f[EXTRA] += age / f[CHANCE] - 1.0
        entry += 1
    if entry - n[N.HEAD] > 2 * (n[N.ROUNDS] - n[N.ARRIVED]) + 8:
        squeeze(s)  # so that the next thinning does not pass what is closed
    n[N.FADING] = 0
    n[N.CALM] = t + gap
    return -1


@leaf
def _lose_none(code: Code, s: State) -> int:
    s.n[N.CALM] = _NEVER
    return -1


# The entry to lose next before this prediction, or -1.
overdue = switch(C.WEIGHED, {K.THINNED: _thin, K.COINS: _lose_none})


@leaf
def _admit_thinned(code: Code, s: State, entry: int) -> None:
    """Keep a new ticket if one of C places is free and, where B is below 1, if U <= B."""
    s.kept[_place(code, s, entry)] = 0.0
    chance = s.f[CHANCE]
    if s.n[N.ROUNDS] - s.n[N.ARRIVED] > s.n[N.MOST_OPEN]:
        lose(code, s, entry)
    elif chance < 1.0:
        if _drawn(code, s, entry) > chance:
            lose(code, s, entry)
        else:
            s.f[EXTRA] += 1.0 / chance - 1.0


@leaf
def _admit_by_coin(code: Code, s: State, entry: int) -> None:
    """Keep a new ticket if one of C places is free and its coin falls well."""
    if s.n[N.ROUNDS] - s.n[N.ARRIVED] > s.n[N.MOST_OPEN] or (
        s.f[CHANCE] < 1.0 and draw(s, s.table[2 * entry]) > s.f[CHANCE]
    ):
        lose(code, s, entry)


@leaf
def _admit_all(code: Code, s: State, entry: int) -> None:
    pass


# Track a ticket that was just issued, or lose it at once.
admit = switch(
    C.WEIGHED, {K.UNWEIGHED: _admit_all, K.THINNED: _admit_thinned, K.COINS: _admit_by_coin}
)
