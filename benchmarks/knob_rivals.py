"""What people do to find a setting from values, for games with late costs.

All play for several seeds at once, start in the middle and know that settings are in [-1, 1]^k.
Those with a theorem, and the ten lines, are also told that costs are about 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from types import MappingProxyType
from typing import Any, Final, Literal, cast

import numpy as np

from belated.arrays import Bools, Floats, Ints
from belated.domains import Box
from belated.models.knobs import Knobs
from belated.models.learner.learner import Learner
from belated.problem import Problem
from belated.reductions import LearnerSpec, OnePoint
from belated.research.rivals import GOLD
from benchmarks.knob_games import Make


class Spread:
    """Means and deviations of all costs so far, one for every seed."""

    def __init__(self, count: int) -> None:
        """Begin with nothing."""
        self.n = np.zeros(count)
        self._sum = np.zeros(count)
        self._square = np.zeros(count)

    def add(self, seeds: Ints, costs: Floats) -> None:
        """Take in costs."""
        np.add.at(self.n, seeds, 1.0)
        np.add.at(self._sum, seeds, costs)
        np.add.at(self._square, seeds, costs * costs)

    @property
    def mean(self) -> Floats:
        """The means, 0 before the first cost."""
        return np.asarray(self._sum / np.maximum(self.n, 1.0))

    @property
    def deviation(self) -> Floats:
        """The deviations, 1 before there are two different costs."""
        variance = self._square / np.maximum(self.n, 1.0) - self.mean**2
        return np.where(variance > 1e-12, np.sqrt(np.maximum(variance, 1e-12)), 1.0)


class Plays:
    """Something about every play, found by ticket."""

    def __init__(self, count: int, width: int) -> None:
        """Begin with room for a few."""
        self.rows = np.zeros((1024, count, width))

    def __setitem__(self, ticket: int, rows: Floats) -> None:
        """Keep what was played."""
        if ticket >= len(self.rows):
            self.rows = np.concatenate([self.rows, np.zeros_like(self.rows)])
        self.rows[ticket] = rows

    def of(self, seeds: Ints, tickets: Ints) -> Floats:
        """Return what was played."""
        return self.rows[tickets, seeds]


# ---- a quadratic model -------------------------------------------------------------------------


class Surrogate:
    """Least squares for a quadratic of all values; the play is its minimum plus noise.

    The noise is uniform in a cube of half width ``spread`` n^(-1/4) after n answers. The first
    plays are uniform, until there are two answers for every coefficient; if ``careful``, only four
    plays for every coefficient are, and those after them are near the start. With ``window`` a
    value counts exp(-age / window), by the age of the play.
    """

    def __init__(
        self,
        knobs: int,
        seeds: Sequence[int],
        spread: float,
        window: float | None = None,
        careful: bool = False,
    ) -> None:
        """Begin with nothing but a small ridge."""
        self._knobs, self._spread, self._window = knobs, spread, window
        self._careful = careful
        self._rng = np.random.default_rng([21, *seeds])
        self._pairs = np.triu_indices(knobs)
        width = 1 + knobs + len(self._pairs[0])
        count = len(seeds)
        self._a = np.zeros((count, width, width)) + 1e-3 * np.eye(width)
        self._b = np.zeros((count, width))
        self._n = np.zeros(count)
        self._plays = Plays(count, width)
        self._best = np.zeros((count, knobs))
        self._t = 0
        self._fitted = 0

    def ask(self) -> Floats:
        """Fit now and then, and play near the minimum."""
        if self._t - self._fitted >= max(4, self._t // 100):
            self._fit()
        uniform = self._rng.uniform(-1.0, 1.0, size=self._best.shape)
        radius = self._spread * np.maximum(self._n, 1.0) ** -0.25
        x = np.clip(self._best + radius[:, None] * uniform, -1.0, 1.0)
        width = self._b.shape[1]
        begins = self._n < 2 * width
        if self._careful:
            x = np.where(begins[:, None], self._spread * uniform, x)
            begins[:] = self._t < 4 * width
        x = np.where(begins[:, None], uniform, x)
        self._plays[self._t] = self._features(x)
        self._t += 1
        return x

    def _features(self, x: Floats) -> Floats:
        i, j = self._pairs
        return np.concatenate([np.ones((len(x), 1)), x, x[:, i] * x[:, j]], axis=1)

    def _fit(self) -> None:
        self._fitted = self._t
        theta = np.linalg.solve(self._a, self._b[:, :, None])[:, :, 0].astype(np.float64)
        k = self._knobs
        hessian = np.zeros((len(theta), k, k))
        hessian[:, self._pairs[0], self._pairs[1]] = theta[:, 1 + k :]
        hessian = hessian + hessian.transpose(0, 2, 1)
        self._best = box_minimum(theta[:, 1 : 1 + k], hessian, self._best)

    def tell(self, seeds: Ints, tickets: Ints, costs: Floats) -> None:
        """Add to the sums."""
        phi = self._plays.of(seeds, tickets)
        weight = np.ones(len(costs))
        if self._window is not None:
            # Later plays count more, instead of fading what is there; rescaled before it is large.
            weight = np.exp(tickets / self._window - 30.0 * (self._t // (30.0 * self._window)))
            if self._t % int(30 * self._window) == 0:
                self._a *= np.exp(-30.0)
                self._b *= np.exp(-30.0)
        np.add.at(self._a, seeds, weight[:, None, None] * phi[:, :, None] * phi[:, None, :])
        np.add.at(self._b, seeds, (weight * costs)[:, None] * phi)
        np.add.at(self._n, seeds, 1.0)


def box_minimum(linear: Floats, hessian: Floats, start: Floats, sweeps: int = 12) -> Floats:
    """Minimise <linear, x> + x' hessian x / 2 in the cube, one coordinate after the other.

    >>> box_minimum(np.array([[1.0]]), np.array([[[2.0]]]), np.array([[0.9]]))
    array([[-0.5]])
    """
    x = start.copy()
    for _ in range(sweeps):
        for i in range(x.shape[1]):
            own = hessian[:, i, i]
            slope = linear[:, i] + np.einsum("sj,sj->s", hessian[:, i], x) - own * x[:, i]
            curved = own > 1e-9
            inner = np.clip(-slope / np.where(curved, own, 1.0), -1.0, 1.0)
            x[:, i] = np.where(curved, inner, -np.sign(slope))
    return x


# ---- grids -------------------------------------------------------------------------------------


def grid(knobs: int, rng: np.random.Generator) -> Floats:
    """Return 15 points, 7 by 7, 3 to each of up to 4 knobs, or 100 at random with more."""
    if knobs <= 4:
        each = np.linspace(-1.0, 1.0, {1: 15, 2: 7}.get(knobs, 3))
        return np.array(list(product(each, repeat=knobs)))
    return rng.uniform(-1.0, 1.0, size=(100, knobs))


class OnGrid:
    """Arms on a grid: an index for each from its mean, its number of answers and the spread.

    "ucb" plays the least mean - ``scale`` s sqrt(2 ln t / n), "thompson" the least mean +
    ``scale`` s N(0, 1) / sqrt(n), where s is the spread of all costs. Arms that were played and not
    answered wait for their turn again.
    """

    def __init__(self, knobs: int, seeds: Sequence[int], kind: str, scale: float) -> None:
        """Begin with arms that nobody tried."""
        self._kind, self._scale = kind, scale
        self._rng = np.random.default_rng([22, *seeds])
        self._points = grid(knobs, self._rng)
        shape = (len(seeds), len(self._points))
        self._played = np.zeros(shape)
        self._n = np.zeros(shape)
        self._sum = np.zeros(shape)
        self._spread = Spread(len(seeds))
        self._arms = Plays(len(seeds), 1)
        self._rows = np.arange(len(seeds))
        self._t = 0

    def ask(self) -> Floats:
        """Play the arm with the least index; each once at first, in random order."""
        n = np.maximum(self._n, 1.0)
        scale = self._scale * self._spread.deviation[:, None]
        if self._kind == "ucb":
            index = self._sum / n - scale * np.sqrt(2.0 * np.log(self._t + 2.0) / n)
        else:
            index = self._sum / n + scale * self._rng.normal(size=n.shape) / np.sqrt(n)
        # Unanswered arms count as the mean of all, and those never played come first.
        unheard = self._n == 0
        index = np.where(unheard, self._spread.mean[:, None] + 1e-9 * self._played, index)
        index = np.where(self._played == 0, -1e300 * self._rng.random(n.shape), index)
        arm = index.argmin(axis=1)
        self._played[self._rows, arm] += 1.0
        self._arms[self._t] = arm[:, None]
        self._t += 1
        return np.asarray(self._points[arm])

    def tell(self, seeds: Ints, tickets: Ints, costs: Floats) -> None:
        """Add to the arms."""
        arm = self._arms.of(seeds, tickets)[:, 0].astype(np.int64)
        np.add.at(self._n, (seeds, arm), 1.0)
        np.add.at(self._sum, (seeds, arm), costs)
        self._spread.add(seeds, costs)


# ---- steps -------------------------------------------------------------------------------------


class OnePointDescent:
    """Ten lines: play x + delta u, step along -(value - mean) u.

    delta = ``radius`` t^(-1/4), and the n-th step is ``step`` (n + 200)^(-3/4) k / delta times the
    value, less the mean of those before it.
    """

    def __init__(self, knobs: int, seeds: Sequence[int], radius: float, step: float) -> None:
        """Begin in the middle."""
        self._radius, self._step = radius, step
        self._rng = np.random.default_rng([23, *seeds])
        self._x = np.zeros((len(seeds), knobs))
        self._moves = Plays(len(seeds), knobs)
        self._spread = Spread(len(seeds))
        self._t = 0

    def ask(self) -> Floats:
        """Play next to x."""
        u = self._rng.normal(size=self._x.shape)
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        delta = self._radius * (self._t + 1.0) ** -0.25
        self._moves[self._t] = u / delta
        self._t += 1
        return np.asarray(np.clip(self._x, delta - 1.0, 1.0 - delta) + delta * u)

    def tell(self, seeds: Ints, tickets: Ints, costs: Floats) -> None:
        """Step."""
        known = self._spread.n[seeds] >= 2
        above = np.where(known, costs - self._spread.mean[seeds], 0.0)
        self._spread.add(seeds, costs)
        size = self._step * (self._spread.n[seeds] + 200.0) ** -0.75 * self._x.shape[1] * above
        np.add.at(self._x, seeds, -size[:, None] * self._moves.of(seeds, tickets))
        self._x = np.clip(self._x, -1.0, 1.0)


class SPSA:
    """Pairs x + c d and x - c d with random signs d (Spall 1992), any number of them open.

    c = ``radius`` n^-0.101 and steps ``step`` (n + 50)^-0.602 over the spread of the costs, where n
    counts pairs that were answered. A pair of which one is lost is forgotten.
    """

    def __init__(self, knobs: int, seeds: Sequence[int], radius: float, step: float) -> None:
        """Begin in the middle."""
        self._radius, self._step = radius, step
        self._rng = np.random.default_rng([24, *seeds])
        self._x = np.zeros((len(seeds), knobs))
        self._signs = Plays(len(seeds), knobs)
        self._values = Plays(len(seeds), 2)
        self._spread = Spread(len(seeds))
        self._n = np.zeros(len(seeds))
        self._centre = self._x
        self._delta = self._x
        self._t = 0

    def ask(self) -> Floats:
        """Play one side, then the other."""
        if self._t % 2 == 0:
            c = self._radius * (self._n + 1.0) ** -0.101
            signs = np.where(self._rng.random(self._x.shape) < 0.5, -1.0, 1.0)
            self._delta = c[:, None] * signs
            self._centre = np.clip(self._x, c[:, None] - 1.0, 1.0 - c[:, None])
            self._signs[self._t // 2] = self._delta
            self._values[self._t // 2] = np.full((len(self._x), 2), np.nan)
        side = 1.0 if self._t % 2 == 0 else -1.0
        self._t += 1
        return np.asarray(self._centre + side * self._delta)

    def tell(self, seeds: Ints, tickets: Ints, costs: Floats) -> None:
        """Step with pairs that are complete."""
        self._spread.add(seeds, costs)
        rows = self._values.rows
        rows[tickets // 2, seeds, tickets % 2] = costs
        both = rows[tickets // 2, seeds]
        # A pair that was completed by two of these costs is there twice, and counts with the last.
        ends = ~np.isnan(both).any(axis=1) & _last_of(seeds, tickets // 2)
        seeds, pairs, both = seeds[ends], tickets[ends] // 2, both[ends]
        np.add.at(self._n, seeds, 1.0)
        gain = self._step * (self._n[seeds] + 50.0) ** -0.602 / self._spread.deviation[seeds]
        slope = (both[:, 0] - both[:, 1])[:, None] / (2.0 * self._signs.of(seeds, pairs))
        np.add.at(self._x, seeds, -gain[:, None] * slope)
        self._x = np.clip(self._x, -1.0, 1.0)


def _last_of(seeds: Ints, pairs: Ints) -> Bools:
    """Tell which entries are the last of their seed and pair.

    >>> _last_of(np.array([0, 1, 0]), np.array([5, 5, 5]))
    array([False,  True,  True])
    """
    names = list(zip(seeds.tolist(), pairs.tolist(), strict=True))
    last = {name: i for i, name in enumerate(names)}
    return np.array([last[name] == i for i, name in enumerate(names)], dtype=np.bool_)


# ---- one learner for every seed ----------------------------------------------------------------


class OfEach:
    """One learner for every seed."""

    def __init__(
        self,
        learners: Sequence[Any],
        setting: Callable[[Any], Any],
        bound: float = math.inf,
    ) -> None:
        """Take learners without answers, how to read a play, and what no cost is to exceed."""
        self._learners, self._setting, self._bound = learners, setting, bound

    def ask(self) -> Floats:
        """Ask each."""
        return np.array([self._setting(learner.predict()) for learner in self._learners])

    def tell(self, seeds: Ints, tickets: Ints, costs: Floats) -> None:
        """Tell each its own."""
        clipped = np.clip(costs, -self._bound, self._bound)
        for seed, ticket, cost in zip(
            *(x.tolist() for x in (seeds, tickets, clipped)), strict=True
        ):
            self._learners[seed].observe(ticket, cost)


def _learners(spec: LearnerSpec, seeds: Sequence[int], bound: float) -> OfEach:
    return OfEach([Learner(spec, seed) for seed in seeds], lambda play: play.x, bound)


def one_point(
    knobs: int,
    seeds: Sequence[int],
    baseline: Literal["mean"] | None = None,
    rate: Literal["paper", "tight"] = "paper",
) -> OfEach:
    """Return the paper's learner, told that |costs| <= k / 2 and |gradients| <= sqrt(k)."""
    bound = 0.5 * knobs
    problem = Problem(_cube(knobs), lipschitz=knobs**0.5, magnitude=bound)
    spec = replace(cast("OnePoint", problem.learner("value", rate=rate)), baseline=baseline)
    return _learners(spec, seeds, bound)


def gold(knobs: int, seeds: Sequence[int], smoothing: float = 0.0) -> OfEach:
    """Return GOLD, told the same."""
    bound = 0.5 * knobs
    return _learners(GOLD(_cube(knobs), bound, knobs**0.5, smoothing=smoothing), seeds, bound)


def ours(knobs: int, seeds: Sequence[int], **options: Any) -> OfEach:
    """Return ``Knobs``, which begin in the middle."""
    ranges = {f"x{i}": (-1.0, 1.0) for i in range(knobs)}
    start = dict.fromkeys(ranges, 0.0)
    each = [Knobs(ranges, start=start, seed=seed, **options) for seed in seeds]
    return OfEach(each, lambda play: list(play.setting.values()))


OURS: Final = "Knobs"


def _cube(knobs: int) -> Box:
    return Box([-1.0] * knobs, [1.0] * knobs)


RIVALS: Final[Mapping[str, Make]] = MappingProxyType(
    {
        "surrogate, 0.2": partial(Surrogate, spread=0.2),
        "surrogate, 0.2, careful": partial(Surrogate, spread=0.2, careful=True),
        "surrogate, 0.5": partial(Surrogate, spread=0.5),
        "surrogate, 0.5, last 2,000": partial(Surrogate, spread=0.5, window=2000.0),
        "UCB on a grid": partial(OnGrid, kind="ucb", scale=1.0),
        "UCB on a grid, 0.3": partial(OnGrid, kind="ucb", scale=0.3),
        "Thompson on a grid": partial(OnGrid, kind="thompson", scale=1.0),
        "Thompson on a grid, 0.3": partial(OnGrid, kind="thompson", scale=0.3),
        "SPSA, 0.1": partial(SPSA, radius=0.1, step=0.01),
        "SPSA, 0.05": partial(SPSA, radius=0.05, step=0.01),
        "ten lines, 0.5": partial(OnePointDescent, radius=0.5, step=0.5),
        "ten lines, 0.2": partial(OnePointDescent, radius=0.3, step=0.2),
        "OnePoint": one_point,
        "OnePoint, baseline": partial(one_point, baseline="mean"),
        "GOLD": gold,
        "GOLD, 1": partial(gold, smoothing=1.0),
    }
)
"""Methods by name, each with two settings or more."""
