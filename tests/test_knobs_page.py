"""What knobs remember of the past, and the page that they write."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import belated as bl
from belated.core.knobs import History
from belated.models.knobs.page import page_of
from belated.report import Bars, Heat, Lines


def _played(knobs: bl.Knobs, rounds: int, seed: int = 3) -> list[float]:
    """Play rounds whose costs come out of order, and return the costs."""
    rng = np.random.default_rng(seed)
    costs, waiting = [], []
    for _ in range(rounds):
        ticket, setting = knobs.predict()
        away = sum(float(value) ** 2 for value in setting.values() if not isinstance(value, str))
        costs.append(1.0 + away + 0.1 * float(rng.standard_normal()))
        waiting.append(ticket)
        if len(waiting) > 7:
            heard = waiting.pop(int(rng.integers(len(waiting))))
            knobs.observe(heard, costs[heard])
    for ticket in waiting:
        knobs.observe(ticket, costs[ticket])
    return costs


@pytest.mark.parametrize("rounds", [15, 150])
def test_the_past_has_every_cost_once_where_it_was_played(rounds: int) -> None:
    knobs = bl.Knobs({"x": (-1, 1)})
    costs = _played(knobs, rounds)
    past = knobs.report().past
    assert sum(each.costs for each in past) == rounds
    assert len(past) <= 64
    length = past[1].first if len(past) > 1 else rounds
    for each in past:
        mine = costs[each.first : each.first + length]
        assert each.costs == len(mine)
        assert each.mean == pytest.approx(np.mean(mine))
    assert knobs.report() == bl.Knobs.restore(knobs.snapshot()).report()


def test_stretches_become_longer_and_lose_nothing() -> None:
    history = History()
    tickets = np.random.default_rng(0).permutation(5_000)
    for ticket in tickets.tolist():
        history.record(ticket, int(ticket % 3 == 0), float(ticket))
    length = history.length
    assert length == 128
    for i, (counts, means) in enumerate(zip(history.answers, history.means, strict=True)):
        mine = np.arange(i * length, min((i + 1) * length, 5_000))
        start = mine[mine % 3 == 0]
        learner = mine[mine % 3 > 0]
        for seen, count, mean in zip((learner, start), counts, means, strict=True):
            assert count == seen.size
            assert mean == pytest.approx(seen.mean() if seen.size else 0.0)


def test_rounds_of_the_start_are_counted_apart() -> None:
    knobs = bl.Knobs({"x": (-1, 1)}, start={"x": 1.0}, holdout=0.5)
    _played(knobs, 120)
    report = knobs.report()
    assert report.comparison is not None
    assert sum(each.start_costs for each in report.past) == report.comparison.start_rounds
    assert all(each.start_mean is None or 1.6 < each.start_mean < 2.4 for each in report.past)


def test_rounds_of_the_start_are_counted_apart_where_settings_are_held() -> None:
    """All of them, though only the last of every setting is compared."""
    knobs = bl.Knobs({"x": (-1, 1)}, start={"x": 1.0}, holdout=0.5, hold=3)
    played = [knobs.predict().setting["x"] for _ in range(30)]
    for ticket in range(30):
        knobs.observe(ticket, 1.0)
    report = knobs.report()
    assert sum(each.start_costs for each in report.past) == played.count(1.0) > 0
    assert report.comparison is not None
    assert report.comparison.start_rounds == played.count(1.0) // 3


def test_a_page_says_what_was_measured_and_what_is_thought(tmp_path: Path) -> None:
    knobs = bl.Knobs(
        {"x": (-1, 1), "y": bl.ranges.Int(-2, 2)}, start={"x": 0.9, "y": 2}, holdout=0.3
    )
    _played(knobs, 150)
    page = page_of(knobs)
    assert "Measured: the learner is better than the start" in page.lead
    kinds = [type(section.figure) for section in page.sections]
    assert kinds == [Lines, Heat, Heat, Lines, Lines, Bars, type(None)]
    knobs.page(tmp_path / "knobs.html")
    assert "What does x do?" in (tmp_path / "knobs.html").read_text()


def test_pages_before_there_is_anything_to_say() -> None:
    knobs = bl.Knobs(
        {"<b>size": bl.ranges.Categories(["small", "large"]), "time": bl.ranges.Log(0.1, 5.0)}
    )
    assert "Too few costs" in page_of(knobs).lead
    assert "holdout=0.1" in page_of(knobs).lead
    knobs.revert()
    assert "reverted" in page_of(knobs).lead


def test_the_page_lists_the_constraints() -> None:
    ranges = {"a": (0, 4), "b": (0, 4)}
    both: list[dict[str, float]] = [
        {"a": 1, "b": 2, "at_most": 10},
        {"a": -1.5, "b": -1, "at_least": -9.5},
    ]
    says = page_of(bl.Knobs(ranges, constraints=both)).sections[-1].says
    assert says.endswith("Settings also satisfy: a + 2 b <= 10; -1.5 a - b >= -9.5.")
    assert "satisfy" not in page_of(bl.Knobs(ranges)).sections[-1].says
