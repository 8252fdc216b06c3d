"""From what a model computes with to what it shows: probabilities and rates."""

from __future__ import annotations

from belated.kernels.exact import exp
from belated.kernels.jit import leaf

# e^300 can still be squared, and no label is nearly as large.
_HIGHEST = 300.0


@leaf
def sigmoid(p: float) -> float:
    """Return 1 / (1 + e^-p); with one exponential, as every one is inlined."""
    e = exp(-abs(p))
    return (1.0 if p >= 0.0 else e) / (1.0 + e)


@leaf
def power(p: float) -> float:
    """Return e^p, for p cut off at 300."""
    is_below = p <= 0.0
    e = exp(p if is_below else -min(p, _HIGHEST))
    return e if is_below else 1.0 / e
