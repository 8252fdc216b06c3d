"""The comparison of the learner with the start: a confidence sequence that holds at all times.

In a share h of the rounds a coin plays the start, arm 1; otherwise the learner plays, arm 0. With m
the mean of all costs compared before,

    psi = (1[start] / h - 1[learner] / (1 - h)) (cost - m)

has the difference of the two expected costs of its round as its mean, whatever the past. The mean
of n such numbers, with standard deviation s, is within

    s sqrt(2 (n r + 1) / (n^2 r) ln(sqrt(n r + 1) / alpha))

of the mean difference of the rounds compared, at all n at once with probability 1 - alpha, in the
limit (Waudby-Smith et al., "Time-uniform central limit theory and asymptotic confidence sequences",
2024). If costs are mostly equal, such as sales, the start can have none that differs for a long
time, and s is far too small. So s^2 is at least v / h + v / (1 - h), its value if the costs of both
arms had the variance v of all.
"""

from __future__ import annotations

import math

from belated.arrays import Floats
from belated.kernels.exact import ln
from belated.kernels.jit import leaf, limb
from belated.kernels.knobs import layout as L

ALPHA = 0.05  # probability of a false alarm
FEWEST = 30.0  # answers of each arm before anything is said: the result is asymptotic
_RATIO = 0.008  # r: narrowest after about a thousand rounds


@leaf
def radius(f: Floats) -> float:
    """Return how far the mean difference may be from GAIN; infinity before enough is known."""
    n = f[L.COMPARED]
    if min(f[L.OF_ARM], f[L.OF_ARM + 2]) < FEWEST:
        return math.inf
    a = n * _RATIO + 1.0
    share = f[L.HOLDOUT]
    of_costs = f[L.COST_SQUARES] / n
    variance = max(f[L.GAIN_SQUARES] / n, of_costs / share + of_costs / (1.0 - share))
    return math.sqrt(variance * 2.0 * a / (n * n * _RATIO) * (0.5 * ln(a) - ln(ALPHA)))


@limb
def compare(f: Floats, arm: float, cost: float) -> None:
    """Include the cost of a round in the comparison; revert when the learner is worse."""
    if arm == L.ASIDE:
        return
    share, apart = f[L.HOLDOUT], cost - f[L.BASELINE]
    psi = 1.0 / share if arm == L.START else -1.0 / (1.0 - share)
    psi *= apart if f[L.COMPARED] > 0.0 else 0.0
    f[L.COMPARED] += 1.0
    f[L.BASELINE] += apart / f[L.COMPARED]
    f[L.COST_SQUARES] += apart * (cost - f[L.BASELINE])
    away = psi - f[L.GAIN]
    f[L.GAIN] += away / f[L.COMPARED]
    f[L.GAIN_SQUARES] += away * (psi - f[L.GAIN])
    at = L.OF_ARM + (2 if arm == L.START else 0)
    f[at] += 1.0
    f[at + 1] += (cost - f[at + 1]) / f[at]
    if f[L.GAIN] + radius(f) < 0.0 and f[L.MODE] != L.REVERTED and f[L.ALARMED] == 0.0:
        f[L.MODE] = float(L.REVERTED)
        f[L.ALARMED] = 1.0
        f[L.ALARMS] += 1.0


@leaf
def is_compared(f: Floats, ticket: int) -> bool:
    """Tell whether a round counts: the last one of its setting, since the comparison began."""
    return f[L.HOLDOUT] > 0.0 and (ticket + 1) % int(f[L.HOLD]) == 0 and ticket >= f[L.ANEW]
