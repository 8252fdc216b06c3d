"""A slow, obvious version of when the silence of a ticket is learned as a label.

Moments are times in units of 1/4096 of the deadline, or numbers of predictions. Ages are sorted
into ``AGES``. See ``Delays`` of the library for the equations.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import math
from collections import defaultdict
from dataclasses import dataclass, field

AGES: list[int] = [*range(16), *((4 + j) * 2**e for e in range(2, 38) for j in range(4))]
WIDTHS = {age: after - age for age, after in itertools.pairwise(AGES)}
PASSES, QUANTILES = 20, 16
CELL_UNITS, CELLS = 16, 256
SHAPES = 1, 4, 16, 64


@dataclass
class NaiveDelays:
    """Ages of answers, and when every ticket was asked."""

    by_time: bool
    asked: list[float] = field(default_factory=list)
    came: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    passed: list[int] = field(default_factory=lambda: [0] * QUANTILES)
    limits: list[float] = field(default_factory=lambda: [math.inf] * QUANTILES)
    next_update: float = 0
    latest: float = 0.0
    gap: float = 0.0
    exposed: float = 0.0
    counted: float = 0.0

    def middle(self, age: int, moment: float) -> float:
        """Return the mean of the ages that count as one."""
        return max((age + min(age + WIDTHS[age], moment) - 1) / 2, 0.0)

    def reached(self, age: int, moment: float) -> float:
        """Return how many tickets have reached the middle of ages, at least a quarter of all."""
        count = len(self.asked)
        return max(count - self.younger(self.middle(age, moment), moment), count / 4)

    def younger(self, age: float, moment: float) -> float:
        """Return how many tickets are younger, as if spread evenly in their cells."""
        if not self.by_time:
            return age
        newest, since = self.asked[-1] // CELL_UNITS, (moment - age) / CELL_UNITS
        count = 0.0
        for asked in self.asked:
            cell = asked // CELL_UNITS
            end = min(cell + 1.0, moment / CELL_UNITS)
            if cell > newest - CELLS:
                count += min(max((end - since) / max(end - cell, 1e-9), 0.0), 1.0)
        return count

    def hear(self, asked: list[float], moment: float) -> None:
        """Count answers to tickets that were asked at these moments."""
        wide = []
        for when in asked:
            oldest = int(moment - when)
            least = min(int(max(self.latest - when + 1, 0.0)), oldest)
            if place_of(oldest) - place_of(least) <= 1:
                self.came[AGES[place_of(oldest)]] += 1.0
            else:
                wide.append((least, oldest))
        for age, more in self.spread(wide, moment).items():
            self.came[age] += more
        self.gap = max(self.gap, moment - self.latest)
        self.latest = moment
        if len(self.asked) >= self.next_update:
            self.next_update = len(self.asked) + max(min(len(self.asked) // 16, 256), 8)
            self.update(moment)

    def spread(self, wide: list[tuple[int, int]], moment: float) -> dict[int, float]:
        """Return how many answers with ages in these ranges came at each."""
        count, fresh = len(self.asked), dict[int, float]()
        reached = {age: self.reached(age, moment) for age in WIDTHS if age <= moment}
        for _ in range(PASSES if wide else 0):
            density = {
                age: 1 / count**2
                + (self.came.get(age, 0.0) + fresh.get(age, 0.0)) / reached[age] / WIDTHS[age]
                for age in reached
            }
            fresh = defaultdict(float)
            for least, oldest in wide:
                chances = {
                    age: d * (min(age + WIDTHS[age], oldest + 1) - max(age, least))
                    for age, d in density.items()
                    if age <= oldest and age + WIDTHS[age] > least
                }
                for age, chance in chances.items():
                    fresh[age] += chance / sum(chances.values())
        return fresh

    def groups(self, moment: float) -> tuple[float, list[float]]:
        """Return the oldest age, and how many tickets are between it and the ages below.

        Of those each is 2^(-1/4) of the one before, but the last is 0.
        """
        oldest = max(moment, 1.0)
        if not self.by_time:
            return oldest, [float(len(self.asked))] + 15 * [0.0]
        first = max(e for e in range(60) if e == 0 or 4096.0 * 2.0 ** (-e / 4) >= oldest)
        edges = [4096.0 * 2.0 ** (-e / 4) for e in range(first, first + 16)]
        younger = [self.younger(edge, moment) for edge in (*edges, 0.0)]
        return edges[0], [older - rest for older, rest in itertools.pairwise(younger)]

    def exposure(self, moment: float) -> float:
        """Return how many tickets could have been answered by now."""
        n, answers = len(self.asked), sum(self.came.values())
        t, groups = self.groups(moment)
        finished = n - sum(groups)
        logs, found = [], []
        for k in SHAPES:
            for e in range(-40, 25):
                m, in_time = t * 2.0 ** (e / 4), 1.0
                if self.by_time:
                    in_time = share_by(k, round(4 * math.log2(4096.0 / m)))
                total = finished * in_time
                for g, count in enumerate(groups):
                    total += count * mean_share(k, -g - e, self.by_time and g < 15)
                logs.append(self.likelihood(k, m, t, moment) - answers * math.log(total))
                found.append(total / in_time)
        weights = [math.exp(log - max(logs)) for log in logs]
        mean = math.fsum(w * each for w, each in zip(weights, found, strict=True))
        return max(mean / math.fsum(weights), answers, n / 8)

    def likelihood(self, k: int, m: float, t: float, moment: float) -> float:
        """Return the logarithm of the densities of a gamma distribution, times the prior."""
        log = math.log(min(t / m, 1))
        for age, count in self.came.items():
            a = self.middle(age, moment)
            density = (k - 1) * math.log(max(a, 0.5)) - a * k / m - k * math.log(m / k)
            log += count * (density - math.lgamma(k))
        return log

    def update(self, moment: float) -> None:
        """Find from what age on silence is learned, for every quantile."""
        answers = sum(self.came.values())
        if answers == 0.0:
            return
        exposure = self.exposure(moment)
        more = exposure * (1.0 - self.counted / answers) / 2
        exposure = max(exposure, min(self.exposed + more, len(self.asked)))
        self.exposed, self.counted = exposure, answers
        yes = (answers + 0.5) / (exposure + 1.0)
        reached = {age: self.reached(age, moment) for age, n in self.came.items() if n > 0.0}
        self.limits = []
        for level in range(QUANTILES):
            w = (level + 0.5) / QUANTILES
            wanted, so_far, limit = w / (1 - yes + yes * w), 0.0, math.inf
            for age in sorted(reached):
                more = self.came[age] / reached[age] * exposure / answers
                if wanted <= so_far + more:
                    limit = age + WIDTHS[age] * (wanted - so_far) / more
                    break
                so_far += more
            self.limits.append(limit)

    def next(self, level: int) -> int:
        """Return the next ticket of a quantile."""
        block = self.passed[level]
        return QUANTILES * block + (level ^ int(QUANTILES * scattered(block)))


@functools.cache
def share_by(k: int, quarters: int) -> float:
    """Return the distribution function of a gamma distribution at 2^(quarters / 4) means."""
    x = k * math.exp2(quarters / 4)
    if x > 3 * k + 40:
        return 1.0
    return math.fsum(
        math.exp(i * math.log(x) - x - math.lgamma(i + 1)) for i in range(k, 6 * k + 300)
    )


@functools.cache
def up_to(k: int, quarters: int) -> float:
    """Return its integral from 0 to there, in means."""
    x = k * math.exp2(quarters / 4)
    if x > 3 * k + 40:
        return x / k - 1.0
    chances = (
        math.exp(i * math.log(x) - x - math.lgamma(i + 1)) for i in range(k + 1, 6 * k + 300)
    )
    return math.fsum((i + 1) * chance for i, chance in enumerate(chances)) / k


@functools.cache
def mean_share(k: int, quarters: int, is_group: bool) -> float:
    """Return its mean from a quarter of a doubling below to there, or from 0 to there."""
    end, start = math.exp2(quarters / 4), math.exp2((quarters - 1) / 4)
    if not is_group:
        return up_to(k, quarters) / end
    return (up_to(k, quarters) - up_to(k, quarters - 1)) / (end - start)


def place_of(age: int) -> int:
    """Return the place of an age among those that count as one."""
    return bisect.bisect_right(AGES, age) - 1


def scattered(ticket: int) -> float:
    """Return a number in [0, 1): the upper bits of the ticket's place in SplitMix64 from 0."""
    everything = 2**64 - 1
    z = (ticket + 1) * 0x9E3779B97F4A7C15 & everything
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & everything
    z = (z ^ z >> 27) * 0x94D049BB133111EB & everything
    return ((z ^ z >> 31) >> 11) / 2**53
