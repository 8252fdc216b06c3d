"""A store in a file of SQLite.

The file is in WAL mode with ``synchronous=FULL``: a commit returns after the write-ahead log was
flushed to the disk (``fdatasync``), so that what was answered survives a killed process, a crash of
the system and a loss of power, as far as the disk tells the truth. SQLite takes a damaged frame of
that log for its end.

One process has a store open at a time: it holds a lock (``flock``) on a file beside it, which the
system takes back when the process ends, however it ends. Others may read the file meanwhile.

SQLite writes to the files that it has opened, also after they were deleted, moved or replaced. So
before every commit it is checked that the paths of the store still lead to those files. If they do
not, the commit is refused. The connection stays open, so that the events can be exported.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakSet

from belated.errors import StoreClosed, StoreDamaged, StoreError, StoreInUse, StoreUnavailable
from belated.store.tables import ADD_ROW, MIGRATIONS, TABLES, VERSION, Execute, Tables, check_models

_APPLICATION = 0x62656C61  # "bela"
_FIRST = TABLES.format(
    number="INTEGER PRIMARY KEY AUTOINCREMENT", key="INTEGER PRIMARY KEY", blob="BLOB", real="REAL"
)


class SQLite(Tables):
    """A database in one file; see ``belated.store.tables``."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__()
        self.path = Path(os.path.realpath(path))
        self.pragmas: dict[str, Any] = {"journal_mode": "WAL", "synchronous": "FULL"}
        self._connection: sqlite3.Connection | None = None
        self._log = f"{self.path}-wal"
        self._files: dict[str, _File] = {}  # the files that are open, by their paths
        self._size = 0  # of the database when it was last checked
        self._name = str(self.path)
        beside = _lock_of(self.path)
        was_there = beside.exists()
        self._lock: int | None = _locked(self.path)
        _HERE.add(self)
        try:
            self._open()
        except BaseException:
            if not was_there:  # as what lies there may be no store
                beside.unlink(missing_ok=True)
            self.close()
            raise

    def _open(self) -> sqlite3.Connection:
        """Return the connection; one that failed was closed, and is opened again here."""
        if self._lock is None:
            raise StoreClosed(f"{self.path} is closed, or belongs to the process before a fork")
        if self._connection is None:
            name = str(self.path)  # SQLite has deleted the log with the connection before
            self._files = {name: self._files[name]} if name in self._files else {}
            self.check()  # a store whose file was deleted must not become a new one
            try:
                self._connection = sqlite3.connect(
                    self.path, isolation_level=None, check_same_thread=False, timeout=10.0
                )
            except sqlite3.Error as error:
                raise self._ours(error) from error
            with self._reading() as execute:
                execute("PRAGMA trusted_schema = OFF")
                _prepare(self._connection, self.path)
                for pragma, value in self.pragmas.items():
                    execute(f"PRAGMA {pragma} = {value}")
                execute("SELECT 1 FROM models")  # which makes the write-ahead log
                found = {path: os.stat(path) for path in (name, self._log)}
                self._files = {path: (each.st_dev, each.st_ino) for path, each in found.items()}
        return self._connection

    def check(self) -> None:
        """Raise ``StoreUnavailable`` if a file was deleted, moved, replaced or truncated."""
        for path, opened in self._files.items():
            try:
                found = os.stat(path)
            except OSError as error:
                raise StoreUnavailable(f"{path}: {error.strerror}; {_PUT_BACK}") from error
            if (found.st_dev, found.st_ino) != opened:
                raise StoreUnavailable(f"{path} was replaced by another file; {_PUT_BACK}")
            if path == self._name:  # only ``_vacuum`` lets the database shrink
                if found.st_size < self._size:
                    raise StoreUnavailable(f"{path} was truncated; {_PUT_BACK}")
                self._size = found.st_size

    @contextmanager
    def _transaction(self, is_long: bool = False) -> Iterator[Execute]:
        self._open()
        self.check()  # if it fails, the connection stays open for reading
        with self._reading() as execute:
            execute("BEGIN IMMEDIATE")
            yield execute
            execute("COMMIT")

    @contextmanager
    def _reading(self) -> Iterator[Execute]:
        connection = self._open()
        try:
            yield lambda text, values=(): connection.execute(text, values).fetchall()
        except BaseException as error:
            self._fail(error)
            raise

    def _add_row(self, row: tuple[Any, ...]) -> None:
        connection = self._connection or self._open()
        self.check()
        try:  # without a context, which takes longer
            connection.execute(ADD_ROW, row)
        except BaseException as error:
            self._fail(error)
            raise

    def _vacuum(self) -> None:
        """Write the file anew, and empty the write-ahead log."""
        self.check()
        name, self._name = self._name, ""  # the file may become shorter
        try:
            with self._reading() as execute:
                execute("VACUUM")
                ((is_busy, *_),) = execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            self._size, self._name = 0, name
        if is_busy:
            raise StoreUnavailable(
                f"{self.path}: another process reads the file, so that erased bytes stay in its "
                "write-ahead log: end that process, and erase the key again"
            )

    def _fail(self, error: BaseException) -> None:
        """Close the connection, which rolls back; an error of SQLite becomes ours."""
        connection, self._connection = self._connection, None
        if connection is not None:
            _close(connection)
        if isinstance(error, sqlite3.Error):
            raise self._ours(error) from error

    def _ours(self, error: sqlite3.Error) -> StoreError:
        if isinstance(error, sqlite3.OperationalError):  # of the disk, and maybe not for long
            is_full = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
            return StoreUnavailable(f"{self.path}: {error}", is_full)
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
            return StoreDamaged(f"{self.path}: {error}; if save wrote it, read it with bl.load")
        return StoreDamaged(f"{self.path}: {error}")

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            _close(connection)
        if self._lock is not None:  # also where a process that was just forked has it still
            fcntl.flock(self._lock, fcntl.LOCK_UN)
        self._let_go()

    def _let_go(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)

    def forked(self) -> None:
        """Leave everything to the process that this one was forked from.

        The connection is not closed, as that would meddle with a file that the other one uses.
        """
        _LEFT.append(self._connection)
        self._connection = None
        self._let_go()


_File = tuple[int, int]
"""The device and the inode of a file."""
_PUT_BACK = (
    "the store is not written until the files that it has opened are back at their paths (its "
    "models can be exported meanwhile), or it is opened anew"
)


_HERE: WeakSet[SQLite] = WeakSet()  # the databases of this process
_LEFT: list[Any] = []  # connections of the process before


def _after_fork() -> None:
    for database in list(_HERE):
        database.forked()
    _HERE.clear()


os.register_at_fork(after_in_child=_after_fork)


def _close(connection: sqlite3.Connection) -> None:
    """Close a connection, which rolls back; once more does no harm."""
    with suppress(sqlite3.Error):
        connection.close()


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Make the tables of a new file; refuse one that is something else."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    found = _schema(connection)
    if (application, found) == (0, set()):
        version = 0
    elif application != _APPLICATION:
        raise StoreError(f"open: {path} is a database of something else; nothing has changed")
    elif version != VERSION and version + 1 not in MIGRATIONS:
        raise StoreError(
            f"open: {path} is a store of version {version}, this version of belated reads versions "
            f"{min(MIGRATIONS) - 1} to {VERSION}"
        )
    elif found != _expected(version):
        raise StoreError(
            f"open: {path} has tables, triggers or views that no store makes, and they could do "
            "anything; nothing has changed"
        )
    if version < VERSION:
        if version:
            check_models((spec for (spec,) in connection.execute("SELECT spec FROM models")), path)
        connection.executescript(
            f"BEGIN; {_steps(version, VERSION)} PRAGMA application_id = {_APPLICATION}; "
            f"PRAGMA user_version = {VERSION}; COMMIT;"
        )


def _steps(before: int, version: int) -> str:
    migrations = [text for to, text in MIGRATIONS.items() if before < to <= version]
    return "".join([_FIRST, *migrations] if before == 0 else migrations)


def _schema(connection: sqlite3.Connection) -> set[tuple[str, str, str]]:
    rows = connection.execute("SELECT type, name, coalesce(sql, '') FROM sqlite_master").fetchall()
    own = ("table", "index")  # SQLite reserves these names
    return {row for row in rows if not (row[0] in own and row[1].startswith("sqlite_"))}


@cache
def _expected(version: int) -> set[tuple[str, str, str]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_steps(0, version))
        return _schema(connection)


def _lock_of(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


def _locked(path: Path) -> int:
    """Return a lock on a store, for as long as the file is open."""
    if path.is_dir():
        raise StoreError(f"open: {path} is a folder; a store is a file: give the path of one")
    beside = _lock_of(path)
    try:
        if path.exists() and path.stat().st_nlink > 1:
            raise StoreError(
                f"open: {path} has other names (hard links), under which another process could "
                "write it; nothing has changed: remove them"
            )
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


def backup(path: str | os.PathLike[str], to: str | os.PathLike[str]) -> int:
    """Copy a store to a new file, also while another process writes it; return the size."""
    source, target = Path(path), Path(to)
    if not source.is_file():
        raise StoreError(f"backup: there is no file {source}")
    try:
        target.open("xb").close()
        with closing(sqlite3.connect(source)) as reader, closing(sqlite3.connect(target)) as copy:
            (application,) = reader.execute("PRAGMA application_id").fetchone()
            if application != _APPLICATION:
                raise StoreError("it is no store")
            reader.backup(copy)
        return target.stat().st_size
    except FileExistsError:
        raise StoreError(f"backup: {target} is there already; nothing has changed") from None
    except (OSError, sqlite3.Error, StoreError) as error:
        target.unlink(missing_ok=True)
        raise StoreError(f"backup: {source}: {error}") from error
