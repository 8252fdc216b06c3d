"""A base made of bases: members that hear the same costs, and weights that play the same game.

The play is z = sum_i w_i z_i. An answer c_n to a play made after s arrivals charges member i

    l_i = <c_n, z_i(m)> + |c_n| min(D, g |s - m| eta_i),

which is at least <c_n, z_i(s)>, what its own play would have cost: z_i(m) is a point that member i
had after m arrivals, eta_i a step that it took no later than both and g the largest |c| so far, so
that the second term bounds how far apart the two points are. The weights then take a P-FTRL step on
the simplex with the costs l, counted from their mean, and the members take theirs with c_n.

Which points are kept does not depend on the open tickets: level j keeps the last PLACES points
after a multiple of 2^j arrivals. The one for s is the nearest on the first level that goes back so
far, hence m = s for the last PLACES arrivals, and |s - m| is at most 1 / (PLACES - 1) of the
arrivals since s for older ones.

The own region of the state holds, in this order: how many members and levels there are; the header
of the weights, w, its normal vector and l; per member a header, z and p; the points kept. Headers
are those of a learner, so that members use its leaves.
"""

from __future__ import annotations

import math

from belated.kernels import layout as at
from belated.kernels import schedules
from belated.kernels.bases import omd_step, pftrl_step
from belated.kernels.jit import leaf, switch
from belated.kernels.sets import sum_of_squares
from belated.kernels.state import State
from belated.kernels.typing import Code, Floats

_ON_SIMPLEX: Code = (at.FIRST_ORDER, at.PFTRL, at.SIMPLEX, at.PLAIN, at.GRADIENT_ADAPTIVE)
_padded = leaf(at.padded)
_member_at = leaf(at.member_at)


@leaf
def _weights(s: State) -> State:
    """Name the parts of the weights: z is w, work is l."""
    count = int(s.own[at.MEMBERS])
    room = _padded(count)
    f = s.own[at.WEIGHTS :]
    w = at.F_HEADER
    return State(
        f,
        s.n,
        f[w : w + count],
        f[w + room : w + room + count],
        f[w + 2 * room : w + 2 * room + count],
        s.chart,
        s.table,
        s.own,
        s.kept,
    )


@leaf
def _member(s: State, number: int) -> State:
    """Name the parts of a member."""
    k = s.z.size
    f = s.own[_member_at(int(s.own[at.MEMBERS]), k, number) :]
    p = at.MEMBER_HEADER + _padded(k)
    return State(
        f,
        s.n,
        f[at.MEMBER_HEADER : at.MEMBER_HEADER + k],
        f[p : p + k],
        s.work,
        s.chart,
        s.table,
        s.own,
        s.kept,
    )


@leaf
def _kept_at(s: State, level: int, number: int, member: int) -> int:
    """Return where a point is kept: its step stands there, its coordinates after that."""
    count = int(s.own[at.MEMBERS])
    place = (level * at.PLACES + number % at.PLACES) * count + member
    return _member_at(count, s.z.size, count) + place * (1 + s.z.size)


# ---- members -----------------------------------------------------------------------------------


@leaf
def _pace(code: Code, m: State, open_lags: int, norm: float) -> float:
    """Return a member's step size, by the rate in its header."""
    pace = int(m.f[at.PACE])
    if pace == at.ROOT:
        return schedules.root(code, m, open_lags, norm)
    if pace == at.DELAY_ADAPTIVE:
        return schedules.delay_adaptive(code, m, open_lags, norm)
    if pace == at.TIGHT:
        return schedules.tight(code, m, open_lags, norm)
    if pace == at.GRADIENT_ADAPTIVE:
        return schedules.gradient_adaptive(code, m, open_lags, norm)
    if pace == at.CURVED:
        return schedules.curved(code, m, open_lags, norm)
    return schedules.constant(code, m, open_lags, norm)


@leaf
def step_sizes(code: Code, s: State, open_lags: int, norm: float) -> float:
    """Let every member choose its step; return their mean under the weights."""
    w = _weights(s).z
    mean = 0.0
    for i in range(w.size):
        m = _member(s, i)
        eta = _pace(code, m, open_lags, norm)
        schedules.sum_up(m.f, eta, open_lags, norm)
        if m.f[at.FIRST_STEP] == 0.0 and norm > 0.0:
            m.f[at.FIRST_STEP] = eta
        mean += w[i] * eta
    return mean


@leaf
def _move(code: Code, s: State, cost: Floats) -> None:
    """Let every member take its step."""
    for i in range(int(s.own[at.MEMBERS])):
        m = _member(s, i)
        eta = m.f[at.ETA]
        if eta > 0.0:
            if int(m.f[at.KIND]) == at.PFTRL:
                pftrl_step(code, m, cost, eta)
            else:
                omd_step(code, m, cost, eta)


@leaf
def _keep(s: State) -> None:
    """Keep the points after this arrival, on every level that wants them."""
    number = s.n[at.ARRIVED]
    level = 0
    while level < int(s.own[at.LEVELS]):
        for i in range(int(s.own[at.MEMBERS])):
            m = _member(s, i)
            place = _kept_at(s, level, number, i)
            s.own[place] = m.f[at.ETA]
            for j in range(m.z.size):
                s.own[place + 1 + j] = m.z[j]
        if number % 2 == 1:
            return
        number //= 2
        level += 1


# ---- weights -----------------------------------------------------------------------------------


@leaf
def _level_of(s: State, seen: int) -> int:
    """Return the first level that has a point for ``seen`` arrivals, or -1 if that is long ago."""
    newest = s.n[at.ARRIVED] - 1
    level = 0
    while level < int(s.own[at.LEVELS]):
        if newest - seen < at.PLACES:
            return level
        newest //= 2
        seen //= 2
        level += 1
    return -1


@leaf
def _nearest(s: State, level: int, seen: int) -> int:
    """Return which point of a level is nearest to ``seen`` arrivals, in multiples of 2^level."""
    if level <= 0:
        return seen
    number = (seen + (1 << (level - 1))) >> level
    return min(number, (s.n[at.ARRIVED] - 1) >> level)


@leaf
def _charge(s: State, cost: Floats, norm: float, charges: Floats) -> None:
    """Write what a cost charges every member, counted from the mean of all."""
    seen = s.n[at.ARRIVED] - 1 - s.n[at.LAG]
    level = _level_of(s, seen)
    number = _nearest(s, level, seen)
    mean = 0.0
    for i in range(charges.size):
        charges[i] = 0.0
        if level >= 0:
            m = _member(s, i)
            below = _kept_at(s, level, seen >> level, i)
            eta = s.own[below] if s.own[below] > 0.0 else m.f[at.FIRST_STEP]
            place = _kept_at(s, level, number, i)
            for j in range(cost.size):
                charges[i] += cost[j] * s.own[place + 1 + j]
            way = s.f[at.LARGEST] * abs(seen - (number << level)) * eta
            misread = norm * min(s.f[at.DIAMETER], way)
            m.f[at.MISREAD] += misread
            charges[i] += misread
        mean += charges[i]
    mean /= charges.size
    for i in range(charges.size):
        charges[i] -= mean


# The rate of the weights: for values it may depend on counts only.
_rate_of_weights = switch(
    at.REDUCTION,
    {
        at.FIRST_ORDER: schedules.gradient_adaptive,
        at.ONE_POINT: schedules.delay_adaptive,
        at.TWO_POINT: schedules.delay_adaptive,
    },
)


@leaf
def _weigh(code: Code, s: State, cost: Floats, norm: float) -> None:
    """Let the weights take their step."""
    w = _weights(s)
    charges = w.work
    if norm > 0.0:
        _charge(s, cost, norm, charges)
    else:
        for i in range(charges.size):
            charges[i] = 0.0
    size = math.sqrt(sum_of_squares(charges))
    eta = _rate_of_weights(code, w, s.n[at.OPEN_LAGS], size)
    schedules.sum_up(w.f, eta, s.n[at.OPEN_LAGS], size)
    if size > 0.0 and eta > 0.0:
        pftrl_step(_ON_SIMPLEX, w, charges, eta)


@leaf
def _mix(s: State) -> None:
    """z = sum_i w_i z_i."""
    w = _weights(s).z
    for j in range(s.z.size):
        s.z[j] = 0.0
    for i in range(w.size):
        if w[i] > 0.0:
            point = _member(s, i).z
            for j in range(s.z.size):
                s.z[j] += w[i] * point[j]


@leaf
def step(code: Code, s: State, cost: Floats, eta: float) -> None:
    """Charge the members, move the weights, move the members, mix, and keep where they are."""
    norm = math.sqrt(sum_of_squares(cost))
    _weigh(code, s, cost, norm)
    if norm > 0.0:
        _move(code, s, cost)
        _mix(s)
    _keep(s)
