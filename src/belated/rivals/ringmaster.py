"""Ringmaster: a constant step, and none for gradients that are too stale."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from belated.arrays import Code, Floats
from belated.domains import Domain
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import method, play_point
from belated.kernels.learners.state import State
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.learner.program import Program
from belated.learner.state import Memory
from belated.rivals.base import Rival
from belated.rivals.shared import descend, is_count
from belated.spec import positive

_STALEST = F.MINE  # R
# The own region is the number of steps taken so far; a ticket keeps what it was at its play.


@leaf
def _play_and_remember(code: Code, s: State, entry: int, ticket: int, x: Floats) -> None:
    """Hand out x, and keep how many steps led there."""
    s.kept[entry * s.n[N.KEEP]] = s.own[0]
    play_point(code, s, entry, ticket, x)


@leaf
def _learn(code: Code, s: State, entry: int, ticket: int, cost: Floats) -> None:
    """Step, if at most R steps were taken since the play."""
    if s.own[0] - s.kept[entry * s.n[N.KEEP]] <= s.f[_STALEST]:
        descend(code, s, cost, s.f[F.GAIN])
        s.own[0] += 1.0


_METHOD = method("Ringmaster", play=_play_and_remember, learn=_learn)


def _is_sound(memory: Memory) -> bool:
    """Tell whether steps were counted: at most one per arrival, and none after a play of now."""
    steps = float(memory.own[0])
    arrived = int(memory.n[N.ARRIVED])
    kept = memory.records
    return is_count(steps, arrived) and bool(((kept >= 0.0) & (kept <= steps)).all())


@dataclass(frozen=True, repr=False)
class Ringmaster(Rival, module="rivals"):
    """Asynchronous SGD that drops stale gradients: x = Pi_K(x - gamma g_s) if delta_s <= R.

    delta_s counts the steps taken since the point was handed out at which g_s was computed; a
    gradient that is dropped is no step. gamma is ``step``, R is ``stalest``; with R beyond all
    delays this is plain asynchronous SGD.
    Guarantee: convergence for smooth stochastic losses, in a time that is optimal whatever the
    speeds of the workers, with the numbers of ``tuned``; none on regret.
    Reference: Maranjyan, Tyurin and Richtarik, "Ringmaster ASGD: the first asynchronous SGD with
    optimal time complexity", ICML 2025.

    Differs from the paper: the point is projected on the set.

    >>> from belated import Ball, Learner
    >>> learner = Learner(Ringmaster(Ball(2), step=0.25, stalest=1))
    >>> _ = [learner.predict() for _ in range(3)]
    >>> _ = [learner.observe(ticket, [1.0, 0.0]) for ticket in range(3)]
    >>> learner.predict().x
    array([-0.5,  0. ])
    """

    reference = "Maranjyan, Tyurin and Richtarik 2025"
    guarantee = "convergence, for smooth stochastic losses"
    order = "any order; an answer that is too stale, or lost, counts as zero"

    domain: Domain
    step: float
    stalest: int

    @classmethod
    def tuned(cls, domain: Domain, *, smoothness: float, noise: float, accuracy: float) -> Self:
        """Return the one that finds |grad f|^2 <= eps on average.

        R = max{1, ceil(sigma^2 / eps)} and gamma = min{1 / (2 R L), eps / (4 L sigma^2)}; L is
        ``smoothness``, sigma^2 = ``noise`` the variance of a gradient, eps = ``accuracy``.

        >>> from belated import Ball
        >>> Ringmaster.tuned(Ball(2), smoothness=1.0, noise=1.0, accuracy=0.25)
        rivals.Ringmaster(domain=Ball(dim=2), step=0.0625, stalest=4)
        """
        given = {"smoothness": smoothness, "noise": noise, "accuracy": accuracy}
        steep, spread, eps = (positive(cls.kind, name, value) for name, value in given.items())
        stalest = max(1, math.ceil(spread / eps))
        step = min(1.0 / (2.0 * stalest * steep), eps / (4.0 * steep * spread))
        return cls(domain, step, stalest)

    def program(self) -> Program:
        """Return what the kernels run."""
        return self.compiled(
            _METHOD,
            own=np.zeros(1),
            keep=1,
            numbers={F.GAIN: self.step, _STALEST: float(self.stalest)},
            sound=_is_sound,
        )
