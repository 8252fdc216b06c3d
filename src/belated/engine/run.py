"""``run_jobs``: a list of jobs on the engine of your choice."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Literal, TypeAlias, get_args

from belated.engine.outcome import Job, Outcome, Work, outcome_of
from belated.engine.progress import progress_bar
from belated.errors import SpecError

Engine: TypeAlias = Literal["processes", "threads", "serial", "ray"]


def run_jobs(
    work: Work[Job],
    jobs: Sequence[Job],
    take: Callable[[Job, Outcome], object],
    *,
    title: str,
    engine: Engine = "processes",
    workers: int | None = None,
    address: str | None = None,
    progress: bool | None = None,
) -> None:
    """Do all jobs and hand every outcome to ``take`` as it comes; a job that fails says why.

    Each outcome is taken in before the next one is waited for, so a caller that keeps them can go
    on after an interruption with the jobs that are missing. ``workers`` is one per core unless
    given; ``address`` is that of a Ray cluster, and without one Ray is started on this machine.

    >>> run_jobs(lambda n: {"square": n * n}, [2, 3], print, title="squares", engine="serial")
    2 Outcome(results={'square': 4}, failure='', details='')
    3 Outcome(results={'square': 9}, failure='', details='')
    """
    check_engine(title, engine, get_args(Engine))
    with (
        progress_bar(title, len(jobs), progress) as bar,
        closing(_outcomes(work, jobs, engine, workers, address)) as outcomes,
    ):
        for job, outcome in outcomes:
            take(job, outcome)
            bar.advance()


def check_engine(who: str, engine: str, known: Sequence[str]) -> None:
    """Refuse an engine that is none of those known."""
    if engine not in known:
        raise SpecError(f"{who}: engine is one of {', '.join(map(repr, known))}, got {engine!r}")


def _outcomes(
    work: Work[Job],
    jobs: Sequence[Job],
    engine: Engine,
    workers: int | None,
    address: str | None,
) -> Generator[tuple[Job, Outcome], None, None]:
    waiting = deque(jobs)
    count = min(workers or os.cpu_count() or 1, max(len(jobs), 1))
    # Each engine is imported where it runs: pools of processes take long to load.
    if engine == "ray":
        from belated.engine.cluster import on_ray

        yield from on_ray(work, waiting, workers, address)
    elif engine == "processes":
        from belated.engine.pools import in_processes

        yield from in_processes(work, waiting, count)
    elif engine == "threads":
        from belated.engine.pools import in_threads

        yield from in_threads(work, waiting, count)
    else:
        for job in jobs:
            yield job, outcome_of(work, job)
