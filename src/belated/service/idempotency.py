"""Idempotency keys: a request that arrives again under its key gets the first response.

A response is committed with the events that it tells of, so after a crash a repeated request is
either known or its events never happened. The newest responses are kept for a day.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections import OrderedDict
from time import time
from typing import NamedTuple

from belated.service.requests import JSON, Answer, OtherRequest
from belated.store import Store

LIFETIME = 86_400.0
MOST = 100_000
BYTES = 64 << 20
"""Of all responses that are kept; the oldest are dropped first."""
_PREFIX = "service:answer:"
_HASH = 32
REPLAYED = (("idempotency-replayed", "true"),)


class Kept(NamedTuple):
    """A response, the digest of the request, and when the response was given."""

    digest: bytes
    status: int
    body: bytes
    at: float

    @property
    def note(self) -> bytes:
        return self.digest + self.status.to_bytes(2, "big") + self.body


def read_note(note: bytes, written: float) -> Kept:
    """Undo ``Kept.note``."""
    status = int.from_bytes(note[_HASH : _HASH + 2], "big")
    return Kept(note[:_HASH], status, note[_HASH + 2 :], written)


class Responses:
    """The newest responses, in memory and in the notes of a store."""

    def __init__(self, store: Store, most: int = MOST, most_bytes: int = BYTES) -> None:
        self._store, self._most, self._most_bytes = store, most, most_bytes
        self._bytes = 0
        self._dropped = 0.0  # when the newest of the dropped responses was written
        self._known: OrderedDict[str, Kept] = OrderedDict()
        self._lock = threading.Lock()  # responses of another server are read in a thread
        self.busy: dict[str, asyncio.Event] = {}
        """Keys of requests that are being processed."""

    def load(self) -> None:
        self._store.forget(_PREFIX, time() - LIFETIME)
        for note in self._store.notes(_PREFIX):
            self.add(note.name, read_note(note.body, note.written))

    def tidy(self) -> None:
        self._store.forget(_PREFIX, max(time() - LIFETIME, self._dropped))

    def add(self, name: str, response: Kept) -> None:
        with self._lock:
            former = self._known.pop(name, None)
            self._bytes += len(response.body) - (0 if former is None else len(former.body))
            self._known[name] = response
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        while len(self._known) > self._most or self._bytes > self._most_bytes:
            _, old = self._known.popitem(last=False)
            self._bytes -= len(old.body)
            self._dropped = max(self._dropped, old.at)

    def find(self, name: str, digest: bytes) -> Kept | None:
        """Return the first response, or refuse a key that another request has used."""
        found = self._known.get(name)
        if found is None or found.at < time() - LIFETIME:
            return None
        if found.digest != digest:
            raise OtherRequest
        return found


class Keyed:
    """A request with a key; one request with the same key is processed at a time.

    A key belongs to a token, a path and a model. Each model has a number of its own, also one that
    is made again under the name of a deleted one.
    """

    def __init__(
        self, responses: Responses, belongs_to: tuple[str, str, int], key: str, body: bytes
    ) -> None:
        token, path, number = belongs_to
        text = "\0".join((token, path, str(number), key)).encode("utf-8", "surrogateescape")
        self.name = _PREFIX + hashlib.sha256(text).hexdigest()
        self._digest = hashlib.sha256(body).digest()
        self._responses = responses
        self._kept: Kept | None = None

    async def begin(self) -> Answer | None:
        """Wait for requests with the same key; return the response, or None if there is none yet.

        After None the caller processes the request and calls ``end``.
        """
        busy = self._responses.busy
        while (other := busy.get(self.name)) is not None:
            await other.wait()
        first = self._responses.find(self.name, self._digest)
        if first is None:
            busy[self.name] = asyncio.Event()
            return None
        return Answer(first.status, first.body, JSON, REPLAYED)

    def note(self, answer: Answer) -> tuple[str, bytes]:
        """Return the note that is committed with the events of the request."""
        self._kept = Kept(self._digest, answer.status, answer.body, time())
        return self.name, self._kept.note

    def keep(self) -> None:
        """Remember the response if there is one; it is committed now."""
        if self._kept is not None:
            self._responses.add(self.name, self._kept)

    def end(self) -> None:
        self._responses.busy.pop(self.name).set()
