"""Replays: small logs whose answer is known, and what is said about them."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from belated import cli
from belated.datasets import flights, flights_file
from belated.errors import BelatedError, LogError, MissingExtra
from belated.logs import Log
from belated.models.linear import LinearModel
from belated.replays import Replay, contenders, measures, others, replay
from belated.replays.command import replay_flights
from belated.replays.contenders import (
    AT_ONCE,
    BEST_WINDOW,
    MEAN,
    ON_ARRIVAL,
    OURS,
    WINDOW,
)
from belated.replays.task import Labels
from belated.replays.words import summary
from belated.report.slicing import coded

pytestmark = [pytest.mark.compiled, pytest.mark.needs_compiler]

ROUNDS = 400


def small(delay: float = 12.5, *, lost: float = 0.1, seed: int = 0, **more: Any) -> Log:
    """A log whose target is linear in one number, with one word and some missing values."""
    rng = np.random.default_rng(seed)
    asked = np.arange(float(ROUNDS))
    size = rng.normal(size=ROUNDS)
    shop = np.array(["north", "south", "east"], dtype=object)[rng.integers(0, 3, ROUNDS)]
    shop[::50] = None
    answered = asked + delay * (1.0 + rng.random(ROUNDS) if delay else 0.0)
    answered[rng.random(ROUNDS) < lost] = np.nan
    target = 5.0 + 2.0 * size + (shop == "north") + 0.1 * rng.normal(size=ROUNDS)
    target[np.isnan(answered)] = np.nan
    return Log(
        asked, answered, target=target, features={"size": size, "shop": shop}, unit="h", **more
    )


@pytest.fixture(scope="module")
def found() -> Replay:
    return replay(small())


@pytest.fixture(scope="module")
def flown() -> Replay:
    """The flights of the first days, as a yes or no."""
    return replay_flights(loss="logistic", first=2_500)


# ---- known answers -----------------------------------------------------------------------------


def test_told_at_once_without_delays_is_the_default() -> None:
    found = replay(small(delay=0.0))
    ours, at_once = found.methods[OURS], found.methods[AT_ONCE]
    assert (ours.predictions == at_once.predictions).all()
    assert found.price == 0.0
    assert "no label is late here" in found.verdict


def test_a_window_beyond_all_delays_holds_labels_back_until_then() -> None:
    log = small(lost=0.0)
    found = replay(log, window="30h")
    model = LinearModel("squared", wait=None)
    events = [(t, 1, t) for t in range(ROUNDS)] + [(t + 30, 0, ~t) for t in range(ROUNDS)]
    said = []
    for _, _, event in sorted(events):
        if event >= 0:
            said.append(model.predict(log.row(event)).value)
        else:
            assert log.target is not None
            model.observe(~event, float(log.target[~event]))
    found_window = found.methods[WINDOW]
    assert found_window.predictions[31:].tolist() == said[31:]
    assert found_window.predictions[:30].tolist() == found.methods[MEAN].predictions[:30].tolist()
    assert found_window.used == ROUNDS - 30
    assert BEST_WINDOW not in found.methods


def test_the_running_mean_is_that_of_labels_that_have_come(found: Replay) -> None:
    log = small()
    predictions = found.methods[MEAN].predictions
    assert log.target is not None
    for t in (0, 5, 30, 399):
        # An answer at the time of a prediction comes before it.
        known = log.target[log.observed_at <= log.predicted_at[t]]
        expected = known.mean() if known.size else 0.0
        assert predictions[t] == pytest.approx(expected, rel=1e-12)


# ---- sums --------------------------------------------------------------------------------------


def test_losses_are_those_of_predictions_that_got_a_label(found: Replay) -> None:
    log = small()
    assert log.target is not None
    assert found.rounds == ROUNDS
    assert found.counted == np.count_nonzero(log.answered)
    for method in found.methods.values():
        squares = (method.predictions - log.target) ** 2
        assert method.mean_loss == pytest.approx(np.nanmean(squares), rel=1e-12)
        assert (np.isnan(method.losses) == ~log.answered).all()


def test_slices_add_up_to_the_total(found: Replay) -> None:
    assert list(found.slices) == ["shop"]
    parts = found.slices["shop"]
    assert {part.value for part in parts} == {"north", "south", "east", "missing"}
    counts = [part.count for part in parts]
    assert sum(counts) == found.counted
    assert counts == sorted(counts, reverse=True)
    for name, method in found.methods.items():
        total = sum(part.weight * part.losses[name] for part in parts)
        assert total / found.counted == pytest.approx(method.mean_loss, rel=1e-12)


@pytest.mark.parametrize("distinct", [1, 7, 1_000])
def test_numbers_are_sliced_by_value_or_in_fifths(distinct: int) -> None:
    rng = np.random.default_rng(1)
    column = rng.integers(0, distinct, 3_000).astype(np.float64)
    column[:10] = np.nan
    losses = {"a": np.ones(3_000)}
    parts = measures.slices(*coded(column), losses, np.ones(3_000))
    assert sum(part.count for part in parts) == 3_000
    assert parts[-1].value == "missing"
    assert len(parts) == 1 + min(distinct, 7 if distinct == 7 else 5)
    if distinct == 1_000:
        assert all(500 < part.count < 700 and " to " in part.value for part in parts[:-1])


def test_calibration_counts_all(found: Replay, flown: Replay) -> None:
    for one in (found, flown):
        for name, bins in one.calibration.items():
            assert sum(bin.count for bin in bins) == one.counted
            assert 1 <= len(bins) <= measures.BINS
            predicted = [bin.predicted for bin in bins]
            assert predicted == sorted(predicted)
            values = one.methods[name].predictions[one.task.known]
            mean = sum(bin.count * bin.predicted for bin in bins) / one.counted
            assert mean == pytest.approx(values.mean(), rel=1e-9)


def test_weights_count() -> None:
    """A weight of two is a label that counts twice, one of zero a label that does not count."""
    weight = np.repeat([1.0, 2.0, 0.0, 3.0], ROUNDS // 4)
    found = replay(small(weight=weight))
    counted = found.task.known
    assert not counted[ROUNDS // 2 : 3 * ROUNDS // 4].any()
    ours = found.methods[OURS]
    expected = np.average(ours.losses[counted], weights=weight[counted])
    assert ours.mean_loss == pytest.approx(expected)
    assert sum(part.weight for part in found.slices["shop"]) == weight[counted].sum()
    assert found.curves[OURS].cumulative[-1] == pytest.approx(expected)


def test_rows_in_any_order_are_replayed_in_the_order_of_time(found: Replay) -> None:
    shuffled = np.random.default_rng(3).permutation(ROUNDS)
    again = replay(small().take(shuffled))
    for name, method in found.methods.items():
        assert (again.methods[name].predictions == method.predictions).all()


def test_the_first_predictions_are_those_of_the_whole_log(found: Replay) -> None:
    """Nothing from later is used, by methods that are not tuned."""
    few = replay(small(), first=150, window="20h")
    found = replay(small(), window="20h")
    assert few.rounds == 150
    assert "(the first of 400)" in summary(few)
    for name in (OURS, AT_ONCE, WINDOW, MEAN):
        assert (few.methods[name].predictions == found.methods[name].predictions[:150]).all()


# ---- targets and columns -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "more", "measure"),
    [
        ("logistic", {"threshold": 5.0}, "log loss"),
        pytest.param("quantile", {"quantile": 0.9}, "pinball loss", marks=pytest.mark.slow),
        pytest.param("hinge", {"threshold": 5.0}, "hinge loss", marks=pytest.mark.slow),
        pytest.param("poisson", {"clip": (0.0, 9.0)}, "Poisson loss", marks=pytest.mark.slow),
    ],
)
def test_other_losses(loss: Any, more: dict[str, Any], measure: str) -> None:
    found = replay(small(), loss=loss, **more)
    assert found.measure == measure
    model = LinearModel(loss, quantile=found.task.how.quantile, delta=found.task.how.delta)
    known = found.task.known
    for method in found.methods.values():
        losses = model.losses(method.predictions[known], found.task.labels[known])
        assert method.mean_loss == pytest.approx(losses.mean())
    assert measure in found.summary()
    assert json.loads(found.to_json())["loss"] == loss


def columns() -> dict[str, Any]:
    """A table with an answer in words."""
    asked = list(range(60))
    return {
        "asked_at": asked,
        "answered_at": [t + 7 if t % 9 else None for t in asked],
        "size": [float(t % 5) for t in asked],
        "shop": ["north" if t % 3 else None for t in asked],
        "bought": [("yes" if t % 5 > 2 else "no") if t % 9 else None for t in asked],
        "stars": [t % 5 for t in asked],
    }


def test_words_and_numbers_can_be_the_positive() -> None:
    by_word = replay(columns(), "bought", positive="yes", features=["size", "shop"])
    assert by_word.target == "bought = yes"
    assert by_word.task.how.loss == "logistic"
    assert by_word.counted == 53
    everything = replay(columns(), "bought", positive="yes")
    assert everything.task.features == ("size", "shop", "stars")
    table = columns()
    # A row of which nothing is heard has no truth either.
    table["stars"] = [t % 5 if t % 9 else None for t in range(60)]
    asked: dict[str, Any] = {"features": ["size"], "known": ["size"], "slices": ["shop"]}
    by_number = replay(table, "stars", positive="4", **asked)
    assert np.nansum(by_number.task.labels) == 10
    assert list(by_number.slices) == ["shop"]
    with pytest.raises(LogError, match=r"no target is 'maybe'; .* are 'no', 'yes'"):
        replay(columns(), "bought", positive="maybe")
    with pytest.raises(LogError, match="the target holds numbers, got 'many'"):
        replay(columns(), "stars", positive="many")


def test_zero_and_one_need_no_threshold() -> None:
    table = columns()
    table["bought"] = [None if cell is None else int(cell == "yes") for cell in table["bought"]]
    found = replay(table, "bought", loss="logistic")
    assert set(found.task.labels[found.task.known]) == {0.0, 1.0}
    with pytest.raises(LogError, match=r"needs a yes or no, and the target is 2; .*--threshold"):
        replay(table, "stars", loss="logistic")


def test_labels_say_what_is_wrong() -> None:
    with pytest.raises(LogError, match="give threshold or positive, not both"):
        Labels("logistic", threshold=1.0, positive="yes")
    with pytest.raises(LogError, match="logistic or hinge, got 'squared'"):
        Labels("squared", threshold=1.0)
    with pytest.raises(LogError, match="low and high, in this order"):
        Labels("squared", clip=(2.0, 1.0))


def test_missing_columns_are_named() -> None:
    with pytest.raises(LogError, match="no column 'price'; it has 'asked_at', "):
        replay(columns(), "price")
    with pytest.raises(LogError, match="no column 'colour'"):
        replay(columns(), "stars", features=["colour"])
    with pytest.raises(LogError, match="no column 'colour'; it has 'size', 'shop'"):
        replay(small(), features=["colour"])
    with pytest.raises(LogError, match="no column 'town'"):
        replay(small(), slices=["town"])
    with pytest.raises(LogError, match="no column 'price'"):
        replay(columns(), "price", positive="yes")
    with pytest.raises(LogError, match="which column is to be predicted"):
        replay(columns())
    with pytest.raises(LogError, match="a Log has its columns"):
        replay(small(), predicted="asked_at")
    with pytest.raises(LogError, match="has no target"):
        replay(Log(np.arange(3.0), np.arange(3.0)))
    nothing = {"asked_at": [1, 2], "answered_at": [None, None], "y": [1.0, None]}
    with pytest.raises(LogError, match="no answered row with a target"):
        replay(nothing, "y")
    with pytest.raises(LogError, match="a length of time is more than nothing"):
        replay(small(), window="0h")


def test_a_log_without_features_is_predicted_by_its_bias() -> None:
    found = replay(small(), features=())
    assert found.task.everything.rows.indices.size == 0
    assert found.slices == {}
    assert "no features" in found.summary()


@pytest.mark.pictures
def test_one_answered_row_is_enough(tmp_path: Path) -> None:
    found = replay({"asked_at": [1, 2], "answered_at": [3, None], "y": [2.0, None]}, "y")
    assert found.counted == 1
    assert found.methods[OURS].mean_loss == 4.0
    json.loads(found.to_json())
    pytest.importorskip("vl_convert")
    found.page(tmp_path / "one.html")


# ---- words and the page ------------------------------------------------------------------------


def test_the_verdict_is_computed(found: Replay) -> None:
    ours, at_once = found.methods[OURS].mean_loss, found.methods[AT_ONCE].mean_loss
    assert found.price == pytest.approx(1.0 - at_once / ours)
    # Nothing is known of the first predictions; one start says little about the next one.
    assert "no clear difference, so this log does not tell what lateness costs" in found.verdict
    assert ", -50.0% (" in changed(found, AT_ONCE, -0.5).verdict
    assert "that is the price of lateness" in changed(found, AT_ONCE, -0.5).verdict
    assert found.verdict in repr(found)
    assert str(found) == found.summary()


def test_pairs_are_named_where_they_help() -> None:
    rng, asked = np.random.default_rng(0), np.arange(600.0)
    sides = [rng.choice(["left", "right"], 600).astype(object) for _ in range(2)]
    target = (sides[0] == sides[1]).astype(np.float64)
    log = Log(asked, asked + 5.5, target=target, features=dict(zip("ab", sides, strict=True)))
    assert "--interactions auto" in summary(replay(log))
    assert "--interactions auto" not in summary(replay(log, interactions="auto"))
    assert replay(small()).pairs is not None
    assert "--interactions auto" not in summary(replay(small()))


def uneven(found: Replay, name: str, share: float) -> Replay:
    """The same replay with a method that loses so much more, all of it in the first few rows."""
    from dataclasses import replace

    ours = found.methods[OURS]
    losses = ours.lost[:].copy()
    few = slice(0, 5)
    losses[few] += share * ours.mean_loss * found.counted / 5
    loss = ours.mean_loss * (1.0 + share)
    other = replace(found.methods[name], lost=losses, mean_loss=loss, later_loss=loss)
    return replace(found, methods={**found.methods, name: other})


def changed(found: Replay, name: str, share: float) -> Replay:
    """The same replay with a method that everywhere loses so much more than ours."""
    from dataclasses import replace

    ours = found.methods[OURS]
    more = share * ours.mean_loss
    losses, loss = ours.lost[:] + more, ours.mean_loss + more
    other = replace(found.methods[name], lost=losses, mean_loss=loss, later_loss=loss)
    return replace(found, methods={**found.methods, name: other})


def test_later_predictions_are_all_but_the_first_tenth(found: Replay) -> None:
    begun, known = found.task.begun, found.task.known
    assert np.count_nonzero(known[:begun]) == math.ceil(found.counted / 10)
    ours = found.methods[OURS]
    assert ours.later_loss == pytest.approx(np.nanmean(ours.losses[begun:]))


def test_the_best_window_is_the_best_of_several(found: Replay) -> None:
    best = found.methods[BEST_WINDOW]
    assert "this window turns out best of" in best.about
    for window in found.task.windows:
        assert best.mean_loss <= replay(small(), window=window).methods[WINDOW].mean_loss
    on_arrival = found.methods[ON_ARRIVAL]
    assert on_arrival.used == found.counted
    model = LinearModel("squared", wait=None)
    said = model.replay(found.task.everything.rows, found.task.labels, found.task.heard().events)
    assert on_arrival.predictions.tolist() == said.tolist()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_predictions_are_kept(found: Replay, tmp_path: Path, ending: str) -> None:
    pandas = pytest.importorskip("pandas")
    path = tmp_path / f"all.{ending}"
    found.write_predictions(path)
    table = pandas.read_csv(path) if ending == "csv" else pandas.read_parquet(path)
    assert table["row"].astype(str).tolist() == [str(row) for row in range(ROUNDS)]
    assert list(table.columns[4:]) == list(found.methods)
    assert table[OURS].tolist() == found.methods[OURS].predictions.tolist()
    assert table["label"].isna().tolist() == (~found.task.known).tolist()
    assert table["observed_at"].isna().sum() == ROUNDS - found.counted


def test_predictions_of_another_kind_are_refused(tmp_path: Path) -> None:
    line = ["replay", "flights", "--quick", "--predictions", str(tmp_path / "all.xls")]
    assert cli.main([*line, "--no-page"]) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("loss", "more"), [("squared", {}), ("logistic", {"threshold": 5.0})])
def test_refitted_models_know_only_what_has_come(loss: Any, more: dict[str, Any]) -> None:
    pytest.importorskip("sklearn")
    whole = replay(small(), loss=loss, refit="100h", **more)
    linear, trees = (whole.methods[title] for title in contenders.REFITTED)
    mean = whole.methods[MEAN]
    for method in (linear, trees):
        assert (method.predictions[:100] == mean.predictions[:100]).all()
        assert (method.predictions[100:] != mean.predictions[100:]).all()
        assert method.mean_loss < mean.mean_loss
    few = replay(small(), loss=loss, refit="100h", first=250, **more)
    for name in contenders.REFITTED:
        early = whole.methods[name].predictions[:250]
        assert few.methods[name].predictions == pytest.approx(early, rel=1e-6)


def test_refits_are_checked_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BelatedError, match="refitted models have no hinge loss"):
        replay(small(), loss="hinge", threshold=5.0, refit="9h")
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingExtra, match=r"pip install 'belated\[refit\]'"):
        replay(small(), refit="9h")


def test_seconds_leave_out_what_others_import(monkeypatch: pytest.MonkeyPatch) -> None:
    def ready(name: str, task: Any) -> tuple[Any, Any]:
        time.sleep(0.3)
        return lambda t: 0.0, lambda t, label: None

    monkeypatch.setattr(others, "check", lambda *what: None)
    monkeypatch.setattr(others, "about", lambda name: name)
    monkeypatch.setattr(others, "ready", ready)
    assert replay(small(), also=["river"]).methods["river"].seconds < 0.3


@pytest.mark.pictures
def test_the_page_has_its_parts(flown: Replay, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    flown.page(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    for part in (
        "flights: late labels, replayed",
        "Which method is better, and is that sure?",
        "told at once (unreachable)",
        "would be the error if every label came at once",
        "How good is every method?",
        "When was it hard?",
        "Can predictions be believed?",
        "share that came true",
        "days after 2013-02-04 05:00 (America/New_York)",
        "How does carrier matter?",
        "the error with the best other method here",
        flown.verdict,
    ):
        assert part in text, part
    assert not list(tmp_path.glob("*.part"))


# ---- the command -------------------------------------------------------------------------------


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("vl_convert")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["replay", "flights", "--quick"]) == 0
    out = capsys.readouterr().out
    assert "5,000 predictions (the first of 12,340) of arrival delay" in out
    assert "clipped to [-60, 180]" in " ".join(out.split())
    assert out.endswith("Page written to belated-replay.html\n")
    assert (tmp_path / "belated-replay.html").exists()
    assert cli.main(["replay", "flights", "--quick", "--loss", "logistic", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["target"] == "arrival delay above 15"


def test_the_command_on_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The shipped file, read as anyone's, gives what the shortcut gives."""
    monkeypatch.chdir(tmp_path)
    common = ["--json", "--quick", "--features", "carrier", "hour", "--slice", "origin"]
    assert cli.main(["replay", "flights", *common]) == 0
    shortcut = json.loads(capsys.readouterr().out)
    named = ["--target", "arr_delay", "--clip", "-60", "180"]
    assert cli.main(["replay", str(flights_file()), *named, *common]) == 0
    data = json.loads(capsys.readouterr().out)
    for one, other in zip(shortcut["methods"], data["methods"], strict=True):
        assert one["mean_loss"] == other["mean_loss"]
    assert data["slices"] == shortcut["slices"]
    assert cli.main(["replay", str(flights_file())]) == 1
    assert "which column is to be predicted?" in capsys.readouterr().err
    for target in ([], ["--target", "y"]):
        assert cli.main(["replay", "none.csv", *target]) == 1
        assert "there is no file none.csv" in capsys.readouterr().err
    assert cli.main(["replay", "flights", "--target", "dest"]) == 1
    assert "flights predicts 'arrival delay'; leave target out" in capsys.readouterr().err
    with pytest.raises(LogError, match="flights predicts 'arrival delay'; leave target out"):
        replay(flights(), "XYZ")
    named = ["--target", "arrival delay"]
    assert cli.main(["replay", "flights", *named, "--quick", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["target"] == "arrival delay, clipped to [-60, 180]"
    assert cli.main(["replay", "flights", "--out", "no/where.html"]) == 1
    assert "there is no folder no" in capsys.readouterr().err


def test_the_command_counts_bad_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text("asked_at,answered_at,y\n1,2,3\n5,x,1\n3,4,2\n6,8,1\n")
    assert cli.main(["replay", "log.csv", "--target", "y", "--no-page"]) == 1
    assert "1 bad row" in capsys.readouterr().err
    assert cli.main(["replay", "log.csv", "--target", "y", "--no-page", "--skip-bad-rows"]) == 0
    assert "left out: 1 bad row" in capsys.readouterr().out


def test_an_interrupt_leaves_the_old_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    Path("belated-replay.html").write_text("old")
    monkeypatch.setattr(contenders.Replayer, "run", stop)
    assert cli.main(["replay", "flights", "--quick"]) == 130
    assert capsys.readouterr().err == "belated: interrupted\n"
    assert [path.name for path in tmp_path.iterdir()] == ["belated-replay.html"]
    assert Path("belated-replay.html").read_text() == "old"


def test_ctrl_c_stops_a_long_replay() -> None:
    script = (
        "import signal, sys, numpy as np\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored in the background
        "from belated.logs import Log\n"
        "from belated.replays import replay\n"
        "def of(rounds):\n"
        "    times = np.arange(rounds)\n"
        "    return Log(times, times + 50.0, target=times % 7, features={'x': times % 5})\n"
        "replay(of(100.0))\n"  # compiled, so that the signal meets a replay
        "log = of(2e5)\n"
        "print('ready', flush=True)\n"
        "try:\n"
        "    while True: replay(log)\n"
        "except KeyboardInterrupt: sys.exit(130)\n"
    )
    line = [sys.executable, "-c", script]
    with subprocess.Popen(line, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(0.5)
        os.kill(process.pid, signal.SIGINT)
        begin = time.monotonic()
        try:
            assert process.wait(timeout=30) == 130
        finally:
            process.kill()
        assert time.monotonic() - begin < 10.0


def test_progress_reaches_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    class Bar:
        steps = 0

        def advance(self) -> None:
            self.steps += 1

    bar = Bar()
    task = replay(small()).task
    player = contenders.Replayer(task, (), refit=100.0)
    assert len(list(player.run(bar))) == 7
    assert bar.steps == player.steps


# ---- other libraries ---------------------------------------------------------------------------


def test_others_without_such_a_loss_are_refused() -> None:
    pytest.importorskip("vowpalwabbit")
    with pytest.raises(BelatedError, match="Vowpal Wabbit has no huber loss"):
        replay(small(), loss="huber", also=["vw"])


@pytest.mark.parametrize("name", ["vw", "river"])
@pytest.mark.parametrize(("loss", "more"), [("squared", {}), ("logistic", {"threshold": 5.0})])
def test_others_learn_from_late_labels(name: str, loss: Any, more: dict[str, Any]) -> None:
    pytest.importorskip(others.PACKAGES[name])
    found = replay(small(weight=np.full(ROUNDS, 2.0)), loss=loss, also=[name], **more)
    method = found.methods[others.TITLES[name]]
    assert np.ptp(method.predictions[:10]) == 0.0  # no label has come yet
    assert method.mean_loss < found.methods[MEAN].mean_loss
    assert others.about(name) in found.summary().replace("\n  ", " ")
    if loss == "logistic":
        assert 0.0 < method.predictions.min() < method.predictions.max() < 1.0
