"""Bounds against the same formulas written out slowly, their split, and skipping."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import belated as bl
import naive
from belated import bounds
from belated.bounds import Bound
from belated.compose import schedule_of
from test_theorems import all_delays, patterns

BALL = bl.Ball(3, 2.0)
BOX = bl.Box([0.0, -5.0], [1.0, 10.0])
G, LAM, M = 1.5, 0.4, 2.5


# --- Formulas, slowly ----------------------------------------------------------------------------


@dataclass
class Slow:
    """All sequences of a round-based game by arrival, counted by definition."""

    delays: list[int]
    domain: bl.domains.Domain

    def __post_init__(self) -> None:
        counts = naive.interval_counts(naive.intervals_of_delays(self.delays))
        self.rounds = len(self.delays)
        self.lags = [counts.dual_delays[t] for t in counts.order]
        self.backlogs = [counts.dual_backlogs[t] for t in counts.order]
        self.when = [t + self.delays[t] + 1 for t in counts.order]
        self.total_delay = sum(self.delays)
        self.max_backlog = max(counts.backlogs)

    def radii(self, kind: naive.SmoothingKind, horizon: int | None = None) -> list[float]:
        r = self.domain.inner_radius
        assert r
        nu, k = M / (G * r), self.domain.dim
        return [
            naive.smoothing_radius(kind, t, r, dim=k, nu=nu, horizon=horizon)
            for t in range(1, self.rounds + 1)
        ]

    def sums(self, etas: list[float], terms: list[float], radii: list[float]) -> list[float]:
        """1 / eta_T, sum of eta times terms, H, and R delta_tot / r."""
        r, R = self.domain.inner_radius, self.domain.outer_radius
        assert r
        assert R
        weighed = math.fsum(e * x for e, x in zip(etas, terms, strict=True))
        bias = R * math.fsum(radii) / r
        return [1.0 / etas[-1], weighed, naive.misalignment(etas, self.lags), bias]

    def noise(self, radii: list[float]) -> list[float]:
        """d*_n + (k M / (G delta'_n))^2."""
        k = self.domain.dim
        return [
            lag + (k * M / (G * radii[t - 1])) ** 2
            for lag, t in zip(self.lags, self.when, strict=True)
        ]


def slow_5_7(game: Slow, horizon: int | None) -> float:
    D, k = game.domain.diameter, game.domain.dim
    radii = game.radii("convex", horizon)
    late = [radii[t - 1] for t in game.when]
    etas = [
        naive.rate_one_point(game.backlogs[:n], late[:n], D, G, k, M)
        for n in range(1, game.rounds + 1)
    ]
    inverse, spread, H, bias = game.sums(etas, game.noise(radii), radii)
    return D**2 * inverse + 5 * G**2 * spread + G * D * H + 6 * G * bias


def slow_5_8(game: Slow, horizon: int | None) -> float:
    radii = game.radii("strongly-convex", horizon)
    etas = [1.0 / (LAM * n) for n in range(1, game.rounds + 1)]
    _, spread, H, bias = game.sums(etas, game.noise(radii), radii)
    return 13 * G**2 * spread + 3 * G * game.domain.diameter * H + 10 * G * bias


def slow_g_3(game: Slow, horizon: int | None) -> float:
    D, k = game.domain.diameter, game.domain.dim
    radii = game.radii("inverse-root", horizon)
    etas = [naive.rate_two_point(game.backlogs[:n], D, G, k) for n in range(1, game.rounds + 1)]
    inverse, spread, H, bias = game.sums(etas, [lag + k for lag in game.lags], radii)
    c = k / (k - 1)
    return D**2 * inverse + 5 * (c + 1) * G**2 * spread + G * D * H + 6 * G * bias


def slow_g_4(game: Slow, horizon: int | None) -> float:
    k = game.domain.dim
    radii = game.radii("inverse", horizon)
    etas = [1.0 / (LAM * n) for n in range(1, game.rounds + 1)]
    _, spread, H, bias = game.sums(etas, [lag + k for lag in game.lags], radii)
    c = k / (k - 1)
    return 13 * (c + 1) * G**2 * spread + 3 * G * game.domain.diameter * H + 10 * G * bias


def slow_5_3(game: Slow, _: int | None) -> float:
    return 3 * G * game.domain.diameter * math.sqrt(game.rounds + game.total_delay)


def slow_tight(game: Slow, _: int | None) -> float:
    return 2 * G * game.domain.diameter * math.sqrt(game.rounds / 2 + game.total_delay)


def slow_5_4_pftrl(game: Slow, _: int | None) -> float:
    log = math.log(math.e * game.rounds)
    waiting = min(game.max_backlog * log, 2 * math.sqrt(game.total_delay))
    return 9 * G**2 / LAM * (waiting + log)


def slow_5_4_omd(game: Slow, _: int | None) -> float:
    return 3 * G**2 / LAM * (game.max_backlog + 1) * math.log(math.e * game.rounds)


def slow_e_convex(game: Slow, _: int | None) -> float:
    D = game.domain.diameter
    etas = [naive.rate_first_order(game.backlogs[:n], D, G) for n in range(1, game.rounds + 1)]
    drift = math.fsum(e * (s + 1) for e, s in zip(etas, game.backlogs, strict=True))
    return D**2 / (2 * etas[-1]) + G**2 * drift


def slow_e_1_curved(game: Slow, _: int | None) -> float:
    D = game.domain.diameter
    etas = [naive.rate_first_order(game.backlogs[:n], D, G) for n in range(1, game.rounds + 1)]
    start = math.fsum(max(0.0, a - LAM) for a in naive.regulariser_weights(etas)) * D**2 / 2
    drift = math.fsum(e * (lag + 1) for e, lag in zip(etas, game.lags, strict=True))
    return start + 3 * G**2 * drift + 3 * G * D * naive.misalignment(etas, game.lags)


def slow_e_2_curved(game: Slow, _: int | None) -> float:
    etas = [1.0 / (LAM * n) for n in range(1, game.rounds + 1)]
    return 3 * G**2 * math.fsum(e * (s + 1) for e, s in zip(etas, game.backlogs, strict=True))


Fast = Callable[[bl.Timeline, bl.domains.Domain, int | None], Bound]
DELAYED = bl.rates.DelayAdaptive(G)

RESULTS: dict[str, tuple[Fast, Callable[[Slow, int | None], float]]] = {
    "5.3": (
        lambda t, d, _: bounds.corollary_5_3(t, lipschitz=G, diameter=d.diameter),
        slow_5_3,
    ),
    "tight": (lambda t, d, _: bounds.tight(t, lipschitz=G, diameter=d.diameter), slow_tight),
    "gradient adaptive": (
        lambda t, d, _: bounds.gradient_adaptive(t, lipschitz=G, diameter=d.diameter),
        slow_tight,
    ),
    "5.4, P-FTRL": (
        lambda t, _, __: bounds.corollary_5_4(t, lipschitz=G, curvature=LAM),
        slow_5_4_pftrl,
    ),
    "5.4, OMD": (
        lambda t, _, __: bounds.corollary_5_4(t, lipschitz=G, curvature=LAM, base="omd"),
        slow_5_4_omd,
    ),
    "E.1": (lambda t, d, _: bounds.theorem_e_1(t, base=bl.PFTRL(d, DELAYED)), slow_e_convex),
    "E.2": (lambda t, d, _: bounds.theorem_e_2(t, base=bl.OMD(d, DELAYED)), slow_e_convex),
    "E.1, curved": (
        lambda t, d, _: bounds.theorem_e_1(t, base=bl.PFTRL(d, DELAYED), curvature=LAM),
        slow_e_1_curved,
    ),
    "E.2, curved": (
        lambda t, d, _: bounds.theorem_e_2(
            t, base=bl.OMD(d, bl.rates.StronglyConvex(LAM)), lipschitz=G, curvature=LAM
        ),
        slow_e_2_curved,
    ),
    "5.7": (
        lambda t, d, h: bounds.corollary_5_7(t, domain=d, lipschitz=G, magnitude=M, horizon=h),
        slow_5_7,
    ),
    "5.8": (
        lambda t, d, h: bounds.corollary_5_8(
            t, domain=d, lipschitz=G, curvature=LAM, magnitude=M, horizon=h
        ),
        slow_5_8,
    ),
    "G.3": (lambda t, d, h: bounds.corollary_g_3(t, domain=d, lipschitz=G, horizon=h), slow_g_3),
    "G.4": (
        lambda t, d, h: bounds.corollary_g_4(t, domain=d, lipschitz=G, curvature=LAM, horizon=h),
        slow_g_4,
    ),
}

VALUES = ("5.7", "5.8", "G.3", "G.4")
ROUND_BASED = ("none", "constant", "uniform", "batch", "pareto", "one huge", "all at the end")


@pytest.mark.parametrize("name", RESULTS)
def test_formula(name: str) -> None:
    """Every result equals its formula, with its learning part that of no delay."""
    fast, slow = RESULTS[name]
    for pattern, timeline in patterns(40, 1).items():
        if pattern not in ROUND_BASED:
            continue
        for domain in (BALL, BOX) if name in VALUES else (BALL,):
            for horizon in (None, 64) if name in VALUES else (None,):
                bound = fast(timeline, domain, horizon)
                late, prompt = Slow(timeline.delay.tolist(), domain), Slow([0] * 40, domain)
                assert bound.total == pytest.approx(slow(late, horizon), rel=1e-11)
                assert bound.learning == pytest.approx(slow(prompt, horizon), rel=1e-11)


@pytest.mark.parametrize("name", RESULTS)
def test_split(name: str) -> None:
    """Delay is the rest, zero without delay; the price is their ratio.

    Only Corollary 5.7 is not monotone: smaller steps can outweigh one long delay, by a hair.
    """
    fast, _ = RESULTS[name]
    for pattern, timeline in patterns(120, 2).items():
        bound = fast(timeline, BALL, None)
        assert bound.total == bound.learning + bound.delay
        assert bound.delay >= (-1e-3 * bound.learning if name == "5.7" else 0.0)
        assert (bound.delay == 0.0) == (pattern == "none")
        assert bound.factor == bound.total / bound.learning
        assert bound.skipped == 0.0


def test_norms() -> None:
    """Given norms count in order of arrival; they must fit the timeline and the assumption."""
    timeline = bl.Timeline.from_delays([2, 0, 0])
    known: dict[str, Any] = {"lipschitz": 2.0, "diameter": 1.0}
    bound = bounds.gradient_adaptive(timeline, **known, norms=[1.0, 0.5, 2.0])
    assert timeline.dual_backlog[timeline.order].tolist() == [1, 1, 0]
    total = (1.0 + 0.25 + 4.0) / 2.0 + 2.0 * (1.0 + 0.5)
    assert bound.total == pytest.approx(2.0 * math.sqrt(total))
    assert bound.note == ""
    for norms in ([1.0], [-1.0, 0.0, 0.0], [math.nan, 0.0, 0.0]):
        with pytest.raises(bl.errors.SpecError, match="norms must be 3 finite numbers"):
            bounds.gradient_adaptive(timeline, **known, norms=norms)
    with pytest.raises(bl.errors.SpecError, match="must not exceed lipschitz"):
        bounds.gradient_adaptive(timeline, **known, norms=[3.0, 0.0, 0.0])


# --- Skipping ------------------------------------------------------------------------------------


def check_against_naive(delays: list[int]) -> None:
    expected = naive.skipping(delays)
    found = bounds.skipping(bl.Timeline.from_delays(delays))
    assert [t + 1 for t in found.skipped.tolist()] == expected.skipped
    assert found.count == len(expected.skipped)
    assert found.total_delay == sum(expected.delays)
    assert found.timeline.delay.tolist() == expected.inner_delays
    assert found.timeline.total_delay == found.total_delay - found.count


def test_skipping_exhaustive() -> None:
    for delays in all_delays(6):
        check_against_naive(delays)


def test_schedule_is_that_of_the_learner() -> None:
    """The sums use the rates of the learner inside, also those of its skips."""
    problem = bl.Problem(BALL, G, magnitude=M)
    spec = problem.learner("value", skip=True)
    assert isinstance(spec, bl.Skip)
    for timeline in patterns(80, 6).values():
        learner = bl.Learner(spec)
        learner.replay(timeline, np.zeros(80))
        report, inner = learner.report(), bounds.skipping(timeline).timeline
        etas = schedule_of(spec.learner, inner).etas
        assert report.rate == etas[report.rounds - report.open - 1]


def check_expiring(delays: list[int], wait: int) -> None:
    found = bounds.expiring(bl.Timeline.from_delays(delays), wait)
    gone, seen = naive.expiring(delays, wait)
    assert [t + 1 for t in found.skipped.tolist()] == gone
    assert found.timeline.delay.tolist() == seen
    assert found.timeline.total_delay == found.total_delay - found.count


def test_expiring_exhaustive() -> None:
    for delays in all_delays(6):
        for wait in range(7):
            check_expiring(delays, wait)


@pytest.mark.parametrize("wait", [0, 3, 25])
def test_expiring_is_what_the_learner_does(wait: int) -> None:
    """Also in continuous time, and where answers never come."""
    inside = bl.FirstOrder(bl.PFTRL(bl.Ball(1), bl.rates.DelayAdaptive(1.0)))
    for timeline in patterns(150, 5).values():
        learner = bl.Learner(bl.Deadline(inside, wait, forget=4))
        learner.replay(timeline, np.zeros((150, 1)))
        report, found = learner.report(), bounds.expiring(timeline, wait)
        assert report.skipped == found.count
        assert report.total_delay == found.timeline.total_delay
        assert report.max_backlog == found.timeline.max_backlog <= wait
        assert report.max_delay == found.timeline.max_delay <= wait
        gone = timeline.observed.copy()
        gone[found.skipped] = True
        assert np.array_equal(found.timeline.observed, gone)
        assert report.open == int(np.count_nonzero(~gone))
        etas = schedule_of(inside, found.timeline).etas
        assert report.rate == (etas[report.rounds - report.open - 1] or None)


def test_deadline() -> None:
    """The bound of the learner inside on its delays, and G D for every round given up on."""
    timeline = bl.Timeline.from_delays([400] * 20 + [1] * 380)
    constants = {"lipschitz": G, "diameter": 4.0}
    for wait, count in ((0, 399), (1, 20), (379, 20), (390, 9), (399, 0)):
        bound = bounds.deadline(timeline, wait, bounds.tight, **constants)
        inner = bounds.tight(bounds.expiring(timeline, wait).timeline, **constants)
        assert bound.name == f"Deadline over {inner.name}"
        assert (bound.learning, bound.delay, bound.trivial) == (
            *(inner.learning, inner.delay),
            inner.trivial,
        )
        assert bound.skipped == pytest.approx(G * 4.0 * count)
    assert bounds.deadline(bl.Timeline.from_delays([]), 3, bounds.tight, **constants).total == 0.0
    with pytest.raises(bl.errors.SpecError, match="expiring: rounds must be at least 0"):
        bounds.deadline(timeline, -1, bounds.tight, **constants)


def test_corollary_6_2() -> None:
    """The bound of the learner inside on the delays it sees, and G D for every skipped round."""
    timeline = bl.Timeline.from_delays([400] * 20 + [1] * 380)
    found = bounds.skipping(timeline)
    constants: dict[str, Any] = {"domain": BALL, "lipschitz": G}
    cases: list[tuple[Callable[..., Bound], dict[str, Any]]] = [
        (bounds.corollary_5_3, {"lipschitz": G, "diameter": 4.0}),
        (bounds.tight, {"lipschitz": G, "diameter": 4.0}),
        (bounds.gradient_adaptive, {"lipschitz": G, "diameter": 4.0}),
        (bounds.theorem_e_1, {"base": bl.PFTRL(BALL, DELAYED)}),
        (bounds.corollary_5_7, {**constants, "magnitude": M}),
        (bounds.corollary_g_3, constants),
    ]
    for result, known in cases:
        bound = bounds.corollary_6_2(timeline, result, **known)
        inner = result(found.timeline, **known)
        assert bound.name == f"Corollary 6.2 over {inner.name}"
        assert (bound.learning, bound.delay) == (inner.learning, inner.delay)
        assert bound.skipped == pytest.approx(G * 4.0 * found.count)
        assert bound.total == bound.learning + bound.delay + bound.skipped
        assert bound.trivial == inner.trivial
    assert found.count >= 20
    empty = bounds.corollary_6_2(bl.Timeline.from_delays([]), *cases[0][:1], **cases[0][1])
    assert empty.total == 0.0


@pytest.mark.parametrize("radius", [None, 4.0, 3.0, 2.0, 1.0])
def test_corollary_6_2_over_strongly_convex_losses(radius: float | None) -> None:
    """Gradients of what stands in are at most lambda R; a skipped round has the price of both."""
    timeline = bl.Timeline.from_delays([400] * 20 + [1] * 380)
    found = bounds.skipping(timeline)
    known: dict[str, Any] = {"lipschitz": G, "curvature": LAM, "diameter": 4.0}
    reach = 4.0 if radius is None else radius
    price = max(G * d - LAM * d * d / 2.0 for d in (4.0, min(4.0, G / LAM))) + LAM * reach**2 / 2.0
    for result in (bounds.corollary_5_4, bounds.leader):
        bound = bounds.corollary_6_2(timeline, result, outer_radius=radius, **known)
        steepest = max(G, LAM * reach) if result is bounds.corollary_5_4 else G
        inner = result(found.timeline, **{**known, "lipschitz": steepest})
        assert bound.name == f"Corollary 6.2 over {inner.name}"
        assert (bound.learning, bound.delay) == (inner.learning, inner.delay)
        assert bound.skipped == pytest.approx(price * found.count)
        assert bound.trivial == G * 4.0 * 400
    assert found.count >= 20


def test_corollary_6_2_does_not_cover_everything() -> None:
    timeline = bl.Timeline.from_delays([1, 0])
    with pytest.raises(
        bl.errors.SpecError, match="no theorem covers giving up on rounds in corollary_g_4"
    ):
        bounds.corollary_6_2(
            timeline, bounds.corollary_g_4, domain=BALL, lipschitz=G, curvature=LAM
        )
    with pytest.raises(bl.errors.SpecError, match="corollary_6_2: outer_radius must be positive"):
        bounds.corollary_6_2(
            timeline, bounds.corollary_5_4, lipschitz=G, curvature=LAM, outer_radius=0.0
        )
    with pytest.raises(bl.errors.SpecError, match="in theorem_e_1"):
        bounds.corollary_6_2(
            timeline, bounds.theorem_e_1, base=bl.PFTRL(BALL, DELAYED), curvature=LAM
        )


# --- Refusals ------------------------------------------------------------------------------------

ONE = bl.Timeline.from_delays([0])
ADAPTIVE = bl.PFTRL(BALL, bl.rates.GradientAdaptive(1.0))
ENTROPY = bl.OMD(bl.Simplex(3), bl.rates.Constant(0.1, 1.0), "entropy")

REFUSED: list[tuple[Callable[..., Bound], dict[str, Any], str]] = [
    (bounds.corollary_5_3, {"lipschitz": 0.0, "diameter": 1.0}, "corollary_5_3: lipschitz must"),
    (bounds.tight, {"lipschitz": 1.0, "diameter": -1.0}, "tight: diameter must be positive"),
    (
        bounds.corollary_5_4,
        {"lipschitz": 1.0, "curvature": 1.0, "base": "sgd"},
        "base is 'pftrl' or 'omd', got 'sgd'",
    ),
    (bounds.theorem_e_1, {"base": ADAPTIVE}, "depends on the gradients"),
    (bounds.theorem_e_1, {"base": ENTROPY}, "theorem_e_1: base must be PFTRL, got 'OMD'"),
    (bounds.theorem_e_2, {"base": ENTROPY, "curvature": 1.0}, "needs Euclidean distances"),
    (bounds.theorem_e_2, {"base": ENTROPY, "curvature": -1.0}, "must not be negative"),
    (
        bounds.theorem_e_1,
        {"base": bl.PFTRL(BALL, bl.rates.Constant(0.1))},
        "no bound on the gradients is known",
    ),
    (
        bounds.corollary_g_3,
        {"domain": bl.Simplex(3), "lipschitz": 1.0},
        "Simplex has no interior",
    ),
    (
        bounds.corollary_g_4,
        {"domain": BALL, "lipschitz": 1.0, "curvature": 0.5, "horizon": 0},
        "horizon must be at least 1",
    ),
]


@pytest.mark.parametrize(("result", "constants", "message"), REFUSED)
def test_refusals(result: Callable[..., Bound], constants: dict[str, Any], message: str) -> None:
    with pytest.raises(bl.errors.SpecError, match=message):
        result(ONE, **constants)
