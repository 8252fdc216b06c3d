"""Lengths of time as people give them: one grammar for all commands."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from belated.errors import LogError
from belated.evaluations import evaluate
from belated.logs.spans import span_in
from belated.replays import replay
from belated.replays.labels import in_unit

SPANS: list[tuple[Any, Any, float]] = [
    ("2d", "h", 48.0),
    ("2 days", "h", 48.0),
    ("2D", "h", 48.0),
    (".5h", "min", 30.0),
    ("1.5 h", "min", 90.0),
    ("1 week", "d", 7.0),
    ("2w", "d", 14.0),
    ("90 minutes", "s", 5400.0),
    ("5 seconds", "s", 5.0),
    ("250 ms", "s", 0.25),
    ("1e3", None, 1000.0),
    ("7", None, 7.0),
    (7, None, 7.0),
    (timedelta(minutes=3), "min", 3.0),
    (np.timedelta64(3, "m"), "min", 3.0),
]


@pytest.mark.parametrize(("given", "unit", "expected"), SPANS)
def test_every_command_reads_the_same(given: Any, unit: Any, expected: float) -> None:
    assert span_in(given, unit, "evaluate") == expected
    assert in_unit(given, unit) == expected


@pytest.mark.parametrize(
    "wrong",
    ["soon", "-3d", "3 parsecs", "3 ss", "", "d", -1, True, float("nan"), float("inf"), None, b"3"],
)
def test_what_is_no_length_of_time(wrong: Any) -> None:
    with pytest.raises(LogError, match="evaluate: a deadline is"):
        span_in(wrong, "s", "evaluate")
    with pytest.raises(LogError, match="replay: a deadline is"):
        in_unit(wrong, "s")


def test_nothing_is_a_deadline_of_decisions_but_not_of_predictions() -> None:
    """A reward may come at once; where silence has no time to be heard, it is no answer."""
    assert span_in("0d", "s", "evaluate") == 0.0
    with pytest.raises(LogError, match="a deadline is longer than nothing"):
        in_unit("0d", "s")


def test_lengths_of_time_need_a_unit() -> None:
    with pytest.raises(LogError, match="nobody said what one unit is, so '2d'"):
        span_in("2d", None, "evaluate")


@pytest.mark.parametrize("given", ["14", 14, 14.0])
def test_a_plain_number_beside_dates_is_asked_about(given: Any) -> None:
    with pytest.raises(LogError, match=r"14 of what.*such as 14d, 14h or 14min"):
        span_in(given, "ms", "evaluate", has_dates=True)
    with pytest.raises(LogError, match="14 of what"):
        in_unit(given, "ns", has_dates=True)
    assert span_in("14d", "ms", "evaluate", has_dates=True) == 14 * 86_400_000.0
    assert span_in(given, "ms", "evaluate") == 14.0
    assert span_in(0, "s", "evaluate", has_dates=True) == 0.0


def counted_in_ms() -> dict[str, Any]:
    """Return a log of sales whose times count milliseconds since 1970."""
    start, day = 1_717_162_200_000, 86_400_000
    shown = [start + i * day // 4 for i in range(240)]
    bought = [at + (i % 9) * day // 2 if i % 3 == 0 else None for i, at in enumerate(shown)]
    sold = [1.0 if i % 3 == 0 else None for i in range(240)]
    return {
        "shown_at": shown,
        "bought_at": bought,
        "sold": sold,
        "price": [float(i % 7) for i in range(240)],
    }


def test_counts_since_1970_need_a_unit_for_their_deadline() -> None:
    log = counted_in_ms()
    with pytest.raises(LogError, match="replay: 14 of what"):
        replay(log, "sold", silence=0, deadline="14", loss="logistic")
    found = replay(log, "sold", silence=0, deadline=timedelta(days=3), loss="logistic")
    assert found.task.how.deadline == timedelta(days=3)
    decisions = {
        "shown_at": log["shown_at"],
        "bought_at": log["bought_at"],
        "reward": log["sold"],
        "action": [f"a{i % 2}" for i in range(240)],
        "probability": [0.5] * 240,
    }
    with pytest.raises(LogError, match="evaluate: 14 of what"):
        evaluate(decisions, silence=0.0, deadline=14, chooser=False)
    options: dict[str, Any] = {"silence": 0.0, "deadline": "3d", "chooser": False}
    judged = evaluate(decisions, **options)
    assert judged.ripe.deadline == 3 * 86_400_000.0
    ended = evaluate(decisions, until="2024-07-01", **options)
    again = evaluate(decisions, until=1_719_792_000_000, **options)
    assert ended.counted == again.counted < judged.counted
