"""Times as users give them: with and without a time zone, as texts, and none at all.

Dates without a zone are taken for UTC. Beside dates with one they may be hours off, so that answers
would be dropped as late and nothing would say why: every model refuses the second kind.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pytest

import belated as bl
from belated.errors import BelatedError, ClockError
from belated.models.moments import AWARE, NAIVE, NUMBERS, read_time, read_times

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PLAIN = NOON.replace(tzinfo=None)
MINUTE = timedelta(minutes=1)
ONE = {"price": (0.0, 1.0)}

KINDS: dict[str, Callable[..., Any]] = {
    "LinearModel": lambda deadline="1h": bl.LinearModel(bits=4, deadline=deadline),
    "Intervals": lambda deadline="1h": bl.Intervals(bl.LinearModel(bits=4, deadline=deadline)),
    "Chooser": lambda deadline="1h": bl.Chooser(["a", "b"], bits=4, silence=0.0, deadline=deadline),
    "Knobs": lambda deadline="1h": bl.Knobs(ONE, silence=0.0, deadline=deadline),
}
UNTIMED: dict[str, Callable[[], Any]] = {
    "LinearModel": lambda: bl.LinearModel(bits=4),
    "Intervals": lambda: bl.Intervals(bl.LinearModel(bits=4)),
    "Chooser": lambda: bl.Chooser(["a", "b"], bits=4),
    "Knobs": lambda: bl.Knobs(ONE),
}


def ask(model: Any, **times: Any) -> int:
    """Ask a model for a prediction, a choice or a setting; return the ticket."""
    if hasattr(model, "choose"):
        return int(model.choose({"x": 1.0}, **times).ticket)
    if hasattr(model, "best"):
        return int(model.predict(**times).ticket)
    return int(model.predict({"x": 1.0}, **times).ticket)


def verbs(model: Any) -> list[Callable[[Any], Any]]:
    """Return all ways to tell a model the time."""
    found: list[Callable[[Any], Any]] = [
        lambda at: ask(model, at=at),
        lambda at: model.observe(0, 1.0, at=at),
        model.tick,
    ]
    found.append(lambda at: model.revise(0, 1.0, at=at))
    found.append(lambda at: model.observe_many([0], [1.0], at=at))
    found.append(lambda at: model.observe_many([0], [1.0], at=[at]))
    rows: Any = 1 if isinstance(model, bl.Knobs) else [{"x": 1.0}]
    many = model.choose_many if isinstance(model, bl.Chooser) else model.predict_many
    found.append(lambda at: many(rows, at=at))
    found.append(lambda at: many(rows, at=[at]))
    if isinstance(model, bl.Knobs):
        begin = model.rounds
        found.append(lambda at: model.replay(None, [0.0], [begin], at=[at], first=begin))
    elif isinstance(model, bl.Chooser):
        found.append(lambda at: model.choose({"x": 1.0}, at=at, shown=False))
    else:
        found.append(lambda at: model.replay([{"x": 1.0}], [], [model.rounds], at=[at]))
    return found


# ---- with and without a time zone --------------------------------------------------------------


@pytest.mark.parametrize("made", [KINDS, UNTIMED], ids=["deadline", "no deadline"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        (NOON, PLAIN + MINUTE, r"2026-03-01T12:01:00 has no time zone, and .* so far had one"),
        (PLAIN, NOON + MINUTE, r"12:01:00\+00:00 has a time zone, and .* so far had none"),
        ("2026-03-01T12:00Z", "2026-03-01T12:01", r"has no time zone, and .* so far had one"),
        ("2026-03-01", pd.Timestamp(NOON), r"has a time zone, and .* so far had none"),
        (NOON, np.datetime64("2026-03-01T12:01"), r"has no time zone, and .* so far had one"),
    ],
)
def test_dates_of_both_kinds_in_one_model(
    made: Any, kind: str, first: Any, second: Any, says: str
) -> None:
    """The error has what was seen before and what came now, and nothing has changed."""
    model = made[kind]()
    ask(model, at=first)
    model = type(model).restore(model.snapshot())  # which remembers
    before = model.snapshot()
    for verb in verbs(model):
        with pytest.raises(ClockError, match=says) as error:
            verb(second)
        assert "nothing has changed" in str(error.value)
        assert model.snapshot() == before
    for verb in verbs(model):
        verb(NOON.timestamp() + 120.0)  # seconds since 1970 go with both
        break
    ask(model, at=first)


def test_dates_of_both_kinds_in_one_column() -> None:
    model = bl.LinearModel(bits=4, deadline="1h")
    with pytest.raises(ClockError, match=r"has a time zone and .* has none; nothing has changed"):
        model.replay([[1.0]] * 2, [], [0, 1], at=np.array([NOON, PLAIN]))
    assert model.rounds == 0
    stamps = pd.Series(pd.to_datetime(["2026-03-01T12:00", "2026-03-01T12:01"]))
    for zoned in (stamps.dt.tz_localize("Asia/Tokyo"), pl.Series([NOON, NOON + MINUTE])):
        begun = model.fresh()
        begun.replay([[1.0]] * 2, [], [0, 1], at=zoned)
        for column in (stamps, stamps.to_numpy(), pl.Series([PLAIN, PLAIN])):
            with pytest.raises(ClockError, match="has no time zone"):
                begun.replay([[1.0]] * 2, [], [2, 3], at=column)


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_and_dates_in_one_model(kind: str) -> None:
    """Beside dates, small numbers and milliseconds are no seconds; after numbers come no dates."""
    dated, numbered, seconds = KINDS[kind](), KINDS[kind](10.0), NOON.timestamp()
    ask(dated, at=NOON)
    ask(numbered, at=5.0)
    for made, wrong, says in (
        (dated, 5.0, "times have been dates so far, and 5 is no number of"),
        (dated, 1e3 * seconds, "seconds since 1970 or a datetime.*at=ms / 1000"),
        (numbered, NOON, "is a date, and times have been numbers so far"),
        (numbered, np.datetime64("2026-03-01T12:01"), "times have been numbers so far"),
    ):
        model = type(made).restore(made.snapshot())  # which remembers
        before = model.snapshot()
        for verb in verbs(model):
            with pytest.raises(ClockError, match=says):
                verb(wrong)
            assert model.snapshot() == before
    with pytest.raises(ClockError, match="seconds since 1970"):
        ask(KINDS[kind](), at=1e3 * seconds)


# ---- stored models -----------------------------------------------------------------------------


def create(store: Any, kind: str) -> Any:
    """Put a new model into a store."""
    return store.model("m", KINDS[kind]())


@pytest.mark.parametrize("snapshots", [1, 10**6], ids=["from snapshots", "from the log"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_store_remembers_of_what_kind_dates_were(
    kind: str, snapshots: int, tmp_path: Path
) -> None:
    with bl.open(tmp_path / "s.db", snapshot_every=snapshots) as store:
        model = create(store, kind)
        ask(model, at=NOON)
        ask(model, at=NOON + MINUTE)
        live = model.snapshot()
    with bl.open(tmp_path / "s.db", snapshot_every=snapshots) as store:
        model = store.model("m")
        assert model.snapshot() == live
        with pytest.raises(ClockError, match="has no time zone"):
            ask(model, at=PLAIN)
        assert model.snapshot() == live
        assert [line.at for line in store.log("m")] == [NOON.timestamp(), NOON.timestamp() + 60.0]


@pytest.mark.parametrize("kind", KINDS)
def test_the_clock_of_a_store_has_a_time_zone(kind: str, tmp_path: Path) -> None:
    """Where predictions are given the time of the system, local dates would be hours off."""
    with bl.open(tmp_path / "s.db") as store:
        model = create(store, kind)
        ticket = ask(model)
        with pytest.raises(ClockError, match="has no time zone"):
            model.observe(ticket, 1.0, at=PLAIN)
        local = store.model("local", KINDS[kind]())
        ask(local, at=PLAIN)
        with pytest.raises(ClockError, match="has a time zone"):
            local.tick()


# ---- nothing, and texts ------------------------------------------------------------------------

NOTHING = [None, math.nan, pd.NaT, pd.NA, np.datetime64("NaT", "s"), np.float32("nan")]


@pytest.mark.parametrize("nothing", NOTHING, ids=repr)
@pytest.mark.parametrize("kind", KINDS)
def test_no_time_is_no_time(kind: str, nothing: Any) -> None:
    for made in (KINDS, UNTIMED):
        said, left_out = made[kind](), made[kind]()
        for model, at in ((said, {"at": nothing}), (left_out, {})):
            ask(model, at=NOON)
            ask(model, **at)
            model.observe(0, 1.0, **at)
        assert said.snapshot() == left_out.snapshot()
        with pytest.raises(ClockError, match="tick: a time is wanted"):
            said.tick(nothing)
    with pytest.raises(ClockError, match="at= is needed"):
        ask(KINDS[kind](), at=nothing)


@pytest.mark.parametrize("kind", ["LinearModel", "Knobs"])
@pytest.mark.parametrize("column", [list, pd.Series, lambda at: np.array(at, "M8[us]")])
def test_events_without_a_time_in_a_column(kind: str, column: Any) -> None:
    """They are at the latest time before them, as they are live."""
    at = [PLAIN, None, PLAIN + MINUTE, None, None]
    events = [0, 1, 2, ~0, 3]
    live, batch = KINDS[kind](), KINDS[kind]()
    for event, when in zip(events, at, strict=True):
        if event < 0:
            live.observe(~event, 1.0, at=when)
        else:
            ask(live, at=when)
    if kind == "Knobs":
        batch.replay(None, [1.0] * 4, events, at=column(at))
    else:
        batch.replay([{"x": 1.0}] * 4, [1.0] * 4, events, at=column(at))
    assert batch.snapshot() == live.snapshot()
    fresh, late = KINDS[kind](), column([None, *at[:2]])
    with pytest.raises(ClockError, match="at= is needed"):
        fresh.replay(None, [1.0] * 3, [0, 1, 2], at=late) if kind == "Knobs" else fresh.replay(
            [{"x": 1.0}] * 3, [], [0, 1, 2], at=late
        )
    counts = bl.LinearModel(bits=4, deadline=9)
    with pytest.raises(ClockError, match="event 1 is the first with a time"):
        counts.replay([[1.0]] * 2, [], [0, 1], at=column([None, PLAIN]))
    counts.replay([[1.0]] * 2, [], [0, 1], at=column([None, None]))
    assert counts.rounds == 2


@pytest.mark.parametrize("kind", KINDS)
def test_texts_are_times(kind: str) -> None:
    for text, meant in (
        ("2026-03-01T12:00:00Z", NOON),
        ("2026-03-01T13:00+01:00", NOON),
        ("2026-03-01T12:00:00.250000+00:00", NOON + timedelta(milliseconds=250)),
        ("2026-03-01 12:00", PLAIN),
        ("2026-03-01", datetime(2026, 3, 1)),
        (date(2026, 3, 1), datetime(2026, 3, 1)),
    ):
        written, plain = KINDS[kind](), KINDS[kind]()
        for model, at in ((written, text), (plain, meant)):
            ask(model, at=at)
            model.tick(at)
        assert written.snapshot() == plain.snapshot()
        for wrong in (
            "yesterday",
            "",
            "12.5",
            "2026-02-30",
            "2026-13-01",
            "2026-03-01T12:00:00Zulu",
        ):
            with pytest.raises(ClockError, match="is no time; as a text it is one of ISO 8601"):
                ask(written, at=wrong)
        assert written.snapshot() == plain.snapshot()


def test_columns_of_any_type() -> None:
    seconds = NOON.timestamp()
    for column, kind in (
        ([NOON, None], AWARE),
        (pd.Series([NOON, None]), AWARE),
        (pd.Series([pd.Timestamp(NOON), pd.NA], dtype=object), AWARE),
        (pl.Series([NOON, None]), AWARE),
        (pl.Series([PLAIN, None]), NAIVE),
        (np.array([PLAIN, None]), NAIVE),
        (["2026-03-01T12:00", None], NAIVE),
        (pd.Series(["2026-03-01T12:00Z", None]), AWARE),
        ([seconds, math.nan], NUMBERS),
        (pd.Series([int(seconds), None], dtype="Int64"), NUMBERS),
    ):
        times, found, largest = read_times(column, "test")
        np.testing.assert_array_equal(times, [seconds, math.nan])
        assert found == kind
        assert largest == (seconds if kind == NUMBERS else -math.inf)
    assert read_times([None, pd.NaT], "test")[1] == 0
    for wrong in (
        [math.inf],
        ["noon"],
        [True],
        [np.datetime64(10**6, "Y")],
        [np.datetime64(10**15, "D")],
        [10**400],
    ):
        with pytest.raises(BelatedError):
            read_times(wrong, "test")


@pytest.mark.parametrize("nothing", [*NOTHING, np.timedelta64("NaT", "s")], ids=repr)
def test_no_deadline_is_that_of_the_model(nothing: Any) -> None:
    for kind in ("LinearModel", "Chooser"):
        for made in (KINDS, UNTIMED):
            said, left_out = made[kind](), made[kind]()
            ask(said, at=NOON, deadline=nothing)
            ask(left_out, at=NOON)
            assert said.snapshot() == left_out.snapshot()
    hidden = KINDS["Chooser"]()
    ticket = hidden.choose({"x": 1.0}, at=NOON, deadline=nothing, shown=False).ticket
    hidden.shown(ticket, at=NOON)
    batch, live = KINDS["LinearModel"](), KINDS["LinearModel"]()
    batch.replay([{"x": 1.0}] * 2, [], [0, 1], at=[NOON, NOON], deadlines=[60.0, math.nan])
    live.predict({"x": 1.0}, at=NOON, deadline=60.0)
    live.predict({"x": 1.0}, at=NOON)
    assert batch.snapshot() == live.snapshot()


# --- Times around the nights in which clocks change -----------------------------------------------


BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("wall", "fold", "utc"),
    [
        ("2026-10-25T02:30", 0, "2026-10-25T00:30"),  # occurs twice: the first one
        ("2026-10-25T02:30", 1, "2026-10-25T01:30"),  # and the second
        ("2026-03-29T02:30", 0, "2026-03-29T01:30"),  # does not exist: not put forward yet
        ("2026-03-29T02:30", 1, "2026-03-29T00:30"),  # put forward already
    ],
)
def test_wall_times_of_a_zone_are_read_as_python_does(wall: str, fold: int, utc: str) -> None:
    at = datetime.fromisoformat(wall).replace(tzinfo=BERLIN, fold=fold)
    wanted = datetime.fromisoformat(utc).replace(tzinfo=UTC).timestamp()
    assert read_time(at, "doc") == wanted
    assert read_times([at], "doc")[0].tolist() == [wanted]


@pytest.mark.parametrize("frame", ["list", "pandas", "polars"])
def test_columns_of_a_zone_go_on_when_its_clock_does_not(frame: str) -> None:
    start = datetime(2026, 10, 24, 22, tzinfo=UTC)
    hours: Any = [(start + timedelta(hours=i)).astimezone(BERLIN) for i in range(6)]
    if frame != "list":
        hours = pytest.importorskip(frame).Series(hours)
    times = read_times(hours, "doc")[0]
    assert (times[1:] - times[:-1]).tolist() == [3600.0] * 5


@pytest.mark.parametrize(("day", "hours"), [("2026-10-24", 25), ("2026-03-28", 23)])
def test_a_deadline_is_a_length_of_time_and_no_time_of_day(day: str, hours: int) -> None:
    model = bl.LinearModel("logistic", bits=4, silence=0, deadline="24h")
    noon = datetime.fromisoformat(f"{day}T12:00").replace(tzinfo=BERLIN)
    model.predict({"x": 1}, key="click", at=noon)
    next_noon = (noon + timedelta(days=1)).replace(tzinfo=BERLIN)  # by the wall clock
    assert next_noon.timestamp() - noon.timestamp() == 3600 * hours
    assert model.observe("click", 1, at=next_noon) is (hours <= 24)
