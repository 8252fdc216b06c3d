"""The paper's guarantees as numbers, each split into what learning costs and what lateness costs.

A function per result. The first argument is a ``Timeline``, the constants are keywords: G is
``lipschitz``, D ``diameter``, lambda ``curvature``, M ``magnitude``; r, R and k come with
``domain``. All are measured in the chart of the set (see ``belated.domains``). T is the number of
rounds, d_tot the total delay, s*_n and d*_n the dual backlog and the dual delay of the n-th
arrival, eta_n the rates, and delta_t the smoothing. Results with sums take eta_n, delta_t and
delta'_n (the smoothing of the round in progress at the n-th arrival) from the kernels that the
learners run on.

An answer that never came counts with a delay up to the end of the log, as ``Timeline`` says: it
could not have changed a play if it had come right after the last one.
"""

from __future__ import annotations

import dataclasses
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from belated import rates, smoothing
from belated.arrays import Floats, Ints
from belated.bases import OMD, PFTRL, Base, DualAveraging, Portfolio
from belated.domains import Domain
from belated.errors import SpecError
from belated.kernels.slots import floats as F
from belated.kernels.slots import own as OWN
from belated.reductions import FirstOrder, OnePoint, Reduction, TwoPoint
from belated.spec import number, positive
from belated.timeline import Timeline

__all__ = [
    "Bound",
    "Skipping",
    "corollary_5_3",
    "corollary_5_4",
    "corollary_5_7",
    "corollary_5_8",
    "corollary_6_2",
    "corollary_g_3",
    "corollary_g_4",
    "gradient_adaptive",
    "leader",
    "portfolio",
    "skipping",
    "theorem_e_1",
    "theorem_e_2",
    "tight",
]


@dataclass(frozen=True)
class Bound:
    """An upper bound on the regret against every fixed play, in three parts.

    * ``learning``: the same bound for the same number of rounds with all delays zero;
    * ``delay``: the rest of it, due to lateness (in Corollary 5.7 it can fall a hair below zero,
      as lateness also makes the steps smaller);
    * ``skipped``: G D |Q*| where rounds are given up on (Theorem 6.1), and then ``delay`` is that
      of the shorter delays which the learner inside sees.

    ``trivial`` is G D T, which no sequence of plays exceeds.

    >>> bound = Bound("Corollary 5.3", learning=60.0, delay=30.0, trivial=200.0)
    >>> bound.total, bound.factor, bound.vacuous
    (90.0, 1.5, False)
    >>> print(bound)
    Corollary 5.3: 90 = learning 60 + delay 30, 1.5 times the price without delay
    """

    name: str
    """The result, as the paper numbers it."""
    learning: float
    delay: float
    note: str = ""
    """What to know when reading the number, or nothing."""
    skipped: float = 0.0
    trivial: float = math.inf

    @property
    def total(self) -> float:
        """The bound itself."""
        return self.learning + self.delay + self.skipped

    @property
    def factor(self) -> float:
        """The price of lateness: the bound over what it would be without delay."""
        return self.total / self.learning if self.learning else 1.0

    @property
    def vacuous(self) -> bool:
        """Whether the bound says no more than that a round costs at most G D."""
        return self.total >= self.trivial

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON; an unknown ``trivial`` is None.

        >>> Bound("Corollary 5.3", 3.0, 1.0).to_dict()["total"]
        4.0
        """
        data = dataclasses.asdict(self)
        data["trivial"] = self.trivial if math.isfinite(self.trivial) else None
        return {**data, "total": self.total, "factor": self.factor, "vacuous": self.vacuous}

    def __str__(self) -> str:
        """Return the bound on one line, and a second one with what to know about it."""
        parts = f"learning {self.learning:,.4g} + delay {self.delay:,.4g}"
        if self.skipped:
            parts += f" + skipped {self.skipped:,.4g}"
        line = (
            f"{self.name}: {self.total:,.4g} = {parts}, {self.factor:,.3g} times the price "
            "without delay"
        )
        remarks = [self.note] if self.note else []
        if self.vacuous:
            remarks.insert(0, f"vacuous: no play loses more than {self.trivial:,.4g}")
        return line + "".join(f"\n  {remark}" for remark in remarks)


# ---- first-order feedback ----------------------------------------------------------------------


def corollary_5_3(timeline: Timeline, *, lipschitz: float, diameter: float) -> Bound:
    """Corollary 5.3: regret <= 3 G D sqrt(T + d_tot).

    For gradients of convex losses, P-FTRL or OMD, and ``rates.DelayAdaptive``. G bounds the
    gradients, D is the diameter of the set.

    >>> corollary_5_3(Timeline.from_delays([21] * 100), lipschitz=1.0, diameter=2.0).learning
    60.0
    """
    scale = _scale("corollary_5_3", lipschitz, diameter)
    return _split(
        "Corollary 5.3",
        timeline,
        lambda late: 3.0 * scale * math.sqrt(late.rounds + late.total_delay),
        scale,
    )


def tight(timeline: Timeline, *, lipschitz: float, diameter: float) -> Bound:
    """Corollary 5.3 with a better constant: regret <= 2 G D sqrt(T / 2 + d_tot).

    For gradients of convex losses, P-FTRL or OMD, and ``rates.Tight``.

    Differs from the paper: its proof drops a factor 1/2 in the learning term; keeping it and
    balancing the two terms again gives this.

    >>> tight(Timeline.from_delays([0] * 200), lipschitz=1.0, diameter=2.0).total
    40.0
    """
    scale = _scale("tight", lipschitz, diameter)
    return _split(
        "Corollary 5.3 with the tight rate",
        timeline,
        lambda late: 2.0 * scale * math.sqrt(0.5 * late.rounds + late.total_delay),
        scale,
    )


def gradient_adaptive(
    timeline: Timeline,
    *,
    lipschitz: float,
    diameter: float,
    norms: npt.ArrayLike | None = None,
) -> Bound:
    """Corollary 5.3 for the gradients seen: 2 D sqrt(sum_n (|c_n|^2 / 2 + G s*_n |c_n|)).

    For gradients of convex losses, P-FTRL or OMD, and ``rates.GradientAdaptive(lipschitz)``.
    ``norms`` are the |c_n| in order of arrival, one per round; where no answer came, G is safe.
    Without them every norm is taken to be G.

    Differs from the paper: |c|^2 / 2 + G s* |c| stands for G^2 (1/2 + s*) in the proof.

    >>> answered = Timeline.from_delays([0] * 4)
    >>> gradient_adaptive(answered, lipschitz=1.0, diameter=1.0, norms=[0, 0, 0, 1]).total ** 2
    2.0000000000000004
    """
    scale = _scale("gradient_adaptive", lipschitz, diameter)
    sizes = _norms(norms, timeline.rounds, lipschitz)
    steady = float(np.sum(sizes**2)) / 2.0

    def value(late: Timeline) -> float:
        waiting = lipschitz * float(np.sum(late.dual_backlog[late.order] * sizes))
        return 2.0 * diameter * math.sqrt(steady + waiting)

    note = "" if norms is not None else "every gradient is taken to be as large as lipschitz"
    return _split("Corollary 5.3 with gradient-adaptive rates", timeline, value, scale, note)


def theorem_e_1(
    timeline: Timeline, *, base: PFTRL, lipschitz: float | None = None, curvature: float = 0.0
) -> Bound:
    """Theorem E.1: P-FTRL with any rates that do not depend on the gradients.

    Convex: D^2 / (2 eta_T) + G^2 sum_n eta_n (s*_n + 1). With ``curvature`` lambda:
    sum_n (1/eta_n - 1/eta_{n-1} - lambda)_+ D^2 / 2 + 3 G^2 sum_n eta_n (d*_n + 1) + 3 G D H,
    H = sum_n (1 - eta_n / eta_{n - d*_n}). G is that of the base's rate unless given.

    Differs from the paper: |z_n - u|^2 is bounded by D^2, its factor by the positive part.

    >>> from belated import Ball
    >>> base = PFTRL(Ball(2), rates.Constant(0.1, lipschitz=1.0))
    >>> round(theorem_e_1(Timeline.from_delays([1, 0, 0, 0]), base=base).delay, 9)
    0.1
    """
    return _theorem_e("Theorem E.1", PFTRL, timeline, base, lipschitz, curvature)


def theorem_e_2(
    timeline: Timeline, *, base: OMD, lipschitz: float | None = None, curvature: float = 0.0
) -> Bound:
    """Theorem E.2: OMD with any rates that do not depend on the gradients.

    Convex: D^2 / (2 eta_T) + G^2 sum_n eta_n (s*_n + 1). With ``curvature`` lambda:
    sum_n (1/eta_n - 1/eta_{n-1} - lambda)_+ D^2 / 2 + 3 G^2 sum_n eta_n (s*_n + 1). Under the
    entropy mirror D^2 / 2 is the largest divergence (Theorem D.4), and losses must be convex only.

    Differs from the paper: |z_n - u|^2 is bounded by D^2, its factor by the positive part.

    >>> from belated import Ball
    >>> base = OMD(Ball(2), rates.StronglyConvex(1.0, lipschitz=2.0))
    >>> theorem_e_2(Timeline.from_delays([0, 0]), base=base, curvature=1.0).total
    18.0
    """
    return _theorem_e("Theorem E.2", OMD, timeline, base, lipschitz, curvature)


def portfolio(timeline: Timeline, *, base: Portfolio, lipschitz: float | None = None) -> Bound:
    """The guarantee of ``Portfolio`` for gradients of convex losses, before any is seen.

    (1 + leash) (D^2 / (2 eta_T) + G^2 sum_n eta_n (s*_n + 1/2)) + G sum_n min(2 D, way_n)
    + G D (1 + max_{m<=n} (s*_n - s*_m)), eta_n being the rates of the anchor, which must depend on
    counts only; way_n is the sum of G eta over the moves between the two points kept around the
    n-th play, or D if more than ``base.reach`` other answers came first. G is what the members were
    told, unless given. If that is more than they were told, max s* stands for the last maximum; if
    it is less, the leash still goes by what they were told.

    Differs from the paper: the portfolio is ours; docs/paper.md has the proof.

    >>> from belated import Ball
    >>> ball = Ball(2)
    >>> base = Portfolio([OMD(ball, rates.InverseRoot(1.0)), PFTRL(ball, rates.Tight(1.0))])
    >>> portfolio(Timeline.from_delays([0] * 10_000), base=base).vacuous
    False
    """
    known = base.rate.lipschitz if lipschitz is None else lipschitz
    if known is None:
        raise SpecError("portfolio: needs the gradient bound: give lipschitz here or to a member")
    given = positive("portfolio", "lipschitz", known)
    anchor = None if base.anchor is None else base.members[base.anchor]
    if anchor is None or isinstance(anchor.rate, _FOLLOWING):
        raise SpecError(
            "portfolio: no member has a bound in advance; add a PFTRL with rates.DelayAdaptive or "
            "rates.Tight"
        )
    diameter = base.domain.diameter
    told = base.rate.lipschitz or 0.0

    def value(late: Timeline) -> float:
        own, misread = _member(late, anchor, given, base.reach)
        leashed = own if told <= given else _member(late, anchor, told, base.reach)[0]
        waiting = late.dual_backlog[late.order]
        lowest = np.minimum.accumulate(waiting) if given <= told else 0
        jump = 1 + int(np.max(waiting - lowest))
        return own + base.leash * leashed + misread + given * diameter * jump

    return _split("Portfolio's guarantee", timeline, value, given * diameter)


_FOLLOWING = (rates.GradientAdaptive, rates.StronglyConvex)
"""Rates without a bound in advance on linear costs that they do not know."""


def _member(
    late: Timeline, base: PFTRL | OMD | DualAveraging, lipschitz: float, reach: int
) -> tuple[float, float]:
    """Return what Theorem 4.1 allows a member, and twice the most that it is charged too much."""
    play = _Play(late, FirstOrder(base))
    diameter = base.domain.diameter
    own = diameter**2 / (2.0 * play.last) + lipschitz**2 * play.weigh(play.open_lags + 0.5)
    way = _ways(late, lipschitz * play.etas, reach)
    most = np.where(np.isinf(way), diameter, np.minimum(2.0 * diameter, way))
    return own, lipschitz * float(np.sum(most))


def _ways(late: Timeline, moves: Floats, reach: int) -> Floats:
    """Return, by arrival, the most that a base went between the two points kept around its play.

    ``moves`` bounds each of its moves, by arrival. Beyond the reach nothing is known.
    """
    newest = np.arange(late.rounds)
    lags = late.dual_delay[late.order]
    seen = newest - lags
    level = np.zeros_like(seen)
    while (far := (newest >> level) - (seen >> level) >= OWN.PLACES).any():
        level[far] += 1
    below = (seen >> level) << level
    above = ((seen + (1 << level) - 1) >> level) << level
    gone = np.concatenate([[0.0], np.cumsum(moves)])
    return np.where(lags > reach, np.inf, gone[above] - gone[below])


def leader(
    timeline: Timeline, *, lipschitz: float, curvature: float, diameter: float, reach: int = 61_440
) -> Bound:
    """The guarantee of ``Leader`` for gradients of strongly convex losses.

    (3 G^2 / lambda) (sum_n 1/n + sum_n s*_n / n) + lambda D sum_n min(D, way_n / 2), way_n the sum
    of 3 G / (lambda m) over the moves between the two points kept around the n-th play, without
    end beyond ``reach``.

    Differs from the paper: ``Leader`` is ours, after Qiu, Esposito and Zhang; see its docstring for
    the proof.

    >>> late = Timeline.from_delays([0])
    >>> leader(late, lipschitz=1.0, curvature=1.0, diameter=2.0).total
    3.0
    """
    scale = _scale("leader", lipschitz, diameter)
    strength = positive("leader", "curvature", curvature)

    def value(late: Timeline) -> float:
        numbers = np.arange(1, late.rounds + 1)
        moves: Floats = 3.0 * lipschitz / (strength * numbers.astype(np.float64))
        waiting = late.dual_backlog[late.order]
        away = np.minimum(diameter, 0.5 * _ways(late, moves, reach))
        misread = strength * diameter * float(np.sum(away))
        return lipschitz * float(np.sum(moves * (1 + waiting))) + misread

    return _split("Leader's guarantee", timeline, value, scale)


_BASES = {"pftrl": "P-FTRL", "omd": "OMD"}


def corollary_5_4(
    timeline: Timeline,
    *,
    lipschitz: float,
    curvature: float,
    base: Literal["pftrl", "omd"] = "pftrl",
    diameter: float | None = None,
) -> Bound:
    """Corollary 5.4, for gradients of strongly convex losses and ``rates.StronglyConvex``.

    P-FTRL: (9 G^2 / lambda) (min{sigma_max ln(e T), 2 sqrt(d_tot)} + ln(e T)).
    OMD: (3 G^2 / lambda) (sigma_max + 1) ln(e T).
    ``diameter`` only tells when the bound is vacuous; it is 2 G / lambda unless given (Fact B.1).

    Differs from the paper: ln(e T), as in its proof, in place of ln T, which is 0 for T = 1.

    >>> late = Timeline.from_delays([0])
    >>> corollary_5_4(late, lipschitz=1.0, curvature=1.0).total
    9.0
    >>> corollary_5_4(late, lipschitz=1.0, curvature=1.0, base="omd").total
    3.0
    """
    gain = positive("corollary_5_4", "lipschitz", lipschitz) ** 2 / positive(
        "corollary_5_4", "curvature", curvature
    )
    if base not in _BASES:
        raise SpecError(f"corollary_5_4: base is 'pftrl' or 'omd', got {base!r}")
    width = 2.0 * lipschitz / curvature if diameter is None else diameter

    def value(late: Timeline) -> float:
        logarithm = _log(late.rounds)
        if base == "omd":
            return 3.0 * gain * (late.max_backlog + 1) * logarithm
        return 9.0 * gain * (_waiting(late) + logarithm)

    scale = _scale("corollary_5_4", lipschitz, width)
    return _split("Corollary 5.4", timeline, value, scale, f"for {_BASES[base]}")


# ---- values ------------------------------------------------------------------------------------


def corollary_5_7(
    timeline: Timeline,
    *,
    domain: Domain,
    lipschitz: float,
    magnitude: float,
    horizon: int | None = None,
) -> Bound:
    """Corollary 5.7, for one value of a convex loss per round, in expectation.

    D^2 / eta_T + 5 G^2 sum_n eta_n (d*_n + (k M / (G delta'_n))^2) + G D H + 6 G R delta_tot / r,
    H = sum_n (1 - eta_n / eta_{n - d*_n}), for ``OnePoint`` over P-FTRL with
    ``rates.DelayAdaptive`` and ``smoothing.Convex``, fixed at its last radius if ``horizon`` is
    given. It is O(G D (sqrt(d_tot) + T^(3/4) sqrt(nu k))) with nu = M / (G r), but with constants
    that make it vacuous below about 10^5 rounds.

    Differs from the paper: the last term has the outer radius R, as in Theorem 5.6, where the proof
    writes D, which is no smaller.

    >>> from belated import Ball
    >>> late = Timeline.from_delays([0] * 100)
    >>> corollary_5_7(late, domain=Ball(2), lipschitz=1.0, magnitude=1.0).vacuous
    True
    """
    spec = _one_point(rates.DelayAdaptive(lipschitz), domain, magnitude, smoothing.Convex, horizon)
    noise = domain.dim * magnitude / lipschitz

    def value(late: Timeline) -> float:
        play = _Play(late, spec)
        spread = play.weigh(play.lags + (noise / play.late_radii) ** 2)
        learning = domain.diameter**2 / play.last + 5.0 * lipschitz**2 * spread
        return learning + lipschitz * (domain.diameter * play.misalignment + 6.0 * play.bias)

    return _split("Corollary 5.7", timeline, value, lipschitz * domain.diameter, _EXPECTED)


def corollary_5_8(
    timeline: Timeline,
    *,
    domain: Domain,
    lipschitz: float,
    curvature: float,
    magnitude: float,
    horizon: int | None = None,
) -> Bound:
    """Corollary 5.8, for one value of a strongly convex loss per round, in expectation.

    13 G^2 sum_n eta_n (d*_n + (k M / (G delta'_n))^2) + 3 G D H + 10 G R delta_tot / r, for
    ``OnePoint`` over P-FTRL with ``rates.StronglyConvex`` and ``smoothing.StronglyConvex``.

    Differs from the paper: the smoothing has ln(e t) in place of ln t, which is 0 in the first
    round; the last term has the outer radius R, as in Theorem 5.6, where the proof writes D.

    >>> from belated import Ball
    >>> late = Timeline.from_delays([0] * 100)
    >>> bound = corollary_5_8(late, domain=Ball(1), lipschitz=2.0, curvature=1.0, magnitude=1.0)
    >>> bound.delay
    0.0
    """
    rate = rates.StronglyConvex(curvature, lipschitz)
    spec = _one_point(rate, domain, magnitude, smoothing.StronglyConvex, horizon)
    noise = domain.dim * magnitude / lipschitz

    def value(late: Timeline) -> float:
        play = _Play(late, spec)
        spread = play.weigh(play.lags + (noise / play.late_radii) ** 2)
        drift = 3.0 * domain.diameter * play.misalignment
        return 13.0 * lipschitz**2 * spread + lipschitz * (drift + 10.0 * play.bias)

    return _split("Corollary 5.8", timeline, value, lipschitz * domain.diameter, _EXPECTED)


def corollary_g_3(
    timeline: Timeline, *, domain: Domain, lipschitz: float, horizon: int | None = None
) -> Bound:
    """Corollary G.3, for two values of a convex loss per round, in expectation.

    D^2 / eta_T + 5 (c + 1) G^2 sum_n eta_n (d*_n + k) + G D H + 6 G R delta_tot / r with
    c = k / (k - 1), or 1 for k = 1, for ``TwoPoint`` over P-FTRL with ``rates.DelayAdaptive`` and
    ``smoothing.InverseRoot``. It is O(G D (sqrt(d_tot) + sqrt(T k))).

    Differs from the paper: c, left open there, comes from Poincare's inequality on the sphere;
    6 stands for its 7, which counts one G delta twice; R stands for D, as in Theorem G.2.

    >>> from belated import Ball
    >>> late = Timeline.from_delays([0] * 4000)
    >>> corollary_g_3(late, domain=Ball(2), lipschitz=1.0).vacuous
    False
    """
    rate = rates.DelayAdaptive(lipschitz)
    spec = TwoPoint(PFTRL(domain, rate), smoothing.InverseRoot(horizon))
    shape = 5.0 * (_two_point_constant(domain.dim) + 1.0)

    def value(late: Timeline) -> float:
        play = _Play(late, spec)
        learning = shape * lipschitz**2 * play.weigh(play.lags + float(domain.dim))
        start = domain.diameter**2 / play.last
        drift = domain.diameter * play.misalignment
        return start + learning + lipschitz * (drift + 6.0 * play.bias)

    return _split("Corollary G.3", timeline, value, lipschitz * domain.diameter, _EXPECTED)


def corollary_g_4(
    timeline: Timeline,
    *,
    domain: Domain,
    lipschitz: float,
    curvature: float,
    horizon: int | None = None,
) -> Bound:
    """Corollary G.4, for two values of a strongly convex loss per round, in expectation.

    13 (c + 1) G^2 sum_n eta_n (d*_n + k) + 3 G D H + 10 G R delta_tot / r with c = k / (k - 1), or
    1 for k = 1, for ``TwoPoint`` over P-FTRL with ``rates.StronglyConvex`` and
    ``smoothing.Inverse``.

    Differs from the paper: c, left open there, comes from Poincare's inequality on the sphere;
    10 stands for its 11, which counts one G delta twice; R stands for D, as in Theorem G.2.

    >>> from belated import Ball
    >>> late = Timeline.from_delays([0])
    >>> corollary_g_4(late, domain=Ball(1), lipschitz=1.0, curvature=1.0).total
    36.0
    """
    rate = rates.StronglyConvex(curvature, lipschitz)
    spec = TwoPoint(PFTRL(domain, rate), smoothing.Inverse(horizon))
    shape = 13.0 * (_two_point_constant(domain.dim) + 1.0)

    def value(late: Timeline) -> float:
        play = _Play(late, spec)
        learning = shape * lipschitz**2 * play.weigh(play.lags + float(domain.dim))
        drift = 3.0 * domain.diameter * play.misalignment
        return learning + lipschitz * (drift + 10.0 * play.bias)

    return _split("Corollary G.4", timeline, value, lipschitz * domain.diameter, _EXPECTED)


# ---- skipping ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Skipping:
    """What ``Skip`` makes of a timeline (Algorithm 3 and Theorem 6.1)."""

    skipped: Ints
    """Q*, the tickets given up on, in the order in which that happened."""
    timeline: Timeline
    """What the learner inside sees: a skipped ticket is answered when it is given up on."""
    total_delay: int
    """d'_tot, the sum over rounds of the tickets that were open when the round began.

    A skip precedes the prediction of its round, so the learner inside counts one less for every
    skipped ticket: ``timeline.total_delay`` is d'_tot - |Q*|.
    """

    @property
    def count(self) -> int:
        """|Q*|."""
        return len(self.skipped)


def skipping(timeline: Timeline) -> Skipping:
    """Return which tickets ``Skip`` gives up on, and when, on this timeline (Algorithm 3).

    Before prediction t, with D_t = D_{t-1} + open tickets, every open s with t - s > sqrt(D_t) is
    closed. Theorem 6.1: |Q*| + sqrt(d'_tot) <= 3 (min over Q of |Q| + sqrt(sum of the other
    delays) + 1); the minimum is ``timeline.skip_tradeoff().cost``.

    >>> found = skipping(Timeline.from_delays([90] + 99 * [0]))
    >>> found.skipped, found.timeline.total_delay, found.total_delay
    (array([0]), 1, 2)
    """
    events, skipped, total = _skip(timeline.events.tolist(), timeline.rounds)
    made = np.cumsum(events >= 0)
    arrivals = np.flatnonzero(events < 0)
    observed = timeline.observed.copy()
    observed[skipped] = True
    inner = Timeline(
        ~events[arrivals], np.append(0, made[arrivals]), observed, timeline.rows.copy()
    )
    return Skipping(np.array(skipped, dtype=np.int64), inner, total)


def corollary_6_2(timeline: Timeline, result: Callable[..., Bound], **constants: Any) -> Bound:
    """Corollary 6.2: the bound of a result on the delays that ``Skip`` leaves, plus G D |Q*|.

    ``result`` is a function of this module for convex losses, ``constants`` are its keywords.

    >>> late = Timeline.from_delays([9900] * 50 + [0] * 9950)
    >>> print(corollary_5_3(late, lipschitz=1.0, diameter=1.0))
    Corollary 5.3: 2,132 = learning 300 + delay 1,832, 7.11 times the price without delay
    >>> print(corollary_6_2(late, corollary_5_3, lipschitz=1.0, diameter=1.0))
    Corollary 6.2 over Corollary 5.3: 366.2 = learning 300 + delay 16.21 + skipped 50,
    1.22 times the price without delay
    """
    if result not in _SKIPPABLE or constants.get("curvature"):
        name = getattr(result, "__name__", repr(result))
        raise SpecError(
            f"corollary_6_2: no theorem covers skipping in {name}, since a skipped round counts as "
            "a zero loss, which is not strongly convex; use a result for convex losses"
        )
    found = skipping(timeline)
    inner = result(found.timeline, **constants)
    per_round = inner.trivial / timeline.rounds if timeline.rounds else 0.0
    return dataclasses.replace(
        inner, name=f"Corollary 6.2 over {inner.name}", skipped=per_round * found.count
    )


_SKIPPABLE = (
    corollary_5_3,
    tight,
    gradient_adaptive,
    theorem_e_1,
    theorem_e_2,
    portfolio,
    corollary_5_7,
    corollary_g_3,
)


def _skip(events: list[int], rounds: int) -> tuple[Ints, list[int], int]:
    """Run Algorithm 3 over events; return those of the learner inside, Q*, and D_T.

    Ages fall from the head of the queue on, so only the oldest open ticket can be overdue.
    """
    seen: list[int] = []
    skipped: list[int] = []
    waiting: deque[int] = deque()
    is_open = [False] * rounds
    count = patience = 0
    for event in events:
        if event < 0:
            if is_open[~event]:
                is_open[~event] = False
                count -= 1
                seen.append(event)
            continue
        patience += count
        while waiting and (not is_open[waiting[0]] or (event - waiting[0]) ** 2 > patience):
            ticket = waiting.popleft()
            if is_open[ticket]:
                is_open[ticket] = False
                count -= 1
                skipped.append(ticket)
                seen.append(~ticket)
        waiting.append(event)
        is_open[event] = True
        count += 1
        seen.append(event)
    return np.array(seen, dtype=np.int64), skipped, patience


# ---- shared parts ------------------------------------------------------------------------------

_EXPECTED = "in expectation over the exploration directions"


class _Play:
    """The sequences of a composition on a timeline, by arrival, and the sums of the proofs."""

    def __init__(self, timeline: Timeline, spec: Reduction) -> None:
        from belated.learner.program import schedule_of  # which loads the kernels

        schedule = schedule_of(spec, timeline.events)
        self.etas, self.late_radii, self.radii = schedule
        self.lags: Ints = timeline.dual_delay[timeline.order]
        self.open_lags: Ints = timeline.dual_backlog[timeline.order]
        domain = spec.base.domain  # type: ignore[union-attr]  # built in, as all specs here
        self._breadth = (domain.outer_radius or domain.diameter) / (domain.inner_radius or 1.0)

    @property
    def last(self) -> float:
        """eta_T."""
        return float(self.etas[-1])

    def weigh(self, terms: npt.NDArray[Any]) -> float:
        """Return sum_n eta_n terms_n."""
        return float(np.sum(self.etas * terms))

    @property
    def misalignment(self) -> float:
        """H = sum_n (1 - eta_n / eta_{n - d*_n}) (Lemma 4.2)."""
        start = np.arange(self.etas.size) - self.lags
        return float(np.sum(1.0 - self.etas / self.etas[start]))

    @property
    def bias(self) -> float:
        """R delta_tot / r; D stands for an unknown R, which it cannot be below."""
        return self._breadth * float(np.sum(self.radii))


def _theorem_e(
    name: str,
    kind: type[Base],
    timeline: Timeline,
    base: Base,
    lipschitz: float | None,
    curvature: float,
) -> Bound:
    """Theorems E.1 and E.2, which differ in the drift of the strongly convex case only."""
    who = name.lower().replace(" ", "_").replace(".", "_")
    _check_base(who, kind, base, curvature)
    if lipschitz is None and base.rate.lipschitz is None:
        raise SpecError(f"{who}: no bound on the gradients is known; give lipschitz=...")
    bound = positive(who, "lipschitz", base.rate.lipschitz if lipschitz is None else lipschitz)
    bend = number(who, "curvature", curvature)
    spec = FirstOrder(base)

    diameter = base.diameter

    def value(late: Timeline) -> float:
        play = _Play(late, spec)
        growth = np.diff(1.0 / play.etas, prepend=0.0)
        if not bend:
            drift = bound**2 * play.weigh(play.open_lags + 1)
            return diameter**2 / (2.0 * play.last) + drift
        start = float(np.sum(np.maximum(growth - bend, 0.0))) * diameter**2 / 2.0
        if kind is OMD:
            return start + 3.0 * bound**2 * play.weigh(play.open_lags + 1)
        drift = 3.0 * bound**2 * play.weigh(play.lags + 1)
        return start + drift + 3.0 * bound * diameter * play.misalignment

    return _split(name, timeline, value, bound * base.width)


def _check_base(who: str, kind: type[Base], base: Base, curvature: float) -> None:
    """Refuse bases to which Theorems E.1 and E.2 do not apply."""
    if not isinstance(base, kind):
        raise SpecError(f"{who}: base must be {kind.kind}, got {getattr(base, 'kind', base)!r}")
    if isinstance(base.rate, rates.GradientAdaptive):
        raise SpecError(
            f"{who}: rates.GradientAdaptive depends on the gradients; use gradient_adaptive"
        )
    if curvature < 0.0:
        raise SpecError(f"{who}: curvature must not be negative, got {curvature!r}")
    if curvature and isinstance(base, OMD) and base.mirror == "entropy":
        raise SpecError(f"{who}: the strongly convex case needs Euclidean distances, not entropy")


def _one_point(
    rate: rates.Rate,
    domain: Domain,
    magnitude: float,
    schedule: type[smoothing.Convex | smoothing.StronglyConvex],
    horizon: int | None,
) -> OnePoint:
    """Return the composition of Corollaries 5.7 and 5.8."""
    spec = OnePoint(PFTRL(domain, rate), magnitude)
    if horizon is None:
        return spec
    assert rate.lipschitz is not None and domain.inner_radius  # checked at construction
    ratio = spec.magnitude / (rate.lipschitz * domain.inner_radius)
    return OnePoint(spec.base, magnitude, schedule(ratio, horizon))


def _two_point_constant(dim: int) -> float:
    """Return c with E|estimate|^2 <= c k G^2 (Lemma G.1)."""
    return dim / (dim - 1.0) if dim > 1 else 1.0


def _split(
    name: str,
    timeline: Timeline,
    value: Callable[[Timeline], float],
    scale: float,
    note: str = "",
) -> Bound:
    """Evaluate a bound with the delays and without; ``scale`` is G D."""
    rounds = timeline.rounds
    if not rounds:
        return Bound(name, 0.0, 0.0, note, trivial=0.0)
    prompt = Timeline.from_delays(np.zeros(rounds, dtype=np.int64))
    learning = value(prompt)
    return Bound(name, learning, value(timeline) - learning, note, trivial=scale * rounds)


def _scale(who: str, lipschitz: float, diameter: float) -> float:
    """Return G D after checking both."""
    return positive(who, "lipschitz", lipschitz) * positive(who, "diameter", diameter)


def _log(rounds: int) -> float:
    """Return ln(e T)."""
    return 1.0 + math.log(rounds)


def _waiting(timeline: Timeline) -> float:
    """Return min{sigma_max ln(e T), 2 sqrt(d_tot)}, a bound on sum_n d*_n / n (Fact C.4)."""
    smooth = timeline.max_backlog * _log(timeline.rounds)
    return min(smooth, 2.0 * math.sqrt(timeline.total_delay))


def _norms(norms: npt.ArrayLike | None, rounds: int, lipschitz: float) -> Floats:
    """Return the norms of the costs by arrival."""
    if norms is None:
        return np.full(rounds, float(lipschitz))
    sizes = np.asarray(norms, dtype=np.float64)
    if sizes.shape != (rounds,) or not (sizes >= 0.0).all() or not np.isfinite(sizes).all():
        raise SpecError(
            f"gradient_adaptive: norms must be {rounds} finite numbers of at least 0, one per "
            f"round in order of arrival, got shape {sizes.shape}"
        )
    if sizes.max(initial=0.0) > lipschitz * F.SLACK:
        raise SpecError(
            f"gradient_adaptive: norms must not exceed lipschitz = {lipschitz!r}, got "
            f"{sizes.max()!r}; the guarantee needs a larger lipschitz"
        )
    return sizes
