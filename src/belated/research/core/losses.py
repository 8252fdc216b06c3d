# cython: infer_types=True
"""Losses f_t of games, and the sources of their coefficients a_t and b_t.

Sources are arrays, or generators: functions of (seed, t), so rounds may be drawn again, in any
order. They keep only the phase that was drawn last. A loss is a function of a_t, b_t and x:
``draw`` names the round, then ``value`` and ``gradient`` are those of f_t, at any points.
``losses.pxd`` has the types.
"""

from __future__ import annotations

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.cpython.exc import PyErr_CheckSignals
else:
    from math import fabs, sqrt

    from belated.core.label_losses import sigmoid, softplus
    from belated.core.numerics import dot, floats_at, part, philox, squared_distance, unit_vector
    from belated.core.user_parts import copy_of

PART = 4096  # rounds that are added up on their own first, so that long sums keep their digits

# Streams of random numbers beside those of learners.
NOISES = cython.declare(cython.int, 2)
MEANS = cython.declare(cython.int, 3)
SIGNS = cython.declare(cython.int, 4)

LEAST_NORMAL = cython.declare(cython.double, 2.2250738585072014e-308)


# --- Sources -------------------------------------------------------------------------------------


class Source:
    """``draw`` sets ``a`` and ``b`` to a_t and b_t; x is the play, for adversaries that see it."""

    def draw(self, t, x):
        """Draw round t."""


class Given(Source):
    """Rows of an array: a_t, and b_t behind it."""

    def __init__(self, rows):
        self.array, self.rows = rows, floats_at(rows)
        self.dim, self.is_adaptive = rows.shape[1] - 1, False
        self.a, self.b = self.rows, 0.0

    def draw(self, t, x):
        self.a = part(self.rows, t * (self.dim + 1))
        self.b = self.a[self.dim]


class Generated(Source):
    """``targets`` says what b_t is: "none" (0), "numbers", or "labels" (the sign of a number)."""

    def __init__(self, targets, dim, scale, seed=0, length=1):
        self.dim, self.scale, self.seed, self.length = dim, scale, seed, length
        self.has_targets, self.has_labels = targets != "none", targets == "labels"
        self.is_adaptive, self.phase, self.b = False, -1, 0.0
        self.arrays = np.zeros((4, dim))
        self.a = floats_at(self.arrays[0])

    def target(self, number):
        """Return what a number becomes as b_t."""
        if self.has_labels:
            return 1.0 if number >= 0.0 else -1.0
        return number if self.has_targets else 0.0

    def enters(self, phase):
        """Tell whether a phase is another one than that drawn last, and remember it."""
        if self.phase == phase:
            return False
        self.phase = phase
        return True


class Random(Generated):
    """Noise around a direction m_t, which is fixed here.

    Without targets a_t = scale ((1 - noise) m_t + noise u_t), u_t uniform on the unit sphere; else
    a_t = scale u_t and b_t = (1 - noise) <m_t, a_t> + noise scale xi_t, xi_t uniform on (-1, 1).
    """

    def __init__(self, targets, dim, scale, noise, seed, length=1):
        Generated.__init__(self, targets, dim, scale, seed, length)
        self.noise, self.m = noise, floats_at(self.arrays[1])

    def draw(self, t, x):
        self.move_mean(t)
        unit_vector(self.a, self.dim, NOISES, t, self.seed)
        kept = 1.0 - self.noise
        if self.has_targets:
            for i in range(self.dim):
                self.a[i] *= self.scale
            mean = kept * dot(self.m, self.a, self.dim)
            self.b = self.target(mean + self.noise * self.scale * self.between_signs(t))
        else:
            for i in range(self.dim):
                self.a[i] = self.scale * (kept * self.m[i] + self.noise * self.a[i])

    def move_mean(self, t):
        """Write m_t."""
        if self.enters(0):
            unit_vector(self.m, self.dim, MEANS, 0, self.seed)

    def between_signs(self, t):
        """Return xi_t."""
        words: cython.longlong[4]
        if not cython.compiled:
            words = [0] * 4
        philox(0, SIGNS, t, self.seed, words)
        return (words[0] + 0.5) * 4.656612873077393e-10 - 1.0  # (w + 1/2) 2^-31 - 1


class Drifting(Random):
    """m_t walks from one random direction to the next, ``length`` rounds along a straight line."""

    def __init__(self, targets, dim, scale, noise, seed, length):
        Random.__init__(self, targets, dim, scale, noise, seed, length)
        self.start, self.end = floats_at(self.arrays[2]), floats_at(self.arrays[3])

    def move_mean(self, t):
        phase = t // self.length
        if self.enters(phase):
            unit_vector(self.start, self.dim, MEANS, phase, self.seed)
            unit_vector(self.end, self.dim, MEANS, phase + 1, self.seed)
        share = cython.cast(cython.double, t - phase * self.length) / self.length
        for i in range(self.dim):
            self.m[i] = self.start[i] + share * (self.end[i] - self.start[i])


class Switching(Random):
    """m_t is drawn anew every ``length`` rounds."""

    def move_mean(self, t):
        phase = t // self.length
        if self.enters(phase):
            unit_vector(self.m, self.dim, MEANS, phase, self.seed)


class Blocks(Generated):
    """a_t = scale e / sqrt(dim), e a vector of random signs, drawn anew every ``length`` rounds.

    The first random bit of a block is the sign of its target, those after it are e.
    """

    def draw(self, t, x):
        words: cython.longlong[4]
        block = t // self.length
        if not self.enters(block):
            return
        if not cython.compiled:
            words = [0] * 4
        height = self.scale / sqrt(self.dim)
        for i in range(self.dim + 1):
            if (i & 127) == 0:
                philox(i >> 7, SIGNS, block, self.seed, words)
            is_set: cython.bint = (words[(i >> 5) & 3] >> (i & 31)) & 1
            if i == 0:
                self.b = self.target(self.scale if is_set else -self.scale)
            else:
                self.a[i - 1] = height if is_set else -height


class Alternating(Generated):
    """a_t = scale (1/2, -1, 1, -1, ...) along the first axis, and b_t = scale."""

    def draw(self, t, x):
        if t == 0:
            self.a[0] = 0.5 * self.scale
        else:
            self.a[0] = -self.scale if t & 1 else self.scale
        self.b = self.target(self.scale)


class Adaptive(Generated):
    """a_t = scale x / |x|, or scale along the first axis where x has no direction."""

    def __init__(self, targets, dim, scale):
        Generated.__init__(self, targets, dim, scale)
        self.is_adaptive = True

    def draw(self, t, x):
        squares = dot(x, x, self.dim)
        is_zero: cython.bint = squares < LEAST_NORMAL
        factor = 0.0 if is_zero else self.scale / sqrt(squares)
        for i in range(self.dim):
            self.a[i] = 0.0 if is_zero else factor * x[i]
        if is_zero:
            self.a[0] = self.scale


# --- Losses --------------------------------------------------------------------------------------


class Loss:
    """A sequence of losses."""

    def __init__(self, source):
        self.source, self.dim, self.is_custom = source, source.dim, False

    @property
    def is_adaptive(self):
        """Whether a_t is chosen after seeing the play."""
        return self.source is not None and self.source.is_adaptive

    # --- One round -------------------------------------------------------------------------------

    def draw(self, t, x):
        """Go to round t; x is the play."""
        self.source.draw(t, x)
        return 0

    def value(self, x):
        """Return f_t(x)."""
        return 0.0

    def gradient(self, x, out):
        """Write a (sub)gradient of f_t at x."""
        return 0

    def both(self, x, out):
        """Write a gradient and return f_t(x)."""
        self.gradient(x, out)
        return self.value(x)

    # --- Many rounds -----------------------------------------------------------------------------

    def single(self, t, x):
        """Return f_t(x) and its gradient."""
        out = np.empty(self.dim)
        self.draw(t, floats_at(x))
        return self.both(floats_at(x), floats_at(out)), out

    def rows(self, start, stop):
        """Return the vectors and targets of rounds."""
        vectors, targets = np.empty((stop - start, self.dim)), np.empty(stop - start)
        x = np.zeros(self.dim)
        to: cython.p_double = floats_at(vectors)
        t: cython.longlong
        for t in range(stop - start):
            self.draw(start + t, floats_at(x))
            targets[t] = self.source.b
            for i in range(self.dim):
                to[t * self.dim + i] = self.source.a[i]
        return vectors, targets

    def total(self, x, rounds):
        """Return the sums of f_t(x) and of its gradients over t < rounds."""
        sums, step, gradients = np.zeros(self.dim), np.empty(self.dim), np.zeros(self.dim)
        value: cython.double = 0.0
        some: cython.double
        first: cython.longlong
        stop: cython.longlong
        point: cython.p_double = floats_at(x)
        room: cython.p_double = floats_at(step)
        to: cython.p_double = floats_at(sums)
        for first in range(0, rounds, PART):
            stop = min(first + PART, rounds)
            with cython.nogil:
                some = self.add_part(first, stop, point, room, to)
            value += some
            gradients += sums
            sums[:] = 0.0
            if cython.compiled:
                PyErr_CheckSignals()
        return value, gradients

    def add_part(self, first, stop, x, step, out):
        """Return the sum of values of some rounds, and add their gradients."""
        value = 0.0
        for t in range(first, stop):
            self.draw(t, x)
            value += self.both(x, step)
            for i in range(self.dim):
                out[i] += step[i]
        return value

    def curve(self, x, marks):
        """Return the sum of f_t(x) over t < mark for ascending marks, as ``total`` has it."""
        out = np.empty(len(marks))
        value: cython.double = 0.0
        some: cython.double = 0.0
        t: cython.longlong = 0
        stop: cython.longlong
        mark: cython.longlong
        point: cython.p_double = floats_at(x)
        for place, mark in enumerate(marks.tolist()):
            while t < mark:
                stop = min(mark, t - t % PART + PART)
                with cython.nogil:
                    some = self.add_values(t, stop, point, some)
                t = stop
                if t % PART == 0:
                    value += some
                    some = 0.0
                if cython.compiled:
                    PyErr_CheckSignals()
            out[place] = value + some
        return out

    def along(self, path):
        """Return the sum of f_t(u_t), u_t being row t of an array."""
        value: cython.double = 0.0
        t: cython.Py_ssize_t
        u: cython.p_double
        points: cython.p_double = floats_at(path)
        for t in range(len(path)):
            u = part(points, t * self.dim)
            self.draw(t, u)
            value += self.value(u)
        return value

    def add_values(self, first, stop, x, value):
        """Add the values of some rounds to a sum and return it."""
        for t in range(first, stop):
            self.draw(t, x)
            value += self.value(x)
        return value


class Linear(Loss):
    """f_t(x) = <a_t, x>."""

    def value(self, x):
        return dot(self.source.a, x, self.dim)

    def gradient(self, x, out):
        for i in range(self.dim):
            out[i] = self.source.a[i]
        return 0


class Quadratic(Loss):
    """f_t(x) = (lambda / 2) |x - a_t|^2."""

    def __init__(self, source, curvature):
        Loss.__init__(self, source)
        self.curvature = curvature

    def value(self, x):
        return 0.5 * self.curvature * squared_distance(self.source.a, x, self.dim)

    def gradient(self, x, out):
        for i in range(self.dim):
            out[i] = self.curvature * (x[i] - self.source.a[i])
        return 0

    def both(self, x, out):
        """In one pass, with the sums of ``squared_distance``."""
        a, curvature = self.source.a, self.curvature
        p = q = r = s = 0.0
        whole = self.dim & -4
        for i in range(0, whole, 4):
            d, e, f, g = x[i] - a[i], x[i + 1] - a[i + 1], x[i + 2] - a[i + 2], x[i + 3] - a[i + 3]
            out[i], out[i + 1] = curvature * d, curvature * e
            out[i + 2], out[i + 3] = curvature * f, curvature * g
            p += d * d
            q += e * e
            r += f * f
            s += g * g
        for i in range(whole, self.dim):
            d = x[i] - a[i]
            out[i] = curvature * d
            p += d * d
        return 0.5 * curvature * ((p + q) + (r + s))


class OfProduct(Loss):
    """f_t(x) is a function of <a_t, x>, whose ``slope`` times a_t is the gradient."""

    def of(self, product):
        """Return f_t where <a_t, x> is this."""
        return 0.0

    def slope(self, product):
        """Return the derivative there; 0 at a kink."""
        return 0.0

    def value(self, x):
        return self.of(dot(self.source.a, x, self.dim))

    def gradient(self, x, out):
        slope = self.slope(dot(self.source.a, x, self.dim))
        for i in range(self.dim):
            out[i] = slope * self.source.a[i]
        return 0

    def both(self, x, out):
        product = dot(self.source.a, x, self.dim)
        slope = self.slope(product)
        for i in range(self.dim):
            out[i] = slope * self.source.a[i]
        return self.of(product)


class Absolute(OfProduct):
    """f_t(x) = |<a_t, x> - b_t|."""

    def of(self, product):
        return fabs(product - self.source.b)

    def slope(self, product):
        rest = product - self.source.b
        return 1.0 if rest > 0.0 else -1.0 if rest < 0.0 else 0.0


class Squared(OfProduct):
    """f_t(x) = (<a_t, x> - b_t)^2 / 2."""

    def of(self, product):
        rest = product - self.source.b
        return 0.5 * rest * rest

    def slope(self, product):
        return product - self.source.b


class Logistic(OfProduct):
    """f_t(x) = ln(1 + exp(-b_t <a_t, x>)), b_t = 1 or -1."""

    def of(self, product):
        return softplus(-self.source.b * product)

    def slope(self, product):
        return -self.source.b * sigmoid(-self.source.b * product)


class Hinge(OfProduct):
    """f_t(x) = max(0, 1 - b_t <a_t, x>), b_t = 1 or -1."""

    def of(self, product):
        rest = 1.0 - self.source.b * product
        return rest if rest > 0.0 else 0.0

    def slope(self, product):
        return -self.source.b if self.source.b * product < 1.0 else 0.0


class UserLoss(Loss):
    """f_t(x) = ``value(t, x)``, with ``gradient(t, x)``; both get copies of x."""

    def __init__(self, dim, value, gradient):
        self.dim, self.value_of, self.gradient_of = dim, value, gradient
        self.source, self.is_custom, self.t = None, True, 0

    def draw(self, t, x):
        self.t = t
        return 0

    def value(self, x):
        return self.value_of(self.t, copy_of(x, self.dim))

    def gradient(self, x, out):
        found = self.gradient_of(self.t, copy_of(x, self.dim))
        given: cython.p_double = floats_at(found)
        for i in range(self.dim):
            out[i] = given[i]
        return 0
