"""Names that users give to their tickets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

from belated.errors import BadKey, SnapshotError, UnknownTicket
from belated.kernels.memory import Memory
from belated.kernels.slots import ints as N
from belated.keys import Key, check_key
from belated.validation import checked_ticket

__all__ = ["Key", "Keys", "check_key"]


class Keys:
    """Which ticket has which key. Keys of closed tickets are dropped now and then.

    A string is a key, and a whole number is a ticket.

    >>> keys = Keys()
    >>> keys.give("order-120", 7)
    >>> keys.ticket("order-120"), keys.ticket(7), "order-7" in keys
    (7, 7, False)
    """

    __slots__ = ("_most", "left", "tickets")

    def __init__(self, given: Iterable[tuple[Key, int]] = ()) -> None:
        self.tickets: dict[Key, int] = dict(given)
        """By key, also some of tickets that are closed."""
        self._most = 64
        self.left: tuple[Key | list[Key | None] | None, int, int] | None = None
        """What a prediction leaves to ``finish``: its key, its ticket, and of what kind times are.

        Of many it is a list of keys, and the first ticket. It is noted before the kernel is called;
        see ``belated.learner.whole``.
        """

    @classmethod
    def restored(cls, about: Mapping[str, Any], alive: Callable[[], set[int]]) -> Self:
        """Return the keys that a snapshot tells of, or refuse them."""
        given = about.get("keys")
        if not isinstance(given, list):
            raise _unreadable()
        pairs: dict[Key, int] = {}
        living = alive() if given else set()
        for pair in given:
            if not isinstance(pair, list) or len(pair) != 2:
                raise _unreadable()
            key, ticket = pair
            if (
                type(key) is not str
                or type(ticket) is not int
                or ticket not in living
                or key in pairs
            ):
                raise _unreadable()
            pairs[key] = ticket
        if len(set(pairs.values())) < len(pairs):
            raise _unreadable()
        return cls(pairs.items())

    def __bool__(self) -> bool:
        """Tell whether there are any."""
        return bool(self.tickets)

    def __contains__(self, key: object) -> bool:
        """Tell whether a key is known."""
        return key in self.tickets

    def ticket(self, name: Any) -> Any:
        """Return the ticket of a key; what is none is returned as it is."""
        if not isinstance(name, str):
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
        if not isinstance(name, str):
            return is_open(checked_ticket(name))
        found = self.tickets.get(name)
        return found is not None and is_open(found)

    def check(self, key: Any, is_open: Callable[[int], bool]) -> None:
        """Refuse what cannot be a key, or is the key of an open ticket."""
        check_key(key)
        found = self.tickets.get(key)
        if found is not None and is_open(found):
            raise BadKey(
                f"the key {key!r} belongs to ticket {found}, which is still open; nothing has "
                "changed: answer or cancel that one first, or choose another key"
            )

    def give(self, key: Key, ticket: int) -> None:
        """Give a key to a ticket; one of NumPy's is kept as Python's own."""
        self.tickets[str(key)] = ticket

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
            set(map(type, keys)) == {str}
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
        given = {str(key): ticket for ticket, key in enumerate(keys, first) if key is not None}
        self.tickets.update(given)

    def drop(self, name: Any) -> None:
        """Forget a key, if it is one: its ticket is closed."""
        if isinstance(name, str):
            self.tickets.pop(name, None)

    def tidy(self, alive: Callable[[], set[int]]) -> None:
        """Forget the keys of tickets that are closed, when there may be many of them."""
        if len(self.tickets) > self._most:
            living = alive()
            self.tickets = {k: t for k, t in self.tickets.items() if t in living}
            self._most = max(64, 2 * len(self.tickets))

    def about(self, alive: Callable[[], set[int]]) -> dict[str, Any]:
        """Return what a snapshot says of them."""
        return {"keys": self.pairs(alive()) if self.tickets else []}

    def given(self) -> Iterable[tuple[Key, int]]:
        """Return all that are known, also some of tickets that are closed."""
        return self.tickets.items()

    def pairs(self, alive: set[int]) -> list[tuple[Key, int]]:
        """Return the keys of tickets that can still be answered, in the order of tickets."""
        kept = [(key, ticket) for key, ticket in self.tickets.items() if ticket in alive]
        return sorted(kept, key=lambda pair: pair[1])


def _unreadable() -> SnapshotError:
    return SnapshotError("restore: the keys cannot be read")
