# cython: infer_types=True
"""Bayesian linear models of costs over settings, and the search for the setting that costs least.

A setting is a place x in [-1, 1]^k, played in a context z of c numbers. A *set* is a window (how
long answers count) and whether every block of 32 rounds has a level of its own; it has its own
sums. A *model* is a set and which of its features it uses: the quadratic ones, or all.
"""

from __future__ import annotations

import math
from itertools import combinations

import cython
import numpy as np

from belated.core.component import COUNT, WEIGHT, Range, demand

if not cython.compiled:
    from math import fabs, floor, sqrt
    from math import inf as INFINITY

    from belated.core.component import Component
    from belated.core.numerics import copy, exp, floats_at, ints_at, ln, normals, part, philox

MOST_KNOBS = 16
MOST_CONTEXT = 32
WINDOWS = (math.inf, 1000.0, 200.0)  # rounds after which an answer counts 1/e
WINDOW_WEIGHTS = (0.95, 0.03, 0.02)  # most systems do not drift
LEVEL_WEIGHTS = (0.6, 0.4)
ROUNDING = 2.0**-24  # places are multiples of this

LEVELS = 2  # without levels, with a level for every block
SETS = 6
FEATURES = 2  # quadratic; these and cosines
MODELS = 12
PER_WINDOW = 4  # models
BLOCK = 32  # rounds in a block
RING = 128  # blocks that are remembered
ANSWERS, TOTAL, TOTALS = range(3)  # of a block: answers, sum of values, sums of features
GRID = 16777216.0  # places are multiples of 1 / GRID

LEVEL_PRECISION = cython.declare(cython.double, 0.05)  # prior precision of a level, in answers
REFRESH = cython.declare(cython.double, 0.03)  # a set is solved after this share of new answers
LEAST_NOISE = cython.declare(cython.double, 1e-6)  # of the variance of y: keeps sets solvable
LEAST_PIVOT = cython.declare(cython.double, 1e-12)  # rounding can make a matrix indefinite

NUMBERS = Range(-1e150, 1e150)  # their squares do not overflow
PLACE = Range(-1.0, 1.0)


# --- Features ------------------------------------------------------------------------------------


def cosine(x):
    """Return cos(pi (x + 1) / 2) = -sin(pi x / 2) for |x| <= 1, by its series to the 21st power."""
    a = 1.5707963267948966 * x
    s = a * a
    series = 1.0
    for j in range(10, 0, -1):
        series = 1.0 - series * s / (2.0 * j * (2.0 * j + 1.0))
    return -(a * series)


def write_cosines(first, out, order, stride):
    """Write T_0 .. T_order of ``first`` to every ``stride``-th number."""
    out[0] = 1.0
    out[stride] = first
    for j in range(2, order + 1):
        out[j * stride] = 2.0 * first * out[(j - 1) * stride] - out[(j - 2) * stride]


class Basis:
    """Features of a play: products of two of the numbers 1, x_i, z_c and cos(j pi (x_i + 1) / 2).

        1, x_i, x_i^2 - 1/3, x_i x_j (i < j), z_c, z_c x_i, and cos(j pi (x + 1) / 2)

    For one knob j = 1 .. 14; for two products with j_1 + j_2 <= 6; for more every knob alone, j =
    2, 3, 4. cos(j t) is the Chebyshev polynomial T_j of cos t, so each knob takes one sine.
    ``base`` are quadratic, those of the context included; ``most`` are all. ``left`` and ``right``
    tell which two of the ``factors`` a feature is the product of, ``frequencies`` the j of cosines.
    """

    def __init__(self, knobs, context):
        self.k, self.c = knobs, context
        self.order = 14 if knobs == 1 else 6 if knobs == 2 else 4
        orders, z, self.cosines_at = range(self.order + 1), 1 + knobs, 1 + knobs + context
        starts = range(self.cosines_at, self.cosines_at + knobs * len(orders), len(orders))
        cosines = [range(at, at + len(orders)) for at in starts]
        x = range(1, 1 + knobs)
        pairs = [(0, 0), *((0, i) for i in x), *((i, i) for i in x), *combinations(x, 2)]
        self.context_at = len(pairs)
        pairs += [(c, i) for c in range(z, z + context) for i in (0, *x)]
        self.base = len(pairs)
        if knobs == 2:
            self.frequencies = [(i, j) for i in orders for j in orders if 0 < i + j <= self.order]
            pairs += [(cosines[0][i], cosines[1][j]) for i, j in self.frequencies]
        else:
            alone = range(1 if knobs == 1 else 2, len(orders))
            self.frequencies = [(0, j) for _ in x for j in alone]
            pairs += [(0, each[j]) for each in cosines for j in alone]
        self.most = len(pairs)
        self.pairs = np.array(pairs, np.int64).T.copy()
        self.left, self.right = ints_at(self.pairs[0]), ints_at(self.pairs[1])
        self.factor_array = np.ones(self.cosines_at + knobs * len(orders))
        self.factors = floats_at(self.factor_array)

    def write(self, x, z, phi):
        """Write the features of a place in a context."""
        factors, k = self.factors, self.k
        for i in range(k):
            factors[1 + i] = x[i]
            cosines = part(factors, self.cosines_at + i * (self.order + 1))
            write_cosines(cosine(x[i]), cosines, self.order, 1)
        copy(z, part(factors, 1 + k), self.c)
        for i in range(self.most):
            phi[i] = factors[self.left[i]] * factors[self.right[i]]
        for i in range(1 + k, 1 + 2 * k):
            phi[i] -= 0.3333333333333333


def prior_precisions(basis):
    """Return the prior precisions, in units of the variance S2 of y.

    Costs differ by S2 at a squared distance q = min(1, 2/k) from the start: variances are 2/kq of
    linear terms, 4/kq^2 of squares, 4/(kq)^2 of products and 2/k of the context. The cosines have 2
    in all, in proportion to (1 + omega^2 / 12)^-2 with omega = pi j / 2. The intercept is free.
    """
    k, squares = basis.k, (np.array(basis.frequencies) ** 2).sum(axis=1)
    q = min(1.0, 2.0 / k)
    smooth = (1.0 + math.pi**2 * squares / 48.0) ** -2.0
    variances = [
        [100.0],
        [2.0 / (k * q)] * k,
        [4.0 / (k * q * q)] * k,
        [4.0 / (k * q) ** 2] * (k * (k - 1) // 2),
        [2.0 / k] * (basis.c * (k + 1)),
        2.0 * smooth / smooth.sum(),
    ]
    return 1.0 / np.concatenate(variances)


# --- Triangles, whose rows stand one after the other ---------------------------------------------


def factorise(u, m):
    """Replace the upper triangle A by U with U'U = A."""
    for i in range(m):
        pivot = sqrt(max(u[0], LEAST_PIVOT))
        inverse = 1.0 / pivot
        u[0] = pivot
        for j in range(1, m - i):
            u[j] *= inverse
        row = part(u, m - i)
        for j in range(1, m - i):
            factor = u[j]
            rest = part(u, j)
            for q in range(m - i - j):
                row[q] -= factor * rest[q]
            row = part(row, m - i - j)
        u = part(u, m - i)


def forward(u, z, m):
    """Replace z by the solution of U'x = z."""
    for i in range(m):
        value = z[i] / u[0]
        z[i] = value
        rest = part(z, i)
        for j in range(1, m - i):
            rest[j] -= value * u[j]
        u = part(u, m - i)


def backward(u, z, size, m):
    """Replace z by the solution of U x = z, for the first ``size`` rows and columns of U."""
    for back in range(size):
        i = size - 1 - back
        at = i * (2 * m - i + 1) // 2
        value = z[i]
        for j in range(1, size - i):
            value -= u[at + j] * z[i + j]
        z[i] = value / u[at]


# --- Models --------------------------------------------------------------------------------------


class CostModels(Component):
    """Twelve Bayesian linear models of values y, weighted by how well they predict.

    Answers count by when they were played, not by when they came: w = e^(-age of the play / W). For
    every block of rounds n, Phi = sum phi and Y = sum y are kept (``blocks``). With c = 1/(n + l),

        phi~ = phi - c Phi,   y~ = y - c Y,   A += w phi~ phi~'/(1 + c),   b += w phi~ y~/(1 + c),

    and then the block takes in phi and y. That integrates out a level of the block with prior
    precision l exactly. Sets without levels have c = 0. Weights are relative to an origin that
    moves along. With prior precisions P and prior means m, the model of all features of a set is

        U'U = A + s^2 P,    w = U'^-1 (b + s^2 P m),    theta = U^-1 w.

    The quadratic features come first, so the first parts of U (``factor``) and w (``whitened``)
    belong to the quadratic model, and one factorisation serves both. With z = U'^-1 phi~ the
    prediction of y~ has the mean w'z and the variance v s^2, v = 1 + c + z'z.

    The weight of a model is multiplied by the density of Student's distribution with 6 degrees of
    freedom at e = y~ - w'z. The noise s^2 of a set is the mean of e^2 / v of its best model over
    the last 300 answers. ``mean`` and ``squares`` are those of all y, ``count`` all answers, of
    which ``provisional`` may be revised, and ``since`` of each set those since it was solved.
    """

    FIELDS = {
        **dict.fromkeys(("count", "provisional", "clipped", "latest"), COUNT),
        **dict.fromkeys(("origins", "since", "numbers"), COUNT),
        **dict.fromkeys(("mean", "a", "b", "factor", "whitened", "blocks"), NUMBERS),
        "squares": Range(0.0, 1e150),
        "noise": Range(1e-150, 1e150),
        "weights": WEIGHT,
    }

    def __init__(self, basis):
        most = basis.most
        self.basis, self.most, self.base, self.k = basis, most, basis.base, basis.k
        self.size = most * (most + 1) // 2  # of a triangle
        self.count = self.provisional = self.clipped = self.latest = 0
        self.mean = self.squares = 0.0
        self.origins, self.since = np.zeros(len(WINDOWS), np.int64), np.zeros(SETS, np.int64)
        self.origin, self.unsolved = ints_at(self.origins), ints_at(self.since)
        self.a, self.b = np.zeros((SETS, self.size)), np.zeros((SETS, most))
        self.aa, self.bb = floats_at(self.a), floats_at(self.b)
        self.factor, self.whitened = np.zeros((SETS, self.size)), np.zeros((SETS, most))
        self.u, self.w = floats_at(self.factor), floats_at(self.whitened)
        self.factor[:, self.diagonal()] = 1.0
        self.numbers = np.arange(RING, dtype=np.int64)
        self.blocks = np.zeros((RING, TOTALS + most))
        self.number, self.block = ints_at(self.numbers), floats_at(self.blocks)
        by_set = np.outer(WINDOW_WEIGHTS, LEVEL_WEIGHTS).ravel() / FEATURES
        first = np.repeat(by_set, FEATURES)
        self.weights, self.noise = first.copy(), np.ones(SETS)
        self.weight, self.s2 = floats_at(self.weights), floats_at(self.noise)
        self.given = first, prior_precisions(basis), np.array(WINDOWS)
        self.prior_weight, self.prior = floats_at(self.given[0]), floats_at(self.given[1])
        self.window, self.work = floats_at(self.given[2]), np.zeros((6, TOTALS + most))
        self.phi, self.net = floats_at(self.work[0]), floats_at(self.work[1])
        self.z, self.forgotten = floats_at(self.work[2]), floats_at(self.work[3])
        self.expected, self.variance = floats_at(self.work[4]), floats_at(self.work[5])

    def diagonal(self):
        """Return where the diagonal of a triangle stands."""
        rows = np.arange(self.most)
        return rows * (2 * self.most - rows + 1) // 2

    def contexts(self):
        """Return means and deviations of the contexts whose costs were learned; 0 of none.

        The sums of the set that forgets nothing and has no levels are those of all costs.
        """
        at = np.arange(self.basis.context_at, self.base, self.k + 1)
        count = max(float(self.a[0, 0]), 1.0)
        means, squares = self.a[0, at] / count, self.a[0, self.diagonal()[at]] / count
        return means, np.sqrt(np.maximum(squares - means * means, 0.0))

    def verify(self, state):
        numbers, blocks = state["numbers"], state["blocks"]
        demand(abs(state["weights"].sum() - 1.0) <= 1e-6, "weights")
        demand((state["factor"][:, self.diagonal()] > 0.0).all(), "sets that are solved")
        demand((state["origins"] <= state["latest"]).all(), "origins")
        demand(state["provisional"] <= state["count"], "final answers")
        demand((numbers % RING == np.arange(RING)).all(), "numbers of blocks")
        demand((numbers <= max(RING - 1, state["latest"] // BLOCK)).all(), "numbers of blocks")
        demand((blocks[:, ANSWERS] >= 0.0).all(), "answers of blocks")

    # --- Predictions -----------------------------------------------------------------------------

    def weight_at(self, g, t):
        """Return the weight of play t in a set, relative to the origin of its window."""
        age = (t - self.origin[g // LEVELS]) / self.window[g // LEVELS]
        return exp(age) if age <= 0.0 else 1.0 / exp(-age)

    def count_final(self):
        """Return the number of final answers."""
        return self.count - self.provisional

    def prior_variance(self):
        """Return the variance of y that the prior is relative to; at least that of the unit."""
        return max(self.squares / max(self.count_final(), 1), 1.0)

    def solve_due(self):
        """Solve the sets that have enough new answers."""
        for g in range(SETS):
            if self.unsolved[g] >= REFRESH * min(self.count, self.window[g // LEVELS]):
                self.unsolved[g] = 0
                self.solve(g, 1.0 / self.weight_at(g, self.latest))

    def solve(self, g, fade):
        """Write U and w of a set; ``fade`` brings its sums to the time of the latest play."""
        most, k, s2 = self.most, self.k, self.prior_variance()
        u, w = part(self.u, g * self.size), part(self.w, g * most)
        a, b = part(self.aa, g * self.size), part(self.bb, g * most)
        bowl = 2.0 * sqrt(s2 / k) / min(1.0, 2.0 / k)
        for i in range(self.size):
            u[i] = fade * a[i]
        at = 0
        for i in range(most):
            precision = self.s2[g] * self.prior[i] / s2
            u[at] += precision
            w[i] = fade * b[i] + (precision * bowl if k < i <= 2 * k else 0.0)
            at += most - i
        factorise(u, most)
        forward(u, w, most)

    def predict(self, g, features, level, variance):
        """Predict a value with the models of a set.

        ``level`` is added to the means and ``variance`` to the variances, in units of s^2.
        """
        z, w = self.z, part(self.w, g * self.most)
        copy(features, z, self.most)
        forward(part(self.u, g * self.size), z, self.most)
        for i in range(self.most):
            level += w[i] * z[i]
            variance += z[i] * z[i]
            if i == self.base - 1 or i == self.most - 1:
                model = FEATURES * g + (0 if i < self.base else 1)
                self.expected[model] = level
                self.variance[model] = variance

    def best_model(self, first, count):
        """Return the model with the largest weight of ``count`` models from ``first`` on."""
        best = first
        for i in range(first + 1, first + count):
            best = i if self.weight[i] > self.weight[best] else best
        return best

    def draw(self, model, t, scale, seed, out):
        """Write coefficients of a model: ``scale`` deviations from their mean, by ticket t."""
        g = model // FEATURES
        size = self.base if model % FEATURES == 0 else self.most
        w = part(self.w, g * self.most)
        for i in range(self.most):
            out[i] = 0.0
        if scale > 0.0:
            normals(out, size, NORMAL, t, seed)
        deviation = scale * sqrt(self.s2[g])
        for i in range(size):
            out[i] = w[i] + deviation * out[i]
        backward(part(self.u, g * self.size), out, size, self.most)

    # --- Learning --------------------------------------------------------------------------------

    def advance(self, t):
        """Take note of play t; move origins that are more than a window before the latest play."""
        self.latest = max(self.latest, t)
        for window in range(1, SETS // LEVELS):
            age = (self.latest - self.origin[window]) / self.window[window]
            if age > 1.0:
                first, last, faded = LEVELS * window, LEVELS * (window + 1), exp(-age)
                for i in range(first * self.size, last * self.size):
                    self.aa[i] *= faded
                for i in range(first * self.most, last * self.most):
                    self.bb[i] *= faded
                for g in range(first, last):
                    self.unsolved[g] = self.count
                self.origin[window] = self.latest

    def learn(self, t, y, before, is_new, is_final, is_scored):
        """Learn the value of play t, whose features are in phi; return it as it was learned.

        One that is not new replaces ``before``. Sums include the newest value. Weights, noise and
        variance follow final values only, since provisional ones may be placeholders.
        """
        block = self.block_of(t)
        if (
            not is_new and block[ANSWERS] > 0.0
        ):  # models are scored by the other answers of the block
            self.add_to_block(block, -before, -1.0)
        c = self.write_net(block)
        if is_scored:
            y = self.score(y, c, block, is_final)
        if is_new:
            self.add_to_sets(t, y, y - c * block[TOTAL], 1.0 / (1.0 + c), True)
            self.count += 1
            self.provisional += 1
        self.add_to_block(block, y, 1.0)
        if not is_new:  # in sets with levels, the sums of the block have changed as well
            self.write_net(block)
            self.add_to_sets(t, y - before, y - before, 1.0, False)
        if is_final:
            self.provisional -= 1
        return y

    def score(self, y, c, block, is_final):
        """Predict y with all models and return it clipped; a final value updates their weights."""
        for g in range(SETS):
            if g % LEVELS == 1:
                self.predict(g, self.net, c * block[TOTAL], 1.0 + c)
            else:
                self.predict(g, self.phi, 0.0, 1.0)
        value = self.clip(y, c)
        if value != y:
            self.clipped += 1
        if is_final:
            self.reweigh(value, block[ANSWERS])
            away = value - self.mean
            self.mean += away / (self.count_final() + 1)
            self.squares += away * (value - self.mean)
        return value

    def clip(self, y, c):
        """Return a value, clipped around the prediction of the leading model; c is of its block.

        The threshold is small at first, so that an outlier has little effect. It grows with the
        number of answers, so that rare large values, such as sales, are soon learned in full.
        """
        model = self.best_model(0, MODELS)
        g = model // FEATURES
        threshold = 3.0 + 0.5 * sqrt(self.count)
        far = threshold * sqrt(self.s2[g] * (1.0 + c if g % LEVELS == 1 else 1.0))
        return min(max(y, self.expected[model] - far), self.expected[model] + far)

    def reweigh(self, y, answers):
        """Update weights and noise with a value that was predicted, and that many in its block.

        A value that is alone in its block mainly informs the level, so it counts less. Prior
        weights are mixed in, so that no weight vanishes.
        """
        weight, trust = self.weight, (answers + 0.25) / (answers + 1.0)
        top = -INFINITY
        for g in range(SETS):
            noise, lead = self.s2[g], self.best_model(FEATURES * g, FEATURES)
            for i in range(FEATURES * g, FEATURES * (g + 1)):
                e, variance = y - self.expected[i], noise * self.variance[i]
                density = -0.5 * ln(variance) - 3.5 * ln(1.0 + e * e / (6.0 * variance))
                weight[i] = trust * density + ln(weight[i])
                top = max(top, weight[i])
            e = y - self.expected[lead]
            noise += (e * e / self.variance[lead] - noise) / (min(self.count_final(), 300) + 3.0)
            self.s2[g] = max(noise, LEAST_NOISE * self.prior_variance())
        total = 0.0
        for i in range(MODELS):
            weight[i] = exp(weight[i] - top)
            total += weight[i]
        mixed = 1.0 / (self.count_final() + 100.0)
        for i in range(MODELS):
            weight[i] = (1.0 - mixed) * weight[i] / total + mixed * self.prior_weight[i]

    def block_of(self, t):
        """Return the block of play t; an empty one if it is forgotten."""
        number, width = t // BLOCK, TOTALS + self.most
        place = number % RING
        if self.number[place] == number:
            return part(self.block, place * width)
        block = self.forgotten
        if self.number[place] < number:
            block = part(self.block, place * width)
            self.number[place] = number
        for i in range(width):
            block[i] = 0.0
        return block

    def add_to_block(self, block, y, times):
        """Add y to the sum of a block, and the features of a play so many times."""
        block[TOTAL] += y
        block[ANSWERS] += times
        for i in range(self.most):
            block[TOTALS + i] += times * self.phi[i]

    def write_net(self, block):
        """Write the features net of a block; return c."""
        c = 1.0 / (block[ANSWERS] + LEVEL_PRECISION)
        for i in range(self.most):
            self.net[i] = self.phi[i] - c * block[TOTALS + i]
        return c

    def add_to_sets(self, t, y, net, kappa, is_new):
        """Add play t to the sums of every set; in levels with value ``net`` and weight ``kappa``.

        One that is not new only changes its value.
        """
        most = self.most
        for g in range(SETS):
            scale = self.weight_at(g, t // BLOCK * BLOCK)
            row, value = self.phi, y
            if g % LEVELS == 1:
                row, value = self.net, net
                scale *= kappa
            a, b = part(self.aa, g * self.size), part(self.bb, g * most)
            for i in range(most):
                factor = scale * row[i]
                b[i] += factor * value
                if is_new:
                    rest = part(row, i)
                    for j in range(most - i):
                        a[j] += factor * rest[j]
                    a = part(a, most - i)
            self.unsolved[g] += 1


# --- Where a surface is least --------------------------------------------------------------------

SPACING = cython.declare(cython.double, 1.0 / 1024.0)  # of places in a difference quotient


def vertex(slope, bend, low, high):
    """Return where slope d + bend d^2 / 2 is least for low <= d <= high."""
    if bend > 0.0:
        return min(max(-slope / bend, low), high)
    at_low = low * (slope + 0.5 * bend * low)
    at_high = high * (slope + 0.5 * bend * high)
    return low if at_low < at_high else high


def refine(values, size, best):
    """Return where a parabola through the best value of a line and its neighbours is least.

    In steps from the first value, and at most one step from the best.
    """
    middle = min(max(best, 1), size - 2)
    before, here, after = values[middle - 1], values[middle], values[middle + 1]
    d = cython.cast(cython.double, best - middle)
    low, high = max(d - 1.0, -1.0), min(d + 1.0, 1.0)
    return middle + vertex(0.5 * (after - before), after - 2.0 * here + before, low, high)


class Search(Component):
    """Where a surface, a quadratic with cosines, is least among the allowed places.

    Allowed is what is in the box (``low``, ``high``) and satisfies all constraints: m rows of
    factors a_i, the largest 1, and a bound b, with <a, x> <= b.

    Without constraints: knob by knob, which is exact for bowls; with cosines of two knobs on a
    grid. From there, and from the last play, the spectral projected gradient method leads to the
    allowed minimiser: steps along the negative gradient have the length of Barzilai and Borwein,
    s's / s'y with s the last step and y the change of the gradient, and are projected. The best
    place is kept.

    ``x`` is the place that is worked on, ``coefficients`` the surface in the context of a play,
    ``last`` the last play of the learner: no knob moves from there by more than its ``step``.
    """

    FIELDS = {"last": PLACE}

    def __init__(self, basis, start, steps, levels, rows):
        k = basis.k
        self.basis, self.k, self.m = basis, k, len(rows)
        self.points = 65 if k == 1 else 25 if k == 2 else 17
        self.last, self.given = np.array(start), np.array([start, steps, levels])
        self.start, self.step = floats_at(self.given[0]), floats_at(self.given[1])
        self.level, self.previous = floats_at(self.given[2]), floats_at(self.last)
        self.constraints, self.work = np.array(rows), np.zeros((7, k))
        self.rows, self.x = floats_at(self.constraints), floats_at(self.work[0])
        self.low, self.high = floats_at(self.work[1]), floats_at(self.work[2])
        self.found, self.slope = floats_at(self.work[3]), floats_at(self.work[4])
        self.here, self.uniforms = floats_at(self.work[5]), floats_at(self.work[6])
        self.long_work = np.zeros((4, max(basis.most, self.m + k, self.points)))
        self.coefficients, self.phi = floats_at(self.long_work[0]), floats_at(self.long_work[1])
        self.corrections, self.values = floats_at(self.long_work[2]), floats_at(self.long_work[3])
        self.grid, self.zero_array = np.zeros((2 + basis.order, self.points)), np.zeros(basis.c)
        self.table, self.zeros = floats_at(self.grid), floats_at(self.zero_array)
        self.series_array = np.zeros(basis.order + 1)
        self.series = floats_at(self.series_array)
        for b in range(self.points):
            self.table[b] = 2.0 * b / (self.points - 1.0) - 1.0
            line = part(self.table, self.points + b)
            write_cosines(cosine(self.table[b]), line, basis.order, self.points)

    def verify(self, state):
        """Demand that the last play satisfies the constraints, but for rounding."""
        factors, last = self.constraints[:, :-1], state["last"]
        is_start = ((factors == 0.0) | (last == self.given[0])).all(axis=1)
        ends = self.constraints[:, -1] + np.abs(factors).sum(axis=1) * ROUNDING
        demand((is_start | (factors @ last <= ends)).all(), "the last play")

    # --- Constraints -----------------------------------------------------------------------------

    def total(self, row, x):
        """Return <a, x> of a constraint."""
        total = 0.0
        for i in range(self.k):
            total += row[i] * x[i]
        return total

    def is_allowed(self, x):
        """Tell whether a place is in the box and satisfies all constraints."""
        k = self.k
        for i in range(k):
            if not self.low[i] <= x[i] <= self.high[i]:
                return False
        for r in range(self.m):
            row = part(self.rows, r * (k + 1))
            if not self.total(row, x) <= row[k]:
                return False
        return True

    def project(self):
        """Move x to the nearest allowed place, or close to it.

        Dykstra's projections: ``corrections`` are the increments of constraints and ends so far.
        """
        k, m, x, corrections = self.k, self.m, self.x, self.corrections
        for i in range(m + k):
            corrections[i] = 0.0
        for _ in range(200):
            moved = 0.0
            for r in range(m):
                row = part(self.rows, r * (k + 1))
                beyond = self.total(row, x) - row[k]
                push = max(corrections[r] + beyond / self.total(row, row), 0.0)
                for i in range(k):
                    away = (push - corrections[r]) * row[i]
                    x[i] -= away
                    moved = max(moved, fabs(away))
                corrections[r] = push
            for i in range(k):
                place = x[i] + corrections[m + i]
                x[i] = min(max(place, self.low[i]), self.high[i])
                moved = max(moved, fabs(place - x[i] - corrections[m + i]))
                corrections[m + i] = place - x[i]
            if moved < 1e-9:
                break

    def move_towards(self, fraction, target):
        """Keep a fraction of the distance from the target to x."""
        if fraction < 1.0:
            for i in range(self.k):
                self.x[i] = target[i] + fraction * (self.x[i] - target[i])

    def make_allowed(self):
        """Move x to an allowed place, the nearest or close to it; the start is in the box.

        If the start itself violates a constraint, by its tolerance for rounding, x does not violate
        it more.
        """
        self.project()
        fraction = 1.0
        for r in range(self.m):
            row = part(self.rows, r * (self.k + 1))
            at_start = self.total(row, self.start)
            left, rate = max(row[self.k] - at_start, 0.0), self.total(row, self.x) - at_start
            if rate > left:
                fraction = min(fraction, left / rate)
        self.move_towards(fraction, self.start)

    # --- What settings can be --------------------------------------------------------------------

    def make_playable(self, is_free):
        """Move x to what settings can be; unless it is free, within a step of the last play."""
        if self.m > 0:
            for i in range(self.k):
                self.low[i] = -1.0
                self.high[i] = 1.0
            self.make_allowed()
            if not is_free:
                self.limit_steps()
        self.round(is_free)
        if self.m > 0:
            self.check_place(self.start if is_free else self.previous)

    def limit_steps(self):
        """Shorten the step from the last play to what is allowed for all knobs."""
        fraction = 1.0
        for i in range(self.k):
            away = fabs(self.x[i] - self.previous[i])
            if away > self.step[i]:
                fraction = min(fraction, self.step[i] / away)
        self.move_towards(fraction, self.previous)

    def round(self, is_free):
        """Round x to multiples of 1 / GRID and to levels, within a step unless it is free."""
        for i in range(self.k):
            per_unit = 0.5 * (self.level[i] - 1.0) if self.level[i] > 1.0 else GRID
            x = self.x[i] if self.x[i] >= -1.0 else -1.0  # also where it is NaN
            place = floor((min(x, 1.0) + 1.0) * per_unit + 0.5)
            if not is_free:
                here = floor((self.previous[i] + 1.0) * per_unit + 0.5)
                most = floor(self.step[i] * per_unit + 1e-6)  # may lack that by rounding
                place = min(max(place, here - most), here + most)
            self.x[i] = floor((place / per_unit) * GRID + 0.5) / GRID - 1.0

    def check_place(self, otherwise):
        """Replace a rounded place that violates a constraint by ``otherwise``.

        The bound of a constraint allows for two roundings of every place; this is one of them.
        """
        k = self.k
        for r in range(self.m):
            row = part(self.rows, r * (k + 1))
            beyond, away = self.total(row, self.x) - row[k], 0
            for i in range(k):
                beyond -= fabs(row[i]) / GRID
                if row[i] != 0.0 and self.x[i] != self.start[i]:
                    away = 1
            if away > 0 and not beyond <= 0.0:
                copy(otherwise, self.x, k)
                return

    # --- Minimising ------------------------------------------------------------------------------

    def minimise(self, has_cosines):
        """Write the minimiser of the surface among the allowed places to x."""
        if has_cosines and self.k == 2:
            self.search_grid()
        else:
            self.descend_by_knob(has_cosines)
            if self.m == 0:
                return
        self.make_allowed()
        best = self.descend(has_cosines, INFINITY)
        if self.m > 0:
            for i in range(self.k):
                self.x[i] = min(max(self.previous[i], self.low[i]), self.high[i])
            self.make_allowed()
            self.descend(has_cosines, best)
        copy(self.found, self.x, self.k)

    def value_at(self, has_cosines):
        """Return the value of the surface at x, up to a constant."""
        c, value = self.coefficients, 0.0
        self.basis.write(self.x, self.zeros, self.phi)
        for i in range(1, self.basis.most if has_cosines else self.basis.context_at):
            value += c[i] * self.phi[i]
        return value

    def search_grid(self):
        """Move x to the best allowed point of the grid, if there is one, with two knobs."""
        c, x, table, best = self.coefficients, self.x, self.table, INFINITY
        cosines = part(self.basis.factors, self.basis.cosines_at)
        copy(x, self.found, 2)
        for a in range(self.points):
            x[0] = table[a]
            for i in range(self.basis.order + 1):
                cosines[i] = table[(1 + i) * self.points + a]
            self.write_line(1, self.slope_along(1))
            constant = (c[1] + c[3] * x[0]) * x[0]
            for b in range(self.points):
                x[1] = table[b]
                if self.values[b] + constant < best and self.is_allowed(x):
                    best = self.values[b] + constant
                    copy(x, self.found, 2)
        copy(self.found, x, 2)

    def descend_by_knob(self, has_cosines):
        """Write the better of two minimisers to x: from where x is, and from a random point."""
        best = INFINITY
        for trial in range(2):
            if trial == 1:
                for i in range(self.k):
                    self.x[i] = self.low[i] + self.uniforms[i] * (self.high[i] - self.low[i])
            for _ in range(10):
                moved = 0.0
                for i in range(self.k):
                    place = self.minimise_along(i, has_cosines)
                    moved = max(moved, fabs(place - self.x[i]))
                    self.x[i] = place
                if moved < 1e-3:
                    break
            value = self.value_at(has_cosines)
            if value < best:
                best = value
                copy(self.x, self.found, self.k)
        copy(self.found, self.x, self.k)

    def minimise_along(self, i, has_cosines):
        """Return the best place of knob i while the others are fixed."""
        low, high, best = self.low[i], self.high[i], 0
        slope, bend = self.slope_along(i), self.coefficients[1 + self.k + i]
        if not has_cosines:
            return vertex(slope, 2.0 * bend, low, high)
        self.write_line(i, slope)
        least = INFINITY
        for b in range(self.points):
            if self.values[b] < least and low <= self.table[b] <= high:
                least = self.values[b]
                best = b
        steps = refine(self.values, self.points, best)
        return min(max(steps * (self.table[1] - self.table[0]) - 1.0, low), high)

    def slope_along(self, i):
        """Return the factor of x_i while the other knobs are fixed."""
        slope, lefts, rights = self.coefficients[1 + i], self.basis.left, self.basis.right
        for q in range(1 + 2 * self.k, self.basis.context_at):
            left, right = lefts[q] - 1, rights[q] - 1
            if left == i or right == i:
                slope += self.coefficients[q] * self.x[left + right - i]
        return slope

    def write_line(self, i, slope):
        """Write the values at ``points`` places of knob i, up to a constant.

        The factors of the basis are those of the other knob where there are two.
        """
        table, row, series, order = self.table, self.values, self.series, self.basis.order
        bend, lefts, rights = self.coefficients[1 + self.k + i], self.basis.left, self.basis.right
        for j in range(order + 1):
            series[j] = 0.0
        for q in range(self.basis.base, self.basis.most):
            j = rights[q] - self.basis.cosines_at - i * (order + 1)
            if 0 <= j <= order:
                series[j] += self.coefficients[q] * self.basis.factors[lefts[q]]
        for b in range(self.points):
            row[b] = (slope + bend * table[b]) * table[b]
        for j in range(order + 1):
            cosines = part(table, (1 + j) * self.points)
            for b in range(self.points):
                row[b] += series[j] * cosines[b]

    def descend(self, has_cosines, best):
        """Descend from x, which is allowed; ``found`` is the best place if it is below ``best``."""
        k, x, slope, here = self.k, self.x, self.slope, self.here
        for turn in range(30 + 8 * k):
            value = self.value_at(has_cosines)
            if value < best:
                best = value
                copy(x, self.found, k)
            moved = bend = size = 0.0
            for i in range(k):
                step, place = x[i] - here[i], x[i]
                x[i] = place + SPACING
                after = self.value_at(has_cosines)
                x[i] = place - SPACING
                own = 0.5 * (after - self.value_at(has_cosines)) / SPACING
                x[i] = place
                moved += step * step
                bend += step * (own - slope[i])
                size += own * own
                slope[i] = own
                here[i] = place
            if size == 0.0 or (turn > 0 and moved < 1e-10):
                break
            length = SPACING / sqrt(size)
            if turn > 0:
                length = moved / fabs(bend) if moved < fabs(bend) * 1e6 * length else 1e3 * length
            for i in range(k):
                x[i] -= length * slope[i]
            self.project()
        return best


# --- Plays ---------------------------------------------------------------------------------------

UNIFORM = cython.declare(cython.ulonglong, 48)  # streams of random numbers
NORMAL = cython.declare(cython.ulonglong, 49)
DEVIATIONS = cython.declare(cython.double, 0.43)  # of the posterior; 1 explores for too long


def choose(weights, n, uniform):
    """Return one of n numbers in proportion to their weights."""
    total = below = 0.0
    chosen = 0
    for i in range(n):
        total += weights[i]
    for i in range(n):
        chosen = i if uniform * total >= below else chosen
        below += weights[i]
    return chosen


class Sampler(Search):
    """Plays: Thompson sampling over the models.

    A window is drawn in proportion to the fourth power of its weight, a model of it by weight, and
    then theta~ = U^-1 (w + 0.43 s xi) with normal xi; the play is where that surface is least. All
    randomness is a function of (seed, ticket).

    Before there is a unit, about as many plays as there are coefficients are uniform over a wide
    range. All others are near the start, at a radius that shrinks with the rounds: over D rounds
    without an answer the squared radii add up to O(sqrt(D)).
    """

    def __init__(self, models, seed, start, steps, levels, rows):
        Search.__init__(self, models.basis, start, steps, levels, rows)
        self.models, self.seed = models, seed
        self.shares, self.drawn = np.zeros(4 + SETS // LEVELS), np.zeros(4, np.int64)
        self.random, self.words = floats_at(self.shares), ints_at(self.drawn)
        self.masses = part(self.random, 4)
        self.largest_radius = min(1.0, math.sqrt(0.7 / self.k))  # squared radii add up to 0.7

    def uniform(self, block, t):
        """Return number ``block`` of ticket t, uniform on (0, 1)."""
        philox(block, UNIFORM, t, self.seed, self.words)
        return (self.words[0] + 0.5) * 2.3283064365386963e-10  # 2^-32

    def propose(self, z, t, is_best, has_unit):
        """Write the play of ticket t in a context to x, or the best one by the models."""
        for i in range(4):
            self.random[i] = self.uniform(i, t)
        for i in range(self.k):
            self.uniforms[i] = self.uniform(4 + i, t)
        if not has_unit:
            self.play_early(t, is_best)
            return
        model = self.models.best_model(0, MODELS)
        if not is_best:
            model = self.pick(self.random[1], self.random[2])
        self.models.draw(model, t, 0.0 if is_best else DEVIATIONS, self.seed, self.coefficients)
        self.apply_context(z, self.coefficients)
        reach = self.largest_radius * (0.5 + self.models.count / (3.0 * self.basis.context_at))
        for i in range(self.k):
            self.low[i] = max(self.start[i] - reach, -1.0)
            self.high[i] = min(self.start[i] + reach, 1.0)
            self.x[i] = min(max(self.previous[i], self.low[i]), self.high[i])
        self.minimise(model % FEATURES == 1)

    def apply_context(self, z, coefficients):
        """Put the features of a context into the coefficients of a play in it."""
        lefts, rights = self.basis.left, self.basis.right
        for q in range(self.basis.context_at, self.basis.base):
            coefficients[rights[q]] += z[lefts[q] - 1 - self.k] * coefficients[q]
            coefficients[q] = 0.0

    def play_early(self, t, is_best):
        """Write the play of ticket t to x before there is a unit."""
        radius = min(0.3, 0.5 / sqrt(sqrt(t + 1.0)))
        if self.random[3] * (t + 1.0) < 0.6 * (10.0 + self.basis.context_at):
            radius = self.largest_radius
        if is_best:
            radius = 0.0
        for i in range(self.k):
            away = 2.0 * self.uniforms[i] - 1.0 - self.start[i]
            self.x[i] = self.start[i] + radius * away

    def pick(self, by_window, by_model):
        """Return a model: a window by the fourth power of its weight, then one of it by weight."""
        for w in range(SETS // LEVELS):
            mass = 0.0
            for i in range(PER_WINDOW * w, PER_WINDOW * (w + 1)):
                mass += self.models.weight[i]
            self.masses[w] = mass * mass * mass * mass
        first = PER_WINDOW * choose(self.masses, SETS // LEVELS, by_window)
        return first + choose(part(self.models.weight, first), PER_WINDOW, by_model)

    def expect(self, x, z, out):
        """Write the mean and deviation of y at a place in a context."""
        model = self.models.best_model(0, MODELS)
        g = model // FEATURES
        self.basis.write(x, z, self.models.phi)
        self.models.predict(g, self.models.phi, 0.0, 0.0)
        out[0] = self.models.expected[model]
        out[1] = sqrt(self.models.variance[model] * self.models.s2[g])
