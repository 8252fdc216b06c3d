# cython: infer_types=True
"""Linear models with labels that come late: events, answers on their way, deadlines.

Choosers and intervals own a ``Linear`` and call its events. Before they read weights or sums they
call ``apply_provisionally``, or ``commit_answers`` inside of an event that is not refused any more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import cython
import numpy as np

from belated import limits, refusals
from belated.core.censoring import AGES, AMOUNT, LARGE
from belated.core.component import COUNT, SLACK, Range, demand, take_columns
from belated.core.online import number_of
from belated.errors import AlreadyObserved, BadFeatures, BadFeedback
from belated.tables import shown_as_columns, shown_as_table

if cython.compiled:
    from cython.cimports import numpy as cnp
    from cython.cimports.cpython.exc import PyErr_CheckSignals

    cnp.import_array()
else:
    from math import inf as INFINITY
    from math import nan as NAN

    from belated.core.censoring import (
        PARTS_OF_DEADLINE,
        PASSES,
        QUANTILES,
        Censoring,
        Delays,
        importance_weight,
    )
    from belated.core.component import Component
    from belated.core.experts import NUMBERS, ROW_FLOATS, Experts, PairExperts, row_at
    from belated.core.label_losses import (
        FIRST_LABELS,
        HUGE_WEIGHT,
        LabelStatistics,
    )
    from belated.core.numerics import (
        LAST,
        floats_at,
        grown,
        ints_at,
        ints_from,
        pair,
        part,
        plain_size,
        ticket_uniform,
    )
    from belated.core.online import Guard, Online
    from belated.core.tickets import BAD, CLOSED, DROPPED, TOO_LARGE, USED, Keys, Tickets, plain_key

if TYPE_CHECKING:
    from numpy.typing import NDArray

# What is kept of a ticket: its row, with the number of its entries; the prediction before the link;
# whether there is a label so far, which, and what was learned of it; when it is due (LAST: never);
# whether that has passed and the label so far was the last word; what answer is in the queue; when
# it was asked.
ENTRIES, SHOWN = 1, ROW_FLOATS
KNOWN, LABEL, LEARNED, DUE = SHOWN + 1, SHOWN + 2, SHOWN + 3, SHOWN + 4
SETTLED, QUEUED, ASKED, WIDTH = SHOWN + 5, SHOWN + 6, SHOWN + 7, SHOWN + 8
OF_PAIRS = WIDTH  # with pairs, a second row follows, with what their experts predicted
REVISION, FINAL = cython.declare(cython.double, 1.0), cython.declare(cython.double, 2.0)
SILENT = cython.declare(cython.longlong, -1)
LONGEST = cython.declare(cython.double, 1.0 * (1 << 47))  # moments that are told apart

REVIEW = cython.declare(cython.longlong, 256)  # predictions between two reviews of the wait


# --- Deadlines -----------------------------------------------------------------------------------


class Heap:
    """Numbers and when they are due: the earliest first, and of equals the smallest."""

    def __init__(self):
        self.count = self.room = 0
        self.time_array, self.number_array = np.zeros(0), np.zeros(0, np.int64)
        self.resize(64)

    def resize(self, room):
        """Have room for so many numbers."""
        times, numbers = grown(self.time_array, room), grown(self.number_array, room)
        self.time_array, self.number_array = times, numbers
        self.time, self.number = floats_at(times), ints_at(numbers)
        self.room = room
        return 0

    def precedes(self, time, number, place):
        """Tell whether a number comes before the one at a place."""
        other = self.time[place]
        return time < other or (time == other and number < self.number[place])

    def push(self, time, number):
        """Add a number, for which there is room."""
        place: cython.longlong = self.count
        parent: cython.longlong = (place - 1) >> 1
        self.count += 1
        while place > 0 and self.precedes(time, number, parent):
            self.time[place], self.number[place] = self.time[parent], self.number[parent]
            place, parent = parent, (parent - 1) >> 1
        self.time[place], self.number[place] = time, number

    def pop(self):
        """Remove the first number and return it; the last one sinks from the top."""
        first = self.number[0]
        self.count -= 1
        count: cython.longlong = self.count
        time, number = self.time[count], self.number[count]
        place: cython.longlong = 0
        child: cython.longlong = 1
        while child < count:
            if child + 1 < count and self.precedes(
                self.time[child + 1], self.number[child + 1], child
            ):
                child += 1
            if self.precedes(time, number, child):
                break
            self.time[place], self.number[place] = self.time[child], self.number[child]
            place, child = child, 2 * child + 1
        self.time[place], self.number[place] = time, number
        return first


# --- Answers -------------------------------------------------------------------------------------

NEAR = cython.declare(cython.longlong, 1000)  # tickets that count as asked at about one time


class Answers(Component):
    """Answers since the last prediction: a set, as no prediction was made between any two of them.

    Experts end with what came last, and where labels come in bulk their order says nothing: they
    are sorted by store, by size, or by how long they took. So a set is learned in an order that
    depends on its tickets alone: with r the rank of a ticket among the n of the set, and u in
    [0, 1) made of its number, in the order of

        r + max(n, 1000) u.

    That mixes some hundred labels as if at random; of a thousand and more, asked over a long time,
    the last are still learned after the first. Labels of one ticket keep their order. ``closing``
    of the answers close an open ticket.
    """

    COLUMNS = {
        "numbers": np.int64,
        "labels": np.float64,
        "weights": np.float64,
        "final": np.int64,
    }

    def __init__(self):
        self.count = self.closing = 0
        self.heap = Heap()
        self.arrays = tuple(np.zeros(0, kind) for kind in (*self.COLUMNS.values(), np.int64))
        self.room = 0
        self.reserve(self.heap.room)

    def reserve(self, more):
        """Have room for so many answers more."""
        room = max(self.room, self.heap.room)
        while self.count + more > room:
            room *= 2
        if room == self.room:
            return 0
        self.heap.resize(room)
        self.arrays = tuple(grown(array, room) for array in self.arrays)
        numbers, labels, weights, final, order = self.arrays
        self.number, self.label = ints_at(numbers), floats_at(labels)
        self.weight, self.final, self.order = floats_at(weights), ints_at(final), ints_at(order)
        self.room = room
        return 0

    def append(self, number, label, weight, final):
        """Put an answer behind the others; ``final`` is 1, 0, or SILENT where none came."""
        at: cython.longlong = self.count
        self.count += 1
        self.number[at], self.label[at], self.weight[at] = number, label, weight
        self.final[at] = final

    def sort(self):
        """Write the places of the answers to ``order``, in the order of learning."""
        n: cython.longlong = self.count
        i: cython.longlong
        for i in range(n):
            self.heap.push(self.number[i], i)
        for i in range(n):
            self.order[i] = self.heap.pop()
        scale = 1.0 * max(n, NEAR)
        for i in range(n):
            at = self.order[i]
            self.heap.push(i + scale * ticket_uniform(self.number[at]), at)
        for i in range(n):
            self.order[i] = self.heap.pop()

    def state(self):
        """Return the answers in the order of learning."""
        self.sort()
        order = self.arrays[4][: self.count]
        return {n: a[order] for n, a in zip(self.COLUMNS, self.arrays, strict=False)}

    def check(self, state):
        rest = dict(state)
        take_columns(rest, self.COLUMNS)
        demand(not rest, "answers")

    def restore(self, state):
        """Forget all answers; ``Linear`` takes those of the state, one by one."""
        self.count = self.closing = 0


# --- The model -----------------------------------------------------------------------------------

# Vectors and their lengths, of which a state has what is up to the last number that is not 0.
TRIMMED = {
    **dict.fromkeys(("expiry.came", "censoring.counts", "censoring.yes", "delays.came"), AGES),
    **dict.fromkeys(("pairs.sums", "pairs.scores"), NUMBERS),
}


class Linear(Component):
    """A linear model with late labels: experts, corrections, and the events around them.

    A ticket keeps its row, what the six experts predicted, its label so far, what was learned of it
    and when it is due. When a label is applied, every expert evaluates the loss at its *current*
    weights. Costs are O(row) per event, and O(log open) where tickets have deadlines.

    ``settled`` counts tickets whose label so far became the last word by itself, ``heard`` those of
    them that were closed by that, ``settled_late`` labels that came afterwards, ``corrected``
    labels that replaced another one; ``lost`` is the sum of weights times losses of what was shown,
    ``scored`` that of the weights. ``sum_of_ages`` is that of first labels, when they came.
    ``silent`` open tickets wait for an answer, or for their silence to be learned; ``start`` is the
    first time, from which ages of silence are counted in each ``unit``.
    """

    FIELDS = {
        **dict.fromkeys(("settled", "settled_late", "corrected", "heard", "silent"), COUNT),
        "kind_of_times": Range(0, 3, int),
        **dict.fromkeys(("clock", "start"), Range(-math.inf, LAST)),
        "lost": Range(-1e250, 1e250),
        **dict.fromkeys(("scored", "sum_of_ages"), AMOUNT),
    }
    PARTS = ("tickets", "labels", "experts", "pairs", "censoring", "delays", "expiry", "answers")

    def __init__(
        self, loss, coordinates, intercept, l1, l2, silence, deadline, late, max_open, expiry, pairs
    ):
        self.width = WIDTH + (ROW_FLOATS if pairs else 0)
        self.tickets = Tickets(self.width, LAST)
        self.loss, self.labels = loss, LabelStatistics(loss)
        self.experts = Experts(loss, self.labels, coordinates, intercept, l1, l2, pairs)
        self.pairs = PairExperts(self.experts) if pairs else None
        self.censoring = Censoring(self.tickets, self.labels, KNOWN)
        self.delays, self.expiry = Delays(), expiry
        self.answers, self.deadlines = Answers(), Heap()
        self.has_silence, self.silence = silence is not None, silence or 0.0
        self.is_censored = not self.has_silence and loss.is_binary and loss.has_link
        self.has_deadlines = deadline is not None
        self.deadline = 0.0 if deadline is None else deadline
        self.learns_late, self.most_open = late == "learn", max_open or 0
        self.settled = self.settled_late = self.corrected = self.heard = self.kind_of_times = 0
        self.silent = 0
        if self.has_silence:
            self.labels.expect(self.silence, 0.0)
        self.unit = self.deadline / PARTS_OF_DEADLINE if 0.0 < self.deadline < LAST else 0.0
        self.clock = self.start = -math.inf
        self.lost, self.scored, self.sum_of_ages = 0.0, 0.0, 0.0
        self.value, self.is_late, self.is_applied, self.saved = 0.0, False, False, None

    # --- Predictions -----------------------------------------------------------------------------

    def predict(self, indices, values, count, at, span):
        """Open a ticket for entries at a time and return it; BAD for an entry that cannot be used.

        ``span`` is its deadline, NaN for that of the model. The prediction is in ``value``.
        """
        if self.experts.find_bad(indices, values, count) >= 0:
            return BAD
        self.make_room(count)
        self.commit_answers()
        if self.has_deadlines:
            self.pass_time(at if at == at else 1.0 * self.tickets.rounds)
        self.expire_tickets()
        entry = self.tickets.open_next()
        record = self.tickets.record(entry)
        ticket = self.tickets.number[entry]
        p = self.experts.predict(row_at(record), indices, values, count)
        if self.pairs is not None:
            self.pairs.review(count)
            p = self.pairs.predict(row_at(part(record, OF_PAIRS)), p, row_at(record))
        p = self.censoring.corrected(p)
        record[SHOWN] = p
        record[KNOWN] = record[LABEL] = record[LEARNED] = record[SETTLED] = record[QUEUED] = 0.0
        record[DUE] = LAST
        if self.has_deadlines:
            due = self.clock + (span if span == span else self.deadline)
            if due < LAST:
                record[DUE] = due
                self.deadlines.push(due, ticket)
        self.value = self.loss.link(p)
        if self.has_silence:
            self.open_silent(record)
        elif 0 < self.censoring.next_update <= self.tickets.rounds:
            self.censoring.update()
        return ticket

    def open_silent(self, record):
        """Begin to wait for the answer of a ticket whose silence is a label.

        As silence is learned by itself, steps need no caution for it.
        """
        tickets, moment = self.tickets.rounds, self.moment()
        record[ASKED] = moment
        self.silent += 1
        self.experts.remove_from_open_sums(row_at(record))
        if self.unit > 0.0:
            self.delays.count_asked(moment)
        if self.labels.labels == 0:
            self.labels.expect(self.silence, tickets)
        elif self.delays.is_overdue(moment):
            reached = moment - self.delays.gap
            self.delays.gap = moment - self.delays.latest
            self.add_silent(reached)
            self.apply_queue()
            self.answers.count = 0

    def moment(self):
        """Return the time in which ages of silence are counted, from 0 on."""
        if self.unit == 0.0:
            return 1.0 * self.tickets.rounds
        if self.start == -INFINITY:
            self.start = self.clock
        return min((self.clock - self.start) / self.unit, LONGEST)

    def peek(self, indices, values, count):
        """Leave in ``value`` what ``predict`` would, and return USED."""
        if self.experts.find_bad(indices, values, count) >= 0:
            return BAD
        self.make_room(count)
        p = self.experts.peek(indices, values, count)
        if self.pairs is not None:
            p = self.pairs.predict(self.pairs.peeked, p, self.experts.peeked)
        self.value = self.loss.link(self.censoring.corrected(p))
        return USED

    # --- Room ------------------------------------------------------------------------------------

    def has_room(self, count):
        """Tell whether there is room for one more ticket with so many entries as things are."""
        if self.tickets.tail() >= self.tickets.capacity or not self.experts.has_room(count):
            return False
        if self.answers.count + self.silent >= self.answers.room:
            return False
        if self.pairs is not None and count > self.pairs.room:
            return False
        return not self.has_deadlines or self.deadlines.count < self.deadlines.room

    def compact(self):
        """Drop the rows of closed tickets."""
        self.experts.begin_compaction()
        for entry in range(self.tickets.tail()):
            if self.tickets.seen[entry] >= 0:
                self.experts.move_row(row_at(self.tickets.record(entry)))

    def make_room(self, count):
        """Have room for one more ticket: drop what is closed, and let grow what is still full.

        Nothing moves while answers are applied provisionally.
        """
        if self.has_room(count):
            return 0
        if not self.is_applied and self.tickets.make_room():
            if self.deadlines.count == self.deadlines.room:
                self.drop_closed_deadlines()
            if 2 * (self.experts.live + count + 1) <= self.experts.pool_room:
                self.compact()
        if self.tickets.tail() >= self.tickets.capacity:
            self.tickets.grow()
        if self.deadlines.count == self.deadlines.room:
            self.deadlines.resize(2 * self.deadlines.room)
        self.experts.grow(count)
        self.answers.reserve(self.silent + 1)
        if self.pairs is not None:
            self.pairs.reserve(count)
        return 0

    def drop_closed_deadlines(self):
        """Leave only open tickets in the heap of deadlines."""
        count: cython.longlong = self.deadlines.count
        self.deadlines.count = 0
        for i in range(count):
            due, number = self.deadlines.time[i], self.deadlines.number[i]
            if self.tickets.is_open(number):
                self.deadlines.push(due, number)

    # --- Tickets that close by themselves --------------------------------------------------------

    def expire_tickets(self):
        """Close tickets that have waited too long, and the oldest if too many are open."""
        if self.expiry.by_ages and self.tickets.rounds & (REVIEW - 1) == 0:
            self.expiry.review(self.tickets.rounds)
        if self.expiry.is_fixed or self.expiry.limit > 0:
            while self.tickets.rounds - self.tickets.advance_head() > self.expiry.limit:
                self.close_late(self.tickets.head)
        self.tickets.forget_oldest()
        if self.most_open > 0:
            while self.tickets.rounds - self.tickets.arrived >= self.most_open:
                self.tickets.advance_head()
                self.close_late(self.tickets.head)

    def close_late(self, entry):
        """Close a ticket that nothing more is expected of; an answer after all is counted as late.

        With a label so far it is settled, unless it was before.
        """
        self.learn_silence(entry)
        record = self.tickets.record(entry)
        known: cython.bint = record[KNOWN] > 0.0
        if known:
            self.heard += 1
            self.settled += 0 if record[SETTLED] > 0.0 else 1
        self.release(entry)
        self.tickets.count_arrival(entry)
        self.reset_if_none_pending()
        self.tickets.skip(entry)

    def release(self, entry):
        """Let the row of an open ticket go, and clear its record."""
        record = self.tickets.record(entry)
        if record[KNOWN] == 0.0:
            self.silent -= self.has_silence
            self.experts.remove_from_open_sums(row_at(record))
        self.experts.release(row_at(record))
        for i in range(self.width):
            record[i] = 0.0

    def reset_if_none_pending(self):
        """Let the counts of censored labels begin anew when no ticket is open."""
        if self.tickets.rounds == self.tickets.arrived:
            self.censoring.reset()

    def pass_time(self, at):
        """Let the clock go on, and close what was due before; it never goes back."""
        if at > self.clock:
            self.clock = at
        while self.deadlines.count > 0 and self.deadlines.time[0] < self.clock:
            number = self.deadlines.pop()
            entry = self.tickets.locate(number)
            if entry < 0 or self.tickets.seen[entry] < 0:
                continue
            record = self.tickets.record(entry)
            if self.learns_late and (self.has_silence or record[KNOWN] > 0.0):
                self.learn_silence(entry)
                self.settled += 1
                record[SETTLED] = 1.0
            else:
                self.close_late(entry)

    def is_any_due(self, at):
        """Tell whether an open ticket is due before a time; drop closed ones that come first."""
        while self.deadlines.count > 0 and self.deadlines.time[0] < at:
            if self.tickets.is_open(self.deadlines.number[0]):
                return True
            self.deadlines.pop()
        return False

    def tick(self, at):
        """Let the clock go on without a prediction."""
        self.commit_answers()
        if self.has_deadlines:
            self.pass_time(at)

    def note_time(self, kind):
        """Remember of what kind times are."""
        self.kind_of_times = max(self.kind_of_times, kind)

    # --- Answers ---------------------------------------------------------------------------------

    def find(self, ticket):
        """Return the entry of a ticket that takes an answer, or why there is none.

        Answers that are applied provisionally are rolled back first.
        """
        if self.is_applied:
            self.roll_back()
        entry = self.tickets.locate(ticket)
        if entry >= 0 and self.tickets.record(entry)[QUEUED] == FINAL:
            return CLOSED
        return entry

    def is_known(self, ticket):
        """Tell whether a label of a ticket would not be refused, after the answers in the queue."""
        entry = self.tickets.locate(ticket)
        return entry >= 0 and (self.is_applied or self.tickets.record(entry)[QUEUED] != FINAL)

    def is_open(self, ticket):
        """Tell whether a ticket is open, also after the answers in the queue."""
        return self.is_known(ticket) and self.tickets.is_open(ticket)

    def replaces(self, entry):
        """Tell whether a label of an open ticket takes the place of another one."""
        if self.has_silence:
            return True
        record = self.tickets.record(entry)
        return self.tickets.seen[entry] >= 0 and record[KNOWN] + record[QUEUED] > 0.0

    def check_answer(self, entry, label, weight, is_final):
        """Return BAD or TOO_LARGE for a label or a weight that cannot be used, else USED."""
        if not (self.loss.is_label(label) and 0.0 < weight <= HUGE_WEIGHT):
            return BAD
        if weight != 1.0 and (not is_final or self.replaces(entry)):
            return TOO_LARGE
        return USED

    def uses(self, entry, at):
        """Tell whether an answer at a time is used, and leave in ``is_late`` whether it is late."""
        self.is_late = True
        if self.tickets.seen[entry] < 0:
            return False
        record = self.tickets.record(entry)
        if record[DUE] < at or record[SETTLED] > 0.0:
            known: cython.bint = self.has_silence or record[KNOWN] + record[QUEUED] > 0.0
            return self.learns_late and known
        self.is_late = False
        return True

    def observe(self, ticket, label, weight, at, is_final):
        """Queue the label of a ticket; ``is_final`` closes it. All checks come before any change.

        A time at which tickets close applies the answers so far, and begins a set. The next
        prediction applies a set.
        """
        entry = self.find(ticket)
        if entry < 0:
            return entry
        status = self.check_answer(entry, label, weight, is_final)
        if status < 0:
            return status
        if self.answers.count + self.silent >= self.answers.room:
            self.answers.reserve(self.silent + 1)
        is_used = self.uses(entry, at)
        if self.has_deadlines and at > self.clock:
            if self.is_any_due(at):
                self.commit_answers()
            self.pass_time(at)
        if not is_used:
            is_final = True
        elif is_final:
            self.answers.closing += 1
        self.answers.append(ticket, label, weight, 1 if is_final else 0)
        self.tickets.record(entry)[QUEUED] = FINAL if is_final else REVISION
        return USED if is_used else DROPPED

    def label_so_far(self, ticket):
        """Return the label so far of a ticket, NaN for none; of a closed one, that of silence."""
        entry = self.find(ticket)
        if entry < 0 or self.tickets.seen[entry] < 0:
            return self.silence
        for i in range(self.answers.count - 1, -1, -1):
            if self.answers.number[i] == ticket:
                return self.answers.label[i]
        record = self.tickets.record(entry)
        if record[KNOWN] > 0.0:
            return record[LABEL]
        return self.silence if self.has_silence else NAN

    def cancel(self, ticket):
        """Close a ticket of which nothing more will be heard; what was learned stays."""
        entry = self.find(ticket)
        if entry < 0:
            return entry
        self.commit_answers()
        if self.tickets.is_expired(entry):
            self.tickets.drop_expired(entry)
            return DROPPED
        self.release(entry)
        self.tickets.count_arrival(entry)
        self.reset_if_none_pending()
        self.tickets.cancel(entry)
        return USED

    def commit_answers(self):
        """Apply the answers in the queue permanently, and empty it."""
        if self.answers.count == 0:
            return
        if self.is_applied:
            self.experts.drop_saved()
            self.is_applied = False
        else:
            self.hear_answers()
            self.apply_queue()
        self.answers.count = self.answers.closing = 0

    def apply_queue(self):
        """Apply all answers in their order."""
        self.answers.sort()
        for i in range(self.answers.count):
            at = self.answers.order[i]
            number, final = self.answers.number[at], self.answers.final[at]
            if final == SILENT:
                self.learn_silence(self.tickets.locate(number))
            else:
                self.apply(number, self.answers.label[at], self.answers.weight[at], final == 1)

    def hear_answers(self):
        """Count the answers in the queue by age, and add the silence that is learned with them."""
        if not self.has_silence:
            return
        tickets, moment = self.tickets.rounds, self.moment()
        by_time: cython.bint = self.unit > 0.0
        if self.count_answers(moment, True):
            self.answers.sort()
            self.delays.count_reached(moment, tickets, by_time)
            for _ in range(PASSES):
                self.delays.begin_pass(tickets)
                self.count_answers(moment, False)
            self.delays.end_passes()
        self.delays.hear(moment, tickets, by_time)
        self.add_silent(moment)

    def count_answers(self, moment, is_first):
        """Count the answers in the queue that are not silence; tell whether passes must follow."""
        is_wide: cython.bint = False
        for i in range(self.answers.count):
            at = i if is_first else self.answers.order[i]
            entry = self.tickets.locate(self.answers.number[at])
            record = self.tickets.record(entry)
            if self.tickets.seen[entry] < 0 or self.answers.label[at] == self.silence:
                continue
            if record[KNOWN] == 0.0 or record[LABEL] == self.silence:
                is_wide |= self.delays.record(record[ASKED], moment, is_first)
        return is_wide

    def add_silent(self, moment):
        """Add the silence of tickets that could have been answered by then to the queue."""
        for level in range(QUANTILES):
            while self.is_due(self.delays.next(level), level, moment):
                self.delays.advance(level)

    def is_due(self, number, level, moment):
        """Tell whether to pass a ticket of a quantile; add its silence if it has no label."""
        if number >= self.tickets.rounds:
            return False
        entry = self.tickets.locate(number)
        if entry < 0 or self.tickets.seen[entry] < 0:
            return True
        record = self.tickets.record(entry)
        if record[KNOWN] > 0.0:
            return True
        if moment - record[ASKED] < self.delays.limit[level]:
            return False
        if record[QUEUED] == 0.0:
            self.answers.append(number, self.silence, 1.0, SILENT)
        return True

    def apply_provisionally(self):
        """Apply the answers provisionally, unless they are; ``roll_back`` undoes it."""
        if self.answers.count > 0 and not self.is_applied:
            self.save()
            self.apply_queue()
            self.is_applied = True
        return 0

    def save(self):
        """Save what the answers will change."""
        tickets, experts, received = self.tickets, self.experts, self.answers.count
        experts.drop_saved()  # of a call that found no memory
        own = [(name, getattr(self, name)) for name in self.FIELDS]
        numbers, arrays = [], []
        parts = [tickets, experts.mixture, self.labels, self.censoring, self.delays, self.expiry]
        if self.pairs is not None:
            parts += [self.pairs, self.pairs.mixture]
        for each in parts:
            for name in each.FIELDS:
                value = getattr(each, name)
                if isinstance(value, np.ndarray):
                    arrays.append((value, value.copy()))
                else:
                    numbers.append((each, name, value))
        self.hear_answers()
        count, width = self.answers.count, self.width
        entries, records = np.zeros((2, count), np.int64), np.zeros((count, width))
        entry_at, record_at = ints_at(entries), floats_at(records)
        may_restart: cython.bint = self.labels.labels <= FIRST_LABELS  # after an early outlier
        experts.begin_saving(may_restart)
        for i in range(count):
            entry = tickets.locate(self.answers.number[i])
            entry_at[i], entry_at[count + i] = entry, tickets.seen[entry]
            for j in range(width):
                record_at[i * width + j] = tickets.record(entry)[j]
            if tickets.seen[entry] >= 0 and not may_restart:
                experts.save(row_at(tickets.record(entry)))
            if tickets.seen[entry] >= 0 and self.pairs is not None:
                self.pairs.save(row_at(tickets.record(entry)))
        self.saved = (own, numbers, arrays, entries, records, received)
        return 0

    def roll_back(self):
        """Undo what ``apply_provisionally`` has done; the answers stay in the queue.

        Compiled, this allocates nothing, so that it cannot find too little memory half way.
        """
        if not self.is_applied:
            return
        tickets = self.tickets
        own, numbers, arrays, entries, records, received = self.saved
        for name, value in own:
            setattr(self, name, value)
        for each, name, value in numbers:
            setattr(each, name, value)
        for array, copied in arrays:
            number_at, copy_at = floats_at(array), floats_at(copied)
            for i in range(cython.cast(cython.Py_ssize_t, len(array))):
                number_at[i] = copy_at[i]
        entry_at, record_at, count = ints_at(entries), floats_at(records), self.answers.count
        for i in range(count):
            entry = entry_at[i]
            tickets.seen[entry] = entry_at[count + i]
            for j in range(self.width):
                tickets.record(entry)[j] = record_at[i * self.width + j]
        self.experts.roll_back()
        self.answers.count = received
        self.is_applied, self.saved = False, None

    # --- Learning --------------------------------------------------------------------------------

    def apply(self, ticket, y, weight, is_final):
        """Learn a label from the queue; one that replaces another counts as often as that did."""
        entry = self.tickets.locate(ticket)
        age = self.tickets.rounds - ticket - 1
        self.expiry.record(age)
        record = self.tickets.record(entry)
        record[QUEUED] = 0.0
        if self.tickets.is_expired(entry):
            self.tickets.late += 1
            self.tickets.drop_expired(entry)
            return
        known: cython.bint = record[KNOWN] > 0.0
        if record[SETTLED] > 0.0:
            self.settled_late += 1
        if not known:
            if not self.has_silence:
                restarts: cython.bint = self.experts.check_first_labels(y, self.tickets.rounds)
                if restarts and self.pairs is not None:
                    self.pairs.restart(self.tickets.rounds)
            learned = self.labels.clip(y)
            if self.is_censored:
                self.censoring.record(ticket, learned)
            often = 1.0
            if is_final and self.labels.labels > 0 and not self.has_silence:
                usual = self.sum_of_ages / self.labels.labels
                often = importance_weight(self.tickets.rounds, usual, age)
            self.sum_of_ages += age
            self.labels.record_first(learned, weight * often if is_final else 0.0)
            self.learn(entry, y, learned, weight, often)
            self.corrected += self.has_silence and y != self.silence
        elif record[LABEL] != y:
            self.learn_again(entry, y, self.labels.clip_again(y, record[LEARNED]))
        if is_final:
            self.experts.release(row_at(record))
            self.tickets.count_arrival(entry)
            self.tickets.close(entry)
        if not self.has_silence:
            self.reset_if_none_pending()

    def learn_silence(self, entry):
        """Learn the silence of a ticket, unless that was learned or silence is no label."""
        if self.has_silence and self.tickets.record(entry)[KNOWN] == 0.0:
            self.learn(entry, self.silence, self.silence, 1.0, 1.0)  # not clipped: no user sent it

    def learn(self, entry, y, learned, weight, often):
        """Learn the first label of a ticket: it is scored as it is, and ``learned`` as clipped.

        Base, unit and mixture count it ``often`` times its weight. Steps of experts do not: many
        small ones say more than one long one.
        """
        record = self.tickets.record(entry)
        row = row_at(record)
        self.silent -= self.has_silence
        self.lost += weight * self.loss.value(record[SHOWN], y)
        self.scored += weight
        ticket, count = self.tickets.number[entry], weight * often
        self.experts.mixture.charge(row, ticket, count * self.loss.slope(row.mixture, learned))
        self.labels.add(learned, count)
        self.experts.learn(row, learned, weight, 0.0, False)
        if self.pairs is not None:
            own = row_at(part(record, OF_PAIRS))
            self.pairs.mixture.charge(own, ticket, count * self.loss.slope(own.mixture, learned))
            self.pairs.learn(own, row, learned, weight, 0.0, False)
        record[KNOWN], record[LABEL], record[LEARNED] = 1.0, y, learned

    def learn_again(self, entry, y, learned):
        """Put a label in the place of another; what was learned of that is taken back.

        A new label that is clipped on the same side teaches nothing new.
        """
        record = self.tickets.record(entry)
        row = row_at(record)
        p, old, before = record[SHOWN], record[LABEL], record[LEARNED]
        self.lost += self.loss.value(p, y) - self.loss.value(p, old)
        self.corrected += 1
        stays: cython.bint = (old > before and y > learned) or (old < before and y < learned)
        if not stays:
            ticket = self.tickets.number[entry]
            self.experts.mixture.charge(row, ticket, before - learned)
            self.labels.replace(before, learned)
            self.experts.learn(row, learned, 1.0, before, True)
            if self.pairs is not None:
                own = row_at(part(record, OF_PAIRS))
                self.pairs.mixture.charge(own, ticket, before - learned)
                self.pairs.learn(own, row, learned, 1.0, before, True)
            record[LEARNED] = learned
        record[LABEL] = y

    # --- What Python reads -----------------------------------------------------------------------

    @property
    def rounds(self):
        """Predictions so far."""
        return self.tickets.rounds

    @property
    def has_times(self):
        """Whether the clock shows times that users gave; otherwise it counts predictions."""
        return self.kind_of_times > 0

    @property
    def open(self):
        """Tickets that wait for their last word, after all answers in the queue."""
        return self.tickets.open - (0 if self.is_applied else self.answers.closing)

    @property
    def spread(self):
        """Standard deviation of the labels so far, as they were learned; 0 before the first."""
        labels = self.labels
        return math.sqrt(labels.spread / labels.count) if labels.count > 0.0 else 0.0

    @property
    def nbytes(self):
        """Bytes of the large arrays."""
        tickets = self.tickets
        arrays = (tickets.number_array, tickets.seen_array, tickets.record_array)
        return sum(array.nbytes for array in arrays) + self.experts.nbytes

    def correction(self, p: cython.double):
        """Return by how much a prediction is moved for labels that are still to come."""
        return self.censoring.corrected(p) - p

    def first_refused(self, numbers, labels, weights, may_come: cython.bint):
        """Return place and status of the first answer that would be refused, or -1 and USED.

        ``may_come``: tickets may also be those to come.
        """
        number, label, weight = ints_at(numbers), floats_at(labels), floats_at(weights)
        for i in range(len(numbers)):
            if may_come and number[i] >= self.tickets.rounds:
                status = BAD
                if self.loss.is_label(label[i]) and 0.0 < weight[i] <= HUGE_WEIGHT:
                    status = TOO_LARGE if weight[i] != 1.0 and self.has_silence else USED
            else:
                status = self.find(number[i])
                if status >= 0:
                    status = self.check_answer(status, label[i], weight[i], True)
            if status < 0:
                return i, status
        return -1, USED

    def answerable(self):
        """Return the tickets whose label would not be refused: open ones, and some expired."""
        found = self.tickets.answerable()
        if not self.is_applied:
            for i in range(self.answers.count):
                if self.answers.final[i]:
                    found.discard(self.answers.number[i])
        return found

    def counts(self):
        """Return what reports say, by the name of the field."""
        counts = self.tickets.counts()
        counts["skipped"] -= self.heard
        counts["late"] += self.settled_late
        counts["settled"], counts["corrected"] = self.settled, self.corrected
        counts["clipped"] = self.labels.clipped
        return counts

    # --- State -----------------------------------------------------------------------------------

    def state(self):
        """Return all fields; answers that are applied provisionally are rolled back."""
        self.roll_back()
        self.compact()
        found = Component.state(self)
        records, is_open = found["tickets.records"], found["tickets.seen"] >= 0
        records[:, QUEUED] = 0.0
        for name in found.keys() & TRIMMED.keys():
            found[name] = np.trim_zeros(found[name], "b")
        return {**found, "tickets.records": records[is_open]}  # those of closed tickets are 0

    def check(self, state):
        """Demand that these can be the fields; see ``state``."""
        Component.check(self, completed(state, self.width))

    def restore(self, state):
        """Take what ``state`` returned."""
        Component.restore(self, completed(state, self.width))
        self.is_applied, self.saved = False, None
        widest = state["tickets.records"][:, ENTRIES].max(initial=0.0)
        self.experts.reserve(int(widest), 0, 0)
        if self.pairs is not None:
            self.pairs.reserve(int(widest))
        tickets, deadlines = self.tickets, self.deadlines
        deadlines.count = 0
        if deadlines.room < tickets.capacity:
            deadlines.resize(tickets.capacity)
        for entry in range(tickets.tail()):
            record = tickets.record(entry)
            is_due: cython.bint = record[DUE] < LAST and record[SETTLED] == 0.0
            if self.has_deadlines and tickets.seen[entry] >= 0 and is_due:
                deadlines.push(record[DUE], tickets.number[entry])
        columns = [state[f"answers.{name}"].tolist() for name in Answers.COLUMNS]
        for number, label, weight, final in zip(*columns, strict=True):
            demand(self.observe(number, label, weight, NAN, final == 1) >= 0, "answers")

    def verify(self, state):
        """Demand what concerns several parts together."""
        rounds, skipped = state["tickets.rounds"], state["tickets.skipped"]
        open_tickets = rounds - state["tickets.arrived"]
        settled, heard = state["settled"], state["heard"]
        demand(heard <= min(settled, skipped) and settled <= rounds, "counts of labels")
        demand(state["tickets.held"] == state["tickets.excess"] == 0, "tickets that are held")
        demand(not self.most_open or open_tickets <= self.most_open, "too many open tickets")
        demand(state["labels.clipped"] <= state["labels.labels"] + state["corrected"], "clipping")
        demand(max(state["labels.labels"], state["censoring.since"]) <= rounds, "labels")
        demand(state["scored"] <= rounds * limits.HUGE_WEIGHT, "the number of labels")
        demand(state["sum_of_ages"] <= rounds * state["labels.labels"], "ages of labels")
        demand(self.is_censored or state["censoring.since"] == 0, "censored labels")
        demand(state["delays.cells"].sum() <= rounds, "tickets by age")
        number, seen = state["tickets.number"], state["tickets.seen"]
        records, is_open = state["tickets.records"], seen >= 0
        demand((records[~is_open] == 0.0).all(), "records of closed tickets")
        if self.expiry.is_fixed:
            ages = rounds - 1 - number[is_open]
            demand((ages <= self.expiry.limit).all(), "overdue tickets")
        self.verify_records(state, number[is_open], records[is_open])

    def verify_records(self, state, number, records):
        """Demand that open tickets have rows, predictions and labels that can be."""
        known, label, learned = (records[:, column] for column in (KNOWN, LABEL, LEARNED))
        demand(np.isin(known, (0.0, 1.0)).all() and (records[:, QUEUED] == 0.0).all(), "labels")
        silent = (known == 0.0).sum() if self.has_silence else 0
        demand(state["silent"] == silent, "labels so far")
        takes = [self.loss.accepts(y) for y in label[known == 1.0].tolist()]
        demand(all(takes) and (label[known == 0.0] == 0.0).all(), "labels so far")
        low, high = state["labels.low"], state["labels.high"]
        fits = (learned >= low) & (learned <= high)
        demand(np.where(known == 1.0, fits, learned == 0.0).all(), "what was learned of labels")
        asked, moment = records[:, ASKED], 1.0 * state["tickets.rounds"]
        if self.unit > 0.0:
            demand(state["start"] <= state["clock"], "the first time")
            is_begun = self.has_silence and state["tickets.rounds"] > 0
            demand(state["start"] > -math.inf or not is_begun, "the first time")
            moment = (state["clock"] - state["start"]) / self.unit if len(asked) else 0.0
        demand(((asked >= 0.0) & (asked <= moment)).all(), "when tickets were asked")
        settled = records[:, SETTLED]
        demand(((settled == 0.0) | ((settled == 1.0) & (known == 1.0))).all(), "settled tickets")
        demand(self.learns_late or not settled.any(), "settled tickets")
        demand(self.has_deadlines or (records[:, DUE] == LAST).all(), "deadlines")
        self.experts.check_rows(records[:, 0], records[:, 1], len(state["experts.index"]))
        # What was issued before experts were weighed anew may have been ruined by an outlier.
        issued = records[:, 2 : SHOWN + 1]
        low, high = min(state["labels.floor"], 0.0), max(state["labels.ceiling"], 0.0)
        if self.has_silence:  # before the first label it is the range
            low = low if self.loss.has_link else min(low, self.silence)
            high = max(
                high, self.loss.ceiling(self.silence) if self.loss.has_link else self.silence
            )
        fits = (issued >= low - SLACK * abs(low)) & (issued <= high + SLACK * abs(high))
        is_older = number < state["experts.mixture.charged_from"]
        demand((fits.all(axis=1) | is_older).all(), "predictions out of range")
        demand((np.abs(issued) <= LARGE).all(), "predictions out of range")
        demand((np.abs(records[:, OF_PAIRS:]) <= LARGE).all(), "predictions out of range")


def completed(state, width):
    """Return the state with records of closed tickets and all zeros."""
    state = dict(state)
    for name in state.keys() & TRIMMED.keys():
        array, size = state[name], TRIMMED[name]
        fits = isinstance(array, np.ndarray) and array.ndim == 1 and len(array) <= size
        demand(fits and (len(array) == 0 or array[len(array) - 1] != 0.0), f"zeros of {name}")
        state[name] = grown(array, size)
    seen, records = state.get("tickets.seen"), state.get("tickets.records")
    fits = isinstance(records, np.ndarray) and isinstance(seen, np.ndarray) and seen.ndim == 1
    if fits and records.shape == (np.count_nonzero(seen >= 0), width):
        state["tickets.records"] = np.zeros((len(seen), width))
        state["tickets.records"][seen >= 0] = records
    return state


# --- Public methods ------------------------------------------------------------------------------

CHUNK = 100_000  # events between two chances to interrupt a long replay
MANY = 1000  # answers of one call that are applied at once, and not by the next prediction


@shown_as_table
class Forecast(NamedTuple):
    """What ``predict`` returns."""

    ticket: int
    """Number to give back with the label."""
    value: float
    """The prediction: a number, for logistic loss a probability, for Poisson loss a rate."""


@shown_as_columns
class Forecasts(NamedTuple):
    """What ``predict_many`` returns."""

    tickets: NDArray[np.int64]
    values: NDArray[np.float64]


_Forecast = Forecast
_float = float


class Replay:
    """A whole log for a model: events t for the prediction of ticket t, ~t for its label.

    Ticket t has row t - ``begin``, which is also where its prediction goes, and label t -
    ``first``; where ``first`` is negative, labels stand beside their events. ``times`` has one per
    event, ``spans`` one per row, or each one for all.
    """

    def __init__(self, linear: Linear, events, rows, labels, weights, first, times, spans):
        indptr, indices, values = rows
        self.linear, self.first, self.begin = linear, first, linear.tickets.rounds
        self.count = len(events)
        self.has_times, self.has_spans = len(times) > 1, len(spans) > 1
        self.predictions = np.empty(np.count_nonzero(events >= 0))
        self.arrays = (events, indptr, indices, values, labels, weights, times, spans)
        self.event, self.place, self.index = ints_at(events), ints_at(indptr), ints_at(indices)
        self.value, self.label = floats_at(values), floats_at(labels)
        self.weight, self.time, self.span = floats_at(weights), floats_at(times), floats_at(spans)
        self.out = floats_at(self.predictions)
        self.statuses = np.zeros(len(labels), dtype=np.int64)
        self.status_of = ints_at(self.statuses)

    def run(self, start, end):
        """Do events; return where a row cannot be used any more, or the end.

        Labels are passed over whose ticket is forgotten by then.
        """
        for i in range(start, end):
            event = self.event[i]
            at = self.time[i] if self.has_times else self.time[0]
            if event >= 0:
                row = event - self.begin
                place = self.place[row]
                span = self.span[row] if self.has_spans else self.span[0]
                index, value = ints_from(self.index, place), part(self.value, place)
                if self.linear.predict(index, value, self.place[row + 1] - place, at, span) < 0:
                    return i
                self.out[row] = self.linear.value
            else:
                row = ~event - self.first if self.first >= 0 else i
                label, weight = self.label[row], self.weight[row]
                self.status_of[row] = self.linear.observe(~event, label, weight, at, True)
        return end

    @property
    def used(self):
        """Which labels were used, and not dropped."""
        return self.statuses == USED


NAMED, PLACED = 1, 2  # rows with names, and rows whose entries have places


class LinearModel(Online):
    """The events of a linear model; ``belated.models.linear`` adds settings, reports and snapshots.

    The subclass in ``belated.models`` reads rows and the arguments of many events.
    """

    __slots__ = ("_hasher", "_indices", "_kind_of_rows", "_linear", "_positions", "_row", "_values")

    CANNOT = {"seed": "a LinearModel draws nothing at random, so it has no seed"}

    def _begin(self, settings, hasher):
        """Take settings, having seen nothing."""
        self._linear, self._hasher = Linear(**settings.numbers()), hasher
        self._row, self._kind_of_rows = None, 0
        self._positions = np.arange(64)
        self._connect(settings, self._linear, Keys(self._linear), Guard())

    # --- One event -------------------------------------------------------------------------------

    def _open(self, who, row, key, at, deadline):
        now: cython.double = NAN
        span: cython.double = NAN
        kind: cython.longlong = 0
        linear = self._linear
        if key is not None:
            key = self._keys.check(key)
        if at is not None or deadline is not None or linear.has_deadlines:
            now, span, kind = self._times.issued(at, deadline, who)
        kind_of_row: cython.int = self._kind_of(row, who)
        count = self._read_row(row)
        ticket = linear.predict(self._indices, self._values, count, now, span)
        if ticket < 0:
            raise self._refused_row(row, count, who)
        self._kind_of_rows |= kind_of_row
        if kind > 0:
            linear.note_time(kind)
        if key is not None:
            self._keys.assign(key, ticket)
        return pair(_Forecast, ticket, linear.value)

    def _peeked(self, row, who):
        self._kind_of(row, who)
        return self._value_of(row, who)

    def _value_of(self, row, who):
        """Return the prediction for a row of a kind that was checked."""
        count = self._read_row(row)
        linear = self._linear
        linear.apply_provisionally()
        if linear.peek(self._indices, self._values, count) < 0:
            raise self._refused_row(row, count, who)
        return linear.value

    def _learn(self, who, number, answer, at, weight, is_final):
        now: cython.double = NAN
        times: cython.double = 1.0
        if not is_final:
            self._check_revisable(who)
        is_plain: cython.bint = at is None and weight is None and type(answer) is _float
        if not is_plain or self._linear.is_applied:
            self._linear.roll_back()
            answer = number_of(answer, who, "label")
            if weight is not None:
                times = number_of(weight, who, "weight")
            if at is not None:
                now = self._times.of_answer(at, who)
        status = self._linear.observe(number, answer, times, now, is_final)
        if status < 0:
            raise self._refusal(status, number, answer, times, who)
        return status == USED

    def _answer_so_far(self, number):
        self._check_revisable("add")
        return self._linear.label_so_far(number)

    def _cancel(self, number):
        self._linear.roll_back()
        status = self._linear.cancel(number)
        if status < 0:
            raise self._refusal(status, number, 0.0, 1.0, "cancel")
        return 0

    def _ticked(self, at):
        now, kind = self._times.of_tick(at)
        self._linear.tick(now)
        self._linear.note_time(kind)

    # --- Many events -----------------------------------------------------------------------------

    def _predicted(self, rows, keys, at, deadline):
        return self._predict_rows(*self._rows_arguments(rows, keys, at, deadline))

    def _predict_rows(self, sparse, names, times, span, kind):
        begin = self._linear.tickets.rounds
        events = np.arange(begin, begin + len(sparse[0]) - 1)
        none = np.empty(0)
        replay = Replay(self._linear, events, sparse, none, none, 0, times, np.array([span]))
        try:
            self._run(replay, None)
        finally:
            done = self._linear.tickets.rounds - begin
            if done:
                self._linear.note_time(kind)
            for ticket, name in enumerate((names or [])[:done], begin):
                if name is not None:
                    self._keys.assign(name, ticket)
        return Forecasts(events, replay.predictions)

    def _peeked_at(self, rows):
        linear = self._linear
        indptr, indices, values = self._rows_of(rows, "peek_many")
        out = np.empty(len(indptr) - 1)
        bounds, index = ints_at(indptr), ints_at(indices)
        value, found = floats_at(values), floats_at(out)
        linear.apply_provisionally()
        for row in range(len(out)):
            start, count = bounds[row], bounds[row + 1] - bounds[row]
            places, numbers = ints_from(index, start), part(value, start)
            linear.peek(places, numbers, count)
            found[row] = linear.value
        return out

    def _labels_checked(self, tickets, answers, weights, at):
        """Return tickets, labels, weights and times of many labels, none of which is refused."""
        heard, labels, weights, times = self._labels_arguments(tickets, answers, weights, at)
        place, status = self._linear.first_refused(heard.tickets, labels, weights, False)
        if status < 0:
            who = heard.at("observe_many", place)
            raise self._refused(status, heard.tickets, labels, weights, place, who)
        return heard, labels, weights, times

    def _observed(self, tickets, answers, weights, at):
        linear = self._linear
        heard, labels, weights, times = self._labels_checked(tickets, answers, weights, at)
        wanted = heard.tickets
        ticket, label, weight = ints_at(wanted), floats_at(labels), floats_at(weights)
        count: cython.Py_ssize_t = len(wanted)
        when, step = floats_at(times), cython.cast(cython.longlong, len(times) > 1)
        linear.answers.reserve(count)
        used = np.zeros(count, np.bool_)
        for i in range(count):
            status = linear.observe(ticket[i], label[i], weight[i], when[i * step], True)
            used[i] = status == USED
        self._drop_keys(heard.names or ())
        if count >= MANY:
            linear.apply_provisionally()
        return used

    def _replayed(self, given, keys, progress):
        return self._replay(given, keys, progress).predictions

    def _replay(self, given, keys, progress):
        """Feed a log, and return the loop over it."""
        linear = self._linear
        linear.roll_back()
        *arguments, kind = self._replay_arguments(*given)
        replay = Replay(linear, *arguments)
        try:
            self._run(replay, progress)
        finally:
            self._end_replay(replay.begin, kind, keys)
        return replay

    def _feed(self, rows, events, labels, weights, at):
        """Do the next events of a log whose caller has checked them, and return the predictions.

        Labels and weights stand beside their events, so that a log can be fed in parts.
        """
        return self._alone("replay", lambda: self._fed(rows, events, labels, weights, at))

    def _fed(self, rows, events, labels, weights, at):
        linear = self._linear
        linear.roll_back()
        times, kind = self._times.of_events(at, len(events), "replay")
        spans = self._times.spans(None, 0, "replay")
        sparse = self._rows_of(rows, "replay")
        self._kind_of_rows |= self._rows.kind
        replay = Replay(linear, events, sparse, labels, weights, -1, times, spans)
        try:
            self._run(replay, None)
        finally:
            self._end_replay(replay.begin, kind, None)
        return replay.predictions

    def _end_replay(self, begin, kind, keys):
        """Note the kind of times, and the keys of tickets that can still be answered."""
        if self._linear.tickets.rounds > begin:  # as live, where those of labels are not kept
            self._linear.note_time(kind)
        if keys is not None:
            for ticket in sorted(self._linear.answerable()):
                if ticket >= begin:
                    self._keys.assign(plain_key(keys[ticket - begin]), ticket)

    def _run(self, replay: Replay, progress):
        """Do all events of a log, without the interpreter lock."""
        done: cython.Py_ssize_t = 0
        end: cython.Py_ssize_t
        while done < replay.count:
            end = min(replay.count, done + cython.cast(cython.Py_ssize_t, CHUNK))
            with cython.nogil:
                done = replay.run(done, end)
            if done < end:
                raise RuntimeError("replay: the rows have changed while they were read")
            if progress is not None:
                progress(done)
            elif cython.compiled:
                PyErr_CheckSignals()

    # --- Rows, and what is refused ---------------------------------------------------------------

    def _kind_of(self, row, who):
        """Return the kind of a row, 0 for one without names; refuse it if others had another."""
        kind: cython.int = NAMED if type(row) is dict or isinstance(row, Mapping) else PLACED
        if kind == NAMED and not row:
            return 0
        self._check_kind(kind, who)
        return kind

    def _check_kind(self, kind, who):
        """Refuse rows of another kind than those before."""
        if kind | self._kind_of_rows == NAMED | PLACED:
            names = "named features (as dicts and frames have)"
            places = "places (as vectors, matrices and pairs have)"
            before, given = (places, names) if kind == NAMED else (names, places)
            raise BadFeatures(
                f"{who}: features: the rows of this model had {before} so far, and now they have "
                f"{given}; nothing has changed"
            )
        return 0

    def _read_row(self, row):
        """Let ``_indices`` and ``_values`` be a row, and return its length."""
        if type(row) is dict:
            count = self._hasher.fill(row)
            self._indices, self._values = self._hasher.index_at, self._hasher.value_at
            return count
        indices, values, size = row, row, -1
        if type(row) is tuple and len(row) == 2:
            indices, values = row
            size = plain_size(indices, True)
            if size != plain_size(values, False):
                size = -1
        else:
            size = plain_size(row, False)
            if size >= 0:
                indices = self._positions_to(size)
        if size < 0:
            indices, values, size = self._row_of(row)
        self._row = (indices, values)  # keeps the arrays alive for the pointers
        self._indices, self._values = ints_at(indices), floats_at(values)
        return size

    def _positions_to(self, size):
        """Return the coordinates of a row that is a vector."""
        if size > len(self._positions):
            self._positions = np.arange(2 * size)
        return self._positions

    def _give_keys(self, pairs):
        """Give keys to tickets that can still be answered."""
        for key, ticket in pairs:
            self._keys.assign(plain_key(key), ticket)

    def _refused(self, status: cython.longlong, tickets, labels, weights, place, who):
        """Return the error for one of many labels."""
        label, weight = labels[place].item(), weights[place].item()
        return self._refusal(status, tickets[place], label, weight, who)

    def _refused_row(self, row, count, who):
        """Return the error for the row that was read."""
        place = self._linear.experts.find_bad(self._indices, self._values, count)
        return self._bad_entry(row, place, self._indices[place], self._values[place], who)

    def _refusal(self, status, ticket, label, weight, who):
        """Return the error for a label that is refused."""
        if status == CLOSED:
            return AlreadyObserved(f"{who}: ticket {ticket} {refusals.CLOSED_BEFORE}")
        found = refusals.of_ticket(status, ticket, self._linear.tickets.rounds, f"{who}: ")
        if found is not None:
            return found
        if status == TOO_LARGE:
            return BadFeedback(
                f"{who}: the label of ticket {ticket} replaces one that counted once, so its "
                f"weight must be 1, got {weight!r}; nothing has changed"
            )
        if not 0.0 < weight <= HUGE_WEIGHT:
            return BadFeedback(
                f"{who}: the weight of ticket {ticket} must be positive and at most "
                f"{limits.HUGE_WEIGHT:g}, got {weight!r}; nothing has changed: to leave a label "
                "out, cancel its ticket"
            )
        return BadFeedback(
            f"{who}: labels of the {self._settings.loss} loss must be {self._settings.labels}, got "
            f"{label!r} for ticket {ticket}; nothing has changed: send a right one, or cancel the "
            "ticket"
        )
