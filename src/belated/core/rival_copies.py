"""Published methods that run copies of a learner, each of which never meets a delay.

A copy that waits for an answer has exactly one open ticket, its newest.
"""

from __future__ import annotations

import cython
import numpy as np

from belated.core.component import NOT_NEGATIVE, demand, section

if cython.compiled:
    from cython.cimports.belated.core.component import Component
    from cython.cimports.belated.core.player import Player
    from cython.cimports.belated.core.tickets import FULL, OUT_OF_ORDER, USED, Tickets
else:
    from belated.core.component import Component
    from belated.core.player import Player
    from belated.core.tickets import FULL, OUT_OF_ORDER, USED, Tickets

WEYL = 0x9E3779B9  # odd, so that the seeds of 2^32 copies are all different


def seed_of(seed, number):
    """Return the seed of a copy: another upper half for each."""
    high = ((seed >> 32) + number * WEYL) & 0xFFFFFFFF
    return seed & 0xFFFFFFFF | high << 32


@cython.cclass
class Copies(Player):
    """Copies of a player, made by ``make(seed, strict)``; a ticket keeps which one played it.

    Making one takes Python, which ``grow`` does before anything changes; events take the
    interpreter lock, as they look copies up in a list.
    """

    FIELDS = {"newest_rate": NOT_NEGATIVE}

    make: object
    seed: object
    copies = cython.declare(list, visibility="readonly")
    newest_rate = cython.declare(cython.double, visibility="public")

    def __init__(self, make, seed, strict: bool):
        first: Player = make(seed, strict)
        self.tickets, self.make, self.seed, self.copies = Tickets(1), make, seed, [first]
        self.dim, self.play_size, self.answer_size = first.dim, first.play_size, first.answer_size
        self.strict, self.newest_rate = strict, 0.0
        self.has_user_parts = self.loses = False

    @property
    def rate(self):
        """The step size of the copy that learned last."""
        return self.newest_rate or None

    def parts(self):
        copies = {f"copy{number}": copy for number, copy in enumerate(self.copies)}
        return {"tickets": self.tickets, **copies}

    def components(self):
        """Return the classes; all copies are alike."""
        return {"class": type(self).__name__, "copy": self.copies[0].components()}

    def grow(self):
        """Make room for one more ticket, or one more copy."""
        number = len(self.copies)
        if not self.tickets.has_room():
            self.tickets.grow()
            return
        copy = self.make(seed_of(self.seed, number), self.strict)
        if number == len(self.copies):  # else another thread was faster
            self.copies.append(copy)
            self.release(number)

    def is_too_early(self):
        """Tell whether the next play has to wait for an answer."""
        return False

    def take(self):
        """Return the number of the copy that plays next; None if one has to be made first."""

    def release(self, number):
        """Note that a copy is free."""

    @cython.cfunc
    @cython.with_gil
    @cython.exceptval(-100, check=False)
    def predict(self, x: cython.p_double) -> cython.longlong:
        """Let a copy play."""
        if self.is_too_early():
            return OUT_OF_ORDER
        if not self.tickets.has_room():
            return FULL
        number = self.take()
        if number is None:
            return FULL
        copy: Player = self.copies[number]
        entry: cython.longlong = self.tickets.open_next()
        self.tickets.record(entry)[0] = number
        copy.predict(x)
        return self.tickets.number[entry]

    @cython.cfunc
    @cython.with_gil
    @cython.exceptval(-100, check=False)
    def observe(self, ticket: cython.longlong, answer: cython.p_double) -> cython.longlong:
        """Pass an answer on to the copy that played."""
        entry: cython.longlong = self.tickets.locate(ticket)
        if entry < 0:
            return entry
        number = int(self.tickets.record(entry)[0])
        copy: Player = self.copies[number]
        excess: cython.longlong = copy.tickets.excess
        status: cython.longlong = copy.observe(copy.tickets.rounds - 1, answer)
        if status >= 0:
            self.tickets.excess += copy.tickets.excess - excess
            self.tickets.count_arrival(entry)
            self.tickets.close(entry)
            self.newest_rate = copy.rate or 0.0
            self.release(number)
        return status

    @cython.cfunc
    @cython.with_gil
    @cython.exceptval(-100, check=False)
    def cancel(self, ticket: cython.longlong) -> cython.longlong:
        """Let the copy that played do without its answer."""
        entry: cython.longlong = self.tickets.locate(ticket)
        if entry < 0:
            return entry
        number = int(self.tickets.record(entry)[0])
        copy: Player = self.copies[number]
        copy.cancel(copy.tickets.rounds - 1)
        self.tickets.count_arrival(entry)
        self.tickets.cancel(entry)
        self.newest_rate = copy.rate or 0.0
        self.release(number)
        return USED

    def restore(self, state):
        """Make as many copies as there are, and let them take their fields."""
        count = count_copies(state)
        self.copies = [self.make(seed_of(self.seed, i), self.strict) for i in range(count)]
        Component.restore(self, state)

    def check(self, state):
        """Check all copies, and that those which wait are those whose tickets are open."""
        count, busy = count_copies(state), []
        others = {f"copy{number}" for number in range(1, count)}
        own = {name: value for name, value in state.items() if name.partition(".")[0] not in others}
        copies = {name.partition(".")[0] for name in state if name.startswith("copy")}
        demand(copies == {f"copy{number}" for number in range(count)}, "copies")
        for number in range(count):
            part = section(state, f"copy{number}")
            self.copies[0].check(part)
            waiting = part["tickets.rounds"] - part["tickets.arrived"]
            demand(waiting in (0, 1), "the tickets of a copy")
            busy += [number] * waiting
        Component.check(self, own)
        is_open = own["tickets.seen"] >= 0
        playing = own["tickets.records"][is_open, 0]
        demand(np.array_equal(np.sort(playing), busy), "copies that wait")
        self.check_turns(own["tickets.number"][is_open], playing, own["tickets.rounds"], count)

    def check_turns(self, tickets, playing, rounds, count):
        """Demand that these copies, of so many, can be the ones that play the open tickets."""


def count_copies(state):
    """Return how many copies a state has."""
    return sum(name.startswith("copy") and name.endswith(".tickets.rounds") for name in state)


@cython.cclass
class BOLD(Copies):
    """The copy that was freed last plays; if all wait, one more is made.

    Joulani, Gyorgy and Szepesvari 2013.
    """

    idle: list

    def __init__(self, make, seed, strict: bool):
        Copies.__init__(self, make, seed, strict)
        self.idle = [0]

    def take(self):
        return self.idle.pop() if self.idle else None

    def release(self, number):
        self.idle.append(number)

    def state(self):
        """Return also the free copies, in the order in which they were freed."""
        return {**Copies.state(self), "idle": np.array(self.idle, dtype=np.int64)}

    def restore(self, state):
        """Take the free copies, too."""
        Copies.restore(self, {name: value for name, value in state.items() if name != "idle"})
        self.idle = state["idle"].tolist()

    def check(self, state):
        """Demand that every copy waits or is free."""
        idle = state.get("idle")
        fits = isinstance(idle, np.ndarray) and idle.dtype == np.int64 and idle.ndim == 1
        demand(fits, "free copies")
        Copies.check(self, {name: value for name, value in state.items() if name != "idle"})
        is_open = state["tickets.seen"] >= 0
        everybody = np.sort([*state["tickets.records"][is_open, 0], *idle])
        demand(np.array_equal(everybody, np.arange(count_copies(state))), "free copies")


@cython.cclass
class WeinbergerOrdentlich(Copies):
    """Copy t mod n plays ticket t, once its last answer is in; n = ``most``.

    Weinberger and Ordentlich 2002.
    """

    most: cython.longlong

    def __init__(self, make, seed, strict: bool, most: int):
        Copies.__init__(self, make, seed, strict)
        self.most = most

    def is_too_early(self):
        number = self.tickets.rounds % self.most
        if number >= len(self.copies):
            return False
        copy: Player = self.copies[number]
        return copy.tickets.rounds > copy.tickets.arrived

    def take(self):
        number = self.tickets.rounds % self.most
        return number if number < len(self.copies) else None

    def check_turns(self, tickets, playing, rounds, count):
        demand((tickets % self.most == playing).all(), "whose turn it was")
        demand(max(1, min(rounds, self.most)) <= count <= self.most, "copies")
