"""Heartbeats: which owners of models are alive, and whether the database of this store answers.

A process that is stopped, or whose machine has lost its network, keeps its session, and with it the
locks of its models, for as long as the database believes in the connection. So the database ends
sessions of stores that are idle for ``LIMIT`` seconds, and a thread of every store has its writer
ask something every second. The process that lost its session cannot commit any more.

The same thread has a connection of its own. If the database does not answer there, the thread
breaks the connection of the store, so that calls fail that would wait for an answer, and the store
refuses calls until the database answers again.
"""

from __future__ import annotations

import os
import socket
import threading
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any
from weakref import ref

from belated.errors import StoreUnavailable

if TYPE_CHECKING:
    from belated.store.postgres import PostgreSQL

LIMIT = 5.0
"""Seconds after which a process counts as gone that has asked for nothing."""
_EVERY = 1.0  # seconds between two heartbeats
_ANSWER = LIMIT - _EVERY  # seconds that the database may take to answer one
_PATIENCE = 0.5  # seconds that the end of a store waits for that of its heartbeat
CLOCK = "extract(epoch FROM clock_timestamp())::float8"
LOCKS = (
    "pg_locks l WHERE l.locktype = 'advisory' AND l.granted AND l.database = "
    "(SELECT oid FROM pg_database WHERE datname = current_database())"
)
_BEAT = (
    f"SELECT {CLOCK}, (SELECT coalesce(json_agg(DISTINCT address), '[]') FROM belated.owners o "
    f"WHERE EXISTS (SELECT FROM {LOCKS} AND l.pid = o.pid AND l.objid::bigint = o.model))"
)


class Heartbeat:
    """The heartbeat of a store. It keeps no store alive, and ends with the store, closed or not."""

    def __init__(self, session: PostgreSQL, where: str, clock: float) -> None:
        self._session, self._where = ref(session), where
        self._connection: Any = None
        self._stopping = threading.Event()
        self._answered = monotonic()  # when the newest heartbeat began that was answered
        self._ahead = clock - self._answered  # of the clock of the database
        self._alive: frozenset[str] = frozenset()
        self._thread = threading.Thread(target=self._work, name="belated-heartbeat", daemon=True)
        self._thread.start()

    @property
    def clock(self) -> float:
        return monotonic() + self._ahead

    @property
    def is_silent(self) -> bool:
        return monotonic() - self._answered > LIMIT

    def check(self) -> None:
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
            session.touch()
            try:
                self._beat(session)
            except Exception:  # whatever went wrong, the next one has a new connection
                self._close()
            if self.is_silent:
                session.interrupt()
            del session
        self._close()

    def _beat(self, session: PostgreSQL) -> None:
        if self._connection is None:
            self._connection = session.connect()
        begin = monotonic()
        # ``execute`` waits for as long as the connection seems to be there.
        limit = threading.Timer(_ANSWER, break_off, [self._connection.fileno()])
        limit.start()
        try:
            clock, alive = self._connection.execute(_BEAT).fetchone()
        finally:
            limit.cancel()
        self._answered, self._ahead = begin, clock - begin
        self._alive = frozenset(alive)

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()


def break_off(descriptor: int) -> None:
    """Shut a connection down, from any thread, so that a call that uses it fails."""
    with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as handle:
        handle.shutdown(socket.SHUT_RDWR)
