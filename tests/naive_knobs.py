"""Knobs as the equations say, from all answers at once: dense matrices, nothing updated."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

import numpy as np

from belated.arrays import Floats

WINDOWS = (math.inf, 3000.0, 300.0)
SHARES = (0.95, 0.03, 0.02)
LEVELS = (math.inf, 0.05)
LEVEL_SHARES = (0.6, 0.4)
KINDS = ("quadratic", "cosines", "trend")


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


def prior(k: int, c: int, spread: float) -> tuple[Floats, Floats, Floats]:
    """Return variances of quadratic features, of cosines and of trends."""
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
    trends = np.full(k + 1, 50.0 / k / near)
    return spread * np.array(base), 2.0 * spread * smooth / smooth.sum(), spread * trends


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
class Member:
    """One of the linear models."""

    window: float
    level: float
    kind: str
    share: float
    weight: float
    noise: float = 1.0
    theta: Floats | None = None
    inverse: Floats | None = None
    since: float = math.inf
    squares: float = 0.0


class NaiveKnobs:
    """Learns like ``Knobs`` from plays that it is told."""

    def __init__(self, k: int, c: int = 0) -> None:
        self.k, self.c = k, c
        self.waiting: list[tuple[int, Floats, Floats, float]] = []
        self.learned: list[Answer] = []
        self.first = math.nan
        self.shift = self.unit = 0.0
        self.latest = 0
        self.origin = dict.fromkeys(WINDOWS, 0)
        self.spread, self.refresh = 1.0, 16.0
        self.members = [
            Member(w, level, kind, share, share)
            for w, by_window in zip(WINDOWS, SHARES, strict=True)
            for level, by_level in zip(LEVELS, LEVEL_SHARES, strict=True)
            for kind in KINDS
            for share in [by_window * by_level / (2 if w == math.inf else 3)]
            if w < math.inf or kind != "trend"
        ]

    def observe(self, t: int, x: Floats, z: Floats, cost: float) -> None:
        """Learn the cost of play t."""
        if math.isnan(self.first):
            self.first = cost
        self.waiting.append((t, np.array(x), np.array(z), cost - self.first))
        if self.unit == 0.0:
            costs = np.array([each[3] for each in self.waiting])
            if len(costs) < 6 + self.k or costs.std() == 0.0:
                return
            self.shift, self.unit = float(costs.mean()), float(costs.std())
            self.solve()
        for t, x, z, delta in self.waiting:
            self.learn(t, x, z, (delta - self.shift) / self.unit)
            self.solve()
        self.waiting = []

    def learn(self, t: int, x: Floats, z: Floats, y: float) -> None:
        """Score all members, and take the answer in."""
        n = len(self.learned)
        block = [each for each in self.learned if each.t // 32 == t // 32]
        answer = Answer(t, x, z, y, block)
        errors, doubts = [], []
        for member in self.members:
            phi, net, kappa = self.net(member, answer)
            assert member.theta is not None
            assert member.inverse is not None
            errors.append(net - float(member.theta @ phi))
            doubts.append(1.0 / kappa + float(phi @ member.inverse @ phi))
        lead = max(self.members, key=lambda member: member.weight)
        e = errors[self.members.index(lead)]
        reach = math.sqrt(lead.noise) * (3.0 + 0.5 * math.sqrt(n))
        answer.y = y - e + min(max(e, -reach), reach)
        self.weigh(np.array(errors), np.array(doubts), n, len(block))
        self.learned.append(answer)
        self.latest = max(self.latest, t)
        for member in self.members:
            member.since += 1
        for window in WINDOWS[1:]:
            if (self.latest - self.origin[window]) / window > 1.0:
                self.origin[window] = self.latest
                for member in self.members:
                    member.since = math.inf if member.window == window else member.since
        if n + 1 >= self.refresh:
            self.refresh = 2.0 * self.refresh if self.refresh < 512 else math.inf
            self.spread = max(self.spread, float(np.var([each.y for each in self.learned])))
            for member in self.members:
                member.since = math.inf

    def weigh(self, e: Floats, v: Floats, n: int, company: int) -> None:
        """Multiply weights by the densities of Student's distribution, and share."""
        common = np.array([self.leader_beside(member).noise for member in self.members])
        levels = -0.5 * np.log(v * common) - 3.5 * np.log(1.0 + e * e / (6.0 * v * common))
        levels = levels * (company + 0.25) / (company + 1.0)
        weights = np.array([member.weight for member in self.members])
        weights = weights * np.exp(levels - (levels + np.log(weights)).max())
        weights /= weights.sum()
        shared = 1.0 / (n + 100.0)
        for i, member in enumerate(self.members):
            member.weight = (1.0 - shared) * weights[i] + shared * member.share
            far = 3.0 + 0.5 * math.sqrt(n)
            felt = min(e[i] ** 2 / v[i], max(far**2 * member.noise, self.spread))
            member.noise += (felt - member.noise) / (min(n, 300) + 3.0)
            member.noise = max(member.noise, 1e-6 * self.spread)

    def leader_beside(self, member: Member) -> Member:
        """Return the member with the largest weight of those with the same memory and level."""
        beside = [m for m in self.members if (m.window, m.level) == (member.window, member.level)]
        return max(beside, key=lambda each: each.weight)

    def row(self, member: Member, answer: Answer) -> Floats:
        """Return the features of an answer that a member looks at."""
        base, cosines = features(answer.x, answer.z)
        if member.kind == "cosines":
            return np.append(base, cosines)
        if member.kind == "trend":
            begin = answer.t // 32 * 32
            u = (begin - self.origin[member.window]) / member.window
            return np.append(base, u * base[: self.k + 1])
        return base

    def net(self, member: Member, answer: Answer) -> tuple[Floats, float, float]:
        """Return features and value less those of contemporaries, and how much they count."""
        phi = self.row(member, answer)
        if member.level == math.inf:
            return phi, answer.y, 1.0
        c = 1.0 / (len(answer.before) + member.level)
        rows = sum((self.row(member, each) for each in answer.before), np.zeros_like(phi))
        total = sum(each.y for each in answer.before)
        return phi - c * rows, answer.y - c * total, 1.0 / (1.0 + c)

    def solve(self) -> None:
        """Solve the members that have heard enough since they were solved."""
        for member in self.members:
            if member.since >= 0.03 * min(len(self.learned), member.window):
                member.since = 0.0
                self.solve_one(member)

    def solve_one(self, member: Member) -> None:
        """theta = (A + s^2 P)^-1 (b + s^2 P m)."""
        base, cosines, trends = prior(self.k, self.c, self.spread)
        more = {"quadratic": base[:0], "cosines": cosines, "trend": trends}[member.kind]
        variance = np.append(base, more)
        mean = np.zeros_like(variance)
        mean[1 + self.k : 1 + 2 * self.k] = _bowl(self.k, self.spread)
        a = np.diag(member.noise / variance)
        b = member.noise / variance * mean
        for answer in self.learned:
            phi, y, kappa = self.net(member, answer)
            w = kappa * math.exp(-(self.latest - answer.t // 32 * 32) / member.window)
            a += w * np.outer(phi, phi)
            b += w * phi * y
        inverse: Floats = np.linalg.inv(a).astype(np.float64)
        member.inverse, member.theta = inverse, inverse @ b


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
