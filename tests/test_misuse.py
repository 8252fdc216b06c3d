"""Learners and models used in ways that would lose something: told so, and nothing is lost."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.errors import BelatedError, BusyError, SpecError

FULL = bl.FullInformation(bl.PFTRL(bl.Ball(2), bl.rates.Tight(1.0)))
VALUES = bl.OnePoint(bl.PFTRL(bl.Ball(2), bl.rates.DelayAdaptive(1.0)), magnitude=1.0)


# --- Threads and calls inside calls --------------------------------------------------------------


def test_a_gradient_that_calls_its_learner() -> None:
    learner = bl.Learner(FULL)
    learner.predict()
    before = learner.snapshot()

    def gradient(x: Any) -> Any:
        for call in (
            learner.predict,
            learner.snapshot,
            lambda: learner.cancel(0),
            lambda: learner.observe(0, gradient),
            lambda: learner.replay([1], []),
        ):
            with pytest.raises(BusyError, match="another call is at work here"):
                call()
        assert learner.rounds == 1
        learner.predict()

    with pytest.raises(BusyError, match=r"predict: .* nothing has changed: use one thread"):
        learner.observe(0, gradient)
    assert learner.snapshot() == before
    assert learner.observe(0, lambda x: x)


class Nosy:
    """A base that predicts with the learner it is in."""

    learner: Any = None

    def start(self) -> list[float]:
        """Begin at the origin."""
        return [0.0, 0.0]

    def update(self, cost: Any, lag: int, open_lags: int) -> Any:
        """Ask the learner for a play in the middle of its step."""
        if Nosy.learner is not None:
            Nosy.learner.predict()
        return -cost


def test_a_base_that_calls_its_learner() -> None:
    learner = bl.Learner(bl.FirstOrder(Nosy()))
    learner.predict()
    Nosy.learner = learner
    try:
        with pytest.raises(BusyError):
            learner.observe(0, [1.0, 2.0])
    finally:
        Nosy.learner = None
    assert (learner.rounds, learner.open) == (1, 1)
    assert learner.observe(0, [1.0, 2.0])


# --- Runs ----------------------------------------------------------------------------------------


class Forgetful:
    """A base that remembers, but cannot save itself."""

    def __init__(self) -> None:
        self.sum = np.zeros(2)

    def start(self) -> Any:
        """Begin at the origin."""
        self.sum = np.zeros(2)
        return self.sum

    def update(self, cost: Any, lag: int, open_lags: int) -> Any:
        """Step down the sum."""
        self.sum = self.sum + cost
        return -0.1 * self.sum


def test_a_refused_run_puts_back_a_base_that_cannot_save_itself() -> None:
    learner, other = (bl.Learner(bl.FirstOrder(Forgetful())) for _ in range(2))
    for each in (learner, other):
        each.replay([0, ~0], [[1.0, 2.0]])
    with pytest.raises(BelatedError):
        learner.replay([1, ~1, 2, ~2, ~2], np.ones((3, 2)))
    for each in (learner, other):
        each.predict()
        each.observe(1, [0.5, 0.5])
    assert learner.predict().x.tolist() == other.predict().x.tolist()


# --- Pickles -------------------------------------------------------------------------------------


class NamedGiven(bl.losses.Given):
    """A source with an attribute of its own."""


class NamedBall(bl.Ball):
    """A set with an attribute of its own."""


def _same(thing: Any) -> list[Any]:
    return [pickle.loads(pickle.dumps(thing)), copy.deepcopy(thing), copy.copy(thing)]


def test_pickles_of_specs_keep_what_subclasses_add() -> None:
    specs: list[Any] = [NamedGiven([[1.0, 2.0]], [3.0]), NamedBall(2)]
    for spec in specs:
        object.__setattr__(spec, "name", "mine")
        for other in _same(spec):
            assert type(other) is type(spec)
            assert other == spec
            assert other.name == "mine"


# --- Seeds ---------------------------------------------------------------------------------------


def test_a_fresh_seed_is_drawn_shown_and_kept() -> None:
    learners = [bl.Learner(VALUES, seed=None) for _ in range(4)]
    seeds = {learner.seed for learner in learners}
    assert len(seeds) == 4
    assert all(0 <= seed < 1 << 64 for seed in seeds)
    for learner in learners:
        twin, again = bl.Learner(VALUES, learner.seed), bl.Learner.restore(learner.snapshot())
        assert again.seed == learner.seed
        plays = [each.predict().x.tolist() for each in (learner, twin, again)]
        assert plays[0] == plays[1] == plays[2]
    assert bl.Learner(VALUES).seed == 0
    for wrong in ("now", 1.0, True, False):
        with pytest.raises(SpecError, match="Learner: seed must be a whole number or None"):
            bl.Learner(VALUES, seed=wrong)  # type: ignore[arg-type]


def test_a_game_shows_the_seed_that_it_drew() -> None:
    game = bl.Game(bl.losses.Quadratic(bl.losses.Random(2, seed=1)), bl.delays.constant(20, 3))
    run = bl.play(VALUES, game, seed=None)
    assert run.seed != bl.play(VALUES, game, seed=None).seed
    again = bl.play(VALUES, game, seed=run.seed)
    assert again.regret == run.regret
    assert run.seed >> 64 == 0
