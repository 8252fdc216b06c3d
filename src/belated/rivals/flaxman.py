"""Flaxman, Kalai and McMahan: gradient descent from one value per round, without delay."""

from __future__ import annotations

import math
from dataclasses import dataclass

from belated.arrays import Code, Floats
from belated.bounds import Bound
from belated.domains import Domain
from belated.kernels.directions import direction
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import method
from belated.kernels.learners.state import State
from belated.kernels.slots import floats as F
from belated.learner.program import Program
from belated.rivals.exploring import IN_EXPECTATION, Exploring, descend_inside, play_around
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
class Flaxman(Exploring, module="rivals"):
    """Bandit gradient descent, tuned for Lipschitz losses: it plays y + delta u.

    For each value f that arrives, of a round with direction u,
    y = Pi(y - nu f u) onto (1 - delta / r) K, where nu = R / (M sqrt T),
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

    title = "Flaxman-Kalai-McMahan"
    reference = "Flaxman, Kalai and McMahan 2005"
    answers = "value"
    guarantee = "2 T^(3/4) sqrt(3 R k M (G + M/r)) without delay, in expectation"

    domain: Domain
    magnitude: float
    lipschitz: float
    rounds: int | None = None

    @property
    def smoothing(self) -> float:
        """delta = min{r, T^(-1/4) sqrt(R k M r / (3 (G r + M)))}."""
        slope = 3.0 * (self.lipschitz * self._inner + self.magnitude)
        share = self._outer * self.domain.dim * self.magnitude * self._inner / slope
        return min(self._inner, math.sqrt(share / math.sqrt(self._fact("rounds"))))

    @property
    def step(self) -> float:
        """nu = R / (M sqrt T)."""
        return self._outer / (self.magnitude * math.sqrt(self._fact("rounds")))

    def program(self) -> Program:
        """Return what the kernels run."""
        return self.compiled(_METHOD, numbers={F.BREADTH: self.smoothing, F.GAIN: self.step})

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """R^2 k / (2 nu delta) + nu k M^2 T / (2 delta) + 3 delta T (G + M / r) without delay.

        Nothing is promised with it.
        """
        delta, rounds = self.smoothing, timeline.rounds
        noise = self._outer**2 / self.step + self.step * self.magnitude**2 * rounds
        slope = self.lipschitz + self.magnitude / self._inner
        total = self.domain.dim * noise / (2.0 * delta) + 3.0 * delta * rounds * slope
        return self._without_delay(timeline, total, IN_EXPECTATION)
