"""Knobs in a live system: holds, steps, holdouts, alarms, pauses."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.core.knobs import Comparison
from belated.models.knobs import Knobs
from belated.models.knobs.page import page_of
from belated.ranges import Categories, Int
from test_knobs import ONE, THREE, bowl

LEARNER, START = range(2)  # arms


def test_a_setting_is_held() -> None:
    """Three rounds each, the coin of the holdout too."""
    knobs = Knobs(ONE, hold=3, holdout=0.4, start={"x": 0.7}, seed=1)
    played = [knobs.predict().setting["x"] for _ in range(60)]
    groups = [played[i : i + 3] for i in range(0, 60, 3)]
    assert all(len(set(group)) == 1 for group in groups)
    assert len({group[0] for group in groups}) > 8
    assert 3 <= sum(group[0] == 0.7 for group in groups) <= 15


def test_no_knob_moves_further_than_its_largest_step() -> None:
    """A tenth of the range for two of them, and a fifth for the third, which has seven levels."""
    knobs = Knobs(THREE, max_step={"price": 0.1, "timeout": 0.1, "retries": 0.2})
    before = knobs.settings.start
    for t in range(30):
        ticket, setting = knobs.predict()
        knobs.observe(ticket, float(t % 7))
        assert abs(setting["price"] - before["price"]) <= 19.0
        assert abs(math.log(setting["timeout"] / before["timeout"])) <= 0.1 * math.log(50) + 1e-12
        assert abs(setting["retries"] - before["retries"]) <= 1
        before = setting


def test_steps_count_from_what_was_really_played() -> None:
    """A system that stays where it is, whatever it is told: the next setting is near that."""
    knobs = Knobs(ONE, max_step=0.15)
    for _ in range(10):
        ticket, setting = knobs.predict()
        knobs.played(ticket, {"x": -0.9})
        assert setting["x"] <= -0.6 + 1e-12 or ticket == 0
    knobs.played(3, {"x": 0.9})  # an older round moves nothing
    assert knobs.predict().setting["x"] <= -0.6 + 1e-12


@pytest.mark.parametrize(("step", "levels"), [(0.17, 1), (0.25, 2), (0.3, 3), (0.01, 1)])
def test_levels_are_within_the_largest_step(step: float, levels: int) -> None:
    """A step that is no whole number of levels is rounded down, but there is always one."""
    knobs = Knobs({"x": Int(0, 10), "y": Categories(list("abcdefghijk"))}, max_step=step)
    before = (5, 5)
    moved = set()
    for _ in range(25):
        setting = knobs.predict().setting
        now = (setting["x"], "abcdefghijk".index(setting["y"]))
        moved |= {abs(a - b) for a, b in zip(now, before, strict=True)}
        before = now
    assert moved == set(range(levels + 1))


def test_the_start_is_played_as_it_was_given() -> None:
    """Pause, revert and resume; the start comes back as the same values."""
    start = {"price": 49.99, "timeout": 0.3, "retries": 2}
    knobs = Knobs(THREE, start={**start, "retries": 2.0})
    assert isinstance(knobs.settings.start["retries"], int)
    for t in range(12):
        ticket, last = knobs.predict()
        knobs.observe(ticket, float(t))
    knobs.pause()
    assert [knobs.predict().setting for _ in range(3)] == [last] * 3
    assert knobs.mode == "paused"
    knobs.revert()
    assert [knobs.predict().setting for _ in range(3)] == [start] * 3
    assert knobs.mode == knobs.report().mode == "reverted"
    for ticket in range(12, 18):
        knobs.observe(ticket, 1.0)
    assert knobs.report().observed == 18
    knobs.resume()
    assert knobs.mode == "learning"
    assert knobs.predict().setting != start


def test_the_holdout_says_how_much_better_it_is() -> None:
    """The start costs 0.49 more than the best; the interval is around what the rounds were."""
    knobs = Knobs(ONE, start={"x": -0.3}, holdout=0.3, seed=2)
    bowl(knobs, 150)
    told = knobs.report().comparison
    assert told is not None
    assert told.low is not None
    assert told.high is not None
    assert 0.1 < told.low < told.gain < told.high < 0.8  # type: ignore[operator]
    assert 30 <= told.start_rounds < 80
    assert told.start_mean == pytest.approx(0.49, abs=0.05)
    assert "gain" in str(knobs.report())
    assert knobs.report().alarms == 0


def test_it_goes_back_to_the_start_when_that_is_better() -> None:
    """Whatever differs from the start costs more: no model sees that, and the alarm does."""
    knobs = Knobs(ONE, start={"x": 0.0}, holdout=0.3)
    rng = np.random.default_rng(0)
    for _ in range(130):
        ticket, setting = knobs.predict()
        knobs.observe(ticket, float(setting["x"] != 0.0) + 0.3 * rng.normal())
    report = knobs.report()
    assert report.mode == "reverted"
    assert report.alarms == 1
    assert report.comparison is not None
    assert report.comparison.high is not None
    assert report.comparison.high < 0.0
    assert knobs.predict().setting == {"x": 0.0}
    assert "alarms" in str(report)
    knobs.resume()
    assert knobs.mode == "learning"
    assert knobs.report().comparison.start_rounds == 0  # type: ignore[union-attr]


def _comparing(**more: Any) -> Knobs:
    """Return knobs whose learner has been worse in 40 rounds of each arm, with 60 open tickets."""
    knobs = Knobs(ONE, start={"x": 0.0}, holdout=0.3, **more)
    told = knobs._tuner.comparison
    for _ in range(60):
        knobs.predict()
    told.compared, told.gain, told.gain_squares = 80, -1.0, 8.0
    told.answers[:] = 40
    return knobs


def test_an_alarm_is_one_alarm_whatever_is_called_afterwards() -> None:
    """Pauses, late costs and reverts; only resume ends it, and then the comparison begins anew."""
    knobs = _comparing()
    knobs.observe(0, 1.0)
    assert (knobs.mode, knobs.report().alarms) == ("reverted", 1)
    assert "by itself" in page_of(knobs).lead
    knobs.pause()
    knobs.observe(1, 1.0)
    assert (knobs.mode, knobs.report().alarms) == ("paused", 1)
    knobs.resume()
    told = knobs.report().comparison
    assert told is not None
    assert told.start_rounds + told.learner_rounds == 0
    for ticket in range(2, 60):  # rounds of before do not count in what began after them
        knobs.observe(ticket, 1.0)
    assert knobs.report().comparison == told
    knobs.observe(knobs.predict().ticket, 1.0)
    assert knobs.report().comparison != told
    knobs.revert()
    assert "by itself" not in page_of(knobs).lead
    assert Knobs.restore(knobs.snapshot()).snapshot() == knobs.snapshot()


def test_a_person_who_reverts_loses_no_comparison() -> None:
    """Revert and resume by hand leave it as it was."""
    knobs = _comparing()
    told = knobs.report().comparison
    knobs.revert()
    knobs.resume()
    assert knobs.report().comparison == told


def test_a_replay_compares_nothing(tmp_path: Path) -> None:
    """The coin of knobs that only look on has decided nothing; an override leaves it valid."""
    with bl.open(tmp_path / "store") as store:
        model = store.model("m", Knobs(ONE, holdout=0.5))
        for _ in range(12):
            model.played(model.predict().ticket, {"x": 0.5})
        for ticket in range(12):
            model.observe(ticket, 1.0)
        told = model.report().comparison
        assert told is not None
        assert told.start_rounds + told.learner_rounds == 12
        other = store.rebuild("m", Knobs(ONE, holdout=0.5, seed=1)).report()
    assert other.observed == 12
    assert other.comparison is not None
    assert other.comparison is not None
    assert other.comparison.start_rounds + other.comparison.learner_rounds == 0
    assert [each.start_costs for each in other.past] == [0]


def test_false_alarms_are_rare() -> None:
    """Both arms cost the same, with skewed noise: of 100 comparisons at most 8 ever alarm.

    With 5 % of them expected at most, 8 or more have a probability of 13 %; the bound is cautious.
    """
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(100):
        comparison = Comparison(0.2)
        arms = np.where(rng.random(600) < 0.2, START, LEARNER).tolist()
        costs = rng.exponential(size=600).tolist()
        worse = [comparison.compare(arm, cost) for arm, cost in zip(arms, costs, strict=True)]
        alarms += any(worse)
    assert alarms <= 8


def test_a_report_is_data_and_a_table() -> None:
    """Before and after there is a unit."""
    knobs = Knobs(ONE, goal="max")
    assert "none yet" in str(knobs.report())
    bowl(knobs, 30)
    report = knobs.report()
    assert sum(report.memories.values()) == pytest.approx(1.0)
    assert sum(report.features.values()) == pytest.approx(1.0)
    assert report.to_dict()["goal"] == "max"
    assert report.noise is not None
    assert report.noise > 0.0
    assert '"best"' in report.to_json()
    assert repr(knobs) == "<Knobs, x: 30 rounds, 3 open>"


@pytest.mark.parametrize("holdout", [0.1, 0.02])
def test_rare_costs_raise_no_false_alarm(holdout: float) -> None:
    """Costs that are 1 in two of a hundred rounds, whatever is played, and 0 otherwise."""
    alarms = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        comparison = Comparison(holdout)
        for cost, coin in zip(rng.random(2_000) < 0.02, rng.random(2_000), strict=True):
            alarms += comparison.compare(START if coin < holdout else LEARNER, float(cost))
    assert alarms == 0


def test_a_learner_that_is_worse_raises_an_alarm_also_with_rare_costs() -> None:
    rng = np.random.default_rng(0)
    comparison, is_worse = Comparison(0.2), False
    for coin, luck in rng.random((4_000, 2)):
        arm = START if coin < 0.2 else LEARNER
        is_worse = comparison.compare(arm, float(luck < (0.02 if arm == START else 0.2)))
    assert is_worse
