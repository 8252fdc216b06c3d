"""A base made of bases: members that hear the same costs, and weights that learn whom to follow.

The play is z = sum_i w_i z_i. An answer c_n to a play made after s arrivals charges member i

    l_i = <c_n, (z_i(a) + z_i(b)) / 2> + |c_n| min(D, half the way from z_i(a) to z_i(b)),

a <= s <= b being the arrivals around s after which points are kept (see ``past``), and the way the
sum of the member's own moves. That is at least <c_n, z_i(s)>, what its own play would have cost,
and equal to it if s itself is kept. The mixture is charged in the same way,

    A = <l, (w(a) + w(b)) / 2> + h min(2, half the way from w(a) to w(b)) >= <l, w(s)>,

h being half the span of l, and ways of weights being measured in the 1-norm. That is at least
<c_n, x_s>, what the play did cost. Member i's gap, the sum of A - l_i, is what would have been
saved by following it. The weights are exponential in it,

    w_i ~ prior_i exp(rate gap_i),   rate = ln 4 / sum of max(0, rise),

the rise being that of the soft maximum ln(sum_i prior_i exp(rate gap_i)) / rate of all gaps with an
answer, at the rate before it: what the play lost to weights that knew the answer. They give way to
the anchor alone while

    gap + G D open > leash (D^2 / (2 eta) + sum eta |c|^2 / 2 + G sum eta s* |c|),

the anchor's gap against what Theorem 4.1 allows it. Then the members take their steps with c_n.
"""

from __future__ import annotations

import math

from belated.arrays import Code, Floats
from belated.kernels.choices import select
from belated.kernels.exact import exp, ln
from belated.kernels.jit import leaf, limb
from belated.kernels.learners import rates
from belated.kernels.learners.bases import (
    dual_averaging_leap,
    omd_leap,
    pftrl_leap,
    settle,
)
from belated.kernels.learners.past import after, level_of, record_at, seen_by, spread
from belated.kernels.learners.sets import squared_distance
from belated.kernels.learners.state import State
from belated.kernels.learners.uses import of_set
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import kinds as K
from belated.kernels.slots import own as OWN

_padded = leaf(F.padded)
_member_at = leaf(OWN.member_at)
_record_width = leaf(OWN.record_width)


@leaf
def _weights(s: State) -> State:
    """Name the parts of the weights: z is w, p what they are without the leash, work is l."""
    count = int(s.own[OWN.MEMBERS])
    room = _padded(count)
    f = s.own[OWN.HEADER : s.own.size]
    w = F.HEADER
    return State(
        f=f,
        n=s.n,
        z=f[w : w + count],
        p=f[w + room : w + room + count],
        work=f[w + 2 * room : w + 2 * room + count],
        chart=s.chart,
        table=s.table,
        own=s.own,
        kept=s.kept,
    )


@leaf
def _member(s: State, place: int) -> State:
    """Name the parts of the member that begins at a place of the own region."""
    k = s.z.size
    f = s.own[place : s.own.size]
    p = OWN.MEMBER_HEADER + _padded(k)
    return State(
        f=f,
        n=s.n,
        z=f[OWN.MEMBER_HEADER : OWN.MEMBER_HEADER + k],
        p=f[p : p + k],
        work=s.work,
        chart=s.chart,
        table=s.table,
        own=s.own,
        kept=s.kept,
    )


@leaf
def _places(s: State) -> tuple[int, int, int]:
    """Return where the first member begins, how much room one takes, and where the points begin."""
    count, k = int(s.own[OWN.MEMBERS]), s.z.size
    first = _member_at(count, k, 0)
    return first, _member_at(count, k, 1) - first, _member_at(count, k, count)


@leaf
def _width(s: State) -> int:
    return _record_width(int(s.own[OWN.MEMBERS]), s.z.size)


# ---- members -----------------------------------------------------------------------------------


# A member's step size, by the rate in its header. NaN for any other, which nobody can overlook.
_pace = select(rates.RATES.choices("member_size"), "code, m, open_lags, norm", "math.nan")


@limb
def step_sizes(code: Code, s: State, open_lags: float, norm: float) -> float:
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
def _moves(m: State) -> bool:
    """Tell whether a member has a step to take."""
    return not m.f[F.ETA] <= 0.0  # NaN too


@limb
def _move(code: Code, s: State, cost: Floats) -> None:
    """Let every member take its step.

    First all leap, then all settle in the set: they do not wait for each other, and a processor
    that looks ahead finds the next member soon enough to work on several.
    """
    place, room, _ = _places(s)
    count = int(s.own[OWN.MEMBERS])
    for i in range(count):
        m = _member(s, place + i * room)
        if _moves(m) and not _leap(int(m.f[OWN.KIND]), m, cost, m.f[F.ETA]):
            m.z[0] = math.nan  # never: programs are checked
    for i in range(count):
        m = _member(s, place + i * room)
        if _moves(m):
            settle(of_set(code), m, m.f[F.ETA], int(m.f[OWN.KIND]) == K.PFTRL)


@leaf
def _keep(s: State) -> None:
    """Measure how far everyone went with this arrival, and keep the points after it."""
    place, room, points = _places(s)
    width = _width(s)
    before = record_at(points, width, 0, s.n[N.ARRIVED] - 1)
    newest = record_at(points, width, 0, s.n[N.ARRIVED])
    for i in range(int(s.own[OWN.MEMBERS])):
        m = _member(s, place + i * room)
        old = s.own[before + 1 : before + 1 + m.z.size]
        m.f[OWN.WAY] += math.sqrt(squared_distance(old, m.z))
        s.own[newest] = m.f[OWN.WAY]
        for j in range(m.z.size):
            s.own[newest + 1 + j] = m.z[j]
        before += 1 + m.z.size
        newest += 1 + m.z.size
    w = _weights(s)
    s.own[newest] = w.f[OWN.WAY]
    for i in range(w.z.size):
        s.own[newest + 1 + i] = w.z[i]
    spread(s, points, width)


# ---- weights -----------------------------------------------------------------------------------


@leaf
def _charge(s: State, cost: Floats, norm: float, charges: Floats) -> float:
    """Write what a cost charges every member, and return what it charges the mixture.

    Both are counted from the mean charge. Beyond the reach nobody is charged, and half of what the
    play may have cost more than any member's counts as misread.
    """
    seen = seen_by(s)
    level = level_of(s, seen)
    place, room, points = _places(s)
    width, step = _width(s), 1 + cost.size
    below = record_at(points, width, level, seen >> max(level, 0))
    above = record_at(points, width, level, after(seen, max(level, 0)))
    mean = 0.0
    for i in range(charges.size):
        away = 0.5 * s.f[F.DIAMETER]
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
    if level < 0:
        return 0.0
    step = 1 + charges.size
    return _mixed_charge(s.own[below : below + step], s.own[above : above + step], charges)


@leaf
def _mixed_charge(low: Floats, high: Floats, charges: Floats) -> float:
    """A, from the records of the weights around the play."""
    mixed = 0.0
    for i in range(charges.size):
        mixed += charges[i] * (0.5 * (low[1 + i] + high[1 + i]))
    least, most = _span(charges)
    return mixed + 0.5 * (most - least) * min(2.0, 0.5 * (high[0] - low[0]))


@leaf
def _span(charges: Floats) -> tuple[float, float]:
    """Return the least and the largest charge."""
    least = most = charges[0]
    for i in range(1, charges.size):
        least = min(least, charges[i])
        most = max(most, charges[i])
    return least, most


@limb
def _weigh(s: State, cost: Floats, norm: float) -> None:
    """Charge everyone, lower the rate of the weights, and let them follow the gaps."""
    w = _weights(s)
    charges = w.work
    mixed = _charge(s, cost, norm, charges)
    least, most = _span(charges)
    if least == most:  # nobody is better than another; rounding must not make a difference
        return
    place, room, _ = _places(s)
    for i in range(charges.size):
        s.own[place + i * room + OWN.GAP] += mixed - charges[i]
    old = w.f[OWN.SOFT_TOP]
    total = _soften(s, w)
    w.f[F.SPREAD] += max(0.0, w.f[OWN.SOFT_TOP] - old)
    floor = _FLOOR * s.f[F.DIAMETER] * s.f[F.LARGEST]
    eta = w.f[F.GAIN] / (w.f[F.SPREAD] + floor)
    if eta != w.f[F.ETA]:  # else, as in two of seven rounds, the terms are there already
        w.f[F.ETA] = eta
        total = _soften(s, w)
    for i in range(w.p.size):
        w.p[i] /= total


_FLOOR = 2.0**-30
"""Keeps differences by rounding, as parts of D times the largest cost, from moving the weights."""


@leaf
def _soften(s: State, w: State) -> float:
    """Keep ln(sum_i prior_i exp(rate gap_i)) / rate, p being the terms; return their sum.

    Terms are shifted by the largest gap. Before the first rate that gap is all there is.
    """
    place, room, _ = _places(s)
    eta, top = w.f[F.ETA], -math.inf
    for i in range(w.p.size):
        top = max(top, s.own[place + i * room + OWN.GAP])
    w.f[OWN.SOFT_TOP] = top
    if eta == 0.0:
        return 1.0
    wide = _padded(w.p.size)
    terms = w.f[F.HEADER + wide : F.HEADER + 2 * wide]
    for i in range(w.p.size):
        terms[i] = eta * (s.own[place + i * room + OWN.GAP] - top)
    for i in range(w.p.size, wide):
        terms[i] = -math.inf
    for i in range(wide):  # on its own and without a rest, so that several are taken at a time
        terms[i] = exp(terms[i])
    total = 0.0
    for i in range(w.p.size):
        terms[i] *= s.own[place + i * room + OWN.PRIOR]
        total += terms[i]
    w.f[OWN.SOFT_TOP] += ln(total) / eta
    return total


@leaf
def _hold(s: State) -> None:
    """Let the play follow the weights, or the anchor alone while the leash is taut."""
    w = _weights(s)
    anchor = int(s.own[OWN.ANCHOR])
    tied = _is_taut(s, anchor)
    for i in range(w.z.size):
        new = w.p[i]
        if tied:
            new = 1.0 if i == anchor else 0.0
        w.f[OWN.WAY] += abs(new - w.z[i])
        w.z[i] = new


@leaf
def _is_taut(s: State, anchor: int) -> bool:
    """Tell whether the play has lost, or may soon have, what the leash allows over the anchor."""
    place, room, _ = _places(s)
    f = s.own[place + anchor * room : s.own.size]
    bound = max(s.f[F.LIPSCHITZ], s.f[F.LARGEST])
    allowed = f[F.LEARNED] + bound * f[F.DRIFTED]
    if f[F.ETA] > 0.0:
        allowed += f[F.DIAMETER] * f[F.DIAMETER] / (2.0 * f[F.ETA])
    return f[OWN.GAP] + bound * s.f[F.DIAMETER] * s.n[N.OPEN_LAGS] > s.own[OWN.LEASH] * allowed


@limb
def _mix(s: State) -> None:
    """z = sum_i w_i z_i, four coordinates at a time, in registers; beyond the last all are 0."""
    w = _weights(s).z
    place, room, _ = _places(s)
    wide = _padded(s.z.size)
    z = s.f[F.HEADER : F.HEADER + wide]
    points = s.own[place + OWN.MEMBER_HEADER : s.own.size]
    for j in range(0, wide, 4):
        a = b = c = d = 0.0
        for i in range(w.size):
            at = i * room + j
            a += w[i] * points[at]
            b += w[i] * points[at + 1]
            c += w[i] * points[at + 2]
            d += w[i] * points[at + 3]
        z[j], z[j + 1], z[j + 2], z[j + 3] = a, b, c, d


@leaf
def step(code: Code, s: State, cost: Floats, eta: float, norm: float) -> None:
    """Charge the members, move the weights, move the members, mix, and keep where they are."""
    if norm > 0.0:
        _weigh(s, cost, norm)
        if level_of(s, seen_by(s)) >= 0:
            _hold(s)
        _move(of_set(code), s, cost)
        _mix(s)
    _keep(s)


@leaf
def hear_nothing(code: Code, s: State) -> None:
    """Hear a cost of zero: nobody is charged and nobody moves, but the arrival counts."""
    _keep(s)
