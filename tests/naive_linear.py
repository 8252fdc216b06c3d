"""A slow, obvious version of the linear model that learns from late labels.

Nothing here imports the library and nothing here is fast: plain dicts, lists and floats, and roots
are found by halving an interval.

Six linear experts share the rows. Experts 1 to 4 are AdaGrad per coordinate at the scales
a = 1/64, 1/16, 1/4, 1 with implicit steps, the first with the energies of the second; expert 5 bets
coins; expert 6 has a mean of the weights of expert 3. Each learns from a label at its weights of
that moment (fresh gradients). MLpol mixes them by the predictions that were issued. What is shown
mixes probabilities and rates, not their logarithms; log odds of the first labels are shown bolder.

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

import functools
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Loss = Literal["squared", "absolute", "quantile", "huber", "hinge", "logistic", "poisson"]
Wait = Literal["adaptive"] | Mapping[str, int] | None
Row = list[tuple[int, float]]

SCALES = [1.0 / 64.0, 1.0 / 16.0, 1.0 / 4.0, 1.0]
CAUTION = [0.01 / math.sqrt(a) for a in SCALES]
EXPERTS = 6
AVERAGED, COIN, MEAN = 2, 4, 5
ENDOWMENT = 0.25
BIAS = -1
ANSWERS = ("logistic", "hinge")
AGES: list[int] = [*range(16), *((4 + j) * 2**e for e in range(2, 38) for j in range(4))]


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


def rounded(v: float, digits: int) -> float:
    """Return the nearest number with so many binary digits, halves away from zero."""
    mantissa, exponent = math.frexp(abs(v))
    whole = math.floor(math.ldexp(mantissa, digits) + 0.5)
    return math.copysign(math.ldexp(whole, exponent - digits), v)


def rounded_up(v: float) -> float:
    """Return the next number with eight binary digits, at least 2^-256 or so.

    What is too large by 2^-30 alone is rounded down: often that is rounding of something exact.
    """
    mantissa, exponent = math.frexp(v)
    whole = math.ceil(256.0 * (mantissa - 2.0**-31))
    return max(math.ldexp(whole, exponent - 8), 129.0 / 128.0 * 2.0**-256)


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
        return rounded(v, 21) if self.narrow else v

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
        self.mean = rounded(mean, 37) if self.narrow else mean
        self.variance = self.short(variance)
        if variance > 1e-12 * mean**2:
            return (x - mean) / math.sqrt(variance)
        return 1.0 if mean != 0.0 else 0.0

    def average(self) -> None:
        """Let the weight of expert 3 count in the mean, by how many values there were."""
        share = 2.0 / (self.count + 1)
        self.mean_of_w = self.short((1.0 - share) * self.mean_of_w + share * self.w[AVERAGED])

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
        if abs(z) > self.L:
            self.L = rounded_up(abs(z)) if self.narrow else abs(z)
        G = self.G + abs(z)
        self.G = self.short(G)
        self.fraction = self.short(theta / (G + self.L))
        self.wealth = self.short(least + min(won / self.L, 100.0 * S))


@dataclass
class Labels:
    """Weighted statistics of the labels; a label of weight h counts h times."""

    total: float = 0.0
    mean: float = 0.0
    squares: float = 0.0
    sum: float = 0.0
    low: float = math.inf
    high: float = -math.inf

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

    def base(self, loss: Loss, owed: float) -> float:
        """Return the constant that predictions start from, with what labels are owed."""
        if self.total == 0.0:
            return 0.0
        if loss == "logistic":
            yes, no = self.sum + owed, self.total - self.sum - owed
            return math.log(max(yes, 0.0) + 0.5) - math.log(max(no, 0.0) + 0.5)
        if loss == "poisson":
            return math.log((self.sum + 0.5) / (self.total + 0.5))
        return self.mean

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
class Doubt:
    """What open tickets may still say, and what that leaves of a prediction.

    Labels and open tickets are sorted by age into ``AGES``, and counted as Kaplan and Meier do:
    ``share[a]`` of all tickets get their label at the age a. The rest, ``left``, is unknown.
    """

    loss: Loss
    lean: float = 0.0
    trust: float = 1.0

    def shown(self, p: float, labels: Labels) -> float:
        """Return what is shown for a prediction, before the link."""
        if self.loss in ANSWERS:
            return self.lean + self.trust * (p - self.lean)
        if self.trust < 1.0:
            return labels.mean + self.trust * (p - labels.mean)
        if self.lean == 0.0:
            return p
        return clip(
            p + self.lean,
            min(labels.clipped(self.loss, -math.inf), 0.0),
            max(labels.clipped(self.loss, math.inf), 0.0),
        )

    def look(
        self,
        tickets: int,
        heard: list[tuple[int, float]],
        told: list[float],
        still_open: list[int],
        labels: Labels,
        took: float,
        number: int,
        least_sure: float,
    ) -> bool:
        """Look at what was heard (age, what it says), and at the ages of open tickets.

        ``told`` are the labels that were heard. All ``number`` labels ever took the part ``took``
        of the time so far, on average. ``least_sure`` is the share of yes nearest to one half that
        tickets before the first label allow. Return whether experts are to be weighed anew.
        """
        half = max(11 - number, 0) / 20.0
        far = 6.0 * labels.scale(self.loss) if number > 1 else math.inf
        if not heard:
            if self.loss not in (*ANSWERS, "poisson"):
                place = 1.0 - (1.0 - min(took, 1.0)) ** 2
                left = len(still_open) / max(tickets - 1, 1)
                back = clip(-labels.mean, -far, far)
                self.lean = half * max(1.0 - 2.5 * place, 0.0) * left * back
            return False
        share = shares([age for age, _ in heard], still_open)
        says = {a: [said for age, said in heard if age_group(age) == a] for a in share}
        mean = sum(share[a] * sum(says[a]) / len(says[a]) for a in share)
        if self.loss in ANSWERS:
            came = sum(share.values())
            self._of_answers(tickets, heard, still_open, labels, mean, came, least_sure)
            return False
        n, o = len(heard), len(still_open)
        above = sum(said for _, said in heard) / n
        self.lean = o / (n + o) * (mean / sum(share.values()) - above)
        if self.loss in ("absolute", "quantile"):
            self.lean *= 1.25 * labels.scale(self.loss)
        if self.loss == "poisson":
            times = 1.0 + self.lean / labels.mean if labels.mean > 0.0 else 1.0
            self.lean = math.log(clip(times, 0.25, 4.0))
            return False
        late = sum(age_group(age) > age_group(tickets // 2) for age, _ in heard)
        left = 1.0 - sum(share.values())
        level = labels.mean + self.lean
        sure = sure_of_going_to_zero([age for age, _ in heard], told, level)
        self.lean += sure * left * clip(-level, -far, far) * 100.0 / (100.0 + late)
        place = place_of([age_group(age) for age, _ in heard], [age_group(a) for a in still_open])
        back = clip(-labels.mean - self.lean, -far, far)
        self.lean += half * max(1.0 - 2.5 * place, 0.0) * left * back
        return left < 0.25 and sure > 0.5

    def _of_answers(
        self,
        t: int,
        heard: list[tuple[int, float]],
        still_open: list[int],
        labels: Labels,
        yes: float,
        came: float,
        least_sure: float,
    ) -> None:
        u = self._other_kind(t, heard, still_open)
        tail = (1.0 - came) * u
        late = [said for age, said in heard if age_group(age) > age_group(t // 2)]
        if len({said for _, said in heard}) == 1:
            late = []
        nearest = clip(least_sure * (came + tail), yes, yes + tail) - yes
        says = (tail * sum(late) + 10.0 * nearest) / (len(late) + 10.0)
        p = (yes + says) / (came + tail)
        one_answer = labels.low == labels.high
        n = labels.total if one_answer else t
        p = (n * p + 0.5) / (n + 1)
        self.lean = math.log(p / (1.0 - p))
        if self.loss == "hinge":
            self.lean = clip(self.lean, -1.0, 1.0)
        watched = [max(1.0 - age_group(age) / t, 0.0) ** 2 for age, _ in heard]
        b = 0.5 + min(
            sum(w for w, (_, said) in zip(watched, heard, strict=True) if said == which)
            for which in (0.0, 1.0)
        )
        d = (0.3 * t + 1.0) * (1.0 - came) * (1.0 if one_answer else u)
        self.trust = b / (b + d)

    def _other_kind(self, t: int, heard: list[tuple[int, float]], still_open: list[int]) -> float:
        """Tell by when labels came, and which, how many open ones may be of another kind."""
        f = stopped(t, [age for age, _ in heard], still_open)
        ages = [[age_group(age) for age, said in heard if said == which] for which in (0.0, 1.0)]
        rarer = min(len(ages[0]), len(ages[1]))
        if rarer == 0:
            return f
        r = sum(sign(yes - no) for yes in ages[1] for no in ages[0]) / len(ages[0]) / len(ages[1])
        x = rarer * r**2
        return (f * (0.3 + x) + (1.0 - f) * max(x - 1.25, 0.0)) / (0.3 + rarer)


def sure_of_going_to_zero(ages: list[int], told: list[float], level: float) -> float:
    """Tell how surely labels go from their level towards 0 the later they come."""
    n = len(told)
    groups = [age_group(age) for age in ages]
    ranks = [sum(b < a for b in groups) + sum(b == a for b in groups) / 2.0 for a in groups]
    mean = sum(told) / n
    spread = sum((y - mean) ** 2 for y in told)
    wide = sum((rank - n / 2.0) ** 2 for rank in ranks)
    if n <= 2 or wide == 0.0 or spread <= 1e-12 * sum(y * y for y in told):
        return 0.0
    both = sum((rank - n / 2.0) * (y - mean) for rank, y in zip(ranks, told, strict=True))
    if both * level >= 0.0:
        return 0.0
    r2 = min(both**2 / (wide * spread), 1.0)
    return max((n - 2) * r2 - 10.0 * (1.0 - r2), 0.0) / n


def backlog_shows(waiting: list[int], ages: list[int], t: int) -> float:
    """Tell how surely a backlog was answered just now, or labels come in bulk.

    ``waiting`` are open tickets of t, and ``ages`` those at which labels came.
    """
    middle = [(age_group(a) + AGES[AGES.index(age_group(a)) + 1] - 1) / 2.0 for a in ages]
    usual = sum(a * a for a in middle) / (2.0 * sum(middle))
    mean = sum(t - ticket - 1 for ticket in waiting) / len(waiting)
    since = t - min(waiting)
    expected = sum(max(since - a, 0.0) for a in middle) / len(middle)
    has = since - len(waiting)
    in_bulk = 1.0 - 4.0 * (has + 1.0) / expected if expected > 0.0 else 0.0
    return max(clip(3.0 - 4.0 * mean / usual, 0.0, 1.0), in_bulk)


def in_order(told: list[float], spread: float) -> float:
    """Tell how surely labels came in an order of their own, not at random.

    That is by their correlation with their places, with the ``spread`` of all labels.
    """
    m = len(told)
    mean = sum(told) / m
    together = sum((place - (m - 1) / 2.0) * (y - mean) for place, y in enumerate(told)) / m
    r2 = min((together / ((m + 1) / math.sqrt(12.0) * spread)) ** 2, 1.0)
    return clip(2.0 * ((m - 2) * r2 - 10.0 * (1.0 - r2)) / m, 0.0, 1.0)


def stopped(t: int, heard: list[int], still_open: list[int]) -> float:
    """Tell how surely labels have stopped coming, after t tickets."""
    came = [age_group(age) for age in heard]
    waits = [age_group(age) for age in still_open]
    chance = {
        a: min(came.count(a) / (sum(b >= a for b in came + waits) - waits.count(a) / 2.0), 1.0)
        for a in sorted(set(came))
    }
    hazard = {a: h / (1.0 - h / 2.0) for a, h in chance.items()}
    late = sum(h for a, h in hazard.items() if a > age_group(t // 2)) / sum(hazard.values())
    few = max(1.0 - 2.25 * (late + 3.0 / len(came)), 0.0)
    below = -trend(came, waits) - 0.015 * math.sqrt(12.0 * len(came))
    return few * clip(below - 1.5, 0.0, 1.0)


def trend(came: list[int], waits: list[int]) -> float:
    """Laplace's test whether labels come at the same rate at all ages; ages are of ``AGES``."""
    return math.sqrt(12.0 * len(came)) * (place_of(came, waits) - 0.5)


def place_of(came: list[int], waits: list[int]) -> float:
    """Return what part of all rounds waited comes before labels, on average over labels.

    A ticket that closes in a group of ages has waited for half of that group.
    """
    everyone = came + waits
    rounds: dict[int, float] = {
        a: (sum(b > a for b in everyone) + everyone.count(a) / 2.0) * (end - a)
        for a, end in itertools.pairwise(AGES)
        if a <= max(everyone)
    }
    before = {a: sum(rounds[b] for b in rounds if b < a) + rounds[a] / 2.0 for a in set(came)}
    return sum(before[a] for a in came) / len(came) / sum(rounds.values())


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
class Owed:
    """What corrections of silence are still out, and what is shown less, or more, than came.

    Ages are sorted into ``AGES``, and taken to be in the middle. ``then`` is what was foreseen in
    all, come or still out, when predictions began to count.
    """

    silence: float
    corrections: list[tuple[int, int]] = field(default_factory=list)  # age; -1: taken back
    owed: float = 0.0
    shift: float = 0.0
    then: float | None = None
    shown: list[float] = field(default_factory=list)

    def look(self, tickets: int, still_open: int, corrected: int) -> None:
        """Look at all corrections after so many tickets."""
        came = sum(d for _, d in self.corrections)
        in_all = sum(d * self.stands_for(age, tickets) for age, d in self.corrections)
        share = max(in_all, 0.0) / tickets
        out = clip(in_all - came, 0.0, still_open * min(share, 0.25))
        self.owed = out if self.silence == 0.0 else -out
        foreseen = came + out if self.silence == 0.0 else -came - out
        if self.then is None and corrected >= 50 and out <= 0.15 * (came + out):
            self.then = foreseen
        if self.then is not None:
            missing = foreseen - self.then - sum(q - self.silence for q in self.shown)
            varied = sum(q * (1.0 - q) for q in self.shown)
            self.shift = clip(missing / (varied + 5.0 + 5.0 * out), -2.0, 2.0)

    @staticmethod
    def stands_for(age: int, tickets: int) -> float:
        """Return how many corrections like one of this age there are to be."""
        first = age_group(age)
        middle = (first + AGES[AGES.index(first) + 1] - 1) / 2.0
        return min((tickets + 100.0) / (tickets - min(middle, tickets) + 100.0), 10.0)


@dataclass
class OpenTicket:
    """What a ticket keeps: its standardised row, what each expert said, and the mixture.

    ``label`` is the label so far, ``learned`` what was learned of it, and ``due`` the time from
    which on nothing else is expected.
    """

    row: Row
    said: list[float]
    issued: float
    due: float
    shown: float = math.nan
    label: float | None = None
    learned: float = math.nan


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

    What is shown is moved for what open tickets may still say: see ``Doubt``. It is looked at again
    after a prediction, first when 8 tickets were issued since the first label, then after as many
    as a 16th of the tickets since, but no fewer than 8 and no more than 256, or a 16th of the open
    ones if that is more.

    ``silence`` is a label that is learned at once, and corrected by what comes later; after 50
    corrections experts are weighed anew, by later tickets. With logistic loss, corrections that are
    still out count in the base, and what is shown is moved by what they say of earlier predictions:
    see ``Owed``. They are looked at as open tickets are, from the first correction on. A ticket is
    due ``deadline`` after its prediction, by a clock that counts predictions where no times are
    given; from then on its label so far is the last word.

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
        self.labels = Labels()
        self.counted: dict[int, tuple[float, float]] = {}  # learned of tickets, weights
        self.tamed = 0
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
        self.doubt = Doubt(loss)
        self.owed = Owed(silence) if silence is not None and loss == "logistic" else None
        self.since: int | None = None  # the first ticket after the first label
        self.heard: list[tuple[int, float]] = []  # age and what the label says, of tickets since
        self.told: list[float] = []  # these labels
        self.again = math.inf
        self.looked = 0  # tickets that were open when that was
        self.burst: list[float] = []  # labels since the last prediction
        self.in_order = 0.0
        self.corrected = 0
        self.charged = 0  # the first ticket that experts are weighed by
        self.ages_of: dict[float, list[int]] = {}

    # --- predict ---

    def predict(
        self, row: Row, at: float | None = None, span: float | None = None
    ) -> tuple[int, float]:
        """Return the next ticket and the mixture's prediction, as the user sees it."""
        self.tick(self.predictions if at is None else at)
        self._give_up()
        self._note_order()
        self.burst = []
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
        # As long as labels come late, and are all the same, log odds are mixed as they are.
        alike = any(self.took) and self.labels.low == self.labels.high
        shown = issued
        if not (alike and self.loss.kind == "logistic"):
            shown = self.loss.together(self.mixture.v, said, issued)
            if self.loss.kind == "logistic" and self.silence is None:
                shown = self._emboldened(shown, issued)
        shown = self.doubt.shown(shown, self.labels)
        if self.owed is not None:
            shown += self.owed.shift
            self._foresee(self.owed, sigmoid(shown))
        self.open[ticket].shown = shown
        if self.silence is not None:
            self._first_label(ticket, self.silence, self.silence, 1.0, 1.0)
        elif self.predictions >= self.again:
            self._ponder()
        return ticket, self.loss.shown(shown)

    def _emboldened(self, careful: float, bold: float) -> float:
        """Go from careful log odds towards bold ones, and then farther from the base.

        That is for the first 2000 labels, where both answers are common, and where features have
        been worth something: what was shown lost less than a running share of yes would have.
        """
        often = sum(h for _, h in self.counted.values())
        yes = sum(h * y for y, h in self.counted.values())
        if not 0.0 < yes < often or len(self.counted) >= 2000:
            return careful
        share = yes / often
        running = self.scored * -(share * math.log(share) + (1.0 - share) * math.log1p(-share))
        running += math.log(math.pi / 2.0 * self.scored) / 2.0
        useful = sigmoid(running - self.lost + math.log(3.0))
        few = (2000 - len(self.counted)) / 2000
        boldly = useful * few**2 * share * (1.0 - share) / 0.25
        between = (1.0 - boldly) * careful + boldly * bold
        base = self.labels.base("logistic", 0.0)
        return base + (1.0 + 0.15 * boldly) * (between - base)

    def _foresee(self, owed: Owed, q: float) -> None:
        if owed.then is not None:
            owed.shown.append(q)
        if self.predictions >= self.again:
            owed.look(self.predictions, len(self.open), self.corrected)
            self.again = self.predictions + clip(self.predictions // 16, 8, 256)

    def _ponder(self) -> None:
        assert self.since is not None
        self.looked = len(self.open)
        still_open = [
            self.predictions - ticket - 1
            for ticket, kept in self.open.items()
            if kept.label is None and self.since <= ticket < self.predictions - 1
        ]
        tickets = self.predictions - self.since
        n = len(self.took)
        took = (sum(self.took) / n + 0.5) / self.predictions
        anew = self.doubt.look(
            tickets, self.heard, self.told, still_open, self.labels, took, n, self._least_sure()
        )
        if anew and self.charged <= self.since:
            self.mixture = Mixture(self.mixture.v)
            self.charged = self.predictions
        pause = max(min(max(tickets // 16, 8), 256), len(still_open) // 16)
        if self.loss.kind == "squared":
            sign, away = self._runaway()
            self.doubt.lean += away
            self.doubt.trust = 1.0
            if sign > 0.0:
                pause = min(pause, max(len(still_open) // 4, 8))
        self.again = self.predictions + pause

    def _least_sure(self) -> float:
        """Return the share of yes nearest to one half that tickets before the first label allow."""
        assert self.since is not None
        known = len(self.took) - len(self.heard)
        yes = sum(len(ages) for y, ages in self.ages_of.items() if y > 0.0)
        yes = int(clip(yes - sum(said for _, said in self.heard), 0, known))
        waiting = sum(k.label is None for ticket, k in self.open.items() if ticket < self.since)
        total = known + waiting + 10.0
        return clip(0.5, (yes + 5.0) / total, (yes + waiting + 5.0) / total)

    def _early(self) -> float:
        """Return how much it matters that labels came in an order of their own; e."""
        took = sum(self.took) / len(self.took)
        return clip((64.0 * took / self.predictions - 1.0) / 15.0, 0.0, 1.0)

    def _note_order(self) -> None:
        """Look at the order of at least twelve labels that came one after the other."""
        spread = self.labels.scale(self.loss.kind)
        if self.loss.kind == "squared" and len(self.burst) >= 12 and spread > 0.0:
            self.in_order = in_order(self.burst, spread)

    def _runaway(self) -> tuple[float, float]:
        """Return how surely there was a backlog, and how far predictions are to be moved back.

        They are moved to the mean of labels, as far as labels came in an order.
        """
        waiting = {ticket: kept for ticket, kept in self.open.items() if kept.label is None}
        if self._early() == 0.0 or not waiting or self.in_order == 0.0:
            return 0.0, 0.0
        sign = backlog_shows(list(waiting), self.ages, self.predictions)
        if len(waiting) < 4:
            return sign, 0.0
        newest = [waiting[ticket] for ticket in sorted(waiting)[-32:]]
        away = [kept.issued - self.labels.mean for kept in newest]
        mean = sum(away) / len(away)
        error = max(sum(d * d for d in away) / len(away) - mean**2, 0.0) / len(away)
        known = min(min(waiting) / len(waiting), 1.0)
        sure = max(1.0 - 9.0 * error / mean**2, 0.0) if mean != 0.0 else 0.0
        return sign, -sign * known * self._early() * sure * self.in_order * mean

    def tick(self, at: float) -> None:
        """Let the clock go on, and close what was due before."""
        self.clock = max(self.clock, at)
        for ticket, kept in sorted(self.open.items()):
            if kept.due < self.clock:
                self._close(ticket)

    def _close(self, ticket: int) -> None:
        self.cancel(ticket)
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
        owed = 0.0 if self.owed is None else self.owed.owed
        base = self.labels.base(self.loss.kind, owed)
        return base + sum(self.coordinates[i].weight(k) * s for i, s in standard)

    # --- observe and cancel ---

    def observe(
        self, ticket: int, label: float, weight: float = 1.0, at: float | None = None
    ) -> bool:
        """Learn the last word on a ticket; False, and nothing else, if it was given up."""
        used = self._told(ticket, label, weight, at, is_last=True)
        if used:
            self.cancel(ticket)
            self._look_after()
        return used

    def revise(self, ticket: int, label: float, at: float | None = None) -> bool:
        """Learn a label that may change again."""
        used = self._told(ticket, label, 1.0, at, is_last=False)
        if used:
            self._look_after()
        return used

    def _look_after(self) -> None:
        """Look again after each of the first labels, and when half of what was open is not."""
        is_squared = self.silence is None and self.loss.kind == "squared"
        if is_squared and not self.open and self._early() > 0.0:
            self.again = min(self.again, self.predictions + 8)
            self._note_order()
            if len(self.burst) >= 12:
                self.doubt.trust = 1.0 - self._early() * self.in_order
        is_due = len(self.took) <= 11 or 2 * len(self.open) <= self.looked
        if self.silence is None and self.open and self.looked and is_due:
            self._ponder()

    def _told(
        self, ticket: int, label: float, weight: float, at: float | None, *, is_last: bool
    ) -> bool:
        if at is not None:
            self.tick(at)
        self.ages.append(self.predictions - ticket - 1)
        self.ages_of.setdefault(label, []).append(self.ages[-1])
        if ticket in self.given_up:
            self.given_up.remove(ticket)
            return False
        old = self.open[ticket].label
        if old == label:
            return True
        if old is None and self.silence is None and self.loss.kind not in ANSWERS:
            self._look_back(label)
        learned = self.learnable(ticket, label)
        self.tamed += learned != label
        if old is None:
            self.first.append((ticket, is_last))
            if self.silence is None:
                self.burst.append(learned)
            self._hear(ticket, learned)
            often = self.scarcity(ticket) if is_last else 1.0
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
                self.tamed += 1
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
        self.doubt = Doubt(self.loss.kind)
        self.heard, self.told = [], []
        self.since = self.charged = self.predictions
        self.again, self.looked = self.predictions + 8, 0

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

    def _hear(self, ticket: int, label: float) -> None:
        if self.since is None:
            self.since = self.predictions
            self.again = self.predictions + 8
        if ticket >= self.since:
            says = float(label > 0.0)
            if self.loss.kind not in ANSWERS:
                says = -self.loss.slope(self.open[ticket].issued, label)
            self.heard.append((self.predictions - ticket - 1, says))
            self.told.append(label)

    def scarcity(self, ticket: int) -> float:
        """Count a label more than once that only the oldest tickets can have by now."""
        if not self.took:
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
        if self.owed is not None:
            age = self.predictions - ticket - 1
            self.owed.corrections.append((age, 1 if told == self.silence else -1))
            if self.again == math.inf:
                self.again = self.predictions + 8
        if self.silence is not None and self.corrected == 50:
            self.mixture = Mixture(self.mixture.v)
            self.charged = self.predictions
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
        """Close a ticket: what was learned of it stays. Where none is open, nothing is moved."""
        del self.open[ticket]
        if not self.open:
            self.doubt.lean, self.doubt.trust, self.looked = 0.0, 1.0, 0

    def _open_size(self, i: int) -> float:
        """Return the sum of |s_i| over the open tickets of which nothing was heard."""
        unheard = [kept.row for kept in self.open.values() if kept.label is None]
        return sum(self.coordinates[i].size(s) for row in unheard for j, s in row if j == i)

    def _steps(self, S: float, row: Row, y: float, h: float) -> None:
        now = [self._fresh(k, row) for k in range(len(SCALES))]
        slopes = [abs(self.loss.slope(p, y)) for p in now]
        for k, etas in enumerate(self._heated(S, row, slopes, h)):
            if slopes[k] > 0.0:
                self._step(k, now[k], etas, row, y, h)
            elif k == AVERAGED:
                for i, _ in row:
                    self.coordinates[i].average()

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
                c.average()

    def _heated(self, S: float, row: Row, pulls: list[float], h: float) -> list[list[float]]:
        """Add pulls, h times, to the energies of a row; return the step sizes of every scale.

        The pull of the first scale is of no account: its energies are those of the second.
        """
        unit = S if self.loss.kind in ("squared", "huber") else 1.0  # that of slopes
        energies: list[list[float]] = [[] for _ in SCALES]
        for k in range(1, len(SCALES)):
            for i, s in row:
                c, g = self.coordinates[i], pulls[k] * abs(s)
                A = c.A[k] + h * g * (g + CAUTION[k] * unit * self._open_size(i))
                c.A[k] = c.short(A)
                energies[k].append(A)
                c.A[0] = c.A[1]
        energies[0] = energies[1]
        return [
            [a * S / math.sqrt(A) if A > 0.0 else 0.0 for A in of_scale]
            for a, of_scale in zip(SCALES, energies, strict=True)
        ]

    def _bet(self, S: float, row: Row, y: float, h: float) -> None:
        """Coin betting per coordinate with a quarter of the labels' scale to start with."""
        g = self.loss.slope(self._fresh(COIN, row), y)
        for i, s in row:
            c = self.coordinates[i]
            w = c.weight(COIN)
            c.bet(S, h * g * s + h * (self.l2 * w + self.l1 * sign(w)))


def learning_order(tickets: list[int]) -> list[int]:
    """Return the tickets of one call in the order in which their labels are learned."""
    ranks = {ticket: rank for rank, ticket in enumerate(sorted(tickets))}
    near = max(len(tickets), 1000)
    return sorted(tickets, key=lambda t: (ranks[t] + near * scattered(t), t))


def scattered(ticket: int) -> float:
    """Return a number in [0, 1): the upper bits of the ticket's place in SplitMix64 from 0."""
    everything = 2**64 - 1
    z = (ticket + 1) * 0x9E3779B97F4A7C15 & everything
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & everything
    z = (z ^ z >> 27) * 0x94D049BB133111EB & everything
    return ((z ^ z >> 31) >> 11) / 2**53


def is_tied(model: NaiveLinear, ticket: int, y: float, h: float) -> bool:
    """Tell whether rounding alone would decide what the mixture learns from a label.

    The issued prediction is at a kink (where all experts are clipped at the same label, their
    mixture is that label); or the experts differ by rounding only, if at all; or gains and losses
    of an expert cancel. Weights of the mixture jump where R_k = 0, whatever the size of R_k beside
    it.
    """
    kept = model.open[ticket]
    y = model.learnable(ticket, y)
    h *= model.scarcity(ticket)
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
