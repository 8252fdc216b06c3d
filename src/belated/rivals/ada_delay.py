"""AdaDelay: steps that shrink with the number of updates and with the age of the gradient."""

from __future__ import annotations

import math
from dataclasses import dataclass

from belated.arrays import Code, Floats
from belated.domains import Domain
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import method
from belated.kernels.learners.state import State
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.learner.program import Program
from belated.rivals.base import Rival
from belated.rivals.shared import descend

_SMOOTHNESS = F.MINE
_SCALE = F.MINE + 1


@leaf
def _learn(code: Code, s: State, entry: int, ticket: int, cost: Floats) -> None:
    """Step with 1 / (L + c sqrt(n + tau))."""
    late = float(s.n[N.ARRIVED] + s.n[N.LAG])
    descend(code, s, cost, 1.0 / (s.f[_SMOOTHNESS] + s.f[_SCALE] * math.sqrt(late)))


_METHOD = method("AdaDelay", learn=_learn)


@dataclass(frozen=True, repr=False)
class AdaDelay(Rival, module="rivals"):
    """x = Pi_K(x - g_n / (L + c sqrt(n + tau_n))), steps that look at the age of each gradient.

    n counts the updates, this one included; tau_n = d*_n counts those since the point was handed
    out at which g_n was computed. L is ``smoothness``, c is ``scale``. The steps need not fall.
    Guarantee: convergence of the average for smooth stochastic convex losses; none on regret.
    Reference: Sra, Yu, Li and Smola, "AdaDelay: delay adaptive distributed stochastic
    optimization", AISTATS 2016.

    >>> from belated import Ball, Learner
    >>> learner = Learner(AdaDelay(Ball(2), smoothness=3.0, scale=1.0))
    >>> _ = learner.predict(), learner.observe(0, [2.0, 0.0])
    >>> learner.predict().x
    array([-0.5,  0. ])
    """

    reference = "Sra, Yu, Li and Smola 2016"
    guarantee = "convergence, for smooth stochastic convex losses"

    domain: Domain
    smoothness: float
    scale: float

    def program(self) -> Program:
        """Return what the kernels run."""
        return self.compiled(_METHOD, numbers={_SMOOTHNESS: self.smoothness, _SCALE: self.scale})
