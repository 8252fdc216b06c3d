"""What is shown while labels are open, where labels are numbers.

LEAN is added to every prediction. Its first part is

    K = o / (N + o) (mean by Kaplan and Meier - mean)

of how far labels were above their predictions, with N labels since the first and o tickets open.
Both means agree where that distance has nothing to do with the age. For absolute and quantile loss
it is the slope, in units of 5/4 D, with D the standard deviation of labels; for Poisson loss, LEAN
is the logarithm of what the mean is multiplied by, and that is all.

K is about ages at which labels have come. Of the tail, the share S without a label at any age so
far, nothing is known but what was said before the first label: 0. With M = base + K, what is shown
on average, there are two signs that the tail is not like M but nearer to 0. What it is moved by is
at most 6 D.

*Labels go towards 0 with their age*, by r, the correlation of labels and the ranks of their ages.
By chance (N - 2) r^2 / (1 - r^2) is about 1, so

    u = max((N - 2) r^2 - 10 (1 - r^2), 0) / N,   A = u S 100 / (100 + l) (-M, at most 6 D),

where l labels have come beyond half of the time so far, and say themselves how it goes on. If the
sign was there (u > 1/2) when S falls below 1/4, experts are weighed anew, by the tickets from then
on: before, whoever followed the moving base most quickly was best.

*The first labels came at once, and others do not come.* G is the place of labels among the rounds
that all tickets have waited, see ``belief``: 1/2 on average at a constant rate, more where labels
take their time. While nothing was heard of tickets since the first label, G = 1 - (1 - (a + 1/2) /
t)^2, with a the mean age of the n labels, of t tickets that all wait. So

    h = 1/2 max(1 - 5/2 G, 0) max(11 - n, 0) / 10,
    LEAN = K + A + h S (-(M + A), at most 6 D, or all of it while n = 1).

One label that came at once, with all else open, is thus shown by half: nobody knows whether others
are like it. Shown is the prediction and LEAN, within 0 and the labels so far. There is no theorem.
"""

from __future__ import annotations

from belated.arrays import Code, Floats
from belated.kernels.exact import ln
from belated.kernels.jit import leaf
from belated.kernels.linear import layout as lm
from belated.kernels.linear.belief import Evidence

_PER_SLOPE = 1.25  # S / (2 density at the median), for a normal distribution
_MOST_TIMES = 4.0  # a mean is moved by
_BY_CHANCE = 10.0  # (N - 2) r^2 / (1 - r^2) that is no sign yet
_FARTHEST = 6.0  # standard deviations that the tail is moved by
_TOLD = 100.0  # late labels that say as much as the sign does
_AT_ONCE = 2.5  # labels whose place is 1 / 2.5 or more did not come at once
_ENOUGH = 10.0  # labels beside the first, that are no longer few
_EITHER = 0.5  # others are like those that came at once, or not
_FEW_LEFT = 0.25  # of the tail, when experts are weighed anew ...
_SURE = 0.5  # ... if labels went towards 0 by then


@leaf
def _moved_by(e: Evidence) -> float:
    if e.heard == 0.0:
        return 0.0
    came = 1.0 - e.left
    return e.open / (e.heard + e.open) * (e.mean / came - e.says / e.heard)


@leaf
def _sure(e: Evidence, level: float) -> float:
    """u: how surely labels go towards 0 with their age."""
    if e.rises * level >= 0.0 or e.heard <= 2.0:
        return 0.0
    share = e.rises * e.rises
    return max((e.heard - 2.0) * share - _BY_CHANCE * (1.0 - share), 0.0) / e.heard


@leaf
def _hasty(f: Floats, e: Evidence) -> float:
    """h: how surely labels so far are only those that come at once, halved."""
    few = max(1.0 - (f[lm.LABELS] - 1.0) / _ENOUGH, 0.0)
    return _EITHER * few * max(1.0 - _AT_ONCE * e.place, 0.0)


@leaf
def _to_zero(f: Floats, level: float) -> float:
    """Return the way from a level to 0, or the part of it that the tail may go."""
    farthest = _FARTHEST * f[lm.SIZE]
    is_one = f[lm.LABELS] == 1.0
    return -level if is_one else min(max(-level, -farthest), farthest)


@leaf
def _with_tail(f: Floats, e: Evidence, known: float) -> bool:
    """Set LEAN from K; tell whether experts are to be weighed anew."""
    level = f[lm.BASE] + known
    sure = _sure(e, level)
    ahead = sure * e.left * _TOLD / (_TOLD + e.late) * _to_zero(f, level)
    f[lm.LEAN] = known + ahead + _hasty(f, e) * e.left * _to_zero(f, level + ahead)
    return e.left < _FEW_LEFT and sure > _SURE


@leaf
def lean(code: Code, f: Floats, e: Evidence) -> bool:
    """Set LEAN for numbers."""
    return _with_tail(f, e, _moved_by(e))


@leaf
def lean_by_slopes(code: Code, f: Floats, e: Evidence) -> bool:
    """Set LEAN for losses whose slopes are no distances."""
    return _with_tail(f, e, _PER_SLOPE * f[lm.SIZE] * _moved_by(e))


@leaf
def lean_rate(code: Code, f: Floats, e: Evidence) -> bool:
    """Set LEAN for logarithms of means."""
    times = 1.0 + _moved_by(e) / f[lm.MEAN] if f[lm.MEAN] > 0.0 else 1.0
    f[lm.LEAN] = ln(min(max(times, 1.0 / _MOST_TIMES), _MOST_TIMES))
    return False


@leaf
def moved(code: Code, f: Floats, p: float) -> float:
    """Return what is shown for a prediction."""
    if f[lm.TRUST] < 1.0:  # everything is answered, and nothing leans; see ``backlog``
        return f[lm.BASE] + f[lm.TRUST] * (p - f[lm.BASE])
    if f[lm.LEAN] == 0.0:
        return p
    low, high = min(f[lm.FLOOR], 0.0), max(f[lm.CEILING], 0.0)
    return min(max(p + f[lm.LEAN], low), high)
