"""A correction of yes/no predictions while labels are censored.

*Promise.* While one answer is known earlier than the other, by 400 rounds or more, and delays vary,
the log loss over 1,500 rounds and more is at most that of the running share of the n known answers,
(yes + 1/2) / (n + 1): measured over seeds, not proved. See docs/linear.md for other delays.

With F the share of tickets whose yes comes at an age so far, and S the tail (see ``censoring``),
the share of yes is between F and F + S. Where in between depends on how surely labels have stopped
coming, f = k L / (L + 100). Here L is the likelihood ratio, with odds of 1 to 100 before any label,
and k says whether the delay depends on the answer: with B of the rarer answer and r the rank
correlation of answer and age, B r^2 is 1/3 by chance, so k = max(r^2 - 1 / (3 B), 0), and 1 while
there is only one answer. If both take equally long, labels that do not come say nothing.

* While labels still come, the tail has yes in the running share q.
* When they have stopped, the tail may have the other answer, and the share of yes is as near to h
  as it can be. h is the share nearest to one half that tickets before the first label allow: n of
  them have a label, y of these yes, and o are open, so h is between (y + 1) / (n + o + 2) and (y +
  o + 1) / (n + o + 2).

Together the tail has the yes T = f (nearest number to h from F to F + S, less F) + (1 - f) S q.
This counts as two labels, beside N' labels at ages beyond half of the time so far, y' of them yes:

    share = F + (S y' + 2 T) / (N' + 2).

N' = 0 while all labels are one answer, but an earlier ticket had the other one.

With b = B + 1/2 and d = k t |share - F - S q|, the number of the t tickets that are in the tail and
not like the labels so far,

    shown = offset + shrinkage (prediction - offset),   shrinkage = b / (b + d),

where the offset is the log odds of the share: features cannot say anything before both answers are
known. All numbers but n, y, o and q are of tickets since the first label.
"""

from __future__ import annotations

import math

from belated.arrays import Code, Floats
from belated.kernels.exact import ln
from belated.kernels.jit import leaf
from belated.kernels.linear import layout as lm
from belated.kernels.linear.censoring import Estimate
from belated.kernels.linear.links import sigmoid

_COMING = math.log(100.0)  # log odds before any label that labels do not stop
_PRIOR = 2.0  # labels: what is assumed before labels say otherwise


@leaf
def is_yes(code: Code, f: Floats, p: float, y: float) -> float:
    """Return 1 for yes, 0 for no."""
    return 1.0 if y > 0.0 else 0.0


@leaf
def set_log_odds(code: Code, f: Floats, e: Estimate) -> None:
    """Set OFFSET and SHRINKAGE for log odds."""
    total = e.labels + e.earlier
    running = (e.residuals + e.earlier_residuals + 0.5) / (total + 1.0)
    depends = _depends(e)
    stopped = depends * sigmoid(e.stopped - _COMING)
    nearest = min(max(_nearest_to_half(e), e.mean), e.mean + e.tail) - e.mean
    assumed = stopped * nearest + (1.0 - stopped) * e.tail * running
    one, all_yes = not 0.0 < e.residuals < e.labels, e.residuals + e.earlier_residuals
    told = 0.0 if one and 0.0 < all_yes < total else 1.0
    in_tail = (told * e.tail * e.late_residuals + _PRIOR * assumed) / (told * e.late + _PRIOR)
    share = ((e.mean + in_tail) * total + 0.5) / (total + 1.0)
    f[lm.OFFSET] = ln(share / (1.0 - share))
    rarer = min(e.residuals, e.labels - e.residuals) + 0.5
    unlike = depends * e.tickets * abs(in_tail - e.tail * running)
    f[lm.SHRINKAGE] = rarer / (rarer + unlike)


@leaf
def _depends(e: Estimate) -> float:
    """Return k."""
    yes, no = e.residuals, e.labels - e.residuals
    if min(yes, no) <= 0.0:
        return 1.0
    r = 2.0 * e.pairs / (yes * no) - 1.0
    return max(r * r - 1.0 / (3.0 * min(yes, no)), 0.0)


@leaf
def _nearest_to_half(e: Estimate) -> float:
    """Return h."""
    count, yes = e.earlier + e.earlier_pending + _PRIOR, e.earlier_residuals + 0.5 * _PRIOR
    return min(max(0.5, yes / count), (yes + e.earlier_pending) / count)


@leaf
def set_score(code: Code, f: Floats, e: Estimate) -> None:
    """Set OFFSET and SHRINKAGE for scores, where 1 and -1 are certain."""
    set_log_odds(code, f, e)
    f[lm.OFFSET] = min(max(f[lm.OFFSET], -1.0), 1.0)


@leaf
def corrected(code: Code, f: Floats, p: float) -> float:
    """Return what is shown for a prediction."""
    shrinkage, offset = f[lm.SHRINKAGE], f[lm.OFFSET]
    return p if shrinkage == 1.0 else offset + shrinkage * (p - offset)
