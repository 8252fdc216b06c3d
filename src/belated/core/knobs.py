# cython: infer_types=True
"""Knobs: settings of a live system from costs that come late. Every public method is one C call.

``quadratic`` has the models of costs and the search for settings; here are the events around them.
Settings are converted, and times read, by Python code before anything changes. Calls on the same
knobs are refused while such code runs, a report is made, or a whole log is read.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import cython
import numpy as np

from belated import refusals
from belated.core.component import ANY, COUNT, NOT_NEGATIVE, Range, demand
from belated.core.learner import busy
from belated.core.quadratic import NUMBERS, PLACE
from belated.errors import AlreadyObserved, BadFeedback, UnknownTicket

if not cython.compiled:
    from math import fabs, floor, sqrt
    from math import inf as INFINITY

    from belated.core.component import Component
    from belated.core.numerics import floats_at, ints_at, ln, new_floats, part
    from belated.core.quadratic import GRID, Basis, CostModels, Sampler
    from belated.core.tickets import (
        BAD,
        CLOSED,
        DROPPED,
        FULL,
        OUT_OF_ORDER,
        USED,
        Keys,
        Tickets,
    )

HUGE_COST = 1e50
MOST_COST = cython.declare(cython.double, HUGE_COST)
LAST = cython.declare(cython.double, 1.7976931348623157e308)  # the last time that there is
EQUAL = cython.declare(cython.double, 1e-13)  # costs that differ by this share of them are equal
LEAST_UNIT = cython.declare(cython.double, 1e-150)
MOST_VALUE = cython.declare(cython.double, 1e9)  # keeps squares finite
COSTS, FLAG = Range(-2.0 * HUGE_COST, 2.0 * HUGE_COST), Range(0, 1, int)

# What is kept of a ticket, before its place and context: whether there is a cost, the newest one,
# and the value that was learned of it.
KNOWN, COST, LEARNED, PLACE_AT = 0, 1, 2, 3


def ranked(values, n, rank):
    """Return the number of a rank among n numbers."""
    for i in range(n):
        below = equal = 0
        for j in range(n):
            below += 1 if values[j] < values[i] else 0
            equal += 1 if values[j] == values[i] else 0
        if below <= rank < below + equal:
            return values[i]
    return values[0]


class Answers(Component):
    """Answers on their way to the models: they wait until there is a unit.

    A cost is learned as y = (cost - anchor) / unit. The first answers give the anchor, their
    median, and the unit, their deviation from it; it is 0 before. Those that are further out than
    30 upper quartiles of the distances from the median are left out of the unit: they are clipped
    when they are learned. Answers that are all equal are learned at once, as 0 in any unit;
    ``equal`` counts these.

    Of the ``waiting`` answers, ``numbers`` are the tickets, ``replaces`` tells whether an earlier
    cost was learned, ``final`` whether it may be revised; ``places`` are followed by contexts.
    """

    FIELDS = {
        **dict.fromkeys(("waiting", "equal", "numbers"), COUNT),
        **dict.fromkeys(("replaces", "final"), FLAG),
        **dict.fromkeys(("anchor", "costs"), COSTS),
        "unit": Range(0.0, 4.0 * HUGE_COST),
        "places": PLACE,
    }

    def __init__(self, tickets, models):
        self.tickets, self.models, self.k = tickets, models, models.k
        self.room, self.width = 6 + models.k, models.k + models.basis.c
        self.waiting = self.equal = 0
        self.anchor = self.unit = 0.0
        rows = self.room + 1  # the last is empty
        self.numbers, self.replaces, self.final = np.zeros((3, rows), np.int64)
        self.costs, self.distances = np.zeros((2, rows))
        self.places = np.zeros((rows, self.width))
        self.number, self.replacing = ints_at(self.numbers), ints_at(self.replaces)
        self.finality, self.place = ints_at(self.final), floats_at(self.places)
        self.cost, self.apart = floats_at(self.costs), floats_at(self.distances)

    def verify(self, state):
        waiting, unit = state["waiting"], state["unit"]
        demand(waiting <= self.room, "costs that wait")
        demand(unit == 0.0 or (unit >= LEAST_UNIT and waiting == 0), "the unit")
        for name in ("numbers", "replaces", "final", "costs", "places"):
            demand((state[name][waiting:] == 0).all(), "costs that wait")

    def enqueue(self, entry, is_new, is_final):
        """Put the cost of a ticket behind those that wait, or in the place of its earlier one."""
        record, number, at = self.tickets.record(entry), self.tickets.number[entry], 0
        while at < self.waiting and self.number[at] != number:
            at += 1
        if at == self.waiting:
            self.waiting += 1
            self.number[at] = number
            self.replacing[at] = 0 if is_new else 1
            for i in range(self.width):
                self.place[at * self.width + i] = record[PLACE_AT + i]
        self.cost[at] = record[COST]
        self.finality[at] = 1 if is_final else 0
        for _ in range(self.count_ready()):
            self.learn_first()
        if self.unit > 0.0:
            self.models.solve_due()

    def learn_first(self):
        """Learn the first answer that waits; what was learned of a closed ticket before was 0."""
        number, before, y = self.number[0], 0.0, 0.0
        entry = self.tickets.locate(number)
        is_open: cython.bint = entry >= 0 and not self.tickets.is_expired(entry)
        self.models.advance(number)
        if self.unit > 0.0:
            self.models.solve_due()
            y = min(max((self.cost[0] - self.anchor) / self.unit, -MOST_VALUE), MOST_VALUE)
        elif self.replacing[0] == 0:
            self.equal += 1
        self.models.basis.write(self.place, part(self.place, self.k), self.models.phi)
        if self.replacing[0] == 1 and is_open:
            before = self.tickets.record(entry)[LEARNED]
        is_new: cython.bint = self.replacing[0] == 0
        y = self.models.learn(number, y, before, is_new, self.finality[0] == 1, self.unit > 0.0)
        if is_open:
            self.tickets.record(entry)[LEARNED] = y
        for at in range(self.waiting):
            self.number[at] = self.number[at + 1]
            self.replacing[at] = self.replacing[at + 1]
            self.finality[at] = self.finality[at + 1]
            self.cost[at] = self.cost[at + 1]
        for i in range(self.waiting * self.width):
            self.place[i] = self.place[i + self.width]
        self.waiting -= 1

    def count_ready(self):
        """Return how many of the answers can be learned; find the unit if it is time."""
        count, believed, squares, farthest = self.waiting, self.equal, 0.0, 0.0
        if self.unit > 0.0 or count < self.room:
            return count if self.unit > 0.0 else 0
        common = self.anchor if self.equal > 0 else self.cost[0]
        anchor = common if self.equal > 0 else ranked(self.cost, count, count // 2)
        for i in range(count):
            self.apart[i] = fabs(self.cost[i] - anchor)
            farthest = max(farthest, fabs(self.cost[i] - common))
        quartile = ranked(self.apart, count, 3 * count // 4)
        most = 30.0 * quartile if quartile > EQUAL * fabs(anchor) else INFINITY
        for i in range(count):
            if self.apart[i] <= most:
                believed += 1
                squares += self.apart[i] * self.apart[i]
        unit = sqrt(squares / believed)
        if unit < LEAST_UNIT or farthest <= EQUAL * fabs(common):
            self.anchor = common
            return 1
        self.anchor = anchor
        self.unit = unit
        return count


ALPHA = 0.05  # probability of a false alarm
LN_ALPHA = cython.declare(cython.double, ln(ALPHA))
FEWEST = cython.declare(cython.longlong, 30)  # answers of each arm: the result is asymptotic
RATIO = cython.declare(cython.double, 0.008)  # r: narrowest after about a thousand rounds
LEARNER, START, ASIDE = 0, 1, 2  # arm of a ticket; ASIDE: not chosen by the coin


class Comparison(Component):
    """The learner against the start: a confidence sequence that holds at all times.

    In a share h of the rounds a coin plays the start, arm 1; otherwise the learner plays, arm 0.
    With m the mean of all costs compared before (``baseline``),

        psi = (1[start] / h - 1[learner] / (1 - h)) (cost - m)

    has the difference of the two expected costs of its round as its mean, whatever the past. The
    mean of n such numbers (``gain``), with standard deviation s, is within

        s sqrt(2 (n r + 1) / (n^2 r) ln(sqrt(n r + 1) / alpha))

    of the mean difference of the rounds compared, at all n at once with probability 1 - alpha, in
    the limit (Waudby-Smith et al., "Time-uniform central limit theory and asymptotic confidence
    sequences", 2024). If costs are mostly equal, such as sales, the start can have none that
    differs for a long time, and s is far too small. So s^2 is at least v / h + v / (1 - h), its
    value if the costs of both arms had the variance v of all.
    """

    FIELDS = {
        **dict.fromkeys(("compared", "first", "alarms", "answers"), COUNT),
        "alarmed": FLAG,
        **dict.fromkeys(("gain", "baseline", "means"), ANY),
        **dict.fromkeys(("gain_squares", "cost_squares"), NOT_NEGATIVE),
    }

    def __init__(self, share):
        self.share, self.alarms = share, 0
        self.answers, self.means = np.zeros(2, np.int64), np.zeros(2)
        self.count, self.mean = ints_at(self.answers), floats_at(self.means)
        self.begin(0)

    def begin(self, rounds):
        """Compare rounds from now on."""
        self.compared = self.alarmed = 0
        self.first = rounds
        self.gain = self.gain_squares = self.baseline = self.cost_squares = 0.0
        for arm in range(2):
            self.count[arm] = 0
            self.mean[arm] = 0.0

    def radius(self):
        """Return how far the mean difference may be from the gain; infinity before it is known."""
        n, share = self.compared, self.share
        if min(self.count[LEARNER], self.count[START]) < FEWEST:
            return INFINITY
        a = n * RATIO + 1.0
        of_costs = self.cost_squares / n
        variance = max(self.gain_squares / n, of_costs / share + of_costs / (1.0 - share))
        return sqrt(variance * 2.0 * a / (1.0 * n * n * RATIO) * (0.5 * ln(a) - LN_ALPHA))

    def bounds(self):
        """Return the ends of the confidence sequence; None before enough is known."""
        radius = self.radius()
        return (None, None) if radius == INFINITY else (self.gain - radius, self.gain + radius)

    def compare(self, arm, cost):
        """Include the cost of a round; tell whether the learner is worse for sure."""
        apart = cost - self.baseline
        psi = 1.0 / self.share if arm == START else -1.0 / (1.0 - self.share)
        psi *= apart if self.compared > 0 else 0.0
        self.compared += 1
        self.baseline += apart / self.compared
        self.cost_squares += apart * (cost - self.baseline)
        away = psi - self.gain
        self.gain += away / self.compared
        self.gain_squares += away * (psi - self.gain)
        self.count[arm] += 1
        self.mean[arm] += (cost - self.mean[arm]) / self.count[arm]
        return self.gain + self.radius() < 0.0

    def verify(self, state):
        demand(state["alarmed"] <= state["alarms"], "alarms")
        demand(state["answers"].sum() == state["compared"], "the comparison")


class History(Component):
    """Mean costs over time, in 64 stretches, which become longer with the game.

    ``answers`` and ``means`` have one row for each stretch: of the start where the coin chose it
    in the second column, of all other rounds in the first.
    """

    FIELDS = {"length": Range(16, 1 << 48, int), "answers": COUNT, "means": ANY}

    def __init__(self):
        self.length = 16
        self.answers, self.means = np.zeros((64, 2), np.int64), np.zeros((64, 2))
        self.count, self.mean = ints_at(self.answers), floats_at(self.means)

    def record(self, ticket, arm, cost):
        """Include the cost of a round in its stretch."""
        while ticket >= 64 * self.length:
            self.lengthen()
        at = 2 * (ticket // self.length) + (1 if arm == START else 0)
        self.count[at] += 1
        self.mean[at] += (cost - self.mean[at]) / self.count[at]

    def lengthen(self):
        """Make one of every two stretches."""
        self.length *= 2
        for i in range(128):
            first, count, mean = 4 * (i // 2) + i % 2, cython.cast(cython.longlong, 0), 0.0
            if i < 64:
                count = self.count[first] + self.count[first + 2]
                share = 1.0 * self.count[first + 2] / max(count, 1)
                mean = self.mean[first] + share * (self.mean[first + 2] - self.mean[first])
            self.count[i] = count
            self.mean[i] = mean

    def verify(self, state):
        length = state["length"]
        demand(length & (length - 1) == 0, "stretches of the history")


# --- Events --------------------------------------------------------------------------------------

LEARNING, PAUSED, REVERTED = 0, 1, 2  # modes


class Tuner(Component):
    """What happens at an event: a play, a cost, a ticket closed without one, what was played.

    ``arm`` is that of the setting that is held; ``is_fresh`` tells that it may be changed before
    its time. ``settled`` tickets were closed by their deadline with a cost, ``corrected`` costs
    replaced an earlier one. A record also has the arm where there is a holdout, and the time when
    a ticket is due where there is a deadline.

    ``now`` is the latest time where deadlines are lengths of time, and ``kind_of_times`` a kind of
    ``belated.linear.moments``, 0 before the first. The clock never goes back and all tickets get
    the same time, so they are due in their order.
    """

    FIELDS = {
        **dict.fromkeys(("settled", "corrected"), COUNT),
        **dict.fromkeys(("mode", "arm"), Range(0, 2, int)),
        "is_fresh": FLAG,
        "kind_of_times": Range(0, 3, int),
        "now": Range(-LAST, LAST),
    }

    def __init__(
        self, knobs, context, seed, hold, holdout, silence, deadline, start, steps, levels, limits
    ):
        """Begin with so many knobs and features of a context.

        ``start`` and ``steps`` are places and the largest steps between them, ``levels`` the number
        of values of each knob (0: any), ``limits`` rows of factors and a bound.
        """
        self.k, self.c, self.hold, self.holdout = knobs, context, hold, holdout
        self.has_silence, self.silence = silence is not None, silence or 0.0
        self.has_deadline, self.deadline = deadline is not None, deadline or 0.0
        self.patience = int(min(self.deadline, 1 << 30))
        self.arm_at = PLACE_AT + knobs + context
        self.due_at = self.arm_at + (1 if holdout > 0.0 else 0)
        self.tickets = Tickets(self.due_at + (1 if self.has_deadline else 0), LAST)
        self.models = CostModels(Basis(knobs, context))
        self.sampler = Sampler(self.models, seed, start, steps, levels, limits)
        self.answers = Answers(self.tickets, self.models)
        self.comparison, self.history = Comparison(holdout), History()
        self.settled = self.corrected = self.mode = self.arm = self.is_fresh = 0
        self.kind_of_times, self.now, self.work = 0, 0.0, np.zeros(2 + context)
        self.out = floats_at(self.work)
        self.context = part(self.out, 2)

    def parts(self):
        names = ("tickets", "models", "sampler", "answers", "comparison", "history")
        return {name: getattr(self, name) for name in names}

    # --- Plays -----------------------------------------------------------------------------------

    def predict(self, z, at, kind, x):
        """Issue the next ticket in a context, write its play to x and return it, or FULL."""
        if not self.tickets.has_room():
            return FULL
        self.begin_round(at, kind)
        for i in range(self.c):
            self.context[i] = floor((z[i] + 1.0) * GRID + 0.5) / GRID - 1.0
        self.play()
        entry = self.tickets.open_next()
        record = self.tickets.record(entry)
        record[KNOWN] = record[COST] = record[LEARNED] = 0.0
        for i in range(self.k):
            record[PLACE_AT + i] = x[i] = self.sampler.x[i]
        for i in range(self.c):
            record[PLACE_AT + self.k + i] = self.context[i]
        if self.holdout > 0.0:
            record[self.arm_at] = self.arm
        if self.has_deadline:
            record[self.due_at] = min(self.now + self.deadline, LAST) if self.has_clock() else 0.0
        return self.tickets.number[entry]

    def play(self):
        """Write the next play to x of the sampler."""
        t = self.tickets.rounds
        if self.mode != LEARNING:
            self.arm = ASIDE
        elif t % self.hold == 0 or self.is_fresh:
            self.sampler.propose(self.context, t, False, self.answers.unit > 0.0)
            self.sampler.settle(False)
            self.arm = START if self.sampler.random[0] < self.holdout else LEARNER
            if self.arm == LEARNER:
                self.sampler.copy(self.sampler.x, self.sampler.previous)
        self.is_fresh = 0
        if self.mode == REVERTED or self.arm == START:
            self.sampler.copy(self.sampler.start, self.sampler.x)
        else:
            self.sampler.copy(self.sampler.previous, self.sampler.x)

    def correct_place(self, ticket, place, by_coin):
        """Replace the place of a ticket without a cost by what was really played.

        Steps count from there. A place that constraints forbid is learned as it was, and steps
        count from the nearest allowed one. A place that the coin did not choose is not compared.
        """
        entry = self.tickets.locate(ticket)
        if entry < 0:
            return entry
        if self.tickets.is_expired(entry):
            return DROPPED
        record = self.tickets.record(entry)
        if record[KNOWN] > 0.0:
            return OUT_OF_ORDER
        self.sampler.copy(place, self.sampler.x)
        self.sampler.round(True)
        self.sampler.copy(self.sampler.x, part(record, PLACE_AT))
        if ticket == self.tickets.rounds - 1 and self.arm == LEARNER:
            self.sampler.settle(True)
            self.sampler.copy(self.sampler.x, self.sampler.previous)
        if self.holdout > 0.0 and not by_coin:
            record[self.arm_at] = ASIDE
        return USED

    # --- Costs -----------------------------------------------------------------------------------

    def observe(self, ticket, cost, at, is_final):
        """Learn the cost of a ticket, so far or for good. Every check comes before any change."""
        entry = self.tickets.locate(ticket)
        if entry < 0:
            return entry
        if not fabs(cost) <= MOST_COST:
            return BAD
        self.pass_time(at, 0)
        if self.tickets.is_expired(entry):
            if is_final:
                self.tickets.late += 1
                self.tickets.drop_expired(entry)
            return DROPPED
        self.learn(entry, cost, is_final)
        if is_final:
            self.tickets.count_arrival(entry)
            self.tickets.close(entry)
        return USED

    def cancel(self, ticket):
        """Close a ticket whose cost will never come; what was learned of it stays."""
        entry = self.tickets.locate(ticket)
        if entry < 0:
            return entry
        if self.tickets.is_expired(entry):
            self.tickets.drop_expired(entry)
            return DROPPED
        self.tickets.count_arrival(entry)
        self.tickets.cancel(entry)
        return USED

    def learn(self, entry, cost, is_final):
        """Learn the cost of an open ticket."""
        record, number = self.tickets.record(entry), self.tickets.number[entry]
        is_new: cython.bint = record[KNOWN] == 0.0
        if is_new or cost != record[COST]:
            self.corrected += 0 if is_new else 1
            record[KNOWN] = 1.0
            record[COST] = cost
            self.answers.enqueue(entry, is_new, is_final)
        elif is_final:
            self.answers.enqueue(entry, False, True)
        if not is_final:
            return
        arm = ASIDE
        if self.holdout > 0.0:
            arm = cython.cast(cython.int, record[self.arm_at])
        self.history.record(number, arm, cost)
        if arm == ASIDE or (number + 1) % self.hold != 0 or number < self.comparison.first:
            return  # only the last round of a setting is compared
        is_worse: cython.bint = self.comparison.compare(arm, cost)
        if is_worse and self.mode != REVERTED and self.comparison.alarmed == 0:
            self.comparison.alarmed = 1
            self.comparison.alarms += 1
            self.mode = REVERTED

    # --- Deadlines -------------------------------------------------------------------------------

    def has_clock(self):
        """Tell whether deadlines are lengths of time, and no numbers of rounds."""
        return self.has_deadline and self.kind_of_times > 0

    def pass_time(self, at, kind):
        """Let time go on to ``at``, of this kind; 0 says nothing new of kinds.

        The first time starts the clock. An earlier one, or NaN, does not change it.
        """
        if kind > 0 and self.has_deadline and self.kind_of_times == 0:
            self.now = at
        self.kind_of_times = max(self.kind_of_times, kind)
        if self.has_clock():
            self.now = at if at > self.now else self.now
            self.give_up()

    def begin_round(self, at, kind):
        """Let time go on before a play; deadlines count rounds where there are no times.

        Of expired tickets, those of the last 8 deadlines are remembered; with a clock the last 900,
        and 8 more for each that is open.
        """
        self.pass_time(at, kind)
        if self.has_clock():
            self.tickets.forget_oldest(900 + 8 * (self.tickets.rounds - self.tickets.arrived))
        elif self.has_deadline:
            self.tickets.forget_expired(8 * (self.patience + 1))
            self.give_up()

    def give_up(self):
        """Close tickets past their deadline: their cost is the one so far, else that of silence."""
        entry = self.next_due()
        while entry >= 0:
            record = self.tickets.record(entry)
            if record[KNOWN] > 0.0 or self.has_silence:
                self.learn(entry, record[COST] if record[KNOWN] > 0.0 else self.silence, True)
                self.settled += 1
            for i in range(self.tickets.width):
                record[i] = 0.0
            self.tickets.count_arrival(entry)
            self.tickets.skip(entry)
            entry = self.next_due()

    def next_due(self):
        """Return the entry of the oldest open ticket if it is past its deadline, or -1."""
        oldest, head = self.tickets.find_oldest(), self.tickets.head
        if oldest == self.tickets.rounds:
            return -1
        if self.has_clock():
            return head if self.tickets.record(head)[self.due_at] < self.now else -1
        return head if self.tickets.rounds - oldest > self.patience else -1

    # --- What Python reads -----------------------------------------------------------------------

    @property
    def rounds(self):
        """Predictions so far."""
        return self.tickets.rounds

    @property
    def has_times(self):
        """Whether times were given."""
        return self.kind_of_times > 0

    @property
    def clock(self):
        """The latest time that was told, where deadlines are lengths of time."""
        return self.now if self.has_clock() else -math.inf

    def best(self, features, ticket=None):
        """Return the places that seem best in a context, or those that a ticket would draw."""
        number: cython.longlong = self.tickets.rounds if ticket is None else ticket
        has_unit: cython.bint = self.answers.unit > 0.0
        self.sampler.propose(floats_at(features), number, ticket is None, has_unit)
        self.sampler.settle(True)
        return [self.sampler.x[i] for i in range(self.k)]

    def expect(self, places, features):
        """Return mean and deviation of the cost at a place in a context; NaN without a unit."""
        answers = self.answers
        if answers.unit == 0.0:
            return math.nan, math.nan
        self.sampler.expect(floats_at(places), floats_at(features), self.out)
        return answers.anchor + answers.unit * self.out[0], answers.unit * self.out[1]

    def verify(self, state):
        """Demand what concerns tickets and other parts together."""
        rounds = state["tickets.rounds"]
        demand(state["tickets.held"] == state["tickets.excess"] == 0, "tickets that are held")
        demand(state["models.latest"] <= max(rounds - 1, 0), "the latest play")
        demand(state["answers.equal"] <= state["models.count"], "costs that were equal")
        learned = state["models.count"] + state["answers.waiting"]
        demand(learned <= 2 * rounds + 1, "the number of costs")
        demand((state["answers.numbers"] <= max(rounds - 1, 0)).all(), "costs that wait")
        demand(state["comparison.first"] <= rounds, "alarms")
        used = np.flatnonzero(state["history.answers"].any(axis=1))
        length = state["history.length"]
        demand((used * length < rounds).all(), "the history")
        self.check_records(state)

    def check_records(self, state):
        """Demand that open tickets have places and costs, and none is past its deadline."""
        seen, records, now = state["tickets.seen"], state["tickets.records"], state["now"]
        demand((records[seen < 0] == 0.0).all(), "closed tickets")
        rows = records[seen >= 0]
        known, places = rows[:, KNOWN], rows[:, PLACE_AT : self.arm_at]
        demand(np.isin(known, (0.0, 1.0)).all(), "costs so far")
        demand((np.abs(rows[:, COST]) <= 2.0 * HUGE_COST * known).all(), "costs so far")
        demand((np.abs(rows[:, LEARNED]) <= NUMBERS.most * known).all(), "costs so far")
        demand(((np.abs(places) <= 1.0) & (places * GRID % 1.0 == 0.0)).all(), "places of tickets")
        if self.holdout > 0.0:
            demand(np.isin(rows[:, self.arm_at], (LEARNER, START, ASIDE)).all(), "arms of tickets")
        if self.has_deadline and state["kind_of_times"] > 0:
            due = rows[:, self.due_at]
            fits = (due >= now) & (due <= min(now + self.deadline, LAST))
            demand(fits.all() and (np.diff(due) >= 0.0).all(), "when tickets are due")
        elif self.has_deadline:
            ages = state["tickets.rounds"] - 1 - state["tickets.number"][seen >= 0]
            demand((ages <= self.patience).all(), "tickets past their deadline")
            demand((rows[:, self.due_at] == 0.0).all(), "when tickets are due")


# --- Public methods ------------------------------------------------------------------------------


class Proposal(NamedTuple):
    """What ``predict`` returns."""

    ticket: int
    """Number to give back with the cost."""
    setting: dict[str, Any]
    """A value for every knob, by its name."""


class Expected(NamedTuple):
    """What ``expect`` returns."""

    cost: float
    """What a round is thought to cost on average."""
    uncertainty: float
    """Standard deviation of that, the noise of a single cost left out."""


_new_tuple = tuple.__new__  # a named tuple made from a tuple takes half the time
_Proposal = Proposal
_float = float
_NOTHING = np.empty(0)


class Knobs:
    """The events of knobs; ``belated.knobs`` adds settings, reports and snapshots.

    It has ``_time(at, who)``, which returns a time, NaN for none, and its kind, 0 for none; and
    ``_run_arguments``.
    """

    # ``_is_ready`` is False while Python code, or a long loop, is at work.
    __slots__ = ("_is_ready", "_names", "_settings", "_sign", "_tuner")

    def _begin(self, settings):
        """Take settings, having seen nothing."""
        self._settings, self._tuner = settings, Tuner(**settings.numbers())
        self._names, self._is_ready = Keys(self._tuner.tickets), True
        self._sign = -1.0 if settings.goal == "max" else 1.0

    def _alone(self, who, work):
        """Do what reads the state step by step; refuse calls meanwhile."""
        if not self._is_ready:
            raise busy(who)
        self._is_ready = False
        try:
            return work()
        finally:
            self._is_ready = True

    def ticket(self, name):
        """Return the ticket that a key stands for; a ticket stands for itself."""
        return self._names.ticket(name)

    def is_open(self, ticket):
        """Tell whether a ticket, or that of a key, still waits for its cost."""
        return self._names.is_open(ticket)

    def predict(self, key=None, context=None, *, at=None):
        """Return the next ticket and the setting to play; ``at`` is the time.

        With a ``key``, a string that no open ticket has, every other verb takes the key in the
        place of the ticket, and snapshots keep it. What is not said of a context that was announced
        counts as the middle of its range, or as none of its values.
        """
        if not self._is_ready:
            raise busy("predict")
        if key is not None:
            key = self._names.check(key)
        features = _NOTHING
        now: cython.double = math.nan
        kind: cython.longlong = 0
        if context or self._tuner.c > 0 or at is not None or self._tuner.has_deadline:
            self._is_ready = False
            try:
                features = self._settings.features(context)
                now, kind = self._time(at, "predict")
            finally:
                self._is_ready = True
        x = new_floats(self._tuner.k)
        ticket = self._tuner.predict(floats_at(features), now, kind, floats_at(x))
        while ticket == FULL:
            self._tuner.tickets.grow()
            ticket = self._tuner.predict(floats_at(features), now, kind, floats_at(x))
        if key is not None:
            self._names.give(key, ticket)
        return _new_tuple(_Proposal, (ticket, self._settings.setting(x.tolist())))

    def observe(self, ticket, cost, *, at=None):
        """Learn the cost of a round, the last word on it.

        Any order, any delay. Returns False when its deadline had passed, so that it is dropped.
        Raises ``UnknownTicket``, ``AlreadyObserved`` or ``BadFeedback``, and then nothing has
        changed.
        """
        return self._learn("observe", ticket, cost, at, True)

    def revise(self, ticket, cost, *, at=None):
        """Learn the cost so far; the ticket stays open, and the cost may change again.

        What was learned of an earlier cost is taken back: the sums of models have the newest one
        alone. Their weights and their noise follow last words only.
        """
        return self._learn("revise", ticket, cost, at, False)

    def _learn(self, who, ticket, cost, at, is_final):
        if not self._is_ready:
            raise busy(who)
        number = self._names.ticket(ticket)
        now: cython.double = math.nan
        if at is not None or type(cost) is not _float:
            self._is_ready = False
            try:
                cost = number_of(cost)
                if at is not None:
                    now, _ = self._time(at, who)
            finally:
                self._is_ready = True
        value: cython.double = cost
        status = self._tuner.observe(number, self._sign * value, now, is_final)
        if status < 0:
            raise self._refusal(status, number, f"{who}: ")
        if is_final:
            self._names.drop(ticket)
        return status == USED

    def cancel(self, ticket):
        """Close a ticket whose cost will never come; what was learned of it stays."""
        if not self._is_ready:
            raise busy("cancel")
        number = self._names.ticket(ticket)
        status = self._tuner.cancel(number)
        if status < 0:
            raise self._refusal(status, number, "cancel: ")
        self._names.drop(ticket)

    def tick(self, at):
        """Let the clock go on without a round: tickets whose deadline has passed are closed.

        The clock never goes back; an earlier time changes nothing.
        """
        now, kind = self._alone("tick", lambda: self._time(at, "tick"))
        self._tuner.pass_time(now, kind)

    def played(self, ticket, actual):
        """Say what was really played, where the system rounded, clamped or overrode a setting.

        It must be said before the cost, and be inside of the ranges: cancel the ticket otherwise.
        The comparison with the start is of what happened after the coin, so that it still counts.
        Said of the newest ticket, the next step of ``max_step`` is from there. What ``constraints``
        forbid is learned as it was, and the next step is from the nearest setting that they allow.
        """
        self._correct(ticket, actual, True)

    def _follow(self, ticket, actual):
        """Say what somebody else played in this round; otherwise this is ``played``.

        Whoever chose, it was not the coin of these knobs: the round is not compared.
        """
        self._correct(ticket, actual, False)

    def _correct(self, ticket, actual, by_coin):
        if not self._is_ready:
            raise busy("played")
        number = self._names.ticket(ticket)
        places = self._alone("played", lambda: self._settings.places_of(actual, "played"))
        status = self._tuner.correct_place(number, floats_at(places), by_coin)
        if status == OUT_OF_ORDER:
            raise BadFeedback(
                f"played: a cost of ticket {number} was heard before; nothing has changed: say "
                "what was played first"
            )
        if status < 0:
            raise self._refusal(status, number, "played: ")

    def best(self, context=None):
        """Return the setting that seems best now; it changes nothing."""
        return self._alone("best", lambda: self._best(self._settings.features(context, "best")))

    def _best(self, features, ticket=None):
        return self._settings.setting(self._tuner.best(features, ticket))

    def expect(self, setting, context=None):
        """Return what a setting is thought to cost; NaN before enough costs are in."""
        return self._alone(
            "expect",
            lambda: self._expected(setting, self._settings.features(context, "expect")),
        )

    def _expected(self, setting, features):
        places = self._settings.places_of(setting, "expect")
        mean, deviation = self._tuner.expect(places, features)
        return Expected(self._sign * mean, deviation)

    def pause(self):
        """Play the last setting of the learner from now on; costs are still learned.

        An alarm still goes back to the start.
        """
        self._change("pause", PAUSED)

    def revert(self):
        """Play the start from now on; costs are still learned."""
        self._change("revert", REVERTED)

    def resume(self):
        """Learn and explore again.

        After an alarm, the comparison with the start begins anew, with rounds from now on.
        """
        self._change("resume", LEARNING)

    def _change(self, who, mode):
        if not self._is_ready:
            raise busy(who)
        if mode == LEARNING and self._tuner.comparison.alarmed:  # of rounds from now on
            self._tuner.comparison.begin(self._tuner.tickets.rounds)
        self._tuner.mode, self._tuner.is_fresh = mode, 1

    # --- Whole logs ------------------------------------------------------------------------------

    def run(self, timeline, costs, *, first=0, contexts=None, at=None):
        """Feed a whole log through the compiled loop and return the settings, one per prediction.

        ``timeline`` is a ``Timeline`` or an array of events: t for the prediction of ticket t, ~t
        for its cost. ``costs`` and ``contexts`` have one entry for every ticket from ``first`` on,
        ``at`` the time of every event, where it matters. The result is the same, bit for bit, as
        event by event; when an event is refused, everything is as it was before.
        """
        if not self._is_ready:
            raise busy("run")
        self._is_ready = False
        saved = None
        try:
            given = self._run_arguments(timeline, costs, first, contexts, at)
            saved = self._tuner.state()
            return self._run_events(*given)
        except BaseException:
            if saved is not None:
                self._tuner.restore(saved)
            raise
        finally:
            self._is_ready = True

    def _run_events(self, events, costs, first, features, times, kind):
        """Feed all events; row i of costs and features is that of ticket first + i."""
        tuner, log, count = self._tuner, ints_at(events), len(events)
        value, when, rows = floats_at(costs), floats_at(times), floats_at(features)
        has_times: cython.bint = len(times) > 1
        start: cython.longlong = first
        known: cython.longlong = len(costs)
        x = new_floats(tuner.k)
        settings = []
        i: cython.Py_ssize_t
        for i in range(count):
            event = log[i]
            ticket = event if event >= 0 else ~event
            if not 0 <= ticket - start < known:
                raise UnknownTicket("run: every ticket of the timeline needs an entry in costs")
            now = when[i] if has_times else when[0]
            if event < 0:
                status = tuner.observe(ticket, value[ticket - start], now, True)
                if status < 0:
                    raise self._refusal(status, ticket, f"run: event {i}: ")
                continue
            if event != tuner.tickets.rounds:
                raise refusals.out_of_turn(tuner.tickets.rounds, event, f"run: event {i}: ")
            z = part(rows, (ticket - start) * tuner.c)
            while tuner.predict(z, now, kind, floats_at(x)) == FULL:
                tuner.tickets.grow()
            settings.append(self._settings.setting(x.tolist()))
        return settings

    def _state(self, who):
        """Return the state and that of the keys, of the same moment."""
        return self._alone(who, lambda: (self._tuner.state(), self._names.state()))

    def _refusal(self, status, ticket, where):
        """Return the error for a refusal."""
        if status == CLOSED:
            return AlreadyObserved(f"{where}ticket {ticket} {refusals.CLOSED_BEFORE}")
        of_ticket = refusals.of_ticket(status, ticket, self._tuner.tickets.rounds, where)
        if of_ticket is not None:
            return of_ticket
        return BadFeedback(
            f"{where}the cost of ticket {ticket} is no number, not finite, or too large to compute "
            "with (1e50); nothing has changed: send a finite one, or cancel the ticket"
        )


def number_of(value):
    """Return a cost as a number; NaN where it is none."""
    try:
        return math.nan if isinstance(value, str | bytes) else _float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
