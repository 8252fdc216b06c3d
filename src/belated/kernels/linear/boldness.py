"""How boldly experts are shown while labels are few, by what features have been worth so far.

That is for log odds. Experts begin with weights of 0, and some of them step slowly on purpose, so
that all of them together say too little at first, wherever features say anything. Whether they do
can be seen. With W labels so far of mean m and variance s^2 = m (1 - m), L the sum of all losses of
what was shown, and H(m) = -m ln m - (1 - m) ln(1 - m),

    G = W H(m) + ln(pi W / 2) / 2 - L

is what predictions have gained over those of Krichevsky and Trofimov, (yes + 1/2) / (W + 1), which
look at no features ("The performance of universal encoding", IEEE Transactions on Information
Theory 1981). By Bayes' rule 1 / (1 + e^(-G) / 3) is the chance that predictions are the better
model of the two, if it was 3 in 4 at first. So while N < 2000 tickets have a label,

    b = 4 s^2 (1 - N / 2000)^2 / (1 + e^(-G) / 3)

says how boldly to speak, from 0 to 1. With z the log odds of the mean probability, and p the mean
of the log odds, which is bolder, what is shown is base + (1 + 0.15 b) (z + b (p - z) - base).

If labels come at once and have nothing to do with features, e^G is a likelihood ratio: the chance
that G ever reaches g is at most e^-g (Ville's inequality), on average over the shares of yes that
the prior of Krichevsky and Trofimov draws. Where one answer is rare, or still out, s^2 is small.

Where silence is a label b is 0: most of the first labels are still to be corrected. Weights and
mixture never see any of this. That it helps has no theorem.
"""

from __future__ import annotations

import math

from belated.arrays import Floats
from belated.kernels.exact import ln
from belated.kernels.jit import leaf, limb
from belated.kernels.linear import layout as lm
from belated.kernels.linear.links import sigmoid

FEW = 2000.0  # labels before which experts may say too little
FARTHER = 0.15  # part of the distance from the base that is added where b = 1
_BEFORE = math.log(3.0)  # log odds that features say something, before any label


@leaf
def emboldened(f: Floats, z: float, p: float) -> float:
    """Return what is shown of log odds: z those of the mean probability, p as they are mixed."""
    if f[lm.LABELS] >= FEW:
        return z
    b = boldness(f)
    bolder = z + b * (p - z)
    return bolder + FARTHER * b * (bolder - f[lm.BASE])


@limb  # three logarithms, and only at first
def boldness(f: Floats) -> float:
    """Return b."""
    mean, count = f[lm.MEAN], f[lm.SCORED]
    is_silent = f[lm.SINCE] == math.inf  # nothing is ever a first label
    if is_silent or not (0.0 < mean < 1.0 and f[lm.LABELS] < FEW):
        return 0.0
    entropy = -mean * ln(mean) - (1.0 - mean) * ln(1.0 - mean)
    gained = count * entropy + 0.5 * ln(0.5 * math.pi * count) - f[lm.LOST]
    few = 1.0 - f[lm.LABELS] / FEW
    return 4.0 * mean * (1.0 - mean) * few * few * sigmoid(_BEFORE + gained)
