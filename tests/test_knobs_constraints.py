"""Constraints between knobs: whatever is given out satisfies them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.errors import SpecError
from belated.models.knobs import Knobs
from belated.models.knobs.constraints import holds
from conftest import examples
from naive_knobs import features, least_allowed

RANGES: dict[str, Any] = {"low": (0, 50), "high": (-10, 100), "n": bl.ranges.Int(0, 9)}
NAMES = ("low", "high")


@st.composite
def games(draw: st.DrawFn) -> dict[str, Any]:
    """Return the settings of knobs whose start satisfies a few constraints, some with no room."""
    start = {
        "low": draw(st.floats(0, 50)),
        "high": draw(st.floats(-10, 100)),
        "n": 4,
    }
    constraints = []
    for _ in range(draw(st.integers(1, 3))):
        factors = {name: draw(st.sampled_from([0, 1, -1, 0.3, 20.0])) for name in NAMES}
        if not any(factors.values()):
            factors["low"] = 1
        total = sum(factor * start[name] for name, factor in factors.items())
        room = draw(st.sampled_from([0.0, 1e-6, 5.0, 40.0]))
        end = draw(st.sampled_from(["at_most", "at_least"]))
        constraints.append({**factors, end: total + (room if end == "at_most" else -room)})
    return {
        "start": start,
        "constraints": constraints,
        "hold": draw(st.sampled_from([1, 3])),
        "max_step": draw(st.sampled_from([None, 0.05, {"low": 0.01}])),
        "holdout": draw(st.sampled_from([0.0, 0.3])),
        "seed": draw(st.integers(0, 99)),
    }


@examples(4)
@given(games(), st.integers(0, 10**6))
def test_every_setting_satisfies_the_constraints(told: dict[str, Any], seed: int) -> None:
    """Exploring, learned, best, held, paused, reverted, by coin; and steps are as small as told."""
    knobs, rng = Knobs(RANGES, **told), np.random.default_rng(seed)
    last = knobs.settings.start
    for t in range(20):
        ticket, setting = knobs.predict()
        for each in knobs.settings.constraints:
            assert holds(each, setting)
            assert t % 6 or holds(each, knobs.best())
        if not told["holdout"] and t not in (16, 17):
            for name, knob in knobs.settings.knobs.items():
                step = knobs.settings.max_step[name]
                moved = abs(knob.place(setting[name], "", "") - knob.place(last[name], "", ""))
                assert moved <= 2.0 * step + 1e-6
            last = setting
        if t % 7 == 3:  # somebody else played what is not allowed
            low, high = rng.uniform(0, 50), rng.uniform(-10, 100)
            knobs.played(ticket, {"low": float(low), "high": float(high), "n": 2})
            told = {**told, "holdout": 0.3}  # where steps count from is not followed here
        if t == 16:
            knobs.revert()
        if t == 17:
            knobs.resume()
        cost = (setting["low"] - 45) ** 2 / 500 - setting["high"] / 60 + 0.1 * float(rng.normal())
        knobs.observe(ticket, cost)
    assert Knobs.restore(knobs.snapshot()).snapshot() == knobs.snapshot()


def test_a_gap_between_two_thresholds_is_kept_and_used() -> None:
    """Costs want both at 50, and the gap of 20 allows that only nearly: it ends on the edge."""
    ranges = {"low": (0, 100), "high": (0, 100)}
    knobs = Knobs(
        ranges,
        start={"low": 20, "high": 80},
        constraints=[{"low": 1, "high": -1, "at_most": -20}],
    )
    for _ in range(30):
        ticket, setting = knobs.predict()
        assert setting["low"] - setting["high"] <= -20
        knobs.observe(ticket, abs(setting["low"] - 50) + abs(setting["high"] - 50))
    best = knobs.best()
    assert -26 <= best["low"] - best["high"] <= -20
    assert knobs.expect(best).cost < 30
    again = Knobs.restore(knobs.snapshot())
    assert again.settings == knobs.settings
    assert again.fresh().settings.constraints == knobs.settings.constraints


def test_the_best_on_an_edge_is_found() -> None:
    """-a - 3 b is least at an end of the edge, far from the allowed place nearest to (10, 10)."""
    knobs = Knobs(
        {"a": (0, 10), "b": (0, 10)},
        start={"a": 5, "b": 2},
        constraints=[{"a": 1, "b": 1, "at_most": 10}],
    )
    for _ in range(38):
        ticket, setting = knobs.predict()
        knobs.observe(ticket, -setting["a"] - 3.0 * setting["b"])
    best = knobs.best()
    assert -best["a"] - 3.0 * best["b"] <= -29.3


def test_the_best_beside_other_knobs_is_found() -> None:
    """Whole and logarithmic knobs are in no constraint, and their costs go with those that are."""
    lost = []
    least = _of_four({"a": 0.25, "b": 0.75, "n": 5, "r": 2.0})
    for seed in range(5):
        knobs = Knobs(
            {"a": (0, 1), "b": (0, 1), "n": bl.ranges.Int(0, 8), "r": bl.ranges.Log(0.1, 10.0)},
            start={"a": 0.3, "b": 0.5, "n": 3, "r": 1.0},
            constraints=[{"a": 1, "b": 1, "at_most": 1}, {"a": 1, "b": -1, "at_least": -0.5}],
            seed=seed,
        )
        for _ in range(45):
            ticket, setting = knobs.predict()
            knobs.observe(ticket, _of_four(setting))
        lost.append((_of_four(knobs.best()) - least) / (_of_four(knobs.settings.start) - least))
    assert np.median(lost) <= 0.05
    assert max(lost) <= 0.1


def _of_four(setting: Mapping[str, Any]) -> float:
    """Return a cost that is least, of what is allowed, at (0.25, 0.75, 5, 2)."""
    a, b, n, r = (setting[name] for name in ("a", "b", "n", "r"))
    coupled = 0.1 * (b - 0.75) * (n - 5) / 8
    return float((a - 0.5) ** 2 + 3 * (b - 1.5) ** 2 + coupled + ((n - 5) / 8) ** 2) + (
        0.3 * math.log10(r / 2) ** 2
    )


def _believing(coefficients: Any, constraints: Any, start: Any, is_rough: bool = False) -> Knobs:
    """Return knobs whose best member has these coefficients of its features."""
    names = [f"x{i}" for i in range(len(start))]
    knobs = Knobs(
        dict.fromkeys(names, (-1, 1)),
        start=dict(zip(names, start, strict=True)),
        constraints=[
            {**dict(zip(names, row[:-1], strict=True)), "at_most": row[-1]} for row in constraints
        ],
    )
    knobs._tuner.answers.unit, models = 1.0, knobs._tuner.models  # U = I, so that theta = w
    models.count = 10**6
    models.weights[int(is_rough)] = 2.0
    ends = models.diagonal() + models.most - np.arange(models.most)
    models.factors[0, ends[: len(coefficients)]] = coefficients
    return knobs


@st.composite
def programs(draw: st.DrawFn, k: int) -> tuple[Any, Any, Any, Any]:
    """Return H, c, rows of constraints with their bounds, and a start that satisfies them."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    root = rng.normal(size=(k, k))
    h, middle = root @ root.T + 0.3 * np.eye(k), rng.uniform(-2.0, 2.0, k)
    start = rng.uniform(-0.5, 0.5, k)
    rows = rng.normal(size=(draw(st.integers(1, 4)), k))
    room = rng.uniform(0.0, 0.5, len(rows)) * draw(st.sampled_from([1.0, 0.1]))
    return h, -h @ middle, np.column_stack([rows, rows @ start + room]), start


def _as_features(h: Any, c: Any) -> list[float]:
    """Return the coefficients of 1, x_i, x_i^2 - 1/3, x_i x_j."""
    above = h[np.triu_indices(len(c), 1)]
    return [0.0, *c, *(0.5 * np.diag(h)), *above]


@pytest.mark.parametrize("k", [2, 3])
def test_the_search_is_the_slow_one(k: int) -> None:
    """The least value of a bowl inside of a polytope, where all edges have been tried."""

    @examples(8)
    @given(programs(k))
    def is_least(program: tuple[Any, Any, Any, Any]) -> None:
        h, c, rows, start = program
        best = np.array(list(_believing(_as_features(h, c), rows, start).best().values()))
        least = least_allowed(h, c, rows[:, :-1], rows[:, -1])
        value, wanted, first = (0.5 * x @ h @ x + c @ x for x in (best, least, start))
        assert value - wanted <= 0.01 * (first - wanted) + 1e-5

    is_least()


@examples(3)
@given(programs(8), st.integers(0, 10**6))
def test_nothing_near_is_better(program: tuple[Any, Any, Any, Any], seed: int) -> None:
    """With eight knobs: a bowl has one least place, so what is best nearby is best of all."""
    h, c, rows, start = program
    best = np.array(list(_believing(_as_features(h, c), rows, start).best().values()))
    rng = np.random.default_rng(seed)
    value, first = (0.5 * x @ h @ x + c @ x for x in (best, start))
    assert value <= first
    for size in (0.03, 0.3):
        x = np.clip(best + size * rng.normal(size=(4000, 8)), -1.0, 1.0)
        x = x[(x @ rows[:, :-1].T <= rows[:, -1]).all(axis=1)]
        values = 0.5 * ((x @ h) * x).sum(axis=1) + x @ c
        assert not x.size or values.min() >= value - 0.01 * (first - value) - 1e-4


@examples(4)
@given(st.integers(0, 10**6))
def test_a_rough_surface_is_searched_as_well(seed: int) -> None:
    """Two knobs and cosines: nothing on a fine grid of what is allowed is much better."""
    rng = np.random.default_rng(seed)
    theta = np.concatenate([rng.normal(size=6), 0.3 * rng.normal(size=27)])
    rows = np.array([[*rng.normal(size=2), 0.2], [*rng.normal(size=2), 0.4]])
    best = _believing(theta, rows, [0.0, 0.0], is_rough=True).best()
    line = np.linspace(-1.0, 1.0, 81)
    grid = [np.array([a, b]) for a in line for b in line]
    values = [
        float(np.concatenate(features(x, np.empty(0))) @ theta)
        for x in (np.array(list(best.values())), *grid)
        if (rows[:, :2] @ x <= rows[:, 2]).all()
    ]
    assert values[0] <= min(values) + 0.05 * (max(values) - min(values))


@st.composite
def extremes(draw: st.DrawFn) -> dict[str, Any]:
    """Return ranges, factors and bounds of all sizes, most of them with the start on an edge."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    power = draw(st.sampled_from([0, 3, 290]))
    ranges, start = {}, {}
    for name in ("a", "b", "c"):
        low = float(rng.choice([0.0, 1.0, -1e9]) * rng.random())
        ranges[name] = (low, low + float(10.0 ** rng.integers(-3, 4)))
        at = low + rng.choice([0.0, 1.0, 0.3]) * (ranges[name][1] - low)
        start[name] = float(min(max(at, low), ranges[name][1]))
    constraints = []
    for _ in range(int(rng.integers(1, 4))):
        factors = {
            name: float(rng.normal() * 10.0 ** rng.integers(-power, power + 1)) for name in ranges
        }
        total = 0.0
        for name, factor in factors.items():
            total += factor * start[name]
        sizes = [abs(f) * (ranges[name][1] - ranges[name][0]) for name, f in factors.items()]
        room = float(rng.choice([0.0, 1e-9, 0.2])) * sum(sizes)
        constraints.append({**factors, "at_most": total + room})
    return {"knobs": ranges, "start": start, "constraints": constraints}


@examples(5)
@given(extremes(), st.sampled_from([1.0, 1e-3, 1e-6]))
def test_constraints_hold_exactly(told: dict[str, Any], step: float) -> None:
    """As fractions too, unless all knobs in one are at the start: that one holds as it was said."""
    knobs, rng = Knobs(**told, max_step=step), np.random.default_rng(0)
    start = knobs.settings.start
    for t in range(12):
        ticket, setting = knobs.predict()
        for each in (setting, knobs.best() if t % 6 == 5 else setting):
            for constraint in told["constraints"]:
                assert holds(constraint, each)
                exact = sum(Fraction(constraint[name]) * Fraction(each[name]) for name in each)
                assert exact <= Fraction(constraint["at_most"]) or each == start
        away = [(setting[name] - low) / (high - low) for name, (low, high) in told["knobs"].items()]
        knobs.observe(ticket, away[0] - away[1] + 0.1 * float(rng.normal()))


def test_what_was_played_in_spite_of_a_constraint_is_learned_as_it_was() -> None:
    """Steps then count from the nearest setting that is allowed, as the system stands there."""
    knobs = Knobs(
        {"a": (0, 8), "b": (0, 8), "n": bl.ranges.Int(0, 8)},
        start={"a": 1, "b": 1, "n": 4},
        constraints=[{"a": 1, "b": 1, "at_most": 8}],
        max_step=0.01,
    )
    ticket, _ = knobs.predict()
    knobs.played(ticket, {"a": 8, "b": 6, "n": 7})
    knobs.revise(ticket, 5.0)
    knobs._commit()
    assert knobs._tuner.answers.rows[0, 6:].tolist() == [1.0, 0.5, 0.75]
    ticket, setting = knobs.predict()
    assert setting["a"] == pytest.approx(5.0, abs=0.09)
    assert setting["b"] == pytest.approx(3.0, abs=0.09)
    assert abs(setting["n"] - 7) <= 1
    assert Knobs.restore(knobs.snapshot()).snapshot() == knobs.snapshot()


@pytest.mark.parametrize(
    ("constraints", "words"),
    [
        ({"low": 1, "at_most": 3}, "a list of"),
        ([{"low": 1}], "at_most or at_least"),
        ([{"low": 1, "at_most": 30, "at_least": 3}], "at_most or at_least"),
        ([{"lower": 1, "at_most": 30}], "between knobs"),
        ([{"at_most": 3}], "between knobs"),
        ([{"low": 0, "at_most": 3}], "not 0"),
        ([{"low": math.nan, "at_most": 3}], "factor"),
        ([{"low": 1, "n": 1, "at_most": 99}], "'n' has a range of type Int"),
        ([{"low": 1e304, "at_most": 1e308}], "add up to more"),
        ([{"low": 1, "at_most": 3}], "start must satisfy"),
    ],
)
def test_wrong_constraints_are_named(constraints: Any, words: str) -> None:
    """An error says what is wrong."""
    with pytest.raises(SpecError, match=words):
        Knobs(RANGES, constraints=constraints)
