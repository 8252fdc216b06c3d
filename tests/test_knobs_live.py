"""Knobs in a live system: holds, steps, holdouts, alarms, pauses."""

from __future__ import annotations

import copy
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.core.knobs import Comparison, History
from belated.models.knobs import Knobs
from belated.models.knobs.html_page import page_of
from belated.ranges import Categories, Int
from belated.report import Bars, Heat, Lines
from naive_knobs import NaiveKnobs
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


# --- What reports say of the contexts that came, and settings that nobody can change from outside.

CONTEXT: dict[str, Any] = {"country": ["PT", "NO", "SE"], "hour": (0, 24)}


def lived_in_countries(rounds: int = 60) -> tuple[Knobs, list[np.ndarray]]:
    """Return knobs whose best is +0.5 in one country and -0.5 in the other, and the contexts."""
    knobs = Knobs({"x": (-1, 1)}, context=CONTEXT)
    rng = np.random.default_rng(0)
    came = []
    for t in range(rounds):
        context = {"country": "PT" if t % 3 else "NO", "hour": float(rng.integers(0, 12))}
        ticket, setting = knobs.predict(context)
        goal = 0.5 if context["country"] == "PT" else -0.5
        if t % 7 == 6:
            knobs.cancel(ticket)
            continue
        if t % 5 == 0:
            knobs.revise(ticket, 9.0)
        knobs.observe(ticket, (setting["x"] - goal) ** 2 + 0.02 * float(rng.normal()))
        came.append(knobs.settings.features(context))
    return knobs, came


def test_reports_are_means_over_the_contexts_that_came() -> None:
    """Means and deviations are those of what was heard; and so is what is expected of a setting."""
    knobs, came = lived_in_countries()
    knobs._commit()
    means, deviations = knobs._tuner.models.contexts()
    assert means == pytest.approx(np.mean(came, axis=0), abs=1e-6)
    assert deviations == pytest.approx(np.std(came, axis=0), abs=1e-6)
    report = knobs.report()
    each = [knobs._expected(report.best, features).cost for features in came]
    assert report.expected == pytest.approx(np.mean(each), abs=1e-6)
    rows = {(row.name, row.value): row for row in report.contexts}
    assert [name for name, _ in rows] == ["country", "country", "hour", "hour"]
    assert rows["country", "PT"].best["x"] > 0.25
    assert rows["country", "NO"].best["x"] < -0.25
    share = rows["country", "PT"].share
    assert share == pytest.approx(np.mean([features[0] for features in came]), abs=1e-6)
    assert ("country", "SE") not in rows  # it never came
    assert report.to_dict()["contexts"][0]["name"] == "country"
    asked = [section.question for section in page_of(knobs).sections]
    assert asked[-1] == "What is best in which context?"


def test_settings_cannot_be_changed_from_outside() -> None:
    """Neither through what was given, nor through what is shown; they still copy and pickle."""
    ranges: dict[str, Any] = {"x": (0.0, 1.0)}
    start = {"x": 0.25}
    knobs = Knobs(ranges, start=start, context={"hour": (0, 24)}, max_step={"x": 0.5})
    ranges["y"] = (0, 1)
    start["x"] = 0.9
    settings = knobs.settings
    for shown in (settings.knobs, settings.start, settings.context, settings.max_step):
        with pytest.raises(TypeError):
            shown["x"] = 3  # type: ignore[index]
    settings.to_dict()["start"]["x"] = 7.0
    knobs.report().start["x"] = 7.0
    knobs.revert()
    assert knobs.predict().setting == {"x": 0.25}
    assert copy.deepcopy(settings) == settings == pickle.loads(pickle.dumps(settings))
    assert bl.Knobs.restore(knobs.snapshot()).settings == settings


# --- What knobs remember of the past, and the page that they write. -------------------------------


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


# --- Knobs against the slow version ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("k", "context", "rounds", "stride"),
    [(1, {}, 30, 1), (2, {}, 18, 1), (3, {"a": (-1, 1)}, 22, 1), (1, {}, 24, 60)],
)
def test_models_are_those_of_the_slow_version(
    k: int, context: Any, rounds: int, stride: int
) -> None:
    """Costs come late and out of order; with a stride, origins move."""
    knobs = Knobs({f"x{i}": (-1, 1) for i in range(k)}, context=context)
    naive = NaiveKnobs(k, len(context))
    rng = np.random.default_rng(k)
    waiting: list[tuple[int, Any, Any, float]] = []
    for t in range(rounds * stride):
        z = {name: float(rng.integers(-4, 5)) / 4.0 for name in context}
        ticket, setting = knobs.predict(z)
        if t % stride:
            knobs.cancel(ticket)
            continue
        x = np.array(list(setting.values()))
        cost = float(np.sum((x - 0.3) ** 2) + 0.2 * rng.normal() + 0.5 * np.sin(t / 60.0))
        cost += 30.0 if t == 20 * stride else 0.0
        waiting.append((ticket, x, list(z.values()), cost))
        new = []
        while waiting and rng.random() < 0.55:
            new.append(waiting.pop(int(rng.integers(len(waiting)))))
            knobs.observe(new[-1][0], new[-1][3])
        for answer in sorted(new):
            naive.observe(*answer)
    knobs._commit()
    _agree(knobs, naive)


def _agree(knobs: Knobs, naive: NaiveKnobs) -> None:
    """Demand the same weights, noise and coefficients, but for rounding."""
    models = knobs._tuner.models
    assert models.weights.size == len(naive.models) == 8
    assert models.count == len(naive.learned) > 8
    assert np.allclose(models.weights, [model.weight for model in naive.models], rtol=1e-5)
    assert np.allclose(models.noise, [each.noise for each in naive.sets], rtol=1e-6)
    rows = np.zeros((models.most, models.most + 1))
    for g, each in enumerate(naive.sets):
        rows[np.triu_indices(models.most, 0, models.most + 1)] = models.factors[g]
        triangle = rows[:, :-1]
        for model, size in zip(each.models, (models.base, models.most), strict=True):
            assert model.theta is not None
            w = rows[:size, -1]
            found = np.linalg.solve(triangle[:size, :size], w)
            assert np.allclose(found, model.theta, rtol=1e-5, atol=1e-6)


def test_the_page_lists_the_constraints() -> None:
    ranges = {"a": (0, 4), "b": (0, 4)}
    both: list[dict[str, float]] = [
        {"a": 1, "b": 2, "at_most": 10},
        {"a": -1.5, "b": -1, "at_least": -9.5},
    ]
    says = page_of(bl.Knobs(ranges, constraints=both)).sections[-1].says
    assert says.endswith("Settings also satisfy: a + 2 b <= 10; -1.5 a - b >= -9.5.")
    assert "satisfy" not in page_of(bl.Knobs(ranges)).sections[-1].says
