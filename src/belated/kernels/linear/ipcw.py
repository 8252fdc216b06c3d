"""Weights of labels by inverse probability of censoring (IPCW).

A label that takes a rounds can have come only for the tickets that are so old: n - a of n. Others
like it are still open, so that labels that take long are too few among those so far. One that comes
at the age a therefore has the weight

    (n - u + 100) / (n - a + 100),

at least 1 and at most 10, where u is the mean age of the labels before it. Where all take as long
as each other the weight is 1, and so it is in the end, when n is large. The 100 keep the first
tickets of a log from deciding everything. Such weights make sums over what is known right for all
tickets (Robins and Rotnitzky, "Recovery of information and adjustment for dependent censoring",
1992).

Base, unit and mixture use these weights. Steps do not: many small ones say more than one long one.
"""

from __future__ import annotations

from belated.arrays import Floats
from belated.kernels.jit import leaf
from belated.kernels.linear import layout as lm

_FEW = 100.0  # tickets that are too few to tell
_LARGEST = 10.0


@leaf
def full_weight(rounds: int, age: float) -> float:
    """Return how many labels of this age there are to be in all, for each that has come."""
    return min((rounds + _FEW) / (rounds - age + _FEW), _LARGEST)


@leaf
def relative_weight(f: Floats, rounds: int, ticket: int) -> float:
    """Return the weight of a label that comes after so many predictions."""
    usual = f[lm.AGED] / f[lm.LABELS] if f[lm.LABELS] > 0.0 else rounds
    return min(max((rounds - usual + _FEW) / (ticket + 1 + _FEW), 1.0), _LARGEST)
