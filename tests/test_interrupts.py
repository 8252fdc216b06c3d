"""Events that are interrupted, or find no memory, in memory: they change all, or nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.learner.keys import Ticket
from interrupts import interrupted

pytestmark = [pytest.mark.compiled, pytest.mark.needs_compiler]

NOON = datetime(2026, 3, 1, 12)
WIDE = np.arange(150), np.linspace(-1.0, 1.0, 150)  # has no room in a new model
Act = Callable[[Any], Any]


def check(
    make: Callable[[], Any],
    act: Act,
    go_on: Act,
    kind: type[BaseException] = KeyboardInterrupt,
    *more: int,
    step: int = 1,
) -> None:
    """Demand that whatever was interrupted is as before or as after, and goes on like that."""
    untouched, whole = make(), make()
    act(whole)
    ends = {each.snapshot(): each for each in (untouched, whole)}
    goings = {}
    for blob, each in ends.items():
        go_on(each)
        goings[blob] = each.snapshot()
    moments = 0
    for found in interrupted(make, act, kind, *more, step=step):
        moments += 1
        blob = found.snapshot()
        assert blob in goings
        again = type(found).restore(blob)
        go_on(found)
        assert found.snapshot() == goings[blob]
        go_on(again)
        assert again.snapshot() == goings[blob]
    assert moments > 2


# --- Intervals ------------------------------------------------------------------------------------


def intervals(loss: Any = "squared", rounds: int = 12, **more: Any) -> bl.Intervals:
    """Return intervals that have heard some labels and wait for others."""
    made = bl.Intervals(bl.LinearModel(loss, **({"bits": 6} | more)), coverage=0.8)
    for turn in range(rounds):
        at = float(turn) if "deadline" in more else None
        key = f"k{turn}" if turn % 2 else None
        made.predict({"x": float(turn % 3)}, key=key, at=at)
        if turn in (5, 7, 9):
            made.observe(turn - 3, float(turn % 4), at=at)
    return made


def on(made: bl.Intervals) -> None:
    """Answer what can be answered, and some more."""
    for ticket in sorted(made.model.answerable()):
        made.observe(Ticket(ticket), float(ticket % 5))
    at = None if made.model.settings.deadline is None else 50.0
    for turn in range(3):
        ticket = made.predict({"x": float(turn), "y": 1.0}, key="again", at=at).ticket
        assert made.model.ticket("again") == ticket
        made.observe("again", 2.0)
    made.report()


EVENTS: dict[str, tuple[Callable[[], bl.Intervals], Act]] = {
    "predict": (intervals, lambda i: i.predict({"x": 1.0})),
    "a vector": (intervals, lambda i: i.predict([1.0, 2.0])),
    "a key": (intervals, lambda i: i.predict({"x": 1.0}, key="new")),
    "a number as key": (intervals, lambda i: i.predict({"x": 1.0}, key=7000)),
    "a date": (intervals, lambda i: i.predict({"x": 1.0}, key="new", at=NOON)),
    "a time": (
        lambda: intervals(deadline=5.0, wait=None),
        lambda i: i.predict({"x": 1.0}, key="new", at=14.0),
    ),
    "growing": (lambda: intervals(bits=8), lambda i: i.predict(WIDE, key="new")),
    "more tickets": (lambda: intervals(rounds=8), lambda i: i.predict({"x": 1.0})),
    "tidying": (lambda: intervals(rounds=65, wait=5), lambda i: i.predict({"x": 1.0})),
    "observe": (intervals, lambda i: i.observe(10, 1.5)),
    "by key": (intervals, lambda i: i.observe("k11", 1.5)),
    "far away": (intervals, lambda i: i.observe("k11", 1e50)),
    "unbounded": (intervals, lambda i: i.observe(0, 1.5)),
    "late": (lambda: intervals(wait=3), lambda i: i.observe(0, 1.5)),
    "too late": (
        lambda: intervals(deadline=5.0, wait=None),
        lambda i: i.observe("k5", 1.5, at=13.0),
    ),
    "cancel": (intervals, lambda i: i.cancel("k11")),
    "tick": (lambda: intervals(deadline=5.0, wait=None), lambda i: i.tick(14.5)),
    "snapshot": (intervals, lambda i: i.snapshot()),
    "peek": (intervals, lambda i: (i.peek({"x": 1.0}), i.report())),
}


@pytest.mark.parametrize("event", EVENTS)
def test_intervals_that_are_interrupted_have_changed_in_nothing_or_in_all(event: str) -> None:
    make, act = EVENTS[event]
    check(make, act, on)


@pytest.mark.parametrize("event", EVENTS)
def test_a_second_interrupt_changes_nothing_of_that(event: str) -> None:
    make, act = EVENTS[event]
    for later in (0, 1, 2, 4, 9):
        check(make, act, on, KeyboardInterrupt, later, step=3)


@pytest.mark.parametrize("loss", ["absolute", "huber", "quantile", "poisson"])
@pytest.mark.parametrize("event", ["a key", "by key", "cancel"])
def test_every_loss_has_whole_events(loss: str, event: str) -> None:
    check(lambda: intervals(loss), EVENTS[event][1], on, step=2)


@pytest.mark.parametrize("event", ["growing", "by key", "tidying"])
def test_intervals_that_find_no_memory_are_whole(event: str) -> None:
    make, act = EVENTS[event]
    check(make, act, on, MemoryError)
