"""Worlds of late conversions, and the ways to learn from them.

A round converts with a probability that depends on its features and may drift; a conversion is
heard of after a delay that depends on the features too, and what does not convert is never heard
of. All ways use ``LinearModel`` with logistic loss; they differ in what they tell it, and when.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from belated.models.linear import LinearModel, Rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROUNDS = 24_000
WORLDS = ("bounded", "heavy", "sparse")
DRIFTS = {"still": 0.0, "slow": np.pi / ROUNDS, "fast": 4.0 * np.pi / ROUNDS}
"""By how much the weights turn in a round: not, half a turn in all, two turns."""
WINDOWS = (250, 1000, 4000)
EDGES = (0, 100, 300, 1000, 3000)
"""Where buckets of hazards begin and end."""
_BITS = 6
_GROUPS, _KINDS = 4, 10  # of the sparse world
_START = 200  # labels before a hazard is believed


@dataclass(frozen=True)
class World:
    """Features, what is true of every round, and when it is heard of."""

    rows: Rows
    truth: Floats
    converts: NDArray[np.bool_]
    delays: Ints

    def row(self, t: int) -> tuple[Ints, Floats]:
        """Return coordinates and values of a round."""
        part = slice(self.rows.indptr[t], self.rows.indptr[t + 1])
        return self.rows.indices[part], self.rows.values[part]

    def heard(self) -> list[list[int]]:
        """Return for every round which conversions are heard of after its prediction."""
        heard: list[list[int]] = [[] for _ in range(ROUNDS)]
        when = np.arange(ROUNDS) + self.delays
        for ticket in np.flatnonzero(self.converts & (when < ROUNDS)).tolist():
            heard[when[ticket]].append(ticket)
        return heard


def world(kind: str, drift: str, seed: int) -> World:
    """Draw a world."""
    rng = np.random.default_rng([seed, WORLDS.index(kind), list(DRIFTS).index(drift)])
    if kind == "sparse":
        x, rows = _categories(rng)
        level, size, spread = -3.2, 0.7, 0.6
    else:
        x = rng.normal(size=(ROUNDS, 10))
        rows = Rows(
            10 * np.arange(ROUNDS + 1),
            np.tile(np.arange(10), ROUNDS),
            np.ascontiguousarray(x.ravel()),
        )
        level, size, spread = -1.8, 0.35, 0.3
    dim = x.shape[1]
    angle = DRIFTS[drift] * np.arange(ROUNDS)
    weights = np.outer(np.cos(angle), rng.normal(size=dim) * size)
    weights += np.outer(np.sin(angle), rng.normal(size=dim) * size)
    levels = level + (0.6 * np.sin(1.3 * angle + seed) if drift != "still" else 0.0)
    truth = 1.0 / (1.0 + np.exp(-(levels + (x * weights).sum(axis=1))))
    converts = rng.random(ROUNDS) < truth
    means = np.exp(x @ (rng.normal(size=dim) * spread))
    if kind == "heavy":
        delays = 250.0 * means * np.exp(1.8 * rng.normal(size=ROUNDS))
    else:
        delays = 270.0 * means * rng.exponential(size=ROUNDS)
    longest = 2000.0 if kind == "bounded" else 1e9
    return World(rows, truth, converts, np.minimum(delays, longest).astype(np.int64))


def _categories(rng: np.random.Generator) -> tuple[Floats, Rows]:
    """Return one of ten kinds in each of four groups, some of them rare."""
    x = np.zeros((ROUNDS, _GROUPS * _KINDS))
    places = np.empty((ROUNDS, _GROUPS), dtype=np.int64)
    for group in range(_GROUPS):
        shares = rng.dirichlet(np.full(_KINDS, 0.6))
        places[:, group] = group * _KINDS + rng.choice(_KINDS, size=ROUNDS, p=shares)
    np.put_along_axis(x, places, 1.0, axis=1)
    return x, Rows(_GROUPS * np.arange(ROUNDS + 1), places.ravel(), np.ones(places.size))


# --- Ways ----------------------------------------------------------------------------------------


def ours(given: World) -> Floats:
    """Silence is no conversion, learned at once and corrected when one is heard of."""
    model = LinearModel("logistic", bits=_BITS, silence=0)
    events = [e for t, heard in enumerate(given.heard()) for e in (t, *(~i for i in heard))]
    return model.replay(given.rows, np.ones(ROUNDS), np.array(events))


def without_delay(given: World) -> Floats:
    """Everything is known at once, which no way can do."""
    return _told(given, given.converts, np.zeros(ROUNDS, dtype=np.int64))


def windows(given: World) -> dict[str, Floats]:
    """What was not heard of after so many rounds counts as no conversion."""
    return {
        f"window of {width:,}": _told(
            given, given.converts & (given.delays <= width), np.full(ROUNDS, width)
        )
        for width in WINDOWS
    }


def fake_negatives(given: World) -> Floats:
    """Fake-negative weighting: no conversion at once, a conversion as an example of its own.

    Weights are (1 - p)(1 + p) and 1 + p, so that the mean of the steps is that of the truth
    (Ktena et al., "Addressing delayed feedback for continuous training with neural networks in CTR
    prediction", RecSys 2019).
    """
    model = LinearModel("logistic", bits=_BITS)
    values = np.empty(ROUNDS)
    for t, heard in enumerate(given.heard()):
        ticket, p = model.predict(given.row(t))
        values[t] = p
        model.observe(ticket, 0.0, weight=(1.0 - p) * (1.0 + p))
        for i in heard:
            ticket, p = model.predict(given.row(i))
            model.observe(ticket, 1.0, weight=1.0 + p)
    return values


def calibrated(given: World) -> Floats:
    """Fake-negative calibration: the same examples without weights, b being p / (1 + p)."""
    model = LinearModel("logistic", bits=_BITS)
    values = np.empty(ROUNDS)
    for t, heard in enumerate(given.heard()):
        ticket, b = model.predict(given.row(t))
        values[t] = min(b / (1.0 - b), 1.0) if b < 0.5 else 1.0
        model.observe(ticket, 0.0)
        for i in heard:
            model.observe(model.predict(given.row(i)).ticket, 1.0)
    return values


def hazards(given: World) -> Floats:
    """One model per bucket of ages: does it convert there, if it has not before?"""
    rest = np.ones(ROUNDS)
    for low, high in itertools.pairwise(EDGES):
        converts = given.converts & (given.delays < high)
        reaches = ~(given.converts & (given.delays < low))
        values = _told(given, converts, np.full(ROUNDS, high - 1), reaches)
        values[: high + _START] = 0.0
        rest *= 1.0 - values
    return 1.0 - rest


def _told(
    given: World,
    converts: NDArray[np.bool_],
    delays: Ints,
    which: NDArray[np.bool_] | None = None,
) -> Floats:
    """Return predictions of a model that hears of rounds, or of some, after these delays."""
    model = LinearModel("logistic", bits=_BITS)
    when = np.arange(ROUNDS) + delays
    told = np.flatnonzero(when < ROUNDS if which is None else which & (when < ROUNDS))
    events = np.append(np.arange(ROUNDS), ~told)
    order = np.argsort(np.append(np.arange(ROUNDS), when[told]), kind="stable")
    return model.replay(given.rows, converts.astype(np.float64), events[order])


def rivals(given: World) -> Iterator[tuple[str, Floats]]:
    """Yield names and predictions of all other ways."""
    plain: dict[str, Callable[[World], Floats]] = {
        "fake-negative weighting": fake_negatives,
        "fake-negative calibration": calibrated,
        "hazards": hazards,
    }
    for name, way in plain.items():
        yield name, way(given)
    yield from windows(given).items()
