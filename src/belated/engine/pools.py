"""The engines of this machine: one job after the other, threads, and processes."""

from __future__ import annotations

import multiprocessing
import pickle
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from belated.engine.driver import AHEAD, drive
from belated.engine.outcome import Job, Outcome, Work, outcome_of
from belated.errors import SpecError


def in_threads(work: Work[Job], jobs: deque[Job], workers: int) -> Iterator[tuple[Job, Outcome]]:
    """Do jobs in threads; compiled code releases the interpreter lock."""
    with ThreadPoolExecutor(workers) as pool:
        yield from _in_pool(pool, jobs, {}, lambda job: pool.submit(outcome_of, work, job), workers)


def in_processes(work: Work[Job], jobs: deque[Job], workers: int) -> Iterator[tuple[Job, Outcome]]:
    """Do jobs in worker processes; should one die, find out which job killed it and go on."""
    while True:
        running: dict[Future[Outcome], Job] = {}
        try:
            with _processes(work, workers) as pool:
                start = _starter(pool)
                yield from _in_pool(pool, jobs, running, start, workers)
            return
        except BrokenProcessPool:
            pass  # those at work are suspects
        for job in running.values():
            yield job, _alone(work, job)


def _alone(work: Work[Job], job: Job) -> Outcome:
    """Do the job of a suspect in a process of its own."""
    with _processes(work, 1) as pool:
        try:
            return _starter(pool)(job).result()
        except BrokenProcessPool:
            return Outcome(None, "BrokenProcessPool: its worker process died (out of memory?)")


def _in_pool(
    pool: Executor,
    jobs: deque[Job],
    running: dict[Future[Outcome], Job],
    start: Callable[[Job], Future[Outcome]],
    workers: int,
) -> Iterator[tuple[Job, Outcome]]:
    """Drive a pool; when interrupted, drop the rest and leave no worker behind."""

    def finished(futures: Sequence[Future[Outcome]]) -> list[tuple[Future[Outcome], Outcome]]:
        done, _ = wait(futures, return_when=FIRST_COMPLETED)
        return [(future, future.result()) for future in done]

    try:
        yield from drive(jobs, running, start, finished, AHEAD * workers)
    except BaseException:
        for worker in list((getattr(pool, "_processes", None) or {}).values()):
            worker.terminate()  # its result is not used any more; threads cannot be ended
        pool.shutdown(cancel_futures=True)
        raise


# ---- worker processes --------------------------------------------------------------------------

_work_of_worker: Work[Any] | None = None


def _take_work(work: Work[Any]) -> None:
    """Start a worker process; it is the parent that reacts to Ctrl-C."""
    global _work_of_worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _work_of_worker = work


def _outcome_in_worker(job: Any) -> Outcome:
    assert _work_of_worker is not None
    return outcome_of(_work_of_worker, job)


def _starter(pool: Executor) -> Callable[[Any], Future[Outcome]]:
    return lambda job: pool.submit(_outcome_in_worker, job)


def _processes(work: Work[Any], workers: int) -> ProcessPoolExecutor:
    context = process_context(work.__module__)
    if context.get_start_method() != "fork":
        _check_travels(work)
    return ProcessPoolExecutor(workers, context, _take_work, (work,))


def process_context(module: str) -> multiprocessing.context.BaseContext:
    """Return how workers are started: a fork is ready at once, but only safe without threads.

    ``module`` is what all of them need.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    if threading.active_count() == 1:
        return multiprocessing.get_context("fork")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([module])
    return context


def _check_travels(work: Work[Any]) -> None:
    """Refuse what cannot be sent to another process."""
    try:
        pickle.dumps(work)
    except Exception as error:
        raise SpecError(
            f"engine='processes': cannot be sent to other processes ({error}); define functions at "
            "the top of a module, or use engine='threads'"
        ) from error
