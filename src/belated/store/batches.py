"""What is committed together, and how those who wait for it are told."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from belated.errors import NotCommitted

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


class Batch:
    """What is committed together."""

    __slots__ = ("after", "error", "is_done", "notes", "parts", "waiting")

    def __init__(self) -> None:
        self.parts: dict[Entry, Part] = {}
        self.notes: dict[str, bytes] = {}
        """What is kept beside the models, by name."""
        self.after: list[After] = []
        self.waiting: list[threading.Lock] = []
        """Locks that callers wait at; who commits the batch opens them."""
        self.is_done = False
        self.error: BaseException | None = None

    @property
    def is_used(self) -> bool:
        """Whether there is anything to commit, or anyone who waits for it."""
        return bool(self.parts or self.notes or self.after or self.waiting)


def done() -> Batch:
    """Return a batch of nothing, which is committed."""
    batch = Batch()
    batch.is_done = True
    return batch


COMMITTED = done()
"""That of an event which was committed by itself."""


def lost(error: BaseException) -> NotCommitted:
    """Return what is raised for an event that was lost."""
    return NotCommitted(f"the event could not be committed, and does not count: {error}")


def open_gate(gate: threading.Lock) -> None:
    """Let the one go on who waits at a lock; once more does no harm."""
    try:  # the quickest way to say it, for every event there is
        gate.release()
    except RuntimeError:
        return


def tell(batches: list[Batch]) -> None:
    """Let those go on who wait for batches that are done."""
    for batch in batches:
        for gate in batch.waiting:
            open_gate(gate)
    for batch in batches:
        while batch.after:
            call_after(batch.after.pop(0), batch.error)
        batch.parts = {}  # models know their newest batch, and it need not know them, or keep all


def call_after(after: After, error: BaseException | None) -> None:
    """Tell one who did not wait; what goes wrong there is no matter of those who commit."""
    try:
        after(error)
    except Exception:
        _LOG.exception("what was to be called after a commit has raised")
