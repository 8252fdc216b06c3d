"""Zinkevich: projected gradient descent with a falling step, for gradients that come at once."""

from __future__ import annotations

import math
from dataclasses import dataclass

from belated.bounds import Bound
from belated.domains import Domain
from belated.kernels.slots import floats as F
from belated.learner.program import Program
from belated.rivals.base import Rival
from belated.rivals.descent import FALLING
from belated.timeline import Timeline


@dataclass(frozen=True, repr=False)
class Zinkevich(Rival, module="rivals"):
    """Online gradient descent: x = Pi_K(x - eta_n g_n), eta_n = D / (G sqrt n).

    g_n is the n-th gradient that arrives, G bounds the gradients, D is the diameter of the set. The
    method knows nothing of delays: a late gradient is used as if it were that of the current point.
    Guarantee, without delay: regret <= (3/2) G D sqrt(T).
    Reference: Zinkevich, "Online convex programming and generalized infinitesimal gradient ascent",
    ICML 2003.

    >>> from belated import Ball, Learner
    >>> learner = Learner(Zinkevich(Ball(2), lipschitz=8.0))
    >>> _ = learner.predict(), learner.observe(0, [2.0, 0.0])
    >>> learner.predict().x
    array([-0.5,  0. ])
    """

    reference = "Zinkevich 2003"
    guarantee = "1.5 G D sqrt(T) without delay"

    domain: Domain
    lipschitz: float

    def program(self) -> Program:
        """Return what the kernels run."""
        return self.compiled(FALLING, numbers={F.GAIN: self.domain.diameter / self.lipschitz})

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """(3/2) G D sqrt(T) without delay; nothing is promised with it."""
        total = 1.5 * self.lipschitz * self.domain.diameter * math.sqrt(timeline.rounds)
        return self._without_delay(timeline, total)
