"""Names that users give to their tickets."""

from __future__ import annotations

import cython

from belated.core.component import MOST_ROUNDS
from belated.errors import BadKey, SnapshotError, UnknownTicket
from belated.keys import check_key
from belated.validation import checked_ticket

if cython.compiled:
    from cython.cimports.belated.core.tickets import Tickets
else:
    from belated.core.tickets import Tickets


@cython.cclass
class Keys:
    """Which ticket has which key; keys of closed tickets are dropped now and then.

    A string is a key, and a whole number is a ticket.
    """

    def __init__(self, tickets: Tickets):
        self.tickets, self.known, self.most = tickets, {}, 64

    def ticket(self, name):
        """Return the ticket of a key; a ticket stands for itself."""
        if not isinstance(name, str):
            return checked_ticket(name)
        found = self.known.get(name)
        if found is None:
            raise UnknownTicket(f"no open ticket has the key {name!r}; nothing has changed")
        return found

    def is_open(self, name):
        """Tell whether a ticket, or that of a key, is open; no open ticket has an unknown key."""
        if not isinstance(name, str):
            return self.tickets.is_open(checked_ticket(name))
        found = self.known.get(name)
        return found is not None and self.tickets.is_open(found)

    def check(self, key):
        """Return a key as plain text; refuse what is none, or is that of an open ticket."""
        if not isinstance(key, str):
            check_key(key)
        key = str(key)
        found = self.known.get(key)
        if found is not None and self.tickets.is_open(found):
            raise BadKey(
                f"the key {key!r} belongs to ticket {found}, which is still open; nothing has "
                "changed: answer or cancel that one first, or choose another key"
            )
        return key

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def give(self, key: object, ticket: cython.longlong) -> cython.int:
        """Give a key that was checked to a ticket."""
        self.known[key] = ticket
        if len(self.known) > self.most:
            kept = {}
            for name, number in self.known.items():
                if self.tickets.locate(number) >= 0:
                    kept[name] = number
            self.known = kept
            self.most = max(64, 2 * len(kept))
        return 0

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def drop(self, name: object) -> cython.int:
        """Forget a key, if it is one: its ticket is closed."""
        if isinstance(name, str):
            self.known.pop(name, None)
        return 0

    def given(self):
        """Return all that are known, also some of tickets that are closed."""
        return self.known.items()

    def replace(self, pairs):
        """Take other keys."""
        self.known = dict(pairs)

    def state(self):
        """Return what a snapshot says of them, in the order of tickets."""
        pairs = [[key, t] for key, t in self.known.items() if self.tickets.is_known(t)]
        return {"keys": sorted(pairs, key=lambda pair: pair[1])}

    def restore(self, about):
        """Take the keys that a snapshot tells of, or refuse them."""
        given = about.get("keys")
        if not isinstance(given, list):
            raise SnapshotError("restore: the keys cannot be read")
        known = {}
        for pair in given:
            fits = isinstance(pair, list) and [type(part) for part in pair] == [str, int]
            if not fits or pair[0] in known or not 0 <= pair[1] < MOST_ROUNDS:
                raise SnapshotError("restore: the keys cannot be read")
            if not self.tickets.is_known(pair[1]):
                raise SnapshotError("restore: the keys cannot be read")
            known[pair[0]] = pair[1]
        if len(set(known.values())) < len(known):
            raise SnapshotError("restore: the keys cannot be read")
        self.known = known
