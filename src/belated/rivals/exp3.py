"""Exp3 for late losses, tuned for the delays (Thune, Cesa-Bianchi and Seldin)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from belated.arrays import Code
from belated.bounds import Bound
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import give_up, method
from belated.kernels.learners.state import State
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.tickets import tail
from belated.learner.program import Program
from belated.rivals.arms import EXPECTED, Bandit, estimate, play_arm, weigh
from belated.timeline import Timeline

_THRESHOLD = F.MINE  # beta


@leaf
def _skip_and_weigh(code: Code, s: State) -> None:
    """Give up on every open s with t - s > beta, from the oldest on; then weigh."""
    head, end = s.n[N.HEAD], tail(s)
    while head < end:
        is_open = s.table[2 * head + 1] >= 0
        if is_open and not s.n[N.ROUNDS] - s.table[2 * head] > s.f[_THRESHOLD]:
            break
        if is_open:
            give_up(code, s, head)
        head += 1
    s.n[N.HEAD] = head
    weigh(code, s)


_DELAYED = method("DelayedExp3", prepare=weigh, play=play_arm, learn=estimate)
_SKIPPING = method("SkippingExp3", prepare=_skip_and_weigh, play=play_arm, learn=estimate)


@dataclass(frozen=True, repr=False)
class _Exp3(Bandit):
    """What the two versions share."""

    reference = "Thune et al. 2019"

    rounds: int | None = None
    total_delay: int | None = None

    @property
    def rate(self) -> float:
        """eta = sqrt(ln K / (e K T / 2 + D))."""
        spread = math.e * self.arms * self._fact("rounds") / 2.0 + self._fact("total_delay")
        return math.sqrt(math.log(self.arms) / spread)

    def _informed(self, timeline: Timeline) -> Self:
        """Return the same method, told what it still has to know of these delays."""
        missing = any(getattr(self, name) is None for name in self.facts())
        return self.told(timeline) if missing else self

    def _promise(self, timeline: Timeline, most: float) -> Bound:
        """|S| + ln K / eta + eta (K T + D'), S being the rounds with a delay above ``most``."""
        kept = timeline.delay <= most
        learning = math.log(self.arms) / self.rate + self.rate * self.arms * timeline.rounds
        return self._of_unit_losses(
            timeline,
            learning,
            self.rate * float(timeline.delay[kept].sum()),
            EXPECTED,
            skipped=float(timeline.rounds - np.count_nonzero(kept)),
        )


@dataclass(frozen=True, repr=False)
class DelayedExp3(_Exp3, module="rivals"):
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

    title = "delayed Exp3"
    guarantee = "ln k / eta + eta (k T + d_tot), in expectation"

    max_delay: int | None = None

    @property
    def rate(self) -> float:
        """eta = min(sqrt(ln K / (e K T / 2 + D)), 1 / (K e (d_max + 1)))."""
        cap = 1.0 / (self.arms * math.e * (self._fact("max_delay") + 1))
        return min(super().rate, cap)

    def program(self) -> Program:
        """Return what the kernels run."""
        return self._drawing(_DELAYED, {F.ETA: self.rate})

    def bound(self, timeline: Timeline) -> Bound | None:
        """ln K / eta + eta (K T + D)."""
        return self._informed(timeline)._promise(timeline, math.inf)


@dataclass(frozen=True, repr=False)
class SkippingExp3(_Exp3, module="rivals"):
    """Exp3 that uses only losses with d_t <= beta; see ``DelayedExp3`` for the update.

    With K = ``arms``, losses in [0, 1] and D = d_tot, beta = sqrt((e K T / 2 + D) / (4 ln K)) and
    eta = sqrt(ln K / (e K T / 2 + D)) = 1 / (2 beta). A round that is still open beta rounds later
    is given up on, and its loss is dropped when it comes.

    Guarantee: expected regret <= |S| + ln K / eta + eta (K T + D'), S being the rounds with
    d_t > beta and D' the sum of the other delays, if losses and delays do not depend on the draws.
    Reference: Thune, Cesa-Bianchi and Seldin, "Nonstochastic multiarmed bandits with unrestricted
    delays", NeurIPS 2019.
    Differs from the paper: eta has no cap 1 / (K e (beta + 1)), which would always bind and which
    the guarantee above does not need. The constant of beta is not checked against the paper.

    >>> round(SkippingExp3(4, rounds=1000, total_delay=5000).threshold, 2)
    43.38
    """

    title = "skipping Exp3"
    guarantee = "#S + ln k / eta + eta (k T + delays outside S), in expectation"
    order = "any order; dropped if later than beta; a lost answer is dropped"

    @property
    def threshold(self) -> float:
        """beta = 1 / (2 eta)."""
        return 0.5 / self.rate

    def program(self) -> Program:
        """Return what the kernels run."""
        return self._drawing(_SKIPPING, {F.ETA: self.rate, _THRESHOLD: self.threshold})

    def bound(self, timeline: Timeline) -> Bound | None:
        """|S| + ln K / eta + eta (K T + D')."""
        told = self._informed(timeline)
        return told._promise(timeline, told.threshold)
