"""Rivals for convex losses that learn from values: one, two or more per round.

u_t is uniform on the unit sphere and f_s a value of round s; a play at distance delta from y_t
stays in the set, as y_t is in (1 - delta / r) K. See ``bl.rivals`` for the other symbols.
"""

from __future__ import annotations

import math
from typing import Any

from belated.bounds import Bound
from belated.domains import Domain, Simplex
from belated.errors import SpecError
from belated.research.core import rival_descent as core
from belated.research.core.rival import Setting
from belated.research.rivals.base import IN_EXPECTATION, Rival, cube_root, log
from belated.timeline import Timeline


class Exploring(Rival, abstract=True):
    """A rival that explores a set with interior."""

    order = "any order; a lost answer is forgotten"

    def _check(self) -> None:
        super()._check()
        if isinstance(self.domain, Simplex):
            raise SpecError(
                f"{self.kind}: Simplex has no interior to explore; play on a Box of dim - 1 "
                "coordinates"
            )

    @property
    def _inner(self) -> float:
        """r."""
        assert self.domain.inner_radius  # checked at construction
        return self.domain.inner_radius


# ---- One value per round -------------------------------------------------------------------------


class OneValue(Exploring, abstract=True):
    """A rival whose answers are values of at most M."""

    answers = "value"

    domain: Domain
    magnitude: float
    lipschitz: float

    @property
    def _ratio(self) -> float:
        """k M / (G r)."""
        return self.domain.dim * self.magnitude / (self.lipschitz * self._inner)


class Flaxman(OneValue):
    """Bandit gradient descent, tuned for Lipschitz losses: it plays y + delta u.

    For each value f that arrives, of a round with direction u, y = Pi(y - nu f u) onto
    (1 - delta / r) K, where nu is ``step`` and delta ``smoothing``. The factor k / delta of the
    estimate of a gradient is part of the step. The method knows nothing of delays.

    Differs from the paper: delta is at most r, which their condition on T ensures.
    """

    title = "Flaxman-Kalai-McMahan"
    reference = "Flaxman, Kalai and McMahan 2005"
    guarantee = "2 T^(3/4) sqrt(3 R k M (G + M/r)) without delay, in expectation"

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

    _core = (core.Flaxman, "smoothing", "step")

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """R^2 k / (2 nu delta) + nu k M^2 T / (2 delta) + 3 delta T (G + M / r) without delay."""
        delta, rounds = self.smoothing, timeline.rounds
        noise = self._outer**2 / self.step + self.step * self.magnitude**2 * rounds
        slope = self.lipschitz + self.magnitude / self._inner
        total = self.domain.dim * noise / (2.0 * delta) + 3.0 * delta * rounds * slope
        return self._without_delay(timeline, total, IN_EXPECTATION)


class Bistritz(OneValue):
    """Gradient descent from late values: one step per round with arrivals.

    It plays (1 - delta / r) y_t + delta u_t, and
    y_{t+1} = Pi_K(y_t - eta sum_{s in F_t} (k / delta) f_s u_s), where F_t are the rounds whose
    value arrived in round t. With A = k M / (G r),
    delta / r = min{1, max(sqrt(A) T^(-1/4), (A d_tot)^(1/3) T^(-2/3))} and
    eta = D / sqrt(T (k M / delta)^2 + 2 G (k M / delta) d_tot).

    Differs from the paper: delta and eta minimise the bound
    D^2 / (2 eta) + (eta / 2) T (k M / delta)^2 + eta G (k M / delta) d_tot + O(G delta T).
    """

    title = "Bistritz et al."
    reference = "after Bistritz, Zhou, Chen, Bambos and Blanchet 2022"
    guarantee = "O(k T^(3/4) + sqrt(k) (T d_tot)^(1/3)), in expectation"

    rounds: int | None = None
    total_delay: int | None = None

    @property
    def smoothing(self) -> float:
        """delta."""
        rounds, late = self._fact("rounds"), self._fact("total_delay")
        by_delay = cube_root(self._ratio * late / rounds / rounds)
        return self._inner * min(1.0, max(math.sqrt(self._ratio / math.sqrt(rounds)), by_delay))

    @property
    def step(self) -> float:
        """eta."""
        size = self.domain.dim * self.magnitude / self.smoothing
        noise = self._fact("rounds") * size * size
        drift = 2.0 * self.lipschitz * size * self._fact("total_delay")
        return self.domain.diameter / math.sqrt(noise + drift)

    _core = (core.Bistritz, "smoothing", "step")


class GOLD(OneValue):
    """Gradient-free online learning with delays: a pool of values, the oldest used per round.

    It plays (1 - delta_t / r) x_t + delta_t u_t. When a round ends, the values that arrived are
    added to the pool, the oldest round q in it is removed, and
    x_{t+1} = Pi_K(x_t - gamma_t (k / delta_q) f_q u_q); an empty pool changes nothing. It must be
    told how fast delays grow: for delays of order t^a (``growth`` a, 0 for bounded delays),
    delta_t = min{r, delta t^-b} and gamma_t = gamma t^-c, b = min{1/4, 1/3 - a/3} and
    c = max{3/4, 2/3 + a/3} (Theorem 1). delta is ``smoothing`` or, if that is 0, sqrt(k M r / G),
    and gamma = D delta / (k M).

    Differs from the paper: losses instead of rewards, a single player, and delta and gamma, which
    the paper leaves open, balance the terms at M, G, r and D; with less exploration it often loses
    less. After a burst the pool shrinks by at most one value per round, so values in it become old.
    """

    reference = "after Heliou, Mertikopoulos and Zhou 2020"
    memory = "three numbers per open ticket and per value in the pool"
    guarantee = "O(T^(3/4) + T^(2/3 + a/3)), up to logarithms, in expectation"
    must_be_told = "a, where delays are of order t^a (0 unless told)"

    growth: float = 0.0
    smoothing: float = 0.0

    def _check(self) -> None:
        super()._check()
        if self.growth >= 1.0:
            raise SpecError(f"{self.kind}: growth must be below 1, got {self.growth!r}")

    def _player(self, setting: Setting) -> Any:
        k = self.domain.dim
        balance = math.sqrt(k * self.magnitude * self._inner / self.lipschitz)
        delta = self.smoothing or balance
        gamma = self.domain.diameter * delta / (k * self.magnitude)
        radius_power = min(1.0 / 4.0, 1.0 / 3.0 - self.growth / 3.0)
        step_power = max(3.0 / 4.0, 2.0 / 3.0 + self.growth / 3.0)
        return core.GOLD(setting, delta, gamma, radius_power, step_power)


class _Blocks(OneValue, abstract=True):
    reference = "after Wan, Yao, Song and Zhang 2024"

    @property
    def smoothing(self) -> float:
        """delta."""
        raise NotImplementedError

    @property
    def block(self) -> int:
        """L = ceil((k M / (G delta))^2) rounds, at most T.

        A relative 1e-9 is subtracted before rounding up, so that rounding errors add no round.
        """
        noise = self.domain.dim * self.magnitude / (self.lipschitz * self.smoothing)
        return min(self._fact("rounds"), max(1, math.ceil(noise * noise * (1.0 - 1e-9))))


class DFTBL(_Blocks):
    """Delayed follow-the-bandit-leader, for convex losses: blocks of L rounds around one point.

    In block m it plays y_m + delta u_t. When the block ends, y_{m+1} = Pi(-S / alpha) onto
    (1 - delta / r) K, where S = sum (k / delta) f_s u_s over all values received so far. delta is
    ``smoothing``, L ``block``, and alpha = (2 G / R) sqrt(T (d_max + 2 L)).

    Differs from the paper: delta, L and alpha minimise the bound
    alpha R^2 / 2 + 2 G^2 T (d_max + 2 L) / alpha + O(G delta T), and L is at most T.
    """

    title = "D-FTBL"
    guarantee = "O(sqrt(k) T^(3/4) + sqrt(d_max T)), in expectation"

    rounds: int | None = None
    max_delay: int | None = None

    @property
    def smoothing(self) -> float:
        """delta = r min{1, sqrt(k M / (G r)) T^(-1/4)}."""
        return self._inner * min(1.0, math.sqrt(self._ratio / math.sqrt(self._fact("rounds"))))

    def _player(self, setting: Setting) -> Any:
        waiting = self._fact("rounds") * (self._fact("max_delay") + 2 * self.block)
        alpha = 2.0 * self.lipschitz / self._outer * math.sqrt(waiting)
        return core.DFTBL(setting, self.smoothing, self.block, alpha)


class DFTBLStronglyConvex(_Blocks):
    """Delayed follow-the-bandit-leader, for strongly convex losses.

    In block m, of L rounds, it plays y_m + delta u_t. When the block ends,
    y_{m+1} = Pi(mean(y_1, ..., y_m) - S / (lambda L m)) onto (1 - delta / r) K, where
    S = sum (k / delta) f_s u_s over all values received, delta ``smoothing`` and L ``block``.

    Differs from the paper: delta and L balance the terms of the bound, L is at most T, and ln(e T)
    replaces ln T, which is 0 for a single round.
    """

    title = "D-FTBL, strongly convex"
    guarantee = "O((k T)^(2/3) (ln T)^(1/3) + d_max ln T), in expectation"

    curvature: float
    rounds: int | None = None

    @property
    def smoothing(self) -> float:
        """delta = r min{1, ((k M / (G r))^2 ln(e T) / T)^(1/3)}."""
        rounds, ratio = self._fact("rounds"), self._ratio
        return self._inner * min(1.0, cube_root(ratio * ratio * (1.0 + log(rounds)) / rounds))

    _core = (core.DFTBLStronglyConvex, "smoothing", "block", "curvature")


# ---- Two or more values per round ----------------------------------------------------------------


class AgarwalDekelXiao(Exploring):
    """Gradient descent from two values per round: it plays y + delta u and y - delta u.

    For each pair of values that arrives, of a round with direction u, y = Pi(y - eta c) onto
    (1 - delta / r) K, c = (k / (2 delta)) (f(y + delta u) - f(y - delta u)) u, delta being
    ``smoothing`` and eta ``step`` or, with ``curvature`` lambda > 0, 1 / (lambda n) for the n-th
    pair. Values that differ by more than G allows are counted. The method knows nothing of delays,
    and a round costs the mean of its two values.

    Differs from the paper: ln(e T), as ln T is 0 for a single round, and delta is at most r.
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

    @property
    def smoothing(self) -> float:
        """delta = min{r, ln(e T) / T}."""
        rounds = self._fact("rounds")
        return min(self._inner, (1.0 + log(rounds)) / rounds)

    @property
    def step(self) -> float:
        """eta = 1 / sqrt(T), without curvature."""
        return 1.0 / math.sqrt(self._fact("rounds"))

    _core = (core.AgarwalDekelXiao, "smoothing", "step", "curvature")

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """D^2 / eta + eta k^2 G^2 T, or the term with curvature, + G delta T (3 + D / r)."""
        rounds, diameter = timeline.rounds, self.domain.diameter
        noise = (self.domain.dim * self.lipschitz) ** 2
        if self.curvature > 0.0:
            learning = noise / self.curvature * (1.0 + log(max(1, rounds)))
        else:
            learning = diameter**2 / self.step + self.step * noise * rounds
        blur = self.lipschitz * self.smoothing * rounds * (3.0 + diameter / self._inner)
        return self._without_delay(timeline, learning + blur, IN_EXPECTATION)


class Shamir(Exploring):
    """``AgarwalDekelXiao`` with eta = R / (G sqrt(k T)) and delta = r min{1, sqrt(k / T)}.

    It plays y + delta u and y - delta u. The method knows nothing of delays. The guarantee is for
    rounds that cost f(y).

    Differs from the paper: its condition is delta <= R sqrt(k / T); here delta is such that the
    played points stay in the set, which y is shrunk for.
    """

    title = "Shamir"
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

    @property
    def step(self) -> float:
        """eta = R / (G sqrt(k T))."""
        return self._outer / (self.lipschitz * math.sqrt(self.domain.dim * self._fact("rounds")))

    curvature = 0.0

    _core = (core.AgarwalDekelXiao, "smoothing", "step", "curvature")


class _DOGDSC(Exploring, abstract=True):
    reference = "Wan, Tu and Zhang 2022"

    domain: Domain
    curvature: float
    lipschitz: float
    rounds: int | None = None

    @property
    def smoothing(self) -> float:
        """delta = r min{1, ln(e T) / T}."""
        rounds = self._fact("rounds")
        return self._inner * min(1.0, (1.0 + log(rounds)) / rounds)


class DOGDSCTwoPoint(_DOGDSC):
    """``DOGDSC`` from two values per round: it plays y_t + delta u_t and y_t - delta u_t.

    y_{t+1} = Pi(y_t - (1 / (lambda N_t)) sum_{s in F_t} c_s) onto (1 - delta / r) K, with the
    estimate c_s = (k / (2 delta)) (f_s(y_s + delta u_s) - f_s(y_s - delta u_s)) u_s of a gradient
    and delta = ``smoothing``. F_t are the rounds whose values arrived in round t, N_t counts all
    that arrived so far. Values that differ by more than G allows are counted.

    Differs from the paper: ln(e T), as ln T is 0 for a single round, and delta is a share of r, so
    that it never leaves the set.
    """

    title = "DOGD-SC, two values"
    answers = "two values"
    guarantee = "O(d_max ln T), in expectation"

    _core = (core.DOGDSCTwoPoint, "smoothing", "curvature")


class DOGDSCManyPoint(_DOGDSC):
    """``DOGDSC`` from k + 1 values per round: it plays y_t, y_t + delta e_1, ..., y_t + delta e_k.

    Coordinate i of the estimate c_s is (f_s(y_s + delta e_i) - f_s(y_s)) / delta, e_i the i-th unit
    vector. All else is as in ``DOGDSCTwoPoint``. Nothing in it is random.
    """

    title = "DOGD-SC, k + 1 values"
    answers = "k + 1 values"
    guarantee = "O(d_max ln T)"

    _core = (core.DOGDSCManyPoint, "smoothing", "curvature")
