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
    NaiveDOOMD,
    NaiveDORM,
    NaiveDORMPlus,
    NaiveDUB,
    NaiveODFTRL,
    hybrid_ftrl,
    run_rounds,
)
from poold_peer import PooldName, has_poold, poold_plays

ROUNDS = 60
HINTS: tuple[Hint, ...] = ("none", "recent")
EXACT = 1e-10

needs_poold = pytest.mark.skipif(not has_poold(), reason="poold is not installed")
_scipy_minimize: Callable[..., Any] = optimize.minimize

EXPERTS: dict[PooldName, Callable[[int], Any]] = {
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


def play_costs(learner: Any, costs: Array, delays: Sequence[int]) -> Array:
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


# --- Arms ----------------------------------------------------------------------------------------


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
