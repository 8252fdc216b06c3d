"""Hazan, Agarwal and Kale: gradient descent for strongly convex losses, answered at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from belated.arrays import Code, Floats
from belated.domains import Domain
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import method
from belated.kernels.learners.state import State
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.learner.program import Program
from belated.rivals.base import Rival
from belated.rivals.shared import check_numbers, descend


@leaf
def _learn(code: Code, s: State, entry: int, ticket: int, cost: Floats) -> None:
    """Step with 1 / (lambda n)."""
    descend(code, s, cost, 1.0 / (s.f[F.CURVATURE] * float(s.n[N.ARRIVED])))


_METHOD = method("HazanAgarwalKale", learn=_learn)


@dataclass(frozen=True, repr=False)
class HazanAgarwalKale(Rival, module="rivals"):
    """Gradient descent for strongly convex losses: x = Pi_K(x - g_n / (lambda n)).

    g_n is the n-th gradient that arrives, lambda the curvature of the losses. The method knows
    nothing of delays: a late gradient is used as if it were that of the current point.
    Guarantee, without delay: regret <= (G^2 / (2 lambda)) (1 + ln T), G bounding the gradients.
    Reference: Hazan, Agarwal and Kale, "Logarithmic regret algorithms for online convex
    optimization", Machine Learning 2007.

    >>> from belated import Ball, Learner
    >>> learner = Learner(HazanAgarwalKale(Ball(2), curvature=4.0))
    >>> _ = learner.predict(), learner.observe(0, [2.0, 0.0])
    >>> learner.predict().x
    array([-0.5,  0. ])
    """

    title: ClassVar[str] = "Hazan-Agarwal-Kale"
    reference: ClassVar[str] = "Hazan, Agarwal and Kale 2007"
    guarantee: ClassVar[str] = "(G^2/(2 lambda)) (1 + ln T) without delay"

    domain: Domain
    curvature: float

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_numbers(self, "curvature")

    def program(self) -> Program:
        """Return what the kernels run."""
        return self.compiled(_METHOD)
