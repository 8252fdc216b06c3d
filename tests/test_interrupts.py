"""Events that are interrupted, or find no memory, in memory: they change all, or nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.errors import AlreadyObserved, BadKey
from conftest import everything
from interrupts import interrupted

pytestmark = [pytest.mark.compiled, pytest.mark.needs_compiler]

NOON = datetime(2026, 3, 1, 12)
WIDE = np.arange(150), np.linspace(-1.0, 1.0, 150)  # has no room in a new model
Made = Any
Act = Callable[[Made], Any]
Event = tuple[Callable[[], Made], Act]


def check(event: Event, go_on: Act, kind: type[BaseException], *more: int, step: int = 1) -> None:
    """Demand that whatever was interrupted is as before or as after, and goes on like that.

    The quick pass tries one moment in seven. An event that is one call of C has no such moment.
    """
    make, act = event
    untouched, whole = make(), make()
    act(whole)
    goings = {}
    for each in (untouched, whole):
        blob = each.snapshot()
        go_on(each)
        goings[blob] = each.snapshot()
    moments, step = 0, step if everything() else 7 * step
    for found in interrupted(make, act, kind, *more, step=step):
        moments += 1
        if moments % 3 == 0:  # nothing looks in between, as a snapshot would
            go_on(found)
            assert found.snapshot() in goings.values()
            continue
        blob = found.snapshot()
        assert blob in goings
        for each in (found, type(found).restore(blob)):
            go_on(each)
            assert each.snapshot() == goings[blob]


def check_all(event: Event, go_on: Act) -> None:
    """Demand it of one interrupt at any moment, and of two where all is asked for."""
    check(event, go_on, KeyboardInterrupt)
    for later in (0, 1, 2, 4, 9) if everything() else (1,):
        check(event, go_on, KeyboardInterrupt, later, step=3)


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
        made.observe(ticket, float(ticket % 5))
    at = None if made.model.settings.deadline is None else 50.0
    for turn in range(3):
        ticket = made.predict({"x": float(turn), "y": 1.0}, key="again", at=at).ticket
        assert made.model.ticket("again") == ticket
        made.observe("again", 2.0)
    made.report()


def heard_by(made: Made, *tickets: int) -> Made:
    """Return something that has heard answers since its last prediction."""
    for ticket in tickets:
        made.observe(ticket, float(ticket % 2))
    return made


OF_INTERVALS: dict[str, Event] = {
    "predict": (intervals, lambda i: i.predict({"x": 1.0})),
    "a vector": (intervals, lambda i: i.predict([1.0, 2.0])),
    "a key": (intervals, lambda i: i.predict({"x": 1.0}, key="new")),
    "a date": (intervals, lambda i: i.predict({"x": 1.0}, key="new", at=NOON)),
    "a time": (
        lambda: intervals(deadline=5.0, wait=None),
        lambda i: i.predict({"x": 1.0}, key="new", at=14.0),
    ),
    "growing": (lambda: intervals(bits=8), lambda i: i.predict(WIDE, key="new")),
    "more tickets": (lambda: intervals(rounds=8), lambda i: i.predict({"x": 1.0})),
    "tidying": (
        lambda: intervals(rounds=65, wait={"predictions": 5}),
        lambda i: i.predict({"x": 1.0}),
    ),
    "observe": (intervals, lambda i: i.observe(10, 1.5)),
    "by key": (intervals, lambda i: i.observe("k11", 1.5)),
    "far away": (intervals, lambda i: i.observe("k11", 1e20)),
    "unbounded": (intervals, lambda i: i.observe(0, 1.5)),
    "late": (lambda: intervals(wait={"predictions": 3}), lambda i: i.observe(0, 1.5)),
    "too late": (
        lambda: intervals(deadline=5.0, wait=None),
        lambda i: i.observe("k5", 1.5, at=13.0),
    ),
    "cancel": (intervals, lambda i: i.cancel("k11")),
    "tick": (lambda: intervals(deadline=5.0, wait=None), lambda i: i.tick(14.5)),
    "snapshot": (intervals, lambda i: i.snapshot()),
    "peek": (intervals, lambda i: (i.peek({"x": 1.0}), i.report())),
    "a second label": (lambda: heard_by(intervals(), 8), lambda i: i.observe(10, 1.5)),
    "predict after labels": (
        lambda: heard_by(intervals(), 8, 1),
        lambda i: i.predict({"x": 1.0}, key="new"),
    ),
    "growing after labels": (
        lambda: heard_by(intervals(bits=8), 8, 1),
        lambda i: i.predict(WIDE, key="new"),
    ),
    "cancel after labels": (lambda: heard_by(intervals(), 8, 1), lambda i: i.cancel("k11")),
}


@pytest.mark.parametrize("event", OF_INTERVALS)
def test_events_of_intervals_are_whole(event: str) -> None:
    check_all(OF_INTERVALS[event], on)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["absolute", "huber", "quantile", "poisson"])
@pytest.mark.parametrize("event", ["a key", "by key", "cancel"])
def test_events_of_intervals_are_whole_with_every_loss(loss: str, event: str) -> None:
    check_all((lambda: intervals(loss), OF_INTERVALS[event][1]), on)


@pytest.mark.parametrize("event", ["growing", "by key", "tidying"])
def test_intervals_that_find_no_memory_are_whole(event: str) -> None:
    check(OF_INTERVALS[event], on, MemoryError)


# --- Linear models --------------------------------------------------------------------------------


def model(rounds: int = 12, **more: Any) -> bl.LinearModel:
    """Return a model that has heard some labels and waits for others."""
    made = bl.LinearModel("squared", **({"bits": 8} | more))
    for turn in range(rounds):
        at = float(turn) if "deadline" in more else None
        made.predict({"x": float(turn % 3)}, key=f"k{turn}" if turn % 2 else None, at=at)
        if turn in (5, 7, 9):
            made.observe(turn - 3, float(turn % 2), at=at)
    return made


def timed() -> bl.LinearModel:
    return model(deadline=5.0, wait=None)


def dated() -> bl.LinearModel:
    return bl.LinearModel("squared", bits=6, deadline="5h")


def silent() -> bl.LinearModel:
    return model(silence=0.0, deadline=5.0)


def later_than(has_dates: bool, deadline: float | None) -> Any:
    """Return a time after all others, if there are times."""
    return None if deadline is None else NOON if has_dates else 50.0


def learn_on(made: bl.LinearModel) -> None:
    """Answer what can be answered, and some more."""
    for ticket in sorted(made.answerable()):
        made.observe(ticket, float(ticket % 2))
    needs_dates = made._linear.kind_of_times > 1 or made.settings.needs_times
    at = later_than(needs_dates, made.settings.deadline)
    for turn in range(3):
        ticket = made.predict({"x": float(turn), "y": 1.0}, key="again", at=at).ticket
        assert made.ticket("again") == ticket
        made.observe("again", 1.0)


def hearing(made: bl.LinearModel, *tickets: int, looks: bool = False) -> bl.LinearModel:
    """Return a model that has heard labels since its last prediction, and was looked at maybe."""
    for ticket in tickets:
        made.observe(ticket, float(ticket % 3))
    if looks:
        made.peek({"x": 1.0})
    return made


ROWS = [{"x": 1.0}, {"x": 2.0}, {"y": 1.0}]
OF_MODELS: dict[str, Event] = {
    "predict": (model, lambda m: m.predict({"x": 1.0})),
    "a pair": (model, lambda m: m.predict((np.arange(3), np.ones(3)))),
    "a key": (model, lambda m: m.predict({"x": 1.0}, key="new")),
    "a date": (model, lambda m: m.predict({"x": 1.0}, key="new", at=NOON)),
    "the first date": (dated, lambda m: m.predict({"x": 1.0}, key="new", at=NOON)),
    "a time": (timed, lambda m: m.predict({"x": 1.0}, key="new", at=14.0)),
    "growing": (model, lambda m: m.predict(WIDE, key="new")),
    "observe": (model, lambda m: m.observe(10, 1.0)),
    "by key": (model, lambda m: m.observe("k11", 1.0)),
    "late": (timed, lambda m: m.observe("k5", 1.0, at=13.0)),
    "revise": (silent, lambda m: m.revise("k11", 1.0, at=12.0)),
    "add": (silent, lambda m: m.add("k11", 1.0, at=12.0)),
    "cancel": (model, lambda m: m.cancel("k11")),
    "tick": (timed, lambda m: m.tick(14.5)),
    "tick with a date": (dated, lambda m: m.tick(NOON)),
    "many": (model, lambda m: m.predict_many(ROWS, keys=["new", None, "newer"])),
    "many with a date": (dated, lambda m: m.predict_many(ROWS, keys=["a", "b", "c"], at=NOON)),
    "many labels": (model, lambda m: m.observe_many(["k11", 10, "k9"], [1.0, 2.0, 3.0])),
    "predict after a label": (lambda: hearing(model(), 8), lambda m: m.predict({"x": 1.0})),
    "growing after a label": (lambda: hearing(model(), 8), lambda m: m.predict(WIDE, key="new")),
    "a second label": (lambda: hearing(model(), 8), lambda m: m.observe(10, 1.0)),
    "more labels": (
        lambda: hearing(model(), 8, looks=True),
        lambda m: m.observe_many(["k11", 10, "k9"], [1.0, 2.0, 3.0]),
    ),
    "predict after labels": (lambda: hearing(model(), 8, 1), lambda m: m.predict({"x": 1.0})),
    "growing after labels": (
        lambda: hearing(model(), 8, 1, looks=True),
        lambda m: m.predict(WIDE, key="new"),
    ),
    "many after labels": (
        lambda: hearing(model(), 8, 1),
        lambda m: m.predict_many(ROWS, keys=["new", None, "newer"]),
    ),
    "a third label": (
        lambda: hearing(model(), 8, 1, looks=True),
        lambda m: m.observe("k11", 1.0),
    ),
    "cancel after labels": (lambda: hearing(model(), 8, 1), lambda m: m.cancel("k11")),
    "tick after labels": (lambda: hearing(timed(), 8, 10), lambda m: m.tick(14.5)),
    "a late label after labels": (
        lambda: hearing(timed(), 8, 10),
        lambda m: m.observe("k11", 1.0, at=14.5),
    ),
    "peek after labels": (
        lambda: hearing(model(), 8, 1),
        lambda m: (m.peek({"x": 1.0}), m.report(), m.snapshot()),
    ),
}


@pytest.mark.parametrize("event", OF_MODELS)
def test_events_of_linear_models_are_whole(event: str) -> None:
    check_all(OF_MODELS[event], learn_on)


def test_a_key_whose_prediction_was_interrupted_is_asked_again_for_many() -> None:
    expected = model()
    expected.predict({"x": 1.0}, key="new")
    expected.observe("new", 1.0)
    for found in interrupted(model, lambda m: m.predict({"x": 1.0}, key="new")):
        with suppress(BadKey):  # it has happened
            found.predict_many([{"x": 1.0}], keys=["new"])
        assert found.observe_many(["new"], [1.0]).tolist() == [True]
        assert found.snapshot() == expected.snapshot()


@pytest.mark.parametrize("rows", [40, 300])
def test_many_rows_that_let_a_model_grow_have_their_keys_as_far_as_they_came(rows: int) -> None:
    given = np.linspace(-1.0, 1.0, 20 * rows).reshape(rows, 20)
    keys = [f"new{i}" for i in range(rows)]
    for found in interrupted(model, lambda m: m.predict_many(given, keys=keys), step=11):
        restored = bl.LinearModel.restore(found.snapshot())
        handed_out = restored.rounds - 12
        assert 0 <= handed_out <= rows
        assert [restored.ticket(key) for key in keys[:handed_out]] == [*range(12, 12 + handed_out)]


def test_a_ticket_that_has_no_hash_is_answered_as_any_other() -> None:
    for made, verb in ((intervals(), "observe"), (model(), "observe"), (chooser(), "observe")):
        ticket = np.array(10)
        getattr(made, verb)(ticket, 1.0)
        assert type(made).restore(made.snapshot()).snapshot() == made.snapshot()


# --- Choosers -------------------------------------------------------------------------------------


def chooser(rounds: int = 12, **more: Any) -> bl.Chooser:
    """Return a chooser that has heard some rewards, waits for others, and has shown not all."""
    made = bl.Chooser(["a", "b", "c"], bits=8, silence=0.0, deadline=20.0, **more)
    for turn in range(rounds):
        key, shown = f"k{turn}" if turn % 2 else None, turn % 4 != 3
        made.choose({"x": float(turn % 3)}, key=key, at=float(turn), shown=shown, baseline="b")
        if turn in (4, 6):
            made.observe(turn - 4, 1.0, at=float(turn))
    return made


def crowded() -> bl.Chooser:
    return chooser(rounds=64, max_open=3)


def choose_on(made: bl.Chooser) -> None:
    """Show and answer what can be, and some more."""
    for ticket, kept in sorted(made._choices.open.items()):
        if kept.row is not None:
            made.shown(ticket, at=70.0)
        with suppress(AlreadyObserved):
            made.observe(ticket, float(ticket % 2))
    for turn in range(3):
        made.choose({"x": float(turn)}, key="again", at=90.0)
        made.observe("again", 1.0)
    made.report()


CONTEXT = {"x": 1.0}
OF_CHOOSERS: dict[str, Event] = {
    "choose": (chooser, lambda c: c.choose(CONTEXT, at=13.0)),
    "a key": (chooser, lambda c: c.choose(CONTEXT, key="new", at=13.0, baseline="a")),
    "a new action": (chooser, lambda c: c.choose(CONTEXT, ["d"], key="new", at=13.0)),
    "not shown": (chooser, lambda c: c.choose(CONTEXT, key="new", at=13.0, shown=False)),
    "shown": (chooser, lambda c: c.shown("k11", at=13.0)),
    "observe": (chooser, lambda c: c.observe("k9", 1.0, at=13.0)),
    "revise": (chooser, lambda c: c.revise("k9", 1.0, at=13.0)),
    "add": (chooser, lambda c: c.add("k9", 1.0, at=13.0)),
    "late": (chooser, lambda c: c.observe("k1", 1.0, at=22.0)),
    "cancel": (chooser, lambda c: c.cancel("k9")),
    "withdraw": (chooser, lambda c: c.cancel("k11")),
    "tick": (chooser, lambda c: c.tick(23.0)),
    "tidying": (crowded, lambda c: c.choose(CONTEXT, at=70.0)),
    "crowding out": (crowded, lambda c: c.choose(CONTEXT, at=70.0, shown=False)),
    "a second reward": (lambda: heard_by(chooser(), 8), lambda c: c.observe("k9", 1.0)),
    "choose after rewards": (
        lambda: heard_by(chooser(), 8, 5),
        lambda c: c.choose(CONTEXT, key="new", at=13.0),
    ),
    "shown after rewards": (
        lambda: heard_by(chooser(), 8, 5),
        lambda c: c.shown("k11", at=13.0),
    ),
    "cancel after rewards": (lambda: heard_by(chooser(), 8, 5), lambda c: c.cancel("k9")),
}


@pytest.mark.parametrize("event", OF_CHOOSERS)
def test_events_of_choosers_are_whole(event: str) -> None:
    check_all(OF_CHOOSERS[event], choose_on)


# --- Knobs ----------------------------------------------------------------------------------------


def knobs(rounds: int = 12) -> bl.Knobs:
    """Return knobs that have heard some costs and wait for others."""
    made = bl.Knobs({"x": (0, 1), "y": (0, 2)}, holdout=0.2, silence=1.0, deadline=20.0)
    for turn in range(rounds):
        made.predict(key=f"k{turn}" if turn % 2 else None, at=float(turn))
        if turn in (4, 6):
            made.observe(turn - 4, 1.0, at=float(turn))
    return made


def dated_knobs() -> bl.Knobs:
    return bl.Knobs({"x": (0, 1)}, deadline="5h")


def alarmed() -> bl.Knobs:
    """Return knobs that went back to the start by themselves."""
    made = knobs()
    made.revert()
    told = made._tuner.comparison
    told.alarmed = told.alarms = told.compared = told.answers[0] = 1
    return made


def turn_on(made: bl.Knobs) -> None:
    """Answer what can be answered, and some more."""
    for ticket in sorted(made._tuner.tickets.answerable()):
        made.observe(ticket, float(ticket % 3))
    at = later_than(made.settings.needs_times, made.settings.deadline)
    for _ in range(3):
        made.predict(key="again", at=at)
        made.observe("again", 1.0)


OF_KNOBS: dict[str, Event] = {
    "predict": (knobs, lambda k: k.predict(at=13.0)),
    "a key": (knobs, lambda k: k.predict("new", at=13.0)),
    "the first date": (dated_knobs, lambda k: k.predict("new", at=NOON)),
    "growing": (lambda: knobs(rounds=16), lambda k: k.predict("new", at=17.0)),
    "observe": (knobs, lambda k: k.observe("k9", 1.0, at=13.0)),
    "revise": (knobs, lambda k: k.revise("k9", 1.0)),
    "cancel": (knobs, lambda k: k.cancel("k9")),
    "tick": (knobs, lambda k: k.tick(24.0)),
    "tick with a date": (dated_knobs, lambda k: k.tick(NOON)),
    "played": (knobs, lambda k: k.played("k9", {"x": 0.5, "y": 0.5})),
    "pause": (knobs, lambda k: k.pause()),
    "revert": (knobs, lambda k: k.revert()),
    "resume": (alarmed, lambda k: k.resume()),
    "run": (knobs, lambda k: k.run([12, 13, ~12], [1.0, 2.0], first=12, at=[13.0, 13.0, 14.0])),
}


@pytest.mark.parametrize("event", OF_KNOBS)
def test_events_of_knobs_are_whole(event: str) -> None:
    """Settings and times are Python code, before and after what changes anything."""
    make, act = OF_KNOBS[event]
    if event in ("revise", "cancel", "pause", "revert", "resume"):  # one call of C
        assert not [*interrupted(make, act, KeyboardInterrupt, step=1)]
    else:
        check_all((make, act), turn_on)


# --- Learners -------------------------------------------------------------------------------------


def learner(capacity: int | None = None, rounds: int = 12) -> bl.Learner:
    """Return a learner that has some answers and waits for others."""
    problem = bl.Problem(bl.Ball(3), lipschitz=1.0)
    made = bl.Learner(problem.learner("gradient", base="pftrl", capacity=capacity))
    for turn in range(rounds):
        made.predict(f"k{turn}" if turn % 2 else None)
        if turn in (4, 6):
            made.observe(turn - 4, np.full(3, 0.5))
    return made


def tracked() -> bl.Learner:
    return learner(capacity=5)


def play_on(made: bl.Learner) -> None:
    """Answer what can be answered, and some more."""
    for ticket in sorted(made._player.tickets.answerable()):
        made.observe(ticket, np.full(3, 0.1 * (ticket % 3)))
    for _ in range(3):
        made.predict("again")
        made.observe("again", np.full(3, 0.5))


OF_LEARNERS: dict[str, Event] = {
    "predict": (learner, lambda p: p.predict()),
    "a key": (learner, lambda p: p.predict("new")),
    "the first key": (lambda: learner(rounds=1), lambda p: p.predict("new")),
    "growing": (lambda: learner(rounds=18), lambda p: p.predict("new")),
    "observe": (learner, lambda p: p.observe(10, np.full(3, 0.3))),
    "by key": (tracked, lambda p: p.observe("k9", [0.1, 0.2, 0.3])),
    "cancel": (learner, lambda p: p.cancel("k9")),
    "run": (learner, lambda p: p.run([12, 13, ~12], np.full((2, 3), 0.3), first=12)),
}


ONE_CALL = ("predict", "a key", "the first key", "growing", "observe", "cancel")
"""Events that are one C call, so that there is no moment to interrupt them."""


@pytest.mark.parametrize("event", OF_LEARNERS)
def test_events_of_learners_are_whole(event: str) -> None:
    make, act = OF_LEARNERS[event]
    if event in ONE_CALL:
        assert not [*interrupted(make, act, KeyboardInterrupt, step=1)]
    else:
        check_all((make, act), play_on)


def regression(rounds: int = 12) -> bl.rivals.DelayedVAW:
    """Return a regression that has some labels and waits for others."""
    made = bl.rivals.DelayedVAW(2, 1.0, 1.0)
    for turn in range(rounds):
        made.predict([0.1 * turn, 0.5], key=f"k{turn}" if turn % 2 else None)
        if turn in (4, 6):
            made.observe(turn - 4, 0.5)
    return made


def regress_on(made: bl.rivals.DelayedVAW) -> None:
    """Answer what can be answered, and some more."""
    for ticket in sorted(made._model.tickets.answerable()):
        made.observe(ticket, 0.25)
    for _ in range(3):
        made.predict([0.5, 0.5], key="again")
        made.observe("again", 0.5)


OF_REGRESSIONS: dict[str, Event] = {
    "a key": (regression, lambda r: r.predict([0.5, 0.25], key="new")),
    "growing": (lambda: regression(rounds=18), lambda r: r.predict([0.5, 0.25], key="new")),
    "by key": (regression, lambda r: r.observe("k9", 0.5)),
}


@pytest.mark.parametrize("event", OF_REGRESSIONS)
def test_events_of_regressions_are_whole(event: str) -> None:
    check_all(OF_REGRESSIONS[event], regress_on)


@pytest.mark.parametrize("kind", [TimeoutError, KeyboardInterrupt])
def test_handlers_may_raise_errors_of_any_kind(kind: type[BaseException]) -> None:
    check(OF_INTERVALS["by key"], on, kind, 1)
    check((chooser, lambda c: c.observe("k9", 1.0, at=12.0)), choose_on, kind, 1)
