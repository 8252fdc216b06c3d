"""Hazan, Agarwal and Kale: gradient descent for strongly convex losses, answered at once."""

from __future__ import annotations

from dataclasses import dataclass

from belated.domains import Domain
from belated.learner.program import Program
from belated.rivals.base import Rival
from belated.rivals.descent import FALLING


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

    title = "Hazan-Agarwal-Kale"
    reference = "Hazan, Agarwal and Kale 2007"
    guarantee = "(G^2/(2 lambda)) (1 + ln T) without delay"

    domain: Domain
    curvature: float

    def program(self) -> Program:
        """Return what the kernels run."""
        return self.compiled(FALLING)
