"""Audits: the counts are those of the timeline, the words those of the counts."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated import audits, bounds, cli
from belated.audits import Audit, audit, counting
from belated.audits import page as page_module
from belated.audits.counting import STRETCHES, Backlogs, Spread
from belated.audits.promises import from_counts
from belated.datasets import flights, flights_file
from belated.errors import LogError, MissingExtra
from belated.logs import Log, scan
from belated.report import page as pages
from belated.timeline import Timeline, sweep
from belated.timeline import timeline as timeline_module


def random_log(rounds: int, seed: int = 0, never: float = 0.1, mean: float = 20.0) -> Log:
    """Return a log of numbers: one prediction per second, exponential waits."""
    rng = np.random.default_rng(seed)
    predicted = np.cumsum(rng.exponential(size=rounds))
    observed = predicted + rng.exponential(mean, size=rounds)
    return Log(predicted, np.where(rng.random(rounds) < never, np.nan, observed), unit="s")


def csv_file(folder: Path, log: Log) -> Path:
    """Write a log of numbers as text."""
    rows = zip(log.predicted_at.tolist(), log.observed_at.tolist(), strict=True)
    path = folder / "log.csv"
    lines = [f"{a},{'' if math.isnan(b) else b}" for a, b in rows]
    path.write_text("asked_at,answered_at\n" + "\n".join(lines) + "\n")
    return path


def agrees(found: Audit, log: Log) -> bool:
    """Whether an audit has the counts of the timeline of its log."""
    timeline = log.timeline
    tradeoff = timeline.skip_tradeoff()
    rounds = found.patience_in_rounds
    return (
        found.rounds == timeline.rounds
        and found.answered == int(np.count_nonzero(timeline.observed))
        and found.tally.total_delay == timeline.total_delay
        and found.tally.max_delay == timeline.max_delay
        and found.tally.max_backlog == timeline.max_backlog
        and found.tally.max_dual_delay == timeline.max_dual_delay
        and math.isclose(min(rounds.cost, rounds.forever), tradeoff.cost, rel_tol=1e-3)
    )


# ---- counts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rounds", [1, 2, 50, 3000])
@pytest.mark.parametrize("never", [0.0, 0.2, 1.0])
def test_counts_are_those_of_the_timeline(rounds: int, never: float) -> None:
    log = random_log(rounds, never=never)
    assert agrees(audit(log), log)


@given(
    starts=st.lists(st.integers(0, 30), min_size=1, max_size=40),
    waits=st.lists(st.one_of(st.none(), st.integers(0, 20)), min_size=40, max_size=40),
    ties=st.sampled_from(["observe-first", "predict-first"]),
    rows=st.integers(1, 50),
)
def test_blocks_and_order_do_not_matter(
    starts: list[int], waits: list[int | None], ties: Any, rows: int
) -> None:
    predicted = np.array(starts, dtype=np.float64)
    lengths = np.array([np.nan if w is None else w for w in waits[: len(starts)]], dtype=np.float64)
    log = Log(predicted, predicted + lengths)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audits, "ROWS", rows)
        found = audit(log, ties=ties)
    timeline = Timeline.of(log.times, ties)
    tally = found.tally
    counts = tally.total_delay, tally.max_delay, tally.max_backlog, tally.max_dual_delay
    assert counts == (
        timeline.total_delay,
        timeline.max_delay,
        timeline.max_backlog,
        timeline.max_dual_delay,
    )
    # Delays are small here, so that every one has a bin of its own.
    tradeoff = timeline.skip_tradeoff()
    rounds = found.patience_in_rounds
    assert min(rounds.cost, rounds.forever) == pytest.approx(tradeoff.cost)
    assert tally.timeline == timeline


def test_files_are_counted_as_they_are_read(tmp_path: Path) -> None:
    log = random_log(5000)
    path = csv_file(tmp_path, log)
    found = audit(path, unit="s")
    assert agrees(found, log)
    assert agrees(audit(scan(path, unit="s")), log)
    table = pa.table({"asked_at": log.predicted_at, "answered_at": log.observed_at})
    pa.parquet.write_table(table, tmp_path / "log.parquet")
    assert agrees(audit(tmp_path / "log.parquet"), log)
    assert agrees(audit(table.to_pandas()), log)


def test_times_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = random_log(200)

    def again(*_: Any) -> None:
        raise AssertionError("times are read again")

    for module in (sweep, timeline_module):
        monkeypatch.setattr(module, "read_times", again)
    found = audit(csv_file(tmp_path, log), unit="s")
    assert found.tally.timeline == log.timeline
    assert found.more_promises


def test_a_file_out_of_order_is_sorted_first(tmp_path: Path) -> None:
    log = random_log(3000)
    mixed = log.take(np.random.default_rng(1).permutation(len(log)))
    assert agrees(audit(csv_file(tmp_path, mixed)), log)
    assert agrees(audit(mixed), log)


def test_quantiles_are_exact_to_a_thousandth() -> None:
    log = random_log(20_000, mean=5000.0)
    found, timeline = audit(log), log.timeline
    waits = (log.observed_at - log.predicted_at)[log.answered]
    delays = timeline.delay[timeline.observed]
    for name, share in (("median", 0.5), ("p90", 0.9), ("p99", 0.99), ("longest", 1.0)):
        for quantiles, values in ((found.wait, waits), (found.delay, delays)):
            wanted = np.quantile(values, share, method="inverted_cdf")
            assert getattr(quantiles, name) == pytest.approx(wanted, rel=2e-3)
    assert found.wait.mean == pytest.approx(waits.mean())
    assert found.delay.mean == pytest.approx(delays.mean())


@given(st.lists(st.integers(0, 2047), min_size=1, max_size=60), st.floats(0.01, 1.0))
def test_small_whole_numbers_have_bins_of_their_own(values: list[int], share: float) -> None:
    spread = Spread()
    spread.add(np.array(values), np.array(values))
    wanted = np.quantile(values, share, method="inverted_cdf")
    assert spread.quantile(share) == wanted
    edges, counts, sums = spread.filled()
    assert np.floor(edges).tolist() == sorted(set(values))
    assert np.array_equal(sums, np.floor(edges) * counts)


def test_backlogs_over_growing_time() -> None:
    backlogs = Backlogs()
    times = np.sort(np.random.default_rng(0).exponential(1e6, size=5000))
    backlog = np.arange(5000) % 17
    for part in np.array_split(np.arange(5000), 9):
        backlogs.add(times[part], backlog[part])
    middles, mean, largest = backlogs.curves()
    assert len(middles) <= STRETCHES
    assert backlogs.counts.sum() == 5000
    assert largest.max() == 16
    assert (mean <= largest).all()
    assert np.sum(mean * backlogs.counts[backlogs.counts > 0]) == pytest.approx(backlog.sum())
    backlogs.add(times[:0], backlog[:0])


def test_the_best_wait_is_the_least_of_all() -> None:
    log = random_log(5000, never=0.05, mean=200.0)
    patience = audit(log).patience
    waits = np.where(log.answered, log.observed_at - log.predicted_at, np.inf)
    costs = [
        np.count_nonzero(waits > limit) + math.sqrt(log.timeline.delay[waits <= limit].sum())
        for limit in np.sort(waits[log.answered])
    ]
    assert patience.cost == pytest.approx(min(costs), rel=2e-3)
    assert patience.costs.min() == patience.cost
    assert patience.pays


def test_guarantees_are_those_of_the_theorems() -> None:
    timeline = random_log(700).timeline
    found = from_counts(timeline.rounds, timeline.total_delay, timeline.max_backlog)
    constants: Any = {"lipschitz": 1.0, "diameter": 1.0}
    curved: Any = {**constants, "curvature": 1.0}
    wanted = [
        bounds.corollary_5_3(timeline, **constants),
        bounds.tight(timeline, **constants),
        bounds.corollary_5_4(timeline, **curved),
        bounds.corollary_5_4(timeline, base="omd", **curved),
    ]
    for promise, bound in zip(found, wanted, strict=True):
        assert promise.bound.name == bound.name
        assert promise.bound.total == pytest.approx(bound.total)
        assert promise.bound.learning == pytest.approx(bound.learning)
        assert promise.bound.trivial == bound.trivial


# ---- words -------------------------------------------------------------------------------------


def test_the_verdict_on_the_flights() -> None:
    found = audit(flights())
    assert found.factor == pytest.approx(math.sqrt(1 + 9_709_817 / 12_340))
    assert found.verdict == (
        "11,277 of 12,340 predictions were answered (91.4 %), half of them within 2.9 h. 1,063 "
        "were never answered. 787 are open at a time. "
        "In theory lateness multiplies the guarantee by 28; waiting longer than 18 h "
        '(wait={"predictions": 697}), '
        "the longest that an answer took, adds nothing."
    )
    assert found.wait_in_predictions == 697


def test_guarantees_that_say_nothing_yet_are_no_headline() -> None:
    found = audit({"asked_at": list(range(60)), "answered_at": list(range(500, 560))})
    assert all(promise.bound.vacuous for promise in found.promises)
    assert "The guarantees say nothing yet on this log" in found.verdict
    assert "multiplies" not in found.verdict
    assert found.summary().count("says nothing yet") == len(found.promises)


def test_the_headline_is_the_first_guarantee_that_says_something() -> None:
    found = audit({"asked_at": list(range(400)), "answered_at": [t + 60.5 for t in range(400)]})
    first, tight, *_ = (promise.bound for promise in found.promises)
    assert first.vacuous
    assert not tight.vacuous
    says = f"multiplies the guarantee of Corollary 5.3 with the tight rate by {tight.factor:.0f}"
    assert says in found.verdict
    assert says in page_module._guarantees(found).says


def test_rows_that_are_mostly_silent_ask_what_that_means() -> None:
    table = {"asked_at": [0, 1, 2, 3, 4], "answered_at": [9, None, None, 5, None]}
    found = audit(table)
    assert "3 of 5 were never answered. If no answer means no" in found.warning
    assert "--silence 0" in found.summary()
    assert not replace(found, is_told=True).warning
    assert not audit(table | {"answered_at": [9, None, 4, 5, 9]}).warning


def test_the_command_takes_what_silence_means(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{t},{t + 5 if t % 3 == 0 else ''},{t % 7}" for t in range(120)]
    path = tmp_path / "sales.csv"
    path.write_text("\n".join(["asked_at,answered_at,size", *rows]))
    given = ["audit", str(path), "--deadline", "9", "--json"]
    for more in ([], ["--target", "answered_at"]):
        assert cli.main([*given, "--silence", "0", *more]) == 0
        assert not json.loads(capsys.readouterr().out)["warning"]
        assert cli.main([*given, *more]) == 1
        assert "say which with --silence" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("waits", "verdict"),
    [
        ([0.0] * 50, "Nothing is late: every answer comes before the next prediction. The guar"),
        ([5.0] * 50, "; for the guarantee every answer is worth waiting for."),
        ([np.nan] * 50, "None of 50 predictions was answered. The guarantees say nothing yet"),
        (
            [5000.0] * 3 + [0.5] * 5000,
            "; for the guarantee, waiting longer than 500 ms "
            '(wait={"predictions": 0}) costs more than it brings.',
        ),
    ],
)
def test_verdicts(waits: list[float], verdict: str) -> None:
    starts = np.arange(float(len(waits)))
    found = audit(Log(starts, starts + np.array(waits), unit="s"))
    assert verdict in found.verdict


def test_the_data_are_json() -> None:
    found = audit(flights())
    data = json.loads(found.to_json())
    assert data["rounds"] == 12_340
    assert data["recommended_wait"] == pytest.approx(18.5 * 3600, rel=0.01)
    assert data["promises"][0]["name"] == "Corollary 5.3"
    assert data["verdict"] == found.verdict
    assert repr(found).startswith("<Audit of 'flights', 12,340 rounds: 11,277 of")
    assert str(found) == found.summary()


def test_a_log_has_its_columns_already() -> None:
    with pytest.raises(LogError, match="already"):
        audit(random_log(3), tz="UTC")


# ---- the page ----------------------------------------------------------------------------------


def figures_of(text: str) -> dict[str, Any]:
    """Return the figures of a page."""
    mark = '<script type="application/json" id="figures">'
    start = text.index(mark) + len(mark)
    found: dict[str, Any] = json.loads(text[start : text.index("</script>", start)])
    return found


@pytest.mark.pictures
def test_the_page_has_every_part(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    audit(flights()).page(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert len(text) < 2_000_000
    figures = figures_of(text)
    assert sorted(figures) == [f"figure-{i}" for i in range(1, 5)]
    assert len(re.findall("data:image/(?:svg.xml|png);base64,", text)) == 4
    for part in ("Corollary G.3", "Corollary 6.2 over Corollary 5.3"):
        assert part in text


@pytest.mark.pictures
@pytest.mark.parametrize(
    "log",
    [
        random_log(1),
        random_log(30, never=1.0),
        pytest.param(random_log(5000), marks=pytest.mark.slow),
        pytest.param(Log(np.arange(3.0), np.arange(3.0)), marks=pytest.mark.slow),
        Log(np.zeros(5), np.zeros(5), unit="d"),
    ],
    ids=["one", "never", "many", "prompt", "at once"],
)
def test_pages_of_unusual_logs(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("vl_convert")
    monkeypatch.setattr(counting, "EXACT", 0)
    audit(log).page(tmp_path / "folder" / "page.html")
    text = (tmp_path / "folder" / "page.html").read_text()
    assert "what lateness costs" in text
    assert figures_of(text)


# ---- the command -------------------------------------------------------------------------------


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("vl_convert")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["audit", "flights"]) == 0
    out = capsys.readouterr().out
    assert "lateness multiplies the guarantee by 28" in " ".join(out.split())
    assert out.endswith("Page written to belated-audit.html\n")
    assert (tmp_path / "belated-audit.html").exists()
    assert cli.main(["audit", str(flights_file()), "--no-page"]) == 0
    assert "by 28; waiting longer than 18 h" in " ".join(capsys.readouterr().out.split())
    assert cli.main(["audit", "flights", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rounds"] == 12_340


def test_the_command_asks_nicely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.csv").write_text("a,b\n1,2\n5,x\n3,4\n6,5\n")
    assert cli.main(["audit", "log.csv"]) == 1
    assert "which columns of log.csv hold the times?" in capsys.readouterr().err
    columns = ["--predicted", "a", "--observed", "b", "--no-page"]
    assert cli.main(["audit", "log.csv", *columns]) == 1
    assert "2 bad rows" in capsys.readouterr().err
    assert cli.main(["audit", "log.csv", *columns, "--skip-bad-rows", "--unit", "s"]) == 0
    assert "left out: 2 bad rows" in capsys.readouterr().out
    assert cli.main(["audit", "none.csv"]) == 1
    assert "there is no file none.csv" in capsys.readouterr().err
    assert cli.main(["audit", "flights", "--out", "no/where.html"]) == 1
    assert "there is no folder no" in capsys.readouterr().err


def test_without_the_extra_there_is_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(*_: Any) -> None:
        raise MissingExtra("vl-convert-python", extra="report", where="Audit.page")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pages, "write_page", missing)
    assert cli.main(["audit", "flights"]) == 0
    assert "No page: Audit.page needs vl-convert-python" in capsys.readouterr().out


# ---- times beyond all measure ------------------------------------------------------------------


@pytest.mark.parametrize("times", [[-1e308, 0.0, 1e308], [0.0, 1.0, 1e308]])
def test_times_too_far_away_are_bad_rows(times: list[float]) -> None:
    table = {"asked_at": times, "answered_at": [*times[:2], 1.5e308]}
    with pytest.raises(LogError, match="is too far away for a time"):
        audit(table)
    assert audit(table, on_bad="skip").rounds <= 2
    text = {name: [*map(str, column)] for name, column in table.items()}
    with pytest.raises(LogError, match="is too far away for a time"):
        audit(text)


def test_a_log_by_hand_whose_times_have_no_distance_is_refused() -> None:
    times = np.array([-1e308, 1e308])
    with pytest.raises(LogError, match="so far apart"):
        audit(Log(times, times))
    whole = [-(2**62), 2**62 - 1]
    assert audit({"asked_at": whole, "answered_at": whole}).answered == 2
    with pytest.raises(LogError, match="is too far away"):
        audit({"asked_at": [0, 1], "answered_at": [2**63 - 1, 2]})
