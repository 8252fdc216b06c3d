"""Times around the nights in which clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

import belated as bl
from belated.models.moments import read_time, read_times

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("wall", "fold", "utc"),
    [
        ("2026-10-25T02:30", 0, "2026-10-25T00:30"),  # occurs twice: the first one
        ("2026-10-25T02:30", 1, "2026-10-25T01:30"),  # and the second
        ("2026-03-29T02:30", 0, "2026-03-29T01:30"),  # does not exist: not put forward yet
        ("2026-03-29T02:30", 1, "2026-03-29T00:30"),  # put forward already
    ],
)
def test_wall_times_of_a_zone_are_read_as_python_does(wall: str, fold: int, utc: str) -> None:
    at = datetime.fromisoformat(wall).replace(tzinfo=BERLIN, fold=fold)
    wanted = datetime.fromisoformat(utc).replace(tzinfo=UTC).timestamp()
    assert read_time(at, "doc") == wanted
    assert read_times([at], "doc")[0].tolist() == [wanted]


@pytest.mark.parametrize("frame", ["list", "pandas", "polars"])
def test_columns_of_a_zone_go_on_when_its_clock_does_not(frame: str) -> None:
    start = datetime(2026, 10, 24, 22, tzinfo=UTC)
    hours: Any = [(start + timedelta(hours=i)).astimezone(BERLIN) for i in range(6)]
    if frame != "list":
        hours = pytest.importorskip(frame).Series(hours)
    times = read_times(hours, "doc")[0]
    assert (times[1:] - times[:-1]).tolist() == [3600.0] * 5


@pytest.mark.parametrize(("day", "hours"), [("2026-10-24", 25), ("2026-03-28", 23)])
def test_a_deadline_is_a_length_of_time_and_no_time_of_day(day: str, hours: int) -> None:
    model = bl.LinearModel("logistic", bits=4, silence=0, deadline="24h")
    noon = datetime.fromisoformat(f"{day}T12:00").replace(tzinfo=BERLIN)
    model.predict({"x": 1}, key="click", at=noon)
    next_noon = (noon + timedelta(days=1)).replace(tzinfo=BERLIN)  # by the wall clock
    assert next_noon.timestamp() - noon.timestamp() == 3600 * hours
    assert model.observe("click", 1, at=next_noon) is (hours <= 24)
