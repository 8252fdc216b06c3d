"""Published methods that descend along gradients: a step for each, or one per round."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from belated.bounds import Bound
from belated.core import rival_descent as core
from belated.domains import Domain, Simplex
from belated.errors import SpecError
from belated.rivals.base import (
    UNCHECKED,
    Mirror,
    Regularised,
    Rival,
    check_curvature,
    check_mirror,
    log,
)
from belated.spec import positive
from belated.timeline import Timeline

GradientOrFunction = Literal["gradient", "function"]


@dataclass(frozen=True, repr=False)
class Tuned(Rival):
    """Descent with one step eta: regret <= W^2 / (2 eta) + eta G^2 (T / 2 + d_tot).

    W is the diameter of the set, unless ``_width`` says otherwise. A step tuned for the true T and
    d_tot makes it G W sqrt(T + 2 d_tot).
    """

    domain: Domain
    lipschitz: float
    rounds: int | None = None
    total_delay: int | None = None

    @property
    def _width(self) -> float:
        return self.domain.diameter

    @property
    def step(self) -> float:
        """eta = W / (G sqrt(T + 2 d_tot)), which balances W^2 / eta and the drift."""
        waiting = self._fact("rounds") + 2 * self._fact("total_delay")
        return self._width / (self.lipschitz * math.sqrt(waiting))

    def player(self, seed: int, strict: bool) -> Any:
        """Return what plays."""
        return core.FixedDescent(self._setting(seed, strict), self.step)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """W^2 / (2 eta) + eta G^2 (T / 2 + d_tot)."""
        price = self.step * self.lipschitz**2
        learning = self._width**2 / (2.0 * self.step) + price * timeline.rounds / 2.0
        return self._split(timeline, learning + price * timeline.total_delay, learning)


@dataclass(frozen=True, repr=False)
class Zinkevich(Rival, module="rivals"):
    """Online gradient descent: x = Pi_K(x - eta_n g_n), eta_n = D / (G sqrt n).

    g_n is the n-th gradient that arrives, G bounds the gradients, D is the diameter of the set. The
    method knows nothing of delays: a late gradient is used as if it were that of the current point.
    Guarantee, without delay: regret <= (3/2) G D sqrt(T).
    Reference: Zinkevich, "Online convex programming and generalized infinitesimal gradient ascent",
    ICML 2003.

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

    def player(self, seed: int, strict: bool) -> core.FallingDescent:
        """Return what plays."""
        return core.FallingDescent(
            self._setting(seed, strict), self.domain.diameter / self.lipschitz
        )

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """(3/2) G D sqrt(T) without delay; nothing is promised with it."""
        total = 1.5 * self.lipschitz * self.domain.diameter * math.sqrt(timeline.rounds)
        return self._without_delay(timeline, total)


@dataclass(frozen=True, repr=False)
class HazanAgarwalKale(Rival, module="rivals"):
    """Gradient descent for strongly convex losses: x = Pi_K(x - g_n / (lambda n)).

    g_n is the n-th gradient that arrives, lambda the curvature of the losses. The method knows
    nothing of delays: a late gradient is used as if it were that of the current point.
    Guarantee, without delay: regret <= (G^2 / (2 lambda)) (1 + ln T), G bounding the gradients.
    Reference: Hazan, Agarwal and Kale, "Logarithmic regret algorithms for online convex
    optimization", Machine Learning 2007.

    >>> from belated import Ball, Learner
    >>> learner = Learner(HazanAgarwalKale(Ball(2), curvature=4.0))
    >>> _ = learner.predict(), learner.observe(0, [2.0, 0.0])
    >>> learner.predict().x
    array([-0.5,  0. ])
    """

    title = "Hazan-Agarwal-Kale"
    reference = "Hazan, Agarwal and Kale 2007"
    guarantee = "(G^2/(2 lambda)) (1 + ln T) without delay"

    domain: Domain
    curvature: float

    def player(self, seed: int, strict: bool) -> core.FallingDescent:
        """Return what plays."""
        return core.FallingDescent(self._setting(seed, strict), 0.0, self.curvature)


@dataclass(frozen=True, repr=False)
class AdaGrad(Rival, module="rivals"):
    """Gradient descent with x = Pi_K(x - eta_n g_n), eta_n = a (D / sqrt 2) / sqrt(sum |g_m|^2).

    g_n is the n-th gradient that arrives and the sum runs over m <= n; a is ``scale``, D the
    diameter of the set. The method knows nothing of delays: a late gradient is used as if it were
    that of the current point.
    Guarantee, without delay: regret <= (a + 1 / a) D sqrt(sum |g_m|^2 / 2).
    References: Duchi, Hazan and Singer, "Adaptive subgradient methods for online learning and
    stochastic optimization", JMLR 2011; Streeter and McMahan, "Less regret via online
    conditioning", 2010.

    Differs from the first paper: one step size for all coordinates, so that the method runs on any
    set, in the same norm as its rivals.

    >>> from belated import Ball, Learner
    >>> learner = Learner(AdaGrad(Ball(2, radius=2.0), scale=0.5))
    >>> _ = learner.predict(), learner.observe(0, [3.0, 4.0])
    >>> learner.predict().x.round(4)
    array([-0.8485, -1.1314])
    """

    reference = "Duchi, Hazan and Singer 2011"
    guarantee = "D sqrt(2 sum of squared gradients) without delay"

    domain: Domain
    scale: float = 1.0

    @property
    def _gain(self) -> float:
        return self.scale * (self.domain.diameter / math.sqrt(2.0))

    def player(self, seed: int, strict: bool) -> core.AdaGrad:
        """Return what plays."""
        return core.AdaGrad(self._setting(seed, strict), self._gain)


@dataclass(frozen=True, repr=False)
class DelayedOGD(Tuned, module="rivals"):
    """Delayed online gradient descent: for each arriving gradient y = Pi_K(y - eta g).

    The newest y is played. eta = D / (G sqrt(T + 2 d_tot)), G bounds the gradients, D is the
    diameter of the set.
    Guarantee: regret <= D^2 / (2 eta) + eta G^2 (T / 2 + d_tot) = G D sqrt(T + 2 d_tot). In their
    paper it is the learner inside a method for moving targets, with other step sizes.
    Reference: Wan, Yao, Song and Zhang, "Non-stationary online convex optimization with
    arbitrary delays", ICML 2024.

    >>> from belated import Ball
    >>> DelayedOGD(Ball(3), lipschitz=1.0, rounds=100, total_delay=22).step
    0.16666666666666666
    """

    title = "Delayed OGD"
    reference = "Wan, Yao, Song and Zhang 2024"
    guarantee = "G D sqrt(T + 2 d_tot)"


@dataclass(frozen=True, repr=False)
class SOLID(Tuned, module="rivals"):
    """One mirror descent in arrival order: z_{n+1} = Pi_K(z_n - eta c_n), the newest z is played.

    eta = D / (G sqrt(T + 2 d_tot)). With ``feedback="gradient"`` an answer is c_n = grad f_s(x_s).
    With ``feedback="function"`` it is the gradient as a function, and c_n = grad f_s(z_n): the
    paper's own setting, where whole losses arrive.

    Guarantee: regret = what the base pays in arrival order + sum_n f_n(z_{n-d*_n}) - f_n(z_n), and
    with this step at most G D sqrt(T + 2 d_tot).
    Reference: Joulani, Gyorgy and Szepesvari, "Delay-tolerant online convex optimization: unified
    analysis and adaptive-gradient algorithms", AAAI 2016.
    Differs from the paper: a fixed step; their adaptive one needs sums that are not known online,
    and ``rates.GradientAdaptive`` stands in for it.

    >>> from belated import Ball
    >>> SOLID(Ball(3), lipschitz=1.0, rounds=100, total_delay=22).step
    0.16666666666666666
    """

    reference = "Joulani, Gyorgy and Szepesvari 2016"
    guarantee = "G D sqrt(T + 2 d_tot)"

    feedback: GradientOrFunction = "gradient"

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        self._check_choice("feedback", "gradient", "function")


@dataclass(frozen=True, repr=False)
class AdaDelay(Rival, module="rivals"):
    """x = Pi_K(x - g_n / (L + c sqrt(n + tau_n))), steps that look at the age of each gradient.

    n counts the updates, this one included; tau_n = d*_n counts those since the point was handed
    out at which g_n was computed. L is ``smoothness``, c is ``scale``. The steps need not fall.
    Guarantee: convergence of the average for smooth stochastic convex losses; none on regret.
    Reference: Sra, Yu, Li and Smola, "AdaDelay: delay adaptive distributed stochastic
    optimization", AISTATS 2016.

    >>> from belated import Ball, Learner
    >>> learner = Learner(AdaDelay(Ball(2), smoothness=3.0, scale=1.0))
    >>> _ = learner.predict(), learner.observe(0, [2.0, 0.0])
    >>> learner.predict().x
    array([-0.5,  0. ])
    """

    reference = "Sra, Yu, Li and Smola 2016"
    guarantee = "convergence, for smooth stochastic convex losses"

    domain: Domain
    smoothness: float
    scale: float

    def player(self, seed: int, strict: bool) -> core.AdaDelay:
        """Return what plays."""
        return core.AdaDelay(self._setting(seed, strict), self.smoothness, self.scale)


@dataclass(frozen=True, repr=False)
class DelayAdaptiveSGD(Rival, module="rivals"):
    """Asynchronous SGD: x = Pi_K(x - step (M / max(M, tau_n)) g_n).

    tau_n = d*_n counts the steps taken since the point was handed out at which g_n was computed, M
    is the number of ``workers``. A gradient no staler than M gets the whole ``step``.
    Guarantee: convergence for smooth stochastic losses, whatever the largest delay, for a step of
    order 1 / (L M); none on regret.
    Reference: Mishchenko, Bach, Even and Woodworth, "Asynchronous SGD beats minibatch SGD under
    arbitrary delays", NeurIPS 2022.

    Differs from the paper: the point is projected on the set.

    >>> from belated import Ball, Learner
    >>> learner = Learner(DelayAdaptiveSGD(Ball(2), step=0.25, workers=2))
    >>> _ = learner.predict(), learner.observe(0, [2.0, 0.0])
    >>> learner.predict().x
    array([-0.5,  0. ])
    """

    title = "Delay-adaptive SGD"
    reference = "Mishchenko, Bach, Even and Woodworth 2022"
    guarantee = "convergence, for smooth stochastic losses"

    domain: Domain
    step: float
    workers: int

    def player(self, seed: int, strict: bool) -> core.DelayAdaptiveSGD:
        """Return what plays."""
        return core.DelayAdaptiveSGD(self._setting(seed, strict), self.step, self.workers)


@dataclass(frozen=True, repr=False)
class KoloskovaStichJaggi(Rival, module="rivals"):
    """Asynchronous SGD: x = Pi_K(x - eta_n g_n), eta_n = eta unless g_n is too stale.

    tau_n = d*_n counts the steps taken since the point was handed out at which g_n was computed.
    eta is ``step``, at most 1 / (4 L), L = ``smoothness``; while tau_n is at most the number of
    ``workers``, the most gradients computed at once, eta_n = eta, beyond that
    eta_n = min{eta, 1 / (4 L tau_n)}.
    Guarantee: convergence for smooth stochastic losses, at a rate that depends on the number of
    workers and not on the largest delay; none on regret.
    Reference: Koloskova, Stich and Jaggi, "Sharper convergence guarantees for asynchronous SGD for
    distributed and federated learning", NeurIPS 2022, Theorem 8.

    Differs from the paper: the point is projected on the set. Beyond the concurrency any shorter
    step would do, none at all among them; this is the longest.

    >>> from belated import Ball, Learner
    >>> learner = Learner(KoloskovaStichJaggi(Ball(2), step=0.25, smoothness=1.0, workers=2))
    >>> _ = learner.predict(), learner.observe(0, [2.0, 0.0])
    >>> learner.predict().x
    array([-0.5,  0. ])
    """

    title = "Koloskova-Stich-Jaggi"
    reference = "Koloskova, Stich and Jaggi 2022"
    guarantee = "convergence, for smooth stochastic losses"

    domain: Domain
    step: float
    smoothness: float
    workers: int

    def __post_init__(self) -> None:
        """Check the fields, and that the step is one that the theorem allows."""
        super().__post_init__()
        if 4.0 * self.smoothness * self.step > 1.0 + 1e-9:
            raise SpecError(
                f"{self.kind}: step must be at most 1 / (4 smoothness) = "
                f"{1.0 / (4.0 * self.smoothness):.6g}, got {self.step!r}"
            )

    def player(self, seed: int, strict: bool) -> core.KoloskovaStichJaggi:
        """Return what plays."""
        numbers = (self.step, self.smoothness, self.workers)
        return core.KoloskovaStichJaggi(self._setting(seed, strict), *numbers)


@dataclass(frozen=True, repr=False)
class Ringmaster(Rival, module="rivals"):
    """Asynchronous SGD that drops stale gradients: x = Pi_K(x - gamma g_s) if delta_s <= R.

    delta_s counts the steps taken since the point was handed out at which g_s was computed; a
    gradient that is dropped is no step. gamma is ``step``, R is ``stalest``; with R beyond all
    delays this is plain asynchronous SGD.
    Guarantee: convergence for smooth stochastic losses, in a time that is optimal whatever the
    speeds of the workers, with the numbers of ``tuned``; none on regret.
    Reference: Maranjyan, Tyurin and Richtarik, "Ringmaster ASGD: the first asynchronous SGD with
    optimal time complexity", ICML 2025.

    Differs from the paper: the point is projected on the set.

    >>> from belated import Ball, Learner
    >>> learner = Learner(Ringmaster(Ball(2), step=0.25, stalest=1))
    >>> _ = [learner.predict() for _ in range(3)]
    >>> _ = [learner.observe(ticket, [1.0, 0.0]) for ticket in range(3)]
    >>> learner.predict().x
    array([-0.5,  0. ])
    """

    reference = "Maranjyan, Tyurin and Richtarik 2025"
    guarantee = "convergence, for smooth stochastic losses"
    order = "any order; an answer that is too stale, or lost, counts as zero"

    domain: Domain
    step: float
    stalest: int

    @classmethod
    def tuned(cls, domain: Domain, *, smoothness: float, noise: float, accuracy: float) -> Self:
        """Return the one that finds |grad f|^2 <= eps on average.

        R = max{1, ceil(sigma^2 / eps)} and gamma = min{1 / (2 R L), eps / (4 L sigma^2)}; L is
        ``smoothness``, sigma^2 = ``noise`` the variance of a gradient, eps = ``accuracy``.

        >>> from belated import Ball
        >>> Ringmaster.tuned(Ball(2), smoothness=1.0, noise=1.0, accuracy=0.25)
        rivals.Ringmaster(domain=Ball(dim=2), step=0.0625, stalest=4)
        """
        given = {"smoothness": smoothness, "noise": noise, "accuracy": accuracy}
        steep, spread, eps = (positive(cls.kind, name, value) for name, value in given.items())
        stalest = max(1, math.ceil(spread / eps))
        step = min(1.0 / (2.0 * stalest * steep), eps / (4.0 * steep * spread))
        return cls(domain, step, stalest)

    def player(self, seed: int, strict: bool) -> core.Ringmaster:
        """Return what plays."""
        return core.Ringmaster(self._setting(seed, strict), self.step, self.stalest)


@dataclass(frozen=True, repr=False)
class LangfordSmolaZinkevich(Rival, module="rivals"):
    """Slow learners: x_{t+1} = Pi_K(x_t - eta_n g_{t-tau}) for the fixed delay tau = ``delay``.

    n = t - tau counts the gradients applied, and with F = D / sqrt(2)

    * ``curvature`` = 0: eta_n = sigma / sqrt(n), sigma = F / (G sqrt(2 max(tau, 1)));
    * ``curvature`` = lambda > 0: eta_n = 1 / (lambda n).

    Answers must come in ticket order and no later than told; earlier ones are taken, since the end
    of a game may bring them.

    Guarantee: sigma G^2 sqrt(T) + F^2 sqrt(T) / sigma + G^2 sigma tau^2 / 2 +
    2 G^2 sigma tau sqrt(T); with curvature lambda tau F^2 +
    (1/2 + tau) (G^2 / lambda) (1 + tau + ln T).
    Reference: Langford, Smola and Zinkevich, "Slow learners are fast", NeurIPS 2009.
    Differs from the paper: max(tau, 1), as tau = 0 would divide by zero.

    >>> from belated import Ball
    >>> LangfordSmolaZinkevich(Ball(3), lipschitz=1.0, delay=4).sigma
    0.5
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

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        check_curvature(self)

    @property
    def sigma(self) -> float:
        """F / (G sqrt(2 max(tau, 1))), F = D / sqrt(2)."""
        return self.domain.diameter / (
            2.0 * self.lipschitz * math.sqrt(max(self._fact("delay"), 1))
        )

    def player(self, seed: int, strict: bool) -> core.LangfordSmolaZinkevich:
        """Return what plays."""
        numbers = (self.sigma, self.curvature, self._fact("delay"))
        return core.LangfordSmolaZinkevich(self._setting(seed, strict), *numbers)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """See the class; sigma is that of the steps, tau the largest delay. None if it refuses."""
        rounds = timeline.rounds
        if timeline.max_delay > self._fact("delay") or (np.diff(timeline.order) < 0).any():
            return None
        total = self._regret(rounds, timeline.max_delay)
        return self._split(timeline, total, self._regret(rounds, 0), UNCHECKED)

    def _regret(self, rounds: int, delay: int) -> float:
        square = self.lipschitz**2
        f = self.domain.diameter / math.sqrt(2.0)
        if self.curvature > 0.0:
            growth = 1.0 + delay + log(max(rounds, 1))
            return self.curvature * delay * f**2 + (0.5 + delay) * square / self.curvature * growth
        root, sigma = math.sqrt(rounds), self.sigma
        drift = square * sigma * (delay**2 / 2.0 + 2.0 * delay * root)
        return sigma * square * root + f**2 * root / sigma + drift


@dataclass(frozen=True, repr=False)
class QuanrudKhashabi(Tuned, module="rivals"):
    """Delayed online gradient descent, tuned: x_{t+1} = Pi_K(x_t - eta sum_{s in F_t} g_s).

    F_t are the rounds whose gradient arrived in round t, eta = D / (G sqrt(T + 2 d_tot)).
    Guarantee: regret <= D^2 / (2 eta) + eta G^2 (T / 2 + d_tot) = G D sqrt(T + 2 d_tot).
    Reference: Quanrud and Khashabi, "Online learning with adversarial delays", NeurIPS 2015; the
    constant is that of one step per gradient, since a batch step expands into such steps.

    >>> from belated import Ball
    >>> QuanrudKhashabi(Ball(3), lipschitz=1.0, rounds=100, total_delay=22).step
    0.16666666666666666
    """

    title = "Quanrud-Khashabi"
    reference = "Quanrud and Khashabi 2015"
    guarantee = "G D sqrt(T + 2 d_tot)"

    def player(self, seed: int, strict: bool) -> core.RoundDescent:
        """Return what plays."""
        return core.RoundDescent(self._setting(seed, strict), self.step)


@dataclass(frozen=True, repr=False)
class QuanrudKhashabiDoubling(Rival, module="rivals"):
    """The same descent without being told anything: T + 2 d_tot is guessed and doubled.

    Epoch m has the budget 2^m and steps with eta = D / (G 2^(m/2)). Each prediction spends 1 + 2 x
    (open tickets of the epoch). When the budget is exceeded, m grows until what was spent fits, the
    play goes back to the centre, and answers to rounds of earlier epochs are dropped.

    Guarantee: 8 G D sqrt(T + 2 d_tot).
    Reference: Quanrud and Khashabi, "Online learning with adversarial delays", NeurIPS 2015.
    Differs from the paper: their doubling is on T + D with delays that start at 1; this bookkeeping
    counts open tickets, which sum to d_tot.

    >>> from belated import Ball
    >>> QuanrudKhashabiDoubling(Ball(3), lipschitz=2.0)
    rivals.QuanrudKhashabiDoubling(domain=Ball(dim=3), lipschitz=2.0)
    """

    title = "Quanrud-Khashabi, doubling"
    reference = "Quanrud and Khashabi 2015"
    guarantee = "8 G D sqrt(T + 2 d_tot)"
    order = (
        "any order; a lost answer counts as zero; answers to rounds before a restart are dropped"
    )

    domain: Domain
    lipschitz: float

    def player(self, seed: int, strict: bool) -> core.QuanrudKhashabiDoubling:
        """Return what plays."""
        gain = self.domain.diameter / self.lipschitz
        return core.QuanrudKhashabiDoubling(self._setting(seed, strict), gain)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """8 G D sqrt(T + 2 d_tot)."""
        scale = 8.0 * self.lipschitz * self.domain.diameter
        total = scale * math.sqrt(timeline.rounds + 2 * timeline.total_delay)
        return self._split(timeline, total, scale * math.sqrt(timeline.rounds), UNCHECKED)


@dataclass(frozen=True, repr=False)
class DOGDSC(Rival, module="rivals"):
    """Delayed gradient descent for strongly convex losses: one step per round with arrivals.

    x_{t+1} = Pi_K(x_t - (1 / (lambda N_t)) sum_{s in F_t} g_s), where F_t are the rounds whose
    gradient arrived in round t, N_t counts all gradients that arrived so far, and lambda is the
    curvature of the losses.
    Guarantee: regret O((G^2 / lambda) d_max ln T), G bounding the gradients.
    Reference: Wan, Tu and Zhang, "Online strongly convex optimization with unknown delays", Machine
    Learning 2022.

    >>> from belated import Ball, Learner
    >>> learner = Learner(DOGDSC(Ball(2), curvature=4.0))
    >>> _ = learner.predict(), learner.predict()
    >>> learner.observe(1, [2.0, 0.0]), learner.observe(0, [0.0, 2.0])
    (True, True)
    >>> learner.predict().x
    array([-0.25, -0.25])
    """

    title = "DOGD-SC"
    reference = "Wan, Tu and Zhang 2022"
    guarantee = "O((G^2/lambda) d_max ln T)"

    domain: Domain
    curvature: float

    def player(self, seed: int, strict: bool) -> core.RoundDescent:
        """Return what plays."""
        return core.RoundDescent(self._setting(seed, strict), 0.0, self.curvature)


@dataclass(frozen=True, repr=False)
class _MirrorDescent(Tuned):
    """What the two share."""

    reference = "Wu, Huang and Liu 2024"

    curvature: float = 0.0
    mirror: Mirror = "euclidean"

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        check_mirror(self, self.mirror)
        if self.mirror == "euclidean":
            check_curvature(self)

    @property
    def needs(self) -> tuple[str, ...]:
        """With curvature the steps need no facts; only the entropy, to be cut, needs T."""
        if self.curvature == 0.0:
            return self.facts()
        return ("rounds",) if self.mirror == "entropy" else ()

    @property
    def _width(self) -> float:
        """D_psi; D_psi^2 / 2 bounds the divergence."""
        if self.mirror == "entropy" and isinstance(self.domain, Simplex):
            return math.sqrt(2.0 * self.domain.divergence)
        return self.domain.diameter

    def _floor(self, rounds: int) -> float:
        """Return where the simplex is cut for the entropy with curvature."""
        raise NotImplementedError

    def player(self, seed: int, strict: bool) -> core.RoundDescent:
        """Return what plays."""
        if self.curvature == 0.0:
            return core.RoundDescent(self._setting(seed, strict, mirror=self.mirror), self.step)
        floor = None
        if self.mirror == "entropy":
            floor = max(self.domain.size, self._floor(self._fact("rounds")))
        setting = self._setting(seed, strict, mirror=self.mirror, floor=floor)
        return core.RoundDescent(setting, 0.0, self.curvature)


@dataclass(frozen=True, repr=False)
class DMD(_MirrorDescent, module="rivals"):
    """Delayed mirror descent on gradient functions, one step per round with arrivals F_t.

    x_{t+1} = argmin_{x in K} sum_{s in F_t} <grad f_s(x_t), x> + B_psi(x, x_t) / eta_t

    An answer is grad f_s as a function; it is asked at the current point x_t, not where f_s was
    played. ``mirror`` is "euclidean" or, on a Simplex, "entropy" (G then bounds the largest entry
    of a gradient). D_psi^2 / 2 bounds the divergence B_psi, N_t counts the arrivals, and

    * ``curvature`` = 0: eta = D_psi / (G sqrt(T + 2 d_tot));
    * ``curvature`` = lambda > 0, relative to psi: eta_t = 1 / (lambda N_t). No facts are needed
      then, except for T with the entropy, and others are refused.

    Guarantee: without curvature regret <= D_psi^2 / (2 eta) + eta G^2 (T / 2 + d_tot)
    = G D_psi sqrt(T + 2 d_tot): a step with a batch of b gradients costs eta G^2 b^2 / 2, and
    b (b - 1) / 2 is what its members waited for each other. With curvature O(d_max ln T).
    Reference: Wu, Huang and Liu, "Online sequential decision-making with unknown delays", WWW 2024.
    Differs from the paper: steps are exact, and the entropy with curvature runs on
    {x_i >= 1 / (dim T)}, where its divergence is bounded.

    >>> from belated import Ball
    >>> DMD(Ball(3), lipschitz=1.0, rounds=100, total_delay=22).step
    0.16666666666666666
    """

    answers = "function"
    guarantee = "G D sqrt(T + 2 d_tot); with curvature of order d_max ln T"

    def _floor(self, rounds: int) -> float:
        # For T = 1 the cut would leave a single point, and no room for rounding.
        return min(1.0 / rounds, 1.0 - 1e-12) / self.domain.dim

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """D_psi^2 / (2 eta) + eta G^2 (T / 2 + d_tot); no constants are known with curvature."""
        return None if self.curvature > 0.0 else super()._guaranteed(timeline)


@dataclass(frozen=True, repr=False)
class SDMD(_MirrorDescent, module="rivals"):
    """Simplified delayed mirror descent: one mirror step per round with arrivals.

    x_{t+1} = argmin_{x in K} sum_{s in F_t} <g_s, x> + B(x; x_t) / eta_t, where F_t are the rounds
    whose gradient arrived in round t. With ``mirror="euclidean"`` B = |x - x_t|^2 / 2, with
    ``mirror="entropy"`` on a ``Simplex`` it is the Kullback-Leibler divergence, and ``lipschitz`` G
    bounds the largest entry of a gradient instead of its norm.
    eta = D / (G sqrt(T + 2 d_tot)) with D^2 = 2 max B or, with ``curvature`` lambda > 0,
    eta_t = 1 / (lambda N_t), N_t counting all gradients that arrived so far. With curvature no
    facts are needed, except for T with the entropy, and others are refused.
    Guarantee: regret <= D^2 / (2 eta) + eta G^2 (T / 2 + d_tot) = G D sqrt(T + 2 d_tot) by the
    argument for one step per gradient; with curvature O(d_max ln T), and on Euclidean distances
    <= (3 G^2 / lambda) (sigma_max + 1) ln(e T).
    Reference: Wu, Huang and Liu, "Online sequential decision-making with unknown delays", WWW 2024.

    Differs from the paper: every step is solved exactly. The divergence of the entropy is unbounded
    at the border, so with curvature it runs on x_i >= 1 / (k T).

    >>> from belated import Simplex
    >>> spec = SDMD(Simplex(8), lipschitz=1.0, rounds=64, total_delay=18, mirror="entropy")
    >>> round(spec.step, 6)
    0.203933
    """

    guarantee = "G D sqrt(T + 2 d_tot); with curvature (3 G^2/lambda) (sigma_max + 1) ln(e T)"

    def _floor(self, rounds: int) -> float:
        return 1.0 / (self.domain.dim * max(rounds, 2))

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """D^2 / (2 eta) + eta G^2 (T / 2 + d_tot); with curvature that of the class."""
        if self.curvature > 0.0:
            return None if self.mirror == "entropy" else self._curved_bound(timeline)
        bound = super()._guaranteed(timeline)
        if bound is None or self.mirror == "euclidean" or not timeline.rounds:
            return bound
        # The 1-norm between two plays goes with the entropy.
        width = 2.0 * (1.0 - self.domain.dim * self.domain.size)
        return replace(bound, trivial=self.lipschitz * width * timeline.rounds)

    def _curved_bound(self, timeline: Timeline) -> Bound:
        scale = 3.0 * self.lipschitz**2 / self.curvature * (1.0 + log(max(1, timeline.rounds)))
        return self._split(timeline, scale * (timeline.max_backlog + 1), scale)


@dataclass(frozen=True, repr=False)
class DOOMD(Regularised, module="rivals"):
    """Delayed optimistic mirror descent: x <- argmin_K <g_s + h_new - h_old, x> + lambda B(x, x').

    x' is the point before. There is one such step for every gradient that arrives, and one with the
    hints alone in a round before which nothing arrived. lambda is ``strength``, and
    B(x, x') = |x - x'|^2 / 2, so that x <- Pi_K(x' - (g_s + h_new - h_old) / lambda); with
    ``mirror="entropy"`` on a ``Simplex`` it is the divergence. ``hint="recent"`` guesses all
    missing gradients and the coming one by the last one received, h = (open + 1) g_last;
    ``"none"`` is h = 0. ``lipschitz`` G, where it is given, is used by the bound, and larger
    gradients are counted.

    Guarantee, without hints: regret <= lambda max B(u, x_1) + G^2 (T / 2 + d_tot) / lambda, as for
    any mirror descent that takes gradients as they arrive.
    Reference: Flaspohler et al., "Online learning with optimism and delay", ICML 2021.
    Differs from the paper: any delays, not one fixed delay, under which the two agree.

    >>> from belated import Simplex
    >>> DOOMD(Simplex(3), strength=2.0, mirror="entropy", hint="recent").hint
    'recent'
    """

    guarantee = "strength max B + G^2 (T/2 + d_tot) / strength, without hints"

    def player(self, seed: int, strict: bool) -> core.DOOMD:
        """Return what plays."""
        setting = self._setting(seed, strict, mirror=self.mirror)
        return core.DOOMD(setting, 1.0 / self.strength, self.hint == "recent")

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """lambda max B + G^2 (T / 2 + d_tot) / lambda; None with hints."""
        return self._regularised(timeline, 0.5, 1.0) if self.hint == "none" else None


@dataclass(frozen=True, repr=False)
class AdaptiveRevision(Rival, module="rivals"):
    """AdaGrad that revises its steps, coordinate by coordinate.

    A prediction remembers the sum of all gradients applied so far. When its own gradient g comes
    and b is the sum of those applied in between, then per coordinate

    * z += g^2 + 2 g b, and zmax is the largest z so far (z falls where g b < 0);
    * eta = alpha / (beta + sqrt(zmax)), before and after, alpha = a sqrt(2) R, beta = ``offset``;
    * w += -eta g + (eta_old - eta) b: the step, and the steps in between at the smaller rate.

    a is ``scale``, and R how far a coordinate gets from the centre: half a width on a Box, which is
    1 in its chart, and D / 2 on other sets. The play is Pi_K(w). Without delay this is diagonal
    AdaGrad.

    Guarantee: per coordinate about 2 sqrt(2) R sqrt(max_t sum of g^2 + 2 g b) with a about 1, for
    answers in order and no constraints.
    Reference: McMahan and Streeter, "Delay-tolerant algorithms for asynchronous distributed online
    learning", NeurIPS 2014.
    Differs from the paper: z starts at 0 with beta > 0, as in published code, not at 1 with
    beta = 0; projecting the play is outside their theory.

    >>> from belated import Box
    >>> AdaptiveRevision(Box(0.0, 1.0, dim=4), scale=2.0)
    rivals.AdaptiveRevision(domain=Box(low=0.0, high=1.0, dim=4), scale=2.0)
    """

    reference = "McMahan and Streeter 2014"
    memory = "one vector per open ticket"
    guarantee = "of order R sqrt(max_t sum (g^2 + 2 g b)) per coordinate"
    order = "any order, in theory in order; a lost answer counts as zero"

    domain: Domain
    scale: float = 1.0
    offset: float = 1.0

    def player(self, seed: int, strict: bool) -> core.AdaptiveRevision:
        """Return what plays."""
        reach = 1.0 if self.domain.half_widths else self.domain.diameter / 2.0
        gain = self.scale * math.sqrt(2.0) * reach
        return core.AdaptiveRevision(self._setting(seed, strict), gain, self.offset)


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

    def player(self, seed: int, strict: bool) -> core.MildOGD:
        """Return what plays."""
        root, diameter = self.lipschitz * math.sqrt(self.beta), self.domain.diameter
        rates = (diameter / root, 1.0 / (diameter * root))
        return core.MildOGD(self._setting(seed, strict), self.experts, *rates)
