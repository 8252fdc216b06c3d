"""Calls that wait to be applied and committed, by whichever thread leads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from belated.store.batches import closed_gate

if TYPE_CHECKING:
    from belated.store.batches import Batch
    from belated.store.entry import Entry


class Queued:
    """A call of one thread, which waits at ``gate`` until it is committed, refused or left to it.

    ``apply`` returns the answer and the batch, and is called with the lock of the model.
    """

    __slots__ = ("answer", "apply", "batch", "entry", "error", "gate", "is_left")

    def __init__(self, entry: Entry, apply: Callable[[], tuple[Any, Batch]]) -> None:
        self.entry, self.apply = entry, apply
        self.gate = closed_gate()
        self.answer: Any = None
        self.batch: Batch | None = None
        """What it is committed with."""
        self.error: BaseException | None = None
        """Why it was refused."""
        self.is_left = False
        """Whether its own thread is to do it: the model is in use, or has to be built anew."""

    @property
    def is_done(self) -> bool:
        """Whether there is nothing to wait for any more."""
        batch = self.batch
        return self.is_applied if batch is None else batch.is_done

    @property
    def is_applied(self) -> bool:
        """Whether it was applied, refused or left to its own thread."""
        return self.batch is not None or self.error is not None or self.is_left

    def run(self) -> None:
        """Apply it, without waiting for anything; what it raises is its own thread's.

        Never in the main thread: an interrupt would keep the lock, which only ``with`` gives back
        for sure.
        """
        lock = self.entry.lock
        if not lock.acquire(blocking=False):
            self.is_left = True
            return
        try:
            if self.entry.is_stale or self.entry.about.is_deleted:
                self.is_left = True
            else:
                self.answer, self.batch = self.apply()
        except BaseException as error:  # also what a user's own code ends its own thread with
            self.error = error
        finally:
            lock.release()

    def result(self) -> tuple[Any, Batch | None]:
        """Return the answer and what it is committed with, or raise why it was refused."""
        error, self.error = self.error, None
        if error is None:
            return self.answer, self.batch
        try:
            raise error
        finally:
            del error  # which has this frame, and so itself, in its trace
