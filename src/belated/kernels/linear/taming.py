"""How far out a label is learned, where labels are numbers.

One label at a thousand standard deviations, a slip of a keyboard or of a unit, would move base,
unit, range, energies and weights so far that thousands of labels do not undo it. So of a label that
is far from all others only a part is learned:

    |learned - mean| <= max(20, sqrt(n)) S,

where n, mean and S are number, mean and standard deviation of what was learned of all other labels.
With Q = n S^2, the sum of their squared distances from the mean, that is |learned - mean|^2 <=
max(400 / n, 1) Q: from 400 labels on, no label counts for more than all others together.

What is learned lies between the mean and the label. Each label that is tamed, with weight 1,
multiplies Q by 1 + max(400, n) / (n + 1) >= 1.9975, and no first label makes Q less. One that is at
most R from the mean is tamed only while Q < R^2. So where labels are in a range of length R and
never change, at most 1 + ln(R^2 / Q) / ln(1.9975) are tamed from then on: labels that become a
thousand times as large are learned as they are after about twenty. A bound at a fixed number of
standard deviations has no such limit: where one label in 10,000 is not 0, it is a hundred away.
"""

from __future__ import annotations

import math

from belated.arrays import Code, Floats
from belated.kernels.jit import leaf
from belated.kernels.linear import layout as lm

_FEW = 5.0  # other labels that it takes to know what is far
_FAR = 400.0  # the square of 20 standard deviations
_ROUNDING = 1e-12  # sums of squares below are what rounding leaves of labels that are all equal


@leaf
def tamed(code: Code, f: Floats, y: float, own: float) -> float:
    """Return what is learned of a label; ``own`` was learned for its ticket before, or is NaN."""
    labels, count, mean, spread = f[lm.LABELS], f[lm.COUNT], f[lm.MEAN], f[lm.SPREAD]
    if own == own:
        labels -= 1.0
        count -= 1.0
    if labels < _FEW or count <= 0.0:
        return y
    if own == own:
        away = own - mean
        mean -= away / count
        spread -= away * away * (1.0 + 1.0 / count)
    largest = max(-f[lm.LOW], f[lm.HIGH])
    if spread <= _ROUNDING * largest * largest:
        return y
    reach = math.sqrt(max(_FAR, labels) * (spread / count))
    return min(max(y, mean - reach), mean + reach)


@leaf
def as_it_is(code: Code, f: Floats, y: float, own: float) -> float:
    """Return the label: answers are never far."""
    return y
