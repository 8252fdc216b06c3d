"""Published methods for experts, and others after Flaspohler et al. that tune in turn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from belated.bounds import Bound
from belated.core import rival_experts as core
from belated.domains import Domain
from belated.errors import SpecError
from belated.rivals.base import UNCHECKED, Hint, Mirror, OnArms, Regularises, check_mirror
from belated.timeline import Timeline


def waiting(timeline: Timeline) -> int:
    """Return the most rounds before a play whose turn has not come yet.

    The turn of a round comes once it and all earlier ones are answered, so these are all from the
    oldest open ticket on.

    >>> from belated import Timeline
    >>> waiting(Timeline.from_delays([2, 0, 0]))
    2
    """
    events = timeline.events
    rounds = timeline.rounds
    place = np.empty((2, rounds), dtype=np.int64)
    predicted = events >= 0
    place[0, events[predicted]] = np.flatnonzero(predicted)
    place[1, ~events[~predicted]] = np.flatnonzero(~predicted)
    turns = np.searchsorted(np.maximum.accumulate(place[1]), place[0])
    return int((np.arange(rounds) - turns).max(initial=0))


class Hedging(OnArms):
    """A rival that plays softmin(theta, lambda) and tunes lambda in turn."""

    reference = "Flaspohler et al. 2021"
    memory = "three vectors per ticket from the oldest open one on"
    guarantee = (
        "8 m + 2 sqrt((4 + ln k) T + 2 d_tot ln k), m the most rounds from the oldest open one to "
        "a play"
    )
    order = (
        "any order; the step size stands still from the oldest open ticket on; a lost answer "
        "counts as zero"
    )
    _player: ClassVar[type[core.Hedging]]

    def player(self, seed: int, strict: bool) -> core.Hedging:
        """Return what plays."""
        return self._player(self._setting(seed, strict, mirror="entropy"))

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """2 (4 m + sqrt(4 T + 2 ln K (T / 2 + d_tot))), m as ``waiting`` gives it.

        It is 2 (2 max_s sum_{j in W_s} a_j + sqrt(sum_s (a_s^2 + 2 ln K b_s))) with the symbols of
        ``DUB``; for losses in [0, 1], a_s <= 2 and b_s <= |P_s| - 1/2.
        """
        rounds, logarithm = timeline.rounds, math.log(self.arms)
        late = 2.0 * logarithm * timeline.total_delay
        learning = 2.0 * math.sqrt((4.0 + logarithm) * rounds)
        total = 8.0 * waiting(timeline) + 2.0 * math.sqrt((4.0 + logarithm) * rounds + late)
        note = f"losses in [0, 1]; {UNCHECKED}"
        return self._of_unit_losses(timeline, learning, total - learning, note)


class _Matching(OnArms):
    """What the two versions share."""

    reference = "Flaspohler et al. 2021"
    memory = "the play of every open ticket"
    hint: Hint

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        self._check_choice("hint", "none", "recent")


@dataclass(frozen=True, repr=False)
class DORM(_Matching, module="rivals"):
    """Delayed optimistic regret matching: w_t prop. to max(0, sum of received r_s + h_t)^(q - 1).

    r_s = <c_s, w_s> - c_s is what each of K = ``arms`` experts would have saved in round s, q is
    ``power``; where all are zero the play is uniform. No learning rate. ``hint="recent"`` guesses
    the missing regrets and the coming one by the last one received, h_t = (open + 1) r_last.

    Guarantee, losses in [0, 1]: regret <= sqrt((q - 1) sum_n (|r_n|^2 + 2 |r_n| |h_n - sum_m r_m|))
    in the q-norm, m running over the arrivals between play and arrival of n. That is at most
    K^(1/q) sqrt((q - 1) (T + 2 d_tot)), with hints K^(1/q) sqrt((q - 1) (3 T + 4 d_tot)); q near
    2 ln K gives sqrt(ln K) in the place of sqrt(K).
    Reference: Flaspohler et al., "Online learning with optimism and delay", ICML 2021.
    Differs from the authors' code: a round without arrivals keeps the regrets collected so far.

    >>> from belated import Timeline
    >>> DORM(4).bound(Timeline.from_delays([0] * 100)).total
    20.0
    """

    guarantee = "k^(1/q) sqrt((q - 1) (T + 2 d_tot)), without hints"

    power: float = 2.0
    hint: Hint = "none"

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        if self.power < 2.0:
            raise SpecError(f"{self.kind}: power must be at least 2, got {self.power!r}")

    def player(self, seed: int, strict: bool) -> core.DORM:
        """Return what plays."""
        setting = self._setting(seed, strict, mirror="entropy")
        return core.DORM(setting, self.hint == "recent", self.power - 1.0)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """K^(1/q) sqrt((q - 1) (T + 2 d_tot)), or with hints (3 T + 4 d_tot)."""
        first, late = (1.0, 2.0) if self.hint == "none" else (3.0, 4.0)
        scale = self.arms ** (1.0 / self.power) * math.sqrt(self.power - 1.0)
        learning = scale * math.sqrt(first * timeline.rounds)
        total = scale * math.sqrt(first * timeline.rounds + late * timeline.total_delay)
        return self._of_unit_losses(timeline, learning, total - learning)


@dataclass(frozen=True, repr=False)
class DORMPlus(_Matching, module="rivals"):
    """Delayed optimistic regret matching plus: p <- max(0, p + r_s + h_new - h_old).

    The play is p / sum(p), uniform while p is zero, as at the start; r_s = <c_s, w_s> - c_s is what
    each of K = ``arms`` experts would have saved in round s. There is one step for every arrival,
    and one with the hints alone in a round before which nothing arrived; no learning rate.
    ``hint="recent"`` guesses the missing regrets and the coming one by the last one received,
    h = (open + 1) r_last.

    Guarantee, losses in [0, 1], without hints: regret <= sqrt(K (T + 2 d_tot)): |p|^2 grows by at
    most 2 <p, r_n> + |r_n|^2, the p of the play is orthogonal to r_n, and p moved by at most |r_m|
    per arrival since.
    Reference: Flaspohler et al., "Online learning with optimism and delay", ICML 2021.

    >>> from belated import Timeline
    >>> DORMPlus(4).bound(Timeline.from_delays([0] * 100)).total
    20.0
    """

    title = "DORM+"
    guarantee = "sqrt(k (T + 2 d_tot)), without hints"

    hint: Hint = "none"

    def player(self, seed: int, strict: bool) -> core.DORMPlus:
        """Return what plays."""
        setting = self._setting(seed, strict, mirror="entropy")
        return core.DORMPlus(setting, self.hint == "recent")

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """sqrt(K (T + 2 d_tot)); None with hints."""
        if self.hint != "none":
            return None
        learning = math.sqrt(self.arms * timeline.rounds)
        total = math.sqrt(self.arms * (timeline.rounds + 2 * timeline.total_delay))
        return self._of_unit_losses(timeline, learning, total - learning)


@dataclass(frozen=True, repr=False)
class DUB(Hedging, module="rivals"):
    """Delayed upper bound: w_t prop. to exp(-theta / lambda_t), theta the sum of costs received.

    With P_s the rounds pending when round s is played, itself included, largest entries as norms,
    e_s = sum of the g_j in P_s, a_s = 2 min(|g_s|, |e_s|), b_s = huber(|e_s|, |g_s|),
    huber(x, y) = x^2 / 2 - max(x - y, 0)^2 / 2, and K = ``arms`` experts,

        lambda = (2 max_s sum_{j in W_s} a_j + sqrt(sum_s (a_s^2 + 2 ln K b_s))) / ln K

    over the rounds s that are answered together with all earlier ones; W_s are the rounds before s
    that did not count yet when s was played. lambda = 0 at the start (uniform over the smallest
    theta_i). Nothing to tune. From an answer that never comes, lambda stands still, and what is
    received goes on to be used: ``cancel`` the ticket to let it grow. Guarantee: regret
    <= 2 ln K lambda_T; for losses in [0, 1] at most 2 (4 m + sqrt(4 T + 2 ln K (T / 2 + d_tot))), m
    being the most rounds from the oldest open one to a play.
    Reference: Flaspohler et al., "Online learning with optimism and delay", ICML 2021.
    Differs from the paper: any delays; and lambda = 0 is exact, not below 1e-8 as in their code.

    >>> from belated import Timeline
    >>> round(DUB(3).bound(Timeline.from_delays([0] * 100)).total, 3)
    45.16
    """

    _player = core.DUB


@dataclass(frozen=True, repr=False)
class AdaHedgeD(Hedging, module="rivals"):
    """AdaHedge with delays: w_t prop. to exp(-theta / lambda_t), theta the sum of costs received.

    lambda = 0 at the start (uniform over the smallest theta_i), and grows in ticket order: by round
    s once it and all earlier rounds are answered. With L_s the sum of their costs, w_s, lambda_s
    and theta_s those of the play, e = theta_s - L_s is minus the sum of all that was pending then.
    With K = ``arms`` experts and largest entries as norms, lambda grows by
    max(0, min(drift, aux, hat)) / ln K:

    * drift = <g_s, w_s - softmin(L_s / lambda_s)>;
    * aux = gap(e, w_s), gap(e, w) = lambda_s ln(sum_i w_i exp(e_i / lambda_s)) - <e, w>;
    * hat = gap(c e, w') + <g_s, w_s - w'>, c = min(1, |g_s| / |e|),
      w' = softmin((L_s + c e) / lambda_s).

    Nothing to tune. From an answer that never comes, lambda stands still, and what is received goes
    on to be used: ``cancel`` the ticket to let it grow. Guarantee: regret <= 2 ln K lambda_T; for
    losses in [0, 1] at most 2 (4 m + sqrt(4 T + 2 ln K (T / 2 + d_tot))), m being the most rounds
    from the oldest open one to a play; of order sqrt((d + 1) T ln K) under a fixed delay d.
    Reference: Flaspohler et al., "Online learning with optimism and delay", ICML 2021.
    Differs from the paper: any delays; and lambda = 0 is exact, not below 1e-8 as in their code.

    >>> from belated import Timeline
    >>> round(AdaHedgeD(3).bound(Timeline.from_delays([0] * 100)).total, 3)
    45.16
    """

    _player = core.AdaHedgeD


@dataclass(frozen=True, repr=False)
class LearnedHints(Regularises, module="rivals"):
    """ODFTRL with learned hints: x_t = argmin_K <sum of received g_s + H_t w_t, x> + lambda psi(x).

    The columns of H_t are what three hinters take the missing gradients and the coming one to add
    up to: nothing, (open + 1) times the last one received, and as many times their mean. lambda is
    ``strength``, psi as in ``ODFTRL``. The weights w_t of the hinters are those of DORM+ with the
    losses |g_t| |H_t w - G_t|, where G_t is the sum of all gradients that the play of round t
    lacked, its own included: p_j <- max(0, p_j + <c_t, w_t> - c_tj), c_t their slope at w_t, and
    w is p over its sum, 1/3 each while that is zero. Norms are Euclidean, with the entropy the
    largest entry. ``lipschitz`` G, where it is given, is used by the bound, and larger gradients
    are counted.

    Guarantee: regret <= lambda max psi + (sum_t |g_t| |H_t w - G_t| + E) / lambda for every fixed
    mixture w, where E = sqrt(sum_t |r_t| (|r_t| + 2 sum_s |r_s|)) with r_t the change of p before
    it is cut off and s the rounds whose turn came between play and turn of t; and never more than
    lambda max psi + G^2 (3 T / 2 + 2 d_tot) / lambda.
    Reference: Flaspohler et al., "Online learning with optimism and delay", ICML 2021, section on
    learning to hint.
    Differs from the authors' code: any delays; hints are learned in the order of tickets, as far as
    they are answered; the slope for the largest entry looks at its size, not at its value.

    >>> from belated import Ball, Timeline
    >>> spec = LearnedHints(Ball(3), strength=20.0, lipschitz=1.0)
    >>> spec.bound(Timeline.from_delays([0] * 100)).total
    17.5
    """

    title = "ODFTRL, learned hints"
    reference = "Flaspohler et al. 2021"
    memory = "three vectors per ticket from the oldest open one on"
    guarantee = "strength max psi + G^2 (3 T/2 + 2 d_tot) / strength, and less with good hints"
    order = (
        "any order; hints learn nothing from the oldest open ticket on; a lost answer counts as "
        "zero"
    )

    domain: Domain
    strength: float
    mirror: Mirror = "euclidean"
    lipschitz: float = 0.0

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        check_mirror(self, self.mirror)

    def player(self, seed: int, strict: bool) -> core.LearnedHints:
        """Return what plays."""
        setting = self._setting(seed, strict, mirror=self.mirror)
        return core.LearnedHints(setting, 1.0 / self.strength)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """lambda max psi + G^2 (3 T / 2 + 2 d_tot) / lambda: no hint is longer than its guess."""
        return self._regularised(timeline, 1.5, 2.0)
