"""From a replay to a live model: half a log replayed and half of it live is the whole replayed."""

from __future__ import annotations

import csv
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated import cli
from belated.datasets import flights
from belated.errors import BadFeatures, BadKey, ClockError, LogError, SnapshotError, UnknownTicket
from belated.logs import Log, read
from belated.replays import replay
from belated.replays.saving import keys_of
from sealing import header_of, rewritten

# What is tested is what stands around the models; compiled, those take no time.
pytestmark = [pytest.mark.compiled, pytest.mark.needs_compiler]

START = datetime(2024, 1, 1)
HALF = START + timedelta(hours=400)
EPOCH = datetime(1970, 1, 1)
DAYS = START.replace(tzinfo=UTC).timestamp() + 60 * 86_400.0
COLUMNS = ("days", "asked_at", "answered_at")
SILENCE: dict[str, Any] = {"silence": 0, "deadline": "4d", "key": "order", "loss": "logistic"}


def rows_of(count: int = 800, seed: int = 0) -> list[dict[str, str]]:
    """Return a log as text: an id, a time, words, numbers, a yes or no, and a late target."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(count):
        asked = START + timedelta(hours=i, seconds=int(rng.integers(3000)))
        answered = asked + timedelta(hours=float(rng.exponential(60.0)))
        never = rng.random() < 0.1
        price = float(rng.normal(20.0, 5.0))
        rows.append(
            {
                "order": f"A-{1000 + i}",
                "asked_at": asked.isoformat(),
                "answered_at": "" if never else answered.isoformat(),
                "shop": str(rng.choice(["north", "south", "007", ""])),
                "price": f"{price:.2f}",
                "paid": str(rng.choice(["yes", "no"])),
                "due": (asked + timedelta(days=float(rng.integers(1, 9)))).isoformat(),
                "days": "" if never else f"{price / 4.0 + float(rng.normal()):.3f}",
            }
        )
    return rows


def written(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    return path


def until(rows: list[dict[str, str]], moment: datetime) -> list[dict[str, str]]:
    """Return the log as it stood then: later rows are missing, and later answers empty."""
    now = moment.isoformat()
    known = [row for row in rows if row["asked_at"] <= now]
    return [
        row | ({"answered_at": "", "days": ""} if row["answered_at"] > now else {}) for row in known
    ]


def gone_on(
    model: bl.LinearModel,
    rows: list[dict[str, str]],
    key: str | None,
    label: Any = float,
    at: bool = False,
    now: datetime = HALF,
) -> list[float]:
    """Lead a live model through what comes after the half; return its predictions."""
    half = now.isoformat()
    events = []
    for number, row in enumerate(rows):
        name = f"{number}" if key is None else row[key]
        if row["asked_at"] > half:
            events.append((row["asked_at"], 1, name, row))
        if row["answered_at"] > half:
            events.append((row["answered_at"], 0, name, row))
    values = []
    for moment, is_prediction, name, row in sorted(events, key=lambda event: event[:2]):
        when: dict[str, Any] = {"at": datetime.fromisoformat(moment)} if at else {}
        if is_prediction:
            values.append(model.predict(row, key=name, **when).value)
        else:
            model.observe(name, label(row["days"]), **when)
    return values


@pytest.mark.parametrize("key", ["order", None])
def test_half_replayed_and_half_live_is_the_whole_replayed(
    key: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = rows_of()
    whole = written(tmp_path / "whole.csv", rows)
    half = written(tmp_path / "half.csv", until(rows, HALF))
    options: Any = {"key": key, "kinds": {} if key else {"order": "ignore"}}
    found = replay(whole, "days", "asked_at", "answered_at", **options)
    first = len(until(rows, HALF))
    file = tmp_path / "model.belated"
    words = ["--target", "days", "--predicted", "asked_at", "--observed", "answered_at"]
    words += ["--key", key] if key else ["--ignore", "order"]
    assert cli.main(["replay", str(half), *words, "--no-page", "--save", str(file)]) == 0
    out = capsys.readouterr().out
    assert out.index(" of all predictions") < out.index(f"Model saved to {file}")
    model = bl.LinearModel.load(file)
    assert model.rounds == first
    assert model.open > 20
    assert model.settings.columns is not None
    assert [kind.name for kind in model.settings.columns if kind.names] == [
        *("shop", "price", "paid", "due")
    ]
    values = gone_on(model, rows, key)
    assert values == found.methods["belated"].predictions[first:].tolist()
    known = next(i for i, row in enumerate(rows) if row["answered_at"])
    with pytest.raises(UnknownTicket):
        model.observe(rows[known]["order"] if key else f"{known}", 1.0)


def test_with_silence_and_a_clock(tmp_path: Path) -> None:
    """Whether an order is answered within four days, a no being what is not heard of."""
    rows = rows_of()
    yes = [row | {"days": "1" if row["days"] else ""} for row in rows]
    options: Any = {"silence": 0, "deadline": "4d", "key": "order", "loss": "logistic"}
    columns = ("days", "asked_at", "answered_at")
    whole = written(tmp_path / "whole.csv", yes)
    half = written(tmp_path / "half.csv", until(yes, HALF))
    found = replay(whole, *columns, **options)
    part = replay(half, *columns, **options)
    part.model.save(tmp_path / "model", secret=b"secret")
    model = bl.LinearModel.load(tmp_path / "model", secret=b"secret")
    first = len(until(yes, HALF))
    in_time = [
        row
        if row["answered_at"]
        and datetime.fromisoformat(row["answered_at"])
        <= datetime.fromisoformat(row["asked_at"]) + timedelta(days=4)
        else row | {"answered_at": ""}
        for row in yes
    ]
    values = gone_on(model, in_time, "order", at=True)
    assert values == found.methods["belated"].predictions[first:].tolist()


UNITS = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}


def floored(rows: list[dict[str, str]], unit: str) -> list[dict[str, str]]:
    """Return a log whose answers came at whole units of time."""

    def floor(cell: str) -> str:
        step = timedelta(microseconds=max(10**6 // UNITS[unit], 1))
        return (EPOCH + (datetime.fromisoformat(cell) - EPOCH) // step * step).isoformat()

    return [row | {"answered_at": row["answered_at"] and floor(row["answered_at"])} for row in rows]


def counted(rows: list[dict[str, str]], unit: str) -> list[dict[str, str]]:
    """Return a log with its times as counts since 1970."""

    def count(cell: str) -> str:
        micro = (datetime.fromisoformat(cell) - EPOCH) // timedelta(microseconds=1)
        return str(micro * UNITS[unit] // 10**6)

    both = ("asked_at", "answered_at")
    return [row | {name: row[name] and count(row[name]) for name in both} for row in rows]


@pytest.mark.parametrize("unit", UNITS)
def test_counts_since_1970_go_on_as_dates(
    unit: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """However a log counts them, times are dates to the model: it takes those and seconds."""
    yes = [row | {"days": "1" if row["days"] else ""} for row in floored(rows_of(400), unit)]
    half = START + timedelta(hours=200)
    path = written(tmp_path / "whole.csv", counted(yes, unit))
    found = replay(path, *COLUMNS, **SILENCE)
    file = tmp_path / "model.belated"
    words = ["--target", "days", "--predicted", "asked_at", "--observed", "answered_at"]
    words += ["--silence", "0", "--deadline", "4d", "--loss", "logistic", "--key", "order"]
    part = written(tmp_path / "half.csv", counted(until(yes, half), unit))
    assert cli.main(["replay", str(part), *words, "--no-page", "--save", str(file)]) == 0
    assert "give seconds since 1970 as at=" in capsys.readouterr().out
    model = bl.LinearModel.load(file)
    assert (model.settings.needs_times, model.settings.deadline) == (True, 4 * 86_400.0)
    first = len(until(yes, half))
    assert model.rounds == first
    with pytest.raises(ClockError, match="milliseconds"):
        model.tick(half.replace(tzinfo=UTC).timestamp() * 1000.0)
    in_time = [row if _took(row) <= timedelta(days=4) else row | {"answered_at": ""} for row in yes]
    values = gone_on(model, in_time, "order", at=True, now=half)
    assert values == found.methods["belated"].predictions[first:].tolist()
    assert bl.LinearModel.restore(model.snapshot()).predict(yes[0], at=DAYS).ticket == 400
    model.tick(START + timedelta(days=400))
    assert model.open == 0


def test_the_slowest_answer_is_in_time() -> None:
    """Which is the deadline where nobody says one, whatever rounding does to its time."""
    asked = 1_767_571_761_743 + 600_017 * np.arange(200)
    answered = asked + 86_400_123  # all are the slowest
    known = np.arange(200) % 3 > 0
    target = np.where(known, 1.0, np.nan)
    options: Any = {"target": target, "features": {"a": np.arange(200.0) % 7}}
    counts = Log(asked, answered, known, unit="ms", is_epoch=True, **options)
    dates = Log(asked.view("M8[ms]").astype("M8[ns]"), answered.view("M8[ms]"), known, **options)
    for log in (counts, dates):
        found = replay(log, loss="logistic", silence=0)
        assert found.model.report().late == 0


def _took(row: dict[str, str]) -> timedelta:
    if not row["answered_at"]:
        return timedelta.max
    return datetime.fromisoformat(row["answered_at"]) - datetime.fromisoformat(row["asked_at"])


def test_a_replay_of_counts_is_that_of_their_dates(tmp_path: Path) -> None:
    rows = floored(rows_of(300), "ms")
    yes = [row | {"days": "1" if row["days"] else ""} for row in rows]
    dated = replay(written(tmp_path / "d.csv", yes), *COLUMNS, **SILENCE)
    for unit in ("ms", "ns"):
        path = written(tmp_path / f"{unit}.csv", counted(yes, unit))
        found = replay(path, *COLUMNS, **SILENCE)
        for name, method in found.methods.items():
            assert (method.predictions == dated.methods[name].predictions).all()


def test_numbers_of_a_log_stay_in_its_unit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"a": str(i), "b": str(i + 3) if i % 3 else "", "y": "1" if i % 3 else ""}
        for i in range(60)
    ]
    path = written(tmp_path / "log.csv", rows)
    words = ["--silence", "0", "--deadline", "5", "--target", "y", "--loss", "logistic"]
    words += ["--predicted", "a", "--observed", "b", "--unit", "min", "--no-page"]
    assert cli.main(["replay", str(path), *words, "--save", str(tmp_path / "m")]) == 0
    assert "give numbers in min, as the log has them, as at=" in capsys.readouterr().out
    model = bl.LinearModel.load(tmp_path / "m")
    assert (model.settings.needs_times, model.settings.deadline) == (False, 5.0)


def test_rows_mean_what_they_mean_in_the_log(tmp_path: Path) -> None:
    """Numbers, text, times and missing cells, as text or as a program has them."""
    rows = rows_of(300)
    path = written(tmp_path / "log.csv", rows)
    found = replay(path, "days", "asked_at", "answered_at", key="order")
    model, row = found.model, rows[7] | {"shop": "007"}
    value = model.peek(row)
    program = {
        **row,
        "price": float(row["price"]),
        "paid": row["paid"] == "yes",
        "due": datetime.fromisoformat(row["due"]),
        "other": object(),
    }
    assert model.peek(program) == value
    assert model.peek(row | {"shop": "north"}) != value
    assert model.peek(row | {"shop": None}) == model.peek(row | {"shop": ""})
    before = model.snapshot()
    with pytest.raises(BadFeatures, match="'price'"):
        model.predict(row | {"price": "cheap"})
    assert model.snapshot() == before
    why = model.explain(row)
    assert {"price", "paid"} <= set(why.parts)
    assert bl.LinearModel.restore(before).explain(row).parts == why.parts


def test_intervals_read_rows_too() -> None:
    cells = {"asked_at": [1, 2, 3], "answered_at": [2, 3, 4], "a": ["1,5", "2,5", "3,0"]}
    log = read(cells, features="all")
    intervals = bl.Intervals(bl.LinearModel("squared", bits=6, columns=log.kinds))
    for cell in ("1,5", "2,5") * 20:
        ticket = intervals.predict({"a": cell}).ticket
        intervals.observe(ticket, float(cell.replace(",", ".")))
    again = bl.Intervals.restore(intervals.snapshot())
    assert again.predict({"a": "1,5"}) == intervals.predict({"a": "1,5"})


def test_the_flights_go_on_from_their_own_rows(tmp_path: Path) -> None:
    log = flights()
    found = replay(log, clip=(-60, 180), first=300)
    found.model.save(tmp_path / "model")
    model = bl.LinearModel.load(tmp_path / "model")
    assert model.settings.columns is None
    assert model.predict(log.row(300), key="300") == found.model.predict(log.row(300), key="300")
    never = int(np.flatnonzero(~log.answered[:300])[0])
    assert model.observe(f"{never}", 180.0)


def test_keys(tmp_path: Path) -> None:
    rows = rows_of(60)
    path = written(tmp_path / "log.csv", rows)
    with pytest.raises(
        LogError, match=r"there is no column 'nothing' of keys.*; there are 'order'"
    ):
        replay(path, "days", "asked_at", "answered_at", key="nothing")
    with pytest.raises(LogError, match="can be no feature"):
        replay(path, "days", "asked_at", "answered_at", key="order", features=["order", "price"])
    twice = [row | {"order": "same"} for row in rows]
    with pytest.raises(BadKey, match="two rows without a label have the key 'same'"):
        replay(written(path, twice), "days", "asked_at", "answered_at", key="order")
    gap = [row | {"order": "" if i == 3 else row["order"]} for i, row in enumerate(rows)]
    with pytest.raises(LogError, match="row 3 has no key"):
        replay(written(path, gap), "days", "asked_at", "answered_at", key="order")
    assert cli.main(["replay", str(path), "--target", "days", "--key", "order"]) == 1
    lost = tmp_path / "no" / "model"
    assert cli.main(["replay", str(path), "--target", "days", "--save", str(lost)]) == 1
    assert keys_of(np.array([17.0, 18.0]), "id") == ["17", "18"]
    assert keys_of(np.array(["9007199254740993", "-2"], dtype=object), "id") == [
        f"{2**53 + 1}",
        "-2",
    ]
    assert keys_of(np.array(["17", "A"], dtype=object), "id") == ["17", "A"]


def test_keys_of_a_replay_are_checked_before_the_first_event() -> None:
    model = bl.LinearModel("squared", bits=4)
    model.predict([1.0], key="old")
    before = model.snapshot()
    rows, labels, events = np.ones((3, 1)), np.ones(4), np.array([1, 2, ~1, 3])
    wrong: list[Any] = [["a", "b"], ["a", "b", "b"], ["a", "old", "c"], ["a", 1.5, "c"]]
    for keys in wrong:
        with pytest.raises(BadKey):
            model.replay(rows, labels, events, keys=keys)
        assert model.snapshot() == before
    model.replay(rows, labels, events, keys=["b", "b", "c"])  # the first of them is answered
    assert (model.ticket("old"), model.ticket("b"), model.ticket("c")) == (0, 2, 3)


def test_columns_that_cannot_be_are_refused() -> None:
    log = read({"asked_at": [1, 2], "answered_at": [2, 3], "a": ["x", "y"]}, features="all")
    model = bl.LinearModel("squared", bits=4, columns=log.kinds)
    blob = model.snapshot()
    assert bl.LinearModel.restore(blob).settings == model.settings
    settings = header_of(blob)["about"]["settings"]
    for columns in ([{"name": "a", "what": "nonsense"}], 3, "a", [1]):
        with pytest.raises(SnapshotError):
            bl.LinearModel.restore(rewritten(blob, {"settings": settings | {"columns": columns}}))
    with pytest.raises(bl.errors.SpecError, match="columns must be the kinds of a log"):
        bl.LinearModel(columns=3)  # type: ignore[arg-type]
