"""Constraints between knobs: whatever is given out satisfies them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.errors import SnapshotError, SpecError
from belated.knobs import Knobs
from belated.knobs.constraints import holds
from belated.knobs.memory import KnobsMemory
from conftest import examples

RANGES: dict[str, Any] = {"low": (0, 50), "high": (-10, 100), "n": bl.Whole(0, 9)}
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
                moved = abs(knob.place(setting[name], "") - knob.place(last[name], ""))
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
    """A bowl whose bottom is not allowed: the nearest place on the edge is best."""
    knobs = Knobs(
        {"x": (-1, 1), "y": (-1, 1)},
        start={"x": -0.5, "y": 0.2},
        constraints=[{"x": 1, "y": 1, "at_most": 0.4}],
    )
    for _ in range(40):
        ticket, setting = knobs.predict()
        knobs.observe(ticket, (setting["x"] - 0.6) ** 2 + (setting["y"] - 0.6) ** 2)
    best = knobs.best()
    assert best["x"] == pytest.approx(0.2, abs=0.1)
    assert best["y"] == pytest.approx(0.2, abs=0.1)


def test_live_is_batch_with_constraints_and_a_clock() -> None:
    """Both stand behind the work of the kernels, and neither is taken for the other."""
    told: dict[str, Any] = {"constraints": [{"x": 1, "y": 1, "at_least": 0.2}], "deadline": "5s"}
    ranges = {"x": (0, 1), "y": (0, 1)}
    live, batch = Knobs(ranges, **told), Knobs(ranges, **told)
    events = [0, ~0, 1, 2, ~2, 3, ~1, 4, ~4, 5, ~5, 6, ~6, 7, ~7, 8, ~8, 9, ~9, 10, ~10, 11]
    times = [float(i) for i in range(len(events))]
    costs = [math.sin(i) for i in range(12)]
    plays = []
    for event, at in zip(events, times, strict=True):
        if event >= 0:
            plays.append(live.predict(at=at).setting)
        else:
            live.observe(~event, costs[~event], at=at)
    assert batch.run(events, costs, at=times) == plays
    assert batch.snapshot() == live.snapshot()
    assert all(play["x"] + play["y"] >= 0.2 for play in plays)


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
        ([{"low": 1, "n": 1, "at_most": 99}], "'n' is a Whole"),
        ([{"low": 1, "at_most": 3}], "start must satisfy"),
    ],
)
def test_wrong_constraints_are_named(constraints: Any, words: str) -> None:
    """An error says what is wrong."""
    with pytest.raises(SpecError, match=words):
        Knobs(RANGES, constraints=constraints)


def test_a_forged_last_play_is_refused() -> None:
    """One that the constraints do not allow."""
    knobs = Knobs({"x": (0, 1), "y": (0, 1)}, constraints=[{"x": 1, "y": 1, "at_most": 1.5}])
    knobs.predict()
    parts = {name: array.copy() for name, array in knobs._memory.parts().items()}
    at = knobs._memory.places.knobs + 6
    parts["f"][at : at + 2] = 0.9
    with pytest.raises(SnapshotError, match="last play"):
        KnobsMemory.restored(knobs.settings, parts)
    parts = {name: array.copy() for name, array in knobs._memory.parts().items()}
    parts["f"][-1] += 1.0
    with pytest.raises(SnapshotError, match="settings"):
        KnobsMemory.restored(knobs.settings, parts)
