"""Exp3 for late losses, told of the delays or counting them (Thune, Cesa-Bianchi, Seldin)."""

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
from belated.kernels.tickets import sum_open, tail
from belated.learner.program import Program
from belated.rivals.arms import EXPECTED, Bandit, estimate, outside, play_arm, weigh
from belated.timeline import Timeline

_THRESHOLD = F.MINE  # beta
_LOGARITHM = F.MINE + 1  # ln K


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


@leaf
def _tune_and_weigh(code: Code, s: State) -> None:
    """Add the open tickets to S; eta_t = sqrt(ln K / (K t + 2 S_t)), and weigh with it."""
    sum_open(s)
    spread = float(s.z.size * (s.n[N.ROUNDS] + 1) + 2 * s.n[N.PATIENCE])
    s.f[F.ETA] = math.sqrt(s.f[_LOGARITHM] / spread)
    weigh(code, s)


_DELAYED = method("DelayedExp3", prepare=weigh, play=play_arm, exceeds=outside, learn=estimate)
_SKIPPING = method(
    "SkippingExp3", prepare=_skip_and_weigh, play=play_arm, exceeds=outside, learn=estimate
)
_ANYTIME = method(
    "AnytimeExp3", prepare=_tune_and_weigh, play=play_arm, exceeds=outside, learn=estimate
)


@dataclass(frozen=True, repr=False)
class _Exp3(Bandit):
    """What the versions share that are told T and d_tot."""

    reference = "Thune et al. 2019"

    rounds: int | None = None
    total_delay: int | None = None

    @property
    def rate(self) -> float:
        """eta = sqrt(ln K / (K T / 2 + D))."""
        spread = self.arms * self._fact("rounds") / 2.0 + self._fact("total_delay")
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
    and D = d_tot, eta = sqrt(ln K / (K T / 2 + D)), which minimises the guarantee.

    Guarantee: expected regret <= ln K / eta + eta (K T / 2 + D), for every eta, if losses and
    delays do not depend on the draws; told the truth, 2 sqrt((K T / 2 + D) ln K). With q_t the
    weights after all estimates of earlier rounds, their mix losses add up to at most ln K / eta
    more than the best arm. Only the arm a drawn at t has an estimate L; p_t lacks those of the
    rounds open at t, of which only S_a, the sum of those on a, can lower the weight of a:
    q_t(a) >= p_t(a) (1 - eta S_a). So p_t(a) L exceeds the mix loss by at most
    eta p_t(a) (L^2 / 2 + L S_a), in expectation eta (K / 2 + sigma_t).
    Reference: Thune, Cesa-Bianchi and Seldin, "Nonstochastic multiarmed bandits with unrestricted
    delays", NeurIPS 2019.
    Differs from the paper: eta is tuned after the guarantee above, which has K T / 2 where the
    paper has e K T / 2, and which needs no cap 1 / (K e (d_max + 1)) on eta.

    >>> round(DelayedExp3(4, rounds=1000, total_delay=5000).rate, 5)
    0.01407
    """

    title = "delayed Exp3"
    guarantee = "2 sqrt((k T/2 + d_tot) ln k), in expectation"

    def program(self) -> Program:
        """Return what the kernels run."""
        return self._drawing(_DELAYED, {F.ETA: self.rate})

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """ln K / eta + eta (K T / 2 + D)."""
        return self._promise(timeline, math.inf)


@dataclass(frozen=True, repr=False)
class SkippingExp3(_Exp3, module="rivals"):
    """Exp3 that uses only losses with d_t <= beta; see ``DelayedExp3`` for the update.

    With K = ``arms``, losses in [0, 1] and D = d_tot, eta = sqrt(ln K / (K T / 2 + D)) and
    beta = 1 / eta. A round that is still open beta rounds later is given up on, and its loss is
    dropped when it comes.

    Guarantee: expected regret <= |S| + ln K / eta + eta (K (T - |S|) / 2 + D'), S being the rounds
    with d_t > beta and D' the sum of the other delays, if losses and delays do not depend on the
    draws. A round costs eta d_t where it is used and 1 where it is given up on, so no other
    set of rounds is better than S at this eta, and it is never more than that of delayed Exp3.
    Reference: Thune, Cesa-Bianchi and Seldin, "Nonstochastic multiarmed bandits with unrestricted
    delays", NeurIPS 2019.
    Differs from the paper: eta and beta are tuned after the guarantee above; the paper has
    e K T / 2 for K T / 2, beta = 1 / (2 eta), and a cap 1 / (K e (beta + 1)) on eta, which would
    always bind.

    >>> round(SkippingExp3(4, rounds=1000, total_delay=5000).threshold, 2)
    71.06
    """

    title = "skipping Exp3"
    guarantee = (
        "#S + ln k / eta + eta (k (T - #S)/2 + delays outside S), in expectation, S the rounds "
        "later than 1 / eta; at most 2 sqrt((k T/2 + d_tot) ln k)"
    )
    order = "any order; dropped if later than 1 / eta; a lost answer is dropped"

    @property
    def threshold(self) -> float:
        """beta = 1 / eta."""
        return 1.0 / self.rate

    def program(self) -> Program:
        """Return what the kernels run."""
        return self._drawing(_SKIPPING, {F.ETA: self.rate, _THRESHOLD: self.threshold})

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """|S| + ln K / eta + eta (K (T - |S|) / 2 + D')."""
        return self._promise(timeline, self.threshold)


@dataclass(frozen=True, repr=False)
class AnytimeExp3(Bandit, module="rivals"):
    """Exp3 that counts what is late while it runs: p_t prop. to exp(-eta_t Lhat).

    Lhat as in ``DelayedExp3``, K = ``arms``, and with S_t the sum over rounds up to t of the
    tickets then open, eta_t = sqrt(ln K / (K t + 2 S_t)). Nothing to tune, nothing to be told.
    Without delay it is Exp3 with eta_t = sqrt(ln K / (K t)).

    Guarantee: expected regret <= 2 sqrt((K T + 2 d_tot) ln K), if losses and delays do not depend
    on the draws: sqrt(2) times what ``DelayedExp3`` promises that was told T and d_tot. The proof
    there gives ln K / eta_T + sum of eta_t (K / 2 + sigma_t) for every eta_t that never rises.
    Reference: after Thune, Cesa-Bianchi and Seldin, "Nonstochastic multiarmed bandits with
    unrestricted delays", NeurIPS 2019.
    Differs from the paper: which needs T and d_tot, or each delay when its round is played, for a
    doubling scheme. The rule is ours, and takes the place of doubling.

    >>> from belated import Timeline
    >>> round(AnytimeExp3(4).bound(Timeline.from_delays([0] * 400)).total, 2)
    94.19
    """

    title = "anytime Exp3"
    reference = "after Thune et al. 2019"
    guarantee = "2 sqrt((k T + 2 d_tot) ln k), in expectation"

    def program(self) -> Program:
        """Return what the kernels run."""
        return self._drawing(_ANYTIME, {_LOGARITHM: math.log(self.arms)})

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """2 sqrt((K T + 2 d_tot) ln K)."""
        logarithm, prompt = math.log(self.arms), self.arms * timeline.rounds
        learning = 2.0 * math.sqrt(logarithm * prompt)
        total = 2.0 * math.sqrt(logarithm * (prompt + 2 * timeline.total_delay))
        return self._of_unit_losses(timeline, learning, total - learning, EXPECTED)
