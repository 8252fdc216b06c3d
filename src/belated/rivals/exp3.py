"""Exp3 for late losses, tuned for the delays (Thune, Cesa-Bianchi and Seldin)."""

from __future__ import annotations

import math
from dataclasses import dataclass

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
from belated.rivals.arms import EXPECTED, Bandit, estimate, outside, play_arm, weigh
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


_DELAYED = method("DelayedExp3", prepare=weigh, play=play_arm, exceeds=outside, learn=estimate)
_SKIPPING = method(
    "SkippingExp3", prepare=_skip_and_weigh, play=play_arm, exceeds=outside, learn=estimate
)


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

    def _promise(self, timeline: Timeline, most: float) -> Bound:
        """|S| + ln K / eta + eta (K (T - |S|) / 2 + D'), S the rounds later than ``most``."""
        kept = timeline.delay <= most
        used = np.count_nonzero(kept)
        learning = math.log(self.arms) / self.rate + self.rate * self.arms * used / 2.0
        return self._of_unit_losses(
            timeline,
            learning,
            self.rate * float(timeline.delay[kept].sum()),
            EXPECTED,
            skipped=float(timeline.rounds - used),
        )


@dataclass(frozen=True, repr=False)
class DelayedExp3(_Exp3, module="rivals"):
    """Exp3 with losses as they arrive: draw arm a_t from p_t prop. to exp(-eta Lhat).

    When the loss l_s in [0, 1] of round s arrives, Lhat[a_s] += l_s / p_s[a_s]. With K = ``arms``
    and D = d_tot, eta = sqrt(ln K / (e K T / 2 + D)).

    Guarantee: expected regret <= ln K / eta + eta (K T / 2 + D), for every eta, if losses and
    delays do not depend on the draws. With q_t the weights after all estimates of earlier rounds,
    their mix losses add up to at most ln K / eta more than the best arm. Only the arm a drawn at t
    has an estimate L; p_t lacks those of the rounds open at t, of which only S_a, the sum of those
    on a, can lower the weight of a: q_t(a) >= p_t(a) (1 - eta S_a). So p_t(a) L exceeds the mix
    loss by at most eta p_t(a) (L^2 / 2 + L S_a), in expectation eta (K / 2 + sigma_t).
    Reference: Thune, Cesa-Bianchi and Seldin, "Nonstochastic multiarmed bandits with unrestricted
    delays", NeurIPS 2019; the constants of the rate are not checked against the paper.
    Differs from the paper: eta has no cap 1 / (K e (d_max + 1)), which the guarantee does not need.

    >>> round(DelayedExp3(4, rounds=1000, total_delay=5000).rate, 5)
    0.01153
    """

    title = "delayed Exp3"
    guarantee = "ln k / eta + eta (k T/2 + d_tot), in expectation"

    def program(self) -> Program:
        """Return what the kernels run."""
        return self._drawing(_DELAYED, {F.ETA: self.rate})

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """ln K / eta + eta (K T / 2 + D)."""
        return self._promise(timeline, math.inf)


@dataclass(frozen=True, repr=False)
class SkippingExp3(_Exp3, module="rivals"):
    """Exp3 that uses only losses with d_t <= beta; see ``DelayedExp3`` for the update.

    With K = ``arms``, losses in [0, 1] and D = d_tot, beta = sqrt((e K T / 2 + D) / (4 ln K)) and
    eta = sqrt(ln K / (e K T / 2 + D)) = 1 / (2 beta). A round that is still open beta rounds later
    is given up on, and its loss is dropped when it comes.

    Guarantee: expected regret <= |S| + ln K / eta + eta (K (T - |S|) / 2 + D'), S being the rounds
    with d_t > beta and D' the sum of the other delays, if losses and delays do not depend on the
    draws.
    Reference: Thune, Cesa-Bianchi and Seldin, "Nonstochastic multiarmed bandits with unrestricted
    delays", NeurIPS 2019.
    Differs from the paper: eta has no cap 1 / (K e (beta + 1)), which would always bind and which
    the guarantee above does not need. The constant of beta is not checked against the paper.

    >>> round(SkippingExp3(4, rounds=1000, total_delay=5000).threshold, 2)
    43.38
    """

    title = "skipping Exp3"
    guarantee = "#S + ln k / eta + eta (k (T - #S)/2 + delays outside S), in expectation"
    order = "any order; dropped if later than beta; a lost answer is dropped"

    @property
    def threshold(self) -> float:
        """beta = 1 / (2 eta)."""
        return 0.5 / self.rate

    def program(self) -> Program:
        """Return what the kernels run."""
        return self._drawing(_SKIPPING, {F.ETA: self.rate, _THRESHOLD: self.threshold})

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """|S| + ln K / eta + eta (K (T - |S|) / 2 + D')."""
        return self._promise(timeline, self.threshold)
