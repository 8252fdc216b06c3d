"""Waiting for commits without a thread: one wake-up for all that share one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from belated.logger import LOG
from belated.store import Pending
from belated.store.batches import lost, safely

_AGAIN = 0.05  # seconds

After = Callable[[BaseException | None], None]
"""Is told, in the thread of the loop, why an event is lost, or None when it is committed."""


class Commits:
    """Lets those who live in an event loop go on when what they began is committed."""

    def __init__(self) -> None:
        self._batch: Any = None
        self._waiting: list[After] = []
        self._ahead = 0
        self._next: list[Callable[[], None]] = []

    def then(self, pending: Pending, after: After) -> None:
        """Have something called in this loop when an event is committed or lost."""
        batch = pending.batch
        loop = asyncio.get_running_loop()
        if batch.is_done:
            loop.call_soon(after, batch.error)
            return
        if batch is not self._batch:
            self._batch, self._waiting = batch, []
            self._ahead += 1
            tell = partial(_tell, loop, partial(self._wake, self._waiting))
            # Not at once: what else came in with this round of the loop shares the commit.
            loop.call_soon(self._ask, loop, pending, tell)
        self._waiting.append(after)

    def _ask(self, loop: asyncio.AbstractEventLoop, pending: Pending, tell: After) -> None:
        """Have an event committed; where that cannot even be asked for, ask again.

        Nobody knows then what becomes of it, so that nobody who waits can be told anything.
        """
        try:
            pending.then(tell)
        except Exception:
            LOG.exception("a commit could not be asked for; it is tried again")
            loop.call_later(_AGAIN, self._ask, loop, pending, tell)

    def soon(self, work: Callable[[], None]) -> None:
        """Have something done when no commit is under way, or after the one that is.

        What is to be committed cannot be before that; what comes meanwhile is done in one go, which
        takes half as long for each as one by one, between other things.
        """
        if self._ahead:
            self._next.append(work)
        else:
            asyncio.get_running_loop().call_soon(work)

    async def wait(self, pending: Pending, over: After | None = None) -> None:
        """Return when an event is committed, or raise ``NotCommitted``.

        ``over`` is told before, also where nobody waits any more.
        """
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def told(error: BaseException | None) -> None:
            if over is not None:
                safely(over, error)
            if future.done():  # who waited was told to stop
                return
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(lost(error))

        self.then(pending, told)
        await future

    def _wake(self, waiting: list[After], error: BaseException | None) -> None:
        if not waiting:  # it was asked for twice, and so is told twice
            return
        self._ahead -= 1
        told = waiting.copy()
        waiting.clear()
        following, self._next = self._next, []
        for after in told:
            safely(after, error)
        for work in following:
            safely(work)


def _tell(loop: asyncio.AbstractEventLoop, wake: After, error: BaseException | None) -> None:
    """Wake those who wait, from the thread that commits."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(wake, error)
