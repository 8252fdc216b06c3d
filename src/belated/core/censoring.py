# cython: infer_types=True
"""Labels that take long are censored: how long to wait, what labels weigh, what is corrected.

Ages count predictions after the ticket's own. They are counted in buckets: one each up to 15, then
four per doubling. ``Linear`` has the events; nothing here changes what is learned, but for
``importance_weight`` and ``Delays``.
"""

from __future__ import annotations

import math

import cython
import numpy as np

from belated.core.component import COUNT, Range, demand

if not cython.compiled:
    from math import fabs

    from belated.core.component import Component
    from belated.core.numerics import exp, floats_at, ln, part, ticket_uniform

    QUANTILES = 16

LN_2 = cython.declare(cython.double, math.log(2.0))
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


UPDATES = cython.declare(cython.longlong, 16)  # an update when tickets have grown by 1/16
FEWEST_UPDATES = cython.declare(cython.longlong, 8)  # predictions between two updates
MOST_UPDATES = cython.declare(cython.longlong, 256)

# --- When silence is learned as a label -----------------------------------------------------------

PASSES = cython.declare(cython.longlong, 20)  # of expectation maximisation
PARTS_OF_DEADLINE = cython.declare(cython.double, 4096.0)  # units of age
CELL_UNITS = cython.declare(cython.double, 16.0)
CELLS = cython.declare(cython.longlong, 256)  # those of a deadline
SHAPES = cython.declare(cython.longlong, 4)  # 1, 4, 16, 64
GROUPS = cython.declare(cython.longlong, 16)  # of tickets by age
STEP = cython.declare(cython.double, 2.0**-0.25)  # from the edge of a group to the next
PLACES = cython.declare(cython.longlong, 80)  # ages over means in tables, from 2^10 down by STEP
MEAN_PLACE = cython.declare(cython.longlong, 40)  # that of an age which is the mean
FEWEST_REACHED = cython.declare(cython.double, 0.25)  # of all tickets
LEAST_EXPOSURE = cython.declare(cython.double, 0.125)  # of all tickets
PATIENCE = cython.declare(cython.double, 10.0)
NEVER = cython.declare(cython.double, 1e140)


def share_by(k, x):
    """Return the distribution function of a gamma distribution with shape k and scale 1 at x."""
    chance, below = exp(-x), 0.0
    for i in range(k):
        below += chance
        chance *= x / (i + 1)
    if x > k:
        return 1.0 - below
    above, n = 0.0, 1.0 * k
    while chance > 1e-17 * above:
        above += chance
        n += 1.0
        chance *= x / n
    return above


def tabulate(share, mean_share):
    """Write F, and the mean of F up to an age, by shape and the age over the mean."""
    k: cython.longlong = 1
    for shape in range(SHAPES):
        for place in range(PLACES):
            x = k * exp(LN_2 * 0.25 * (MEAN_PLACE - place))
            at = shape * PLACES + place
            share[at] = share_by(k, x)
            mean_share[at] = share[at] - share_by(k + 1, x) * k / x
        k *= 4


SHARE, MEAN_SHARE = np.zeros((2, SHAPES * PLACES))
tabulate(floats_at(SHARE), floats_at(MEAN_SHARE))


class Delays(Component):
    """Where silence is a label: when it is learned.

    *Principle.* Silence says something only if an answer could have come. So the silence of a
    ticket is learned at an age that answers have, as if a no took as long to be heard as a yes:
    a prediction then sees as large a share of the one as of the other, and is right in the mean.

    A moment is a time in units of 1/4096 of the deadline, or a number of predictions where there is
    none. An age is that of a ticket when answers came last: until more come, nothing is learned
    from the silence since, be they a stream or one file a week. Where nothing comes for ten times
    as long as ever before, silence counts again. The answers of a set may have come at any time
    since the set before.

    *Share by age.* With N_b tickets that have reached the age b, f_b answers per ticket come at it:

        f_b = (1 / N_b) sum_i f_b 1(b in I_i) / f(I_i),      H(a) = sum_{b <= a} f_b,

    where the answer i came at an age in the interval I_i. That is the estimate of most likelihood
    under censoring by intervals (Turnbull, "The empirical distribution function with arbitrarily
    grouped, censored and truncated data", JRSS B 1976), found by 20 steps for each set; what
    earlier sets have added stays. N_b is at least a quarter of all tickets.

    *Share of yes.* The ages so far say nothing about later ones. So delays are given gamma
    distributions with shapes k of 1 (exponential), 4, 16 and 64 (nearly constant) and means m. With
    D answers at the ages a_i, and tickets of the ages t_j, at most the deadline,

        L(k, m) = prod_i f(a_i) / S^D min(T / m, 1),    S = sum_j F(t_j),

    with f and F the density and the distribution function of the delays: the likelihood of so many
    answers at these ages, for the best share of yes. The prior takes all shapes as equally likely,
    and m as equally likely in every doubling up to the age T of the oldest ticket, and in
    proportion to 1 / m beyond. No answer takes longer than the deadline, so S / F(deadline) tickets
    could have been answered by now. With E the mean of that, P = (D + 1/2) / (E + 1) is the share
    of yes, and F(a) = H(a) E / D that of answers that come by the age a. Tickets are counted in
    groups, as if they were spread evenly between the ages T, 2^(-1/4) T, ... in each. Means are
    taken at such steps as well, up to 64 T: with fewer, E depends on which of them is the nearest.
    Two safety rules: E is at least n / 8, so that P is at most eight times the share of yes so far;
    and with the D' answers and the E' of the update before, at least E' + (1 - D' / D) E / 2: where
    E was too large, some silence is learned between answers all the same. Before the first answer
    predictions are those of n silent tickets.

    *When.* Of a yes that was heard all is learned at once. So a silence is learned with the chance

        w = (1 - P) F / (1 - P F)

    by the age a, the probability that a no, which would take as long, would have been heard given
    that no yes was. Tickets are taken in blocks of sixteen, which have the quantiles w = 1/32,
    3/32, ... among them, in an order that a hash of the block decides.

    ``latest`` is the moment of the latest answers, ``gap`` the longest time without, ``came`` has
    answers by age, ``limits`` the age of every quantile, and ``passed`` its next block. With a
    deadline ``cells`` has how many tickets were asked in each 256th part of it, up to the part
    ``newest``. ``exposed`` and ``counted`` are E and D at the latest update.
    """

    FIELDS = {
        **dict.fromkeys(("latest", "gap"), Range(0.0, float(1 << 48))),
        **dict.fromkeys(("came", "limits", "passed", "cells", "exposed", "counted"), AMOUNT),
        **dict.fromkeys(("newest", "next_update"), COUNT),
    }

    def __init__(self):
        self.latest = self.gap = 0.0
        self.newest = self.next_update = 0
        self.exposed = self.counted = 0.0
        self.came, self.cells = np.zeros(BUCKETS), np.zeros(CELLS)
        self.limits, self.passed = np.full(QUANTILES, NEVER), np.zeros(QUANTILES)
        self.work = np.zeros(3 * BUCKETS + CELLS + 1 + GROUPS + 2 * SHAPES * PLACES)
        self.count, self.cell = floats_at(self.came), floats_at(self.cells)
        self.limit, self.block = floats_at(self.limits), floats_at(self.passed)
        self.density = floats_at(self.work)
        self.fresh = part(self.density, BUCKETS)
        self.reached = part(self.density, 2 * BUCKETS)
        self.later = part(self.density, 3 * BUCKETS)
        self.weight = part(self.later, CELLS + 1)
        self.likelihood = part(self.weight, GROUPS)
        self.found = part(self.likelihood, SHAPES * PLACES)
        self.share, self.mean_share = floats_at(SHARE), floats_at(MEAN_SHARE)

    # --- How many tickets have reached an age ---

    def count_asked(self, moment):
        """Count a ticket of a model with deadlines."""
        cell = cython.cast(cython.longlong, moment / CELL_UNITS)
        if cell - self.newest >= CELLS:
            self.newest = cell - CELLS
        while self.newest < cell:
            self.newest += 1
            self.cell[self.newest & (CELLS - 1)] = 0.0
        self.cell[cell & (CELLS - 1)] += 1.0

    def count_reached(self, moment, tickets, by_time):
        """Write how many tickets have reached the middle of each bucket."""
        for i in range(CELLS):
            self.later[i + 1] = self.later[i] + self.cell[(self.newest - i) & (CELLS - 1)]
        for j in range(BUCKETS):
            age = self.middle(j, moment)
            younger = self.younger(age, moment) if by_time else age
            self.reached[j] = max(tickets - younger, FEWEST_REACHED * tickets)

    def younger(self, age, moment):
        """Return how many tickets are younger than an age, as if spread evenly in their cells."""
        newest, place = 1.0 * self.newest, (moment - age) / CELL_UNITS
        if place >= newest:
            width = min(moment / CELL_UNITS - newest, 1.0)
            return self.later[1] * max(newest + width - place, 0.0) / max(width, 1e-9)
        back = min(newest - place, CELLS - 1.0)
        cell = cython.cast(cython.longlong, min(back, CELLS - 2.0))
        more = self.later[cell + 2] - self.later[cell + 1]
        return self.later[cell + 1] + (back - cell) * more

    def middle(self, j, moment):
        """Return the mean age in a bucket."""
        return max(0.5 * (edge_of(j) + min(edge_of(j + 1), moment) - 1), 0.0)

    # --- Answers by age ---

    def begin_pass(self, tickets):
        """Set densities by the answers so far, and one more at any age."""
        for j in range(BUCKETS):
            came = self.count[j] + self.fresh[j]
            self.density[j] = 1.0 / tickets / tickets
            if came > 0.0:
                self.density[j] += came / self.reached[j] / (edge_of(j + 1) - edge_of(j))
            self.fresh[j] = 0.0

    def record(self, asked, moment, is_first):
        """Count an answer to a ticket that was asked at a moment, in the first pass or later.

        Where its age is all but known nothing has to be estimated; return whether it is not.
        """
        age = cython.cast(cython.longlong, max(moment - asked, 0.0))
        least = cython.cast(cython.longlong, max(self.latest - asked + 1.0, 0.0))
        least = min(least, age)
        first, last = bucket_of(least), bucket_of(age)
        if is_first and last - first <= 1:
            self.count[last] += 1.0
        if is_first or last - first <= 1:
            return last - first > 1
        total = 0.0
        for j in range(first, last + 1):
            total += self.density[j] * self.overlap(j, least, age)
        for j in range(first, last + 1):
            self.fresh[j] += self.density[j] * self.overlap(j, least, age) / total
        return True

    def overlap(self, j, least, age):
        """Return how many ages of a bucket are in a range; the last one has all that are older."""
        end = age + 1 if j == BUCKETS - 1 else min(edge_of(j + 1), age + 1)
        return end - max(edge_of(j), least)

    def end_passes(self):
        """Count the answers of a set for good."""
        for j in range(BUCKETS):
            self.count[j] += self.fresh[j]
            self.fresh[j] = 0.0

    # --- Which silence is learned ---

    def group(self, moment, tickets, by_time):
        """Group tickets by age: ``weight`` is of the mean of F up to each edge, in their sum.

        ``oldest`` is the first edge, ``finished`` counts older tickets, and ``beyond`` the places
        from there to the deadline.
        """
        self.oldest, self.finished, self.beyond = max(moment, 1.0), 0.0, PLACES
        if not by_time:
            for g in range(GROUPS):
                self.weight[g] = 0.0 if g > 0 else tickets
            return
        edge, self.beyond = PARTS_OF_DEADLINE, 0
        while edge * STEP >= self.oldest:
            edge *= STEP
            self.beyond += 1
        self.oldest = edge
        self.finished = max(tickets - self.younger(edge, moment), 0.0)
        older, before = tickets - self.finished, 0.0
        for g in range(GROUPS):
            lower = edge * STEP if g < GROUPS - 1 else 0.0
            younger = self.younger(lower, moment)
            density = (older - younger) / (edge - lower)
            self.weight[g] = (density - before) * edge
            edge, older, before = lower, younger, density

    def estimate(self, moment, tickets):
        """Estimate E by the answers so far."""
        total = ages = logarithms = log_gamma = 0.0
        for j in range(BUCKETS):
            if self.count[j] > 0.0:
                age = self.middle(j, moment)
                total += self.count[j]
                ages += self.count[j] * age
                logarithms += self.count[j] * ln(max(age, 0.5))
        if total == 0.0:
            return
        fits: cython.Py_ssize_t = 0
        k: cython.longlong = 1
        for shape in range(SHAPES):
            first: cython.Py_ssize_t = shape * PLACES
            m = self.oldest / 1024.0
            for place in range(first, first + PLACES - GROUPS + 1):
                last = max(place - self.beyond, first)
                s = self.finished * self.share[last]
                for g in range(GROUPS):
                    s += self.weight[g] * self.mean_share[place + g]
                self.found[fits] = s / self.share[last]
                log = (k - 1) * logarithms - ages * k / m - ln(max(m / self.oldest, 1.0))
                log -= total * (k * ln(m / k) + log_gamma + ln(s))
                self.likelihood[fits] = log
                fits += 1
                m /= STEP
            for i in range(k, 4 * k):
                log_gamma += ln(1.0 * i)
            k *= 4
        best, weights, exposed = -NEVER, 0.0, 0.0
        for i in range(fits):
            best = max(best, self.likelihood[i])
        for i in range(fits):
            weight = exp(self.likelihood[i] - best)
            weights += weight
            exposed += weight * self.found[i]
        exposed = max(exposed / weights, total, LEAST_EXPOSURE * tickets)
        more = 0.5 * exposed * (total - self.counted) / total
        self.exposed = max(exposed, min(self.exposed + more, 1.0 * tickets))
        self.counted = total

    def update(self, moment, tickets, by_time):
        """Set from what age on silence is learned, for every quantile."""
        self.next_update = tickets + max(min(tickets // UPDATES, MOST_UPDATES), FEWEST_UPDATES)
        self.count_reached(moment, tickets, by_time)
        self.group(moment, tickets, by_time)
        self.estimate(moment, tickets)
        level: cython.Py_ssize_t = 0
        came = 0.0
        for j in range(BUCKETS):
            if self.count[j] > 0.0 and level < QUANTILES:
                more = self.count[j] / self.reached[j] * self.exposed / self.counted
                width = edge_of(j + 1) - edge_of(j)
                while level < QUANTILES and self.least_share(level) <= came + more:
                    part_of = (self.least_share(level) - came) / more
                    self.limit[level] = edge_of(j) + width * part_of
                    level += 1
                came += more
        while level < QUANTILES:
            self.limit[level] = NEVER
            level += 1

    def least_share(self, level):
        """Return F at which the silence of a quantile is learned."""
        w, yes = (level + 0.5) / QUANTILES, (self.counted + 0.5) / (self.exposed + 1.0)
        return w / (1.0 - yes + yes * w)

    def hear(self, moment, tickets, by_time):
        """Note that answers came; they are counted."""
        self.gap = max(self.gap, moment - self.latest)
        self.latest = moment
        if tickets >= self.next_update:
            self.update(moment, tickets, by_time)

    def is_overdue(self, moment):
        """Tell whether nothing was heard for far longer than ever before."""
        return moment - self.latest > PATIENCE * self.gap and self.gap > 0.0

    def next(self, level):
        """Return the next ticket of a quantile."""
        block = cython.cast(cython.longlong, self.block[level])
        shuffle = cython.cast(cython.longlong, QUANTILES * ticket_uniform(block))
        return QUANTILES * block + (level ^ shuffle)

    def advance(self, level):
        """Pass the next ticket of a quantile."""
        self.block[level] += 1.0

    def verify(self, state):
        demand(state["counted"] <= state["exposed"], "answers by age")
        passed = state["passed"]
        demand((passed == np.floor(passed)).all() and (passed <= COUNT.most).all(), "silence")


# --- Corrections of what is shown ----------------------------------------------------------------

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
