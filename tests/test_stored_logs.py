"""Logs of stores in audits and replays: what was said live is what is read, without a converter."""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

import belated as bl
from belated import cli
from belated.audits import USUAL, audit
from belated.audits.stored_log import StoredLog, stored_log
from belated.errors import BelatedError, LogError, StoreError
from belated.replays import replay
from belated.replays.contenders import WINDOW

START = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a store whose clock goes on by a second with every commit."""
    monkeypatch.chdir(tmp_path)
    clock = iter(range(1_770_000_000, 1_780_000_000))
    monkeypatch.setattr("belated.store.store.time", lambda: float(next(clock)))
    with bl.open(tmp_path / "s.db") as found:
        yield found


def spec(**changes: Any) -> bl.LinearModel:
    return bl.LinearModel(**{"loss": "squared", **changes})


def after(**span: float) -> datetime:
    return START + timedelta(**span)


def exported(store: Any, name: str = "m") -> StoredLog:
    """Return the log of a model as its export has it."""
    store.export(name, f"{name}.parquet")
    found = stored_log(f"{name}.parquet")
    assert found is not None
    return found


def live(model: Any, rounds: int, *, at: Callable[[int], Any] = lambda _: None) -> list[float]:
    """Predict and answer, each ten predictions later; return what was predicted."""
    said = []
    for i in range(rounds):
        row = {"x": math.sin(i), "shop": "abc"[i % 3], "day": i % 7}
        said.append(model.predict(row, key=f"k{i}", at=at(i)).value)
        if i >= 10:
            model.observe(f"k{i - 10}", 3.0 * math.sin(i - 10) + i % 2, at=at(i))
    return said


# --- What is read ---------------------------------------------------------------------------------


@pytest.mark.parametrize("has_times", [True, False])
def test_a_replay_says_what_the_model_said_live(store: Any, has_times: bool) -> None:
    model = store.model("m", spec())
    said = live(model, 60, at=(lambda i: after(minutes=i)) if has_times else lambda _: None)
    log = exported(store).log()
    assert (log.unit, log.is_epoch, len(log), log.answered.sum()) == ("s", True, 60, 50)
    waits = (log.observed_at - log.predicted_at)[10:50]  # a commit takes a second of the clock
    np.testing.assert_allclose(waits, 600.0 if has_times else 21.0, atol=1e-5)
    found = replay("m.parquet")
    assert found.task.how.loss == "squared"
    assert found.methods["belated"].predictions.tolist() == said
    noted = "events are as old as their commits, as none was given a time"
    assert (noted in found.task.notes) is not has_times


def test_batches_are_rows(store: Any) -> None:
    model = store.model("m", spec())
    said: list[float] = []
    for i in range(12):
        rows = [{"x": math.sin(i + j), "w": "ab"[j % 2]} for j in range(4)]
        said += model.predict_many(rows, keys=[f"{i}-{j}" for j in range(4)])[1].tolist()
        weights = [1.0, 2.0, 1.0]
        model.observe_many([f"{i}-{j}" for j in (2, 0, 1)], [1.0, float(i), 3.0], weights=weights)
    stored = exported(store)
    log = stored.log()
    assert stored.keys().tolist()[:5] == ["0-0", "0-1", "0-2", "0-3", "1-0"]
    assert log.target is not None
    assert log.weight is not None
    assert log.target[:4].tolist()[:3] == [0.0, 3.0, 1.0]
    assert np.isnan(log.target[3])
    assert log.weight[:4].tolist() == [2.0, 1.0, 1.0, 1.0]
    assert replay("m.parquet").methods["belated"].predictions.tolist() == said
    store.compact("m")
    model.predict_many([{"x": 1.0}] * 2, keys=["y", "z"])
    model.observe_many(["z", "0-3"], [5.0, 6.0])
    young = exported(store)
    assert (young.keys().tolist(), len(young.log())) == (["y", "z"], 2)
    assert young.log().notes[-1] == (
        "1 answers are to predictions that were compacted away, and are left out"
    )


def test_rows_of_every_form_become_columns(store: Any) -> None:
    nan = math.nan
    named = store.model("m", spec())
    for row in ({"a": 1, "b": "x", "c": True, "d": None}, {"a": "word", "e": 2.5}):
        named.predict(row)
    placed = store.model("v", spec())
    for vector in ([1.0, 2.0], ([3, 1], [0.5, 4.0])):
        placed.predict(vector)
    placed.predict_many(np.array([[7.0, 0.0, 8.0]]))
    found = {
        name: {
            column: values.tolist() for column, values in exported(store, name).features().items()
        }
        for name in "mv"
    }
    assert json.dumps(found["m"]) == json.dumps(
        {"a": [1.0, nan], "a (text)": [None, "word"], "b": ["x", None], "c": [1.0, nan]}
        | {"e": [nan, 2.5]}
    )
    assert json.dumps(found["v"]) == json.dumps(
        {"x0": [1.0, nan, 7.0], "x1": [2.0, 4.0, found["v"]["x1"][2]]}
        | {"x3": [nan, 0.5, nan], "x2": [nan, nan, 8.0]}
    )


def test_the_last_word_counts(store: Any) -> None:
    model = store.model("m", spec(silence=0.0, deadline=timedelta(hours=5)))
    for key in ("revised", "added", "cancelled", "late", "silent"):
        model.predict({"x": 1.0}, key=key, at=START)
    model.revise("revised", 1.0, at=after(hours=1))
    model.add("added", 2.0, at=after(hours=2))
    model.add("added", 3.0, at=after(hours=3))
    model.cancel("cancelled")
    model.revise("revised", 4.0, at=after(hours=4))
    model.observe("late", 7.0, at=after(hours=6))
    stored = exported(store)
    assert stored.deadline == 5 * 3600.0
    log = stored.log()
    assert log.target is not None
    assert log.target.tolist()[:2] == [4.0, 5.0]
    assert np.isnan(log.target[[2, 4]]).all()
    hours = ((log.observed_at - log.predicted_at) / 3600.0).round(3)
    assert hours.tolist()[:2] == [4.0, 3.0]
    assert (hours[3], log.target[3]) == (6.0, 7.0)
    assert log.notes == (
        "of 2 labels that were revised or added to, the last word counts",
        "1 tickets were cancelled, and count as never answered",
    )
    within = stored.log(3.5 * 3600.0)
    assert within.target is not None
    assert within.target.tolist()[:2] == [1.0, 5.0]


# --- Audits and replays ---------------------------------------------------------------------------


def shop(store: Any) -> Any:
    """Return a model of sales: one in three, hours later, and nothing else is ever heard."""
    model = store.model("m", spec(loss="logistic", silence=0, deadline=timedelta(hours=12)))
    waiting: list[tuple[int, str]] = []
    for i in range(200):
        while waiting and waiting[0][0] <= i:
            hour, key = waiting.pop(0)
            model.observe(key, 1, at=after(hours=hour))
        model.predict({"page": "ab"[i % 2], "hour": i % 24}, key=f"v{i}", at=after(hours=i))
        if i % 3 == 0:
            waiting.append((i + 3 + i % 5, f"v{i}"))
            waiting.sort()
    return model


def test_silence_and_deadline_are_those_of_the_model(store: Any) -> None:
    shop(store)
    store.export("m", "m.parquet")
    counted = audit("m.parquet")
    assert (counted.deadline, counted.rounds, counted.answered) == (43200.0, 200, 66)
    assert (counted.silent, counted.never) == (125, 9)  # of 188 whose deadline has passed
    found = replay("m.parquet")
    assert (found.task.how.loss, found.task.how.silence) == ("logistic", 0.0)
    assert found.task.how.deadline == timedelta(hours=12)
    assert found.counted == 188
    shorter = replay("m.parquet", silence=0, deadline="5h")
    assert shorter.task.how.deadline == timedelta(hours=5)
    assert shorter.counted > found.counted
    for log in ("m.parquet", store.log("m")):  # silence is that of the model
        assert replay(log, deadline="5h").task.how == shorter.task.how
    other = replay("m.parquet", loss="squared")
    assert other.task.how.loss == "squared"
    by_hand = replay("m.parquet", answered_only=True)
    assert by_hand.task.how.silence is None
    assert WINDOW in replay("m.parquet", window="1h").methods


def test_a_number_that_counts_predictions_stays_one(store: Any) -> None:
    live(store.model("m", spec(silence=0.0, deadline=5)), 30)
    counted = audit(exported(store).name)
    said = "the deadline of the model, 5 predictions, is left out: give one in time (--deadline)"
    assert (counted.deadline, counted.notes[-2:]) == (counted.wait.longest, (said, USUAL))
    assert said not in audit("m.parquet", deadline="1h").notes
    timed = spec(silence=0.0, deadline=timedelta(hours=1))
    live(store.model("n", timed), 30)  # with times of the store
    store.rebuild("n", spec(silence=0.0, deadline=5), to="n")
    for found in (audit(store.log("n")), audit(exported(store, "n").name)):
        assert (found.deadline, found.notes[-2:]) == (found.wait.longest, (said, USUAL))
    some = store.model("some", spec(silence=0.0, deadline=50.0))
    some.predict({"x": 1.0}, key="a", at=5.0)
    some.predict({"x": 1.0}, key="b", at=6.0)
    some.observe("a", 1.0)
    notes = " ".join(audit(store.log("some")).notes)
    assert "50 of the clock that it was given, is left out" in notes


def test_other_kinds_of_models_are_counted(store: Any) -> None:
    chooser = store.model("c", bl.Chooser(["a", "b"], silence=0, deadline=timedelta(hours=2)))
    for i in range(30):
        hidden = i % 10 == 9
        chosen = chooser.choose({"x": i % 3}, at=after(hours=i), shown=not hidden)
        if i == 9:
            chooser.shown(chosen.ticket, at=after(hours=i, minutes=20))
        if i % 2:
            continue
        chooser.observe(chosen.ticket, 1.0, at=after(hours=i, minutes=30))
    store.export("c", "c.parquet")
    counted = audit("c.parquet")
    assert (counted.rounds, counted.answered, counted.deadline) == (28, 15, 7200.0)
    assert (counted.silent, counted.never) == (12, 1)
    assert counted.notes == ("2 choices were never shown, and are left out",)
    with pytest.raises(LogError, match="belated evaluate says"):
        replay("c.parquet")
    learner = store.model("l", bl.Learner(bl.Problem(bl.Ball(2), lipschitz=1.0).learner()))
    knobs = store.model("k", bl.Knobs({"n": (0, 9)}))
    for i in range(10):
        learner.predict(key=f"k{i}")
        knobs.predict(key=f"k{i}")
        if i > 2:
            learner.observe(f"k{i - 3}", [0.5, 0.5])
            knobs.observe(f"k{i - 3}", 1.0)
    ranges = store.model("i", bl.Intervals(spec()))
    said = [ranges.predict({"x": math.sin(i)}, key=f"k{i}").value for i in range(20)]
    for i in range(20):
        ranges.observe(f"k{i}", float(i % 3))
    for name in ("l", "k", "i"):
        store.export(name, f"{name}.parquet")
        counted = audit(f"{name}.parquet")
        assert counted.answered == (20 if name == "i" else 7)
        if name != "i":
            with pytest.raises(LogError, match="whose answers are no labels"):
                replay(f"{name}.parquet")
    assert replay("i.parquet").methods["belated"].predictions.tolist() == said


def test_commands(store: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shop(store)
    store.export("m", "m.pq")  # by what it begins with, and not by its name
    live(store.model("plain", spec()), 30)
    store.export("plain", "plain.parquet")
    how = "--loss squared --deadline 5h --silence 0 --ignore hour"
    for command, says in (
        ("audit m.pq", "125 count as silence"),
        ("audit m.pq --deadline 5h", "5 h after prediction"),
        ("replay m.pq --deadline 5h", "200 predictions of the label"),
        ("replay m.pq --save m.belated --key key", "200 predictions of the label; 188 count"),
        (f"replay m.pq {how}", "Predicted from page."),
        ("replay plain.parquet --deadline 5h", "say which one with silence"),
        ("audit m.pq --target value", "is the log of a store"),
        ("audit m.pq --tz UTC", "is the log of a store"),
        ("replay m.pq --target value", "is the log of a store"),
        ("replay m.pq --text hour", "is the log of a store"),
    ):
        status = cli.main([*command.split(), "--no-page"])
        said = capsys.readouterr()
        assert says in (said.err if status else said.out), command
    assert bl.LinearModel.load("m.belated").ticket("v199") == 199


def test_pipes_are_read_from_their_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i},{i + 3.5},{i % 5}\n" for i in range(3000))
    text = f"asked_at,answered_at,y\n{rows}"
    for command in (["audit"], ["audit", "--target", "y"], ["replay", "--target", "y", "--quick"]):
        os.mkfifo("pipe.csv")
        writer = threading.Thread(target=Path("pipe.csv").write_text, args=(text,))
        writer.start()
        assert cli.main([command[0], "pipe.csv", *command[1:], "--no-page"]) in (0, None)
        writer.join()
        assert "pipe.csv: 3,000 predictions" in capsys.readouterr().out
        Path("pipe.csv").unlink()


# --- What cannot be read --------------------------------------------------------------------------


def test_files_that_nobody_exported(store: Any, tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    live(store.model("m", spec()), 5)
    store.model("empty", spec())
    store.export("m", "m.parquet")
    store.export("empty", "empty.parquet")
    with pytest.raises(LogError, match="never asked for anything"):
        audit("empty.parquet")
    table = parquet.read_table("m.parquet")
    about = json.loads(table.schema.metadata[b"belated.store"])
    nothing = {"asked_at": [1, 2], "answered_at": [3, 4]}
    parquet.write_table(pa.table(nothing), "other.parquet")
    assert stored_log("other.parquet") is None
    assert audit("other.parquet").rounds == 2
    for changes in ({"kind": "Other"}, {"kind": None}, {"spec": 5}, {"base": 7}):
        forged = {b"belated.store": json.dumps({**about, **changes}).encode()}
        parquet.write_table(table.replace_schema_metadata(forged), "forged.parquet")
        with pytest.raises(BelatedError):
            audit("forged.parquet")
    for event in ("{}", "[99]", "[8, 5]", "[]", "null", '[0, {}, "k", "x"]'):
        events = pa.array([event] * len(table))
        place = table.schema.get_field_index("event")
        parquet.write_table(table.set_column(place, "event", events), "forged.parquet")
        with pytest.raises((StoreError, LogError)):
            audit("forged.parquet")
    for row in ('"?!"', '["AA", 5]', '{"x": []}', '{"x": {"y": 1}}'):
        events = pa.array([f"[0, {row}]"] * len(table))
        parquet.write_table(table.set_column(place, "event", events), "forged.parquet")
        assert audit("forged.parquet").rounds == 5
        with pytest.raises((StoreError, LogError)):
            replay("forged.parquet")
    unread = {**about, "spec": about["spec"][:40]}
    forged = {b"belated.store": json.dumps(unread).encode()}
    parquet.write_table(table.replace_schema_metadata(forged), "forged.parquet")
    assert any(
        "settings of the model cannot be read" in note for note in audit("forged.parquet").notes
    )


@pytest.mark.parametrize("damage", ["type", "depth", "column", "bytes"])
def test_damaged_exports_are_refused_in_words(store: Any, tmp_path: Path, damage: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    live(store.model("m", spec()), 30)
    store.export("m", "m.parquet")
    table = pq.read_table("m.parquet")
    if damage == "column":
        pq.write_table(table.drop_columns(["ticket"]), "bad.parquet")
    elif damage == "bytes":
        whole = bytearray((tmp_path / "m.parquet").read_bytes())
        whole[60:90] = b"\xff" * 30
        (tmp_path / "bad.parquet").write_bytes(whole)
    else:
        rows = table.to_pylist()
        rows[-1]["event"] = '[1,25,{"a":1}]' if damage == "type" else "[" * 5000 + "]" * 5000
        pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), "bad.parquet")
    for read in (audit, replay):
        with pytest.raises(BelatedError, match=r"bad\.parquet is no log that a store has exported"):
            read("bad.parquet")


def test_lines_of_a_store_are_read_as_the_file_is(store: Any) -> None:
    live(store.model("m", spec()), 40)
    store.export("m", "m.parquet")
    assert replay(store.log("m")).methods["belated"].predictions.tolist() == (
        replay("m.parquet").methods["belated"].predictions.tolist()
    )
    one, other = audit(list(store.log("m"))), audit("m.parquet")
    assert one.tally.total_delay == other.tally.total_delay
    assert one.name == "log of a store"
    with pytest.raises(LogError, match="a generator is read where it gives"):
        audit(i for i in range(3))


def test_features_and_keys_can_be_chosen(store: Any, tmp_path: Path) -> None:
    model = store.model("m", spec())
    live(model, 40)
    store.export("m", "m.parquet")
    assert replay("m.parquet", features=["x"]).task.features == ("x",)
    assert replay("m.parquet", kinds={"x": "ignore"}).task.features == ("shop", "day")
    found = replay("m.parquet", key="key")
    assert found.task.features == ("x", "shop", "day")
    assert found.model.open == 10
    assert found.model.observe("k35", 1.0)
    with pytest.raises(LogError, match="has no feature 'y'; it has 'x', 'shop', 'day'"):
        replay("m.parquet", kinds={"y": "ignore"})
    with pytest.raises(LogError, match="names, and a table takes"):
        _wide(store).features()
    assert list(_wide(store).features(["f7"])) == ["f7"]


def _wide(store: Any) -> StoredLog:
    model = store.model("wide", spec())
    if not model.rounds:
        model.predict({f"f{i}": 1.0 for i in range(2001)})
    return exported(store, "wide")
