"""Delayed online Newton step: follow the leader on quadratics along the gradients."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from belated.arrays import Code, Floats
from belated.bounds import Bound
from belated.domains import Domain
from belated.kernels.exact import ln
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import method, play_point
from belated.kernels.learners.sets import dot, norm_of
from belated.kernels.learners.state import State
from belated.kernels.slots import code as C
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import kinds as K
from belated.kernels.tickets import oldest_open
from belated.learner.program import Program
from belated.learner.state import Memory
from belated.rivals.base import Rival
from belated.rivals.matrices import (
    STALE,
    add_outer,
    inverse_at,
    invert_sum,
    matrix_at,
    sum_at,
    times,
)
from belated.rivals.shared import into_set, is_count, is_doubled, start
from belated.timeline import Timeline

# Slots of ``own``; behind them b, the sum of slopes, M = sum g g' and P = (RIDGE I + beta M)^-1.
_RIDGE = 0  # lambda_t, rounded up to lambda_0 times a power of 2
_BACKLOGS = 1  # S_t
_OLDEST = 2  # A_t
_UPDATES = 3  # of the inverse, since it was computed afresh
_HEADER = 4
_LEAST = F.MINE  # lambda_0; beta is GAIN

_MOST_STEPS = 2000  # of the projection
_CLOSE = 1e-13  # in diameters: where it ends


# ---- the play ----------------------------------------------------------------------------------


@leaf
def _ridge(s: State) -> float:
    """lambda_t = lambda_0 + min{(G / D) sqrt(S_t), A_t L_t / D^2}."""
    least, beta, k = s.f[_LEAST], s.f[F.GAIN], s.z.size
    steep, diameter = s.f[F.LIPSCHITZ], s.f[F.DIAMETER]
    s.own[_BACKLOGS] += s.n[N.ROUNDS] - s.n[N.ARRIVED]
    s.own[_OLDEST] = max(s.own[_OLDEST], float(s.n[N.ROUNDS] - oldest_open(s)))
    if s.own[_BACKLOGS] == 0.0:
        return float(least)
    learned = k / beta * ln(1.0 + beta * steep * steep * (s.n[N.ROUNDS] + 1) / (k * least))
    by_age = s.own[_OLDEST] * learned / (diameter * diameter)
    return float(least + min(steep / diameter * math.sqrt(s.own[_BACKLOGS]), by_age))


@leaf
def _lead(code: Code, s: State) -> None:
    """x = argmin_K of the sum of the q_s + (lambda / 2) |x - x_1|^2."""
    ridge = _ridge(s)
    if ridge > s.own[_RIDGE] or s.own[_UPDATES] >= STALE:
        while s.own[_RIDGE] < ridge:
            s.own[_RIDGE] *= 2.0
        matrix, inverse = matrix_at(s, _HEADER), inverse_at(s, _HEADER)
        invert_sum(matrix, s.f[F.GAIN], s.own[_RIDGE], inverse, s.z.size)
        s.own[_UPDATES] = 0.0
    _unconstrained(code, s)
    if not _is_inside(code, s):
        _descend_to_leader(code, s)


@leaf
def _unconstrained(code: Code, s: State) -> None:
    """Put x_1 - P b into p, on the simplex the minimum among vectors that add up to 1."""
    k, inverse = s.z.size, inverse_at(s, _HEADER)
    times(inverse, sum_at(s, _HEADER), s.p)
    if code[C.DOMAIN] == K.SIMPLEX:
        for i in range(k):
            s.work[i] = 0.0
        for j in range(k):
            for i in range(k):
                s.work[i] += inverse[j * k + i]
        total = mass = 0.0
        for i in range(k):
            total += s.p[i]
            mass += s.work[i]
        for i in range(k):
            s.p[i] -= s.work[i] * (total / mass)
    for i in range(k):
        s.p[i] = start(code, s) - s.p[i]


@leaf
def _is_inside(code: Code, s: State) -> bool:
    """Let p be the point, and say so, if it is in the set; then projecting it changes nothing."""
    for i in range(s.z.size):
        s.work[i] = s.p[i]
    into_set(code, s, s.work)
    close, inside = _CLOSE * s.f[F.DIAMETER], True
    for i in range(s.z.size):
        inside = inside and abs(s.work[i] - s.p[i]) <= close  # not where p is no number
    for i in range(s.z.size):
        s.z[i] = s.work[i] if inside else s.z[i]
        s.p[i] = 0.0
    return inside


@leaf
def _slope(s: State, i: int, product: float, y: float, first: float) -> float:
    """Coordinate i of the gradient of the objective at y, of which M (y - x_1) is known."""
    return float(s.own[_RIDGE] * (y - first) + s.f[F.GAIN] * product + s.own[_HEADER + i])


@leaf
def _descend_to_leader(code: Code, s: State) -> None:
    """Minimise over the set by projected gradients, from the last play on.

    Momentum is that of Nesterov for a function between (lambda / 2) |x|^2 and (L / 2) |x|^2, and
    ends where it points uphill. Each step is one product with M.
    """
    k, y = s.z.size, s.p
    ridge, first = s.own[_RIDGE], start(code, s)
    bend = ridge + s.f[F.GAIN] * norm_of(
        matrix_at(s, _HEADER)
    )  # all squares: no less than the largest
    momentum = (math.sqrt(bend) - math.sqrt(ridge)) / (math.sqrt(bend) + math.sqrt(ridge))
    close = _CLOSE * s.f[F.DIAMETER]
    for i in range(k):
        y[i] = s.z[i]
    for _ in range(_MOST_STEPS):
        _project_step(code, s, y, first, bend)
        moved = uphill = 0.0
        for i in range(k):
            moved += (s.work[i] - y[i]) * (s.work[i] - y[i])
            uphill += (y[i] - s.work[i]) * (s.work[i] - s.z[i])
        factor = 0.0 if uphill > 0.0 else momentum
        for i in range(k):
            y[i] = s.work[i] + factor * (s.work[i] - s.z[i])
            s.z[i] = s.work[i]
        if moved <= close * close:
            break
    for i in range(k):
        y[i] = 0.0


@leaf
def _project_step(code: Code, s: State, y: Floats, first: float, bend: float) -> None:
    """work = Pi(y - gradient / L)."""
    k, matrix = s.z.size, matrix_at(s, _HEADER)
    for i in range(k):
        s.work[i] = 0.0
    for j in range(k):
        row = matrix[j * k : j * k + k]
        away = y[j] - first
        for i in range(k):
            s.work[i] += row[i] * away
    for i in range(k):
        s.work[i] = y[i] - _slope(s, i, s.work[i], y[i], first) / bend
    into_set(code, s, s.work)


@leaf
def _play_and_remember(code: Code, s: State, entry: int, ticket: int, x: Floats) -> None:
    """Hand out x, and keep x - x_1 in the chart."""
    for i in range(s.z.size):
        s.kept[entry * s.n[N.KEEP] + i] = s.z[i] - start(code, s)
    play_point(code, s, entry, ticket, x)


# ---- answers -----------------------------------------------------------------------------------


@leaf
def _add(code: Code, s: State, entry: int, ticket: int, cost: Floats) -> None:
    """b += g (1 - beta <g, x_s - x_1>), M += g g', P -= beta P g g' P / (1 + beta <g, P g>)."""
    k, beta = s.z.size, s.f[F.GAIN]
    played = s.kept[entry * s.n[N.KEEP] : entry * s.n[N.KEEP] + k]
    factor, total = 1.0 - beta * dot(cost, played), sum_at(s, _HEADER)
    for i in range(k):
        total[i] += factor * cost[i]
    add_outer(matrix_at(s, _HEADER), cost, 1.0)
    times(inverse_at(s, _HEADER), cost, s.p)
    add_outer(inverse_at(s, _HEADER), s.p, -beta / (1.0 + beta * dot(cost, s.p)))
    for i in range(k):
        s.p[i] = 0.0
    s.own[_UPDATES] += 1.0


_METHOD = method("DelayedONS", prepare=_lead, play=_play_and_remember, learn=_add)


def _is_sound(memory: Memory) -> bool:
    """Tell whether the sums are possible, and the inverse nearly one of that matrix."""
    own, k, rounds = memory.own, memory.dim, memory.rounds
    ridge = float(own[_RIDGE])
    matrix, inverse = own[_HEADER + k :].reshape(2, k, k)
    return (
        is_doubled(ridge / float(memory.f[_LEAST]))
        and is_count(float(own[_BACKLOGS]), rounds * rounds)
        and is_count(float(own[_OLDEST]), rounds)
        and is_count(float(own[_UPDATES]), rounds)
        and bool((matrix == matrix.T).all() and (np.diag(matrix) >= 0.0).all())
        and bool((np.abs(inverse) <= (1.0 + 1e-6) / ridge).all())
    )


@dataclass(frozen=True, repr=False)
class DelayedONS(Rival, module="rivals"):
    """Delayed online Newton step, for losses f whose exp(-alpha f) is concave.

    x_t = argmin_K of (lambda_t / 2) |x - x_1|^2 plus, for every round s received,
    q_s(x) = <g_s, x> + (beta / 2) <g_s, x - x_s>^2, where x_s was played and
    beta = min{1 / (4 G D), alpha} / 2, alpha = ``exp_concavity``, G = ``lipschitz``. With
    lambda_0 = 1 / (beta D^2), S_t the sum of the backlogs up to t, A_t the largest age of a pending
    round at any prediction so far and L_t = (k / beta) ln(1 + beta G^2 t / (k lambda_0)),

    lambda_t = lambda_0 + min{(G / D) sqrt(S_t), A_t L_t / D^2}.

    Squared losses (<z, x> - y)^2 / 2 with |<z, x> - y| <= c have alpha = 1 / c^2, logistic ones of
    margins up to m about exp(-m). Without delay, and while the minimum is inside of the set, this
    is the online Newton step of Hazan, Agarwal and Kale with eps = lambda_0 / beta.

    Guarantee, after the paper: regret <= lambda_0 D^2 / 2 + L_T, and with delays
    lambda_0 D^2 / 2 + min{2.125 d_max L_T, 4.375 G D sqrt(d_tot)} more.
    Reference: Qiu, Esposito and Zhang, "Exploiting curvature in online convex optimization with
    delayed feedback", ICML 2025.
    Differs from the paper: the rate is its own, rule and constants are derived here. lambda_t
    is rounded up to lambda_0 times a power of 2, so that P, the inverse of the matrix, is updated
    in O(k^2) and computed afresh only when that doubles.

    A play is O(k^2) where the minimum is inside of the set. Where it is not, it is found by
    projected gradients, O(k^2) each, from the last play on.

    >>> from belated import Ball, Timeline
    >>> method = DelayedONS(Ball(2, 0.5), lipschitz=1.0, exp_concavity=0.25)
    >>> method.beta, method.bound(Timeline.from_delays([0] * 64)).learning.__round__(3)
    (0.125, 10.487)
    """

    title = "Delayed ONS"
    reference = "Qiu, Esposito and Zhang 2025"
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

    @property
    def _ridge(self) -> float:
        """lambda_0 = 1 / (beta D^2)."""
        return 1.0 / (self.beta * self.domain.diameter**2)

    def program(self) -> Program:
        """Return what the kernels run; M starts at 0, and P is I / lambda_0."""
        k, ridge = self.domain.dim, self._ridge
        start = np.zeros(_HEADER + k + 2 * k * k)
        start[_RIDGE] = ridge
        start[_HEADER + k + k * k :: k + 1] = 1.0 / ridge
        return self.compiled(
            _METHOD,
            own=start,
            keep=k,
            numbers={F.GAIN: self.beta, _LEAST: ridge},
            sound=_is_sound,
        )

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """What the docstring says."""
        k, beta, diameter = self.domain.dim, self.beta, self.domain.diameter
        scale = self.lipschitz * diameter
        first = 0.5 / beta
        learned = k / beta * math.log1p((beta * scale) ** 2 * timeline.rounds / k)
        late = timeline.total_delay
        by_age, by_root = 2.125 * timeline.max_delay * learned, 4.375 * scale * math.sqrt(late)
        total = first + learned + (first + min(by_age, by_root) if late else 0.0)
        return self._split(timeline, total, first + learned)
