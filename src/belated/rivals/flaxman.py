"""Flaxman, Kalai and McMahan: gradient descent from one value per round, without delay."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from belated.arrays import Code, Floats
from belated.domains import Domain
from belated.kernels.directions import direction
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import method
from belated.kernels.learners.state import State
from belated.kernels.slots import floats as F
from belated.learner.program import Program
from belated.rivals.base import Feedback, Rival
from belated.rivals.shared import (
    FORGOTTEN,
    IN_EXPECTATION,
    UNCHECKED,
    check_numbers,
    descend_inside,
    play_around,
    radii,
)

if TYPE_CHECKING:
    from belated.bounds import Bound
    from belated.timeline import Timeline


@leaf
def _learn(code: Code, s: State, entry: int, ticket: int, values: Floats) -> None:
    """Step against f u."""
    direction(s, ticket)
    for i in range(s.work.size):
        s.work[i] *= values[0]
    descend_inside(code, s, s.work, s.f[F.GAIN])


_METHOD = method("Flaxman", play=play_around, learn=_learn)


@dataclass(frozen=True, repr=False)
class Flaxman(Rival, module="rivals"):
    """Bandit gradient descent, tuned for Lipschitz losses: it plays y + delta u.

    For each value f that arrives, of a round with direction u,
    y = Pi(y - (R / (M sqrt T)) f u) onto (1 - delta / r) K, where
    delta = min{r, T^(-1/4) sqrt(R k M r / (3 (G r + M)))} and u is uniform on the unit sphere. M
    (``magnitude``) bounds the values, G (``lipschitz``) the gradients; r and R are the inner and
    the outer radius of the set. The factor k / delta of a gradient's estimate is part of the step.
    The method knows nothing of delays.
    Guarantee, without delay: expected regret <= 2 T^(3/4) sqrt(3 R k M (G + M / r)).
    Reference: Flaxman, Kalai and McMahan, "Online convex optimization in the bandit setting:
    gradient descent without a gradient", SODA 2005.

    Differs from the paper: delta is at most r, which their condition on T ensures.

    >>> from belated import Ball
    >>> Flaxman(Ball(3), magnitude=1.0, lipschitz=1.0, rounds=4).smoothing
    0.5
    """

    title: ClassVar[str] = "Flaxman-Kalai-McMahan"
    reference: ClassVar[str] = "Flaxman, Kalai and McMahan 2005"
    answers: ClassVar[Feedback] = "value"
    guarantee: ClassVar[str] = "2 T^(3/4) sqrt(3 R k M (G + M/r)) without delay, in expectation"
    order: ClassVar[str] = FORGOTTEN

    domain: Domain
    magnitude: float
    lipschitz: float
    rounds: int | None = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_numbers(self, "magnitude", "lipschitz", interior=True)

    @property
    def smoothing(self) -> float:
        """delta = min{r, T^(-1/4) sqrt(R k M r / (3 (G r + M)))}."""
        self._demand_facts()
        assert self.rounds is not None
        inner, outer = radii(self)
        slope = 3.0 * (self.lipschitz * inner + self.magnitude)
        share = outer * self.domain.dim * self.magnitude * inner / slope
        return min(inner, math.sqrt(share / math.sqrt(self.rounds)))

    def program(self) -> Program:
        """Return what the kernels run."""
        delta = self.smoothing
        assert self.rounds is not None  # known, or there would be no smoothing
        _, outer = radii(self)
        step = outer / (self.magnitude * math.sqrt(self.rounds))
        return self.compiled(_METHOD, numbers={F.BREADTH: delta, F.GAIN: step})

    def bound(self, timeline: Timeline) -> Bound | None:
        """2 T^(3/4) sqrt(3 R k M (G + M / r)) without delay; nothing is promised with it."""
        if timeline.total_delay:
            return None
        inner, outer = radii(self)
        slope = self.lipschitz + self.magnitude / inner
        inside = 3.0 * outer * self.domain.dim * self.magnitude * slope
        root = math.sqrt(timeline.rounds)
        total = 2.0 * root * math.sqrt(root) * math.sqrt(inside)
        return self._split(timeline, total, total, f"{IN_EXPECTATION}; {UNCHECKED}")
