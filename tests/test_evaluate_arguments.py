"""What is asked of a log of decisions: nothing is ignored, and all of it can be typed again."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.errors import LogError, SpecError
from belated.evaluations.decision_log import DecisionLog
from belated.evaluations.reading import Columns, decisions_of
from belated.logs import read

# What is tested is what stands around the models; compiled, those take no time.
pytestmark = [pytest.mark.compiled, pytest.mark.needs_compiler]

pytest.importorskip("pyarrow")

ROWS = 80


def table(rows: int = ROWS, times: str = "%Y-%m-%dT%H:%M") -> dict[str, list[Any]]:
    """A small log by the wall clock, with a column and some columns of other policies."""
    rng = np.random.default_rng(1)
    start = datetime(2024, 5, 3, 12, 0)
    heard = rng.random(rows) < 0.5
    shown = [start + timedelta(minutes=i) for i in range(rows)]
    came = [at + timedelta(minutes=1 + int(rng.integers(0, 20))) for at in shown]
    chance = rng.random(rows).round(3)
    return {
        "shown_at": [at.strftime(times) for at in shown],
        "came_at": [at.strftime(times) if is_ else "" for at, is_ in zip(came, heard, strict=True)],
        "deed": [("blue", "green")[each] for each in rng.integers(0, 2, rows)],
        "p": [0.5] * rows,
        "won": [1.5 if is_ else "" for is_ in heard],
        "country": [("PT", "NO")[each] for each in rng.integers(0, 2, rows)],
        "town": [("a", "b", "c")[each] for each in rng.integers(0, 3, rows)],
        "new_blue": chance.tolist(),
        "new_green": (1.0 - chance).tolist(),
        "old": [("blue", "green")[each] for each in rng.integers(0, 2, rows)],
    }


NAMES: dict[str, Any] = {
    "action": "deed",
    "probability": "p",
    "reward": "won",
    "decided": "shown_at",
    "rewarded": "came_at",
}


def test_until_is_in_the_time_zone_of_the_log() -> None:
    """13:00 is when the 61st was shown, in whatever zone."""
    options = NAMES | {"silence": 0.0, "deadline": 0, "chooser": False}
    for zone in (None, "America/New_York", "Asia/Kolkata"):
        for until in ("2024-05-03T13:00", datetime(2024, 5, 3, 13, 0)):
            assert bl.evaluate(table(), until=until, tz=zone, **options).counted == 61
    found = bl.evaluate(table(), until="2024-05-03T17:00Z", tz="America/New_York", **options)
    assert found.counted == 61


# ---- nothing is ignored ------------------------------------------------------------------------


def decisions() -> DecisionLog:
    return decisions_of(table(), Columns(**NAMES), silence=0.0)


@pytest.mark.parametrize(
    "option",
    [
        *({"action": "nonsense"}, {"probability": "x"}, {"reward": "x"}, {"decided": "x"}),
        *({"rewarded": "x"}, {"context": ["no such"]}, {"tz": "Mars/Olympus"}, {"unit": "s"}),
        {"dates": "day first"},
    ],
    ids=str,
)
def test_what_would_be_ignored_is_refused(tmp_path: Path, option: dict[str, Any]) -> None:
    log = decisions()
    for given in (log, offering(tmp_path / "x.dsjson")):
        with pytest.raises(LogError, match=f"leave out {next(iter(option))}"):
            bl.evaluate(given, silence=0.0, **option)


def test_a_log_has_its_times() -> None:
    log = read(table(), "shown_at", "came_at", target="won", features="all")
    names: dict[str, Any] = {"action": "deed", "probability": "p", "context": ["town"]}
    options: list[dict[str, Any]] = [{"decided": "shown_at"}, {"rewarded": "x"}]
    found = bl.evaluate(log, silence=0.0, chooser=False, **names)
    assert list(found.mature.log.context) == ["town"]
    for option in (*options, {"tz": "UTC"}, {"unit": "s"}):
        with pytest.raises(LogError, match=f"is a Log.*leave out {next(iter(option))}"):
            bl.evaluate(log, silence=0.0, **names, **option)


# ---- policies ----------------------------------------------------------------------------------


def offering(path: Path) -> Path:
    """A log in which red is on offer in the first row only; rows are not in order of time."""
    shared: dict[str, Any] = {
        "_label_cost": -1.0,
        "_label_probability": 0.5,
        "_label_Action": 1,
        "p": [0.5, 0.5],
        "a": [1, 2],
    }
    lines = []
    for i, second in enumerate(("red", "green", "green", "green")):
        menu = [{"_tag": "blue", "x": 1}, {"_tag": second, "x": 1}]
        at = f"2024-05-01T12:0{9 - i}:00Z"
        context = {"would": "red" if i == 1 else "blue", "q_blue": 0.5, "_multi": menu}
        context |= {"q_green": 0.0 if i == 0 else 0.5, "q_red": 0.5 if i == 0 else 0.0}
        if i == 1:
            context |= {"q_green": 0.0, "q_red": 0.5}
        lines.append(shared | {"Timestamp": at, "c": context})
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


@pytest.mark.parametrize(
    "policy",
    [
        "would",
        "q_",
        np.array([[0.5, 0.0, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0], [0.5, 0.5, 0.0]]),
        lambda context, actions: {"blue": 0.5, "red" if context["would"] == "red" else "blue": 0.5},
    ],
    ids=["column", "columns", "matrix", "function"],
)
def test_no_policy_takes_what_is_not_on_offer(tmp_path: Path, policy: Any) -> None:
    """The row is that of the file, not the place in order of time."""
    path = offering(tmp_path / "log.dsjson")
    with pytest.raises(SpecError, match=r"takes 'red' in row 1, .* there: blue, green"):
        bl.evaluate(path, {"mine": policy}, chooser=False)


def test_rows_are_those_of_the_file(tmp_path: Path) -> None:
    path = offering(tmp_path / "log.dsjson")
    wrong = np.array([[0.5, 0.0, 0.5], [0.5, 0.5, 0.0], [0.7, 0.5, 0.0], [0.5, 0.5, 0.0]])
    with pytest.raises(SpecError, match=r"in row 2 they are \[0.7, 0.5, 0.0\]"):
        bl.evaluate(path, {"mine": wrong}, chooser=False)


def test_policies_have_names_of_their_own() -> None:
    options: dict[str, Any] = NAMES | {"silence": 0.0, "chooser": False}
    columns = table()
    columns["new"] = columns["old"]
    with pytest.raises(SpecError, match="'new_' has no name of its own"):
        bl.evaluate(columns, ["new", "new_"], **options)
    with pytest.raises(SpecError, match="'always blue' is there already"):
        bl.evaluate(columns, {"always blue": "old"}, **options)
    twice: Any = {1: "old", "1": "old"}
    with pytest.raises(SpecError, match="two policies have the same name"):
        bl.evaluate(columns, twice, **options)
    found = bl.evaluate(columns, {"always pink": "old"}, **options)
    assert "always pink" in found.policies


# ---- words -------------------------------------------------------------------------------------


def test_a_policy_in_one_column_leaves_others_that_begin_alike() -> None:
    rng = np.random.default_rng(0)
    count = 60
    log = {
        "at": np.arange(count, dtype=float),
        "heard": np.arange(count, dtype=float) + 1.0,
        "action": np.where(rng.random(count) < 0.5, "a", "b"),
        "probability": np.full(count, 0.5),
        "reward": rng.random(count),
        "price": rng.random(count),
        "p": np.where(rng.random(count) < 0.5, "a", "b"),
    }
    seen: set[str] = set()

    def rule(context: dict[str, Any], actions: Any) -> str:
        seen.update(context)
        return str(actions[0])

    told: dict[str, Any] = {"decided": "at", "rewarded": "heard", "reward": "reward"}
    bl.evaluate(log, {"p": "p", "rule": rule}, chooser=False, **told)
    assert seen == {"price"}
