"""Delayed dual averaging: the play is computed afresh from the sum of all gradients received."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from belated.arrays import Code
from belated.bounds import Bound
from belated.domains import Domain
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import method
from belated.kernels.learners.state import State
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.learner.program import Program
from belated.rivals.base import Rival
from belated.rivals.shared import add, into_set, start
from belated.timeline import Timeline


@leaf
def _from_sum(code: Code, s: State) -> None:
    """V += 1/2 + sigma_t, then x_t = Pi(x_1 - S / lambda_t); SPREAD is V."""
    s.f[F.SPREAD] += 0.5 + (s.n[N.ROUNDS] - s.n[N.ARRIVED])
    eta = s.f[F.GAIN] / math.sqrt(s.f[F.SPREAD])
    for i in range(s.z.size):
        s.z[i] = start(code, s) - eta * s.own[i]
    into_set(code, s, s.z)
    s.f[F.ETA] = eta


_METHOD = method("DelayedDualAveraging", prepare=_from_sum, learn=add)


@dataclass(frozen=True, repr=False)
class DelayedDualAveraging(Rival, module="rivals"):
    """Adaptive delayed dual averaging: x_t = Pi_K(x_1 - S_t / lambda_t).

    S_t is the sum of the gradients received before round t, lambda_t = (2 G / R) sqrt(V_t),
    V_t = sum_{s <= t} (1/2 + sigma_s), sigma_s the backlog of round s and R the largest distance
    from x_1 to a point of the set. Nothing is told in advance, and every round moves the play, also
    one without an arrival.

    Guarantee: regret <= lambda_T R^2 / 2 + sum_t G^2 (1/2 + sigma_t) / lambda_t
    <= 2 G R sqrt(T / 2 + d_tot), as the leader that knows all gradients is at most
    G sigma_t / lambda_t away.
    Reference: Hsieh, Iutzeler, Malick and Mertikopoulos, "Multi-agent online optimization with
    delays: asynchronicity, adaptivity, and optimism", JMLR 2022.
    Differs from the paper: a single agent, and the step that this derivation gives.

    >>> from belated import Ball, Timeline
    >>> method = DelayedDualAveraging(Ball(3), lipschitz=1.0)
    >>> method.bound(Timeline.from_delays([0] * 50)).total
    10.0
    """

    title = "Delayed dual averaging"
    reference = "Hsieh, Iutzeler, Malick and Mertikopoulos 2022"
    guarantee = "2 G R sqrt(T / 2 + d_tot)"

    domain: Domain
    lipschitz: float

    def program(self) -> Program:
        """Return what the kernels run; the method's own region is S."""
        gain = self._outer / (2.0 * self.lipschitz)
        return self.compiled(_METHOD, own=np.zeros(self.domain.dim), numbers={F.GAIN: gain})

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """2 G R sqrt(T / 2 + d_tot)."""
        scale = 2.0 * self.lipschitz * self._outer
        total = scale * math.sqrt(timeline.rounds / 2.0 + timeline.total_delay)
        return self._split(timeline, total, scale * math.sqrt(timeline.rounds / 2.0))
