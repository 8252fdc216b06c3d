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

from typing import Any, NamedTuple

from belated.arrays import Code, Floats, Ints
from belated.kernels.fours import above, any_above, least, most, roots
from belated.kernels.jit import leaf
from belated.kernels.linear import layout as lm
from belated.kernels.linear import rows, together
from belated.kernels.linear.losses import implicit, slope, slope_unit
from belated.kernels.linear.rows import Four
from belated.kernels.linear.together import Entries, Laid
from belated.kernels.narrow import bits, put_bits, put_number
from belated.kernels.slots import ints as N
from belated.kernels.state import State
from belated.kernels.words import (
    Bits,
    Lanes,
    columns,
    counted,
    each_sum,
    four_sums,
    in_turn,
    keep,
    kept,
    lower,
    packed,
    put_columns,
    upper,
    weighed,
    with_lower,
    with_upper,
)

# a_k, powers of two, so that multiplying by them is exact.
_A1, _A2, _A3, _A4 = 0.015625, 0.0625, 0.25, 1.0
# c_k = 0.01 / sqrt(a_k): what an open ticket adds to the energy, in the unit U of slopes.
_C2, _C3, _C4 = 0.04, 0.02, 0.01
_MOST_WON = 100.0  # what the coin can win, in units of S and of L: beyond, it would only overflow


class Said(NamedTuple):
    """What experts predict: those that step at a scale, the coin, and the mean of weights."""

    scales: Any
    coin: float
    mean: float


# --- Predictions ---------------------------------------------------------------------------------


@leaf
def issue(
    s: State, c: Ints, pool: Floats, record: int, indices: Ints, values: Floats, first: int
) -> None:
    """Enter the row of a ticket, and write what the experts and their mixture predict.

    p_k = base + sum_i w[i, k] x_i, clipped; p = sum_k v_k p_k.
    """
    f, n, records = s.f, s.n, s.kept
    pairs = _row_of(s, pool, record)
    entries = pairs.size // 2
    given = entries - n[N.INTERCEPT]
    scattered = given > 0 and together.are_scattered(
        indices[first], indices[first + given - 1], given
    )
    row = together.room_for(s.work, entries, n[N.COORDINATES] + 1, scattered)
    for j in range(given):
        together.lay_out(row, j, indices[first + j], values[first + j])
    if given < entries:
        together.lay_out(row, given, n[N.COORDINATES], 1.0)
    rows.enter_all(c, row)
    together.note(row, pairs)
    said = _present(f, c, row, rows.OPENS)
    sums = each_sum(said.scales)
    records[record + lm.ISSUED] = sums[0]
    records[record + lm.ISSUED + 1] = sums[1]
    records[record + lm.ISSUED + 2] = sums[2]
    records[record + lm.ISSUED + 3] = sums[3]
    records[record + lm.ISSUED + 4] = said.coin
    records[record + lm.ISSUED + 5] = said.mean
    records[record + lm.MIXTURE] = mixture(f, records[record + lm.ISSUED : record + lm.MIXTURE])


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
def reset_expert_losses(s: State) -> None:
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
    f, records = s.f, s.kept
    p = records[record + lm.MIXTURE]
    largest = f[lm.LARGEST]
    for k in range(lm.EXPERTS):
        r = g * (p - records[record + lm.ISSUED + k])
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
    code: Code, s: State, c: Ints, pool: Floats, record: int, y: float, weight: float
) -> None:
    """Let every expert take its step at its current weights; the row counts as open no longer."""
    f = s.f
    pairs = _row_of(s, pool, record)
    row = _laid_out(s, c, pairs)
    said = _present(f, c, row, rows.LEAVES)
    if f[lm.SIZE] <= 0.0:
        return
    p = each_sum(said.scales)
    g = _slopes(code, f, p, y)
    pull = weight * slope(code, f, said.coin, y)
    q = _lengths(code, s, c, row, (abs(g[0]), abs(g[1]), abs(g[2]), abs(g[3])), pull, weight)
    r = _after(code, f, p, y, g, q, weight)
    step = (
        _A1 * weight * r[0],
        _A2 * weight * r[1],
        _A3 * weight * r[2],
        _A4 * weight * r[3],
    )
    _step(f, c, row, step, g, weight)


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
    row = _laid_out(s, c, pairs)
    said = _present(f, c, row, rows.STAYS)
    if f[lm.SIZE] <= 0.0:
        return
    p = each_sum(said.scales)
    half = 0.5 * abs(old - new)
    g, h = _slopes(code, f, p, new), _slopes(code, f, p, old)
    pulls = (
        max(abs(g[0]), half),
        max(abs(g[1]), half),
        max(abs(g[2]), half),
        max(abs(g[3]), half),
    )
    q = _lengths(code, s, c, row, pulls, old - new, 0.0)
    r, back = _after(code, f, p, new, g, q, 1.0), _after(code, f, p, old, h, q, 1.0)
    step = (
        _A1 * (r[0] - back[0]),
        _A2 * (r[1] - back[1]),
        _A3 * (r[2] - back[2]),
        _A4 * (r[3] - back[3]),
    )
    _step(f, c, row, step, (0.0, 0.0, 0.0, 0.0), 0.0)


@leaf
def _row_of(s: State, pool: Floats, record: int) -> Floats:
    """Return the pairs of a ticket: coordinate, standardised value."""
    start, count = int(s.kept[record + lm.START]), int(s.kept[record + lm.PAIRS])
    return pool[2 * start : 2 * (start + count)]


@leaf
def _laid_out(s: State, c: Ints, pairs: Floats) -> Laid:
    """Lay out the row of a ticket."""
    entries = pairs.size // 2
    given = entries - s.n[N.INTERCEPT]
    scattered = given > 0 and together.are_scattered(
        int(pairs[0]), int(pairs[2 * given - 2]), given
    )
    if scattered:
        together.ask_first_of(c, pairs, entries)
    row = together.room_for(s.work, entries, s.n[N.COORDINATES] + 1, scattered)
    together.recall(row, pairs)
    return row


@leaf
def _present(f: Floats, c: Ints, row: Laid, sign: float) -> Said:
    """Return what the experts predict now; the row is taken in or out of the open ones."""
    base = float(f[lm.BASE])
    said = Said(four_sums(base), base, base)
    j = 0
    while j < row.entries:
        if sign < 0.0:
            together.ask_ahead(c, row, j)
        e = together.entries_of(row, j)
        opened, wealth = columns(c, e.rows, lm.OPEN_AT)
        if sign != 0.0:
            rows.open_or_leave(c, e, opened, wealth, sign)
        average, _ = columns(c, e.rows, lm.AVERAGE_AT)
        said = Said(
            weighed(said.scales, c, e.rows, lm.WEIGHT_AT, e.x),
            in_turn(said.coin, upper(opened) * lower(wealth) * e.x),
            in_turn(said.mean, lower(average) * e.x),
        )
        j += e.taken
    return said


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
def _lengths(
    code: Code, s: State, c: Ints, row: Laid, pulls: Four, pull: float, weight: float
) -> Four:
    """Heat the row, keep S / sqrt(A), and return sum x^2 S / sqrt(A); the coin bets on pull x.

    Coins do not wait for roots, which are what this loop waits for. Penalties count ``weight``
    times. Where it is 0, a label is corrected, which heats as one that counts once.
    """
    f = s.f
    unit, crowd_unit = float(f[lm.SIZE]), float(slope_unit(code, f) / lm.GRAINS)
    heat = weight if weight > 0.0 else 1.0
    penalised = weight > 0.0 and (f[lm.L1] > 0.0 or f[lm.L2] > 0.0)
    q2, q3, q4 = 0.0, 0.0, 0.0
    j = 0
    while j < row.entries:
        e = together.entries_of(row, j)
        x = abs(e.x)
        opened, wealth = columns(c, e.rows, lm.OPEN_AT)
        first, others = columns(c, e.rows, lm.AVERAGE_AT)
        crowd = crowd_unit * counted(opened)
        a2 = _heated(upper(first), pulls[1] * x, _C2 * crowd, heat)
        a3 = _heated(lower(others), pulls[2] * x, _C3 * crowd, heat)
        a4 = _heated(upper(others), pulls[3] * x, _C4 * crowd, heat)
        put_columns(c, e.rows, lm.AVERAGE_AT, with_upper(first, a2), packed(a3, a4))
        eta2, eta3, eta4 = _eta(a2, unit), _eta(a3, unit), _eta(a4, unit)
        keep(row.eta2, j, eta2)
        keep(row.eta3, j, eta3)
        keep(row.eta4, j, eta4)
        square = x * x
        q2 = in_turn(q2, eta2 * square)
        q3 = in_turn(q3, eta3 * square)
        q4 = in_turn(q4, eta4 * square)
        coin = upper(opened) * lower(wealth)
        z = pull * e.x
        if penalised:
            z = z + weight * (f[lm.L2] * coin + f[lm.L1] * _sign(coin))
        _bet(c, e, opened, wealth, z, coin, unit)
        j += e.taken
    return q2, q2, q3, q4


@leaf
def _heated(energy: Lanes, pull: Lanes, drag: Lanes, weight: float) -> Lanes:
    """A += h g |x| (g |x| + c U open)."""
    return energy + weight * pull * (pull + drag)


@leaf
def _eta(energy: Lanes, unit: float) -> Lanes:
    """Return S / sqrt(A), or 0 where A = 0."""
    return above(energy, 0.0, unit, 0.0) / roots(above(energy, 0.0, energy, 1.0))


@leaf
def _step(f: Floats, c: Ints, row: Laid, step: Four, g: Four, weight: float) -> None:
    """Take the steps of the scales, w -= step S / sqrt(A) x; the mean has weights of the third.

    Where ``weight`` is 0, a label is corrected, and the mean stays.
    """
    l1, l2 = weight * f[lm.L1], weight * f[lm.L2]
    penalised = l1 > 0.0 or l2 > 0.0
    j = 0
    while j < row.entries:
        e = together.entries_of(row, j)
        eta2, eta3, eta4 = kept(row.eta2, j), kept(row.eta3, j), kept(row.eta4, j)
        first, second = columns(c, e.rows, lm.WEIGHT_AT)
        w1, w2 = lower(first) - eta2 * e.x * step[0], upper(first) - eta2 * e.x * step[1]
        w3, w4 = lower(second) - eta3 * e.x * step[2], upper(second) - eta4 * e.x * step[3]
        first, second = packed(w1, w2), packed(w3, w4)
        if penalised:
            w1 = _shrunk(lower(first), _A1 * eta2, g[0], l1, l2)
            w2 = _shrunk(upper(first), _A2 * eta2, g[1], l1, l2)
            w3 = _shrunk(lower(second), _A3 * eta3, g[2], l1, l2)
            w4 = _shrunk(upper(second), _A4 * eta4, g[3], l1, l2)
            first, second = packed(w1, w2), packed(w3, w4)
        put_columns(c, e.rows, lm.WEIGHT_AT, first, second)
        if weight > 0.0:
            _, seen = columns(c, e.rows, lm.CENTRE_AT)
            average, energies = columns(c, e.rows, lm.AVERAGE_AT)
            mean = lower(average)
            mean = mean + 2.0 / (counted(seen) + 1.0) * (lower(second) - mean)
            put_columns(c, e.rows, lm.AVERAGE_AT, with_lower(average, mean), energies)
        j += e.taken


@leaf
def unlearn(row: Ints) -> None:
    """Forget what labels have taught about a coordinate."""
    put_bits(row, lm.CENTRE, bits(row, lm.CENTRE) & ~rows.LOW)
    for word in range(lm.FRACTION, lm.WORDS):
        put_number(row, word, 0.0)


@leaf
def _bet(c: Ints, e: Entries, bets: Bits, wealth: Bits, z: Lanes, coin: Lanes, unit: float) -> None:
    """One round of the coins, whose weights are ``coin``, on coordinates with gradients z.

    won = max((V - S / 4) L - z w, 0); L = max(L, |z|); G += |z|; theta -= z;
    V = S / 4 + min(won / L, 100 S); w = theta / (G + L) V. Where z = 0, nothing changes.
    """
    size, quarter = abs(z), lm.ENDOWMENT * unit
    centres, seen = columns(c, e.rows, lm.CENTRE_AT)
    before, turnover = rows.stake_in(centres), upper(wealth)
    theta = upper(bets) * (turnover + before) - z
    won = most((lower(wealth) - quarter) * before - z * coin, 0.0)
    stake = before
    if any_above(size, before):
        stake = above(size, before, rows.raised(size), before)
        put_columns(c, e.rows, lm.CENTRE_AT, rows.with_stakes(centres, stake), seen)
    turnover = turnover + size
    fraction = theta / above(size, 0.0, turnover + stake, 1.0)
    has = quarter + least(won / above(size, 0.0, stake, 1.0), _MOST_WON * unit)
    fraction = above(size, 0.0, fraction, upper(bets))
    has = above(size, 0.0, has, lower(wealth))
    put_columns(c, e.rows, lm.OPEN_AT, with_upper(bets, fraction), packed(has, turnover))


@leaf
def _sign(x: Lanes) -> Lanes:
    return above(x, 0.0, 1.0, above(0.0, x, -1.0, 0.0))


@leaf
def _shrunk(w: Lanes, eta: Lanes, g: float, l1: float, l2: float) -> Lanes:
    """w = soft(w, eta l1) / (1 + eta l2), for a scale that has taken a step."""
    if g == 0.0:
        return w
    return _sign(w) * most(abs(w) - eta * l1, 0.0) / (1.0 + eta * l2)
