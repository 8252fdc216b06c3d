"""Delayed online Frank-Wolfe: a corner of the set per answer, and no projection."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from belated.arrays import Code, Floats, Ints
from belated.bounds import Bound
from belated.domains import Domain
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import method
from belated.kernels.learners.sets import corner
from belated.kernels.learners.state import State
from belated.kernels.learners.uses import of_set
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import status as S
from belated.learner.program import Program
from belated.learner.state import Memory
from belated.rivals.base import Rival
from belated.rivals.shared import check_curvature, start
from belated.timeline import Timeline

# The own region is the sum of the gradients and, with curvature, that of the points before them.


@leaf
def _towards_corner(code: Code, s: State, slope: Floats, bend: float) -> None:
    """y + r (v - y), v = argmin_K <slope, v> and r in [0, 1] the best for this slope and bend."""
    v = s.p
    corner(of_set(code), s.f[F.SIZE], slope, v)
    fall = length = 0.0
    for i in range(s.z.size):
        ahead = v[i] - s.z[i]
        fall -= slope[i] * ahead
        length += ahead * ahead
    if fall > 0.0 and length > 0.0:
        part = min(1.0, fall / (bend * length))
        for i in range(s.z.size):
            s.z[i] += part * (v[i] - s.z[i])


@leaf
def _step(code: Code, s: State) -> None:
    """One step on F(y) = eta <sum of gradients, y> + |y - y_1|^2."""
    for i in range(s.z.size):
        s.work[i] = s.f[F.GAIN] * s.own[i] + 2.0 * (s.z[i] - start(code, s))
    _towards_corner(code, s, s.work, 2.0)


@leaf
def _learn(code: Code, s: State, entry: int, ticket: int, cost: Floats) -> None:
    for i in range(s.z.size):
        s.own[i] += cost[i]
    _step(code, s)


@leaf
def _lose(code: Code, s: State, entry: int, ticket: int) -> int:
    """Let a lost gradient be zero, which is a step too."""
    _step(code, s)
    return S.USED


@leaf
def _step_curved(code: Code, s: State, n: int) -> None:
    """One step on F(y) = <sum of gradients, y> + (lambda / 2) sum_{i <= n} |y - y_i|^2."""
    k, curvature = s.z.size, s.f[F.CURVATURE]
    for i in range(k):
        s.own[k + i] += s.z[i]
        s.work[i] = s.own[i] + curvature * (n * s.z[i] - s.own[k + i])
    _towards_corner(code, s, s.work, curvature * n)


@leaf
def _learn_curved(code: Code, s: State, entry: int, ticket: int, cost: Floats) -> None:
    for i in range(s.z.size):
        s.own[i] += cost[i]
    _step_curved(code, s, s.n[N.ARRIVED])


@leaf
def _lose_curved(code: Code, s: State, entry: int, ticket: int) -> int:
    """Let a lost gradient be zero; the point still pulls."""
    _step_curved(code, s, s.n[N.ARRIVED] + 1)  # counted after this
    return S.USED


_PLAIN = method("DelayedFrankWolfe", learn=_learn, lose=_lose)
_CURVED = method("DelayedFrankWolfeStronglyConvex", learn=_learn_curved, lose=_lose_curved)


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

    def program(self) -> Program:
        """Return what the kernels run."""
        return self.compiled(_PLAIN, own=np.zeros(self.domain.dim), numbers={F.GAIN: self.step})

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """R^2 / eta + eta G^2 (T + d_tot) / 2 + G D T min{1, sqrt(3) e^(1/3)}."""
        eta, steep, rounds = self.step, self.lipschitz, timeline.rounds
        scale = steep * self.domain.diameter
        apart = min(1.0, math.sqrt(3.0) * (eta * steep / self.domain.diameter) ** (1.0 / 3.0))
        price = eta * steep**2 / 2.0
        learning = self._outer**2 / eta + price * rounds + scale * rounds * apart
        return self._split(timeline, learning + price * timeline.total_delay, learning)


def _is_sound(memory: Memory) -> bool:
    """Tell whether the sum of points is one of so many points of the set."""
    # Points are at most as far from the origin as the largest coordinate sum of any built-in set.
    points, arrived = memory.own[memory.dim :], int(memory.n[N.ARRIVED])
    reach = max(1.0, float(memory.f[F.SIZE])) * (1.0 + 1e-6)
    return bool((np.abs(points) <= arrived * reach).all())


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

    def program(self) -> Program:
        """Return what the kernels run."""
        return self.compiled(_CURVED, own=np.zeros(2 * self.domain.dim), sound=_is_sound)

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
