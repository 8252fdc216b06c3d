# cython: infer_types=True
"""Intervals around the predictions of a linear model; every public method is one C call.

``Threshold`` says how far labels may be from predictions, and how far the share of misses can be
from what is allowed; ``Coverage`` has that, and what tickets were issued with; ``Intervals`` are
the events, which change both models and the coverage together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import cython
import numpy as np

from belated.core.component import COUNT, LARGE_VECTOR, columns_of, demand, take_columns
from belated.core.component import Range as Allowed
from belated.core.online import number_of
from belated.tables import shown_as_columns, shown_as_table

if not cython.compiled:
    from math import fabs, frexp, ldexp
    from math import inf as INFINITY
    from math import nan as NAN

    from belated.core.component import Component
    from belated.core.label_losses import HUGE_LABEL
    from belated.core.numerics import floats_at, ints_at
    from belated.core.online import Online
    from belated.core.tickets import USED


if TYPE_CHECKING:
    from numpy.typing import NDArray

PACE = cython.declare(cython.longlong, 64)  # open tickets up to which the step is that of no delay
FEW = cython.declare(cython.longlong, 64)  # tickets that are kept before closed ones are removed
BLOCKS = 49  # as many as numbers of arrivals have bits
SIZES = 1024  # four to every power of two, from 2^-181 to 2^75
NOT_NEGATIVE = Allowed(0.0, LARGE_VECTOR)


class Limits(NamedTuple):
    """Between which D must be."""

    low: float
    high: float


def size_of(score: cython.double):
    """Return the size of a positive score; smaller ones have the least, larger ones the largest."""
    exponent: cython.int = 0
    fraction: cython.double
    if cython.compiled:
        fraction = frexp(score, cython.address(exponent))
    else:
        fraction, exponent = frexp(score)
    size = 4 * exponent + cython.cast(cython.int, 8.0 * fraction) + 716
    return min(max(size, 0), SIZES - 1)


def limit_of(size: cython.int):
    """Return what scores of a size are below.

    >>> limit_of(size_of(5.0)), limit_of(size_of(5.99)), limit_of(size_of(6.0))
    (6.0, 6.0, 7.0)
    """
    return INFINITY if size == SIZES - 1 else ldexp(((size & 3) + 5) / 8.0, (size >> 2) - 180)


class OrderedSum(Component):
    """A sum whose last bits do not depend on the order of answers between two predictions.

    What is added for a ticket waits in ``terms`` until ``close``, and is summed in ticket order.
    ``before`` is the sum of all earlier terms.
    """

    FIELDS = {"before": NOT_NEGATIVE}
    COLUMNS = {"tickets": np.int64, "numbers": np.float64}

    def __init__(self):
        self.before, self.terms = 0.0, {}
        self.sum, self.summed = 0.0, 0  # of the first so many terms

    def add(self, ticket, number):
        """Add a number for a ticket, which adds at most one."""
        self.terms[ticket] = number
        return 0

    def total(self):
        """Return the sum so far."""
        if self.summed != len(self.terms):
            total: cython.double = self.before
            for ticket in sorted(self.terms):
                total += self.terms[ticket]
            self.sum, self.summed = total, len(self.terms)
        return self.sum

    def close(self):
        """Sum up before a prediction."""
        if self.terms:
            self.before = self.total()
            self.terms, self.summed = {}, 0
        return 0

    def state(self):
        return {**Component.state(self), **columns_of(self.COLUMNS, sorted(self.terms.items()))}

    def restore(self, state):
        Component.restore(self, state)
        tickets, numbers = (state[name].tolist() for name in self.COLUMNS)
        self.terms, self.summed, self.sum = dict(zip(tickets, numbers, strict=True)), 0, self.before

    def check(self, state):
        rest = dict(state)
        tickets, numbers = take_columns(rest, self.COLUMNS)
        Component.check(self, rest)
        demand((np.diff(tickets) > 0).all() and (tickets >= 0).all(), "tickets of a sum")
        demand(((numbers >= 0.0) & (numbers <= LARGE_VECTOR)).all(), "terms of a sum")


def sum_of(state, name):
    """Return a sum that a state holds."""
    total = state[f"{name}.before"]
    for number in state[f"{name}.numbers"].tolist():
        total += number
    return total


class Threshold(Component):
    """Issues thresholds q of which a share alpha is exceeded by the scores, whatever comes.

        q = b + eta D,   D = missed - alpha n,   eta = 2 S / (64 + w)

    with b a forecast of the score, clipped to [0, the largest score so far], n the scores that have
    come of tickets with a threshold, ``missed`` how many of them exceeded the one *that was issued
    with them*, S the mean of all scores so far, and w the largest number of tickets that were open
    when one came. D is what is owed: each miss more than allowed makes all later thresholds larger,
    each one less smaller. A common rule compares a score with the threshold in force on arrival;
    with delays that one can miss half of all, and never learn of it.

    Before the first score nothing is known, and thresholds are infinite. Scores of such tickets
    (``unbounded``) count in S and in what forecasts are clipped to, and not in n: an infinite
    threshold covers everything, and counting it would force later misses.

    For scores that come in any order and after any delays, also if they are chosen by somebody who
    sees every threshold, D stays within ``limits``, and so the share missed, alpha + D / n, tends
    to alpha.

    >>> threshold = Threshold(0.5)
    >>> threshold.issue(7.0)  # nothing has come yet, so that nothing is known
    inf
    >>> threshold.learn(0, float("inf"), 3.2, 1, False)
    0
    >>> threshold.issue(7.0), threshold.owed
    (3.2, 0.0)
    >>> threshold.learn(1, 3.2, 4.0, 1, True)
    0
    >>> round(threshold.issue(7.0), 3), threshold.owed
    (4.055, 0.5)
    """

    FIELDS = {
        **dict.fromkeys(("arrived", "missed", "unbounded", "most_open"), COUNT),
        **dict.fromkeys(("largest", "top"), NOT_NEGATIVE),
        "floors": Allowed(0.0, float("inf")),
        "sizes": COUNT,
    }
    PARTS = ("scores",)

    def __init__(self, alpha):
        self.alpha = alpha
        self.arrived = self.missed = self.unbounded = 0
        self.scores, self.largest = OrderedSum(), 0.0  # the sum of all scores, and the largest
        self.top = 0.0  # the largest forecast that was issued with a threshold
        self.most_open = 0  # w
        # Block j: the least step of an issued threshold while n was from 2^j to 2^(j+1) - 1.
        self.floors = np.full(BLOCKS, np.inf)
        self.floor = floats_at(self.floors)
        # How many positive scores, of those that are counted, were of a size.
        self.sizes = np.zeros(SIZES, np.int64)
        self.of_size = ints_at(self.sizes)

    @property
    def heard(self):
        """All scores that have come."""
        return self.arrived + self.unbounded

    @property
    def owed(self):
        """D: the misses that were too many, or, if negative, too few."""
        return self.missed - self.alpha * self.arrived

    @property
    def step(self):
        """eta: what a miss adds to the thresholds, and 0 before the first score."""
        return self.step_size() if self.heard else 0.0

    def step_size(self):
        """Return eta, after the first score."""
        heard = self.arrived + self.unbounded
        return 2.0 * self.scores.total() / (heard * (PACE + self.most_open))

    def peek(self, forecast):
        """Return what ``issue`` would, without any change."""
        if self.arrived + self.unbounded == 0:
            return INFINITY
        owed = self.missed - self.alpha * self.arrived
        return self.clipped(forecast) + self.step_size() * owed

    def clipped(self, forecast):
        """Return b."""
        if forecast < 0.0:
            return 0.0
        return forecast if forecast < self.largest else self.largest

    def issue(self, forecast):
        """Return the threshold for one more ticket; below 0 it is a miss in any case."""
        self.scores.close()
        if self.arrived + self.unbounded > 0:
            self.top = max(self.top, self.clipped(forecast))
        if self.arrived > 0:  # the theorem does not count steps before the first arrival
            block: cython.int = 0
            while self.arrived >> (block + 1) > 0:
                block += 1
            self.floor[block] = min(self.floor[block], self.step_size())
        return self.peek(forecast)

    def learn(self, ticket, issued, score, waiting, is_missed):
        """Take in a score, and whether it was a miss by the threshold issued with its ticket.

        A score below its threshold is none, and a threshold below 0 is one in any case. ``waiting``
        counts the open tickets, this one included.
        """
        if issued == INFINITY:
            self.unbounded += 1
        else:
            self.arrived += 1
            self.missed += is_missed
            if score > 0.0:
                self.of_size[size_of(score)] += 1
        self.scores.add(ticket, score)
        self.largest = max(self.largest, score)
        self.most_open = max(self.most_open, waiting)
        return 0

    def limits(self):
        """Return what the theorem says of D; at least that there are no more misses than arrivals.

        With F the largest forecast issued, m(L) the number of scores above L, and h(k) the least
        step eta that a threshold was issued with after an arrival later than the k-th, for every
        k < n and every L >= 0

            D_n <= max((1 - alpha) k, L / h(k)) + (1 - alpha) (w + m(L))
            D_n >= -max(alpha k, F / h(k)) - alpha w

        whatever the scores, the forecasts, the delays and the order are; docs/intervals.md has the
        proof. The best k of the form 2^j - 1 and the best L are taken. With L = B, the largest
        score, and k = 0 it reads |missed / n - alpha| <= (B / h + max(alpha, 1 - alpha) w) / n.
        """
        alpha, waiting, tails = self.alpha, self.most_open, self.tails()
        low, high = -alpha * self.arrived, (1.0 - alpha) * self.arrived
        floor = float("inf")
        for j in reversed(range(int(self.arrived).bit_length())):
            floor = min(floor, self.floor[j])
            if floor <= 0.0:
                break  # only zeros had come: there was no unit yet to take steps in
            before = (1 << j) - 1
            low = max(low, -max(alpha * before, self.top / floor) - alpha * waiting)
            for level, above in tails:
                start = max((1.0 - alpha) * before, level / floor)
                high = min(high, start + (1.0 - alpha) * (waiting + above))
        return Limits(low, high)

    def tails(self):
        """Return levels, and how many scores may be above each."""
        tails, above = [], 0
        for size in np.flatnonzero(self.sizes)[::-1].tolist():
            tails.append((min(limit_of(size), self.largest), above))
            above += int(self.sizes[size])
        return [*tails, (0.0, above)]

    def verify(self, state):
        heard, sizes = state["arrived"] + state["unbounded"], state["sizes"]
        total, has_sizes = sum_of(state, "scores"), bool(sizes.any())
        has_scores = total > 0.0
        demand(state["missed"] <= state["arrived"], "misses")
        demand((state["most_open"] > 0) == (heard > 0), "open tickets")
        demand(sizes.sum() <= state["arrived"], "sizes of scores")
        demand(has_sizes <= has_scores == (state["largest"] > 0.0), "scores")
        demand(state["unbounded"] > 0 or has_sizes == has_scores, "scores")
        demand(state["top"] <= state["largest"] <= total, "scores")
        used = state["arrived"].bit_length()
        steps = state["floors"]
        demand(((steps <= LARGE_VECTOR) | (steps == np.inf)).all(), "steps")
        demand((steps[used:] == np.inf).all(), "steps")


class Issued:
    """What a ticket was issued with; the threshold is infinite where nothing was known yet."""

    def __init__(self, score_ticket, value, threshold):
        self.score_ticket, self.value, self.threshold = score_ticket, value, threshold


class Coverage(Component):
    """What intervals count: whether labels were between the ends that were issued.

    ``issued`` has the tickets whose label may come, and some that the model has forgotten.
    ``widths`` is the sum of the half-widths of the intervals whose label has come, less unbounded
    ones; ``late`` are labels that came when the model had given up on them, or after their
    deadline. ``least`` is the least label that there is.
    """

    FIELDS = dict.fromkeys(("rounds", "late", "tidy_at"), COUNT)
    PARTS = ("threshold", "widths")
    COLUMNS = {
        **dict.fromkeys(("tickets", "score_tickets"), np.int64),
        **dict.fromkeys(("values", "thresholds"), np.float64),
    }

    def __init__(self, alpha, least):
        self.threshold, self.least = Threshold(alpha), least
        self.issued, self.tidy_at = {}, FEW
        self.rounds = self.late = 0
        self.widths = OrderedSum()

    def low(self, value, threshold):
        """Return the lower end of an interval; below the least of all labels there is none."""
        return max(value - max(threshold, 0.0), self.least)

    def high(self, value, threshold):
        """Return the upper end."""
        return value + max(threshold, 0.0)

    def ends(self, value, threshold):
        """Return both ends."""
        return self.low(value, threshold), self.high(value, threshold)

    def judge(self, ticket, issued, label, is_late):
        """Judge a label by the interval that was issued, whose ticket is still there."""
        threshold, score = issued.threshold, fabs(label - issued.value)
        low, high = self.low(issued.value, threshold), self.high(issued.value, threshold)
        is_missed: cython.bint = threshold < 0.0 or not low <= label <= high
        self.late += is_late
        if threshold < INFINITY:  # else it says nothing
            self.widths.add(ticket, 0.5 * (high - low))
        return self.threshold.learn(ticket, threshold, score, len(self.issued), is_missed)

    def state(self):
        """Return counters, and the table of tickets in their order."""
        rows = [(t, i.score_ticket, i.value, i.threshold) for t, i in sorted(self.issued.items())]
        return {**Component.state(self), **columns_of(self.COLUMNS, rows)}

    def restore(self, state):
        """Take counters and table."""
        Component.restore(self, state)
        rows = zip(*(state[name].tolist() for name in self.COLUMNS), strict=True)
        self.issued = {ticket: Issued(*numbers) for ticket, *numbers in rows}

    def check(self, state):
        """Demand that the table can be one, then that counters agree with it."""
        rest = dict(state)
        tickets, score_tickets, values, thresholds = take_columns(rest, self.COLUMNS)
        Component.check(self, rest)
        demand((np.diff(tickets) > 0).all() and (tickets >= 0).all(), "tickets")
        demand((score_tickets >= 0).all(), "tickets")
        demand(np.unique(score_tickets).size == tickets.size, "tickets")
        known = np.append(values, thresholds[thresholds != np.inf])
        demand((np.abs(known) <= LARGE_VECTOR).all(), "values")
        rounds, heard = state["rounds"], state["threshold.arrived"] + state["threshold.unbounded"]
        demand(heard + tickets.size <= rounds and state["late"] <= heard, "counts")
        demand(state["threshold.most_open"] <= rounds, "open tickets")
        for name in ("threshold.scores.tickets", "widths.tickets"):
            demand((state[name] < rounds).all(), "tickets of a sum")
        demand(state["tidy_at"] >= FEW and tickets.size <= state["tidy_at"], "tickets")


# --- Public methods ------------------------------------------------------------------------------


@shown_as_table
class Interval(NamedTuple):
    """What ``predict`` returns."""

    ticket: int
    """Number to give back with the label."""
    value: float
    """The prediction of the model."""
    low: float
    high: float
    """The label is to be from ``low`` to ``high`` in the share of cases that was asked for.

    Before the first label nothing is known of that, and they are infinite.
    """


@shown_as_table
class Range(NamedTuple):
    """What ``peek`` returns: an interval without a ticket."""

    value: float
    low: float
    high: float


@shown_as_columns
class Bands(NamedTuple):
    """What ``predict_many`` returns."""

    tickets: NDArray[np.int64]
    values: NDArray[np.float64]
    lows: NDArray[np.float64]
    highs: NDArray[np.float64]


@shown_as_columns
class Ranges(NamedTuple):
    """What ``peek_many`` and ``replay`` return: intervals without tickets."""

    values: NDArray[np.float64]
    lows: NDArray[np.float64]
    highs: NDArray[np.float64]


_new_tuple = tuple.__new__  # a named tuple made from a tuple takes half the time
_Interval = Interval


class Intervals(Online):
    """The events of intervals; ``models.intervals`` adds settings, reports and snapshots."""

    # The guard is that of the model: calls on either are refused while it is down.
    __slots__ = ("_coverage", "_model", "_score_model")

    CANNOT = {"seed": "Intervals draw nothing at random, so they have no seed"}

    def _begin(self, settings, model, score_model, coverage):
        """Take settings, the model, that of the scores, and what was counted."""
        self._model, self._score_model, self._coverage = model, score_model, coverage
        self._connect(settings, coverage, model._keys, model._guard)

    def _open(self, who, row, key, at, deadline):
        model = self._model
        now, span, kind = NAN, NAN, 0
        if key is not None:
            key = self._keys.check(key)
        if at is not None or deadline is not None or model._linear.has_deadlines:
            now, span, kind = self._times.issued(at, deadline, who)
        kind_of_row = model._kind_of(row, who)
        made = self._issue(who, row, now, span)
        model._kind_of_rows |= kind_of_row
        model._linear.note_time(kind)
        if key is not None:
            self._keys.assign(key, made[0])
        return made

    def _issue(self, who, row, now, span):
        """Open a ticket of both models, and return its interval."""
        model, scores, coverage = self._model, self._score_model, self._coverage
        count = model._read_row(row)
        scores._linear.make_room(count)  # so that only the first can be refused
        ticket = model._linear.predict(model._indices, model._values, count, now, span)
        if ticket < 0:
            raise model._refused_row(row, count, who)
        score_ticket = scores._linear.predict(model._indices, model._values, count, NAN, NAN)
        coverage.widths.close()
        value, threshold = model._linear.value, coverage.threshold.issue(scores._linear.value)
        coverage.issued[ticket] = Issued(score_ticket, value, threshold)
        coverage.rounds += 1
        if len(coverage.issued) > coverage.tidy_at:
            self._tidy()
        low, high = coverage.low(value, threshold), coverage.high(value, threshold)
        return _new_tuple(_Interval, (ticket, value, low, high))

    def _tidy(self):
        """Forget the tickets that the model has forgotten, and close those of their scores."""
        coverage, kept = self._coverage, {}
        for ticket, issued in coverage.issued.items():
            if self._model._linear.tickets.locate(ticket) >= 0:
                kept[ticket] = issued
            else:
                self._close_score(issued)
        coverage.issued, coverage.tidy_at = kept, max(FEW, 2 * len(kept))

    def _close_score(self, issued: Issued):
        """Close the ticket of a score, if it is still open."""
        if self._score_model._linear.is_open(issued.score_ticket):
            self._score_model._linear.cancel(issued.score_ticket)

    def _peeked(self, row, who):
        self._model._kind_of(row, who)
        return self._range_of(row, who)

    def _range_of(self, row, who):
        """Return the interval for a row of a kind that was checked."""
        value, coverage = self._model._value_of(row, who), self._coverage
        threshold = coverage.threshold.peek(self._score_model._value_of(row, who))
        return Range(value, *coverage.ends(value, threshold))

    def _learn(self, who, number, answer, at, weight, is_final):
        """Learn a label; a final one that the model drops still counts for the coverage.

        It is covered if it is from ``low`` to ``high``, as they were issued. A weight counts for
        the model alone.
        """
        if not is_final:
            return self._model._learn(who, number, answer, at, weight, False)
        y: cython.double = number_of(answer, who, "label")
        used = self._model._learn(who, number, y, at, weight, True)
        self._judge(number, y)
        return used

    def _judge(self, number, y):
        """Judge a label by the interval that was issued, and learn its score."""
        coverage = self._coverage
        issued: Issued = coverage.issued.get(number)
        if issued is None:  # it is of a prediction that the model made before
            return 0
        score = min(fabs(y - issued.value), HUGE_LABEL)
        self._score_model._linear.observe(issued.score_ticket, score, 1.0, NAN, True)
        coverage.judge(number, issued, y, self._model._linear.is_late)
        del coverage.issued[number]
        return 0

    def _answer_so_far(self, number):
        return self._model._answer_so_far(number)

    def _cancel(self, number):
        self._model._cancel(number)
        issued = self._coverage.issued.pop(number, None)
        if issued is not None:
            self._close_score(issued)
        return 0

    def _ticked(self, at):
        """Advance the clock; a label that comes after its deadline still counts."""
        self._model._ticked(at)

    # --- Many events -----------------------------------------------------------------------------

    def _predicted(self, rows, keys, at, deadline):
        sparse, names, times, span, kind = self._model._rows_arguments(rows, keys, at, deadline)
        found, begin = np.empty((3, len(sparse[0]) - 1)), self._model._linear.tickets.rounds
        for i in range(found.shape[1]):
            now = times[i] if len(times) > 1 else times[0]
            made = self._issue_row("predict_many", sparse, i, now, span)
            self._model._linear.note_time(kind)
            if names is not None and names[i] is not None:
                self._keys.assign(names[i], made[0])
            found[:, i] = made[1:]  # by Python code, which signals may interrupt
        return Bands(np.arange(begin, begin + found.shape[1]), *found)

    def _issue_row(self, who, sparse, i, now, span):
        """Open a ticket for one of many rows, which were checked."""
        start, end = sparse[0][i], sparse[0][i + 1]
        return self._issue(who, (sparse[1][start:end], sparse[2][start:end]), now, span)

    def _peeked_at(self, rows):
        indptr, indices, values = self._model._rows_of(rows, "peek_many")
        bounds = indptr.tolist()
        found = np.empty((3, len(bounds) - 1))
        for i in range(len(bounds) - 1):
            part = slice(bounds[i], bounds[i + 1])
            found[:, i] = self._range_of((indices[part], values[part]), "peek_many")
        return Ranges(*found)

    def _observed(self, tickets, answers, weights, at):
        model = self._model
        heard, labels, factors, times = model._labels_checked(tickets, answers, weights, at)
        used = np.zeros(len(labels), np.bool_)
        for i in range(len(labels)):
            now = times[i] if len(times) > 1 else times[0]
            number, y = heard.tickets[i], labels[i]
            used[i] = model._linear.observe(number, y, factors[i], now, True) == USED
            self._judge(number, y)
        self._drop_keys(heard.names or ())
        return used

    def _replayed(self, given, keys, progress):
        model = self._model
        model._linear.roll_back()
        log, sparse, labels, factors, first, times, spans, kind = model._replay_arguments(*given)
        begin, events = model._linear.tickets.rounds, log.tolist()
        found = np.empty((3, np.count_nonzero(log >= 0)))
        try:
            for i in range(len(events)):
                event = events[i]
                now = times[i] if len(times) > 1 else times[0]
                if event >= 0:
                    row = event - begin
                    span = spans[row] if len(spans) > 1 else spans[0]
                    found[:, row] = self._issue_row("replay", sparse, row, now, span)[1:]
                else:
                    row = ~event - first
                    status = model._linear.observe(~event, labels[row], factors[row], now, True)
                    if status >= 0:  # else its ticket was closed by its deadline
                        self._judge(~event, labels[row])
        finally:
            model._end_replay(begin, kind, keys)
        if progress is not None:
            progress(len(events))
        return Ranges(*found)
