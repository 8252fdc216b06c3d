"""Published methods that keep a matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass

from belated.bounds import Bound
from belated.core import rival_matrices as core
from belated.domains import Domain, Simplex
from belated.rivals.base import Rival
from belated.timeline import Timeline


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

    def player(self, seed: int, strict: bool) -> core.DelayedONS:
        """Return what plays."""
        numbers = (self.beta, self._ridge, self.domain.diameter, isinstance(self.domain, Simplex))
        return core.DelayedONS(self._setting(seed, strict), *numbers)

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
