"""Which keys were answered: who brings an answer again is told so, and not that nobody knows it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable

from belated.keys import Key

_MOST = 20_000  # keys that were answered, of which it is known that they were
_FEW = 64  # keys of tickets that are kept whether they are open or not

Given = Callable[[], Iterable[tuple[Key, int]]]
"""Returns the keys that a model knows, and the ticket of each: those of all that are open."""


class Answered:
    """The keys of a model that were answered last, and which key an open ticket has.

    An answer that comes by its ticket closes the key as well, which the model itself forgets
    without a word.

    What is said of events before they are committed stands in ``Ahead``: it is believed at once,
    and forgotten where the commit fails.

    >>> answered = Answered(lambda: [])
    >>> answered.name(7, "order-120")
    >>> answered.close_ticket(7)
    >>> "order-120" in answered
    True
    >>> ahead = Ahead(answered)
    >>> ahead.open("order-120")
    >>> "order-120" in answered
    False
    >>> ahead.drop()  # what was asked under this key is lost
    >>> "order-120" in answered
    True
    """

    def __init__(self, given: Given) -> None:
        self._given = given
        self._closed: OrderedDict[Key, None] = OrderedDict()
        self._keys: dict[int, Key] = {ticket: key for key, ticket in given()}
        self._room = _FEW
        self._ahead: dict[Key, tuple[Ahead, bool]] = {}  # who spoke last of a key, and is it closed

    def __contains__(self, key: Key) -> bool:
        """Tell whether a key was answered or cancelled, and stands for nothing since."""
        said = self._ahead.get(key)
        return key in self._closed if said is None else said[1]

    def key_of(self, ticket: int) -> Key | None:
        """Return the key that an open ticket has, if it has one."""
        return self._keys.get(ticket)

    def open(self, key: Key) -> None:
        """Note that a key stands for a new ticket."""
        self._closed.pop(key, None)

    def name(self, ticket: int, key: Key) -> None:
        """Note which key a new ticket has."""
        self._keys[ticket] = key

    def close(self, key: Key) -> None:
        """Note that a key was answered or cancelled."""
        self._closed[key] = None
        if len(self._closed) > _MOST:
            self._closed.popitem(last=False)

    def close_ticket(self, ticket: int) -> None:
        """Note that a ticket was answered or cancelled, and with it the key that it has."""
        key = self._keys.get(ticket)
        if key is not None:
            self.close(key)

    def forget(self, ticket: int) -> None:
        """Forget which key a ticket has, which is closed for good."""
        self._keys.pop(ticket, None)

    def tidy(self) -> None:
        """Forget the keys of tickets that were given up on, when there may be many of them."""
        if len(self._keys) > self._room:
            self._keys = {ticket: key for key, ticket in list(self._given())}
            self._room = max(_FEW, 2 * len(self._keys))


class Ahead:
    """What events that wait for one commit say of keys."""

    __slots__ = ("_answered", "_said", "_words")

    def __init__(self, answered: Answered) -> None:
        self._answered, self._words = answered, answered._ahead
        self._said: list[tuple[Key, bool]] = []  # in order; the last word on a key counts

    def open(self, key: Key) -> None:
        """Note that a key stands for a new ticket."""
        self._said.append((key, False))
        self._words[key] = self, False

    def close(self, key: Key) -> None:
        """Note that a key was answered or cancelled."""
        self._said.append((key, True))
        self._words[key] = self, True

    def close_ticket(self, ticket: int) -> None:
        """Note that a ticket was answered or cancelled, and with it the key that it has."""
        key = self._answered.key_of(ticket)
        if key is not None:
            self.close(key)

    def keep(self) -> None:
        """Remember it: it is committed."""
        answered = self._answered
        for key, is_closed in self._said:
            if is_closed:
                answered.close(key)
            else:
                answered.open(key)
        self.drop()

    def drop(self) -> None:
        """Believe it no more, as it is lost or stands with the rest, where nobody spoke since."""
        words = self._words
        for key, _ in self._said:
            if words.get(key, _NOBODY)[0] is self:
                del words[key]


_NOBODY = (None, False)
