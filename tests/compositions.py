"""Every kind of composition, with the slow reference for each.

``COVERING`` brings every pair of parts that fit together at least once (a test checks it); ``MORE``
uses defaults, horizons and a base written by a user. A row names its parts; ``SETS``, ``RATES`` and
``SMOOTHINGS`` give each name its spec and the same thing in the words of ``naive``. The laws run
interpreted for all of them, and compiled for a few that have every part.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import random
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

import belated as bl
import naive
from belated.bases import Base
from belated.domains import Domain
from belated.rates import Rate
from belated.reductions import Reduction, Wrapper
from belated.smoothing import Smoothing
from naive import NaiveConfig, NaiveLearner
from naive_portfolio import LeaderConfig, NaiveLeader, NaivePortfolio, PortfolioConfig

Array = npt.NDArray[np.float64]
T = TypeVar("T")
Kind = Literal["predict", "observe", "cancel"]
Event = tuple[Kind, int]
Answer = Literal["gradient", "function", "value", "pair"]

SEED = 0x1234_5678_9ABC
LIPSCHITZ = 2.0
MAGNITUDE = 1.5
CURVATURE = 0.4
HORIZON = 25
ROUNDS = 60
# A portfolio here has a member that is too quick, and its answers can be too old for the weights.
QUICK = 1.5
REACH = 24

# --- Parts that a user writes --------------------------------------------------------------------

HALF_RADIUS, HALF_DEPTH = 2.0, 0.5


@dataclass(frozen=True)
class HalfBall:
    """Projection on {|x - center| <= 2, x_0 - center_0 >= -1/2}."""

    center: tuple[float, ...]

    def __call__(self, v: Array) -> Array:
        """Return the nearest point: on the ball, else on the plane, else on the rim."""
        y = v - np.array(self.center)
        length = float(np.sqrt(np.sum(y * y)))
        inside = y * (HALF_RADIUS / length) if length > HALF_RADIUS else y
        if inside[0] < -HALF_DEPTH:
            inside = y.copy()
            inside[0] = -HALF_DEPTH
            rest = float(np.sqrt(np.sum(inside[1:] * inside[1:])))
            rim = float(np.sqrt(HALF_RADIUS**2 - HALF_DEPTH**2))
            if rest > rim:
                inside[1:] *= rim / rest
        return np.asarray(inside + np.array(self.center))


class NaiveHalfBall(naive.ChartSet):
    """The same set in the chart of the reference."""

    @property
    def diameter(self) -> float:
        """D."""
        return 2.0 * HALF_RADIUS

    @property
    def inner_radius(self) -> float:
        """Distance from the centre to the plane."""
        return HALF_DEPTH

    def project(self, v: Array) -> Array:
        """Project as the user's function does."""
        return HalfBall((0.0,) * self.dim)(v)

    def violation(self, y: Array) -> float:
        """By how much y breaks the worse constraint."""
        return max(0.0, float(np.linalg.norm(y)) - HALF_RADIUS, -HALF_DEPTH - float(y[0]))


class HalfBallConfig(NaiveConfig):
    """A configuration of the reference on the half ball."""

    @property
    def domain(self) -> naive.ChartSet:
        """The set."""
        return NaiveHalfBall("ball", self.dim)


class AdaGrad:
    """A base that a user might write: AdaGrad on a ball, slower while answers are missing."""

    def __init__(self, dim: int, step: float = 0.5) -> None:
        self.domain = bl.Ball(dim, radius=1.25)
        self.step = step
        self.z = np.zeros(dim)
        self.squares = np.zeros(dim)

    def start(self) -> Array:
        """Forget everything."""
        self.z = np.zeros_like(self.z)
        self.squares = np.zeros_like(self.z)
        return self.z

    def update(self, cost: Array, lag: int, open_lags: int) -> Array:
        """One step; the numbers of lags enter, so that mistaken ones would show."""
        self.squares = self.squares + cost * cost
        pace = self.step / (1.0 + 0.1 * lag + 0.01 * open_lags)
        self.z = self.z - pace * cost / np.sqrt(1e-8 + self.squares)
        length = float(np.sqrt(np.sum(self.z * self.z)))
        if length > self.domain.radius:
            self.z = self.z * (self.domain.radius / length)
        return self.z

    def save(self) -> bytes:
        """Return the state."""
        return np.concatenate([self.z, self.squares]).tobytes()

    def load(self, blob: bytes) -> None:
        """Take a state back."""
        self.z, self.squares = np.frombuffer(blob).copy().reshape(2, -1)


class NaiveAdaGrad(naive.Base):
    """The same base behind the interface of the reference."""

    def __init__(self, dim: int, history: naive.History) -> None:
        self.inner = AdaGrad(dim)
        self.history = history

    def start(self) -> Array:
        """Return the first point."""
        return self.inner.start().copy()

    def update(self, cost: Array, eta: float | None) -> Array:
        """Take the lags from the history, which is written before the base is called."""
        lag, still_open = self.history.dual_delays[-1], self.history.dual_backlogs[-1]
        return self.inner.update(cost, lag, still_open).copy()


# --- Parts by name -------------------------------------------------------------------------------


class Part(NamedTuple, Generic[T]):
    """A spec, and what the reference is told."""

    spec: Callable[[int], T]
    words: Callable[[int], dict[str, Any]]


def _spread(dim: int, low: float, high: float) -> tuple[float, ...]:
    return tuple(float(value) for value in np.linspace(low, high, dim))


def _box(dim: int) -> bl.Box:
    return bl.Box(_spread(dim, -3.0, 10.0), tuple(10.0 + 7.0 * i * i for i in range(1, dim + 1)))


def _box_words(dim: int) -> dict[str, Any]:
    box = _box(dim)
    return {
        "set_kind": "box",
        "center": np.array(box.center),
        "scale": np.array(box.half_widths),
    }


def _half_ball(dim: int, center: tuple[float, ...]) -> bl.ConvexSet:
    project = HalfBall(center)
    return bl.ConvexSet(dim, project, 2 * HALF_RADIUS, HALF_DEPTH, HALF_RADIUS, center)


SETS: dict[str, Part[Domain]] = {
    "ball": Part(lambda k: bl.Ball(k, 1.5), lambda k: {"radius": 1.5}),
    "shifted": Part(
        lambda k: bl.Ball(k, 0.75, _spread(k, 1.0, 4.0)),
        lambda k: {"radius": 0.75, "center": np.array(_spread(k, 1.0, 4.0))},
    ),
    "box": Part(_box, _box_words),
    "simplex": Part(lambda k: bl.Simplex(k), lambda k: {"set_kind": "simplex"}),
    "floored": Part(
        lambda k: bl.Simplex(k, floor=0.3 / k), lambda k: {"set_kind": "simplex", "floor": 0.3 / k}
    ),
    "l1": Part(lambda k: bl.L1Ball(k, 2.0), lambda k: {"set_kind": "l1", "radius": 2.0}),
    "user": Part(lambda k: _half_ball(k, (0.0,) * k), lambda k: {}),
    "moved": Part(
        lambda k: _half_ball(k, _spread(k, 5.0, -1.0)),
        lambda k: {"center": np.array(_spread(k, 5.0, -1.0))},
    ),
}
KINDS = {
    "ball": "ball",
    "shifted": "ball",
    "box": "box",
    "simplex": "simplex",
    "floored": "simplex",
    "l1": "l1",
    "user": "user",
    "moved": "user",
}
_STEPS = (0.5, 0.25, 0.25, 0.125, 0.0625)
RATES: dict[str, Part[Rate]] = {
    "delay": Part(lambda _: bl.rates.DelayAdaptive(LIPSCHITZ), lambda _: {}),
    "tight": Part(lambda _: bl.rates.Tight(LIPSCHITZ), lambda _: {"rate": "tight"}),
    "scaled": Part(
        lambda _: bl.rates.Tight(LIPSCHITZ, scale=0.25),
        lambda _: {"rate": "tight", "tight_scale": 0.25},
    ),
    "gradient": Part(
        lambda _: bl.rates.GradientAdaptive(LIPSCHITZ), lambda _: {"rate": "gradient-adaptive"}
    ),
    "unscaled": Part(
        lambda _: bl.rates.GradientAdaptive(),
        lambda _: {"rate": "gradient-adaptive", "lipschitz": None},
    ),
    "curved": Part(
        lambda _: bl.rates.StronglyConvex(CURVATURE, LIPSCHITZ),
        lambda _: {"rate": "strongly-convex", "curvature": CURVATURE},
    ),
    "constant": Part(
        lambda _: bl.rates.Constant(0.07, LIPSCHITZ), lambda _: {"rate": "constant", "step": 0.07}
    ),
    "root": Part(
        lambda _: bl.rates.InverseRoot(0.4, LIPSCHITZ),
        lambda _: {"rate": "inverse-root", "step": 0.4},
    ),
    "table": Part(
        lambda _: bl.rates.Table(_STEPS, LIPSCHITZ), lambda _: {"rate": "table", "table": _STEPS}
    ),
}
SMOOTHINGS: dict[str, Part[Smoothing | None]] = {
    "convex": Part(
        lambda _: bl.smoothing.Convex(0.2), lambda _: {"smoothing": "convex", "nu": 0.2}
    ),
    "curved": Part(
        lambda _: bl.smoothing.StronglyConvex(0.3),
        lambda _: {"smoothing": "strongly-convex", "nu": 0.3},
    ),
    "root": Part(lambda _: bl.smoothing.InverseRoot(), lambda _: {"smoothing": "inverse-root"}),
    "inverse": Part(lambda _: bl.smoothing.Inverse(), lambda _: {"smoothing": "inverse"}),
    "fixed": Part(
        lambda _: bl.smoothing.Constant(0.25), lambda _: {"smoothing": "constant", "constant": 0.25}
    ),
    # What the reductions choose by themselves; the reference is told the corollaries.
    "corollary 5.7": Part(lambda _: None, lambda _: {"smoothing": "convex"}),
    "corollary 5.8": Part(lambda _: None, lambda _: {"smoothing": "strongly-convex"}),
    "corollary G.3": Part(lambda _: None, lambda _: {"smoothing": "inverse-root"}),
    "corollary G.4": Part(lambda _: None, lambda _: {"smoothing": "inverse"}),
}
SMOOTHINGS |= {
    f"{name} to horizon": Part(
        lambda k, part=part: dataclasses.replace(part.spec(k), horizon=HORIZON),  # type: ignore[misc]
        lambda k, part=part: {**part.words(k), "horizon": HORIZON},  # type: ignore[misc]
    )
    for name, part in SMOOTHINGS.items()
    if name in ("convex", "curved", "root", "inverse")
}
# Beside ``Skip``, which all pairs are tried with.
WRAPPERS: dict[str, tuple[Callable[[Reduction], Wrapper], dict[str, Any]]] = {
    "deadline": (lambda inner: bl.Deadline(inner, 4), {"deadline": 4}),
    "forgetful deadline": (
        lambda inner: bl.Deadline(inner, 4, forget=5),
        {"deadline": 4, "forget": 5},
    ),
    "hasty deadline": (
        lambda inner: bl.Deadline(inner, 0, forget=0),
        {"deadline": 0, "forget": 0},
    ),
    "forgetful skip": (lambda inner: bl.Skip(inner, forget=3), {"skip": True, "forget": 3}),
}
REDUCTIONS = ("first", "full", "one", "mean", "two")
NAIVE_BASES = {"entropy": "entropy-omd", "dual": "dual-averaging"}
BASES = ("pftrl", "omd", "entropy", "portfolio", "dual", "leader")


class Row(NamedTuple):
    """The names of a composition's parts."""

    reduction: str
    base: str
    set: str
    rate: str
    smoothing: str
    skip: bool
    dim: int
    wrapper: str = ""

    @property
    def gives_up(self) -> bool:
        """Whether the learner closes tickets by itself."""
        return self.skip or bool(self.wrapper)

    def __str__(self) -> str:
        """Return the name of the composition."""
        words = [self.reduction, self.base, self.set, self.rate, self.smoothing]
        words += ["skip"] if self.skip else []
        words += [self.wrapper]
        return "-".join([word.replace(" ", "_") for word in words if word] + [str(self.dim)])


def fits(row: Row) -> bool:
    """Tell whether the parts of a row fit together."""
    explores = row.reduction in ("one", "mean", "two")
    if explores != (row.smoothing != ""):
        return False
    if explores and (KINDS[row.set] == "simplex" or row.rate in ("tight", "gradient")):
        return False
    if row.base == "entropy":
        if explores or KINDS[row.set] != "simplex":
            return False
        return row.set == "floored" or row.rate == "constant"
    if row.base == "portfolio":
        return KINDS[row.set] != "user" and row.rate != "table"
    if row.base == "leader":
        return KINDS[row.set] != "user" and row.rate == "curved" and row.reduction != "full"
    return row.base != "dual" or KINDS[row.set] != "user"


def pairs(row: Row) -> set[tuple[tuple[str, object], tuple[str, object]]]:
    """Return the pairs of parts that a row brings together."""
    parts: list[tuple[str, object]] = [
        ("reduction", row.reduction),
        ("base", row.base),
        ("kind", KINDS[row.set]),
        ("set", row.set),
        ("rate", row.rate),
        ("smoothing", row.smoothing),
        ("skip", row.skip),
    ]
    return {
        (a, b)
        for a, b in itertools.combinations(parts, 2)
        if not (a[0] == "set" and b[0] in ("rate", "smoothing"))  # the kind is there
        and not (a[1] in ("dual", "leader") and b[0] in ("set", "rate", "smoothing"))  # as in omd
    }


COVERING = [
    Row("first", "pftrl", "ball", "delay", "", False, 1),
    Row("first", "pftrl", "shifted", "gradient", "", False, 2),
    Row("first", "pftrl", "l1", "gradient", "", False, 3),
    Row("first", "pftrl", "l1", "constant", "", False, 7),
    Row("first", "pftrl", "moved", "tight", "", False, 3),
    Row("first", "omd", "box", "gradient", "", True, 2),
    Row("first", "omd", "simplex", "curved", "", False, 3),
    Row("first", "omd", "floored", "gradient", "", True, 7),
    Row("first", "omd", "user", "tight", "", True, 1),
    Row("first", "entropy", "floored", "tight", "", False, 2),
    Row("first", "entropy", "floored", "gradient", "", False, 3),
    Row("first", "entropy", "floored", "table", "", True, 7),
    Row("first", "entropy", "floored", "root", "", True, 3),
    Row("first", "portfolio", "floored", "tight", "", False, 3),
    Row("first", "dual", "simplex", "tight", "", True, 3),
    Row("first", "leader", "floored", "curved", "", True, 3),
    Row("full", "pftrl", "ball", "tight", "", False, 1),
    Row("full", "pftrl", "box", "tight", "", True, 2),
    Row("full", "pftrl", "simplex", "gradient", "", False, 3),
    Row("full", "pftrl", "floored", "table", "", True, 7),
    Row("full", "pftrl", "floored", "root", "", True, 2),
    Row("full", "pftrl", "user", "tight", "", False, 1),
    Row("full", "pftrl", "moved", "gradient", "", False, 2),
    Row("full", "omd", "shifted", "gradient", "", True, 3),
    Row("full", "omd", "l1", "tight", "", False, 7),
    Row("full", "entropy", "simplex", "constant", "", True, 3),
    Row("full", "entropy", "floored", "delay", "", True, 2),
    Row("full", "entropy", "floored", "curved", "", True, 3),
    Row("full", "portfolio", "simplex", "gradient", "", True, 7),
    Row("full", "dual", "ball", "gradient", "", False, 2),
    Row("one", "pftrl", "l1", "delay", "root", False, 7),
    Row("one", "pftrl", "user", "constant", "fixed", False, 1),
    Row("one", "pftrl", "moved", "table", "curved", False, 2),
    Row("one", "omd", "ball", "constant", "curved", False, 3),
    Row("one", "omd", "shifted", "curved", "convex", True, 7),
    Row("one", "omd", "box", "delay", "inverse", True, 1),
    Row("one", "omd", "box", "constant", "convex", False, 2),
    Row("one", "omd", "l1", "constant", "curved", True, 3),
    Row("one", "omd", "user", "root", "root", False, 2),
    Row("one", "portfolio", "l1", "delay", "curved", False, 2),
    Row("one", "dual", "box", "root", "convex", False, 2),
    Row("one", "leader", "l1", "curved", "curved", False, 3),
    Row("mean", "pftrl", "ball", "constant", "inverse", False, 7),
    Row("mean", "pftrl", "shifted", "table", "convex", False, 1),
    Row("mean", "omd", "box", "table", "root", False, 2),
    Row("mean", "omd", "box", "table", "fixed", False, 3),
    Row("mean", "omd", "l1", "curved", "fixed", True, 7),
    Row("mean", "omd", "user", "curved", "root", True, 1),
    Row("mean", "omd", "user", "root", "curved", False, 3),
    Row("mean", "omd", "moved", "delay", "curved", True, 2),
    Row("mean", "portfolio", "ball", "root", "convex", False, 3),
    Row("mean", "portfolio", "box", "constant", "root", False, 1),
    Row("mean", "dual", "l1", "table", "inverse", False, 3),
    Row("mean", "leader", "box", "curved", "fixed", False, 2),
    Row("two", "pftrl", "box", "curved", "curved", False, 3),
    Row("two", "pftrl", "l1", "table", "inverse", True, 7),
    Row("two", "pftrl", "l1", "root", "fixed", True, 1),
    Row("two", "pftrl", "user", "delay", "convex", True, 1),
    Row("two", "pftrl", "moved", "curved", "inverse", True, 2),
    Row("two", "omd", "ball", "constant", "root", True, 3),
    Row("two", "omd", "shifted", "delay", "fixed", True, 7),
    Row("two", "omd", "l1", "delay", "convex", True, 1),
    Row("two", "portfolio", "shifted", "curved", "fixed", True, 7),
    Row("two", "portfolio", "box", "root", "inverse", True, 2),
    Row("two", "dual", "shifted", "curved", "root", True, 3),
    Row("two", "leader", "shifted", "curved", "inverse", False, 7),
]
MORE = [
    Row("first", "pftrl", "shifted", "unscaled", "", False, 3),
    Row("first", "dual", "ball", "scaled", "", False, 2),
    Row("one", "omd", "box", "constant", "convex to horizon", False, 2),
    Row("one", "omd", "ball", "constant", "curved to horizon", False, 3),
    Row("two", "omd", "ball", "constant", "root to horizon", True, 3),
    Row("two", "pftrl", "l1", "table", "inverse to horizon", True, 7),
    Row("one", "pftrl", "l1", "delay", "corollary 5.7", False, 2),
    Row("one", "omd", "l1", "curved", "corollary 5.8", True, 3),
    Row("two", "omd", "ball", "constant", "corollary G.3", True, 2),
    Row("two", "pftrl", "moved", "curved", "corollary G.4", True, 3),
    Row("first", "adagrad", "", "", "", False, 3),
    Row("first", "adagrad", "", "", "", True, 2),
    Row("one", "adagrad", "", "", "fixed", False, 3),
    Row("mean", "adagrad", "", "", "fixed", True, 2),
    Row("first", "pftrl", "ball", "tight", "", False, 2, "deadline"),
    Row("first", "omd", "box", "gradient", "", False, 3, "forgetful deadline"),
    Row("first", "portfolio", "floored", "tight", "", False, 3, "forgetful deadline"),
    Row("first", "leader", "ball", "curved", "", False, 2, "deadline"),
    Row("full", "pftrl", "shifted", "tight", "", False, 2, "forgetful deadline"),
    Row("mean", "pftrl", "l1", "delay", "root", False, 3, "forgetful deadline"),
    Row("two", "omd", "box", "curved", "fixed", False, 2, "deadline"),
    Row("first", "entropy", "floored", "table", "", False, 3, "forgetful skip"),
    Row("one", "omd", "ball", "constant", "convex", False, 2, "forgetful skip"),
    Row("first", "omd", "user", "tight", "", False, 1, "forgetful skip"),
    Row("first", "adagrad", "", "", "", False, 2, "forgetful deadline"),
    Row("first", "pftrl", "ball", "delay", "", False, 3, "hasty deadline"),
]

# --- Compositions --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Composition:
    """One row, built on demand."""

    row: Row

    @property
    def name(self) -> str:
        """Name, as pytest shows it."""
        return str(self.row)

    @property
    def answer(self) -> Answer:
        """What an answer is."""
        kinds: dict[str, Answer] = {
            "first": "gradient",
            "full": "function",
            "one": "value",
            "mean": "value",
            "two": "pair",
        }
        return kinds[self.row.reduction]

    @property
    def has_user_code(self) -> bool:
        """Whether Python objects of a user take part, so that there is no JSON."""
        return self.row.base == "adagrad" or self.row.set in ("user", "moved")

    @property
    def explores(self) -> bool:
        """Whether directions are drawn."""
        return self.answer in ("value", "pair")

    def domain(self) -> Domain:
        """Return the set."""
        if self.row.base == "adagrad":
            return AdaGrad(self.row.dim).domain
        return SETS[self.row.set].spec(self.row.dim)

    @property
    def forgets(self) -> bool:
        """Whether tickets that were given up on are forgotten some day."""
        return "forget" in self._wrapper_words

    @property
    def _wrapper_words(self) -> dict[str, Any]:
        return WRAPPERS[self.row.wrapper][1] if self.row.wrapper else {"skip": self.row.skip}

    def forgiving(self) -> AbstractContextManager[None]:
        """Let an answer to a forgotten ticket be an error that nobody minds."""
        return contextlib.suppress(KeyError) if self.forgets else contextlib.nullcontext()

    def spec(self, dim: int | None = None) -> Reduction | Wrapper:
        """Return the spec, in another dimension if asked."""
        row, k = self.row, dim or self.row.dim
        base = _base(row, k)
        smoothing = SMOOTHINGS[row.smoothing].spec(k) if row.smoothing else None
        reduction: Reduction
        if row.reduction == "first":
            reduction = bl.FirstOrder(base)
        elif row.reduction == "full":
            reduction = bl.FullInformation(base)
        elif row.reduction == "two":
            reduction = bl.TwoPoint(base, smoothing)
        else:
            baseline: Literal["mean"] | None = "mean" if row.reduction == "mean" else None
            reduction = bl.OnePoint(base, MAGNITUDE, smoothing, baseline)
        if row.wrapper:
            return WRAPPERS[row.wrapper][0](reduction)
        return bl.Skip(reduction) if row.skip else reduction

    def config(self, seed: int = SEED) -> NaiveConfig:
        """Return the same for the reference."""
        row, k = self.row, self.row.dim
        reductions = {"one": "one-point", "mean": "one-point", "two": "two-point"}
        words: dict[str, Any] = {
            "dim": k,
            "lipschitz": LIPSCHITZ,
            "magnitude": MAGNITUDE,
            "reduction": reductions.get(row.reduction, "first-order"),
            "baseline": row.reduction == "mean",
            "seed": seed,
            **self._wrapper_words,
        }
        if row.smoothing:
            words |= SMOOTHINGS[row.smoothing].words(k)
        if row.base == "adagrad":
            words |= {"radius": 1.25, "rate": "constant"}
        elif row.base == "portfolio":
            return _portfolio_config(row, words | SETS[row.set].words(k))
        elif row.base == "leader":
            words |= SETS[row.set].words(k) | RATES[row.rate].words(k)
            return LeaderConfig(**words, reach=REACH)
        else:
            words |= {"base": NAIVE_BASES.get(row.base, row.base)}
            words |= SETS[row.set].words(k) | RATES[row.rate].words(k)
        half_ball = row.set in ("user", "moved")
        return HalfBallConfig(**words) if half_ball else NaiveConfig(**words)

    def learner(self, seed: int = SEED, *, strict: bool = False) -> bl.Learner:
        """Return a fresh learner."""
        return bl.Learner(self.spec(), seed, strict=strict)

    def reference(self, seed: int = SEED) -> NaiveLearner:
        """Return a fresh slow learner."""
        config = self.config(seed)
        if isinstance(config, PortfolioConfig):
            return NaivePortfolio(config)
        if isinstance(config, LeaderConfig):
            return NaiveLeader(config)
        slow = NaiveLearner(config)
        if self.row.base == "adagrad":
            slow.base = NaiveAdaGrad(self.row.dim, slow.history)
        return slow

    def scale(self) -> Array:
        """Return the scale of the chart."""
        widths = self.domain().half_widths
        return np.ones(self.row.dim) if widths is None else np.array(widths)

    def answers(self, rounds: int = ROUNDS, seed: int = 0) -> Array:
        """Return one row per ticket; about one in ten is larger than assumed."""
        rng = np.random.default_rng([seed, *self.name.encode()])
        k = self.row.dim
        if self.answer == "value":
            return MAGNITUDE * 1.1 * (2.0 * rng.random((rounds, 1)) - 1.0)
        if self.answer == "pair":
            first = 2.0 * rng.random((rounds, 1)) - 1.0
            return np.hstack([first, first + 0.5 * rng.standard_normal((rounds, 1))])
        drift = 0.4 * LIPSCHITZ * rng.standard_normal(k) / np.sqrt(k)
        noise = 0.5 * LIPSCHITZ * rng.standard_normal((rounds, k)) / np.sqrt(k)
        return np.asarray((drift + noise) / self.scale())

    def feedback(self, row: Array) -> Any:
        """Return a row of answers as the learner takes it."""
        if self.answer == "value":
            return float(row[0])
        if self.answer == "pair":
            return float(row[0]), float(row[1])
        return Slope(row, self.scale()) if self.answer == "function" else row


@dataclass(frozen=True)
class Slope:
    """The gradient of a quadratic loss; the answer under full information."""

    row: Array
    scale: Array

    def __call__(self, x: Array) -> Array:
        """Return the gradient at x."""
        result: Array = self.row + 0.05 * x / (self.scale * self.scale)
        return result


def _base(row: Row, dim: int) -> Base | AdaGrad:
    if row.base == "adagrad":
        return AdaGrad(dim)
    domain, rate = SETS[row.set].spec(dim), RATES[row.rate].spec(dim)
    if row.base == "portfolio":
        return bl.Portfolio(
            (
                bl.PFTRL(domain, rate),
                bl.OMD(domain, bl.rates.InverseRoot(QUICK)),
                bl.DualAveraging(domain, bl.rates.DelayAdaptive(LIPSCHITZ)),
            ),
            REACH,
        )
    if row.base == "leader":
        return bl.Leader(domain, rate, REACH)
    if row.base in ("pftrl", "dual"):
        return (bl.PFTRL if row.base == "pftrl" else bl.DualAveraging)(domain, rate)
    return bl.OMD(domain, rate, "entropy" if row.base == "entropy" else "euclidean")


def _portfolio_config(row: Row, words: dict[str, Any]) -> PortfolioConfig:
    """Return the same three members for the reference."""
    members = (
        NaiveConfig(**words | {"base": "pftrl"} | RATES[row.rate].words(row.dim)),
        NaiveConfig(**words | {"base": "omd", "rate": "inverse-root", "step": QUICK}),
        NaiveConfig(**words | {"base": "dual-averaging", "rate": "delay-adaptive"}),
    )
    return PortfolioConfig(**words, members=members, reach=REACH)


COMPOSITIONS = {str(row): Composition(row) for row in [*COVERING, *MORE]}
ALL = list(COMPOSITIONS.values())


FEW = [
    COMPOSITIONS[name]
    for name in (
        "first-pftrl-l1-gradient-3",
        "full-omd-l1-tight-7",
        "one-omd-ball-constant-curved-3",
        "mean-omd-box-table-root-2",
        "two-omd-ball-constant-root-skip-3",
        "first-portfolio-floored-tight-3",
        "first-leader-floored-curved-skip-3",
    )
]


def _choices(each: Composition) -> set[tuple[int, object]]:
    """Return the parts of a composition."""
    return set(enumerate(each.row._replace(dim=0)))


def _every_choice_once() -> list[Composition]:
    """Add to the few, one by one, what has most choices that are still missing."""
    chosen = list(FEW)
    missing = set().union(*map(_choices, ALL)).difference(*map(_choices, FEW))
    while missing:
        chosen.append(max(ALL, key=lambda each: len(missing & _choices(each))))
        missing -= _choices(chosen[-1])
    return chosen


COMPILED = _every_choice_once()

# --- Events --------------------------------------------------------------------------------------


def events(rounds: int = ROUNDS, seed: int = 0, *, cancel: bool = True) -> list[Event]:
    """Return a life: short and long delays, answers that never come, and cancellations."""
    draw = random.Random(seed)
    due: dict[int, list[Event]] = {}
    life: list[Event] = []
    for t in range(rounds):
        life.append(("predict", t))
        kind: Kind = "cancel" if cancel and draw.random() < 0.08 else "observe"
        delay = draw.choice([0, 0, 1, 2, 3, 5, 9, 20, 35])
        if draw.random() < 0.95:
            due.setdefault(t + delay, []).append((kind, t))
        now = due.pop(t, [])
        draw.shuffle(now)
        life += now
    return life


def codes(life: Iterable[Event]) -> npt.NDArray[np.int64]:
    """Return events in the form that ``Learner.replay`` takes."""
    return np.array([t if kind == "predict" else ~t for kind, t in life], dtype=np.int64)


@dataclass
class Drive:
    """Goes through events with a learner, fast or slow, and keeps the plays."""

    composition: Composition
    answers: Array
    plays: list[Array] = field(default_factory=list)
    used: list[bool] = field(default_factory=list)

    def __call__(self, learner: bl.Learner | NaiveLearner, life: Iterable[Event]) -> Drive:
        """Play all events."""
        for kind, ticket in life:
            if kind == "predict":
                given, x = learner.predict()
                assert given == ticket
                self.plays.append(x)
                continue
            with self.composition.forgiving():
                if kind == "cancel":
                    learner.cancel(ticket)
                else:
                    used = learner.observe(ticket, self._feedback(learner, ticket))
                    self.used.append(used)
        return self

    def _feedback(self, learner: bl.Learner | NaiveLearner, ticket: int) -> Any:
        answer = self.composition.feedback(self.answers[ticket])
        if isinstance(answer, Slope) and isinstance(learner, NaiveLearner):
            center = learner.config.center
            offset = np.zeros(learner.config.dim) if center is None else center
            return answer(offset + self.composition.scale() * learner.z)
        return answer


def width_of(composition: Composition) -> int:
    """Return how many numbers an answer has."""
    return {"value": 1, "pair": 2}.get(composition.answer, composition.row.dim)


def bad_answers(width: int, is_function: bool) -> dict[str, Any]:
    """Return answers of so many numbers that must be refused, by name."""
    fine = np.full(width, 0.1)
    broken: dict[str, Any] = {
        "none": None,
        "too many": np.append(fine, 0.1),
        "too many in a list": [0.1] * (width + 1),
        "too deep": fine[None],
        "empty": np.array([]),
        "ragged": [[0.1], [0.1, 0.2]],
        "words": ["0.1"] * width,
    }
    for name, value in (("nan", np.nan), ("inf", np.inf), ("-inf", -np.inf), ("1e200", 1e200)):
        for i in {0, width - 1}:
            broken[f"{name} at {i}"] = np.where(np.arange(width) == i, value, fine)
    if width > 1:
        broken["a number"] = 0.1
        broken["too few"] = fine[1:]
    if is_function:
        return {name: constantly(value) for name, value in broken.items()} | {"no function": fine}
    return broken


def constantly(value: Any) -> Callable[[Array], Any]:
    """Return a function that gives one value."""
    return lambda x: value
