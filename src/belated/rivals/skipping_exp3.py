"""Exp3 that gives up on rounds which come too late (Thune, Cesa-Bianchi and Seldin)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from belated.arrays import Code
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import give_up, method
from belated.kernels.learners.state import State
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.tickets import tail
from belated.learner.program import Program
from belated.rivals.arms import EXPECTED, KEEP, UNIT, Bandit, estimate, exp3_rate, play_arm, weigh

if TYPE_CHECKING:
    from belated.bounds import Bound
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


_METHOD = method("SkippingExp3", prepare=_skip_and_weigh, play=play_arm, learn=estimate)


@dataclass(frozen=True, repr=False)
class SkippingExp3(Bandit, module="rivals"):
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

    title: ClassVar[str] = "skipping Exp3"
    reference: ClassVar[str] = "Thune et al. 2019"
    guarantee: ClassVar[str] = "#S + ln k / eta + eta (k T + delays outside S), in expectation"
    order: ClassVar[str] = "any order; dropped if later than beta; a lost answer is dropped"

    arms: int
    rounds: int | None = None
    total_delay: int | None = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        self._check_arms()
        self._check_facts()

    @property
    def rate(self) -> float:
        """eta = sqrt(ln K / (e K T / 2 + D))."""
        self._demand_facts()
        assert self.rounds is not None and self.total_delay is not None
        return exp3_rate(self.arms, self.rounds, self.total_delay)

    @property
    def threshold(self) -> float:
        """beta = 1 / (2 eta)."""
        return 0.5 / self.rate

    def program(self) -> Program:
        """Return what the kernels run; the own region is Lhat."""
        numbers = {**UNIT, F.ETA: self.rate, _THRESHOLD: self.threshold}
        return self.compiled(_METHOD, own=np.zeros(self.arms), keep=KEEP, numbers=numbers)

    def bound(self, timeline: Timeline) -> Bound | None:
        """|S| + ln K / eta + eta (K T + D')."""
        told = self._informed(timeline)
        kept = timeline.delay <= told.threshold
        learning = math.log(self.arms) / told.rate + told.rate * self.arms * timeline.rounds
        return self._of_unit_losses(
            timeline,
            learning,
            told.rate * float(timeline.delay[kept].sum()),
            EXPECTED,
            skipped=float(timeline.rounds - np.count_nonzero(kept)),
        )
