"""From a file to a model: targets that are a yes or no, columns, silence, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from belated import cli
from belated.audits import audit
from belated.errors import LogError, SpecError
from belated.logs import Kinds
from belated.models.linear import LinearModel
from belated.replays import replay
from belated.replays.contenders import MEAN, OURS, WINDOW
from belated.replays.labels import Silence, in_unit
from belated.replays.task import Block
from belated.replays.words import kinds

# What is tested is what stands around the models; compiled, those take no time.
pytestmark = [pytest.mark.compiled, pytest.mark.needs_compiler]

ROUNDS = 60


def columns(**more: Any) -> dict[str, Any]:
    """A log of numbers with two features and a yes or no."""
    asked = list(range(ROUNDS))
    return {
        "asked_at": asked,
        "answered_at": [t + 7 + t % 3 for t in asked],
        "size": [float(t % 5) for t in asked],
        "shop": ["north" if t % 3 else "south" for t in asked],
        "y": [float(t % 7) for t in asked],
    } | more


def written(path: Path, table: dict[str, Any]) -> Path:
    """Write a table as CSV."""
    lines = [",".join(table)]
    for row in zip(*table.values(), strict=True):
        lines.append(",".join("" if cell is None else str(cell) for cell in row))
    path.write_text("\n".join(lines) + "\n")
    return path


# ---- a yes or no -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("yes", "no"),
    [
        (1, 0),
        (1.0, 0.0),
        (True, False),
        ("True", "False"),
        ("yes", "no"),
        ("Y", "N"),
        ("ja", "nein"),
        ("1", "0"),
        ("bought", "left the shop"),
    ],
    ids=str,
)
def test_a_yes_or_no_is_one_without_being_told(yes: Any, no: Any, tmp_path: Path) -> None:
    table = columns(y=[yes if t % 5 == 1 else no for t in range(ROUNDS)])
    for data in (table, written(tmp_path / "log.csv", table)):
        found = replay(data, "y")
        assert found.task.how.loss == "logistic"
        assert found.task.labels.tolist() == [float(t % 5 == 1) for t in range(ROUNDS)]
        assert found.measure == "log loss"
    if isinstance(yes, str) and not yes.isdigit():
        assert found.target == f"y = {yes}"


def test_more_than_two_words_ask_for_the_positive() -> None:
    table = columns(y=[("a", "b", "c")[t % 3] for t in range(ROUNDS)])
    with pytest.raises(LogError, match=r"3 different words; .*\(--positive\).* 'a', 'b', 'c'"):
        replay(table, "y")
    assert replay(table, "y", positive="b").task.labels.sum() == 20.0
    truth = columns(y=[t % 2 == 0 for t in range(ROUNDS)])
    assert replay(truth, "y", positive="false").task.labels[0] == 0.0


def test_a_target_of_times_is_refused() -> None:
    with pytest.raises(LogError, match="the target 'y' holds times"):
        replay(columns(y=["2024-05-01"] * ROUNDS), "y")


# ---- columns -----------------------------------------------------------------------------------


def test_columns_are_listed_with_what_they_became_and_why() -> None:
    table = columns(
        zone=[t % 4 for t in range(ROUNDS)],
        paid=["yes" if t % 2 else "no" for t in range(ROUNDS)],
        price=[f"{t},5" for t in range(ROUNDS)],
        at=["2024-05-01T12:00"] * 30 + ["2024-06-01T13:00"] * 30,
        same=["x"] * ROUNDS,
        three=[3] * ROUNDS,
        empty=[None] * ROUNDS,
        code=[f"0{t % 3}" for t in range(ROUNDS)],
    )
    found = replay(table, "y", kinds={"three": "number", "shop": "ignore"})
    said = {kind.name: kind.says for kind in found.task.kinds}
    assert said == {
        "size": "number",
        "shop": "left out",
        "zone": "number and text, 4 values",
        "paid": "yes or no",
        "price": "number",
        "at": "time (hour, weekday, month, trend)",
        "same": "constant",
        "three": "constant",
        "empty": "left out",
        "code": "text, 3 values",
    }
    text = found.summary()
    for kind in found.task.kinds:
        line = next(line for line in text.splitlines() if line.startswith(f"{kind.name} "))
        assert kind.says in line
        assert kind.why in line
    assert found.task.features == (
        *("size", "zone", "zone (text)", "paid", "price"),
        *("at hour", "at hour (text)", "at weekday", "at month", "at trend", "code"),
    )
    data = json.loads(found.to_json())
    assert Kinds.from_dict(data["columns"]) == found.task.kinds


def test_a_stored_description_gives_the_predictions_of_the_replay(tmp_path: Path) -> None:
    """A live model that is fed raw rows predicts what the replay did, bit for bit."""
    table = columns(
        zone=[t % 4 for t in range(ROUNDS)], price=[f"{t % 9},25" for t in range(ROUNDS)]
    )
    found = replay(written(tmp_path / "log.csv", _quoted(table)), "y")
    kinds = Kinds.from_dict(json.loads(json.dumps(found.task.kinds.to_dict())))
    raw = [{name: table[name][t] for name in table} for t in range(ROUNDS)]
    model, live = LinearModel("squared"), []
    for event in found.task.heard().events.tolist():
        if event >= 0:
            live.append(model.predict(kinds.row(raw[event])).value)
        else:
            model.observe(~event, table["y"][~event])
    assert found.methods[OURS].predictions.tolist() == live


def _quoted(table: dict[str, Any]) -> dict[str, Any]:
    return {
        name: [f'"{cell}"' if isinstance(cell, str) else cell for cell in cells]
        for name, cells in table.items()
    }


@pytest.mark.parametrize("column", ["answered_at", "y"])
def test_features_that_are_the_answer_are_refused(column: str) -> None:
    with pytest.raises(LogError, match=f"'{column}' is .*, which nobody knows when"):
        replay(columns(), "y", features=["size", column])


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([float(t % 7) for t in range(ROUNDS)], "'leak' is the target 'y' under another name"),
        ([float(7 + t % 3) for t in range(ROUNDS)], "'leak' is how long the answer took"),
    ],
)
def test_features_that_know_the_answer_are_refused(cells: list[float], message: str) -> None:
    with pytest.raises(LogError, match=rf"{message}.*--ignore leak"):
        replay(columns(leak=cells), "y")
    assert replay(columns(leak=cells), "y", kinds={"leak": "ignore"}).counted == ROUNDS


def test_the_answers_time_under_another_name_is_refused() -> None:
    day = np.datetime64("2024-05-01T00:00", "ns")
    asked = [str(day + np.timedelta64(t, "h")) for t in range(ROUNDS)]
    came = [str(day + np.timedelta64(5 * t // 4 + 5, "h")) for t in range(ROUNDS)]
    table = columns(asked_at=asked, answered_at=came, closed=came)
    with pytest.raises(LogError, match=r"'closed trend' is when the answer came.*--ignore closed"):
        replay(table, "y")
    minutes = [(5 * t // 4 + 5 - t) * 60.0 for t in range(ROUNDS)]
    with pytest.raises(LogError, match="'took' is how long the answer took"):
        replay(columns(asked_at=asked, answered_at=came, took=minutes), "y")


def test_two_words_that_are_the_answer_are_refused() -> None:
    table = columns(
        y=[t % 2 for t in range(ROUNDS)], status=["won" if t % 2 else "lost" for t in range(ROUNDS)]
    )
    with pytest.raises(LogError, match="'status' is the target 'y' under another name"):
        replay(table, "y")


def test_a_feature_that_comes_with_the_answer_is_noted() -> None:
    gone = [t % 4 == 0 for t in range(ROUNDS)]
    table = columns(
        answered_at=[None if gone[t] else t + 7 for t in range(ROUNDS)],
        y=[None if gone[t] else float(t % 7) for t in range(ROUNDS)],
        rating=[None if gone[t] else float(t * t % 11) for t in range(ROUNDS)],
    )
    found = replay(table, "y")
    assert any("rating is there exactly where an answer came" in note for note in found.task.notes)
    assert "note: rating is there" in found.summary()


@pytest.mark.parametrize("form", [("yes", "no"), (True, False), ("1", "0"), ("yes", None)])
def test_a_yes_or_no_that_is_the_target_under_silence_is_refused(form: tuple[Any, Any]) -> None:
    table = conversions()
    table["refunded"] = [form[0] if cell else form[1] for cell in table["y"]]
    with pytest.raises(LogError, match="'refunded' is the target 'y' under another name"):
        replay(table, "y", silence=0, deadline=40)


@pytest.mark.parametrize("form", [("yes", "no"), (True, False), ("yes", None)])
def test_a_yes_or_no_that_is_nearly_the_target_is_noted(form: tuple[Any, Any]) -> None:
    table = conversions()
    table["refunded"] = [form[bool(cell) == (t % 99 == 7)] for t, cell in enumerate(table["y"])]
    found = replay(table, "y", silence=0, deadline=40)
    assert [note for note in found.task.notes if "refunded" in note] == [
        "refunded is nearly always the target: is it known only with the answer? Then leave it out "
        "(--ignore refunded)"
    ]


@pytest.mark.parametrize(
    ("form", "says"),
    [
        (("yes", "no", "no"), "is '1' only in rows with an answer"),
        (("yes", "no", None), "is there exactly where an answer came"),
        (("yes", None, None), "is there only in rows with an answer"),
    ],
)
def test_a_yes_or_no_that_only_comes_with_answers_is_noted(
    form: tuple[Any, ...], says: str
) -> None:
    """Half of the conversions are rated; of the others only some forms say anything."""
    table = conversions()
    table["rated"] = [
        form[2] if not cell else form[0 if t % 2 else 1] for t, cell in enumerate(table["y"])
    ]
    notes = replay(table, "y", silence=0, deadline=40).task.notes
    assert [note for note in notes if note.startswith(f"rated {says}")] == [*notes]


def test_a_number_that_is_nearly_the_target_is_noted() -> None:
    nearly = [float(t % 7) if t != 11 else 99.0 for t in range(ROUNDS)]
    assert any(
        "nearly always the target" in n for n in replay(columns(leak=nearly), "y").task.notes
    )


def test_rows_that_come_twice_are_noted() -> None:
    table = {name: cells + cells[:5] for name, cells in columns().items()}
    assert any(
        "5 of the first 65 rows come twice" in note for note in replay(table, "y").task.notes
    )


# ---- silence -----------------------------------------------------------------------------------


def conversions(rounds: int = 400, seed: int = 0) -> dict[str, Any]:
    """Visits of which some convert, later; of the others nothing is heard."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=rounds)
    converts = rng.random(rounds) < 1.0 / (1.0 + np.exp(1.0 - 2.0 * size))
    wait = rng.integers(1, 40, rounds)
    return {
        "asked_at": list(range(rounds)),
        "answered_at": [t + int(wait[t]) if converts[t] else None for t in range(rounds)],
        "size": size.tolist(),
        "y": [1 if yes else None for yes in converts],
    }


def test_answers_that_are_all_alike_stop_the_replay() -> None:
    with pytest.raises(LogError, match=r"every answer is '1'. .*--silence VALUE: \d+ rows have no"):
        replay(conversions(), "y")
    with pytest.raises(LogError, match=r"every answer is '3'. There is nothing to predict"):
        replay(columns(y=[3.0] * ROUNDS), "y")
    found = replay(conversions(), "y", answered_only=True)
    assert found.counted == sum(cell is not None for cell in conversions()["y"])


def test_targets_without_a_time_stop_the_replay() -> None:
    table = conversions()
    table["y"] = [1 if cell else 0 for cell in table["y"]]
    with pytest.raises(
        LogError, match=r"rows have a target and no time .*--silence 0 .*--deadline"
    ):
        replay(table, "y")
    assert replay(table, "y", silence=0).task.labels[:50].min() == 0.0
    with pytest.raises(LogError, match="another target than silence, 1"):
        replay(table, "y", silence=1)


def test_silence_counts_every_row_whose_deadline_has_passed() -> None:
    table = conversions()
    found = replay(table, "y", silence=0, deadline=20, loss="logistic")
    task, asked = found.task, np.arange(400.0)
    came = np.array([np.inf if t is None else t for t in table["answered_at"]])
    last = max(asked[-1], came[np.isfinite(came)].max())
    assert (task.known == (asked + 20.0 <= last)).all()
    expected = (came <= asked + 20.0).astype(float)
    assert (task.labels[task.known] == expected[task.known]).all()
    known = task.known
    p, y = found.methods[OURS].predictions[known], task.labels[known]
    assert found.methods[OURS].mean_loss == pytest.approx(
        float(np.mean(-np.log(np.where(y == 1.0, p, 1.0 - p))))
    )
    assert "as the deadline of 20 has passed" in " ".join(found.summary().split())


def test_silence_is_that_of_the_live_model() -> None:
    table = conversions()
    found = replay(table, "y", silence=0, deadline=20)
    task = found.task
    model = LinearModel("logistic", silence=0.0, deadline=20.0, wait=None)
    live = []
    part = task.heard(Block.spoken)
    for event, at in zip(part.events.tolist(), part.at.tolist(), strict=True):
        if event >= 0:
            live.append(model.predict({"size": table["size"][event]}, at=at).value)
        else:
            assert model.observe(~event, 1.0, at=at)
    assert found.methods[OURS].predictions.tolist() == live
    # The others hear of both labels when a window is over, and say the share so far before.
    window = replay(table, "y", silence=0, deadline=20, window=8).methods[WINDOW]
    waiting = LinearModel("logistic", wait=None)
    said = []
    for t in range(400):
        if t >= 8:
            came = table["answered_at"][t - 8]
            waiting.observe(t - 8, float(came is not None and came <= t))
        said.append(waiting.predict({"size": table["size"][t]}).value)
    assert window.predictions[8:].tolist() == said[8:]
    shares = found.methods[MEAN].predictions[:8]
    assert window.predictions[:8].tolist() == shares.tolist()


@pytest.mark.parametrize("loss", ["logistic", pytest.param("squared", marks=pytest.mark.slow)])
def test_the_running_mean_counts_silence_at_once(loss: Any) -> None:
    found = replay(conversions(), "y", silence=0, deadline=20, loss=loss)
    prior = 0.5 if loss == "logistic" else 0.0
    current: dict[int, float] = {}
    said = []
    for event in found.task.heard(Block.spoken).events.tolist():
        if event >= 0:
            count = len(current) + 2.0 * prior
            said.append((sum(current.values()) + prior) / count if count else 0.0)
            current[event] = 0.0
        else:
            current[~event] = 1.0
    assert found.methods[MEAN].predictions.tolist() == pytest.approx(said)
    assert "silence counted at once" in found.methods[MEAN].about


@pytest.mark.parametrize("unit", [None, "s"])
def test_the_usual_deadline_is_the_longest_wait(unit: Any) -> None:
    found = replay(conversions(), "y", silence=0, unit=unit)
    assert found.task.how.deadline == 39.0
    last = max(t for t in conversions()["answered_at"] if t is not None)
    assert found.counted == sum(t + 39 <= last for t in range(400))


def test_silence_on_a_calendar() -> None:
    table = conversions()
    day = np.datetime64("2024-05-01", "s")
    for name in ("asked_at", "answered_at"):
        hours = [None if t is None else np.timedelta64(t, "h") for t in table[name]]
        table[name] = [None if t is None else str(day + t) for t in hours]
    by_hours = replay(conversions(), "y", silence=0, deadline=20, unit="h")
    found = replay(table, "y", silence="0", deadline="20h")
    assert found.task.known.tolist() == by_hours.task.known.tolist()
    assert found.methods[OURS].mean_loss == pytest.approx(by_hours.methods[OURS].mean_loss)
    assert "deadline of 20 h" in " ".join(found.summary().split())


def test_silence_that_cannot_be_is_refused() -> None:
    with pytest.raises(LogError, match="goes without silence"):
        Silence("0", None, answered_only=True)
    with pytest.raises(LogError, match="a deadline says when silence is an answer"):
        replay(conversions(), "y", deadline=20)
    with pytest.raises(LogError, match="a length of time is more than nothing"):
        replay(conversions(), "y", silence=0, window=0)
    with pytest.raises(LogError, match="every label counts once"):
        replay(conversions(), "y", silence=0, weight="size", on_bad="skip")
    with pytest.raises(LogError, match="here a number, got 'no sale'"):
        replay(conversions(), "y", silence="no sale")
    with pytest.raises(LogError, match="no deadline has passed"):
        replay(conversions(), "y", silence=0, deadline=4000)
    with pytest.raises(SpecError, match="silence needs a loss"):
        replay(conversions(), "y", silence=0, loss="huber")
    with pytest.raises(LogError, match="their unit is not known"):
        in_unit("30d", None)
    with pytest.raises(LogError, match="in what unit the length is"):
        in_unit("30", "ns", has_dates=True)
    for wrong in ("soon", "-3d", "0", "3 parsecs"):
        with pytest.raises(LogError, match="a length of time is"):
            in_unit(wrong, "s")


def test_a_longest_wait_that_leaves_no_rows_asks_for_a_deadline() -> None:
    table = conversions()
    row = next(t for t in range(400) if table["answered_at"][t] is not None)
    table["answered_at"][row] = row + 380
    with pytest.raises(LogError, match="say with --deadline how long an answer counts"):
        replay(table, "y", silence=0)


def times_alone() -> dict[str, Any]:
    """The same visits without a column of labels: a time of purchase, or none."""
    found = conversions()
    del found["y"]
    return found


@pytest.mark.parametrize("target", [None, "answered_at"])
def test_the_time_of_an_answer_is_a_yes_where_silence_means_something(target: Any) -> None:
    told = replay(conversions(), "y", silence=0, deadline=20)
    found = replay(times_alone(), target, silence=0, deadline=20)
    assert found.task.how.loss == "logistic"
    assert found.methods[OURS].predictions.tolist() == told.methods[OURS].predictions.tolist()
    assert found.target == "whether answered_at is there"
    row = next(row for row in kinds(found) if row[0] == "answered_at")
    assert row[1:] == ("the label", "1 where there is a time, 0 where there is none (--silence)")
    assert found.task.kinds.names == ("size",)


def test_a_time_as_the_target_says_how_it_becomes_a_yes_or_no() -> None:
    with pytest.raises(LogError, match=r"'answered_at' is when the answer came.* --silence 0"):
        replay(times_alone(), "answered_at")
    with pytest.raises(LogError, match="an answer is a 1, and so cannot be what silence means"):
        replay(times_alone(), silence=1)
    with pytest.raises(LogError, match="which column is to be predicted"):
        replay(times_alone())


# ---- the command -------------------------------------------------------------------------------


def test_the_command_takes_columns_and_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    written(Path("log.csv"), conversions() | {"zone": [t % 9 for t in range(400)]})
    line = ["replay", "log.csv", "--target", "y", "--no-page"]
    assert cli.main(line) == 1
    assert "--silence VALUE" in capsys.readouterr().err
    told = ["--silence", "0", "--deadline", "20", "--text", "zone", "--ignore", "size"]
    assert cli.main([*line, *told]) == 0
    out = capsys.readouterr().out
    assert "text, 9 values" in out
    assert "left out" in out
    assert cli.main([*line, *told, "--number", "zone"]) == 1
    assert "--number and --text both name 'zone'" in capsys.readouterr().err
    assert cli.main([*line, "--json", "--out", "page.html"]) == 1
    assert "--out is where the page is written" in capsys.readouterr().err
    for option in (["--tz", "UTC"], ["--text", "dest"], ["--skip-bad-rows"], ["--unit", "s"]):
        assert cli.main(["replay", "flights", "--quick", "--no-page", *option]) == 1
        assert "leave out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--quantile", "0.9"], "--quantile is of the quantile loss; say --loss quantile"),
        (["--delta", "2", "--loss", "squared"], "--delta is of the huber loss"),
        (["--tz", "UTC"], "tz (--tz) is for dates; here times are numbers"),
        (["--dates", "day-first"], "(--dates) is for dates like 5/6/2024"),
        (["--positive", "1", "--clip", "0", "1"], "give clip or positive, not both"),
        (["--deadline", "3"], "say which one with silence (--silence)"),
        (["--silence", "0", "--answered-only"], "goes without silence"),
    ],
)
def test_options_that_would_be_ignored_are_refused(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "log.csv", columns())
    assert cli.main(["replay", str(path), "--target", "y", "--no-page", *options]) == 1
    assert message in capsys.readouterr().err


def test_a_unit_of_dates_is_refused() -> None:
    table = {"asked_at": ["2024-05-01"], "answered_at": ["2024-05-02"], "y": [1.0]}
    with pytest.raises(LogError, match="is for times that are numbers; here they are dates"):
        replay(table, "y", unit="s")


def test_times_for_programs_are_iso(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = [1_717_162_200 + 60 * t for t in range(ROUNDS)]
    table = columns(asked_at=asked, answered_at=[at + 90 for at in asked])
    path = written(tmp_path / "log.csv", table)
    assert cli.main(["replay", str(path), "--target", "y", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["first"] == "2024-05-31T13:30:00Z"
    assert data["window_times"][-1] == data["last"] == "2024-05-31T14:29:00Z"
    assert cli.main(["audit", str(path), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["first"], data["last"]) == ("2024-05-31T13:30:00Z", "2024-05-31T14:29:00Z")
    assert cli.main(["audit", str(path), "--no-page"]) == 0
    out = capsys.readouterr().out
    assert "2024-05-31 13:30 UTC to 2024-05-31 14:29 UTC" in out
    assert "count s since 1970" in out


def test_counts_since_1970_are_dates_on_pages(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    asked = [1_717_162_200 + 60 * t for t in range(ROUNDS)]
    table = columns(asked_at=asked, answered_at=[at + 90 for at in asked])
    replay(table, "y").page(tmp_path / "replay.html")
    audit(table).page(tmp_path / "audit.html")
    for name in ("replay", "audit"):
        text = (tmp_path / f"{name}.html").read_text()
        assert "after 2024-05-31 13:30 UTC" in text
        assert "1,717,162,200" not in text
    text = (tmp_path / "replay.html").read_text()
    assert "What did the columns become?" in text
    assert "count s since 1970" in text
