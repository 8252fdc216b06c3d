"""Learners and models used in ways that would lose something: told so, and nothing is lost."""

from __future__ import annotations

import contextlib
import copy
import pickle
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.errors import BelatedError, BusyError, SpecError, UnknownTicket
from interrupts import without_collector

SPEC = bl.FirstOrder(bl.PFTRL(bl.Ball(3), bl.rates.Tight(1.0)))
FULL = bl.FullInformation(bl.PFTRL(bl.Ball(2), bl.rates.Tight(1.0)))
VALUES = bl.OnePoint(bl.PFTRL(bl.Ball(2), bl.rates.DelayAdaptive(1.0)), magnitude=1.0)


# --- Threads and calls inside calls --------------------------------------------------------------


@pytest.fixture
def switching() -> Iterator[None]:
    """Let the interpreter switch threads as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def _crowd(event: Callable[[], Any], rounds: int, threads: int = 3) -> tuple[int, int]:
    """Return how many events were done by several threads, and how many were turned away."""
    done, busy = [0] * threads, [0] * threads
    gate = threading.Barrier(threads)

    def work(number: int) -> None:
        gate.wait()
        for _ in range(rounds):
            try:
                event()
                done[number] += 1
            except BusyError:
                busy[number] += 1

    crowd = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    return sum(done), sum(busy)


@pytest.mark.compiled
@pytest.mark.needs_compiler  # interpreted, a learner is for one thread at a time
def test_threads_in_one_learner_lose_nothing(switching: None) -> None:
    learner = bl.Learner(SPEC)
    done, busy = _crowd(learner.predict, 2000)
    assert (learner.rounds, learner.open) == (done, done)
    assert done + busy == 6000
    assert done > 0
    alone = bl.Learner(SPEC)
    for _ in range(done):
        alone.predict()
    assert alone.snapshot() == learner.snapshot()
    tickets = iter(range(done))
    answered, busy = _crowd(lambda: learner.observe(next(tickets), np.zeros(3)), done // 4)
    assert learner.open == done - answered


@pytest.mark.compiled
@pytest.mark.needs_compiler  # interpreted, a model is for one thread at a time
def test_threads_in_one_model_lose_nothing(switching: None) -> None:
    model = bl.LinearModel(bits=6, wait=None)
    row = {"a": 1.0, "b": "x"}
    done, busy = _crowd(lambda: model.predict(row), 1500)
    assert (model.rounds, model.open) == (done, done)
    assert done + busy == 4500
    tickets = iter(range(done))
    answered, _ = _crowd(lambda: model.observe(next(tickets), 1.0), done // 4)
    assert model.open == done - answered
    assert model.report().open == model.open


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
            lambda: learner.run([1], []),
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


def test_features_that_call_their_model() -> None:
    model = bl.LinearModel(bits=4)

    class Text(dict[str, float]):
        def items(self) -> Any:
            model.predict({"a": 1.0})
            return super().items()

    with pytest.raises(BusyError):
        model.predict(Text(a=1.0))
    assert model.rounds == 0


@pytest.mark.parametrize("thing", [bl.Learner(SPEC), bl.LinearModel(bits=4)])
def test_errors_leave_the_turn_free(thing: Any) -> None:
    calls: list[Callable[[], Any]] = [lambda: thing.observe(5, None), lambda: thing.cancel(3)]
    for wrong in calls:
        for _ in range(3):
            with pytest.raises(BelatedError) as caught:
                wrong()
            assert not isinstance(caught.value, BusyError)
    thing.snapshot()


class Interrupt(BaseException):
    """What a signal raises, wherever the interpreter is."""


@pytest.mark.compiled
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no such signals here")
@without_collector()
def test_interrupts_leave_the_turn_free() -> None:
    learner, draw = bl.Learner(SPEC), random.Random(1)

    def interrupt(*_: object) -> None:
        raise Interrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for _ in range(200):
            with contextlib.suppress(Interrupt):
                signal.setitimer(signal.ITIMER_REAL, draw.uniform(1e-4, 2e-3))
                for _ in range(100_000):  # until then it comes
                    learner.observe(learner.predict().ticket, np.zeros(3))
                signal.setitimer(signal.ITIMER_REAL, 0.0)
            learner.snapshot()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert learner.rounds > 0


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
        each.run([0, ~0], [[1.0, 2.0]])
    with pytest.raises(BelatedError):
        learner.run([1, ~1, 2, ~2, ~2], np.ones((3, 2)))
    for each in (learner, other):
        each.predict()
        each.observe(1, [0.5, 0.5])
    assert learner.predict().x.tolist() == other.predict().x.tolist()


@pytest.mark.parametrize("ticket", [2**63, 2**64 - 2, 2**64 - 1])
def test_tickets_of_64_bits_are_not_others(ticket: int) -> None:
    learner, model = bl.Learner(SPEC), bl.LinearModel(bits=4)
    events = np.array([0, 1, ticket], dtype=np.uint64)
    with pytest.raises(UnknownTicket):
        learner.run(events, np.ones((2, 3)))
    with pytest.raises(UnknownTicket):
        model.replay([{"a": 1.0}] * 2, [1.0, 2.0], events)
    assert learner.rounds == model.rounds == 0
    learner.predict()
    model.predict({"a": 1.0})
    with pytest.raises(UnknownTicket):
        learner.observe(np.uint64(ticket), np.ones(3))  # type: ignore[arg-type]
    with pytest.raises(UnknownTicket):
        learner.run([1], np.ones((1, 3)), first=np.uint64(ticket))  # type: ignore[arg-type]
    with pytest.raises(UnknownTicket):
        model.observe_many(np.array([ticket], dtype=np.uint64), [1.0])
    assert learner.open == model.open == 1


# --- Pickles -------------------------------------------------------------------------------------


class NamedLearner(bl.Learner):
    """A learner with attributes and a slot of its own."""

    __slots__ = ("place",)

    def __init__(self, name: str, spec: Any) -> None:
        super().__init__(spec, 7)
        self.name = name
        self.place = [1, 2]


class NamedModel(bl.LinearModel):
    """A model with attributes of its own."""

    def __init__(self, name: str) -> None:
        super().__init__(bits=4)
        self.name = name
        self.place = [1, 2]


class NamedGiven(bl.losses.Given):
    """A source with an attribute of its own."""


class NamedBall(bl.Ball):
    """A set with an attribute of its own."""


def _same(thing: Any) -> list[Any]:
    return [pickle.loads(pickle.dumps(thing)), copy.deepcopy(thing), copy.copy(thing)]


def test_pickles_keep_what_subclasses_add() -> None:
    for thing in (NamedLearner("mine", SPEC), NamedModel("mine")):
        for other in _same(thing):
            assert type(other) is type(thing)
            assert (other.name, other.place) == ("mine", [1, 2])
            assert other.snapshot() == thing.snapshot()
    plain = bl.Learner(SPEC)
    plain.note = "kept"  # type: ignore[attr-defined]
    assert all(other.note == "kept" for other in _same(plain))


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


def test_a_learner_larger_than_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    def compose(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("belated.models.learner.learner.compose", compose)
    with pytest.raises(SpecError, match="too large for this machine"):
        bl.Learner(SPEC)
