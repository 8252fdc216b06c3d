"""Heartbeats: which sessions of a shared database belong to processes that are alive.

A process that is stopped, or whose machine has lost its network, keeps its session, and with it the
locks of its models, for as long as the database believes in the connection. So every store has a
thread with a connection of its own. Each second it writes the time of the database into the row of
the store's session, and ends the sessions whose rows are older than ``LIMIT`` seconds. The models
of such a session can be taken over then. The process that had them cannot commit any more: when it
goes on, its connection is closed.

The same thread notices that the database does not answer its own process. Then it breaks the
connection of the store, so that calls fail that would wait for an answer, and the store refuses
calls until the database answers again.
"""

from __future__ import annotations

import json
import select
import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any, Protocol
from weakref import ref

from belated.errors import StoreUnavailable

LIMIT = 5.0
"""Seconds without a heartbeat after which a process counts as gone."""
_EVERY = 1.0  # seconds between two heartbeats
_ANSWER = LIMIT - _EVERY  # seconds that the database may take to answer one
_PATIENCE = 0.5  # seconds that the end of a store waits for that of its heartbeat
TABLE = (
    "CREATE TABLE IF NOT EXISTS belated.sessions "
    "(pid BIGINT PRIMARY KEY, beat TIMESTAMPTZ NOT NULL)"
)
REGISTER = (
    "INSERT INTO belated.sessions VALUES (pg_backend_pid(), clock_timestamp()) "
    "ON CONFLICT (pid) DO UPDATE SET beat = excluded.beat "
    "RETURNING pid, extract(epoch FROM clock_timestamp())::float8"
)
_STALE = f"beat < clock_timestamp() - interval '{LIMIT} s'"
_BEAT = f"""
WITH own AS (
    UPDATE belated.sessions SET beat = clock_timestamp()
    WHERE pid = {{pid}} AND EXISTS (SELECT FROM pg_stat_get_activity({{pid}})) RETURNING pid
)
SELECT
    extract(epoch FROM clock_timestamp()),
    (SELECT count(*) FROM own),
    (SELECT count(*) FROM belated.sessions WHERE {_STALE} AND pid <> {{pid}}),
    (SELECT coalesce(json_agg(DISTINCT address), '[]') FROM belated.owners
        JOIN belated.sessions USING (pid) WHERE NOT {_STALE})
"""
# A number of a process may be used again: only a session with a lock of a model is ended.
_END_STALE = f"""
WITH stale AS (DELETE FROM belated.sessions WHERE {_STALE} AND pid <> {{pid}} RETURNING pid)
SELECT count(pg_terminate_backend(pid::int)) FROM (
    SELECT DISTINCT pid FROM stale JOIN pg_locks USING (pid)
    WHERE locktype = 'advisory' AND granted AND classid = {{locks}} AND database =
        (SELECT oid FROM pg_database WHERE datname = current_database())
) AS owners
"""


class Session(Protocol):
    """The connection of a store, as its heartbeat sees it."""

    pid: int | None
    """Number of its process in the database; None while there is no connection."""

    def connect(self) -> Any:
        """Return a new connection."""

    def break_off(self, pid: int | None) -> None:
        """Break the connection with this ``pid``, so that calls that use it fail.

        A connection that the store has opened since stays.
        """


class Heartbeat:
    """The heartbeat of a store; ``locks`` is the class of the locks of models.

    It keeps no store alive: it ends with the store, closed or not.
    """

    def __init__(self, session: Session, where: str, locks: int, clock: float) -> None:
        self._session = ref(session)
        self._where, self._locks = where, locks
        self._connection: Any = None
        self._stopping = threading.Event()
        self._answered = monotonic()  # when the newest heartbeat began that was answered
        self._steady = self._answered  # since when none was late
        self._ahead = clock - self._answered  # of the clock of the database
        self._alive: frozenset[str] = frozenset()
        self._thread = threading.Thread(target=self._work, name="belated-heartbeat", daemon=True)
        self._thread.start()

    @property
    def clock(self) -> float:
        """The time of the database, in seconds since 1970."""
        return monotonic() + self._ahead

    @property
    def is_silent(self) -> bool:
        """Whether the database has not answered for some seconds."""
        return monotonic() - self._answered > LIMIT

    def check(self) -> None:
        """Raise ``StoreUnavailable`` if the database does not answer."""
        if self.is_silent:
            raise StoreUnavailable(f"{self._where}: the database has not answered for {LIMIT:g} s")

    def is_alive(self, address: str) -> bool:
        """Tell whether the owner of a model at an address is alive, as far as can be known."""
        return self.is_silent or address in self._alive

    def stop(self) -> None:
        """End the thread and its connection; one that waits for an answer ends by itself."""
        self._stopping.set()
        if self._thread is not threading.current_thread():
            self._thread.join(_PATIENCE)

    def _work(self) -> None:
        while not self._stopping.wait(_EVERY) and (session := self._session()) is not None:
            pid = session.pid
            try:
                is_there = self._beat(session.connect, pid or 0)
            except Exception:  # whatever went wrong, the next one has a new connection
                self._close()
                is_there = True
            if self.is_silent or (pid is not None and not is_there):
                with suppress(Exception):
                    session.break_off(pid)
            del session
        self._close()

    def _beat(self, connect: Callable[[], Any], pid: int) -> bool:
        """Write that the process is alive; return whether its session counted as alive so far."""
        if self._connection is None:
            self._connection = connect()
        begin = monotonic()
        ((clock, own, stale, alive),) = _ask(self._connection.pgconn, _BEAT.format(pid=pid))
        if begin - self._answered > LIMIT / 2:
            self._steady = begin
        self._answered, self._ahead = begin, float(clock) - begin
        self._alive = frozenset(json.loads(alive))
        # After a pause of this process or the database, every row is stale. Wait LIMIT seconds
        # before ending sessions.
        if int(stale) and begin - self._steady > LIMIT:
            _ask(self._connection.pgconn, _END_STALE.format(pid=pid, locks=self._locks))
        return int(own) == 1

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()


def _ask(pgconn: Any, text: str) -> list[tuple[bytes, ...]]:
    """Run a statement and return its rows, or raise where no answer comes in time.

    ``execute`` has no time limit: it waits for as long as the connection seems to be there.
    """
    until = monotonic() + _ANSWER
    rows: list[tuple[bytes, ...]] = []
    pgconn.send_query(text.encode())
    while True:
        is_unsent = pgconn.flush()
        pgconn.consume_input()
        if is_unsent or pgconn.is_busy():
            poll = select.poll()
            poll.register(pgconn.socket, select.POLLIN | (select.POLLOUT if is_unsent else 0))
            if not poll.poll(max(until - monotonic(), 0.0) * 1000):
                raise TimeoutError("the database does not answer")
            continue
        result = pgconn.get_result()
        if result is None:
            return rows
        if result.error_message:
            raise StoreUnavailable(result.error_message.decode())
        columns = range(result.nfields)
        rows += [
            tuple(result.get_value(row, column) for column in columns)
            for row in range(result.ntuples)
        ]
