# cython: infer_types=True
"""The table of open tickets, all counting of delays (paper, equations 1 and 2), and keys.

Entries stand in ticket order: the number of the ticket and, beside it, how many answers had arrived
when it was issued (or that it is closed). Closing marks an entry dead; when the table is full, dead
entries are removed. After that new entries are consecutive again, so a recent ticket is found by
subtraction and an old one by bisection. Opening and closing cost O(1) amortised, and memory is
O(open tickets).
"""

from __future__ import annotations

import cython
import numpy as np

from belated import refusals
from belated.core.component import COUNT, MOST_ROUNDS, NOT_NEGATIVE, SUM, VECTOR, demand
from belated.errors import BadKey, SnapshotError, UnknownTicket
from belated.keys import check_key
from belated.validation import checked_ticket

if not cython.compiled:
    from belated.core.component import Component
    from belated.core.numerics import copy, floats_at, ints_at, new_zeros, part

# What an event returns: 1 used, 0 dropped, below 0 refused and nothing has changed.
USED = 1
DROPPED = 0
UNKNOWN = refusals.UNKNOWN
CLOSED = refusals.CLOSED
BAD = refusals.BAD
TOO_LARGE = refusals.TOO_LARGE
OUT_OF_ORDER = refusals.OUT_OF_ORDER
FORGOTTEN = refusals.FORGOTTEN

# What ``seen`` says of an entry that is not open.
DEAD = -1
HELD = -2  # answered or cancelled, while a method still needs its record
EXPIRED = -3  # EXPIRED - t: given up on before prediction t, and its answer may still come

SMALLEST = 64  # smallest capacity
# Expired tickets that are remembered where they are forgotten by number: so many, and so many for
# each that is open. That is enough to count a label that comes up to nine times later than the
# limit of ``Expiry``.
REMEMBERED = cython.declare(cython.longlong, 900)
PER_OPEN = cython.declare(cython.longlong, 8)


class Tickets(Component):
    """Open tickets and the counts of the paper's section 3.

    The delay d_t of ticket t counts predictions while it was open (``max_delay`` is the largest of
    answered tickets, ``max_lost_delay`` that of others), its dual delay d*_n (``lag``) the
    arrivals, and s*_n (``open_lags``) the tickets open after its arrival. ``width`` floats per
    entry are kept for other components (``record``).

    Entries before ``sparse`` are found by bisection, later ones at ticket + ``offset``; no entry
    before ``head`` is open; expired entries before ``faded`` are forgotten; ``held`` entries are
    closed, but a method needs their records. ``late`` counts answers to tickets that were given up
    on, ``excess`` answers that were larger than assumed.

    Where answers have weights w, rates see ``weighted_arrivals`` = sum w^2 and
    ``weighted_backlogs`` = sum of w times ``waiting``, the weights still open; else these are n and
    sum s*. ``fed`` counts arrivals that the base heard of.
    """

    FIELDS = {
        **dict.fromkeys(("rounds", "arrived", "skipped", "cancelled", "late", "excess"), COUNT),
        **dict.fromkeys(("max_dual", "max_delay", "max_lost_delay", "max_dual_delay"), COUNT),
        **dict.fromkeys(("lag", "open_lags", "expired", "forgotten", "fed", "held"), COUNT),
        **dict.fromkeys(("weight", "waiting"), NOT_NEGATIVE),
        **dict.fromkeys(("weighted_arrivals", "weighted_backlogs"), NOT_NEGATIVE),
        "sum_dual": SUM,
    }
    TABLE = ("number", "seen", "records")

    def __init__(self, width: int = 0, largest: float = VECTOR.most):
        self.largest = largest  # what is kept of a ticket is no larger
        self.rounds = self.arrived = self.skipped = self.cancelled = self.late = self.excess = 0
        self.sum_dual = self.max_dual = self.max_dual_delay = self.held = 0
        self.max_delay = self.max_lost_delay = 0
        self.lag = self.open_lags = self.expired = self.forgotten = self.fed = 0
        self.weight, self.waiting = 1.0, 0.0
        self.weighted_arrivals = self.weighted_backlogs = 0.0
        self.head = self.faded = self.sparse = self.offset = self.capacity = 0
        self.width = width
        self.resize(SMALLEST, width)

    # --- The table -------------------------------------------------------------------------------

    def resize(self, capacity: int, width: int):
        """Give the table room for so many entries; all is allocated before anything changes.

        Nothing here lets other threads in, as copies by NumPy would.
        """
        arrays = [new_zeros(capacity).view(np.int64), new_zeros(capacity).view(np.int64)]
        arrays.append(new_zeros(max(1, capacity * width)))
        number, seen, records = ints_at(arrays[0]), ints_at(arrays[1]), floats_at(arrays[2])
        for i in range(self.tail()):
            number[i] = self.number[i]
            seen[i] = self.seen[i]
        for i in range(self.tail() * self.width):
            records[i] = self.records[i]
        self.number_array, self.seen_array, self.record_array = arrays
        self.number, self.seen, self.records, self.capacity = number, seen, records, capacity

    def widen(self, columns: int):
        """Keep so many floats more per entry, before the first ticket is issued."""
        self.resize(self.capacity, self.width + columns)
        self.width += columns

    def reserve(self, most_open: int):
        """Make room for a whole run with so many tickets open at once.

        When the table is full, the open tickets are moved together. With eight times their number
        that costs next to nothing; very many get twice as much, as memory then matters more.
        """
        room = min(8 * most_open, 2 * most_open + 32_768) + 2
        self.resize(max(room, self.capacity), self.width)

    def grow(self):
        """Double the table."""
        self.resize(2 * self.capacity, self.width)
        return 0

    def make_room(self):
        """Make room for one more ticket; False if the table has to grow first."""
        if self.rounds + self.offset < self.capacity:
            return True
        if 2 * (self.rounds - self.arrived + self.expired + self.held) > self.capacity:
            return False
        self.compact()
        return True

    def compact(self):
        """Remove dead entries."""
        kept = head = 0
        for entry in range(self.rounds + self.offset):
            if self.seen[entry] != DEAD:
                self.number[kept] = self.number[entry]
                self.seen[kept] = self.seen[entry]
                copy(self.record(entry), self.record(kept), self.width)
                kept += 1
                if entry < self.head:
                    head = kept
        self.head, self.faded = head, 0
        self.sparse, self.offset = kept, kept - self.rounds

    def bisect(self, ticket):
        """Find a ticket among the entries that the last removal left, or return -1."""
        last = self.sparse - 1
        if last < 0:
            return -1
        # Tickets rise by at least 1 per entry, which narrows the search from both ends.
        low = max(0, last - (self.number[last] - ticket))
        high = min(last, ticket - self.number[0])
        while low < high:
            middle = (low + high) >> 1
            if self.number[middle] < ticket:
                low = middle + 1
            else:
                high = middle
        return low if low < self.sparse and self.number[low] == ticket else -1

    if not cython.compiled:

        def record(self, entry):  # in the header, so that other units need no call for it
            """Return the floats that are kept for an entry."""
            return part(self.records, entry * self.width)

    def tail(self):
        """Return how many entries are in use, dead ones included."""
        return self.rounds + self.offset

    def locate(self, ticket):
        """Return the entry of a ticket that is open or expired, else why there is none."""
        if ticket < self.forgotten or ticket >= self.rounds:
            return FORGOTTEN if 0 <= ticket < self.forgotten else UNKNOWN
        entry = self.entry_of(ticket)
        if entry < 0 or self.seen[entry] == DEAD or self.seen[entry] == HELD:
            return CLOSED
        return entry

    def entry_of(self, ticket):
        """Return the entry of a ticket that was issued, or -1 if it has been removed."""
        entry = ticket + self.offset
        return self.bisect(ticket) if entry < self.sparse else entry

    def open_next(self):
        """Append the next ticket and return its entry."""
        entry = self.rounds + self.offset
        self.number[entry] = self.rounds
        self.seen[entry] = self.arrived
        self.rounds += 1
        return entry

    def close(self, entry):
        """Close an entry that is answered, and count its delay d_t."""
        self.max_delay = max(self.max_delay, self.rounds - self.number[entry] - 1)
        self.seen[entry] = DEAD

    def count_arrival(self, entry):
        """Count the arrival for an open entry: d*_n and s*_n. Return s*_n."""
        self.lag = self.arrived - self.seen[entry]
        self.open_lags = self.rounds - self.arrived - 1
        self.arrived += 1
        self.sum_dual += self.open_lags
        self.max_dual = max(self.max_dual, self.open_lags)
        self.max_dual_delay = max(self.max_dual_delay, self.lag)
        return self.open_lags

    def count_weight(self, weight, waiting):
        """Sum up for the rates what the arrival weighs, and what still waits."""
        self.weight, self.waiting = weight, waiting
        self.weighted_arrivals += weight * weight
        self.weighted_backlogs += weight * waiting
        self.fed += 1

    def feed_arrival(self, entry):
        """Count the arrival for an open entry, with weight 1."""
        self.count_weight(1.0, self.count_arrival(entry))

    def is_open(self, ticket):
        """Tell whether a ticket is open."""
        entry = self.locate(ticket)
        return entry >= 0 and self.seen[entry] >= 0

    # --- Events ----------------------------------------------------------------------------------

    def close_lost(self, entry, seen):
        """Close an entry without an answer, and count its delay."""
        self.max_lost_delay = max(self.max_lost_delay, self.rounds - self.number[entry] - 1)
        self.seen[entry] = seen

    def cancel(self, entry):
        """Close an entry whose answer will never come."""
        self.cancelled += 1
        self.close_lost(entry, DEAD)

    def skip(self, entry):
        """Give up on an entry; it stays known until its answer comes after all."""
        self.skipped += 1
        self.expired += 1
        self.close_lost(entry, EXPIRED - self.rounds)

    def lose(self, entry):
        """Give up on an entry and forget it at once; nothing is fed in its place."""
        self.count_arrival(entry)
        self.skipped += 1
        self.close_lost(entry, DEAD)

    def hold(self, entry):
        """Keep the record of an entry, whose arrival is counted, until ``release``."""
        self.seen[entry] = HELD
        self.held += 1

    def release(self, entry):
        """Remove an entry that was held."""
        self.seen[entry] = DEAD
        self.held -= 1

    def is_expired(self, entry):
        """Tell whether an entry was given up on, so that its answer is dropped."""
        return self.seen[entry] <= EXPIRED

    def drop_expired(self, entry):
        """Forget an expired entry."""
        self.expired -= 1
        self.seen[entry] = DEAD

    def forget_expired(self, rounds):
        """Forget, before prediction t, what was given up on before prediction t - rounds.

        Tickets are given up on in their order, so the oldest comes first, and all that were issued
        before a forgotten one are closed: ``forgotten`` is all that has to be remembered. Every
        entry is passed once.
        """
        entry = self.faded
        latest = self.rounds - rounds
        while entry < self.head and EXPIRED - self.seen[entry] <= latest:
            if self.is_expired(entry):
                self.drop_expired(entry)
                self.forgotten = self.number[entry] + 1
            entry += 1
        self.faded = entry

    def forget_oldest(self):
        """Forget the oldest expired entries, if there are more than are remembered."""
        entry, most = self.faded, REMEMBERED + PER_OPEN * (self.rounds - self.arrived)
        while self.expired > most and entry < self.rounds + self.offset:
            if self.is_expired(entry):
                self.drop_expired(entry)
            entry += 1
        self.faded = entry

    def advance_head(self):
        """Move ``head`` to the oldest open entry; return its ticket, or the next if none is."""
        end = self.tail()
        while self.head < end and self.seen[self.head] < 0:
            self.head += 1
        return self.number[self.head] if self.head < end else self.rounds

    # --- What Python reads -----------------------------------------------------------------------

    @property
    def open(self):
        """Tickets that wait for their answer."""
        return self.rounds - self.arrived

    @property
    def given_up(self):
        """Tickets that were closed without an answer."""
        return self.skipped + self.cancelled

    @property
    def unanswered(self):
        """Tickets that are open, given up on or cancelled."""
        return self.open + self.given_up

    @property
    def total_delay(self):
        """Sum of the backlogs at all predictions: the total delay so far.

        With R predictions and N arrivals it is sum s* + N(N-1)/2 - R(R-1)/2 + (R-N)(R-1): sum the
        identity s*_n = d + t - n of Theorem 3.4 (c) over the arrivals, and let the delay of an open
        ticket t be R - 1 - t.
        """
        return total_delay_of(self.rounds, self.arrived, self.sum_dual)

    @property
    def max_backlog(self):
        """sigma_max so far: an arrival right after a prediction has s* equal to its backlog."""
        return max(self.max_dual, self.rounds - self.arrived - 1)

    @property
    def oldest_age(self):
        """Predictions after the oldest open ticket; 0 if none is open."""
        if self.rounds == self.arrived:
            return 0
        entry = int(np.argmax(self.seen_array[: self.rounds + self.offset] >= 0))
        return self.rounds - 1 - int(self.number_array[entry])

    def counts(self):
        """Return what every report says, by the name of its field."""
        return {
            "rounds": self.rounds,
            "observed": self.rounds - self.unanswered,
            "open": self.open,
            "skipped": self.skipped,
            "cancelled": self.cancelled,
            "late": self.late,
            "total_delay": self.total_delay,
            "max_delay": max(self.max_delay, self.max_lost_delay, self.oldest_age),
            "max_answered_delay": self.max_delay,
            "max_unanswered_age": max(self.max_lost_delay, self.oldest_age),
            "max_backlog": self.max_backlog,
            "max_dual_delay": self.max_dual_delay,
        }

    def issue(self):
        """Issue the next ticket, where nothing is predicted."""
        if not self.make_room():
            self.grow()
        return self.number[self.open_next()]

    def arrive(self, ticket: cython.longlong):
        """Count the arrival of a ticket and close it; return its entry, or why there is none."""
        entry = self.locate(ticket)
        if entry >= 0:
            self.count_arrival(entry)
            self.close(entry)
        return entry

    def is_known(self, ticket: cython.longlong):
        """Tell whether an answer to a ticket would not be refused."""
        return self.locate(ticket) >= 0

    def answerable(self):
        """Return the tickets whose answer would not be refused."""
        used = self.rounds + self.offset
        seen = self.seen_array[:used]
        return set(self.number_array[:used][(seen >= 0) | (seen <= EXPIRED)].tolist())

    # --- State -----------------------------------------------------------------------------------

    def state(self):
        """Return counters, and the table without dead entries, so that equals have equal states."""
        used = self.rounds + self.offset
        alive = self.seen_array[:used] != DEAD
        records = self.record_array[: used * self.width].reshape(used, self.width)
        table = (self.number_array[:used], self.seen_array[:used], records)
        arrays = {name: array[alive] for name, array in zip(self.TABLE, table, strict=True)}
        return Component.state(self) | arrays

    def restore(self, state):
        """Take counters and table; without new memory if there is room, as when undoing."""
        entries = len(state["number"])
        if entries > self.capacity:
            self.resize(1 << (2 * entries).bit_length(), self.width)
        self.number_array[:entries] = state["number"]
        self.seen_array[:entries] = state["seen"]
        self.record_array[: entries * self.width] = state["records"].reshape(-1)
        Component.restore(self, state)
        self.sparse, self.offset = entries, entries - self.rounds
        self.head = self.faded = 0

    def check(self, state):
        """Demand that the table can be one, then that counters agree with it."""
        number, seen, records = (state.get(name) for name in self.TABLE)
        demand(all(isinstance(found, np.ndarray) for found in (number, seen, records)), "the table")
        fits = number.ndim == 1 and seen.shape == number.shape and number.dtype == seen.dtype
        demand(fits and number.dtype == np.int64, "the table")
        fits = records.dtype == np.float64 and records.shape == (len(number), self.width)
        demand(fits and (np.abs(records) <= self.largest).all(), "records")
        fields = {name: value for name, value in state.items() if name not in self.TABLE}
        Component.check(self, fields)
        check_counts(state)
        check_table(state)


def total_delay_of(rounds, arrived, sum_dual):
    """Return the total delay; see ``Tickets.total_delay``."""
    closed = sum_dual + arrived * (arrived - 1) // 2
    return closed - rounds * (rounds - 1) // 2 + (rounds - arrived) * (rounds - 1)


def check_counts(state):
    """Demand that counters agree with one another."""
    rounds, arrived, skipped = state["rounds"], state["arrived"], state["skipped"]
    lost, most, total = skipped + state["cancelled"], state["max_dual"], state["sum_dual"]
    demand(lost <= arrived and 0 <= state["late"] <= skipped - state["expired"], "lost tickets")
    demand(state["excess"] <= arrived - lost + state["late"], "large answers")
    demand(most <= total <= arrived * most, "dual backlogs")
    demand(total_delay_of(rounds, arrived, total) >= 0, "total delay")
    of_rounds = ("arrived", "max_dual", "max_delay", "max_lost_delay", "open_lags", "forgotten")
    demand(max(state[name] for name in of_rounds) <= rounds, "counts of rounds")
    demand(max(state[n] for n in ("max_dual_delay", "lag", "fed", "held")) <= arrived, "arrivals")


def check_table(state):
    """Demand that tickets stand in order, and that there are as many of each kind as counted."""
    rounds, arrived = state["rounds"], state["arrived"]
    number, seen = state["number"], state["seen"]
    demand((np.diff(number) > 0).all(), "tickets out of order")
    demand(((number >= state["forgotten"]) & (number < rounds)).all(), "tickets never issued")
    expired_at = EXPIRED - seen  # below 0 for other states
    demand(((seen >= 0) | (expired_at >= 0) | (seen == HELD)).all(), "states of tickets")
    demand(((expired_at < 0) | ((expired_at >= number) & (expired_at <= rounds))).all(), "expiry")
    demand(np.count_nonzero(seen >= 0) == rounds - arrived, "open tickets")
    demand(np.count_nonzero(seen <= EXPIRED) == state["expired"], "skipped tickets")
    demand(np.count_nonzero(seen == HELD) == state["held"], "tickets that are held")
    issued, before = number[seen >= 0], seen[seen >= 0]
    demand((before <= np.minimum(issued - np.arange(issued.size), arrived)).all(), "arrivals")
    demand((np.diff(before) >= 0).all(), "arrivals out of order")


assert MOST_ROUNDS < 1 << 62  # so that EXPIRED - t is a word


# --- Keys ----------------------------------------------------------------------------------------


def plain_key(key):
    """Return a key, which may be of a type derived from str, as plain text."""
    return key if type(key) is str else str.__str__(key)


class Keys:
    """Which ticket has which key; keys of closed tickets are dropped now and then.

    A string is a key, and a whole number is a ticket. ``tickets`` tells which are open, and which
    are known, so that an answer would not be refused.
    """

    def __init__(self, tickets):
        self.tickets, self.ticket_of, self.prune_at = tickets, {}, 64

    def ticket(self, name):
        """Return the ticket of a key; a ticket stands for itself."""
        if not isinstance(name, str):
            return checked_ticket(name)
        found = self.ticket_of.get(plain_key(name))
        if found is None:
            raise UnknownTicket(f"no open ticket has the key {name!r}; nothing has changed")
        return found

    def is_open(self, name):
        """Tell whether a ticket, or that of a key, is open; no open ticket has an unknown key."""
        if not isinstance(name, str):
            return self.tickets.is_open(checked_ticket(name))
        found = self.ticket_of.get(plain_key(name))
        return found is not None and self.tickets.is_open(found)

    def check(self, key):
        """Return a key as plain text; refuse what is none, or is that of an open ticket."""
        if not isinstance(key, str):
            check_key(key)
        key = plain_key(key)
        found = self.ticket_of.get(key)
        if found is not None and self.tickets.is_open(found):
            raise BadKey(
                f"the key {key!r} belongs to ticket {found}, which is still open; nothing has "
                "changed: answer or cancel that one first, or choose another key"
            )
        return key

    def assign(self, key, ticket):
        """Give a key that was checked to a ticket."""
        self.ticket_of[key] = ticket
        if len(self.ticket_of) > self.prune_at:
            pairs = self.ticket_of.items()
            self.ticket_of = {name: t for name, t in pairs if self.tickets.is_known(t)}
            self.prune_at = max(64, 2 * len(self.ticket_of))
        return 0

    def stands_for(self, name, ticket):
        """Tell whether a name is a key of a ticket; it may have been given to another one."""
        return isinstance(name, str) and self.ticket_of.get(plain_key(name), -1) == ticket

    def remove(self, name):
        """Forget a key, if it is one: its ticket is closed."""
        if isinstance(name, str):
            self.ticket_of.pop(plain_key(name), None)
        return 0

    def items(self):
        """Return all that are known, also some of tickets that are closed."""
        return self.ticket_of.items()

    def replace(self, pairs):
        """Take other keys."""
        self.ticket_of = dict(pairs)

    def state(self):
        """Return what a snapshot says of them, in the order of tickets."""
        pairs = [[key, t] for key, t in self.ticket_of.items() if self.tickets.is_known(t)]
        return {"keys": sorted(pairs, key=lambda pair: pair[1])}

    def restore(self, about):
        """Take the keys that a snapshot tells of, or refuse them."""
        given, known = about.get("keys"), {}
        is_readable = isinstance(given, list)
        for pair in given if is_readable else ():
            fits = isinstance(pair, list) and [type(part) for part in pair] == [str, int]
            if not fits or not 0 <= pair[1] < MOST_ROUNDS or not self.tickets.is_known(pair[1]):
                is_readable = False
                break
            known[pair[0]] = pair[1]
        if not is_readable or len(set(known.values())) < len(given):
            raise SnapshotError("restore: the keys cannot be read")
        self.ticket_of = known
