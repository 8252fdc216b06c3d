"""The keys that were answered or cancelled: an answer that arrives again is a duplicate."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable

from belated.keys import Key

_MOST = 20_000  # closed keys
_FEW = 64  # keys of tickets that are kept whether or not the tickets are open


class ClosedKeys:
    """The keys of a model that were closed last, and the keys of its open tickets.

    The model forgets a key as soon as its ticket is closed, also by an answer to the ticket.

    >>> keys = ClosedKeys(lambda: [])
    >>> keys.open("order-120", 7)
    >>> keys.close(7)
    >>> "order-120" in keys
    True
    >>> keys.open("order-120", 8)
    >>> "order-120" in keys
    False
    """

    def __init__(self, known: Callable[[], Iterable[tuple[Key, int]]]) -> None:
        self._known = known  # returns the keys that the model knows, and their tickets
        self._closed: OrderedDict[Key, None] = OrderedDict()
        self._tickets: dict[Key, int] = {}
        self._keys: dict[int, Key] = {}
        self.tidy()

    def __contains__(self, key: object) -> bool:
        """Tell whether a key was closed, and not opened since."""
        return key in self._closed

    def open(self, key: Key, ticket: int) -> None:
        """Note that a key belongs to a new ticket."""
        self._closed.pop(key, None)
        self._tickets[key], self._keys[ticket] = ticket, key

    def close(self, which: Key | int) -> None:
        """Note that a key was closed, or the key of a ticket."""
        if isinstance(which, int):
            key = self._keys.pop(which, None)
            if key is None or self._tickets.get(key) != which:
                return
        else:
            key = which
        self._keys.pop(self._tickets.pop(key, -1), None)
        self._closed[key] = None
        if len(self._closed) > _MOST:
            self._closed.popitem(last=False)

    @property
    def is_crowded(self) -> bool:
        """Whether many of the tickets may have expired."""
        return len(self._keys) > self._room

    def tidy(self) -> None:
        """Forget the keys of tickets that expired; no other thread uses the model meanwhile."""
        self._tickets = dict(self._known())
        self._keys = {ticket: key for key, ticket in self._tickets.items()}
        self._room = max(_FEW, 2 * len(self._keys))
