"""What is committed together, and how those who wait for it are told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from belated.errors import NotCommitted, StoreUnavailable
from belated.logger import LOG

if TYPE_CHECKING:
    from belated.store.entry import Entry

After = Callable[[BaseException | None], None]
"""Is told why a batch failed, or None when it is committed."""

_LOOK = 0.2  # seconds after which it is looked again what became of a batch that is not done


class Part:
    """Events of one model in a batch, and its snapshots if there are any."""

    __slots__ = ("first", "size", "snapshots", "texts")

    def __init__(self, first: int) -> None:
        self.first = first
        """Number of the first event."""
        self.size = 0
        """How many there are."""
        self.texts: list[str] = []
        """What they are, some in each."""
        self.snapshots: list[tuple[int, bytes]] = []
        """Number of the event before which each was taken, and what it holds."""


Notes = Iterable[tuple[str, bytes]]
"""What is kept beside models, by name."""
Added = tuple["Entry", int, int, str, Notes, bytes | None]
"""What one call has added to a batch: whose it is, the number of its first event, how many there
are, what they are, notes that belong to them; or a snapshot of what was before that event."""


class Batch:
    """What is committed together."""

    __slots__ = ("added", "after", "error", "is_done", "notes", "waiting")

    def __init__(self) -> None:
        self.added: list[Added] = []
        self.notes: list[tuple[str, bytes]] = []
        """What is kept beside the models and belongs to no event, by name."""
        self.after: list[After] = []
        self.waiting: list[threading.Lock] = []
        """Gates that callers wait at; when it is done they are opened one by one."""
        self.is_done = False
        self.error: BaseException | None = None

    @property
    def is_used(self) -> bool:
        """Whether there is anything to commit, or anyone who waits for it."""
        return bool(self.added or self.waiting or self.notes or self.after)

    def parts(self) -> dict[Entry, Part]:
        """Return what is to be written of each model."""
        parts: dict[Entry, Part] = {}
        for entry, first, size, text, _, snapshot in self.added:
            part = parts.get(entry)
            if part is None:
                part = parts[entry] = Part(first)
            if snapshot is None:
                part.texts.append(text)
                part.size += size
            else:
                part.snapshots.append((first, snapshot))
        return parts

    def spoil(self) -> None:
        """Have all models built anew that have anything in it."""
        for entry, *_ in self.added:
            entry.is_stale = True

    def all_notes(self) -> dict[str, bytes]:
        """Return what is to be kept beside the models."""
        notes = dict(self.notes)
        for *_, added, _ in self.added:
            if added:
                notes.update(added)
        return notes


def done() -> Batch:
    """Return a batch of nothing, which is committed."""
    batch = Batch()
    batch.is_done = True
    return batch


COMMITTED = done()
"""That of a call that has changed nothing."""


def lost(error: BaseException) -> NotCommitted:
    """Return what is raised for an event that was lost; what says so itself is said as it is."""
    if isinstance(error, NotCommitted):
        return NotCommitted(str(error), error.is_unknown)
    if isinstance(error, StoreUnavailable) and error.is_unknown:
        return NotCommitted(
            "the connection broke while the event was committed, and it may or may not count: what "
            f"the model says later tells ({error})",
            is_unknown=True,
        )
    return NotCommitted(f"the event could not be committed, and does not count: {error}")


def closed_gate() -> threading.Lock:
    """Return a lock that one who waits cannot take before it is opened."""
    gate = threading.Lock()
    gate.acquire()
    return gate


def open_gate(gate: threading.Lock) -> None:
    """Let the one go on who waits at a lock; once more does no harm."""
    try:  # the quickest way to say it, for every event there is
        gate.release()
    except RuntimeError:
        return


def safely(function: Callable[..., None], *arguments: Any) -> None:
    """Call something after a commit; whatever it raises, the others are called as well."""
    try:
        function(*arguments)
    except Exception:
        LOG.exception("what was to be called after a commit has raised")


# --- Who waits ------------------------------------------------------------------------------------


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


class Teller:
    """A thread of the store's own, which commits what nobody waits for and tells what became of it.

    ``settle_all`` returns when all batches that there are now are done. As one is marked together
    with those that fail with it, all that were asked for before are done then too. Where it raises
    instead, the thread looks again.
    """

    def __init__(self, settle_all: Callable[[], None]) -> None:
        self._settle_all = settle_all
        self._lock = threading.Lock()
        self._wanted = closed_gate()
        self._untold: list[Batch] = []
        self._is_stopped = False
        self.thread: threading.Thread | None = None
        """None until it is needed."""

    def ask(self, batch: Batch, after: After) -> bool:
        """Have ``after`` called when a batch is done; False after the end, when nobody can."""
        with self._lock:
            if self._is_stopped:
                return False
            if self.thread is None:
                thread = threading.Thread(target=self._work, name="belated-store", daemon=True)
                thread.start()
                self.thread = thread
            batch.after.append(after)
            self._untold.append(batch)
        open_gate(self._wanted)
        return True

    def _work(self) -> None:
        is_stopped = False
        while not is_stopped:
            self._wanted.acquire(timeout=_LOOK if self._untold else -1)  # once for all that asked
            is_stopped = self._is_stopped  # all that asked before that are in what is settled now
            with suppress(Exception):
                self._settle_all()
            self._tell()
        open_gate(self._wanted)  # for another such thread, if starting one was interrupted

    def _tell(self) -> None:
        """Tell what became of batches that are done."""
        with self._lock:
            told = [batch for batch in self._untold if batch.is_done]
            self._untold = [batch for batch in self._untold if not batch.is_done]
        for batch in told:
            while batch.after:
                safely(batch.after.pop(0), batch.error)

    def stop(self) -> None:
        """Let the thread come to its end."""
        with self._lock:
            self._is_stopped = True
            thread = self.thread
        open_gate(self._wanted)
        if thread is not None and thread is not threading.current_thread():
            thread.join()
