# cython: infer_types=True
"""Intervals around the predictions of a linear model; every public method is one C call.

``Threshold`` says how far labels may be from predictions, and how far the share of misses can be
from what is allowed; ``Coverage`` has that, and what tickets were issued with; ``Intervals`` are
the events, which change both models and the coverage together.
"""

from __future__ import annotations

from typing import NamedTuple

import cython
import numpy as np

from belated.core.component import COUNT, LARGE_VECTOR, demand
from belated.core.component import Range as Allowed
from belated.core.learner import busy
from belated.core.linear import number_of

if not cython.compiled:
    from math import fabs, frexp, ldexp
    from math import inf as INFINITY
    from math import nan as NAN

    from belated.core.component import Component
    from belated.core.label_losses import HUGE_LABEL
    from belated.core.numerics import floats_at, ints_at
    from belated.core.tickets import USED

LENGTH = 1000
"""Arrivals of a window."""
WINDOW = cython.declare(cython.longlong, LENGTH)
PACE = cython.declare(cython.longlong, 64)  # open tickets up to which the step is that of no delay
FEW = cython.declare(cython.longlong, 64)  # tickets that are kept before closed ones are removed
BLOCKS = 49  # as many as numbers of arrivals have bits
MOST_SIZE = 1 << 13
NOT_NEGATIVE = Allowed(0.0, LARGE_VECTOR)


class Limits(NamedTuple):
    """Between which D must be."""

    low: float
    high: float


def size_of(score: cython.double):
    """Return the size of a positive score: four to every power of two."""
    exponent: cython.int = 0
    fraction: cython.double
    if cython.compiled:
        fraction = frexp(score, cython.address(exponent))
    else:
        fraction, exponent = frexp(score)
    return 4 * exponent + cython.cast(cython.int, 8.0 * fraction) - 4


def limit_of(size: cython.int):
    """Return what scores of a size are below.

    >>> limit_of(size_of(5.0)), limit_of(size_of(5.99)), limit_of(size_of(6.0))
    (6.0, 6.0, 7.0)
    """
    return ldexp(((size & 3) + 5) / 8.0, size >> 2)


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
    >>> threshold.learn(float("inf"), 3.2, 1, False)
    0
    >>> threshold.issue(7.0), threshold.owed
    (3.2, 0.0)
    >>> threshold.learn(3.2, 4.0, 1, True)
    0
    >>> round(threshold.issue(7.0), 3), threshold.owed
    (4.055, 0.5)
    """

    FIELDS = {
        **dict.fromkeys(("arrived", "missed", "unbounded", "most_open"), COUNT),
        **dict.fromkeys(("total", "largest", "top"), NOT_NEGATIVE),
        "floors": Allowed(0.0, float("inf")),
    }

    def __init__(self, alpha):
        self.alpha = alpha
        self.arrived = self.missed = self.unbounded = 0
        self.total = self.largest = 0.0  # the sum of all scores, and the largest
        self.top = 0.0  # the largest forecast that was issued with a threshold
        self.most_open = 0  # w
        # Block j: the least step while n is from 2^j to 2^(j+1) - 1.
        self.floors = np.full(BLOCKS, np.inf)
        self.floor = floats_at(self.floors)
        self.sizes = {}  # how many positive scores, of those that are counted, were of a size

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
        return 2.0 * self.total / (heard * (PACE + self.most_open))

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
        if self.arrived + self.unbounded > 0:
            self.top = max(self.top, self.clipped(forecast))
        return self.peek(forecast)

    def learn(self, issued, score, waiting, is_missed):
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
                size = size_of(score)
                self.sizes[size] = self.sizes.get(size, 0) + 1
        self.total += score
        self.largest = max(self.largest, score)
        self.most_open = max(self.most_open, waiting)
        if self.arrived > 0:  # steps before the first arrival are none of the theorem's
            block = self.block()
            self.floor[block] = min(self.floor[block], self.step_size())
        return 0

    def block(self):
        """Return j, where n is from 2^j to 2^(j+1) - 1."""
        block: cython.int = 0
        n = self.arrived
        while n > 1:
            n >>= 1
            block += 1
        return block

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
        for size in sorted(self.sizes, reverse=True):
            tails.append((min(limit_of(size), self.largest), above))
            above += self.sizes[size]
        return [*tails, (0.0, above)]

    def state(self):
        """Return counters, and sizes with their counts."""
        sizes = np.array(sorted(self.sizes.items()), dtype=np.int64).reshape(-1, 2)
        return {**Component.state(self), "sizes": sizes}

    def restore(self, state):
        """Take the state."""
        Component.restore(self, state)
        self.sizes = dict(state["sizes"].tolist())

    def check(self, state):
        """Demand that sizes are some, then the rest."""
        sizes = state.get("sizes")
        fits = isinstance(sizes, np.ndarray) and sizes.ndim == 2 and sizes.shape[1] == 2
        demand(fits and sizes.dtype == np.int64, "sizes of scores")
        fits = (sizes[:, 0] > -MOST_SIZE) & (sizes[:, 0] < MOST_SIZE)
        demand(ascends(sizes[:, 0]) and fits.all(), "sizes of scores")
        demand(((sizes[:, 1] > 0) & (sizes[:, 1] <= COUNT.most)).all(), "sizes of scores")
        Component.check(self, {name: state[name] for name in state if name != "sizes"})
        heard, has_sizes = state["arrived"] + state["unbounded"], len(sizes) > 0
        has_scores = state["total"] > 0.0
        demand(state["missed"] <= state["arrived"], "misses")
        demand((state["most_open"] > 0) == (heard > 0), "open tickets")
        demand(sizes[:, 1].sum() <= state["arrived"], "sizes of scores")
        demand(has_sizes <= has_scores == (state["largest"] > 0.0), "scores")
        demand(state["unbounded"] > 0 or has_sizes == has_scores, "scores")
        demand(state["top"] <= state["largest"] <= state["total"], "scores")
        used = state["arrived"].bit_length()
        demand((state["floors"][:used] <= LARGE_VECTOR).all(), "steps")
        demand((state["floors"][used:] == np.inf).all(), "steps")


class Window(Component):
    """Counts the misses of every ``LENGTH`` arrivals in a row.

    >>> window = Window()
    >>> for n in range(1500):
    ...     status = window.add(n, n >= 1400)
    >>> window.worst
    100
    """

    FIELDS = {
        "flags": Allowed(0, 1, int),  # whether arrival n was a miss, at n modulo the length
        **dict.fromkeys(("inside", "worst"), Allowed(0, LENGTH, int)),  # the most in a whole window
    }

    def __init__(self):
        self.flags = np.zeros(LENGTH, dtype=np.int64)
        self.flag = ints_at(self.flags)
        self.inside = self.worst = 0

    def add(self, number, is_missed):
        """Take in arrival ``number``, counted from 0."""
        place = number % WINDOW
        self.inside += is_missed - self.flag[place]
        self.flag[place] = is_missed
        if number >= WINDOW - 1 and self.inside > self.worst:
            self.worst = self.inside
        return 0

    def verify(self, state):
        demand(state["inside"] == state["flags"].sum(), "misses")


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

    FIELDS = {
        **dict.fromkeys(("rounds", "late", "tidy_at"), COUNT),
        "widths": NOT_NEGATIVE,
    }
    TABLE = ("tickets", "score_tickets", "values", "thresholds")

    def __init__(self, alpha, least):
        self.threshold, self.window, self.least = Threshold(alpha), Window(), least
        self.issued, self.tidy_at = {}, FEW
        self.rounds = self.late = 0
        self.widths = 0.0

    def parts(self):
        return {"threshold": self.threshold, "window": self.window}

    def low(self, value, threshold):
        """Return the lower end of an interval; below the least of all labels there is none."""
        return max(value - max(threshold, 0.0), self.least)

    def high(self, value, threshold):
        """Return the upper end."""
        return value + max(threshold, 0.0)

    def ends(self, value, threshold):
        """Return both ends."""
        return self.low(value, threshold), self.high(value, threshold)

    def judge(self, issued, label, is_late):
        """Judge a label by the interval that was issued, whose ticket is still there."""
        threshold, score = issued.threshold, fabs(label - issued.value)
        low, high = self.low(issued.value, threshold), self.high(issued.value, threshold)
        is_missed: cython.bint = threshold < 0.0 or not low <= label <= high
        self.late += is_late
        if threshold < INFINITY:  # else it says nothing
            self.widths += 0.5 * (high - low)
            self.window.add(self.threshold.arrived, is_missed)
        return self.threshold.learn(threshold, score, len(self.issued), is_missed)

    def state(self):
        """Return counters, and the table of tickets in their order."""
        rows = sorted(self.issued.items())
        pairs = np.array([(t, i.score_ticket) for t, i in rows], np.int64).reshape(-1, 2)
        numbers = np.array([(i.value, i.threshold) for _, i in rows], np.float64).reshape(-1, 2)
        columns = (*pairs.T.copy(), *numbers.T.copy())
        return {**Component.state(self), **dict(zip(self.TABLE, columns, strict=True))}

    def restore(self, state):
        """Take counters and table."""
        Component.restore(self, state)
        columns = [state[name].tolist() for name in self.TABLE]
        rows = zip(*columns, strict=True)
        self.issued = {ticket: Issued(*numbers) for ticket, *numbers in rows}

    def check(self, state):
        """Demand that the table can be one, then that counters agree with it."""
        columns = [state.get(name) for name in self.TABLE]
        for column, kind in zip(columns, (np.int64, np.int64, np.float64, np.float64), strict=True):
            fits = isinstance(column, np.ndarray) and column.dtype == kind and column.ndim == 1
            demand(fits and column.shape == columns[0].shape, "the table")
        tickets, score_tickets, values, thresholds = columns
        demand(ascends(tickets) and (tickets >= 0).all() and (score_tickets >= 0).all(), "tickets")
        demand(np.unique(score_tickets).size == tickets.size, "tickets")
        demand((np.abs(values) <= LARGE_VECTOR).all(), "values")
        known = thresholds[thresholds != np.inf]
        demand((np.abs(known) <= LARGE_VECTOR).all(), "thresholds")
        Component.check(self, {name: state[name] for name in state if name not in self.TABLE})
        arrived, rounds = state["threshold.arrived"], state["rounds"]
        heard = arrived + state["threshold.unbounded"]
        flags, worst = state["window.flags"], state["window.worst"]
        demand(heard + tickets.size <= rounds and state["late"] <= heard, "counts")
        demand(state["threshold.most_open"] <= rounds, "open tickets")
        demand(state["window.inside"] <= state["threshold.missed"], "misses")
        demand(not flags[arrived:].any(), "misses")
        demand(worst >= state["window.inside"] if arrived >= LENGTH else worst == 0, "misses")
        demand(state["tidy_at"] >= FEW and tickets.size <= state["tidy_at"], "tickets")


def ascends(column):
    """Tell whether numbers rise."""
    return bool((np.diff(column) > 0).all())


# --- Public methods ------------------------------------------------------------------------------


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


class Range(NamedTuple):
    """What ``peek`` returns: an interval without a ticket."""

    value: float
    low: float
    high: float


_new_tuple = tuple.__new__  # a named tuple made from a tuple takes half the time
_Interval = Interval


class Intervals:
    """The events of intervals; ``models.intervals`` adds settings, reports and snapshots."""

    # The flag is that of the model: calls on either are refused while it is not ready.
    __slots__ = ("_coverage", "_model", "_score_model")

    def _begin(self, model, score_model, coverage):
        """Take the model, that of the scores, and what was counted."""
        self._model, self._score_model, self._coverage = model, score_model, coverage

    def ticket(self, name):
        """Return the ticket that a key stands for; a ticket stands for itself."""
        return self._model.ticket(name)

    def is_open(self, ticket):
        """Tell whether a ticket, or that of a key, still waits for its label."""
        return self._model.is_open(ticket)

    def predict(self, features, *, key=None, at=None):
        """Return the next ticket, a prediction, and the interval around it.

        Arguments and errors are those of ``LinearModel.predict``.
        """
        model, scores, coverage = self._model, self._score_model, self._coverage
        if not model._is_ready:
            raise busy("predict")
        now, span, kind = NAN, NAN, 0
        model._is_ready = False
        try:
            if key is not None:
                key = model._checked_key(key)
            if at is not None or model._linear.has_deadlines:
                now, span, kind = model._time(at, None, "predict")
            count = model._read_row(features)
            scores._indices, scores._values = model._indices, model._values
            if not scores._linear.has_room(count):  # so that only the first can be refused
                scores._linear.grow(count)
            ticket = model._issue(count, now, span)
            if ticket < 0:
                raise model._refused_row(features, count, "predict")
            score_ticket = scores._issue(count, NAN, NAN)
            model._linear.note_time(kind)
            if key is not None:
                model._names.assign(key, ticket)
            value, threshold = model._linear.value, coverage.threshold.issue(scores._linear.value)
            coverage.issued[ticket] = Issued(score_ticket, value, threshold)
            coverage.rounds += 1
            if len(coverage.issued) > coverage.tidy_at:
                self._tidy()
            low, high = coverage.low(value, threshold), coverage.high(value, threshold)
            return _new_tuple(_Interval, (ticket, value, low, high))
        finally:
            model._is_ready = True

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
        if self._score_model._linear.is_waiting(issued.score_ticket):
            self._score_model._linear.cancel(issued.score_ticket)

    def peek(self, features):
        """Return what ``predict`` would, without a ticket and without any change."""
        return self._model._alone("peek", lambda: self._peeked(features))

    def _peeked(self, features):
        value, coverage = self._model._peeked(features, "peek"), self._coverage
        threshold = coverage.threshold.peek(self._score_model._peeked(features, "peek"))
        return Range(value, *coverage.ends(value, threshold))

    def observe(self, ticket, label, *, at=None):
        """Learn the label of a ticket; return and raise what ``LinearModel.observe`` does.

        A label that the model drops, so that this returns False, still counts for the coverage. It
        is covered if it is from ``low`` to ``high``, as they were issued.
        """
        model, coverage = self._model, self._coverage
        if not model._is_ready:
            raise busy("observe")
        model._is_ready = False
        try:
            number = model._names.ticket(ticket)
            y: cython.double = number_of(label, "observe", "label")
            now = NAN if at is None else model._time(at, None, "observe")[0]
            status = model._answer(number, y, 1.0, now, True)
            if status < 0:
                raise model._refusal(status, number, y, 1.0, "observe")
            model._names.remove(ticket)
            issued: Issued = coverage.issued.get(number)
            if issued is not None:  # else it is of a prediction that the model made before
                score = min(fabs(y - issued.value), HUGE_LABEL)
                self._score_model._answer(issued.score_ticket, score, 1.0, NAN, True)
                coverage.judge(issued, y, model._linear.is_late)
                del coverage.issued[number]
            return status == USED
        finally:
            model._is_ready = True

    def cancel(self, ticket):
        """Close a ticket whose label will never come; it does not count for the coverage."""
        self._model._alone("cancel", lambda: self._cancelled(ticket))

    def _cancelled(self, ticket):
        number = self._model._cancelled(ticket)
        issued = self._coverage.issued.pop(number, None)
        if issued is not None:
            self._close_score(issued)

    def tick(self, at):
        """Let the clock go on without a prediction: tickets whose deadline has passed are closed.

        The clock never goes back; an earlier time changes nothing. A label that comes after its
        deadline still counts for the coverage.
        """
        self._model.tick(at)
