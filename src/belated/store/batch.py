"""Events that are committed together."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from belated.errors import NotCommitted, StoreUnavailable

if TYPE_CHECKING:
    from belated.store.stored import StoredModel

Notes = Iterable[tuple[str, bytes]]
Added = tuple["StoredModel | None", int, int, str, Notes, bytes | None]
"""Events that one call adds: the model, the number of its first event, how many there are,
their text, notes that belong to them, and a snapshot of the model before that event."""


class Batch:
    """Events that are committed together, and the callers that wait for them."""

    __slots__ = ("added", "callers", "error", "futures", "gates", "is_done")

    def __init__(self) -> None:
        self.added: list[Added] = []
        self.callers = 0
        self.gates: list[threading.Lock] = []
        """Locks that waiting threads try to acquire."""
        self.futures: list[asyncio.Future[None]] = []
        self.is_done = False
        self.error: BaseException | None = None

    def mark(self, error: BaseException | None = None) -> None:
        """Mark the batch as committed or failed; models of a failed one must be recovered."""
        if error is not None:
            for model, *_ in self.added:
                if model is not None:
                    model._is_stale = True
        self.error, self.is_done = error, True
        self.added = []  # models know their newest batch, which need not know them

    def wake(self) -> None:
        for gate in self.gates:
            gate.release()
        for loop in {future.get_loop() for future in self.futures}:
            with suppress(RuntimeError):  # the loop was closed
                loop.call_soon_threadsafe(self._resolve_all, loop)

    def _resolve_all(self, loop: asyncio.AbstractEventLoop) -> None:
        for future in self.futures:
            if future.get_loop() is loop:
                self.resolve(future)

    def resolve(self, future: asyncio.Future[None]) -> None:
        """Set the result of a future, in the thread of its event loop."""
        if future.done():  # the caller was cancelled
            return
        if self.error is None:
            future.set_result(None)
        else:
            future.set_exception(not_committed(self.error))


COMMITTED = Batch()
"""The batch of a call that changed nothing."""
COMMITTED.is_done = True


def not_committed(error: BaseException) -> NotCommitted:
    if isinstance(error, StoreUnavailable) and error.is_unknown:
        return NotCommitted(
            "the connection broke while the event was committed, and it may or may not count: what "
            f"the model says later tells ({error})",
            is_unknown=True,
        )
    return NotCommitted(f"the event could not be committed, and does not count: {error}")


class Task:
    """A function that the writer runs for a caller."""

    def __init__(self, function: Callable[[], Any], is_last: bool = False) -> None:
        self.function, self.is_last = function, is_last
        self.gate = make_gate()
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.result = self.function()
        except BaseException as error:
            self.error = error
        self.gate.release()


def make_gate() -> threading.Lock:
    """Return a lock that is held, so that a thread can wait for its release."""
    gate = threading.Lock()
    gate.acquire()
    return gate
