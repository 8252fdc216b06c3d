"""The slow versions for experts and arms against their authors' code, solvers and bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from naive import Array, ChartSet, Geometry, optimality_gap
from naive_simplex_rivals import (
    Hint,
    NaiveAdaHedgeD,
    NaiveDelayedExp3,
    NaiveDOOMD,
    NaiveDORM,
    NaiveDORMPlus,
    NaiveDUB,
    NaiveODFTRL,
    NaiveRival,
    NaiveSkippingExp3,
    NaiveZimmertSeldin,
    hybrid_ftrl,
    mixability_gap,
    run_rounds,
    softmin,
)
from poold_peer import PooldName, has_poold, poold_plays

ROUNDS = 60
HINTS: tuple[Hint, ...] = ("none", "recent")
EXACT = 1e-10

needs_poold = pytest.mark.skipif(not has_poold(), reason="poold is not installed")
_scipy_minimize: Callable[..., Any] = optimize.minimize

EXPERTS: dict[PooldName, Callable[[int], NaiveRival]] = {
    "dorm": lambda arms: NaiveDORM(arms=arms),
    "dormplus": lambda arms: NaiveDORMPlus(arms=arms),
    "adahedged": lambda arms: NaiveAdaHedgeD(arms=arms),
    "dub": lambda arms: NaiveDUB(arms=arms),
}


def random_costs(kind: str, rounds: int, dim: int, seed: int) -> Array:
    """Cost vectors: normal, losses in [0, 1], losses 0 or 1, or a best expert that changes."""
    rng = np.random.default_rng(seed)
    if kind == "normal":
        return rng.normal(size=(rounds, dim))
    if kind == "unit":
        return rng.random((rounds, dim))
    if kind == "binary":
        return rng.integers(0, 2, (rounds, dim)).astype(np.float64)
    costs = np.ones((rounds, dim))
    costs[np.arange(rounds), np.arange(rounds) * dim // rounds] = 0.0
    return costs


def in_order_delays(rounds: int, seed: int) -> list[int]:
    """Random delays under which answers come in ticket order, several or none in a round."""
    arrivals = np.maximum.accumulate(
        np.arange(rounds) + np.random.default_rng(seed).integers(0, 8, rounds)
    )
    return [int(d) for d in arrivals - np.arange(rounds)]


def random_delays(rounds: int, seed: int, largest: int = 8) -> list[int]:
    """Random delays in any order."""
    return [int(d) for d in np.random.default_rng(seed).integers(0, largest + 1, rounds)]


def play_costs(learner: NaiveRival, costs: Array, delays: Sequence[int]) -> Array:
    """Plays when the answers are the rows of costs."""
    return np.array(run_rounds(learner, delays, lambda ticket, _: costs[ticket]))


# --- Against the code of the authors -------------------------------------------------------------


@needs_poold
@pytest.mark.parametrize("name", EXPERTS)
@pytest.mark.parametrize("delay", [0, 1, 3, 10])
@pytest.mark.parametrize("arms", [2, 5])
@pytest.mark.parametrize("kind", ["normal", "unit"])
def test_plays_of_poold(name: PooldName, delay: int, arms: int, kind: str) -> None:
    costs = random_costs(kind, ROUNDS, arms, seed=arms + delay)
    plays = play_costs(EXPERTS[name](arms), costs, [delay] * ROUNDS)
    np.testing.assert_allclose(plays, poold_plays(name, costs, delay), rtol=0.0, atol=EXACT)


@needs_poold
@pytest.mark.parametrize("name", ["dormplus", "adahedged", "dub"])
@pytest.mark.parametrize("arms", [2, 5])
def test_plays_of_poold_with_changing_delays(name: PooldName, arms: int) -> None:
    for seed in range(3):
        costs = random_costs("normal", ROUNDS, arms, seed)
        delays = in_order_delays(ROUNDS, seed)
        plays = play_costs(EXPERTS[name](arms), costs, delays)
        np.testing.assert_allclose(plays, poold_plays(name, costs, delays), rtol=0.0, atol=EXACT)


@needs_poold
def test_poold_forgets_regrets_in_a_round_without_arrivals() -> None:
    """DORM keeps the accumulated regrets there; poold plays uniformly. Elsewhere they agree."""
    delays = [0, 0, 0, 2, 1, 0]
    costs = random_costs("normal", len(delays), 3, seed=5)
    plays = play_costs(NaiveDORM(arms=3), costs, delays)
    theirs = poold_plays("dorm", costs, delays)
    np.testing.assert_allclose(plays[:4], theirs[:4], rtol=0.0, atol=EXACT)
    for t in (4, 5):  # nothing arrives at the end of rounds 3 and 4
        np.testing.assert_array_equal(theirs[t], np.full(3, 1.0 / 3.0))
        np.testing.assert_allclose(plays[t], plays[3], rtol=0.0, atol=EXACT)
    assert np.abs(plays[3] - 1.0 / 3.0).max() > 0.1


@needs_poold
@pytest.mark.parametrize("name", ["dorm", "dormplus"])
@pytest.mark.parametrize("delay", [0, 1, 3, 10])
@pytest.mark.parametrize("arms", [2, 5])
def test_hinted_plays_of_poold(name: PooldName, delay: int, arms: int) -> None:
    learner = (NaiveDORM if name == "dorm" else NaiveDORMPlus)(arms=arms, hint="recent")
    costs = random_costs("normal", ROUNDS, arms, seed=7)
    plays = play_costs(learner, costs, [delay] * ROUNDS)
    theirs = poold_plays(name, costs, delay, hint="recent")
    np.testing.assert_allclose(plays, theirs, rtol=0.0, atol=EXACT)


# --- Regret matching -----------------------------------------------------------------------------


@pytest.mark.parametrize("plus", [False, True])
@pytest.mark.parametrize("arms", [2, 3, 5])
def test_no_delay_is_regret_matching(plus: bool, arms: int) -> None:
    costs = random_costs("normal", ROUNDS, arms, seed=arms)
    learner = NaiveDORMPlus(arms=arms) if plus else NaiveDORM(arms=arms)
    plays = play_costs(learner, costs, [0] * ROUNDS)
    regrets = np.zeros(arms)
    for cost, play in zip(costs, plays, strict=True):
        weights = np.maximum(regrets, 0.0)
        expected = weights / weights.sum() if weights.any() else np.full(arms, 1.0 / arms)
        np.testing.assert_allclose(play, expected, rtol=0.0, atol=EXACT)
        regrets = regrets + cost @ play - cost
        if plus:
            regrets = np.maximum(regrets, 0.0)


def test_dorm_powers() -> None:
    learner = NaiveDORM(arms=3, power=4.0)
    ticket, first = learner.predict()
    learner.observe(ticket, np.array([-1.0, -2.0, 6.0]))  # regrets 1 + 1, 1 + 2, 1 - 6
    _, second = learner.predict()
    np.testing.assert_array_equal(first, np.full(3, 1.0 / 3.0))
    np.testing.assert_allclose(second, np.array([8.0, 27.0, 0.0]) / 35.0, rtol=1e-14)


# --- ODFTRL and DOOMD ----------------------------------------------------------------------------

SETS: list[tuple[ChartSet, Geometry]] = [
    (ChartSet("ball", 3), "euclidean"),
    (ChartSet("box", 2), "euclidean"),
    (ChartSet("l1", 3, radius=2.0), "euclidean"),
    (ChartSet("simplex", 4), "euclidean"),
    (ChartSet("simplex", 4), "entropy"),
    (ChartSet("simplex", 4, floor=0.05), "entropy"),
]


def mirror_gradient(y: Array, start: Array, geometry: Geometry) -> Array:
    """Gradient in y of B(y, start)."""
    return y - start if geometry == "euclidean" else np.log(y / start) + 1.0


@pytest.mark.parametrize(("domain", "mirror"), SETS)
@pytest.mark.parametrize("hint", HINTS)
def test_odftrl_minimises_its_objective(domain: ChartSet, mirror: Geometry, hint: Hint) -> None:
    learner = NaiveODFTRL(domain=domain, strength=6.0, mirror=mirror, hint=hint)
    costs = random_costs("normal", 40, domain.dim, seed=1)
    delays = random_delays(40, seed=2)
    plays = play_costs(learner, costs, delays)
    for t, play in enumerate(plays):
        received = [s for s in range(t) if s + delays[s] < t]
        slope = costs[received].sum(axis=0)
        if hint == "recent" and received:
            newest = max(received, key=lambda s: (s + delays[s], s))
            slope = slope + (t - len(received) + 1) * costs[newest]
        slope = slope + 6.0 * mirror_gradient(play, domain.start, mirror)
        assert domain.violation(play) < 1e-12
        assert optimality_gap(slope, play, domain) < 1e-10
    np.testing.assert_allclose(plays[0], domain.start, rtol=0.0, atol=1e-15)


@pytest.mark.parametrize(("domain", "mirror"), SETS)
@pytest.mark.parametrize("hint", HINTS)
@pytest.mark.parametrize("delay", [0, 3])
def test_doomd_minimises_its_objective(
    domain: ChartSet, mirror: Geometry, hint: Hint, delay: int
) -> None:
    """w_{t+1} = argmin <c_{t-D} + h_{t+1} - h_t, w> + lambda B(w, w_t), h by its definition."""
    learner = NaiveDOOMD(domain=domain, strength=6.0, mirror=mirror, hint=hint)
    costs = random_costs("normal", 40, domain.dim, seed=1)
    plays = play_costs(learner, costs, [delay] * 40)
    hints = np.zeros_like(costs)
    if hint == "recent":
        hints[delay + 1 :] = (delay + 1) * costs[: 40 - delay - 1]
    for t in range(39):
        change = hints[t + 1] - hints[t]
        if t >= delay:
            change = change + costs[t - delay]
        slope = change + 6.0 * mirror_gradient(plays[t + 1], plays[t], mirror)
        assert optimality_gap(slope, plays[t + 1], domain) < 1e-10


@pytest.mark.parametrize("hint", HINTS)
def test_odftrl_and_doomd_agree_inside_the_set(hint: Hint) -> None:
    """Nothing is projected on a huge ball, whatever the order of the answers."""
    domain = ChartSet("ball", 3, radius=1e6)
    costs = random_costs("normal", ROUNDS, 3, seed=3)
    delays = random_delays(ROUNDS, seed=4)
    leader = NaiveODFTRL(domain=domain, strength=2.0, hint=hint)
    mirror = NaiveDOOMD(domain=domain, strength=2.0, hint=hint)
    np.testing.assert_allclose(
        play_costs(leader, costs, delays), play_costs(mirror, costs, delays), rtol=0.0, atol=1e-11
    )


def test_hints_follow_the_open_tickets() -> None:
    learner = NaiveODFTRL(domain=ChartSet("ball", 1, radius=100.0), strength=1.0, hint="recent")
    for _ in range(3):
        learner.predict()
    learner.observe(1, np.array([2.0]))  # two open: h = 3 * 2
    assert learner.predict()[1][0] == -8.0
    learner.cancel(0)  # two open again, and nothing new received
    assert learner.predict()[1][0] == -8.0
    assert learner.predict()[1][0] == -10.0


# --- AdaHedgeD and DUB ---------------------------------------------------------------------------


@pytest.mark.parametrize("make", [NaiveAdaHedgeD, NaiveDUB])
def test_costs_count_at_once_and_tune_in_turn(
    make: type[NaiveAdaHedgeD] | type[NaiveDUB],
) -> None:
    """A play is softmin of all that was received; lambda waits for the oldest open ticket."""
    costs = random_costs("normal", ROUNDS, 3, seed=8)
    delays = random_delays(ROUNDS, seed=9)
    learner = make(arms=3)
    plays = play_costs(learner, costs, delays)
    for t in range(ROUNDS):
        received = [s for s in range(t) if s + delays[s] < t]
        theta = costs[received].sum(axis=0)
        expected = softmin(theta, learner.strengths[t])
        np.testing.assert_allclose(plays[t], expected, rtol=0.0, atol=EXACT)
        turns = next((s for s in range(t) if s not in received), t)
        assert learner.turns[t] == turns


@pytest.mark.parametrize("make", [NaiveAdaHedgeD, NaiveDUB])
def test_constant_costs_keep_the_uniform_play(
    make: type[NaiveAdaHedgeD] | type[NaiveDUB],
) -> None:
    costs = np.full((20, 3), 0.25)
    for delay in (0, 2):
        plays = play_costs(make(arms=3), costs, [delay] * 20)
        np.testing.assert_allclose(plays, 1.0 / 3.0, rtol=0.0, atol=1e-15)


@pytest.mark.parametrize("make", [NaiveAdaHedgeD, NaiveDUB])
def test_plays_do_not_depend_on_the_unit_of_cost(
    make: type[NaiveAdaHedgeD] | type[NaiveDUB],
) -> None:
    """Not so for poold at such a scale, where it takes every lambda below 1e-8 for zero."""
    costs = random_costs("normal", ROUNDS, 3, seed=12)
    plays = play_costs(make(arms=3), costs, [2] * ROUNDS)
    tiny = play_costs(make(arms=3), 2.0**-40 * costs, [2] * ROUNDS)
    np.testing.assert_allclose(tiny, plays, rtol=0.0, atol=1e-12)


def test_mixability_gap_is_the_excess_over_the_leader() -> None:
    rng = np.random.default_rng(0)
    for strength in (0.1, 1.0, 20.0):
        theta, error = rng.normal(size=(2, 4))

        def objective(w: Array, theta: Array = theta, strength: float = strength) -> float:
            return float(theta @ w) + strength * float(w @ np.log(w))

        play = softmin(theta + error, strength)
        best = softmin(theta, strength)
        gap = mixability_gap(error, play, strength)
        assert gap == pytest.approx(objective(play) - objective(best), abs=1e-12)


def test_dub_by_hand() -> None:
    """Two experts, delay 1, costs (1, 0): pending sums (1, 0), then (2, 0) for good."""
    learner = NaiveDUB(arms=2)
    play_costs(learner, np.tile([1.0, 0.0], (4, 1)), [1] * 4)
    alpha = math.log(2.0)
    assert learner.widths == [2.0] * 4
    assert learner.costs_of_hints == [0.5, 1.5, 1.5, 1.5]
    assert learner.strength == pytest.approx((2 * 2.0 + math.sqrt(16.0 + 10.0 * alpha)) / alpha)


# --- Arms ----------------------------------------------------------------------------------------


def test_exp3_weights_and_rate() -> None:
    learner = NaiveDelayedExp3(arms=3, rounds=100, total_delay=50.0)
    tuned = math.sqrt(math.log(3.0) / (150.0 + 50.0))
    assert learner.rate == pytest.approx(tuned)
    ticket, play = learner.predict()
    arm = int(play.argmax())
    learner.observe(ticket, 0.5)
    learner.predict()
    weights = np.ones(3)
    weights[arm] = math.exp(-tuned * 1.5)
    np.testing.assert_allclose(learner.distributions[1], weights / weights.sum(), rtol=1e-14)


def test_skipping_exp3_uses_exactly_the_rounds_within_the_threshold() -> None:
    rounds = 40
    learner = NaiveSkippingExp3(arms=2, rounds=rounds, total_delay=100.0)
    assert learner.threshold == pytest.approx(1.0 / learner.rate)
    beta = math.floor(learner.threshold)
    delays = [beta + (t % 3) - 1 for t in range(rounds)]
    for t in range(rounds):
        learner.predict()
        for s in range(t + 1):
            if s + delays[s] == t:
                assert learner.observe(s, 0.5) == (delays[s] <= beta)


def counted_sums(delays: Sequence[int], arms: int) -> list[int]:
    """D_1 .. D_T of the skipping tuning, from the delays alone; rounds from 1."""
    counted: set[int] = set()
    sums: list[int] = []
    running = 0
    for t in range(1, len(delays) + 1):
        running += len(counted)
        sums.append(running)
        counted = {s for s in counted if t - s <= math.sqrt(running / math.log(arms))} | {t}
        counted = {s for s in counted if s + delays[s - 1] > t}
    return sums


@pytest.mark.parametrize("skipping", [False, True])
def test_zimmert_seldin_counts(skipping: bool) -> None:
    rounds = 40
    delays = [30 if t < 5 else t % 4 for t in range(rounds)]
    learner = NaiveZimmertSeldin(arms=2, skipping=skipping)
    run_rounds(learner, delays, lambda ticket, y: 0.5)
    sums = np.cumsum(learner.counts).tolist()
    backlog = [sum(s + delays[s] >= t for s in range(t)) for t in range(rounds)]
    assert sums == (counted_sums(delays, 2) if skipping else np.cumsum(backlog).tolist())
    assert len(learner.estimates) == rounds
    assert skipping == (sums[-1] < sum(backlog))


@pytest.mark.parametrize("inverse", [0.0, 0.7, 30.0])
@pytest.mark.parametrize("t", [1.0, 50.0])
def test_hybrid_solver_against_scipy(inverse: float, t: float) -> None:
    rng = np.random.default_rng(int(t))
    for arms in (2, 5):
        losses = rng.exponential(30.0, size=arms)

        def slope(x: Array, losses: Array = losses) -> Array:
            return losses - math.sqrt(t) / np.sqrt(x) + inverse * (np.log(x) + 1.0)

        def objective(x: Array, losses: Array = losses) -> float:
            entropy = inverse * float(x @ np.log(x))
            return float(losses @ x) - 2.0 * math.sqrt(t) * float(np.sqrt(x).sum()) + entropy

        x = hybrid_ftrl(losses, t, inverse)
        assert x.sum() == pytest.approx(1.0, abs=1e-15)
        np.testing.assert_allclose(slope(x), slope(x)[0], rtol=1e-9)  # the KKT conditions
        result = _scipy_minimize(
            objective,
            np.full(arms, 1.0 / arms),
            jac=slope,
            method="SLSQP",
            bounds=[(1e-9, 1.0)] * arms,
            constraints=[{"type": "eq", "fun": lambda x: x.sum() - 1.0}],
            options={"ftol": 1e-15, "maxiter": 500},
        )
        np.testing.assert_allclose(x, result.x, rtol=0.0, atol=1e-5)
        assert objective(x) <= objective(result.x) + 1e-9


def test_hybrid_solver_without_entropy() -> None:
    """x_i = t / (L_i - mu)^2, and the uniform distribution for equal losses."""
    np.testing.assert_allclose(hybrid_ftrl(np.full(4, 7.0), 1.0, 0.0), 0.25, rtol=1e-14)
    losses = np.array([0.0, 1.0, 5.0])
    roots = 1.0 / np.sqrt(hybrid_ftrl(losses, 9.0, 0.0))
    np.testing.assert_allclose(np.diff(3.0 * roots), np.diff(losses), rtol=1e-11)
