"""Mild-OGD: experts with different steps under one meta-learner, for a changing comparator."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from belated.arrays import Code, Floats
from belated.domains import Domain
from belated.kernels.exact import exp
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import method, play_point
from belated.kernels.learners.state import State
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.learner.program import Program
from belated.rivals.base import Rival
from belated.rivals.shared import into_set

# The own region is, per expert, its point (dim floats), the sum of its losses and its weight. A
# ticket keeps the points of all experts, then the play. GAIN is the first expert's step.
_LOSS, _WEIGHT, _EXTRA = range(3)
_ALPHA = F.MINE  # where the rate of the weights is kept


@leaf
def _weigh(s: State) -> None:
    """w_i proportional to exp(-alpha L_i) / (i (i + 1)), i counted from 1."""
    k = s.z.size
    width = k + _EXTRA
    experts = s.own.size // width
    least = s.own[k + _LOSS]
    for j in range(experts):
        least = min(least, s.own[j * width + k + _LOSS])
    total = 0.0
    for j in range(experts):
        excess = s.own[j * width + k + _LOSS] - least
        weight = exp(-s.f[_ALPHA] * excess) / ((j + 1.0) * (j + 2.0))
        s.own[j * width + k + _WEIGHT] = weight
        total += weight
    for j in range(experts):
        s.own[j * width + k + _WEIGHT] /= total


@leaf
def _mix(code: Code, s: State) -> None:
    """x = sum_i w_i x^i."""
    _weigh(s)
    k = s.z.size
    width = k + _EXTRA
    for i in range(k):
        s.z[i] = 0.0
        for j in range(s.own.size // width):
            s.z[i] += s.own[j * width + k + _WEIGHT] * s.own[j * width + i]


@leaf
def _play_and_remember(code: Code, s: State, entry: int, ticket: int, x: Floats) -> None:
    """Hand out x, and keep it and the points of all experts."""
    k = s.z.size
    width = k + _EXTRA
    experts = s.own.size // width
    record = entry * s.n[N.KEEP]
    for i in range(k):
        for j in range(experts):
            s.kept[record + j * k + i] = s.own[j * width + i]
        s.kept[record + experts * k + i] = s.z[i]
    play_point(code, s, entry, ticket, x)


@leaf
def _charge_and_step(code: Code, s: State, entry: int, ticket: int, cost: Floats) -> None:
    """L_i += <g_s, x_s^i - x_s>, then x^i = Pi(x^i - eta_i g_s) with eta_i = 2^(i-1) eta_1."""
    k = s.z.size
    width = k + _EXTRA
    experts = s.own.size // width
    record = entry * s.n[N.KEEP]
    eta = s.f[F.GAIN]
    for j in range(experts):
        point = s.own[j * width : j * width + k]
        for i in range(k):
            ahead = s.kept[record + j * k + i] - s.kept[record + experts * k + i]
            s.own[j * width + k + _LOSS] += cost[i] * ahead
            point[i] -= eta * cost[i]
        into_set(code, s, point)
        eta *= 2.0


_METHOD = method("MildOGD", prepare=_mix, play=_play_and_remember, learn=_charge_and_step)


@dataclass(frozen=True, repr=False)
class MildOGD(Rival, module="rivals"):
    """Delayed gradient descent with N steps at once, weighted by how well each has done.

    Expert i = 1..N has x^i <- Pi_K(x^i - eta_i g_s), eta_i = 2^(i-1) D / (G sqrt(beta)), at each
    arrival. The play is x_t = sum_i w_i x_t^i with w_i proportional to
    exp(-alpha sum_s <g_s, x_s^i - x_s>) / (i (i + 1)), the sum over what was received,
    alpha = 1 / (G D sqrt(beta)), N = ceil(log2(T + 1) / 2) + 1. beta = T (d_max + 1), or T + d_tot
    with ``in_order``, for delays that keep the order; the one of ``max_delay`` and ``total_delay``
    that is not needed is refused.

    Guarantee: dynamic regret O(sqrt(d_max T (1 + P_T))), with ``in_order``
    O(sqrt((T + d_tot) (1 + P_T))), P_T the length of the comparator's path.
    Reference: Wan, Yao, Song and Zhang, "Non-stationary online convex optimization with arbitrary
    delays", ICML 2024.
    Differs from the paper: d_max + 1, as their delays start at 1.

    >>> from belated import Ball
    >>> MildOGD(Ball(3), lipschitz=1.0, rounds=100, max_delay=3).experts
    5
    """

    title = "Mild-OGD"
    reference = "Wan, Yao, Song and Zhang 2024"
    memory = "about log2(T) / 2 vectors, and as many per open ticket"
    guarantee = "of order sqrt(d_max T (1 + P_T)) against a path of length P_T"

    domain: Domain
    lipschitz: float
    rounds: int | None = None
    max_delay: int | None = None
    total_delay: int | None = None
    in_order: bool = False

    @property
    def needs(self) -> tuple[str, ...]:
        """T, and one of the two delays."""
        return ("rounds", "total_delay" if self.in_order else "max_delay")

    @property
    def experts(self) -> int:
        """N = 1 + the smallest j with 4^j >= T + 1, which is ceil(log2(T + 1) / 2) + 1."""
        return 1 + (self._fact("rounds").bit_length() + 1) // 2

    @property
    def beta(self) -> int:
        """T (d_max + 1), or T + d_tot with ``in_order``."""
        rounds = self._fact("rounds")
        if self.in_order:
            return rounds + self._fact("total_delay")
        return rounds * (self._fact("max_delay") + 1)

    def program(self) -> Program:
        """Return what the kernels run; every expert starts where the learner does."""
        k, experts = self.domain.dim, self.experts
        root = self.lipschitz * math.sqrt(self.beta)
        diameter = self.domain.diameter
        program = self.compiled(
            _METHOD,
            own=np.zeros(experts * (k + _EXTRA)),
            keep=(experts + 1) * k,
            numbers={F.GAIN: diameter / root, _ALPHA: 1.0 / (diameter * root)},
        )
        program.own.reshape(experts, k + _EXTRA)[:, :k] = program.first
        return program
