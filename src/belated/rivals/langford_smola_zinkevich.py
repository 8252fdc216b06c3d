"""Langford, Smola and Zinkevich: gradient steps with gradients of a fixed age."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from belated.arrays import Code
from belated.bounds import Bound
from belated.domains import Domain
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import method
from belated.kernels.learners.state import State
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import status as S
from belated.learner.program import Program
from belated.rivals.base import UNCHECKED, Rival
from belated.rivals.descent import step_falling
from belated.rivals.shared import check_curvature, log
from belated.timeline import Timeline

_DELAY = F.MINE  # where tau is kept


@leaf
def _oldest_in_time(code: Code, s: State, entry: int, ticket: int) -> int:
    """Take the oldest open ticket only, and no later than told."""
    late = s.n[N.ROUNDS] - 1 - ticket > s.f[_DELAY]
    return S.OUT_OF_ORDER if late or ticket != s.n[N.ARRIVED] else S.USED


_METHOD = method("LangfordSmolaZinkevich", accepts=_oldest_in_time, learn=step_falling)


@dataclass(frozen=True, repr=False)
class LangfordSmolaZinkevich(Rival, module="rivals"):
    """Slow learners: x_{t+1} = Pi_K(x_t - eta_n g_{t-tau}) for the fixed delay tau = ``delay``.

    n = t - tau counts the gradients applied, and with F = D / sqrt(2)

    * ``curvature`` = 0: eta_n = sigma / sqrt(n), sigma = F / (G sqrt(2 max(tau, 1)));
    * ``curvature`` = lambda > 0: eta_n = 1 / (lambda n).

    Answers must come in ticket order and no later than told; earlier ones are taken, since the end
    of a game may bring them.

    Guarantee: sigma G^2 sqrt(T) + F^2 sqrt(T) / sigma + G^2 sigma tau^2 / 2 +
    2 G^2 sigma tau sqrt(T); with curvature lambda tau F^2 +
    (1/2 + tau) (G^2 / lambda) (1 + tau + ln T).
    Reference: Langford, Smola and Zinkevich, "Slow learners are fast", NeurIPS 2009.
    Differs from the paper: max(tau, 1), as tau = 0 would divide by zero.

    >>> from belated import Ball
    >>> LangfordSmolaZinkevich(Ball(3), lipschitz=1.0, delay=4).sigma
    0.5
    """

    title = "Langford-Smola-Zinkevich"
    reference = "Langford, Smola and Zinkevich 2009"
    guarantee = (
        "2 sqrt(2) G D sqrt(d T) for T >= d^2; with curvature "
        "lambda d D^2/2 + (1/2 + d) (G^2/lambda) (1 + d + ln T)"
    )
    order = "in order, at most as late as told, else refused; a lost answer is zero"

    domain: Domain
    lipschitz: float
    delay: int | None = None
    curvature: float = 0.0

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        check_curvature(self)

    @property
    def sigma(self) -> float:
        """F / (G sqrt(2 max(tau, 1))), F = D / sqrt(2)."""
        return self.domain.diameter / (
            2.0 * self.lipschitz * math.sqrt(max(self._fact("delay"), 1))
        )

    def program(self) -> Program:
        """Return what the kernels run."""
        numbers = {F.GAIN: self.sigma, _DELAY: float(self._fact("delay"))}
        return self.compiled(_METHOD, numbers=numbers)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """See the class; sigma is that of the steps, tau the largest delay. None if it refuses."""
        rounds = timeline.rounds
        if timeline.max_delay > self._fact("delay") or (np.diff(timeline.order) < 0).any():
            return None
        total = self._regret(rounds, timeline.max_delay)
        return self._split(timeline, total, self._regret(rounds, 0), UNCHECKED)

    def _regret(self, rounds: int, delay: int) -> float:
        square = self.lipschitz**2
        f = self.domain.diameter / math.sqrt(2.0)
        if self.curvature > 0.0:
            growth = 1.0 + delay + log(max(rounds, 1))
            return self.curvature * delay * f**2 + (0.5 + delay) * square / self.curvature * growth
        root, sigma = math.sqrt(rounds), self.sigma
        drift = square * sigma * (delay**2 / 2.0 + 2.0 * delay * root)
        return sigma * square * root + f**2 * root / sigma + drift
