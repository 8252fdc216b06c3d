"""What commands refuse before anything runs: labels that say nothing, places, short options."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from belated import cli
from belated.errors import LogError
from belated.evaluations import evaluate
from belated.logs.spans import span_in
from belated.replays import replay
from belated.replays.labels import Labels, Silence, in_unit
from belated.replays.task import Asked, Task, task_of

ROWS = 40


def columns(**more: Any) -> dict[str, Any]:
    """A small log of numbers."""
    return {
        "asked_at": [*range(ROWS)],
        "answered_at": [t + 3 + t % 4 for t in range(ROWS)],
        "size": [t * 7 % 11 for t in range(ROWS)],
        "y": [t * 5 % 13 for t in range(ROWS)],
    } | more


def task(table: dict[str, Any], how: Labels) -> Task:
    return task_of(table, Asked("y"), how, Silence(), loss=how.loss)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        (Labels("logistic", threshold=20.0), r"at most the threshold 20 \(they go from 0 to 12, "),
        (Labels("logistic", threshold=-1.0), r"above the threshold -1 .*so give --threshold in"),
        (Labels(clip=(20.0, 30.0)), r"the same when cut to --clip 20 30 \(they go from 0 to 12\)"),
    ],
)
def test_labels_that_are_all_the_same_say_what_made_them_so(how: Labels, says: str) -> None:
    with pytest.raises(LogError, match=f"every answer is {says}"):
        task(columns(), how)


def test_a_target_that_a_loss_does_not_take_is_named_with_its_row() -> None:
    table = columns()
    table["y"][17] = table["y"][23] = -2
    says = r"poisson loss the target 'y' must be a number from 0 .*; row 17 has -2, and 1 more"
    with pytest.raises(LogError, match=says):
        task(table, Labels("poisson"))
    assert task(table, Labels("poisson", clip=(0.0, 9.0))).labels.min() == 0.0


# ---- places ------------------------------------------------------------------------------------


def written(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    rows = [f"{t},{t + 3}" for t in range(ROWS)]
    path.write_text("\n".join(["asked_at,answered_at", *rows]) + "\n")
    return path


@pytest.mark.parametrize("place", ["", "missing/page.html", "log.csv/page.html"])
def test_a_page_that_cannot_be_written_is_noticed_first(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = written(tmp_path)
    assert cli.main(["audit", str(log), "--out", str(tmp_path / place)]) == 1
    out, err = capsys.readouterr()
    assert not out
    assert "cannot write" in err
    assert "--out" in err
    assert sorted(tmp_path.iterdir()) == [log]
    assert not [*tmp_path.parent.glob("*.part")]


@pytest.mark.parametrize("option", ["--save", "--predictions"])
def test_other_files_that_cannot_be_written_are_noticed_first(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, folder = written(tmp_path), tmp_path / "there.csv"
    folder.mkdir()
    given = ["replay", str(log), "--silence", "0", option, str(folder), "--no-page"]
    assert cli.main(given) == 1
    assert f"that is a folder; give a file with {option}" in capsys.readouterr().err


# ---- options -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given", [["audit", "--targ", "y"], ["replay", "--dead", "3d"], ["evaluate", "--rew", "y"]]
)
def test_beginnings_of_options_are_refused(
    given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as found:
        cli.main([given[0], "log.csv", *given[1:]])
    assert found.value.code == 2
    assert f"unrecognized arguments: {given[1]}" in capsys.readouterr().err


# --- Lengths of time as people give them: one grammar for all commands ----------------------------


SPANS: list[tuple[Any, Any, float]] = [
    ("2d", "h", 48.0),
    ("2 days", "h", 48.0),
    ("2D", "h", 48.0),
    (".5h", "min", 30.0),
    ("1.5 h", "min", 90.0),
    ("1 week", "d", 7.0),
    ("2w", "d", 14.0),
    ("90 minutes", "s", 5400.0),
    ("5 seconds", "s", 5.0),
    ("250 ms", "s", 0.25),
    ("1e3", None, 1000.0),
    ("7", None, 7.0),
    (7, None, 7.0),
    (timedelta(minutes=3), "min", 3.0),
    (np.timedelta64(3, "m"), "min", 3.0),
]


@pytest.mark.parametrize(("given", "unit", "expected"), SPANS)
def test_every_command_reads_the_same(given: Any, unit: Any, expected: float) -> None:
    assert span_in(given, unit, "evaluate") == expected
    assert in_unit(given, unit) == expected


@pytest.mark.parametrize(
    "wrong",
    ["soon", "-3d", "3 parsecs", "3 ss", "", "d", -1, True, float("nan"), float("inf"), None, b"3"],
)
def test_what_is_no_length_of_time(wrong: Any) -> None:
    with pytest.raises(LogError, match="evaluate: a length of time is"):
        span_in(wrong, "s", "evaluate")
    with pytest.raises(LogError, match="replay: a length of time is"):
        in_unit(wrong, "s")


def test_nothing_is_a_deadline_of_decisions_but_not_of_predictions() -> None:
    """A reward may come at once; where silence has no time to be heard, it is no answer."""
    assert span_in("0d", "s", "evaluate") == 0.0
    with pytest.raises(LogError, match="a length of time is more than nothing"):
        in_unit("0d", "s")


def test_lengths_of_time_need_a_unit() -> None:
    with pytest.raises(LogError, match="their unit is not known, so '2d'"):
        span_in("2d", None, "evaluate")


@pytest.mark.parametrize("given", ["14", 14, 14.0])
def test_a_plain_number_beside_dates_is_asked_about(given: Any) -> None:
    with pytest.raises(LogError, match=r"14 of what.*such as 14d, 14h or 14min"):
        span_in(given, "ms", "evaluate", has_dates=True)
    with pytest.raises(LogError, match="14 of what"):
        in_unit(given, "ns", has_dates=True)
    assert span_in("14d", "ms", "evaluate", has_dates=True) == 14 * 86_400_000.0
    assert span_in(given, "ms", "evaluate") == 14.0
    assert span_in(0, "s", "evaluate", has_dates=True) == 0.0


def counted_in_ms() -> dict[str, Any]:
    """Return a log of sales whose times count milliseconds since 1970."""
    start, day = 1_717_162_200_000, 86_400_000
    shown = [start + i * day // 4 for i in range(240)]
    bought = [at + (i % 9) * day // 2 if i % 3 == 0 else None for i, at in enumerate(shown)]
    sold = [1.0 if i % 3 == 0 else None for i in range(240)]
    return {
        "shown_at": shown,
        "bought_at": bought,
        "sold": sold,
        "price": [float(i % 7) for i in range(240)],
    }


def test_counts_since_1970_need_a_unit_for_their_deadline() -> None:
    log = counted_in_ms()
    with pytest.raises(LogError, match="replay: 14 of what"):
        replay(log, "sold", silence=0, deadline="14", loss="logistic")
    found = replay(log, "sold", silence=0, deadline=timedelta(days=3), loss="logistic")
    assert found.task.how.deadline == timedelta(days=3)
    decisions = {
        "shown_at": log["shown_at"],
        "bought_at": log["bought_at"],
        "reward": log["sold"],
        "action": [f"a{i % 2}" for i in range(240)],
        "probability": [0.5] * 240,
    }
    with pytest.raises(LogError, match="evaluate: 14 of what"):
        evaluate(decisions, silence=0.0, deadline=14, chooser=False)
    options: dict[str, Any] = {"silence": 0.0, "deadline": "3d", "chooser": False}
    judged = evaluate(decisions, **options)
    assert judged.mature.deadline == 3 * 86_400_000.0
    ended = evaluate(decisions, until="2024-07-01", **options)
    again = evaluate(decisions, until=1_719_792_000_000, **options)
    assert ended.counted == again.counted < judged.counted
