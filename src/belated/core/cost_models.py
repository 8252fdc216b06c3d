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
    from belated.core.numerics import (
        copy,
        dot,
        exp,
        floats_at,
        ints_at,
        ln,
        normals,
        part,
        word_share,
    )

MOST_KNOBS = 16
MOST_CONTEXT = 32
WINDOWS = (math.inf, 200.0)  # rounds after which an answer counts 1/e
WINDOW_WEIGHTS = (0.95, 0.05)  # most systems do not drift
LEVEL_WEIGHTS = (0.6, 0.4)
ROUNDING = 2.0**-24  # places are multiples of this

LEVELS = 2  # without levels, with a level for every block
SETS = 4
FEATURES = 2  # quadratic; these and cosines
MODELS = 8
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
        series = 1.0 - series * (s / (2.0 * j * (2.0 * j + 1.0)))
    return -(a * series)


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
        self.arrays = np.ones((2, self.cosines_at + knobs * len(orders)))
        self.factors, self.by_factor = floats_at(self.arrays[0]), floats_at(self.arrays[1])

    def write_factors(self, x, size):
        """Write the factors of a place that so many features have: x_i, and perhaps cosines."""
        factors = self.factors
        copy(x, part(factors, 1), self.k)
        for i in range(self.k if size > self.base else 0):
            first = cosine(x[i])
            cosines = part(factors, self.cosines_at + i * (self.order + 1))
            cosines[1] = first
            for j in range(2, self.order + 1):
                cosines[j] = 2.0 * first * cosines[j - 1] - cosines[j - 2]

    def write(self, x, z, phi):
        """Write the features of a place in a context."""
        factors, k = self.factors, self.k
        self.write_factors(x, self.most)
        copy(z, part(factors, 1 + k), self.c)
        for q in range(self.most):
            phi[q] = factors[self.left[q]] * factors[self.right[q]]
        for q in range(1 + k, 1 + 2 * k):
            phi[q] -= 0.3333333333333333

    def surface(self, x, coefficients, size, slope):
        """Return the sum of ``size`` coefficients times features at x, and write its gradient.

        Both are without constants. The gradient by the factors comes first; with c = cos t,
        T_j' = 2 T_{j-1} + 2 c T_{j-1}' - T_{j-2}'.
        """
        factors, by_factor, value = self.factors, self.by_factor, 0.0
        self.write_factors(x, size)
        for i in range(self.cosines_at + self.k * (self.order + 1)):
            by_factor[i] = 0.0
        for q in range(1, size):
            left, right, c = self.left[q], self.right[q], coefficients[q]
            value += c * factors[left] * factors[right]
            by_factor[left] += c * factors[right]
            by_factor[right] += c * factors[left]
        copy(part(by_factor, 1), slope, self.k)
        for i in range(self.k if size > self.base else 0):
            at = self.cosines_at + i * (self.order + 1)
            first, before, now, total = factors[at + 1], 0.0, 1.0, by_factor[at + 1]
            for j in range(2, self.order + 1):
                after = 2.0 * (factors[at + j - 1] + first * now) - before
                before = now
                now = after
                total += by_factor[at + j] * now
            slope[i] -= 1.5707963267948966 * sqrt(max(1.0 - first * first, 0.0)) * total
        return value


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


def factorise(u, m):
    """Replace rows of A, each with an entry of b behind it, by those of U and U'^-1 b, U'U = A."""
    for i in range(m):
        pivot = sqrt(max(u[0], LEAST_PIVOT))
        u[0] = pivot
        for j in range(1, m - i + 1):
            u[j] *= 1.0 / pivot
        row = part(u, m - i + 1)
        for j in range(1, m - i):
            factor = u[j]
            rest = part(u, j)
            for q in range(m - i - j + 1):
                row[q] -= factor * rest[q]
            row = part(row, m - i - j + 1)
        u = part(u, m - i + 1)


# --- Models --------------------------------------------------------------------------------------


class CostModels(Component):
    """Eight Bayesian linear models of values y, weighted by how well they predict.

    Answers count by when they were played, not by when they came: w = e^(-age of the play / W). For
    every block of rounds n, Phi = sum phi and Y = sum y are kept (``blocks``). With c = 1/(n + l),

        phi~ = phi - c Phi,   y~ = y - c Y,   A += w phi~ phi~'/(1 + c),   b += w phi~ y~/(1 + c),

    and then the block takes in phi and y. That integrates out a level of the block with prior
    precision l exactly. Sets without levels have c = 0. Weights are relative to an origin that
    moves along. With prior precisions P and prior means m, the model of all features of a set is

        U'U = A + s^2 P,    w = U'^-1 (b + s^2 P m),    theta = U^-1 w.

    The quadratic features come first, so the first parts of U and w belong to the quadratic model,
    and one factorisation serves both. With z = U'^-1 phi~ the prediction of y~ has the mean w'z and
    the variance v s^2, v = 1 + c + z'z. Rows of ``sums`` are those of the upper triangle A with an
    entry of b behind each, one after the other; those of ``factors`` have U and w.

    The weight of a model is multiplied by the density of Student's distribution with 6 degrees of
    freedom at e = y~ - w'z. The noise s^2 of a set is the mean of e^2 / v of its best model over
    the last 300 answers. ``mean`` and ``squares`` are those of all y, ``count`` all answers, of
    which ``provisional`` may be revised, and ``since`` of each set those since it was solved.
    """

    FIELDS = {
        **dict.fromkeys(("count", "provisional", "clipped", "latest"), COUNT),
        **dict.fromkeys(("origin", "since", "numbers"), COUNT),
        **dict.fromkeys(("mean", "sums", "factors", "blocks"), NUMBERS),
        "squares": Range(0.0, 1e150),
        "noise": Range(1e-150, 1e150),
        "weights": WEIGHT,
    }

    def __init__(self, basis):
        most = basis.most
        self.basis, self.most, self.base, self.k = basis, most, basis.base, basis.k
        self.size = most * (most + 3) // 2  # of the rows of a set
        self.count = self.provisional = self.clipped = self.latest = self.origin = 0
        self.mean = self.squares = 0.0
        self.since = np.zeros(SETS, np.int64)
        self.unsolved = ints_at(self.since)
        self.sums, self.factors = np.zeros((2, SETS, self.size))
        self.a, self.u = floats_at(self.sums), floats_at(self.factors)
        self.factors[:, self.diagonal()] = 1.0
        self.numbers = np.arange(RING, dtype=np.int64)
        self.blocks = np.zeros((RING, TOTALS + most))
        self.number, self.block = ints_at(self.numbers), floats_at(self.blocks)
        by_set = np.outer(WINDOW_WEIGHTS, LEVEL_WEIGHTS).ravel() / FEATURES
        first = np.repeat(by_set, FEATURES)
        self.weights, self.noise = first.copy(), np.ones(SETS)
        self.weight, self.s2 = floats_at(self.weights), floats_at(self.noise)
        self.given = first, prior_precisions(basis), np.repeat(WINDOWS, LEVELS)
        self.prior_weight, self.prior = floats_at(self.given[0]), floats_at(self.given[1])
        self.window, self.work = floats_at(self.given[2]), np.zeros((6, TOTALS + most))
        self.phi, self.net = floats_at(self.work[0]), floats_at(self.work[1])
        self.z, self.forgotten = floats_at(self.work[2]), floats_at(self.work[3])
        self.expected, self.variance = floats_at(self.work[4]), floats_at(self.work[5])

    def diagonal(self):
        """Return where the rows of a set begin, with the diagonal."""
        rows = np.arange(self.most)
        return rows * (2 * self.most + 3 - rows) // 2

    def contexts(self):
        """Return means and deviations of the contexts whose costs were learned; 0 of none.

        The sums of the set that forgets nothing and has no levels are those of all costs.
        """
        at = np.arange(self.basis.context_at, self.base, self.k + 1)
        count = max(float(self.sums[0, 0]), 1.0)
        means, squares = self.sums[0, at] / count, self.sums[0, self.diagonal()[at]] / count
        return means, np.sqrt(np.maximum(squares - means * means, 0.0))

    def verify(self, state):
        numbers, blocks = state["numbers"], state["blocks"]
        demand(abs(state["weights"].sum() - 1.0) <= 1e-6, "weights")
        demand((state["factors"][:, self.diagonal()] > 0.0).all(), "sets that are solved")
        demand(state["origin"] <= state["latest"], "the origin")
        demand(state["provisional"] <= state["count"], "final answers")
        fits = (numbers % RING == np.arange(RING)) & (blocks[:, ANSWERS] >= 0.0)
        demand((fits & (numbers <= max(RING - 1, state["latest"] // BLOCK))).all(), "blocks")

    # --- Predictions -----------------------------------------------------------------------------

    def weight_at(self, g, t):
        """Return the weight of play t in a set, relative to the origin."""
        age = (t - self.origin) / self.window[g]
        return exp(age) if age <= 0.0 else 1.0 / exp(-age)

    def count_final(self):
        """Return the number of final answers."""
        return self.count - self.provisional

    def prior_variance(self):
        """Return the variance of y that the prior is relative to; at least that of the unit."""
        return max(self.squares / max(self.count_final(), 1), 1.0)

    def solve_due(self):
        """Write U and w of the sets that have enough new answers, with weights of today."""
        most, k, s2 = self.most, self.k, self.prior_variance()
        bowl = 2.0 * sqrt(s2 / k) / min(1.0, 2.0 / k)
        for g in range(SETS):
            if self.unsolved[g] < REFRESH * min(self.count, self.window[g]):
                continue
            u, a, at = part(self.u, g * self.size), part(self.a, g * self.size), 0
            fade = 1.0 / self.weight_at(g, self.latest)
            self.unsolved[g] = 0
            for i in range(self.size):
                u[i] = fade * a[i]
            for i in range(most):
                precision = self.s2[g] * self.prior[i] / s2
                u[at] += precision
                u[at + most - i] += precision * bowl if k < i <= 2 * k else 0.0
                at += most - i + 1
            factorise(u, most)

    def predict(self, g, features, level, variance):
        """Predict a value with the models of a set.

        ``level`` is added to the means and ``variance`` to the variances, in units of s^2.
        """
        most, z, u = self.most, self.z, part(self.u, g * self.size)
        copy(features, z, most)
        for i in range(most):
            value = z[i] / u[0]
            rest = part(z, i)
            for j in range(1, most - i):
                rest[j] -= value * u[j]
            level += u[most - i] * value
            variance += value * value
            u = part(u, most - i + 1)
            if i == self.base - 1 or i == most - 1:
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
        most, g = self.most, model // FEATURES
        size = self.base if model % FEATURES == 0 else most
        for i in range(most):
            out[i] = 0.0
        if scale > 0.0:
            normals(out, size, NORMAL, t, seed)
        for back in range(size):
            i = size - 1 - back
            u = part(self.u, g * self.size + i * (2 * most + 3 - i) // 2)
            value = u[most - i] + scale * sqrt(self.s2[g]) * out[i]
            for j in range(1, size - i):
                value -= u[j] * out[i + j]
            out[i] = value / u[0]

    # --- Learning --------------------------------------------------------------------------------

    def advance(self, t):
        """Take note of play t; move an origin that is more than a window before the latest play."""
        self.latest = max(self.latest, t)
        age = (self.latest - self.origin) / self.window[LEVELS]
        if age > 1.0:
            faded = exp(-age)
            for i in range(LEVELS * self.size, SETS * self.size):
                self.a[i] *= faded
            for g in range(LEVELS, SETS):
                self.unsolved[g] = self.count
            self.origin = self.latest

    def learn(self, t, y, before, is_new, is_final, is_scored):
        """Learn the value of play t, whose features are in phi; return it as it was learned.

        One that is not new replaces ``before``. Sums include the newest value. Weights, noise and
        variance follow final values only, since provisional ones may be placeholders.
        """
        block = self.block_of(t)
        if not is_new and block[ANSWERS] > 0.0:  # the other answers of the block score models
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
        for window in range(SETS // LEVELS):
            self.predict(LEVELS * window, self.phi, 0.0, 1.0)
            self.predict(LEVELS * window + 1, self.net, c * block[TOTAL], 1.0 + c)
        value = self.clip(y, c)
        self.clipped += 1 if value != y else 0
        if is_final:
            self.reweigh(value)
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

    def reweigh(self, y):
        """Update weights and noise with a value that was predicted.

        Prior weights are mixed in, so that no weight vanishes.
        """
        weight, top = self.weight, -INFINITY
        for g in range(SETS):
            noise, lead = self.s2[g], self.best_model(FEATURES * g, FEATURES)
            for i in range(FEATURES * g, FEATURES * (g + 1)):
                e, variance = y - self.expected[i], noise * self.variance[i]
                density = -0.5 * ln(variance) - 3.5 * ln(1.0 + e * e / (6.0 * variance))
                weight[i] = density + ln(weight[i])
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
            a = part(self.a, g * self.size)
            for i in range(most):
                factor, rest = scale * row[i], part(row, i)
                for j in range(most - i if is_new else 0):
                    a[j] += factor * rest[j]
                a[most - i] += factor * value
                a = part(a, most - i + 1)
            self.unsolved[g] += 1


# --- Where a surface is least --------------------------------------------------------------------

NORMAL = cython.declare(cython.ulonglong, 49)  # streams of random numbers
UNIFORM = cython.declare(cython.ulonglong, 1 << 20)  # the first of many
DEVIATIONS = cython.declare(cython.double, 0.43)  # of the posterior; 1 explores for too long
CANDIDATES = 8  # random places; a search begins anew from the best of them
MOST_STARTS = 16  # of searches for what is best; plays have two
MOST_STEPS = 25


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


class Sampler(Component):
    """Plays: Thompson sampling over the models, and the search for where a surface is least.

    A window is drawn in proportion to the fourth power of its weight, a model of it by weight, and
    then theta~ = U^-1 (w + 0.43 s xi) with normal xi; the play is where that surface is least. All
    randomness is a function of (seed, ticket). Before there is a unit, about as many plays as there
    are coefficients are uniform over a wide range. All others are near the start, at a radius that
    shrinks with the rounds: over D rounds without an answer the squared radii add up to O(sqrt(D)).

    Allowed is what is in the box (``low``, ``high``) and satisfies all constraints: m rows of
    factors a_i, the largest 1, and a bound b, with <a, x> <= b. From the last play, and from the
    best of 8 random places, the spectral projected gradient method leads to an allowed minimiser:
    steps along the negative gradient have the length of Barzilai and Borwein, s's / s'y with s the
    last step and y the change of the gradient, and are projected. The best place is kept.

    ``x`` is the place that is worked on, ``coefficients`` the surface in the context of a play,
    ``last`` the last play of the learner: no knob moves from there by more than its ``step``.
    """

    FIELDS = {"last": PLACE}

    def __init__(self, models, seed, start, steps, levels, rows):
        basis, k = models.basis, models.k
        self.models, self.basis, self.k, self.m, self.seed = models, basis, k, len(rows), seed
        self.last, self.given = np.array(start), np.array([start, steps, levels])
        self.start, self.step = floats_at(self.given[0]), floats_at(self.given[1])
        self.level, self.previous = floats_at(self.given[2]), floats_at(self.last)
        self.constraints, self.work = np.array(rows), np.zeros((7, k))
        self.rows, self.x = floats_at(self.constraints), floats_at(self.work[0])
        self.low, self.high = floats_at(self.work[1]), floats_at(self.work[2])
        self.found, self.slope = floats_at(self.work[3]), floats_at(self.work[4])
        self.here, self.before = floats_at(self.work[5]), floats_at(self.work[6])
        self.long_work = np.zeros((3, basis.most + self.m + k))
        self.coefficients, self.masses = floats_at(self.long_work[0]), floats_at(self.long_work[1])
        self.corrections = floats_at(self.long_work[2])
        self.largest_radius = min(1.0, math.sqrt(0.7 / k))  # squared radii add up to 0.7

    def verify(self, state):
        """Demand that the last play satisfies the constraints, but for rounding."""
        factors, last = self.constraints[:, :-1], state["last"]
        is_start = ((factors == 0.0) | (last == self.given[0])).all(axis=1)
        ends = self.constraints[:, -1] + np.abs(factors).sum(axis=1) * ROUNDING
        demand((is_start | (factors @ last <= ends)).all(), "the last play")

    # --- Constraints and what settings can be ----------------------------------------------------

    def project(self):
        """Move x to the nearest allowed place, or close to it.

        Dykstra's projections: ``corrections`` are the increments of constraints and ends so far.
        """
        k, m, x, corrections = self.k, self.m, self.x, self.corrections
        for i in range(m + k):
            corrections[i] = 0.0
        for _ in range(200 if m > 0 else 1):
            moved = 0.0
            for r in range(m):
                row = part(self.rows, r * (k + 1))
                beyond = dot(row, x, self.k) - row[k]
                push = max(corrections[r] + beyond / dot(row, row, self.k), 0.0)
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
            at_start = dot(row, self.start, self.k)
            left, rate = max(row[self.k] - at_start, 0.0), dot(row, self.x, self.k) - at_start
            if rate > left:
                fraction = min(fraction, left / rate)
        self.move_towards(fraction, self.start)

    def make_playable(self, is_free):
        """Move x to what settings can be; unless it is free, within a step of the last play."""
        if self.m > 0:
            fraction = 1.0
            for i in range(self.k):
                self.low[i] = -1.0
                self.high[i] = 1.0
            self.make_allowed()
            for i in range(self.k):
                away = fabs(self.x[i] - self.previous[i])
                if away > self.step[i] and not is_free:
                    fraction = min(fraction, self.step[i] / away)
            self.move_towards(fraction, self.previous)
        self.round(is_free)
        self.check_place(self.start if is_free else self.previous)

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
        for r in range(self.m):
            row = part(self.rows, r * (self.k + 1))
            beyond, away = dot(row, self.x, self.k) - row[self.k], 0
            for i in range(self.k):
                beyond -= fabs(row[i]) / GRID
                if row[i] != 0.0 and self.x[i] != self.start[i]:
                    away = 1
            if away > 0 and not beyond <= 0.0:
                copy(otherwise, self.x, self.k)
                return

    # --- The search ------------------------------------------------------------------------------

    def minimise(self, t, size, starts):
        """Write the minimiser of the surface among the allowed places to x."""
        best = INFINITY
        copy(self.previous, self.x, self.k)
        for start in range(starts):
            if start > 0:
                self.scatter(t, start, size)
            self.make_allowed()
            best = self.descend(size, best)
        copy(self.found, self.x, self.k)

    def scatter(self, t, start, size):
        """Move x to the best of some random places."""
        least = INFINITY
        for candidate in range(CANDIDATES):
            for i in range(self.k):
                share = self.uniform(4 + ((start - 1) * CANDIDATES + candidate) * self.k + i, t)
                self.x[i] = self.low[i] + share * (self.high[i] - self.low[i])
            self.make_allowed()
            value = self.basis.surface(self.x, self.coefficients, size, self.slope)
            if value < least:
                least = value
                copy(self.x, self.here, self.k)
        copy(self.here, self.x, self.k)

    def descend(self, size, best):
        """Descend from x, which is allowed; ``found`` is the best place if it is below ``best``."""
        k, x, slope, here, before = self.k, self.x, self.slope, self.here, self.before
        for turn in range(MOST_STEPS):
            value = self.basis.surface(x, self.coefficients, size, slope)
            if value < best:
                best = value
                copy(x, self.found, k)
            moved = bend = squares = 0.0
            for i in range(k):
                step = x[i] - here[i]
                moved += step * step
                bend += step * (slope[i] - before[i])
                squares += slope[i] * slope[i]
            if squares == 0.0 or (turn > 0 and moved < 1e-8):
                break
            length = 0.1 / sqrt(squares)
            if turn > 0:
                length = moved / max(fabs(bend), 0.1 * moved / length)
            for i in range(k):
                here[i] = x[i]
                before[i] = slope[i]
                x[i] -= length * slope[i]
            self.project()
        return best

    # --- Plays -----------------------------------------------------------------------------------

    def uniform(self, number, t):
        """Return a number of ticket t, uniform on (0, 1)."""
        return word_share(UNIFORM + number, t, self.seed)

    def propose(self, z, t, is_best, has_unit):
        """Write the play of ticket t in a context to x, or the best one by the models."""
        if not has_unit:
            self.play_early(t, is_best)
            return
        model = self.models.best_model(0, MODELS) if is_best else self.pick(t)
        self.models.draw(model, t, 0.0 if is_best else DEVIATIONS, self.seed, self.coefficients)
        for q in range(self.basis.context_at, self.basis.base):  # the surface in this context
            value = z[self.basis.left[q] - 1 - self.k] * self.coefficients[q]
            self.coefficients[self.basis.right[q]] += value
            self.coefficients[q] = 0.0
        reach = self.largest_radius * (0.5 + self.models.count / (3.0 * self.basis.context_at))
        for i in range(self.k):
            self.low[i] = max(self.start[i] - reach, -1.0)
            self.high[i] = min(self.start[i] + reach, 1.0)
        size = self.basis.base if model % FEATURES == 0 else self.basis.most
        self.minimise(t, size, MOST_STARTS if is_best else 2)

    def play_early(self, t, is_best):
        """Write the play of ticket t to x before there is a unit."""
        radius = min(0.3, 0.5 / sqrt(sqrt(t + 1.0)))
        if self.uniform(3, t) * (t + 1.0) < 0.6 * (10.0 + self.basis.context_at):
            radius = self.largest_radius
        if is_best:
            radius = 0.0
        for i in range(self.k):
            away = 2.0 * self.uniform(4 + i, t) - 1.0 - self.start[i]
            self.x[i] = self.start[i] + radius * away

    def pick(self, t):
        """Return a model: a window by the fourth power of its weight, then one of it by weight."""
        for w in range(SETS // LEVELS):
            mass = 0.0
            for i in range(PER_WINDOW * w, PER_WINDOW * (w + 1)):
                mass += self.models.weight[i]
            self.masses[w] = mass * mass * mass * mass
        first = PER_WINDOW * choose(self.masses, SETS // LEVELS, self.uniform(1, t))
        return first + choose(part(self.models.weight, first), PER_WINDOW, self.uniform(2, t))

    def expect(self, x, z, out):
        """Write the mean and deviation of y at a place in a context."""
        model = self.models.best_model(0, MODELS)
        g = model // FEATURES
        self.basis.write(x, z, self.models.phi)
        self.models.predict(g, self.models.phi, 0.0, 0.0)
        out[0] = self.models.expected[model]
        out[1] = sqrt(self.models.variance[model] * self.models.s2[g])
