"""A slow, obvious version of ``Portfolio``, written from its docstring.

Every point of every member stays in a list; which of them a charge may look at is found by trying
all that the rule allows. Members are ``NaiveLearner`` objects that share what was observed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

import naive
from naive import PFTRL, Array, ChartSet, NaiveConfig, NaiveLearner

PLACES = 16


@dataclass(frozen=True, kw_only=True)
class PortfolioConfig(NaiveConfig):
    """The surroundings, and what each member is told; ``lipschitz`` is the largest of theirs."""

    members: tuple[NaiveConfig, ...] = ()
    reach: int = 65_536


def kept(arrivals: int, level: int) -> list[int]:
    """The numbers of arrivals after which a level keeps points: the last 16 multiples of 2^level.

    ``arrivals`` have come so far; a point after none of them is the first one.
    """
    multiples = range(0, arrivals + 1, 2**level)
    return list(multiples)[-PLACES:]


def choose(arrivals: int, seen: int) -> tuple[int, int]:
    """Return (m, last): after how many arrivals the point used for ``seen`` was made, and the last
    kept one that is not after ``seen``.

    The first level that reaches back to ``seen`` is used, and there the nearest point, the later
    of two that are equally near.
    """
    level = 0
    while min(kept(arrivals, level)) > seen:
        level += 1
    points = kept(arrivals, level)
    nearest = min(points, key=lambda m: (abs(m - seen), -m))
    return nearest, max(m for m in points if m <= seen)


@dataclass
class Charge:
    """What one answer charged: the members' l_i, how much of each is for not knowing, and w."""

    values: Array
    misread: Array
    seen: int
    used: int
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
        """l_i = <c, z_i(m)> + |c| min(D, g |s - m| eta_i)."""
        history = self.history
        before = len(history.costs) - 1  # arrivals before this one
        lag = history.dual_delays[-1]
        seen = before - lag
        count = len(self.members)
        weights = [self.weights[before], self.weights[seen]]
        if lag > self.reach:
            # The play may have been worse than any member's by |c| D, which is twice this.
            half = np.full(count, 0.5 * history.norms[-1] * self.diameter)
            return Charge(np.zeros(count), half, seen, seen, True, weights)
        used, last = choose(before, seen)
        size, largest = history.norms[-1], max(history.norms)
        values, misread = [], []
        for member in self.members:
            way = 0.0
            if used != seen:
                way = largest * abs(seen - used) * self._pace(member, last)
            misread.append(size * min(self.diameter, way))
            values.append(float(cost @ member.history.points[used]) + misread[-1])
        return Charge(np.array(values), np.array(misread), seen, used, False, weights)

    def _pace(self, member: NaiveLearner, last: int) -> float:
        """The step with which a member came to its point after ``last`` arrivals.

        Where it had not moved yet, the first step that it took with a cost stands for that.
        """
        rates, norms = member.history.rates, self.history.norms
        moved = last > 0 and rates[last - 1] is not None
        n = last - 1 if moved else next(n for n, norm in enumerate(norms) if norm > 0.0)
        eta = rates[n] if n < len(rates) else member._rate()
        assert eta is not None
        return eta

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
