"""What a store asks of a database: rows of events and snapshots, in transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol


class Era(NamedTuple):
    """Events that were played by a model of other settings."""

    until: int
    """Number of the event after the last of them."""
    spec: bytes


@dataclass
class Described:
    """What is known of a model apart from its log."""

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
    is_deleted: bool = False

    @property
    def replayed(self) -> int:
        """How many events a model with other settings played."""
        return self.eras[-1].until if self.eras else 0


class Row(NamedTuple):
    """What one commit wrote of one model."""

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


class Saved(NamedTuple):
    """A snapshot of a model, taken when it had so many events."""

    model: int
    length: int
    blob: bytes
    """What it holds; as it is read, with a head (``belated.store.events.opened_snapshot``)."""


class Readable(Protocol):
    """What has the rows of logs."""

    def rows(self, model: int, first: int) -> Iterator[Row]:
        """Return the rows of a model that hold events from ``first`` on."""


class Source(Readable, Protocol):
    """What has all that a model is built from."""

    def snapshots(self, model: int) -> Iterator[Saved]:
        """Return the snapshots of a model, the newest first."""


class Database(Source, Protocol):
    """The truth. Every method is one transaction; one thread at a time uses it."""

    lost: Callable[[], None]
    """Is called when the connection is lost, and with it what was held."""

    broken: Callable[[int | None], None]
    """Is called, by another thread, with the session whose connection is dead."""

    is_shared: bool
    """Whether others may write other models at the same time."""

    def check(self) -> None:
        """Raise ``StoreUnavailable`` if the database cannot be written at the moment.

        It does not wait, and any thread may call it.
        """

    @property
    def clock(self) -> float:
        """The time that all processes agree on which share it, in seconds since 1970."""

    def is_alive(self, address: str) -> bool:
        """Tell whether a process at an address that has models is alive, as far as is known."""

    def disconnect(self, session: int | None) -> None:
        """Give up the connection of a session, and all that is held, where it is shared."""

    def numbers(self) -> dict[str, int]:
        """Return the names and numbers of all models."""

    def described(self, model: int) -> Described | None:
        """Return what is known of a model; None if there is none."""

    def end(self, model: int) -> int:
        """Return the number of the event after the last row of a log; 0 if it has no rows."""

    def create(
        self, about: Described, rows: Iterable[Row], snapshots: Iterable[Saved]
    ) -> int | None:
        """Add a model with a log; return its number, which no other ever had.

        None: there is a model of that name, which another process has just made.
        """

    def delete(self, model: int, notes: Iterable[Note] = ()) -> None:
        """Remove a model with everything that belongs to it, and keep notes of that."""

    def write(
        self, rows: Sequence[Row], snapshots: Sequence[Saved], notes: Sequence[Note] = ()
    ) -> None:
        """Append to the logs of models, all or nothing; on disk when this returns."""

    def notes(self, prefix: str) -> list[Note]:
        """Return the notes whose names begin so, the oldest first."""

    def keep_first(self, note: Note) -> bytes:
        """Keep a note unless there is one of that name; return the body of the one that is kept."""

    def forget(self, prefix: str, before: float) -> None:
        """Remove notes whose names begin so, and that were written before a time."""

    def rebase(self, about: Described, saved: Saved) -> None:
        """Let a log begin with a snapshot: what is older goes, and ``about`` is written anew."""

    def respecify(self, about: Described, saved: Saved) -> None:
        """Write ``about`` anew, with one snapshot in the place of all."""

    def mark(self, lengths: Mapping[int, int]) -> None:
        """Note how many events models have at least, by their numbers."""

    def hold(self, model: int) -> None:
        """Become the writer of a model until the end, or raise ``StoreInUse``."""

    def release(self, model: int) -> None:
        """Let another one write a model."""

    def close(self) -> None:
        """Let go of everything."""
