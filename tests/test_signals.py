"""Signals whose handlers raise, and threads, in the middle of keyed rounds of every model.

An event with built-in components has happened or has not, wherever a signal comes: a ticket is open
under its key, or neither is there. Threads that share a model lose no event.
"""

from __future__ import annotations

import gc
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.errors import BelatedError, BusyError, UnknownTicket
from interrupts import without_collector
from kinds import GRADIENTS, KINDS, NAMED_ROWS, Kind

# Interpreted, every event is made of many steps, and nothing of this is promised.
pytestmark = [pytest.mark.compiled, pytest.mark.needs_compiler]
SIGNALS = 10_000
DELAY, WINDOW = 3, 30
"""How many rounds later tickets are answered, and how many of the newest may be open."""


MODELS = {
    name: kind
    for name, kind in KINDS.items()
    if kind.served and not kind.is_timed
    if name not in ("learner, forgetful", "intervals, impatient")
    if not name.startswith("linear") or name in ("linear, squared", "linear, silence of sums")
}
ROW, GRADIENT, VALUE = NAMED_ROWS[0], GRADIENTS[0], 1.0


class Interrupt(BaseException):
    """What a signal raises, wherever the interpreter is."""


@pytest.fixture
def handler() -> Iterator[None]:

    def interrupt(*_: object) -> None:
        raise Interrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    yield
    signal.signal(signal.SIGALRM, before)


def has_key(model: Any, ticket: int) -> bool:
    """Tell whether the key of a ticket stands for it, and for no other one."""
    try:
        found = model.ticket(f"k{ticket}")
    except UnknownTicket:
        return False
    assert found == ticket
    return True


def check_inner(model: Any) -> None:
    """Demand that a model around others agrees with them."""
    if isinstance(model, bl.Chooser):
        shown = {choice.model_ticket for choice in model._choices.open.values()}
        assert len(shown) == model.model.open
        assert sum(each.chosen for each in model._choices.actions.values()) == model.rounds
    if isinstance(model, bl.Intervals):
        assert len(model._coverage.issued) == model._score_model.open == model.open
        assert model.rounds == model._score_model.rounds == model._coverage.rounds
        assert model._score_model.rounds == model.model.rounds


def live_on(kind: Kind, model: Any) -> None:
    """Predict, observe and cancel until a signal comes.

    A function of its own, as Python 3.12 and 3.13 miss handlers around a loop: the jump back from
    an ``if`` is in no exception table.
    """
    for _ in range(10_000):
        newest = model.rounds
        kind.predict(model, newest, key=f"k{newest}")
        for late in range(max(0, newest - WINDOW // 2), newest - DELAY):
            if model.is_open(late):
                if late % 5:
                    model.observe(f"k{late}", kind.answer(late))
                else:
                    model.cancel(f"k{late}")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no such signals here")
@pytest.mark.parametrize("name", MODELS)
@without_collector()
def test_after_a_signal_tickets_are_open_under_their_keys(name: str, handler: None) -> None:
    model, draw, seen = MODELS[name].make(), random.Random(name), 0
    while seen < SIGNALS:
        try:
            signal.setitimer(signal.ITIMER_REAL, draw.uniform(5e-6, 5e-5))
            live_on(MODELS[name], model)
        except Interrupt:
            seen += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        rounds = model.rounds
        window = range(max(0, rounds - WINDOW), rounds + 1)
        is_open = [model.is_open(ticket) for ticket in window]
        keyed = [has_key(model, ticket) for ticket in window]
        assert not keyed[-1]
        assert all(found or not now for now, found in zip(is_open, keyed, strict=True))
        assert MODELS[name].expires or is_open == keyed
        assert model.open == sum(is_open)
        check_inner(model)
        for late in window[: -WINDOW // 3]:  # a slow machine is interrupted before it answers
            if model.is_open(late):
                model.cancel(f"k{late}")
    assert rounds > SIGNALS // 100


@pytest.fixture
def switching() -> Iterator[None]:
    """Let the interpreter switch threads as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


THREADS, ROUNDS = 4, 1000


def insist(event: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Call again until no other call is at work."""
    while True:
        try:
            return event(*given, **named)
        except BusyError:
            time.sleep(1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_threads_on_one_model_lose_nothing(name: str, switching: None) -> None:
    """A call that meets another one at work raises, has changed nothing, and is made again."""
    kind, gate = MODELS[name], threading.Barrier(THREADS)
    model = kind.make()
    tickets: list[list[int]] = [[] for _ in range(THREADS)]
    refused: list[BaseException] = []

    def work(number: int) -> None:
        gate.wait()
        try:
            for turn in range(ROUNDS):
                ticket = insist(kind.predict, model, turn, key=f"{number}-{turn}").ticket
                tickets[number].append(ticket)
                if turn % 4:
                    insist(model.observe, f"{number}-{turn}", kind.answer(turn))
        except BaseException as error:
            refused.append(error)

    crowd = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    assert not refused
    assert sorted(chain(*tickets)) == list(range(THREADS * ROUNDS))
    assert model.rounds == THREADS * ROUNDS
    check_inner(model)
    if not MODELS[name].expires:
        assert model.open == THREADS * ROUNDS // 4
        assert all(model.ticket(f"{i}-{t}") == tickets[i][t] for i in range(4) for t in (0, 4))


@pytest.fixture
def collecting(switching: None) -> Iterator[None]:
    """Let the collector come all the time, with Python code, in which threads are switched."""

    def linger(*_: object) -> None:
        sum(number for number in range(30))

    before = gc.get_threshold()
    gc.callbacks.append(linger)
    gc.set_threshold(7, 2, 2)
    yield
    gc.set_threshold(*before)
    gc.callbacks.remove(linger)


def crowd_of(*works: Callable[[], None]) -> None:
    """Do some work in threads of their own, and raise the first error of any."""
    refused: list[BaseException] = []

    def attempt(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            refused.append(error)

    crowd = [threading.Thread(target=attempt, args=(work,)) for work in works]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    if refused:
        raise refused[0]


def live(name: str, model: Any, number: int, rounds: int) -> None:
    """Do rounds of a model, of which three in four are answered, and look at snapshots."""
    kind = MODELS[name]
    for turn in range(rounds):
        insist(kind.predict, model, turn, key=f"{number}-{turn}")
        if turn % 4:
            insist(model.observe, f"{number}-{turn}", kind.answer(turn))
        if turn % 10 == 9:
            type(model).restore(insist(model.snapshot))


@pytest.mark.parametrize("name", MODELS)
def test_threads_that_meet_in_the_collector_lose_nothing(name: str, collecting: None) -> None:
    """Up to Python 3.11 the collector may come wherever C code makes an object."""
    for _ in range(2):
        model = MODELS[name].make()
        crowd_of(*(partial(live, name, model, number, 200) for number in range(THREADS)))
        assert model.rounds == THREADS * 200
        check_inner(model)
        if not MODELS[name].expires:
            assert model.open == THREADS * 50


def log_of(begin: int, rounds: int) -> np.ndarray[Any, Any]:
    """Return the events of rounds that are answered at once."""
    tickets = np.arange(begin, begin + rounds)
    return np.column_stack((tickets, ~tickets)).ravel()


LOG = 3000
RUNS: dict[str, Callable[[Any, int], Any]] = {
    "learner, portfolio": lambda model, t: model.replay(
        log_of(t, LOG), np.tile(GRADIENT, (LOG, 1)), first=t
    ),
    "linear, squared": lambda model, t: model.replay(
        [ROW] * LOG, [VALUE] * LOG, log_of(t, LOG), first=t
    ),
    "knobs": lambda model, t: model.replay(
        None, [VALUE] * (LOG // 20), log_of(t, LOG // 20), first=t
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_log_in_one_thread_and_events_in_others(name: str, collecting: None) -> None:
    model, runs = MODELS[name].make(), 0

    def run() -> None:
        nonlocal runs
        while runs < 5:
            try:
                RUNS[name](model, model.rounds)
                runs += 1
            except BelatedError:  # other calls were at work, or have made predictions meanwhile
                time.sleep(1e-4)

    crowd_of(run, *(partial(live, name, model, number, 200) for number in range(2)))
    assert model.rounds == 400 + 5 * (LOG // 20 if name == "knobs" else LOG)
    restored = type(model).restore(model.snapshot())
    assert restored.snapshot() == model.snapshot()
