"""A base made of bases: members that hear the same costs, and weights that play the same game.

The play is z = sum_i w_i z_i. An answer c_n to a play made after s arrivals charges member i

    l_i = <c_n, (z_i(a) + z_i(b)) / 2> + |c_n| min(D, half the way from z_i(a) to z_i(b)),

a <= s <= b being the arrivals around s after which points are kept (see ``past``), and the way the
sum of the member's own moves. That is at least <c_n, z_i(s)>, what its own play would have cost,
and equal to it if s itself is kept. The weights then take a P-FTRL step on the simplex with the
costs l, counted from their mean, and the members take theirs with c_n.
"""

from __future__ import annotations

import math

from belated.arrays import Code, Floats
from belated.kernels.choices import select, switch
from belated.kernels.jit import leaf
from belated.kernels.learners import rates
from belated.kernels.learners.bases import (
    dual_averaging_leap,
    omd_leap,
    pftrl_leap,
    pftrl_step,
    settle,
)
from belated.kernels.learners.past import after, level_of, record_at, seen_by, spread
from belated.kernels.learners.sets import squared_distance, sum_of_squares
from belated.kernels.learners.state import State
from belated.kernels.learners.uses import of_rate, of_set
from belated.kernels.slots import code as C
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import kinds as K
from belated.kernels.slots import own as OWN

_ON_SIMPLEX: Code = C.pack({C.DOMAIN: K.SIMPLEX})
_padded = leaf(F.padded)
_member_at = leaf(OWN.member_at)


@leaf
def _weights(s: State) -> State:
    """Name the parts of the weights: z is w, work is l."""
    count = int(s.own[OWN.MEMBERS])
    room = _padded(count)
    f = s.own[OWN.HEADER :]
    w = F.HEADER
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
def _member(s: State, place: int) -> State:
    """Name the parts of the member that begins at a place of the own region."""
    k = s.z.size
    f = s.own[place:]
    p = OWN.MEMBER_HEADER + _padded(k)
    return State(
        f,
        s.n,
        f[OWN.MEMBER_HEADER : OWN.MEMBER_HEADER + k],
        f[p : p + k],
        s.work,
        s.chart,
        s.table,
        s.own,
        s.kept,
    )


@leaf
def _places(s: State) -> tuple[int, int, int]:
    """Return where the first member begins, how much room one takes, and where the points begin."""
    count, k = int(s.own[OWN.MEMBERS]), s.z.size
    first = _member_at(count, k, 0)
    return first, _member_at(count, k, 1) - first, _member_at(count, k, count)


@leaf
def _width(s: State) -> int:
    """Return the length of a record: way and point of every member."""
    return int(s.own[OWN.MEMBERS]) * (1 + s.z.size)


# ---- members -----------------------------------------------------------------------------------


# A member's step size, by the rate in its header. NaN for any other, which nobody can overlook.
_pace = select(rates.RATES.choices("member_size"), "code, m, open_lags, norm", "math.nan")


@leaf
def step_sizes(code: Code, s: State, open_lags: int, norm: float) -> float:
    """Let every member choose its step; return their mean under the weights."""
    w = _weights(s).z
    place, room, _ = _places(s)
    mean = 0.0
    for i in range(w.size):
        m = _member(s, place + i * room)
        eta = _pace(int(m.f[OWN.PACE]), code, m, open_lags, norm)
        rates.sum_up(m.f, eta, open_lags, norm)
        mean += w[i] * eta
    return mean


# v in the place of a member's z, by the kind in its header; False: no such kind.
_LEAPS = {K.PFTRL: pftrl_leap, K.OMD: omd_leap, K.DUAL_AVERAGING: dual_averaging_leap}
_leap = select(_LEAPS, "m, cost, eta", "False")


@leaf
def _take_step(code: Code, m: State, cost: Floats, eta: float) -> None:
    """Take a member's step."""
    kind = int(m.f[OWN.KIND])
    if not _leap(kind, m, cost, eta):
        m.z[0] = math.nan  # never: programs are checked
    settle(of_set(code), m, eta, kind == K.PFTRL)


@leaf
def _move(code: Code, s: State, cost: Floats) -> None:
    """Let every member take its step, and measure how far it goes from where it was kept."""
    place, room, points = _places(s)
    before = record_at(points, _width(s), 0, s.n[N.ARRIVED] - 1)
    for _ in range(int(s.own[OWN.MEMBERS])):
        m = _member(s, place)
        if not m.f[F.ETA] <= 0.0:  # NaN too
            _take_step(code, m, cost, m.f[F.ETA])
            old = s.own[before + 1 : before + 1 + m.z.size]
            m.f[OWN.WAY] += math.sqrt(squared_distance(old, m.z))
        place += room
        before += 1 + m.z.size


@leaf
def _keep(s: State) -> None:
    """Keep the points after this arrival."""
    place, room, points = _places(s)
    width = _width(s)
    newest = record_at(points, width, 0, s.n[N.ARRIVED])
    for _ in range(int(s.own[OWN.MEMBERS])):
        m = _member(s, place)
        s.own[newest] = m.f[OWN.WAY]
        for j in range(m.z.size):
            s.own[newest + 1 + j] = m.z[j]
        place += room
        newest += 1 + m.z.size
    spread(s, points, width)


# ---- weights -----------------------------------------------------------------------------------


@leaf
def _charge(s: State, cost: Floats, norm: float, charges: Floats) -> None:
    """Write what a cost charges every member, counted from the mean of all."""
    seen = seen_by(s)
    level = level_of(s, seen)
    place, room, points = _places(s)
    width, step = _width(s), 1 + cost.size
    below = record_at(points, width, level, seen >> max(level, 0))
    above = record_at(points, width, level, after(seen, max(level, 0)))
    mean = 0.0
    for i in range(charges.size):
        away = 0.5 * s.f[F.DIAMETER]  # half of what not moving the weights may cost
        charge = 0.0
        if level >= 0:
            low, high = s.own[below : below + step], s.own[above : above + step]
            away = min(s.f[F.DIAMETER], 0.5 * (high[0] - low[0]))
            for j in range(cost.size):
                charge += cost[j] * (0.5 * (low[1 + j] + high[1 + j]))
        misread = norm * away
        s.own[place + OWN.MISREAD] += misread
        charge += misread
        charges[i] = charge
        mean += charge
        place += room
        below += step
        above += step
    mean /= charges.size
    for i in range(charges.size):
        charges[i] = charges[i] - mean if level >= 0 else 0.0


# The rate of the weights: for values it may depend on counts only.
_rate_of_weights = switch(
    C.REDUCTION,
    {
        K.FIRST_ORDER: rates.gradient_adaptive,
        K.ONE_POINT: rates.delay_adaptive,
        K.TWO_POINT: rates.delay_adaptive,
    },
)


@leaf
def _weigh(code: Code, s: State, cost: Floats, norm: float) -> None:
    """Let the weights take their step."""
    w = _weights(s)
    charges = w.work
    _charge(s, cost, norm, charges)
    size = math.sqrt(sum_of_squares(charges))
    eta = _count_charges(code, w, size)
    if size > 0.0 and eta > 0.0:
        pftrl_step(of_set(_ON_SIMPLEX), w, charges, eta)


@leaf
def _count_charges(code: Code, w: State, size: float) -> float:
    """Return the step size of the weights for charges of this size."""
    open_lags = w.n[N.OPEN_LAGS]
    eta = _rate_of_weights(of_rate(code), w, open_lags, size)
    rates.sum_up(w.f, eta, open_lags, size)
    return eta


@leaf
def _mix(s: State) -> None:
    """z = sum_i w_i z_i."""
    w = _weights(s).z
    for j in range(s.z.size):
        s.z[j] = 0.0
    place, room, _ = _places(s)
    for i in range(w.size):
        if w[i] > 0.0:
            point = _member(s, place + i * room).z
            for j in range(s.z.size):
                s.z[j] += w[i] * point[j]


@leaf
def step(code: Code, s: State, cost: Floats, eta: float) -> None:
    """Charge the members, move the weights, move the members, mix, and keep where they are."""
    norm = math.sqrt(sum_of_squares(cost))
    if norm > 0.0:
        _weigh(code, s, cost, norm)
        _move(of_set(code), s, cost)
        _mix(s)
    else:
        _count_charges(code, _weights(s), 0.0)
    _keep(s)  # in one place, as it is compiled wherever it stands


@leaf
def hear_nothing(code: Code, s: State) -> None:
    """Hear a cost of zero: nobody is charged and nobody moves, but the arrival counts."""
    _count_charges(code, _weights(s), 0.0)
    _keep(s)
