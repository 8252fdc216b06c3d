"""The log of a stored Chooser is what ``evaluate`` takes, and so is its export."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.errors import LogError
from belated.evaluations import warm_start
from belated.evaluations.reading import Columns, decisions_of

USUAL = Columns()
START = 1_767_225_600.0  # 2026-01-01


@pytest.fixture
def store(tmp_path: Path) -> Any:
    """A store with one chooser and all that can happen to its choices."""
    with bl.open(tmp_path / "shop.db") as opened:
        lay = opened.model("lay", bl.Chooser(["a", "b"], silence=0.0, deadline=100.0, bits=6))
        for i in range(8):
            lay.choose({"device": "phone", "n": i}, key=str(i), at=START + i)
        lay.observe("0", 3.0, at=START + 10)
        lay.add("1", 1.0, at=START + 11)
        lay.add("1", 1.0, at=START + 12)
        lay.revise("2", 5.0, at=START + 13)
        lay.revise("2", 4.0, at=START + 90)
        lay.choose(None, ["b", "c"], key="menu", at=START + 20)
        lay.choose(None, key="hidden", at=START + 21, shown=False)
        lay.choose(None, key="shown", at=START + 22, shown=False)
        lay.shown("shown", at=START + 30)
        lay.observe("shown", 1.0, at=START + 31)
        yield opened


def test_the_log_of_a_chooser_is_a_log_of_decisions(store: Any) -> None:
    lines = list(store.log("lay"))
    log = decisions_of(store.log("lay"), USUAL, silence=0.0, deadline=50)
    assert len(log) == 10  # the one that nobody was shown does not count
    made = {line.ticket: line for line in lines if line.verb == "choose"}
    assert [log.actions[a] for a in log.action[:8]] == [made[t].action for t in range(8)]
    assert log.probability[:8].tolist() == [made[t].probability for t in range(8)]
    assert log.reward[:3].tolist() == [3.0, 2.0, 5.0]  # 4.0 came after the deadline
    assert log.wait[:3].tolist() == [10.0, 11.0, 11.0]
    assert np.isnan(log.reward[3:9]).all()
    assert np.isnan(log.wait[3:9]).all()
    assert (log.decided[9], log.wait[9], log.reward[9]) == (30.0, 1.0, 1.0)
    assert log.context["device"].tolist() == ["phone"] * 8 + [None] * 2
    assert log.menu(8) == ("b", "c")
    assert log.first == np.datetime64("2026-01-01")
    # A longer deadline hears the second word too.
    assert decisions_of(store.log("lay"), USUAL, silence=0.0).reward[2] == 4.0


def test_a_log_and_its_export_evaluate_the_same(store: Any, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    from pyarrow import parquet

    target = tmp_path / "lay.parquet"
    store.export("lay", target)
    rows = parquet.read_table(target).to_pylist()
    assert [row["ticket"] for row in rows] == [line.ticket for line in store.log("lay")]
    found = [
        bl.evaluate(data, silence=0.0, deadline="40s")
        for data in (store.log("lay"), list(store.log("lay")), target)
    ]
    assert [one.to_dict()["policies"] for one in found] == [found[0].to_dict()["policies"]] * 3
    with pytest.raises(LogError, match="leave out action"):
        bl.evaluate(target, action="layout")


def test_other_logs_of_a_store_are_no_decisions(store: Any) -> None:
    store.model("m", bl.LinearModel(bits=6)).predict({"x": 1.0})
    with pytest.raises(LogError, match="no choices"):
        bl.evaluate(store.log("m"))


def test_times_that_nobody_told_are_those_of_the_store(tmp_path: Path) -> None:
    with bl.open(tmp_path / "s.db") as opened:
        lay = opened.model("lay", bl.Chooser(["a", "b"], bits=6))
        for _ in range(3):
            lay.observe(lay.choose().ticket, 1.0)
        log = decisions_of(opened.log("lay"), USUAL)
        assert log.reward.tolist() == [1.0] * 3
        assert log.has_dates
        assert (log.wait >= 0.0).all()


# --- A chooser that learns from the log of another policy, beside one that was live ---------------


WARM_START = datetime(2026, 10, 24, tzinfo=UTC)
SETTINGS: list[dict[str, Any]] = [
    {},
    {"silence": 0.0, "deadline": timedelta(hours=3)},
    {"loss": "logistic", "silence": 0.0, "deadline": {"predictions": 40}},
]


def lived(chooser: Any, times: bool) -> dict[str, list[Any]]:
    """Let a chooser live, and return its log; some rewards come late and some never."""
    rng, names = np.random.default_rng(5), ("country", "shown_at", "action", "probability")
    log: dict[str, list[Any]] = {name: [] for name in (*names, "reward", "heard_at")}
    waiting: list[tuple[datetime, int, int]] = []
    for i in range(400):
        now, context = WARM_START + timedelta(minutes=10 * i), {"country": ["NO", "PT"][i % 2]}
        while waiting and waiting[0][0] <= now:
            heard, ticket, row = waiting.pop(0)
            chooser.observe(ticket, log["reward"][row], at=heard if times else None)
        choice = chooser.choose(context, at=now if times else None)
        is_good = (choice.action == "blue") == bool(i % 2)
        heard_at = None if rng.random() < 0.3 else now + timedelta(minutes=25)
        reward = float(rng.random() < (0.8 if is_good else 0.2))
        cells: list[Any] = [context["country"], now, choice.action, choice.probability]
        for name, cell in zip(
            log, [*cells, None if heard_at is None else reward, heard_at], strict=True
        ):
            log[name].append(cell)
        if heard_at is not None:
            waiting.append((heard_at, choice.ticket, i))
    for heard, ticket, row in waiting:
        chooser.observe(ticket, log["reward"][row], at=heard if times else None)
    return log


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("source", ["table", "store"])
def test_a_warm_start_knows_what_the_live_chooser_does(
    settings: dict[str, Any], source: str, tmp_path: Path
) -> None:
    live = bl.Chooser(["blue", "green"], bits=8, **settings)
    times = "predictions" not in str(settings)
    late = bl.Chooser(["blue", "green"], bits=8, **settings)
    if source == "table":
        log: Any = lived(live, times)
        count = warm_start(late, log, decided="shown_at", rewarded="heard_at")
    else:
        with bl.open(tmp_path / "x.db") as store:
            stored = store.model("m", live)
            lived(stored, times)
            live = bl.Chooser.restore(stored.snapshot())
            count = warm_start(late, store.log("m"))
    assert (count, late.mode, late.rounds) == (400, "learn", live.rounds)
    for country in ("PT", "NO"):
        ours = {option.action: option.value for option in late.peek({"country": country})}
        theirs = {option.action: option.value for option in live.peek({"country": country})}
        assert ours == pytest.approx(theirs, rel=1e-9)
    if times:  # its clock is that of the log
        later = WARM_START + timedelta(days=30)
        assert late.choose({"country": "PT"}, at=later).action in ("blue", "green")
