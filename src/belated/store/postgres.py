"""A store in a database of PostgreSQL, which several processes share.

Every model has one writer at a time: the process whose session holds the advisory lock of the
model. Events are written by that very session, so that who has lost the lock, with its connection,
can write no more. Beside its lock a process writes where it is found, so that others can send it
what they are asked of the model. The lock of a process that dies ends with its connection: at once
when the process was killed, and after some seconds without a sign of life when its machine is gone.
Then the next one who asks for the model has it, and builds it from snapshot and log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from time import monotonic, sleep
from typing import Any
from urllib.parse import urlsplit

from belated.errors import MissingExtra, StoreDamaged, StoreError, StoreInUse, StoreUnavailable
from belated.store.database import Note, Row, Saved
from belated.store.tables import ADD_ROW, TABLES, Execute, Tables

_CLASS = 0x62656C61  # "bela", among the advisory locks
_SETTING_UP = 0
_PATIENCE = 2.0  # seconds that the server may take to see that a connection broke
_MOMENT = 1.0  # seconds between getting the lock of a model and writing who has it, at most
_VERSION = "2"
_OURS = TABLES.format(
    number="BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    key="BIGINT PRIMARY KEY",
    blob="BYTEA",
    real="DOUBLE PRECISION",
)
_OWNERS = (
    "CREATE TABLE IF NOT EXISTS belated.owners "
    "(model BIGINT PRIMARY KEY, pid BIGINT NOT NULL, address TEXT)"
)
# Who is silent for so long has lost the connection, as seen from the server.
_SESSION = """
SET search_path = belated;
SET synchronous_commit = on;
SET tcp_keepalives_idle = 2;
SET tcp_keepalives_interval = 1;
SET tcp_keepalives_count = 3;
"""


def _driver() -> Any:
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("psycopg", extra="postgres", where="a store in PostgreSQL") from None
    return psycopg


class PostgreSQL(Tables):
    """A database behind a URL; see ``belated.store.database.Database``."""

    is_shared = True

    def __init__(self, url: str, address: str | None = None) -> None:
        super().__init__()
        self._url = url
        self._address = address
        self.where = _without_secrets(url)
        self._driver = _driver()
        self._connection: Any = None
        self._busy: Any = None  # in use, which may be interrupted
        self._held: set[int] = set()
        self._lost: set[int] = set()  # held by a connection that broke
        self._open()

    def _open(self) -> Any:
        """Return the connection; one that failed was closed, and is opened again here."""
        if self._busy is not None:
            if self._is_copying:
                return self._busy
            self._give_up(self._busy)  # who used it was interrupted before he could do so
        if self._connection is None:
            try:
                connection = self._driver.connect(
                    self._url,
                    autocommit=True,
                    connect_timeout=10,
                    fallback_application_name="belated",
                )
            except self._driver.Error as error:
                raise StoreUnavailable(f"open: {self.where}: {_said(error)}") from error
            try:
                self._prepare(connection)
            except self._driver.Error as error:
                connection.close()
                raise self._ours(f"open: {self.where}", error) from error
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _prepare(self, connection: Any) -> None:
        """Make the tables where there are none."""
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (_CLASS, _SETTING_UP))
            comment = connection.execute(
                "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace "
                "WHERE nspname = 'belated'"
            ).fetchone()
            if comment is None:
                connection.execute("CREATE SCHEMA belated")
                connection.execute(f"COMMENT ON SCHEMA belated IS 'a store, version {_VERSION}'")
                connection.execute("SET LOCAL search_path = belated")
                connection.execute(_OURS)
            elif comment[0] != f"a store, version {_VERSION}":
                raise StoreError(
                    f"open: {self.where} has a schema belated that is no store, or one of another "
                    "version of belated"
                )
            connection.execute(_OWNERS)
        connection.execute(_SESSION)

    @contextmanager
    def _transaction(self) -> Iterator[Execute]:
        """Commit what is done inside, or leave everything as it was."""
        with self._connected() as connection, connection.transaction():
            yield _executing(connection)

    @contextmanager
    def _reading(self) -> Iterator[Execute]:
        """Read, statement by statement."""
        with self._connected() as connection:
            yield _executing(connection)

    def _add_row(self, row: tuple[int, int, float, bytes]) -> None:
        """Add one row of events, and commit."""
        with self._connected() as connection:
            connection.execute(ADD_ROW.replace("?", "%s"), row)

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """Give the connection up when something fails: nobody knows what has become of it."""
        connection = self._open()
        is_within = self._busy is not None
        self._connection, self._busy = None, connection
        try:
            yield connection
            if not is_within:
                self._connection, self._busy = connection, None
        except BaseException as error:
            self._give_up(connection)
            if isinstance(error, self._driver.Error):
                raise self._ours(self.where, error) from error
            raise

    def _give_up(self, connection: Any) -> None:
        """Close a connection; once more does no harm."""
        with suppress(self._driver.Error):
            connection.close()
        if self._busy is connection:
            self._busy = None
            self._lost |= self._held
            self._held.clear()
            self.lost()

    def _ours(self, what: str, error: Exception) -> StoreError:
        """Return our error for one of the driver."""
        driver, errors = self._driver, self._driver.errors
        # The last is said by a server that another one takes the place of.
        away = driver.OperationalError, driver.InterfaceError, errors.ReadOnlySqlTransaction
        if isinstance(error, away):
            is_full = isinstance(error, errors.DiskFull)
            return StoreUnavailable(f"{what}: {_said(error)}", is_full)
        return StoreDamaged(f"{what}: {_said(error)}")

    def write(
        self, rows: Sequence[Row], snapshots: Sequence[Saved], notes: Sequence[Note] = ()
    ) -> None:
        """Append to the logs of models that this session holds."""
        self._open()
        if not {r.model for r in rows} | {s.model for s in snapshots} <= self._held:
            raise StoreUnavailable(f"{self.where}: the connection was lost, and the models with it")
        super().write(rows, snapshots, notes)

    # --- One writer -----------------------------------------------------------------------------

    def hold(self, model: int) -> None:
        """Become the one who writes a model, or raise ``StoreInUse``."""
        if model in self._held:
            return
        until = monotonic() + (_PATIENCE if model in self._lost else 0.0)
        while not self._try(model):  # a session of our own may still be on its way out
            if monotonic() >= until:
                raise self._in_use(model)
            sleep(0.01)
        self._held.add(model)
        self._lost.discard(model)

    def _try(self, model: int) -> bool:
        with self._reading() as execute:
            ((is_ours,),) = execute("SELECT pg_try_advisory_lock(?, ?)", (_CLASS, model))
            if is_ours:
                execute(_OWN, (model, self._address))
        return bool(is_ours)

    def _disown(self, execute: Execute, model: int) -> None:
        """Remove what is known of who writes a model, which is this session."""
        execute("DELETE FROM owners WHERE model = ?", (model,))

    def _in_use(self, model: int) -> StoreInUse:
        until = monotonic() + _MOMENT
        holder = self._holder(model)
        while holder and not holder[0][3] and monotonic() < until:
            sleep(0.01)  # who has the lock is about to write who that is
            holder = self._holder(model)
        said, address = "another", None
        if holder:
            said, address = f"process {holder[0][0]} of the server, {holder[0][1]}", holder[0][2]
        return StoreInUse(
            f"{self.where}: the model is written by {said}, and one process writes a model", address
        )

    def _holder(self, model: int) -> list[tuple[Any, ...]]:
        with self._reading() as execute:
            return execute(_WHO, (_CLASS, model))

    def release(self, model: int) -> None:
        """Let another one write a model."""
        self._lost.discard(model)
        if model in self._held:
            self._held.discard(model)
            with self._reading() as execute:
                self._disown(execute, model)
                execute("SELECT pg_advisory_unlock(?, ?)", (_CLASS, model))

    def close(self) -> None:
        """Let go of the connection, and of all models with it."""
        connections = self._connection, self._busy
        self._connection = self._busy = None
        self._held.clear()
        for connection in connections:
            if connection is not None:
                connection.close()


# Whose row has another process than the lock has is no owner any more.
_OWN = (
    "INSERT INTO owners VALUES (?, pg_backend_pid(), ?) "
    "ON CONFLICT (model) DO UPDATE SET pid = excluded.pid, address = excluded.address"
)
_WHO = (
    "SELECT a.pid, coalesce(a.application_name, '') || ' at ' || "
    "coalesce(host(a.client_addr), 'this machine'), o.address, o.model IS NOT NULL "
    "FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid "
    "LEFT JOIN owners o ON o.model = l.objid::bigint AND o.pid = l.pid "
    "WHERE l.locktype = 'advisory' AND l.granted AND l.database = "
    "(SELECT oid FROM pg_database WHERE datname = current_database()) "
    "AND l.classid = ? AND l.objid = ?"
)


def _executing(connection: Any) -> Execute:
    def execute(text: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        cursor = connection.execute(text.replace("?", "%s"), values, binary=True)
        return cursor.fetchall() if cursor.description is not None else []

    return execute


def _without_secrets(url: str) -> str:
    """Return where a database is, without user, password and options."""
    parts = urlsplit(url)
    where = parts.netloc.rpartition("@")[2]
    return f"postgresql://{where}{parts.path}"


def _said(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
