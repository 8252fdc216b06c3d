"""Agarwal, Dekel and Xiao: gradient descent from two values per round, without delay."""

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
from belated.rivals.base import Feedback, Rival
from belated.rivals.shared import (
    FORGOTTEN,
    IN_EXPECTATION,
    UNCHECKED,
    answers_used,
    check_curvature,
    check_numbers,
    descend_inside,
    estimate_from_pair,
    log,
    play_pair,
    radii,
)

if TYPE_CHECKING:
    from belated.bounds import Bound
    from belated.timeline import Timeline


@leaf
def _learn(code: Code, s: State, entry: int, ticket: int, values: Floats) -> None:
    """Step with 1 / sqrt T, or 1 / (lambda n)."""
    estimate_from_pair(s, ticket, values)
    eta = s.f[F.GAIN]
    if s.f[F.CURVATURE] > 0.0:
        eta = 1.0 / (s.f[F.CURVATURE] * float(answers_used(s)))
    descend_inside(code, s, s.work, eta)


_METHOD = method("AgarwalDekelXiao", play=play_pair, learn=_learn)


@dataclass(frozen=True, repr=False)
class AgarwalDekelXiao(Rival, module="rivals"):
    """Gradient descent from two values per round: it plays y + delta u and y - delta u.

    For each pair of values that arrives, of a round with direction u, y = Pi(y - eta c) onto
    (1 - delta / r) K, c = (k / (2 delta)) (f(y + delta u) - f(y - delta u)) u,
    delta = min{r, ln(e T) / T}, eta = 1 / sqrt(T) or, with ``curvature`` lambda > 0,
    1 / (lambda n) for the n-th pair. u is uniform on the unit sphere, r the inner radius. G
    (``lipschitz``) bounds the gradients; the method itself does not use it. It knows nothing of
    delays, and a round costs the mean of its two values.
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

    title: ClassVar[str] = "Agarwal-Dekel-Xiao"
    reference: ClassVar[str] = "Agarwal, Dekel and Xiao 2010"
    answers: ClassVar[Feedback] = "two values"
    guarantee: ClassVar[str] = (
        "(k^2 G^2 + D^2) sqrt(T) + G ln(e T) (3 + D/r) without delay, in expectation; "
        "with curvature (k^2 G^2/lambda) (1 + ln T) in place of the first term"
    )
    order: ClassVar[str] = FORGOTTEN

    domain: Domain
    lipschitz: float
    rounds: int | None = None
    curvature: float = 0.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_numbers(self, "lipschitz", interior=True)
        check_curvature(self)

    @property
    def smoothing(self) -> float:
        """delta = min{r, ln(e T) / T}."""
        self._demand_facts()
        assert self.rounds is not None
        inner, _ = radii(self)
        return min(inner, (1.0 + log(self.rounds)) / self.rounds)

    def program(self) -> Program:
        """Return what the kernels run."""
        delta = self.smoothing
        assert self.rounds is not None  # known, or there would be no smoothing
        numbers = {F.BREADTH: delta, F.GAIN: 1.0 / math.sqrt(self.rounds)}
        return self.compiled(_METHOD, numbers=numbers, points=2)

    def bound(self, timeline: Timeline) -> Bound | None:
        """The guarantee above without delay; nothing is promised with it."""
        if timeline.total_delay:
            return None
        inner, _ = radii(self)
        logarithm = 1.0 + log(max(1, timeline.rounds))
        diameter, noise = self.domain.diameter, (self.domain.dim * self.lipschitz) ** 2
        if self.curvature > 0.0:
            learning = noise / self.curvature * logarithm
        else:
            learning = (noise + diameter**2) * math.sqrt(timeline.rounds)
        total = learning + self.lipschitz * logarithm * (3.0 + diameter / inner)
        return self._split(timeline, total, total, f"{IN_EXPECTATION}; {UNCHECKED}")
