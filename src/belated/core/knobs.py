# cython: infer_types=True
"""Knobs: settings of a live system from late costs. Every public method is one C call.

``cost_models`` has the models of costs and the search for settings; here are the events around
them. Python code converts settings and reads times before anything changes. Calls on the same knobs
are refused while such code runs, a report is made, or a whole log is read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import cython
import numpy as np

from belated import refusals
from belated.core.component import ANY, COUNT, NOT_NEGATIVE, Range, demand
from belated.core.cost_models import NUMBERS
from belated.core.online import busy
from belated.errors import AlreadyObserved, BadFeedback, UnknownTicket
from belated.tables import shown_as_columns, shown_as_table

if not cython.compiled:
    from math import fabs, floor, sqrt
    from math import inf as INFINITY
    from math import nan as NAN

    from belated.core.component import Component
    from belated.core.cost_models import GRID, Basis, CostModels, Sampler
    from belated.core.linear import Heap
    from belated.core.numerics import LAST, copy, floats_at, ints_at, ln, new_floats, part
    from belated.core.online import Guard, Online
    from belated.core.tickets import (
        BAD,
        CLOSED,
        DROPPED,
        OUT_OF_ORDER,
        USED,
        Keys,
        Tickets,
    )

if TYPE_CHECKING:
    from belated.arrays import Floats, Ints
    from belated.keys import Key

    Ticket = int | Key
    Number = int  # under another name it is no type of C
    Context = Mapping[str, Any]
    Setting = dict[str, Any]

HUGE_COST = 1e50
MOST_COST = cython.declare(cython.double, HUGE_COST)
EQUAL = cython.declare(cython.double, 1e-13)  # costs that differ by this share of them are equal
LEAST_UNIT = cython.declare(cython.double, 1e-150)
MOST_VALUE = cython.declare(cython.double, 1e9)  # keeps squares finite
COSTS, FLAG = Range(-2.0 * HUGE_COST, 2.0 * HUGE_COST), Range(0, 1, int)

# Records of tickets: whether a cost is known, the newest one, and the value learned of it. Rows of
# answers: ticket, cost, whether an earlier cost was learned, as which value, whether this one is
# final, the arm. In both, the place follows, and then the context.
KNOWN, COST, LEARNED, PLACE_AT = 0, 1, 2, 3
TICKET, REPLACES, BEFORE, FINAL, ARM, ANSWER_PLACE_AT = 0, 2, 3, 4, 5, 6


def order_statistic(values, n, rank):
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
    """The answers before the models learn them.

    Answers between two predictions are a set: ``new`` has a row for each of their tickets, until
    ``Tuner.commit`` takes these in the order of tickets. Then they wait for a unit of costs.

    A cost is learned as y = (cost - anchor) / unit. The first answers give the anchor, their
    median, and the unit, their root mean square distance from it (0 before), without distances
    above 30 times their upper quartile. Answers that are all equal are learned at once, as 0 in any
    unit; ``equal`` counts these. ``rows`` has the ``waiting`` answers in their order.
    """

    FIELDS = {
        **dict.fromkeys(("waiting", "equal"), COUNT),
        **dict.fromkeys(("anchor", "rows"), COSTS),
        "unit": Range(0.0, 4.0 * HUGE_COST),
    }

    def __init__(self, tickets, models):
        self.tickets, self.models, self.k = tickets, models, models.k
        self.place_size = models.k + models.basis.c  # numbers of a place and its context
        self.capacity, self.width = 6 + models.k, ANSWER_PLACE_AT + self.place_size
        self.waiting = self.equal = 0
        self.anchor = self.unit = 0.0
        self.rows, self.work = np.zeros((self.capacity, self.width)), np.zeros((2, self.capacity))
        self.row, self.heap = floats_at(self.rows), Heap()
        self.count, self.new_rows = 0, np.zeros((0, self.width))
        self.reserve(self.heap.room)
        self.costs, self.distances = floats_at(self.work[0]), floats_at(self.work[1])

    def verify(self, state):
        waiting, unit, rows = state["waiting"], state["unit"], state["rows"]
        demand(unit == 0.0 or (unit >= LEAST_UNIT and waiting == 0), "the unit")
        demand(waiting <= self.capacity and (rows[waiting:] == 0.0).all(), "costs that wait")
        self.verify_rows(rows)

    def verify_rows(self, rows):
        """Demand that rows can be those of answers."""
        tickets, flags = rows[:, TICKET], rows[:, [REPLACES, FINAL]]
        fits = ((tickets >= 0.0) & (tickets % 1.0 == 0.0)).all() and np.isin(
            flags, (0.0, 1.0)
        ).all()
        fits = fits and (np.abs(rows[:, COST]) <= 2.0 * HUGE_COST).all()
        fits = fits and (np.abs(rows[:, BEFORE]) <= NUMBERS.most * rows[:, REPLACES]).all()
        fits = fits and np.isin(rows[:, ARM], (LEARNER, START, EXCLUDED)).all()
        demand(fits and (np.abs(rows[:, ANSWER_PLACE_AT:]) <= 1.0).all(), "costs that wait")

    def reserve(self, room):
        """Have room for so many new answers."""
        self.heap.resize(room)
        rows = np.zeros((room, self.width))
        rows[: self.count] = self.new_rows[: self.count]
        self.new_rows, self.new, self.room = rows, floats_at(rows), room
        return 0

    def append(self, entry, cost, arm, is_new, is_final):
        """Add the cost of a ticket to the set, or replace its earlier one there."""
        record, number, at = self.tickets.record(entry), self.tickets.number[entry], self.count
        if not is_new:
            at = 0
            while at < self.count and self.new[at * self.width + TICKET] != number:
                at += 1
        row = part(self.new, at * self.width)
        if at == self.count:
            self.count += 1
            row[TICKET], row[REPLACES] = number, 0.0 if is_new else 1.0
            row[BEFORE], row[ARM] = record[LEARNED], arm
            copy(part(record, PLACE_AT), part(row, ANSWER_PLACE_AT), self.place_size)
        row[COST], row[FINAL] = cost, is_final

    def sort_new(self):
        """Sort the new answers by their tickets."""
        for i in range(self.count):
            self.heap.push(self.new[i * self.width + TICKET], i)

    def first_new(self):
        """Return the new answer of the earliest ticket, which leaves the sorted ones."""
        return part(self.new, self.heap.pop() * self.width)

    def state(self):
        rows = self.new_rows[: self.count]
        return {**Component.state(self), "new": rows[np.argsort(rows[:, TICKET])]}

    def restore(self, state):
        Component.restore(self, state)
        rows, self.count = state["new"], 0
        if len(rows) > self.room:
            self.reserve(len(rows))
        self.new_rows[: len(rows)], self.count = rows, len(rows)

    def check(self, state):
        rest = dict(state)
        rows = rest.pop("new", None)
        Component.check(self, rest)
        fits = isinstance(rows, np.ndarray) and rows.dtype == np.float64
        demand(fits and rows.shape == (len(rows), self.width), "the shape of new answers")
        self.verify_rows(rows)
        demand((np.diff(rows[:, TICKET]) > 0.0).all(), "tickets of new answers")

    def enqueue(self, new):
        """Append an answer to those that wait, or replace its earlier one; learn what is ready."""
        at: cython.Py_ssize_t = 0
        while at < self.waiting and self.row[at * self.width + TICKET] != new[TICKET]:
            at += 1
        row = part(self.row, at * self.width)
        if at == self.waiting:
            self.waiting += 1
            copy(new, row, self.width)
        row[COST], row[FINAL] = new[COST], new[FINAL]
        for _ in range(self.count_ready()):
            self.learn_first()
        if self.unit > 0.0:
            self.models.solve_due()

    def learn_first(self):
        """Learn the first answer."""
        row, y = self.row, 0.0
        number = cython.cast(cython.longlong, row[TICKET])
        is_new: cython.bint = row[REPLACES] == 0.0
        entry = self.tickets.locate(number)
        is_open: cython.bint = entry >= 0 and not self.tickets.is_expired(entry)
        self.models.advance(number)
        if self.unit > 0.0:
            self.models.solve_due()
            y = min(max((row[COST] - self.anchor) / self.unit, -MOST_VALUE), MOST_VALUE)
        elif is_new:
            self.equal += 1
        place = part(row, ANSWER_PLACE_AT)
        self.models.basis.write(place, part(place, self.k), self.models.phi)
        y = self.models.learn(number, y, row[BEFORE], is_new, row[FINAL] == 1.0, self.unit > 0.0)
        if is_open:
            self.tickets.record(entry)[LEARNED] = y
        self.waiting -= 1
        rest = self.waiting * self.width
        copy(part(row, self.width), row, rest)
        for i in range(rest, rest + self.width):
            row[i] = 0.0

    def count_ready(self):
        """Return how many answers can be learned now; find the unit if there are enough."""
        count, included, squares, farthest = self.waiting, self.equal, 0.0, 0.0
        if self.unit > 0.0 or count < self.capacity:
            return count if self.unit > 0.0 else 0
        for i in range(count):
            self.costs[i] = self.row[i * self.width + COST]
        common = self.anchor if self.equal > 0 else self.costs[0]
        anchor = common if self.equal > 0 else order_statistic(self.costs, count, count // 2)
        for i in range(count):
            self.distances[i] = fabs(self.costs[i] - anchor)
            farthest = max(farthest, fabs(self.costs[i] - common))
        quartile = order_statistic(self.distances, count, 3 * count // 4)
        most = 30.0 * quartile if quartile > EQUAL * fabs(anchor) else INFINITY
        for i in range(count):
            if self.distances[i] <= most:
                included += 1
                squares += self.distances[i] * self.distances[i]
        unit = sqrt(squares / included)
        if unit < LEAST_UNIT or farthest <= EQUAL * fabs(common):
            self.anchor = common
            return 1
        self.anchor, self.unit = anchor, unit
        return count


ALPHA = 0.05  # probability of a false alarm
LN_ALPHA = cython.declare(cython.double, ln(ALPHA))
LEAST_ANSWERS = cython.declare(cython.longlong, 30)  # answers of each arm: the result is asymptotic
RATIO = cython.declare(cython.double, 0.008)  # r: narrowest after about a thousand rounds
LEARNER, START, EXCLUDED = 0, 1, 2  # arm of a ticket; EXCLUDED: not chosen by the coin


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
    sequences", 2024). If costs are mostly equal, such as sales, those of the start can all be equal
    for a long time, and s is far too small. So s^2 is at least v / h + v / (1 - h), its value if
    the costs of both arms had the variance v of all costs.
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
        self.compared, self.alarmed, self.first = 0, 0, rounds
        self.gain = self.gain_squares = self.baseline = self.cost_squares = 0.0
        for arm in range(2):
            self.count[arm] = 0
            self.mean[arm] = 0.0

    def radius(self):
        """Return how far the mean difference may be from the gain; infinity before it is known."""
        n, share = self.compared, self.share
        if min(self.count[LEARNER], self.count[START]) < LEAST_ANSWERS:
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
        """Include the cost of a round; return whether the learner is surely worse."""
        deviation = cost - self.baseline
        psi = 1.0 / self.share if arm == START else -1.0 / (1.0 - self.share)
        psi *= deviation if self.compared > 0 else 0.0
        self.compared += 1
        self.baseline += deviation / self.compared
        self.cost_squares += deviation * (cost - self.baseline)
        change = psi - self.gain
        self.gain += change / self.compared
        self.gain_squares += change * (psi - self.gain)
        self.count[arm] += 1
        self.mean[arm] += (cost - self.mean[arm]) / self.count[arm]
        return self.gain + self.radius() < 0.0

    def verify(self, state):
        demand(state["alarmed"] <= state["alarms"], "alarms")
        demand(state["answers"].sum() == state["compared"], "the comparison")


class History(Component):
    """Mean costs over time, in 64 stretches of rounds, whose length doubles when they are full.

    ``answers`` and ``means`` have one row for each stretch. The second column is of rounds in which
    the coin chose the start, the first of all others.
    """

    FIELDS = {"length": Range(16, 1 << 48, int), "answers": COUNT, "means": ANY}

    def __init__(self):
        self.length = 16
        self.answers, self.means = np.zeros((64, 2), np.int64), np.zeros((64, 2))
        self.count, self.mean = ints_at(self.answers), floats_at(self.means)

    def record(self, ticket, arm, cost):
        """Include the cost of a round in its stretch."""
        while ticket >= 64 * self.length:
            self.length *= 2
            for i in range(64):  # merge every two stretches
                first = 4 * (i // 2) + i % 2
                count = self.count[first] + self.count[first + 2]
                share = 1.0 * self.count[first + 2] / max(count, 1)
                self.mean[i] = self.mean[first] + share * (self.mean[first + 2] - self.mean[first])
                self.count[i] = count
            for i in range(64, 128):
                self.count[i], self.mean[i] = 0, 0.0
        at = 2 * (ticket // self.length) + (1 if arm == START else 0)
        self.count[at] += 1
        self.mean[at] += (cost - self.mean[at]) / self.count[at]

    def verify(self, state):
        length = state["length"]
        demand(length & (length - 1) == 0, "stretches of the history")


# --- Events --------------------------------------------------------------------------------------

LEARNING, PAUSED, REVERTED = 0, 1, 2  # modes


class Tuner(Component):
    """The events: predict, observe, cancel, correct what was played, and let time pass.

    ``arm`` is that of the current setting; ``may_change`` lets it change before ``hold`` rounds are
    over. ``settled`` counts tickets that were closed by their deadline with a cost, ``corrected``
    the costs that replaced an earlier one. A record also has the arm where there is a holdout, and
    the time when a ticket is due where there is a deadline.

    ``now`` is the latest time, or the latest round where rounds are counted; ``kind_of_times`` is a
    kind of ``belated.models.moments``, 0 for rounds. Time never goes back and all tickets wait
    equally long, so they are due in their order.
    """

    FIELDS = {
        **dict.fromkeys(("settled", "corrected"), COUNT),
        **dict.fromkeys(("mode", "arm"), Range(0, 2, int)),
        "may_change": FLAG,
        "kind_of_times": Range(0, 3, int),
        "now": Range(-LAST, LAST),
    }
    PARTS = ("tickets", "models", "sampler", "answers", "comparison", "history")

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
        self.arm_at = PLACE_AT + knobs + context
        self.due_at = self.arm_at + (1 if holdout > 0.0 else 0)
        self.tickets = Tickets(self.due_at + (1 if self.has_deadline else 0), LAST)
        self.models = CostModels(Basis(knobs, context))
        self.sampler = Sampler(self.models, seed, start, steps, levels, limits)
        self.answers = Answers(self.tickets, self.models)
        self.comparison, self.history = Comparison(holdout), History()
        self.settled = self.corrected = self.mode = self.arm = self.may_change = 0
        self.kind_of_times, self.now, self.work = 0, -LAST, np.zeros(2 + context)
        self.out = floats_at(self.work)
        self.context = part(self.out, 2)

    # --- Plays -----------------------------------------------------------------------------------

    def predict(self, z, at, kind, x):
        """Issue the next ticket in a context, write its play to x and return it."""
        if not self.tickets.make_room():
            self.tickets.grow()
        if self.answers.room < self.tickets.capacity:
            self.answers.reserve(self.tickets.capacity)
        self.begin_round(at, kind)
        for i in range(self.c):
            self.context[i] = floor((z[i] + 1.0) * GRID + 0.5) / GRID - 1.0
        self.play()
        entry = self.tickets.open_next()
        record = self.tickets.record(entry)
        record[KNOWN] = record[COST] = record[LEARNED] = 0.0
        copy(self.sampler.x, x, self.k)
        copy(x, part(record, PLACE_AT), self.k)
        copy(self.context, part(record, PLACE_AT + self.k), self.c)
        if self.holdout > 0.0:
            record[self.arm_at] = self.arm
        if self.has_deadline:
            record[self.due_at] = min(self.now + self.deadline, LAST)
        return self.tickets.number[entry]

    def play(self):
        """Learn all answers, and write the next play to x of the sampler."""
        self.commit()
        t = self.tickets.rounds
        if self.mode != LEARNING:
            self.arm = EXCLUDED
        elif t % self.hold == 0 or self.may_change:
            self.sampler.propose(self.context, t, False, self.answers.unit > 0.0)
            self.sampler.make_playable(False)
            self.arm = START if self.sampler.uniform(0, t) < self.holdout else LEARNER
            if self.arm == LEARNER:
                copy(self.sampler.x, self.sampler.previous, self.k)
        self.may_change = 0
        if self.mode == REVERTED or self.arm == START:
            copy(self.sampler.start, self.sampler.x, self.k)
        else:
            copy(self.sampler.previous, self.sampler.x, self.k)

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
        copy(place, self.sampler.x, self.k)
        self.sampler.round(True)
        copy(self.sampler.x, part(record, PLACE_AT), self.k)
        if ticket == self.tickets.rounds - 1 and self.arm == LEARNER:
            self.sampler.make_playable(True)
            copy(self.sampler.x, self.sampler.previous, self.k)
        if self.holdout > 0.0 and not by_coin:
            record[self.arm_at] = EXCLUDED
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

    def cost_so_far(self, ticket):
        """Return the provisional cost, NaN for none; of a closed ticket 0."""
        entry = self.tickets.locate(ticket)
        if entry < 0 or self.tickets.is_expired(entry):
            return 0.0
        record = self.tickets.record(entry)
        if record[KNOWN] > 0.0:
            return record[COST]
        return self.silence if self.has_silence else NAN

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
        record = self.tickets.record(entry)
        is_new: cython.bint = record[KNOWN] == 0.0
        is_other: cython.bint = is_new or cost != record[COST]
        self.corrected += 1 if is_other and not is_new else 0
        record[KNOWN], record[COST] = 1.0, cost
        if is_other or is_final:
            arm: cython.int = EXCLUDED
            if self.holdout > 0.0:
                arm = cython.cast(cython.int, record[self.arm_at])
            self.answers.append(entry, cost, arm, is_new, is_final)

    def commit(self):
        """Learn the answers since the last prediction, in the order of their tickets."""
        count: cython.longlong = self.answers.count
        self.answers.sort_new()
        for _ in range(count):
            row = self.answers.first_new()
            self.answers.enqueue(row)
            if row[FINAL] == 1.0:
                number = cython.cast(cython.longlong, row[TICKET])
                self.compare(number, cython.cast(cython.int, row[ARM]), row[COST])
        self.answers.count = 0

    def compare(self, number, arm, cost):
        """Include a final cost in the history and in the comparison with the start."""
        self.history.record(number, arm, cost)
        if arm == EXCLUDED or (number + 1) % self.hold != 0 or number < self.comparison.first:
            return  # only the last round of a setting is compared
        is_worse: cython.bint = self.comparison.compare(arm, cost)
        if is_worse and self.mode != REVERTED and self.comparison.alarmed == 0:
            self.comparison.alarmed = 1
            self.comparison.alarms += 1
            self.mode = REVERTED

    # --- Deadlines -------------------------------------------------------------------------------

    def begin_round(self, at, kind):
        """Let time pass until a play; without times, the number of rounds is the time."""
        is_counted: cython.bint = max(kind, self.kind_of_times) == 0
        self.pass_time(self.tickets.rounds if is_counted else at, kind)
        self.tickets.forget_oldest()

    def pass_time(self, at, kind):
        """Let time pass until ``at``, of this kind (0: unknown), and close tickets that are due.

        An earlier time, or NaN, changes nothing. The cost of a ticket past its deadline is its
        provisional one, else that of silence.
        """
        self.kind_of_times = max(self.kind_of_times, kind)
        if not self.has_deadline:
            return
        self.now = max(self.now, at)
        while self.tickets.advance_head() < self.tickets.rounds:
            entry = self.tickets.head
            record = self.tickets.record(entry)
            if not record[self.due_at] < self.now:
                return
            if record[KNOWN] > 0.0 or self.has_silence:
                self.learn(entry, record[COST] if record[KNOWN] > 0.0 else self.silence, True)
                self.settled += 1
            for i in range(self.tickets.width):
                record[i] = 0.0
            self.tickets.count_arrival(entry)
            self.tickets.skip(entry)

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
        return self.now if self.has_deadline and self.kind_of_times > 0 else -math.inf

    def best(self, features, ticket=None):
        """Return the places that seem best in a context, or those that a ticket would draw."""
        number: cython.longlong = self.tickets.rounds if ticket is None else ticket
        has_unit: cython.bint = self.answers.unit > 0.0
        self.sampler.propose(floats_at(features), number, ticket is None, has_unit)
        self.sampler.make_playable(True)
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
        demand((state["answers.rows"][:, TICKET] <= max(rounds - 1, 0)).all(), "costs that wait")
        demand(state["comparison.first"] <= rounds, "alarms")
        used = np.flatnonzero(state["history.answers"].any(axis=1))
        demand((used * state["history.length"] < rounds).all(), "the history")
        self.check_records(state)

    def check_records(self, state):
        """Demand that open tickets have places and costs, and none is past its deadline."""
        seen, records, now = state["tickets.seen"], state["tickets.records"], state["now"]
        demand((records[seen < 0] == 0.0).all(), "closed tickets")
        rows = records[seen >= 0]
        known, places = rows[:, KNOWN], rows[:, PLACE_AT : self.arm_at]
        fits = np.isin(known, (0.0, 1.0)) & (np.abs(rows[:, COST]) <= 2.0 * HUGE_COST * known)
        demand((fits & (np.abs(rows[:, LEARNED]) <= NUMBERS.most * known)).all(), "costs so far")
        demand(((np.abs(places) <= 1.0) & (places * GRID % 1.0 == 0.0)).all(), "places of tickets")
        if self.holdout > 0.0:
            arms = rows[:, self.arm_at]
            demand(np.isin(arms, (LEARNER, START, EXCLUDED)).all(), "arms of tickets")
        if not self.has_deadline:
            return
        if state["kind_of_times"] == 0:
            rounds = state["tickets.rounds"]
            demand(now == (rounds - 1.0 if rounds > 0 else -LAST), "the clock")
        due = rows[:, self.due_at]
        fits = (due >= now) & (due <= min(now + self.deadline, LAST))
        demand(fits.all() and (np.diff(due) >= 0.0).all(), "when tickets are due")


# --- Public methods ------------------------------------------------------------------------------


@shown_as_table
class Proposal(NamedTuple):
    """What ``predict`` returns."""

    ticket: int
    """Number to give back with the cost."""
    setting: dict[str, Any]
    """A value for every knob, by its name."""


@shown_as_table
class Expected(NamedTuple):
    """What ``expect`` returns."""

    cost: float
    """Mean cost of a round."""
    uncertainty: float
    """Standard deviation of that mean, without the noise of a single cost."""


@shown_as_columns
class Proposals(NamedTuple):
    """What ``predict_many`` returns."""

    tickets: Ints
    settings: list[Setting]


_new_tuple = tuple.__new__  # a named tuple made from a tuple takes half the time
_Proposal = Proposal
_float = float
_NOTHING = np.empty(0)


class Knobs(Online):
    """The events of knobs; ``belated.models.knobs`` adds settings, reports and snapshots.

    The subclass has ``_replay_arguments``.
    """

    __slots__ = ("_sign", "_tuner")

    CANNOT = {
        "deadline": "all tickets of Knobs have one deadline; give it when the Knobs are made",
        "weight": "costs of Knobs have no weights; leave it out",
        "keys": "a replay of Knobs gives no keys; use tickets",
        "explain": "Knobs have no row to explain; use expect(setting), best() or report()",
    }

    def _begin(self, settings: Any) -> None:
        """Take settings, having seen nothing."""
        self._tuner = Tuner(**settings.arguments())
        self._sign = -1.0 if settings.goal == "max" else 1.0
        self._connect(settings, self._tuner, Keys(self._tuner.tickets), Guard())

    def _open(self, who, row, key, at, deadline):
        x = new_floats(self._tuner.k)
        features, now, kind = _NOTHING, NAN, 0
        if deadline is not None:
            raise self._unsupported(who, "deadline")
        if key is not None:
            key = self._keys.check(key)
        if row is not None or self._tuner.c > 0 or at is not None or self._tuner.has_deadline:
            features = self._settings.features(row, who)
            now, _, kind = self._times.issued(at, None, who)
        ticket = self._tuner.predict(floats_at(features), now, kind, floats_at(x))
        if key is not None:
            self._keys.assign(key, ticket)
        return _new_tuple(_Proposal, (ticket, self._settings.setting(x.tolist())))

    def _columns(self, tickets, values):
        return Proposals(tickets, values)

    def _learn(self, who, number, answer, at, weight, is_final):
        if weight is not None:
            raise self._unsupported(who, "weight")
        value, now = answer, NAN
        if at is not None or type(answer) is not _float:
            value, now = cost_of(answer), self._times.of_answer(at, who)
        status = self._tuner.observe(number, self._sign * value, now, is_final)
        if status < 0:
            raise self._refusal(status, number, f"{who}: ", answer)
        return status == USED

    def _answer_so_far(self, number):
        return self._sign * self._tuner.cost_so_far(number)

    def _cancel(self, number):
        status = self._tuner.cancel(number)
        if status < 0:
            raise self._refusal(status, number, "cancel: ")
        return 0

    def _ticked(self, at):
        now, kind = self._times.of_tick(at)
        self._tuner.pass_time(now, kind)

    def played(self, ticket: Ticket, actual: Setting) -> None:
        """Report what was really played, where the system rounded, clamped or overrode a setting.

        Call it before the cost is given. The setting must be inside of the ranges: cancel the
        ticket otherwise. The coin had chosen before that, so the round is still compared with the
        start. After the newest ticket, the next step of ``max_step`` is from there. What
        ``constraints`` forbid is learned as it was, and the next step is from the nearest setting
        that they allow.
        """
        self._alone("played", lambda: self._correct(ticket, actual, True))

    def _follow(self, ticket: Ticket, actual: Setting) -> None:
        """Report what another system played in this round; otherwise this is ``played``.

        The coin of these knobs did not choose it, so the round is not compared.
        """
        self._alone("played", lambda: self._correct(ticket, actual, False))

    def _correct(self, ticket, actual, by_coin):
        number = self._keys.ticket(ticket)
        places = self._settings.places_of(actual, "played")
        status = self._tuner.correct_place(number, floats_at(places), by_coin)
        if status == OUT_OF_ORDER:
            raise BadFeedback(
                f"played: a cost of ticket {number} was heard before; nothing has changed: say "
                "what was played first"
            )
        if status < 0:
            raise self._refusal(status, number, "played: ")

    def _commit(self) -> None:
        """Learn the answers since the last prediction."""
        self._tuner.commit()

    def _committed(self, who: str, work: Any) -> Any:
        """Return the result of work as of all answers so far; it changes nothing."""
        return self._alone(who, lambda: self._provisionally(work))

    def _provisionally(self, work: Any) -> Any:
        if self._tuner.answers.count == 0:
            return work()
        saved = self._tuner.state()
        try:
            self._commit()
            return work()
        finally:
            self._tuner.restore(saved)

    def best(self, context: Context | None = None) -> Setting:
        """Return the setting that seems best now; it changes nothing."""
        features = self._settings.features(context, "best")
        return self._committed("best", lambda: self._best(features))

    def _best(self, features: Floats, ticket: Number | None = None) -> Setting:
        return self._settings.setting(self._tuner.best(features, ticket))

    def expect(self, setting: Context, context: Context | None = None) -> Expected:
        """Return what a setting is expected to cost; NaN before enough costs are in."""
        features = self._settings.features(context, "expect")
        return self._committed("expect", lambda: self._expected(setting, features))

    def _expected(self, setting: Context, features: Floats) -> Expected:
        places = self._settings.places_of(setting, "expect")
        mean, deviation = self._tuner.expect(places, features)
        return Expected(self._sign * mean, deviation)

    def pause(self) -> None:
        """Play the last setting of the learner from now on; costs are still learned.

        An alarm still goes back to the start.
        """
        self._change("pause", PAUSED)

    def revert(self) -> None:
        """Play the start from now on; costs are still learned."""
        self._change("revert", REVERTED)

    def resume(self) -> None:
        """Learn and explore again.

        After an alarm, the comparison with the start begins anew, with rounds from now on.
        """
        self._change("resume", LEARNING)

    def _change(self, caller, mode):
        if not self._guard.is_ready:
            raise busy(caller)
        self._commit()
        if mode == LEARNING and self._tuner.comparison.alarmed:
            self._tuner.comparison.begin(self._tuner.tickets.rounds)
        self._tuner.mode, self._tuner.may_change = mode, 1

    # --- Whole logs ------------------------------------------------------------------------------

    def _replayed(self, given, keys, progress):
        rows, answers, timeline, weights, first, at, deadlines, _ = given
        for name, value in (("weight", weights), ("deadline", deadlines), ("keys", keys)):
            if value is not None:
                raise self._unsupported("replay", name)
        arguments = self._replay_arguments(rows, answers, timeline, first, at)
        saved = self._tuner.state()
        try:
            return self._replay_events(*arguments)
        except BaseException:
            self._tuner.restore(saved)
            raise

    def _replay_events(self, events, costs, first, features, times, kind):
        """Feed all events; row i of costs and features is that of ticket first + i."""
        tuner, log, count = self._tuner, ints_at(events), len(events)
        value, when, rows = floats_at(costs), floats_at(times), floats_at(features)
        has_times: cython.bint = len(times) > 1
        start: cython.longlong = first
        known: cython.longlong = len(costs)
        x = new_floats(tuner.k)
        settings = []
        for i in range(count):
            event = log[i]
            ticket = event if event >= 0 else ~event
            if not 0 <= ticket - start < known:
                raise UnknownTicket(
                    "replay: every ticket of the timeline needs an entry in answers"
                )
            now = when[i] if has_times else when[0]
            if event < 0:
                status = tuner.observe(ticket, value[ticket - start], now, True)
                if status < 0:
                    cost = value[ticket - start]
                    raise self._refusal(status, ticket, f"replay: event {i}: ", cost)
                continue
            if event != tuner.tickets.rounds:
                raise refusals.out_of_turn(tuner.tickets.rounds, event, f"replay: event {i}: ")
            tuner.predict(part(rows, (ticket - start) * tuner.c), now, kind, floats_at(x))
            settings.append(self._settings.setting(x.tolist()))
        return settings

    def _refusal(self, status, ticket, where, cost=None):
        """Return the error for a refusal."""
        if status == CLOSED:
            return AlreadyObserved(f"{where}ticket {ticket} {refusals.CLOSED_BEFORE}")
        of_ticket = refusals.of_ticket(status, ticket, self._tuner.tickets.rounds, where)
        if of_ticket is not None:
            return of_ticket
        return BadFeedback(
            f"{where}the cost of ticket {ticket} must be a finite number up to 1e50, got {cost!r}; "
            "nothing has changed: send such a number, or cancel the ticket"
        )


def cost_of(value):
    """Return a cost as a number; NaN where it is none."""
    try:
        return math.nan if isinstance(value, str | bytes) else _float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
