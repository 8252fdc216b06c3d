"""Group commit: many threads share one, and each is answered when what it did is on disk.

Events are appended to the open batch, in the order in which they were applied. Whoever waits first
for a batch takes the turn and commits it; those that come meanwhile find the next batch open, and
the first of them takes the next turn. One thread alone commits its own events at once, and no other
thread is involved.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from belated.errors import NotCommitted

if TYPE_CHECKING:
    from belated.store.entry import Entry

After = Callable[[BaseException | None], None]
"""Is told why a batch failed, or None when it is committed."""


class Part(NamedTuple):
    """Events of one model in a batch, and its snapshot if there is one."""

    first: int
    """Number of the first event."""
    events: list[str]
    snapshots: list[tuple[int, bytes]]
    """Number of the event before which each was taken, and what it holds."""


class Batch:
    """What is committed together."""

    __slots__ = ("after", "error", "is_done", "parts")

    def __init__(self) -> None:
        self.parts: dict[Entry, Part] = {}
        self.after: list[After] = []
        self.is_done = False
        self.error: BaseException | None = None


class Writer:
    """Commits batches, one at a time and in order.

    ``write`` puts all parts of a batch on disk, or raises and leaves everything as it was.
    """

    def __init__(self, write: Callable[[dict[Entry, Part]], None]) -> None:
        self._write = write
        self._lock = threading.Lock()  # around the open batch
        self.turn = threading.Lock()
        """Held by the one who uses the database."""
        self._open = Batch()
        self._wanted = threading.Semaphore(0)
        self._thread: threading.Thread | None = None
        self.commits = 0
        """Commits so far."""
        self.events = 0
        """Events in them."""

    def add(self, entry: Entry, event: str) -> Batch:
        """Append an event to the open batch; its model is locked by the caller."""
        with self._lock:
            part = self._part(entry)
            part.events.append(event)
            entry.length += 1
            entry.newest = self._open
            return self._open

    def add_snapshot(self, entry: Entry, blob: bytes) -> Batch:
        """Append a snapshot of what a model is after all of its events so far."""
        with self._lock:
            self._part(entry).snapshots.append((entry.length, blob))
            return self._open

    def _part(self, entry: Entry) -> Part:
        if entry.is_stale:
            raise NotCommitted("the store could not be written meanwhile; nothing has changed")
        part = self._open.parts.get(entry)
        if part is None:
            part = self._open.parts[entry] = Part(entry.length, [], [])
        return part

    def settle(self, batch: Batch) -> None:
        """Return when a batch is committed, or raise ``NotCommitted``."""
        if not batch.is_done:
            with self.turn:
                if not batch.is_done:
                    self._commit()
        if batch.error is not None:
            raise NotCommitted(
                f"the event could not be committed, and does not count: {batch.error}"
            ) from batch.error

    def settle_all(self) -> None:
        """Return when everything that was added before is committed."""
        self.settle(self._open)

    def then(self, batch: Batch, after: After) -> None:
        """Have ``after`` called when a batch is committed or has failed, by whoever commits it."""
        with self._lock:
            is_done = batch.is_done
            if not is_done:
                batch.after.append(after)
        if is_done:
            after(batch.error)
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="belated-store", daemon=True)
            self._thread.start()
        self._wanted.release()

    def _work(self) -> None:
        """Commit what nobody waits for."""
        while self._wanted.acquire():
            while self._wanted.acquire(blocking=False):
                pass  # one commit for all that asked
            if self._thread is None:
                return
            with self.turn:
                self._commit()

    def stop(self) -> None:
        """Let the thread that commits what nobody waits for come to its end."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._wanted.release()
            thread.join()

    def _commit(self) -> None:
        """Commit the open batch; the caller has the turn."""
        with self._lock:
            batch, self._open = self._open, Batch()
        if not batch.parts:
            self._close(batch, None)
            return
        try:
            self._write(batch.parts)
        except BaseException as error:
            self._fail(batch, error)
            if not isinstance(error, Exception):
                raise
            return
        self.commits += 1
        self.events += sum(len(part.events) for part in batch.parts.values())
        self._close(batch, None)

    def _fail(self, batch: Batch, error: BaseException) -> None:
        """Let a batch fail, and what was added since: it may stand on what is lost."""
        with self._lock:
            later, self._open = self._open, Batch()
            for entry in (*batch.parts, *later.parts):
                entry.is_stale = True
        self._close(batch, error)
        self._close(later, error)

    def _close(self, batch: Batch, error: BaseException | None) -> None:
        with self._lock:
            batch.error = error
            batch.is_done = True
            after = batch.after
        for call in after:
            call(error)
