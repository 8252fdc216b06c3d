"""Is the learner better than the start? A confidence sequence that holds at all times.

In a share h of the rounds a coin plays the start, arm 1; otherwise the learner plays, arm 0. With m
the mean of all costs compared before,

    psi = (1[start] / h - 1[learner] / (1 - h)) (cost - m)

has the difference of the two expected costs of its round as its mean, whatever the past. The mean
of n such numbers, with standard deviation s, is within

    s sqrt(2 (n r + 1) / (n^2 r) ln(sqrt(n r + 1) / alpha))

of the mean difference of the rounds compared, at all n at once with probability 1 - alpha, in the
limit (Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas: "Time-uniform central limit theory and
asymptotic confidence sequences", 2024). r = 0.008 makes it narrow for about a thousand rounds.

Where costs are mostly the same, such as sales and errors, the start is long without one that is
not, and then s is far too small. So s^2 is at least v / h + v / (1 - h), which it would be if costs
of both arms had the variance v of all: then rare costs raise no false alarm, of which without it
there are many (``tests/test_knobs_live.py``).
"""

from __future__ import annotations

import math

from belated.arrays import Floats
from belated.kernels.exact import ln
from belated.kernels.jit import leaf, limb
from belated.kernels.knobs import layout as L

ALPHA = 0.05
FEWEST = 30.0  # answers of each arm, before anything is said
_RATIO = 0.008


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
def compare(f: Floats, arm: float, delta: float) -> None:
    """Take the cost of a round into the comparison; revert when the learner is worse."""
    if arm == L.ASIDE:
        return
    share = f[L.HOLDOUT]
    psi = 1.0 / share if arm == L.START else -1.0 / (1.0 - share)
    psi *= delta - f[L.BASELINE] if f[L.COMPARED] > 0.0 else 0.0
    f[L.COMPARED] += 1.0
    apart = delta - f[L.BASELINE]
    f[L.BASELINE] += apart / f[L.COMPARED]
    f[L.COST_SQUARES] += apart * (delta - f[L.BASELINE])
    away = psi - f[L.GAIN]
    f[L.GAIN] += away / f[L.COMPARED]
    f[L.GAIN_SQUARES] += away * (psi - f[L.GAIN])
    at = L.OF_ARM + (2 if arm == L.START else 0)
    f[at] += 1.0
    f[at + 1] += (delta - f[at + 1]) / f[at]
    if f[L.GAIN] + radius(f) < 0.0 and f[L.MODE] != L.REVERTED and f[L.ALARMED] == 0.0:
        f[L.MODE] = float(L.REVERTED)
        f[L.ALARMED] = 1.0
        f[L.ALARMS] += 1.0


@leaf
def is_compared(f: Floats, ticket: int) -> bool:
    """Return whether a round counts: the last one of its setting, since the comparison began."""
    hold = int(f[L.HOLD])
    return f[L.HOLDOUT] > 0.0 and ticket % hold == hold - 1 and ticket >= f[L.ANEW]
