"""Rivals that descend along gradients: a step for each gradient, or one per round.

x_t is the play of round t, g_s the gradient of round s, and g_n the n-th that arrives; F_t are the
rounds whose gradient arrived in round t. See ``bl.rivals`` for the other symbols. Points are
projected on the set, also where a paper has no set. Methods whose guarantee is without delay use a
late gradient as that of the current point.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from belated.bounds import Bound
from belated.core import sets
from belated.domains import Domain, Simplex
from belated.research.core import rival_descent as core
from belated.research.core.rival import Setting
from belated.research.rivals.base import (
    UNCHECKED,
    GradientOrFunction,
    Mirror,
    Rival,
    Tuned,
    log,
)
from belated.spec import positive
from belated.timeline import Timeline

# ---- A step for each gradient, whatever its delay ------------------------------------------------


class Zinkevich(Rival):
    """Online gradient descent: x = Pi_K(x - eta_n g_n), eta_n = D / (G sqrt n).

    >>> from belated import Ball, Learner
    >>> learner = Learner(Zinkevich(Ball(2), lipschitz=8.0))
    >>> _ = learner.predict(), learner.observe(0, [2.0, 0.0])
    >>> learner.predict().x
    array([-0.5,  0. ])
    """

    reference = "Zinkevich 2003"
    guarantee = "1.5 G D sqrt(T) without delay"

    domain: Domain
    lipschitz: float

    def _player(self, setting: Setting) -> Any:
        return core.GradientDescent(setting, self.domain.diameter / self.lipschitz, falls=True)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        total = 1.5 * self.lipschitz * self.domain.diameter * math.sqrt(timeline.rounds)
        return self._without_delay(timeline, total)


class HazanAgarwalKale(Rival):
    """Gradient descent for strongly convex losses: x = Pi_K(x - g_n / (lambda n))."""

    title = "Hazan-Agarwal-Kale"
    reference = "Hazan, Agarwal and Kale 2007"
    guarantee = "(G^2/(2 lambda)) (1 + ln T) without delay"

    domain: Domain
    curvature: float

    def _player(self, setting: Setting) -> Any:
        return core.GradientDescent(setting, 0.0, self.curvature)


class AdaGrad(Rival):
    """Gradient descent with x = Pi_K(x - eta_n g_n), eta_n = a (D / sqrt 2) / sqrt(sum |g_m|^2).

    The sum is over m <= n; a is ``scale``. With another a, (a + 1 / a) replaces 2 in the guarantee
    2 D sqrt(sum of squares / 2).

    Differs from the paper: one step size for all coordinates, so that the method runs on any set,
    in the same norm as its rivals.
    """

    reference = "Duchi, Hazan and Singer 2011"
    guarantee = "D sqrt(2 sum of squared gradients) without delay"

    domain: Domain
    scale: float = 1.0

    def _player(self, setting: Setting) -> Any:
        return core.AdaGrad(setting, self.scale * (self.domain.diameter / math.sqrt(2.0)))


# ---- A step for each gradient --------------------------------------------------------------------


class SOLID(Tuned):
    """One mirror descent in arrival order: x = Pi_K(x - eta c_n), eta = D / (G sqrt(T + 2 d_tot)).

    With ``feedback="gradient"`` an answer is c_n = grad f_s(x_s). With ``feedback="function"`` it
    is the gradient as a function, and c_n = grad f_s(x) at the current point: the setting of the
    paper, in which whole losses arrive.

    Regret is the regret of the base in arrival order + sum_n f_n(x_{n-d*_n}) - f_n(x_n).
    Differs from the paper: a fixed step; their adaptive one needs sums that are not known online,
    and ``rates.GradientAdaptive`` replaces it.
    """

    reference = "after Joulani, Gyorgy and Szepesvari 2016"

    feedback: GradientOrFunction = "gradient"


class AdaDelay(Rival):
    """x = Pi_K(x - g_n / (L + c sqrt(n + tau_n))), steps that depend on the age of each gradient.

    n counts the updates, this one included; tau_n = d*_n counts those since the round of g_n was
    played. L is ``smoothness``, c is ``scale``. The steps need not fall. There is no bound on
    regret.
    """

    reference = "Sra, Yu, Li and Smola 2016"
    guarantee = "convergence, for smooth stochastic convex losses"

    domain: Domain
    smoothness: float
    scale: float

    _core = (core.AdaDelay, "smoothness", "scale")


class DelayAdaptiveSGD(Rival):
    """Asynchronous SGD: x = Pi_K(x - step (M / max(M, tau_n)) g_n).

    tau_n = d*_n counts the steps since the round of g_n was played, M is the number of ``workers``.
    A gradient no staler than M gets the whole ``step``. It converges for any largest delay, with a
    step of order 1 / (L M); there is no bound on regret.
    """

    title = "Delay-adaptive SGD"
    reference = "Mishchenko, Bach, Even and Woodworth 2022"
    guarantee = "convergence, for smooth stochastic losses"

    domain: Domain
    step: float
    workers: int

    _core = (core.DelayAdaptiveSGD, "step", "workers")


class Ringmaster(Rival):
    """Asynchronous SGD that drops stale gradients: x = Pi_K(x - gamma g_s) if delta_s < R.

    delta_s counts the steps since the play of round s; a gradient that is dropped is no step. gamma
    is ``step``, R is ``threshold``; R = 1 takes fresh gradients only. With R beyond all delays this
    is plain asynchronous SGD. With the numbers of ``tuned`` its time is optimal for any speeds of
    workers; regret has no bound.
    """

    reference = "Maranjyan, Tyurin and Richtarik 2025"
    guarantee = "convergence, for smooth stochastic losses"
    order = "any order; an answer that is too stale, or lost, counts as zero"

    domain: Domain
    step: float
    threshold: int

    @classmethod
    def tuned(cls, domain: Domain, *, smoothness: float, noise: float, accuracy: float) -> Self:
        """Return the method that finds |grad f|^2 <= eps on average.

        R = max{1, ceil(sigma^2 / eps)} and gamma = min{1 / (2 R L), eps / (4 L sigma^2)}; L is
        ``smoothness``, sigma^2 = ``noise`` the variance of a gradient, eps = ``accuracy``.

        >>> from belated import Ball
        >>> Ringmaster.tuned(Ball(2), smoothness=1.0, noise=1.0, accuracy=0.25)
        rivals.Ringmaster(domain=Ball(dim=2), step=0.0625, threshold=4)
        """
        given = {"smoothness": smoothness, "noise": noise, "accuracy": accuracy}
        steep, spread, eps = (positive(cls.kind, name, value) for name, value in given.items())
        threshold = max(1, math.ceil(spread / eps))
        step = min(1.0 / (2.0 * threshold * steep), eps / (4.0 * steep * spread))
        return cls(domain, step, threshold)

    _core = (core.Ringmaster, "step", "threshold")


class LangfordSmolaZinkevich(Rival):
    """Slow learners: x_{t+1} = Pi_K(x_t - eta_n g_{t-tau}) for the fixed delay tau = ``delay``.

    n = t - tau counts the gradients applied, and with F = D / sqrt(2)

    * ``curvature`` = 0: eta_n = sigma / sqrt(n), sigma = F / (G sqrt(2 max(tau, 1)));
    * ``curvature`` = lambda > 0: eta_n = 1 / (lambda n).

    Answers must arrive in ticket order and no later than told; they may arrive earlier, as at the
    end of a game.

    Differs from the paper: max(tau, 1), as tau = 0 would divide by zero.
    """

    title = "Langford-Smola-Zinkevich"
    reference = "Langford, Smola and Zinkevich 2009"
    guarantee = (
        "2 sqrt(2) G D sqrt(d T) for T >= d^2; with curvature "
        "lambda d D^2/2 + (1/2 + d) (G^2/lambda) (1 + d + ln T)"
    )
    order = "in order, at most as late as told, else refused; a lost answer is zero"

    domain: Domain
    lipschitz: float
    delay: int | None = None
    curvature: float = 0.0

    @property
    def sigma(self) -> float:
        """F / (G sqrt(2 max(tau, 1))), F = D / sqrt(2)."""
        root = math.sqrt(max(self._fact("delay"), 1))
        return self.domain.diameter / (2.0 * self.lipschitz * root)

    def _player(self, setting: Setting) -> Any:
        numbers = (self.sigma, self.curvature, self._fact("delay"))
        return core.LangfordSmolaZinkevich(setting, *numbers)

    def takes(self, timeline: Timeline) -> bool:
        """Tell whether answers are in order, and none later than told."""
        in_order = bool((np.diff(timeline.order) > 0).all())
        return in_order and timeline.max_delay <= self._fact("delay")

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        total = self._regret(timeline.rounds, timeline.max_delay)
        return self._split(timeline, total, self._regret(timeline.rounds, 0), UNCHECKED)

    def _regret(self, rounds: int, delay: int) -> float:
        square = self.lipschitz**2
        f = self.domain.diameter / math.sqrt(2.0)
        if self.curvature > 0.0:
            growth = 1.0 + delay + log(max(rounds, 1))
            return self.curvature * delay * f**2 + (0.5 + delay) * square / self.curvature * growth
        root, sigma = math.sqrt(rounds), self.sigma
        drift = square * sigma * (delay**2 / 2.0 + 2.0 * delay * root)
        return sigma * square * root + f**2 * root / sigma + drift


class AdaptiveRevision(Rival):
    """AdaGrad that revises its steps, coordinate by coordinate.

    A prediction remembers the sum of all gradients applied so far. When its own gradient g arrives
    and b is the sum of those applied in between, then per coordinate

    * z += g^2 + 2 g b, and zmax is the largest z so far (z falls where g b < 0);
    * eta = alpha / (beta + sqrt(zmax)), before and after, alpha = a sqrt(2) R, beta = ``offset``;
    * w += -eta g + (eta_old - eta) b: the step, and the steps in between at the smaller rate.

    a is ``scale``, and R the largest distance of a coordinate from the centre: half a width on a
    Box, which is 1 in its chart, and D / 2 on other sets. The play is Pi_K(w). Without delay this
    is diagonal AdaGrad. The guarantee is for a about 1, answers in order and no constraints.
    Differs from the paper: z starts at 0 with beta > 0, as in published code, not at 1 with
    beta = 0; projecting the play is outside their theory.
    """

    reference = "McMahan and Streeter 2014"
    memory = "one vector per open ticket"
    guarantee = "of order R sqrt(max_t sum (g^2 + 2 g b)) per coordinate"
    order = "any order, in theory in order; a lost answer counts as zero"

    domain: Domain
    scale: float = 1.0
    offset: float = 1.0

    def _player(self, setting: Setting) -> Any:
        reach = 1.0 if self.domain.half_widths else self.domain.diameter / 2.0
        return core.AdaptiveRevision(setting, self.scale * math.sqrt(2.0) * reach, self.offset)


class MildOGD(Rival):
    """Delayed gradient descent with N steps at once, weighted by their past performance.

    Expert i = 1..N has x^i <- Pi_K(x^i - eta_i g_s), eta_i = 2^(i-1) D / (G sqrt(beta)), at each
    arrival. The play is x_t = sum_i w_i x_t^i with w_i proportional to
    exp(-alpha sum_s <g_s, x_s^i - x_s>) / (i (i + 1)), the sum over the rounds received,
    alpha = 1 / (G D sqrt(beta)), N = ceil(log2(T + 1) / 2) + 1. beta = T (d_max + 1), or T + d_tot
    with ``in_order``, for delays that keep the order; of ``max_delay`` and ``total_delay``, the one
    that is not needed is refused.

    With ``in_order`` dynamic regret is O(sqrt((T + d_tot) (1 + P_T))).
    Differs from the paper: d_max + 1, as their delays start at 1.
    """

    title = "Mild-OGD"
    reference = "Wan, Yao, Song and Zhang 2024"
    memory = "about log2(T) / 2 vectors, and as many per open ticket"
    guarantee = "of order sqrt(d_max T (1 + P_T)) against a path of length P_T"
    must_be_told = "T, and d_max (d_tot where answers keep their order)"

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

    def _player(self, setting: Setting) -> Any:
        root, diameter = self.lipschitz * math.sqrt(self.beta), self.domain.diameter
        return core.MildOGD(setting, self.experts, diameter / root, 1.0 / (diameter * root))


# ---- One step per round, with the gradients that arrived in it -----------------------------------


class QuanrudKhashabi(Tuned):
    """Delayed online gradient descent, tuned: x_{t+1} = Pi_K(x_t - eta sum_{s in F_t} g_s).

    eta = D / (G sqrt(T + 2 d_tot)). The constant of the guarantee is that of one step per gradient,
    since a batch step expands into such steps.
    """

    title = "Quanrud-Khashabi"
    reference = "Quanrud and Khashabi 2015"

    _core = (core.RoundDescent, "step")


class DOGDSC(Rival):
    """Delayed gradient descent for strongly convex losses: one step per round with arrivals.

    x_{t+1} = Pi_K(x_t - (1 / (lambda N_t)) sum_{s in F_t} g_s), N_t counting all arrivals so far.
    """

    title = "DOGD-SC"
    reference = "Wan, Tu and Zhang 2022"
    guarantee = "O((G^2/lambda) d_max ln T)"

    domain: Domain
    curvature: float

    def _player(self, setting: Setting) -> Any:
        return core.RoundDescent(setting, 0.0, self.curvature)


class DMD(Tuned):
    """Delayed mirror descent on gradient functions, one step per round with arrivals.

    x_{t+1} = argmin_{x in K} sum_{s in F_t} <grad f_s(x_t), x> + B_psi(x, x_t) / eta_t

    An answer is grad f_s as a function; it is evaluated at the current point x_t, not at the point
    played. ``mirror`` is "euclidean" or, on a Simplex, "entropy" (G then bounds the largest entry
    of a gradient). D_psi^2 / 2 bounds the divergence B_psi, N_t counts the arrivals, and

    * ``curvature`` = 0: eta = D_psi / (G sqrt(T + 2 d_tot));
    * ``curvature`` = lambda > 0, relative to psi: eta_t = 1 / (lambda N_t). No facts are needed
      then, except for T with the entropy, and others are refused.

    Differs from the paper: steps are exact, and the entropy with curvature runs on
    {x_i >= 1 / (k T)}, where its divergence is bounded.
    """

    reference = "Wu, Huang and Liu 2024"
    answers = "function"
    must_be_told = "T, d_tot; with curvature nothing (with the entropy T)"
    guarantee = "G D sqrt(T + 2 d_tot); with curvature of order d_max ln T"

    curvature: float = 0.0
    mirror: Mirror = "euclidean"

    @property
    def needs(self) -> tuple[str, ...]:
        """With curvature the steps need no facts; only the entropy, to be cut, needs T."""
        if self.curvature == 0.0:
            return self.facts()
        return ("rounds",) if self.mirror == "entropy" else ()

    @property
    def _width(self) -> float:
        if self.mirror == "entropy" and isinstance(self.domain, Simplex):
            return math.sqrt(2.0 * self.domain.divergence)
        return self.domain.diameter

    def _player(self, setting: Setting) -> Any:
        if self.curvature == 0.0:
            return core.RoundDescent(setting, self.step)
        if self.mirror == "entropy":
            # For T = 1 the cut would leave a single point, and no room for rounding.
            share = min(1.0 / self._fact("rounds"), 1.0 - 1e-12)
            floor = max(self.domain.size, share / self.domain.dim)
            setting = setting._replace(domain=sets.Simplex(self.domain.dim, floor))
        return core.RoundDescent(setting, 0.0, self.curvature)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        return None if self.curvature > 0.0 else super()._guaranteed(timeline)
