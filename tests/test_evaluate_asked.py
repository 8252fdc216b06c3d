"""What is asked of a log of decisions: nothing is ignored, and all of it can be typed again."""

from __future__ import annotations

import csv
import json
import math
import shlex
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated import cli
from belated.errors import LogError, SpecError
from belated.evaluations import Evaluation, dsjson, overlap
from belated.evaluations.asked import Columns
from belated.evaluations.log import DecisionLog
from belated.evaluations.page import page_of
from belated.evaluations.policies import Policy
from belated.evaluations.reading import decisions_of
from belated.evaluations.words import command
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


def written(path: Path, columns: dict[str, list[Any]]) -> Path:
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(columns)
        rows.writerows(zip(*columns.values(), strict=True))
    return path


NAMES: dict[str, Any] = {
    "action": "deed",
    "probability": "p",
    "reward": "won",
    "decided": "shown_at",
    "rewarded": "came_at",
}


def again(found: Evaluation, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Type what the page says, and return the numbers."""
    capsys.readouterr()
    assert cli.main([*shlex.split(command(found))[1:], "--json"]) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"chooser": False, "slices": ["country"], "context": ["country", "town"]},
        {"chooser": False, "slices": [], "context": []},
        {"until": "2024-05-03T13:00", "tz": "America/New_York"},
        {"until": datetime(2024, 5, 3, 13, 0), "tz": "America/New_York", "chooser": False},
        {"until": np.datetime64("2024-05-03T13:00"), "chooser": False},
        {"until": 1714741200, "chooser": False},
        {"policies": ["new_", "old"], "against": "new", "estimator": "snips", "blocks": 6},
        {"policies": {"mine": "new_"}, "against": "uniform", "chooser": False},
        {"deadline": timedelta(minutes=7.5), "silence": -1.0 / 3.0, "chooser": False},
        {"deadline": np.timedelta64(10, "m"), "silence": 1e-7, "chooser": False},
        {"deadline": "600s", "on_bad": "skip", "chooser": False},
    ],
    ids=str,
)
def test_what_the_page_says_can_be_typed(
    tmp_path: Path, options: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    columns = table()
    if options.get("on_bad") == "skip":
        columns["p"][3] = 2.0
    path = written(tmp_path / "a log.csv", columns)
    found = bl.evaluate(str(path), **{"silence": 0.0, "deadline": "20min", **NAMES, **options})
    expected = json.loads(found.to_json())
    text = json.dumps(again(found, capsys))
    if isinstance(options.get("policies"), dict):  # its own name cannot be typed
        text = text.replace('"new"', '"mine"')
    told = json.loads(text)
    assert told == expected


def test_dates_and_units_can_be_typed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "slashed.csv", table(times="%m/%d/%Y %H:%M"))
    options: dict[str, Any] = NAMES | {"silence": 0.0, "deadline": "20min", "chooser": False}
    until = "5/3/2024 13:00"
    found = bl.evaluate(str(path), dates="month first", until=until, **options)
    assert found.counted == 41
    assert again(found, capsys) == json.loads(found.to_json())
    minutes = list(range(ROWS))
    numbers = table() | {"shown_at": minutes, "came_at": [at + 2 for at in minutes]}
    numbers["won"] = [1.0] * ROWS
    path = written(tmp_path / "numbers.csv", numbers)
    found = bl.evaluate(str(path), unit="min", until=60.5, **options)
    assert found.counted == 41
    assert again(found, capsys) == json.loads(found.to_json())


def test_what_cannot_be_typed_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "log.csv", table())
    mine: dict[str, Any] = {"mine": lambda context, actions: actions[0], "old": "old"}
    options = NAMES | {"silence": 0.0, "deadline": "20min", "chooser": False}
    found = bl.evaluate(str(path), mine, against="mine", **options)
    told = again(found, capsys)
    assert {row["policy"] for row in told["policies"]} == set(found.policies) - {"mine"}


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
    dsjson.write(tmp_path / "x.dsjson", log)
    for given in (log, tmp_path / "x.dsjson"):
        with pytest.raises(LogError, match=f"leave out {next(iter(option))}"):
            bl.evaluate(given, silence=0.0, **option)


def test_a_log_has_its_times() -> None:
    log = read(table(), "shown_at", "came_at", target="won", features="all")
    names: dict[str, Any] = {"action": "deed", "probability": "p", "context": ["town"]}
    options: list[dict[str, Any]] = [{"decided": "shown_at"}, {"rewarded": "x"}]
    found = bl.evaluate(log, silence=0.0, chooser=False, **names)
    assert list(found.ripe.log.context) == ["town"]
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


def test_overlap_with_a_policy_that_never_does_what_was_done() -> None:
    nothing, some = np.zeros(4), np.ones(4)
    policies = {name: Policy(name, "", nothing, None) for name in "abc"}
    weights = {"a": nothing, "b": nothing, "c": some}
    assert overlap.overlaps(policies, weights).tolist() == np.eye(3).tolist()


# ---- words -------------------------------------------------------------------------------------


def test_the_page_speaks_of_a_chooser_only_if_there_is_one() -> None:
    options: dict[str, Any] = NAMES | {"silence": 0.0, "deadline": "20min"}
    for has_chooser in (True, False):
        page = page_of(bl.evaluate(table(160), chooser=has_chooser, **options))
        (section,) = [part for part in page.sections if part.question == "Does it hold over time?"]
        assert ("as the chooser does" in section.says) == has_chooser


@pytest.mark.parametrize("slow", [1, 30])
def test_the_page_says_which_action_is_heard_of_later(slow: int) -> None:
    rng = np.random.default_rng(3)
    at = np.arange(400.0)
    is_blue = rng.random(400) < 0.5
    log = {
        "decided_at": at,
        "rewarded_at": at + rng.uniform(1.0, 2.0, 400) * np.where(is_blue, 1, slow),
        "reward": rng.random(400),
        "action": np.where(is_blue, "blue", "come sooner"),
        "probability": np.full(400, 0.5),
    }
    found = bl.evaluate(log, chooser=False)
    says = page_of(found).sections[-1].says
    assert (found.apart is not None) == (slow > 1)
    start = "Rewards of blue come sooner" if slow > 1 else "No action is heard of much sooner"
    assert says.startswith(start)


def test_columns_are_asked_for_in_our_words() -> None:
    columns = table()
    same = NAMES | {"decided": "came_at"}
    with pytest.raises(LogError, match="decided and rewarded must be two columns"):
        bl.evaluate(columns, **same)
    quoted = NAMES | {"action": "o'clock"}
    with pytest.raises(LogError, match=r"what was done\? Give action= .* no \"o'clock\" among"):
        bl.evaluate(columns, **quoted)


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


def test_lines_of_dsjson_that_cannot_be_are_bad_rows(tmp_path: Path) -> None:
    good = {
        "_label_cost": -1,
        "_label_probability": 0.5,
        "_label_Action": 1,
        "Timestamp": "2026-03-01T10:00:00Z",
        "a": [1, 2],
        "p": [0.5, 0.5],
        "c": {"x": 1, "_multi": [{"_tag": "a"}, {"_tag": "b"}]},
    }
    deep = "[" * 20_000 + "]" * 20_000
    lines = [
        json.dumps({name: value for name, value in good.items() if name != "Timestamp"}),
        json.dumps(good | {"Timestamp": "0001-01-01T00:00:00Z"}),
        json.dumps(good | {"_label_Action": math.inf}),
        json.dumps(good | {"_label_cost": 10**400}),
        json.dumps(good).replace('"x": 1', f'"x": {deep}'),
        *[json.dumps(good | {"Timestamp": f"2026-03-01T11:{i:02}:00Z"}) for i in range(30)],
    ]
    path = tmp_path / "log.dsjson"
    path.write_text("\n".join(lines))
    with pytest.raises(LogError):
        bl.evaluate(path, chooser=False)
    assert bl.evaluate(path, chooser=False, on_bad="skip").counted == 30
