"""AdaGrad with one step size for all coordinates, for gradients that come at once."""

from __future__ import annotations

import math
from dataclasses import dataclass

from belated.arrays import Code, Floats
from belated.domains import Domain
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import method
from belated.kernels.learners.sets import sum_of_squares
from belated.kernels.learners.state import State
from belated.kernels.slots import floats as F
from belated.learner.program import Program
from belated.rivals.base import Rival
from belated.rivals.shared import descend


@leaf
def _learn(code: Code, s: State, entry: int, ticket: int, cost: Floats) -> None:
    """Add |g|^2 to the sum and step; while the sum is 0 there is nothing to step with."""
    s.f[F.SPREAD] += sum_of_squares(cost)
    if s.f[F.SPREAD] > 0.0:
        descend(code, s, cost, s.f[F.GAIN] / math.sqrt(s.f[F.SPREAD]))


_METHOD = method("AdaGrad", learn=_learn)


@dataclass(frozen=True, repr=False)
class AdaGrad(Rival, module="rivals"):
    """Gradient descent with x = Pi_K(x - eta_n g_n), eta_n = a (D / sqrt 2) / sqrt(sum |g_m|^2).

    g_n is the n-th gradient that arrives and the sum runs over m <= n; a is ``scale``, D the
    diameter of the set. The method knows nothing of delays: a late gradient is used as if it were
    that of the current point.
    Guarantee, without delay: regret <= (a + 1 / a) D sqrt(sum |g_m|^2 / 2).
    References: Duchi, Hazan and Singer, "Adaptive subgradient methods for online learning and
    stochastic optimization", JMLR 2011; Streeter and McMahan, "Less regret via online
    conditioning", 2010.

    Differs from the first paper: one step size for all coordinates, so that the method runs on any
    set, in the same norm as its rivals.

    >>> from belated import Ball, Learner
    >>> learner = Learner(AdaGrad(Ball(2, radius=2.0), scale=0.5))
    >>> _ = learner.predict(), learner.observe(0, [3.0, 4.0])
    >>> learner.predict().x.round(4)
    array([-0.8485, -1.1314])
    """

    reference = "Duchi, Hazan and Singer 2011"
    guarantee = "D sqrt(2 sum of squared gradients) without delay"

    domain: Domain
    scale: float = 1.0

    def program(self) -> Program:
        """Return what the kernels run."""
        gain = self.scale * (self.domain.diameter / math.sqrt(2.0))
        return self.compiled(_METHOD, numbers={F.GAIN: gain})
