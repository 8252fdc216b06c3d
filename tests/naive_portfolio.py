"""Slow, obvious versions of ``Portfolio`` and ``Leader``, written from their docstrings.

Every point stays in a list; which of them an answer may look at is found by trying all that the
rule allows. Members of a portfolio are ``NaiveLearner`` objects that share what was observed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

import naive
from naive import PFTRL, Array, ChartSet, NaiveConfig, NaiveLearner

PLACES = 16


@dataclass(frozen=True, kw_only=True)
class PortfolioConfig(NaiveConfig):
    """The surroundings, and what each member is told; ``lipschitz`` is the largest of theirs."""

    members: tuple[NaiveConfig, ...] = ()
    reach: int = 61_440


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
    weights: list[Array] = field(default_factory=list)
    """The weights when the answer came, and when its ticket was issued."""


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
        self.simplex = ChartSet("simplex", len(self.members))
        self.mixer = PFTRL(self.simplex)
        self.weights = [self.mixer.start()]  # w_1, w_2, ..
        self.mixer_rates: list[float | None] = []
        self.charges: list[Charge] = []
        self.centred: list[Array] = []

    def _step(self, cost: Array) -> None:
        """Charge the members for the plays they had, then let them and the weights move."""
        charge = self._charge(cost)
        self.charges.append(charge)
        for member in self.members:
            eta = member._rate()
            member.history.rates.append(eta)
            member.z = member.base.update(cost, eta)
            member.history.points.append(member.z.copy())
        # A constant added to all charges changes no step; without their mean they are smallest.
        self.centred.append(charge.values - charge.values.mean())
        eta = self._mixer_rate()
        self.mixer_rates.append(eta)
        self.weights.append(self.mixer.update(self.centred[-1], eta))
        self.history.rates.append(self._mean_rate())
        self.z = np.zeros(self.config.dim)
        for weight, member in zip(self.weights[-1], self.members, strict=True):
            self.z = self.z + weight * member.z
        self.history.points.append(self.z.copy())

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
            return Charge(np.zeros(count), half, seen, (seen, seen), True, weights)
        a, b = around(before, seen)
        values, misread = [], []
        for member in self.members:
            points = member.history.points[a : b + 1]
            misread.append(size * min(self.diameter, length(points) / 2.0))
            values.append(float(cost @ (points[0] + points[-1])) / 2.0 + misread[-1])
        return Charge(np.array(values), np.array(misread), seen, (a, b), False, weights)

    def _mixer_rate(self) -> float | None:
        """The rate of the weights: gradient-adaptive, for values delay-adaptive."""
        backlogs, width = self.history.dual_backlogs, self.simplex.diameter
        if self.config.reduction == "first-order":
            sizes = [float(np.linalg.norm(charge)) for charge in self.centred]
            return naive.rate_gradient_adaptive(sizes, backlogs, width, None)
        lipschitz = self.config.lipschitz
        assert lipschitz is not None
        largest = lipschitz * self.diameter / 2.0 * math.sqrt(len(self.members))
        config = self.config
        # The largest charge stands for G outside the root; inside it G is that of the gradients.
        if config.reduction == "one-point":
            return (lipschitz / largest) * naive.rate_one_point(
                backlogs, self.history.smoothings, width, lipschitz, config.dim, config.magnitude
            )
        return (lipschitz / largest) * naive.rate_two_point(backlogs, width, lipschitz, config.dim)


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
