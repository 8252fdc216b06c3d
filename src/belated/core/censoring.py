# cython: infer_types=True
"""Labels that take long are censored: how long to wait, what labels weigh, what is corrected.

Ages count predictions after the ticket's own. They are counted in buckets: one each up to 15, then
four per doubling. ``Linear`` has the events; nothing here changes what is learned, but for
``PendingPositives``.
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
FLAG, AMOUNT, NUMBER = Range(0, 1, int), Range(0.0, LARGE), Range(-LARGE, LARGE)


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

MOST_LOST = cython.declare(
    cython.double, 0.005
)  # share of all labels that may come later than the limit ...
CHANCE = cython.declare(
    cython.double, 0.02
)  # ... and chance that a ticket which reaches the limit still gets its label


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
        rounds = max(rounds, 1)
        total = 0.0
        later = 0.0
        limit: cython.longlong = 0
        for i in range(BUCKETS):
            total += self.count[i]
        for i in range(BUCKETS):
            bucket = BUCKETS - 1 - i
            edge = edge_of(bucket)
            later += self.count[bucket]
            if edge <= self.least or later > MOST_LOST * total or total == 0.0:
                break
            silent = 1.0 - (total - later) / rounds
            if later + 1.0 <= CHANCE * silent * (rounds - 10 * edge):
                limit = edge
        self.limit = limit

    def verify(self, state):
        demand(self.by_ages or state["limit"] == self.limit, "how long to wait")


# --- How late each label came --------------------------------------------------------------------

KINDS = 10


class LabelKinds(Component):
    """How late each label came, while there are at most ten: counts, sums and maxima of ages.

    ``kinds`` is one more when there are too many.
    """

    FIELDS = {
        "kinds": Range(0, KINDS + 1, int),
        "labels": NUMBER,
        **dict.fromkeys(("counts", "ages", "largest"), AMOUNT),
    }

    def __init__(self):
        self.kinds = 0
        self.labels, self.counts, self.ages, self.largest = np.zeros((4, KINDS))
        self.label, self.count = floats_at(self.labels), floats_at(self.counts)
        self.age, self.most = floats_at(self.ages), floats_at(self.largest)

    def record(self, age, y):
        """Count a label that came at an age."""
        kinds = self.kinds
        if kinds > KINDS:
            return
        kind: cython.Py_ssize_t = 0
        while kind < kinds and self.label[kind] != y:
            kind += 1
        if kind == kinds:
            self.kinds = kinds + 1
        if kind < KINDS:
            self.label[kind] = y
            self.count[kind] += 1.0
            self.age[kind] += age
            if age > self.most[kind]:
                self.most[kind] = age

    def rows(self):
        """Return label, count, sum of ages and largest age of each; none if there are too many."""
        known = self.kinds if self.kinds <= KINDS else 0
        table = np.column_stack([self.labels, self.counts, self.ages, self.largest])
        return table[:known].tolist()

    def verify(self, state):
        known = min(state["kinds"], KINDS)
        columns = [state[name] for name in ("labels", "counts", "ages", "largest")]
        demand(all((column[known:] == 0.0).all() for column in columns), "kinds of labels")
        label, count, total, largest = (column[:known] for column in columns)
        demand(np.unique(label).size == known and (count >= 1.0).all(), "kinds of labels")
        demand(((largest <= total) & (total <= count * largest)).all(), "kinds of labels")


# --- Weights -------------------------------------------------------------------------------------

FEW = cython.declare(cython.double, 100.0)  # tickets that are too few to tell
LARGEST_WEIGHT = cython.declare(cython.double, 10.0)


def full_weight(rounds, age):
    """Return how many labels of this age there are to be in all, for each that has come."""
    return min((rounds + FEW) / (rounds - age + FEW), LARGEST_WEIGHT)


class ImportanceWeights(Component):
    """Weights of labels by inverse probability of censoring (IPCW).

    A label that takes a rounds can have come only for the tickets that are so old: n - a of n.
    Others like it are still open, so that labels that take long are too few among those so far. One
    that comes at the age a therefore has the weight

        (n - u + 100) / (n - a + 100),

    at least 1 and at most 10, where u is the mean age of the labels before it (``age`` is their
    sum). Where all take as long as each other the weight is 1, and so it is in the end, when n is
    large. The 100 keep the first tickets of a log from deciding everything. Such weights make sums
    over what is known right for all tickets (Robins and Rotnitzky, "Recovery of information and
    adjustment for dependent censoring", 1992).

    Base, unit and mixture use these weights. Steps do not: many small ones say more than one long
    one.
    """

    FIELDS = {"age": AMOUNT}

    def __init__(self):
        self.age = 0.0

    def weigh(self, rounds, ticket, labels):
        """Return the weight of a label that comes after so many predictions and labels."""
        usual = self.age / labels if labels > 0.0 else 1.0 * rounds
        weight = (rounds - usual + FEW) / (ticket + 1 + FEW)
        return min(max(weight, 1.0), LARGEST_WEIGHT)


# --- Corrections of a silence that is learned as a label -----------------------------------------

UPDATES = cython.declare(cython.longlong, 16)  # per doubling of the tickets
FEWEST_UPDATES = cython.declare(cython.longlong, 8)  # predictions between two updates
MOST_UPDATES = cython.declare(cython.longlong, 256)
SHARE_OF_OPEN = cython.declare(
    cython.double, 0.25
)  # largest share of open tickets that is still to be corrected


class PendingPositives(Component):
    """Where silence is a label: how many corrections are still to come.

    A correction that takes a rounds can have come only for the tickets that are so old, n - a of n.
    So one of the age a stands for w_a = (n + 100) / (n - a + 100) of its kind, at most ten (see
    ``ImportanceWeights``), one of which has come. With C the corrections so far,

        D = sum (w_a - 1)

    are still to come, but no more than a quarter of the open tickets: at the end of a day most
    corrections have come. The base of predictions counts D as if they had come. Otherwise it begins
    too low, experts learn to add what it lacks, and have it twice when it comes. There is no
    theorem.

    ``corrections`` counts them by age, less those that were taken back.
    """

    FIELDS = {"is_counting": FLAG, "next_update": COUNT, "corrections": NUMBER}

    def __init__(self):
        self.is_counting = self.next_update = 0
        self.corrections = np.zeros(BUCKETS)
        self.corrected = floats_at(self.corrections)

    def record(self, rounds, ticket, is_taken_back):
        """Count a correction by its age; one that is taken back is subtracted at its own."""
        self.corrected[bucket_of(rounds - ticket - 1)] += -1.0 if is_taken_back else 1.0
        if self.is_counting == 0:
            self.is_counting = 1
            self.next_update = rounds + FEWEST_UPDATES

    def update(self, rounds, open):
        """Return D."""
        came = 0.0
        expected = 0.0
        for j in range(BUCKETS):
            count = self.corrected[j]
            if count != 0.0:
                # The mean of the integer ages in the bucket: n - a tickets are a rounds old.
                age = min(0.5 * (edge_of(j) + edge_of(j + 1) - 1), 1.0 * rounds)
                came += count
                expected += count * full_weight(rounds, age)
        self.next_update = rounds + max(min(rounds // UPDATES, MOST_UPDATES), FEWEST_UPDATES)
        return min(max(expected - came, 0.0), SHARE_OF_OPEN * open)

    def verify(self, state):
        counts = state["corrections"]
        demand((counts == np.floor(counts)).all(), "corrections")
        if state["is_counting"]:
            demand(state["next_update"] > 0, "corrections")
        else:
            demand(state["next_update"] == 0 and not counts.any(), "corrections")


# --- Corrections of what is shown ----------------------------------------------------------------

LN_2 = cython.declare(cython.double, math.log(2.0))


class Censoring(Component):
    """The delay of a label may depend on the label: estimates from ages of labels and open tickets.

    Cancellations are known within days, stays on the day of arrival; short journeys end before long
    ones. The labels so far then differ from those that are still to come, and a model that learns
    from them alone is biased until the others arrive.

    Tickets since the first label are sorted into buckets of ages. In bucket j there are n_j labels,
    whose residuals sum to s_j, and c_j tickets that are open at such an age. R_j tickets reached
    the bucket, less c_j / 2. S_j = prod_{i <= j} (1 - n_i / R_i) is the share of tickets without a
    label beyond it, and m_j = S_{j-1} n_j / R_j the share whose label comes there (Kaplan and
    Meier, "Nonparametric estimation from incomplete observations", JASA 1958). Unlike a mean over
    the labels so far, sum_j m_j s_j / n_j does not favour labels that come early (Aalen and
    Johansen, "An empirical transition matrix", Scandinavian Journal of Statistics 1978). Nothing is
    known of the tail, the share S without a label at any age so far.

    Have labels stopped coming? If as many come in every round of waiting, an age a after t tickets
    has the density 2 (1 - a / t) / t, as only t - a tickets are so old. Against it stands
    4 (1 - a / t)^3 / t, where labels come at young ages. The likelihood ratio of N labels is
    prod 2 (1 - a / t)^2.

    Subclasses set ``offset`` and ``shrinkage``, which correct predictions by these estimates.
    Experts and their weights never see the correction: it changes what is shown, not what is
    learned. ``since`` is the first ticket after the first label, from which on labels are counted;
    ``earlier_residuals`` is the sum over older tickets.
    """

    FIELDS = {
        "is_counting": FLAG,
        **dict.fromkeys(("since", "next_update"), COUNT),
        "offset": NUMBER,
        "shrinkage": Range(0.0, 1.0),
        "earlier_residuals": NUMBER,
        "counts": AMOUNT,
        "sums": NUMBER,
    }

    def __init__(self, tickets, labels, label_at):
        self.tickets, self.statistics, self.label_at = tickets, labels, label_at
        self.loss = labels.loss
        self.is_counting = self.since = self.next_update = 0
        self.offset, self.shrinkage, self.earlier_residuals = 0.0, 1.0, 0.0
        self.counts, self.sums = np.zeros((2, BUCKETS))
        self.work = np.zeros(BUCKETS)
        self.labelled, self.residuals = floats_at(self.counts), floats_at(self.sums)
        self.pending_by_age = floats_at(self.work)

    def corrected(self, p):
        """Return what is shown for a prediction."""
        return p

    def correct(self):
        """Set offset and shrinkage by the estimates."""

    def record(self, ticket, residual):
        """Count the first label of a ticket by its age."""
        rounds = self.tickets.rounds
        if self.is_counting == 0:
            self.is_counting = 1
            self.since = rounds
            self.next_update = rounds + FEWEST_UPDATES
        if ticket >= self.since:
            bucket = bucket_of(rounds - ticket - 1)
            self.labelled[bucket] += 1.0
            self.residuals[bucket] += residual
        else:
            self.earlier_residuals += residual

    def restart(self):
        """Forget all ages and residuals, and count from the next ticket on."""
        self.is_counting = 1
        self.since = self.tickets.rounds
        self.next_update = self.since + FEWEST_UPDATES
        self.earlier_residuals = 0.0
        self.reset()
        for j in range(BUCKETS):
            self.labelled[j] = self.residuals[j] = 0.0

    def reset(self):
        """Remove the correction, as no ticket is open."""
        self.offset, self.shrinkage = 0.0, 1.0

    def update(self):
        """Compute the correction again."""
        rounds = self.tickets.rounds
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
        self.labels = self.total = self.pending = 0.0
        for j in range(BUCKETS):
            self.labels += self.labelled[j]
            self.total += self.residuals[j]
            self.pending += self.pending_by_age[j]
        self.rounds = self.tickets.rounds - self.since
        middle = bucket_of((self.tickets.rounds - self.since) >> 1)
        reached, before = self.labels + self.pending, 0.0
        self.tail, self.mean, self.stopped = 1.0, 0.0, 0.0
        self.pairs = self.late = self.late_total = 0.0
        for j in range(BUCKETS):
            count, total = self.labelled[j], self.residuals[j]
            if count > 0.0:
                share = self.tail * min(count / (reached - 0.5 * self.pending_by_age[j]), 1.0)
                self.tail -= share
                self.mean += share * total / count
                # Ages are continuous from 0 to t in the densities: the age a is [a, a + 1].
                age = min(0.5 * (edge_of(j) + edge_of(j + 1)), self.rounds - 0.5)
                self.stopped += count * (LN_2 + 2.0 * ln(1.0 - age / self.rounds))
                self.pairs += total * (before + 0.5 * (count - total))
                before += count - total
                if j > middle:
                    self.late += count
                    self.late_total += total
            reached -= count + self.pending_by_age[j]
        self.earlier = max(self.statistics.labels - self.labels, 0.0)

    def verify(self, state):
        counts, sums = state["counts"], state["sums"]
        demand((np.abs(sums) <= LARGE * counts).all(), "ages of labels")
        if not state["is_counting"]:
            nothing = state["since"] == state["next_update"] == 0 and not counts.any()
            plain = (state["offset"], state["shrinkage"], state["earlier_residuals"])
            demand(nothing and plain == (0.0, 1.0, 0.0), "censored labels")
            return
        demand(0 < state["since"] < state["next_update"], "censored labels")
        self.verify_correction(state)

    def verify_correction(self, state):
        """Demand that offset and shrinkage can be."""
        demand(state["shrinkage"] == 1.0, "censored labels")


COMING = cython.declare(cython.double, math.log(100.0))  # before any label: they do not stop
PRIOR = cython.declare(cython.double, 2.0)  # labels: what is assumed before labels say otherwise
MOST_LOG = 120.0


class BinaryCensoring(Censoring):
    """A correction of yes/no predictions while labels are censored.

    *Promise.* While one answer is known earlier than the other, by 400 rounds or more, and delays
    vary, the log loss over 1,500 rounds and more is at most that of the running share of the m
    known answers, (yes + 1/2) / (m + 1): measured over seeds, not proved. See docs/linear.md for
    other delays.

    The residual is 1 for yes and 0 for no. With F the share of tickets whose yes comes at an age so
    far, and S the tail, the share of yes is between F and F + S. Where in between depends on how
    surely labels have stopped coming, f = k L / (L + 100). Here L is the likelihood ratio, with
    odds of 1 to 100 before any label, and k says whether the delay depends on the answer: with B of
    the rarer answer and r the rank correlation of answer and age, B r^2 is 1/3 by chance, so
    k = max(r^2 - 1 / (3 B), 0), and 1 while there is only one answer. If both take equally long,
    labels that do not come say nothing.

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
    and q are of tickets since the first label. A score, where 1 and -1 are certain, has its offset
    in this range.
    """

    def corrected(self, p):
        return p if self.shrinkage == 1.0 else self.offset + self.shrinkage * (p - self.offset)

    def correct(self):
        yes, no = self.total, self.labels - self.total
        answers = self.labels + self.earlier
        running = (yes + self.earlier_residuals + 0.5) / (answers + 1.0)
        depends = self.dependence(yes, no)
        odds = exp(-fabs(self.stopped - COMING))
        stopped = depends * (1.0 if self.stopped >= COMING else odds) / (1.0 + odds)
        nearest = min(max(self.nearest_to_half(), self.mean), self.mean + self.tail) - self.mean
        assumed = stopped * nearest + (1.0 - stopped) * self.tail * running
        all_yes = yes + self.earlier_residuals
        known = 1.0
        if (yes <= 0.0 or no <= 0.0) and 0.0 < all_yes < answers:
            known = 0.0
        in_tail = known * self.tail * self.late_total + PRIOR * assumed
        in_tail = in_tail / (known * self.late + PRIOR)
        share = ((self.mean + in_tail) * answers + 0.5) / (answers + 1.0)
        self.offset = ln(share / (1.0 - share))
        if not self.loss.has_link:  # a score
            self.offset = min(max(self.offset, -1.0), 1.0)
        rarer = min(yes, no) + 0.5
        unlike = depends * self.rounds * fabs(in_tail - self.tail * running)
        self.shrinkage = rarer / (rarer + unlike)

    def dependence(self, yes, no):
        """Return k."""
        if min(yes, no) <= 0.0:
            return 1.0
        r = 2.0 * self.pairs / (yes * no) - 1.0
        return max(r * r - 1.0 / (3.0 * min(yes, no)), 0.0)

    def nearest_to_half(self):
        """Return h."""
        count = self.earlier + self.earlier_pending + PRIOR
        yes = self.earlier_residuals + 0.5 * PRIOR
        return min(max(0.5, yes / count), (yes + self.earlier_pending) / count)

    def verify_correction(self, state):
        demand(abs(state["offset"]) <= MOST_LOG, "censored labels")
        counts, sums = state["counts"], state["sums"]
        demand(((sums >= 0.0) & (sums <= counts)).all(), "censored labels")
        demand(state["earlier_residuals"] >= 0.0, "censored labels")


class NumericCensoring(Censoring):
    """A correction of predictions of numbers while labels are censored.

    The offset is added to every prediction. It is

        K = o / (N + o) (mean by Aalen and Johansen - mean)

    of the residuals of labels, with N labels since the first and o tickets open. Both means agree
    where residuals do not depend on the age. ``LabelLoss.offset`` says what that is in the unit of
    predictions. Shown is the prediction and the offset, within 0 and the labels so far. There is no
    theorem.
    """

    def corrected(self, p):
        if self.offset == 0.0:
            return p
        low, high = min(self.statistics.floor, 0.0), max(self.statistics.ceiling, 0.0)
        return min(max(p + self.offset, low), high)

    def correct(self):
        share = self.pending / (self.labels + self.pending)
        offset = share * (self.mean / (1.0 - self.tail) - self.total / self.labels)
        self.offset = self.loss.offset(offset, self.statistics.mean, self.statistics.unit)
