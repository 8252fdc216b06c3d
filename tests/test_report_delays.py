"""The largest delays in reports: of tickets that were answered, and of those that were not."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import belated as bl

INSIDE = bl.FirstOrder(bl.PFTRL(bl.Ball(2), bl.rates.Tight(1.0)))


def learner(spec: Any) -> Callable[[], Any]:
    return lambda: bl.Learner(spec)


MADE: dict[str, Callable[[], Any]] = {
    "learner": learner(INSIDE),
    "skip": learner(bl.Skip(INSIDE)),
    "deadline": learner(bl.Deadline(INSIDE, 6)),
    "capacity": learner(bl.Capacity(INSIDE, 4)),
    "two points": learner(bl.TwoPoint(bl.PFTRL(bl.Ball(2), bl.rates.DelayAdaptive(1.0)))),
    "copies": learner(bl.rivals.BOLD(INSIDE)),
    "linear": lambda: bl.LinearModel(bits=4),
    "linear, few": lambda: bl.LinearModel(bits=4, max_open=5),
    "linear, deadline": lambda: bl.LinearModel(bits=4, silence=0.0, deadline=6),
    "knobs": lambda: bl.Knobs({"x": (0.0, 1.0)}),
    "knobs, deadline": lambda: bl.Knobs({"x": (0.0, 1.0)}, silence=0.0, deadline=6),
    "chooser": lambda: bl.Chooser(["a", "b"], bits=4, silence=0.0, deadline=6),
}


def ask(model: Any) -> int:
    if isinstance(model, bl.Chooser):
        return int(model.choose({"x": 1.0}).ticket)
    if isinstance(model, bl.LinearModel):
        return int(model.predict([1.0, 0.5])[0])
    return int(model.predict()[0])


def answer(model: Any, ticket: int) -> bool:
    """Answer a ticket; tell whether that was used."""
    value: Any = 0.5
    if isinstance(model, bl.Learner):
        value = np.full(model._player.answer_size, 0.1)
    return model.observe(ticket, value) is not False


def counted(model: Any) -> Any:
    """The report that has the delays."""
    report = model.report()
    return getattr(report, "model", report)


@pytest.mark.parametrize("name", MADE)
def test_answers_and_what_is_never_answered_are_counted_apart(name: str) -> None:
    model = MADE[name]()
    draw, answered, waiting, rounds = random.Random(5), 0, [], 0
    lost: dict[int, int] = {}
    for step in range(120):
        waiting.append(ask(model))
        rounds += 1
        if step % 3 == 0:
            continue
        ticket = waiting.pop(draw.randrange(len(waiting)))
        age = rounds - 1 - ticket
        if step % 7 == 0:
            try:
                model.cancel(ticket)
            except (KeyError, ValueError):
                continue
            lost[ticket] = age
            continue
        try:
            is_used = answer(model, ticket)
        except (KeyError, ValueError):  # a capacity has lost it
            is_used = False
        if is_used:
            answered = max(answered, age)
        report = counted(model)
        assert report.max_answered_delay == answered
        assert report.max_delay == max(answered, report.max_unanswered_age)
        still = [rounds - 1 - each for each in waiting if model.is_open(each)]
        assert report.max_unanswered_age >= max(still, default=0)
        if report.skipped == 0 and not getattr(report, "settled", 0):
            assert report.max_unanswered_age == max([*still, *lost.values()], default=0)
    again = type(model).restore(model.snapshot())
    assert again.report().to_dict() == model.report().to_dict()


def test_tickets_that_are_never_answered_do_not_look_like_late_answers() -> None:
    """Every answer came at once, and the report said that the largest delay was 99."""
    model = bl.LinearModel(bits=4, wait=None)
    forgotten = model.predict([1.0]).ticket
    for _ in range(99):
        model.observe(model.predict([1.0]).ticket, 1.0)
    report = model.report()
    assert (report.max_answered_delay, report.max_unanswered_age, report.max_delay) == (0, 99, 99)
    assert "largest 0 with a label, 99 without" in str(report)
    model.cancel(forgotten)
    report = model.report()
    assert (report.max_answered_delay, report.max_unanswered_age, report.max_delay) == (0, 99, 99)
    given_up = bl.Learner(bl.Deadline(INSIDE, 10))
    given_up.predict()
    for _ in range(20):
        given_up.observe(given_up.predict().ticket, np.array([0.1, 0.0]))
    told = given_up.report()
    assert (told.max_answered_delay, told.max_unanswered_age) == (0, told.max_delay)
    assert 0 < told.max_delay <= 11


def test_an_audit_has_both(tmp_path: Path) -> None:
    log: dict[str, Any] = {
        "asked_at": [float(t) for t in range(50)],
        "answered_at": [t + 2.5 if t % 5 else None for t in range(50)],
    }
    audit = bl.audit(log)
    told = audit.to_dict()
    assert (told["max_answered_delay"], told["max_unanswered_age"]) == (2, 49)
    assert (
        told["max_delay"]
        == max(bl.Timeline.from_intervals(log["asked_at"], log["answered_at"]).delay)
        == 49
    )
    pytest.importorskip("vl_convert")
    audit.page(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "largest delay of an answer" in text
    assert "largest age without an answer" in text
    answered = {name: [time for i, time in enumerate(log[name]) if i % 5] for name in log}
    bl.audit(answered).page(tmp_path / "page.html")
    assert "largest age without an answer" not in (tmp_path / "page.html").read_text()
