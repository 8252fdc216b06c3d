"""Audits by label: a warning where lateness depends on the label, and none for chance."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated import cli
from belated.audits import Audit, audit
from belated.audits.labels import MOST, WaitsByLabel, differ
from belated.datasets import flights
from belated.errors import LogError
from belated.logs import Log
from belated.replays import Replay, replay


def columns(rounds: int = 2000, slower: float = 20.0, seed: int = 0) -> dict[str, Any]:
    """Return a log in which a no takes longer by a factor."""
    rng = np.random.default_rng(seed)
    is_yes = rng.random(rounds) < 0.3
    asked = np.cumsum(rng.exponential(60.0, rounds))
    waits = rng.exponential(600.0, rounds) * np.where(is_yes, 1.0, slower)
    words = np.where(is_yes, "yes", "no").astype(object)
    return {"asked_at": asked, "answered_at": asked + waits, "bought": words}


def found_in(data: dict[str, Any]) -> Audit:
    return audit(data, target="bought", unit="s")


def slow_ranks(mine: list[int], others: list[int]) -> tuple[float, float]:
    """Return the chance and the distance, pair by pair."""
    wins = sum(1.0 if a > b else 0.5 if a == b else 0.0 for a in mine for b in others)
    n, m = len(mine), len(others)
    total = n + m
    ties = sum((t := (mine + others).count(value)) ** 3 - t for value in {*mine, *others})
    variance = n * m / 12 * (total + 1 - ties / (total * (total - 1)))
    z = (wins - n * m / 2) / math.sqrt(variance) if variance > 1e-9 else 0.0
    return wins / (n * m), z


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12)), min_size=2, max_size=40))
def test_ranks_are_those_counted_pair_by_pair(rows: list[tuple[int, int]]) -> None:
    waits = WaitsByLabel()
    half = len(rows) // 2
    for part in (rows[:half], rows[half:]):
        labels, times = (np.array([row[i] for row in part], dtype=np.float64) for i in (0, 1))
        waits.add(labels, times)
    found = waits.outcomes()
    assert len(found) == (0 if len({row[0] for row in rows}) < 2 else len({r[0] for r in rows}))
    for outcome in found:
        mine = [wait for label, wait in rows if label == int(outcome.label)]
        others = [wait for label, wait in rows if label != int(outcome.label)]
        assert (outcome.later, outcome.z) == pytest.approx(slow_ranks(mine, others), abs=1e-9)
        assert outcome.waits.count == len(mine)


def test_a_log_where_lateness_depends_on_the_label() -> None:
    found = found_in(columns())
    assert [outcome.label for outcome in found.outcomes] == ["yes", "no"]
    assert found.outcomes[0].later == pytest.approx(1.0 - found.outcomes[1].later)
    assert found.warning.startswith(
        'Lateness depends on the label: "no" takes longer than "yes" (half of them within 2.2 h, '
        "against 7 min), so the labels"
    )
    text = found.summary()
    assert "Lateness depends on the label" in text
    assert "wait: median" in text
    assert max(map(len, text.splitlines())) <= 100
    data = json.loads(found.to_json())
    assert data["warning"] == found.warning
    assert [row["label"] for row in data["by_label"]] == ["yes", "no"]
    assert sum(row["answered"] for row in data["by_label"]) == 2000
    assert data["by_label"][0]["wait"]["median"] == pytest.approx(420.0, rel=0.1)


def test_a_difference_too_small_to_matter_does_not_warn() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=400_000).astype(np.float64)
    waits = WaitsByLabel()
    waits.add(labels, rng.exponential(1.0 + 0.1 * labels))
    found = waits.outcomes()
    assert abs(found[0].z) > 10
    assert not differ(found)


def test_labels_too_many_too_few_or_missing() -> None:
    data = columns(500)
    for labels, count in (
        (np.arange(500.0) % (MOST + 1), 0),
        (np.arange(500.0) % MOST, MOST),
        (np.zeros(500), 0),
        (np.where(np.arange(500) % 3 == 0, np.nan, np.arange(500.0) % 2), 2),
    ):
        found = found_in(data | {"bought": labels})
        assert len(found.outcomes) == count
    never = data | {"answered_at": np.full(500, np.nan)}
    assert found_in(never).outcomes == ()
    assert audit(flights()).outcomes == ()  # minutes
    assert "wait: median" not in audit(flights()).summary()


def test_files_in_blocks_and_out_of_order(tmp_path: Path) -> None:
    data = columns(3000)
    whole = found_in(data)
    mixed = np.random.default_rng(1).permutation(3000)
    for number, order in enumerate((np.arange(3000), mixed)):
        path = tmp_path / f"{number}.parquet"
        table = pa.table({name: column[order] for name, column in data.items()})
        pyarrow.parquet.write_table(table, path, row_group_size=700)
        found = audit(path, target="bought", unit="s")
        for mine, theirs in zip(
            found.to_dict()["by_label"], whole.to_dict()["by_label"], strict=True
        ):
            assert mine.pop("wait") == pytest.approx(theirs.pop("wait"))  # summed in other orders
            assert mine == theirs
        assert found.warning == whole.warning


# ---- replays -----------------------------------------------------------------------------------


def replayed(data: dict[str, Any], **options: Any) -> Replay:
    asked = {"size": np.arange(len(data["asked_at"]), dtype=float) % 7, **data}
    return replay(asked, "bought", unit="s", first=400, **options)


@pytest.mark.compiled
@pytest.mark.needs_compiler
def test_a_replay_warns_as_an_audit_does(tmp_path: Path) -> None:
    found = replayed(columns(400))
    audited = found_in(columns(400))
    assert found.warning.startswith(audited.warning)
    assert 'believes too much in "yes"; belated allows for what is still open' in found.warning
    assert "--silence no" in found.warning
    assert "Lateness depends on the label" in found.summary()
    data = json.loads(found.to_json())
    assert data["warning"] == found.warning
    assert data["by_label"] == json.loads(audited.to_json())["by_label"]
    pytest.importorskip("vl_convert")
    found.page(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "Does lateness depend on the label?" in text
    assert text.index("Lateness depends on the label") < text.index("<nav")


@pytest.mark.compiled
@pytest.mark.needs_compiler
def test_a_replay_without_such_a_difference_says_nothing() -> None:
    even = replayed(columns(400, slower=1.0))
    assert even.warning == ""
    assert len(even.outcomes) == 2
    assert "depends on the label" not in even.summary()


@pytest.mark.compiled
@pytest.mark.needs_compiler
def test_a_replay_tells_apart_what_a_threshold_makes_of_numbers() -> None:
    data = columns(400)
    size = np.where(data["bought"] == "yes", 10.0, 20.0) + np.arange(400) / 1000.0
    found = replayed(data | {"bought": size}, threshold=15.0)
    assert [each.label for each in found.outcomes] == ["at most 15", "above 15"]
    assert '"above 15" takes longer than "at most 15"' in found.warning
    assert "--silence" not in found.warning
    assert replayed(data | {"bought": size}).outcomes == ()


def test_silence_is_no_label_that_takes_long() -> None:
    """It is known at its deadline by agreement; only what was heard is compared."""
    data = columns(400, slower=1.0)
    is_yes = data["bought"] == "yes"
    data["answered_at"] = np.where(is_yes, data["answered_at"], np.nan)
    found = replayed(data, silence="no", deadline="5h")
    assert found.outcomes == ()
    assert found.warning == ""


def test_the_page_and_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("vl_convert")
    data = columns(400)
    path = tmp_path / "log.parquet"
    pyarrow.parquet.write_table(pa.table(data), path)
    page = tmp_path / "page.html"
    arguments = ["audit", str(path), "--target", "bought", "--unit", "s"]
    assert cli.main([*arguments, "--out", str(page)]) == 0
    assert "Lateness depends on the label" in capsys.readouterr().out
    text = page.read_text()
    assert "Does lateness depend on the label?" in text
    assert "--target bought" in text
    assert cli.main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["by_label"][0]["label"] == "yes"
    assert cli.main(["audit", "flights", "--target", "x", "--no-page"]) == 1


# --- Audits of logs in which no answer is one, once its deadline has passed -----------------------


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30) | st.none()), min_size=1),
    st.integers(1, 20),
)
def test_no_ticket_is_out_beyond_its_deadline(
    rows: list[tuple[int, int | None]], deadline: int
) -> None:
    """The backlog, counted prediction by prediction."""
    asked = np.array(sorted(start for start, _ in rows), dtype=np.float64)
    waits = np.array([np.nan if wait is None else float(wait) for _, wait in rows])
    log = Log(asked, asked + waits)
    found = audit(log, deadline=deadline)
    ends = np.where(waits <= deadline, asked + waits, asked + deadline)
    # What ends when another prediction is made is known by then.
    out = sum(int(np.count_nonzero(ends[:t] > asked[t])) for t in range(len(asked)))
    assert found.tally.total_delay == out
    heard = waits <= deadline
    last = max(asked.max(), (asked + waits)[~np.isnan(waits)].max(initial=0.0))
    silent = int(np.count_nonzero(~heard & (asked + deadline <= last)))
    assert (found.answered, found.silent) == (int(np.count_nonzero(heard)), silent)
    assert found.never == len(asked) - found.answered - silent


def test_waits_by_label_end_at_the_deadline() -> None:
    asked = np.arange(40.0)
    labels = np.tile([0.0, 1.0], 20)
    found = audit(Log(asked, asked + np.where(asked < 30.0, 2.0, 9.0), target=labels), deadline=5)
    assert [outcome.waits.count for outcome in found.outcomes] == [15, 15]
    assert found.answered == 30


def clicks(tmp_path: Path) -> Path:
    """Clicks of one every hour; every fifth leads to a sale after two hours."""
    start = np.datetime64("2026-01-05T00:00")
    rows = ["clicked_at,bought_at"]
    for t in range(150):
        at = start + np.timedelta64(t, "h")
        rows.append(f"{at},{at + np.timedelta64(2, 'h') if t % 5 == 0 else ''}")
    path = tmp_path / "clicks.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_the_command_settles_what_silence_settles(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["audit", str(clicks(tmp_path)), "--predicted", "clicked_at", "--observed", "bought_at"]
    assert cli.main([*given, "--silence", "0", "--deadline", "24h", "--no-page"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "30 of 150 predictions were answered (20 %), half of them within 2 h." in text
    assert "100 count as silence, 24 h after prediction, and 20 are still open." in text
    assert "the deadline waits 22 h longer, for the last 1 %. 17.1 are open at a time." in text
    assert cli.main([*given, "--silence", "0", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["answered"] == 30
    assert data["deadline"] == pytest.approx(7200.0)
    assert data["open_at_a_time"] < 2.1
    assert cli.main([*given, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["never"], data["silent"], data["deadline"]) == (120, 0, None)


def test_deadlines_of_audits_are_checked(tmp_path: Path) -> None:
    times = np.arange(5.0)
    with pytest.raises(LogError, match="longer than nothing"):
        audit(Log(times, times + 1.0), deadline=0)
    with pytest.raises(LogError, match="14 of what"):
        audit(clicks(tmp_path), "clicked_at", "bought_at", deadline=14)
