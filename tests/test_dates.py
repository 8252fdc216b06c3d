"""Dates as files write them: every form, what is no date, and what is said of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from belated.errors import LogError
from belated.logs import Kinds, read
from belated.logs.dates import DIGITS, are_stamps

MOMENTS = np.array(["2026-01-05T08:00", "2026-02-28T23:59", "2026-12-31T00:30"], dtype="M8[ns]")
WRITTEN: dict[str, list[Any]] = {
    "digits to seconds": ["20260105080000", "20260228235900", "20261231003000"],
    "digits to minutes": ["202601050800", "202602282359", "202612310030"],
    "Oracle": ["05-Jan-26 08:00", "28-FEB-26 23:59", "31-Dec-26 12:30 AM"],
    "two digits": ["5 Jan 26 08:00", "28 February 26 23:59", "31 Dez. 26 00:30"],
    "name first": ["Jan 5, 26 8:00", "Feb 28, 26 23:59", "Dec 31, 26 00:30"],
    "a web server": [
        "05/Jan/2026:08:00:00 +0000",
        "28/Feb/2026:23:59:00 +0000",
        "31/Dec/2026:01:30:00 +0100",
    ],
    "in brackets": [
        "[05/Jan/2026:08:00:00 +0000]",
        "[28/Feb/2026:23:59:00 +0000]",
        "[31/Dec/2026:00:30:00 +0000]",
    ],
    "numbers": [20260105080000, 20260228235900, 20261231003000],
    "floats": [20260105080000.0, 20260228235900.0, 20261231003000.0],
}


@pytest.mark.parametrize("form", WRITTEN)
def test_dates_are_read_as_columns_of_times_and_as_features(form: str) -> None:
    cells = WRITTEN[form]
    log = read(
        {"t": cells, "done": [*cells[:2], None], "due_at": cells},
        "t",
        "done",
        features=["due_at"],
    )
    assert log.predicted_at.tolist() == MOMENTS.tolist()
    assert log.answered.tolist() == [True, True, False]
    assert log.kinds["due_at"].what == "time"
    live = Kinds.from_dict(log.kinds.to_dict())
    assert [live.row({"due_at": cell}) for cell in cells if not isinstance(cell, float)] == [
        log.row(i) for i in range(3) if not isinstance(cells[i], float)
    ]


def test_times_in_digits_are_guessed_by_name() -> None:
    cells = WRITTEN["digits to seconds"]
    log = read({"asked_at": cells, "answered_at": ["0", "0", cells[2]], "size": [1, 2, 3]})
    assert log.is_calendar
    assert log.answered.tolist() == [False, False, True]
    assert f"asked_at is read as {DIGITS}" in log.notes


@pytest.mark.parametrize(
    ("values", "are"),
    [
        ([20260105], True),
        ([20260229], False),
        ([202601052460], False),
        ([202601052359, 202601052400], False),
        ([20260105, 20260105080000], False),
        ([20260105.5], False),
        ([19991231235959, 21001231235959], True),
        ([1_767_571_761], False),
        ([1_767_571_761_743], False),
    ],
)
def test_numbers_are_dates_only_if_each_of_them_is(values: list[float], are: bool) -> None:
    assert are_stamps(np.array(values)) is are


def test_codes_with_letters_are_no_dates() -> None:
    table = {"asked_at": [1, 2, 3], "answered_at": [2, 3, 4], "code": ["12-abc-34"] * 2 + ["5-x-6"]}
    assert read(table, features="all").kinds["code"].what == "text"


@pytest.mark.parametrize("column", ["asked_at", "answered_at"])
def test_dates_that_cannot_be_read_are_shown_with_what_can(column: str) -> None:
    good = ["2026-01-05", "2026-01-06", "2026-01-07"]
    table = {"asked_at": good, "answered_at": good, "size": [1, 2, 3]}
    table[column] = ["8h on the 5th", "9h on the 6th", "8h on the 7th"]
    says = rf"'{column}' of columns holds no times .*'8h on the 5th'.*31/May/2024:13:30:00"
    with pytest.raises(LogError, match=says):
        read(table)
    with pytest.raises(LogError, match=says):
        read(table, "asked_at", "answered_at")
