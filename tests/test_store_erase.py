"""Erasing a key: nothing of it is left in log, snapshots, notes and files; all else stays."""

from __future__ import annotations

import os
import signal
import sqlite3
import struct
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import belated as bl
from belated.cli import main
from belated.errors import StoreError, StoreUnavailable
from belated.store.recovery import recover_model

SPEC = bl.Problem(bl.Ball(2), lipschitz=1.0).learner(base="pftrl")
NUMBER = 731.0625  # a feature of the key alone
SECRETS = (b"click-erased", b"secretvalue", struct.pack("<d", NUMBER), b"731.0625")
ROW = {"amount": NUMBER, "city": "secretvalue"}
KINDS: dict[str, Any] = {
    "linear": lambda: bl.LinearModel("squared", bits=6, silence=0.0, deadline={"predictions": 50}),
    "timed": lambda: bl.LinearModel("logistic", bits=6, silence=0, deadline="30d"),
    "vectors": lambda: bl.LinearModel("squared", bits=6),
    "intervals": lambda: bl.Intervals(bl.LinearModel("squared", bits=6)),
    "chooser": lambda: bl.Chooser(["a", "b"], silence=0.0, bits=6),
    "knobs": lambda: bl.Knobs({"x": (0.0, 1.0)}, context={"amount": (0, 1000)}),
    "learner": lambda: bl.Learner(SPEC),
}


def ask(name: str, model: Any, number: int, key: str | None = None) -> Any:
    """Predict or choose, for the key with its own row."""
    key, is_ours = key or f"key-{number}", key is not None
    if name == "vectors":
        return model.predict([float(number % 3), NUMBER if is_ours else 1.0], key=key)
    if name == "learner":
        return model.predict(key=key)
    if name == "knobs":
        return model.predict({"amount": NUMBER if is_ours else number % 7}, key=key)
    row = ROW if is_ours else {"amount": float(number % 5), "city": "n"}
    return model.choose(row, key=key) if name == "chooser" else model.predict(row, key=key)


def live(name: str, model: Any, numbers: range) -> None:
    """Ask and answer; the key comes twice, and its second ticket stays open."""
    answer = [0.25, 0.5] if name == "learner" else 1.0
    for number in numbers:
        ask(name, model, number)
        if number % 10 == 3:
            ticket = ask(name, model, number, "click-erased")[0]
            if number % 20 == 3:
                if name in ("linear", "timed", "chooser"):
                    model.revise(ticket, 0.0)
                model.observe("click-erased", answer)
            else:
                model.cancel(ticket) if number < 30 else None
        if number % 3 == 0:
            model.observe(f"key-{number}", answer)


def left_in(folder: Path) -> list[tuple[str, bytes]]:
    """Return which files have which secret."""
    found = [(path.name, path.read_bytes()) for path in folder.iterdir() if path.is_file()]
    return [(name, secret) for name, data in found for secret in SECRETS if secret in data]


@pytest.mark.parametrize("rebuild", [False, True])
@pytest.mark.parametrize("name", KINDS)
def test_nothing_of_a_key_is_left(name: str, rebuild: bool, tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with bl.open(path, snapshot_every=25) as store:
        model = store.model("m", KINDS[name]())
        live(name, model, range(34))
        if name in ("linear", "intervals", "chooser"):
            store.shadow("m", KINDS[name]())
        assert left_in(tmp_path)
        lines = [line._replace(key=None) for line in store.log("m")]
        rounds, state = model.rounds, model.snapshot()
        found = model.erase("click-erased", rebuild=rebuild)
        assert (found.tickets, found.events >= 7) == (4, True)
        assert not left_in(tmp_path)
        assert model.rounds == rounds
        assert model.erase("click-erased") == (0, 0, ())
        assert (model.snapshot() == state) is False
        kept = list(store.log("m"))
        assert [line.number for line in kept] == [line.number for line in lines]
        for before, line in zip(lines, kept, strict=True):
            if line.verb == "erased":
                assert (line.key, line.features) == (None, None)
            else:
                assert line._replace(key=None) == before
        live(name, model, range(40, 44))
        state = model.snapshot()
    with bl.open(path) as store:
        model = store.model("m")
        assert model.snapshot() == state
        assert model.erase("click-erased").tickets == 1
        if name != "knobs":
            rebuilt = store.rebuild("m").snapshot()
            store.rebuild("m", to="m")
            assert store.model("m").snapshot() == rebuilt


def test_without_what_was_learned_it_is_as_if_it_had_never_been(tmp_path: Path) -> None:
    """Tickets are numbered alike, and an erased ticket is one that was cancelled at once."""
    with bl.open(tmp_path / "shop.db") as store:
        model, twin = store.model("m", KINDS["linear"]()), KINDS["linear"]()
        live("linear", model, range(40))
        model.erase("click-erased", rebuild=True)
        for number in range(40):
            ask("linear", twin, number)
            if number % 10 == 3:
                twin.cancel(twin.predict({}).ticket)
            if number % 3 == 0:
                twin.observe(f"key-{number}", 1.0)
        assert model.snapshot() == twin.snapshot()


def test_responses_and_exports_and_what_a_model_was_put_in_with(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path, file = tmp_path / "shop.db", tmp_path / "m.parquet"
    begun = KINDS["linear"]()
    begun.predict(ROW, key="click-erased")
    with bl.open(path) as store:
        model = store.model("m", begun)
        live("linear", store.model("other", KINDS["linear"]()), range(4))
        model.observe("click-erased", 1.0)
        for calls in (("click-erased", "click-a"), ("click-b", "click-c")):
            wanted: list[Any] = [("predict", {"row": ROW, "key": key}) for key in calls]
            model.begin_many(wanted, lambda _, calls=calls: (calls[1], b"click-erased")).result()
        store.keep("mine", b"stays")
        assert store.export("m", file, note=b"a note") == 5
        found = store.erase("m", "click-erased")
        assert found == (2, 2, ("click-a",))
        assert [note.body for note in store.notes("click-")] == [b"", b"click-erased"]
        assert store.notes("mine")[0].body == b"stays"
        assert model.is_open("click-a")
        assert "click-erased" in [line.key for line in store.log("other")]
        rest = store.export("m", tmp_path / "rest.parquet")
        copy = store.load("copy", tmp_path / "rest.parquet")
        assert (rest, copy.snapshot()) == (5, model.snapshot())
        assert [line.verb for line in store.log("copy")][:2] == ["erased", "erased"]
        assert [line.ticket for line in store.log("copy")] == [None, 1, 2, 3, 4]
    (tmp_path / "rest.parquet").unlink()
    main(["erase", str(path), "click-erased", "--model", "other", "--export", str(file)])
    with bl.open(path) as store:
        assert store.exported_note(file) == b"a note"
        loaded = store.load("loaded", file)
        assert loaded.is_open("click-a")
        assert not is_known(loaded)
        store.delete("loaded")
        store.forget("click-", 1e12)
    with pytest.raises(SystemExit):
        main(["erase", str(path), "click-erased"])
    assert main(["erase", str(tmp_path / "none.db"), "k", "--model", "m"]) == 1
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        file.name,
        path.name,
        f"{path.name}.lock",
    ]


def is_known(model: Any) -> bool:
    """Tell whether a model knows the key."""
    with model.held() as inner:
        return "click-erased" in dict(inner._keys.items())


def test_old_events_can_be_dropped_after_a_key_was_erased(tmp_path: Path) -> None:
    with bl.open(tmp_path / "shop.db") as store:
        model = store.model("m", KINDS["linear"]())
        live("linear", model, range(14))
        store.compact("m")
        live("linear", model, range(20, 34))
        middle = time.time()
        live("linear", model, range(40, 43))
        before = list(store.log("m"))
        with pytest.raises(StoreError, match="compacted"):
            model.erase("click-erased", rebuild=True)
        assert model.erase("click-erased").tickets == 2
        state = model.snapshot()
        assert [line.number for line in store.log("m")] == [line.number for line in before]
        assert store.compact("m", before=1.0) == 0
        dropped = store.compact("m", before=middle)
        assert dropped == sum(line.written < middle for line in before)
        assert model.history.first == before[0].number + dropped
        store.release("m")
        assert model.snapshot() == state
        kept = [line for line in store.log("m") if line.verb != "erased"]
        there = {line.number: line for line in before}
        assert kept == [there[line.number] for line in kept]


def killed(path: Path, after: float) -> None:
    """Erase the key in a process that is killed meanwhile."""
    process = os.fork()
    if process == 0:
        try:
            with bl.open(path) as store:
                store.model("m").erase("click-erased", rebuild=after < 0.1)
        finally:
            os._exit(0)
    time.sleep(after)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


def test_killed_while_it_erases(tmp_path: Path) -> None:
    """What is left is the store as it was, or as it is to be; once more ends it."""
    path = tmp_path / "shop.db"
    with bl.open(path) as store:
        live("linear", store.model("m", KINDS["linear"]()), range(34))
        before = {line.number: line for line in store.log("m")}
    outcomes = set()
    for after in (0.0, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.06, 0.1, 0.2, 3.0):
        for each in tmp_path.glob("copy.db*"):
            each.unlink()
        copy = tmp_path / "copy.db"
        copy.write_bytes(path.read_bytes())
        killed(copy, after)
        with bl.open(copy) as store:
            lines = list(store.log("m"))
            erased = [line for line in lines if line.verb == "erased"]
            outcomes.add(bool(erased))
            kept = [line for line in lines if line.verb != "erased"]
            assert all(before[line.number] == line for line in kept)
            assert len(lines) == len(before)
            found = store.model("m").erase("click-erased")
            assert (found.tickets == 0) == bool(erased)
            about = store._models["m"]._about
            assert recover_model(store.reader, about, None).length == len(before)
            data = copy.read_bytes() + Path(f"{copy}-wal").read_bytes()
            assert not [secret for secret in SECRETS if secret in data]
    assert True in outcomes


def test_a_reader_in_the_way_is_named_and_erasing_again_ends_it(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with bl.open(path) as store:
        live("linear", store.model("m", KINDS["linear"]()), range(4))
        database: Any = store._database
        store.writer.run(lambda: database._open().execute("PRAGMA busy_timeout = 50"))
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM models").fetchall()
            with pytest.raises(StoreUnavailable, match="another process reads the file"):
                store.erase("m", "click-erased")
        assert store.erase("m", "click-erased") == (0, 0, ())
        assert not left_in(tmp_path)
