"""Whose turn it is.

Jobs of one group share compiled code, which is kept on disk: the first job of every group runs
before any second one, so that no two workers compile the same at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from belated.engine.outcome import Job, Outcome

AHEAD = 2
"""Jobs handed out per worker, so that none waits while an outcome is taken in."""

Handle = TypeVar("Handle")


class Turns(Generic[Job]):
    """Hands out the first job of every group, and others only once that has finished.

    >>> turns = Turns(["a0", "a1", "b0"], group=lambda job: job[0])
    >>> turns.next(), turns.next(), turns.next()
    ('a0', 'b0', None)
    >>> turns.finished("a0")
    >>> turns.next()
    'a1'
    """

    def __init__(self, jobs: Iterable[Job], group: Callable[[Job], Hashable]) -> None:
        self._group = group
        self._compiled: set[Hashable] = set()
        self._firsts: deque[Job] = deque()
        self._others: list[Job] = []
        seen: set[Hashable] = set()
        for job in jobs:
            (self._others if group(job) in seen else self._firsts).append(job)
            seen.add(group(job))

    def next(self) -> Job | None:
        """Return a job that may start now, or None where there is none yet, or no more."""
        if self._firsts:
            return self._firsts.popleft()
        for place, job in enumerate(self._others):
            if self._group(job) in self._compiled:
                return self._others.pop(place)
        return None

    def give_back(self, job: Job) -> None:
        """Take back a job that could not be started."""
        self._firsts.appendleft(job)

    def finished(self, job: Job) -> None:
        """Let the others of its group start."""
        self._compiled.add(self._group(job))


def drive(
    turns: Turns[Job],
    running: dict[Handle, Job],
    start: Callable[[Job], Handle],
    finished: Callable[[Sequence[Handle]], list[tuple[Handle, Outcome]]],
    ahead: int,
) -> Iterator[tuple[Job, Outcome]]:
    """Keep ``ahead`` jobs running until all are done; ``running`` always says which."""
    while True:
        while len(running) < ahead and (job := turns.next()) is not None:
            try:
                running[start(job)] = job
            except BaseException:
                turns.give_back(job)
                raise
        if not running:
            return
        for handle, outcome in finished(list(running)):
            job = running.pop(handle)
            turns.finished(job)
            yield job, outcome
