"""Sums in a fixed order; ln, exp and cube root out of + - * / alone; arrays as C pointers.

C libraries differ in the last bits of their functions, and compilers reorder sums under fast-math;
either would break the promise that a replay on another machine ends in the same state. Sums over
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


if not cython.compiled:

    def bits_of(x):
        """Return the bits of a float."""
        return struct.unpack("<q", struct.pack("<d", x))[0]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def float_of(bits: cython.longlong) -> cython.double:
    """Return the float with these bits."""
    if cython.compiled:
        x: cython.double
        memcpy(cython.address(x), cython.address(bits), 8)
        return x
    else:
        return struct.unpack("<d", struct.pack("<q", bits))[0]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def ln_scaled(x: cython.double, shift: cython.longlong) -> cython.double:
    """Return ln(x / 2^shift) for a normal x.

    x = m 2^e with m in (sqrt(1/2), sqrt 2], then ln m = 2 atanh(t), t = (m - 1) / (m + 1).
    """
    bits: cython.longlong = bits_of(x)
    e: cython.longlong = (bits - LEAST_FACTOR) >> 52
    m: cython.double = float_of(bits - e * ONE_STEP)
    e -= shift
    t: cython.double = (m - 1.0) / (m + 1.0)
    s: cython.double = t * t
    low: cython.double = 0.3333333333333335 + s * (0.19999999999949752 + s * 0.14285714312987743)
    high: cython.double = 0.1111110556739754 + s * (
        0.09091444562630861 + s * (0.07665860800278021 + s * 0.07308224842521703)
    )
    tail: cython.double = 2.0 * t * (s * (low + s * s * s * high))
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
    y: cython.double = x * INVERSE_LN2 + 0.5
    e: cython.double = (y + WHOLE) - WHOLE
    if e > y:
        e -= 1.0  # now floor(y)
    r: cython.double = (x - e * LN2_HIGH) - e * LN2_LOW
    low: cython.double = 0.5000000000000001 + r * (
        0.16666666666666669 + r * (0.041666666666624164 + r * 0.008333333333330065)
    )
    high: cython.double = 0.0013888888917196719 + r * (
        0.00019841269863040545
        + r
        * (
            2.4801521322368692e-05
            + r
            * (2.7557268480310024e-06 + r * (2.7620075879983367e-07 + r * 2.5100375832561234e-08))
        )
    )
    square: cython.double = r * r
    bits: cython.longlong = bits_of(e + (WHOLE + 1023.0))
    power: cython.double = float_of((bits & 2047) << 52)  # 2^e
    return (1.0 + (r + square * (low + square * square * high))) * power


def cube_root(x):
    """Return the cube root of a positive x, by Newton's method on a number in [1/2, 4)."""
    m: cython.double
    e: cython.int = 0
    if cython.compiled:
        m = frexp(x, cython.address(e))
    else:
        m, e = frexp(x)
    third: cython.int = cython.cast(cython.int, floor(e / 3.0))
    m = ldexp(m, e - 3 * third)
    y: cython.double = 0.6 + 0.3 * m
    i: cython.int
    for i in range(6):
        y = (2.0 * y + m / (y * y)) / 3.0
    return ldexp(y, third)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def dot(v: cython.p_double, w: cython.p_double, n: cython.Py_ssize_t) -> cython.double:
    """Return <v, w>."""
    a: cython.double = 0.0
    b: cython.double = 0.0
    c: cython.double = 0.0
    d: cython.double = 0.0
    i: cython.Py_ssize_t
    whole: cython.Py_ssize_t = n & -4
    for i in range(0, whole, 4):
        a += v[i] * w[i]
        b += v[i + 1] * w[i + 1]
        c += v[i + 2] * w[i + 2]
        d += v[i + 3] * w[i + 3]
    # Written out, since compilers turn even a loop of three into one with vectors.
    if whole < n:
        a += v[whole] * w[whole]
    if whole + 1 < n:
        a += v[whole + 1] * w[whole + 1]
    if whole + 2 < n:
        a += v[whole + 2] * w[whole + 2]
    return (a + b) + (c + d)


def scaled_norm(v, n, scale):
    """Return |scale v|; NaN stays NaN."""
    squares: cython.double = 0.0
    i: cython.Py_ssize_t
    for i in range(n):
        squares += (scale * v[i]) * (scale * v[i])
    return sqrt(squares)


def norm(v, n):
    """Return |v|, also where its square overflows or underflows."""
    squares: cython.double = dot(v, v, n)
    if LEAST_SQUARES <= squares <= MOST_SQUARES:
        return sqrt(squares)
    if squares > MOST_SQUARES:
        return scaled_norm(v, n, DOWN) / DOWN
    return scaled_norm(v, n, UP) / UP


def largest_entry(v, n):
    """Return max |v_i|; NaN if there is one."""
    largest: cython.double = 0.0
    entry: cython.double
    i: cython.Py_ssize_t
    for i in range(n):
        entry = fabs(v[i])
        if not entry <= largest:
            largest = entry
            if isnan(entry):
                return entry
    return largest


def squared_distance(v, w, n):
    """Return |v - w|^2."""
    a: cython.double = 0.0
    b: cython.double = 0.0
    c: cython.double = 0.0
    d: cython.double = 0.0
    i: cython.Py_ssize_t
    whole: cython.Py_ssize_t = n & -4
    for i in range(0, whole, 4):
        a += (v[i] - w[i]) * (v[i] - w[i])
        b += (v[i + 1] - w[i + 1]) * (v[i + 1] - w[i + 1])
        c += (v[i + 2] - w[i + 2]) * (v[i + 2] - w[i + 2])
        d += (v[i + 3] - w[i + 3]) * (v[i + 3] - w[i + 3])
    for i in range(whole, n):
        a += (v[i] - w[i]) * (v[i] - w[i])
    return (a + b) + (c + d)


# --- Arrays: a C pointer; interpreted a memoryview, which checks bounds --------------------------

if not cython.compiled:

    def part(vector, start):
        """Return what begins at an entry of a vector."""
        return vector[start:]

    def copy(v, to, n):
        """Write n entries of a vector to another one."""
        to[:n] = v[:n]


def new_floats(size):
    """Return an array for so many floats, with nothing in particular in it."""
    if cython.compiled:
        shape: cnp.npy_intp[1]
        shape[0] = size
        return cnp.PyArray_SimpleNew(1, shape, cnp.NPY_DOUBLE)
    else:
        return np.empty(size)


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


def is_plain(array, size):
    """Tell whether this is a NumPy vector of so many floats without gaps, aligned and native."""
    if cython.compiled:
        if not cnp.PyArray_CheckExact(array):
            return False
        return (
            cnp.PyArray_TYPE(cython.cast(cnp.ndarray, array)) == cnp.NPY_DOUBLE
            and cnp.PyArray_NDIM(cython.cast(cnp.ndarray, array)) == 1
            and cnp.PyArray_ISCARRAY_RO(cython.cast(cnp.ndarray, array))
            and cnp.PyArray_DIM(cython.cast(cnp.ndarray, array), 0) == size
        )
    else:
        return (
            type(array) is np.ndarray
            and array.dtype == np.float64
            and array.shape == (size,)
            and array.flags.carray
        )
