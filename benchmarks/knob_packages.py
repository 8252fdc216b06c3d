"""Packages that search for settings, in the worlds of knobs; none needs to be installed.

They were made for trials that are dear and few, so a trial is held for some rounds, and told as the
mean of its costs when four fifths of them are in.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from math import ceil
from typing import Any, Final, Protocol

import numpy as np

from belated.arrays import Floats, Ints
from benchmarks.knob_games import Make


class Search(Protocol):
    """A search for the least value, which is asked for a trial and told about it later."""

    def ask(self) -> tuple[Any, Floats]:
        """Return a trial, None for one that nobody will be told of, and its setting."""

    def tell(self, trial: Any, value: float) -> None:
        """Hear what a trial cost."""


class Held:
    """A search for every seed, whose trials are held for some rounds."""

    def __init__(
        self,
        knobs: int,
        seeds: Sequence[int],
        make: Callable[[int, int], Search],
        hold: int,
    ) -> None:
        """Make a search for every seed."""
        self._searches = [make(knobs, seed) for seed in seeds]
        self._hold = hold
        self._enough = ceil(0.8 * hold)
        self._trials: list[list[Any]] = []
        self._n: list[Ints] = []
        self._sum: list[Floats] = []
        self._x = np.zeros((len(seeds), knobs))
        self._t = 0

    def ask(self) -> Floats:
        """Ask for trials, or hold those that are running."""
        if self._t % self._hold == 0:
            asked = [search.ask() for search in self._searches]
            self._trials.append([trial for trial, _ in asked])
            self._x = np.array([x for _, x in asked])
            self._n.append(np.zeros(len(asked), dtype=np.int64))
            self._sum.append(np.zeros(len(asked)))
        self._t += 1
        return self._x

    def tell(self, seeds: Ints, tickets: Ints, costs: Floats) -> None:
        """Count, and tell what is complete."""
        for seed, ticket, cost in zip(
            seeds.tolist(), tickets.tolist(), costs.tolist(), strict=True
        ):
            at = ticket // self._hold
            self._n[at][seed] += 1
            self._sum[at][seed] += cost
            trial = self._trials[at][seed]
            if self._n[at][seed] == self._enough and trial is not None:
                self._searches[seed].tell(trial, self._sum[at][seed] / self._enough)


# ---- searches ----------------------------------------------------------------------------------


class Optuna:
    """A sampler of Optuna."""

    def __init__(self, knobs: int, seed: int, sampler: str, **settings: Any) -> None:
        """Make a study in memory."""
        optuna = importlib.import_module("optuna")
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            chosen = getattr(optuna.samplers, sampler)(seed=seed, **settings)
        self._study = optuna.create_study(sampler=chosen)
        self._space = {
            f"x{i}": optuna.distributions.FloatDistribution(-1.0, 1.0) for i in range(knobs)
        }

    def ask(self) -> tuple[Any, Floats]:
        """Return a trial."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trial = self._study.ask(self._space)
        return trial, np.array([trial.params[name] for name in self._space])

    def tell(self, trial: Any, value: float) -> None:
        """Hear what it cost."""
        self._study.tell(trial, value)


class CMA:
    """CMA-ES of pycma: a population at a time; until all of it is heard, its mean is played."""

    def __init__(self, knobs: int, seed: int, width: float) -> None:
        """Begin in the middle."""
        cma = importlib.import_module("cma")
        settings = {"bounds": [-1.0, 1.0], "seed": seed + 1, "verbose": -9, "tolfun": 0.0}
        start = np.zeros(max(knobs, 2))  # it refuses a single dimension: the second is idle
        self._knobs = knobs
        self._search = cma.CMAEvolutionStrategy(start, width, settings)
        self._next()

    def _next(self) -> None:
        self._points = self._search.ask()
        self._waiting = list(range(len(self._points)))
        self._values: dict[int, float] = {}

    def ask(self) -> tuple[Any, Floats]:
        """Return the next of the population."""
        if self._waiting:
            at = self._waiting.pop(0)
            return at, np.asarray(self._points[at][: self._knobs])
        return None, np.clip(self._search.mean[: self._knobs], -1.0, 1.0)

    def tell(self, trial: Any, value: float) -> None:
        """Hear what it cost, and go on when all of the population is in."""
        self._values[trial] = value
        if len(self._values) == len(self._points):
            self._search.tell(self._points, [self._values[i] for i in range(len(self._points))])
            self._next()


class Nevergrad:
    """An optimiser of nevergrad."""

    def __init__(self, knobs: int, seed: int, name: str, budget: int) -> None:
        """Begin in the middle."""
        ng = importlib.import_module("nevergrad")
        space = ng.p.Array(init=np.zeros(knobs), lower=-1.0, upper=1.0)
        space.random_state.seed(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._search = ng.optimizers.registry[name](space, budget=budget, num_workers=100)

    def ask(self) -> tuple[Any, Floats]:
        """Return a candidate."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            candidate = self._search.ask()
        return candidate, np.asarray(candidate.value)

    def tell(self, trial: Any, value: float) -> None:
        """Hear what it cost."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._search.tell(trial, value)


class Process:
    """A Gaussian process of scikit-learn: the least lower bound among 300 settings.

    A third of them are near the trial with the least mean. It is fitted after 10 answers, then
    after every quarter more.
    """

    def __init__(self, knobs: int, seed: int, width: float) -> None:
        """Begin with settings at random."""
        kernels = importlib.import_module("sklearn.gaussian_process.kernels")
        processes = importlib.import_module("sklearn.gaussian_process")
        kernel = kernels.ConstantKernel() * kernels.Matern(nu=2.5) + kernels.WhiteKernel(0.1)
        self._process = processes.GaussianProcessRegressor(kernel, normalize_y=True)
        self._width = width
        self._rng = np.random.default_rng([25, seed])
        self._knobs = knobs
        self._x: list[Floats] = []
        self._y: list[float] = []
        self._fitted = 0
        self._best = np.zeros(knobs)

    def ask(self) -> tuple[Any, Floats]:
        """Return the setting that may be least."""
        points = self._rng.uniform(-1.0, 1.0, size=(300, self._knobs))
        if len(self._y) < 10:
            return points[0], points[0]
        if len(self._y) >= 1.25 * self._fitted:
            self._fitted = len(self._y)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._process.fit(np.array(self._x), np.array(self._y))
            known = np.array(self._x)
            self._best = known[np.argmin(self._process.predict(known))]
        near = self._best + self._rng.normal(scale=0.1, size=(100, self._knobs))
        points[:100] = np.clip(near, -1.0, 1.0)
        mean, deviation = self._process.predict(points, return_std=True)
        best = points[np.argmin(mean - self._width * deviation)]
        return best, best

    def tell(self, trial: Any, value: float) -> None:
        """Hear what it cost."""
        self._x.append(trial)
        self._y.append(value)


# ---- by name -----------------------------------------------------------------------------------


def _held(search: Callable[..., Search], hold: int = 20, **settings: Any) -> Make:
    return partial(Held, make=partial(search, **settings), hold=hold)


_KNOWN: Final[Mapping[str, tuple[str, Make]]] = {
    "CMA-ES, 0.3": ("cma", _held(CMA, width=0.3)),
    "CMA-ES, 0.1": ("cma", _held(CMA, width=0.1)),
    "Optuna TPE": ("optuna", _held(Optuna, sampler="TPESampler")),
    "Optuna TPE, one by one": (
        "optuna",
        _held(Optuna, sampler="TPESampler", multivariate=False, constant_liar=False),
    ),
    "Optuna CMA, 0.3": ("cmaes", _held(Optuna, sampler="CmaEsSampler", sigma0=0.3)),
    "Optuna CMA, 0.1": ("cmaes", _held(Optuna, sampler="CmaEsSampler", sigma0=0.1)),
    "nevergrad CMA": ("nevergrad", _held(Nevergrad, name="CMA", budget=500)),
    "nevergrad TBPSA": ("nevergrad", _held(Nevergrad, name="TBPSA", budget=500)),
    "Gaussian process, 1": ("sklearn", _held(Process, width=1.0)),
    "Gaussian process, 2": ("sklearn", _held(Process, width=2.0)),
}
PACKAGES: Final = {name: make for name, (needs, make) in _KNOWN.items() if find_spec(needs)}
"""What can be played here, by name."""
MISSING: Final = tuple(sorted({needs for needs, _ in _KNOWN.values() if not find_spec(needs)}))
"""Packages that are not installed."""
