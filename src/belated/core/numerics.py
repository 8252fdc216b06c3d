# cython: infer_types=True
"""Sums in a fixed order; ln, exp, cube root; random numbers; arrays as C pointers.

C libraries differ in the last bits of their functions, and compilers reorder sums under fast-math;
either would break the promise that a replay on another machine ends in the same state. So ln, exp
and cube root consist of + - * / alone. Sums over
vectors have four interleaved parts: a fixed order that still keeps the processor busy. The
polynomials are Chebyshev interpolants; errors stay within 2 units in the last place (tested).
"""

from __future__ import annotations

import cython
import numpy as np

if cython.compiled:
    from cython.cimports import numpy as cnp

    cnp.import_array()
else:
    import gc
    import struct
    from math import fabs, floor, frexp, isnan, ldexp, sqrt

LN2_HIGH = cython.declare(cython.double, 0.6931471803691238)  # 32 bits: e * LN2_HIGH is exact
LN2_LOW = cython.declare(cython.double, 1.9082149292705877e-10)
INVERSE_LN2 = cython.declare(cython.double, 1.4426950408889634)
WHOLE = cython.declare(cython.double, 6755399441055744.0)  # 1.5 * 2^52: beside it floats are whole
LEAST_NORMAL = cython.declare(cython.double, 2.2250738585072014e-308)
ONE_STEP = cython.declare(cython.longlong, 1 << 52)  # between the bits of x and those of 2 x
LEAST_FACTOR = cython.declare(
    cython.longlong, 0x3FE6A09E667F3BCE
)  # bits of the float after sqrt(1/2)

# Sums of squares outside of this range have overflowed, or may have lost digits to underflow.
LEAST_SQUARES = cython.declare(cython.double, 1e-290)
MOST_SQUARES = cython.declare(cython.double, 1e300)
DOWN = cython.declare(cython.double, 2.0**-600)
UP = cython.declare(cython.double, 2.0**600)

LAST = cython.declare(cython.double, 1.7976931348623157e308)  # the last time that there is


# What compiled code has in the header, so that other units need no call.

if not cython.compiled:

    def pair(kind, first, second):
        """Return a named tuple of two."""
        return tuple.__new__(kind, (first, second))

    def pause_collector():
        """Pause the collector; return whether it was at work."""
        was_enabled = gc.isenabled()
        gc.disable()
        return was_enabled

    def resume_collector():
        """Let the collector work again."""
        gc.enable()

    def plain_ticket(name):
        """Return the ticket that a whole number stands for, or -1."""
        return name if type(name) is int and 0 <= name < 1 << 62 else -1

    def bits_of(x):
        """Return the bits of a float."""
        return struct.unpack("<q", struct.pack("<d", x))[0]

    def dot(v, w, n):
        """Return <v, w>."""
        a = b = c = d = 0.0
        whole = n & -4
        for i in range(0, whole, 4):
            a += v[i] * w[i]
            b += v[i + 1] * w[i + 1]
            c += v[i + 2] * w[i + 2]
            d += v[i + 3] * w[i + 3]
        for i in range(whole, n):
            a += v[i] * w[i]
        return (a + b) + (c + d)

    def norm(v, n):
        """Return |v|, also where its square overflows or underflows."""
        squares = dot(v, v, n)
        is_near = LEAST_SQUARES <= squares <= MOST_SQUARES
        return sqrt(squares) if is_near else far_norm(v, n, squares)

    def part(vector, start):
        """Return what begins at an entry of a vector."""
        return vector[start:]

    def ints_from(vector, start):
        """Return what begins at an entry of a vector of ints."""
        return vector[start:]

    def copy(v, to, n):
        """Write n entries of a vector to another one."""
        to[:n] = v[:n]


def float_of(bits):
    """Return the float with these bits."""
    if cython.compiled:
        x: cython.double
        memcpy(cython.address(x), cython.address(bits), 8)
        return x
    else:
        return struct.unpack("<d", struct.pack("<q", bits))[0]


def ln_scaled(x, shift):
    """Return ln(x / 2^shift) for a normal x.

    x = m 2^e with m in (sqrt(1/2), sqrt 2], then ln m = 2 atanh(t), t = (m - 1) / (m + 1).
    """
    bits = bits_of(x)
    e = (bits - LEAST_FACTOR) >> 52
    m = float_of(bits - e * ONE_STEP)
    e -= shift
    t = (m - 1.0) / (m + 1.0)
    s = t * t
    low = 0.3333333333333335 + s * (0.19999999999949752 + s * 0.14285714312987743)
    high = 0.1111110556739754 + s * (
        0.09091444562630861 + s * (0.07665860800278021 + s * 0.07308224842521703)
    )
    tail = 2.0 * t * (s * (low + s * s * s * high))
    return e * LN2_HIGH + (2.0 * t + (tail + e * LN2_LOW))


def ln(x):
    """Return the natural logarithm of a positive x."""
    if x < LEAST_NORMAL:
        return ln_scaled(x * 18014398509481984.0, 54)
    return ln_scaled(x, 0)


def exp(x):
    """Return e^x for x <= 0; 0 where that is no normal float."""
    if x < -708.0:
        return 0.0
    y = x * INVERSE_LN2 + 0.5
    e = (y + WHOLE) - WHOLE
    if e > y:
        e -= 1.0  # now floor(y)
    r = (x - e * LN2_HIGH) - e * LN2_LOW
    low = 0.5000000000000001 + r * (
        0.16666666666666669 + r * (0.041666666666624164 + r * 0.008333333333330065)
    )
    high = 0.0013888888917196719 + r * (
        0.00019841269863040545
        + r
        * (
            2.4801521322368692e-05
            + r
            * (2.7557268480310024e-06 + r * (2.7620075879983367e-07 + r * 2.5100375832561234e-08))
        )
    )
    square = r * r
    bits = bits_of(e + (WHOLE + 1023.0))
    power = float_of((bits & 2047) << 52)  # 2^e
    return (1.0 + (r + square * (low + square * square * high))) * power


def cube_root(x):
    """Return the cube root of a positive x, by Newton's method on a number in [1/2, 4)."""
    e: cython.int = 0
    if cython.compiled:
        m = frexp(x, cython.address(e))
    else:
        m, e = frexp(x)
    third = cython.cast(cython.int, floor(e / 3.0))
    m = ldexp(m, e - 3 * third)
    y = 0.6 + 0.3 * m
    for _ in range(6):
        y = (2.0 * y + m / (y * y)) / 3.0
    return ldexp(y, third)


def scaled_norm(v, n, scale):
    """Return |scale v|; NaN stays NaN."""
    squares = 0.0
    for i in range(n):
        squares += (scale * v[i]) * (scale * v[i])
    return sqrt(squares)


def far_norm(v, n, squares):
    """Return |v| where its square overflows or underflows."""
    if squares > MOST_SQUARES:
        return scaled_norm(v, n, DOWN) / DOWN
    return scaled_norm(v, n, UP) / UP


def largest_entry(v, n):
    """Return max |v_i|; NaN if there is one."""
    largest = 0.0
    for i in range(n):
        entry = fabs(v[i])
        if not entry <= largest:
            largest = entry
            if isnan(entry):
                return entry
    return largest


def squared_distance(v, w, n):
    """Return |v - w|^2."""
    a = b = c = d = 0.0
    whole = n & -4
    for i in range(0, whole, 4):
        a += (v[i] - w[i]) * (v[i] - w[i])
        b += (v[i + 1] - w[i + 1]) * (v[i + 1] - w[i + 1])
        c += (v[i + 2] - w[i + 2]) * (v[i + 2] - w[i + 2])
        d += (v[i + 3] - w[i + 3]) * (v[i + 3] - w[i + 3])
    for i in range(whole, n):
        a += (v[i] - w[i]) * (v[i] - w[i])
    return (a + b) + (c + d)


# --- Random numbers -----------------------------------------------------------------------------
#
# Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011)
# maps a counter and a key to four 32-bit words. The key is the seed, the counter is (block, stream,
# ticket), so an open ticket stores no random numbers. Marsaglia's polar method makes normals of the
# words; their normalised vector is uniform on the sphere. Streams:
#
#     0       directions of exploration
#     1       arms of published methods (``rival_experts``)
#     2-4     noises, means and signs of losses (``game_losses``)
#     32      actions of choosers (``decisions``)
#     33      which tickets ``Capacity`` tracks (``feedback``)
#     49      normal numbers of ``Sampler`` (``cost_models``), whose uniform ones begin at 2^20

MASK = cython.declare(cython.ulonglong, 0xFFFFFFFF)
LEFT = cython.declare(cython.ulonglong, 0xD2511F53)
RIGHT = cython.declare(cython.ulonglong, 0xCD9E8D57)
WEYL = cython.declare(cython.ulonglong, 0x9E3779B9)
OTHER_WEYL = cython.declare(cython.ulonglong, 0xBB67AE85)


def philox(block, stream, t, seed, words):
    """Write the four words for a counter and a key.

    Products wrap in 64 bits when compiled and grow when interpreted; masked halves are the same.
    """
    mask, left_factor, right_factor = MASK, LEFT, RIGHT  # local copies stay in registers
    left_key, right_key = WEYL, OTHER_WEYL
    c0, c1, c2, c3 = block, stream, t & mask, (t >> 32) & mask
    k0, k1 = seed & mask, seed >> 32
    for _ in range(10):
        left = left_factor * c0
        right = right_factor * c2
        c0 = ((right >> 32) & mask) ^ c1 ^ k0
        c2 = ((left >> 32) & mask) ^ c3 ^ k1
        c1 = right & mask
        c3 = left & mask
        k0 = (k0 + left_key) & mask
        k1 = (k1 + right_key) & mask
    words[0], words[1], words[2], words[3] = c0, c1, c2, c3


def place_pair(u, size, filled, first, second):
    """Append a point of the square if it is in the disc; return how many numbers are filled.

    Only the last one of an odd number of normals is a normal already. There is no branch on what is
    random, as it would be mispredicted.
    """
    x = (first + 0.5) * 4.656612873077393e-10 - 1.0  # (w + 1/2) 2^-31 - 1
    y = (second + 0.5) * 4.656612873077393e-10 - 1.0
    s = x * x + y * y
    is_inside: cython.bint = s < 1.0
    if filled + 1 < size:
        u[filled] = x
        u[filled + 1] = y
    elif filled < size and is_inside:
        u[filled] = x * polar_factor(s)
    else:
        return filled
    return filled + 2 * is_inside


def polar_factor(s):
    """Return what makes two normals of a point in the disc, s being its squared norm."""
    return sqrt(-2.0 * ln(s) / s)


def normals(u, size, stream, t, seed):
    """Fill u with the independent normals number t of a stream."""
    words: cython.longlong[4]
    if not cython.compiled:
        words = [0] * 4
    block: cython.ulonglong = 0
    filled: cython.Py_ssize_t = 0
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
    normals(u, size, stream, t, seed)
    inverse = 1.0 / sqrt(dot(u, u, size))
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


MASK64 = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)
STEP = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)
FIRST_MIX = cython.declare(cython.ulonglong, 0xBF58476D1CE4E5B9)
SECOND_MIX = cython.declare(cython.ulonglong, 0x94D049BB133111EB)


def ticket_uniform(ticket):
    """Return a number in [0, 1) made of a ticket: the upper 53 bits of what SplitMix64 makes of it.

    Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
    """
    z: cython.ulonglong = ticket + 1
    z = z * STEP & MASK64
    z = (z ^ z >> 30) * FIRST_MIX & MASK64
    z = (z ^ z >> 27) * SECOND_MIX & MASK64
    high: cython.longlong = (z ^ z >> 31) >> 11
    return high * 1.1102230246251565e-16  # 2^-53


# --- Arrays: a C pointer; interpreted a memoryview, which checks bounds --------------------------


def new_floats(size):
    """Return an array for so many floats, with nothing in particular in it."""
    if cython.compiled:
        shape: cnp.npy_intp[1]
        shape[0] = size
        return cnp.PyArray_SimpleNew(1, shape, cnp.NPY_DOUBLE)
    else:
        return np.empty(size)


def new_zeros(size):
    """Return an array of so many zeros; NumPy would let other threads in to make many."""
    if cython.compiled:
        found = new_floats(size)
        memset(floats_at(found), 0, 8 * size)
        return found
    else:
        return np.zeros(size)


def grown(array, room):
    """Return a copy of a vector with zeros behind it, so many entries in all."""
    found = np.zeros(room, array.dtype)
    found[: len(array)] = array
    return found


def floats_at(array):
    """Return where the floats of an array without gaps stand; the caller keeps the array alive."""
    if cython.compiled:
        return cython.cast(cython.p_double, cnp.PyArray_DATA(cython.cast(cnp.ndarray, array)))
    else:
        return memoryview(array.reshape(-1))


def ints_at(array):
    """Return where the ints of an array without gaps stand."""
    if cython.compiled:
        return cython.cast(cython.p_longlong, cnp.PyArray_DATA(cython.cast(cnp.ndarray, array)))
    else:
        return memoryview(array.reshape(-1))


def plain_size(array, is_whole):
    """Return the length of a NumPy vector of floats, or of ints, without gaps; -1 for others."""
    if cython.compiled:
        if not cnp.PyArray_CheckExact(array):
            return -1
        vector = cython.cast(cnp.ndarray, array)
        kind: cython.int = cnp.NPY_INT64 if is_whole else cnp.NPY_DOUBLE
        if (
            cnp.PyArray_TYPE(vector) != kind
            or cnp.PyArray_NDIM(vector) != 1
            or not cnp.PyArray_ISCARRAY_RO(vector)
        ):
            return -1
        return cnp.PyArray_DIM(vector, 0)
    else:
        kind = np.int64 if is_whole else np.float64
        is_plain = type(array) is np.ndarray and array.dtype == kind and array.ndim == 1
        return len(array) if is_plain and array.flags.carray else -1


def is_plain(array, size):
    """Tell whether this is a NumPy vector of so many floats without gaps, aligned and native."""
    return plain_size(array, False) == size
