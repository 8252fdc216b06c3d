"""Exp3 for late losses, tuned for the delays (Thune, Cesa-Bianchi and Seldin)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from belated.kernels.learners.methods import method
from belated.kernels.slots import floats as F
from belated.learner.program import Program
from belated.rivals.arms import EXPECTED, KEEP, UNIT, Bandit, estimate, exp3_rate, play_arm, weigh

if TYPE_CHECKING:
    from belated.bounds import Bound
    from belated.timeline import Timeline

_METHOD = method("DelayedExp3", prepare=weigh, play=play_arm, learn=estimate)


@dataclass(frozen=True, repr=False)
class DelayedExp3(Bandit, module="rivals"):
    """Exp3 with losses as they arrive: draw arm a_t from p_t prop. to exp(-eta Lhat).

    When the loss l_s in [0, 1] of round s arrives, Lhat[a_s] += l_s / p_s[a_s]. With K = ``arms``
    and D = d_tot, eta = min(sqrt(ln K / (e K T / 2 + D)), 1 / (K e (d_max + 1))).

    Guarantee: expected regret <= ln K / eta + eta (K T + D), for every eta, if losses and delays do
    not depend on the draws. With q_t the weights after all estimates of rounds 1 .. t, playing q_t
    costs at most ln K / eta more than the best arm; p_t lacks the estimates of the rounds open at t
    and its own, so q_t(i) >= p_t(i) (1 - eta sum of these), and what this costs has expectation at
    most eta K for the own estimate and eta for each open round.
    Reference: Thune, Cesa-Bianchi and Seldin, "Nonstochastic multiarmed bandits with unrestricted
    delays", NeurIPS 2019; the constants of the rate are not checked against the paper.

    >>> round(DelayedExp3(4, rounds=1000, total_delay=5000, max_delay=5).rate, 5)
    0.01153
    """

    title: ClassVar[str] = "delayed Exp3"
    reference: ClassVar[str] = "Thune et al. 2019"
    guarantee: ClassVar[str] = "ln k / eta + eta (k T + d_tot), in expectation"

    arms: int
    rounds: int | None = None
    total_delay: int | None = None
    max_delay: int | None = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        self._check_arms()
        self._check_facts()

    @property
    def rate(self) -> float:
        """eta = min(sqrt(ln K / (e K T / 2 + D)), 1 / (K e (d_max + 1)))."""
        self._demand_facts()
        assert self.rounds is not None and self.total_delay is not None
        assert self.max_delay is not None
        cap = 1.0 / (self.arms * math.e * (self.max_delay + 1))
        return min(exp3_rate(self.arms, self.rounds, self.total_delay), cap)

    def program(self) -> Program:
        """Return what the kernels run; the own region is Lhat."""
        return self.compiled(
            _METHOD, own=np.zeros(self.arms), keep=KEEP, numbers={**UNIT, F.ETA: self.rate}
        )

    def bound(self, timeline: Timeline) -> Bound | None:
        """ln K / eta + eta (K T + D)."""
        eta = self._informed(timeline).rate
        learning = math.log(self.arms) / eta + eta * self.arms * timeline.rounds
        return self._of_unit_losses(timeline, learning, eta * timeline.total_delay, EXPECTED)
