"""The slow versions for experts and arms against their authors' code, solvers and bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from conftest import everything
from naive import Array, ChartSet, Geometry, SetKind, divergence, optimality_gap
from naive_simplex_rivals import (
    Arms,
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
    bound_ada_hedge_d,
    bound_delayed_exp3,
    bound_doomd,
    bound_dorm,
    bound_dorm_plus,
    bound_dub,
    bound_odftrl,
    bound_odftrl_plain,
    bound_skipping_exp3,
    bound_zimmert_seldin,
    draw,
    huber,
    hybrid_ftrl,
    mixability_gap,
    run_rounds,
    softmin,
    uniform_number,
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


def expert_regret(plays: Array, costs: Array) -> float:
    """Regret to the best expert."""
    return float((plays * costs).sum()) - float(costs.sum(axis=0).min())


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


def test_softmin() -> None:
    v = np.array([2.0, 1.0, 1.0])
    np.testing.assert_array_equal(softmin(v, 0.0), [0.0, 0.5, 0.5])
    np.testing.assert_allclose(softmin(v, 1e-9), [0.0, 0.5, 0.5])
    np.testing.assert_allclose(softmin(v, 2.0), np.exp(-v / 2.0) / np.exp(-v / 2.0).sum())


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


@pytest.mark.parametrize(
    "make",
    [
        lambda: NaiveODFTRL(domain=ChartSet("simplex", 3), strength=3.0, mirror="entropy"),
        lambda: NaiveDOOMD(domain=ChartSet("simplex", 3), strength=3.0),
        lambda: NaiveDORM(arms=3),
        lambda: NaiveDORMPlus(arms=3),
        lambda: NaiveAdaHedgeD(arms=3),
        lambda: NaiveDUB(arms=3),
    ],
)
def test_cancelling_is_a_zero_cost(make: Callable[[], NaiveRival]) -> None:
    costs = random_costs("normal", 12, 3, seed=11)
    costs[[1, 4]] = 0.0
    cancelling, answering = make(), make()
    for t in range(12):
        _, one = cancelling.predict()
        _, other = answering.predict()
        np.testing.assert_array_equal(one, other)
        if t >= 2:
            answering.observe(t - 2, costs[t - 2])
            if t - 2 in (1, 4):
                cancelling.cancel(t - 2)
            else:
                cancelling.observe(t - 2, costs[t - 2])


def test_tickets_close_once() -> None:
    learner = NaiveDORM(arms=2)
    ticket, _ = learner.predict()
    with pytest.raises(KeyError):
        learner.cancel(ticket + 1)
    learner.cancel(ticket)
    with pytest.raises(ValueError, match="closed"):
        learner.observe(ticket, np.zeros(2))


# --- Arms ----------------------------------------------------------------------------------------


def test_draws_have_the_right_frequencies() -> None:
    p = np.array([0.5, 0.2, 0.3])
    counts = np.bincount([draw(p, uniform_number(3, t)) for t in range(4000)], minlength=3)
    np.testing.assert_allclose(counts / 4000.0, p, atol=0.03)
    assert draw(p, 1.0) == 2
    assert draw(np.array([0.0, 1.0]), 2.0**-33) == 1


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


# --- Bounds --------------------------------------------------------------------------------------


def comparators(domain: ChartSet, costs: Array, seed: int) -> list[Array]:
    """Start, the far end against the costs, and random members."""
    rng = np.random.default_rng(seed)
    far = domain.project(domain.start - 1e6 * costs.sum(axis=0))
    random = [domain.project(domain.start + rng.normal(size=domain.dim)) for _ in range(10)]
    return [domain.start, far, *random]


@pytest.mark.parametrize(("domain", "mirror"), SETS[:5])
@pytest.mark.parametrize("hint", HINTS)
def test_regret_of_odftrl_and_doomd(domain: ChartSet, mirror: Geometry, hint: Hint) -> None:
    for seed, delay in enumerate([0, 1, 5]):
        kind = "normal" if seed % 2 else "change"
        costs = random_costs(kind, ROUNDS, domain.dim, seed)
        for strength in (1.0, 8.0, 40.0):
            leader = NaiveODFTRL(domain=domain, strength=strength, mirror=mirror, hint=hint)
            follower = NaiveDOOMD(domain=domain, strength=strength, mirror=mirror, hint=hint)
            delays = [delay] * ROUNDS
            leading = play_costs(leader, costs, delays)
            following = play_costs(follower, costs, delays)
            for u in comparators(domain, costs, seed):
                range_ = divergence(u, domain.start, mirror)
                bound = bound_odftrl(leader, list(costs), range_, mirror)
                assert float((costs * (leading - u)).sum()) <= bound + 1e-9
                bound = bound_doomd(follower, list(costs), delay, range_, mirror)
                assert float((costs * (following - u)).sum()) <= bound + 1e-9


@pytest.mark.parametrize("kind", ["ball", "box"])
def test_tuned_odftrl_under_any_delays(kind: SetKind) -> None:
    """lambda = G sqrt(T + 2 d_tot) / R gives G R sqrt(T + 2 d_tot)."""
    domain = ChartSet(kind, 2)
    radius = domain.diameter / 2.0
    for seed in range(4):
        delays = random_delays(ROUNDS, seed, largest=12)
        waiting = sum(min(d, ROUNDS - 1 - t) for t, d in enumerate(delays))
        tuned = math.sqrt(ROUNDS + 2.0 * waiting)
        costs = random_costs("normal", ROUNDS, 2, seed)
        costs = costs / np.linalg.norm(costs, axis=1, keepdims=True)
        learner = NaiveODFTRL(domain=domain, strength=tuned / radius)
        plays = play_costs(learner, costs, delays)
        regret = float((costs * plays).sum()) - domain.linear_minimum(costs.sum(axis=0))
        plain = bound_odftrl_plain(learner.strength, radius**2 / 2.0, 1.0, ROUNDS, waiting / ROUNDS)
        assert plain == pytest.approx(radius * tuned)
        assert bound_odftrl(learner, list(costs), radius**2 / 2.0) <= plain + 1e-9
        assert regret <= plain


@pytest.mark.parametrize("kind", ["normal", "unit", "binary", "change"])
@pytest.mark.parametrize("arms", [2, 5])
def test_regret_of_expert_methods(kind: str, arms: int) -> None:
    for seed in range(3 if everything() else 1):
        costs = random_costs(kind, ROUNDS, arms, seed)
        for delays in ([0] * ROUNDS, [4] * ROUNDS, random_delays(ROUNDS, seed)):
            for hint in HINTS:
                for power in (2.0, 2.0 * math.log(arms) + 1.0):
                    dorm = NaiveDORM(arms=arms, power=power, hint=hint)
                    assert expert_regret(play_costs(dorm, costs, delays), costs) <= bound_dorm(dorm)
            plus = NaiveDORMPlus(arms=arms)
            assert expert_regret(play_costs(plus, costs, delays), costs) <= bound_dorm_plus(plus)
            hedge = NaiveAdaHedgeD(arms=arms)
            hedged = expert_regret(play_costs(hedge, costs, delays), costs)
            assert hedged <= bound_ada_hedge_d(hedge) + 1e-9
            dub = NaiveDUB(arms=arms)
            dubbed = expert_regret(play_costs(dub, costs, delays), costs)
            assert dubbed <= bound_dub(dub) + 1e-9
            assert hedge.strength <= dub.strength + 1e-9


@pytest.mark.parametrize("delay", [0, 1, 4, 12])
@pytest.mark.parametrize("arms", [2, 4])
def test_regret_of_expert_methods_against_an_opponent(delay: int, arms: int) -> None:
    """The expert with the largest weight always loses; the bounds of matching come close."""

    def regret(learner: NaiveRival) -> float:
        def answer(_: int, w: Array) -> Array:
            return np.where(np.arange(arms) == w.argmax(), 1.0, 0.0)

        plays = np.array(run_rounds(learner, [delay] * ROUNDS, answer))
        return expert_regret(plays, np.eye(arms)[plays.argmax(axis=1)])

    dorm, plus = NaiveDORM(arms=arms), NaiveDORMPlus(arms=arms)
    hedge, dub = NaiveAdaHedgeD(arms=arms), NaiveDUB(arms=arms)
    assert regret(dorm) <= bound_dorm(dorm) + 1e-9
    assert regret(plus) <= bound_dorm_plus(plus) + 1e-9
    assert regret(hedge) <= bound_ada_hedge_d(hedge) + 1e-9
    assert regret(dub) <= bound_dub(dub) + 1e-9
    if delay > 0:
        assert regret(NaiveDORM(arms=arms)) >= 0.4 * bound_dorm(dorm)


def test_matching_bounds_have_the_published_rate() -> None:
    """Losses in [0, 1] give sqrt((2 D + 1) K T) at most."""
    costs = random_costs("binary", ROUNDS, 4, seed=2)
    for delay in (0, 3):
        dorm, plus = NaiveDORM(arms=4), NaiveDORMPlus(arms=4)
        play_costs(dorm, costs, [delay] * ROUNDS)
        play_costs(plus, costs, [delay] * ROUNDS)
        rate = math.sqrt((2 * delay + 1) * 4 * ROUNDS)
        assert bound_dorm(dorm) <= rate
        assert bound_dorm_plus(plus) <= rate


def test_huber() -> None:
    rng = np.random.default_rng(1)
    for x, y in rng.exponential(size=(50, 2)).tolist():
        assert 0.0 <= huber(x, y) <= min(x**2 / 2.0, x * y) + 1e-15
    assert huber(3.0, 3.0) == 4.5
    assert huber(3.0, 1.0) == 2.5


def mean_regret(learners: Sequence[Arms], losses: Array, delays: Sequence[int]) -> float:
    """Mean regret of the draws to the best arm."""
    regrets = []
    for learner in learners:
        run_rounds(learner, delays, lambda ticket, y: float(losses[ticket] @ y))
        regrets.append(expert_regret(np.array(learner.plays), losses))
    return float(np.mean(regrets))


@pytest.mark.parametrize("kind", ["binary", "change"])
def test_regret_of_delayed_exp3(kind: str) -> None:
    rounds = 300
    losses = random_costs(kind, rounds, 2, seed=4)
    delays = [t % 4 for t in range(rounds)]
    learners = [
        NaiveDelayedExp3(arms=2, rounds=rounds, total_delay=sum(delays), seed=seed)
        for seed in range(8)
    ]
    bound = bound_delayed_exp3(2, rounds, sum(delays), learners[0].rate)
    assert mean_regret(learners, losses, delays) <= bound < rounds / 2


@pytest.mark.parametrize("kind", ["binary", "change"])
def test_regret_of_skipping_exp3(kind: str) -> None:
    rounds = 300
    losses = random_costs(kind, rounds, 2, seed=4)
    delays = [200 if t < 5 else t % 4 for t in range(rounds)]
    learners = [
        NaiveSkippingExp3(arms=2, rounds=rounds, total_delay=sum(delays), seed=seed)
        for seed in range(8)
    ]
    rate, threshold = learners[0].rate, learners[0].threshold
    assert threshold < 200
    bound = bound_skipping_exp3(2, rounds, delays, rate, threshold)
    assert mean_regret(learners, losses, delays) <= bound < rounds / 2


@pytest.mark.parametrize("skipping", [False, True])
@pytest.mark.parametrize("kind", [pytest.param("binary", marks=pytest.mark.slow), "change"])
def test_regret_of_zimmert_seldin(kind: str, skipping: bool) -> None:
    """The bound of the simple tuning, which the skipping tuning keeps to in these runs as well."""
    rounds = 120
    losses = random_costs(kind, rounds, 2, seed=4)
    delays = [t % 3 for t in range(rounds)]
    learners = [NaiveZimmertSeldin(arms=2, skipping=skipping, seed=seed) for seed in range(3)]
    bound = bound_zimmert_seldin(2, rounds, sum(delays))
    assert mean_regret(learners, losses, delays) <= bound < rounds
