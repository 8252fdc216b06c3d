"""Studies: plans, rows that survive anything, engines that agree, and pages that speak."""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.engine import Engine
from belated.errors import LogError, StudyError
from belated.report import Section, Table
from belated.research.study.catalogue import STUDIES, study_named
from belated.research.study.command import add_study_command
from belated.research.study.contest import standings
from belated.research.study.contestants import (
    ANSWERS,
    CONVEX,
    CURVED_ANSWERS,
    DEFAULT,
    EXPERTS,
    OURS,
    STRONGLY_CONVEX,
    STRONGLY_CONVEX_VALUES,
    VALUES,
)
from belated.research.study.first_order import FirstOrderRivals, judged
from belated.research.study.games import game_of
from belated.research.study.logs import read_timeline, shortened
from belated.research.study.plan import Cell, Numbers, Plan, Row, Study
from belated.research.study.rows import open_rows
from belated.research.study.runner import Results, finish_rows, page_of
from belated.research.study.tables import exponent
from conftest import INTERPRETED, TESTS, Python

ENGINES: tuple[Engine, ...] = ("serial", "threads", "processes")


@dataclass(frozen=True)
class Tiny(Study):
    """Squares of numbers, without models; some of them fail, or kill their worker."""

    count: int = 6
    bad: tuple[int, ...] = ()
    deadly: tuple[int, ...] = ()
    seconds: float = 0.0

    name = "tiny"
    title = "Squares"
    question = "What are the squares?"

    def cells(self) -> Iterator[Cell]:
        """One per number."""
        for n in range(self.count):
            yield Cell.of(n=n, seed=n % 4)

    def run(self, cell: Cell) -> dict[str, Any]:
        time.sleep(self.seconds)
        if cell["n"] in self.bad:
            raise ValueError(f"no square of {cell['n']}")
        if cell["n"] in self.deadly:
            os._exit(1)
        return {"square": np.float64(cell["n"] ** 2), "root": math.inf}

    def numbers(self, rows: Sequence[Row]) -> Numbers:
        return ((str(len(rows)), "squares"),)

    def sections(self, rows: Sequence[Row]) -> tuple[Section, ...]:
        table = Table(("n", "square"), tuple((row["n"], row["square"]) for row in rows))
        return (Section(self.question, None, f"There are {len(rows)}.", table),)


def finished(study: Study, path: Path, **options: Any) -> Results:
    """Run the full plan of a study, without a bar."""
    return finish_rows(Plan(study, False), path, progress=False, **options)


def lines_of(path: Path) -> list[dict[str, Any]]:
    """Return all lines of a file of rows, the header first."""
    return [json.loads(line) for line in path.read_text().splitlines()]


# ---- rows --------------------------------------------------------------------------------------


def test_a_second_run_does_nothing(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    first = finished(Tiny(), path)
    content = path.read_bytes()
    assert finished(Tiny(), path) == first
    assert path.read_bytes() == content
    header, *rows = lines_of(path)
    assert header["study"] == "tiny"
    assert header["version"] == bl.__version__
    assert header["mode"] == "full"
    assert [row["square"] for row in first.rows] == [0.0, 1.0, 4.0, 9.0, 16.0, 25.0]
    assert {row["results"]["root"] for row in rows} == {None}  # JSON has no infinity


@pytest.mark.parametrize("cut", [1, 2, 17])
def test_a_torn_last_line_is_redone(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    whole = finished(Tiny(), path, engine="serial")
    content = path.read_bytes()
    path.write_bytes(content[:-cut])
    assert finished(Tiny(), path, engine="serial") == whole
    assert path.read_bytes() == content


@pytest.mark.parametrize("line", [b"nonsense", b"[]", b'{"key": "a"}'])
def test_a_damaged_line_is_refused(line: bytes, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    finished(Tiny(), path)
    header, _, rest = path.read_bytes().split(b"\n", 2)
    path.write_bytes(b"\n".join([header, line, rest]))
    with pytest.raises(StudyError, match=r"line 2 of .* is damaged"):
        finished(Tiny(), path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"plan": "0"}, "another plan"),
        ({"version": "0.0"}, "another version"),
        ({"study": "x"}, "another study"),
        ({"mode": "quick"}, "another mode"),
    ],
)
def test_rows_of_something_else_are_refused(
    change: dict[str, str], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "rows.jsonl"
    whole = finished(Tiny(), path)
    header, rest = path.read_text().split("\n", 1)
    path.write_text(json.dumps({**json.loads(header), **change}) + "\n" + rest)
    before = path.read_bytes()
    with pytest.raises(StudyError, match=f"{message}.*--fresh"):
        finished(Tiny(), path)
    assert path.read_bytes() == before
    assert finished(Tiny(), path, fresh=True) == whole


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    path, plan = tmp_path / "rows.jsonl", Plan(Tiny(), False)
    with (
        open_rows(path, plan),
        pytest.raises(StudyError, match="in use"),
        open_rows(path, plan, fresh=True),
    ):
        pass
    assert len(lines_of(path)) == 1


# ---- engines -----------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("workers", [1, 3])
def test_engines_give_the_same_rows(engine: Engine, workers: int, tmp_path: Path) -> None:
    study = Tiny(9, bad=(4,))
    wanted = finished(study, tmp_path / "one.jsonl", engine="serial")
    path = tmp_path / "two.jsonl"
    assert finished(study, path, engine=engine, workers=workers) == wanted
    lines = lines_of(tmp_path / "one.jsonl")
    assert sorted(map(str, lines)) == sorted(map(str, lines_of(path)))
    assert [(cell["n"], why) for cell, why in wanted.failures] == [
        (4, "ValueError: no square of 4")
    ]


@pytest.mark.parametrize(
    "engine",
    [
        pytest.param(engine, marks=[pytest.mark.slow] * (engine != "processes"))
        for engine in ENGINES
    ],
)
def test_ctrl_c_leaves_rows_to_go_on_from(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    script = (
        "from test_study import *\n"
        f"finished(Tiny(200, seconds=0.02), Path({str(path)!r}), engine={engine!r}, workers=2)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], cwd=TESTS, stderr=subprocess.PIPE, text=True
    )
    try:
        deadline = time.monotonic() + 60.0
        while not path.exists() or path.read_bytes().count(b"\n") < 4:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode != 0
    kept = path.read_bytes().count(b"\n") - 1
    assert f"study: {kept} of 200 cells are kept in {path}" in said
    assert 3 <= kept < 200
    assert len(finished(Tiny(200), path, engine="serial").rows) == 200


# ---- who takes part ----------------------------------------------------------------------------


def test_exponents_are_found_with_their_uncertainty() -> None:
    rng = np.random.default_rng(0)
    x = [10.0, 100.0, 1000.0, 10_000.0]
    noisy = [[3.0 * at**0.5 * factor for factor in rng.uniform(0.8, 1.2, 8)] for at in x]
    fit = exponent(x, noisy)
    assert fit is not None
    assert fit.low < 0.5 < fit.high
    assert fit.high - fit.low < 0.1
    assert exponent(x, noisy) == fit
    exact = exponent(x, [[at**0.75] for at in x])
    assert exact is not None
    assert exact.slope == pytest.approx(0.75)


def test_a_cell_of_decisions_is_a_game() -> None:
    study = study_named("decisions")
    cell = next(c for c in Plan(study, True).cells if c["world"] == "logistic, silence is 0")
    small = Cell.of(**{**cell.to_dict(), "rounds": 30})
    assert study.run(small) == study.run(small)
    assert study.run(small)["answered"] == 29


def test_every_first_order_rival_takes_part() -> None:
    from rivals_table import methods  # other processes that import this file do not find it

    answers = ("gradient", "function")
    wanted = {kind.title for kind in methods() if kind.answers in answers}
    assert wanted - set(CONVEX) - set(STRONGLY_CONVEX) - set(EXPERTS) == set()


FIELDS = (CONVEX, STRONGLY_CONVEX, EXPERTS, VALUES, STRONGLY_CONVEX_VALUES, ANSWERS, CURVED_ANSWERS)


def test_only_the_default_asks_for_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that all others stay the paper's when ``Problem.learner`` gets better."""
    calls: list[bl.Problem] = []
    learner = bl.Problem.learner

    def spy(self: bl.Problem, *args: Any, **kwargs: Any) -> Any:
        calls.append(self)
        return learner(self, *args, **kwargs)

    monkeypatch.setattr(bl.Problem, "learner", spy)
    asking = set()
    for field in FIELDS:
        domain = bl.Simplex(2) if field is EXPERTS else bl.Ball(2)
        for name, method in field.items():
            calls.clear()
            method.make(game_of("quadratic", "constant", 2, 50, 0), domain)
            asking |= {name} if calls else set()
    assert asking == {DEFAULT}


# ---- is the default good everywhere ------------------------------------------------------------


def result(pattern: str, method: str, regret: float, loss: str = "linear") -> Row:
    """Return a row of the study first-order."""
    setting = "strongly convex" if loss.startswith("quadratic") else "convex"
    names = {"setting": setting, "loss": loss, "pattern": pattern, "method": method}
    return {**names, "seed": 0, "regret": regret, "scale": 1000.0}


def test_the_default_is_judged_by_the_best_adaptive_rival() -> None:
    rows = [
        *(result("a", DEFAULT, 10.9), result("a", OURS, 1.0), result("a", "AdaGrad", 10.0)),
        *(result("a", "BOLD", 30.0), result("a", "Quanrud-Khashabi", 2.0)),  # the last knows T
        *(result("b", DEFAULT, 30.0), result("b", OURS, 10.0), result("b", "AdaGrad", 10.0)),
        *(result("b", "BOLD", 40.0), result("c", "BOLD", 3.0)),  # c: the default did not play
    ]
    found = judged(rows)
    assert [(cell.kind[2], cell.rival, cell.best) for cell in found] == [
        *(("a", "AdaGrad", 10.0), ("b", "AdaGrad", 10.0), ("c", "BOLD", 3.0))
    ]
    cells = found[:2]
    assert [cell.is_good(DEFAULT) for cell in cells] == [True, False]
    table = {each.method: each for each in standings(cells, lambda each: -each.good_share)}
    assert list(table) == ["AdaGrad", OURS, "Quanrud-Khashabi", DEFAULT, "BOLD"]
    assert [each.good for each in table.values()] == [2, 2, 1, 1, 0]
    assert table["BOLD"].ratios == [3.0, 4.0]
    everywhere, others, *_ = FirstOrderRivals().sections(rows)
    assert "in 1 of 2 cells (50 %), which does not reach 90 %" in everywhere.says
    assert everywhere.table is not None
    assert everywhere.table.rows[0] == ("linear", "b", 30.0, "AdaGrad", 10.0, 3.0)
    assert others.table is not None
    assert len(others.table.rows) == 5


# ---- the studies, small ------------------------------------------------------------------------


def small(study: Study, full: bool = False) -> list[Cell]:
    """Return cells with few rounds; of the full plan, one per learner and kind of game."""
    cells: dict[str, Cell] = {}
    known: set[tuple[Any, ...]] = set()
    for cell in Plan(study, not full).cells:
        words = {name: value for name, value in cell.parameters if isinstance(value, str)}
        kind = tuple(words[name] for name in sorted(words.keys() - {"world", "pattern", "game"}))
        if kind in known if full else cell["seed"]:
            continue
        known.add(kind)
        rounds = min(400, max(60, cell["rounds"] // 100))
        tiny = Cell.of(**{**cell.to_dict(), "rounds": rounds})
        cells.setdefault(tiny.key, tiny)
    return list(cells.values())


def rows_of(study: Study, cells: Sequence[Cell]) -> list[Row]:
    """Run cells here; none may fail."""
    return [{**cell.to_dict(), **study.plain_results(cell)} for cell in cells]


def check_small(name: str) -> None:
    """Run a study in small; print what its page says."""
    study = study_named(name)
    rows_of(study, small(study, full=True))
    cells = small(study)
    rows = rows_of(study, cells)
    assert rows_of(study, cells[:8]) == rows[:8]  # nothing depends on the clock
    if name == "drift":
        check_drift(rows)
    if name == "tightness":
        assert all(row["ratio"] <= 1.0 for row in rows)
    numbers = study.numbers(rows)
    assert 1 <= len(numbers) <= 3
    print(*(f"{number} {what}" for number, what in numbers))
    for section in study.sections(rows):
        assert not re.search(r"(^|[.?!] )ours\b", section.says), section.says
        print(section.says)


def check_drift(rows: list[Row]) -> None:
    """Check that nothing measured exceeds what the theorem and the lemma allow."""
    for row in rows:
        assert row["learning_bound"] is None or row["undelayed"] <= row["learning_bound"]
        assert row["drift"] <= row["theorem_4_1"] + 1e-9
        assert row["lemma_4_2"] is None or row["drift"] <= row["lemma_4_2"] + 1e-9
        assert (row["lemma_4_2"] is None) == (row["base"] == "OMD")


LARGE = (
    *("arms", "capacity", "decisions", "delay-law", "first-order", "table1"),
    *("tightness", "two-point"),
)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in LARGE))
        for name in STUDIES
        if name != "logs"
    ],
)
def test_every_study_runs_and_speaks(
    name: str, python: Python, capsys: pytest.CaptureFixture[str]
) -> None:
    """Always without compilation, as tiny games take longer to compile than to play."""
    if INTERPRETED:
        check_small(name)
        said = capsys.readouterr().out
    else:
        script = f"import test_study; test_study.check_small({name!r})"
        said = python("-c", script, BELATED_INTERPRETED="1")
    assert said.strip()
    assert "nan" not in said.split()


def test_the_study_of_decisions_says_who_loses_least() -> None:
    """From regrets that are made up."""
    study = study_named("decisions")
    costs = {"gap weighting": 20.0, "greedy": 30.0, "at random": 100.0}
    rows = []
    games = itertools.product(("linear", "changing"), ("none", "mean 2,000"), range(2), costs)
    for world, delay, seed, rule in games:
        cost = 40.0 if (world, rule) == ("changing", "gap weighting") else costs[rule]
        cell = {"world": world, "delay": delay, "rule": rule, "seed": seed, "rounds": 100}
        rows.append({**cell, "regret": cost + seed, "late_regret": cost / 2.0, "explored": 0.1})
    answer, linear, changing = study.sections(rows)
    assert answer.table is not None
    assert [line[0] for line in answer.table.rows] == ["gap weighting", "greedy"]
    assert [line[2:] for line in answer.table.rows] == [(0.303, 2, 2, 1.33), (0.303, 2, 2, 1.49)]
    assert linear.says == "Least regret: gap weighting under none and 'mean 2,000'."
    assert changing.question == "Which rule has the least regret (changing)?"
    assert [number for number, _ in study.numbers(rows)] == ["30 %", "30 %", "1.33"]
    alone = [row for row in rows if row["rule"] != "at random"]
    assert study.sections(alone) == ()
    assert study.numbers(alone) == ()


# ---- pages and files ---------------------------------------------------------------------------


def test_the_page_lists_failures_and_how_to_reproduce(tmp_path: Path) -> None:
    page = page_of(finished(Tiny(bad=(2,)), tmp_path / "rows.jsonl"))
    assert page.title == "Squares"
    assert page.reproduce == "belated study tiny"
    assert page.facts["cells"] == "5 finished, 1 failed"
    assert page.lead == "What are the squares?"
    assert page.numbers == (("5", "squares"),)
    answer, failures = page.sections
    assert answer.says == "There are 5."
    assert failures.table is not None
    assert failures.table.rows == (("n=2, seed=2", "ValueError: no square of 2"),)


# ---- logs --------------------------------------------------------------------------------------


def test_a_log_that_is_too_short_or_bad_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("a,b\n0,1\n")
    with pytest.raises(StudyError, match="1 rounds, which is too few"):
        read_timeline(path, "a", "b")
    with pytest.raises(LogError, match="'c'"):
        read_timeline(path, "a", "c")


@given(st.lists(st.integers(0, 30), min_size=1, max_size=20), st.integers(1, 25))
def test_shortened_is_as_if_it_had_ended_there(delays: list[int], rounds: int) -> None:
    timeline = bl.Timeline.from_delays(delays)
    assert shortened(timeline, rounds) == bl.Timeline.from_delays(delays[:rounds])


def check_log(path: str) -> None:
    """Run the study of a log in small, interpreted."""
    study = study_named("logs", path=Path(path), predicted="a", observed="b")
    plan = Plan(study, True)
    assert "--log" in plan.command
    rows = rows_of(study, plan.cells)
    print(*(section.says for section in study.sections(rows)))


def test_the_study_of_a_log(
    tmp_path: Path, python: Python, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.csv"
    rng = np.random.default_rng(1)
    rows = [f"{t},{t + wait}" for t, wait in enumerate(rng.exponential(9.0, 80))]
    path.write_text("\n".join(["a,b", *rows]))
    if INTERPRETED:
        check_log(str(path))
        said = capsys.readouterr().out
    else:
        script = f"import test_study; test_study.check_log({str(path)!r})"
        said = python("-c", script, BELATED_INTERPRETED="1")
    assert said.startswith("On 80 rounds, 0 of them never answered, with a total delay of ")


# ---- the command -------------------------------------------------------------------------------


def command(*arguments: str) -> None:
    """Run ``study`` with a parser of its own."""
    parser = argparse.ArgumentParser(prog="belated")
    add_study_command(parser.add_subparsers(required=True))
    parsed = parser.parse_args(["study", *arguments])
    parsed.run(parsed)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a study"),
        (["nonsense"], "invalid choice"),
        (["drift", "--workers", "0"], "must be 1, 2, 3"),
        (["drift", "--address", "x:1"], "--address is for --engine ray"),
        (["drift", "--log", "x.csv"], "go together"),
        (["drift", "--log", "x", "--predicted", "a", "--observed", "b"], "not for drift"),
        (["logs"], "logs needs --log"),
    ],
)
def test_wrong_usage(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        command(*arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_the_command_runs_what_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("vl_convert")
    monkeypatch.setattr("belated.research.study.catalogue.study_named", lambda name: Tiny())
    command("drift", "--quick", "--out", str(tmp_path), "--engine", "serial")
    said = capsys.readouterr().out
    assert said.startswith("tiny: 4 cells, rows in ")
    assert "This is the quick version" in (tmp_path / "tiny-quick.html").read_text()
    assert len(lines_of(tmp_path / "tiny-quick.jsonl")) == 5


def test_the_command_computes_rows_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("belated.research.study.catalogue.study_named", lambda name: Tiny())
    finished(Tiny(), tmp_path / "tiny.jsonl", engine="serial")
    command("drift", "--check", "4", "--out", str(tmp_path))
    assert capsys.readouterr().out == "tiny: 4 of 6 rows computed again, 0 differ\n"
    monkeypatch.setattr(Tiny, "run", lambda study, cell: {"square": 1.5, "root": math.inf})
    with pytest.raises(StudyError, match="recorded rows differ in tiny; run with --fresh"):
        command("drift", "--check", "--out", str(tmp_path))
    said = capsys.readouterr().out
    assert "6 of 6 rows computed again, 6 differ" in said
    assert "square is 1.5, recorded 25.0" in said
