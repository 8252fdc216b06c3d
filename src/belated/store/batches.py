"""What is committed together, and how those who wait for it are told."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from belated.errors import NotCommitted, StoreUnavailable

if TYPE_CHECKING:
    from belated.store.entry import Entry

After = Callable[[BaseException | None], None]
"""Is told why a batch failed, or None when it is committed."""

_LOG = logging.getLogger("belated")


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

    @property
    def has_snapshot(self) -> bool:
        """Whether there is a snapshot to write, which takes longer."""
        return any(snapshot is not None for *_, snapshot in self.added)

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
"""That of an event which was committed by itself."""


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
        _LOG.exception("what was to be called after a commit has raised")
