"""A correction of predictions of numbers while labels are censored.

The offset is added to every prediction. It is

    K = o / (N + o) (mean by Aalen and Johansen - mean)

of the residuals of labels, with N labels since the first and o tickets open (see ``censoring``).
Both means agree where residuals do not depend on the age. For absolute and quantile loss the
residual is a slope, in units of 5/4 D, with D the standard deviation of labels; for Poisson loss,
the offset is the logarithm of what the mean is multiplied by. Shown is the prediction and the
offset, within 0 and the labels so far. There is no theorem.
"""

from __future__ import annotations

from belated.arrays import Code, Floats
from belated.kernels.exact import ln
from belated.kernels.jit import leaf
from belated.kernels.linear import layout as lm
from belated.kernels.linear.censoring import Estimate

_PER_SLOPE = 1.25  # S / (2 density at the median), for a normal distribution
_MOST_TIMES = 4.0  # a mean is moved by


@leaf
def _censored(e: Estimate) -> float:
    """Return K."""
    share = e.pending / (e.labels + e.pending)
    return share * (e.mean / (1.0 - e.tail) - e.residuals / e.labels)


@leaf
def set_offset(code: Code, f: Floats, e: Estimate) -> None:
    """Set OFFSET for numbers."""
    f[lm.OFFSET] = _censored(e)


@leaf
def set_offset_by_slopes(code: Code, f: Floats, e: Estimate) -> None:
    """Set OFFSET for losses whose slopes are no distances."""
    f[lm.OFFSET] = _PER_SLOPE * f[lm.SIZE] * _censored(e)


@leaf
def set_log_rate(code: Code, f: Floats, e: Estimate) -> None:
    """Set OFFSET for logarithms of means."""
    times = 1.0 + _censored(e) / f[lm.MEAN] if f[lm.MEAN] > 0.0 else 1.0
    f[lm.OFFSET] = ln(min(max(times, 1.0 / _MOST_TIMES), _MOST_TIMES))


@leaf
def corrected(code: Code, f: Floats, p: float) -> float:
    """Return what is shown for a prediction."""
    if f[lm.OFFSET] == 0.0:
        return p
    low, high = min(f[lm.FLOOR], 0.0), max(f[lm.CEILING], 0.0)
    return min(max(p + f[lm.OFFSET], low), high)
