"""Names that users give to their tickets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Self

import numpy as np

from belated.errors import BadKey, SnapshotError, UnknownTicket
from belated.kernels.slots import ints as N
from belated.learner.given import checked_ticket
from belated.learner.state import Memory

Key = str | int
"""A key: text or a whole number."""


LARGEST = 10**100
"""Keys that are numbers are less than this, and more than its negative."""


class Ticket(int):
    """A whole number that is a ticket, also where other numbers are keys.

    It is for those who know which it is, as a service whose tickets are signed texts.
    """

    __slots__ = ()


class NumberKey(int):
    """A whole number that is a key, also where no number was given as one: then nothing has it."""

    __slots__ = ()


class Keys:
    """Which ticket has which key. Keys of closed tickets are dropped now and then.

    Text is always a key. A number is one as soon as a number has been given as a key; until then it
    is a ticket. ``Ticket`` and ``NumberKey`` say which it is.

    >>> keys = Keys()
    >>> keys.give("order-120", 7)
    >>> keys.ticket("order-120"), keys.ticket(7), "order-7" in keys
    (7, 7, False)
    >>> keys.give(7, 3)
    >>> keys.ticket(7), keys.ticket(Ticket(7))
    (3, 7)
    """

    __slots__ = ("_most", "has_numbers", "left", "tickets")

    def __init__(self, given: Iterable[tuple[Key, int]] = (), has_numbers: bool = False) -> None:
        self.tickets: dict[Key, int] = dict(given)
        """By key, also some of tickets that are closed."""
        self._most = 64
        self.has_numbers = has_numbers
        self.left: tuple[Key | list[Key | None] | None, int, int] | None = None
        """What a prediction leaves to ``finish``: its key, its ticket, and of what kind times are.

        Of many it is a list of keys, and the first ticket. It is noted before the kernel is called;
        see ``belated.learner.whole``.
        """

    @classmethod
    def restored(cls, about: Mapping[str, Any], alive: Callable[[], set[int]]) -> Self:
        """Return the keys that a snapshot tells of, or refuse them."""
        given, has_numbers = about.get("keys"), about.get("number_keys")
        if not isinstance(given, list) or not isinstance(has_numbers, bool):
            raise _unreadable()
        pairs: dict[Key, int] = {}
        living = alive() if given else set()
        for pair in given:
            if not isinstance(pair, list) or len(pair) != 2:
                raise _unreadable()
            key, ticket = pair
            is_key = type(key) is str or (type(key) is int and has_numbers)
            if not is_key or type(ticket) is not int or ticket not in living or key in pairs:
                raise _unreadable()
            pairs[key] = ticket
        if len(set(pairs.values())) < len(pairs):
            raise _unreadable()
        return cls(pairs.items(), has_numbers)

    def __bool__(self) -> bool:
        """Tell whether there are any."""
        return bool(self.tickets)

    def __contains__(self, key: object) -> bool:
        """Tell whether a key is known."""
        return key in self.tickets

    def ticket(self, name: Any) -> Any:
        """Return the ticket of a key; what is none is returned as it is."""
        if name.__class__ is Ticket:
            return int(name)
        if not may_be_key(name, self):
            return name
        found = self.tickets.get(name)
        if found is None:
            raise UnknownTicket(f"no open ticket has the key {name!r}; nothing has changed")
        return found

    def is_open(self, name: Any, is_open: Callable[[int], bool]) -> bool:
        """Tell whether a ticket, or that of a key, is open; no open ticket has an unknown key.

        >>> keys = Keys([("order-120", 7)])
        >>> keys.is_open("order-120", {7}.__contains__), keys.is_open(7, {7}.__contains__)
        (True, True)
        >>> keys.is_open("order-121", {7}.__contains__)
        False
        """
        if not may_be_key(name, self):
            return is_open(checked_ticket(name))
        found = self.tickets.get(name)
        return found is not None and is_open(found)

    def check(self, key: Any, is_open: Callable[[int], bool]) -> None:
        """Refuse what cannot be a key, or is the key of an open ticket."""
        if type(key) is not str and type(key) is not int:
            key = plain_key(key)
            if type(key) is not str and type(key) is not int:
                raise BadKey(f"a key is text or a whole number, got {key!r}; nothing has changed")
        if type(key) is int and abs(key) >= LARGEST:
            raise BadKey("a key that is a number has at most 100 digits; nothing has changed")
        found = self.tickets.get(key)
        if found is not None and is_open(found):
            raise BadKey(
                f"the key {key!r} belongs to ticket {found}, which is still open; nothing has "
                "changed: answer or cancel that one first, or choose another key"
            )

    def give(self, key: Key, ticket: int) -> None:
        """Give a key to a ticket; one of NumPy's is kept as Python's own."""
        kind = type(key)
        if kind is not str and kind is not int:
            key = plain_key(key)
            kind = type(key)
        if kind is int:
            self.has_numbers = True
        self.tickets[key] = ticket

    def finish(self, memory: Memory) -> None:
        """Note the key of a ticket and the kind of its time, if the kernel has handed it out.

        It may be interrupted, and is then done again.
        """
        if self.left is None:
            return
        key, ticket, kind = self.left
        handed_out = memory.n.item(N.ROUNDS) - ticket
        if handed_out > 0:
            if kind:
                memory.n[N.HAS_TIMES] = kind
            if isinstance(key, list):
                self.give_many(key[:handed_out], ticket)
            elif key is not None:
                self.give(key, ticket)
        self.left = None
        self.tidy(memory.answerable)

    def check_many(self, keys: Sequence[Any], is_open: Callable[[int], bool], who: str) -> None:
        """Refuse keys of rows where one cannot be, is there twice, or is that of an open ticket.

        None stands for a row without a key.
        """
        if (
            _are_keys(set(map(type, keys)), keys)
            and len(set(keys)) == len(keys)
            and self.tickets.keys().isdisjoint(keys)
        ):
            return  # as nearly always
        seen: dict[Key, int] = {}
        for row, key in enumerate(keys):
            if key is None:
                continue
            try:
                self.check(key, is_open)
            except BadKey as error:
                raise BadKey(f"{who}: row {row}: {error}") from None
            if key in seen:
                raise BadKey(
                    f"{who}: row {row}: the key {key!r} is that of row {seen[key]} too; nothing "
                    "has changed"
                )
            seen[key] = row

    def give_many(self, keys: Sequence[Key | None], first: int) -> None:
        """Give keys to tickets in a row; None stands for one without."""
        given = {key: ticket for ticket, key in enumerate(keys, first) if key is not None}
        self.tickets.update(given)
        self.has_numbers = self.has_numbers or int in set(map(type, given))

    def drop(self, name: Any) -> None:
        """Forget a key, if it is one: its ticket is closed.

        Of a ``Ticket`` it is the key that is the same number, if that has such a key: whether it
        was answered by the one or the other, the same is left.
        """
        if self.tickets and (name.__class__ is not Ticket or self.tickets.get(name) == name):
            with suppress(TypeError):  # a ticket that is an array has no hash, and is no key
                self.tickets.pop(name, None)

    def tidy(self, alive: Callable[[], set[int]]) -> None:
        """Forget the keys of tickets that are closed, when there may be many of them."""
        if len(self.tickets) > self._most:
            living = alive()
            self.tickets = {k: t for k, t in self.tickets.items() if t in living}
            self._most = max(64, 2 * len(self.tickets))

    def about(self, alive: Callable[[], set[int]]) -> dict[str, Any]:
        """Return what a snapshot says of them."""
        return {
            "keys": self.pairs(alive()) if self.tickets else [],
            "number_keys": self.has_numbers,
        }

    def given(self) -> Iterable[tuple[Key, int]]:
        """Return all that are known, also some of tickets that are closed."""
        return self.tickets.items()

    def pairs(self, alive: set[int]) -> list[tuple[Key, int]]:
        """Return the keys of tickets that can still be answered, in the order of tickets."""
        kept = [(key, ticket) for key, ticket in self.tickets.items() if ticket in alive]
        return sorted(kept, key=lambda pair: pair[1])


def plain_key(key: Any) -> Any:
    """Return NumPy's text and whole numbers as Python's own, and anything else as it is.

    >>> plain_key(np.int64(9001)), plain_key(np.str_("order-120")), plain_key(True)
    (9001, 'order-120', True)
    """
    if isinstance(key, np.str_):
        return str(key)
    return int(key) if _is_numpys(key) else key


def may_be_key(name: Any, keys: Keys | None) -> bool:
    """Tell whether a name is that of a key, whether a ticket has it or not."""
    if isinstance(name, str) or name.__class__ is NumberKey:
        return True
    return keys is not None and keys.has_numbers and _is_whole(name)


def _are_keys(types: set[type], keys: Sequence[Any]) -> bool:
    """Tell whether all have the type of a key, and the same, and are small enough."""
    if types == {int}:
        return bool(min(keys) > -LARGEST and max(keys) < LARGEST)
    return types == {str}


def _is_whole(name: Any) -> bool:
    """Tell whether a name is a whole number, also one of NumPy's."""
    if isinstance(name, int):
        return not isinstance(name, bool | Ticket)
    return _is_numpys(name)


def _is_numpys(name: Any) -> bool:
    """Tell whether this is a whole number of NumPy's; its lengths of time only say so."""
    return isinstance(name, np.integer) and not isinstance(name, np.timedelta64)


def _unreadable() -> SnapshotError:
    return SnapshotError("restore: the keys cannot be read")
