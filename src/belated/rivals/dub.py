"""Delayed upper bound: exponential weights, tuned by their own bound (Flaspohler et al.)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from belated.arrays import Code
from belated.kernels.exact import ln
from belated.kernels.jit import leaf
from belated.kernels.learners.state import State
from belated.kernels.slots import ints as N
from belated.rivals.experts import (
    IN_TURN,
    PAID,
    SQUARES,
    STRENGTH,
    WIDEST,
    Hedging,
    errors,
    hedging,
)


@leaf
def _tune(code: Code, s: State, entry: int) -> None:
    """lambda = (2 max window + sqrt(sum a^2 + 2 alpha b)) / alpha, alpha = ln K.

    Rounds tune in ticket order, so the window of s, the a_j of all j < s that had not tuned when s
    was played, is what was paid since then.
    """
    k = s.z.size
    own, sums = s.own, s.own[IN_TURN : IN_TURN + k]
    alpha = ln(float(k))
    record = s.kept[entry * s.n[N.KEEP] : s.kept.size]
    seen, cost, paid = record[:k], record[k : 2 * k], record[2 * k + 1]
    pending, size = errors(sums, seen, cost)
    excess = max(0.0, pending - size)
    a = 2.0 * min(size, pending)
    b = 0.5 * pending * pending - 0.5 * excess * excess
    own[WIDEST] = max(own[WIDEST], own[PAID] - paid)
    own[PAID] += a
    own[SQUARES] += a * a + 2.0 * alpha * b
    own[STRENGTH] = (2.0 * own[WIDEST] + math.sqrt(own[SQUARES])) / alpha


_METHOD = hedging("DUB", _tune)


@dataclass(frozen=True, repr=False)
class DUB(Hedging, module="rivals"):
    """Delayed upper bound: w_t prop. to exp(-theta / lambda_t), theta the sum of costs received.

    With P_s the rounds pending when round s is played, itself included, largest entries as norms,
    e_s = sum of the g_j in P_s, a_s = 2 min(|g_s|, |e_s|), b_s = huber(|e_s|, |g_s|),
    huber(x, y) = x^2 / 2 - max(x - y, 0)^2 / 2, and K = ``arms`` experts,

        lambda = (2 max_s sum_{j in W_s} a_j + sqrt(sum_s (a_s^2 + 2 ln K b_s))) / ln K

    over the rounds s that are answered together with all earlier ones; W_s are the rounds before s
    that did not count yet when s was played. lambda = 0 at the start (uniform over the smallest
    theta_i). Nothing to tune. From an answer that never comes, lambda stands still, and what is
    received goes on to be used: ``cancel`` the ticket to let it grow. Guarantee: regret
    <= 2 ln K lambda_T; for losses in [0, 1] at most 2 (4 m + sqrt(4 T + 2 ln K (T / 2 + d_tot))), m
    being the most rounds from the oldest open one to a play.
    Reference: Flaspohler et al., "Online learning with optimism and delay", ICML 2021.
    Differs from the paper: any delays; and lambda = 0 is exact, not below 1e-8 as in their code.

    >>> from belated import Timeline
    >>> round(DUB(3).bound(Timeline.from_delays([0] * 100)).total, 3)
    45.16
    """

    _number = _METHOD
