"""Rivals for experts, and LearnedHints, which also tunes in the order of tickets.

c_s are the costs of round s, w_s the play, with k = ``arms`` experts. See ``bl.rivals`` for
the other symbols.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

from belated.bounds import Bound
from belated.domains import Domain
from belated.errors import SpecError
from belated.research.core import rival_experts as core
from belated.research.core.rival import Setting
from belated.research.rivals.base import UNCHECKED, Hint, Mirror, OnArms, Regularised
from belated.timeline import Timeline


class OnExperts(OnArms, abstract=True):
    """A rival for experts."""

    reference = "Flaspohler et al. 2021"
    mirror: ClassVar[Mirror] = "entropy"


# ---- Regret matching -----------------------------------------------------------------------------


class DORM(OnExperts):
    """Delayed optimistic regret matching: w_t prop. to max(0, sum of received r_s + h_t)^(q - 1).

    r_s = <c_s, w_s> - c_s is the saving of each expert in round s, q is ``power``; if all are zero,
    the play is uniform. There is no learning rate. ``hint="recent"`` guesses the missing regrets
    and the next one by the last one received, h_t = (open + 1) r_last.

    The guarantee is for losses in [0, 1]; q near 2 ln k gives sqrt(ln k) in place of sqrt(k).
    Differs from the authors' code: a round without arrivals keeps the regrets collected so far.
    """

    memory = "the play of every open ticket"
    guarantee = "k^(1/q) sqrt((q - 1) (T + 2 d_tot)), without hints"

    power: float = 2.0
    hint: Hint = "none"

    def _check(self) -> None:
        if self.power < 2.0:
            raise SpecError(f"{self.kind}: power must be at least 2, got {self.power!r}")

    def _player(self, setting: Setting) -> Any:
        return core.DORM(setting, self.hint == "recent", self.power - 1.0)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        first, late = (1.0, 2.0) if self.hint == "none" else (3.0, 4.0)
        scale = self.arms ** (1.0 / self.power) * math.sqrt(self.power - 1.0)
        learning = scale * math.sqrt(first * timeline.rounds)
        total = scale * math.sqrt(first * timeline.rounds + late * timeline.total_delay)
        return self._of_unit_losses(timeline, learning, total - learning)


class DORMPlus(OnExperts):
    """Delayed optimistic regret matching plus: p <- max(0, p + r_s + h_new - h_old).

    The play is p / sum(p), uniform while p is zero, as at the start. r_s and hints are as in
    ``DORM``. There is one step for every arrival, and one with the hints alone in a round before
    which nothing arrived; no learning rate.

    The guarantee is for losses in [0, 1]: |p|^2 grows by at most 2 <p, r_n> + |r_n|^2, the p of the
    play is orthogonal to r_n, and p moved by at most |r_m| per arrival since.
    """

    title = "DORM+"
    memory = "the play of every open ticket"
    guarantee = "sqrt(k (T + 2 d_tot)), without hints"

    hint: Hint = "none"

    def _player(self, setting: Setting) -> Any:
        return core.DORMPlus(setting, self.hint == "recent")

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        if self.hint != "none":
            return None
        learning = math.sqrt(self.arms * timeline.rounds)
        total = math.sqrt(self.arms * (timeline.rounds + 2 * timeline.total_delay))
        return self._of_unit_losses(timeline, learning, total - learning)


# ---- Tuning in the order of tickets --------------------------------------------------------------


class Hedging(OnExperts, abstract=True):
    """Play softmin(theta, lambda), theta the sum of costs received; lambda tunes in order."""

    memory = "three vectors per ticket from the oldest open one on"
    guarantee = "8 d_max + 2 sqrt((4 + ln k) T + 2 d_tot ln k)"
    order = (
        "any order; the step size stands still from the oldest open ticket on; a lost answer "
        "counts as zero"
    )

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """2 (4 d_max + sqrt(4 T + 2 ln k (T / 2 + d_tot))).

        It is 2 (2 max_s sum_{j in W_s} a_j + sqrt(sum_s (a_s^2 + 2 ln k b_s))) with the symbols of
        ``DUB``; for losses in [0, 1], a_s <= 2 and b_s <= |P_s| - 1/2. W_s are the rounds from the
        oldest open one to s, at most d_max.
        """
        rounds, logarithm = timeline.rounds, math.log(self.arms)
        late = 2.0 * logarithm * timeline.total_delay
        learning = 2.0 * math.sqrt((4.0 + logarithm) * rounds)
        total = 8.0 * timeline.max_delay + 2.0 * math.sqrt((4.0 + logarithm) * rounds + late)
        note = f"losses in [0, 1]; {UNCHECKED}"
        return self._of_unit_losses(timeline, learning, total - learning, note)


class DUB(Hedging):
    """Delayed upper bound: w_t prop. to exp(-theta / lambda_t), theta the sum of costs received.

    With P_s the rounds pending when round s is played, itself included, largest entries as norms,
    e_s = sum of the c_j in P_s, a_s = 2 min(|c_s|, |e_s|), b_s = huber(|e_s|, |c_s|),
    huber(x, y) = x^2 / 2 - max(x - y, 0)^2 / 2,

        lambda = (2 max_s sum_{j in W_s} a_j + sqrt(sum_s (a_s^2 + 2 ln k b_s))) / ln k

    over the rounds s that are answered together with all earlier ones; W_s are the rounds before s
    that did not count yet when s was played. lambda = 0 at the start (uniform over the smallest
    theta_i). Nothing to tune. While a ticket is open, lambda does not grow by later ones, though
    their costs are used: ``cancel`` a ticket that will have no answer. Regret <= 2 ln k lambda_T.
    Differs from the paper: any delays; and lambda = 0 is exact, not below 1e-8 as in their code.
    """

    _core = (core.DUB,)


class AdaHedgeD(Hedging):
    """AdaHedge with delays: the play is that of ``DUB``, with another lambda.

    lambda = 0 at the start and grows in ticket order. With L_s the sum of the costs of round s and
    all before it, w_s, lambda_s and theta_s those of the play, e = theta_s - L_s is minus the sum
    of all that was pending then. With largest entries as norms, lambda grows by
    max(0, min(drift, aux, hat)) / ln k:

    * drift = <c_s, w_s - softmin(L_s / lambda_s)>;
    * aux = gap(e, w_s), gap(e, w) = lambda_s ln(sum_i w_i exp(e_i / lambda_s)) - <e, w>;
    * hat = gap(a e, w') + <c_s, w_s - w'>, a = min(1, |c_s| / |e|),
      w' = softmin((L_s + a e) / lambda_s).

    Regret <= 2 ln k lambda_T; of order sqrt((d + 1) T ln k) under a fixed delay d.
    Differs from the paper: any delays; and lambda = 0 is exact, not below 1e-8 as in their code.
    """

    _core = (core.AdaHedgeD,)


class LearnedHints(Regularised):
    """ODFTRL with learned hints: x_t = argmin_K <sum of received g_s + H_t w_t, x> + lambda psi(x).

    The columns of H_t guess the sum of the missing gradients and the next one: as 0, as (open + 1)
    times the last one received, and as that multiple of their mean. lambda is ``strength``, psi as
    in ``ODFTRL``. The weights w_t of the columns are those of DORM+ with the losses
    |g_t| |H_t w - G_t|, where G_t is the sum of all gradients missing at the play of round t, its
    own included: p_j <- max(0, p_j + <c_t, w_t> - c_tj), c_t their slope at w_t, and w is p over
    its sum, 1/3 each while that is zero. Norms are Euclidean, with the entropy the largest entry.
    If ``lipschitz`` G is given, the bound uses it, and larger gradients are counted.

    Regret <= lambda max psi + (sum_t |g_t| |H_t w - G_t| + E) / lambda for every fixed mixture w,
    where E = sqrt(sum_t |r_t| (|r_t| + 2 sum_s |r_s|)) with r_t the change of p before it is cut
    off and s the rounds that tuned between play and tuning of t.
    Differs from the authors' code: any delays; hints are learned in ticket order, up to the oldest
    open ticket; the slope for the largest entry depends on its size, not on its value.
    """

    title = "ODFTRL, learned hints"
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

    def _player(self, setting: Setting) -> Any:
        return core.LearnedHints(setting, 1.0 / self.strength)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        return self._regularised(timeline, 1.5, 2.0)  # no hint is longer than its guess
