"""Erasure: what a log, snapshots and notes have of a key, and its removal.

An erased prediction leaves a ticket in the log, with its time and with what was played, so that
all other tickets and events keep their numbers; an erased answer leaves nothing but its number.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from belated.errors import AlreadyObserved, StoreDamaged, UnknownTicket
from belated.files import StrPath
from belated.keys import Key
from belated.store import events as of
from belated.store.database import Described, Era, Readable, Row
from belated.store.kinds import KINDS
from belated.store.lines import read_events


class Erased(NamedTuple):
    """Counts of the tickets and events that were erased, and the emptied notes."""

    tickets: int
    """Tickets that ever had the key."""
    events: int
    """Their predictions and answers."""
    notes: tuple[str, ...]
    """Names of the notes that were committed with these events: their bodies are empty now."""


class KeyEvents:
    """The events of a key in a log, and the rows of the log without them.

    ``ticket`` is the first ticket of the log, and ``tickets`` are those that are known to have the
    key.
    """

    def __init__(
        self, database: Readable, about: Described, key: Key, ticket: int, tickets: set[int]
    ) -> None:
        self._database, self._key, self.tickets = database, key, tickets
        self.numbers: set[int] = set()
        """Numbers of the events."""
        self.changed: dict[int, Row] = {}
        """The rows that have some of them, without them, by their first events."""
        numbers = count(ticket)
        # Find all tickets first: an event may name its ticket before another one gives the key.
        for _, events in read_events(database, about, about.first):
            for event in events:
                self._is_of_key(event, numbers)
        numbers = count(ticket)
        for row, events in read_events(database, about, about.first):
            found = [p for p, event in enumerate(events) if self._is_of_key(event, numbers)]
            if found:
                for place in found:
                    event = events[place]
                    events[place] = of.erase_event(event) if event[0] == of.PREDICT else [of.ERASED]
                text = of.encode_events(*events)
                self.changed[row.first] = of.seal_row(*row[:2], row.written, text, row.size)
                self.numbers.update(row.first + place for place in found)

    def _is_of_key(self, event: list[Any], numbers: Iterator[int]) -> bool:
        if event[0] == of.PREDICT:
            ticket = next(numbers)
        elif event[0] in of.ANSWERING:
            ticket = of.ticket_of(event)
        else:
            return False
        if of.key_of(event) == self._key:
            self.tickets.add(ticket)
        return ticket in self.tickets

    def rows(self, model: int, first: int) -> Iterator[Row]:
        """Return the rows of the log from an event on, without the events of the key."""
        return (self.changed.get(row.first, row) for row in self._database.rows(model, first))

    def cancel(self, model: Any) -> None:
        """Close the tickets that are open in a model, which forgets their rows."""
        for ticket in self.tickets:
            with suppress(AlreadyObserved, UnknownTicket):
                model.cancel(ticket)
        model._keys.replace(
            (key, ticket) for key, ticket in model._keys.items() if key != self._key
        )

    def without(self, about: Described, objects: Any) -> Described:
        """Return what is known of a model, without the key in the snapshots of its settings."""
        eras = tuple(Era(era.until, self._cleared(about, era.spec, None)) for era in about.eras)
        return replace(about, spec=self._cleared(about, about.spec, objects), eras=eras)

    def _cleared(self, about: Described, spec: bytes, objects: Any) -> bytes:
        if json.dumps(self._key).encode() not in spec:
            return spec
        model = KINDS[about.kind].restored(spec, objects)
        if self._key not in dict(model._keys.items()):
            return spec
        self.cancel(model)
        blob: bytes = model.snapshot()
        return blob


def check_erased(database: Readable, about: Described, key: Key, model: Any) -> None:
    """Raise ``StoreDamaged`` if a log or a model still knows a key."""
    for row, events in read_events(database, about, about.first):
        if any(of.key_of(event) == key for event in events):
            raise StoreDamaged(f"erase: event {row.first} or a later one still has the key")
    if key in dict(model._keys.items()):
        raise StoreDamaged("erase: the model still has a ticket of the key")


def erase_from_export(
    path: StrPath, key: Key, *, spec: Any = None, rebuild: bool = False
) -> Erased:
    """Erase a key from a file that ``Store.export`` has written, which is replaced.

    ``spec`` is needed where ``Store.load`` needs it.
    """
    from belated.store import open as open_store

    target = Path(path)
    with (
        TemporaryDirectory(prefix=".belated-", dir=target.parent) as folder,
        open_store(Path(folder) / "erasing.db") as store,
    ):
        store.load("model", target, spec)
        found = store.erase("model", key, rebuild=rebuild)
        if found.tickets:
            store.export("model", target, note=store.exported_note(target))
    return found
