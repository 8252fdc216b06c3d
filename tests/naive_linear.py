"""A slow, obvious version of the linear model that learns from late labels.

Nothing here imports the library and nothing here is fast: plain dicts, lists and floats, and roots
are found by halving an interval.

Six linear experts share the rows. Experts 1 to 4 are AdaGrad per coordinate at the scales
a = 1/64, 1/16, 1/4, 1 with implicit steps, the first with the energies of the second; expert 5 bets
coins; expert 6 has a mean of the weights of expert 3. Each learns from a label at its weights of
that moment (fresh gradients). MLpol mixes them by the predictions that were issued. What is shown
mixes probabilities and rates, not their logarithms.

Symbols: x a feature and s its standardised value, p a prediction, y a label, h its weight,
l'(p, y) the slope of the loss in p.

A row is a list of (coordinate, value); a value of zero that stands in it counts like any other. A
coordinate that stands in a row more than once is treated entry by entry, in order: each entry moves
the standardiser before it is standardised itself, each adds to A before its own step size is taken,
and the entries of a step are applied one after the other. A ticket touches the coordinates that
stand in its row, so penalties act on these, also where s = 0.

What is kept of a coordinate is exact, or with ``narrow`` as short as the library keeps it: rounded
where it is stored, and nowhere else.
"""

from __future__ import annotations

import copy
import functools
import itertools
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from naive_silence import AGES, QUANTILES, NaiveDelays, scattered

Loss = Literal["squared", "absolute", "quantile", "huber", "hinge", "logistic", "poisson"]
Wait = Literal["adaptive"] | Mapping[str, int] | None
Row = list[tuple[int, float]]

SCALES = [1.0 / 64.0, 1.0 / 16.0, 1.0 / 4.0, 1.0]
CAUTION = [0.08, 0.04, 0.0, 0.01]  # 0.01 / sqrt(a), but not for the expert that is averaged
FIRST = [0.0, 0.0, 0.25, 0.0625]  # least energies before the first label, in squared units
EXPERTS = 6
AVERAGED, COIN, MEAN = 2, 4, 5
ENDOWMENT = 0.25
BIAS = -1
ANSWERS = ("logistic", "hinge")


# --- Losses --------------------------------------------------------------------------------------


def sigmoid(p: float) -> float:
    """Return 1 / (1 + exp(-p)), without overflow."""
    if p >= 0.0:
        return 1.0 / (1.0 + math.exp(-p))
    return math.exp(p) / (1.0 + math.exp(p))


def sign(v: float) -> float:
    """Return -1, 0 or 1."""
    return float(v > 0.0) - float(v < 0.0)


def clip(v: float, low: float, high: float) -> float:
    """Return the nearest number in [low, high]."""
    return max(low, min(v, high))


def soft(w: float, t: float) -> float:
    """Soft threshold sign(w) max(|w| - t, 0)."""
    return sign(w) * max(abs(w) - t, 0.0)


@dataclass(frozen=True)
class NaiveLoss:
    """A loss l(p, y) of a prediction and a label, as slopes and implicit steps.

    ``quantile`` is the level tau and ``delta`` the width of the quadratic part of Huber's loss.
    """

    kind: Loss
    quantile: float = 0.5
    delta: float = 1.0

    def value(self, p: float, y: float) -> float:
        """Return l(p, y)."""
        d = p - y
        if self.kind == "squared":
            return d * d / 2.0
        if self.kind == "absolute":
            return abs(d)
        if self.kind == "quantile":
            return max((1.0 - self.quantile) * d, -self.quantile * d)
        if self.kind == "huber":
            inner = min(abs(d), self.delta)
            return inner * inner / 2.0 + self.delta * (abs(d) - inner)
        if self.kind == "hinge":
            return max(1.0 - y * p, 0.0)
        if self.kind == "logistic":
            return max(p, 0.0) + math.log1p(math.exp(-abs(p))) - y * p
        return math.exp(p) - y * p

    def slope(self, p: float, y: float) -> float:
        """Return l'(p, y), and 0 where a minimum is a kink."""
        d = p - y
        if self.kind == "squared":
            return d
        if self.kind == "absolute":
            return sign(d)
        if self.kind == "quantile":
            return 1.0 - self.quantile if d > 0.0 else -self.quantile if d < 0.0 else 0.0
        if self.kind == "huber":
            return clip(d, -self.delta, self.delta)
        if self.kind == "hinge":
            return -y if y * p < 1.0 else 0.0
        if self.kind == "logistic":
            return sigmoid(p) - y
        return math.exp(p) - y

    def implicit(self, p: float, y: float, q: float) -> float:
        """Solve r = l'(p - q r, y) for r; at a kink, r is a slope between the two sides."""
        d = p - y
        if self.kind == "squared":
            return d / (1.0 + q)
        if self.kind == "absolute":
            return clip(d / q, -1.0, 1.0)
        if self.kind == "quantile":
            return clip(d / q, -self.quantile, 1.0 - self.quantile)
        if self.kind == "huber":
            return clip(d / (1.0 + q), -self.delta, self.delta)
        if self.kind == "hinge":
            return -y * min((1.0 - y * p) / q, 1.0) if y * p < 1.0 else 0.0
        return self._bisected(p, y, q)

    def _bisected(self, p: float, y: float, q: float) -> float:
        """Halve the interval between 0 and g, on which r - l'(p - q r, y) rises through zero."""
        g = self.slope(p, y)
        low, high = min(g, 0.0), max(g, 0.0)
        while low < (middle := (low + high) / 2.0) < high:
            if middle < self.slope(p - q * middle, y):
                low = middle
            else:
                high = middle
        return (low + high) / 2.0

    def together(self, shares: list[float], said: list[float], mixed: float) -> float:
        """Return what experts say together, before the link: the mean of what users would see."""
        if self.kind == "logistic":
            odds = sum(v * sigmoid(p) for v, p in zip(shares, said, strict=True)) / sum(
                v * sigmoid(-p) for v, p in zip(shares, said, strict=True)
            )
            return math.log(odds)
        if self.kind == "poisson":
            return math.log(sum(v * math.exp(p) for v, p in zip(shares, said, strict=True)))
        return mixed

    def shown(self, p: float) -> float:
        """Return what the user sees: a probability, a mean count, or p itself."""
        if self.kind == "logistic":
            return sigmoid(p)
        return math.exp(p) if self.kind == "poisson" else p


# --- Short numbers -------------------------------------------------------------------------------


def rounded(v: float) -> float:
    """Return the nearest number in single precision."""
    single: float = struct.unpack("<f", struct.pack("<f", v))[0]
    return single


# --- State ---------------------------------------------------------------------------------------


@dataclass
class Coordinate:
    """All that is kept of one coordinate: the standardiser and six experts.

    The coin bets the fraction theta / (G + L) of its wealth, which is counted in units of L.
    """

    narrow: bool = False
    count: int = 0
    mean: float = 0.0
    variance: float = 0.0
    w: list[float] = field(default_factory=lambda: [0.0] * len(SCALES))
    A: list[float] = field(default_factory=lambda: [0.0] * len(SCALES))
    mean_of_w: float = 0.0
    fraction: float = 0.0
    wealth: float = 0.0
    G: float = 0.0
    L: float = 0.0

    def short(self, v: float) -> float:
        """Return a number as it is kept."""
        return rounded(v) if self.narrow else v

    def energy_and_rate(self, A: float, S: float, unit: float) -> tuple[float, float]:
        """Return A as it is kept, and S / sqrt(A); if narrow, computed in the unit of slopes."""
        if A == 0.0 or not self.narrow:
            return A, S / math.sqrt(A) if A > 0.0 else 0.0
        root = rounded(math.sqrt(rounded(A / unit / unit)))
        return rounded(rounded(unit) * root) ** 2, rounded(rounded(S / unit) / root)

    def short_root(self, v: float) -> float:
        """Return a number of which the root is kept."""
        return rounded(math.sqrt(v)) ** 2 if self.narrow else v

    def weight(self, k: int) -> float:
        """Return the weight of expert k."""
        if k == MEAN:
            return self.mean_of_w
        return self.fraction * self.wealth if k == COIN else self.w[k]

    def standardise(self, x: float) -> float:
        """Welford's step, then (x - mean) / sd; a constant that is not 0 becomes 1."""
        self.count += 1
        d = x - self.mean
        mean = self.mean + d / self.count
        variance = self.variance + (d * (x - mean) - self.variance) / self.count
        self.mean = self.short(mean)
        self.variance = self.short_root(variance)
        if variance > 1e-12 * mean**2:
            return self.short((x - mean) / math.sqrt(variance))
        return 1.0 if mean != 0.0 else 0.0

    def average(self, still_open: float) -> None:
        """Let the weight of expert 3 count in the mean, by about how many labels there were."""
        share = 2.0 / (max(self.count - still_open, 1.0) + 1.0)
        away = self.w[AVERAGED] - self.mean_of_w
        self.mean_of_w = self.short(self.mean_of_w + share * away)

    def size(self, s: float) -> float:
        """Return what an open ticket with the value s adds to the caution."""
        return math.floor(1024.0 * abs(s) + 0.5) / 1024.0 if self.narrow else abs(s)

    def bet(self, S: float, z: float) -> None:
        """Learn a gradient z of the coin; its wealth in units of L is from S / 4 on."""
        if z == 0.0:
            return
        least = ENDOWMENT * S
        theta = self.fraction * (self.G + self.L) - z
        won = max((self.wealth - least) * self.L - z * self.weight(COIN), 0.0)
        L, G = max(self.L, abs(z)), self.G + abs(z)
        self.L, self.G = self.short(L), self.short(G)
        self.fraction = self.short(theta / (G + L))
        self.wealth = self.short(least + min(won / L, 100.0 * S))


@dataclass
class Labels:
    """Weighted statistics of the labels; a label of weight h counts h times."""

    total: float = 0.0
    mean: float = 0.0
    squares: float = 0.0
    sum: float = 0.0
    low: float = math.inf
    high: float = -math.inf
    expected: tuple[float, float] = (0.0, 0.0)

    def add(self, y: float, h: float) -> None:
        """Count a label."""
        self.total += h
        d = y - self.mean
        self.mean += d * (h / self.total)  # the first mean is its label exactly
        self.squares += h * d * (y - self.mean)
        self.sum += h * y
        self.low = min(self.low, y)
        self.high = max(self.high, y)

    def replace(self, old: float, new: float, everything: list[tuple[float, float]]) -> None:
        """Count a label in the place of another; ``everything`` is what counts now, and how often.

        A label that replaces another counts once, as that did.
        """
        self.sum += new - old
        self.mean = sum(h * y for y, h in everything) / sum(h for _, h in everything)
        self.squares = sum(h * (y - self.mean) ** 2 for y, h in everything)
        self.low = min(self.low, new)
        self.high = max(self.high, new)

    def base(self, loss: Loss) -> float:
        """Return the constant that predictions start from; before any label that of ``expected``.

        That is a label, and how often it is expected.
        """
        mean, total, summed = self.mean, self.total, self.sum
        if total == 0.0:
            mean, total = self.expected
            summed = mean * total
        if loss == "logistic":
            return math.log(max(summed, 0.0) + 0.5) - math.log(max(total - summed, 0.0) + 0.5)
        if loss == "poisson":
            return math.log((summed + 0.5) / (total + 0.5))
        return mean

    def scale(self, loss: Loss) -> float:
        """S: 1 for a link function, else the standard deviation of the labels."""
        if self.total == 0.0:
            return 0.0
        if loss in ("logistic", "poisson"):
            return 1.0
        return math.sqrt(self.squares / self.total)

    def clipped(self, loss: Loss, p: float) -> float:
        """Keep an issued prediction where labels have been."""
        if self.total == 0.0 or loss == "logistic":
            return p
        if loss == "poisson":
            return min(p, math.log(max(self.high, 1.0)) + 1.0)
        return clip(p, self.low, self.high)


@dataclass
class Mixture:
    """MLpol: v_k is in proportion to max(R_k, 0) / (B^2 + Q_k)."""

    v: list[float] = field(default_factory=lambda: [1.0 / EXPERTS] * EXPERTS)
    R: list[float] = field(default_factory=lambda: [0.0] * EXPERTS)
    Q: list[float] = field(default_factory=lambda: [0.0] * EXPERTS)
    B: float = 0.0

    def learn(self, gains: list[float]) -> None:
        """Add the gains r_k of the experts over the mixture and weigh anew."""
        for k, r in enumerate(gains):
            self.R[k] += r
            self.Q[k] += r * r
            self.B = max(self.B, abs(r))
        positive = [max(R, 0.0) for R in self.R]
        if any(positive):
            raw = [R / (self.B**2 + Q) for R, Q in zip(positive, self.Q, strict=True)]
            self.v = [u / sum(raw) for u in raw]
        else:
            self.v = [1.0 / EXPERTS] * EXPERTS


@dataclass
class Correction:
    """What is shown for a probability, while some tickets have no label yet.

    Labels and open tickets are sorted by age into ``AGES``, and counted as Kaplan and Meier do:
    ``share[a]`` of all tickets get their label at the age a. The rest, the tail, is unknown.
    """

    offset: float = 0.0
    shrinkage: float = 1.0

    def shown(self, p: float) -> float:
        """Return what is shown for a prediction, before the link."""
        return self.offset + self.shrinkage * (p - self.offset)

    def update(
        self,
        tickets: int,
        labelled: list[tuple[int, float]],
        pending: list[int],
        earlier: list[float | None],
    ) -> None:
        """Use ages of labels, and the ages of open tickets, since the first label.

        ``earlier`` has the labels of older tickets, or None where there is none.
        """
        if not labelled:
            return
        share = shares([age for age, _ in labelled], pending)
        says = {a: [r for age, r in labelled if age_group(age) == a] for a in share}
        yes = sum(share[a] * sum(says[a]) / len(says[a]) for a in share)
        tail = 1.0 - sum(share.values())
        older = [y for y in earlier if y is not None]
        answers = older + [y for _, y in labelled]
        running = (sum(answers) + 0.5) / (len(answers) + 1)
        late = [y for age, y in labelled if age_group(age) > age_group(tickets // 2)]
        if len({y for _, y in labelled}) < len(set(answers)):
            late = []
        stopped = sigmoid(stopped_coming(tickets, [age for age, _ in labelled]) - math.log(100.0))
        depends = depends_on_age(labelled)
        stopped *= depends
        low = (sum(older) + 1) / (len(earlier) + 2)
        high = (sum(older) + len(earlier) - len(older) + 1) / (len(earlier) + 2)
        like_others = clip(clip(0.5, low, high), yes, yes + tail) - yes
        assumed = stopped * like_others + (1.0 - stopped) * tail * running
        tail_yes = (tail * sum(late) + 2.0 * assumed) / (len(late) + 2)
        p = ((yes + tail_yes) * len(answers) + 0.5) / (len(answers) + 1)
        self.offset = math.log(p / (1.0 - p))
        b = 0.5 + min(sum(y == which for _, y in labelled) for which in (0.0, 1.0))
        d = depends * tickets * abs(tail_yes - tail * running)
        self.shrinkage = b / (b + d)


def stopped_coming(tickets: int, ages: list[int]) -> float:
    """Return the log of the likelihood ratio of 4 (1 - a / t)^3 / t and 2 (1 - a / t) / t."""
    middles = [min(middle_of(age) + 0.5, tickets - 0.5) for age in ages]
    return sum(math.log(2.0) + 2.0 * math.log(1.0 - a / tickets) for a in middles)


def depends_on_age(labelled: list[tuple[int, float]]) -> float:
    """Return the squared rank correlation of answer and age beyond chance; 1 of one answer."""
    yes, no = ([age_group(age) for age, said in labelled if said == y] for y in (1.0, 0.0))
    if not yes or not no:
        return 1.0
    r = sum(sign(late - soon) for late in yes for soon in no) / (len(yes) * len(no))
    return max(r**2 - 1.0 / (3.0 * min(len(yes), len(no))), 0.0)


def middle_of(age: int) -> float:
    """Return the middle of the ages that count as one."""
    first = age_group(age)
    return (first + AGES[AGES.index(first) + 1] - 1) / 2.0


@functools.cache
def age_group(age: int) -> int:
    """Return the largest of ``AGES`` that is not above an age."""
    return max(int(a) for a in AGES if a <= age)


def shares(heard: list[int], still_open: list[int]) -> dict[int, float]:
    """Return by age which share of all tickets has its label then (Kaplan and Meier)."""
    came = [age_group(age) for age in heard]
    waits = [age_group(age) for age in still_open]
    left = 1.0
    found = {}
    for a in sorted(set(came)):
        reached = sum(b >= a for b in came) + sum(b >= a for b in waits) - waits.count(a) / 2.0
        found[a] = left * min(came.count(a) / reached, 1.0)
        left -= found[a]
    return found


@dataclass
class OpenTicket:
    """What a ticket keeps: its standardised row, what each expert said, and the mixture.

    ``label`` is the label so far, ``learned`` what was learned of it, ``due`` the time from which
    on nothing else is expected, and ``asked`` the moment from which its silence counts.
    """

    row: Row
    said: list[float]
    issued: float
    due: float
    shown: float = math.nan
    label: float | None = None
    learned: float = math.nan
    asked: float = math.nan


# --- The model -----------------------------------------------------------------------------------


class NaiveLinear:
    """The linear model: ``predict``, then ``observe`` or ``cancel`` in any order.

    ``wait`` says when an open ticket is given up. "adaptive": every 256 predictions the ages at
    which labels came are looked at; let L be the smallest age in ``AGES`` above ``patience`` such
    that at most 1/200 of all labels came at age L or later, and those and one more are at most 1/50
    of the tickets that are 10 L old by now, times the share of all that had no label before L; from
    then on what is older than L is closed, and nothing before the first label. {"predictions": n}:
    a ticket is closed before the next prediction once n predictions followed its own. None: never.
    If ``max_open`` are open, the oldest is closed before the next prediction.

    With logistic loss, what is shown is corrected for open tickets: see ``Correction``. It is
    computed after a prediction, first when 8 tickets were issued since the first label, then after
    as many as a 16th of the tickets since, but no fewer than 8. It is removed when no ticket is
    open.

    ``silence`` is a label of tickets without an answer. It is learned with a set of answers, once
    the ticket is as old as answers are: see ``NaiveDelays``. Before any label, predictions are what
    it says. A ticket that closes without an answer has that label. A ticket is due ``deadline``
    after its prediction, by a clock that counts predictions where no times are given; from then on
    its label so far is the last word.

    Labels wait for the next prediction, for a ticket that is cancelled, or for a time at which an
    open one is due. Then all that wait are learned in ``learning_order``.

    Where labels are numbers, what is learned of one is no farther from the mean of what was learned
    of the n others than max(20, sqrt(n)) of their standard deviations, if n >= 5 and they are not
    all the same. A label that replaces another takes back what was learned of that; where both are
    out of reach on one side, nothing is learned of the new one. Silence is learned as it is.
    """

    def __init__(
        self,
        loss: Loss = "squared",
        *,
        quantile: float = 0.5,
        delta: float = 1.0,
        l1: float = 0.0,
        l2: float = 0.0,
        intercept: bool = True,
        wait: Wait = "adaptive",
        patience: int = 0,
        silence: float | None = None,
        deadline: float = math.inf,
        max_open: int | None = None,
        narrow: bool = False,
    ) -> None:
        """Start with weights of zero and a uniform mixture."""
        self.loss = NaiveLoss(loss, quantile, delta)
        self.l1 = l1
        self.l2 = l2
        self.intercept = intercept
        self.wait: Wait = wait
        self.patience = patience
        self.silence = silence
        self.deadline = deadline
        self.max_open = max_open
        self.narrow = narrow
        self.coordinates: dict[int, Coordinate] = {}
        self.answers: list[tuple[int, float, float, bool]] = []  # that wait
        self.labels = Labels()
        self.counted: dict[int, tuple[float, float]] = {}  # learned of tickets, weights
        self.clipped = 0
        self.lost = 0.0
        self.scored = 0.0
        self.took: list[int] = []  # ages of first labels
        self.first: list[tuple[int, bool]] = []  # the first tickets with a label, and if for good
        self.mixture = Mixture()
        self.open: dict[int, OpenTicket] = {}
        self.given_up: set[int] = set()
        self.predictions = 0
        self.ages: list[int] = []
        self.limit: int | None = None
        self.clock = -math.inf
        self.correction = Correction()
        self.delays = NaiveDelays(by_time=0.0 < deadline < math.inf)
        self.start: float | None = None
        if silence is not None:
            self.labels.expected = silence, 0.0
        self.since: int | None = None  # the first ticket after the first label
        self.labelled: list[tuple[int, float]] = []  # age and label, of tickets since
        self.earlier: list[float] = []  # labels of others
        self.next_update = math.inf
        self.corrected = 0
        self.charged = 0  # the first ticket that experts are weighed by

    # --- predict ---

    def predict(
        self, row: Row, at: float | None = None, span: float | None = None
    ) -> tuple[int, float]:
        """Return the next ticket and the mixture's prediction, as the user sees it."""
        self.learn()
        self.tick(self.predictions if at is None else at)
        self._give_up()
        ticket = self.predictions
        self.predictions += 1
        standard = self._standardised(row)
        said = [
            self.labels.clipped(self.loss.kind, self._fresh(k, standard)) for k in range(EXPERTS)
        ]
        # What all say is what they say together, whatever rounding makes of the sum of the v_k.
        mixed = sum(v * (p - said[0]) for v, p in zip(self.mixture.v, said, strict=True))
        issued = said[0] + mixed
        due = self.clock + (self.deadline if span is None else span)
        self.open[ticket] = OpenTicket(standard, said, issued, due)
        shown = self.loss.together(self.mixture.v, said, issued)
        shown = self.with_pairs(self.open[ticket], shown)
        shown = self.correction.shown(shown)
        self.open[ticket].shown = shown
        if self.silence is not None:
            self._begin_silence(ticket, self.silence)
        elif self.predictions >= self.next_update:
            self._update_correction()
        return ticket, self.loss.shown(shown)

    def with_pairs(self, kept: OpenTicket, p: float) -> float:
        """Return what is predicted with pairs of features beside p; see ``naive_pairs``."""
        return p

    def learn_pairs(self, ticket: int, y: float, h: float, often: float) -> None:
        """Let experts on pairs learn the label of a ticket."""

    def _begin_silence(self, ticket: int, silence: float) -> None:
        moment = self._moment()
        self.open[ticket].asked = moment
        self.delays.asked.append(moment)
        if self.labels.total == 0.0:
            self.labels.expected = silence, self.predictions
        elif self.delays.gap > 0.0 and moment - self.delays.latest > 10.0 * self.delays.gap:
            reached = moment - self.delays.gap
            self.delays.gap = moment - self.delays.latest
            tickets = self._silent(reached, set())
            for place in learning_order(tickets):
                self._learn_silence(tickets[place])

    def _moment(self) -> float:
        """Return the time in which ages of silence are counted."""
        if not self.delays.by_time:
            return self.predictions
        if self.start is None:
            self.start = self.clock
        return (self.clock - self.start) / (self.deadline / 4096.0)

    def _silent(self, moment: float, answered: set[int]) -> list[int]:
        """Return the tickets whose silence is learned now, quantile by quantile."""
        found = []
        for level in range(QUANTILES):
            while (ticket := self.delays.next(level)) < self.predictions:
                kept = self.open.get(ticket)
                if kept is not None and kept.label is None:
                    if moment - kept.asked < self.delays.limits[level]:
                        break
                    if ticket not in answered:
                        found.append(ticket)
                self.delays.passed[level] += 1
        return found

    def _learn_silence(self, ticket: int) -> None:
        if self.silence is not None and self.open[ticket].label is None:
            self._first_label(ticket, self.silence, self.silence, 1.0, 1.0)

    def _update_correction(self) -> None:
        assert self.since is not None
        unlabelled = [ticket for ticket, kept in self.open.items() if kept.label is None]
        pending = [
            self.predictions - ticket - 1
            for ticket in unlabelled
            if self.since <= ticket < self.predictions - 1
        ]
        earlier: list[float | None] = [*self.earlier]
        earlier += [None for ticket in unlabelled if ticket < self.since]
        tickets = self.predictions - self.since
        self.correction.update(tickets, self.labelled, pending, earlier)
        self.next_update = self.predictions + max(tickets // 16, 8)

    def tick(self, at: float) -> None:
        """Let the clock go on, and close what was due before."""
        self.learn()
        self._set_clock(at)

    def _set_clock(self, at: float) -> None:
        self.clock = max(self.clock, at)
        for ticket, kept in sorted(self.open.items(), key=lambda item: (item[1].due, item[0])):
            if kept.due < self.clock:
                self._close(ticket)

    def _close(self, ticket: int) -> None:
        self._learn_silence(ticket)
        self._remove(ticket)
        self.given_up.add(ticket)

    def _give_up(self) -> None:
        t = self.predictions
        if self.wait == "adaptive" and self.deadline == math.inf and t % 256 == 0:
            self.limit = self._review()
        limit = self.wait["predictions"] if isinstance(self.wait, Mapping) else self.limit
        for s in sorted(self.open):
            if limit is not None and t - s > limit:
                self._close(s)
        while self.max_open is not None and len(self.open) >= self.max_open:
            self._close(min(self.open))

    def _review(self) -> int | None:
        for limit in AGES:
            later = sum(age >= limit for age in self.ages)
            t, soon = self.predictions, len(self.ages) - later
            old = (1.0 - soon / max(t, 1)) * (t - 10 * limit)
            if (
                limit > self.patience
                and self.ages
                and later <= 0.005 * len(self.ages)
                and later + 1 <= 0.02 * old
            ):
                return int(limit)
        return None

    def _standardised(self, row: Row) -> Row:
        full = [*row, (BIAS, 1.0)] if self.intercept else row
        for i, _ in full:
            self.coordinates.setdefault(i, Coordinate(self.narrow))
        return [(i, self.coordinates[i].standardise(x)) for i, x in full]

    def _fresh(self, k: int, standard: Row) -> float:
        """Return base + sum_i w[i, k] s_i at the weights of this moment."""
        base = self.labels.base(self.loss.kind)
        return base + sum(self.coordinates[i].weight(k) * s for i, s in standard)

    # --- observe and cancel ---

    def observe(
        self, ticket: int, label: float, weight: float = 1.0, at: float | None = None
    ) -> bool:
        """Hear the last word on a ticket; False if it was given up."""
        return self._hear_of(ticket, label, weight, at, is_last=True)

    def revise(self, ticket: int, label: float, at: float | None = None) -> bool:
        """Hear a label that may change again."""
        return self._hear_of(ticket, label, 1.0, at, is_last=False)

    def _hear_of(
        self, ticket: int, label: float, weight: float, at: float | None, *, is_last: bool
    ) -> bool:
        if at is not None:
            if any(kept.due < at for kept in self.open.values()):
                self.learn()
            self._set_clock(at)
        self.answers.append((ticket, label, weight, is_last))
        return ticket not in self.given_up

    def learn(self) -> None:
        """Learn what waits; of a ticket the later label after the earlier one."""
        answers, self.answers = self.answers, []
        silent = self._silent_with(answers) if answers and self.silence is not None else []
        for place in learning_order([ticket for ticket, *_ in answers] + silent):
            if place >= len(answers):
                self._learn_silence(silent[place - len(answers)])
                continue
            ticket, label, weight, is_last = answers[place]
            if self._told(ticket, label, weight, is_last=is_last) and is_last:
                self._remove(ticket)

    def _silent_with(self, answers: list[tuple[int, float, float, bool]]) -> list[int]:
        """Count answers by age, and return the tickets whose silence is learned with them."""
        moment, asked = self._moment(), []
        for ticket, label, *_ in answers:
            kept = self.open.get(ticket)
            if kept is not None and label != self.silence and kept.label in (None, self.silence):
                asked.append(kept.asked)
        self.delays.hear(asked, moment)
        return self._silent(moment, {ticket for ticket, *_ in answers})

    def looked_at(self) -> NaiveLinear:
        """Return what the model would be if it learned what waits."""
        if not self.answers:
            return self
        model = copy.deepcopy(self)
        model.learn()
        return model

    def _told(self, ticket: int, label: float, weight: float, *, is_last: bool) -> bool:
        self.ages.append(self.predictions - ticket - 1)
        if ticket in self.given_up:
            self.given_up.remove(ticket)
            return False
        old = self.open[ticket].label
        if old == label:
            return True
        if old is None and self.silence is None and self.loss.kind not in ANSWERS:
            self._look_back(label)
        learned = self.learnable(ticket, label)
        self.clipped += learned != label
        if old is None:
            self.first.append((ticket, is_last))
            if self.loss.kind == "logistic":
                self._record_age(ticket, label)
            self.corrected += self.silence is not None and label != self.silence
            often = self.relative_weight(ticket) if is_last else 1.0
            self.took.append(self.ages[-1])
            self._first_label(ticket, label, learned, weight, often)
        else:
            self._other_label(ticket, old, label, learned)
        return True

    def _look_back(self, label: float) -> None:
        """With the sixth label, begin anew if one of the five before it is far from all others."""
        if len(self.first) != 5 or not all(for_good for _, for_good in self.first):
            return
        tickets = [ticket for ticket, _ in self.first]
        for ticket in tickets:
            others = [self.counted[other][0] for other in tickets if other != ticket] + [label]
            mean = sum(others) / 5.0
            squares = sum((y - mean) ** 2 for y in others)
            far = 20.0 * math.sqrt(squares / 5.0)
            y, h = self.counted[ticket]
            if squares > 1e-12 * max(abs(o) for o in others) ** 2 and abs(y - mean) > far:
                self.clipped += 1
                self.counted[ticket] = clip(y, mean - far, mean + far), h
                self._begin_anew()
                return

    def _begin_anew(self) -> None:
        """Forget all that labels taught, but what they were."""
        self.labels = Labels()
        for y, h in self.counted.values():
            self.labels.add(y, h)
        for i, c in self.coordinates.items():
            self.coordinates[i] = Coordinate(c.narrow, c.count, c.mean, c.variance)
        self.mixture = Mixture()
        self.charged = self.predictions

    def learnable(self, ticket: int, label: float) -> float:
        """Return what is to be learned of a label, by what was learned of all other tickets."""
        others = [pair for other, pair in self.counted.items() if other != ticket]
        if len(others) < 5 or self.loss.kind in ANSWERS:
            return label
        total = sum(h for _, h in others)
        mean = sum(h * y for y, h in others) / total
        squares = sum(h * (y - mean) ** 2 for y, h in others)
        if squares <= 1e-12 * max(abs(self.labels.low), abs(self.labels.high)) ** 2:
            return label
        reach = max(20.0, math.sqrt(len(others))) * math.sqrt(squares / total)
        return clip(label, mean - reach, mean + reach)

    def _record_age(self, ticket: int, label: float) -> None:
        if self.since is None:
            self.since = self.predictions
            self.next_update = self.predictions + 8
        if ticket >= self.since:
            self.labelled.append((self.predictions - ticket - 1, label))
        else:
            self.earlier.append(label)

    def relative_weight(self, ticket: int) -> float:
        """Count a label more than once that only the oldest tickets can have by now."""
        if not self.took or self.silence is not None:
            return 1.0
        usually = self.predictions - sum(self.took) / len(self.took)
        return clip((usually + 100.0) / (ticket + 1.0 + 100.0), 1.0, 10.0)

    def _first_label(
        self, ticket: int, label: float, learned: float, weight: float, often: float
    ) -> None:
        kept = self.open[ticket]
        self.lost += weight * self.loss.value(kept.shown, label)
        self.scored += weight
        g = self.loss.slope(kept.issued, learned)
        if ticket >= self.charged:
            self.mixture.learn([often * weight * g * (kept.issued - p) for p in kept.said])
        self.labels.add(learned, often * weight)
        self.counted[ticket] = learned, often * weight
        kept.label, kept.learned = label, learned
        S = self.labels.scale(self.loss.kind)
        if S > 0.0:
            self._steps(S, kept.row, learned, weight)
            self._bet(S, kept.row, learned, weight)
        self.learn_pairs(ticket, learned, weight, often)

    def _other_label(self, ticket: int, told: float, label: float, new: float) -> None:
        """Correct a label that counted once: charges and losses are linear in it."""
        kept = self.open[ticket]
        old = kept.learned
        self.lost += self.loss.value(kept.shown, label) - self.loss.value(kept.shown, told)
        is_still_out = sign(told - old) * sign(label - new) > 0.0
        if is_still_out:
            new = old
        if ticket >= self.charged and not is_still_out:
            self.mixture.learn([(old - new) * (kept.issued - p) for p in kept.said])
        self.corrected += 1
        kept.label, kept.learned = label, new
        if is_still_out:
            return
        self.counted[ticket] = new, 1.0
        self.labels.replace(old, new, list(self.counted.values()))
        S = self.labels.scale(self.loss.kind)
        if S > 0.0:
            self._corrections(S, kept.row, old, new)
            for i, s in kept.row:
                self.coordinates[i].bet(S, (old - new) * s)

    def _corrections(self, S: float, row: Row, old: float, new: float) -> None:
        now = [self._fresh(k, row) for k in range(len(SCALES))]
        pulls = [max(abs(self.loss.slope(p, new)), abs(old - new) / 2.0) for p in now]
        for k, etas in enumerate(self._heated(S, row, pulls, 1.0)):
            self._correct(k, now[k], etas, row, old, new)

    def _correct(
        self, k: int, p: float, etas: list[float], row: Row, old: float, new: float
    ) -> None:
        """Take the implicit step of the new label less that of the old one, from one point."""
        q = sum(eta * s * s for eta, (_, s) in zip(etas, row, strict=True))
        if q > 0.0:
            r = self.loss.implicit(p, new, q) - self.loss.implicit(p, old, q)
            for eta, (i, s) in zip(etas, row, strict=True):
                c = self.coordinates[i]
                c.w[k] = c.short(c.w[k] - eta * s * r)

    def cancel(self, ticket: int) -> None:
        """Close a ticket: what was learned of it stays."""
        self.learn()
        self._remove(ticket)

    def _remove(self, ticket: int) -> None:
        """Forget an open ticket. Where none is open, nothing is moved."""
        del self.open[ticket]
        if not self.open:
            self.correction.offset, self.correction.shrinkage = 0.0, 1.0

    def _open_size(self, i: int) -> float:
        """Return the sum of |s_i| over the open tickets without a label."""
        unheard = [kept.row for kept in self.open.values() if kept.label is None]
        if self.silence is not None:
            return 0.0
        return sum(self.coordinates[i].size(s) for row in unheard for j, s in row if j == i)

    def _steps(self, S: float, row: Row, y: float, h: float) -> None:
        now = [self._fresh(k, row) for k in range(len(SCALES))]
        slopes = [abs(self.loss.slope(p, y)) for p in now]
        for k, etas in enumerate(self._heated(S, row, slopes, h)):
            if slopes[k] > 0.0:
                self._step(k, now[k], etas, row, y, h)
            elif k == AVERAGED:
                for i, _ in row:
                    self.coordinates[i].average(self._open_size(i))

    def _step(self, k: int, p: float, etas: list[float], row: Row, y: float, h: float) -> None:
        """AdaGrad at scale a_k with caution for open tickets, by an implicit step."""
        q = sum(eta * s * s for eta, (_, s) in zip(etas, row, strict=True))
        r = self.loss.implicit(p, y, h * q) if q > 0.0 else 0.0
        for eta, (i, s) in zip(etas, row, strict=True):
            c = self.coordinates[i]
            c.w[k] = c.short(c.w[k] - eta * s * h * r)
            w = soft(c.w[k], eta * h * self.l1) / (1.0 + eta * h * self.l2)
            c.w[k] = c.short(w)
            if k == AVERAGED:
                c.average(self._open_size(i))

    def _heated(self, S: float, row: Row, pulls: list[float], h: float) -> list[list[float]]:
        """Add pulls, h times, to the energies of a row; return the step sizes of every scale.

        The pull of the first scale is of no account: its energies are those of the second.
        """
        unit = S if self.loss.kind in ("squared", "huber") else 1.0  # that of slopes
        rates: list[list[float]] = [[] for _ in SCALES]
        for k in range(1, len(SCALES)):
            for i, s in row:
                c, g = self.coordinates[i], pulls[k] * abs(s)
                least = max(c.A[k], c.short_root(FIRST[k] * unit**2))
                A = least + h * g * (g + CAUTION[k] * unit * self._open_size(i))
                c.A[k], eta = c.energy_and_rate(A, S, unit)
                rates[k].append(eta)
                c.A[0] = c.A[1]
        rates[0] = rates[1]
        return [[a * eta for eta in of_scale] for a, of_scale in zip(SCALES, rates, strict=True)]

    def _bet(self, S: float, row: Row, y: float, h: float) -> None:
        """Coin betting per coordinate with a quarter of the labels' scale to start with."""
        g = self.loss.slope(self._fresh(COIN, row), y)
        for i, s in row:
            c = self.coordinates[i]
            w = c.weight(COIN)
            c.bet(S, h * g * s + h * (self.l2 * w + self.l1 * sign(w)))


def learning_order(tickets: list[int]) -> list[int]:
    """Return the places of tickets in the order in which their labels are learned."""
    places = sorted(range(len(tickets)), key=lambda place: (tickets[place], place))
    near = max(len(tickets), 1000)
    late = {place: rank + near * scattered(tickets[place]) for rank, place in enumerate(places)}
    return sorted(places, key=lambda place: (late[place], tickets[place]))


def sorted_in_sets(events: list[int]) -> list[int]:
    """Return events with labels between two predictions in the order in which they are learned.

    So those that tell labels one by one know what the model will be then.
    """
    found: list[int] = []
    for is_label, run in itertools.groupby(events, lambda event: event < 0):
        given = list(run)
        order = learning_order([~event for event in given]) if is_label else range(len(given))
        found += [given[place] for place in order]
    return found


def is_tied(model: NaiveLinear, ticket: int, y: float, h: float) -> bool:
    """Tell whether rounding alone would decide what the mixture learns from a label.

    The issued prediction is at a kink (where all experts are clipped at the same label, their
    mixture is that label); or the experts differ by rounding only, if at all; or gains and losses
    of an expert cancel. Weights of the mixture jump where R_k = 0, whatever the size of R_k beside
    it.
    """
    model = model.looked_at()
    kept = model.open[ticket]
    y = model.learnable(ticket, y)
    h *= model.relative_weight(ticket)
    p, kind = kept.issued, model.loss.kind
    if kind == "hinge" and abs(y * p - 1.0) < 1e-9:
        return True
    if kind in ("absolute", "quantile") and abs(p - y) < 1e-9:
        return True
    has_weights = any(any(model.coordinates[i].w) for i, _ in kept.row)
    if has_weights and max(kept.said) - min(kept.said) < 1e-9:
        return True
    gains = [h * model.loss.slope(p, y) * (p - said) for said in kept.said]
    B = max(model.mixture.B, *(abs(r) for r in gains))
    return any(abs(R + r) < 1e-9 * B for R, r in zip(model.mixture.R, gains, strict=True))
