"""The slow rivals checked against their ancestors, their minimisations and their bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import pytest

import belated as bl
import naive
import naive_rivals as nr
from belated import delays, rivals
from conftest import shortened
from naive import Array, ChartSet, NaiveConfig, NaiveLearner
from rival_case import RivalCase
from rival_laws import ONE_OF_EACH, SEED, answers, width_of

Kind = Literal["gradient", "value", "two", "many"]

T = max(60, shortened(200))
BALL = ChartSet("ball", 3, radius=0.8)
BOX = ChartSet("box", 2)
SIMPLEX = ChartSet("simplex", 4)
INTERVAL = ChartSet("ball", 1, radius=1.5)


# --- delays --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pattern:
    """Delays with the counts that bounds are made of."""

    delays: tuple[int, ...]
    total: int
    longest: int
    backlog: int


def pattern(delays: Sequence[int]) -> Pattern:
    """Cut delays at the end of the game and count."""
    rounds = len(delays)
    cut = [min(d, rounds - 1 - t) for t, d in enumerate(delays)]
    counts = naive.interval_counts(naive.intervals_of_delays(cut))
    return Pattern(tuple(cut), sum(cut), max(cut), max(counts.backlogs))


@lru_cache
def patterns() -> dict[str, Pattern]:
    """None, fixed, random, in batches, a lost beginning, everything at the end."""
    rng = np.random.default_rng(5)
    return {
        "none": pattern([0] * T),
        "fixed": pattern([7] * T),
        "random": pattern([int(d) for d in rng.integers(0, 31, T)]),
        "batches": pattern([9 - t % 10 for t in range(T)]),
        "lost": pattern([T if t < 20 else 1 for t in range(T)]),
        "end": pattern([T] * T),
    }


PATTERNS = list(patterns())


def play(
    learner: nr.Copy, delays: Sequence[int], answer: Callable[[int, Array], Any]
) -> list[Array]:
    """Answer round s at the end of round s + d_s, in increasing s, and return the plays."""
    played: list[Array] = []
    for t in range(len(delays)):
        ticket, y = learner.predict()
        assert ticket == t
        played.append(y)
        for s in range(t + 1):
            if s + delays[s] == t:
                learner.observe(s, answer(s, played[s]))
    return played


# --- all methods ---------------------------------------------------------------------------------


def config_of(domain: ChartSet, **fields: Any) -> NaiveConfig:
    """OGD on a set: eta_n = D / (G sqrt n) without delay."""
    fields = {"base": "omd", **fields}
    return NaiveConfig(dim=domain.dim, set_kind=domain.kind, radius=domain.radius, **fields)


def feedback(kind: Kind, g: Array, y: Array) -> Any:
    """Answer for the loss <g, y> in the form that a method wants."""
    if kind == "gradient":
        return g
    return float(g @ y) if kind == "value" else tuple(float(g @ row) for row in y)


def unit_vectors(rng: np.random.Generator, count: int, dim: int) -> Array:
    """Random vectors of length at most 1, with a common part."""
    raw = rng.standard_normal((count, dim)) + 0.5
    return np.asarray(raw / np.linalg.norm(raw, axis=1, keepdims=True), dtype=np.float64)


def zero(case: RivalCase, y: Array) -> Any:
    """Return an answer of zeros."""
    zeros = np.zeros(width_of(case))
    return (lambda _: zeros) if case.answer == "function" else zeros


ARE_CASES = pytest.mark.parametrize("case", ONE_OF_EACH, ids=lambda case: case.name)


@ARE_CASES
def test_every_ticket_is_answered_once(case: RivalCase) -> None:
    learner, given = case.slow(SEED), answers(case).slow
    with pytest.raises(KeyError):
        learner.cancel(0)
    for ticket in range(1 + (case.delay or 0)):
        assert learner.predict()[0] == ticket
    learner.observe(0, given(0))
    with pytest.raises(ValueError, match="closed"):
        learner.observe(0, given(0))
    with pytest.raises(ValueError, match="closed"):
        learner.cancel(0)
    with pytest.raises(KeyError):
        learner.cancel(ticket + 1)


@ARE_CASES
def test_cancelling_is_a_zero_cost_or_as_if_a_value_never_came(case: RivalCase) -> None:
    """Values that are lost count nowhere, but for methods that count open tickets."""
    is_value = case.answer in ("value", "pair", "values")
    if not case.loses or case.answer == "arm" or case.spec.kind in OTHER_LAWS:
        pytest.skip("other laws hold there")
    one, other, given = case.slow(SEED), case.slow(SEED), answers(case, 30).slow
    for t in range(30):
        (_, y), (_, z) = one.predict(), other.predict()
        np.testing.assert_array_equal(y, z)
        if t % 3 != 1:
            for learner in (one, other):
                learner.observe(t, given(t))
            continue
        one.cancel(t)
        if not is_value:
            other.observe(t, zero(case, y))


OTHER_LAWS = {
    *("rivals.BOLD", "rivals.WeinbergerOrdentlich"),  # the base decides
    "rivals.BistritzDoubling",  # open tickets count
    *("rivals.LearnedHints", "rivals.WOFTRL"),  # a lost gradient is not the newest one
}


# --- ancestors -----------------------------------------------------------------------------------


def ogd(domain: ChartSet, gs: Array, etas: Sequence[float]) -> list[Array]:
    """Plays of x <- Pi_K(x - eta_n g_n) without delay."""
    x = domain.start
    plays = [x]
    for g, eta in zip(gs, etas, strict=True):
        x = domain.project(x - eta * g)
        plays.append(x)
    return plays[:-1]


def assert_same_plays(first: Sequence[Array], second: Sequence[Array], atol: float = 0.0) -> None:
    """Compare two lists of plays."""
    np.testing.assert_allclose(np.array(first), np.array(second), rtol=0.0, atol=atol)


ZERO = [0] * 50
FIXED: list[tuple[str, Callable[[ChartSet], nr.Copy]]] = [
    (
        "SOLID",
        lambda K: nr.NaiveSOLID(domain=K, lipschitz=2.0, rounds=40, total_delay=30),
    ),
    (
        "QuanrudKhashabi",
        lambda K: nr.NaiveQuanrudKhashabi(domain=K, lipschitz=2.0, rounds=40, total_delay=30),
    ),
    (
        "SDMD",
        lambda K: nr.NaiveSDMD(domain=K, lipschitz=2.0, rounds=40, total_delay=30),
    ),
    (
        "DelayedOGD",
        lambda K: nr.NaiveDelayedOGD(domain=K, lipschitz=2.0, rounds=40, total_delay=30),
    ),
]
CURVED: list[tuple[str, Callable[[ChartSet], nr.Copy]]] = [
    ("HazanAgarwalKale", lambda K: nr.NaiveHazanAgarwalKale(domain=K, curvature=0.7)),
    ("DOGDSC", lambda K: nr.NaiveDOGDSC(domain=K, curvature=0.7)),
    (
        "SDMD",
        lambda K: nr.NaiveSDMD(domain=K, lipschitz=1.0, rounds=50, total_delay=0, curvature=0.7),
    ),
    (
        "Langford",
        lambda K: nr.NaiveLangfordSmolaZinkevich(domain=K, lipschitz=1.0, delay=0, curvature=0.7),
    ),
]


@pytest.mark.parametrize("domain", [BALL, SIMPLEX], ids=["ball", "simplex"])
@pytest.mark.parametrize(("name", "make"), FIXED, ids=[name for name, _ in FIXED])
def test_fixed_step_without_delay_is_ogd(
    name: str, make: Callable[[ChartSet], nr.Copy], domain: ChartSet
) -> None:
    gs = unit_vectors(np.random.default_rng(4), 50, domain.dim)
    eta = domain.diameter / (2.0 * math.sqrt(40 + 60))
    plays = play(make(domain), ZERO, lambda s, y: gs[s])
    assert_same_plays(plays, ogd(domain, gs, [eta] * 50), atol=1e-15)


@pytest.mark.parametrize("domain", [BALL, SIMPLEX], ids=["ball", "simplex"])
@pytest.mark.parametrize(("name", "make"), CURVED, ids=[name for name, _ in CURVED])
def test_strongly_convex_step_without_delay_is_that_of_hazan_agarwal_kale(
    name: str, make: Callable[[ChartSet], nr.Copy], domain: ChartSet
) -> None:
    gs = unit_vectors(np.random.default_rng(4), 50, domain.dim)
    etas = [1.0 / (0.7 * n) for n in range(1, 51)]
    plays = play(make(domain), ZERO, lambda s, y: gs[s])
    assert_same_plays(plays, ogd(domain, gs, etas), atol=1e-15)


def test_other_steps_without_delay() -> None:
    gs = unit_vectors(np.random.default_rng(6), 50, 3)
    gs[0] = 0.0
    sizes = np.cumsum((gs**2).sum(axis=1))
    counts = range(1, 51)
    cases: list[tuple[nr.Copy, list[float]]] = [
        (
            nr.NaiveZinkevich(domain=BALL, lipschitz=1.3),
            [BALL.diameter / (1.3 * math.sqrt(n)) for n in counts],
        ),
        (
            nr.NaiveLangfordSmolaZinkevich(domain=BALL, lipschitz=1.3, delay=0),
            [BALL.diameter / (2.6 * math.sqrt(n)) for n in counts],
        ),
        (
            nr.NaiveAdaGrad(domain=BALL, scale=0.9),
            [0.0 if s == 0.0 else 0.9 * BALL.diameter / math.sqrt(2.0 * s) for s in sizes],
        ),
        (nr.NaiveDelayAdaptiveSGD(domain=BALL, step=0.3, workers=2), [0.3] * 50),
        (
            nr.NaiveAdaDelay(domain=BALL, smoothness=2.0, scale=0.5),
            [1.0 / (2.0 + 0.5 * math.sqrt(n)) for n in counts],
        ),
    ]
    for learner, etas in cases:
        plays = play(learner, ZERO, lambda s, y: gs[s])
        assert_same_plays(plays, ogd(BALL, gs, etas), atol=1e-14)


def test_adaptive_revision_without_delay_is_diagonal_adagrad() -> None:
    gs = unit_vectors(np.random.default_rng(7), 50, 3)
    alpha = 0.4 * math.sqrt(2.0) * BALL.diameter / 2.0
    plays = play(
        nr.NaiveAdaptiveRevision(domain=BALL, scale=0.4, offset=0.3), ZERO, lambda s, y: gs[s]
    )
    w = np.zeros(3)
    for t in range(50):
        np.testing.assert_allclose(plays[t], BALL.project(w), rtol=0.0, atol=1e-14)
        w = w - alpha / (0.3 + np.sqrt((gs[: t + 1] ** 2).sum(axis=0))) * gs[t]


def test_adaptive_revision_takes_back_steps_made_at_too_large_a_rate() -> None:
    """One coordinate, gradients 1 and 1, both read before either was applied."""
    learner = nr.NaiveAdaptiveRevision(
        domain=ChartSet("ball", 1, radius=8.0), scale=0.125 / math.sqrt(2.0), offset=1.0
    )
    learner.predict()
    learner.predict()
    learner.observe(0, np.ones(1))  # z = 1, eta = 1/2
    assert learner.w[0] == pytest.approx(-0.5)
    learner.observe(1, np.ones(1))  # b = 1, z = 1 + 1 + 2 = 4, eta = 1/3
    assert learner.w[0] == pytest.approx(-0.5 - 1 / 3 + (1 / 2 - 1 / 3))


def test_qiu_without_delay_is_proximal_ftrl() -> None:
    config = config_of(BALL, base="pftrl", rate="strongly-convex", curvature=0.6)
    gs = unit_vectors(np.random.default_rng(8), 50, 3)
    expected = play(NaiveLearner(config), ZERO, lambda s, y: gs[s])
    rival = nr.NaiveQiuEspositoZhang(domain=BALL, curvature=0.6)
    assert_same_plays(play(rival, ZERO, lambda s, y: gs[s]), expected, atol=1e-13)


@pytest.mark.parametrize("reduction", ["first-order", "one-point", "two-point"])
def test_copies_without_delay_are_the_base_itself(reduction: str) -> None:
    config = config_of(BALL, reduction=reduction, smoothing="convex", seed=11)
    kinds: dict[str, Kind] = {"first-order": "gradient", "one-point": "value", "two-point": "two"}
    gs = unit_vectors(np.random.default_rng(9), 50, 3)

    def answer(s: int, y: Array) -> Any:
        return feedback(kinds[reduction], gs[s], y)

    expected = play(NaiveLearner(config), ZERO, answer)
    assert_same_plays(play(nr.NaiveBOLD(base=config, seed=11), ZERO, answer), expected)
    ordentlich = nr.NaiveWeinbergerOrdentlich(base=config, delay=0, seed=11)
    assert_same_plays(play(ordentlich, ZERO, answer), expected)


# --- relations between the methods ---------------------------------------------------------------


@pytest.mark.parametrize("name", PATTERNS)
def test_bold_makes_one_copy_more_than_the_largest_backlog(name: str) -> None:
    delays = patterns()[name]
    bold = nr.NaiveBOLD(base=lambda seed: nr.NaiveZinkevich(domain=BALL, lipschitz=1.0))
    play(bold, delays.delays, lambda s, y: np.ones(3))
    assert len(bold.copies) == delays.backlog + 1


def test_bold_with_a_fixed_delay_is_weinberger_ordentlich() -> None:
    config = config_of(BALL, reduction="one-point")
    delays = pattern([4] * 60).delays
    gs = unit_vectors(np.random.default_rng(10), 60, 3)

    def answer(s: int, y: Array) -> float:
        return float(gs[s] @ y)

    first = play(nr.NaiveBOLD(base=config, seed=2), delays, answer)
    second = play(nr.NaiveWeinbergerOrdentlich(base=config, delay=4, seed=2), delays, answer)
    assert_same_plays(first, second)


def test_bold_takes_the_copy_freed_last() -> None:
    bold = nr.NaiveBOLD(base=config_of(BALL))
    for _ in range(3):
        bold.predict()
    for ticket in (2, 0, 1):
        bold.observe(ticket, np.ones(3))
    bold.predict()
    bold.predict()
    assert bold.busy[3][0] is bold.copies[1]
    assert bold.busy[4][0] is bold.copies[0]


def test_copies_have_different_directions() -> None:
    seeds = [nr.copy_seed(5, j) for j in range(20)]
    assert seeds[0] == 5
    assert len(set(seeds)) == 20
    assert all(0 <= seed < 2**64 for seed in seeds)


def test_weinberger_ordentlich_refuses_a_longer_delay() -> None:
    learner = nr.NaiveWeinbergerOrdentlich(base=config_of(BALL), delay=1)
    learner.predict()
    learner.predict()
    with pytest.raises(ValueError, match="later"):
        learner.predict()
    learner.observe(0, np.ones(3))
    assert learner.predict()[0] == 2


def test_langford_refuses_other_orders_and_longer_delays() -> None:
    learner = nr.NaiveLangfordSmolaZinkevich(domain=BALL, lipschitz=1.0, delay=2)
    for _ in range(3):
        learner.predict()
    with pytest.raises(ValueError, match="before"):
        learner.observe(1, np.ones(3))
    with pytest.raises(ValueError, match="before"):
        learner.cancel(2)
    np.testing.assert_array_equal(learner.predict()[1], 0.0)
    with pytest.raises(ValueError, match="later"):
        learner.observe(0, np.ones(3))
    assert learner.pending() == [0, 1, 2, 3]


def test_one_arrival_per_round_makes_per_round_and_arrival_order_the_same() -> None:
    delays = (6,) * 60  # never cut, so that no two answers come together
    gs = unit_vectors(np.random.default_rng(12), 60, 3)
    solid = play(FIXED[0][1](BALL), delays, lambda s, y: gs[s])
    for _, make in FIXED[1:]:
        assert_same_plays(play(make(BALL), delays, lambda s, y: gs[s]), solid, atol=1e-15)
    kale = play(CURVED[0][1](BALL), delays, lambda s, y: gs[s])
    for _, make in CURVED[1:3]:
        assert_same_plays(play(make(BALL), delays, lambda s, y: gs[s]), kale, atol=1e-15)


def test_a_batch_is_one_step_with_the_sum() -> None:
    gs = unit_vectors(np.random.default_rng(13), 5, 3)
    learner = nr.NaiveDOGDSC(domain=BALL, curvature=2.0)
    for _ in range(5):
        learner.predict()
    for ticket in (3, 0, 2):
        learner.observe(ticket, gs[ticket])
    _, y = learner.predict()
    expected = BALL.project(-(gs[0] + gs[2] + gs[3]) / (2.0 * 3))
    np.testing.assert_allclose(y, expected, rtol=0.0, atol=1e-15)
    learner.observe(1, gs[1])
    np.testing.assert_allclose(
        learner.predict()[1], BALL.project(expected - gs[1] / (2.0 * 4)), rtol=0.0, atol=1e-15
    )


def test_entropy_mirror_is_exponential_weights_with_the_sum_of_what_arrived() -> None:
    delays = patterns()["random"].delays[-40:]
    gs = np.random.default_rng(14).uniform(-1.0, 1.0, (40, 4))
    learner = nr.NaiveSDMD(
        domain=SIMPLEX, lipschitz=1.0, rounds=40, total_delay=90, mirror="entropy"
    )
    eta = math.sqrt(2.0 * math.log(4)) / math.sqrt(40 + 180)
    plays = play(learner, delays, lambda s, y: gs[s])
    for t in range(40):
        arrived = [s for s in range(t) if s + delays[s] < t]
        weights = np.exp(-eta * gs[arrived].sum(axis=0))
        np.testing.assert_allclose(plays[t], weights / weights.sum(), rtol=0.0, atol=1e-13)


def test_entropy_with_curvature_keeps_away_from_the_border() -> None:
    learner = nr.NaiveSDMD(
        domain=SIMPLEX, lipschitz=1.0, rounds=10, total_delay=0, curvature=0.01, mirror="entropy"
    )
    plays = play(learner, [0] * 10, lambda s, y: np.array([1.0, 0.0, 0.0, 0.0]))
    assert plays[-1][0] == pytest.approx(1.0 / 40.0)
    with pytest.raises(ValueError, match="simplex"):
        nr.NaiveSDMD(domain=BALL, lipschitz=1.0, rounds=10, total_delay=0, mirror="entropy")


def test_functions_are_evaluated_where_the_learner_is_when_they_arrive() -> None:
    """SOLID steps between two maps that come together, DMD does not."""
    solid = nr.NaiveSOLID(domain=BOX, lipschitz=1.0, rounds=50, total_delay=0, feedback="function")
    dmd = nr.NaiveDMD(domain=BOX, lipschitz=1.0, rounds=50, total_delay=0)
    target = np.array([0.5, -0.25])
    for learner in (solid, dmd):
        for ticket in (0, 1):
            learner.predict()
            assert ticket + 1 == learner.issued()
        for ticket in (0, 1):
            learner.observe(ticket, lambda y: y - target)
    eta = BOX.diameter / math.sqrt(50)
    once = eta * target
    np.testing.assert_allclose(solid.predict()[1], once + eta * (target - once), atol=1e-15)
    np.testing.assert_allclose(dmd.predict()[1], BOX.project(2.0 * once), atol=1e-15)


def test_solid_refuses_the_other_kind_of_answer() -> None:
    learner = nr.NaiveSOLID(domain=BALL, lipschitz=1.0, rounds=5, total_delay=0)
    learner.predict()
    with pytest.raises(TypeError, match="gradient"):
        learner.observe(0, lambda y: y)
    assert learner.observe(0, np.ones(3))


def test_staleness_counts_arrivals_between_prediction_and_answer() -> None:
    gs = np.eye(3)
    sgd = nr.NaiveDelayAdaptiveSGD(domain=BALL, step=0.1, workers=2)
    ada = nr.NaiveAdaDelay(domain=BALL, smoothness=1.0, scale=1.0)
    for learner in (sgd, ada):
        for _ in range(5):
            learner.predict()
        for ticket in (4, 3, 2, 1):
            learner.observe(ticket, np.zeros(3))
        learner.observe(0, gs[0])  # four answers came since its prediction
    np.testing.assert_allclose(sgd.x, -0.1 * 2 / 4 * gs[0])
    np.testing.assert_allclose(ada.x, -gs[0] / (1.0 + math.sqrt(5 + 4)))


# --- minimisations -------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", [BALL, BOX, SIMPLEX], ids=["ball", "box", "simplex"])
def test_leaders_minimise_their_objectives(domain: ChartSet) -> None:
    """Qiu, FTDRL and dual averaging against the objective's gradient at the play."""
    delays = patterns()["random"].delays[-60:]
    k, start = domain.dim, domain.start
    gs = unit_vectors(np.random.default_rng(15), 60, k)
    qiu = play(nr.NaiveQiuEspositoZhang(domain=domain, curvature=0.7), delays, lambda s, y: gs[s])
    whole = play(
        nr.NaiveFTDRL(domain=domain, lipschitz=1.0, rounds=60, total_delay=300),
        delays,
        lambda s, y: np.append(gs[s], 0.01 * s),
    )
    dual = play(
        nr.NaiveDelayedDualAveraging(domain=domain, lipschitz=1.0), delays, lambda s, y: gs[s]
    )
    outer = max(float(np.linalg.norm(v - start)) for v in (corners(domain)))
    assert outer == pytest.approx(nr.outer_radius(domain))
    backlogs = naive.interval_counts(naive.intervals_of_delays(delays)).backlogs
    for t in range(60):
        arrived = [s for s in range(t) if s + delays[s] < t]
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


def test_ftdrl_on_a_box_with_unequal_sides() -> None:
    scale = np.array([0.5, 3.0])
    learner = nr.NaiveFTDRL(domain=BOX, lipschitz=1.0, rounds=40, total_delay=0, scale=scale)
    learner.predict()
    learner.observe(0, np.array([0.4, -0.9, 2.0]))
    _, y = learner.predict()
    strength = math.sqrt(40) / math.sqrt(2.0)
    gradient = np.array([0.4, -0.9]) + 2.0 * scale**2 * y + strength * y
    assert naive.optimality_gap(gradient, y, BOX) < 1e-12


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
    plays = play(learner, delays, lambda s, y: float(values[s]))
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


def test_block_length_ignores_float_noise_and_stays_in_range() -> None:
    assert nr.block_length(2, 1.0, 1.0, 2.0 / math.sqrt(20.0), 100) == 20
    assert nr.block_length(1, 1.0, 1.0, 10.0, 100) == 1
    assert nr.block_length(50, 1.0, 1.0, 0.1, 100) == 100


# --- values --------------------------------------------------------------------------------------


def test_two_points_on_a_line_are_the_derivative() -> None:
    """With k = 1 and linear losses the estimate is exact: the ancestor on (1 - delta/r) K."""
    gs = np.random.default_rng(17).uniform(-1.0, 1.0, (60, 1))
    delays = patterns()["random"].delays[-60:]
    cases: list[tuple[nr.Copy, float, Callable[[ChartSet], nr.Copy]]] = [
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
        plays = play(learner, delays, lambda s, y: feedback("two", gs[s], y))
        np.testing.assert_allclose([abs(y[0, 0] - y[1, 0]) for y in plays], 2.0 * delta, rtol=1e-12)
        shrunk = ChartSet("ball", 1, radius=1.5 - delta)
        expected = play(ancestor(shrunk), delays, lambda s, y: gs[s])
        assert_same_plays([y.mean(axis=0) for y in plays], expected, atol=1e-12)


def test_many_points_are_exact_for_linear_losses() -> None:
    gs = unit_vectors(np.random.default_rng(18), 60, 3)
    delays = patterns()["random"].delays[-60:]
    learner = nr.NaiveDOGDSCManyPoint(domain=BALL, curvature=0.4, lipschitz=1.0, rounds=60)
    plays = play(learner, delays, lambda s, y: feedback("many", gs[s], y))
    delta = 0.8 * math.log(math.e * 60) / 60
    np.testing.assert_allclose(plays[5][1:] - plays[5][0], delta * np.eye(3), atol=1e-15)
    ancestor = nr.NaiveDOGDSC(domain=ChartSet("ball", 3, radius=0.8 - delta), curvature=0.4)
    expected = play(ancestor, delays, lambda s, y: gs[s])
    assert_same_plays([y[0] for y in plays], expected, atol=1e-11)


def test_gold_uses_one_value_per_round_oldest_first() -> None:
    learner = nr.NaiveGOLD(domain=BALL, magnitude=0.1, lipschitz=1.0, seed=1)
    for _ in range(5):
        learner.predict()
    for ticket in (4, 1, 3):
        learner.observe(ticket, 0.05 * (ticket + 1))
    learner.cancel(0)
    delta = 0.8 * math.sqrt(3 * 0.1 / 0.8)
    x = np.zeros(3)
    for t, q in ((5, 1), (6, 3), (7, 4), (8, None)):
        _, y = learner.predict()
        if q is not None:
            gamma = BALL.diameter * delta / (3 * 0.1) * t**-0.75
            u = naive.direction(1, q, 3)
            x = BALL.project(x - gamma * 3 / (delta * (q + 1) ** -0.25) * 0.05 * (q + 1) * u)
        radius = delta * (t + 1) ** -0.25
        expected = (1.0 - radius / 0.8) * x + radius * naive.direction(1, t, 3)
        np.testing.assert_allclose(y, expected, rtol=0.0, atol=1e-14)


def test_gold_exponents_follow_the_growth_of_delays() -> None:
    gold = nr.NaiveGOLD(domain=BALL, magnitude=1.0, lipschitz=1.0, growth=0.5)
    assert (gold.c, gold.b) == pytest.approx((2 / 3 + 1 / 6, 1 / 3 - 1 / 6))


def test_bistritz_and_flaxman_without_delay() -> None:
    values = np.random.default_rng(19).uniform(-0.1, 0.1, 50)
    directions = [naive.direction(6, t, 3) for t in range(50)]
    a = 3 * 0.1 / 0.8
    delta = 0.8 * math.sqrt(a) * 50**-0.25
    eta = BALL.diameter / math.sqrt(50 * (3 * 0.1 / delta) ** 2)
    bistritz = nr.NaiveBistritz(
        domain=BALL, magnitude=0.1, lipschitz=1.0, rounds=50, total_delay=0, seed=6
    )
    plays = play(bistritz, ZERO, lambda s, y: float(values[s]))
    y = np.zeros(3)
    for t in range(50):
        expected = (1.0 - delta / 0.8) * y + delta * directions[t]
        np.testing.assert_allclose(plays[t], expected, rtol=0.0, atol=1e-14)
        y = BALL.project(y - eta * (3 / delta) * values[t] * directions[t])
    delta = 50**-0.25 * math.sqrt(0.8 * 3 * 0.1 * 0.8 / (3 * (0.8 + 0.1)))
    shrunk = ChartSet("ball", 3, radius=0.8 - delta)
    flaxman = nr.NaiveFlaxman(domain=BALL, magnitude=0.1, lipschitz=1.0, rounds=50, seed=6)
    plays = play(flaxman, ZERO, lambda s, y: float(values[s]))
    y = np.zeros(3)
    for t in range(50):
        np.testing.assert_allclose(plays[t], y + delta * directions[t], rtol=0.0, atol=1e-14)
        y = shrunk.project(y - 0.8 / (0.1 * math.sqrt(50)) * values[t] * directions[t])


def test_bistritz_explores_more_when_delays_are_long() -> None:
    short, _ = nr.bistritz_tuning(BALL, 0.01, 1.0, 10**4, 0)
    long, _ = nr.bistritz_tuning(BALL, 0.01, 1.0, 10**4, 10**7)
    a = 3 * 0.01 / 0.8
    assert short == pytest.approx(0.8 * math.sqrt(a) / 10)
    assert long == pytest.approx(0.8 * (a * 10**7) ** (1 / 3) / 10 ** (8 / 3))


# --- doubling ------------------------------------------------------------------------------------


def test_epochs_double_without_delay() -> None:
    """A restart shows as a return to the first point: epochs have 1, 2, 4, 8, .. rounds."""
    doubling = nr.NaiveQuanrudKhashabiDoubling(domain=BALL, lipschitz=1.0)
    plays = play(doubling, [0] * 40, lambda s, y: np.array([0.01, 0.0, 0.0]))
    restarts = [t for t, y in enumerate(plays) if not y.any()]
    assert restarts == [0, 1, 3, 7, 15, 31]
    bandit = nr.NaiveBistritzDoubling(domain=BALL, magnitude=1.0, lipschitz=1.0)
    firsts = []
    for _ in range(40):
        ticket, _ = bandit.predict()
        firsts.append(bandit.first)
        bandit.observe(ticket, 0.5)
    assert sorted(set(firsts)) == [0, 1, 3, 7, 15, 31]
    assert (bandit.h, bandit.v) == (5, 0)


def test_doubling_counts_open_tickets_of_its_epoch_and_drops_older_answers() -> None:
    """Nothing answered: V is 1, then 1 + 3 > 1, so m = 2 and V = 1; then 4, then 4 + 5 > 4, .."""
    learner = nr.NaiveQuanrudKhashabiDoubling(domain=BALL, lipschitz=1.0)
    seen = []
    for _ in range(5):
        learner.predict()
        seen.append((learner.m, learner.spent, learner.first))
    assert seen == [(0, 1, 0), (2, 1, 1), (2, 4, 1), (4, 1, 3), (4, 4, 3)]
    assert not learner.observe(2, np.ones(3))
    learner.cancel(1)
    assert learner.observe(3, np.ones(3))
    _, y = learner.predict()
    np.testing.assert_allclose(y, BALL.project(-np.ones(3) * BALL.diameter / 4.0), atol=1e-15)
    bandit = nr.NaiveBistritzDoubling(domain=BALL, magnitude=1.0, lipschitz=1.0)
    seen = []
    for _ in range(7):
        bandit.predict()
        seen.append((bandit.h, bandit.v, bandit.first))
    # rounds end the first three epochs, at once with the pending count 0 + 1 + 2 + 3 > 1 the third
    assert seen == [(0, 0, 0), (1, 0, 1), (1, 0, 1), (2, 2, 3), (2, 2, 3), (2, 2, 3), (2, 3, 6)]
    assert not bandit.observe(5, 0.1)
    assert bandit.observe(6, 0.1)


# --- Mild-OGD ------------------------------------------------------------------------------------


def test_mild_ogd_weighs_experts_by_their_losses_at_the_round_of_the_answer() -> None:
    learner = nr.NaiveMildOGD(domain=BALL, lipschitz=1.0, rounds=62, max_delay=3)
    assert len(learner.etas) == 4  # 4^3 >= 63
    np.testing.assert_allclose(learner.weights(), [5 / 8, 5 / 24, 5 / 48, 5 / 80])
    gs = unit_vectors(np.random.default_rng(20), 62, 3)
    delays = (3,) * 62
    plays = play(learner, delays, lambda s, y: gs[s])
    eta = BALL.diameter / math.sqrt(62 * 4)
    experts = [
        play(
            nr.NaiveDelayAdaptiveSGD(domain=BALL, step=2**i * eta, workers=99),
            delays,
            lambda s, y: gs[s],
        )
        for i in range(4)
    ]
    alpha = 1.0 / (BALL.diameter * math.sqrt(62 * 4))
    weights = np.array([5 / 8, 5 / 24, 5 / 48, 5 / 80])
    for t in range(62):
        if t >= 4:
            s = t - 4
            for i in range(4):
                weights[i] *= math.exp(-alpha * float(gs[s] @ (experts[i][s] - plays[s])))
            weights /= weights.sum()
        expected = sum((w * e[t] for w, e in zip(weights, experts, strict=True)), np.zeros(3))
        np.testing.assert_allclose(plays[t], expected, rtol=0.0, atol=1e-13)


def test_mild_ogd_with_answers_in_order_is_tuned_by_the_total_delay() -> None:
    learner = nr.NaiveMildOGD(domain=BALL, lipschitz=1.0, rounds=63, total_delay=37, in_order=True)
    assert learner.etas[0] == pytest.approx(BALL.diameter / 10.0)
    assert len(learner.etas) == 4  # 4^3 = 64
    with pytest.raises(ValueError, match="max_delay"):
        nr.NaiveMildOGD(domain=BALL, lipschitz=1.0, rounds=63)
    with pytest.raises(ValueError, match="total_delay"):
        nr.NaiveMildOGD(domain=BALL, lipschitz=1.0, rounds=63, in_order=True)


# --- bounds --------------------------------------------------------------------------------------


def linear_regret(
    learner: nr.Copy, delays: Sequence[int], domain: ChartSet, adversary: str
) -> float:
    """Regret on linear losses with |g| <= 1 (sup norm 1 on the simplex)."""
    rng = np.random.default_rng(21)
    random = unit_vectors(rng, T, domain.dim)
    if adversary == "switching":
        random = np.array([random[0] * (-1.0) ** (t // 25) for t in range(T)])
    costs: dict[int, Array] = {}

    def answer(s: int, y: Array) -> Array:
        g = random[s]
        if adversary == "adaptive":  # against the point that was played
            g = y - domain.start + 0.05 * random[s]
        size = np.abs(g).max() if domain.kind == "simplex" else np.linalg.norm(g)
        costs[s] = g / float(size)
        return costs[s]

    plays = play(learner, delays, answer)
    total = sum(costs.values(), start=np.zeros(domain.dim))
    return math.fsum(float(costs[s] @ plays[s]) for s in range(T)) - domain.linear_minimum(total)


ADVERSARIES = ["random", "switching", "adaptive"]


@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_regret_of_references_without_delay_is_within_the_bound(adversary: str) -> None:
    for domain in (BALL, BOX):
        zinkevich = nr.NaiveZinkevich(domain=domain, lipschitz=1.0)
        regret = linear_regret(zinkevich, [0] * T, domain, adversary)
        assert regret <= nr.bound_zinkevich(T, domain.diameter, 1.0)
        for scale in (0.5, 1.0):
            adagrad = nr.NaiveAdaGrad(domain=domain, scale=scale)
            regret = linear_regret(adagrad, [0] * T, domain, adversary)
            assert regret <= nr.bound_ada_grad([1.0] * T, domain.diameter, scale)


def test_untuned_and_data_dependent_bounds_agree_with_the_tuned_one() -> None:
    p = patterns()["random"]
    counts = naive.interval_counts(naive.intervals_of_delays(p.delays))
    lags = [counts.dual_delays[s] for s in counts.order]
    eta = nr.fixed_step(T, p.total, 1.6, 1.0)
    tuned = nr.bound_solid(T, p.total, 1.6, 1.0)
    assert nr.bound_fixed_step(T, p.total, 1.6, 1.0, eta) == pytest.approx(tuned)
    assert nr.bound_solid_data([1.0] * T, lags, 1.6, eta) == pytest.approx(tuned)


G, CURVATURE, D, R = 1.3, 0.5, 1.6, 0.8
PLACE = bl.Ball(3, radius=R)
COPIED = bl.FirstOrder(bl.OMD(PLACE, bl.rates.DelayAdaptive(G)))
_curved: Any = {"curvature": CURVATURE, "lipschitz": CURVATURE * D}
_SLOPE = CURVATURE * D


def tot(t: bl.Timeline) -> tuple[int, int]:
    """T and d_tot."""
    return t.rounds, t.total_delay


BOUNDS: list[tuple[Any, Callable[[bl.Timeline], float]]] = [
    (rivals.SOLID(PLACE, G), lambda t: nr.bound_solid(*tot(t), D, G)),
    (rivals.DelayedOGD(PLACE, G), lambda t: nr.bound_solid(*tot(t), D, G)),
    (rivals.QuanrudKhashabi(PLACE, G), lambda t: nr.bound_quanrud_khashabi(*tot(t), D, G)),
    (
        rivals.QuanrudKhashabiDoubling(PLACE, G),
        lambda t: nr.bound_quanrud_khashabi_doubling(*tot(t), D, G),
    ),
    (rivals.SDMD(PLACE, G), lambda t: nr.bound_sdmd(*tot(t), D, G)),
    (
        rivals.SDMD(bl.Simplex(4), G, mirror="entropy"),
        lambda t: nr.bound_sdmd(*tot(t), naive.entropy_diameter(4, 0.0), G),
    ),
    (
        rivals.SDMD(PLACE, **_curved),
        lambda t: nr.bound_dogd_sc(t.rounds, t.max_backlog, _SLOPE, CURVATURE),
    ),
    (rivals.DMD(PLACE, G), lambda t: nr.bound_sdmd(*tot(t), D, G)),
    (
        rivals.DelayedDualAveraging(PLACE, G),
        lambda t: nr.bound_delayed_dual_averaging(*tot(t), R, G),
    ),
    (rivals.FTDRL(PLACE, G), lambda t: nr.bound_ftdrl(*tot(t), R, G)),
    (rivals.BOLD(COPIED), lambda t: nr.bound_bold(t.rounds, t.max_backlog, D, G)),
    (
        rivals.WeinbergerOrdentlich(COPIED),
        lambda t: nr.bound_weinberger_ordentlich(t.rounds, t.max_delay, D, G),
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


@pytest.mark.parametrize("moving", [False, True], ids=["random", "moving"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_regret_of_curved_references_is_within_the_bound(pattern: str, moving: bool) -> None:
    """On f_s(y) = (lambda / 2) |y - a_s|^2 with a_s in K, so that G = lambda D."""
    p, rng = patterns()[pattern], np.random.default_rng(22)
    for domain in (BALL, BOX):
        slope = CURVATURE * domain.diameter
        anchors = np.array([domain.project(v) for v in 2.0 * rng.standard_normal((T, domain.dim))])
        if moving:  # between two sides
            anchors = np.array([anchors[0] * (-1.0) ** (t // 20) for t in range(T)])
        bounds: list[tuple[Any, float]] = [
            (nr.NaiveDOGDSC, nr.bound_dogd_sc(T, p.backlog, slope, CURVATURE))
        ]
        if pattern == "none":
            bound = nr.bound_hazan_agarwal_kale(T, slope, CURVATURE)
            bounds.append((nr.NaiveHazanAgarwalKale, bound))

        def gradient(s: int, y: Array, centres: Array = anchors) -> Array:
            return np.asarray(CURVATURE * (y - centres[s]))

        best = ((domain.project(anchors.mean(axis=0)) - anchors) ** 2).sum()
        for kind, bound in bounds:
            learner = kind(domain=domain, curvature=CURVATURE)
            plays = np.array(play(learner, p.delays, gradient))
            assert 0.5 * CURVATURE * float(((plays - anchors) ** 2).sum() - best) <= bound
