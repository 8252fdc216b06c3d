"""Slow, obvious versions of ``Portfolio`` and ``Leader``, written from their docstrings.

Every point stays in a list; which of them an answer may look at is found by trying all that the
rule allows. Members of a portfolio are ``NaiveLearner`` objects that share what was observed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from naive import Array, NaiveConfig, NaiveLearner

PLACES = 16


@dataclass(frozen=True, kw_only=True)
class PortfolioConfig(NaiveConfig):
    """The surroundings, and what each member is told; ``lipschitz`` is the largest of theirs."""

    members: tuple[NaiveConfig, ...] = ()
    reach: int = 61_440
    leash: float = 0.5

    @property
    def anchor(self) -> int | None:
        """The first P-FTRL or OMD whose rate knows delays, or counts only, or follows costs."""
        covered = [
            number
            for number, member in enumerate(self.members)
            if member.base in ("pftrl", "omd") and member.rate != "strongly-convex"
        ]
        careful = [n for n in covered if self.members[n].rate in ("delay-adaptive", "tight")]
        counting = [n for n in covered if self.members[n].rate != "gradient-adaptive"]
        return next(iter(careful or counting or covered), None)

    @property
    def prior(self) -> Array:
        """Half of the weight for the anchor; the others share the rest."""
        count = len(self.members)
        if self.anchor is None or count == 1:
            return np.full(count, 1.0 / count)
        return np.array([0.5 if i == self.anchor else 0.5 / (count - 1) for i in range(count)])


@dataclass(frozen=True, kw_only=True)
class LeaderConfig(NaiveConfig):
    """The surroundings of a leader, whose ``rate`` must be strongly convex."""

    reach: int = 61_440


def kept(arrivals: int, level: int) -> list[int]:
    """The numbers of arrivals after which a level keeps points: the last 16 multiples of 2^level.

    ``arrivals`` have come so far; a point after none of them is the first one.
    """
    multiples = range(0, arrivals + 1, 2**level)
    return list(multiples)[-PLACES:]


def around(arrivals: int, seen: int) -> tuple[int, int]:
    """Return after how many arrivals the two points kept around ``seen`` were made.

    They are the neighbours of ``seen``, or itself, on the first level that goes back so far.
    """
    level = 0
    while min(kept(arrivals, level)) > seen:
        level += 1
    points = kept(arrivals, level)
    return max(m for m in points if m <= seen), min(m for m in points if m >= seen)


def length(points: list[Array]) -> float:
    """The length of the way through some points."""
    return math.fsum(float(np.linalg.norm(q - p)) for p, q in pairwise(points))


@dataclass
class Charge:
    """What one answer charged: the members' l_i, how much of each is for not knowing, and w."""

    values: Array
    misread: Array
    seen: int
    used: tuple[int, int]
    forgotten: bool
    mixed: float = 0.0
    """A, what the mixture is charged."""
    rise: float = 0.0
    """By how much it raised the soft maximum of the gaps, at the rate when it came."""
    weights: list[Array] = field(default_factory=list)
    """The weights played when the answer came, and when its ticket was issued."""


class NaivePortfolio(NaiveLearner):
    """All members hear the same costs; the play is the mean of their points under the weights."""

    def __init__(self, config: PortfolioConfig) -> None:
        super().__init__(config)
        self.reach = config.reach
        self.members = [NaiveLearner(member) for member in config.members]
        for member in self.members:
            shared = self.history
            member.history.costs, member.history.norms = shared.costs, shared.norms
            member.history.dual_backlogs = shared.dual_backlogs
            member.history.smoothings = shared.smoothings
        self.told = config
        self.is_tied = config.anchor is not None and config.reduction == "first-order"
        only = np.eye(len(self.members))[config.anchor or 0]
        self.weights = [only if self.is_tied else config.prior]  # w_1, w_2, .., as played
        self.free = [config.prior]  # what they would be without the leash
        self.rates: list[float | None] = []  # of the weights
        self.taut: list[bool] = []
        self.charges: list[Charge] = []
        self._before = np.zeros(len(self.members))  # gaps before the newest answer

    def _step(self, cost: Array) -> None:
        """Charge everyone for the plays they had, then let the members and the weights move."""
        charge = self._charge(cost)
        self.charges.append(charge)
        for member in self.members:
            eta = member._rate()
            member.history.rates.append(eta)
            member.z = member.base.update(cost, eta)
            member.history.points.append(member.z.copy())
        self._weigh(charge)
        if charge.forgotten or not cost.any():  # which leaves the weights as they are
            self.taut.append(bool(self.taut and self.taut[-1]))
            self.weights.append(self.weights[-1])
        elif self._hold():
            self.weights.append(np.eye(len(self.members))[self.told.anchor or 0])
        else:
            self.weights.append(self.free[-1])
        self.history.rates.append(self._mean_rate())
        self.z = np.zeros(self.config.dim)
        for weight, member in zip(self.weights[-1], self.members, strict=True):
            self.z = self.z + weight * member.z
        self.history.points.append(self.z.copy())

    def _weigh(self, charge: Charge) -> None:
        """Weights exponential in the gaps; equal charges change nothing."""
        old = self.rates[-1] if self.rates else None
        if np.ptp(charge.values) == 0.0:
            self.rates.append(old)
            self.free.append(self.free[-1])
            return
        charge.rise = self._soft_top(self.gaps(), old) - self._soft_top(self._before, old)
        self._before = self.gaps()
        lost = math.fsum(max(0.0, each.rise) for each in self.charges)
        floor = 2.0**-30 * self.diameter * max(self.history.norms)
        self.rates.append(math.log(4.0) / (lost + floor))
        gaps = self.gaps()
        powers = self.told.prior * np.exp(self.rates[-1] * (gaps - gaps.max()))
        self.free.append(powers / math.fsum(powers))

    def _soft_top(self, gaps: Array, rate: float | None) -> float:
        """ln(sum_i prior_i exp(rate gap_i)) / rate, or the largest gap without a rate."""
        top = float(gaps.max())
        if rate is None:
            return top
        return top + math.log(math.fsum(self.told.prior * np.exp(rate * (gaps - top)))) / rate

    def gaps(self) -> Array:
        """What the mixture was charged more than each member."""
        rows = [each.mixed - each.values for each in self.charges if np.ptp(each.values) > 0.0]
        zero = np.zeros(len(self.members))
        return np.array([math.fsum(column) for column in zip(zero, *rows, strict=True)])

    def allowed(self, number: int) -> float:
        """B_n: what Theorem 4.1 allows a member."""
        history = self.history
        lipschitz = max(self.config.lipschitz or 0.0, *history.norms)
        etas = [eta or 0.0 for eta in self.members[number].history.rates]
        start = self.diameter**2 / (2.0 * etas[-1]) if etas[-1] else 0.0
        rows = zip(etas, history.norms, history.dual_backlogs, strict=True)
        return start + math.fsum(
            eta * norm * (norm / 2.0 + lipschitz * open_lags) for eta, norm, open_lags in rows
        )

    def _hold(self) -> bool:
        """Note whether the leash is taut."""
        self.taut.append(self._is_taut())
        return self.taut[-1]

    def _is_taut(self) -> bool:
        """Whether gap + G D open > leash B_n, for the anchor; never for values."""
        if self.told.anchor is None or not self.is_tied:
            return False
        gap = float(self.gaps()[self.told.anchor])
        lipschitz = max(self.config.lipschitz or 0.0, *self.history.norms)
        risk = lipschitz * self.diameter * self.history.dual_backlogs[-1]
        return gap + risk > self.told.leash * self.allowed(self.told.anchor)

    def _mean_rate(self) -> float:
        """The mean of the members' steps under the weights before this observation."""
        steps = [member.history.rates[-1] or 0.0 for member in self.members]
        return math.fsum(w * eta for w, eta in zip(self.weights[-2], steps, strict=True))

    def _charge(self, cost: Array) -> Charge:
        """l_i = <c, (z_i(a) + z_i(b)) / 2> + |c| min(D, half the way between)."""
        history = self.history
        before = len(history.costs) - 1  # arrivals before this one
        lag, size = history.dual_delays[-1], history.norms[-1]
        seen = before - lag
        count = len(self.members)
        weights = [self.weights[before], self.weights[seen]]
        if lag > self.reach:
            # The play may have been worse than any member's by |c| D, which is twice this.
            half = np.full(count, 0.5 * size * self.diameter)
            return Charge(np.zeros(count), half, seen, (seen, seen), True, weights=weights)
        a, b = around(before, seen)
        values, misread = [], []
        for member in self.members:
            points = member.history.points[a : b + 1]
            misread.append(size * min(self.diameter, length(points) / 2.0))
            values.append(float(cost @ (points[0] + points[-1])) / 2.0 + misread[-1])
        charges = np.array(values)
        way = math.fsum(float(np.abs(q - p).sum()) for p, q in pairwise(self.weights[a : b + 1]))
        mixed = float(charges @ (self.weights[a] + self.weights[b])) / 2.0
        mixed += float(np.ptp(charges)) / 2.0 * min(2.0, way / 2.0)
        return Charge(charges, np.array(misread), seen, (a, b), False, mixed, weights=weights)


class NaiveLeader(NaiveLearner):
    """The projected mean of all y_m - c_m / lambda, y_m being about the point of the play."""

    def __init__(self, config: LeaderConfig) -> None:
        super().__init__(config)
        self.reach = config.reach
        self.about: list[Array] = []  # y_1, y_2, ..
        self.unsure: list[float] = []  # how far they may be from the points played
        self.current = False  # whether the newest cost is about the current point

    def _zero_cost(self) -> Array:
        """The substitute for an answer has its gradient taken at the current point."""
        self.current = True
        return super()._zero_cost()

    def _step(self, cost: Array) -> None:
        """Find y and lead."""
        history, curvature = self.history, self.config.curvature
        before, lag = len(history.costs) - 1, history.dual_delays[-1]
        if self.current:
            self.about.append(self.z)
            self.unsure.append(0.0)
            self.current = False
        elif lag > self.reach:
            self.about.append(self.z)
            self.unsure.append(self.diameter)
        else:
            a, b = around(before, before - lag)
            self.about.append((history.points[a] + history.points[b]) / 2.0)
            self.unsure.append(min(self.diameter, length(history.points[a : b + 1]) / 2.0))
        history.rates.append(self._rate())
        terms = [y - c / curvature for y, c in zip(self.about, history.costs, strict=True)]
        self.z = self.config.domain.project(np.mean(terms, axis=0))
        history.points.append(self.z.copy())
