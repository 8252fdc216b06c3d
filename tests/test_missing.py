"""What stands for nothing in a log: marks in any column, and numbers in that of answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from belated.errors import LogError
from belated.logs import Kind, read

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
