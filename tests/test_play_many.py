"""Many games at once: the same results whoever plays them, and failures that stay alone."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.engine.pools import process_context
from belated.reductions import LearnerSpec
from belated.research.game.many import Cell, SpecOrMaker
from belated.research.game.run import Run
from belated.research.rivals import QuanrudKhashabi
from naive_game import Array

# Without types, as some of what follows is wrong on purpose.
wrong: Any = bl

LOSSES = bl.losses.Linear(bl.losses.Random(3, seed=2))
SHORT = bl.Game(LOSSES, bl.delays.geometric(60, 8.0, seed=1), name="short")
LONG = bl.Game(LOSSES, bl.delays.pareto(100, 1.5, 5.0, seed=1), name="long")
STEADY = bl.FirstOrder(bl.PFTRL(bl.Ball(3), bl.rates.DelayAdaptive(1.0)))
UNTOLD = QuanrudKhashabi(bl.Ball(3), 1.0)


def told(game: bl.Game) -> QuanrudKhashabi:
    """A method that must know the delays in advance."""
    assert isinstance(game.timeline, bl.Timeline)
    return UNTOLD.told(game.timeline)


def flat(t: int, x: Array) -> float:
    """A loss that is 0 everywhere."""
    return 0.0


def no_slope(t: int, x: Array) -> Array:
    return np.zeros(3)


def fails(t: int, x: Array) -> float:
    """A loss with a mistake in it."""
    if t == 5:
        raise ZeroDivisionError("the fifth round")
    return 0.0


def dies(t: int, x: Array) -> float:
    """A loss that takes its process with it."""
    if t == 5:
        os._exit(3)
    return 0.0


TIMELINE = bl.delays.constant(20, 1)
FLAT = bl.Game(bl.losses.Custom(3, flat, no_slope), TIMELINE, "flat")
FAILING = bl.Game(bl.losses.Custom(3, fails, no_slope), TIMELINE, "failing")
DYING = bl.Game(bl.losses.Custom(3, dies, no_slope), TIMELINE, "dying")


def numbers(run: Run) -> tuple[Any, ...]:
    """All that a run found out, but the time it took."""
    arrays = [run.loss_curve, run.checkpoints, run.timeline.delay]
    for sums in (run.linear, run.base):
        arrays += [] if sums is None else [np.array(sums.played), sums.gradients]
    optional = [part for part in (run.losses, run.plays, run.vectors) if part is not None]
    return (
        run.spec,
        run.game,
        run.seed,
        run.loss,
        run.report,
        run.undelayed_loss,
        *(array.tobytes() for array in arrays + optional),
    )


SPECS: list[SpecOrMaker] = [STEADY, told]
GAMES = [SHORT, LONG]
WORDS: dict[str, Any] = {"seeds": [3, 1], "record": "detail", "checkpoints": 4}
ORDER = [Cell(spec, game, seed) for spec in (0, 1) for game in (0, 1) for seed in (3, 1)]


@pytest.fixture(scope="module")
def expected() -> list[tuple[Any, ...]]:
    """The same games, one by one."""
    specs: list[LearnerSpec] = [STEADY, STEADY, told(SHORT), told(LONG)]
    return [
        numbers(bl.play(spec, game, seed, record="detail", checkpoints=4))
        for spec, game in zip(specs, [SHORT, LONG] * 2, strict=True)
        for seed in (3, 1)
    ]


# --- Results -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("engine", "workers"),
    [("serial", None), ("threads", 2), ("threads", None), ("processes", 1), ("processes", 2)],
)
def test_results_do_not_depend_on_who_plays(
    engine: Any, workers: int | None, expected: list[tuple[Any, ...]]
) -> None:
    runs = bl.play_many(SPECS, GAMES, engine=engine, workers=workers, **WORDS)
    assert [numbers(run) for run in runs] == expected
    assert runs.cells == tuple(ORDER)
    assert not runs.failures
    assert multiprocessing.active_children() == []


def test_all_records_come_back_from_other_processes() -> None:
    adverse = bl.Game(bl.losses.Linear(bl.losses.Adaptive(3)), TIMELINE)
    games = [SHORT, FLAT, adverse]
    runs = bl.play_many(STEADY, games, record="plays", workers=2)
    alone = [bl.play(STEADY, game, record="plays") for game in games]
    assert [numbers(run) for run in runs] == [numbers(run) for run in alone]
    assert runs[2].vectors is not None
    assert runs[2].regret == alone[2].regret


# --- Failures ------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["serial", "threads", "processes"])
def test_a_cell_that_fails_leaves_the_others_alone(engine: Any) -> None:
    specs: list[SpecOrMaker] = [STEADY, UNTOLD, told]
    runs = bl.play_many(specs, [FLAT, FAILING], engine=engine, workers=2)
    assert runs.cells == (Cell(0, 0, 0), Cell(2, 0, 0))
    assert [failure.cell for failure in runs.failures] == [
        Cell(0, 1, 0),
        Cell(1, 0, 0),
        Cell(1, 1, 0),
        Cell(2, 1, 0),
    ]
    mistake, missing = runs.failures[:2]
    assert mistake.error == "ZeroDivisionError: the fifth round"
    assert "in fails" in mistake.details
    assert (mistake.spec, mistake.game) == (STEADY, FAILING)
    assert str(mistake) == f"{STEADY!r} in failing with seed 0: {mistake.error}"
    assert missing.error.startswith("SpecError: rivals.QuanrudKhashabi: must be told rounds")
    assert repr(runs).splitlines()[0] == "<Runs: 2 finished, 4 failed>"
    assert str(mistake) in repr(runs)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_worker_that_dies_is_reported_and_the_others_finish(workers: int) -> None:
    runs = bl.play_many(STEADY, [FLAT, DYING, FLAT, FAILING], 2, workers=workers)
    assert runs.cells == tuple(Cell(0, game, seed) for game in (0, 2) for seed in range(2))
    died, failed = runs.failures[:2], runs.failures[2:]
    assert [failure.cell for failure in died] == [Cell(0, 1, seed) for seed in range(2)]
    assert {failure.error for failure in died} == {
        "BrokenProcessPool: its worker process died (out of memory?)"
    }
    assert {failure.error for failure in failed} == {"ZeroDivisionError: the fifth round"}
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"engine": "sun"}, "play_many: engine is one of 'processes', .*, 'ray', got 'sun'"),
        ({"workers": 0}, "play_many: workers must be at least 1, got 0"),
        ({"workers": 1.5}, "play_many: workers must be a whole number"),
        ({"specs": [STEADY, 3]}, "play_many: needs specs, or functions from game to spec, got 3"),
        ({"games": [SHORT, STEADY]}, "play_many: games must be Game, got FirstOrder"),
    ],
)
def test_refusals(words: dict[str, Any], message: str) -> None:
    with pytest.raises(bl.errors.SpecError, match=message):
        wrong.play_many(**{"specs": STEADY, "games": SHORT, **words})


# --- Processes -----------------------------------------------------------------------------------


@pytest.fixture
def another_thread() -> Any:
    """A second thread, beside which a process must not be forked."""
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    yield thread
    done.set()
    thread.join()


def test_workers_are_not_forked_beside_other_threads(another_thread: threading.Thread) -> None:
    assert process_context("belated.research.game").get_start_method() == "forkserver"
    assert len(bl.play_many(STEADY, FLAT, 3, workers=2)) == 3
    with pytest.raises(bl.errors.SpecError, match="define functions at the top of a module"):
        bl.play_many(lambda game: STEADY, FLAT)
    assert len(bl.play_many(lambda game: STEADY, FLAT, engine="threads")) == 1


# --- Progress ------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["serial", "threads", "processes"])
def test_progress_is_shown_on_the_error_stream(
    engine: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = bl.play_many(STEADY, FLAT, 4, engine=engine, progress=True)
    assert len(runs) == 4
    shown = capsys.readouterr()
    assert "playing" in shown.err
    assert "4/4" in shown.err
    assert shown.out == ""


# --- Tables --------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_runs_as_a_frame(library: Any) -> None:
    pytest.importorskip(library)
    runs = bl.play_many([STEADY, told], [SHORT, LONG], 2, engine="serial", record="detail")
    frame = runs.to_frame(library)
    rows = {"pandas": lambda: frame.to_dict("records"), "polars": lambda: frame.to_dicts()}
    found = rows.get(library, lambda: frame.to_pylist())()
    assert [row["regret"] for row in found] == [run.regret for run in runs]
    assert list(found[0]) == list(runs[0].to_dict())
    missing = [row["drift"] for row in found[4:]]
    assert all(value is None or np.isnan(value) for value in missing)


def test_frames_of_other_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: Any = bl.play_many(STEADY, SHORT, engine="serial")
    with pytest.raises(bl.errors.SpecError, match="one of pandas, polars, pyarrow, got 'excel'"):
        runs.to_frame("excel")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(bl.errors.SpecError, match="polars is not installed; install it, or use"):
        runs.to_frame("polars")


def test_runs_as_a_latex_table() -> None:
    losses = bl.losses.Linear(bl.losses.Random(3, seed=2))
    games = [bl.Game(losses, SHORT.timeline, "a_b"), bl.Game(losses, SHORT.timeline)]
    values = bl.TwoPoint(bl.PFTRL(bl.Ball(3), bl.rates.DelayAdaptive(1.0)))
    runs = bl.play_many([STEADY, values], games, 3, engine="serial")
    lines = runs.to_latex().splitlines()
    assert lines[0] == r"\begin{tabular}{lrr}"
    assert lines[2] == r" & a\_b & game 1 \\"
    regrets = [run.regret for run in runs.of(1, 0)]
    error = np.std(regrets, ddof=1) / np.sqrt(3)
    assert lines[5].startswith(rf"TwoPoint & ${np.mean(regrets):.4g} \pm {error:.2g}$ & ")
    assert lines[4].startswith("FirstOrder & $")
    assert lines[-1] == r"\end{tabular}"
    single = bl.play_many(STEADY, SHORT, engine="serial")
    named = single.to_latex("loss", ["50 % & more"])
    assert rf"50 \% \& more & ${single[0].loss:.4g}$ \\" in named
    with pytest.raises(bl.errors.SpecError, match="'speed' is no number of FirstOrder"):
        single.to_latex("speed")
    with pytest.raises(bl.errors.SpecError, match="a name for every spec"):
        single.to_latex(names=[])
