"""Games for the guarantees of rivals: losses in the chart, adversaries, and the exact regret.

Write w = y - start, start being the centre of the set in the chart (the uniform distribution on the
simplex). Losses are <g, w> + (lambda / 2) |w|^2 or G |<e, w> - b|; for both the best fixed play is
known in closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast

import numpy as np

import belated as bl
import naive
from belated import delays
from belated.research.rivals import Rival
from naive_game import answered
from rival_laws import Array, Chart, assumed, chart_of, rival
from rivals_convex import RivalCase

Norm = Literal["euclidean", "largest"]
PERIOD = 12  # rounds between two turns of an adversary that alternates


def timelines(case: RivalCase, rounds: int, seed: int = 0) -> dict[str, bl.Timeline]:
    """Return the delays that a case is played on: all patterns, or what its method can take."""
    patterns = {name: pattern(rounds, seed) for name, pattern in delays.PATTERNS.items()}
    if case.delay is not None:
        return {name: patterns[name] for name in ("none", "constant")}
    often = delays.lost(delays.uniform(rounds, low=0, high=20, seed=seed), 0.3, seed=seed)
    return {**patterns, "often lost": often}


def total(spec: Rival, timeline: bl.Timeline) -> float:
    """Return the bound as one number."""
    bound = spec.bound(timeline)
    assert bound is not None
    return bound.total


# --- Losses --------------------------------------------------------------------------------------


class Arena(NamedTuple):
    """The set in the chart, and how large losses may be there."""

    shape: naive.ChartSet
    chart: Chart
    norm: Norm
    lipschitz: float
    magnitude: float
    curvature: float

    @property
    def radius(self) -> float:
        """The largest |w|."""
        k, floor = self.shape.dim, self.shape.floor
        match self.shape.kind:
            case "box":
                return math.sqrt(k)
            case "simplex":
                return math.sqrt(1.0 - 1.0 / k) * (1.0 - k * floor)
            case _:
                return self.shape.radius

    def unit(self, v: Array) -> Array:
        """Return v with norm 1."""
        size = np.linalg.norm(v) if self.norm == "euclidean" else np.abs(v).max()
        return np.asarray(v / size)


@dataclass(frozen=True)
class Bowl:
    """<slope, w> + (bend / 2) |w|^2 - level."""

    slope: Array
    bend: float = 0.0
    level: float = 0.0

    def value(self, w: Array) -> float:
        """Return f(w)."""
        return float(self.slope @ w + 0.5 * self.bend * (w @ w)) - self.level

    def gradient(self, w: Array) -> Array:
        return np.asarray(self.slope + self.bend * w)


@dataclass(frozen=True)
class Kink:
    """size |<along, w> - place|."""

    along: Array
    place: float
    size: float

    def value(self, w: Array) -> float:
        """Return f(w)."""
        return self.size * abs(float(self.along @ w) - self.place)

    def gradient(self, w: Array) -> Array:
        return np.asarray(self.size * np.sign(float(self.along @ w) - self.place) * self.along)


def best_bowl(arena: Arena, losses: Sequence[Bowl]) -> float:
    """Return the least sum of bowls over the set; all have the same bend."""
    slope = np.sum([loss.slope for loss in losses], axis=0)
    start, level = arena.shape.start, sum(loss.level for loss in losses)
    bend = len(losses) * losses[0].bend
    if bend == 0.0:
        return arena.shape.linear_minimum(slope) - float(slope @ start) - level
    w = arena.shape.project(start - slope / bend) - start
    return float(slope @ w + 0.5 * bend * (w @ w)) - level


def best_kink(arena: Arena, losses: Sequence[Kink]) -> float:
    """Return the least sum of kinks along one line: the median place, as far as the set goes."""
    along, start = losses[0].along, arena.shape.start
    low = arena.shape.linear_minimum(along) - float(along @ start)
    high = -arena.shape.linear_minimum(-along) - float(along @ start)
    place = min(high, max(low, float(np.median([loss.place for loss in losses]))))
    return math.fsum(loss.size * abs(place - loss.place) for loss in losses)


Loss = Bowl | Kink


def least(arena: Arena, losses: Sequence[Loss]) -> float:
    """Return the sum of the losses at the best fixed play."""
    if isinstance(losses[0], Bowl):
        return best_bowl(arena, cast(Sequence[Bowl], losses))
    return best_kink(arena, cast(Sequence[Kink], losses))


# --- Adversaries ---------------------------------------------------------------------------------

Adversary = Callable[[int, Array], Loss]
"""From a round and the play, as w, to a loss."""
Aim = Callable[[int, Array], Array]
"""From a round and the play to the direction of the slope, of norm 1."""


def aims(arena: Arena, seed: int, *, adaptive: bool) -> dict[str, Aim]:
    """Return ways to choose directions; ``adaptive`` adds one that looks at the play."""
    rng = np.random.default_rng(seed)
    fixed = arena.unit(rng.standard_normal(arena.shape.dim))

    def outward(_: int, w: Array) -> Array:
        return arena.unit(w) if w.any() else fixed

    oblivious: dict[str, Aim] = {
        "random": lambda t, w: arena.unit(rng.standard_normal(arena.shape.dim)),
        "alternating": lambda t, w: fixed * (-1.0) ** (t // PERIOD),
        "flipping": lambda t, w: fixed * rng.choice([-1.0, 1.0]),
    }
    return {**oblivious, "outward": outward} if adaptive else oblivious


def adversaries(arena: Arena, case: RivalCase, seed: int = 0) -> dict[str, Adversary]:
    """Return the games of a case, by name; each is to be used once."""
    ways = aims(arena, seed, adaptive=case.answer in ("gradient", "function"))
    if hasattr(case.spec, "arms"):
        return {name: _for_arms(arena, aim) for name, aim in ways.items()}
    bend = arena.curvature
    games = {name: _bowls(arena, aim, bend) for name, aim in ways.items()}
    if bend == 0.0:
        aim = aims(arena, seed, adaptive=False)["alternating"]
        games["quadratic"] = _bowls(arena, aim, 0.25 * arena.lipschitz / arena.radius)
        games["absolute"] = _kinks(arena, seed)
    return games


def _bowls(arena: Arena, aim: Aim, bend: float) -> Adversary:
    """Bowls as steep as the arena allows."""
    reach = arena.radius
    level = 0.25 * bend * reach * reach
    size = min(arena.lipschitz - bend * reach, (arena.magnitude - level) / reach)
    assert size > 0.0, "the case assumes more curvature than slopes or values allow"
    return lambda t, w: Bowl(size * aim(t, w), bend, level)


def _for_arms(arena: Arena, aim: Aim) -> Adversary:
    """Losses of the arms from 0 to 1; the value at an arm is just its loss."""

    def losses(t: int, w: Array) -> Bowl:
        slope = 0.5 + 0.5 * aim(t, w)
        return Bowl(slope, level=-float(slope @ arena.shape.start))

    return losses


def _kinks(arena: Arena, seed: int) -> Adversary:
    """Kinks along one line, whose places turn over and are scattered."""
    rng = np.random.default_rng(seed)
    along = arena.unit(rng.standard_normal(arena.shape.dim))
    reach = -arena.shape.linear_minimum(along) + float(along @ arena.shape.start)
    size = min(arena.lipschitz, 0.5 * arena.magnitude / reach)

    def kink(t: int, _: Array) -> Kink:
        return Kink(along, reach * (0.5 * (-1.0) ** (t // PERIOD) + rng.uniform(-0.5, 0.5)), size)

    return kink


# --- Playing -------------------------------------------------------------------------------------


def arena_of(case: RivalCase) -> Arena:
    """Return where a case is played, from the assumptions of its method."""
    spec = rival(case)
    domain, of_arms = spec.domain, hasattr(spec, "arms")
    kinds: dict[str, naive.SetKind] = {
        "Ball": "ball",
        "Box": "box",
        "L1Ball": "l1",
        "Simplex": "simplex",
    }
    return Arena(
        naive.ChartSet(
            kinds[domain.kind],
            domain.dim,
            getattr(domain, "radius", 1.0),
            getattr(domain, "floor", 0.0),
        ),
        chart_of(domain),
        "largest" if assumed(spec, "mirror", "") == "entropy" or of_arms else "euclidean",
        assumed(spec, "lipschitz", 1.0),
        assumed(spec, "magnitude", math.inf),
        assumed(spec, "curvature", 0.0) or _curvature(spec),
    )


def _curvature(spec: Rival) -> float:
    """Return how much curvature makes losses as exp-concave as a method assumes: alpha G^2."""
    return float(assumed(spec, "exp_concavity", 0.0) * assumed(spec, "lipschitz", 1.0) ** 2)


def regret(
    spec: Rival, case: RivalCase, timeline: bl.Timeline, adversary: Adversary, seed: int = 0
) -> float:
    """Play a game and return what it cost beyond the best fixed play.

    Of a play with several rows the mean is charged.
    """
    arena = arena_of(case)
    learner = bl.Learner(spec, seed)
    losses: list[Loss] = []
    plays: list[Array] = []
    paid = []
    for event in answered(timeline):
        if event >= 0:
            x = learner.predict().x
            rows = np.atleast_2d(arena.chart.coordinates(x) - arena.shape.start)
            loss = adversary(event, rows.mean(axis=0))
            paid.append(math.fsum(loss.value(w) for w in rows) / len(rows))
            plays.append(rows)
            losses.append(loss)
        else:
            learner.observe(~event, answer_to(case, arena, losses[~event], plays[~event]))
    return math.fsum(paid) - least(arena, losses)


def answer_to(case: RivalCase, arena: Arena, loss: Loss, rows: Array) -> Any:
    """Return what a learner is told of a loss, in its own coordinates."""
    scale = arena.chart.scale
    start = arena.shape.start
    match case.answer:
        case "gradient":
            return loss.gradient(rows[0]) / scale
        case "function":
            return lambda x: loss.gradient(arena.chart.coordinates(x) - start) / scale
        case "value" | "arm":
            return loss.value(rows[0])
        case _:
            return [loss.value(w) for w in rows]
