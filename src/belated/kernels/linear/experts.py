"""The six experts of a linear model: what they predict, how they are mixed, how each learns.

Four take steps at a scale each, one bets coins, and one has the mean of the weights that the third
scale had: m += 2 (w - m) / (n + 1), with n the values of the coordinate so far, so that later
weights count more. Where nothing changes that is far less noisy than the weights themselves (Polyak
and Juditsky, "Acceleration of stochastic approximation by averaging", SIAM J. Control 1992). The
first two scales share an energy, that of the second.

A coordinate that occurs twice in a row is treated as two entries, one after the other: the second
one finds what the first has done to the standardiser and to the energy, and steps of both are taken
with the same slope.
"""

from __future__ import annotations

import math

from belated.arrays import Code, Floats, Ints
from belated.kernels.jit import leaf
from belated.kernels.learners.state import State
from belated.kernels.linear import layout as lm
from belated.kernels.linear.losses import implicit, slope, slope_unit
from belated.kernels.linear.rows import (
    AHEAD,
    LOW,
    Four,
    Two,
    added,
    ask,
    enter,
    enter_all,
    leave,
    raise_stake,
    row_of,
    stake_of,
)
from belated.kernels.narrow import bits, count, number, put_bits, put_number
from belated.kernels.slots import ints as N

# a_k, powers of two, so that multiplying by them is exact.
_A1, _A2, _A3, _A4 = 0.015625, 0.0625, 0.25, 1.0
# c_k = 0.01 / sqrt(a_k): what an open ticket adds to the energy, in the unit U of slopes.
_C2, _C3, _C4 = 0.04, 0.02, 0.01
_MOST_WON = 100.0  # what the coin can win, in units of S and of L: beyond, it would only overflow


# --- Predictions ---------------------------------------------------------------------------------


@leaf
def issue(
    s: State, c: Ints, pool: Floats, record: int, indices: Ints, values: Floats, first: int
) -> None:
    """Enter the row of a ticket, and write what the experts and their mixture predict.

    p_k = base + sum_i w[i, k] x_i, clipped; p = sum_k v_k p_k.
    """
    f, kept = s.f, s.kept
    start, entries = int(kept[record + lm.START]), int(kept[record + lm.PAIRS])
    given = entries - s.n[N.INTERCEPT]
    pairs = pool[2 * start : 2 * (start + entries)]
    places, numbers = indices[first : first + given], values[first : first + given]
    enter_all(c, kept[record + lm.ISSUED : record + lm.KEEP], pairs, places, numbers)
    if given < entries:
        enter(row_of(c, s.n[N.COORDINATES]), pairs, given, s.n[N.COORDINATES], 1.0)
    sums, others = _present(f, c, pairs, False)
    kept[record + lm.ISSUED] = sums[0]
    kept[record + lm.ISSUED + 1] = sums[1]
    kept[record + lm.ISSUED + 2] = sums[2]
    kept[record + lm.ISSUED + 3] = sums[3]
    kept[record + lm.ISSUED + 4] = others[0]
    kept[record + lm.ISSUED + 5] = others[1]
    kept[record + lm.MIXTURE] = mixture(f, kept[record + lm.ISSUED : record + lm.MIXTURE])


# --- Mixing --------------------------------------------------------------------------------------


@leaf
def mixture(f: Floats, experts: Floats) -> float:
    """Clip what the experts predict, and mix it."""
    anchor = min(max(experts[0], f[lm.FLOOR]), f[lm.CEILING])
    mixed = anchor
    for k in range(lm.EXPERTS):
        p = min(max(experts[k], f[lm.FLOOR]), f[lm.CEILING])
        experts[k] = p
        mixed += f[lm.SHARE + k] * (p - anchor)  # the shares sum to 1; equal ones mix to the same
    # By rounding the mixture can be outside of what all experts are in.
    return min(max(mixed, f[lm.FLOOR]), f[lm.CEILING])


@leaf
def charge(code: Code, s: State, record: int, ticket: int, y: float, weight: float) -> None:
    """Weigh the experts anew by what they predicted then, now that y is learned."""
    if ticket >= s.f[lm.CHARGED]:
        p = s.kept[record + lm.MIXTURE]
        _weigh(s, record, weight * slope(code, s.f, p, y))


@leaf
def recharge(s: State, record: int, ticket: int, old: float, new: float) -> None:
    """Correct what was charged when ``old`` was learned: charges are linear in it."""
    if ticket >= s.f[lm.CHARGED]:
        _weigh(s, record, old - new)


@leaf
def forgive(s: State) -> None:
    """Weigh experts anew, by the tickets from now on."""
    f = s.f
    f[lm.CHARGED] = s.n[N.ROUNDS]
    f[lm.LARGEST] = 0.0
    for k in range(lm.EXPERTS):
        f[lm.REGRET + k] = 0.0
        f[lm.SQUARES + k] = 0.0


@leaf
def _weigh(s: State, record: int, g: float) -> None:
    """One round of MLpol with the slope g.

    r_k = g (p - p_k); R_k += r_k; Q_k += r_k^2; B = max |r_k|; v_k ~ max(R_k, 0) / (B^2 + Q_k).
    """
    f, kept = s.f, s.kept
    p = kept[record + lm.MIXTURE]
    largest = f[lm.LARGEST]
    for k in range(lm.EXPERTS):
        r = g * (p - kept[record + lm.ISSUED + k])
        f[lm.REGRET + k] += r
        f[lm.SQUARES + k] += r * r
        largest = max(largest, abs(r))
    f[lm.LARGEST] = largest
    total = 0.0
    for k in range(lm.EXPERTS):
        width = largest * largest + f[lm.SQUARES + k]
        v = max(f[lm.REGRET + k], 0.0) / width if width > 0.0 else 0.0
        f[lm.SHARE + k] = v
        total += v
    for k in range(lm.EXPERTS):
        f[lm.SHARE + k] = f[lm.SHARE + k] / total if total > 0.0 else 1.0 / lm.EXPERTS


# --- Learning ------------------------------------------------------------------------------------


@leaf
def learn(
    code: Code,
    s: State,
    c: Ints,
    pool: Floats,
    record: int,
    y: float,
    weight: float,
) -> None:
    """Let every expert take its step at its current weights; the row counts as open no longer."""
    f = s.f
    pairs = _row_of(s, pool, record)
    p, others = _present(f, c, pairs, True)
    if f[lm.SIZE] <= 0.0:
        return
    g = _slopes(code, f, p, y)
    q = _lengths(code, s, c, pairs, (abs(g[0]), abs(g[1]), abs(g[2]), abs(g[3])), weight)
    r = _after(code, f, p, y, g, q, weight)
    step = (
        _A1 * weight * r[0],
        _A2 * weight * r[1],
        _A3 * weight * r[2],
        _A4 * weight * r[3],
    )
    _move(f, c, s.work, pairs, step, weight * slope(code, f, others[0], y), g, weight)


@leaf
def correct(
    code: Code, s: State, c: Ints, pool: Floats, record: int, old: float, new: float
) -> None:
    """Replace a label that was learned by another one.

    For losses A(p) - y p the two differ by the linear term (old - new) p, whatever the weights are
    by now. Each expert takes the step that the new label asks for, less the one of the old label,
    both at its current weights, so that corrections are as implicit as what they correct; where
    steps are short that is the linear term. Energies take in what the new label pulls, and at
    least half of the difference.
    """
    f = s.f
    pairs = _row_of(s, pool, record)
    p, _ = _present(f, c, pairs, False)
    if f[lm.SIZE] <= 0.0:
        return
    least = 0.5 * abs(old - new)
    g, h = _slopes(code, f, p, new), _slopes(code, f, p, old)
    pulls = (
        max(abs(g[0]), least),
        max(abs(g[1]), least),
        max(abs(g[2]), least),
        max(abs(g[3]), least),
    )
    q = _lengths(code, s, c, pairs, pulls, 1.0)
    r, back = _after(code, f, p, new, g, q, 1.0), _after(code, f, p, old, h, q, 1.0)
    step = (
        _A1 * (r[0] - back[0]),
        _A2 * (r[1] - back[1]),
        _A3 * (r[2] - back[2]),
        _A4 * (r[3] - back[3]),
    )
    _move(f, c, s.work, pairs, step, old - new, (0.0, 0.0, 0.0, 0.0), 0.0)


@leaf
def _row_of(s: State, pool: Floats, record: int) -> Floats:
    """Return the pairs of a ticket: coordinate, standardised value."""
    start, count = int(s.kept[record + lm.START]), int(s.kept[record + lm.PAIRS])
    return pool[2 * start : 2 * (start + count)]


@leaf
def _present(f: Floats, c: Ints, pairs: Floats, leaving: bool) -> tuple[Four, Two]:
    """Return what the experts predict now; the row is taken out of the open ones if it leaves."""
    base = f[lm.BASE]
    p = (base, base, base, base)
    others = (base, base)
    entries = pairs.size // 2
    if leaving:
        for j in range(min(AHEAD, entries)):
            ask(c, int(pairs[2 * j]))
    for j in range(entries):
        if leaving:
            ask(c, int(pairs[2 * min(j + AHEAD, entries - 1)]))
        index, x = int(pairs[2 * j]), pairs[2 * j + 1]
        row = row_of(c, index)
        if leaving:
            leave(row, x)
        p = added(p, row, lm.WEIGHT, x)
        others = with_others(others, row, x)
    return p, others


@leaf
def _slopes(code: Code, f: Floats, p: Four, y: float) -> Four:
    """Return l'(p_k, y) of every scale."""
    return (
        slope(code, f, p[0], y),
        slope(code, f, p[1], y),
        slope(code, f, p[2], y),
        slope(code, f, p[3], y),
    )


@leaf
def _after(code: Code, f: Floats, p: Four, y: float, g: Four, q: Four, weight: float) -> Four:
    """Return the slopes after steps against them."""
    return (
        implicit(code, f, p[0], y, g[0], weight * _A1 * q[0]),
        implicit(code, f, p[1], y, g[1], weight * _A2 * q[1]),
        implicit(code, f, p[2], y, g[2], weight * _A3 * q[2]),
        implicit(code, f, p[3], y, g[3], weight * _A4 * q[3]),
    )


@leaf
def _lengths(code: Code, s: State, c: Ints, pairs: Floats, pulls: Four, weight: float) -> Four:
    """Heat the row, leave S / sqrt(A) in ``work``, and return sum x^2 S / sqrt(A)."""
    unit, crowd_unit = s.f[lm.SIZE], slope_unit(code, s.f) / lm.GRAINS
    q = (0.0, 0.0, 0.0, 0.0)
    for j in range(pairs.size // 2):
        row, x = row_of(c, int(pairs[2 * j])), abs(pairs[2 * j + 1])
        eta = s.work[lm.SCALES * j : lm.SCALES * (j + 1)]
        crowd = crowd_unit * count(row, lm.OPEN)
        eta[1] = _eta(_heated(row, 0, pulls[1] * x, _C2 * crowd, weight), unit)
        eta[2] = _eta(_heated(row, 1, pulls[2] * x, _C3 * crowd, weight), unit)
        eta[3] = _eta(_heated(row, 2, pulls[3] * x, _C4 * crowd, weight), unit)
        eta[0] = eta[1]
        square = x * x
        q = (
            q[0] + eta[0] * square,
            q[1] + eta[1] * square,
            q[2] + eta[2] * square,
            q[3] + eta[3] * square,
        )
    return q


@leaf
def _heated(row: Ints, e: int, pull: float, drag: float, weight: float) -> float:
    """A += h g |x| (g |x| + c U open)."""
    energy = number(row, lm.ENERGY + e) + weight * pull * (pull + drag)
    put_number(row, lm.ENERGY + e, energy)
    return energy


@leaf
def _eta(energy: float, unit: float) -> float:
    """Return S / sqrt(A), or 0 where A = 0; in this form it becomes vector instructions."""
    is_warm = energy > 0.0
    return (unit if is_warm else 0.0) / math.sqrt(energy if is_warm else 1.0)


@leaf
def _move(
    f: Floats,
    c: Ints,
    work: Floats,
    pairs: Floats,
    step: Four,
    pull: float,
    g: Four,
    weight: float,
) -> None:
    """Take the steps of the scales, w -= step S / sqrt(A) x, and let the coin bet on pull x.

    Penalties count ``weight`` times. Where it is 0, a label is corrected, and the mean stays.
    """
    penalised = weight > 0.0 and (f[lm.L1] > 0.0 or f[lm.L2] > 0.0)
    for j in range(pairs.size // 2):
        index, x = int(pairs[2 * j]), pairs[2 * j + 1]
        row = row_of(c, index)
        eta = work[lm.SCALES * j : lm.SCALES * (j + 1)]
        _step(row, 0, eta[0] * x * step[0])
        _step(row, 1, eta[1] * x * step[1])
        _step(row, 2, eta[2] * x * step[2])
        _step(row, 3, eta[3] * x * step[3])
        coin = coin_of(row)
        z = pull * x
        if penalised:
            _shrink(f, row, eta, g, weight)
            z += weight * (f[lm.L2] * coin + f[lm.L1] * _sign(coin))
        if weight > 0.0:
            _take_mean(row)
        if z != 0.0:
            _bet(row, z, coin, f[lm.SIZE])


@leaf
def unlearn(row: Ints) -> None:
    """Forget what labels have taught about a coordinate."""
    put_bits(row, lm.CENTRE, bits(row, lm.CENTRE) & ~LOW)
    for word in range(lm.FRACTION, lm.WORDS):
        put_number(row, word, 0.0)


@leaf
def _step(row: Ints, k: int, step: float) -> None:
    put_number(row, lm.WEIGHT + k, number(row, lm.WEIGHT + k) - step)


@leaf
def _take_mean(row: Ints) -> None:
    """Let the weight of the third scale count in its mean."""
    mean = number(row, lm.AVERAGE)
    share = 2.0 / (count(row, lm.SEEN) + 1.0)
    put_number(row, lm.AVERAGE, mean + share * (number(row, lm.WEIGHT + 2) - mean))


@leaf
def with_others(sums: Two, row: Ints, x: float) -> Two:
    """Return sums + x times the weights of the coin and of the mean."""
    return sums[0] + coin_of(row) * x, sums[1] + number(row, lm.AVERAGE) * x


@leaf
def coin_of(row: Ints) -> float:
    """Return the coin's weight: the part of what it has that it bets, times that."""
    return number(row, lm.FRACTION) * number(row, lm.WEALTH)


@leaf
def _bet(row: Ints, z: float, coin: float, unit: float) -> None:
    """One round of the coin, whose weight is ``coin``, on a coordinate with gradient z != 0.

    won = max((V - S / 4) L - z w, 0); L = max(L, |z|); G += |z|; theta -= z;
    V = S / 4 + min(won / L, 100 S); w = theta / (G + L) V.
    """
    size, quarter = abs(z), lm.ENDOWMENT * unit
    before, turnover = stake_of(row), number(row, lm.TURNOVER)
    bets = number(row, lm.FRACTION) * (turnover + before) - z
    won = max((number(row, lm.WEALTH) - quarter) * before - z * coin, 0.0)
    stake = raise_stake(row, size) if size > before else before
    turnover += size
    put_number(row, lm.TURNOVER, turnover)
    put_number(row, lm.FRACTION, bets / (turnover + stake))
    put_number(row, lm.WEALTH, quarter + min(won / stake, _MOST_WON * unit))


@leaf
def _sign(x: float) -> float:
    return 1.0 if x > 0.0 else -1.0 if x < 0.0 else 0.0


@leaf
def _put_shrunk(row: Ints, at: int, eta: float, l1: float, l2: float) -> None:
    """w = soft(w, eta l1) / (1 + eta l2)."""
    w = number(row, at)
    put_number(row, at, _sign(w) * max(abs(w) - eta * l1, 0.0) / (1.0 + eta * l2))


@leaf
def _shrink(f: Floats, row: Ints, eta: Floats, g: Four, weight: float) -> None:
    """Shrink the weights of a coordinate, for every scale that has taken a step."""
    l1, l2 = weight * f[lm.L1], weight * f[lm.L2]
    w = lm.WEIGHT
    if g[0] != 0.0:
        _put_shrunk(row, w, _A1 * eta[0], l1, l2)
    if g[1] != 0.0:
        _put_shrunk(row, w + 1, _A2 * eta[1], l1, l2)
    if g[2] != 0.0:
        _put_shrunk(row, w + 2, _A3 * eta[2], l1, l2)
    if g[3] != 0.0:
        _put_shrunk(row, w + 3, _A4 * eta[3], l1, l2)
