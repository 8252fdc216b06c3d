"""What is promised of arms: in expectation over every draw, and step by step for each one.

The slow versions play, with which the fast ones agree. Delays and losses are the adversary's: any
of them, as long as they do not depend on the draws.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import belated as bl
from belated import rivals
from belated.research.core import rival_experts
from belated.research.core.rival_experts import check_multiplier
from belated.research.rivals import Rival
from naive import Array
from naive_banker import (
    NaiveBankerSFTINF,
    NaiveBankerTINF,
    bound_banker,
    slope,
    tsallis_divergence,
)
from naive_simplex_rivals import (
    Arms,
    NaiveAnytimeExp3,
    NaiveDelayedExp3,
    NaiveMasoudianZimmertSeldin,
    NaiveSkippingExp3,
    NaiveZimmertSeldin,
    bound_anytime_exp3,
    bound_delayed_exp3,
    bound_masoudian_zimmert_seldin,
    bound_skipping_exp3,
    bound_zimmert_seldin,
    bound_zimmert_seldin_skipping,
    hybrid_ftrl,
    run_rounds,
)

ROOM = 1.0 + 1e-9


class Game(NamedTuple):
    """Losses of all arms, and when each round is answered."""

    losses: Array
    delays: list[int]

    @property
    def timeline(self) -> bl.Timeline:
        """The same delays, none beyond the end."""
        return bl.Timeline.from_delays(self.delays)

    @property
    def arms(self) -> int:
        """K."""
        return int(self.losses.shape[1])

    @property
    def least(self) -> float:
        """What the best arm loses."""
        return float(self.losses.sum(axis=0).min())


# --- Every draw ----------------------------------------------------------------------------------


def ends(learner: Arms, game: Game) -> Iterator[tuple[float, Arms]]:
    """Yield every way that the draws can go: its probability, and the learner at the end."""
    pending: list[tuple[float, int, Arms]] = [(1.0, 0, learner)]
    events = game.timeline.events.tolist()
    while pending:
        chance, place, now = pending.pop()
        while place < len(events) and events[place] < 0:
            ticket = ~events[place]
            now.observe(ticket, float(game.losses[ticket, now.drawn[ticket]]))
            place += 1
        if place == len(events):
            yield chance, now
            continue
        for arm in range(game.arms):
            other = copy.deepcopy(now)
            other.choose = lambda p, ticket, arm=arm: arm  # type: ignore[method-assign, misc]
            other.predict()
            pending.append((chance * float(other.distributions[-1][arm]), place + 1, other))


def expected(learner: Arms, game: Game, of: Callable[[Arms], float]) -> float:
    """The mean over all draws."""
    found = [(chance, of(end)) for chance, end in ends(learner, game)]
    assert math.fsum(chance for chance, _ in found) == pytest.approx(1.0)
    return math.fsum(chance * value for chance, value in found)


def expected_regret(learner: Arms, game: Game) -> float:
    """Regret in the mean over all draws."""
    rounds = np.arange(len(game.delays))
    paid = expected(learner, game, lambda end: float(game.losses[rounds, end.drawn].sum()))
    return paid - game.least


@st.composite
def games(draw: st.DrawFn, most: int = 6, largest: float = 1.0) -> Game:
    """Losses between 0 and ``largest``, mostly one of these, and delays up to the end."""
    arms = draw(st.sampled_from([2, 2, 3]))
    rounds = draw(st.integers(1, most if arms == 2 else most - 2))
    loss = st.sampled_from([0.0, largest, largest]) | st.floats(0.0, largest)
    rows = draw(st.lists(st.tuples(*[loss] * arms), min_size=rounds, max_size=rounds))
    late = [draw(st.integers(0, rounds - 1 - t)) for t in range(rounds)]
    return Game(np.array(rows), late)


@given(game=games(), told=st.tuples(st.integers(1, 60), st.integers(0, 200)))
@settings(max_examples=25, deadline=None)
def test_exp3_whatever_it_was_told(game: Game, told: tuple[int, int]) -> None:
    """The bound is that of the rate taken, with and without giving up."""
    rounds, late = told
    facts = {"rounds": rounds, "total_delay": late}
    plain = NaiveDelayedExp3(arms=game.arms, **facts)
    bound = bound_delayed_exp3(game.arms, len(game.delays), sum(game.delays), plain.rate)
    assert total(rivals.DelayedExp3(game.arms, **facts), game) == pytest.approx(bound)
    assert expected_regret(plain, game) <= bound * ROOM
    skipping = NaiveSkippingExp3(arms=game.arms, **facts)
    rate, beta = skipping.rate, skipping.threshold
    bound = bound_skipping_exp3(game.arms, len(game.delays), game.delays, rate, beta)
    assert total(rivals.SkippingExp3(game.arms, **facts), game) == pytest.approx(bound)
    assert expected_regret(skipping, game) <= bound * ROOM


@given(game=games())
@settings(max_examples=25, deadline=None)
def test_anytime_exp3_in_expectation(game: Game) -> None:
    bound = bound_anytime_exp3(game.arms, len(game.delays), sum(game.delays))
    assert total(rivals.AnytimeExp3(game.arms), game) == pytest.approx(bound)
    assert expected_regret(NaiveAnytimeExp3(arms=game.arms), game) <= bound * ROOM


@given(game=games(most=4))
@settings(max_examples=8, deadline=None)
def test_zimmert_seldin_in_expectation(game: Game) -> None:
    bounds = {
        False: bound_zimmert_seldin(game.arms, len(game.delays), sum(game.delays)),
        True: bound_zimmert_seldin_skipping(game.arms, game.delays),
    }
    for skipping, bound in bounds.items():
        assert total(rivals.ZimmertSeldin(game.arms, skipping), game) == pytest.approx(bound)
        slow = NaiveZimmertSeldin(arms=game.arms, skipping=skipping)
        assert expected_regret(slow, game) <= bound * ROOM


@given(game=games(most=4), longer=st.integers(0, 2))
@settings(max_examples=8, deadline=None)
def test_masoudian_zimmert_seldin_in_expectation(game: Game, longer: int) -> None:
    told = max(game.delays) + longer
    slow = NaiveMasoudianZimmertSeldin(arms=game.arms, max_delay=told)
    played = copy.deepcopy(slow)
    run_rounds(played, game.delays, lambda ticket, y: float(game.losses[ticket] @ y))
    bound = bound_masoudian_zimmert_seldin(played)
    spec = rivals.MasoudianZimmertSeldin(game.arms, told)
    assert total(spec, game) == pytest.approx(bound)
    assert expected_regret(slow, game) <= bound * ROOM


@given(game=games())
@settings(max_examples=15, deadline=None)
def test_banker_in_expectation(game: Game) -> None:
    """What is borrowed does not depend on the draws."""
    slow = NaiveBankerTINF(arms=game.arms)
    for _, end in ends(slow, game):
        assert isinstance(end, NaiveBankerTINF)
        bound = bound_banker(end)
        assert total(rivals.BankerTINF(game.arms), game) == pytest.approx(bound)
    assert expected_regret(slow, game) <= bound * ROOM


@given(game=games(most=5, largest=7.0))
@settings(max_examples=15, deadline=None)
def test_banker_for_any_range_in_expectation(game: Game) -> None:
    """Its bound depends on the draws, so that is a mean too."""

    def promised(end: Arms) -> float:
        assert isinstance(end, NaiveBankerSFTINF)
        return bound_banker(end, end.ranges) + math.fsum(end.surprises.values())

    slow = NaiveBankerSFTINF(arms=game.arms)
    assert expected_regret(slow, game) <= expected(slow, game, promised) * ROOM


def total(spec: Rival, game: Game) -> float:
    """Return what a method promises."""
    bound = spec.bound(game.timeline)
    assert bound is not None
    return bound.total


# --- Every step ----------------------------------------------------------------------------------
# What stands before the expectation is taken holds for each draw, for losses of at least 0.

ROUNDS = 50


def estimates(learner: Arms, seed: int) -> Array:
    """Play with large losses and delays of any kind; return lhat_t of every round."""
    rng = np.random.default_rng(seed)
    losses = 3.0 * rng.random((ROUNDS, learner.dim)) * rng.integers(0, 2, (ROUNDS, learner.dim))
    late = np.where(rng.random(ROUNDS) < 0.1, ROUNDS, rng.integers(0, 9, ROUNDS)).tolist()
    run_rounds(learner, late, lambda ticket, y: float(losses[ticket] @ y))
    found = np.zeros((ROUNDS, learner.dim))
    for t, arm in enumerate(learner.drawn):
        found[t, arm] = losses[t, arm] / learner.distributions[t][arm]
    return found


def against_best(learner: Arms, found: Array) -> float:
    """Sum of <lhat_t, x_t - y> for the best arm y."""
    return float((np.array(learner.distributions) * found).sum() - found.sum(axis=0).min())


def unseen(learner: Arms, found: Array, t: int) -> float:
    """Estimates of the arm drawn at t that its play lacked, of earlier rounds."""
    arm = learner.drawn[t]
    return math.fsum(float(found[s, arm]) for s in learner.pending[t][:-1])


@pytest.mark.parametrize("seed", range(3))
def test_exp3_step_by_step(seed: int) -> None:
    """ln K / eta_T + sum of eta_t p_t(a) (L^2 / 2 + L S_a), for rates that never rise."""
    told = NaiveDelayedExp3(arms=4, rounds=ROUNDS, total_delay=300.0, seed=seed)
    anytime = NaiveAnytimeExp3(arms=4, seed=seed)
    found = estimates(told, seed)
    check_exp3(told, found, [told.rate] * ROUNDS)
    found = estimates(anytime, seed)
    check_exp3(anytime, found, anytime.rates)


def check_exp3(learner: Arms, found: Array, rates: list[float]) -> None:
    """Compare both sides."""
    assert (np.diff(rates) <= 0.0).all()
    paid = math.log(learner.dim) / rates[-1]
    for t, (arm, rate) in enumerate(zip(learner.drawn, rates, strict=True)):
        estimate = float(found[t, arm])
        lack = estimate / 2.0 + unseen(learner, found, t)
        paid += rate * float(learner.distributions[t][arm]) * estimate * lack
    assert against_best(learner, found) <= paid * ROOM


@pytest.mark.parametrize("told", [0, 2])
@pytest.mark.parametrize("seed", range(2))
def test_two_regularisers_step_by_step(seed: int, told: int) -> None:
    """2 (sqrt(K) - 1) a_T + b_T ln K + sum of lhat^2 x^(3/2) / a_t + lhat x M / b_t."""
    learner = NaiveMasoudianZimmertSeldin(arms=3, max_delay=told, seed=seed)
    found = estimates(learner, seed)
    last_a, last_b = learner.weights[-1]
    paid = 2.0 * (math.sqrt(3.0) - 1.0) * last_a + last_b * math.log(3.0)
    for t, (arm, (a, b)) in enumerate(zip(learner.drawn, learner.weights, strict=True)):
        estimate, x = float(found[t, arm]), float(learner.distributions[t][arm])
        lack = unseen(learner, found, t)
        paid += estimate**2 * x**1.5 / a + (estimate * x * lack / b if lack else 0.0)
    assert against_best(learner, found) <= paid * ROOM


@pytest.mark.parametrize("seed", range(4))
def test_banker_step_by_step(seed: int) -> None:
    """B D(y, x_0) + sum of c_t D(x_t, z_t) less what is still saved, v_s D(y, z_s)."""
    learner = NaiveBankerTINF(arms=4, seed=seed)
    found = estimates(learner, seed)
    uniform, best = np.full(4, 0.25), np.eye(4)[int(found.sum(axis=0).argmin())]
    assert tsallis_divergence(best, uniform) == pytest.approx(2.0 * math.sqrt(4.0) - 2.0)
    paid = math.fsum(learner.borrowed) * tsallis_divergence(best, uniform)
    for t, (x, scale) in enumerate(zip(learner.distributions, learner.scales, strict=True)):
        moved = 1.0 / (slope(x) - found[t] / scale) ** 2
        cost = scale * tsallis_divergence(x, moved)
        arm = learner.drawn[t]
        assert cost <= float(found[t, arm] ** 2 * x[arm] ** 1.5) / scale + 1e-9
        paid += cost
    left = math.fsum(s.amount * tsallis_divergence(best, s.at) for s in learner.savings)
    assert left > 0.0
    assert against_best(learner, found) <= (paid - left) * ROOM


# --- Probabilities -------------------------------------------------------------------------------


def solved(losses: Array, t: float, b: float, start: Array, mu: float) -> tuple[Array, float]:
    """Return the probabilities for weights sqrt(t) and b, and the multiplier."""
    spec = rivals.MasoudianZimmertSeldin(losses.size, max_delay=0)
    player = rival_experts.TwoRegularisers(spec._setting(0, False), 1.0, 1.0, t - 1.0, b * b)
    player.losses[:], player.base.point[:], player.multiplier = losses, start, mu
    learner = bl.Learner(spec)
    learner._begin(learner.settings, player, spec.kind, (losses.size,), False)
    learner.predict()
    return player.base.point.copy(), player.multiplier


@pytest.mark.parametrize("arms", [2, 3, 30])
@pytest.mark.parametrize("b", [0.0, 1e-6, 1.0, 1e5])
def test_both_regularisers_from_anywhere(arms: int, b: float) -> None:
    """From any point and multiplier, and again from the solution, as from one play to the next."""
    rng = np.random.default_rng(arms)
    losses, t = rng.exponential(30.0, arms), 50.0
    expected = hybrid_ftrl(losses, t, b)
    for start in (rng.dirichlet(np.ones(arms)) + 1e-9, np.full(arms, 1.0 / arms), expected):
        for mu in (-1e9, -math.sqrt(t * arms), 1e9):
            x, found = solved(losses, t, b, start, mu)
            np.testing.assert_allclose(x, expected, rtol=1e-12)
            check_multiplier(found, arms, math.sqrt(t), b)
            again, same = solved(losses, t, b, x, found)
            assert same == pytest.approx(found, rel=1e-12)
            np.testing.assert_allclose(again, expected, rtol=1e-12)


# --- Without delay -------------------------------------------------------------------------------


def test_anytime_exp3_without_delay_is_exp3_with_a_falling_rate() -> None:
    losses = np.random.default_rng(2).random((ROUNDS, 3))
    learner: Any = bl.Learner(rivals.AnytimeExp3(3), seed=5)
    sums = np.zeros(3)
    for t in range(ROUNDS):
        weights = np.exp(-math.sqrt(math.log(3.0) / (3.0 * (t + 1))) * (sums - sums.min()))
        p = weights / weights.sum()
        ticket, x = learner.predict()
        np.testing.assert_allclose(learner._player.base.point, p, rtol=1e-12)
        arm = int(x.argmax())
        learner.observe(ticket, float(losses[t, arm]))
        sums[arm] += losses[t, arm] / p[arm]


# --- Losses far outside of [0, 1] ----------------------------------------------------------------


@pytest.mark.parametrize(
    "spec",
    [
        rivals.AnytimeExp3(3),
        rivals.DelayedExp3(3, rounds=100, total_delay=50),
        rivals.ZimmertSeldin(3),
        rivals.MasoudianZimmertSeldin(3, max_delay=3),
        rivals.BankerTINF(3),
        rivals.BankerSFTINF(3),
    ],
    ids=lambda spec: str(spec.title),
)
def test_the_largest_losses_leave_snapshots_that_can_be_restored(spec: Rival) -> None:
    live = bl.Learner(spec, seed=1)
    for t in range(20):
        live.observe(live.predict().ticket, 1e100 if t % 3 else 0.5)
        blob = live.snapshot()
        assert bl.Learner.restore(blob).snapshot() == blob
