"""The tables of a store, in SQL that SQLite and PostgreSQL have in common.

Rows of events and snapshots have the number model * 2^40 + event, so that those of a model lie side
by side, in order.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from time import time
from typing import Any

from belated import sealed
from belated.errors import SnapshotError, StoreDamaged, StoreError
from belated.store.database import Described, Era, Note, Row, Saved
from belated.store.events import move_row, seal_snapshot

TABLES = """
CREATE TABLE models (
    number {number},
    name TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    spec {blob} NOT NULL,
    first BIGINT NOT NULL,
    rule BIGINT NOT NULL,
    length BIGINT NOT NULL
);
CREATE TABLE eras (number {key}, spec {blob} NOT NULL);
CREATE TABLE events (
    number {key},
    size BIGINT NOT NULL,
    written {real} NOT NULL,
    events {blob} NOT NULL
);
CREATE TABLE snapshots (number {key}, snapshot {blob} NOT NULL);
CREATE TABLE notes (name TEXT PRIMARY KEY, written {real} NOT NULL, body {blob} NOT NULL);
"""
MIGRATIONS = {
    4: """
ALTER TABLE models ADD COLUMN erased BIGINT NOT NULL DEFAULT 0;
ALTER TABLE models ADD COLUMN tickets BIGINT;
ALTER TABLE notes ADD COLUMN event BIGINT;
ALTER TABLE notes ADD COLUMN size BIGINT;
""",
}
"""SQL that migrates from the version before; a new store runs ``TABLES`` and all of them."""
VERSION = max(MIGRATIONS)


def check_models(specs: Iterable[bytes], where: object) -> None:
    """Refuse to migrate a store whose models this version of belated cannot read."""
    try:
        for spec in specs:
            sealed.kind_of(bytes(spec))
    except SnapshotError as error:
        raise StoreError(
            f"open: {where} has models of another version of belated ({error}); nothing has changed"
        ) from error


ADD_ROW = "INSERT INTO events VALUES (?, ?, ?, ?)"
_ADD_MODEL = (
    "INSERT INTO models (name, kind, spec, first, rule, length, erased, tickets) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO NOTHING RETURNING number"
)
_DESCRIBE = (
    "UPDATE models SET spec = ?, first = ?, rule = ?, erased = ?, tickets = ? WHERE number = ?"
)
_MARK = "UPDATE models SET length = ? WHERE number = ? AND length < ?"
_ADD_SNAPSHOT = (
    "INSERT INTO snapshots VALUES (?, ?) "
    "ON CONFLICT (number) DO UPDATE SET snapshot = excluded.snapshot"
)
_ADD_FIRST = "INSERT INTO notes VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO "
_ADD_NOTE = (
    f"{_ADD_FIRST} UPDATE SET written = excluded.written, body = excluded.body, "
    "event = excluded.event, size = excluded.size"
)
_BEGINS = "substr(name, 1, ?) = ?"
_BETWEEN = "BETWEEN ? AND ?"
_SHIFT = 40
LARGEST = (1 << _SHIFT) - 1
"""The largest number of an event."""
_KEPT = 2  # snapshots of each model
_FETCHED = 10_000
_CLEANING = "store:cleaning"  # the note that erased bytes may still be in the files

Execute = Callable[..., list[tuple[Any, ...]]]
"""Runs a statement with its values, and returns the rows that it gives."""


class Tables(ABC):
    """A database with these tables; only the writer thread uses it (``belated.store.writer``).

    Every method is one transaction. A failure closes the connection, so that the next one reads
    what is there. Those that say nothing of other processes matter where the database is shared.
    """

    lost: Callable[[], None]
    """Is called when the connection to a shared database is lost, and with it what was held."""
    post: Callable[[Callable[[], None]], None]
    """Has the writer thread run a function."""
    is_shared = False
    """Whether others may write other models at the same time."""

    def __init__(self) -> None:
        self.lost, self.post = (lambda: None), (lambda _: None)

    @abstractmethod
    def _transaction(self, is_long: bool = False) -> AbstractContextManager[Execute]:
        """Commit what is done inside, or leave everything as it was.

        A statement of one that ``is_long`` may take as long as it takes.
        """

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Execute]:
        """Read, statement by statement."""

    @abstractmethod
    def _add_row(self, row: tuple[Any, ...]) -> None:
        """Add one row of events, and commit."""

    @abstractmethod
    def _vacuum(self) -> None:
        """Remove the bytes of deleted rows from the files of the database."""

    @abstractmethod
    def check(self) -> None:
        """Raise ``StoreUnavailable`` if the database cannot be written now; any thread may ask."""

    @abstractmethod
    def close(self) -> None:
        """Let go of everything."""

    # --- Other processes, where the database is shared ------------------------------------------

    @property
    def clock(self) -> float:
        """The time that all processes agree on which share it, in seconds since 1970."""
        return time()

    def is_alive(self, address: str) -> bool:
        """Tell whether a process at an address that has models is alive, as far as is known."""
        return True

    def hold(self, model: int) -> None:  # noqa: B027
        """Become the writer of a model until the end, or raise ``StoreInUse``."""

    def release(self, model: int) -> None:  # noqa: B027
        """Let another process write a model."""

    def _disown(self, execute: Execute, model: int) -> None:  # noqa: B027
        """Remove the record of the owner of a model."""

    # --- Writing --------------------------------------------------------------------------------

    def create(
        self, about: Described, rows: Iterable[Row], snapshots: Iterable[Saved]
    ) -> int | None:
        """Add a model with a log; return its number, which no other ever had.

        None: there is a model of that name, which another process has just made.
        """
        values = about.name, about.kind, about.spec, about.first, int(about.has_rule), about.first
        with self._transaction() as execute:
            added = execute(_ADD_MODEL, (*values, about.erased, about.tickets))
            if not added:
                return None
            ((number,),) = added
            _add_eras(execute, number, about)
            length = about.first
            for row in rows:
                _, first, *rest = move_row(row, number)
                execute(ADD_ROW, (at(number, first), *rest))
                length = first + row.size
            for saved in snapshots:
                _save(execute, number, saved)
            execute(_MARK, (length, number, length))
        return int(number)

    def delete(self, model: int, notes: Iterable[Note] = ()) -> None:
        """Remove a model with everything that belongs to it, and keep notes of that."""
        with self._transaction(is_long=True) as execute:
            for note in notes:
                execute(_ADD_NOTE, tuple(note))
            execute("DELETE FROM models WHERE number = ?", (model,))
            for table in ("eras", "events", "snapshots"):
                execute(f"DELETE FROM {table} WHERE number {_BETWEEN}", _all(model))
            self._disown(execute, model)

    def write(
        self, rows: Sequence[Row], snapshots: Sequence[Saved], notes: Sequence[Note] = ()
    ) -> None:
        """Append to the logs of models, all or nothing; on disk when this returns."""
        if len(rows) == 1 and not snapshots and not notes:  # a transaction by itself, and quicker
            model, first, *rest = rows[0]
            self._add_row((at(model, first), *rest))
            return
        with self._transaction() as execute:
            for model, first, *rest in rows:
                execute(ADD_ROW, (at(model, first), *rest))
            for note in notes:
                execute(_ADD_NOTE, tuple(note))
            for saved in snapshots:
                _save(execute, saved.model, saved)
                _thin(execute, saved.model)

    def mark(self, lengths: Mapping[int, int]) -> None:
        with self._transaction() as execute:
            for model, length in lengths.items():
                execute(_MARK, (length, model, length))

    def restate(
        self,
        about: Described,
        saved: Saved | None,
        erased: tuple[Iterable[Row], Iterable[str]] | None = None,
    ) -> None:
        """Write ``about`` anew, and a snapshot in place of all before it.

        Events before ``about.first`` go. ``erased`` are rows to be written anew, and the names of
        notes to be emptied; ``clean`` has to follow.
        """
        rows, names = erased or ((), ())
        number, begin = about.number, at(about.number, 0)
        values = about.spec, about.first, int(about.has_rule), about.erased, about.tickets
        with self._transaction(is_long=True) as execute:
            for row in rows:
                place = at(number, row.first)
                execute("UPDATE events SET events = ? WHERE number = ?", (row.events, place))
            for name in names:
                execute("UPDATE notes SET body = ? WHERE name = ?", (b"", name))
            if erased is not None:
                execute(_ADD_NOTE, tuple(Note(_CLEANING, time(), b"")))
            execute(_DESCRIBE, (*values, number))
            execute(f"DELETE FROM eras WHERE number {_BETWEEN}", _all(number))
            _add_eras(execute, number, about)
            end = at(number, about.first) - 1
            execute(f"DELETE FROM events WHERE number {_BETWEEN}", (begin, end))
            if saved is not None:
                end = at(number, saved.length)
                execute(f"DELETE FROM snapshots WHERE number {_BETWEEN}", (begin, end))
                _save(execute, number, saved)

    def clean(self) -> None:
        """Remove the bytes of what was erased, also by a process that was killed meanwhile."""
        if self.notes(_CLEANING):
            self._vacuum()
            self.forget(_CLEANING, math.inf)

    def keep_first(self, note: Note) -> bytes:
        """Keep a note unless there is one of that name; return the body of the one that is kept."""
        with self._transaction() as execute:
            execute(f"{_ADD_FIRST} NOTHING", tuple(note))
            ((body,),) = execute("SELECT body FROM notes WHERE name = ?", (note.name,))
        return bytes(body)

    def forget(self, prefix: str, before: float) -> None:
        """Remove notes whose names begin so, and that were written before a time."""
        with self._transaction() as execute:
            execute(
                f"DELETE FROM notes WHERE {_BEGINS} AND written < ?", (len(prefix), prefix, before)
            )

    # --- Reading --------------------------------------------------------------------------------

    def _read(self, text: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with self._reading() as execute:
            return execute(text, values)

    def notes(self, prefix: str) -> list[Note]:
        """Return the notes whose names begin so, the oldest first."""
        text = f"SELECT * FROM notes WHERE {_BEGINS} ORDER BY written, name"
        found = self._read(text, (len(prefix), prefix))
        return [Note(name, written, bytes(body), *rest) for name, written, body, *rest in found]

    def notes_with(self, model: int, events: AbstractSet[int], key: str) -> list[str]:
        """Return the names of a model's notes that name a key or belong to one of these events."""
        begin, text = at(model, 0), json.dumps(key)[1:-1].encode()
        quoted = b"'%b'" % text, b'"%b"' % text
        return [
            name
            for name, row, size, body in self._read(
                f"SELECT name, event, size, body FROM notes WHERE event {_BETWEEN}", _all(model)
            )
            if not events.isdisjoint(range(row - begin, row - begin + size))
            or any(each in bytes(body) for each in quoted)
        ]

    def numbers(self) -> dict[str, int]:
        return dict(self._read("SELECT name, number FROM models"))

    def described(self, model: int) -> Described | None:
        """Return what is known of a model; None if there is none."""
        found = self._read(
            "SELECT number, name, kind, spec, first, rule, length, erased, tickets FROM models "
            "WHERE number = ?",
            (model,),
        )
        if not found:
            return None
        text = f"SELECT number, spec FROM eras WHERE number {_BETWEEN} ORDER BY number"
        past = tuple(Era(era - at(model, 0), spec) for era, spec in self._read(text, _all(model)))
        number, name, kind, spec, first, rule, length, erased, tickets = found[0]
        is_sound = isinstance(kind, str) and isinstance(name, str) and isinstance(spec, bytes)
        if not (is_sound and all(map(_is_event, (first, length, erased, tickets or 0)))):
            raise StoreDamaged(f"what is said of model {name!r} is damaged")
        return Described(number, name, kind, spec, first, past, bool(rule), length, erased, tickets)

    def end(self, model: int) -> int:
        """Return the number of the event after the last row of a log; 0 if it has no rows."""
        text = f"SELECT number, size FROM events WHERE number {_BETWEEN} ORDER BY number DESC"
        found = self._read(f"{text} LIMIT 1", _all(model))
        return sum(found[0]) - at(model, 0) if found else 0

    def rows(self, model: int, first: int) -> Iterator[Row]:
        """Return the rows of a model that hold events from ``first`` on."""
        text = f"SELECT max(number) FROM events WHERE number {_BETWEEN}"
        ((before,),) = self._read(text, (at(model, 0), at(model, first)))
        begin, end = at(model, first) if before is None else before, _all(model)[1]
        text = f"SELECT * FROM events WHERE number {_BETWEEN} ORDER BY number LIMIT {_FETCHED}"
        found = self._read(text, (begin, end))
        while found:
            for number, size, written, events in found:
                place = number - at(model, 0)
                if type(size) is not int or not 0 < size <= LARGEST - place:
                    raise StoreDamaged(f"a row of the log, from event {place} on, is damaged")
                if place + size > first:
                    yield Row(model, place, size, written, events)
            found = self._read(text, (found[-1][0] + 1, end)) if len(found) == _FETCHED else []

    def snapshots(self, model: int) -> Iterator[Saved]:
        text = f"SELECT number FROM snapshots WHERE number {_BETWEEN} ORDER BY number DESC"
        for (number,) in self._read(text, _all(model)):
            for (blob,) in self._read("SELECT snapshot FROM snapshots WHERE number = ?", (number,)):
                yield Saved(model, number - at(model, 0), blob)


def at(model: int, event: int) -> int:
    return (model << _SHIFT) + event


def _is_event(number: Any) -> bool:
    return type(number) is int and 0 <= number <= LARGEST


def _all(model: int) -> tuple[int, int]:
    return at(model, 0), at(model + 1, 0) - 1


def _add_eras(execute: Execute, number: int, about: Described) -> None:
    for era in about.eras:
        execute("INSERT INTO eras VALUES (?, ?)", (at(number, era.until), era.spec))


def _save(execute: Execute, number: int, saved: Saved) -> None:
    execute(_ADD_SNAPSHOT, (at(number, saved.length), seal_snapshot(number, saved)))
    execute(_MARK, (saved.length, number, saved.length))


def _thin(execute: Execute, model: int) -> None:
    """Drop all snapshots of a model but the newest, and the one that recovery begins with."""
    ((first, erased),) = execute("SELECT first, erased FROM models WHERE number = ?", (model,))
    kept = execute(
        f"SELECT number FROM snapshots WHERE number {_BETWEEN} ORDER BY number DESC LIMIT {_KEPT}",
        _all(model),
    )
    execute(
        f"DELETE FROM snapshots WHERE number {_BETWEEN} AND number < ? AND number <> ?",
        (*_all(model), kept[-1][0], at(model, max(first, erased))),
    )
