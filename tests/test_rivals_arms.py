"""What is promised of arms: in expectation over every draw, and step by step for each one.

The slow versions play, with which the fast ones agree. Delays and losses are the adversary's: any
of them, as long as they do not depend on the draws.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import belated as bl
from belated import rivals
from belated.research.rivals import Rival
from naive import Array
from naive_banker import (
    NaiveBankerTINF,
    bound_banker,
)
from naive_simplex_rivals import (
    Arms,
    NaiveDelayedExp3,
    NaiveMasoudianZimmertSeldin,
    NaiveSkippingExp3,
    NaiveZimmertSeldin,
    bound_delayed_exp3,
    bound_masoudian_zimmert_seldin,
    bound_skipping_exp3,
    bound_zimmert_seldin,
    bound_zimmert_seldin_skipping,
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


def total(spec: Rival, game: Game) -> float:
    """Return what a method promises."""
    bound = spec.bound(game.timeline)
    assert bound is not None
    return bound.total


# --- Every step ----------------------------------------------------------------------------------
# What stands before the expectation is taken holds for each draw, for losses of at least 0.


# --- Losses far outside of [0, 1] ----------------------------------------------------------------


@pytest.mark.parametrize(
    "spec",
    [
        rivals.DelayedExp3(3, rounds=100, total_delay=50),
        rivals.ZimmertSeldin(3),
        rivals.MasoudianZimmertSeldin(3, max_delay=3),
        rivals.BankerTINF(3),
    ],
    ids=lambda spec: str(spec.title),
)
def test_the_largest_losses_leave_snapshots_that_can_be_restored(spec: Rival) -> None:
    live = bl.Learner(spec, seed=1)
    for t in range(20):
        live.observe(live.predict().ticket, 1e100 if t % 3 else 0.5)
        blob = live.snapshot()
        assert bl.Learner.restore(blob).snapshot() == blob
