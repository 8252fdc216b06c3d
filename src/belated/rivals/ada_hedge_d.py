"""AdaHedge for late answers: exponential weights that tune themselves (Flaspohler et al.)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from belated.arrays import Code, Floats
from belated.kernels.exact import exp, ln
from belated.kernels.jit import leaf
from belated.kernels.learners.state import State
from belated.kernels.slots import ints as N
from belated.rivals.experts import (
    IN_TURN,
    STRENGTH,
    Hedging,
    dot,
    errors,
    hedging,
    least,
    softmin,
)


@leaf
def _gap(
    theta: Floats, seen: Floats, share: float, w: Floats, strength: float, work: Floats
) -> float:
    """How far w is from the best, if x = share * (seen - theta) is what it did not know.

    lambda ln(sum_i w_i exp(x_i / lambda)) - <x, w>, the largest x_i under some weight being shifted
    out before exp; at lambda = 0: <theta, w> - min theta. ``work`` is overwritten.
    """
    if strength == 0.0:
        return dot(theta, w) - least(theta)
    top = -math.inf
    for i in range(w.size):
        if w[i] > 0.0:
            top = max(top, share * (seen[i] - theta[i]))
    for i in range(w.size):  # on its own, so that exponentials are taken several at a time
        work[i] = exp(min(share * (seen[i] - theta[i]) - top, 0.0) / strength)
    mass = 0.0
    mean = 0.0
    for i in range(w.size):
        if w[i] > 0.0:
            mass += w[i] * work[i]
            mean += w[i] * (share * (seen[i] - theta[i]))
    return strength * ln(mass) + top - mean


@leaf
def _tune(code: Code, s: State, entry: int) -> None:
    """lambda += max(0, min(drift, aux, hat)) / ln K; theta is the sum of all costs up to g_s."""
    k = s.z.size
    record = s.kept[entry * s.n[N.KEEP] : s.kept.size]
    seen, cost, strength = record[:k], record[k : 2 * k], record[2 * k]
    theta, w = s.own[IN_TURN : IN_TURN + k], s.work
    then = record[2 * k + 2 : 3 * k + 2]  # w_s
    played = dot(cost, then)
    aux = _gap(theta, seen, 1.0, then, strength, w)
    softmin(theta, strength, w)  # as if nothing had been missing
    drift = played - dot(cost, w)
    pending, size = errors(theta, seen, cost)
    share = 1.0 if pending <= size else size / pending
    for i in range(k):
        w[i] = seen[i] + (1.0 - share) * (theta[i] - seen[i])
    softmin(w, strength, w)  # w', as if all but a share had been there
    gap = _gap(theta, seen, share, w, strength, then)  # which is not needed any more
    hat = gap + played - dot(cost, w)
    s.own[STRENGTH] += max(0.0, min(drift, min(aux, hat))) / ln(float(k))


_METHOD = hedging("AdaHedgeD", _tune)


@dataclass(frozen=True, repr=False)
class AdaHedgeD(Hedging, module="rivals"):
    """AdaHedge with delays: w_t prop. to exp(-theta / lambda_t), theta the sum of costs received.

    lambda = 0 at the start (uniform over the smallest theta_i), and grows in ticket order: by round
    s once it and all earlier rounds are answered. With L_s the sum of their costs, w_s, lambda_s
    and theta_s those of the play, e = theta_s - L_s is minus the sum of all that was pending then.
    With K = ``arms`` experts and largest entries as norms, lambda grows by
    max(0, min(drift, aux, hat)) / ln K:

    * drift = <g_s, w_s - softmin(L_s / lambda_s)>;
    * aux = gap(e, w_s), gap(e, w) = lambda_s ln(sum_i w_i exp(e_i / lambda_s)) - <e, w>;
    * hat = gap(c e, w') + <g_s, w_s - w'>, c = min(1, |g_s| / |e|),
      w' = softmin((L_s + c e) / lambda_s).

    Nothing to tune. From an answer that never comes, lambda stands still, and what is received goes
    on to be used: ``cancel`` the ticket to let it grow. Guarantee: regret <= 2 ln K lambda_T; for
    losses in [0, 1] at most 2 (4 m + sqrt(4 T + 2 ln K (T / 2 + d_tot))), m being the most rounds
    from the oldest open one to a play; of order sqrt((d + 1) T ln K) under a fixed delay d.
    Reference: Flaspohler et al., "Online learning with optimism and delay", ICML 2021.
    Differs from the paper: any delays; and lambda = 0 is exact, not below 1e-8 as in their code.

    >>> from belated import Timeline
    >>> round(AdaHedgeD(3).bound(Timeline.from_delays([0] * 100)).total, 3)
    45.16
    """

    _number = _METHOD
