"""What is known of old events while a model of other settings sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from belated.keys import Key
from belated.store.events import CANCEL, OBSERVE, OBSERVE_MANY, Event


@dataclass
class Past:
    """Of the event that is being played, and of all before it."""

    spec: bytes = b""
    """Snapshot of a model with the settings that the event was played with."""
    written: float = 0.0
    """When it was committed."""
    keys: dict[Key, int] = field(default_factory=dict)
    """Keys, and the ticket that each was given to last, until it was closed by that name."""
    needs_times: bool = False
    """Whether the deadline was a length of time, so that the store put times in."""
    has_times: bool = False
    """Whether the log has had a time so far."""
    _models: dict[bytes, Any] = field(default_factory=dict)

    def give(self, key: Key, ticket: int) -> None:
        """Remember that a key was given to a ticket."""
        self.keys[key] = ticket

    def give_many(self, keys: Iterable[Key | None], first: int) -> None:
        """Remember that keys were given to tickets in a row; None stands for one without."""
        for ticket, key in enumerate(keys, first):
            if key is not None:
                self.give(key, ticket)

    def close(self, event: Event) -> None:
        """Forget the keys by which an event has closed tickets, if it has."""
        if event[0] == OBSERVE_MANY:
            for key in event[5] if len(event) > 5 else ():
                self.keys.pop(key, None)
            return
        place = {OBSERVE: 3, CANCEL: 2}.get(event[0], len(event))
        if place < len(event):
            self.keys.pop(event[place], None)

    def before(self, restore: Callable[[bytes], Any]) -> Any:
        """Return a model with the settings that the event was played with."""
        found = self._models.get(self.spec)
        if found is None:
            found = self._models[self.spec] = restore(self.spec)
        return found
