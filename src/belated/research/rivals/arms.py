"""Rivals that draw one of k = ``arms`` arms and learn its loss l_s in [0, 1].

The play of round t draws arm a_t from probabilities x_t (or p_t); Lhat[a_s] += l_s / x_s[a_s] when
the loss of round s arrives. Guarantees are in expectation, for losses and delays that do not depend
on the draws. See ``belated.research.rivals`` for the other symbols.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from belated.arrays import Floats
from belated.bounds import Bound
from belated.research.core import rival_experts as core
from belated.research.core.rival import Setting
from belated.research.rivals.base import OnArms, log
from belated.timeline import Timeline

EXPECTED = "losses in [0, 1], in expectation over the draws"  # note on bounds


class Bandit(OnArms, abstract=True):
    """A rival that draws one of ``arms`` arms and learns its loss."""

    answers = "value"
    assumes = "values in [0, 1]"
    memory = "arm and probability of every open ticket"
    order = "any order; a lost answer is dropped"


# ---- Exp3 ----------------------------------------------------------------------------------------


class _Exp3(Bandit, abstract=True):
    """The versions of Exp3 that are told T and d_tot."""

    reference = "after Thune et al. 2019"

    rounds: int | None = None
    total_delay: int | None = None

    @property
    def rate(self) -> float:
        """eta = sqrt(ln k / (k T / 2 + d_tot))."""
        spread = self.arms * self._fact("rounds") / 2.0 + self._fact("total_delay")
        return math.sqrt(math.log(self.arms) / spread)

    def _used_up_to(self, timeline: Timeline, most: float) -> Bound:
        """|S| + ln k / eta + eta (k (T - |S|) / 2 + D'), S the rounds later than ``most``."""
        kept = timeline.delay <= most
        used = np.count_nonzero(kept)
        learning = math.log(self.arms) / self.rate + self.rate * self.arms * used / 2.0
        delay, skipped = (
            self.rate * float(timeline.delay[kept].sum()),
            float(timeline.rounds - used),
        )
        return self._of_unit_losses(timeline, learning, delay, EXPECTED, skipped)


class DelayedExp3(_Exp3):
    """Exp3 with losses as they arrive: draw arm a_t from p_t prop. to exp(-eta Lhat).

    eta = sqrt(ln k / (k T / 2 + d_tot)), which minimises the guarantee. For every eta, expected
    regret <= ln k / eta + eta (k T / 2 + d_tot); ``docs/rivals.md`` has a proof.
    Differs from the paper: eta is tuned after the guarantee above, which has k T / 2 where the
    paper has e k T / 2, and which needs no cap 1 / (k e (d_max + 1)) on eta.
    """

    title = "delayed Exp3"
    guarantee = "2 sqrt((k T/2 + d_tot) ln k), in expectation"

    _core = (core.DelayedExp3, "rate")

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        return self._used_up_to(timeline, math.inf)


class SkippingExp3(_Exp3):
    """``DelayedExp3`` that uses only losses with d_t <= beta = 1 / eta.

    A round that is still open beta rounds later is given up on, and its loss is dropped when it
    arrives. A round costs eta d_t if it is used and 1 if not, so no other set of skipped rounds is
    better than S at this eta, and the bound never exceeds that of ``DelayedExp3``.
    Differs from the paper: eta and beta are tuned after the guarantee; the paper has e k T / 2 for
    k T / 2, beta = 1 / (2 eta), and a cap 1 / (k e (beta + 1)) on eta, which would always bind.
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

    _core = (core.DelayedExp3, "rate", "threshold")

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        return self._used_up_to(timeline, self.threshold)


# ---- Two regularisers ----------------------------------------------------------------------------


def _two_regularisers(arms: int, a: Floats, b: Floats, backlog: Floats) -> float:
    """2 (sqrt(k) - 1) a_T + sqrt(k) sum 1 / a_t + b_T ln k + sum sigma_t / b_t.

    It bounds the expected regret of x_t = argmin <Lhat, x> + F_t(x), F_t(x) = -2 a_t sum sqrt(x_i)
    + b_t sum x_i ln x_i, for every a_t > 0 and b_t >= 0 that never fall; without a backlog b_t may
    be 0. ``docs/rivals.md`` has a proof.
    """
    if a.size == 0:
        return 0.0
    root = math.sqrt(arms)
    waiting = backlog > 0.0
    drift = float(np.sum(backlog[waiting] / b[waiting]))
    weights = 2.0 * (root - 1.0) * float(a[-1]) + float(b[-1]) * math.log(arms)
    return weights + root * float(np.sum(1.0 / a)) + drift


class ZimmertSeldin(Bandit):
    """FTRL for arms: x_t = argmin <Lhat, x> - 2 sqrt(t) sum sqrt(x_i) + sum x_i ln x_i / eta_t.

    With S_t the sum over rounds up to t of the tickets then open, 1 / eta_t = sqrt(2 S_t / ln k).
    With ``skipping`` only tickets that still count add to S_t and 1 / eta_t = sqrt(S_t / ln k);
    after the play tickets with t - s > 1 / eta_t stop counting, but their losses are used all the
    same. At most one stops per play: 1 / eta_t never falls. Nothing to tune, nothing to be told.
    """

    title = "Zimmert-Seldin"
    reference = "Zimmert and Seldin 2020"
    guarantee = (
        "4 sqrt(k T) + sqrt(8 d_tot ln k), in expectation; with `skipping` 4 sqrt(k T) + "
        "10 max{2 ln k, min over sets Q of rounds of #Q + sqrt(delays outside Q times ln k)}"
    )

    skipping: bool = False

    def _player(self, setting: Setting) -> Any:
        if self.skipping:
            return core.ZimmertSeldinSkipping(setting, log(self.arms))
        return core.TwoRegularisers(setting, log(self.arms), 2.0)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        rounds, logarithm = 4.0 * math.sqrt(self.arms * timeline.rounds), math.log(self.arms)
        if not self.skipping:
            late = math.sqrt(8.0 * timeline.total_delay * logarithm)
            return self._of_unit_losses(timeline, rounds, late, EXPECTED)
        least = 20.0 * logarithm
        # The best Q of a size has the longest delays; these are the others, for #Q = 0, 1, ..
        left = np.append(0, np.cumsum(np.sort(timeline.delay)))[::-1]
        best = float(np.min(np.arange(left.size) + np.sqrt(left * logarithm)))
        late = max(0.0, 10.0 * best - least)
        return self._of_unit_losses(timeline, rounds + least, late, EXPECTED)


class MasoudianZimmertSeldin(Bandit):
    """FTRL for arms with a head start: x_t = argmin <Lhat, x> - 2 a_t sum sqrt(x_i) + b_t h(x).

    h(x) = sum x_i ln x_i, a_t = sqrt(t + h0) and b_t = sqrt((S_t + g0) / ln k), S_t the sum over
    rounds up to t of the tickets then open. It must be told d_max (``max_delay``):
    h0 = 10 d_max + d_max^2 / (k^(1/3) ln k)^2 and g0 = 24^2 d_max^2 k^(2/3) ln k. Told 0 and
    without delay it is Tsallis-INF, as is ``ZimmertSeldin`` then.

    Expected regret is O(sqrt(k T) + sqrt(d_tot ln k) + d_max k^(1/3) ln k) for any losses, and
    O(sum of (ln T / Delta_i + sigma_max / (Delta_i ln k)) + d_max k^(1/3) ln k) for independent
    ones with gaps Delta_i. ``bound`` is about the first kind; there is none on delays longer than
    it was told.
    Differs from the paper: the weights are as they are commonly restated, not compared with the
    paper; the rates are its own. g0 is large (6e7 for 10 arms and d_max = 100), so that it stays
    near uniform for long.
    """

    title = "Masoudian-Zimmert-Seldin"
    reference = "after Masoudian, Zimmert and Seldin 2022"
    guarantee = (
        "2 (sqrt(k) - 1) a_T + sqrt(k) sum 1/a_t + b_T ln k + sum sigma_t/b_t, in expectation, a_t "
        "and b_t the weights of its regularisers; of order sqrt(k T) + sqrt(d_tot ln k) + "
        "d_max k^(1/3) ln k, and of order ln T in T where one arm is better all along"
    )

    max_delay: int | None = None

    @property
    def head_start(self) -> float:
        """h0 = 10 d_max + d_max^2 / (k^(1/3) ln k)^2."""
        late, arms = self._fact("max_delay"), float(self.arms)
        return 10.0 * late + (late / (arms ** (1.0 / 3.0) * math.log(arms))) ** 2

    @property
    def floor(self) -> float:
        """g0 = 24^2 d_max^2 k^(2/3) ln k."""
        late, arms = self._fact("max_delay"), float(self.arms)
        return (24.0 * late) ** 2 * arms ** (2.0 / 3.0) * math.log(arms)

    def _player(self, setting: Setting) -> Any:
        numbers = (math.log(self.arms), 1.0, self.head_start, self.floor)
        return core.TwoRegularisers(setting, *numbers)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        if timeline.max_delay > self._fact("max_delay"):
            return None
        a = np.sqrt(np.arange(1.0, timeline.rounds + 1.0) + self.head_start)

        def regret(backlog: Floats) -> float:
            b = np.sqrt((np.cumsum(backlog) + self.floor) / math.log(self.arms))
            return _two_regularisers(self.arms, a, b, backlog)

        learning = regret(np.zeros(timeline.rounds))
        total = regret(timeline.backlog.astype(np.float64))
        return self._of_unit_losses(timeline, learning, total - learning, EXPECTED)


# ---- Banker-OMD ----------------------------------------------------------------------------------


class BankerTINF(Bandit):
    """Banker-OMD with Psi(x) = -2 sum sqrt(x_i): plays take savings, which answers return.

    In round t with sigma_t open tickets and S_t the sum of sigma_1 to sigma_t:

    * 1 / c_t = 1 / sqrt(t) + sigma_t sqrt(ln(S_t + 1) / S_t), the last term 0 if sigma_t is;
    * u_s = v_s min{1, c_t / v} is taken from every saving v_s, v being their sum before, and
      b_t = c_t - sum u_s is borrowed;
    * grad Psi(x_t) = (sum u_s grad Psi(z_s) + b_t grad Psi(1 / k)) / c_t, up to a constant that
      makes x_t a distribution;
    * when the loss of round s arrives, grad Psi(z_s) = grad Psi(x_s) - lhat_s / c_s with
      lhat_s = l_s / x_s[a_s] at a_s, and its saving is v_s = c_s.

    Nothing to tune, nothing to be told. Without delay it is Tsallis-INF, as is ``ZimmertSeldin``
    then. In the guarantee (Theorem 4.2), B = sum b_t is the sum of all loans: the largest sum of
    c_s over the rounds open at a play, its own included. B and c_t depend on the delays alone.
    Differs from the paper (Algorithm 2): savings are taken in proportion, which it allows, so that
    their sum and one mean suffice; the constants of the guarantee are ours.
    """

    title = "Banker-TINF"
    reference = "Huang, Dai and Huang 2023"
    memory = "the play of every open ticket"
    order = "any order; a lost answer counts as zero"
    guarantee = (
        "(2 sqrt(k) - 2) B + sqrt(k) sum 1/c_t, in expectation, B the largest sum of the scales "
        "c_s of open rounds; of order sqrt(k T) + sqrt(k d_tot ln d_tot)"
    )

    _core: ClassVar[tuple[Any, ...]] = (core.BankerTINF,)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        rounds = np.arange(1.0, timeline.rounds + 1.0)
        learning = self._price(np.sqrt(rounds[-1:]), 1.0 / np.sqrt(rounds))
        waiting = timeline.backlog.astype(np.float64)
        total_backlog = np.maximum(np.cumsum(waiting), 1.0)  # if it is 0, there is no backlog
        late = waiting * np.sqrt(np.log(total_backlog + 1.0) / total_backlog)
        scales = np.asarray(1.0 / (1.0 / np.sqrt(rounds) + late))  # c_t
        events = timeline.events
        in_use = np.cumsum(np.where(events >= 0, scales[events], -scales[~events]))
        total = self._price(in_use, 1.0 / scales)
        return self._of_unit_losses(timeline, learning, total - learning, EXPECTED)

    def _price(self, borrowed: Floats, inverse: Floats) -> float:
        """(2 sqrt(k) - 2) B + sqrt(k) sum 1 / c_t."""
        root = math.sqrt(self.arms)
        return (2.0 * root - 2.0) * float(borrowed.max(initial=0.0)) + root * float(inverse.sum())
