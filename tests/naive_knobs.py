"""Knobs as the equations say, from all answers at once: dense matrices, nothing updated."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

import numpy as np

from belated.arrays import Floats

WINDOWS = (math.inf, 200.0)
SHARES = (0.95, 0.05)
LEVELS = (math.inf, 0.05)
LEVEL_SHARES = (0.6, 0.4)


def features(x: Floats, z: Floats) -> tuple[Floats, Floats]:
    """Return quadratic features with those of the context, and cosines."""
    k = len(x)
    pairs = [x[i] * x[j] for i in range(k) for j in range(i + 1, k)]
    crossed = [value for c in z for value in (c, *(c * x))]
    base = np.array([1.0, *x, *(x * x - 1.0 / 3.0), *pairs, *crossed])
    angle = math.pi * (x + 1.0) / 2.0
    if k == 1:
        cosines = [math.cos(j * angle[0]) for j in range(1, 15)]
    elif k == 2:
        cosines = [
            math.cos(i * angle[0]) * math.cos(j * angle[1])
            for i in range(7)
            for j in range(7 - i)
            if i + j > 0
        ]
    else:
        cosines = [math.cos(j * a) for a in angle for j in (2, 3, 4)]
    return base, np.array(cosines)


def prior(k: int, c: int, spread: float) -> tuple[Floats, Floats]:
    """Return variances of quadratic features and of cosines."""
    pairs = k * (k - 1) // 2
    near = min(1.0, 2.0 / k)
    base = [100.0, *[2.0 / k / near] * k, *[4.0 / k / near**2] * k]
    base += [4.0 / (k * near) ** 2] * pairs
    base += [2.0 / k] * (c * (k + 1))
    if k == 1:
        squares = [j * j for j in range(1, 15)]
    elif k == 2:
        squares = [i * i + j * j for i in range(7) for j in range(7 - i) if i + j > 0]
    else:
        squares = [j * j for _ in range(k) for j in (2, 3, 4)]
    omega = math.pi / 2.0 * np.sqrt(np.array(squares, dtype=float))
    smooth = (1.0 + omega**2 * 0.25 / 3.0) ** -2.0
    return spread * np.array(base), 2.0 * spread * smooth / smooth.sum()


def _bowl(k: int, spread: float) -> float:
    return 2.0 * math.sqrt(spread / k) / min(1.0, 2.0 / k)


@dataclass
class Answer:
    """One answer, in the order in which they came."""

    t: int
    x: Floats
    z: Floats
    y: float = 0.0
    before: list[Answer] = field(default_factory=list)
    """Its contemporaries that were learned earlier."""


@dataclass
class Model:
    """One of the linear models."""

    kind: int
    share: float
    weight: float
    theta: Floats | None = None
    inverse: Floats | None = None


@dataclass
class Set:
    """Two models of all answers or recent ones, with levels or without."""

    window: float
    level: float
    models: list[Model]
    noise: float = 1.0
    since: float = math.inf


class NaiveKnobs:
    """Learns like ``Knobs`` from plays that it is told."""

    def __init__(self, k: int, c: int = 0) -> None:
        self.k, self.c = k, c
        self.waiting: list[tuple[int, Floats, Floats, float]] = []
        self.learned: list[Answer] = []
        self.anchor = self.unit = 0.0
        self.latest = 0
        self.origin = dict.fromkeys(WINDOWS, 0)
        self.spread = 1.0
        self.sets = [
            Set(w, level, [Model(kind, share, share) for kind in range(2)])
            for w, by_window in zip(WINDOWS, SHARES, strict=True)
            for level, by_level in zip(LEVELS, LEVEL_SHARES, strict=True)
            for share in [0.5 * by_window * by_level]
        ]

    @property
    def models(self) -> list[Model]:
        """All models, set by set."""
        return [model for each in self.sets for model in each.models]

    def observe(self, t: int, x: Floats, z: Floats, cost: float) -> None:
        """Learn the cost of play t."""
        self.waiting.append((t, np.array(x), np.array(z), cost))
        if self.unit == 0.0:
            costs = np.array([each[3] for each in self.waiting])
            if len(costs) < 6 + self.k or np.ptp(costs) == 0.0:
                return
            self.anchor = float(np.sort(costs)[len(costs) // 2])
            apart = np.abs(costs - self.anchor)
            most = 30.0 * np.sort(apart)[3 * len(costs) // 4]
            believed = apart[apart <= most] if most > 0.0 else apart
            self.unit = float(np.sqrt((believed**2).mean()))
        for t, x, z, cost in self.waiting:
            self.advance(t)
            self.solve()
            self.learn(Answer(t, x, z), (cost - self.anchor) / self.unit)
        self.solve()
        self.waiting = []

    def advance(self, t: int) -> None:
        """Let play t be the latest if it is; move origins that are more than a window before it."""
        self.latest = max(self.latest, t)
        for window in WINDOWS[1:]:
            if self.latest - self.origin[window] > window:
                self.origin[window] = self.latest
                for each in self.sets:
                    each.since = math.inf if each.window == window else each.since

    def learn(self, answer: Answer, y: float) -> None:
        """Score all models, and take the answer in."""
        n = len(self.learned)
        answer.before = [each for each in self.learned if each.t // 32 == answer.t // 32]
        answer.y = y
        means, variances = [], []
        for each in self.sets:
            for model in each.models:
                phi, net, kappa = self.net(each, model, answer)
                assert model.theta is not None
                assert model.inverse is not None
                means.append(y - net + float(model.theta @ phi))
                variances.append(1.0 / kappa + float(phi @ model.inverse @ phi))
        lead = int(np.argmax([model.weight for model in self.models]))
        level = self.sets[lead // 2].level
        of_level = 1.0 + 1.0 / (len(answer.before) + level)
        far = (3.0 + 0.5 * math.sqrt(n)) * math.sqrt(self.sets[lead // 2].noise * of_level)
        answer.y = min(max(y, means[lead] - far), means[lead] + far)
        self.weigh(answer.y - np.array(means), np.array(variances), n)
        self.learned.append(answer)
        self.spread = max(1.0, float(np.var([each.y for each in self.learned])))
        for each in self.sets:
            each.since += 1

    def weigh(self, e: Floats, v: Floats, n: int) -> None:
        """Multiply weights by the densities of Student's distribution, and share."""
        noise = np.repeat([each.noise for each in self.sets], 2)
        levels = -0.5 * np.log(v * noise) - 3.5 * np.log(1.0 + e * e / (6.0 * v * noise))
        levels = levels + np.log([model.weight for model in self.models])
        for i, each in enumerate(self.sets):
            lead = 2 * i + int(np.argmax([model.weight for model in each.models]))
            each.noise += (e[lead] ** 2 / v[lead] - each.noise) / (min(n, 300) + 3.0)
            each.noise = max(each.noise, 1e-6 * self.spread)
        weights = np.exp(levels - levels.max())
        weights /= weights.sum()
        shared = 1.0 / (n + 100.0)
        for model, weight in zip(self.models, weights, strict=True):
            model.weight = (1.0 - shared) * float(weight) + shared * model.share

    def row(self, each: Set, model: Model, answer: Answer) -> Floats:
        """Return the features of an answer that a model looks at."""
        base, cosines = features(answer.x, answer.z)
        return np.concatenate((base, cosines)[: model.kind + 1])

    def net(self, each: Set, model: Model, answer: Answer) -> tuple[Floats, float, float]:
        """Return features and value less those of contemporaries, and how much they count."""
        phi = self.row(each, model, answer)
        if each.level == math.inf:
            return phi, answer.y, 1.0
        c = 1.0 / (len(answer.before) + each.level)
        rows = sum((self.row(each, model, other) for other in answer.before), np.zeros_like(phi))
        total = sum(other.y for other in answer.before)
        return phi - c * rows, answer.y - c * total, 1.0 / (1.0 + c)

    def solve(self) -> None:
        """Solve the sets that have heard enough since they were solved."""
        for each in self.sets:
            if each.since >= 0.03 * min(len(self.learned), each.window):
                each.since = 0.0
                for model in each.models:
                    self.solve_one(each, model)

    def solve_one(self, each: Set, model: Model) -> None:
        """theta = (A + s^2 P)^-1 (b + s^2 P m)."""
        base, cosines = prior(self.k, self.c, self.spread)
        variance = np.concatenate((base, cosines)[: model.kind + 1])
        mean = np.zeros_like(variance)
        mean[1 + self.k : 1 + 2 * self.k] = _bowl(self.k, self.spread)
        a = np.diag(each.noise / variance)
        b = each.noise / variance * mean
        for answer in self.learned:
            phi, y, kappa = self.net(each, model, answer)
            w = kappa * math.exp(-(self.latest - answer.t // 32 * 32) / each.window)
            a += w * np.outer(phi, phi)
            b += w * phi * y
        inverse: Floats = np.linalg.inv(a).astype(np.float64)
        model.inverse, model.theta = inverse, inverse @ b


def least_allowed(h: Floats, c: Floats, a: Floats, b: Floats) -> Floats:
    """Return where x'Hx/2 + c'x is least for |x_i| <= 1 and Ax <= b; H is positive definite.

    Some of the inequalities are equalities there: all choices of them are tried.
    """
    k = len(c)
    rows = np.vstack([a, np.eye(k), -np.eye(k)])
    ends = np.concatenate([b, np.ones(2 * k)])
    best, found = math.inf, np.zeros(k)
    for count in range(k + 1):
        for chosen in itertools.combinations(range(len(ends)), count):
            tight = rows[list(chosen)]
            system = np.block([[h, tight.T], [tight, np.zeros((count, count))]])
            right = np.concatenate([-c, ends[list(chosen)]])
            x = np.linalg.lstsq(system, right, rcond=None)[0][:k]
            value = float(0.5 * x @ h @ x + c @ x)
            if (rows @ x <= ends + 1e-9).all() and value < best:
                best, found = value, x
    return found
