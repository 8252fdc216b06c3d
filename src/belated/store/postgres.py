"""A store in a database of PostgreSQL, which several processes share.

Every model has one writer at a time: the process whose session holds the advisory lock of the
model. Events are written by that very session, so a process that has lost the lock, with its
connection, cannot write any more. Should two ever write the same event, the primary key of the log
refuses the second. Beside its lock a process writes its address, so that others can forward
requests for the model.

The lock ends with the session: at once when the process is killed, and after some seconds when the
process is stopped, or its machine has lost its network (``belated.store.heartbeat``). The next
process that asks for the model gets it, and builds it from snapshot and log.

No wait is unlimited. Connections that are dead are noticed by both sides after five seconds; locks,
statements and idle transactions have limits.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from time import monotonic, sleep
from typing import Any
from urllib.parse import urlsplit

from belated.errors import MissingExtra, StoreDamaged, StoreError, StoreInUse, StoreUnavailable
from belated.store.database import Note, Row, Saved
from belated.store.heartbeat import CLOCK, LIMIT, LOCKS, Heartbeat
from belated.store.tables import ADD_ROW, MIGRATIONS, TABLES, VERSION, Execute, Tables, check_models

_CLASS = 0x62656C61  # "bela", among the advisory locks
_SETTING_UP = 0
_PATIENCE = 2.0  # seconds that the server may take to end a session
_MOMENT = 1.0  # seconds at most between getting the lock of a model and writing the owner
_FIRST = TABLES.format(
    number="BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    key="BIGINT PRIMARY KEY",
    blob="BYTEA",
    real="DOUBLE PRECISION",
)
_VERSIONS = range(min(MIGRATIONS) - 1, VERSION + 1)
_COMMENT = "a store, version {}"
_OWNERS = (
    "CREATE TABLE IF NOT EXISTS belated.owners "
    "(model BIGINT PRIMARY KEY, pid BIGINT NOT NULL, address TEXT)"
)
# Of connections, where the URL has nothing else. A connection is dead if nothing is heard for 5 s.
_PARAMETERS = {
    "connect_timeout": 4,
    "keepalives": 1,
    "keepalives_idle": 2,
    "keepalives_interval": 1,
    "keepalives_count": 3,
    "tcp_user_timeout": 5000,
    "fallback_application_name": "belated",
}
# The same as seen from the server. Deletions of whole logs take longer (``_transaction``).
_SESSION = f"""
SET search_path = belated;
SET idle_session_timeout = '{LIMIT} s';
SET idle_in_transaction_session_timeout = '{LIMIT} s';
SET synchronous_commit = on;
SET tcp_keepalives_idle = 2;
SET tcp_keepalives_interval = 1;
SET tcp_keepalives_count = 3;
SET tcp_user_timeout = 5000;
SET lock_timeout = '10s';
SET statement_timeout = '60s';
SELECT set_config(name, '2s', false)
    FROM pg_settings WHERE name = 'client_connection_check_interval';
"""


class PostgreSQL(Tables):
    """A database behind a URL; see ``belated.store.tables``."""

    is_shared = True

    def __init__(self, url: str, address: str | None = None) -> None:
        super().__init__()
        try:
            import psycopg
        except ImportError:
            raise MissingExtra("psycopg", extra="postgres", where="a store in PostgreSQL") from None
        parts = urlsplit(url)
        self.where = f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"
        self._url, self._address, self._driver = url, address, psycopg
        self._connection: Any = None
        self._socket: socket.socket | None = None  # of the connection, to break it
        self._held: set[int] = set()
        self._lost: dict[int, int] = {}  # models, and the session that held them until it broke
        self.pid: int | None = None
        self._is_touched = False
        self._heartbeat: Heartbeat | None = None
        clock = self._reconnect()
        self._heartbeat = Heartbeat(self, self.where, clock)

    def _open(self) -> Any:
        """Return the connection; one that failed was closed, and is opened again here."""
        if self._connection is None:
            self.check()
            self._reconnect()
        return self._connection

    def _reconnect(self) -> float:
        """Open the connection; return the time of the database, in seconds since 1970."""
        try:
            self._connection = self.connect()
        except self._driver.Error as error:
            raise StoreUnavailable(f"open: {self.where}: {_said(error)}") from error
        with self._connected() as connection:
            self._socket = socket.socket(fileno=os.dup(connection.fileno()))
            self._prepare(connection)
            self.pid, clock = connection.execute(f"SELECT pg_backend_pid(), {CLOCK}").fetchone()
        return float(clock)

    def connect(self) -> Any:
        parameters = {**_PARAMETERS, **self._driver.conninfo.conninfo_to_dict(self._url)}
        connection = self._driver.connect(autocommit=True, **parameters)
        try:
            connection.execute(_SESSION)
        except BaseException:
            connection.close()
            raise
        return connection

    def check(self) -> None:
        if self._heartbeat is not None:
            self._heartbeat.check()

    def interrupt(self) -> None:
        """Break the connection, from any thread, so that a call that uses it fails."""
        handle = self._socket
        if handle is not None:
            with suppress(OSError):  # also if it was closed since
                handle.shutdown(socket.SHUT_RDWR)

    def touch(self) -> None:
        """Have the writer use the session, from any thread, so that it is not idle."""
        if not self._is_touched:
            self._is_touched = True
            self.post(self._use)

    def _use(self) -> None:
        self._is_touched = False
        if self._connection is not None:
            with suppress(StoreError), self._reading() as execute:
                execute("SELECT 1")

    def _prepare(self, connection: Any) -> None:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (_CLASS, _SETTING_UP))
            comment = connection.execute(
                "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace "
                "WHERE nspname = 'belated'"
            ).fetchone()
            if comment is None:
                connection.execute("CREATE SCHEMA belated")
                connection.execute(_FIRST)
                comment = [_COMMENT.format(_VERSIONS[0])]
            known = {_COMMENT.format(version): version for version in _VERSIONS}
            if comment[0] not in known:
                raise StoreError(
                    f"open: {self.where} has a schema belated that is no store, or one of another "
                    "version of belated"
                )
            if known[comment[0]] < VERSION:
                specs = connection.execute("SELECT spec FROM belated.models").fetchall()
                check_models((spec for (spec,) in specs), self.where)
            for version in range(known[comment[0]] + 1, VERSION + 1):
                connection.execute(MIGRATIONS[version])
                connection.execute(f"COMMENT ON SCHEMA belated IS '{_COMMENT.format(version)}'")
            connection.execute(_OWNERS)

    @contextmanager
    def _transaction(self, is_long: bool = False) -> Iterator[Execute]:
        with self._connected(is_write=True) as connection, connection.transaction():
            if is_long:
                connection.execute("SET LOCAL statement_timeout = 0")
            yield _executing(connection)

    @contextmanager
    def _reading(self) -> Iterator[Execute]:
        with self._connected() as connection:
            yield _executing(connection)

    def _add_row(self, row: tuple[Any, ...]) -> None:
        with self._connected(is_write=True) as connection:
            connection.execute(ADD_ROW.replace("?", "%s"), row)

    @contextmanager
    def _connected(self, is_write: bool = False) -> Iterator[Any]:
        """Lend the connection, and give it up when something fails: its state is unknown then."""
        connection = self._open()
        try:
            yield connection
        except BaseException as error:
            is_unknown = is_write and connection.closed  # the answer to a commit may be lost
            self._give_up(connection)
            if isinstance(error, self._driver.Error):
                raise self._ours(self.where, error, is_unknown) from error
            raise

    def _vacuum(self) -> None:
        """Make the space of deleted rows free; what has it next overwrites them."""
        with self._connected() as connection:
            connection.execute("SET statement_timeout = 0")
            connection.execute("VACUUM events, snapshots, notes, models, eras")
            connection.execute(_SESSION)

    def _give_up(self, connection: Any) -> None:
        with suppress(self._driver.Error):
            connection.close()
        if connection is not self._connection:
            return
        pid, self.pid, self._connection = self.pid, None, None
        self._close_socket()
        if pid is not None:
            self._lost.update(dict.fromkeys(self._held, pid))
        self._held.clear()
        self.lost()

    def _close_socket(self) -> None:
        handle, self._socket = self._socket, None
        if handle is not None:
            handle.close()

    def _ours(self, what: str, error: Exception, is_unknown: bool = False) -> StoreError:
        driver, errors = self._driver, self._driver.errors
        away = (
            driver.OperationalError,
            driver.InterfaceError,
            errors.ReadOnlySqlTransaction,  # from a server that is being replaced
            errors.UniqueViolation,  # another process has written that event
        )
        if isinstance(error, away):
            is_full = isinstance(error, errors.DiskFull)
            return StoreUnavailable(f"{what}: {_said(error)}", is_full, is_unknown)
        return StoreDamaged(f"{what}: {_said(error)}")

    def write(
        self, rows: Sequence[Row], snapshots: Sequence[Saved], notes: Sequence[Note] = ()
    ) -> None:
        self._open()
        if not {r.model for r in rows} | {s.model for s in snapshots} <= self._held:
            raise StoreUnavailable(f"{self.where}: the connection was lost, and the models with it")
        super().write(rows, snapshots, notes)

    # --- One writer -----------------------------------------------------------------------------

    def hold(self, model: int) -> None:
        if model in self._held:
            return
        until = monotonic() + _PATIENCE
        while True:
            is_former = self._end_former(model)
            with self._reading() as execute:
                ((is_ours,),) = execute("SELECT pg_try_advisory_lock(?, ?)", (_CLASS, model))
                if is_ours:
                    execute(_OWN, (model, self._address))
                    break
            if not is_former or monotonic() >= until:
                raise self._in_use(model)
            sleep(0.01)
        self._held.add(model)
        self._lost.pop(model, None)

    def _end_former(self, model: int) -> bool:
        """End the session of this process that held a model until it broke.

        Return whether it still holds it: the server may not have seen that it is broken.
        """
        if model not in self._lost:
            return False
        with self._reading() as execute:
            return bool(execute(_END, (_CLASS, model, self._lost[model])))

    def _disown(self, execute: Execute, model: int) -> None:
        execute("DELETE FROM owners WHERE model = ?", (model,))

    def _in_use(self, model: int) -> StoreInUse:
        said, address, until = "another", None, monotonic() + _MOMENT
        while True:
            with self._reading() as execute:
                found = execute(_WHO, (_CLASS, model))
            if found:
                pid, who, address, is_written = found[0]
                said = f"process {pid} of the server, {who}"
            if not found or is_written or monotonic() >= until:
                break
            sleep(0.01)  # the new owner writes its row just after it gets the lock
        return StoreInUse(
            f"{self.where}: the model is written by {said}, and one process writes a model", address
        )

    def release(self, model: int) -> None:
        self._lost.pop(model, None)
        if model in self._held:
            self._held.discard(model)
            with self._reading() as execute:
                self._disown(execute, model)
                execute("SELECT pg_advisory_unlock(?, ?)", (_CLASS, model))

    def close(self) -> None:
        connection, self._connection = self._connection, None
        self._held.clear()
        self.pid = None
        if connection is not None:
            connection.close()
        self._close_socket()
        if self._heartbeat is not None:
            self._heartbeat.stop()

    # --- Other processes ------------------------------------------------------------------------

    @property
    def clock(self) -> float:
        """The time of the database, in seconds since 1970, as far as this process knows it."""
        assert self._heartbeat is not None
        return self._heartbeat.clock

    def is_alive(self, address: str) -> bool:
        assert self._heartbeat is not None
        return self._heartbeat.is_alive(address)


# A row whose process differs from the holder of the lock is out of date.
_OWN = (
    "INSERT INTO owners VALUES (?, pg_backend_pid(), ?) "
    "ON CONFLICT (model) DO UPDATE SET pid = excluded.pid, address = excluded.address"
)
_END = f"SELECT pg_terminate_backend(pid) FROM {LOCKS} AND classid = ? AND objid = ? AND pid = ?"
_WHO = (
    "SELECT a.pid, coalesce(a.application_name, '') || ' at ' || "
    "coalesce(host(a.client_addr), 'this machine'), o.address, o.model IS NOT NULL "
    f"FROM (SELECT pid, objid FROM {LOCKS} AND classid = ? AND objid = ?) h "
    "JOIN pg_stat_activity a ON a.pid = h.pid "
    "LEFT JOIN owners o ON o.model = h.objid::bigint AND o.pid = h.pid"
)


def _executing(connection: Any) -> Execute:
    def execute(text: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        cursor = connection.execute(text.replace("?", "%s"), values, binary=True)
        return cursor.fetchall() if cursor.description is not None else []

    return execute


def _said(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
