"""A store in a file of SQLite.

The file is in WAL mode with ``synchronous=FULL``: a commit returns after the write-ahead log was
flushed to the disk (``fdatasync``), so that what was answered survives a killed process, a crash of
the system and a loss of power, as far as the disk tells the truth. Rows of the log have the number
model * 2^40 + first event, so that those of a model lie side by side, in order.

One process has a store open at a time: it holds a lock (``flock``) on a file beside it, which the
system takes back when the process ends, however it ends. Others may read the file meanwhile.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from belated.errors import StoreError, StoreInUse
from belated.store.database import Described, Era, Note, Row, Saved

_APPLICATION = 0x62656C61  # "bela"
_VERSION = 1
_SHIFT = 40
_KEPT = 2  # snapshots of each model
_TABLES = """
CREATE TABLE models (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    spec BLOB NOT NULL,
    first INTEGER NOT NULL
);
CREATE TABLE eras (number INTEGER PRIMARY KEY, spec BLOB NOT NULL);
CREATE TABLE events (
    number INTEGER PRIMARY KEY,
    count INTEGER NOT NULL,
    written REAL NOT NULL,
    events BLOB NOT NULL
);
CREATE TABLE snapshots (number INTEGER PRIMARY KEY, snapshot BLOB NOT NULL);
CREATE TABLE notes (name TEXT PRIMARY KEY, written REAL NOT NULL, body BLOB NOT NULL);
"""
_ADD_ROW = "INSERT INTO events VALUES (?, ?, ?, ?)"
_ADD_SNAPSHOT = "INSERT OR REPLACE INTO snapshots VALUES (?, ?)"
_ADD_NOTE = "INSERT OR REPLACE INTO notes VALUES (?, ?, ?)"
_BEGINS = "name >= ? AND name < ? || char(1114111)"
_BETWEEN = "number BETWEEN ? AND ?"
_FETCHED = 10_000


class SQLite:
    """A database in one file; see ``belated.store.database.Database``."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(os.path.realpath(path))
        self.pragmas = {"journal_mode": "WAL", "synchronous": "FULL"}
        self._connection: sqlite3.Connection | None = None
        self._lock = _locked(self.path)
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> sqlite3.Connection:
        """Return the connection; one that failed was closed, and is opened again here."""
        if self._connection is None:
            with _said(f"{self.path}"):
                connection = sqlite3.connect(
                    self.path, isolation_level=None, check_same_thread=False, timeout=10.0
                )
                self._connection = connection
                _prepare(connection, self.path)
                for name, value in self.pragmas.items():
                    connection.execute(f"PRAGMA {name} = {value}")
        return self._connection

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit what is done inside, or leave everything as it was."""
        with self._failing() as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")

    @contextmanager
    def _failing(self) -> Iterator[sqlite3.Connection]:
        """Close the connection when something fails, so that the next one reads what is there."""
        connection = self._open()
        try:
            with _said(f"{self.path}"):
                yield connection
        except GeneratorExit:  # somebody has read enough
            raise
        except BaseException:
            self._connection = None
            with suppress(sqlite3.Error):
                connection.close()  # which rolls back
            raise

    # --- Writing --------------------------------------------------------------------------------

    def create(self, about: Described, rows: Iterable[Row], snapshots: Iterable[Saved]) -> int:
        """Add a model with a log; return its number, which no other ever had."""
        values = about.name, about.kind, about.spec, about.first
        with self._transaction() as connection:
            added = connection.execute(
                "INSERT INTO models (name, kind, spec, first) VALUES (?, ?, ?, ?)", values
            )
            number = int(added.lastrowid or 0)
            _add_eras(connection, number, about)
            connection.executemany(
                _ADD_ROW,
                ((_at(number, r.first), r.size, r.written, r.events) for r in rows),
            )
            connection.executemany(
                _ADD_SNAPSHOT, ((_at(number, s.length), s.blob) for s in snapshots)
            )
        return number

    def delete(self, model: int) -> None:
        """Remove a model with everything that belongs to it."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM models WHERE number = ?", (model,))
            for table in ("eras", "events", "snapshots"):
                connection.execute(f"DELETE FROM {table} WHERE {_BETWEEN}", _all(model))

    def write(
        self, rows: Iterable[Row], snapshots: Iterable[Saved], notes: Iterable[Note] = ()
    ) -> None:
        """Append to the logs of models, all or nothing; on disk when this returns."""
        kept = list(notes)
        new = [(_at(r.model, r.first), r.size, r.written, r.events) for r in rows]
        saved = [(s.model, s.length, s.blob) for s in snapshots]
        if (
            len(new) == 1 and not saved and not kept
        ):  # a statement alone is a transaction, and quicker
            with self._failing() as connection:
                connection.execute(_ADD_ROW, new[0])
            return
        with self._transaction() as connection:
            connection.executemany(_ADD_ROW, new)
            connection.executemany(_ADD_NOTE, kept)
            for model, length, blob in saved:
                connection.execute(_ADD_SNAPSHOT, (_at(model, length), blob))
                self._thin(connection, model)

    def _thin(self, connection: sqlite3.Connection, model: int) -> None:
        """Drop all snapshots of a model but the newest, and the one that its log begins with."""
        first = connection.execute("SELECT first FROM models WHERE number = ?", (model,))
        kept = connection.execute(
            f"SELECT number FROM snapshots WHERE {_BETWEEN} ORDER BY number DESC LIMIT {_KEPT}",
            _all(model),
        ).fetchall()
        oldest = kept[-1][0]
        connection.execute(
            f"DELETE FROM snapshots WHERE {_BETWEEN} AND number < ? AND number <> ?",
            (*_all(model), oldest, _at(model, first.fetchone()[0])),
        )

    def rebase(self, about: Described, saved: Saved) -> None:
        """Let a log begin with a snapshot: what is older goes, and ``about`` is written anew."""
        begin = _at(about.number, about.first)
        with self._transaction() as connection:
            self._describe(connection, about)
            connection.execute(_ADD_SNAPSHOT, (begin, saved.blob))
            for table in ("events", "snapshots"):
                connection.execute(
                    f"DELETE FROM {table} WHERE {_BETWEEN}", (_at(about.number, 0), begin - 1)
                )

    def respecify(self, about: Described, saved: Saved) -> None:
        """Write ``about`` anew, with one snapshot in the place of all."""
        with self._transaction() as connection:
            self._describe(connection, about)
            connection.execute(f"DELETE FROM snapshots WHERE {_BETWEEN}", _all(about.number))
            connection.execute(_ADD_SNAPSHOT, (_at(about.number, saved.length), saved.blob))

    def _describe(self, connection: sqlite3.Connection, about: Described) -> None:
        connection.execute(
            "UPDATE models SET spec = ?, first = ? WHERE number = ?",
            (about.spec, about.first, about.number),
        )
        connection.execute(f"DELETE FROM eras WHERE {_BETWEEN}", _all(about.number))
        _add_eras(connection, about.number, about)

    # --- Reading --------------------------------------------------------------------------------

    def models(self) -> list[Described]:
        """Return all models, in the order of their numbers."""
        with self._failing() as connection:
            found = connection.execute(
                "SELECT number, name, kind, spec, first FROM models ORDER BY number"
            ).fetchall()
            eras = connection.execute("SELECT number, spec FROM eras ORDER BY number").fetchall()
        of_models: dict[int, list[Era]] = {}
        for number, spec in eras:
            model = number >> _SHIFT
            of_models.setdefault(model, []).append(Era(number - _at(model, 0), spec))
        return [
            Described(number, name, kind, spec, first, tuple(of_models.get(number, ())))
            for number, name, kind, spec, first in found
        ]

    def rows(self, model: int, first: int) -> Iterator[Row]:
        """Return the rows of a model that hold events from ``first`` on."""
        begin, end = _at(model, first), _all(model)[1]
        with self._failing() as connection:
            before = connection.execute(
                f"SELECT max(number) FROM events WHERE {_BETWEEN}", (_at(model, 0), begin)
            ).fetchone()[0]
            cursor = connection.execute(
                f"SELECT number, count, written, events FROM events WHERE {_BETWEEN} "
                "ORDER BY number",
                (begin if before is None else before, end),
            )
            while found := cursor.fetchmany(_FETCHED):
                for number, count, written, events in found:
                    at = number - _at(model, 0)
                    if at + count > first:
                        yield Row(model, at, count, written, events)

    def last(self, model: int) -> Row | None:
        """Return the newest row of a model."""
        with self._failing() as connection:
            found = connection.execute(
                f"SELECT number, count, written, events FROM events WHERE {_BETWEEN} "
                "ORDER BY number DESC LIMIT 1",
                _all(model),
            ).fetchone()
        return None if found is None else Row(model, found[0] - _at(model, 0), *found[1:])

    def snapshots(self, model: int) -> Iterator[Saved]:
        """Return the snapshots of a model, the newest first."""
        with self._failing() as connection:
            numbers = connection.execute(
                f"SELECT number FROM snapshots WHERE {_BETWEEN} ORDER BY number DESC", _all(model)
            ).fetchall()
            for (number,) in numbers:
                (blob,) = connection.execute(
                    "SELECT snapshot FROM snapshots WHERE number = ?", (number,)
                ).fetchone()
                yield Saved(model, number - _at(model, 0), blob)

    def notes(self, prefix: str) -> list[Note]:
        """Return the notes whose names begin so, the oldest first."""
        with self._failing() as connection:
            found = connection.execute(
                f"SELECT name, written, body FROM notes WHERE {_BEGINS} ORDER BY written, name",
                (prefix, prefix),
            ).fetchall()
        return [Note(*each) for each in found]

    def forget(self, prefix: str, before: float) -> None:
        """Remove notes whose names begin so, and that were written before a time."""
        with self._transaction() as connection:
            connection.execute(
                f"DELETE FROM notes WHERE {_BEGINS} AND written < ?", (prefix, prefix, before)
            )

    def close(self) -> None:
        """Let go of the file and of the lock."""
        connection, self._connection = self._connection, None
        try:
            if connection is not None:
                connection.close()
        finally:
            os.close(self._lock)


def _at(model: int, event: int) -> int:
    return (model << _SHIFT) + event


def _all(model: int) -> tuple[int, int]:
    return _at(model, 0), _at(model + 1, 0) - 1


def _add_eras(connection: sqlite3.Connection, number: int, about: Described) -> None:
    connection.executemany(
        "INSERT INTO eras VALUES (?, ?)", ((_at(number, e.until), e.spec) for e in about.eras)
    )


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Make the tables of a new file; refuse one that is something else."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if (application, tables) == (0, 0):
        connection.executescript(
            f"BEGIN; {_TABLES} PRAGMA application_id = {_APPLICATION}; "
            f"PRAGMA user_version = {_VERSION}; COMMIT;"
        )
    elif application != _APPLICATION:
        raise StoreError(f"open: {path} is a database of something else; nothing has changed")
    elif version != _VERSION:
        raise StoreError(
            f"open: {path} is a store of version {version}, this version of belated reads version "
            f"{_VERSION}"
        )


def _locked(path: Path) -> int:
    """Return a lock on a store, for as long as the file is open."""
    beside = path.with_name(path.name + ".lock")
    try:
        lock = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise StoreError(f"open: {path}: {error.strerror}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.pread(lock, 20, 0).decode("ascii", "replace").strip()
        os.close(lock)
        raise StoreInUse(
            f"open: {path} is in use by process {holder or 'unknown'}, and one process writes a "
            "store; close it there, or talk to that process"
        ) from error
    os.truncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    return lock


@contextmanager
def _said(what: str) -> Iterator[None]:
    """Turn the errors of SQLite into ours."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"{what}: {error}") from error
