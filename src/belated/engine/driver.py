"""Keeps jobs running on a pool of workers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from belated.engine.outcome import Job, Outcome

AHEAD = 2
"""Jobs handed out per worker, so that none waits while an outcome is taken in."""

Handle = TypeVar("Handle")


def drive(
    jobs: deque[Job],
    running: dict[Handle, Job],
    start: Callable[[Job], Handle],
    finished: Callable[[Sequence[Handle]], list[tuple[Handle, Outcome]]],
    ahead: int,
) -> Iterator[tuple[Job, Outcome]]:
    """Keep ``ahead`` jobs running until all are done; ``running`` always says which."""
    while True:
        while jobs and len(running) < ahead:
            running[start(jobs[0])] = jobs[0]
            jobs.popleft()
        if not running:
            return
        for handle, outcome in finished(list(running)):
            yield running.pop(handle), outcome
