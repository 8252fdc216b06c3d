"""Answers that are sent in the background, many at a time."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import groupby
from queue import Empty, Queue
from typing import Any, Self

from belated.errors import ServiceError
from belated.service import asking
from belated.service.asking import AGAIN, SIZE, Ask, Item


class Outbox:
    """Sends answers in the background, many at a time, in their order.

    ``put`` returns at once unless ``most`` wait to be sent: then it waits too, so that a producer
    cannot run away from the server. What could not be sent is tried again until it could; ``close``
    waits for that.
    """

    def __init__(
        self, send: Callable[[Ask[list[Item]]], list[Item]], name: str, most: int, every: float
    ) -> None:
        self._ask, self._name, self._every = send, name, every
        self._queue: Queue[tuple[str, Item] | None] = Queue(most)
        self.outcomes: Counter[str] = Counter()
        """What came of the items so far."""
        self.errors: Counter[str] = Counter()
        """Codes of what was refused."""
        self._thread = threading.Thread(target=self._work, name="belated-outbox", daemon=True)
        self._is_over = False
        self._thread.start()

    def __enter__(self) -> Self:
        """Return the outbox."""
        return self

    def __exit__(self, *_: object) -> None:
        """Send what is left."""
        self.close()

    def put(
        self, verb: str, key: str | None = None, value: Any = None, *, ticket: str | None = None
    ) -> None:
        """Send something of a ticket, in a while."""
        if self._is_over:
            raise ServiceError("the outbox is closed", code="closed")
        self._queue.put((verb, {**asking.named(ticket, key), **asking.given(value=value)}))

    def close(self) -> None:
        """Return when all that was put in is answered."""
        if not self._is_over:
            self._is_over = True
            self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        for batch in self._batches():
            for verb, items in groupby(batch, key=lambda item: item[0]):
                self._send(verb, [item for _, item in items])

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

    def _send(self, verb: str, items: list[Item]) -> None:
        attempt, ask = 0, asking.some(self._name, verb, items)
        while True:
            try:
                found = self._ask(ask)
                break
            except ServiceError as error:
                if error.status not in AGAIN and error.status != 0:
                    found = [{"outcome": "invalid", "error": {"code": error.code}}] * len(items)
                    break
                attempt += 1
                time.sleep(asking.pause(attempt))
        self.outcomes.update(each["outcome"] for each in found)
        self.errors.update(each["error"]["code"] for each in found if "error" in each)
