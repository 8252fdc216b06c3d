"""Answers that are sent in the background, many at a time."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import groupby
from queue import Empty, Queue
from typing import Any, Self

from belated.errors import ServiceError, SpecError
from belated.service import client_requests
from belated.service.client_requests import SIZE, Item, Key, When
from belated.service.retry import AGAIN, Ask, pause, plain_of


class Outbox:
    """Sends answers in the background, many at a time, in their order.

    ``put`` returns at once unless ``most`` wait to be sent: then it waits too, so that a producer
    cannot run away from the server. What could not be sent is tried again until it could; ``close``
    waits for that. What no request can hold is refused by ``put``; where sending itself fails, what
    is left is not sent, and ``put`` and ``close`` raise ``ServiceError``.
    """

    def __init__(
        self, send: Callable[[Ask[list[Item]]], list[Item]], name: str, most: int, every: float
    ) -> None:
        self._send, self._name, self._every = send, name, every
        self._queue: Queue[tuple[str, Item] | None] = Queue(most)
        self.outcomes: Counter[str] = Counter()
        """What came of the items so far."""
        self.errors: Counter[str] = Counter()
        """Codes of what was refused."""
        self._thread = threading.Thread(target=self._work, name="belated-outbox", daemon=True)
        self._turn = threading.Lock()  # so that nothing is put in behind the end
        self._is_over = False
        self._failure: Exception | None = None
        self._thread.start()

    def __enter__(self) -> Self:
        """Return the outbox."""
        return self

    def __exit__(self, *_: object) -> None:
        """Send what is left."""
        self.close()

    def put(
        self,
        verb: str,
        key: Key | None = None,
        value: Any = None,
        *,
        ticket: str | None = None,
        weight: float | None = None,
        at: When | None = None,
    ) -> None:
        """Send something of a ticket, in a while."""
        told = client_requests.given(value=value, weight=weight, at=at)
        item = _as_sent({**client_requests.named(ticket, key), **told})
        with self._turn:
            if self._is_over:
                raise ServiceError("the outbox is closed", code="closed")
            self._check()
            self._queue.put((verb, item))

    def close(self) -> None:
        """Return when all that was put in is answered."""
        with self._turn:
            if not self._is_over:
                self._is_over = True
                self._queue.put(None)
        self._thread.join()
        self._check()

    def _check(self) -> None:
        """Raise what went wrong in the background."""
        if self._failure is not None:
            raise ServiceError(f"the outbox failed: {self._failure}") from self._failure

    def _work(self) -> None:
        for batch in self._batches():
            if self._failure is not None:
                continue  # what is put in is taken out, so that nobody waits for ever
            try:
                for verb, items in groupby(batch, key=lambda item: item[0]):
                    self._deliver(verb, [item for _, item in items])
            except Exception as error:  # told by the next call
                self._failure = error

    def _batches(self) -> Iterator[list[tuple[str, Item]]]:
        """Return what was put in, some at a time, until the outbox is closed."""
        is_last = False
        while not is_last:
            batch: list[tuple[str, Item]] = []
            until = time.monotonic() + self._every
            while len(batch) < SIZE and not is_last:
                try:
                    item = self._queue.get(timeout=max(until - time.monotonic(), 0.001))
                except Empty:
                    break
                is_last = item is None
                if item is not None:
                    batch.append(item)
            yield batch

    def _deliver(self, verb: str, items: list[Item]) -> None:
        attempt, ask = 0, client_requests.some(self._name, verb, items)
        while True:
            try:
                found = self._send(ask)
                break
            except ServiceError as error:
                if error.status not in AGAIN and error.status != 0:
                    found = [{"outcome": "invalid", "error": {"code": error.code}}] * len(items)
                    break
                attempt += 1
                time.sleep(pause(attempt))
        self.outcomes.update(each["outcome"] for each in found)
        self.errors.update(each["error"]["code"] for each in found if "error" in each)


_dumps = json.JSONEncoder(allow_nan=False, ensure_ascii=False, default=plain_of).encode


def _as_sent(item: Item) -> Item:
    """Return what a server will read; one that it cannot would take its whole batch with it."""
    try:
        found: Item = json.loads(_dumps(item).encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise SpecError(f"Outbox: a value must be plain data that JSON has: {error}") from error
    return found
