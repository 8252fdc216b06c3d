"""Columns that come late or disappear, as reports mention them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import belated as bl

Row = dict[str, Any]


def linear(rows: list[Row]) -> bl.reports.LinearReport:
    model = bl.LinearModel(bits=8)
    for row in rows:
        model.predict(row)
    return model.report()


def many(rows: list[Row]) -> bl.reports.LinearReport:
    model = bl.LinearModel(bits=8)
    model.predict_many(rows)
    return model.report()


def frames(rows: list[Row]) -> bl.reports.LinearReport:
    pandas = pytest.importorskip("pandas")
    model = bl.LinearModel(bits=8)
    for part in (rows[:300], rows[300:]):
        model.predict_many(pandas.DataFrame(part) if part[0] else part)
    return model.report()


def chooser(rows: list[Row]) -> bl.reports.LinearReport:
    model = bl.Chooser(["a", "b"], bits=8)
    for row in rows:
        model.choose(row)
    return model.report().model


@pytest.mark.parametrize("feed", [linear, many, frames, chooser])
@pytest.mark.parametrize(
    ("before", "after", "new", "gone"),
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 2}, {}, {}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {}, {}),
        ({"a": 1, "b": 2}, {"a": 1, "b": 2, "c": "x"}, {"c": 300}, {}),
        ({"a": 1, "b": 2, "c": "x"}, {"b": 2, "c": "x"}, {}, {"a": 299}),
        ({"a": 1, "b": 2, "c": "x"}, {"c": "x", "d": 4}, {"d": 300}, {"a": 299, "b": 299}),
        ({"a": 1}, {}, {}, {"a": 299}),
    ],
)
def test_columns_that_come_and_go(
    feed: Callable[[list[Row]], bl.reports.LinearReport],
    before: Row,
    after: Row,
    new: dict[str, int],
    gone: dict[str, int],
) -> None:
    report = feed([before] * 300 + [after] * 300)
    assert (report.new_columns, report.gone_columns) == (new, gone)
    assert all(f"{name} (" in str(report) for name in {**new, **gone})


def test_a_column_that_is_missing_now_and_then_is_not_gone() -> None:
    report = linear([{"a": 1, "b": 2} if i % 50 else {"b": 2} for i in range(600)])
    assert (report.new_columns, report.gone_columns) == ({}, {})


def test_words_are_no_columns() -> None:
    report = linear([{f"word {i}": 1} for i in range(2000)])
    assert (report.new_columns, report.gone_columns) == ({}, {})
