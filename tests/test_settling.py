"""Audits of logs in which no answer is one, once its deadline has passed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated import cli
from belated.audits import audit
from belated.errors import LogError
from belated.logs import Log


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
    last = max(asked.max(), (asked + waits)[heard].max(initial=0.0))
    silent = int(np.count_nonzero(~heard & (asked + deadline <= last)))
    assert (found.answered, found.silent) == (int(np.count_nonzero(heard)), silent)
    assert found.never == len(asked) - found.answered - silent


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
    assert "silence settled 100 after 24 h, 20 are not settled yet" in text
    assert "Half of the labels are known after 24 h, and 17.1 are out at a time" in text
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
