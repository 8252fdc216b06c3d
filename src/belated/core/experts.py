# cython: infer_types=True
"""The experts of a linear model: coordinates, predictions, learning, and rows of open tickets.

``Experts`` see the entries of a row, ``PairExperts`` also what pairs of them say.

A ticket keeps a ``Row``: nine floats that are the first of its record in ``Tickets``;
``row_at(record)`` gives it. ``count`` entries are ``indices`` and ``values``; the intercept is
added here. Sequence:

* Predict: ``find_bad(indices, values, count)`` returns the place of an entry that cannot be used,
  or -1. With ``has_room(count)``, ``p = predict(row, indices, values, count)`` is the prediction
  before corrections and the link; ``peek`` returns the same and changes nothing. For room, call
  ``begin_compaction()`` and ``move_row(row)`` for every open ticket in ticket order, or ``grow``.
* First label y of a ticket: ``check_first_labels(y, ticket)`` (``ticket``: that of the next
  prediction), ``mixture.charge(row, ticket, slope)``, ``labels.add(...)``,
  ``learn(row, learned, weight, 0.0, False)``.
* Another label: ``mixture.charge(row, ticket, old - new)``, as charges are linear in the label,
  ``labels.replace(old, new)``, ``learn(row, new, 1.0, old, True)``.
* ``release(row)`` when a ticket closes; ``remove_from_open_sums(row)`` before, if nothing was
  learned of it.
* Provisional answers: ``begin_saving(...)``, ``save(row)`` for each, then ``roll_back()`` restores
  coordinates, or ``drop_saved()`` makes it final. Rows must not move in between.
* Snapshots: compact first, so that rows stand one behind the other in ticket order.
  ``check_rows(starts, counts, size)`` demands that.

A coordinate that occurs twice in a row is treated as two entries, one after the other: the second
one finds what the first has done to the standardiser and to the energies, and steps of both are
taken with the same slope.
"""

from __future__ import annotations

import cython
import numpy as np

from belated import limits
from belated.core.component import ANY, COUNT, NOT_NEGATIVE, WEIGHT, Range, demand

if not cython.compiled:
    from math import fabs, sqrt
    from math import inf as INFINITY
    from math import sqrt as sqrtf

    from belated.core.component import Component
    from belated.core.label_losses import EXPERTS
    from belated.core.numerics import floats_at, grown, ints_at, ints_from, part

    SCALES = 4  # experts that step at a scale; the first two share a rate
    RATES = SCALES - 1
    COIN, AVERAGE = SCALES, SCALES + 1
    ROW_FLOATS = 3 + EXPERTS
    AHEAD = 128  # entries that are prefetched ahead of those in hand

    WEIGHTS = 3  # experts on pairs that have weights of their own
    PLACES = 128  # entries of a row that are considered for pairs
    NUMBERS = PLACES * (PLACES - 1) // 2  # of pairs of places
    PRODUCTS, BIN_PAIRS = 48, 16  # pairs of values, and pairs with a bin, that are used at a time

HUGE_VALUE = limits.HUGE_VALUE
LARGEST = 1e38  # of a float32
LARGEST_X = 65536.0  # n values are at most sqrt(n) deviations from their mean

MOST = cython.declare(cython.longlong, 0xFFFFFFFF)  # the largest count
GRAINS = cython.declare(cython.double, 1024.0)  # to 1, so that sums over open tickets are exact
LEAST_TOTAL = cython.declare(cython.double, 1e-280)  # below, a value is as good as the mean
FLAT = cython.declare(cython.double, 1e-6)  # a deviation below this part of the mean is rounding
LEAST_SCALE = cython.declare(cython.double, 0.015625)  # a_1; the next is always four times as large
CAUTION = cython.declare(cython.double, 0.04 / 1024.0)  # c_2 of a grain; c_k = 0.01 / sqrt(a_k)
LEAST_UNIT = cython.declare(cython.double, 1e-37)  # of labels: weights below are no float32
LEAST_ROOT = cython.declare(cython.double, 0.5)  # of A_3 in units of U; half of that for A_4
LEAST_ENERGY = cython.declare(cython.double, 1e-30)  # in place of 0: then slopes or values are 0
MOST_PULL = cython.declare(cython.double, 1e16)  # in units of U, so that energies do not overflow
ENDOWMENT = cython.declare(cython.double, 0.25)  # what the coin starts with, in units of S
MOST_WON = cython.declare(cython.double, 100.0)  # by the coin, in units of S and of L

CELL = np.dtype(
    [
        ("weight", np.float32, SCALES),
        ("average", np.float32),
        ("root", np.float32, RATES),
        *[(name, np.float32) for name in ("fraction", "wealth", "turnover", "stake")],
        *[(name, np.float32) for name in ("mean", "deviation")],
        *[(name, np.uint32) for name in ("seen", "open")],
    ]
)
ENTRY = np.dtype([("index", np.int32), ("x", np.float32)])
ROW = np.dtype(
    [
        *[(name, np.float64) for name in ("start", "count")],
        ("issued", np.float64, EXPERTS),
        ("mixture", np.float64),
    ]
)

if not cython.compiled:
    # Structures of ctypes: reading a field gives a Python float or int, writing rounds it.
    Cell, Pair, Kept = (np.ctypeslib.as_ctypes_type(kind) for kind in (CELL, ENTRY, ROW))
    Single = np.ctypeslib.as_ctypes_type(np.float32)

    def structures(kind, array):
        """Return the structures in an array.

        An assigned one is copied first. Otherwise ctypes lets the arrays keep each other alive.
        """

        class Structures(kind * len(array)):
            def __setitem__(self, place, one):
                super().__setitem__(place, kind.from_buffer_copy(one))

        return Structures.from_buffer(array)

    def new_singles(size):
        """Return an array of so many float32."""
        return (Single * size)()

    def row_at(record):
        """Return the row that a record begins with."""
        return Kept.from_buffer(record)

    def cell_at(table, index):
        """Return a coordinate."""
        return table[index]

    def entry_at(entries, place):
        """Return an entry."""
        return entries[place]

    def prefetch(table, index):
        """Do nothing: only processors are told what is needed soon."""


def new_table(size):
    """Return an array of so many coordinates, each on one line of the cache."""
    memory = np.zeros(8 * size + 8)
    first = -memory.ctypes.data % 64 // 8
    return memory[first : first + 8 * size].view(CELL)


def cells_of(array):
    """Return where coordinates stand."""
    if cython.compiled:
        return cython.cast(cython.pointer(Coordinate), floats_at(array))
    else:
        return structures(Cell, array)


def entries_of(array):
    """Return where entries stand."""
    if cython.compiled:
        return cython.cast(cython.pointer(Entry), floats_at(array))
    else:
        return structures(Pair, array)


# --- The mixture ---------------------------------------------------------------------------------


class Mixture(Component):
    """Experts mixed by MLpol (Gaillard, Stoltz and van Erven, COLT 2014).

        p = sum_k v_k p_k;   r_k = g (p - p_k),   R_k += r_k,   Q_k += r_k^2,   B = max |r_k|,
        v_k ~ max(R_k, 0) / (B^2 + Q_k),

    with g the slope of the loss at the mixture p that was issued. R_k are ``regrets``, Q_k
    ``squares``, B is ``largest``, v_k are ``shares``, which are ``first`` while no R_k is positive.
    Only tickets from ``charged_from`` on count.
    """

    FIELDS = {
        "shares": WEIGHT,
        "regrets": ANY,
        **dict.fromkeys(("squares", "largest"), NOT_NEGATIVE),
        "charged_from": COUNT,
    }

    def __init__(self, first):
        self.shares, self.first_array = np.array(first), np.array(first)
        self.first = floats_at(self.first_array)
        self.regrets, self.squares = np.zeros(EXPERTS), np.zeros(EXPERTS)
        self.share, self.regret = floats_at(self.shares), floats_at(self.regrets)
        self.square = floats_at(self.squares)
        self.largest = 0.0
        self.charged_from = 0

    def mix(self, row, floor, ceiling):
        """Clip what the experts predict, and mix it."""
        anchor = min(max(row.issued[0], floor), ceiling)
        mixed = anchor
        for k in range(EXPERTS):
            p = min(max(row.issued[k], floor), ceiling)
            row.issued[k] = p
            mixed += self.share[k] * (p - anchor)  # shares sum to 1; equal ones mix to the same
        row.mixture = min(max(mixed, floor), ceiling)  # whatever rounding has made of it

    def charge(self, row, ticket, g):
        """One round with the slope g at the mixture that was issued."""
        if ticket < self.charged_from:
            return
        p, largest, total = row.mixture, self.largest, 0.0
        for k in range(EXPERTS):
            r = g * (p - row.issued[k])
            self.regret[k] += r
            self.square[k] += r * r
            largest = max(largest, fabs(r))
        self.largest = largest
        for k in range(EXPERTS):
            width = largest * largest + self.square[k]
            v = max(self.regret[k], 0.0) / width if width > 0.0 else 0.0
            self.share[k] = v
            total += v
        for k in range(EXPERTS):
            self.share[k] = self.share[k] / total if total > 0.0 else self.first[k]

    def restart(self, ticket):
        """Weigh experts anew, by tickets from this one on."""
        self.charged_from, self.largest = ticket, 0.0
        for k in range(EXPERTS):
            self.regret[k] = self.square[k] = 0.0
            self.share[k] = self.first[k]

    def verify(self, state):
        demand(abs(state["shares"].sum() - 1.0) <= 1e-6, "shares of experts")


# --- The experts ---------------------------------------------------------------------------------


class Experts(Component):
    """Six linear experts on the same rows, per coordinate, with fresh gradients.

    Values are standardised: with n values v so far, v included, d = v - mean and
    T = n deviation^2 + d^2 (Welford),

        x = d sqrt((n - 1) / T),   mean += d / n,   deviation = sqrt((n - 1) T) / n.

    A coordinate that never varies has x = 1, or 0 if it has always been 0.

    Every expert predicts p = base + sum_i w_i x_i. Four take implicit steps at the scales
    a_k = 1/64, 1/16, 1/4, 1: with S the unit of labels, U that of slopes, h the weight of a label,
    g = l'(p, y) at the weights of now, and ``open`` the sum of |x| over tickets without a label,

        A += h g |x| (g |x| + c_k U open),   eta = S / sqrt(A),   q = sum x^2 eta,
        w -= a_k h eta x r,   r = l'(p - a_k h q r, y),   c_k = 0.01 / sqrt(a_k), but c_3 = 0.

    The first two share the energy A of the second. Before the sum, A of the third is at least
    U^2 / 4 and of the fourth U^2 / 16, so that the first labels of a rare coordinate do not move it
    far. ``root`` is sqrt(A), which keeps the range of labels. Penalties l1 and l2 then shrink w:
    w = soft(w, a_k h eta l1) / (1 + a_k h eta l2).

    One bets coins (Orabona and Tommasi, "Training deep networks without learning rates through
    coin betting", NeurIPS 2017). With z the gradient of a coordinate, penalties included,

        won = max((V - S / 4) L - z w, 0),   L = max(L, |z|),   G += |z|,   theta -= z,
        V = S / 4 + min(won / L, 100 S),   w = V theta / (G + L).

    ``wealth`` is V, ``turnover`` G, ``stake`` L, ``fraction`` theta / (G + L).

    The last has the mean of the weights of the third scale, ``average`` += 2 (w - average) /
    (n + 1), so that later weights count more; n is how many values there were, less ``open``, or
    about the number of labels. Where nothing changes that is far less noisy than the weights
    themselves (Polyak and Juditsky, "Acceleration of stochastic approximation by
    averaging", SIAM J. Control 1992).

    Coordinates are kept as float32, and computed with as float64. Rows of open tickets stand in one
    pool of entries, ``tail`` of them in use, ``live`` of them of open tickets.
    """

    PARTS = ("mixture",)

    def __init__(self, loss, labels, coordinates, has_intercept, l1, l2, has_pairs):
        self.loss, self.labels = loss, labels
        self.mixture = Mixture([1.0 / EXPERTS] * EXPERTS)
        self.coordinates, self.has_intercept = coordinates, has_intercept
        self.size = (coordinates + 1) * (2 if has_pairs else 1)
        self.l1, self.l2 = l1, l2
        self.clear_table()
        self.tail = self.live = self.pool_room = self.row_room = 0
        self.saved_count = self.saved_room = self.saved_live = 0
        self.entry_array, self.saved_places = np.zeros(0, ENTRY), np.zeros(0, np.int64)
        self.saved_table = np.zeros(0, CELL)
        self.record = np.zeros(2 * ROW_FLOATS)  # of the rows that ``peek`` makes, with pairs two
        self.peeked = row_at(floats_at(self.record))
        self.reserve(32, 128, 32)

    def clear_table(self):
        """Take a table of zeros, of which no page is in memory before it is written to."""
        self.table = new_table(self.size)  # one follows for the intercept, then those of pairs
        self.cells = cells_of(self.table)

    # --- Room ------------------------------------------------------------------------------------

    def reserve(self, width, pool, saved):
        """Have room for rows of so many entries, and so many in the pool and saved; or twice."""
        if pool > self.pool_room:
            self.entry_array = grown(self.entry_array, 2 * pool)
            self.entries, self.pool_room = entries_of(self.entry_array), 2 * pool
        if width > self.row_room:
            self.rate_array = np.zeros(2 * SCALES * width)
            self.rates, self.row_room = floats_at(self.rate_array), 2 * width
        if saved > self.saved_room:
            table, places = grown(self.saved_table, 2 * saved), grown(self.saved_places, 2 * saved)
            self.saved_table, self.saved_places = table, places
            self.saved_cells, self.saved_at = cells_of(table), ints_at(places)
            self.saved_room = 2 * saved
        return 0

    def has_room(self, count):
        """Tell whether there is room for a row of so many entries."""
        more = count + self.has_intercept
        return (
            self.tail + more <= self.pool_room
            and more <= self.row_room
            and self.saved_count + more <= self.saved_room
        )

    def grow(self, count):
        """Make room for a row of so many entries."""
        more = count + self.has_intercept
        return self.reserve(more, self.tail + more, self.saved_count + more)

    def begin_compaction(self):
        """Move the rows of open tickets together: all of those that ``move_row`` is told of."""
        self.tail = 0

    def move_row(self, row):
        """Move a row down; rows come in the order in which they stand."""
        start = cython.cast(cython.longlong, row.start)
        count = cython.cast(cython.longlong, row.count)
        row.start = self.tail
        for j in range(count):
            self.entries[self.tail + j] = self.entries[start + j]
        self.tail += count

    # --- Predictions -----------------------------------------------------------------------------

    def find_bad(self, indices, values, count):
        """Prefetch coordinates; return the place of the first entry that cannot be used, or -1."""
        for j in range(min(AHEAD, count)):
            prefetch(self.cells, indices[j])
        for j in range(count):
            if not (0 <= indices[j] < self.coordinates and fabs(values[j]) <= HUGE_VALUE):
                return j
        return -1

    def predict(self, row, indices, values, count):
        """Make the row of a ticket, which counts as open; return what experts predict together."""
        self.write_row(row, indices, values, count)
        self.score(row, 1, row.issued)
        self.tail += count + self.has_intercept
        self.live += count + self.has_intercept
        return self.blend(row)

    def peek(self, indices, values, count):
        """Return what ``predict`` would; nothing changes."""
        row, mark = self.peeked, self.saved_count
        for j in range(count):
            self.save_cell(indices[j])
        if self.has_intercept:
            self.save_cell(self.coordinates)
        self.write_row(row, indices, values, count)
        self.restore_cells(mark)
        self.score(row, 0, row.issued)
        return self.blend(row)

    def blend(self, row):
        """Mix what the experts predict; return what they predict together."""
        floor, ceiling = self.labels.floor, self.labels.ceiling
        self.mixture.mix(row, floor, ceiling)
        return self.loss.blend(row.issued, self.mixture.share, row.mixture, floor, ceiling)

    def write_row(self, row, indices, values, count):
        """Write a row behind all others, its values standardised."""
        total = count + self.has_intercept
        row.start, row.count = self.tail, total
        for j in range(total):
            if j + AHEAD < count:
                prefetch(self.cells, indices[j + AHEAD])
            index = indices[j] if j < count else self.coordinates
            entry = entry_at(self.entries, self.tail + j)
            entry.index = index
            entry.x = standardise(cell_at(self.cells, index), values[j] if j < count else 1.0)

    def score(self, row, opens, out):
        """Write what experts predict now; the row is opened (1), left (-1) or neither (0)."""
        sums: cython.double[4]
        fraction: cython.double
        wealth: cython.double
        x: cython.double
        if not cython.compiled:
            sums = [0.0] * SCALES
        base = self.labels.base
        coin = average = base
        start = cython.cast(cython.longlong, row.start)
        count = cython.cast(cython.longlong, row.count)
        for k in range(SCALES):
            sums[k] = base
        ahead = min(AHEAD, count) if opens < 0 else count  # other rows were just used
        for j in range(ahead if opens < 0 else 0):
            prefetch(self.cells, entry_at(self.entries, start + j).index)
        for j in range(count):
            if j + ahead < count:
                prefetch(self.cells, entry_at(self.entries, start + j + ahead).index)
            entry = entry_at(self.entries, start + j)
            cell = cell_at(self.cells, entry.index)
            x, fraction, wealth = entry.x, cell.fraction, cell.wealth
            if opens != 0:
                change_open(cell, opens, x)
            for k in range(SCALES):
                sums[k] += cell.weight[k] * x
            coin += fraction * wealth * x
            average += cell.average * x
        for k in range(SCALES):
            out[k] = sums[k]
        out[COIN], out[AVERAGE] = coin, average

    # --- Rows that have most coordinates in common ---

    def add_entry(self, index, values, count, x, sums):
        """Add an entry to the sums of so many rows, which differ in its value; nothing changes.

        What expert k predicts of row a is sum a * EXPERTS + k; ``x`` is room for values.
        """
        moments: cython.double[2]
        weights: cython.double[6]
        if not cython.compiled:
            moments, weights = [0.0, 0.0], [0.0] * EXPERTS
        cell = cell_at(self.cells, index)
        for a in range(count):
            x[a] = as_single(update_moments(cell, values[a], moments))
        for k in range(SCALES):
            weights[k] = cell.weight[k]
        weights[COIN], weights[AVERAGE] = cell.fraction, cell.average
        weights[COIN] *= cell.wealth
        for a in range(count):
            value = x[a]
            for k in range(EXPERTS):
                sums[a * EXPERTS + k] += weights[k] * value

    def blend_sums(self, sums):
        """Return what experts predict together, from one sum for each."""
        for k in range(EXPERTS):
            self.peeked.issued[k] = sums[k]
        return self.blend(self.peeked)

    # --- Labels ----------------------------------------------------------------------------------

    def check_first_labels(self, y, ticket):
        """Start again where y, the sixth label, shows that one of the first is an outlier.

        Everything that labels have taught is reset, and the first labels are counted again.
        Standardisers never depend on labels. ``ticket`` is that of the next prediction. Return
        whether that was so.
        """
        outlier = self.labels.early_outlier(y)
        if outlier < 0:
            return False
        self.labels.restart(outlier, y)
        for i in range(self.size):
            cell = cell_at(self.cells, i)
            if cell.seen > 0:
                reset(cell)
        self.mixture.restart(ticket)
        return True

    def learn(self, row, y, weight, old, replaces):
        """Let every expert take its step at its current weights; the row is open no longer.

        Or replace the label ``old``, which was learned. For losses A(p) - y p the two differ by the
        linear term (old - y) p, whatever the weights are by now. Each expert takes the step that
        the new label asks for, less the one of the old label, both at its current weights, so that
        corrections are as implicit as what they correct; where steps are short that is the linear
        term. Energies take in what the new label pulls, and at least half of the difference.
        """
        now: cython.double[6]
        slopes: cython.double[4]
        pulls: cython.double[4]
        q: cython.double[4]
        steps: cython.double[4]
        if not cython.compiled:
            now, slopes, pulls = [0.0] * EXPERTS, [0.0] * SCALES, [0.0] * SCALES
            q, steps = [0.0] * SCALES, [0.0] * SCALES
        self.score(row, 0 if replaces else -1, now)
        if self.labels.unit <= LEAST_UNIT:
            return
        least = 0.5 * fabs(old - y) if replaces else 0.0
        for k in range(SCALES):
            slopes[k] = self.loss.slope(now[k], y)
            pulls[k] = max(fabs(slopes[k]), least)
        pulls[0] = pulls[1]  # whose energy it shares
        self.add_energies(row, pulls, weight, q)
        pull = old - y if replaces else weight * self.loss.slope(now[COIN], y)
        l1 = 0.0 if replaces else weight * self.l1
        l2 = 0.0 if replaces else weight * self.l2
        self.bet(row, pull, l1, l2)
        scale = LEAST_SCALE * weight
        for k in range(SCALES):
            steps[k] = self.step_at(now[k], y, slopes[k], old, replaces, scale, q[k])
            scale *= 4.0
        self.step(row, steps, slopes, l1, l2, not replaces)

    def step_at(self, p, y, g, old, replaces, scale, q):
        """Return the step of an expert at a scale, where g is the slope and q = sum x^2 eta."""
        step = self.slope_after(p, y, g, scale * q)
        if replaces:
            step -= self.slope_after(p, old, self.loss.slope(p, old), scale * q)
        return scale * step

    def slope_after(self, p, y, g, q):
        """Return the slope after a step of length q against g."""
        return g if g == 0.0 or q <= 0.0 else self.loss.solve(p, y, g, q)

    def add_energies(self, row, pulls, weight, q):
        """Add to the energies of a row; keep eta, and write q = sum x^2 eta.

        Energies are computed in units of U^2. Roots and rates are float32, as they are kept.
        """
        sums: cython.double[4]
        forces: cython.double[4]
        energies: cython.float[4]
        rates: cython.float[4]
        units: cython.float[2]
        x: cython.double
        opened: cython.double
        if not cython.compiled:
            sums, forces = [0.0] * SCALES, [0.0] * SCALES
            energies, rates, units = new_singles(SCALES), new_singles(SCALES), new_singles(2)
        unit = self.loss.slope_unit(self.labels.unit)
        inverse = 1.0 / unit
        units[0], units[1] = unit, self.labels.unit * inverse
        least = LEAST_ROOT * unit
        start = cython.cast(cython.longlong, row.start)
        count = cython.cast(cython.longlong, row.count)
        for k in range(SCALES):
            sums[k] = 0.0
            pulls[k] = min(pulls[k] * inverse, MOST_PULL)
        for j in range(count):
            entry = entry_at(self.entries, start + j)
            cell = cell_at(self.cells, entry.index)
            x, opened = fabs(entry.x), cell.open
            opened *= CAUTION
            for k in range(SCALES):
                forces[k] = pulls[k] * x
            forces[0] = weight * forces[0] * (forces[0] + opened) + LEAST_ENERGY
            forces[1] = weight * forces[1] * (forces[1] + opened) + LEAST_ENERGY
            forces[2] = weight * forces[2] * forces[2]
            forces[3] = weight * forces[3] * (forces[3] + 0.25 * opened)
            energies[0], energies[1] = cell.root[0], cell.root[0]
            energies[2], energies[3] = max(cell.root[1], least), max(cell.root[2], 0.5 * least)
            for k in range(SCALES):
                energies[k] = (energies[k] * inverse) * (energies[k] * inverse) + forces[k]
            for k in range(SCALES):
                energies[k] = sqrtf(energies[k])
            for k in range(SCALES):
                rates[k] = units[1] / energies[k]
            for k in range(SCALES):
                sums[k] += rates[k] * (x * x)
            for k in range(SCALES):
                self.rates[SCALES * j + k] = rates[k]
            for k in range(RATES):
                cell.root[k] = units[0] * energies[k + 1]
        for k in range(SCALES):
            q[k] = sums[k]

    def bet(self, row, pull, l1, l2):
        """Let the coin learn the gradients pull x of a row."""
        start = cython.cast(cython.longlong, row.start)
        count = cython.cast(cython.longlong, row.count)
        for j in range(count):
            entry = entry_at(self.entries, start + j)
            update_coin(cell_at(self.cells, entry.index), pull * entry.x, l1, l2, self.labels.unit)

    def step(self, row, steps, slopes, l1, l2, averages):
        """w -= step eta x, entry after entry, each with its penalties and in its average."""
        x: cython.double
        penalised: cython.bint = l1 > 0.0 or l2 > 0.0
        start = cython.cast(cython.longlong, row.start)
        count = cython.cast(cython.longlong, row.count)
        for j in range(count):
            entry = entry_at(self.entries, start + j)
            cell = cell_at(self.cells, entry.index)
            x = entry.x
            for k in range(SCALES):
                cell.weight[k] -= self.rates[SCALES * j + k] * x * steps[k]
            if penalised:
                shrink(cell, part(self.rates, SCALES * j), slopes, l1, l2)
            if averages:
                average(cell)

    def release(self, row):
        """Let the row of a ticket that closes go."""
        self.live -= cython.cast(cython.longlong, row.count)

    def remove_from_open_sums(self, row):
        """Take a row of which nothing was learned out of the open ones."""
        start = cython.cast(cython.longlong, row.start)
        count = cython.cast(cython.longlong, row.count)
        for j in range(count):
            entry = entry_at(self.entries, start + j)
            change_open(cell_at(self.cells, entry.index), -1, entry.x)

    # --- Provisional answers ---------------------------------------------------------------------

    def begin_saving(self, everything):
        """Keep what is not of coordinates, and all coordinates where everything may change."""
        self.saved_live = self.live
        if everything:
            touched = self.touched()
            self.reserve(0, 0, self.saved_count + len(touched))
            index: cython.longlong
            for index in touched.tolist():
                self.save_cell(index)
        return 0

    def save(self, row):
        """Keep the coordinates of a row as they are."""
        start = cython.cast(cython.longlong, row.start)
        count = cython.cast(cython.longlong, row.count)
        self.reserve(0, 0, self.saved_count + count)
        for j in range(count):
            self.save_cell(entry_at(self.entries, start + j).index)
        return 0

    def save_cell(self, index):
        """Keep a coordinate as it is."""
        self.saved_at[self.saved_count] = index
        self.saved_cells[self.saved_count] = self.cells[index]
        self.saved_count += 1

    def restore_cells(self, mark):
        """Put back coordinates that were saved after so many others, the last one first."""
        while self.saved_count > mark:
            self.saved_count -= 1
            self.cells[self.saved_at[self.saved_count]] = self.saved_cells[self.saved_count]

    def roll_back(self):
        """Undo what was done to coordinates since ``begin_saving``."""
        self.restore_cells(0)
        self.live = self.saved_live

    def drop_saved(self):
        """Forget what was saved: the answers are committed."""
        self.saved_count = 0

    # --- What Python reads -----------------------------------------------------------------------

    def touched(self):
        """Return the coordinates that were seen."""
        return np.flatnonzero(self.table["seen"])

    def weights(self, indices):
        """Return the weights of coordinates, as the experts are mixed now."""
        cells, shares = self.table[indices], self.mixture.shares
        coin = cells["fraction"].astype(np.float64) * cells["wealth"]
        mixed = cells["weight"].astype(np.float64) @ shares[:SCALES]
        return mixed + shares[COIN] * coin + shares[AVERAGE] * cells["average"]

    def peeked_entries(self):
        """Return coordinates and values of the row that was last looked at."""
        start, count = self.record[:2].astype(np.int64).tolist()
        entries = self.entry_array[start : start + count]
        return entries["index"].astype(np.int64), entries["x"].astype(np.float64)

    @property
    def nbytes(self):
        """Bytes of all arrays."""
        arrays = (self.table, self.entry_array, self.rate_array, self.saved_table)
        return sum(array.nbytes for array in arrays)

    # --- Snapshots -------------------------------------------------------------------------------

    def state(self):
        """Return coordinates that were seen, by field, and the pool, whose rows have no gaps."""
        found = Component.state(self)
        touched = self.touched()
        found["touched"] = touched
        for name in CELL.names:
            found[name] = self.table[name][touched]
        for name in ENTRY.names:
            found[name] = self.entry_array[name][: self.tail].copy()
        return found

    def restore(self, state):
        """Take coordinates and the pool."""
        Component.restore(self, state)
        size = len(state["index"])
        self.reserve(0, size, 0)
        self.clear_table()
        for name in CELL.names:
            self.table[name][state["touched"]] = state[name]
        for name in ENTRY.names:
            self.entry_array[name][:size] = state[name]
        self.tail = self.live = size
        self.drop_saved()

    def check(self, state):
        """Demand that coordinates and entries can be some."""
        arrays = {name: state.get(name) for name in ("touched", *CELL.names, *ENTRY.names)}
        Component.check(self, {name: state[name] for name in state if name not in arrays})
        demand(all(isinstance(array, np.ndarray) for array in arrays.values()), "coordinates")
        touched = arrays["touched"]
        demand(touched.dtype == np.int64 and touched.ndim == 1, "coordinates")
        demand(((touched >= 0) & (touched < self.size)).all(), "coordinates")
        demand((np.diff(touched) > 0).all(), "coordinates out of order")
        check_arrays(arrays, CELL, len(touched))
        check_arrays(arrays, ENTRY, arrays["index"].size)
        demand((arrays["seen"] >= 1).all(), "coordinates that were never seen")
        for name, allowed in RANGES.items():
            array = arrays[name]
            demand(((array >= allowed.least) & (array <= allowed.most)).all(), name)
        demand((arrays["stake"] <= 1.001 * arrays["turnover"] + 1e-37).all(), "stakes")
        fits = np.isin(arrays["index"], touched[touched <= self.coordinates])
        demand(fits.all(), "entries of other coordinates")

    def check_rows(self, starts, counts, size):
        """Demand that rows of open tickets share a pool of so many entries among them."""
        least = float(self.has_intercept)
        demand((counts >= least).all() and (counts == np.floor(counts)).all(), "rows")
        demand((starts == np.cumsum(counts) - counts).all(), "places of rows")
        demand(counts.sum() == size, "entries of open tickets")


SIGNED = Range(-LARGEST, LARGEST)
POSITIVE = Range(0.0, LARGEST)
RANGES = {
    **dict.fromkeys(("weight", "average", "fraction", "mean"), SIGNED),
    **dict.fromkeys(("wealth", "turnover", "stake", "deviation"), POSITIVE),
    "root": Range(0.0, INFINITY),  # then its coordinate learns no more
    "x": Range(-LARGEST_X, LARGEST_X),
}


def check_arrays(arrays, kind, size):
    """Demand arrays with the types and shapes of so many of a kind."""
    for name in kind.names:
        field = kind.fields[name][0]
        demand(arrays[name].dtype == field.base, f"the type of {name}")
        demand(arrays[name].shape == (size, *field.shape), f"the shape of {name}")


# --- Coordinates ---------------------------------------------------------------------------------


def update_moments(cell, value, moments):
    """Write mean and deviation with one more value; return it in standard units.

    One division does for 1 / n and 1 / T, and one root for the distance and the deviation.
    """
    old: cython.double = cell.mean
    spread: cython.double = cell.deviation
    before: cython.double = min(cell.seen, MOST - 1)
    n: cython.double = before + 1.0
    away: cython.double = value - old
    total: cython.double = n * (spread * spread) + away * away
    inverse: cython.double = 1.0 / (n * max(total, LEAST_TOTAL))
    share: cython.double = total * inverse
    scale: cython.double = sqrt(before * (n * inverse))
    moments[0] = old + away * share
    moments[1] = scale * total * share
    constant = 1.0 if moments[0] != 0.0 else 0.0
    return away * scale if moments[1] > FLAT * fabs(moments[0]) else constant


def standardise(cell, value):
    """Return a value in standard units; mean and deviation take it in."""
    moments: cython.double[2]
    if not cython.compiled:
        moments = [0.0, 0.0]
    x = update_moments(cell, value, moments)
    cell.mean, cell.deviation = moments[0], moments[1]
    cell.seen = cython.cast(cython.uint, min(cell.seen, MOST - 1) + 1)
    return x


def as_single(x):
    """Return a number as it is kept."""
    if cython.compiled:
        return cython.cast(cython.float, x)
    else:
        return float(np.float32(x))


def change_open(cell, sign, x):
    """Take an entry in or out of the sum over open tickets."""
    grains = cython.cast(cython.longlong, fabs(x) * GRAINS + 0.5)
    cell.open = min(max(cell.open + sign * grains, 0), MOST)


def update_coin(cell, z, l1, l2, unit):
    """One round of the coin; where z = 0 nothing changes."""
    fraction: cython.double = cell.fraction
    wealth: cython.double = cell.wealth
    turnover: cython.double = cell.turnover
    stake: cython.double = cell.stake
    w = fraction * wealth
    if l1 > 0.0 or l2 > 0.0:
        z += l2 * w + l1 * ((1.0 if w > 0.0 else 0.0) - (1.0 if w < 0.0 else 0.0))
    z = min(max(z, -LARGEST), LARGEST)
    size = fabs(z)
    if size == 0.0:
        return
    quarter = ENDOWMENT * unit
    theta = fraction * (turnover + stake) - z
    won = (wealth - quarter) * stake - z * w
    won = 0.5 * (won + fabs(won))  # its positive part, without a branch on random numbers
    stake = min(max(stake, size), LARGEST)
    turnover = min(turnover + size, LARGEST)
    cell.stake, cell.turnover = stake, turnover
    cell.fraction = theta / (turnover + stake)
    cell.wealth = quarter + min(won / stake, MOST_WON * unit)


def shrink(cell, rates, slopes, l1, l2):
    """w = soft(w, a_k eta l1) / (1 + a_k eta l2), for scales that have taken a step."""
    w: cython.double
    scale = LEAST_SCALE
    for k in range(SCALES):
        eta = scale * rates[k]
        scale *= 4.0
        if slopes[k] != 0.0:
            w = cell.weight[k]
            cell.weight[k] = shrunk(w, eta * l1, eta * l2)


def shrunk(w, l1, l2):
    """Return soft(w, l1) / (1 + l2)."""
    size = max(fabs(w) - l1, 0.0) / (1.0 + l2)
    return size if w > 0.0 else -size


def average(cell):
    """average += 2 (w - average) / (n + 1), with w the weight of the third scale."""
    w: cython.double = cell.weight[2]
    seen: cython.double = cell.seen
    opened: cython.double = cell.open
    mean: cython.double = cell.average
    grains = max(GRAINS * seen - opened, GRAINS)  # as many as n has: no second division
    cell.average = mean + 2.0 * GRAINS / (grains + GRAINS) * (w - mean)


def reset(cell):
    """Forget what labels have taught about a coordinate."""
    for k in range(SCALES):
        cell.weight[k] = 0.0
    for k in range(RATES):
        cell.root[k] = 0.0
    cell.average = cell.fraction = cell.wealth = cell.turnover = cell.stake = 0.0


# --- Pairs ---------------------------------------------------------------------------------------

WORD = cython.declare(cython.ulonglong, 0xFFFFFFFF)
FIRST = cython.declare(cython.ulonglong, 0x45D9F3B3)
SECOND = cython.declare(cython.ulonglong, 0x2C1B3C6D)
THIRD = cython.declare(cython.ulonglong, 0x297A2D39)
OF_PAIR = cython.declare(cython.ulonglong, 3)
OF_BIN = cython.declare(cython.ulonglong, 4)
OF_SIGN = cython.declare(cython.ulonglong, 5)

BINS_PER_DEVIATION = cython.declare(cython.double, 1.5)
MOST_BINS = cython.declare(cython.double, 4.0)  # on either side of the mean
FIRST_EPOCH = cython.declare(cython.longlong, 128)  # labels before pairs are chosen, which
DOUBLINGS = cython.declare(cython.longlong, 5)  # doubles so often
PRIOR = cython.declare(cython.double, 0.1)  # labels that a new coordinate counts as having
SCALE = cython.declare(cython.double, 0.25)  # of the slow expert it is ``LEAST_SCALE``


def combine_coordinates(first, second, salt, mask):
    """Return the coordinate of a pair: a product for each part, then xor-shift and product twice.

    Coordinates are at most 2^30, so no product reaches 2^64.
    """
    z: cython.ulonglong = (first * FIRST + second * SECOND + salt * THIRD) & WORD
    z = ((z ^ (z >> 15)) * SECOND) & WORD
    z = ((z ^ (z >> 12)) * THIRD) & WORD
    return (z ^ (z >> 15)) & mask


def bin_of(x):
    """Return the number of the bin of a standardised value."""
    x = min(max(BINS_PER_DEVIATION * x, -MOST_BINS), MOST_BINS) + MOST_BINS
    return cython.cast(cython.longlong, x)


def bin_range(number: cython.longlong):
    """Return where a bin begins and ends, in standard deviations from the mean."""
    low = (number - MOST_BINS) / BINS_PER_DEVIATION if number > 0 else -np.inf
    high = (number + 1.0 - MOST_BINS) / BINS_PER_DEVIATION
    return low, high if number < 2.0 * MOST_BINS else np.inf


def average_pair(cell, is_narrow):
    """average += 2 (w - average) / (n + 1), with n labels; ``seen`` is n + 1."""
    cell.seen = cython.cast(cython.uint, min(cell.seen, MOST - 1) + 1)
    share: cython.double = 2.0 / cell.seen
    w: cython.double = cell.weight[3]
    if is_narrow:
        cell.weight[3] = w + share * (cell.weight[0] - w)
    w = cell.average
    cell.average = w + share * (cell.weight[1] - w)


class PairExperts(Component):
    """Experts that also see bins of numbers and products of pairs, beside a plain model.

    A row of standardised entries x_i becomes these; for every number the bin that x is in, as an
    entry 1; and products of pairs of both. Of rows with more than 10 entries, the best 48 pairs of
    entries are used, and of all the best 16 with a bin. The pair of places i and j has the score

        T_ij = T_ij / 2 + S_ij^2 / sum g^2,   S_ij = sum g s_i x_i s_j x_j,

    with g the slope of the plain prediction and s = -1 or 1 by hash of the coordinate, drawn anew
    whenever pairs are chosen, so that strings that differ by their effect score, too.

    Expert 0 is the plain prediction. Of the others, the narrow one has all but the pairs with a
    bin; the wide and the slow one have all. They take implicit steps as ``Experts`` do, with

        A += h (g x)^2, starting with U^2 / 10,   eta = S / sqrt(A),   w -= a h eta x r.

    The last two have the means of the weights of the narrow and of the wide one. Coordinates stand
    behind those of ``Experts``: ``weight`` has the weights of the narrow, wide and slow expert and
    the mean of the first, ``average`` that of the second. A label extends its row anew.
    """

    PARTS = ("mixture",)
    FIELDS = {
        "sums": ANY,
        **dict.fromkeys(("scores", "energy"), NOT_NEGATIVE),
        **dict.fromkeys(("heard", "epoch"), COUNT),
        "chosen": Range(-1, NUMBERS - 1, int),
    }

    def __init__(self, experts):
        self.experts, self.loss, self.labels = experts, experts.loss, experts.labels
        self.mixture = Mixture([1.0] + [0.0] * (EXPERTS - 1))
        self.offset, self.mask = experts.coordinates + 1, experts.coordinates - 1
        self.sums, self.scores = np.zeros(NUMBERS), np.zeros(NUMBERS)
        self.sum, self.score_of = floats_at(self.sums), floats_at(self.scores)
        self.chosen = np.full(PRODUCTS + BIN_PAIRS, -1)
        self.pair = ints_at(self.chosen)
        second, first = np.tril_indices(PLACES, -1)
        self.pairs = np.array([first, second, np.arange(NUMBERS)])  # their places and numbers
        self.first, self.second = ints_at(self.pairs[0]), ints_at(self.pairs[1])
        self.every = ints_at(self.pairs[2])
        self.energy, self.heard, self.epoch = 0.0, 0, 0
        self.peeked = row_at(part(floats_at(experts.record), ROW_FLOATS))
        self.length = self.narrow = self.places = self.room = 0
        self.reserve(16)

    def reserve(self, count):
        """Have room for what a row of so many entries becomes, or one of twice as many."""
        if count > self.room:
            size = 2 * count + PLACES + 1 + PRODUCTS + BIN_PAIRS
            self.row_ints, self.row_floats = np.zeros((2, size), np.int64), np.zeros((3, size))
            self.index, self.source = ints_at(self.row_ints[0]), ints_at(self.row_ints[1])
            self.value, self.rate = floats_at(self.row_floats[0]), floats_at(self.row_floats[1])
            self.signed, self.room = floats_at(self.row_floats[2]), 2 * count
        return 0

    # --- Rows ------------------------------------------------------------------------------------

    def write(self, row):
        """Write what a row becomes; ``source`` is the entry of a bin, or the number of a pair."""
        x: cython.double
        start = cython.cast(cython.longlong, row.start)
        count = cython.cast(cython.longlong, row.count) - self.experts.has_intercept
        n: cython.longlong = count
        index, value = self.index, self.value
        for i in range(count):
            entry = entry_at(self.experts.entries, start + i)
            index[i], x = entry.index, entry.x
            value[i] = x
            if x != 1.0 and x != 0.0 and n < PLACES:
                index[n] = combine_coordinates(index[i], bin_of(x), OF_BIN, self.mask)
                value[n], self.source[n] = 1.0, i
                n += 1
        self.count, self.places = count, min(n, PLACES)
        if self.experts.has_intercept:
            index[n], value[n] = self.experts.coordinates, 1.0
            n += 1
        self.length = n
        if count * (count - 1) <= 2 * PRODUCTS:
            self.write_pairs(self.every, count * (count - 1) >> 1, 0, count)
        else:
            self.write_pairs(self.pair, PRODUCTS, 0, min(count, PLACES))
        self.narrow = self.length
        self.write_pairs(ints_from(self.pair, PRODUCTS), BIN_PAIRS, count, self.places)

    def write_pairs(self, numbers, size, low, high):
        """Write pairs whose later place is in a range behind the rest; -1 ends their numbers."""
        n: cython.longlong = self.length
        index, value, source = self.index, self.value, self.source
        first, second, mask = self.first, self.second, self.mask
        for c in range(size):
            number = numbers[c]
            if number < 0:
                break
            i, j = first[number], second[number]
            if low <= j < high:
                a, b = min(index[i], index[j]), max(index[i], index[j])
                index[n] = combine_coordinates(a, b, OF_PAIR, mask)
                value[n], source[n] = value[i] * value[j], number
                n += 1
        self.length = n

    # --- Which pairs are used --------------------------------------------------------------------

    def record_slope(self, g):
        """Add a slope of the plain prediction to the sums of pairs of the row."""
        z: cython.ulonglong
        n: cython.longlong = self.places
        at: cython.longlong = 0
        signed, sums = self.signed, self.sum
        for i in range(n):
            z = combine_coordinates(self.index[i], self.epoch, OF_SIGN, WORD)
            signed[i] = self.value[i] if z & 1 else -self.value[i]
        for j in range(1, n):
            pull = g * signed[j]
            for i in range(j):
                sums[at + i] += pull * signed[i]
            at += j

    def review(self, count):
        """Choose pairs anew after enough labels; the next row has so many entries."""
        best: cython.double[64]
        at: cython.longlong
        if not cython.compiled:
            best = [0.0] * (PRODUCTS + BIN_PAIRS)
        if self.heard < FIRST_EPOCH << min(self.epoch, DOUBLINGS) or self.energy == 0.0:
            return
        places: cython.longlong = min(count, PLACES)
        of_values = places * (places - 1) >> 1
        for c in range(PRODUCTS + BIN_PAIRS):
            self.pair[c], best[c] = -1, 0.0
        for number in range(NUMBERS):
            square = self.sum[number] * self.sum[number]
            score = 0.5 * self.score_of[number] + square / self.energy
            self.score_of[number], self.sum[number] = score, 0.0
            first = 0 if number < of_values else PRODUCTS
            at = PRODUCTS - 1 if number < of_values else PRODUCTS + BIN_PAIRS - 1
            if score > best[at]:
                while at > first and best[at - 1] < score:
                    self.pair[at], best[at] = self.pair[at - 1], best[at - 1]
                    at -= 1
                self.pair[at], best[at] = number, score
        self.energy, self.heard = 0.0, 0
        self.epoch += 1

    # --- Predictions -----------------------------------------------------------------------------

    def predict(self, own, p, row):
        """Write what experts predict beside p, and return what they predict together."""
        self.write(row)
        self.score(own.issued)
        own.issued[0] = p
        floor, ceiling = self.labels.floor, self.labels.ceiling
        self.mixture.mix(own, floor, ceiling)
        if self.mixture.share[0] == 1.0:
            return p
        return self.loss.blend(own.issued, self.mixture.share, own.mixture, floor, ceiling)

    def score(self, out):
        """Write what the experts predict now for the row that was written."""
        base = self.labels.base
        narrow = wide = slow = narrow_mean = wide_mean = base
        cells, index, value, end = self.experts.cells, self.index, self.value, self.narrow
        for j in range(self.length):
            cell = cell_at(cells, index[j] + self.offset)
            x = value[j]
            if j < end:
                narrow += cell.weight[0] * x
                narrow_mean += cell.weight[3] * x
            wide += cell.weight[1] * x
            slow += cell.weight[2] * x
            wide_mean += cell.average * x
        out[1], out[2], out[3], out[4], out[5] = narrow, wide, slow, narrow_mean, wide_mean

    # --- Labels ----------------------------------------------------------------------------------

    def learn(self, own, row, y, weight, old, replaces):
        """Take a step for a label, or for one in the place of ``old``; see ``Experts.learn``."""
        now: cython.double[6]
        q: cython.double[3]
        steps: cython.double[3]
        if not cython.compiled:
            now, q, steps = [0.0] * EXPERTS, [0.0] * WEIGHTS, [0.0] * WEIGHTS
        if self.labels.unit <= LEAST_UNIT:
            return
        self.write(row)
        g = old - y if replaces else weight * self.loss.slope(own.issued[0], y)
        self.record_slope(g)
        if not replaces:
            self.heard += 1
            self.energy += g * g
        self.score(now)
        pull = fabs(self.loss.slope(now[2], y))
        self.add_energies(max(pull, 0.5 * fabs(old - y)) if replaces else pull, weight, q)
        for k in range(WEIGHTS):
            scale = weight * (LEAST_SCALE if k == WEIGHTS - 1 else SCALE)
            p = now[k + 1]
            steps[k] = self.experts.step_at(p, y, self.loss.slope(p, y), old, replaces, scale, q[k])
        averages: cython.bint = not replaces and self.experts.l1 == self.experts.l2 == 0.0
        cells, index, rate = self.experts.cells, self.index, self.rate
        for j in range(self.length):
            cell = cell_at(cells, index[j] + self.offset)
            if j < self.narrow:
                cell.weight[0] -= rate[j] * steps[0]
            cell.weight[1] -= rate[j] * steps[1]
            cell.weight[2] -= rate[j] * steps[2]
            if averages:
                average_pair(cell, j < self.narrow)
        if not replaces and not averages:
            self.shrink(SCALE * weight)

    def add_energies(self, pull, weight, q):
        """Add to the energies of the row; keep x eta, and write q = sum x^2 eta for each expert."""
        x: cython.double
        energy: cython.double
        scale = self.labels.unit
        unit = self.loss.slope_unit(scale)
        inverse, ratio = 1.0 / unit, scale / unit
        pull = min(pull * inverse, MOST_PULL)
        q[0] = q[1] = 0.0
        cells, index, value, rate = self.experts.cells, self.index, self.value, self.rate
        for j in range(self.length):
            cell = cell_at(cells, index[j] + self.offset)
            x = value[j]
            energy = cell.root[0] * inverse
            energy = energy * energy
            if cell.root[0] == 0.0:
                energy, cell.seen = PRIOR, 1
            energy = sqrt(energy + weight * (pull * x) * (pull * x))
            cell.root[0] = unit * energy
            rate[j] = ratio / energy * x
            q[1] += rate[j] * x
            if j < self.narrow:
                q[0] = q[1]
        q[2] = q[1]

    def shrink(self, scale):
        """Apply the penalties to each entry, as in ``Experts``, and average."""
        w: cython.double
        l1, l2 = self.experts.l1, self.experts.l2
        for j in range(self.length):
            cell = cell_at(self.experts.cells, self.index[j] + self.offset)
            eta = scale * self.labels.unit / cell.root[0]
            for k in range(0 if j < self.narrow else 1, WEIGHTS):
                w = cell.weight[k]
                own = eta * (LEAST_SCALE / SCALE if k == WEIGHTS - 1 else 1.0)
                cell.weight[k] = shrunk(w, own * l1, own * l2)
            average_pair(cell, j < self.narrow)

    def restart(self, ticket):
        """Forget what labels have taught; ``Experts`` reset the coordinates."""
        for number in range(NUMBERS):
            self.sum[number] = 0.0
        self.energy, self.heard = 0.0, 0
        self.mixture.restart(ticket)

    def save(self, row):
        """Keep the coordinates that a label of a row changes."""
        self.write(row)
        self.experts.reserve(0, 0, self.experts.saved_count + self.length)
        for j in range(self.length):
            self.experts.save_cell(self.offset + self.index[j])
        return 0

    # --- What Python reads -----------------------------------------------------------------------

    def peeked_entries(self):
        """Return what the entries of the latest row stand for, and what they add to predictions.

        An entry itself is (i, -1), a product (i, j), the bin with number b of an entry (i, -2 - b);
        the intercept is (-1, -1).
        """
        count, end, intercept = self.count, self.length, self.experts.has_intercept
        x, (index, source) = self.row_floats[0][:end], self.row_ints[:, :end]
        behind = max(count, self.places)
        found = [(i, -1) for i in range(count)]
        found += [(i, -2 - bin_of(x[i])) for i in source[count:behind].tolist()]
        found += [(-1, -1)] * intercept
        found += map(tuple, self.pairs[:2, source[behind + intercept :]].T.tolist())
        cells = self.experts.table[self.offset + index]
        weights = np.column_stack([cells["weight"], cells["average"]]).astype(np.float64)
        weights[self.narrow :, [0, WEIGHTS]] = 0.0
        return found, (weights @ self.mixture.shares[1:] * x).tolist()
