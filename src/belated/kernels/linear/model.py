"""Linear models with late labels: one prediction, one label, one ticket closed without.

A ticket keeps its row (coordinates and standardised values) and what the five experts predicted.
When its label comes, every expert evaluates the loss at its *current* weights. Costs are O(row) per
event. A coordinate that occurs twice in a row is treated as two entries, one after the other:
the second one finds what the first has done to the standardiser and to the energy, and steps of
both are taken with the same slope.
"""

from __future__ import annotations

import math
from typing import TypeAlias

from belated.arrays import Code, Floats, Ints
from belated.kernels.jit import leaf
from belated.kernels.learners.state import State
from belated.kernels.learners.uses import of_lags
from belated.kernels.linear import layout as lm
from belated.kernels.linear.losses import (
    count_label,
    implicit,
    is_label,
    link,
    loss,
    slope,
    slope_unit,
)
from belated.kernels.prefetch import prefetch
from belated.kernels.slots import code as C
from belated.kernels.slots import ints as N
from belated.kernels.slots import status as S
from belated.kernels.slots import table as T
from belated.kernels.tickets import (
    close_without_answer,
    count_arrival,
    has_room,
    is_ghost,
    lay_ghost,
    locate,
    open_ticket,
    overdue,
    start_round,
    tail,
)
from belated.kernels.vectors import vector

Four: TypeAlias = tuple[float, float, float, float]

# a_k, powers of two, so that multiplying by them is exact.
_A1, _A2, _A3, _A4 = 0.015625, 0.0625, 0.25, 1.0
# c_k = 0.01 / sqrt(a_k): what an open ticket adds to the energy, in the unit U of slopes.
_C1, _C2, _C3, _C4 = 0.08, 0.04, 0.02, 0.01
_NOTHING = C.NOTHING  # nobody looks at lags here
_AHEAD = 16  # entries that memory is asked for ahead of the one in hand
_ENDOWMENT = 0.25  # what the coin starts with, as a part of S
_FLAT = 1e-12  # a variance below this part of the squared mean is rounding


@leaf
def state_of(f: Floats, n: Ints) -> State:
    """Name the parts of the state."""
    f, n = vector(f), vector(n)
    nothing = f[:0]
    return State(
        f,
        n,
        nothing,
        nothing,
        f[lm.HEADER : n[N.KEPT_AT]],
        nothing,
        n[N.HEADER : N.HEADER + 2 * n[N.CAPACITY]],
        nothing,
        f[n[N.KEPT_AT] :],
    )


# --- Rows ----------------------------------------------------------------------------------------


@leaf
def bad_entry(coordinates: int, indices: Ints, values: Floats, first: int, count: int) -> int:
    """Return the first entry whose coordinate or value cannot be used, or -1."""
    for j in range(first, first + count):
        if not (0 <= indices[j] < coordinates and abs(values[j]) <= lm.HUGE_VALUE):
            return j
    return -1


@leaf
def standardise(row: Floats, x: float) -> float:
    """Count a value of a coordinate (Welford), and return it in standard units.

    A coordinate that never varies has value 1, or 0 if it has always been 0.
    """
    seen = row[lm.SEEN] + 1.0
    centre, scatter = row[lm.CENTRE], row[lm.SCATTER]
    away = x - centre
    row[lm.SEEN] = seen
    if away != 0.0 or scatter > 0.0:
        share = 1.0 / seen
        centre += away * share
        scatter += away * (x - centre)
        row[lm.CENTRE] = centre
        row[lm.SCATTER] = scatter
        variance = scatter * share
        if variance > _FLAT * centre * centre:
            return (x - centre) / math.sqrt(variance)
    return 1.0 if centre != 0.0 else 0.0


@leaf
def _enter(row: Floats, pair: Floats, index: int, x: float) -> float:
    """Note an entry of a new ticket in the pool, and return its standardised value."""
    unit = standardise(row, x)
    row[lm.OPEN] += abs(unit)
    pair[0] = index
    pair[1] = unit
    return unit


@leaf
def _added(sums: Four, numbers: Floats, first: int, factor: float) -> Four:
    """Return sums + factor * four numbers."""
    return (
        sums[0] + numbers[first] * factor,
        sums[1] + numbers[first + 1] * factor,
        sums[2] + numbers[first + 2] * factor,
        sums[3] + numbers[first + 3] * factor,
    )


@leaf
def _ask(c: Floats, index: int) -> None:
    """Ask for what a prediction needs of a coordinate."""
    prefetch(c, index * lm.ROW)
    prefetch(c, index * lm.ROW + lm.COIN)


@leaf
def _ask_all(c: Floats, index: int) -> None:
    """Ask for what a label needs of a coordinate."""
    _ask(c, index)
    prefetch(c, index * lm.ROW + lm.WEALTH)


# --- Predictions ---------------------------------------------------------------------------------


@leaf
def _pool_has_room(s: State, pool: Floats, count: int) -> bool:
    """Make room for one more row; False when work or pool must grow first."""
    if lm.SCALES * count > s.work.size:
        return False
    if 2 * (s.n[N.POOL_TAIL] + count) <= pool.size:
        return True
    if 4 * (s.n[N.POOL_LIVE] + count) > pool.size:
        return False
    _squeeze(s, pool)
    return True


@leaf
def _squeeze(s: State, pool: Floats) -> None:
    """Drop the rows of closed tickets; those of open ones stand in ticket order, and still will."""
    end = 0
    for entry in range(tail(s)):
        if s.table[2 * entry + 1] >= 0:
            record = entry * lm.KEEP
            start, count = int(s.kept[record + lm.START]), int(s.kept[record + lm.PAIRS])
            for i in range(2 * count):
                pool[2 * end + i] = pool[2 * start + i]
            s.kept[record + lm.START] = end
            end += count
    s.n[N.POOL_TAIL] = end


@leaf
def _give_up(s: State, c: Floats, pool: Floats) -> None:
    """Close what is overdue, by Skip's rule (Algorithm 3) or because of a fixed wait."""
    if s.n[N.GIVES_UP] == lm.BY_SKIP:
        start_round(s)
    elif s.n[N.GIVES_UP] != lm.AFTER:
        return
    if s.n[N.ROUNDS] >= s.n[N.CALM]:
        entry = overdue(s)
        while entry >= 0:
            _close_unanswered(s, c, pool, entry, True)
            entry = overdue(s)


@leaf
def _issue(
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
    for j in range(min(_AHEAD, given)):
        _ask(c, given_indices[j])
    for j in range(given):
        _ask(c, given_indices[min(j + _AHEAD, given - 1)])
        index = given_indices[j]
        row = c[index * lm.ROW : (index + 1) * lm.ROW]
        x = _enter(row, pairs[2 * j : 2 * j + 2], index, given_values[j])
        sums = _added(sums, row, lm.WEIGHT, x)
        coin += row[lm.COIN] * x
    if given < count:
        index = s.n[N.COORDINATES]
        row = c[index * lm.ROW : (index + 1) * lm.ROW]
        x = _enter(row, pairs[2 * given : 2 * count], index, 1.0)
        sums = _added(sums, row, lm.WEIGHT, x)
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


@leaf
def predict(
    code: Code,
    s: State,
    c: Floats,
    pool: Floats,
    indices: Ints,
    values: Floats,
    first: int,
    given: int,
) -> tuple[int, float]:
    """Issue a ticket for ``given`` entries from ``first`` on. Return it, and the prediction.

    Instead of a ticket: FULL when something must grow first, BAD for an entry that cannot be used.
    """
    if bad_entry(s.n[N.COORDINATES], indices, values, first, given) >= 0:
        return S.BAD, 0.0
    count = given + s.n[N.INTERCEPT]
    if not (_pool_has_room(s, pool, count) and has_room(s)):
        return S.FULL, 0.0
    _give_up(s, c, pool)
    entry = open_ticket(s)
    record = entry * lm.KEEP
    s.kept[record + lm.START] = s.n[N.POOL_TAIL]
    s.kept[record + lm.PAIRS] = count
    s.n[N.POOL_TAIL] += count
    s.n[N.POOL_LIVE] += count
    _issue(s, c, pool, record, indices, values, first)
    return s.table[2 * entry], link(code, s.kept[record + lm.MIXTURE])


@leaf
def peek(
    code: Code, s: State, c: Floats, pool: Floats, indices: Ints, values: Floats, given: int
) -> tuple[int, float]:
    """Return USED and what ``predict`` would, leaving everything as it was.

    The row is entered behind the table and the pool. What that changes of a coordinate stands
    before its weights, is kept in ``work``, and put back.
    """
    if bad_entry(s.n[N.COORDINATES], indices, values, 0, given) >= 0:
        return S.BAD, 0.0
    count = given + s.n[N.INTERCEPT]
    if not (_pool_has_room(s, pool, count) and has_room(s)):
        return S.FULL, 0.0
    for j in range(count):
        index = indices[j] if j < given else s.n[N.COORDINATES]
        for i in range(lm.WEIGHT):
            s.work[lm.WEIGHT * j + i] = c[index * lm.ROW + i]
    record = tail(s) * lm.KEEP
    s.kept[record + lm.START] = s.n[N.POOL_TAIL]
    s.kept[record + lm.PAIRS] = count
    _issue(s, c, pool, record, indices, values, 0)
    for j in range(count):
        index = indices[j] if j < given else s.n[N.COORDINATES]
        for i in range(lm.WEIGHT):
            c[index * lm.ROW + i] = s.work[lm.WEIGHT * j + i]
    return S.USED, link(code, s.kept[record + lm.MIXTURE])


# --- Labels --------------------------------------------------------------------------------------


@leaf
def observe(
    code: Code, s: State, c: Floats, pool: Floats, ticket: int, y: float, weight: float
) -> int:
    """Learn a label. Every check comes before the first change."""
    entry = locate(s, ticket)
    if entry < 0:
        return entry
    if not (is_label(code, y) and 0.0 < weight <= lm.HUGE_WEIGHT):
        return S.BAD
    if is_ghost(s, entry):
        s.n[N.LATE] += 1
        lay_ghost(s, entry)
        return S.DROPPED
    record = entry * lm.KEEP
    _combine(code, s, record, y, weight)
    count_label(code, s.f, y, weight)
    count_arrival(of_lags(_NOTHING), s, entry)
    count = int(s.kept[record + lm.PAIRS])
    _learn(code, s, c, pool, int(s.kept[record + lm.START]), count, y, weight)
    s.n[N.POOL_LIVE] -= count
    s.table[2 * entry + 1] = T.DEAD
    return S.USED


@leaf
def _combine(code: Code, s: State, record: int, y: float, weight: float) -> None:
    """Weigh the experts anew by what they predicted then (MLpol).

    r_k = h g (p - p_k); R_k += r_k; Q_k += r_k^2; B = max |r_k|; v_k ~ max(R_k, 0) / (B^2 + Q_k).
    """
    f, kept = s.f, s.kept
    p = kept[record + lm.MIXTURE]
    f[lm.LOST] += weight * loss(code, f, p, y)
    g = weight * slope(code, f, p, y)
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


@leaf
def _leave(row: Floats, x: float) -> None:
    """Take an entry out of the sum over open tickets, which rounding must not make negative."""
    row[lm.OPEN] = max(row[lm.OPEN] - abs(x), 0.0)


@leaf
def _heated(row: Floats, work: Floats, k: int, pull: float, drag: float, weight: float) -> None:
    """A += h g |x| (g |x| + c U open), left in ``work`` as well."""
    energy = row[lm.ENERGY + k] + weight * pull * (pull + drag)
    row[lm.ENERGY + k] = energy
    work[k] = energy


@leaf
def _learn(
    code: Code,
    s: State,
    c: Floats,
    pool: Floats,
    start: int,
    count: int,
    y: float,
    weight: float,
) -> None:
    """Close the row of a ticket and let every expert take its step at its current weights."""
    f = s.f
    pairs = pool[2 * start : 2 * (start + count)]
    p, coin = _close_row(c, pairs, f[lm.BASE])
    if f[lm.SIZE] <= 0.0:
        return
    g = (
        slope(code, f, p[0], y),
        slope(code, f, p[1], y),
        slope(code, f, p[2], y),
        slope(code, f, p[3], y),
    )
    _heat(code, s, c, pairs, g, weight)
    q = _scales(s.work[: lm.SCALES * count], pairs, f[lm.SIZE])
    step = (
        _A1 * weight * implicit(code, f, p[0], y, g[0], weight * _A1 * q[0]),
        _A2 * weight * implicit(code, f, p[1], y, g[1], weight * _A2 * q[1]),
        _A3 * weight * implicit(code, f, p[2], y, g[2], weight * _A3 * q[2]),
        _A4 * weight * implicit(code, f, p[3], y, g[3], weight * _A4 * q[3]),
    )
    _move(s, c, pairs, g, step, weight * slope(code, f, coin, y), weight)


@leaf
def _close_row(c: Floats, pairs: Floats, base: float) -> tuple[Four, float]:
    """Take a row out of the sums over open tickets; return what every expert predicts now."""
    p = (base, base, base, base)
    coin = base
    count = pairs.size // 2
    for j in range(min(_AHEAD, count)):
        _ask_all(c, int(pairs[2 * j]))
    for j in range(count):
        _ask_all(c, int(pairs[2 * min(j + _AHEAD, count - 1)]))
        index, x = int(pairs[2 * j]), pairs[2 * j + 1]
        row = c[index * lm.ROW : (index + 1) * lm.ROW]
        _leave(row, x)
        p = _added(p, row, lm.WEIGHT, x)
        coin += row[lm.COIN] * x
    return p, coin


@leaf
def _scales(work: Floats, pairs: Floats, unit: float) -> Four:
    """Write eta = S / sqrt(A) in the place of A; return q_k = sum_i eta[i, k] x_i^2."""
    for i in range(work.size):  # one flat loop, which the compiler turns into vector instructions
        energy = work[i]
        work[i] = unit / math.sqrt(energy) if energy > 0.0 else 0.0
    q = (0.0, 0.0, 0.0, 0.0)
    for j in range(pairs.size // 2):
        x = pairs[2 * j + 1]
        q = _added(q, work, lm.SCALES * j, x * x)
    return q


@leaf
def _move(
    s: State, c: Floats, pairs: Floats, g: Four, step: Four, pull: float, weight: float
) -> None:
    """Let the scales step by eta x step, and the coin bet on every coordinate."""
    f, unit = s.f, s.f[lm.SIZE]
    penalised = f[lm.L1] > 0.0 or f[lm.L2] > 0.0
    for j in range(pairs.size // 2):
        index, x = int(pairs[2 * j]), pairs[2 * j + 1]
        row = c[index * lm.ROW : (index + 1) * lm.ROW]
        eta = s.work[lm.SCALES * j : lm.SCALES * (j + 1)]
        row[lm.WEIGHT] -= eta[0] * x * step[0]
        row[lm.WEIGHT + 1] -= eta[1] * x * step[1]
        row[lm.WEIGHT + 2] -= eta[2] * x * step[2]
        row[lm.WEIGHT + 3] -= eta[3] * x * step[3]
        z = pull * x
        if penalised:
            coin = row[lm.COIN]
            _shrink(f, row, eta, g, weight)
            z += weight * (f[lm.L2] * coin + f[lm.L1] * _sign(coin))
        if z != 0.0:
            _bet(row, z, unit)


@leaf
def _heat(code: Code, s: State, c: Floats, pairs: Floats, g: Four, weight: float) -> None:
    """Add to the energies of a row, for every scale."""
    unit = slope_unit(code, s.f)
    g1, g2, g3, g4 = abs(g[0]), abs(g[1]), abs(g[2]), abs(g[3])
    for j in range(pairs.size // 2):
        index, x = int(pairs[2 * j]), abs(pairs[2 * j + 1])
        row = c[index * lm.ROW : (index + 1) * lm.ROW]
        work = s.work[lm.SCALES * j : lm.SCALES * (j + 1)]
        crowd = unit * row[lm.OPEN]
        _heated(row, work, 0, g1 * x, _C1 * crowd, weight)
        _heated(row, work, 1, g2 * x, _C2 * crowd, weight)
        _heated(row, work, 2, g3 * x, _C3 * crowd, weight)
        _heated(row, work, 3, g4 * x, _C4 * crowd, weight)


@leaf
def _bet(row: Floats, z: float, unit: float) -> None:
    """One round of the coin on a coordinate with gradient z != 0.

    L = max(L, |z|); G += |z|; theta -= z; won = max(won - z w, 0);
    w = theta / (G + L) (S / 4 + won / L).
    """
    size = abs(z)
    stake = max(row[lm.STAKE], size)
    turnover = row[lm.TURNOVER] + size
    bets = row[lm.BETS] - z
    wealth = max(row[lm.WEALTH] - z * row[lm.COIN], 0.0)
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


# --- Tickets without a label ---------------------------------------------------------------------


@leaf
def _close_unanswered(s: State, c: Floats, pool: Floats, entry: int, skipped: bool) -> None:
    """Close an open entry: its row no longer counts as open, and nothing else changes."""
    record = entry * lm.KEEP
    start, count = int(s.kept[record + lm.START]), int(s.kept[record + lm.PAIRS])
    for j in range(start, start + count):
        index = int(pool[2 * j])
        _leave(c[index * lm.ROW : (index + 1) * lm.ROW], pool[2 * j + 1])
    s.n[N.POOL_LIVE] -= count
    count_arrival(of_lags(_NOTHING), s, entry)
    close_without_answer(s, entry, skipped)


@leaf
def cancel(s: State, c: Floats, pool: Floats, ticket: int) -> int:
    """Close a ticket whose label will never come."""
    entry = locate(s, ticket)
    if entry < 0:
        return entry
    if is_ghost(s, entry):
        lay_ghost(s, entry)
        return S.DROPPED
    _close_unanswered(s, c, pool, entry, False)
    return S.USED
