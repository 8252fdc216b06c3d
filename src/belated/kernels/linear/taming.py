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

_FEW = lm.FIRST_LABELS  # other labels that it takes to know what is far
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
    far, away = max(_FAR, labels), y - mean
    if away * away * count <= far * spread:  # nearly always; a division and a root take their time
        return y
    reach = math.sqrt(far * (spread / count))
    return min(max(y, mean - reach), mean + reach)


@leaf
def of_others(f: Floats, which: int, y: float) -> tuple[float, float]:
    """Return the mean of the first labels and y, without one of them, and how far is too far.

    That is 0 where they are all equal.
    """
    mean = y / _FEW
    for i in range(lm.FIRST_LABELS):
        mean += f[lm.FIRST + 2 * i] / _FEW if i != which else 0.0
    spread, largest = (y - mean) * (y - mean), abs(y)
    for i in range(lm.FIRST_LABELS):
        if i != which:
            label = f[lm.FIRST + 2 * i]
            spread += (label - mean) * (label - mean)
            largest = max(largest, abs(label))
    varies = spread > _ROUNDING * largest * largest
    return mean, math.sqrt(_FAR * (spread / _FEW)) if varies else 0.0


@leaf
def slipped(code: Code, f: Floats, y: float) -> int:
    """Return which of the first labels is far from the others and from the next; -1 for none."""
    if f[lm.LABELS] != _FEW:
        return -1
    for i in range(lm.FIRST_LABELS):
        if f[lm.FIRST + 2 * i + 1] == 0.0:
            return -1
    for i in range(lm.FIRST_LABELS):
        mean, reach = of_others(f, i, y)
        if reach > 0.0 and abs(f[lm.FIRST + 2 * i] - mean) > reach:
            return i
    return -1


@leaf
def never_slipped(code: Code, f: Floats, y: float) -> int:
    """Return -1: answers are never far."""
    return -1


@leaf
def as_it_is(code: Code, f: Floats, y: float, own: float) -> float:
    """Return the label: answers are never far."""
    return y
