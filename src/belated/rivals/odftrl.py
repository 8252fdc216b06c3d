"""Delayed follow-the-regularised-leader with hints (Flaspohler et al.)."""

from __future__ import annotations

from dataclasses import dataclass

from belated.arrays import Code, Floats
from belated.bounds import Bound
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import method
from belated.kernels.learners.sets import norm_of
from belated.kernels.learners.state import State
from belated.kernels.learners.steps import step
from belated.kernels.learners.uses import of_step
from belated.kernels.slots import code as C
from belated.kernels.slots import floats as F
from belated.kernels.slots import kinds as K
from belated.learner.program import Program
from belated.rivals.experts import Regularised, hint_weight
from belated.timeline import Timeline


@leaf
def lead(code: Code, s: State, weight: float) -> None:
    """One step from the start with all that was received and so many times the last gradient."""
    k = s.z.size
    last, received = s.own[:k], s.own[k : s.own.size]
    for i in range(k):
        s.work[i] = received[i] + weight * last[i]
        s.z[i] = 1.0 / k if code[C.DOMAIN] == K.SIMPLEX else 0.0
        s.p[i] = 0.0
    step(of_step(code), s, s.work, s.f[F.ETA], norm_of(s.work))


@leaf
def _lead(code: Code, s: State) -> None:
    lead(code, s, hint_weight(s, 0))


@leaf
def receive(code: Code, s: State, entry: int, ticket: int, cost: Floats) -> None:
    """Add the gradient to the sum; the own region is the last one, then the sum."""
    k = s.z.size
    for i in range(k):
        s.own[i] = cost[i]
        s.own[k + i] += cost[i]


_METHOD = method("ODFTRL", prepare=_lead, learn=receive)


@dataclass(frozen=True, repr=False)
class ODFTRL(Regularised, module="rivals"):
    """Optimistic delayed FTRL: x_t = argmin_K <sum of received g_s + h_t, x> + lambda psi(x).

    lambda is ``strength``; psi(x) = |x - center|^2 / 2, x_t = Pi_K(center - (sum g + h) / lambda);
    with ``mirror="entropy"`` on a ``Simplex`` psi is the divergence from the uniform distribution
    and x_t is proportional to exp(-(sum g + h) / lambda). ``hint="recent"`` guesses the missing
    gradients by the last one received, h_t = (open + 1) g_last; ``"none"`` is h_t = 0.
    ``lipschitz`` G, where it is given, is used by the bound, and larger gradients are counted.

    Guarantee: regret <= lambda max psi + sum_t huber(|h_t - sum_{s in P_t} g_s|, |g_t|) / lambda
    with huber(x, y) = x^2 / 2 - max(x - y, 0)^2 / 2 and P_t what is pending at t, itself included;
    so lambda max psi + G^2 (T / 2 + d_tot) / lambda without hints, and with them at most
    lambda max psi + G^2 (3 T / 2 + 2 d_tot) / lambda.
    Reference: Flaspohler et al., "Online learning with optimism and delay", ICML 2021.
    Differs from the paper: any delays, not one fixed delay.

    >>> from belated import Ball, Timeline
    >>> ODFTRL(Ball(3), strength=10.0, lipschitz=1.0).bound(Timeline.from_delays([0] * 100)).total
    10.0
    """

    guarantee = "strength max psi + G^2 (T/2 + d_tot) / strength, without hints"

    def program(self) -> Program:
        """Return what the kernels run; the own region is the last gradient and the sum of all."""
        return self._hinted(_METHOD, 2)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """lambda max psi + G^2 (T / 2 + d_tot) / lambda, or with hints (3 T / 2 + 2 d_tot)."""
        first, late = (0.5, 1.0) if self.hint == "none" else (1.5, 2.0)
        return self._regularised(timeline, first, late)
