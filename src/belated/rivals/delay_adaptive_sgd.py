"""Delay-adaptive asynchronous SGD: smaller steps for staler gradients."""

from __future__ import annotations

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

_WORKERS = F.MINE


@leaf
def _learn(code: Code, s: State, entry: int, ticket: int, cost: Floats) -> None:
    """Step with step * M / max(M, tau)."""
    workers = s.f[_WORKERS]
    descend(code, s, cost, s.f[F.GAIN] * workers / max(workers, float(s.n[N.LAG])))


_METHOD = method("DelayAdaptiveSGD", learn=_learn)


@dataclass(frozen=True, repr=False)
class DelayAdaptiveSGD(Rival, module="rivals"):
    """Asynchronous SGD: x = Pi_K(x - step (M / max(M, tau_n)) g_n).

    tau_n = d*_n counts the steps taken since the point was handed out at which g_n was computed, M
    is the number of ``workers``. A gradient no staler than M gets the whole ``step``.
    Guarantee: convergence for smooth stochastic losses, whatever the largest delay, for a step of
    order 1 / (L M); none on regret.
    Reference: Mishchenko, Bach, Even and Woodworth, "Asynchronous SGD beats minibatch SGD under
    arbitrary delays", NeurIPS 2022.

    Differs from the paper: the point is projected on the set.

    >>> from belated import Ball, Learner
    >>> learner = Learner(DelayAdaptiveSGD(Ball(2), step=0.25, workers=2))
    >>> _ = learner.predict(), learner.observe(0, [2.0, 0.0])
    >>> learner.predict().x
    array([-0.5,  0. ])
    """

    title = "Delay-adaptive SGD"
    reference = "Mishchenko, Bach, Even and Woodworth 2022"
    guarantee = "convergence, for smooth stochastic losses"

    domain: Domain
    step: float
    workers: int

    def program(self) -> Program:
        """Return what the kernels run."""
        return self.compiled(_METHOD, numbers={F.GAIN: self.step, _WORKERS: float(self.workers)})
