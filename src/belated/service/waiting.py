"""Bodies that do not come: one timer for all that are waited for.

A timer for every request would cost as much as reading the body, which nearly always is there.
"""

from __future__ import annotations

import asyncio
from typing import Any


class Waiting:
    """Ends waits that take longer than ``patience`` seconds, and up to a quarter more."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._since: dict[asyncio.Task[Any], float] = {}
        self._overdue: set[asyncio.Task[Any]] = set()
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> asyncio.Task[Any]:
        """Note that the present task waits, and return it."""
        task = asyncio.current_task()
        assert task is not None  # a request is a task
        loop = task.get_loop()
        self._since[task] = loop.time()
        if self._timer is None:
            self._timer = loop.call_later(self._patience / 4, self._look, loop)
        return task

    def end(self, task: asyncio.Task[Any]) -> None:
        """Note that a task waits no more."""
        self._since.pop(task, None)

    def was_ended(self, task: asyncio.Task[Any]) -> bool:
        """Tell whether it was from here that a wait was ended; then it goes on as if it was not."""
        if task not in self._overdue:
            return False
        self._overdue.discard(task)
        task.uncancel()
        return True

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now = loop.time()
        for task, since in list(self._since.items()):
            if now - since >= self._patience:
                self._overdue.add(task)
                del self._since[task]
                task.cancel()
        if self._since:
            self._timer = loop.call_later(self._patience / 4, self._look, loop)
