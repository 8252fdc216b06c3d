"""Rivals under test: their cases, random lives, and the same answers for fast and slow.

A fast learner speaks in the user's coordinates x, a slow one in those of the chart, y, where
x = shift + scale * y.

``CHOSEN`` cases, one code per method and kind of step, obey all laws event by event, and those that
are also ``COMPILED`` are among them.
"""

from __future__ import annotations

import math
import random
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

import belated as bl
import rivals_convex
import rivals_simplex
from belated.domains import Domain
from belated.reductions import LearnerSpec, Reduction, rate_of
from belated.research.rivals import Rival
from rivals_convex import RivalCase

Array = npt.NDArray[np.float64]
Kind = Literal["predict", "observe", "cancel"]
Event = tuple[Kind, int]

CASES: list[RivalCase] = [*rivals_convex.CASES, *rivals_simplex.CASES]
SEED = 0x1234_5678_9ABC
ROUNDS = 48
LONGEST = 8  # of the delays in a life, bursts and lost answers apart


def rival(case: RivalCase) -> Rival:
    """Return the spec of a case, as what it is."""
    assert isinstance(case.spec, Rival)
    return case.spec


def learner(case: RivalCase, seed: int = SEED, *, strict: bool = False) -> bl.Learner:
    """Return a fresh learner of a case."""
    return bl.Learner(case.spec, seed, strict=strict)


def code_of(case: RivalCase) -> tuple[str, ...]:
    """Return what tells the components of cases apart."""
    spec = rival(case)
    mirror, shape = getattr(spec, "mirror", ""), spec.domain
    kind = f"{shape.kind}, centred" if not any(shape.center) else shape.kind
    return spec.kind, case.answer, mirror, kind


def _chosen() -> list[RivalCase]:
    """One code per method, answer and kind of step, taken from all sets in turn."""
    groups: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for case in CASES:
        groups.setdefault(code_of(case)[:3], set()).add(code_of(case))
    chosen = {
        sorted(codes)[zlib.crc32(key[0].encode()) % len(codes)] for key, codes in groups.items()
    }
    return [case for case in CASES if code_of(case) in chosen]


CHOSEN = _chosen()
ONE_OF_EACH = list({(case.spec.kind, case.answer): case for case in reversed(CHOSEN)}.values())
"""One case of every method and kind of answer."""
_BY_METHOD = {(case.spec.kind, case.answer == "function"): case for case in ONE_OF_EACH}
_BY_ANSWER = {case.answer: case for case in [*ONE_OF_EACH, *_BY_METHOD.values()]}
COMPILED = list({case.name: case for case in [*_BY_METHOD.values(), *_BY_ANSWER.values()]}.values())
"""One case of every method, as guarantees are of methods (and of functions, which are gradients at
another point), and one of every kind of answer."""


def assumed(spec: Rival, name: str, otherwise: Any) -> Any:
    """Return what a method, or the learner inside it, assumes under this name."""
    inside = getattr(spec, "base", None)
    places: list[Any] = [spec]
    if isinstance(inside, Reduction):
        places += [inside, inside.base, rate_of(inside.base)]
    found = (getattr(place, name, None) for place in places)
    return next((value for value in found if value), otherwise)


# --- Coordinates ---------------------------------------------------------------------------------


class Chart(NamedTuple):
    """x = shift + scale * y, coordinate by coordinate."""

    shift: Array
    scale: Array

    def point(self, y: Array) -> Array:
        return np.asarray(self.shift + self.scale * y)

    def coordinates(self, x: Array) -> Array:
        return np.asarray((x - self.shift) / self.scale)


def chart_of(domain: Domain) -> Chart:
    """Return the chart of a set; that of the simplex changes nothing."""
    k = domain.dim
    shift = np.zeros(k) if isinstance(domain, bl.Simplex) else np.array(domain.center)
    return Chart(shift, np.array(domain.half_widths or (1.0,) * k))


# --- Answers -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answers:
    """Row t of ``rows`` answers ticket t, in the user's coordinates."""

    case: RivalCase
    rows: Array
    chart: Chart

    def fast(self, ticket: int) -> Any:
        """Return what a learner takes."""
        row = self.rows[ticket]
        if self.case.answer in ("value", "arm"):
            return float(row[0])
        return self.gradient(row) if self.case.answer == "function" else row

    def slow(self, ticket: int) -> Any:
        """Return what the slow version takes: the same, in the chart."""
        row, scale = self.rows[ticket], self.chart.scale
        match self.case.answer:
            case "gradient":
                return scale * row
            case "function":
                return lambda y: scale * self.gradient(row)(self.chart.point(y))
            case "value" | "arm":
                return float(row[0])
            case _:
                return tuple(float(value) for value in row)

    def at(self, ticket: int, x: Array, wants_function: bool) -> Any:
        """Return the answer for another spec that was played x and may take gradients only."""
        if self.case.answer != "function" or wants_function:
            return self.fast(ticket)
        return self.gradient(self.rows[ticket])(x)

    def gradient(self, row: Array) -> Callable[[Array], Array]:
        """Return the gradient of a quadratic loss; under function feedback that is the answer."""
        return lambda x: np.asarray(row + 0.05 * x / self.chart.scale**2)


def width_of(case: RivalCase) -> int:
    """Return how many numbers an answer has."""
    k = rival(case).domain.dim
    return {"value": 1, "arm": 1, "pair": 2, "values": k + 1}.get(case.answer, k)


def answers(case: RivalCase, rounds: int = ROUNDS, seed: int = 0) -> Answers:
    """Draw one answer per ticket; some are a little larger than was assumed."""
    rng = np.random.default_rng([seed, *case.name.encode()])
    chart = chart_of(rival(case).domain)
    size = assumed(rival(case), "lipschitz", 1.0)
    shape = (rounds, width_of(case))
    match case.answer:
        case "arm":
            rows = 20.0 * rng.random(shape)  # large, or plays would hardly show a difference
        case "value":
            rows = 1.1 * assumed(rival(case), "magnitude", 1.0) * rng.uniform(-1.0, 1.0, shape)
        case "pair" | "values":
            rows = rng.uniform(-1.0, 1.0, (rounds, 1)) + 0.1 * size * rng.standard_normal(shape)
        case _:
            rows = _costs(rng, *shape, size) / chart.scale
    return Answers(case, rows, chart)


def _costs(rng: np.random.Generator, rounds: int, dim: int, size: float) -> Array:
    """Costs around a mean that turns over, so that a learner gets about, of about this norm."""
    drift = 0.4 * rng.standard_normal(dim) * (-1.0) ** (np.arange(rounds)[:, None] // 16)
    noise = 0.5 * rng.standard_normal((rounds, dim))
    return np.asarray(size * (drift + noise) / np.sqrt(dim))


# --- Lives ---------------------------------------------------------------------------------------


def life(
    case: RivalCase, seed: int = 0, rounds: int = ROUNDS, *, cancel: bool = True
) -> list[Event]:
    """Return the events of a life that the method of a case takes.

    Stretches of prompt answers, of delays up to ``LONGEST`` and of bursts follow each other, and
    those of one round come in any order. In the second half some answers never come. A method that
    was told a fixed delay gets just that.
    """
    draw = random.Random(seed)
    if case.delay is not None:
        due = {t: t + case.delay for t in range(rounds)}
    else:
        due = {t: t + delay for t, delay in enumerate(_delays(draw, rounds))}
    events: list[Event] = []
    for now in range(rounds):
        events.append(("predict", now))
        arriving = [ticket for ticket, then in due.items() if then == now]
        if case.delay is None:
            draw.shuffle(arriving)
        for ticket in arriving:
            lost = cancel and case.loses and draw.random() < 0.1
            events.append(("cancel" if lost else "observe", ticket))
    return events


def _delays(draw: random.Random, rounds: int) -> Iterable[int]:
    """Delays in stretches of twelve rounds; a delay of ``rounds`` means never."""
    for t in range(rounds):
        if t % 12 == 0:
            style = draw.choice(["prompt", "scattered", "scattered", "burst"])
        if t > rounds // 2 and draw.random() < 0.08:
            yield rounds
        elif style == "burst":
            yield 11 - t % 12
        else:
            yield 0 if style == "prompt" else draw.randint(0, LONGEST)


class Trace(NamedTuple):
    """What a learner did in a life."""

    plays: list[Array]
    used: list[bool]


def follow(player: Any, events: Iterable[Event], answer: Callable[[int], Any]) -> Trace:
    """Lead a learner, fast or slow, through events."""
    trace = Trace([], [])
    for kind, ticket in events:
        if kind == "predict":
            given, play = player.predict()
            assert given == ticket
            trace.plays.append(play)
        elif kind == "cancel":
            player.cancel(ticket)
        else:
            trace.used.append(player.observe(ticket, answer(ticket)))
    return trace


# --- How far apart -------------------------------------------------------------------------------


def distance(case: RivalCase, fast: Iterable[Array], slow: Iterable[Array]) -> float:
    """Return the largest distance of plays in the chart, in units of what is allowed."""
    chart = chart_of(rival(case).domain)
    offset = float(np.abs(chart.shift / chart.scale).max())
    apart = []
    for x, y in zip(fast, slow, strict=True):
        assert x.shape == y.shape
        size = max(1.0, float(np.abs(y).max()), offset)
        apart.append(float(np.abs(chart.coordinates(x) - y).max()) / size)
    return float(np.max(apart, initial=0.0)) / case.tolerance  # NaN if there is one


def from_slow(case: RivalCase, seed: int) -> float:
    """Return how far a learner is from the slow version after a life; 1 is allowed."""
    events, given = life(case, seed), answers(case, seed=seed)
    quick = follow(learner(case), events, given.fast)
    patient = follow(case.slow(SEED), events, given.slow)
    return distance(case, quick.plays, patient.plays) if quick.used == patient.used else math.inf


def from_ancestor(case: RivalCase) -> float:
    """Return how far a learner without delay is from its ancestor; 1 is allowed."""
    if case.ancestor is None:
        return 0.0
    chart, given = chart_of(rival(case).domain), answers(case)
    young, old = learner(case), bl.Learner(case.ancestor, SEED)
    plays: list[tuple[Array, Array]] = []
    for t in range(ROUNDS):
        x, expected = young.predict().x, old.predict().x
        plays.append((x, chart.coordinates(expected)))
        young.observe(t, given.fast(t))
        old.observe(t, given.at(t, x, wants_function(case.ancestor)))
    return distance(case, *zip(*plays, strict=True))


def wants_function(spec: LearnerSpec) -> bool:
    """Tell whether an answer is a function."""
    return isinstance(spec, bl.FullInformation) or getattr(spec, "feedback", "") == "function"
