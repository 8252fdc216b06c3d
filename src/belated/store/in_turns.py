"""Long reads of a database that others use in between."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import islice
from typing import TypeVar

from belated.store.database import Database, Row, Saved

T = TypeVar("T")
_ROWS = 10_000  # that are read while nothing is committed


class InTurns:
    """Reads some at a time; ``turn`` is held by the one who uses the database."""

    def __init__(self, database: Database, turn: threading.Lock) -> None:
        self._database, self._turn = database, turn

    def rows(self, model: int, first: int) -> Iterator[Row]:
        """Return the rows of a model that hold events from ``first`` on."""
        return self._some(self._database.rows(model, first), _ROWS)

    def snapshots(self, model: int) -> Iterator[Saved]:
        """Return the snapshots of a model, the newest first."""
        return self._some(self._database.snapshots(model), 1)

    def _some(self, found: Iterator[T], most: int) -> Iterator[T]:
        while True:
            with self._turn:
                some = list(islice(found, most))
            if not some:
                return
            yield from some
