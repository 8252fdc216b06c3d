"""Published methods that play what was best so far: dual averaging, FTRL and Frank-Wolfe steps."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from belated.arrays import Ints
from belated.bounds import Bound
from belated.core import rival_leader as core
from belated.core.sets import Chart
from belated.domains import Domain
from belated.errors import SpecError
from belated.learner.compose import chart_of
from belated.rivals.base import (
    Mirror,
    Regularised,
    Regularises,
    Rival,
    check_curvature,
    check_mirror,
)
from belated.rivals.descent import Tuned
from belated.timeline import Timeline


@dataclass(frozen=True, repr=False)
class DelayedDualAveraging(Rival, module="rivals"):
    """Adaptive delayed dual averaging: x_t = Pi_K(x_1 - S_t / lambda_t).

    S_t is the sum of the gradients received before round t, lambda_t = (2 G / R) sqrt(V_t),
    V_t = sum_{s <= t} (1/2 + sigma_s), sigma_s the backlog of round s and R the largest distance
    from x_1 to a point of the set. Nothing is told in advance, and every round moves the play, also
    one without an arrival.

    Guarantee: regret <= lambda_T R^2 / 2 + sum_t G^2 (1/2 + sigma_t) / lambda_t
    <= 2 G R sqrt(T / 2 + d_tot), as the leader that knows all gradients is at most
    G sigma_t / lambda_t away.
    Reference: Hsieh, Iutzeler, Malick and Mertikopoulos, "Multi-agent online optimization with
    delays: asynchronicity, adaptivity, and optimism", JMLR 2022.
    Differs from the paper: a single agent, and the step that this derivation gives.

    >>> from belated import Ball, Timeline
    >>> method = DelayedDualAveraging(Ball(3), lipschitz=1.0)
    >>> method.bound(Timeline.from_delays([0] * 50)).total
    10.0
    """

    title = "Delayed dual averaging"
    reference = "Hsieh, Iutzeler, Malick and Mertikopoulos 2022"
    guarantee = "2 G R sqrt(T / 2 + d_tot)"

    domain: Domain
    lipschitz: float

    def player(self, seed: int, strict: bool) -> core.DelayedDualAveraging:
        """Return what plays."""
        gain = self._outer / (2.0 * self.lipschitz)
        return core.DelayedDualAveraging(self._setting(seed, strict), gain)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """2 G R sqrt(T / 2 + d_tot)."""
        scale = 2.0 * self.lipschitz * self._outer
        total = scale * math.sqrt(timeline.rounds / 2.0 + timeline.total_delay)
        return self._split(timeline, total, scale * math.sqrt(timeline.rounds / 2.0))


@dataclass(frozen=True, repr=False)
class FTDRL(Tuned, module="rivals"):
    """Follow the delayed regularised leader: x_{t+1} = argmin_K sum_{received s} f_s + psi.

    Here f_s(x) = <b_s, x> + (c_s / 2) |x|^2 with c_s >= 0, and an answer is (b_s, c_s), dim + 1
    numbers; psi(x) = |x - x_1|^2 / (2 eta), eta = R / (G sqrt(T + 2 d_tot)). So

    x_{t+1} = Pi_K((x_1 / eta - B) / (1 / eta + C)), B and C the sums of b_s and c_s.

    Runs on sets whose chart changes nothing: a centred Ball, a Simplex, an L1Ball.

    Guarantee: regret <= R^2 / (2 eta) + eta G^2 (T / 2 + d_tot) = G R sqrt(T + 2 d_tot), since the
    leader that knows all losses is at most eta G sigma_t away.
    Reference: Wu, Huang and Liu, "Online sequential decision-making with unknown delays", WWW 2024.
    Differs from the paper: the minimum is exact, so there is no solution error to sum up.

    >>> from belated import Ball
    >>> FTDRL(Ball(3), lipschitz=1.0, rounds=100, total_delay=22).step
    0.08333333333333333
    """

    reference = "Wu, Huang and Liu 2024"
    answers = "coefficients"
    guarantee = "G R sqrt(T + 2 d_tot)"
    order = "any order; a lost answer counts as the zero loss"

    def __post_init__(self) -> None:
        """Check the numbers, and that the coefficients need no translation."""
        super().__post_init__()
        if type(chart_of(self.domain)) is not Chart:
            raise SpecError(
                f"{self.kind}: runs on a centred Ball, a Simplex or an L1Ball, got {self.domain!r}"
            )

    @property
    def _width(self) -> float:
        return self._outer

    def player(self, seed: int, strict: bool) -> core.FTDRL:
        """Return what plays."""
        return core.FTDRL(self._setting(seed, strict), self.step)


@dataclass(frozen=True, repr=False)
class ODFTRL(Regularised, module="rivals"):
    """Optimistic delayed FTRL: x_t = argmin_K <sum of received g_s + h_t, x> + lambda psi(x).

    lambda is ``strength``; psi(x) = |x - center|^2 / 2, x_t = Pi_K(center - (sum g + h) / lambda);
    with ``mirror="entropy"`` on a ``Simplex`` psi is the divergence from the uniform distribution
    and x_t is proportional to exp(-(sum g + h) / lambda). ``hint="recent"`` guesses the missing
    gradients by the last one received, h_t = (open + 1) g_last; ``"none"`` is h_t = 0.
    ``lipschitz`` G, where it is given, is used by the bound, and larger gradients are counted.

    Guarantee: regret <= lambda max psi + sum_t huber(|h_t - sum_{s in P_t} g_s|, |g_t|) / lambda
    with huber(x, y) = x^2 / 2 - max(x - y, 0)^2 / 2 and P_t what is pending at t, itself included;
    so lambda max psi + G^2 (T / 2 + d_tot) / lambda without hints, and with them at most
    lambda max psi + G^2 (3 T / 2 + 2 d_tot) / lambda.
    Reference: Flaspohler et al., "Online learning with optimism and delay", ICML 2021.
    Differs from the paper: any delays, not one fixed delay.

    >>> from belated import Ball, Timeline
    >>> ODFTRL(Ball(3), strength=10.0, lipschitz=1.0).bound(Timeline.from_delays([0] * 100)).total
    10.0
    """

    guarantee = "strength max psi + G^2 (T/2 + d_tot) / strength, without hints"

    def player(self, seed: int, strict: bool) -> core.ODFTRL:
        """Return what plays."""
        setting = self._setting(seed, strict, mirror=self.mirror)
        return core.ODFTRL(setting, 1.0 / self.strength, self.hint == "recent")

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """lambda max psi + G^2 (T / 2 + d_tot) / lambda, or with hints (3 T / 2 + 2 d_tot)."""
        first, late = (0.5, 1.0) if self.hint == "none" else (1.5, 2.0)
        return self._regularised(timeline, first, late)


@dataclass(frozen=True, repr=False)
class WOFTRL(Regularises, module="rivals"):
    """Weighted optimistic FTRL: x_t = argmin_K <sum of received g_s + n g_last, x> + mu psi(x).

    Under a fixed delay d, told in advance, n = d + 1: the newest gradient is counted once for each
    that is missing and once for the coming one. That is ``ODFTRL`` with its hint "recent", and a
    ``strength`` mu that suits games in which all players learn: mu = 2 lambda L with
    lambda = (d + 1) (d + 2) / 2. L is ``smoothness``: gradients differ by at most L times what
    plays of all players differ; two players with payoffs in [-1, 1] have L = 2.
    psi(x) = |x - center|^2 / 2, or with ``mirror="entropy"`` on a ``Simplex`` the divergence from
    the uniform distribution. ``copies`` is another n, for comparison: up to d it diverges.
    ``lipschitz`` G, where it is given, is used by the bound, and larger gradients are counted.

    Guarantee: in games of two such players the sum of both regrets is O(d^2), whatever T is.
    Against any losses regret <= mu max psi + G^2 (3 T / 2 + 2 d_tot) / mu, or with
    ``copies`` G^2 ((n + 1/2) T + d_tot) in the place of that.
    Reference: Fujimoto, Abe and Ariu, "Learning from delayed feedback in games via extra
    prediction", NeurIPS 2025.
    Differs from the paper: any delays, n being one more than there are open tickets; that is d + 1
    where the delay is fixed.

    >>> from belated import Simplex
    >>> WOFTRL(Simplex(3), smoothness=2.0, delay=2, mirror="entropy").strength
    24.0
    """

    reference = "Fujimoto, Abe and Ariu 2025"
    guarantee = "O(d^2) for the sum of both players' regrets, in games of two"

    domain: Domain
    smoothness: float
    delay: int | None = None
    mirror: Mirror = "euclidean"
    lipschitz: float = 0.0
    copies: int | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        check_mirror(self, self.mirror)
        if self.copies is not None and self.copies > 1 << 20:
            raise SpecError(f"{self.kind}: copies must be at most 2**20, got {self.copies!r}")

    @property
    def strength(self) -> float:
        """2 lambda L = (d + 1) (d + 2) L."""
        delay = self._fact("delay")
        return (delay + 1) * (delay + 2) * self.smoothness

    def player(self, seed: int, strict: bool) -> core.ODFTRL:
        """Return what plays."""
        setting = self._setting(seed, strict, mirror=self.mirror)
        copies = -1.0 if self.copies is None else float(self.copies)
        return core.ODFTRL(setting, 1.0 / self.strength, True, copies)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """strength max psi + G^2 (3 T / 2 + 2 d_tot) / strength; see ``ODFTRL``."""
        if self.copies is None:
            return self._regularised(timeline, 1.5, 2.0)
        return self._regularised(timeline, self.copies + 0.5, 1.0)


@dataclass(frozen=True, repr=False)
class QiuEspositoZhang(Rival, module="rivals"):
    """Delayed follow-the-leader for strongly convex losses.

    x_{t+1} = argmin_{x in K} sum_{s in o_t} (<g_s, x> + (lambda / 2) |x - x_s|^2)
    = Pi_K((sum_{s in o_t} x_s - (1 / lambda) sum_{s in o_t} g_s) / |o_t|),

    o_t the rounds received, x_s the points played, lambda = ``curvature``; the first point while
    nothing was received. P-FTRL under ``rates.StronglyConvex`` has the points of its base in place
    of x_s and so keeps none; without delay the two are the same.

    Guarantee: O((G^2 / lambda) (min{sigma_max ln T, sqrt(d_tot)} + ln T)).
    Reference: Qiu, Esposito and Zhang, "Exploiting curvature in online convex optimization with
    delayed feedback", ICML 2025.

    >>> from belated import Ball
    >>> QiuEspositoZhang(Ball(3), curvature=0.5)
    rivals.QiuEspositoZhang(domain=Ball(dim=3), curvature=0.5)
    """

    title = "Qiu-Esposito-Zhang"
    reference = "Qiu, Esposito and Zhang 2025"
    memory = "the played point per open ticket"
    guarantee = "of order (G^2/lambda) (min{sigma_max ln T, sqrt(d_tot)} + ln T)"
    order = "any order; a lost answer counts as a zero gradient at its own point"

    domain: Domain
    curvature: float

    def player(self, seed: int, strict: bool) -> core.QiuEspositoZhang:
        """Return what plays."""
        return core.QiuEspositoZhang(self._setting(seed, strict), self.curvature)


@dataclass(frozen=True, repr=False)
class DelayedFrankWolfe(Rival, module="rivals"):
    """Frank-Wolfe, one step per answer: y_{n+1} = y_n + r_n (v_n - y_n), the latest y is played.

    F_n(y) = eta <sum of the n gradients received, y> + |y - y_1|^2, v_n = argmin_K <grad F_n(y_n),
    v> is a corner of the set, r_n in [0, 1] minimises F_n(y_n + r (v_n - y_n)), and
    eta = D / (G (T + 2)^(3/4)). There is no projection.

    Guarantee, after the paper, for every eta: with e = eta G / D, regret <=
    R^2 / eta + eta G^2 (T + d_tot) / 2 + G D T min{1, sqrt(3) e^(1/3)}, as y_n is at most
    D sqrt(3) e^(1/3) from the minimum of F_{n-1}, and that moves by at most eta G / 2 per answer.
    With this eta it is O(G D (T^(3/4) + d_max T^(1/4))).
    Reference: Wan, Tu and Zhang, "Online Frank-Wolfe with arbitrary delays", NeurIPS 2022.
    Differs from the paper: the constants of eta and of the bound are derived here.

    >>> from belated import L1Ball, Learner
    >>> learner = Learner(DelayedFrankWolfe(L1Ball(2), lipschitz=1.0, rounds=14))
    >>> _ = learner.predict(), learner.observe(0, [0.5, 0.25])
    >>> learner.predict().x
    array([-0.0625,  0.    ])
    """

    title = "Delayed Frank-Wolfe"
    reference = "Wan, Tu and Zhang 2022"
    guarantee = "R^2/eta + eta G^2 (T + d_tot)/2 + G D T min{1, sqrt(3) (eta G/D)^(1/3)}"

    domain: Domain
    lipschitz: float
    rounds: int | None = None

    @property
    def step(self) -> float:
        """eta = D / (G (T + 2)^(3/4)), the power taken by square roots."""
        root = math.sqrt(self._fact("rounds") + 2)
        return self.domain.diameter / (self.lipschitz * root * math.sqrt(root))

    def player(self, seed: int, strict: bool) -> core.FrankWolfe:
        """Return what plays."""
        return core.FrankWolfe(self._setting(seed, strict), self.step)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """R^2 / eta + eta G^2 (T + d_tot) / 2 + G D T min{1, sqrt(3) e^(1/3)}."""
        eta, steep, rounds = self.step, self.lipschitz, timeline.rounds
        scale = steep * self.domain.diameter
        apart = min(1.0, math.sqrt(3.0) * (eta * steep / self.domain.diameter) ** (1.0 / 3.0))
        price = eta * steep**2 / 2.0
        learning = self._outer**2 / eta + price * rounds + scale * rounds * apart
        return self._split(timeline, learning + price * timeline.total_delay, learning)


@dataclass(frozen=True, repr=False)
class DelayedFrankWolfeStronglyConvex(Rival, module="rivals"):
    """Frank-Wolfe for strongly convex losses: y_{n+1} = y_n + r_n (v_n - y_n), y is played.

    F_n(y) = <sum of the n gradients received, y> + (lambda / 2) sum_{i <= n} |y - y_i|^2,
    lambda = ``curvature``; v_n = argmin_K <grad F_n(y_n), v> is a corner of the set, and r_n in
    [0, 1] minimises F_n(y_n + r (v_n - y_n)). There is no projection, and nothing is told in
    advance.

    Guarantee, after the paper, in the order of arrival: with L = G + lambda D,
    a_n = min{D, (5/2) (L / lambda) (n - 1)^(-1/3)}, m = n - d*_n and
    b_n = a_m + (L / lambda) sum_{i=m}^n 1 / i,
    regret <= sum_n (L b_n + lambda D (a_m + a_n + (L / lambda) sum_{i=m}^{n-1} 1 / i) [m < n]).
    That is O((L^2 / lambda) (T^(2/3) + d_max ln T)).
    Reference: Wan, Tu and Zhang, "Online Frank-Wolfe with arbitrary delays", NeurIPS 2022.
    Differs from the paper: the constants of the bound are derived here.

    >>> from belated import L1Ball, Learner
    >>> spec = DelayedFrankWolfeStronglyConvex(L1Ball(2), curvature=1.0, lipschitz=1.0)
    >>> learner = Learner(spec)
    >>> _ = learner.predict(), learner.observe(0, [0.5, 0.25])
    >>> learner.predict().x
    array([-0.5,  0. ])
    """

    title = "Delayed Frank-Wolfe, strongly convex"
    reference = "Wan, Tu and Zhang 2022"
    guarantee = "of order ((G + lambda D)^2/lambda) (T^(2/3) + d_max ln T)"
    order = "any order; a lost answer counts as a zero gradient at the point of that moment"

    domain: Domain
    curvature: float
    lipschitz: float

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        check_curvature(self)

    def player(self, seed: int, strict: bool) -> core.FrankWolfeStronglyConvex:
        """Return what plays."""
        reach = max(1.0, self.domain.size) * (1.0 + 1e-6)
        return core.FrankWolfeStronglyConvex(self._setting(seed, strict), self.curvature, reach)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """What the docstring says."""
        late, none = timeline.dual_delay[timeline.order], np.zeros(timeline.rounds, dtype=np.int64)
        return self._split(timeline, self._price(late), self._price(none))

    def _price(self, late: Ints) -> float:
        """Return the bound for these dual delays, in the order of arrival."""
        diameter = self.domain.diameter
        steep = self.lipschitz + self.curvature * diameter
        n = np.arange(1, late.size + 1)
        unit = steep / self.curvature
        near = np.minimum(diameter, 2.5 * unit * np.maximum(n - 1.0, 0.5) ** (-1.0 / 3.0))
        near[:1] = 0.0
        moved = unit * np.concatenate([[0.0], np.cumsum(1.0 / n)])  # by the first n answers
        first = n - late - 1  # m, counted from 0
        play = near[first] + moved[n] - moved[first]
        drift = np.where(late > 0, near[first] + near + moved[n - 1] - moved[first], 0.0)
        return float(steep * play.sum() + self.curvature * diameter * drift.sum())
