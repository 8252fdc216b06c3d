"""Ways to run cells: one after the other, in threads, in processes, or on a Ray cluster.

All give the same outcomes; only their order differs. Cells of one group share compiled code, which
is kept on disk: the first cell of every group runs before any second one, so that no two workers
compile the same at once.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
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
from typing import Any, Literal, TypeAlias, TypeVar, get_args

from belated.errors import MissingExtra, StudyError
from belated.study.plan import Cell, Study
from belated.study.rows import Outcome

Engine = Literal["processes", "threads", "serial", "ray"]
Outcomes: TypeAlias = Iterator[tuple[Cell, Outcome]]
Handle = TypeVar("Handle")

_AHEAD = 2
"""Cells handed out per worker, so that none waits while a row is written."""


def run_cells(
    study: Study,
    cells: Sequence[Cell],
    *,
    engine: Engine = "processes",
    workers: int | None = None,
    address: str | None = None,
) -> Outcomes:
    """Run cells and yield each with its outcome, as they finish; a cell that fails says why.

    ``workers`` is one per core unless given; ``address`` is that of a Ray cluster, and without one
    Ray is started on this machine.
    """
    if engine not in get_args(Engine):
        words = ", ".join(get_args(Engine))
        raise StudyError(f"study: engine is one of {words}, got {engine!r}")
    if engine == "ray":
        return _on_ray(study, cells, workers, address)
    count = min(workers or os.cpu_count() or 1, max(len(cells), 1))
    return _ENGINES[engine](study, cells, count)


def outcome_of(study: Study, cell: Cell) -> Outcome:
    """Run one cell; whatever goes wrong in it is its own."""
    try:
        return Outcome(plain(study.run(cell)))
    except Exception as error:
        return Outcome(None, f"{type(error).__name__}: {error}")


def plain(results: dict[str, Any]) -> dict[str, Any]:
    """Return results as JSON has them: numbers of Python, and None for what is not finite.

    >>> import numpy as np
    >>> plain({"regret": np.float64(2.5), "bound": math.inf, "skipped": np.int64(3)})
    {'regret': 2.5, 'bound': None, 'skipped': 3}
    """
    return {name: _plain(value) for name, value in results.items()}


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


# ---- whose turn it is --------------------------------------------------------------------------


class Turns:
    """Hands out the first cell of every group, and others only once that has finished.

    >>> cells = [Cell.of("a", n=0), Cell.of("a", n=1), Cell.of("b", n=2)]
    >>> turns = Turns(cells)
    >>> [cell["n"] for cell in (turns.next(), turns.next())], turns.next()
    ([0, 2], None)
    >>> turns.finished(cells[0])
    >>> turns.next()["n"]
    1
    """

    def __init__(self, cells: Iterable[Cell]) -> None:
        self._compiled: set[str] = set()
        self._firsts: deque[Cell] = deque()
        self._others: list[Cell] = []
        seen: set[str] = set()
        for cell in cells:
            (self._others if cell.group in seen else self._firsts).append(cell)
            seen.add(cell.group)

    def next(self) -> Cell | None:
        """Return a cell that may start now, or None where there is none yet, or no more."""
        if self._firsts:
            return self._firsts.popleft()
        for place, cell in enumerate(self._others):
            if cell.group in self._compiled:
                return self._others.pop(place)
        return None

    def give_back(self, cell: Cell) -> None:
        """Take back a cell that could not be started."""
        self._firsts.appendleft(cell)

    def finished(self, cell: Cell) -> None:
        """Let the others of its group start."""
        self._compiled.add(cell.group)


def _drive(
    turns: Turns,
    running: dict[Handle, Cell],
    start: Callable[[Cell], Handle],
    finished: Callable[[Sequence[Handle]], list[tuple[Handle, Outcome]]],
    ahead: int,
) -> Outcomes:
    """Keep ``ahead`` cells running until all are done; ``running`` always says which."""
    while True:
        while len(running) < ahead and (cell := turns.next()) is not None:
            try:
                running[start(cell)] = cell
            except BaseException:
                turns.give_back(cell)
                raise
        if not running:
            return
        for handle, outcome in finished(list(running)):
            cell = running.pop(handle)
            turns.finished(cell)
            yield cell, outcome


# ---- on this machine ---------------------------------------------------------------------------


def _in_turn(study: Study, cells: Sequence[Cell], workers: int) -> Outcomes:
    for cell in cells:
        yield cell, outcome_of(study, cell)


def _in_threads(study: Study, cells: Sequence[Cell], workers: int) -> Outcomes:
    with ThreadPoolExecutor(workers) as pool:
        yield from _in_pool(
            pool, Turns(cells), {}, lambda cell: pool.submit(outcome_of, study, cell), workers
        )


def _in_processes(study: Study, cells: Sequence[Cell], workers: int) -> Outcomes:
    """Run in worker processes; should one die, find out which cell killed it and go on."""
    turns = Turns(cells)
    while True:
        running: dict[Future[Outcome], Cell] = {}
        try:
            with _processes(study, workers) as pool:
                yield from _in_pool(
                    pool,
                    turns,
                    running,
                    lambda cell: pool.submit(_outcome_in_worker, cell),
                    workers,
                )
            return
        except BrokenProcessPool:
            pass  # those at work are suspects
        for cell in running.values():
            yield cell, _alone(study, cell)
            turns.finished(cell)


def _alone(study: Study, cell: Cell) -> Outcome:
    """Run a suspect in a process of its own."""
    with _processes(study, 1) as pool:
        try:
            return pool.submit(_outcome_in_worker, cell).result()
        except BrokenProcessPool:
            return Outcome(None, "BrokenProcessPool: its worker process died (out of memory?)")


def _in_pool(
    pool: Executor,
    turns: Turns,
    running: dict[Future[Outcome], Cell],
    start: Callable[[Cell], Future[Outcome]],
    workers: int,
) -> Outcomes:
    """Drive a pool; when interrupted, drop the rest and leave nobody behind."""

    def finished(futures: Sequence[Future[Outcome]]) -> list[tuple[Future[Outcome], Outcome]]:
        done, _ = wait(futures, return_when=FIRST_COMPLETED)
        return [(future, future.result()) for future in done]

    try:
        yield from _drive(turns, running, start, finished, _AHEAD * workers)
    except BaseException:
        for worker in list((getattr(pool, "_processes", None) or {}).values()):
            worker.terminate()
        pool.shutdown(cancel_futures=True)
        raise


_study_of_worker: Study | None = None


def _take_study(study: Study) -> None:
    """Start a worker process; it is the parent that reacts to Ctrl-C."""
    global _study_of_worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _study_of_worker = study


def _outcome_in_worker(cell: Cell) -> Outcome:
    assert _study_of_worker is not None
    return outcome_of(_study_of_worker, cell)


def _processes(study: Study, workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, _context(), _take_study, (study,))


def _context() -> multiprocessing.context.BaseContext:
    """Return how workers are started: a fork is ready at once, but only safe without threads."""
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    if threading.active_count() == 1:
        return multiprocessing.get_context("fork")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


_ENGINES: dict[str, Callable[[Study, Sequence[Cell], int], Outcomes]] = {
    "processes": _in_processes,
    "threads": _in_threads,
    "serial": _in_turn,
}


# ---- on a cluster ------------------------------------------------------------------------------


def _on_ray(
    study: Study, cells: Sequence[Cell], workers: int | None, address: str | None
) -> Outcomes:
    """Run every cell as a Ray task on one core; belated must be installed on all nodes."""
    try:
        import ray
    except ImportError as error:
        raise MissingExtra("ray", extra="ray", where="--engine ray") from error
    ours = not ray.is_initialized()
    if ours:
        ray.init(address=address, log_to_driver=False)
    try:
        task: Any = ray.remote(num_cpus=1)(outcome_of)
        shared = ray.put(study)
        count = workers or int(ray.cluster_resources().get("CPU", 1))

        def finished(handles: Sequence[Any]) -> list[tuple[Any, Outcome]]:
            done, _ = ray.wait(list(handles), num_returns=1)
            return [(handle, _fetched(handle)) for handle in done]

        ahead = count if workers else _AHEAD * count
        yield from _drive(Turns(cells), {}, lambda cell: task.remote(shared, cell), finished, ahead)
    finally:
        if ours:
            ray.shutdown()


def _fetched(handle: Any) -> Outcome:
    """Return the outcome of a task; a lost worker or node is the failure of its cell."""
    import ray

    try:
        outcome: Outcome = ray.get(handle)
    except ray.exceptions.RayError as error:
        return Outcome(None, f"{type(error).__name__}: {error}")
    return outcome
