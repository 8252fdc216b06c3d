"""The interface of databases: models, rows of events, snapshots and notes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol


class Era(NamedTuple):
    """Events that were played by a model of other settings."""

    until: int
    """Number of the event after the last of them."""
    spec: bytes


@dataclass
class Described:
    """The description of a model, without its log."""

    number: int
    name: str
    kind: str
    spec: bytes
    """Snapshot of the model as it was when it was put into the store."""
    first: int
    """Events before this one are compacted: the log begins with a snapshot."""
    eras: tuple[Era, ...] = ()
    """Times when it had other settings, the oldest first."""
    has_rule: bool = False
    """Whether it has a rule of the user's own, which must be given again."""
    length: int = 0
    """Events that its log has at least: with fewer, some were lost."""
    erased: int = 0
    """Events before this one are kept for readers; the state after them is that of a snapshot."""
    tickets: int | None = None
    """Tickets handed out before ``first``; None: those of the snapshot at ``first``."""
    is_deleted: bool = False

    @property
    def base(self) -> int:
        """The event at which the oldest snapshot stands that recovery can begin with."""
        return max(self.first, self.erased)

    @property
    def replayed(self) -> int:
        return self.eras[-1].until if self.eras else 0

    def eras_until(self, length: int) -> tuple[Era, ...]:
        """Return the eras of a model whose settings change, or are played anew, after an event."""
        return (*self.eras, Era(length, self.spec)) if length > self.replayed else self.eras

    def take(self, now: Described) -> None:
        """Take what has changed; number and name are the same."""
        vars(self).update(vars(now))


class Row(NamedTuple):
    """The rows that one commit wrote for one model."""

    model: int
    first: int
    """Number of its first event."""
    size: int
    """How many there are."""
    written: float
    """Seconds since 1970."""
    events: bytes


class Note(NamedTuple):
    """Something beside the models, under a name: what a server has to remember."""

    name: str
    written: float
    """Seconds since 1970."""
    body: bytes
    event: int | None = None
    """Number of the row of the event that it was committed with, if there is one."""
    size: int | None = None
    """How many events it was committed with."""


class Saved(NamedTuple):
    """A snapshot of a model, taken when it had so many events."""

    model: int
    length: int
    blob: bytes
    """The snapshot; as it is read, with a head (``belated.store.events.unseal_snapshot``)."""


class Readable(Protocol):
    """A reader of log rows."""

    def rows(self, model: int, first: int) -> Iterator[Row]:
        """Return the rows of a model that hold events from ``first`` on."""


class Source(Readable, Protocol):
    """A reader of log rows, snapshots and descriptions."""

    def snapshots(self, model: int) -> Iterator[Saved]:
        """Return the snapshots of a model, the newest first."""
