"""The slow rivals checked against their ancestors, their minimisations and their bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import pytest

import belated as bl
import naive
import naive_rivals as nr
from belated import delays, rivals
from conftest import shortened
from naive import Array, ChartSet, play_rounds

Kind = Literal["gradient", "value", "two", "many"]

T = max(60, shortened(200))
BALL = ChartSet("ball", 3, radius=0.8)
BOX = ChartSet("box", 2)
SIMPLEX = ChartSet("simplex", 4)
DELAYS = np.minimum(np.random.default_rng(5).integers(0, 31, 60), 59 - np.arange(60)).tolist()
INTERVAL = ChartSet("ball", 1, radius=1.5)


# --- all methods ---------------------------------------------------------------------------------


def feedback(kind: Kind, g: Array, y: Array) -> Any:
    """Answer for the loss <g, y> in the form that a method wants."""
    if kind == "gradient":
        return g
    return float(g @ y) if kind == "value" else tuple(float(g @ row) for row in y)


def unit_vectors(rng: np.random.Generator, count: int, dim: int) -> Array:
    """Random vectors of length at most 1, with a common part."""
    raw = rng.standard_normal((count, dim)) + 0.5
    return np.asarray(raw / np.linalg.norm(raw, axis=1, keepdims=True), dtype=np.float64)


# --- ancestors -----------------------------------------------------------------------------------


def assert_same_plays(first: Sequence[Array], second: Sequence[Array], atol: float = 0.0) -> None:
    """Compare two lists of plays."""
    np.testing.assert_allclose(np.array(first), np.array(second), rtol=0.0, atol=atol)


# --- minimisations -------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", [BALL, BOX, SIMPLEX], ids=["ball", "box", "simplex"])
def test_leaders_minimise_their_objectives(domain: ChartSet) -> None:
    """Qiu, FTDRL and dual averaging against the objective's gradient at the play."""
    k, start = domain.dim, domain.start
    gs = unit_vectors(np.random.default_rng(15), 60, k)
    qiu = play_rounds(
        nr.NaiveQiuEspositoZhang(domain=domain, curvature=0.7), DELAYS, lambda s, y: gs[s]
    )
    whole = play_rounds(
        nr.NaiveFTDRL(domain=domain, lipschitz=1.0, rounds=60, total_delay=300),
        DELAYS,
        lambda s, y: np.append(gs[s], 0.01 * s),
    )
    dual = play_rounds(
        nr.NaiveDelayedDualAveraging(domain=domain, lipschitz=1.0), DELAYS, lambda s, y: gs[s]
    )
    outer = max(float(np.linalg.norm(v - start)) for v in (corners(domain)))
    assert outer == pytest.approx(nr.outer_radius(domain))
    backlogs = naive.interval_counts(naive.intervals_of_delays(DELAYS)).backlogs
    for t in range(60):
        arrived = [s for s in range(t) if s + DELAYS[s] < t]
        slope = gs[arrived].sum(axis=0) if arrived else np.zeros(k)
        gradient = slope + sum((0.7 * (qiu[t] - qiu[s]) for s in arrived), start=np.zeros(k))
        assert naive.optimality_gap(gradient, qiu[t], domain) < 1e-10
        gradient = slope + sum(0.01 * s for s in arrived) * whole[t]
        gradient = gradient + (whole[t] - start) * math.sqrt(60 + 600) / outer
        assert naive.optimality_gap(gradient, whole[t], domain) < 1e-10
        strength = 2.0 / outer * math.sqrt((t + 1) / 2 + sum(backlogs[: t + 1]))
        gradient = slope + strength * (dual[t] - start)
        assert naive.optimality_gap(gradient, dual[t], domain) < 1e-10


def corners(domain: ChartSet) -> list[Array]:
    """Points of the set farthest from its centre."""
    if domain.kind == "simplex":
        return list(np.eye(domain.dim))
    if domain.kind == "box":
        return [np.ones(domain.dim)]
    return [domain.radius * np.eye(domain.dim)[0]]


@pytest.mark.parametrize("curved", [False, True], ids=["convex", "strongly-convex"])
def test_blocks_minimise_over_everything_received(curved: bool) -> None:
    rounds, lam, magnitude = 400, 0.5, 0.2
    fields = {"domain": BALL, "magnitude": magnitude, "lipschitz": 1.0, "rounds": rounds}
    learner = (
        nr.NaiveDFTBLStronglyConvex(**fields, curvature=lam, seed=4)  # type: ignore[arg-type]
        if curved
        else nr.NaiveDFTBL(**fields, max_delay=9, seed=4)  # type: ignore[arg-type]
    )
    length, delta = learner.length, learner.delta
    nu = magnitude / 0.8
    assert delta == pytest.approx(
        0.8 * (nu**2 * 9 * math.log(math.e * rounds) / rounds) ** (1 / 3)
        if curved
        else 0.8 * math.sqrt(3 * nu) * rounds**-0.25
    )
    assert length == math.ceil(round((3 * magnitude / delta) ** 2, 6))  # 15 when convex
    assert 1 < length < rounds / 5
    values = np.random.default_rng(16).uniform(-magnitude, magnitude, rounds)
    delays = (9,) * rounds
    plays = play_rounds(learner, delays, lambda s, y: float(values[s]))
    directions = [naive.direction(4, t, 3) for t in range(rounds)]
    centres = [plays[t] - delta * directions[t] for t in range(rounds)]
    shrunk = ChartSet("ball", 3, radius=0.8 - delta)
    for t in range(rounds):
        block = t // length
        np.testing.assert_allclose(centres[t], centres[block * length], atol=1e-14)
        if block == 0:
            np.testing.assert_allclose(centres[t], 0.0, atol=1e-14)
            continue
        gradient = np.zeros(3)
        for s in range(block * length - 9):
            gradient = gradient + (3 / delta) * values[s] * directions[s]
        if curved:
            for m in range(block):
                gradient = gradient + lam * length * (centres[t] - centres[m * length])
        else:
            alpha = (2.0 / 0.8) * math.sqrt(rounds * (9 + 2 * length))
            gradient = gradient + alpha * centres[t]
        assert naive.optimality_gap(gradient, centres[t], shrunk) < 1e-10


# --- values --------------------------------------------------------------------------------------


def test_two_points_on_a_line_are_the_derivative() -> None:
    """With k = 1 and linear losses the estimate is exact: the ancestor on (1 - delta/r) K."""
    gs = np.random.default_rng(17).uniform(-1.0, 1.0, (60, 1))
    cases: list[tuple[Any, float, Callable[[ChartSet], Any]]] = [
        (
            nr.NaiveDOGDSCTwoPoint(domain=INTERVAL, curvature=0.4, lipschitz=1.0, rounds=60),
            1.5 * math.log(math.e * 60) / 60,
            lambda K: nr.NaiveDOGDSC(domain=K, curvature=0.4),
        ),
        (
            nr.NaiveAgarwalDekelXiao(domain=INTERVAL, lipschitz=1.0, rounds=60, curvature=0.4),
            math.log(math.e * 60) / 60,
            lambda K: nr.NaiveHazanAgarwalKale(domain=K, curvature=0.4),
        ),
        (
            nr.NaiveAgarwalDekelXiao(domain=INTERVAL, lipschitz=1.0, rounds=60),
            math.log(math.e * 60) / 60,
            lambda K: nr.NaiveDelayAdaptiveSGD(domain=K, step=1 / math.sqrt(60), workers=99),
        ),
        (
            nr.NaiveShamir(domain=INTERVAL, lipschitz=2.0, rounds=60),
            1.5 / math.sqrt(60),
            lambda K: nr.NaiveDelayAdaptiveSGD(
                domain=K, step=1.5 / (2.0 * math.sqrt(60)), workers=99
            ),
        ),
    ]
    for learner, delta, ancestor in cases:
        plays = play_rounds(learner, DELAYS, lambda s, y: feedback("two", gs[s], y))
        np.testing.assert_allclose([abs(y[0, 0] - y[1, 0]) for y in plays], 2.0 * delta, rtol=1e-12)
        shrunk = ChartSet("ball", 1, radius=1.5 - delta)
        expected = play_rounds(ancestor(shrunk), DELAYS, lambda s, y: gs[s])
        assert_same_plays([y.mean(axis=0) for y in plays], expected, atol=1e-12)


def test_many_points_are_exact_for_linear_losses() -> None:
    gs = unit_vectors(np.random.default_rng(18), 60, 3)
    learner = nr.NaiveDOGDSCManyPoint(domain=BALL, curvature=0.4, lipschitz=1.0, rounds=60)
    plays = play_rounds(learner, DELAYS, lambda s, y: feedback("many", gs[s], y))
    delta = 0.8 * math.log(math.e * 60) / 60
    np.testing.assert_allclose(plays[5][1:] - plays[5][0], delta * np.eye(3), atol=1e-15)
    ancestor = nr.NaiveDOGDSC(domain=ChartSet("ball", 3, radius=0.8 - delta), curvature=0.4)
    expected = play_rounds(ancestor, DELAYS, lambda s, y: gs[s])
    assert_same_plays([y[0] for y in plays], expected, atol=1e-11)


# --- bounds --------------------------------------------------------------------------------------


G, CURVATURE, D, R = 1.3, 0.5, 1.6, 0.8
PLACE = bl.Ball(3, radius=R)
COPIED = bl.FirstOrder(bl.OMD(PLACE, bl.rates.DelayAdaptive(G)))
_curved: Any = {"curvature": CURVATURE, "lipschitz": CURVATURE * D}
_SLOPE = CURVATURE * D


def tot(t: bl.Timeline) -> tuple[int, int]:
    """T and d_tot."""
    return t.rounds, t.total_delay


def bound_dub(t: bl.Timeline, arms: int) -> float:
    """8 d_max + 2 sqrt((4 + ln K) T + 2 ln K d_tot)."""
    log = math.log(arms)
    return 8.0 * t.max_delay + 2.0 * math.sqrt((4.0 + log) * t.rounds + 2.0 * log * t.total_delay)


BOUNDS: list[tuple[Any, Callable[[bl.Timeline], float]]] = [
    (rivals.SOLID(PLACE, G), lambda t: nr.bound_fixed_step(*tot(t), D, G)),
    (rivals.DelayedOGD(PLACE, G), lambda t: nr.bound_fixed_step(*tot(t), D, G)),
    (rivals.QuanrudKhashabi(PLACE, G), lambda t: nr.bound_fixed_step(*tot(t), D, G)),
    (
        rivals.QuanrudKhashabiDoubling(PLACE, G),
        lambda t: 8.0 * nr.bound_fixed_step(*tot(t), D, G),
    ),
    (rivals.SDMD(PLACE, G), lambda t: nr.bound_fixed_step(*tot(t), D, G)),
    (
        rivals.SDMD(bl.Simplex(4), G, mirror="entropy"),
        lambda t: nr.bound_fixed_step(*tot(t), naive.entropy_diameter(4, 0.0), G),
    ),
    (
        rivals.SDMD(PLACE, **_curved),
        lambda t: nr.bound_dogd_sc(t.rounds, t.max_backlog, _SLOPE, CURVATURE),
    ),
    (rivals.DMD(PLACE, G), lambda t: nr.bound_fixed_step(*tot(t), D, G)),
    (
        rivals.DelayedDualAveraging(PLACE, G),
        lambda t: math.sqrt(2.0) * nr.bound_fixed_step(*tot(t), R, G),
    ),
    (rivals.FTDRL(PLACE, G), lambda t: nr.bound_fixed_step(*tot(t), R, G)),
    (rivals.BOLD(COPIED), lambda t: nr.bound_over_ogd(t.rounds, t.max_backlog + 1, D, G)),
    (
        rivals.WeinbergerOrdentlich(COPIED),
        lambda t: nr.bound_over_ogd(t.rounds, t.max_delay + 1, D, G),
    ),
    (
        rivals.LangfordSmolaZinkevich(PLACE, G),
        lambda t: nr.bound_langford_smola_zinkevich(t.rounds, t.max_delay, D, G),
    ),
    (
        rivals.LangfordSmolaZinkevich(PLACE, **_curved),
        lambda t: nr.bound_langford_smola_zinkevich(t.rounds, t.max_delay, D, _SLOPE, CURVATURE),
    ),
    (
        rivals.AgarwalDekelXiao(PLACE, G),
        lambda t: nr.bound_agarwal_dekel_xiao(t.rounds, 3, R, D, G, 0.0),
    ),
    (
        rivals.AgarwalDekelXiao(PLACE, **_curved),
        lambda t: nr.bound_agarwal_dekel_xiao(t.rounds, 3, R, D, _SLOPE, CURVATURE),
    ),
    (rivals.DORM(4), lambda t: 2.0 * math.sqrt(t.rounds + 2 * t.total_delay)),
    (rivals.DUB(4), lambda t: bound_dub(t, 4)),
    (rivals.Flaxman(PLACE, 0.8, G), lambda t: nr.bound_flaxman(t.rounds, 3, R, R, 0.8, G)),
]


@pytest.mark.parametrize(("spec", "bound"), BOUNDS)
def test_bounds_are_the_published_formulas(
    spec: Any, bound: Callable[[bl.Timeline], float]
) -> None:
    """``test_rivals`` checks that regret stays below them."""
    timelines = [delays.constant(200, 0), delays.constant(200, 7), delays.uniform(200, 0, 30)]
    found = [spec.told(timeline).bound(timeline) for timeline in timelines]
    assert found[0] is not None
    for timeline, each in zip(timelines, found, strict=True):
        assert each is None or each.total == pytest.approx(bound(timeline), rel=1e-12)
