"""Delayed online gradient descent: one step per gradient, in order of arrival."""

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
from belated.learner.program import Program
from belated.rivals.base import Rival
from belated.rivals.shared import check_numbers, descend

if TYPE_CHECKING:
    from belated.bounds import Bound
    from belated.timeline import Timeline


@leaf
def _learn(code: Code, s: State, entry: int, ticket: int, cost: Floats) -> None:
    """Step with the fixed step size."""
    descend(code, s, cost, s.f[F.GAIN])


_METHOD = method("DelayedOGD", learn=_learn)


@dataclass(frozen=True, repr=False)
class DelayedOGD(Rival, module="rivals"):
    """Delayed online gradient descent: for each arriving gradient y = Pi_K(y - eta g).

    The newest y is played. eta = D / (G sqrt(T + 2 d_tot)), G bounds the gradients, D is the
    diameter of the set.
    Guarantee: regret <= D^2 / (2 eta) + eta G^2 (T / 2 + d_tot) = G D sqrt(T + 2 d_tot). In their
    paper it is the learner inside a method for moving targets, with other step sizes.
    Reference: Wan, Yao, Song and Zhang, "Non-stationary online convex optimization with
    arbitrary delays", ICML 2024.

    >>> from belated import Ball
    >>> DelayedOGD(Ball(3), lipschitz=1.0, rounds=100, total_delay=22).step
    0.16666666666666666
    """

    title: ClassVar[str] = "Delayed OGD"
    reference: ClassVar[str] = "Wan, Yao, Song and Zhang 2024"
    guarantee: ClassVar[str] = "G D sqrt(T + 2 d_tot)"

    domain: Domain
    lipschitz: float
    rounds: int | None = None
    total_delay: int | None = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_numbers(self, "lipschitz")

    @property
    def step(self) -> float:
        """eta = D / (G sqrt(T + 2 d_tot))."""
        self._demand_facts()
        assert self.rounds is not None and self.total_delay is not None
        return self.domain.diameter / (
            self.lipschitz * math.sqrt(self.rounds + 2 * self.total_delay)
        )

    def program(self) -> Program:
        """Return what the kernels run."""
        return self.compiled(_METHOD, numbers={F.GAIN: self.step})

    def bound(self, timeline: Timeline) -> Bound | None:
        """G D sqrt(T + 2 d_tot)."""
        scale = self.lipschitz * self.domain.diameter
        total = scale * math.sqrt(timeline.rounds + 2 * timeline.total_delay)
        return self._split(timeline, total, scale * math.sqrt(timeline.rounds))
