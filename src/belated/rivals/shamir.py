"""Shamir: two values per round, with the best dependence on the dimension, without delay."""

from __future__ import annotations

import math
from dataclasses import dataclass

from belated.domains import Domain
from belated.kernels.slots import floats as F
from belated.learner.program import Program
from belated.rivals.exploring import FROM_PAIRS, Exploring


@dataclass(frozen=True, repr=False)
class Shamir(Exploring, module="rivals"):
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

    reference = "Shamir 2017"
    answers = "two values"
    guarantee = "O(G R sqrt(k T)) without delay, in expectation"

    domain: Domain
    lipschitz: float
    rounds: int | None = None

    @property
    def smoothing(self) -> float:
        """delta = r min{1, sqrt(k / T)}."""
        return self._inner * min(1.0, math.sqrt(self.domain.dim / self._fact("rounds")))

    def program(self) -> Program:
        """Return what the kernels run."""
        root = math.sqrt(self.domain.dim * self._fact("rounds"))
        numbers = {F.BREADTH: self.smoothing, F.GAIN: self._outer / (self.lipschitz * root)}
        return self.compiled(FROM_PAIRS, numbers=numbers, points=2)
