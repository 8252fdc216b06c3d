# cython: infer_types=True
"""Labels that take long are censored: how long to wait, what labels weigh, what is corrected.

Ages count predictions after the ticket's own. They are counted in buckets: one each up to 15, then
four per doubling. ``Linear`` has the events; nothing here changes what is learned, but for
``importance_weight`` and ``PendingPositives``.
"""

from __future__ import annotations

import math

import cython
import numpy as np

from belated.core.component import COUNT, Range, demand

if not cython.compiled:
    from math import fabs

    from belated.core.component import Component
    from belated.core.numerics import exp, floats_at, ln

AGES = 160  # buckets, for Python code
BUCKETS = AGES
LARGE = 1e140  # its square does not overflow
AMOUNT = Range(0.0, LARGE)


def bucket_of(age):
    """Return the bucket of an age."""
    if age < 16:
        return age
    shift: cython.Py_ssize_t = 2
    while age >> shift >= 8:
        shift += 1
    return min(4 * shift + (age >> shift) + 4, BUCKETS - 1)


def edge_of(bucket):
    """Return the smallest age of a bucket."""
    if bucket < 16:
        return bucket
    return cython.cast(cython.longlong, (bucket & 3) + 4) << ((bucket >> 2) - 2)


# --- How long to wait ----------------------------------------------------------------------------

# At most this share of all labels may come later than the limit, and this is the chance that a
# ticket which reaches the limit still gets its label.
MOST_LOST = cython.declare(cython.double, 0.005)
CHANCE = cython.declare(cython.double, 0.02)


class Expiry(Component):
    """When a ticket is closed because no label is expected any more: older than ``limit``.

    The limit is fixed, or follows from the ages at which labels ``came``, or is 0: there is none.
    """

    FIELDS = {"limit": Range(0, 1 << 40, int), "came": AMOUNT}

    def __init__(self, by_ages, least, fixed):
        self.by_ages, self.least = by_ages, least
        self.is_fixed, self.limit = fixed is not None, fixed or 0
        self.came = np.zeros(BUCKETS)
        self.count = floats_at(self.came)

    def record(self, age):
        """Count a label that came at an age."""
        self.count[bucket_of(age)] += 1.0

    def review(self, rounds):
        """Set the limit.

        It is the smallest age above ``least`` such that at most 1/200 of all labels came so late,
        and these and one more are at most 1/50 of the tickets that would be ten times as old by
        now, times the share that had no label by that age. Younger ones had too little time to
        tell. Before the first label nothing is known.
        """
        total = later = 0.0
        limit: cython.longlong = 0
        for i in range(BUCKETS):
            total += self.count[i]
        for i in range(BUCKETS):
            bucket = BUCKETS - 1 - i
            edge = edge_of(bucket)
            later += self.count[bucket]
            if edge <= self.least or later > MOST_LOST * total or total == 0.0:
                break
            silent = 1.0 - (total - later) / max(rounds, 1)
            if later + 1.0 <= CHANCE * silent * (rounds - 10 * edge):
                limit = edge
        self.limit = limit

    def verify(self, state):
        demand(self.by_ages or state["limit"] == self.limit, "how long to wait")


# --- Weights of labels ---------------------------------------------------------------------------

FEW = cython.declare(cython.double, 100.0)  # tickets that are too few to tell
LARGEST_WEIGHT = cython.declare(cython.double, 10.0)


def importance_weight(rounds, usual, age):
    """Return the weight of a label of an age by inverse probability of censoring (IPCW).

    A label that takes a rounds can have come only for the tickets that are so old, n - a of the n.
    Others like it are still open, so labels that take long are too few among those so far. One of
    the age a has the weight

        (n - u + 100) / (n - a + 100),

    at least 1 and at most 10, relative to labels of the ``usual`` age u. It becomes 1 when n is
    large; the 100 keep the first tickets from deciding everything. Such weights make sums over what
    is known right for all tickets (Robins and Rotnitzky, "Recovery of information and adjustment
    for dependent censoring", 1992).
    """
    return min(max((rounds - usual + FEW) / (rounds - age + FEW), 1.0), LARGEST_WEIGHT)


# --- Corrections of a silence that is learned as a label -----------------------------------------

UPDATES = cython.declare(cython.longlong, 16)  # per doubling of the tickets
FEWEST_UPDATES = cython.declare(cython.longlong, 8)  # predictions between two updates
MOST_UPDATES = cython.declare(cython.longlong, 256)
SHARE_OF_OPEN = cython.declare(cython.double, 0.25)  # of open tickets: the most to be corrected


class PendingPositives(Component):
    """Where silence is a label: how many corrections are still to come.

    A correction of the age a stands for w_a of its kind, one of which has come: its
    ``importance_weight`` relative to the age 0. With C the corrections so far,

        D = sum (w_a - 1)

    are still to come, but no more than a quarter of the open tickets: at the end of a day most
    corrections have come. The base of predictions counts D as if they had come. Otherwise it begins
    too low, experts learn to add what it lacks, and have it twice when it comes. There is no
    theorem.

    ``corrections`` counts them by age, less those that were taken back; ``next_update`` is 0 before
    the first one.
    """

    FIELDS = {"next_update": COUNT, "corrections": Range(-LARGE, LARGE)}

    def __init__(self):
        self.next_update = 0
        self.corrections = np.zeros(BUCKETS)
        self.corrected = floats_at(self.corrections)

    def record(self, age, is_taken_back):
        """Count a correction by its age; one that is taken back is subtracted at its own."""
        self.corrected[bucket_of(age)] += -1.0 if is_taken_back else 1.0

    def update(self, rounds, open):
        """Return D."""
        came = expected = 0.0
        for j in range(BUCKETS):
            count = self.corrected[j]
            if count != 0.0:
                # The mean of the integer ages in the bucket: n - a tickets are a rounds old.
                age = min(0.5 * (edge_of(j) + edge_of(j + 1) - 1), 1.0 * rounds)
                came += count
                expected += count * importance_weight(rounds, 0.0, age)
        self.next_update = rounds + max(min(rounds // UPDATES, MOST_UPDATES), FEWEST_UPDATES)
        return min(max(expected - came, 0.0), SHARE_OF_OPEN * open)

    def verify(self, state):
        counts = state["corrections"]
        demand((counts == np.floor(counts)).all(), "corrections")
        demand(state["next_update"] > 0 or not counts.any(), "corrections")


# --- Corrections of what is shown ----------------------------------------------------------------

LN_2 = cython.declare(cython.double, math.log(2.0))
COMING = cython.declare(cython.double, math.log(100.0))  # before any label: they do not stop
PRIOR = cython.declare(cython.double, 2.0)  # labels: what is assumed before labels say otherwise


class Censoring(Component):
    """A correction of probabilities while labels are censored.

    Frauds are known within days, honest orders after months. The labels so far then differ from
    those that are still to come, and a model that learns from them alone is biased until the others
    arrive. Experts and their weights never see the correction: it changes what is shown.

    *Promise.* While one answer is known earlier than the other, by 400 rounds or more, and delays
    vary, the log loss over 1,500 rounds and more is at most that of the running share of the m
    known answers, (yes + 1/2) / (m + 1): measured over seeds, not proved. See docs/linear.md for
    other delays.

    Tickets since the first label are sorted into buckets of ages. In bucket j there are n_j labels,
    y_j of them yes, and c_j tickets that are open at such an age. R_j tickets reached the bucket,
    less c_j / 2. S_j = prod_{i <= j} (1 - n_i / R_i) is the share of tickets without a label beyond
    it, and m_j = S_{j-1} n_j / R_j the share whose label comes there (Kaplan and Meier,
    "Nonparametric estimation from incomplete observations", JASA 1958). Unlike a mean over the
    labels so far, F = sum_j m_j y_j / n_j does not favour labels that come early (Aalen and
    Johansen, "An empirical transition matrix", Scandinavian Journal of Statistics 1978). Nothing is
    known of the tail, the share S without a label at any age so far: the share of yes is between F
    and F + S.

    Have labels stopped coming? If as many come in every round of waiting, an age a after t tickets
    has the density 2 (1 - a / t) / t, as only t - a tickets are so old. Against it stands
    4 (1 - a / t)^3 / t, where labels come at young ages. The likelihood ratio of N labels is
    L = prod 2 (1 - a / t)^2. Labels have stopped as surely as f = k L / (L + 100), with odds of 1
    to 100 before any label. k says whether the delay depends on the answer: with B of the rarer
    answer and r the rank correlation of answer and age, B r^2 is 1/3 by chance, so
    k = max(r^2 - 1 / (3 B), 0), and 1 while there is only one answer.

    * While labels still come, the tail has yes in the running share q.
    * When they have stopped, the tail may have the other answer, and the share of yes is as near to
      h as it can be. h is the share nearest to one half that tickets before the first label allow:
      n of them have a label, y of these yes, and o are open, so h is between (y + 1) / (n + o + 2)
      and (y + o + 1) / (n + o + 2).

    Together the tail has the yes T = f (nearest number to h from F to F + S, less F) + (1 - f) S q.
    This counts as two labels, beside N' labels at ages beyond half of the time so far, y' of them
    yes:

        share = F + (S y' + 2 T) / (N' + 2).

    N' = 0 while all labels are one answer, but an earlier ticket had the other one.

    With b = B + 1/2 and d = k t |share - F - S q|, the number of the t tickets that are in the tail
    and not like the labels so far,

        shown = offset + shrinkage (prediction - offset),   shrinkage = b / (b + d),

    where the offset is the log odds of (m share + 1/2) / (m + 1), with m the number of all known
    answers: features cannot say anything before both answers are known. All numbers but m, n, y, o
    and q are of tickets since the first label: from ticket ``since`` on, 0 before the first label.
    ``earlier_yes`` counts those of older tickets.
    """

    FIELDS = {
        **dict.fromkeys(("since", "next_update"), COUNT),
        "offset": Range(-120.0, 120.0),
        "shrinkage": Range(0.0, 1.0),
        **dict.fromkeys(("earlier_yes", "counts", "yes"), AMOUNT),
    }

    def __init__(self, tickets, labels, label_at):
        self.tickets, self.statistics, self.label_at = tickets, labels, label_at
        self.since = self.next_update = 0
        self.offset, self.shrinkage, self.earlier_yes = 0.0, 1.0, 0.0
        self.counts, self.yes = np.zeros((2, BUCKETS))
        self.work = np.zeros(BUCKETS)
        self.labelled, self.positive = floats_at(self.counts), floats_at(self.yes)
        self.pending_by_age = floats_at(self.work)

    def corrected(self, p):
        """Return what is shown for a prediction."""
        return p if self.shrinkage == 1.0 else self.offset + self.shrinkage * (p - self.offset)

    def record(self, ticket, y):
        """Count the first label of a ticket by its age."""
        rounds = self.tickets.rounds
        if self.since == 0:
            self.since, self.next_update = rounds, rounds + FEWEST_UPDATES
        if ticket >= self.since:
            bucket = bucket_of(rounds - ticket - 1)
            self.labelled[bucket] += 1.0
            self.positive[bucket] += y
        else:
            self.earlier_yes += y

    def reset(self):
        """Remove the correction, as no ticket is open."""
        self.offset, self.shrinkage = 0.0, 1.0

    def update(self):
        """Compute the correction again."""
        rounds = self.tickets.rounds
        self.rounds = rounds - self.since
        self.estimate()
        if self.labels > 0.0:
            self.correct()
        self.next_update = rounds + max((rounds - self.since) // UPDATES, FEWEST_UPDATES)

    def count_pending(self):
        """Count tickets without a label by age, and in ``earlier_pending`` older ones.

        The newest ticket is left out, as it can have no label yet. Ages fall along the table, so
        buckets are found one after the other.
        """
        for j in range(BUCKETS):
            self.pending_by_age[j] = 0.0
        self.earlier_pending = 0.0
        bucket = BUCKETS - 1
        for entry in range(self.tickets.head, self.tickets.tail()):
            number = self.tickets.number[entry]
            if number >= self.tickets.rounds - 1 or self.tickets.seen[entry] < 0:
                continue
            if self.tickets.record(entry)[self.label_at] > 0.0:
                continue
            if number < self.since:
                self.earlier_pending += 1.0
            else:
                age = self.tickets.rounds - number - 1
                while edge_of(bucket) > age:
                    bucket -= 1
                self.pending_by_age[bucket] += 1.0

    def estimate(self):
        """Go through the buckets."""
        self.count_pending()
        self.labels = self.all_yes = reached = 0.0
        for j in range(BUCKETS):
            self.labels += self.labelled[j]
            self.all_yes += self.positive[j]
            reached += self.labelled[j] + self.pending_by_age[j]
        middle = bucket_of((self.tickets.rounds - self.since) >> 1)
        before = 0.0
        self.tail, self.mean, self.stopped = 1.0, 0.0, 0.0
        self.pairs = self.late = self.late_yes = 0.0
        for j in range(BUCKETS):
            count, yes = self.labelled[j], self.positive[j]
            if count > 0.0:
                share = self.tail * min(count / (reached - 0.5 * self.pending_by_age[j]), 1.0)
                self.tail -= share
                self.mean += share * yes / count
                # Ages are continuous from 0 to t in the densities: the age a is [a, a + 1].
                age = min(0.5 * (edge_of(j) + edge_of(j + 1)), self.rounds - 0.5)
                self.stopped += count * (LN_2 + 2.0 * ln(1.0 - age / self.rounds))
                self.pairs += yes * (before + 0.5 * (count - yes))
                before += count - yes
                if j > middle:
                    self.late += count
                    self.late_yes += yes
            reached -= count + self.pending_by_age[j]

    def correct(self):
        """Set offset and shrinkage by the estimates."""
        yes, no = self.all_yes, self.labels - self.all_yes
        answers = max(self.statistics.labels, self.labels)
        every_yes = yes + self.earlier_yes
        running = (every_yes + 0.5) / (answers + 1.0)
        depends = self.dependence(yes, no)
        odds = exp(-fabs(self.stopped - COMING))
        stopped = depends * (1.0 if self.stopped >= COMING else odds) / (1.0 + odds)
        nearest = self.nearest_to_half(answers - self.labels)
        nearest = min(max(nearest, self.mean), self.mean + self.tail) - self.mean
        in_tail = PRIOR * (stopped * nearest + (1.0 - stopped) * self.tail * running)
        if min(yes, no) > 0.0 or not 0.0 < every_yes < answers:
            in_tail = (in_tail + self.tail * self.late_yes) / (self.late + PRIOR)
        else:
            in_tail = in_tail / PRIOR
        share = ((self.mean + in_tail) * answers + 0.5) / (answers + 1.0)
        self.offset = ln(share / (1.0 - share))
        rarer = min(yes, no) + 0.5
        unlike = depends * self.rounds * fabs(in_tail - self.tail * running)
        self.shrinkage = rarer / (rarer + unlike)

    def dependence(self, yes, no):
        """Return k."""
        if min(yes, no) <= 0.0:
            return 1.0
        r = 2.0 * self.pairs / (yes * no) - 1.0
        return max(r * r - 1.0 / (3.0 * min(yes, no)), 0.0)

    def nearest_to_half(self, earlier):
        """Return h, with so many labels of tickets before the first label."""
        count = earlier + self.earlier_pending + PRIOR
        yes = self.earlier_yes + 0.5 * PRIOR
        return min(max(0.5, yes / count), (yes + self.earlier_pending) / count)

    def verify(self, state):
        counts, since = state["counts"], state["since"]
        demand((state["yes"] <= counts).all(), "ages of labels")
        if since > 0:
            demand(since < state["next_update"], "censored labels")
        else:
            plain = (state["next_update"], state["offset"], state["shrinkage"])
            demand(plain == (0, 0.0, 1.0) and not counts.any(), "censored labels")
            demand(state["earlier_yes"] == 0.0, "censored labels")
