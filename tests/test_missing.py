"""What stands for nothing in a log: marks in any column, and numbers in that of answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from belated.errors import LogError
from belated.logs import Kind, Kinds, read
from belated.logs.dates import DIGITS, are_stamps
from belated.replays.labels import Labels, Silence
from belated.replays.task import Asked, task_of

START = 1_767_571_761_743
MARKS = ("", "-", "--", "?", "k.A.", "n/a", "N/A", "NA", "nan", "None", "NULL", "#N/A", "n.a.")


@pytest.mark.parametrize("mark", MARKS)
def test_marks_in_numbers_and_times(mark: str) -> None:
    log = read(
        {
            "asked_at": ["1.6.2024 13:30", "2.6.2024 13:30", "30.6.2024 13:30"],
            "answered_at": ["3.6.2024 13:30", mark, "30.6.2024 14:00"],
            "Menge": ["1.234,5", mark, "12,25"],
        },
        features=["Menge"],
    )
    assert log.answered.tolist() == [True, False, True]
    assert np.isnan(log.features["Menge"]).tolist() == [False, True, False]
    assert Kind("Menge", "number", form="decimal comma").features(mark) == {}


def test_zero_dates_are_no_answer() -> None:
    days = ["2024-06-01 10:00:00", "2024-06-02 10:00:00", "2024-06-03 10:00:00"]
    log = read({"asked_at": days, "answered_at": [days[1], "0000-00-00 00:00:00", "0000-00-00"]})
    assert log.answered.tolist() == [True, False, False]


@pytest.mark.parametrize("mark", ["0", "-1"])
def test_a_number_that_stands_for_no_answer(mark: str, tmp_path: Path) -> None:
    path = tmp_path / "clicks.csv"
    rows = ["clicked_at,purchased_at,page"]
    for i in range(40):
        answer = mark if i % 10 else str(START + 1000 * i + 500)
        rows.append(f"{START + 1000 * i},{answer},shoes")
    path.write_text("\n".join(rows))
    log = read(path, "clicked_at")
    assert (len(log), log.answered.sum(), log.unit, log.is_epoch) == (40, 4, "ms", True)
    note = f"purchased_at = {mark} in 36 of the first 40 rows is taken as no answer"
    assert note in log.notes


def test_plain_numbers_before_all_questions_stand_for_no_answer() -> None:
    asked = np.arange(5.0, 45.0)
    log = read({"asked_at": asked, "answered_at": np.where(asked % 4 == 0, asked + 1.0, 0.0)})
    assert log.answered.sum() == 10
    # A few, or where they may be times, are what they were: answers before their question.
    with pytest.raises(LogError, match="is before"):
        read({"asked_at": asked, "answered_at": np.where(asked == 7.0, 0.0, asked + 1.0)})
    log = read({"asked_at": asked - 5.0, "answered_at": np.full(40, 50.0)})
    assert log.answered.all()


# ---- targets -----------------------------------------------------------------------------------


def answers(cells: list[str | None]) -> dict[str, list[object]]:
    """A log whose answers are these words."""
    return {
        "asked_at": [*range(len(cells))],
        "answered_at": [t + 3 for t in range(len(cells))],
        "bought": [*cells],
    }


@pytest.mark.parametrize("mark", [*MARKS, " null "])
def test_a_mark_in_a_target_of_words_is_no_answer(mark: str) -> None:
    log = read(answers(["yes", mark, "no", "yes", "no"]), target="bought")
    assert log.target is not None
    assert log.target.tolist() == ["yes", None, "no", "yes", "no"]
    if mark:
        said = "bought = " + repr(mark.strip()) + " in 1 of the first 5 rows is taken as no answer"
        assert said in log.notes


def test_none_is_a_word_where_there_is_only_one_other() -> None:
    log = read(answers(["fraud", "none", "none", "NULL"]), target="bought")
    assert log.target is not None
    assert log.target.tolist() == ["fraud", "none", "none", None]


def test_a_mark_is_no_no_where_somebody_says_what_is_a_yes() -> None:
    table = answers(["yes", "NULL", "no", "nan", "no", "yes"] * 10)
    asked = Asked("bought", "asked_at", "answered_at")
    for how in (Labels("logistic", positive="yes"), Labels()):
        found = task_of(table, asked, how, Silence(), loss=None)
        assert found.labels[:6].tolist() == pytest.approx(
            [1.0, np.nan, 0.0, np.nan, 0.0, 1.0], nan_ok=True
        )
        assert found.how.loss == "logistic"


# ---- words of one's own ------------------------------------------------------------------------


def told(tmp_path: Path) -> Path:
    """A log in which -999, 'not yet' and 9999-12-31 mean nothing."""
    path = tmp_path / "told.csv"
    rows = ["asked,known,size,shop,y"]
    for t in range(20):
        known = "9999-12-31" if t % 5 == 0 else f"2026-02-{t + 2:02d}"
        size = "-999" if t % 3 == 0 else str(t)
        shop = ("north", "South", "Not yet")[t % 3]
        rows.append(f"2026-02-{t + 1:02d},{known},{size},{shop},{t}")
    path.write_text("\n".join(rows) + "\n")
    return path


def test_further_words_mean_nothing_where_somebody_says_so(tmp_path: Path) -> None:
    from pyarrow import csv, parquet

    path = told(tmp_path)
    typed = tmp_path / "told.parquet"
    parquet.write_table(csv.read_csv(path), typed)
    words = ("-999", "not yet", "9999-12-31")
    for data in (path, typed):
        log = read(data, "asked", "known", target="y", features="all", missing=words)
        assert np.count_nonzero(log.answered) == 16
        assert np.isnan(log.features["size"][:4]).tolist() == [True, False, False, True]
        assert log.features["shop"][:3].tolist() == ["north", "South", None]
        kinds = Kinds.from_dict(log.kinds.to_dict())
        assert kinds == log.kinds
        live = {"size": -999, "shop": "not yet "}
        assert kinds.row(live) == {} == kinds.row({"size": "-999", "shop": None})
        assert kinds.row({"size": 3, "shop": "north"}) == {"size": 3.0, "shop": "north"}


# --- Dates as files write them --------------------------------------------------------------------

MOMENTS = np.array(["2026-01-05T08:00", "2026-02-28T23:59", "2026-12-31T00:30"], dtype="M8[ns]")
WRITTEN: dict[str, list[Any]] = {
    "digits to seconds": ["20260105080000", "20260228235900", "20261231003000"],
    "digits to minutes": ["202601050800", "202602282359", "202612310030"],
    "Oracle": ["05-Jan-26 08:00", "28-FEB-26 23:59", "31-Dec-26 12:30 AM"],
    "two digits": ["5 Jan 26 08:00", "28 February 26 23:59", "31 Dec. 26 00:30"],
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
        ([19991231235959, 20991231235959], True),
        ([1_767_571_761], False),
        ([1_767_571_761_743], False),
    ],
)
def test_numbers_are_dates_only_if_each_of_them_is(values: list[float], are: bool) -> None:
    assert are_stamps(np.array(values)) is are


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
