"""Shamir: two values per round, with the best dependence on the dimension, without delay."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

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
    check_numbers,
    descend_inside,
    estimate_from_pair,
    play_pair,
    radii,
)


@leaf
def _learn(code: Code, s: State, entry: int, ticket: int, values: Floats) -> None:
    """Step with the fixed step size."""
    estimate_from_pair(s, ticket, values)
    descend_inside(code, s, s.work, s.f[F.GAIN])


_METHOD = method("Shamir", play=play_pair, learn=_learn)


@dataclass(frozen=True, repr=False)
class Shamir(Rival, module="rivals"):
    """Gradient descent from two values per round: it plays y + delta u and y - delta u.

    For each pair of values that arrives, of a round with direction u, y = Pi(y - eta c) onto
    (1 - delta / r) K, c = (k / (2 delta)) (f(y + delta u) - f(y - delta u)) u,
    eta = R / (G sqrt(k T)) and delta = r min{1, sqrt(k / T)}. u is uniform on the unit sphere, r
    and R are the inner and the outer radius of the set, G (``lipschitz``) bounds the gradients. The
    method knows nothing of delays.
    Guarantee, without delay: expected regret O(G R sqrt(k T)), if a round costs f(y).
    Reference: Shamir, "An optimal algorithm for bandit and zero-order convex optimization with
    two-point feedback", JMLR 2017.

    Differs from the paper: its condition is delta <= R sqrt(k / T); here delta is such that the
    played points stay in the set, which y is shrunk for.

    >>> from belated import Ball
    >>> Shamir(Ball(4), lipschitz=1.0, rounds=64).smoothing
    0.25
    """

    title: ClassVar[str] = "Shamir"
    reference: ClassVar[str] = "Shamir 2017"
    answers: ClassVar[Feedback] = "two values"
    guarantee: ClassVar[str] = "O(G R sqrt(k T)) without delay, in expectation"
    order: ClassVar[str] = FORGOTTEN

    domain: Domain
    lipschitz: float
    rounds: int | None = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_numbers(self, "lipschitz", interior=True)

    @property
    def smoothing(self) -> float:
        """delta = r min{1, sqrt(k / T)}."""
        self._demand_facts()
        assert self.rounds is not None
        inner, _ = radii(self)
        return inner * min(1.0, math.sqrt(self.domain.dim / self.rounds))

    def program(self) -> Program:
        """Return what the kernels run."""
        delta = self.smoothing
        assert self.rounds is not None  # known, or there would be no smoothing
        _, outer = radii(self)
        step = outer / (self.lipschitz * math.sqrt(self.domain.dim * self.rounds))
        return self.compiled(_METHOD, numbers={F.BREADTH: delta, F.GAIN: step}, points=2)
