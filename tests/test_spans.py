"""Lengths of time as people give them: one grammar for all commands."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from belated.errors import LogError
from belated.logs.spans import span_in
from belated.replays.silence import in_unit

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
