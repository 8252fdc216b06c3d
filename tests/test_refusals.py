"""What commands refuse before anything runs: labels that say nothing, places, short options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from belated import cli
from belated.errors import LogError
from belated.replays.labels import Labels, Silence
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
