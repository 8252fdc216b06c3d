"""The five experts of a linear model: what they predict, how they are mixed, how each learns.

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
from belated.kernels.linear.losses import implicit, loss, slope, slope_unit
from belated.kernels.linear.rows import AHEAD, Four, added, ask, ask_all, enter, leave
from belated.kernels.slots import ints as N

# a_k, powers of two, so that multiplying by them is exact.
_A1, _A2, _A3, _A4 = 0.015625, 0.0625, 0.25, 1.0
# c_k = 0.01 / sqrt(a_k): what an open ticket adds to the energy, in the unit U of slopes.
_C1, _C2, _C3, _C4 = 0.08, 0.04, 0.02, 0.01
_ENDOWMENT = 0.25  # what the coin starts with, as a part of S
_MOST_WON = 100.0  # what it can win, in the unit of its bets: beyond, it would only overflow


# --- Predictions ---------------------------------------------------------------------------------


@leaf
def issue(
    s: State, c: Floats, pool: Floats, record: int, indices: Ints, values: Floats, first: int
) -> None:
    """Enter the row of a ticket, and write what the experts and their mixture predict.

    p_k = base + sum_i w[i, k] x_i, clipped; p = sum_k v_k p_k.
    """
    f, kept = s.f, s.kept
    start, count = int(kept[record + lm.START]), int(kept[record + lm.PAIRS])
    base = f[lm.BASE]
    sums = (base, base, base, base)
    coin = base
    given = count - s.n[N.INTERCEPT]
    given_indices, given_values = indices[first : first + given], values[first : first + given]
    pairs = pool[2 * start : 2 * (start + count)]
    for j in range(min(AHEAD, given)):
        ask(c, given_indices[j])
    for j in range(given):
        ask(c, given_indices[min(j + AHEAD, given - 1)])
        index = given_indices[j]
        row = c[index * lm.ROW : (index + 1) * lm.ROW]
        x = enter(row, pairs[2 * j : 2 * j + 2], index, given_values[j])
        sums = added(sums, row, lm.WEIGHT, x)
        coin += row[lm.COIN] * x
    if given < count:
        index = s.n[N.COORDINATES]
        row = c[index * lm.ROW : (index + 1) * lm.ROW]
        x = enter(row, pairs[2 * given : 2 * count], index, 1.0)
        sums = added(sums, row, lm.WEIGHT, x)
        coin += row[lm.COIN] * x
    kept[record + lm.ISSUED] = sums[0]
    kept[record + lm.ISSUED + 1] = sums[1]
    kept[record + lm.ISSUED + 2] = sums[2]
    kept[record + lm.ISSUED + 3] = sums[3]
    kept[record + lm.ISSUED + 4] = coin
    anchor = min(max(sums[0], f[lm.FLOOR]), f[lm.CEILING])
    mixture = anchor
    for k in range(lm.EXPERTS):
        p = min(max(kept[record + lm.ISSUED + k], f[lm.FLOOR]), f[lm.CEILING])
        kept[record + lm.ISSUED + k] = p
        mixture += f[lm.SHARE + k] * (p - anchor)  # the shares sum to 1; equal ones mix to the same
    kept[record + lm.MIXTURE] = mixture


# --- Mixing --------------------------------------------------------------------------------------


@leaf
def charge(code: Code, s: State, record: int, y: float, weight: float) -> None:
    """Weigh the experts anew by what they predicted then, now that their label is y."""
    f, p = s.f, s.kept[record + lm.MIXTURE]
    f[lm.LOST] += weight * loss(code, f, s.kept[record + lm.SHOWN], y)
    _weigh(s, record, weight * slope(code, f, p, y))


@leaf
def recharge(code: Code, s: State, record: int, ticket: int, old: float, new: float) -> None:
    """Correct what was charged when the label seemed to be ``old``: charges are linear in it."""
    f, p = s.f, s.kept[record + lm.SHOWN]
    f[lm.LOST] += loss(code, f, p, new) - loss(code, f, p, old)
    if ticket >= f[lm.CHARGED]:
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
    c: Floats,
    pool: Floats,
    record: int,
    y: float,
    weight: float,
) -> None:
    """Let every expert take its step at its current weights; the row counts as open no longer."""
    f = s.f
    pairs = _row_of(s, pool, record)
    p, coin = _present(f, c, pairs, True)
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
    _move(f, c, s.work, pairs, step, weight * slope(code, f, coin, y), g, weight)


@leaf
def correct(
    code: Code, s: State, c: Floats, pool: Floats, record: int, old: float, new: float
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
def _present(f: Floats, c: Floats, pairs: Floats, leaving: bool) -> tuple[Four, float]:
    """Return what the experts predict now; the row is taken out of the open ones if it leaves."""
    base = f[lm.BASE]
    p = (base, base, base, base)
    coin = base
    count = pairs.size // 2
    for j in range(min(AHEAD, count)):
        ask_all(c, int(pairs[2 * j]))
    for j in range(count):
        ask_all(c, int(pairs[2 * min(j + AHEAD, count - 1)]))
        index, x = int(pairs[2 * j]), pairs[2 * j + 1]
        row = c[index * lm.ROW : (index + 1) * lm.ROW]
        if leaving:
            leave(row, x)
        p = added(p, row, lm.WEIGHT, x)
        coin += row[lm.COIN] * x
    return p, coin


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
def _lengths(code: Code, s: State, c: Floats, pairs: Floats, pulls: Four, weight: float) -> Four:
    """Heat the row, leave S / sqrt(A) in ``work``, and return sum x^2 S / sqrt(A)."""
    work, unit = s.work, s.f[lm.SIZE]
    count = pairs.size // 2
    _heat(code, s, c, pairs, pulls, weight)
    # One flat loop, which the compiler turns into vector instructions: S / sqrt(A).
    for i in range(lm.SCALES * count):
        energy = work[i]
        work[i] = unit / math.sqrt(energy) if energy > 0.0 else 0.0
    q = (0.0, 0.0, 0.0, 0.0)
    for j in range(count):
        x = pairs[2 * j + 1]
        q = added(q, work[lm.SCALES * j : lm.SCALES * (j + 1)], 0, x * x)
    return q


@leaf
def _heat(code: Code, s: State, c: Floats, pairs: Floats, pulls: Four, weight: float) -> None:
    """Add to the energies of a row, for every scale."""
    unit = slope_unit(code, s.f)
    for j in range(pairs.size // 2):
        index, x = int(pairs[2 * j]), abs(pairs[2 * j + 1])
        row = c[index * lm.ROW : (index + 1) * lm.ROW]
        work = s.work[lm.SCALES * j : lm.SCALES * (j + 1)]
        crowd = unit * row[lm.OPEN]
        _heated(row, work, 0, pulls[0] * x, _C1 * crowd, weight)
        _heated(row, work, 1, pulls[1] * x, _C2 * crowd, weight)
        _heated(row, work, 2, pulls[2] * x, _C3 * crowd, weight)
        _heated(row, work, 3, pulls[3] * x, _C4 * crowd, weight)


@leaf
def _heated(row: Floats, work: Floats, k: int, pull: float, drag: float, weight: float) -> None:
    """A += h g |x| (g |x| + c U open), left in ``work`` as well."""
    energy = row[lm.ENERGY + k] + weight * pull * (pull + drag)
    row[lm.ENERGY + k] = energy
    work[k] = energy


@leaf
def _move(
    f: Floats,
    c: Floats,
    work: Floats,
    pairs: Floats,
    step: Four,
    pull: float,
    g: Four,
    weight: float,
) -> None:
    """Take the steps of the scales, w -= step S / sqrt(A) x, and let the coin bet on pull x.

    Penalties count ``weight`` times.
    """
    unit = f[lm.SIZE]
    penalised = weight > 0.0 and (f[lm.L1] > 0.0 or f[lm.L2] > 0.0)
    for j in range(pairs.size // 2):
        index, x = int(pairs[2 * j]), pairs[2 * j + 1]
        row = c[index * lm.ROW : (index + 1) * lm.ROW]
        eta = work[lm.SCALES * j : lm.SCALES * (j + 1)]
        row[lm.WEIGHT] -= eta[0] * x * step[0]
        row[lm.WEIGHT + 1] -= eta[1] * x * step[1]
        row[lm.WEIGHT + 2] -= eta[2] * x * step[2]
        row[lm.WEIGHT + 3] -= eta[3] * x * step[3]
        coin = row[lm.COIN]
        z = pull * x
        if penalised:
            _shrink(f, row, eta, g, weight)
            z += weight * (f[lm.L2] * coin + f[lm.L1] * _sign(coin))
        if z != 0.0:
            _bet(row, z, unit)


@leaf
def _bet(row: Floats, z: float, unit: float) -> None:
    """One round of the coin on a coordinate with gradient z != 0.

    L = max(L, |z|); G += |z|; theta -= z; won = max(won - z w, 0), but at most 100 S L;
    w = theta / (G + L) (S / 4 + won / L).
    """
    size = abs(z)
    stake = max(row[lm.STAKE], size)
    turnover = row[lm.TURNOVER] + size
    bets = row[lm.BETS] - z
    wealth = min(max(row[lm.WEALTH] - z * row[lm.COIN], 0.0), _MOST_WON * unit * stake)
    row[lm.STAKE] = stake
    row[lm.TURNOVER] = turnover
    row[lm.BETS] = bets
    row[lm.WEALTH] = wealth
    row[lm.COIN] = bets / (turnover + stake) * (_ENDOWMENT * unit + wealth / stake)


@leaf
def _sign(x: float) -> float:
    return 1.0 if x > 0.0 else -1.0 if x < 0.0 else 0.0


@leaf
def _shrunk(w: float, eta: float, l1: float, l2: float) -> float:
    """Return soft(w, eta l1) / (1 + eta l2)."""
    return _sign(w) * max(abs(w) - eta * l1, 0.0) / (1.0 + eta * l2)


@leaf
def _shrink(f: Floats, row: Floats, eta: Floats, g: Four, weight: float) -> None:
    """Shrink the weights of a coordinate, for every scale that has taken a step."""
    l1, l2 = weight * f[lm.L1], weight * f[lm.L2]
    w = lm.WEIGHT
    if g[0] != 0.0:
        row[w] = _shrunk(row[w], _A1 * eta[0], l1, l2)
    if g[1] != 0.0:
        row[w + 1] = _shrunk(row[w + 1], _A2 * eta[1], l1, l2)
    if g[2] != 0.0:
        row[w + 2] = _shrunk(row[w + 2], _A3 * eta[2], l1, l2)
    if g[3] != 0.0:
        row[w + 3] = _shrunk(row[w + 3], _A4 * eta[3], l1, l2)
