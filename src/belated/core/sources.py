# cython: infer_types=True
"""Where the vector a_t and the target b_t of a round come from: arrays, or generators.

Generators are functions of (seed, t), so rounds may be drawn again, in any order. They keep only
the phase that was drawn last. ``sources.pxd`` has the types.
"""

from __future__ import annotations

import cython
import numpy as np

if not cython.compiled:
    from math import sqrt

    from belated.core.directions import philox, unit_vector
    from belated.core.memory import floats_at, part
    from belated.core.numerics import dot

# Streams of random numbers beside those of learners.
NOISES = cython.declare(cython.int, 2)
MEANS = cython.declare(cython.int, 3)
SIGNS = cython.declare(cython.int, 4)

LEAST_NORMAL = cython.declare(cython.double, 2.2250738585072014e-308)


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
