# cython: infer_types=True
"""Published methods with a k x k matrix and its inverse, and those that run copies of a learner.

Sections: matrices, whose loops run along rows so that they are vectorised without changing the
order of any sum; the delayed online Newton step; copies of a learner.
"""

from __future__ import annotations

import math

import cython
import numpy as np

from belated.core.component import ANY, COUNT, NOT_NEGATIVE, SUM, demand, section

if not cython.compiled:
    from math import fabs, sqrt

    from belated.core.component import Component
    from belated.core.learner import Player
    from belated.core.numerics import dot, floats_at, ln, norm, part
    from belated.core.tickets import OUT_OF_ORDER, USED, Tickets
    from belated.research.core.rival import Method

STALE = cython.declare(cython.longlong, 1024)  # updates of an inverse before it is recomputed
MOST_STEPS = cython.declare(cython.int, 2000)  # of a projection ...
CLOSE = cython.declare(cython.double, 1e-13)  # ... which ends here, in diameters
WEYL = 0x9E3779B9  # odd, so that the seeds of 2^32 copies are all different


def is_doubled(guess):
    """Tell whether a guess is a power of 2, as repeated doubling of 1 gives."""
    return 1.0 <= guess <= 2.0**200 and math.frexp(guess)[0] == 0.5


# --- Matrices ------------------------------------------------------------------------------------


def times(matrix, v, out, k):
    """Put M v into out."""
    for i in range(k):
        out[i] = 0.0
    for j in range(k):
        row = part(matrix, j * k)
        for i in range(k):
            out[i] += row[i] * v[j]


def add_outer(matrix, v, scale, k):
    """M += scale v v'."""
    for j in range(k):
        row = part(matrix, j * k)
        factor = scale * v[j]
        for i in range(k):
            row[i] += factor * v[i]


def invert_sum(matrix, scale, ridge, inverse, k):
    """Put (ridge I + scale M)^-1 into inverse, by Gauss-Jordan elimination in place.

    M is positive semidefinite and ridge > 0, so no pivoting is needed.
    """
    for i in range(k * k):
        inverse[i] = scale * matrix[i]
    for i in range(k):
        inverse[i * k + i] += ridge
    for p in range(k):
        chosen = part(inverse, p * k)
        pivot = 1.0 / chosen[p]
        chosen[p] = 1.0
        for i in range(k):
            chosen[i] *= pivot
        for j in range(k):
            if j != p:
                row = part(inverse, j * k)
                factor = row[p]
                row[p] = 0.0
                for i in range(k):
                    row[i] -= factor * chosen[i]


def check_matrices(matrix, inverse, ridge):
    """Demand a symmetric matrix, and a possible inverse of it plus ``ridge`` I."""
    demand((matrix == matrix.T).all() and (np.diag(matrix) >= 0.0).all(), "the matrix")
    demand((np.abs(inverse) <= (1.0 + 1e-6) / ridge).all(), "the inverse")


# --- The delayed online Newton step --------------------------------------------------------------


class DelayedONS(Method):
    """The sums of ``rivals.DelayedONS``.

    ``slopes`` b is the sum of g_s (1 - beta <g_s, x_s - x_1>), ``matrix`` M that of g_s g_s', and
    ``inverse`` P = (lambda I + beta M)^-1. ``ridge`` is lambda_t, ``backlogs`` S_t, ``oldest`` the
    largest age A_t, ``updates`` those of P since it was recomputed. A ticket keeps x_s - x_1.
    """

    FIELDS = {
        "ridge": NOT_NEGATIVE,
        "backlogs": SUM,
        **dict.fromkeys(("oldest", "updates"), COUNT),
        **dict.fromkeys(("slopes", "matrix", "inverse"), ANY),
    }

    def __init__(self, setting, beta, least, diameter, is_simplex):
        Method.__init__(self, setting, len(setting.first))
        k = self.dim
        self.beta, self.least, self.ridge = beta, least, least
        self.diameter, self.is_simplex = diameter, is_simplex
        self.backlogs = self.oldest = self.updates = 0
        self.slopes, self.matrix, self.inverse = np.zeros(k), np.zeros((k, k)), np.eye(k) / least
        self.b, self.m = floats_at(self.slopes), floats_at(self.matrix)
        self.p, self.arrays = floats_at(self.inverse), np.zeros((2, k))
        self.y, self.v = floats_at(self.arrays[0]), floats_at(self.arrays[1])

    def next_ridge(self):
        """lambda_t = lambda_0 + min{(G / D) sqrt(S_t), A_t L_t / D^2}."""
        k, steep, rounds = self.dim, self.lipschitz, self.tickets.rounds
        self.backlogs += rounds - self.tickets.arrived
        self.oldest = max(self.oldest, rounds - self.tickets.advance_head())
        if self.backlogs == 0:
            return self.least
        growth = ln(1.0 + self.beta * steep * steep * (rounds + 1) / (k * self.least))
        learned = k / self.beta * growth
        by_age = self.oldest * learned / (self.diameter * self.diameter)
        return self.least + min(steep / self.diameter * sqrt(self.backlogs), by_age)

    def begin_round(self):
        ridge = self.next_ridge()
        if ridge > self.ridge or self.updates >= STALE:
            while self.ridge < ridge:
                self.ridge *= 2.0
            invert_sum(self.m, self.beta, self.ridge, self.p, self.dim)
            self.updates = 0
        self.solve()
        if not self.is_inside():
            self.descend_to_leader()

    def solve(self):
        """Put x_1 - P b into y, on the simplex the minimum among vectors that add up to 1."""
        k, y, v = self.dim, self.y, self.v
        times(self.p, self.b, y, k)
        if self.is_simplex:
            total = mass = 0.0
            for i in range(k):
                v[i] = 0.0
            for j in range(k):
                for i in range(k):
                    v[i] += self.p[j * k + i]
            for i in range(k):
                total += y[i]
                mass += v[i]
            for i in range(k):
                y[i] -= v[i] * (total / mass)
        for i in range(k):
            y[i] = self.first[i] - y[i]

    def is_inside(self):
        """Play y if it is in the set, so that projecting it changes nothing; tell whether it is."""
        inside: cython.bint = True
        close = CLOSE * self.diameter
        self.base.domain.project(self.y, self.v)
        for i in range(self.dim):
            inside = inside and fabs(self.v[i] - self.y[i]) <= close  # not where y is no number
        for i in range(self.dim):
            self.z[i] = self.v[i] if inside else self.z[i]
        return inside

    def descend_to_leader(self):
        """Minimise over the set by projected gradients, starting from the last play.

        Momentum is that of Nesterov for a function between (lambda / 2) |x|^2 and (L / 2) |x|^2;
        it is dropped when it points uphill. Each step is one product with M.
        """
        k, y, v, z = self.dim, self.y, self.v, self.z
        bend = self.ridge + self.beta * norm(self.m, k * k)  # no less than the largest
        momentum = (sqrt(bend) - sqrt(self.ridge)) / (sqrt(bend) + sqrt(self.ridge))
        close = CLOSE * self.diameter
        for i in range(k):
            y[i] = z[i]
        for _ in range(MOST_STEPS):
            self.step_to_leader(bend)
            moved = uphill = 0.0
            for i in range(k):
                moved += (v[i] - y[i]) * (v[i] - y[i])
                uphill += (y[i] - v[i]) * (v[i] - z[i])
            factor = 0.0 if uphill > 0.0 else momentum
            for i in range(k):
                y[i] = v[i] + factor * (v[i] - z[i])
                z[i] = v[i]
            if moved <= close * close:
                break

    def step_to_leader(self, bend):
        """v = Pi(y - gradient / L)."""
        k, work = self.dim, self.work
        for i in range(k):
            work[i] = 0.0
        for j in range(k):
            row = part(self.m, j * k)
            away = self.y[j] - self.first[j]
            for i in range(k):
                work[i] += row[i] * away
        for i in range(k):
            slope = self.ridge * (self.y[i] - self.first[i]) + self.beta * work[i] + self.b[i]
            work[i] = self.y[i] - slope / bend
        self.base.domain.project(work, self.v)

    def play(self, entry, x):
        record = self.tickets.record(entry)
        for i in range(self.dim):
            record[i] = self.z[i] - self.first[i]
        Method.play(self, entry, x)

    def learn(self, entry, cost):
        """P -= beta P g g' P / (1 + beta <g, P g>)."""
        k, v = self.dim, self.v
        factor = 1.0 - self.beta * dot(cost, self.tickets.record(entry), k)
        for i in range(k):
            self.b[i] += factor * cost[i]
        add_outer(self.m, cost, 1.0, k)
        times(self.p, cost, v, k)
        add_outer(self.p, v, -self.beta / (1.0 + self.beta * dot(cost, v, k)), k)
        self.updates += 1

    def verify(self, state):
        rounds, ridge = state["tickets.rounds"], state["ridge"]
        demand(is_doubled(ridge / self.least), "lambda")
        demand(state["backlogs"] <= rounds**2, "the sum of backlogs")
        demand(max(state["oldest"], state["updates"]) <= rounds, "counts")
        check_matrices(state["matrix"], state["inverse"], ridge)


# --- Copies of a learner -------------------------------------------------------------------------


def seed_of(seed, number):
    """Return the seed of a copy: another upper half for each."""
    high = ((seed >> 32) + number * WEYL) & 0xFFFFFFFF
    return seed & 0xFFFFFFFF | high << 32


class Copies(Player):
    """Copies of a player, made by ``make(seed, strict)``, none of which ever meets a delay.

    A ticket keeps the number of the copy that played it. A copy whose answer is missing has exactly
    one open ticket, its newest. Events take the interpreter lock, as they look copies up in a list.
    """

    FIELDS = {"newest_rate": NOT_NEGATIVE}

    def __init__(self, make, seed, strict):
        first: Player = make(seed, strict)
        self.tickets, self.make, self.seed, self.copies = Tickets(1), make, seed, [first]
        self.dim, self.play_size, self.answer_size = first.dim, first.play_size, first.answer_size
        self.strict, self.newest_rate = strict, 0.0
        self.has_user_parts = self.loses = False

    @property
    def rate(self):
        """The newest step size of any copy."""
        return self.newest_rate or None

    def parts(self):
        copies = {f"copy{number}": copy for number, copy in enumerate(self.copies)}
        return {"tickets": self.tickets, **copies}

    def components(self):
        """Return the classes; all copies are alike."""
        return {"class": type(self).__name__, "copy": self.copies[0].components()}

    def is_too_early(self):
        """Tell whether the next play has to wait for an answer."""
        return False

    def take(self):
        """Return the number of the copy that plays next; None if it has to be made first."""

    def release(self, number):
        """Note that a copy is free."""

    def predict(self, x):
        """Let a copy play."""
        if self.is_too_early():
            return OUT_OF_ORDER
        if not self.tickets.make_room():
            self.tickets.grow()
        number = self.take()
        if number is None:  # one is made, before anything changes
            number = len(self.copies)
            self.copies.append(self.make(seed_of(self.seed, number), self.strict))
        copy: Player = self.copies[number]
        entry: cython.longlong = self.tickets.open_next()
        self.tickets.record(entry)[0] = number
        copy.predict(x)
        return self.tickets.number[entry]

    def observe(self, ticket, answer):
        """Pass an answer to the copy that played."""
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

    def cancel(self, ticket):
        """Cancel the ticket of the copy that played."""
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
        """Make as many copies as the state has, and restore them."""
        count = count_copies(state)
        self.copies = [self.make(seed_of(self.seed, i), self.strict) for i in range(count)]
        Component.restore(self, state)

    def check(self, state):
        """Check all copies, and that exactly the copies with an open ticket miss an answer."""
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
        demand(np.array_equal(np.sort(playing), busy), "copies with open tickets")
        self.check_turns(own["tickets.number"][is_open], playing, own["tickets.rounds"], count)

    def check_turns(self, tickets, playing, rounds, count):
        """Demand that these copies, of ``count``, can have played the open tickets."""


def count_copies(state):
    """Return how many copies a state has."""
    return sum(name.startswith("copy") and name.endswith(".tickets.rounds") for name in state)


class BOLD(Copies):
    """The copy that was freed last plays; if none is free, one more is made."""

    def __init__(self, make, seed, strict):
        Copies.__init__(self, make, seed, strict)
        self.idle = [0]

    def take(self):
        return self.idle.pop() if self.idle else None

    def release(self, number):
        self.idle.append(number)

    def state(self):
        """Add the free copies, in the order in which they were freed."""
        return {**Copies.state(self), "idle": np.array(self.idle, dtype=np.int64)}

    def restore(self, state):
        """Restore the free copies, too."""
        Copies.restore(self, {name: value for name, value in state.items() if name != "idle"})
        self.idle = state["idle"].tolist()

    def check(self, state):
        """Demand that every copy has an open ticket or is free."""
        idle = state.get("idle")
        fits = isinstance(idle, np.ndarray) and idle.dtype == np.int64 and idle.ndim == 1
        demand(fits, "free copies")
        Copies.check(self, {name: value for name, value in state.items() if name != "idle"})
        is_open = state["tickets.seen"] >= 0
        copies = np.sort([*state["tickets.records"][is_open, 0], *idle])
        demand(np.array_equal(copies, np.arange(count_copies(state))), "free copies")


class WeinbergerOrdentlich(Copies):
    """Copy t mod n plays ticket t, after the answer to its last ticket; n = ``most``."""

    def __init__(self, make, seed, strict, most):
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
        demand((tickets % self.most == playing).all(), "the copies that played")
        demand(max(1, min(rounds, self.most)) <= count <= self.most, "copies")
