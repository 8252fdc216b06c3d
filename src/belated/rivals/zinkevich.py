"""Zinkevich: projected gradient descent with a falling step, for gradients that come at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

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

if TYPE_CHECKING:
    from belated.bounds import Bound
    from belated.timeline import Timeline


@leaf
def _learn(code: Code, s: State, entry: int, ticket: int, cost: Floats) -> None:
    """Step with D / (G sqrt n)."""
    descend(code, s, cost, s.f[F.GAIN] / math.sqrt(float(s.n[N.ARRIVED])))


_METHOD = method("Zinkevich", learn=_learn)


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

    title: ClassVar[str] = "Zinkevich"
    reference: ClassVar[str] = "Zinkevich 2003"
    guarantee: ClassVar[str] = "1.5 G D sqrt(T) without delay"

    domain: Domain
    lipschitz: float

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_numbers(self, "lipschitz")

    def program(self) -> Program:
        """Return what the kernels run."""
        return self.compiled(_METHOD, numbers={F.GAIN: self.domain.diameter / self.lipschitz})

    def bound(self, timeline: Timeline) -> Bound | None:
        """(3/2) G D sqrt(T) without delay; nothing is promised with it."""
        if timeline.total_delay:
            return None
        total = 1.5 * self.lipschitz * self.domain.diameter * math.sqrt(timeline.rounds)
        return self._split(timeline, total, total)
