"""Logs of decisions in files: CSV, Parquet, JSON lines, dsjson; and the command that reads them."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from belated import cli
from belated.errors import LogError
from belated.evaluations import dsjson
from belated.evaluations.decision_log import DecisionLog
from belated.evaluations.reading import Columns, Reading, decisions_of
from belated.logs import read

pa = pytest.importorskip("pyarrow")

ROWS = 60


def table(rows: int = ROWS) -> dict[str, list[Any]]:
    """A small log with dates, numbers, words, and rewards that are missing."""
    rng = np.random.default_rng(0)
    heard = rng.random(rows) < 0.5
    minutes = np.arange(rows)
    took = 1 + rng.integers(0, 20, rows)
    start = np.datetime64("2024-05-01T12:00:00")
    shown = start + minutes.astype("m8[m]")
    came = shown + took.astype("m8[m]")
    return {
        "shown_at": [f"{each}Z" for each in shown],
        "rewarded_at": [f"{each}Z" if is_ else None for each, is_ in zip(came, heard, strict=True)],
        "action": [("blue", "green")[each] for each in rng.integers(0, 2, rows)],
        "probability": [0.5] * rows,
        "reward": [1.5 if is_ else None for is_ in heard],
        "country": [("PT", "NO")[each] for each in rng.integers(0, 2, rows)],
        "age": [float(each) for each in rng.integers(20, 60, rows)],
    }


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """The same log in every form."""
    from pyarrow import csv, parquet

    columns = table()
    arrow = pa.table(columns)
    paths = {ending: tmp_path / f"log.{ending}" for ending in ("csv", "parquet", "jsonl")}
    csv.write_csv(arrow, paths["csv"])
    parquet.write_table(arrow, paths["parquet"])
    lines = [json.dumps(row) for row in arrow.to_pylist()]
    paths["jsonl"].write_text("\n".join(lines))
    paths["jsonl.gz"] = tmp_path / "log.jsonl.gz"
    paths["jsonl.gz"].write_bytes(gzip.compress("\n".join(lines).encode()))
    return paths


def same(one: DecisionLog, other: DecisionLog) -> bool:
    return (
        one.actions == other.actions
        and one.action.tolist() == other.action.tolist()
        and np.allclose(one.probability, other.probability)
        and np.allclose(one.reward, other.reward, equal_nan=True)
        and np.allclose(one.decided, other.decided)
        and np.allclose(one.wait, other.wait, equal_nan=True)
        and list(one.contexts()) == list(other.contexts())
        and one.start == other.start
    )


def test_every_form_is_the_same_log(files: dict[str, Path]) -> None:
    expected = decisions_of(table(), Columns())
    assert len(expected) == ROWS
    assert next(expected.contexts()).keys() == {"country", "age"}
    for path in files.values():
        assert same(decisions_of(path, Columns()), expected), path
    log = read(table(), target="reward", features="all")
    assert same(decisions_of(log, Columns()), expected)
    assert decisions_of(expected, Columns()) is expected


def test_cells_are_named_by_their_lines(tmp_path: Path) -> None:
    columns = table()
    columns["probability"][5] = None
    path = tmp_path / "log.csv"
    rows = [",".join("" if cell is None else str(cell) for cell in row) for row in rows_of(columns)]
    path.write_text("\n".join([",".join(columns), *rows]))
    with pytest.raises(LogError, match=r"line 7: probability = \(empty\) must not be missing"):
        decisions_of(path, Columns())


def rows_of(columns: dict[str, list[Any]]) -> list[tuple[Any, ...]]:
    return list(zip(*columns.values(), strict=True))


def test_actions_may_be_numbers() -> None:
    columns = table() | {"action": [float(i % 3) for i in range(ROWS)]}
    assert decisions_of(columns, Columns()).actions == ("0", "1", "2")


# ---- dsjson ------------------------------------------------------------------------------------


EVENT: dict[str, Any] = {
    "_label_cost": -2.0,
    "_label_probability": 0.8,
    "_label_Action": 2,
    "_labelIndex": 1,
    "o": [{"v": 2.0, "EnqueuedTimeUtc": "2024-05-01T12:03:00Z"}],
    "Timestamp": "2024-05-01T12:00:00.0000000Z",
    "EventId": "7",
    "a": [2, 1],
    "p": [0.8, 0.2],
    "c": {
        "user": {"country": "PT", "age": 30, "tags": ["a", "b"]},
        "_multi": [{"offer": {"blue": 1}}, {"offer": {"name": "green"}}],
    },
}


def written(path: Path, *events: Any) -> Path:
    path.write_text("".join(f"{json.dumps(event)}\n" for event in events))
    return path


def test_dsjson_as_others_write_it(tmp_path: Path) -> None:
    quiet = EVENT | {"_label_cost": 0.0, "o": [], "Timestamp": "2024-05-01T12:01:00Z"}
    menu = {"_multi": [{"_tag": "red", "x": 1}, {"offer": {"a": 1, "b": 2}}]}
    other = EVENT | {"Timestamp": "2024-05-01T11:00:00Z", "_label_Action": 1, "c": menu}
    log = decisions_of(written(tmp_path / "log.json", EVENT, quiet, other), Columns())
    assert set(log.actions) == {"blue", "green", "red", '{"offer": {"a": 1, "b": 2}}'}
    assert [log.actions[i] for i in log.action] == ["red", "green", "green"]
    assert log.rows.tolist() == [2, 0, 1]
    assert log.wait[1] == 180.0
    assert np.isnan(log.wait[2])
    assert log.reward[1] == 2.0
    assert log.offered is not None
    assert log.menu(1) == ("blue", "green")
    assert list(log.contexts())[1] == {
        "user.country": "PT",
        "user.age": 30.0,
        "user.tags.0": "a",
        "user.tags.1": "b",
    }


def test_dsjson_without_news_is_answered_at_once(tmp_path: Path) -> None:
    plain = {name: value for name, value in EVENT.items() if name != "o"}
    log = decisions_of(
        written(tmp_path / "log.dsjson", plain, plain | {dsjson.LABEL: 0}), Columns()
    )
    assert log.reward.tolist() == [2.0, 0.0]
    assert log.wait.tolist() == [0.0, 0.0]


CHANGES: list[dict[str, Any]] = [
    *({"_label_probability": 0.0}, {"_label_Action": 3}, {"_label_Action": math.inf}),
    *({"Timestamp": "yesterday"}, {"Timestamp": "0001-01-01T00:00:00Z"}),
    *({"_label_cost": "much"}, {"_label_cost": 10**400}, {"c": {}}),
]
WRONG = [json.dumps(EVENT | change) for change in CHANGES]
WRONG += [json.dumps({n: each for n, each in EVENT.items() if n != "Timestamp"}), "[" * 20_000]


@pytest.mark.parametrize("line", WRONG, ids=range(len(WRONG)))
def test_bad_lines_of_dsjson(tmp_path: Path, line: str) -> None:
    path = written(tmp_path / "log.dsjson", EVENT)
    with path.open("a") as file:
        file.write(line)
    with pytest.raises(LogError, match="line 2: is no decision in dsjson"):
        decisions_of(path, Columns())
    log = decisions_of(path, Columns(), reading=Reading(on_bad="skip"))
    assert (len(log), len(log.bad)) == (1, 1)


# ---- the command -------------------------------------------------------------------------------


def test_the_command_writes_numbers(
    files: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["evaluate", str(files["csv"]), "--silence", "0", "--deadline", "20min", "--json"]
    assert cli.main([*arguments, "--context", "country"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["deadline"] == 1200.0
    assert told["context"] == ["country"]
    assert told["too_young"] > 0
    assert [row["policy"] for row in told["policies"] if row["standing"] is None] == ["logged"]


def test_the_command_writes_words_and_a_page(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("vl_convert")
    page = tmp_path / "page.html"
    arguments = ["evaluate", str(files["parquet"]), "--silence", "0", "--deadline", "20min"]
    assert cli.main([*arguments, "--policy", "country", "--out", str(page)]) == 1
    assert "policy 'country' takes" in capsys.readouterr().err
    assert not page.exists()
    assert cli.main([*arguments, "--no-chooser", "--out", str(page)]) == 0
    out = capsys.readouterr().out
    assert "are too young" in out
    assert f"Page written to {page}" in out
    assert "is another policy better?" in page.read_text()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], "say what reward that means with silence= (--silence)"),
        (["--silence", "0", "--action", "deed"], "Give action= (--action COLUMN); there is no"),
        (["--silence", "0", "--deadline", "soon"], "a length of time is a number"),
        (["--silence", "0", "--against", "me"], "against must be one of"),
        (["--silence", "0", "--out", "/nowhere/at/all.html"], "there is no folder"),
    ],
)
def test_the_command_refuses_in_one_line(
    files: dict[str, Path], more: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["evaluate", str(files["csv"]), *more]) == 1
    told = capsys.readouterr()
    assert told.err.startswith("belated: ")
    assert message in told.err
    assert told.out == ""
