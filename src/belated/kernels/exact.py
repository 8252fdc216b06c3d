"""ln and exp out of + - * / alone, so that they have the same bits everywhere.

The C library's versions differ between systems, and vector libraries replace them inside loops;
either would break the promise that a replay on another machine ends in the same state.
The polynomials are Chebyshev interpolants; errors stay within 2 units in the last place (tested).
"""

from __future__ import annotations

import numpy as np

from belated.kernels.jit import leaf

_LN2_HIGH = 0.6931471803691238  # ln 2 = high + low; high has 32 bits, so e * high is exact
_LN2_LOW = 1.9082149292705877e-10
_INVERSE_LN2 = 1.4426950408889634
_ROOT_TWO = 1.4142135623730951
_FRACTION = 0xFFFFFFFFFFFFF  # bits of a float64 after the exponent
_ONE = 1023 << 52  # exponent of 1.0
_WHOLE = 6755399441055744.0  # 1.5 * 2^52: next to it floats are whole, their last bits a number
_LEAST_NORMAL = 2.2250738585072014e-308


@leaf
def ln(x: float) -> float:
    """Return the natural logarithm of a positive x."""
    if x < _LEAST_NORMAL:
        return ln_scaled(x * 18014398509481984.0, 54)
    return ln_scaled(x, 0)


@leaf
def ln_scaled(x: float, shift: int) -> float:
    """Return ln(x / 2^shift) for a normal x.

    x = m 2^e with m in [sqrt(1/2), sqrt 2), then ln m = 2 atanh(t), t = (m - 1)/(m + 1).
    """
    bits = int(np.float64(x).view(np.int64))
    e = (bits >> 52) - 1023 - shift
    m = float(np.int64((bits & _FRACTION) | _ONE).view(np.float64))  # in [1, 2)
    if m > _ROOT_TWO:
        m *= 0.5
        e += 1
    t = (m - 1.0) / (m + 1.0)
    s = t * t
    low = 0.3333333333333335 + s * (0.19999999999949752 + s * 0.14285714312987743)
    high = 0.1111110556739754 + s * (
        0.09091444562630861 + s * (0.07665860800278021 + s * 0.07308224842521703)
    )
    tail = 2.0 * t * (s * (low + s * s * s * high))
    return e * _LN2_HIGH + (2.0 * t + (tail + e * _LN2_LOW))


@leaf
def exp(x: float) -> float:
    """Return e^x for x <= 0 (0 once it would be subnormal)."""
    if x < -708.0:
        return 0.0
    y = x * _INVERSE_LN2 + 0.5
    e = (y + _WHOLE) - _WHOLE  # floor(y) without an int, as few processors have that in vectors
    e -= 1.0 if e > y else 0.0
    r = (x - e * _LN2_HIGH) - e * _LN2_LOW
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
    bits = int(np.float64(e + (_WHOLE + 1023.0)).view(np.int64))
    power = float(np.int64((bits & 2047) << 52).view(np.float64))  # 2^e, normal down to -708
    return (1.0 + (r + square * (low + square * square * high))) * power
