"""Qiu, Esposito and Zhang: follow the leader on quadratics around the points played."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from belated.arrays import Code, Floats
from belated.domains import Domain
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import method, play_point
from belated.kernels.learners.state import State
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import status as S
from belated.learner.program import Program
from belated.rivals.base import Rival
from belated.rivals.shared import into_set


@leaf
def _lead(code: Code, s: State) -> None:
    """x = Pi(sum of (x_s - g_s / lambda) over what was received / how many); own is that sum."""
    n = s.n[N.ARRIVED]
    if n > 0:
        for i in range(s.z.size):
            s.z[i] = s.own[i] / n
        into_set(code, s, s.z)
        s.f[F.ETA] = 1.0 / (s.f[F.CURVATURE] * n)


@leaf
def _play_and_remember(code: Code, s: State, entry: int, ticket: int, x: Floats) -> None:
    """Hand out x and keep it in the chart."""
    for i in range(s.z.size):
        s.kept[entry * s.n[N.KEEP] + i] = s.z[i]
    play_point(code, s, entry, ticket, x)


@leaf
def _add(code: Code, s: State, entry: int, ticket: int, cost: Floats) -> None:
    """Add x_s - g_s / lambda."""
    for i in range(s.z.size):
        played = s.kept[entry * s.n[N.KEEP] + i]
        s.own[i] += played - cost[i] / s.f[F.CURVATURE]


@leaf
def _add_played(code: Code, s: State, entry: int, ticket: int) -> int:
    """Let a lost gradient be zero; the point still pulls."""
    for i in range(s.z.size):
        s.own[i] += s.kept[entry * s.n[N.KEEP] + i]
    return S.USED


_METHOD = method(
    "QiuEspositoZhang", prepare=_lead, play=_play_and_remember, learn=_add, lose=_add_played
)


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

    def program(self) -> Program:
        """Return what the kernels run; the method's own region is the sum of x_s - g_s / lambda."""
        k = self.domain.dim
        return self.compiled(_METHOD, own=np.zeros(k), keep=k)
