"""Published methods that draw an arm and hear its loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from belated.arrays import Floats
from belated.bounds import Bound
from belated.core import rival_arms as core
from belated.rivals.base import OnArms
from belated.timeline import Timeline

EXPECTED = "losses in [0, 1], in expectation over the draws"
"""What to know about a bound."""


def promised(arms: int, a: Floats, b: Floats, backlog: Floats) -> float:
    """2 (sqrt(K) - 1) a_T + sqrt(K) sum 1 / a_t + b_T ln K + sum sigma_t / b_t.

    It bounds the expected regret of x_t = argmin <Lhat, x> + F_t(x) with estimates as they arrive,
    for every a_t > 0 and b_t >= 0 that never fall, losses in [0, 1] and oblivious delays; without a
    backlog b_t may be 0. Write V_t(L) = min <L, x> + F_t(x), L_t for all estimates of rounds before
    t and M for those that x_t lacks. Round t pays three times:

    * the weights change: in sum F_T at the best arm less the smallest values of the increments,
      2 (sqrt(K) - 1) a_T + b_T ln K;
    * <lhat_t, x_t> - V_t(Lhat + lhat_t) + V_t(Lhat), on the arm i drawn an integral of x_i as its
      own loss grows: at most lhat^2 / (2 F_t''(x_i)), in expectation sqrt(K) / a_t;
    * what M changes in that integral. Losses of other arms only raise x_i, and those of i lower it
      at rate at most 1 / F_t''(x_i) <= x_i / b_t: lhat_t x_i M_i / b_t, in expectation
      sigma_t / b_t, as x_t does not depend on the draws that it lacks.
    """
    if a.size == 0:
        return 0.0
    root = math.sqrt(arms)
    waiting = backlog > 0.0
    drift = float(np.sum(backlog[waiting] / b[waiting]))
    weights = 2.0 * (root - 1.0) * float(a[-1]) + float(b[-1]) * math.log(arms)
    return weights + root * float(np.sum(1.0 / a)) + drift


class Bandit(OnArms):
    """A rival that draws one of ``arms`` arms and hears its loss."""

    answers = "value"
    assumes: ClassVar[str] = "values in [0, 1]"
    """What the table says about the losses."""
    memory = "arm and probability of every open ticket"
    order = "any order; a lost answer is dropped"


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

    def player(self, seed: int, strict: bool) -> core.DelayedExp3:
        """Return what plays."""
        return core.DelayedExp3(self._setting(seed, strict), self.rate)

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

    def player(self, seed: int, strict: bool) -> core.DelayedExp3:
        """Return what plays."""
        return core.DelayedExp3(self._setting(seed, strict), self.rate, self.threshold)

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

    def player(self, seed: int, strict: bool) -> core.AnytimeExp3:
        """Return what plays."""
        return core.AnytimeExp3(self._setting(seed, strict), math.log(self.arms))

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """2 sqrt((K T + 2 d_tot) ln K)."""
        logarithm, prompt = math.log(self.arms), self.arms * timeline.rounds
        learning = 2.0 * math.sqrt(logarithm * prompt)
        total = 2.0 * math.sqrt(logarithm * (prompt + 2 * timeline.total_delay))
        return self._of_unit_losses(timeline, learning, total - learning, EXPECTED)


@dataclass(frozen=True, repr=False)
class ZimmertSeldin(Bandit, module="rivals"):
    """FTRL for arms: x_t = argmin <Lhat, x> - 2 sqrt(t) sum sqrt(x_i) + sum x_i ln x_i / eta_t.

    Arm a_t is drawn from x_t, and Lhat[a_s] += l_s / x_s[a_s] when its loss in [0, 1] arrives. With
    K = ``arms`` and D_t the sum over rounds up to t of the tickets then open,
    1 / eta_t = sqrt(2 D_t / ln K). With ``skipping`` only tickets that still count go into D_t and
    1 / eta_t = sqrt(D_t / ln K); after the play those with t - s > 1 / eta_t stop counting, but
    their losses are used all the same. Nothing to tune, nothing to be told.

    Guarantee: expected regret <= 4 sqrt(K T) + sqrt(8 d_tot ln K), if losses and delays do not
    depend on the draws (``tsallis.promised`` has a proof). With ``skipping`` it is at most
    4 sqrt(K T) + 10 max{2 ln K, min over sets Q of rounds of |Q| + sqrt(D' ln K)}, D' being the sum
    of the delays outside Q. There at most one round stops counting per play: 1 / eta_t never falls.
    Reference: Zimmert and Seldin, "An optimal algorithm for adversarial bandits with arbitrary
    delays", AISTATS 2020.

    >>> from belated import Timeline
    >>> ZimmertSeldin(4).bound(Timeline.from_delays([0] * 400)).total
    160.0
    """

    title = "Zimmert-Seldin"
    reference = "Zimmert and Seldin 2020"
    guarantee = (
        "4 sqrt(k T) + sqrt(8 d_tot ln k), in expectation; with `skipping` 4 sqrt(k T) + "
        "10 max{2 ln k, min over sets Q of rounds of #Q + sqrt(delays outside Q times ln k)}"
    )

    skipping: bool = False

    def player(self, seed: int, strict: bool) -> core.ZimmertSeldin:
        """Return what plays."""
        return core.ZimmertSeldin(self._setting(seed, strict), self.skipping)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """4 sqrt(K T) + sqrt(8 d_tot ln K), or what ``skipping`` leaves of it."""
        rounds, logarithm = 4.0 * math.sqrt(self.arms * timeline.rounds), math.log(self.arms)
        if not self.skipping:
            late = math.sqrt(8.0 * timeline.total_delay * logarithm)
            return self._of_unit_losses(timeline, rounds, late, EXPECTED)
        least = 20.0 * logarithm
        late = max(0.0, 10.0 * _best_trade(timeline, logarithm) - least)
        return self._of_unit_losses(timeline, rounds + least, late, EXPECTED)


def _best_trade(timeline: Timeline, logarithm: float) -> float:
    """Return the smallest |Q| + sqrt(D' ln K); the best Q of a size has the longest delays.

    >>> from belated import Timeline
    >>> _best_trade(Timeline.from_delays([9, 0, 0, 0, 0, 0, 0, 0, 0, 0]), 1.0)
    1.0
    """
    left = np.append(0, np.cumsum(np.sort(timeline.delay)))[::-1]  # for |Q| = 0, 1, ..
    return float(np.min(np.arange(left.size) + np.sqrt(left * logarithm)))


@dataclass(frozen=True, repr=False)
class MasoudianZimmertSeldin(Bandit, module="rivals"):
    """FTRL for arms with a head start: x_t = argmin <Lhat, x> - 2 a_t sum sqrt(x_i) + b_t h(x).

    h(x) = sum x_i ln x_i, a_t = sqrt(t + h0) and b_t = sqrt((S_t + g0) / ln K), with K = ``arms``
    and S_t the sum over rounds up to t of the tickets then open. Arm a_t is drawn from x_t, and
    Lhat[a_s] += l_s / x_s[a_s] when its loss in [0, 1] arrives. It must be told d_max
    (``max_delay``): h0 = 10 d_max + d_max^2 / (K^(1/3) ln K)^2 and
    g0 = 24^2 d_max^2 K^(2/3) ln K. Told 0 and without delay it is Tsallis-INF, which is what
    ``ZimmertSeldin`` is then too.

    Guarantee: expected regret O(sqrt(K T) + sqrt(d_tot ln K) + d_max K^(1/3) ln K) whatever the
    losses are, and where they are independent with gaps Delta_i,
    O(sum of (ln T / Delta_i + sigma_max / (Delta_i ln K)) + d_max K^(1/3) ln K). ``bound`` is
    about the first kind: 2 (sqrt(K) - 1) a_T + sqrt(K) sum 1 / a_t + b_T ln K + sum sigma_t / b_t
    (proof: ``tsallis.promised``), if losses and delays do not depend on the draws. There is none
    on delays longer than it was told.
    Reference: Masoudian, Zimmert and Seldin, "A best-of-both-worlds algorithm for bandits with
    delayed feedback", NeurIPS 2022.
    Differs from the paper: the weights are as they are commonly restated, not compared with the
    paper; the rates are its own. g0 is large (6e7 for 10 arms and d_max = 100), so that it stays
    near uniform for long.

    >>> spec = MasoudianZimmertSeldin(8, max_delay=10)
    >>> round(spec.head_start, 2), round(spec.floor)
    (105.78, 479103)
    """

    title = "Masoudian-Zimmert-Seldin"
    reference = "Masoudian, Zimmert and Seldin 2022"
    guarantee = (
        "2 (sqrt(k) - 1) a_T + sqrt(k) sum 1/a_t + b_T ln k + sum sigma_t/b_t, in expectation, a_t "
        "and b_t the weights of its regularisers; of order sqrt(k T) + sqrt(d_tot ln k) + "
        "d_max k^(1/3) ln k, and of order ln T in T where one arm is better all along"
    )

    max_delay: int | None = None

    @property
    def head_start(self) -> float:
        """h0 = 10 d_max + d_max^2 / (K^(1/3) ln K)^2."""
        late, arms = self._fact("max_delay"), float(self.arms)
        return 10.0 * late + (late / (arms ** (1.0 / 3.0) * math.log(arms))) ** 2

    @property
    def floor(self) -> float:
        """g0 = 24^2 d_max^2 K^(2/3) ln K."""
        late, arms = self._fact("max_delay"), float(self.arms)
        return (24.0 * late) ** 2 * arms ** (2.0 / 3.0) * math.log(arms)

    def player(self, seed: int, strict: bool) -> core.MasoudianZimmertSeldin:
        """Return what plays."""
        numbers = (math.log(self.arms), self.head_start, self.floor)
        return core.MasoudianZimmertSeldin(self._setting(seed, strict), *numbers)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """What ``tsallis.promised`` says of its weights; None on delays longer than told."""
        if timeline.max_delay > self._fact("max_delay"):
            return None
        a = np.sqrt(np.arange(1.0, timeline.rounds + 1.0) + self.head_start)
        learning, total = (
            promised(self.arms, a, self._weights(backlog), backlog)
            for backlog in (np.zeros(timeline.rounds), timeline.backlog.astype(np.float64))
        )
        return self._of_unit_losses(timeline, learning, total - learning, EXPECTED)

    def _weights(self, backlog: Floats) -> Floats:
        """b_t = sqrt((S_t + g0) / ln K)."""
        return np.asarray(np.sqrt((np.cumsum(backlog) + self.floor) / math.log(self.arms)))


class _Banker(Bandit):
    """What the two versions share."""

    reference = "Huang, Dai and Huang 2023"
    memory = "the play of every open ticket"
    order = "any order; a lost answer counts as zero"


@dataclass(frozen=True, repr=False)
class BankerTINF(_Banker, module="rivals"):
    """Banker-OMD with Psi(x) = -2 sum sqrt(x_i): a play is paid from what answers gave back.

    In round t with sigma_t open tickets, S_t the sum of sigma_1 to sigma_t and K = ``arms``:

    * 1 / c_t = 1 / sqrt(t) + sigma_t sqrt(ln(S_t + 1) / S_t), the last term 0 if sigma_t is;
    * u_s = v_s min{1, c_t / v} is taken from every saving v_s, v being their sum before, and
      b_t = c_t - sum u_s is borrowed;
    * grad Psi(x_t) = (sum u_s grad Psi(z_s) + b_t grad Psi(1 / K)) / c_t, up to a constant that
      makes x_t a distribution. Arm a_t is drawn from it;
    * when the loss l_s in [0, 1] of round s arrives, grad Psi(z_s) = grad Psi(x_s) - lhat_s / c_s
      with lhat_s = l_s / x_s[a_s] at a_s, and its saving is v_s = c_s.

    Nothing to tune, nothing to be told. Without delay it is Tsallis-INF, which is what
    ``ZimmertSeldin`` is then too.

    Guarantee: expected regret <= (2 sqrt(K) - 2) B + sqrt(K) sum 1 / c_t, of order
    sqrt(K T) + sqrt(K d_tot ln d_tot), if losses and delays do not depend on the draws. B = sum b_t
    is all that was ever borrowed: the largest sum of c_s over the rounds open at a play, its own
    included. Both are numbers of the delays alone.
    Reference: Huang, Dai and Huang, "Banker online mirror descent: a universal approach for delayed
    online bandit learning", ICML 2023, Algorithm 2, Theorems 4.2 and 4.6.
    Differs from the paper: savings are taken in proportion, which it allows, so that their sum and
    one mean are all that is kept of them; the guarantee is its Theorem 4.2 with our constants.

    >>> from belated import Timeline
    >>> round(BankerTINF(4).bound(Timeline.from_delays([0] * 400)).total, 1)
    117.1
    """

    title = "Banker-TINF"
    guarantee = (
        "(2 sqrt(k) - 2) B + sqrt(k) sum 1/c_t, in expectation, B the largest sum of the scales "
        "c_s of open rounds; of order sqrt(k T) + sqrt(k d_tot ln d_tot)"
    )

    def player(self, seed: int, strict: bool) -> core.BankerTINF:
        """Return what plays."""
        return core.BankerTINF(self._setting(seed, strict))

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """(2 sqrt(K) - 2) B + sqrt(K) sum 1 / c_t."""
        rounds = np.arange(1.0, timeline.rounds + 1.0)
        learning = self._price(np.sqrt(rounds[-1:]), 1.0 / np.sqrt(rounds))
        scales = scales_of(timeline)
        total = self._price(in_use(timeline, scales), 1.0 / scales)
        return self._of_unit_losses(timeline, learning, total - learning, EXPECTED)

    def _price(self, borrowed: Floats, inverse: Floats) -> float:
        root = math.sqrt(self.arms)
        return (2.0 * root - 2.0) * float(borrowed.max(initial=0.0)) + root * float(inverse.sum())


def scales_of(timeline: Timeline) -> Floats:
    """Return c_1 .. c_T of ``BankerTINF``, which no draw changes.

    >>> from belated import Timeline
    >>> scales_of(Timeline.from_delays([0, 0, 0, 0])).tolist()[::3]
    [1.0, 2.0]
    """
    waiting = timeline.backlog.astype(np.float64)
    total = np.maximum(np.cumsum(waiting), 1.0)  # where it is 0, nothing waits
    rounds = np.arange(1.0, timeline.rounds + 1.0)
    late = waiting * np.sqrt(np.log(total + 1.0) / total)
    return np.asarray(1.0 / (1.0 / np.sqrt(rounds) + late))


def in_use(timeline: Timeline, scales: Floats) -> Floats:
    """Return for every event the sum of the scales of the rounds that are open after it.

    >>> from belated import Timeline
    >>> in_use(Timeline.from_delays([1, 0]), np.array([2.0, 3.0])).tolist()
    [2.0, 5.0, 3.0, 0.0]
    """
    events = timeline.events
    changes = np.where(events >= 0, scales[events], -scales[~events])
    return np.asarray(np.cumsum(changes))


@dataclass(frozen=True, repr=False)
class BankerSFTINF(_Banker, module="rivals"):
    """``BankerTINF`` for losses of at least 0 whose range nobody knows.

    Lhat = 1 at first is what losses are believed to be below; when a loss l arrives,
    Lhat = max{Lhat, 2 l}. With Lhat_t as it was at play t and S_t the sum of (sigma_s + 1) Lhat_s^2
    for s up to t, 1 / c_t = (sigma_t + 1) sqrt(ln(3 + S_t / Lhat_t^2) / (3 + S_t)). A loss of round
    s above Lhat_s changes Lhat only: it is not learned from, and leaves no saving. All else is
    as in ``BankerTINF``.

    Guarantee: expected regret of order M sqrt(K (T + d_tot)), up to logarithms, M being the largest
    loss. In the mean over the draws it is at most (2 sqrt(K) - 2) B + sqrt(K) sum Lhat_t^2 / c_t
    plus the losses that were not learned from, which depend on the draws: so ``bound`` is None.
    Reference: Huang, Dai and Huang, "Banker online mirror descent: a universal approach for delayed
    online bandit learning", ICML 2023, Theorem 6.1.
    Differs from the paper: savings are taken in proportion, which it allows.

    >>> from belated import Learner
    >>> learner = Learner(BankerSFTINF(3))
    >>> [learner.observe(learner.predict().ticket, loss) for loss in (0.5, 40.0, 70.0)]
    [True, True, True]
    """

    title = "Banker-SFTINF"
    assumes = "values of at least 0"
    guarantee = (
        "of order M sqrt(k (T + d_tot)), up to logarithms, M the largest value, in expectation"
    )

    def player(self, seed: int, strict: bool) -> core.BankerSFTINF:
        """Return what plays."""
        return core.BankerSFTINF(self._setting(seed, strict))
