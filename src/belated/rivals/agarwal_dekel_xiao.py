"""Agarwal, Dekel and Xiao: gradient descent from two values per round, without delay."""

from __future__ import annotations

import math
from dataclasses import dataclass

from belated.bounds import Bound
from belated.domains import Domain
from belated.kernels.slots import floats as F
from belated.learner.program import Program
from belated.rivals.exploring import FROM_PAIRS, IN_EXPECTATION, Exploring
from belated.rivals.shared import check_curvature, log
from belated.timeline import Timeline


@dataclass(frozen=True, repr=False)
class AgarwalDekelXiao(Exploring, module="rivals"):
    """Gradient descent from two values per round: it plays y + delta u and y - delta u.

    For each pair of values that arrives, of a round with direction u, y = Pi(y - eta c) onto
    (1 - delta / r) K, c = (k / (2 delta)) (f(y + delta u) - f(y - delta u)) u,
    delta = min{r, ln(e T) / T}, eta = 1 / sqrt(T) or, with ``curvature`` lambda > 0,
    1 / (lambda n) for the n-th pair. u is uniform on the unit sphere, r the inner radius. G
    (``lipschitz``) bounds the gradients; values that differ by more than it allows are counted. The
    method knows nothing of delays, and a round costs the mean of its two values.
    Guarantee, without delay: expected regret
    <= (k^2 G^2 + D^2) sqrt(T) + G ln(e T) (3 + D / r) or, with curvature,
    <= (k^2 G^2 / lambda) (1 + ln T) + G ln(e T) (3 + D / r), D being the diameter.
    Reference: Agarwal, Dekel and Xiao, "Optimal algorithms for online convex optimization with
    multi-point bandit feedback", COLT 2010.

    Differs from the paper: ln(e T), as ln T is 0 for a single round, and delta is at most r.

    >>> from belated import Ball
    >>> AgarwalDekelXiao(Ball(3), lipschitz=1.0, rounds=1).smoothing
    1.0
    """

    title = "Agarwal-Dekel-Xiao"
    reference = "Agarwal, Dekel and Xiao 2010"
    answers = "two values"
    guarantee = (
        "(k^2 G^2 + D^2) sqrt(T) + G ln(e T) (3 + D/r) without delay, in expectation; "
        "with curvature (k^2 G^2/lambda) (1 + ln T) in place of the first term"
    )

    domain: Domain
    lipschitz: float
    rounds: int | None = None
    curvature: float = 0.0

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        check_curvature(self)

    @property
    def smoothing(self) -> float:
        """delta = min{r, ln(e T) / T}."""
        rounds = self._fact("rounds")
        return min(self._inner, (1.0 + log(rounds)) / rounds)

    @property
    def step(self) -> float:
        """eta = 1 / sqrt(T), without curvature."""
        return 1.0 / math.sqrt(self._fact("rounds"))

    def program(self) -> Program:
        """Return what the kernels run."""
        numbers = {F.BREADTH: self.smoothing, F.GAIN: self.step}
        return self.compiled(FROM_PAIRS, numbers=numbers, points=2)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """D^2 / eta + eta k^2 G^2 T + G delta T (3 + D / r), or the first two as with curvature.

        That is the guarantee above, for any eta and delta. Nothing is promised with delay.
        """
        rounds, diameter = timeline.rounds, self.domain.diameter
        noise = (self.domain.dim * self.lipschitz) ** 2
        if self.curvature > 0.0:
            learning = noise / self.curvature * (1.0 + log(max(1, rounds)))
        else:
            learning = diameter**2 / self.step + self.step * noise * rounds
        blur = self.lipschitz * self.smoothing * rounds * (3.0 + diameter / self._inner)
        return self._without_delay(timeline, learning + blur, IN_EXPECTATION)
