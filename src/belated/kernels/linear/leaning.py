"""What is shown while labels are open, where labels are numbers.

LEAN is added to every prediction. It is

    K = o / (N + o) (mean by Kaplan and Meier - mean)

of how far labels were above their predictions, with N labels since the first and o tickets open.
Both means agree where that distance has nothing to do with the age. For absolute and quantile loss
it is the slope, in units of 5/4 D, with D the standard deviation of labels; for Poisson loss, LEAN
is the logarithm of what the mean is multiplied by. Shown is the prediction and LEAN, within 0 and
the labels so far. There is no theorem.
"""

from __future__ import annotations

from belated.arrays import Code, Floats
from belated.kernels.exact import ln
from belated.kernels.jit import leaf
from belated.kernels.linear import layout as lm
from belated.kernels.linear.belief import Evidence

_PER_SLOPE = 1.25  # S / (2 density at the median), for a normal distribution
_MOST_TIMES = 4.0  # a mean is moved by


@leaf
def _moved_by(e: Evidence) -> float:
    """Return K."""
    return e.open / (e.heard + e.open) * (e.mean / (1.0 - e.left) - e.says / e.heard)


@leaf
def lean(code: Code, f: Floats, e: Evidence) -> None:
    """Set LEAN for numbers."""
    f[lm.LEAN] = _moved_by(e)


@leaf
def lean_by_slopes(code: Code, f: Floats, e: Evidence) -> None:
    """Set LEAN for losses whose slopes are no distances."""
    f[lm.LEAN] = _PER_SLOPE * f[lm.SIZE] * _moved_by(e)


@leaf
def lean_rate(code: Code, f: Floats, e: Evidence) -> None:
    """Set LEAN for logarithms of means."""
    times = 1.0 + _moved_by(e) / f[lm.MEAN] if f[lm.MEAN] > 0.0 else 1.0
    f[lm.LEAN] = ln(min(max(times, 1.0 / _MOST_TIMES), _MOST_TIMES))


@leaf
def moved(code: Code, f: Floats, p: float) -> float:
    """Return what is shown for a prediction."""
    if f[lm.LEAN] == 0.0:
        return p
    low, high = min(f[lm.FLOOR], 0.0), max(f[lm.CEILING], 0.0)
    return min(max(p + f[lm.LEAN], low), high)
