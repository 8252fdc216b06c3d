"""``play_many``: learners x games x seeds, in parallel, with the same results on any machine."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import pickle
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, get_args, overload

from numpy.typing import ArrayLike

from belated.errors import SpecError
from belated.game.game import Game
from belated.game.one import Record, play, warm
from belated.game.progress import progress_bar
from belated.game.run import Run
from belated.learner.program import Playable
from belated.spec import whole

Engine = Literal["processes", "threads", "serial"]
SpecOrMaker: TypeAlias = Playable | Callable[[Game], Playable]
"""A spec, or a function that makes one for a game (say, one that is told its delays)."""


class Cell(NamedTuple):
    """One run to be made, by position."""

    spec: int
    game: int
    seed: int


@dataclass(frozen=True)
class Failure:
    """A cell that could not be played, and why."""

    cell: Cell
    spec: SpecOrMaker
    game: Game
    error: str
    """Kind and message of the error."""
    details: str = ""
    """Where it happened."""

    def __str__(self) -> str:
        """Return one line."""
        where = self.game.name or f"game {self.cell.game}"
        return f"{self.spec!r} in {where} with seed {self.cell.seed}: {self.error}"


class Runs(Sequence[Run]):
    """Finished runs, spec by spec, game by game, seed by seed; ``failures`` are the others."""

    def __init__(self, cells: Sequence[Cell], runs: Sequence[Run], failures: Sequence[Failure]):
        self.cells = tuple(cells)
        """Where each run comes from, in the order of the runs."""
        self.failures = tuple(failures)
        self._runs = tuple(runs)

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Run, ...]: ...
    def __getitem__(self, index: int | slice) -> Run | tuple[Run, ...]:
        """Return one run or several."""
        return self._runs[index]

    def __len__(self) -> int:
        """Return how many runs were finished."""
        return len(self._runs)

    def of(self, spec: int | None = None, game: int | None = None) -> tuple[Run, ...]:
        """Return the runs of one spec, one game, or both, by their position in the arguments."""
        return tuple(
            run
            for cell, run in zip(self.cells, self._runs, strict=True)
            if spec in (None, cell.spec) and game in (None, cell.game)
        )

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row of plain data per run, ready for a data frame."""
        return [run.to_dict() for run in self._runs]

    def __repr__(self) -> str:
        """Return how many runs there are, and what failed."""
        lines = [f"<Runs: {len(self)} finished, {len(self.failures)} failed>"]
        return "\n".join([*lines, *(f"  {failure}" for failure in self.failures)])


def play_many(
    specs: SpecOrMaker | Iterable[SpecOrMaker],
    games: Game | Iterable[Game],
    seeds: int | Iterable[int] = 1,
    *,
    workers: int | None = None,
    engine: Engine = "processes",
    progress: bool | None = None,
    record: Record = "totals",
    checkpoints: int | ArrayLike = 200,
) -> Runs:
    """Play every spec in every game with every seed.

    A spec may also be a function that makes one for a game, for methods that must be told the
    delays: ``lambda game: rival.told(game.timeline)``. ``seeds`` are numbers, or how many to take
    from 0 on. Results do not depend on ``workers`` (default: one per core) or ``engine``: separate
    processes, threads (compiled games release the interpreter lock), or one after the other. A
    cell that fails is reported in ``failures`` and the others go on. ``progress`` shows a bar;
    unless told, it does so on a terminal when ``rich`` is installed.

    >>> import belated as bl
    >>> game = bl.Game(bl.losses.Linear(bl.losses.Random(2)), bl.delays.constant(100, 5))
    >>> problem = game.problem(bl.Ball(2))
    >>> runs = play_many(problem.learner("value"), game, seeds=3, engine="threads")
    >>> len(runs), len(runs.failures)
    (3, 0)
    """
    deck = _Deck(_listed(specs), _listed(games), record, checkpoints)
    _check_deck(deck)
    cells = _cells(deck, seeds)
    count = os.cpu_count() or 1 if workers is None else whole("play_many", "workers", workers)
    if engine not in get_args(Engine):
        raise SpecError(
            f"play_many: engine is one of {', '.join(map(repr, get_args(Engine)))}, got {engine!r}"
        )
    results: dict[Cell, _Result] = {}
    with progress_bar("playing", len(cells), progress) as bar:
        run = {"processes": _in_processes, "threads": _in_threads, "serial": _in_turn}[engine]
        for cell, result in run(deck, cells, min(count, max(len(cells), 1))):
            results[cell] = result
            bar.advance()
    return _gathered(deck, cells, results)


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, Iterable) else [given]


@dataclass(frozen=True)
class _Deck:
    """What workers get once."""

    specs: list[SpecOrMaker]
    games: list[Game]
    record: Record
    checkpoints: int | ArrayLike

    def spec(self, cell: Cell) -> Playable:
        made = self.specs[cell.spec]
        if isinstance(made, Playable):
            return made
        return made(self.games[cell.game])

    def play(self, cell: Cell) -> Run:
        return play(
            self.spec(cell),
            self.games[cell.game],
            cell.seed,
            record=self.record,
            checkpoints=self.checkpoints,
        )


def _check_deck(deck: _Deck) -> None:
    """Refuse what is neither a learner nor makes one, and what is no game."""
    for spec in deck.specs:
        if not (isinstance(spec, Playable) or callable(spec)):
            raise SpecError(f"play_many: needs specs, or functions from game to spec, got {spec!r}")
    for game in deck.games:
        if not isinstance(game, Game):
            raise SpecError(f"play_many: games must be Game, got {game!r}")


def _cells(deck: _Deck, seeds: int | Iterable[int]) -> list[Cell]:
    if isinstance(seeds, Iterable):
        numbers = [whole("play_many", "seeds", seed, least=0) for seed in seeds]
    else:
        numbers = list(range(whole("play_many", "seeds", seeds)))
    return [
        Cell(spec, game, seed)
        for spec in range(len(deck.specs))
        for game in range(len(deck.games))
        for seed in numbers
    ]


class _Result(NamedTuple):
    """What comes back from a worker: the fields of a run, or an error."""

    fields: dict[str, Any] | None
    error: str = ""
    details: str = ""


def _result(deck: _Deck, cell: Cell) -> _Result:
    """Play one cell; whatever goes wrong in it is its own."""
    try:
        run = deck.play(cell)
    except (Exception, SystemExit) as error:  # of user code, too
        message = f"{type(error).__name__}: {error}"
        return _Result(None, message, traceback.format_exc())
    fields = {field.name: getattr(run, field.name) for field in dataclasses.fields(run)}
    del fields["game"], fields["spec"]  # the caller has them
    if not run.delays_depend_on_plays:
        del fields["timeline"]
    return _Result(fields)


def _gathered(deck: _Deck, cells: list[Cell], results: dict[Cell, _Result]) -> Runs:
    kept, runs, failures = [], [], []
    for cell in cells:
        fields, error, details = results[cell]
        game = deck.games[cell.game]
        if fields is None:
            failures.append(Failure(cell, deck.specs[cell.spec], game, error, details))
            continue
        kept.append(cell)
        runs.append(Run(**{"timeline": game.timeline, **fields}, spec=deck.spec(cell), game=game))
    return Runs(kept, runs, failures)


# ---- engines -----------------------------------------------------------------------------------


def _in_turn(deck: _Deck, cells: list[Cell], workers: int) -> Iterator[tuple[Cell, _Result]]:
    for cell in cells:
        yield cell, _result(deck, cell)


def _in_threads(deck: _Deck, cells: list[Cell], workers: int) -> Iterator[tuple[Cell, _Result]]:
    with ThreadPoolExecutor(workers) as pool:
        yield from _as_finished(pool, {cell: (_result, deck, cell) for cell in cells})


_deck_of_worker: _Deck | None = None


def _take_deck(deck: _Deck) -> None:
    """Start a worker process."""
    global _deck_of_worker
    _deck_of_worker = deck


def _result_in_worker(cell: Cell) -> _Result:
    assert _deck_of_worker is not None
    return _result(_deck_of_worker, cell)


def _in_processes(deck: _Deck, cells: list[Cell], workers: int) -> Iterator[tuple[Cell, _Result]]:
    """Play in worker processes; should one die, find out which cell killed it and go on."""
    if len(deck.specs) == 1 and cells:
        _try_to_warm(deck, cells[0])  # compiled here, it is there in forked workers
    todo = dict.fromkeys(cells)
    while todo:
        try:
            for cell, result in _in_pool(deck, list(todo), workers):
                del todo[cell]
                yield cell, result
        except BrokenProcessPool:
            for cell in list(todo)[: 2 * workers + 1]:  # at work or already handed out
                result = _alone(deck, cell)
                del todo[cell]
                yield cell, result


def _in_pool(deck: _Deck, cells: list[Cell], workers: int) -> Iterator[tuple[Cell, _Result]]:
    context = _context()
    if context.get_start_method() != "fork":
        _check_travels(deck)
    with ProcessPoolExecutor(workers, context, _take_deck, (deck,)) as pool:
        yield from _as_finished(pool, {cell: (_result_in_worker, cell) for cell in cells})


def _alone(deck: _Deck, cell: Cell) -> _Result:
    """Play a suspect in a process of its own."""
    try:
        [(_, result)] = _in_pool(deck, [cell], 1)
    except BrokenProcessPool:
        return _Result(None, "BrokenProcessPool: its worker process died (out of memory?)")
    return result


def _as_finished(
    pool: Executor, calls: dict[Cell, tuple[Any, ...]]
) -> Iterator[tuple[Cell, _Result]]:
    """Yield results as they come; when interrupted, drop the rest and leave nobody behind."""
    futures: dict[Future[_Result], Cell] = {}
    try:
        for cell, call in calls.items():
            futures[pool.submit(*call)] = cell
        while futures:
            done, _ = wait(futures, return_when=FIRST_COMPLETED)
            for future in done:
                result = future.result()
                yield futures.pop(future), result
    except BaseException:
        _end_workers(pool)
        pool.shutdown(cancel_futures=True)
        raise


def _end_workers(pool: Executor) -> None:
    """End worker processes, as nobody waits for what they play; threads cannot be ended."""
    workers: dict[int, multiprocessing.Process] | None = getattr(pool, "_processes", None)
    for worker in list((workers or {}).values()):
        worker.terminate()


def _context() -> multiprocessing.context.BaseContext:
    """Return how workers are started: a fork is ready at once, but only safe without threads."""
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    if threading.active_count() == 1:
        return multiprocessing.get_context("fork")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


def _check_travels(deck: _Deck) -> None:
    """Refuse what cannot be sent to another process."""
    try:
        pickle.dumps(deck)
    except Exception as error:
        raise SpecError(
            f"play_many: cannot be sent to other processes ({error}); define functions at the top "
            "of a module, or use engine='threads'"
        ) from error


def _try_to_warm(deck: _Deck, cell: Cell) -> None:
    """Compile for a cell; if that fails, the cell itself will say so."""
    try:
        warm(deck.spec(cell), deck.games[cell.game], record=deck.record)
    except Exception:
        return
