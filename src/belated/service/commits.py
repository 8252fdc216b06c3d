"""Waiting for commits without a thread: one wake-up for all that share one."""

from __future__ import annotations

import asyncio
from typing import Any

from belated.errors import NotCommitted
from belated.store import Pending


class Commits:
    """Lets coroutines wait until what they began is committed."""

    def __init__(self) -> None:
        self._batch: Any = None
        self._waiting: list[asyncio.Future[None]] = []

    async def wait(self, pending: Pending) -> None:
        """Return when an event is committed, or raise ``NotCommitted``."""
        batch = pending.batch
        if batch.is_done:
            if batch.error is not None:
                raise _lost(batch.error)
            return
        loop = asyncio.get_running_loop()
        if batch is not self._batch:
            self._batch, self._waiting = batch, []
            waiting = self._waiting
            # Not at once: what else came in with this round of the loop shares the commit.
            loop.call_soon(pending.then, lambda error: _tell(loop, waiting, error))
        future: asyncio.Future[None] = loop.create_future()
        self._waiting.append(future)
        await future


def _tell(
    loop: asyncio.AbstractEventLoop,
    waiting: list[asyncio.Future[None]],
    error: BaseException | None,
) -> None:
    """Wake those who wait, from the thread that commits."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(_wake, waiting, error)


def _wake(waiting: list[asyncio.Future[None]], error: BaseException | None) -> None:
    for future in waiting:
        if future.done():
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(_lost(error))


def _lost(error: BaseException) -> NotCommitted:
    return NotCommitted(f"the event could not be committed, and does not count: {error}")
