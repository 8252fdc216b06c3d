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

Four members at a time take every step of this: one lane each, with the bits that it would have
alone. See ``slots.own`` for where their numbers stand.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from belated.arrays import Code, Floats
from belated.kernels.choices import select, switch
from belated.kernels.exact import exp, ln
from belated.kernels.fours import (
    Four,
    above,
    all_of,
    first_of,
    four,
    joined,
    least,
    put,
    roots,
    summed,
    turned,
)
from belated.kernels.jit import leaf, limb
from belated.kernels.learners import rates
from belated.kernels.learners.past import around, level_of, record_at, seen_by
from belated.kernels.learners.sets import MOST, SETS, onto, threshold
from belated.kernels.learners.state import State
from belated.kernels.learners.uses import of_set
from belated.kernels.slots import code as C
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import kinds as K
from belated.kernels.slots import own as OWN

_places_of = leaf(OWN.places)


class Members(NamedTuple):
    """The members, with their parts named; see ``slots.own``."""

    size: int
    at: OWN.Places
    rows: Floats
    z: Floats
    p: Floats


@leaf
def _members(s: State) -> Members:
    size = int(s.own[OWN.MEMBERS])
    at = _places_of(size, s.z.size)
    return Members(
        size=size,
        at=at,
        rows=s.own[at.rows : at.headers],
        z=s.own[at.z : at.p],
        p=s.own[at.p : at.records],
    )


@leaf
def _row(m: Members, number: int) -> Floats:
    """Return a row; see ``slots.own``."""
    return m.rows[number * m.at.wide : (number + 1) * m.at.wide]


@leaf
def _weights(s: State, m: Members) -> State:
    """Name the parts of the weights: z is w, p what they are without the leash, work is l."""
    wide = m.at.wide
    f = s.own[OWN.HEADER : m.at.rows]
    w = F.HEADER
    return State(
        f=f,
        n=s.n,
        z=f[w : w + wide],
        p=f[w + wide : w + 2 * wide],
        work=f[w + 2 * wide : w + 3 * wide],
        chart=s.chart,
        table=s.table,
        own=s.own,
        kept=s.kept,
    )


# ---- steps of members --------------------------------------------------------------------------


@leaf
def _header(s: State, m: Members, number: int) -> Floats:
    """Return the header of a member."""
    place = m.at.headers + number * OWN.MEMBER_HEADER
    return s.own[place : place + OWN.MEMBER_HEADER]


@leaf
def _member(s: State, f: Floats) -> State:
    """Return what a rate looks at, with the header of a member."""
    return State(
        f=f, n=s.n, z=s.z, p=s.p, work=s.work, chart=s.chart, table=s.table, own=s.own, kept=s.kept
    )


# A member's step size, by the rate in its header. NaN for any other, which nobody can overlook.
_pace = select(rates.RATES.choices("member_size"), "code, m, open_lags, norm", "math.nan")


@limb
def step_sizes(code: Code, s: State, open_lags: float, norm: float) -> float:
    """Let every member choose its step; return their mean under the weights."""
    m = _members(s)
    w = _weights(s, m).z
    mean = 0.0
    for i in range(m.size):
        f = _header(s, m, i)
        eta = _pace(int(f[OWN.PACE]), code, _member(s, f), open_lags, norm)
        rates.sum_up(f, eta, open_lags, norm)
        mean += w[i] * eta
    return mean


@leaf
def _four_sizes(s: State, m: Members, i: int) -> Four:
    """Return the steps of four members; those after the last one have 0."""
    return joined(
        _header(s, m, i)[F.ETA],
        _header(s, m, i + 1)[F.ETA],
        _header(s, m, i + 2)[F.ETA],
        _header(s, m, i + 3)[F.ETA],
    )


@leaf
def _leap(s: State, m: Members, cost: Floats, v: Floats) -> None:
    """Write v, the points before they are projected, and put the new sums in the place of p.

    P-FTRL: v = z + eta (p - c). Gradient descent: v = z - eta c, which is the same, as its p is
    -0. Dual averaging: v = -eta (p + c), p + c being the sum of all costs. Whoever has no step to
    take stays where it is.
    """
    wide = m.at.wide
    for i in range(0, wide, 4):
        eta = _four_sizes(s, m, i)
        is_sum = four(_row(m, OWN.SUMS), i)
        for j in range(s.z.size):
            at = j * wide + i
            z, p = four(m.z, at), four(m.p, at)
            total = p + cost[j]
            moved = above(is_sum, 0.0, -eta * total, z + eta * (p - cost[j]))
            put(v, at, above(eta, 0.0, moved, z))
            put(m.p, at, above(eta, 0.0, above(is_sum, 0.0, total, p), p))


@leaf
def _each_level(code: Code, s: State, m: Members, v: Floats) -> None:
    """Write the numbers of every member's projection, which are found from its whole point.

    That is put together in the place of the mixture, which is made anew afterwards.
    """
    for i in range(m.size):
        for j in range(s.z.size):
            s.z[j] = v[j * m.at.wide + i]
        a, b = threshold(code, s.f[F.SIZE], s.z)
        _row(m, OWN.FIRST)[i] = a
        _row(m, OWN.SECOND)[i] = b


@leaf
def _no_levels(code: Code, s: State, m: Members, v: Floats) -> None:
    """A box needs no numbers."""


@leaf
def _ball_levels(code: Code, s: State, m: Members, v: Floats) -> None:
    """The same for a ball, four members at a time, unless squares overflow."""
    wide, size = m.at.wide, s.f[F.SIZE]
    for i in range(0, wide, 4):
        squares = _four_squares(v, wide, i, s.z.size)
        if not summed(squares) <= MOST:
            _each_level(code, s, m, v)
            return
        norm = roots(squares)
        put(_row(m, OWN.FIRST), i, above(norm, size, size / norm, 1.0))
        put(_row(m, OWN.SECOND), i, all_of(1.0))


@leaf
def _four_squares(v: Floats, wide: int, i: int, k: int) -> Four:
    """Return |v|^2 of four members, in the order of ``sum_of_squares``."""
    a = b = c = d = all_of(0.0)
    whole = k - k % 4
    for j in range(0, whole, 4):
        at = j * wide + i
        a = a + four(v, at) * four(v, at)
        b = b + four(v, at + wide) * four(v, at + wide)
        c = c + four(v, at + 2 * wide) * four(v, at + 2 * wide)
        d = d + four(v, at + 3 * wide) * four(v, at + 3 * wide)
    for j in range(whole, k):
        at = j * wide + i
        a = a + four(v, at) * four(v, at)
    return (a + b) + (c + d)


# Write the numbers that projections need; see ``sets``.
_levels = switch(
    C.DOMAIN,
    {
        **dict.fromkeys(SETS.choices("threshold"), _each_level),
        SETS.code("Ball"): _ball_levels,
        K.BOX: _no_levels,
    },
)


class Landing(NamedTuple):
    """What four members need to be put into the set."""

    eta: Four
    inverse: Four
    leads: Four
    a: Four
    b: Four


@leaf
def _settle(code: Code, s: State, m: Members, v: Floats) -> None:
    """Put Pi(v) in the place of z and of v, and measure how far everyone went.

    P-FTRL also keeps the normal vector (v - z) / eta. Squares are added in the order of
    ``squared_distance``.
    """
    wide, k = m.at.wide, s.z.size
    ways = _row(m, OWN.WAYS)
    whole = k - k % 4
    for i in range(0, wide, 4):
        eta = _four_sizes(s, m, i)
        to = Landing(
            eta=eta,
            inverse=1.0 / eta,
            leads=above(eta, 0.0, four(_row(m, OWN.LEADS), i), 0.0),
            a=four(_row(m, OWN.FIRST), i),
            b=four(_row(m, OWN.SECOND), i),
        )
        a = b = c = d = all_of(0.0)
        for j in range(0, whole, 4):
            at = j * wide + i
            a = a + _land(code, s, m, v, to, at)
            b = b + _land(code, s, m, v, to, at + wide)
            c = c + _land(code, s, m, v, to, at + 2 * wide)
            d = d + _land(code, s, m, v, to, at + 3 * wide)
        for j in range(whole, k):
            a = a + _land(code, s, m, v, to, j * wide + i)
        put(ways, i, four(ways, i) + roots((a + b) + (c + d)))


@leaf
def _land(code: Code, s: State, m: Members, v: Floats, to: Landing, at: int) -> Four:
    """Do that for one coordinate of four members; return the squares of how far it went."""
    start, old, p = four(v, at), four(m.z, at), four(m.p, at)
    z = above(to.eta, 0.0, onto(code, s.f[F.SIZE], to.a, to.b, start), start)
    put(m.z, at, z)
    put(v, at, z)
    put(m.p, at, above(to.leads, 0.0, (start - z) * to.inverse, p))
    return (old - z) * (old - z)


@limb
def _move(code: Code, s: State, cost: Floats) -> None:
    """Let every member take its step, and keep the points after it."""
    m = _members(s)
    v = _newest(s, m)
    _leap(s, m, cost, v)
    _levels(code, s, m, v)
    _settle(code, s, m, v)


# ---- points of the past ------------------------------------------------------------------------


@leaf
def _newest(s: State, m: Members) -> Floats:
    """Return where the points after this arrival are kept."""
    place = record_at(s, m.at.records, m.at.width, s.n[N.ARRIVED]) + m.at.wide
    return s.own[place : place + s.z.size * m.at.wide]


@leaf
def _stay(s: State) -> None:
    """Keep the points where they are."""
    m = _members(s)
    kept = _newest(s, m)
    for i in range(0, kept.size, 4):
        put(kept, i, four(m.z, i))


@leaf
def _keep(s: State) -> None:
    """Keep the ways to the points, and the weights."""
    m = _members(s)
    w, wide, ways = _weights(s, m), m.at.wide, _row(m, OWN.WAYS)
    newest = record_at(s, m.at.records, m.at.width, s.n[N.ARRIVED])
    after = newest + m.at.width - wide
    put(s.own, after - OWN.POINT, all_of(w.f[OWN.WAY]))
    for i in range(0, wide, 4):
        put(s.own, newest + i, four(ways, i))
        put(s.own, after + i, four(w.z, i))


# ---- weights -----------------------------------------------------------------------------------


@leaf
def _charge(s: State, m: Members, cost: Floats, norm: float, charges: Floats) -> int:
    """Write what a cost charges every member, counted from the mean; return the level of points.

    Beyond the reach, on level -1, nobody is charged, and half of what the play may have cost more
    than any member's counts as misread.
    """
    seen, wide = seen_by(s), m.at.wide
    level = level_of(s, seen)
    below, beyond = around(s, m.at.records, m.at.width, max(level, 0), seen)
    low, high = s.own[below : below + m.at.width], s.own[beyond : beyond + m.at.width]
    for i in range(0, wide, 4):
        away, charge = all_of(0.5 * s.f[F.DIAMETER]), all_of(0.0)
        if level >= 0:
            away = least(s.f[F.DIAMETER], 0.5 * (four(high, i) - four(low, i)))
            for j in range(cost.size):
                at = (1 + j) * wide + i
                charge = charge + cost[j] * (0.5 * (four(low, at) + four(high, at)))
        misread = first_of(norm * away, m.size - i)
        put(_row(m, OWN.MISREAD), i, four(_row(m, OWN.MISREAD), i) + misread)
        put(charges, i, charge + misread)
    mean = 0.0
    for i in range(m.size):
        mean += charges[i]
    mean /= m.size
    for i in range(0, wide, 4):
        charge = first_of(four(charges, i) - mean, m.size - i)
        put(charges, i, charge if level >= 0 else all_of(0.0))
    return level


@leaf
def _mixed_charge(s: State, m: Members, level: int, charges: Floats, span: float) -> float:
    """A, from the records of the weights around the play."""
    wide = m.at.wide
    below, beyond = around(s, m.at.records, m.at.width, level, seen_by(s))
    start = (1 + s.z.size) * wide
    low = s.own[below + start : below + start + OWN.POINT + wide]
    high = s.own[beyond + start : beyond + start + OWN.POINT + wide]
    mixed = 0.0
    for i in range(m.size):
        mixed += charges[i] * (0.5 * (low[OWN.POINT + i] + high[OWN.POINT + i]))
    return mixed + 0.5 * span * min(2.0, 0.5 * (high[0] - low[0]))


@leaf
def _span(m: Members, charges: Floats) -> float:
    """Return the difference of the least and the largest charge."""
    lowest = highest = charges[0]
    for i in range(1, m.size):
        lowest = min(lowest, charges[i])
        highest = max(highest, charges[i])
    return highest - lowest


@limb
def _weigh(s: State, cost: Floats, norm: float) -> None:
    """Charge everyone, lower the rate of the weights, and let them follow the gaps."""
    m = _members(s)
    w = _weights(s, m)
    charges = w.work
    level = _charge(s, m, cost, norm, charges)
    span = _span(m, charges)
    if span == 0.0:  # nobody is better than another; rounding must not make a difference
        return
    mixed = _mixed_charge(s, m, level, charges, span)
    gaps = _row(m, OWN.GAP)
    for i in range(0, m.at.wide, 4):
        more = first_of(mixed - four(charges, i), m.size - i)
        put(gaps, i, four(gaps, i) + more)
    old = w.f[OWN.SOFT_TOP]
    total = _soften(m, w, gaps)
    w.f[F.SPREAD] += max(0.0, w.f[OWN.SOFT_TOP] - old)
    floor = _FLOOR * s.f[F.DIAMETER] * s.f[F.LARGEST]
    eta = w.f[F.GAIN] / (w.f[F.SPREAD] + floor)
    if eta != w.f[F.ETA]:  # else, as in two of seven rounds, the terms are there already
        w.f[F.ETA] = eta
        total = _soften(m, w, gaps)
    for i in range(0, m.at.wide, 4):
        put(w.p, i, four(w.p, i) / total)


_FLOOR = 2.0**-30
"""Keeps differences by rounding, as parts of D times the largest cost, from moving the weights."""


@leaf
def _soften(m: Members, w: State, gaps: Floats) -> float:
    """Keep ln(sum_i prior_i exp(rate gap_i)) / rate, p being the terms; return their sum.

    Terms are shifted by the largest gap. Before the first rate that gap is all there is.
    """
    eta, top = w.f[F.ETA], -math.inf
    for i in range(m.size):
        top = max(top, gaps[i])
    w.f[OWN.SOFT_TOP] = top
    if eta == 0.0:
        return 1.0
    for i in range(0, m.at.wide, 4):
        put(w.p, i, first_of(eta * (four(gaps, i) - top), m.size - i))
    for i in range(m.at.wide):  # on its own, so that several are taken at a time
        w.p[i] = exp(w.p[i])
    prior = _row(m, OWN.PRIOR)
    for i in range(0, m.at.wide, 4):
        put(w.p, i, four(w.p, i) * four(prior, i))
    total = 0.0
    for i in range(m.size):
        total += w.p[i]
    w.f[OWN.SOFT_TOP] += ln(total) / eta
    return total


@leaf
def _hold(s: State) -> None:
    """Let the play follow the weights, or the anchor alone while the leash is taut."""
    m = _members(s)
    w = _weights(s, m)
    anchor = int(s.own[OWN.ANCHOR])
    is_tied = _is_taut(s, m, anchor)
    for i in range(m.size):
        new = w.p[i]
        if is_tied:
            new = 1.0 if i == anchor else 0.0
        w.f[OWN.WAY] += abs(new - w.z[i])
    for i in range(0, m.at.wide, 4):
        put(w.z, i, all_of(0.0) if is_tied else four(w.p, i))
    if is_tied:
        w.z[anchor] = 1.0


@leaf
def _is_taut(s: State, m: Members, anchor: int) -> bool:
    """Tell whether the play has lost, or may soon have, what the leash allows over the anchor."""
    f = _header(s, m, anchor)
    bound = max(s.f[F.LIPSCHITZ], s.f[F.LARGEST])
    allowed = f[F.LEARNED] + bound * f[F.DRIFTED]
    if f[F.ETA] > 0.0:
        allowed += f[F.DIAMETER] * f[F.DIAMETER] / (2.0 * f[F.ETA])
    gap = _row(m, OWN.GAP)[anchor]
    return gap + bound * s.f[F.DIAMETER] * s.n[N.OPEN_LAGS] > s.own[OWN.LEASH] * allowed


@limb
def _mix(s: State) -> None:
    """z = sum_i w_i z_i, four coordinates and four members at a time."""
    m = _members(s)
    w, wide = _weights(s, m).z, m.at.wide
    for j in range(0, s.z.size, 4):
        total = all_of(0.0)
        for i in range(0, wide, 4):
            each, at = four(w, i), j * wide + i
            a, b, c, d = turned(
                each * four(m.z, at),
                each * four(m.z, at + wide),
                each * four(m.z, at + 2 * wide),
                each * four(m.z, at + 3 * wide),
            )
            total = (((total + a) + b) + c) + d
        put(s.z, j, total)


@leaf
def step(code: Code, s: State, cost: Floats, eta: float, norm: float) -> None:
    """Charge the members, move the weights, move the members, and mix them."""
    if not norm > 0.0:
        hear_nothing(code, s)
        return
    _weigh(s, cost, norm)
    if level_of(s, seen_by(s)) >= 0:
        _hold(s)
    _move(of_set(code), s, cost)
    _mix(s)
    _keep(s)


@leaf
def hear_nothing(code: Code, s: State) -> None:
    """Hear a cost of zero: nobody is charged and nobody moves, but the arrival counts."""
    _stay(s)
    _keep(s)
