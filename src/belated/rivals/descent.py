"""Gradient descent as several methods have it, which differ in their steps alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

from belated.arrays import Code, Floats
from belated.bounds import Bound
from belated.domains import Domain
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import method
from belated.kernels.learners.state import State
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.learner.program import Program
from belated.rivals.base import Rival
from belated.rivals.shared import collect, curved, descend, step_with_arrivals
from belated.timeline import Timeline


@leaf
def _step_fixed(code: Code, s: State, entry: int, ticket: int, cost: Floats) -> None:
    descend(code, s, cost, s.f[F.GAIN])


@leaf
def step_falling(code: Code, s: State, entry: int, ticket: int, cost: Floats) -> None:
    """Step with 1 / (lambda n), or without curvature with GAIN / sqrt n; n counts the gradients."""
    n = s.n[N.ARRIVED]
    descend(code, s, cost, curved(s, n, s.f[F.GAIN] / math.sqrt(float(n))))


@leaf
def collect_gradient(code: Code, s: State, entry: int, ticket: int, cost: Floats) -> None:
    """Collect a gradient; the ``learn`` of methods that step once per round."""
    collect(s, cost)


@leaf
def _step_once(code: Code, s: State) -> None:
    """Step with 1 / (lambda N), N counting all gradients, or without curvature with GAIN."""
    if s.n[N.ARRIVED] > 0:  # else there is no N to divide by
        step_with_arrivals(code, s, curved(s, s.n[N.ARRIVED], s.f[F.GAIN]))


FIXED = method("descent, fixed steps", learn=_step_fixed)
"""x = Pi(x - eta g) for each gradient that arrives."""
FALLING = method("descent, falling steps", learn=step_falling)
"""The same with falling steps."""
ONCE = method("descent, once per round", prepare=_step_once, learn=collect_gradient)
"""x = Pi(x - eta sum of the arrivals) once per round; the own region is ``no_arrivals``."""


@dataclass(frozen=True, repr=False)
class Tuned(Rival):
    """Descent with one step eta: regret <= W^2 / (2 eta) + eta G^2 (T / 2 + d_tot).

    W is the diameter of the set, unless ``_width`` says otherwise. A step tuned for the true T and
    d_tot makes it G W sqrt(T + 2 d_tot).
    """

    domain: Domain
    lipschitz: float
    rounds: int | None = None
    total_delay: int | None = None

    @property
    def _width(self) -> float:
        return self.domain.diameter

    @property
    def step(self) -> float:
        """eta = W / (G sqrt(T + 2 d_tot)), which balances W^2 / eta and the drift."""
        waiting = self._fact("rounds") + 2 * self._fact("total_delay")
        return self._width / (self.lipschitz * math.sqrt(waiting))

    def program(self) -> Program:
        """Return what the kernels run."""
        return self.compiled(FIXED, numbers={F.GAIN: self.step})

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """W^2 / (2 eta) + eta G^2 (T / 2 + d_tot)."""
        price = self.step * self.lipschitz**2
        learning = self._width**2 / (2.0 * self.step) + price * timeline.rounds / 2.0
        return self._split(timeline, learning + price * timeline.total_delay, learning)
