"""Slow, obvious games: one event after the other, and every sum from complete lists.

``play_slowly`` lets the slow learner of ``naive`` meet the slow losses of ``naive_losses``.
``play_by_hand`` is the loop that a user would write with the public ``Learner``.
"""

from __future__ import annotations

import contextlib
import functools
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

import belated as bl
import naive_losses
from belated.reductions import LearnerSpec
from belated.research.losses import Loss
from naive import NaiveLearner
from naive_losses import TARGETS, Family, Kind, NaiveSource

Array = npt.NDArray[np.float64]
Told = Literal["gradient", "function", "value", "pair", "values"]
SourceName = Literal[
    "given", "random", "drifting", "switching", "blocks", "alternating", "adaptive"
]

FAMILIES: tuple[Family, ...] = get_args(Family)
SOURCES: tuple[SourceName, ...] = get_args(SourceName)
SCALE, NOISE, CURVATURE, SEED = 1.3, 0.3, 0.7, 11
LENGTHS = {"drifting": 7, "switching": 5, "blocks": 3}


# --- Losses, fast and slow -----------------------------------------------------------------------


def arrays(family: Family, dim: int, rounds: int) -> tuple[Array, Array]:
    """Vectors and targets of given rounds; targets are 0 where the family has none."""
    rng = np.random.default_rng([dim, rounds])
    vectors, targets = rng.standard_normal((rounds, dim)), rng.standard_normal(rounds)
    wanted = TARGETS[family]
    if wanted == "none":
        return vectors, np.zeros(rounds)
    return vectors, targets if wanted == "numbers" else np.where(targets > 0.0, 1.0, -1.0)


def fast_losses(
    family: Family, source: SourceName, dim: int, rounds: int, seed: int = SEED
) -> Loss:
    """A family over a source, as the library has it."""
    kind: Callable[..., Loss] = getattr(bl.losses, family.capitalize())
    more = {"curvature": CURVATURE} if family == "quadratic" else {}
    if source == "given":
        vectors, targets = arrays(family, dim, rounds)
        given = (vectors,) if TARGETS[family] == "none" else (vectors, targets)
        return kind(*given, **more)
    words: dict[str, Any] = {"scale": SCALE}
    if source not in ("alternating", "adaptive"):
        words["seed"] = seed
    if source in ("random", "drifting", "switching"):
        words["noise"] = NOISE
    length = (LENGTHS[source],) if source in LENGTHS else ()
    return kind(getattr(bl.losses, source.capitalize())(dim, *length, **words), **more)


@dataclass(frozen=True)
class SlowLosses:
    """The same, slowly."""

    family: Family
    source: SourceName
    dim: int
    rounds: int
    seed: int = SEED

    def draw(self, t: int, x: Array) -> tuple[Array, float]:
        """a_t and b_t; x is the play, for adversaries that look at it."""
        if self.source == "given":
            vectors, targets = arrays(self.family, self.dim, self.rounds)
            return vectors[t], float(targets[t])
        kind: Kind = self.source
        length = LENGTHS.get(self.source, 1)
        source = NaiveSource(kind, self.dim, SCALE, NOISE, length, self.seed)
        return source.draw(t, TARGETS[self.family], x)

    def value(self, a: Array, b: float, x: Array) -> float:
        """f_t(x) of a round drawn before."""
        return naive_losses.value(self.family, a, b, x, CURVATURE)

    def gradient(self, a: Array, b: float, x: Array) -> Array:
        """Its gradient."""
        return naive_losses.gradient(self.family, a, b, x, CURVATURE)


# --- The slow game -------------------------------------------------------------------------------


class Arrival(NamedTuple):
    """An answer that was used: its ticket, z_n when it came, and the cost c_n made of it."""

    ticket: int
    point: Array
    cost: Array


@dataclass
class SlowGame:
    """All that happened; lists are by round, arrivals in their own order."""

    losses: SlowLosses
    rounds: list[tuple[Array, float]] = field(default_factory=list)
    """a_t and b_t."""
    plays: list[Array] = field(default_factory=list)
    """One row per point of the play."""
    met: list[float] = field(default_factory=list)
    """The loss of the round: the mean over the points."""
    gradients: list[Array] = field(default_factory=list)
    """At the first point."""
    starts: list[Array] = field(default_factory=list)
    """z_s: where the base stood when the play was made, in the chart."""
    arrivals: list[Arrival] = field(default_factory=list)

    def vectors(self, rounds: int | None = None) -> Array:
        """Sum of a_t."""
        return np.asarray(np.sum([a for a, _ in self.rounds[:rounds]], axis=0))

    def linear_terms(self) -> list[float]:
        """<g_t, x_t> per round."""
        return [float(g @ x[0]) for g, x in zip(self.gradients, self.plays, strict=True)]

    def stale_terms(self) -> list[float]:
        """<c_n, z_s> per arrival: what the base paid with the point it had played."""
        return [float(cost @ self.starts[ticket]) for ticket, _, cost in self.arrivals]

    def prompt_terms(self) -> list[float]:
        """<c_n, z_n> per arrival: what it would have paid with its point at the arrival."""
        return [float(cost @ point) for _, point, cost in self.arrivals]

    def costs(self) -> Array:
        """Sum of c_n."""
        costs = [np.zeros(self.losses.dim), *(arrival.cost for arrival in self.arrivals)]
        return np.asarray(np.sum(costs, axis=0))


def play_slowly(
    learner: NaiveLearner, told: Told, losses: SlowLosses, delays: Sequence[int]
) -> SlowGame:
    """The protocol of section 2, with answers in ticket order at the end of round s + d_s."""
    game = SlowGame(losses)
    answers: list[Any] = []
    for t in range(len(delays)):
        ticket, x = learner.predict()
        assert ticket == t
        answers.append(_meet(game, told, t, np.atleast_2d(x)))
        game.starts.append(learner.z.copy())
        for s in range(t + 1):
            if s + delays[s] == t:
                _tell(game, learner, told, s, answers[s])
    return game


def _meet(game: SlowGame, told: Told, t: int, points: Array) -> Any:
    """Write a round down and return the answer that it will get."""
    losses = game.losses
    a, b = losses.draw(t, points[0])
    values = [losses.value(a, b, x) for x in points]
    game.rounds.append((a, b))
    game.plays.append(points)
    game.met.append(math.fsum(values) / len(values))
    game.gradients.append(losses.gradient(a, b, points[0]))
    if told == "gradient":
        return game.gradients[-1]
    return values[0] if told == "value" else tuple(values)


def _tell(game: SlowGame, learner: NaiveLearner, told: Told, ticket: int, answer: Any) -> None:
    """Give an answer, or for whole losses the gradient at the current point."""
    point = learner.z.copy()
    if told == "function":
        config = learner.config
        center = 0.0 if config.center is None else config.center
        scale = 1.0 if config.scale is None else config.scale
        answer = game.losses.gradient(*game.rounds[ticket], np.asarray(center + scale * point))
    if ticket > max(learner.forgotten, default=-1) and learner.observe(ticket, answer):
        game.arrivals.append(Arrival(ticket, point, learner.history.costs[-1]))


# --- By hand -------------------------------------------------------------------------------------


@dataclass
class ByHand:
    """What a user's own loop would know."""

    learner: bl.Learner
    plays: list[Array] = field(default_factory=list)
    met: list[float] = field(default_factory=list)


def answered(timeline: bl.Timeline) -> list[int]:
    """The events that really happen, t for a prediction and ~t for an observation."""
    events: list[int] = timeline.events.tolist()
    return [event for event in events if event >= 0 or timeline.observed[~event]]


def play_by_hand(
    spec: LearnerSpec, told: Told, losses: Loss, timeline: bl.Timeline, seed: int = 0
) -> ByHand:
    """Predict, evaluate, and observe when the timeline says so."""
    hand = ByHand(bl.Learner(spec, seed))
    answers: list[Any] = []
    for event in answered(timeline):
        if event < 0:
            with contextlib.suppress(bl.errors.UnknownTicket):  # given up on and forgotten
                hand.learner.observe(~event, answers[~event])
            continue
        x = hand.learner.predict().x
        points = np.atleast_2d(x)
        values = _values(losses, event, points)
        hand.plays.append(x)
        total = functools.reduce(operator.add, values)  # from Python 3.12 on, sum() rounds less
        hand.met.append(total / len(values))
        answers.append(_answer(told, losses, event, points[0], values))
    return hand


def _values(losses: Loss, t: int, points: Array) -> list[float]:
    """The loss of every point; an adversary looks at the first one only."""
    if losses.is_adaptive:
        losses, t = bl.losses.Linear(losses.gradient(t, points[0])[None]), 0
    return [losses.value(t, x) for x in points]


def _answer(told: Told, losses: Loss, t: int, x: Array, values: list[float]) -> Any:
    if told == "gradient":
        return losses.gradient(t, x)
    if told == "function":
        return lambda point: losses.gradient(t, point)
    return values
