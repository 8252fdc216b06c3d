"""Columns that know the answer under another name, in another unit, shifted or rounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated.errors import LogError
from belated.evaluations.reading import Columns, decisions_of
from belated.logs.leaks import is_copy, is_rounded, step_of
from belated.replays.labels import Labels, Silence
from belated.replays.task import Asked, Task, task_of

ROWS = 400
START = np.datetime64("2026-01-05T08:00", "ns")


def rides(seed: int = 0) -> dict[str, Any]:
    """Rides with dates: how long they were planned to take, how long they took, and a fare."""
    rng = np.random.default_rng(seed)
    asked = np.cumsum(rng.exponential(90.0, ROWS))
    planned = rng.integers(3, 55, ROWS).astype(np.float64)
    took = np.round(planned * 60.0 * rng.lognormal(0.0, 0.15, ROWS) + 30.0)
    return {
        "asked_at": [str(START + np.timedelta64(int(1e9 * second), "ns")) for second in asked],
        "ended_at": [
            str(START + np.timedelta64(int(1e9 * (second + wait)), "ns"))
            for second, wait in zip(asked, took, strict=True)
        ],
        "planned": planned.tolist(),
        "fare": np.round(2.5 + 0.4 * planned + rng.normal(0.0, 1.0, ROWS), 2).tolist(),
        "took": took,
        "came": asked + took,
    }


def task(table: dict[str, Any], target: str = "fare", **more: Any) -> Task:
    said = Silence()
    asked = Asked(target, "asked_at", "ended_at", **more)
    return task_of(table, asked, Labels(), said, loss=None)


def _with(make: Callable[[Any, Any, Any], Any]) -> dict[str, Any]:
    table = rides()
    took, came = table.pop("took"), table.pop("came")
    return table | {"leak": list(make(took, came, np.array(table["fare"])))}


def _dates(seconds: Any, unit: str) -> list[str]:
    return [str((START + np.timedelta64(int(s), "s")).astype(f"M8[{unit}]")) for s in seconds]


LEAKS: dict[str, tuple[str, Callable[[Any, Any, Any], Any]]] = {
    "minutes": ("how long", lambda took, came, fare: np.round(took / 60.0)),
    "minutes, cut": ("how long", lambda took, came, fare: np.floor(took / 60.0)),
    "quarters of an hour, up": ("how long", lambda took, came, fare: 15 * np.ceil(took / 900.0)),
    "seconds": ("how long", lambda took, came, fare: took),
    "hours with two digits": ("how long", lambda took, came, fare: np.round(took / 3600.0, 2)),
    "hours in full": ("how long", lambda took, came, fare: took / 3600.0),
    "cents by the minute": ("how long", lambda took, came, fare: np.round(120 + 35 * took / 60.0)),
    "in 32 bits": ("how long", lambda took, came, fare: (took / 7.0).astype("f4").astype("f8")),
    "the end": ("when", lambda took, came, fare: _dates(came, "s")),
    "the end, an hour later": ("when", lambda took, came, fare: _dates(came + 3600.0, "s")),
    "the end to the minute": ("when", lambda took, came, fare: _dates(came, "m")),
    "the end since 1970": ("when", lambda took, came, fare: np.floor(came) + 1_767_600_000),
    "minutes since the start": ("when", lambda took, came, fare: np.round(came / 60.0)),
    "with tax": ("the target 'fare' rescaled", lambda took, came, fare: 1.19 * fare),
    "with tax and tip": (
        "the target 'fare' rescaled",
        lambda took, came, fare: np.round(1.19 * fare + 2.0, 2),
    ),
    "whole": ("the target 'fare' rescaled", lambda took, came, fare: np.round(fare)),
    "owed": ("the target 'fare' rescaled", lambda took, came, fare: -fare),
}


@pytest.mark.parametrize("name", LEAKS)
def test_features_that_know_the_answer_in_disguise_are_refused(name: str) -> None:
    says, make = LEAKS[name]
    table = _with(make)
    with pytest.raises(LogError, match=rf"is {says}.*--ignore leak.*--known leak"):
        task(table)
    assert task(table, known=("leak",)).notes == ()
    assert task(table, kinds={"leak": "ignore"}).rounds == ROWS


def test_a_copy_of_the_target_is_refused_also_where_the_label_is_a_yes_or_no() -> None:
    table = _with(lambda took, came, fare: np.round(fare))
    with pytest.raises(LogError, match="'leak' is the target 'fare' rescaled, shifted or rounded"):
        task_of(
            table,
            Asked("fare", "asked_at", "ended_at"),
            Labels("logistic", threshold=12.0),
            Silence(),
            loss=None,
        )


@given(seed=st.integers(0, 50))
def test_features_that_only_go_with_the_answer_pass(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rides(seed)
    took, fare = table.pop("took"), np.array(table["fare"])
    came = table.pop("came")
    asked = came - took
    more = {
        "promised": np.round(took / 60.0 + rng.normal(0.0, 1.0, ROWS)).tolist(),
        "like the fare": np.round(fare + rng.normal(0.0, 0.5, ROWS)).tolist(),
        "row": [*range(ROWS)],
        "day": _dates(asked, "D"),
        "hour": _dates(asked, "h"),
        "due": _dates(asked + 60.0 * np.array(table["planned"]), "s"),
        "class": np.digitize(table["planned"], [10.0, 20.0, 30.0]).tolist(),
        "long": (took > 1500.0).astype(float).tolist(),
    }
    assert task(table | more).rounds == ROWS


def test_all_features_that_know_the_answer_are_named_at_once() -> None:
    table = _with(lambda took, came, fare: np.round(took / 60.0))
    table["net fare"] = [round(fare / 1.19, 2) for fare in table["fare"]]
    says = (
        r"'leak' is how long .*; 'net fare' is the target .*leave them out \(--ignore leak 'net f"
    )
    with pytest.raises(LogError, match=says):
        task(table)


@given(
    st.lists(st.floats(-1e4, 1e4), min_size=40, max_size=80, unique=True),
    st.floats(0.01, 100.0),
    st.floats(-1e3, 1e3),
    st.sampled_from([np.round, np.floor, np.ceil]),
    st.sampled_from([1.0, 0.1, 0.25, 60.0]),
)
def test_every_rounded_copy_is_found(
    hidden: list[float], slope: float, shift: float, rounded: Any, step: float
) -> None:
    h = np.array(hidden)
    cells = step * rounded((slope * h + shift) / step)
    found = is_copy(cells, h)
    steps = np.ptp(cells) / max(step_of(cells), 1e-300)
    common = int(np.unique(cells, return_counts=True)[1].max())
    assert found or steps < 6.5 or len(h) - common < 10


def test_whole_numbers_beside_whole_numbers_must_be_exact() -> None:
    took = np.arange(100.0) % 23.0
    assert is_rounded(took, took)
    assert is_copy(took + 5.0, took)
    off = took + (np.arange(100) == 50)
    assert not is_rounded(off, took)
    assert not is_copy(off, took)


# ---- rewards -----------------------------------------------------------------------------------


def shop(seed: int = 0) -> dict[str, Any]:
    """Decisions with rewards that come late, and what a visitor is like."""
    rng = np.random.default_rng(seed)
    shown = np.arange(ROWS) * 60
    took = rng.integers(5, 4_000, ROWS)
    return {
        "shown_at": [str(START + np.timedelta64(int(s), "s")) for s in shown],
        "bought_at": [str(START + np.timedelta64(int(s), "s")) for s in shown + took],
        "action": [("blue", "green")[each] for each in rng.integers(0, 2, ROWS)],
        "probability": [0.5] * ROWS,
        "reward": np.round(rng.gamma(2.0, 20.0, ROWS), 2),
        "age": rng.integers(18, 80, ROWS).tolist(),
        "took": took,
    }


@pytest.mark.parametrize(
    ("says", "make"),
    [
        ("the reward 'reward' under another name", lambda t: t["reward"].tolist()),
        ("the reward 'reward' rescaled", lambda t: np.round(t["reward"] / 1.19).tolist()),
        ("how long the reward took", lambda t: np.round(t["took"] / 60).tolist()),
        ("when the reward came", lambda t: [f"{at[:16]}Z" for at in t["bought_at"]]),
    ],
)
def test_a_context_that_knows_the_reward_is_refused(says: str, make: Any) -> None:
    table = shop()
    table["leak"] = make(table)
    del table["took"]
    with pytest.raises(LogError, match=rf"is {says}.*--ignore leak.*--known leak"):
        decisions_of(table, Columns())
    left = decisions_of(table, Columns(ignore=("leak",)))
    assert set(left.context) == {"age"}
    assert "age" in decisions_of(table, Columns(known=("leak",))).context


def test_a_yes_or_no_that_is_the_reward_with_silence_is_refused() -> None:
    table = shop()
    bought = np.arange(ROWS) % 3 == 0
    table["took"] = ["yes" if each else "no" for each in bought]
    table["reward"] = [1.0 if each else None for each in bought]
    table["bought_at"] = [
        at if each else None for at, each in zip(table["bought_at"], bought, strict=True)
    ]
    with pytest.raises(LogError, match="'took' is the reward 'reward' under another name"):
        decisions_of(table, Columns(), silence=0.0)
