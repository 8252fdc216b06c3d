"""Rivals that play the best point so far: dual averaging, FTRL, Frank-Wolfe and Newton steps.

g_s is the gradient of round s, x_s its play. See ``belated.research.rivals`` for the other symbols.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from belated.arrays import Ints
from belated.bounds import Bound
from belated.domains import Domain, Simplex
from belated.errors import SpecError
from belated.research.core import rival_descent as core
from belated.research.core.rival import Setting
from belated.research.core.rival_matrices import DelayedONS as DelayedONSPlayer
from belated.research.rivals.base import Hint, Mirror, Regularised, Rival
from belated.timeline import Timeline


class DelayedDualAveraging(Rival):
    """Adaptive delayed dual averaging: x_t = Pi_K(x_1 - S_t / lambda_t).

    S_t is the sum of the gradients received before round t, lambda_t = (2 G / R) sqrt(V_t),
    V_t = sum_{s <= t} (1/2 + sigma_s). Nothing is told in advance, and every round moves the play,
    also one without an arrival.

    Differs from the paper: a single agent, and the step that this derivation gives.
    """

    title = "Delayed dual averaging"
    reference = "after Hsieh, Iutzeler, Malick and Mertikopoulos 2022"
    guarantee = "2 G R sqrt(T / 2 + d_tot)"

    domain: Domain
    lipschitz: float

    def _player(self, setting: Setting) -> Any:
        return core.DelayedDualAveraging(setting, self._outer / (2.0 * self.lipschitz))

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        scale = 2.0 * self.lipschitz * self._outer
        total = scale * math.sqrt(timeline.rounds / 2.0 + timeline.total_delay)
        return self._split(timeline, total, scale * math.sqrt(timeline.rounds / 2.0))


class ODFTRL(Regularised):
    """Optimistic delayed FTRL: x_t = argmin_K <sum of received g_s + h_t, x> + lambda psi(x).

    lambda is ``strength``; psi(x) = |x - center|^2 / 2, x_t = Pi_K(center - (sum g + h) / lambda);
    with ``mirror="entropy"`` on a ``Simplex`` psi is the divergence from the uniform distribution
    and x_t is proportional to exp(-(sum g + h) / lambda). ``hint="recent"`` guesses the missing
    gradients by the last one received, h_t = (open + 1) g_last; ``"none"`` is h_t = 0.
    If ``lipschitz`` G is given, the bound uses it, and larger gradients are counted.

    Differs from the paper: any delays, not one fixed delay.
    """

    guarantee = "strength max psi + G^2 (T/2 + d_tot) / strength, without hints"

    domain: Domain
    strength: float
    mirror: Mirror = "euclidean"
    hint: Hint = "none"
    lipschitz: float = 0.0

    def _player(self, setting: Setting) -> Any:
        return core.ODFTRL(setting, 1.0 / self.strength, self.hint == "recent")

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        first, late = (0.5, 1.0) if self.hint == "none" else (1.5, 2.0)
        return self._regularised(timeline, first, late)


class WOFTRL(Regularised):
    """Weighted optimistic FTRL: x_t = argmin_K <sum of received g_s + n g_last, x> + mu psi(x).

    Under a fixed delay d, told in advance, n = d + 1: the newest gradient is counted once for each
    that is missing and once for the next one. That is ``ODFTRL`` with its hint "recent", and a
    ``strength`` mu that suits games in which all players learn: mu = (d + 1) (d + 2) L. L is
    ``smoothness``: gradients differ by at most L times the differences of the plays of all players;
    two players with payoffs in [-1, 1] have L = 2. psi and ``lipschitz`` are as in ``ODFTRL``.
    ``copies`` is another n, for comparison: up to d it diverges.

    Differs from the paper: any delays, n being the number of open tickets plus one; that is d + 1
    where the delay is fixed.
    """

    reference = "Fujimoto, Abe and Ariu 2025"
    guarantee = "O(d^2) for the sum of both players' regrets, in games of two"

    domain: Domain
    smoothness: float
    delay: int | None = None
    mirror: Mirror = "euclidean"
    lipschitz: float = 0.0
    copies: int | None = None

    def _check(self) -> None:
        super()._check()
        if self.copies is not None and self.copies > 1 << 20:
            raise SpecError(f"{self.kind}: copies must be at most 2**20, got {self.copies!r}")

    @property
    def strength(self) -> float:
        """(d + 1) (d + 2) L."""
        delay = self._fact("delay")
        return (delay + 1) * (delay + 2) * self.smoothness

    def _player(self, setting: Setting) -> Any:
        copies = -1.0 if self.copies is None else float(self.copies)
        return core.ODFTRL(setting, 1.0 / self.strength, True, copies)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        if self.copies is None:
            return self._regularised(timeline, 1.5, 2.0)
        return self._regularised(timeline, self.copies + 0.5, 1.0)


class QiuEspositoZhang(Rival):
    """Delayed follow-the-leader for strongly convex losses.

    x_{t+1} = argmin_{x in K} sum_{s in o_t} (<g_s, x> + (lambda / 2) |x - x_s|^2)
    = Pi_K((sum_{s in o_t} x_s - (1 / lambda) sum_{s in o_t} g_s) / |o_t|),

    o_t the rounds received; the first point while there are none. P-FTRL under
    ``rates.StronglyConvex`` uses the points of its base instead of x_s and so keeps none; without
    delay the two are the same.
    """

    title = "Qiu-Esposito-Zhang"
    reference = "Qiu, Esposito and Zhang 2025"
    memory = "the played point per open ticket"
    guarantee = "of order (G^2/lambda) (min{sigma_max ln T, sqrt(d_tot)} + ln T)"
    order = "any order; a lost answer counts as a zero gradient at its own point"

    domain: Domain
    curvature: float

    _core = (core.QiuEspositoZhang, "curvature")


class DelayedFrankWolfe(Rival):
    """Frank-Wolfe, one step per answer: y_{n+1} = y_n + r_n (v_n - y_n), the latest y is played.

    F_n(y) = eta <sum of the n gradients received, y> + |y - y_1|^2, v_n = argmin_K <grad F_n(y_n),
    v> is a corner of the set, r_n in [0, 1] minimises F_n(y_n + r (v_n - y_n)), and
    eta = D / (G (T + 2)^(3/4)). There is no projection.

    The guarantee follows the paper, for every eta: y_n is at most D sqrt(3) (eta G / D)^(1/3) from
    the minimum of F_{n-1}, which moves by at most eta G / 2 per answer. With this eta it is
    O(G D (T^(3/4) + d_max T^(1/4))).
    Differs from the paper: the constants of eta and of the bound are derived here.
    """

    title = "Delayed Frank-Wolfe"
    reference = "after Wan, Tu and Zhang 2022"
    guarantee = "R^2/eta + eta G^2 (T + d_tot)/2 + G D T min{1, sqrt(3) (eta G/D)^(1/3)}"

    domain: Domain
    lipschitz: float
    rounds: int | None = None

    @property
    def step(self) -> float:
        """eta = D / (G (T + 2)^(3/4)), the power taken by square roots."""
        root = math.sqrt(self._fact("rounds") + 2)
        return self.domain.diameter / (self.lipschitz * root * math.sqrt(root))

    _core = (core.FrankWolfe, "step")

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        eta, steep, rounds = self.step, self.lipschitz, timeline.rounds
        scale = steep * self.domain.diameter
        apart = min(1.0, math.sqrt(3.0) * (eta * steep / self.domain.diameter) ** (1.0 / 3.0))
        price = eta * steep**2 / 2.0
        learning = self._outer**2 / eta + price * rounds + scale * rounds * apart
        return self._split(timeline, learning + price * timeline.total_delay, learning)


class DelayedFrankWolfeStronglyConvex(Rival):
    """Frank-Wolfe for strongly convex losses: y_{n+1} = y_n + r_n (v_n - y_n), y is played.

    F_n(y) = <sum of the n gradients received, y> + (lambda / 2) sum_{i <= n} |y - y_i|^2;
    v_n = argmin_K <grad F_n(y_n), v> is a corner of the set, and r_n in [0, 1] minimises
    F_n(y_n + r (v_n - y_n)). There is no projection, and nothing is told in advance.

    The bound follows the paper, in the order of arrival: with L = G + lambda D,
    a_n = min{D, (5/2) (L / lambda) (n - 1)^(-1/3)}, m = n - d*_n and
    b_n = a_m + (L / lambda) sum_{i=m}^n 1 / i,
    regret <= sum_n (L b_n + lambda D (a_m + a_n + (L / lambda) sum_{i=m}^{n-1} 1 / i) [m < n]).
    Differs from the paper: the constants of the bound are derived here.
    """

    title = "Delayed Frank-Wolfe, strongly convex"
    reference = "after Wan, Tu and Zhang 2022"
    guarantee = "of order ((G + lambda D)^2/lambda) (T^(2/3) + d_max ln T)"
    order = "any order; a lost answer counts as a zero gradient at the point of that moment"

    domain: Domain
    curvature: float
    lipschitz: float

    def _player(self, setting: Setting) -> Any:
        reach = max(1.0, self.domain.size) * (1.0 + 1e-6)
        return core.FrankWolfeStronglyConvex(setting, self.curvature, reach)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
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


class DelayedONS(Rival):
    """Delayed online Newton step, for losses f whose exp(-alpha f) is concave.

    x_t = argmin_K of (lambda_t / 2) |x - x_1|^2 plus, for every round s received,
    q_s(x) = <g_s, x> + (beta / 2) <g_s, x - x_s>^2, where beta = min{1 / (4 G D), alpha} / 2 and
    alpha = ``exp_concavity``. With lambda_0 = 1 / (beta D^2), S_t the sum of the backlogs up to t,
    A_t the largest age of a pending round at any prediction so far and
    L_t = (k / beta) ln(1 + beta G^2 t / (k lambda_0)),

    lambda_t = lambda_0 + min{(G / D) sqrt(S_t), A_t L_t / D^2}.

    Squared losses (<z, x> - y)^2 / 2 with |<z, x> - y| <= c have alpha = 1 / c^2, logistic ones of
    margins up to m about exp(-m). Without delay, and while the minimum is inside of the set, this
    is the online Newton step of Hazan, Agarwal and Kale with eps = lambda_0 / beta.

    Differs from the paper: the rate is its own, rule and constants are derived here. lambda_t is
    rounded up to lambda_0 times a power of 2, so that P, the inverse of the matrix, is updated in
    O(k^2) and recomputed only when that doubles.

    A play is O(k^2) if the minimum is inside of the set. Otherwise it is found by projected
    gradients, O(k^2) each, starting from the last play.
    """

    title = "Delayed ONS"
    reference = "after Qiu, Esposito and Zhang 2025"
    memory = "2 k^2 numbers, and the played point per open ticket"
    guarantee = (
        "1/beta + (1 + 2.125 d_max) L_T, or 1/beta + L_T + 4.375 G D sqrt(d_tot), with "
        "L_T = (k/beta) ln(1 + (beta G D)^2 T/k), beta = min{1/(4 G D), alpha}/2"
    )

    domain: Domain
    lipschitz: float
    exp_concavity: float

    @property
    def beta(self) -> float:
        """min{1 / (4 G D), alpha} / 2."""
        return min(0.25 / (self.lipschitz * self.domain.diameter), self.exp_concavity) / 2.0

    @property
    def own_numbers(self) -> int:
        """Two matrices, mostly."""
        return 2 * self.domain.dim**2

    def _player(self, setting: Setting) -> Any:
        diameter = self.domain.diameter
        least = 1.0 / (self.beta * diameter**2)  # lambda_0
        return DelayedONSPlayer(
            setting, self.beta, least, diameter, isinstance(self.domain, Simplex)
        )

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        k, beta, diameter = self.domain.dim, self.beta, self.domain.diameter
        scale = self.lipschitz * diameter
        first = 0.5 / beta
        learned = k / beta * math.log1p((beta * scale) ** 2 * timeline.rounds / k)
        late = timeline.total_delay
        by_age, by_root = 2.125 * timeline.max_delay * learned, 4.375 * scale * math.sqrt(late)
        total = first + learned + (first + min(by_age, by_root) if late else 0.0)
        return self._split(timeline, total, first + learned)
