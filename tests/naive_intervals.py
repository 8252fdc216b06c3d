"""Intervals the slow way: every number is computed anew from all that ever happened."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import belated as bl


@dataclass
class NaiveThreshold:
    """Keeps every arrival: the threshold issued, the score, how many were open, and the verdict.

    ``issues`` has how many arrivals there were at each prediction.
    """

    alpha: float
    arrivals: list[tuple[float, float, int, bool]] = field(default_factory=list)
    tickets: list[int] = field(default_factory=list)
    forecasts: list[float] = field(default_factory=list)
    issues: list[int] = field(default_factory=list)

    def total(self, count: int) -> float:
        """Return the sum of the first scores; those between two predictions in ticket order."""
        total, begin = 0.0, 0
        for end in [*(each for each in self.issues if each <= count), count]:
            for at in sorted(range(begin, end), key=lambda at: self.tickets[at]):
                total += self.arrivals[at][1]
            begin = max(begin, end)
        return total

    def counted(self, count: int) -> list[tuple[float, float, int, bool]]:
        """Return those of the first arrivals whose threshold was one."""
        return [arrival for arrival in self.arrivals[:count] if arrival[0] < math.inf]

    def owed(self, count: int) -> float:
        """Return D after so many arrivals."""
        counted = self.counted(count)
        return sum(missed for _, _, _, missed in counted) - self.alpha * len(counted)

    def step(self, count: int) -> float:
        """Return eta after so many arrivals."""
        if count == 0:
            return 0.0
        waiting = max(w for _, _, w, _ in self.arrivals[:count])
        return 2.0 * self.total(count) / (count * (64 + waiting))

    def issue(self, forecast: float) -> float:
        """Return the threshold of one more ticket."""
        count = len(self.arrivals)
        self.issues.append(count)
        if count == 0:
            return math.inf
        largest = max(score for _, score, _, _ in self.arrivals)
        base = 0.0 if forecast < 0.0 else largest if forecast > largest else forecast
        self.forecasts.append(base)
        return base + self.step(count) * self.owed(count)

    def learn(
        self, ticket: int, issued: float, score: float, waiting: int, is_missed: bool
    ) -> None:
        """Keep an arrival."""
        self.tickets.append(ticket)
        self.arrivals.append((issued, score, waiting, is_missed))

    def floor(self, least: int) -> float:
        """Return h: the least step that a threshold was issued with after k arrivals."""
        heard = {count for count in self.issues if len(self.counted(count)) > least}
        return min((self.step(count) for count in heard), default=math.inf)

    def limits(self, least: int, level: float) -> tuple[float, float]:
        """Return what the theorem says of D with k = ``least`` and L = ``level``."""
        alpha, counted = self.alpha, self.counted(len(self.arrivals))
        waiting, floor = max(w for _, _, w, _ in self.arrivals), self.floor(least)
        above = sum(score > level for _, score, _, _ in counted)
        high = max((1.0 - alpha) * least, level / floor) + (1.0 - alpha) * (waiting + above)
        low = -max(alpha * least, max(self.forecasts, default=0.0) / floor) - alpha * waiting
        return low, high


class NaiveIntervals:
    """Two models and a slow threshold."""

    def __init__(self, loss: Any, coverage: float, **settings: Any) -> None:
        self.model = bl.LinearModel(loss, **settings)
        self.scores = bl.LinearModel("quantile", quantile=coverage, **settings)
        self.threshold = NaiveThreshold(1.0 - coverage)
        self.issued: dict[int, tuple[float, float, float, float]] = {}
        self.widths: list[float] = []

    def predict(self, row: list[float]) -> tuple[int, float, float, float]:
        """Return ticket, value, low and high."""
        ticket, value = self.model.predict(row)
        q = self.threshold.issue(self.scores.predict(row).value)
        half = q if q > 0.0 else 0.0
        self.issued[ticket] = value, q, value - half, value + half
        return ticket, value, value - half, value + half

    def observe(self, ticket: int, label: float) -> None:
        """Learn a label."""
        waiting = len(self.issued)
        value, q, low, high = self.issued.pop(ticket)
        self.model.observe(ticket, label)
        self.scores.observe(ticket, abs(label - value))
        is_missed = label < low or label > high or q < 0.0
        self.threshold.learn(ticket, q, abs(label - value), waiting, is_missed)
        if q < math.inf:
            self.widths.append(0.5 * (high - low))
