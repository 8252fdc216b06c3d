"""First answers, for requests that come again with the same ``Idempotency-Key``.

An answer is committed with the events that it tells of, so that a request that is sent again after
a crash is either known or has never happened. The newest are kept, for a day, and so many bytes.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from time import time
from typing import Any, NamedTuple

from belated.service.refusals import OtherRequest
from belated.service.requests import JSON, Answer
from belated.store import Store

LIFETIME = 86_400.0
MOST = 100_000
BYTES = 64 << 20
"""Of all answers that are kept; the oldest go first."""
_PREFIX = "service:answer:"
_HASH = 32


class Kept(NamedTuple):
    """An answer that is kept: what was answered, to which body, and when."""

    asked: bytes
    status: int
    body: bytes
    at: float


class Answers:
    """The newest answers, in memory and in the notes of a store."""

    def __init__(self, store: Store, most: int = MOST, most_bytes: int = BYTES) -> None:
        self._store, self._most, self._most_bytes = store, most, most_bytes
        self._bytes = 0
        self._gone = 0.0  # when the newest of those was written that had to go
        self._known: OrderedDict[str, Kept] = OrderedDict()
        self._lock = threading.Lock()
        self._busy: dict[str, asyncio.Future[None]] = {}

    def load(self) -> None:
        """Read what is kept, and remove what is too old."""
        self._store.forget(_PREFIX, time() - LIFETIME)
        for note in self._store.notes(_PREFIX):
            status = int.from_bytes(note.body[_HASH : _HASH + 2], "big")
            self._keep(
                note.name,
                Kept(note.body[:_HASH], status, note.body[_HASH + 2 :], note.written),
            )

    def tidy(self) -> None:
        """Remove from the store what is too old, or had to go."""
        self._store.forget(_PREFIX, max(time() - LIFETIME, self._gone))

    async def turn(self, name: str) -> None:
        """Return when no request of that name is being answered."""
        while (busy := self._busy.get(name)) is not None:
            await asyncio.shield(busy)

    def is_busy(self, name: str) -> bool:
        """Tell whether a request of that name is being answered."""
        return name in self._busy

    def begin(self, name: str, asked: bytes) -> Kept | None:
        """Return the first answer to a request; where there is none, the caller is to give it.

        No other of that name may be being answered. Whoever gets None must call ``done`` at the
        end, whatever happened.
        """
        found = self._known.get(name)
        if found is not None and found.at > time() - LIFETIME:
            if found.asked != asked:
                raise OtherRequest
            return found
        self._busy[name] = asyncio.get_running_loop().create_future()
        return None

    def add(self, name: str, asked: bytes, status: int, body: bytes) -> None:
        """Remember an answer that was committed."""
        self._keep(name, Kept(asked, status, body, time()))

    def _keep(self, name: str, answer: Kept) -> None:
        with self._lock:  # answers of another server are read in a thread
            former = self._known.pop(name, None)
            self._bytes += len(answer.body) - (0 if former is None else len(former.body))
            self._known[name] = answer
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        """Forget the oldest answers, as far as there are too many.

        A function of its own: a signal that comes when Python 3.13.0 repeats a loop is raised
        outside of the ``with`` around it, which then keeps the lock.
        """
        while len(self._known) > self._most or self._bytes > self._most_bytes:
            _, old = self._known.popitem(last=False)
            self._bytes -= len(old.body)
            self._gone = max(self._gone, old.at)

    def done(self, name: str) -> None:
        """Let those go on that wait with the same key."""
        self._busy.pop(name).set_result(None)


def name_of(token: str, path: str, number: int, key: str) -> str:
    """Return the name of the note for a key: keys belong to a token, a route and a model.

    A model has its number for itself: one that is made anew under the name of another has another.
    """
    said = "\0".join((token, path, str(number), key)).encode("utf-8", "surrogateescape")
    return _PREFIX + hashlib.sha256(said).hexdigest()


def note_of(asked: bytes, status: int, body: bytes) -> bytes:
    """Return the body of a note."""
    return asked + status.to_bytes(2, "big") + body


# --- Requests -------------------------------------------------------------------------------------

AGAIN = (("idempotency-replayed", "true"),)

Form = Callable[[Any], tuple[int, bytes]]
"""What came of items, to the status and the body of an answer."""


class Known:
    """A request that may come again: whose turn it is, what was said first, how that is kept.

    Where ``name`` is empty it has no key, and is done whenever it comes.
    """

    __slots__ = ("_answers", "_asked", "_form", "_is_begun", "answer", "name")

    def __init__(
        self,
        answers: Answers | None = None,
        name: str = "",
        asked: bytes = b"",
        form: Form | None = None,
    ) -> None:
        self._answers, self.name, self._asked, self._form = answers, name, asked, form
        self._is_begun = False
        self.answer: tuple[int, bytes] | None = None
        """What is said, and committed with the events."""

    @property
    def is_busy(self) -> bool:
        """Whether the same is being answered already."""
        return self._answers is not None and self._answers.is_busy(self.name)

    async def turn(self) -> None:
        """Return when nobody else is answering the same."""
        if self._answers is not None:
            await self._answers.turn(self.name)

    def begin(self) -> Answer | None:
        """Return the first answer, where there was one; otherwise the caller is to give it.

        Nobody else may be answering the same. Whoever gets None calls ``end`` when it is over.
        """
        if self._answers is None:
            return None
        first = self._answers.begin(self.name, self._asked)
        if first is not None:
            return Answer(first.status, first.body, JSON, AGAIN)
        self._is_begun = True
        return None

    def note(self, said: Any) -> tuple[str, bytes]:
        """Return the note that is committed with the events."""
        assert self._form is not None
        self.answer = self._form(said)
        return self.name, note_of(self._asked, *self.answer)

    def keep(self) -> None:
        """Remember the answer, which is committed now, if there is one."""
        if self._answers is not None and self.answer is not None:
            self._answers.add(self.name, self._asked, *self.answer)

    def end(self) -> None:
        """Let those go on that wait with the same key; once more does no harm."""
        if self._answers is not None and self._is_begun:
            self._is_begun = False
            self._answers.done(self.name)


NO_KEY = Known()
"""Of all requests that have none."""
