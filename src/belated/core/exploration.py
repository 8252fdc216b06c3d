"""Exploration: random directions as functions of (seed, ticket), and radii delta_t.

An open ticket stores no random numbers.

Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011)
maps a counter and a key to four 32-bit words. The key is the seed, the counter is (block, stream,
ticket), and the words go through Marsaglia's polar method into normals, whose normalised vector is
uniform on the sphere. Exploration has stream 0; other users have streams of their own.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from math import sqrt

    from belated.core.component import Component
    from belated.core.numerics import cube_root, dot, ln

MASK = cython.declare(cython.ulonglong, 0xFFFFFFFF)
LEFT = cython.declare(cython.ulonglong, 0xD2511F53)
RIGHT = cython.declare(cython.ulonglong, 0xCD9E8D57)
WEYL = cython.declare(cython.ulonglong, 0x9E3779B9)
OTHER_WEYL = cython.declare(cython.ulonglong, 0xBB67AE85)


def philox(block, stream, t, seed, words):
    """Write the four words for a counter and a key.

    Products wrap in 64 bits when compiled and grow when interpreted; masked halves are the same.
    """
    c0: cython.ulonglong = block
    c1: cython.ulonglong = stream
    c2: cython.ulonglong = t & MASK
    c3: cython.ulonglong = (t >> 32) & MASK
    k0: cython.ulonglong = seed & MASK
    k1: cython.ulonglong = seed >> 32
    left: cython.ulonglong
    right: cython.ulonglong
    mask: cython.ulonglong = MASK  # local copies stay in registers
    left_factor: cython.ulonglong = LEFT
    right_factor: cython.ulonglong = RIGHT
    left_key: cython.ulonglong = WEYL
    right_key: cython.ulonglong = OTHER_WEYL
    i: cython.int
    for i in range(10):
        left = left_factor * c0
        right = right_factor * c2
        c0 = ((right >> 32) & mask) ^ c1 ^ k0
        c2 = ((left >> 32) & mask) ^ c3 ^ k1
        c1 = right & mask
        c3 = left & mask
        k0 = (k0 + left_key) & mask
        k1 = (k1 + right_key) & mask
    words[0] = c0
    words[1] = c1
    words[2] = c2
    words[3] = c3


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def place_pair(
    u: cython.p_double,
    size: cython.Py_ssize_t,
    filled: cython.Py_ssize_t,
    first: cython.longlong,
    second: cython.longlong,
) -> cython.Py_ssize_t:
    """Append a point of the square if it is in the disc; return how many numbers are filled.

    Only the last one of an odd number of normals is a normal already. There is no branch on what is
    random, as it would be mispredicted.
    """
    x: cython.double = (first + 0.5) * 4.656612873077393e-10 - 1.0  # (w + 1/2) 2^-31 - 1
    y: cython.double = (second + 0.5) * 4.656612873077393e-10 - 1.0
    s: cython.double = x * x + y * y
    is_inside: cython.bint = s < 1.0
    if filled + 1 < size:
        u[filled] = x
        u[filled + 1] = y
    elif filled < size and is_inside:
        u[filled] = x * polar_factor(s)
    else:
        return filled
    return filled + 2 * is_inside


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def polar_factor(s: cython.double) -> cython.double:
    """Return what makes two normals of a point in the disc, s being its squared norm."""
    return sqrt(-2.0 * ln(s) / s)


def normals(u, size, stream, t, seed):
    """Fill u with the independent normals number t of a stream."""
    block: cython.ulonglong = 0
    filled: cython.Py_ssize_t = 0
    factor: cython.double
    i: cython.Py_ssize_t
    words: cython.longlong[4]
    if not cython.compiled:
        words = [0] * 4
    while filled < size:
        philox(block, stream, t, seed, words)
        filled = place_pair(u, size, filled, words[0], words[1])
        filled = place_pair(u, size, filled, words[2], words[3])
        block += 1
    for i in range(0, size - 1, 2):
        factor = polar_factor(u[i] * u[i] + u[i + 1] * u[i + 1])
        u[i] *= factor
        u[i + 1] *= factor


def unit_vector(u, size, stream, t, seed):
    """Fill u with the unit vector number t of a stream."""
    i: cython.Py_ssize_t
    normals(u, size, stream, t, seed)
    inverse: cython.double = 1.0 / sqrt(dot(u, u, size))
    for i in range(size):
        u[i] *= inverse


def uniform(stream, t, seed):
    """Return number t of a stream, uniform on (0, 1] in steps of 2^-53."""
    words: cython.longlong[4]
    if not cython.compiled:
        words = [0] * 4
    philox(0, stream, t, seed, words)
    return ((words[0] << 21) + (words[1] >> 11) + 1) * 1.1102230246251565e-16


def word_share(stream, t, seed):
    """Return number t of a stream, uniform on (0, 1): (w + 1/2) 2^-32 for one random word w."""
    words: cython.longlong[4]
    if not cython.compiled:
        words = [0] * 4
    philox(0, stream, t, seed, words)
    return (words[0] + 0.5) * 2.3283064365386963e-10


# --- Exploration radii ---------------------------------------------------------------------------


class Smoothing(Component):
    """delta_t = r min{1, share(t)}, r the inner radius; with a horizon T the radius is delta_T.

    ``breadth`` is the factor of the schedule, as the class says.
    """

    def __init__(self, inner_radius: float, breadth: float = 0.0, horizon: int = 0):
        self.inner_radius, self.breadth, self.horizon = inner_radius, breadth, horizon

    def share(self, t):
        """Return delta_t / r, before it is cut off at 1."""
        return 0.0

    def radius(self, t):
        """Return delta_t."""
        share: cython.double = self.share(self.horizon if self.horizon > 0 else t)
        return self.inner_radius * (share if share < 1.0 else 1.0)


class ConvexSmoothing(Smoothing):
    """breadth / t^(1/4), breadth = sqrt(nu k) (Corollary 5.7)."""

    def share(self, t):
        return self.breadth / sqrt(sqrt(t))


class StronglyConvexSmoothing(Smoothing):
    """(breadth ln(e t) / t)^(1/3), breadth = (nu k)^2 (Corollary 5.8)."""

    def share(self, t):
        return cube_root(self.breadth * (1.0 + ln(t)) / t)


class InverseRootSmoothing(Smoothing):
    """1 / sqrt(t) (Corollary G.3)."""

    def share(self, t):
        return 1.0 / sqrt(t)


class InverseSmoothing(Smoothing):
    """1 / t (Corollary G.4)."""

    def share(self, t):
        return 1.0 / t


class ConstantSmoothing(Smoothing):
    """breadth = delta / r, for ever."""

    def share(self, t):
        return self.breadth
