"""Published methods that are told values: one, two or more per round."""

from __future__ import annotations

import math
from dataclasses import dataclass

from belated.bounds import Bound
from belated.core import rival_bandit as core
from belated.domains import Domain
from belated.errors import SpecError
from belated.rivals.base import IN_EXPECTATION, Exploring, check_curvature, cube_root, log
from belated.timeline import Timeline


@dataclass(frozen=True, repr=False)
class Flaxman(Exploring, module="rivals"):
    """Bandit gradient descent, tuned for Lipschitz losses: it plays y + delta u.

    For each value f that arrives, of a round with direction u,
    y = Pi(y - nu f u) onto (1 - delta / r) K, where nu = R / (M sqrt T),
    delta = min{r, T^(-1/4) sqrt(R k M r / (3 (G r + M)))} and u is uniform on the unit sphere. M
    (``magnitude``) bounds the values, G (``lipschitz``) the gradients; r and R are the inner and
    the outer radius of the set. The factor k / delta of a gradient's estimate is part of the step.
    The method knows nothing of delays.
    Guarantee, without delay: expected regret <= 2 T^(3/4) sqrt(3 R k M (G + M / r)).
    Reference: Flaxman, Kalai and McMahan, "Online convex optimization in the bandit setting:
    gradient descent without a gradient", SODA 2005.

    Differs from the paper: delta is at most r, which their condition on T ensures.

    >>> from belated import Ball
    >>> Flaxman(Ball(3), magnitude=1.0, lipschitz=1.0, rounds=4).smoothing
    0.5
    """

    title = "Flaxman-Kalai-McMahan"
    reference = "Flaxman, Kalai and McMahan 2005"
    answers = "value"
    guarantee = "2 T^(3/4) sqrt(3 R k M (G + M/r)) without delay, in expectation"

    domain: Domain
    magnitude: float
    lipschitz: float
    rounds: int | None = None

    @property
    def smoothing(self) -> float:
        """delta = min{r, T^(-1/4) sqrt(R k M r / (3 (G r + M)))}."""
        slope = 3.0 * (self.lipschitz * self._inner + self.magnitude)
        share = self._outer * self.domain.dim * self.magnitude * self._inner / slope
        return min(self._inner, math.sqrt(share / math.sqrt(self._fact("rounds"))))

    @property
    def step(self) -> float:
        """nu = R / (M sqrt T)."""
        return self._outer / (self.magnitude * math.sqrt(self._fact("rounds")))

    def player(self, seed: int, strict: bool) -> core.Flaxman:
        """Return what plays."""
        return core.Flaxman(self._setting(seed, strict), self.smoothing, self.step)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """R^2 k / (2 nu delta) + nu k M^2 T / (2 delta) + 3 delta T (G + M / r) without delay.

        Nothing is promised with it.
        """
        delta, rounds = self.smoothing, timeline.rounds
        noise = self._outer**2 / self.step + self.step * self.magnitude**2 * rounds
        slope = self.lipschitz + self.magnitude / self._inner
        total = self.domain.dim * noise / (2.0 * delta) + 3.0 * delta * rounds * slope
        return self._without_delay(timeline, total, IN_EXPECTATION)


@dataclass(frozen=True, repr=False)
class AgarwalDekelXiao(Exploring, module="rivals"):
    """Gradient descent from two values per round: it plays y + delta u and y - delta u.

    For each pair of values that arrives, of a round with direction u, y = Pi(y - eta c) onto
    (1 - delta / r) K, c = (k / (2 delta)) (f(y + delta u) - f(y - delta u)) u,
    delta = min{r, ln(e T) / T}, eta = 1 / sqrt(T) or, with ``curvature`` lambda > 0,
    1 / (lambda n) for the n-th pair. u is uniform on the unit sphere, r the inner radius. G
    (``lipschitz``) bounds the gradients; values that differ by more than it allows are counted. The
    method knows nothing of delays, and a round costs the mean of its two values.
    Guarantee, without delay: expected regret
    <= (k^2 G^2 + D^2) sqrt(T) + G ln(e T) (3 + D / r) or, with curvature,
    <= (k^2 G^2 / lambda) (1 + ln T) + G ln(e T) (3 + D / r), D being the diameter.
    Reference: Agarwal, Dekel and Xiao, "Optimal algorithms for online convex optimization with
    multi-point bandit feedback", COLT 2010.

    Differs from the paper: ln(e T), as ln T is 0 for a single round, and delta is at most r.

    >>> from belated import Ball
    >>> AgarwalDekelXiao(Ball(3), lipschitz=1.0, rounds=1).smoothing
    1.0
    """

    title = "Agarwal-Dekel-Xiao"
    reference = "Agarwal, Dekel and Xiao 2010"
    answers = "two values"
    guarantee = (
        "(k^2 G^2 + D^2) sqrt(T) + G ln(e T) (3 + D/r) without delay, in expectation; "
        "with curvature (k^2 G^2/lambda) (1 + ln T) in place of the first term"
    )

    domain: Domain
    lipschitz: float
    rounds: int | None = None
    curvature: float = 0.0

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        check_curvature(self)

    @property
    def smoothing(self) -> float:
        """delta = min{r, ln(e T) / T}."""
        rounds = self._fact("rounds")
        return min(self._inner, (1.0 + log(rounds)) / rounds)

    @property
    def step(self) -> float:
        """eta = 1 / sqrt(T), without curvature."""
        return 1.0 / math.sqrt(self._fact("rounds"))

    def player(self, seed: int, strict: bool) -> core.AgarwalDekelXiao:
        """Return what plays."""
        setting = self._setting(seed, strict)
        return core.AgarwalDekelXiao(setting, self.smoothing, self.step, self.curvature)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """D^2 / eta + eta k^2 G^2 T + G delta T (3 + D / r), or the first two as with curvature.

        That is the guarantee above, for any eta and delta. Nothing is promised with delay.
        """
        rounds, diameter = timeline.rounds, self.domain.diameter
        noise = (self.domain.dim * self.lipschitz) ** 2
        if self.curvature > 0.0:
            learning = noise / self.curvature * (1.0 + log(max(1, rounds)))
        else:
            learning = diameter**2 / self.step + self.step * noise * rounds
        blur = self.lipschitz * self.smoothing * rounds * (3.0 + diameter / self._inner)
        return self._without_delay(timeline, learning + blur, IN_EXPECTATION)


@dataclass(frozen=True, repr=False)
class Shamir(Exploring, module="rivals"):
    """Gradient descent from two values per round: it plays y + delta u and y - delta u.

    For each pair of values that arrives, of a round with direction u, y = Pi(y - eta c) onto
    (1 - delta / r) K, c = (k / (2 delta)) (f(y + delta u) - f(y - delta u)) u,
    eta = R / (G sqrt(k T)) and delta = r min{1, sqrt(k / T)}. u is uniform on the unit sphere, r
    and R are the inner and the outer radius of the set, G (``lipschitz``) bounds the gradients. The
    method knows nothing of delays.
    Guarantee, without delay: expected regret O(G R sqrt(k T)), if a round costs f(y).
    Reference: Shamir, "An optimal algorithm for bandit and zero-order convex optimization with
    two-point feedback", JMLR 2017.

    Differs from the paper: its condition is delta <= R sqrt(k / T); here delta is such that the
    played points stay in the set, which y is shrunk for.

    >>> from belated import Ball
    >>> Shamir(Ball(4), lipschitz=1.0, rounds=64).smoothing
    0.25
    """

    reference = "Shamir 2017"
    answers = "two values"
    guarantee = "O(G R sqrt(k T)) without delay, in expectation"

    domain: Domain
    lipschitz: float
    rounds: int | None = None

    @property
    def smoothing(self) -> float:
        """delta = r min{1, sqrt(k / T)}."""
        return self._inner * min(1.0, math.sqrt(self.domain.dim / self._fact("rounds")))

    def player(self, seed: int, strict: bool) -> core.AgarwalDekelXiao:
        """Return what plays."""
        step = self._outer / (self.lipschitz * math.sqrt(self.domain.dim * self._fact("rounds")))
        return core.AgarwalDekelXiao(self._setting(seed, strict), self.smoothing, step, 0.0)


@dataclass(frozen=True, repr=False)
class _Bistritz(Exploring):
    """What the two versions share."""

    reference = "Bistritz, Zhou, Chen, Bambos and Blanchet 2022"
    answers = "value"
    guarantee = "O(k T^(3/4) + sqrt(k) (T d_tot)^(1/3)), in expectation"

    domain: Domain
    magnitude: float
    lipschitz: float


@dataclass(frozen=True, repr=False)
class Bistritz(_Bistritz, module="rivals"):
    """Gradient descent from late values: one step per round with arrivals.

    It plays (1 - delta / r) y_t + delta u_t, and
    y_{t+1} = Pi_K(y_t - eta sum_{s in F_t} (k / delta) f_s u_s), where F_t are the rounds whose
    value f_s arrived in round t and u_t is uniform on the unit sphere. With A = k M / (G r),
    delta / r = min{1, max(sqrt(A) T^(-1/4), (A d_tot)^(1/3) T^(-2/3))} and
    eta = D / sqrt(T (k M / delta)^2 + 2 G (k M / delta) d_tot). M (``magnitude``) bounds the
    values, G (``lipschitz``) the gradients; r and D are the inner radius and the diameter.
    Guarantee: expected regret O(k T^(3/4) + sqrt(k) (T d_tot)^(1/3)).
    Reference: Bistritz, Zhou, Chen, Bambos and Blanchet, "No weighted-regret learning in
    adversarial bandits with delays", JMLR 2022.

    Differs from the paper: delta and eta minimise the bound
    D^2 / (2 eta) + (eta / 2) T (k M / delta)^2 + eta G (k M / delta) d_tot + O(G delta T).

    >>> from belated import Ball, Learner
    >>> spec = Bistritz(Ball(2), magnitude=1.0, lipschitz=1.0, rounds=64, total_delay=0)
    >>> x = Learner(spec).predict().x  # around the centre, at distance delta = 1 / 2
    >>> round(float(x @ x), 6)
    0.25
    """

    title = "Bistritz et al."

    rounds: int | None = None
    total_delay: int | None = None

    def player(self, seed: int, strict: bool) -> core.Bistritz:
        """Return what plays."""
        numbers = (self.domain.diameter, self._fact("rounds"), self._fact("total_delay"))
        return core.Bistritz(self._setting(seed, strict), *numbers)


@dataclass(frozen=True, repr=False)
class BistritzDoubling(_Bistritz, module="rivals"):
    """``Bistritz`` without knowing T and d_tot: it guesses powers of two and restarts.

    An epoch is tuned for T = 2^h and d_tot = 2^v, starting with h = v = 0. It is over when a round
    would be its (2^h + 1)-st, or when the tickets of the epoch that were open at its predictions
    sum to more than 2^v; then that exponent grows until the count fits, y starts again at the
    centre, and answers to tickets of earlier epochs are dropped.
    Guarantee: expected regret O(k T^(3/4) + sqrt(k) (T d_tot)^(1/3)).
    Reference: Bistritz, Zhou, Chen, Bambos and Blanchet, "No weighted-regret learning in
    adversarial bandits with delays", JMLR 2022.

    Differs from the paper: the tuning of an epoch is that of ``Bistritz``.

    >>> from belated import Ball, Learner
    >>> learner = Learner(BistritzDoubling(Ball(2), magnitude=1.0, lipschitz=1.0))
    >>> _ = learner.predict(), learner.predict()
    >>> learner.observe(0, 0.5), learner.observe(1, 0.5)
    (False, True)
    """

    title = "Bistritz et al., doubling"
    order = "any order; a lost answer is forgotten, and one from before a restart is dropped"

    def player(self, seed: int, strict: bool) -> core.BistritzDoubling:
        """Return what plays."""
        return core.BistritzDoubling(self._setting(seed, strict), self.domain.diameter)


@dataclass(frozen=True, repr=False)
class GOLD(Exploring, module="rivals"):
    """Gradient-free online learning with delays: a pool of values, the oldest used per round.

    It plays (1 - delta_t / r) x_t + delta_t u_t. When a round ends, the values that arrived go into
    the pool, the oldest round q in it is taken out, and
    x_{t+1} = Pi_K(x_t - gamma_t (k / delta_q) f_q u_q); an empty pool changes nothing.
    u_t is uniform on the unit sphere and f_q the value that round q met. It must be told how fast
    delays grow: for delays of order t^a (``growth`` a, 0 for bounded delays),
    delta_t = min{r, delta t^-b} and gamma_t = gamma t^-c, b = min{1/4, 1/3 - a/3} and
    c = max{3/4, 2/3 + a/3}. delta is ``smoothing`` or, where that is 0, sqrt(k M r / G), and
    gamma = D delta / (k M), where M (``magnitude``) bounds the values, G (``lipschitz``) the
    gradients, and r and D are the inner radius and the diameter of the set.
    Guarantee: expected regret O(T^(3/4) + T^(2/3 + a/3)), up to logarithms (Theorem 1, which also
    has b and c).
    Reference: Heliou, Mertikopoulos and Zhou, "Gradient-free online learning in continuous games
    with delayed rewards", ICML 2020.

    Differs from the paper: losses instead of rewards, a single player, and delta and gamma, which
    the paper leaves open, balance the terms at M, G, r and D; with less exploration it often loses
    less. After a burst the pool shrinks by no more than one value per round, so that values grow
    old in it.

    >>> from belated import Ball, Learner
    >>> learner = Learner(GOLD(Ball(2), magnitude=1.0, lipschitz=1.0))
    >>> tickets = [learner.predict().ticket for _ in range(3)]
    >>> [learner.observe(ticket, 0.5) for ticket in reversed(tickets)], learner.open
    ([True, True, True], 0)
    """

    reference = "Heliou, Mertikopoulos and Zhou 2020"
    answers = "value"
    memory = "three numbers per open ticket and per value in the pool"
    guarantee = "O(T^(3/4) + T^(2/3 + a/3)), up to logarithms, in expectation"

    domain: Domain
    magnitude: float
    lipschitz: float
    growth: float = 0.0
    smoothing: float = 0.0

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        if self.growth >= 1.0:
            raise SpecError(f"{self.kind}: growth must be below 1, got {self.growth!r}")

    @property
    def _tuning(self) -> tuple[float, float, float, float]:
        """delta, gamma, b and c."""
        k = self.domain.dim
        balance = math.sqrt(k * self.magnitude * self._inner / self.lipschitz)
        delta = self.smoothing or balance
        gamma = self.domain.diameter * delta / (k * self.magnitude)
        radius_power = min(1.0 / 4.0, 1.0 / 3.0 - self.growth / 3.0)
        step_power = max(3.0 / 4.0, 2.0 / 3.0 + self.growth / 3.0)
        return delta, gamma, radius_power, step_power

    def player(self, seed: int, strict: bool) -> core.GOLD:
        """Return what plays."""
        return core.GOLD(self._setting(seed, strict), *self._tuning)


class _Blocks(Exploring):
    """What the two versions share."""

    reference = "Wan, Yao, Song and Zhang 2024"
    answers = "value"

    magnitude: float
    lipschitz: float
    rounds: int | None

    @property
    def smoothing(self) -> float:
        """delta."""
        raise NotImplementedError

    @property
    def block(self) -> int:
        """L = ceil((k M / (G delta))^2) rounds, at most T.

        A part in 1e9 is taken off before rounding up, so that rounding errors add no round.
        """
        noise = self.domain.dim * self.magnitude / (self.lipschitz * self.smoothing)
        return min(self._fact("rounds"), max(1, math.ceil(noise * noise * (1.0 - 1e-9))))

    @property
    def _ratio(self) -> float:
        """k M / (G r)."""
        return self.domain.dim * self.magnitude / (self.lipschitz * self._inner)


@dataclass(frozen=True, repr=False)
class DFTBL(_Blocks, module="rivals"):
    """Delayed follow-the-bandit-leader, for convex losses: blocks of L rounds around one point.

    In block m it plays y_m + delta u_t. When the block ends, y_{m+1} = Pi(-S / alpha) onto
    (1 - delta / r) K, where S = sum (k / delta) f_s u_s runs over all values f_s received so far
    and u_t is uniform on the unit sphere. delta = r min{1, sqrt(k M / (G r)) T^(-1/4)},
    L = ceil((k M / (G delta))^2) and alpha = (2 G / R) sqrt(T (d_max + 2 L)). M (``magnitude``)
    bounds the values, G (``lipschitz``) the gradients; r and R are the inner and the outer radius.
    Guarantee: expected regret O(sqrt(k) T^(3/4) + sqrt(d_max T)).
    Reference: Wan, Yao, Song and Zhang, "Improved regret for bandit convex optimization with
    delayed feedback", NeurIPS 2024.

    Differs from the paper: delta, L and alpha minimise the bound
    alpha R^2 / 2 + 2 G^2 T (d_max + 2 L) / alpha + O(G delta T), and L is at most T.

    >>> from belated import Ball
    >>> spec = DFTBL(Ball(2), magnitude=1.0, lipschitz=1.0, rounds=1024, max_delay=7)
    >>> spec.smoothing, spec.block
    (0.25, 64)
    """

    title = "D-FTBL"
    guarantee = "O(sqrt(k) T^(3/4) + sqrt(d_max T)), in expectation"

    domain: Domain
    magnitude: float
    lipschitz: float
    rounds: int | None = None
    max_delay: int | None = None

    @property
    def smoothing(self) -> float:
        """delta = r min{1, sqrt(k M / (G r)) T^(-1/4)}."""
        return self._inner * min(1.0, math.sqrt(self._ratio / math.sqrt(self._fact("rounds"))))

    def player(self, seed: int, strict: bool) -> core.DFTBL:
        """Return what plays."""
        waiting = self._fact("rounds") * (self._fact("max_delay") + 2 * self.block)
        alpha = 2.0 * self.lipschitz / self._outer * math.sqrt(waiting)
        return core.DFTBL(self._setting(seed, strict), self.smoothing, self.block, alpha)


@dataclass(frozen=True, repr=False)
class DFTBLStronglyConvex(_Blocks, module="rivals"):
    """Delayed follow-the-bandit-leader, for strongly convex losses.

    In block m, of L rounds, it plays y_m + delta u_t. When the block ends,
    y_{m+1} = Pi(mean(y_1, ..., y_m) - S / (lambda L m)) onto (1 - delta / r) K, where
    S = sum (k / delta) f_s u_s runs over all values f_s received so far and u_t is uniform on the
    unit sphere. delta = r min{1, ((k M / (G r))^2 ln(e T) / T)^(1/3)} and
    L = ceil((k M / (G delta))^2). M (``magnitude``) bounds the values, G (``lipschitz``) the
    gradients, lambda is the curvature of the losses, r the inner radius.
    Guarantee: expected regret O((k T)^(2/3) (ln T)^(1/3) + d_max ln T).
    Reference: Wan, Yao, Song and Zhang, "Improved regret for bandit convex optimization with
    delayed feedback", NeurIPS 2024.

    Differs from the paper: delta and L balance the terms of the bound, L is at most T, and ln(e T)
    stands for ln T, which is 0 for a single round.

    >>> from belated import Ball
    >>> spec = DFTBLStronglyConvex(Ball(1), magnitude=1.0, lipschitz=1.0, curvature=0.5, rounds=1)
    >>> spec.smoothing, spec.block
    (1.0, 1)
    """

    title = "D-FTBL, strongly convex"
    guarantee = "O((k T)^(2/3) (ln T)^(1/3) + d_max ln T), in expectation"

    domain: Domain
    magnitude: float
    lipschitz: float
    curvature: float
    rounds: int | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        check_curvature(self)

    @property
    def smoothing(self) -> float:
        """delta = r min{1, ((k M / (G r))^2 ln(e T) / T)^(1/3)}."""
        rounds, ratio = self._fact("rounds"), self._ratio
        return self._inner * min(1.0, cube_root(ratio * ratio * (1.0 + log(rounds)) / rounds))

    def player(self, seed: int, strict: bool) -> core.DFTBLStronglyConvex:
        """Return what plays."""
        numbers = (self.smoothing, self.block, self.curvature)
        return core.DFTBLStronglyConvex(self._setting(seed, strict), *numbers)


@dataclass(frozen=True, repr=False)
class _FromValues(Exploring):
    """What the two versions that learn from values share."""

    reference = "Wan, Tu and Zhang 2022"

    domain: Domain
    curvature: float
    lipschitz: float
    rounds: int | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        check_curvature(self)

    @property
    def smoothing(self) -> float:
        """delta = r min{1, ln(e T) / T}."""
        rounds = self._fact("rounds")
        return self._inner * min(1.0, (1.0 + log(rounds)) / rounds)


@dataclass(frozen=True, repr=False)
class DOGDSCTwoPoint(_FromValues, module="rivals"):
    """DOGD-SC from two values per round: it plays y_t + delta u_t and y_t - delta u_t.

    y_{t+1} = Pi(y_t - (1 / (lambda N_t)) sum_{s in F_t} c_s) onto (1 - delta / r) K, with the
    estimate c_s = (k / (2 delta)) (f_s(y_s + delta u_s) - f_s(y_s - delta u_s)) u_s of a gradient
    and delta = r min{1, ln(e T) / T}. F_t are the rounds whose values arrived in round t, N_t
    counts all that arrived so far, u_t is uniform on the unit sphere, r the inner radius of the
    set. G (``lipschitz``) bounds the gradients; values that differ by more than it allows are
    counted.
    Guarantee: expected regret O(d_max ln T) in d_max and T.
    Reference: Wan, Tu and Zhang, "Online strongly convex optimization with unknown delays", Machine
    Learning 2022.

    Differs from the paper: ln(e T), as ln T is 0 for a single round, and delta is a share of r, so
    that it never leaves the set.

    >>> from belated import Ball
    >>> DOGDSCTwoPoint(Ball(3), curvature=1.0, lipschitz=2.0, rounds=1).smoothing
    1.0
    """

    title = "DOGD-SC, two values"
    answers = "two values"
    guarantee = "O(d_max ln T), in expectation"

    def player(self, seed: int, strict: bool) -> core.DOGDSCTwoPoint:
        """Return what plays."""
        return core.DOGDSCTwoPoint(self._setting(seed, strict), self.smoothing, self.curvature)


@dataclass(frozen=True, repr=False)
class DOGDSCManyPoint(_FromValues, module="rivals"):
    """DOGD-SC from k + 1 values per round: it plays y_t, y_t + delta e_1, ..., y_t + delta e_k.

    y_{t+1} = Pi(y_t - (1 / (lambda N_t)) sum_{s in F_t} c_s) onto (1 - delta / r) K, where
    coordinate i of the estimate c_s is (f_s(y_s + delta e_i) - f_s(y_s)) / delta and
    delta = r min{1, ln(e T) / T}. F_t are the rounds whose values arrived in round t, N_t counts
    all that arrived so far, e_i is the i-th unit vector, r the inner radius of the set. G
    (``lipschitz``) bounds the gradients; values that differ by more than it allows are counted.
    There is no chance in it.
    Guarantee: regret O(d_max ln T) in d_max and T.
    Reference: Wan, Tu and Zhang, "Online strongly convex optimization with unknown delays", Machine
    Learning 2022.

    Differs from the paper: ln(e T), as ln T is 0 for a single round, and delta is a share of r, so
    that it never leaves the set.

    >>> from belated import Ball, Learner
    >>> spec = DOGDSCManyPoint(Ball(2), curvature=1.0, lipschitz=2.0, rounds=1)
    >>> Learner(spec).predict().x
    array([[0., 0.],
           [1., 0.],
           [0., 1.]])
    """

    title = "DOGD-SC, k + 1 values"
    answers = "k + 1 values"
    guarantee = "O(d_max ln T)"

    def player(self, seed: int, strict: bool) -> core.DOGDSCManyPoint:
        """Return what plays."""
        return core.DOGDSCManyPoint(self._setting(seed, strict), self.smoothing, self.curvature)
