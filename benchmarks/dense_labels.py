"""``DelayedVAW`` beside ``LinearModel``: dense features, dimension up to 50, squared errors.

Both are given the same columns: a constant, numbers over their standard deviation, and every word
that leaves the dimension within the limit as one column per value. ``DelayedVAW`` is told, from the
whole log, what nobody knows beforehand: the mean of the labels, how far they are from it, and the
norm of the best weights. Its caution is what comes with it, 4, or the best of several, chosen
afterwards. ``LinearModel`` is as it comes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import belated as bl
from benchmarks.late_logs import Case, cases
from benchmarks.timing import Result

Floats = NDArray[np.float64]

MOST = 50
CAUTIONS = (4.0, 0.4, 0.04, 0.004, 0.0004)


@dataclass(frozen=True)
class Dense:
    """A log with one row of numbers per prediction."""

    name: str
    rows: Floats
    labels: Floats
    timeline: bl.Timeline
    delays: str

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Which labels came."""
        return np.asarray(self.timeline.observed)


def quality() -> Iterator[Result]:
    """Yield the error of ``LinearModel`` over that of ``DelayedVAW``, as it comes and at best."""
    for log in (*made(), *recorded()):
        ours = _error(bl.LinearModel().replay(log.rows, log.labels, log.timeline), log)
        theirs = {caution: vaw_error(log, caution) for caution in CAUTIONS}
        best = min(theirs, key=lambda caution: theirs[caution])
        note = f"{log.rows.shape[1]} columns, delays are {log.delays}; " + "; ".join(
            f"caution {caution:g}: {error:.5g}" for caution, error in theirs.items()
        )
        yield _figure(f"{log.name}, DelayedVAW", ours, theirs[4.0], note)
        yield _figure(f"{log.name}, best DelayedVAW", ours, theirs[best], f"caution {best:g}")


def vaw_error(log: Dense, caution: float) -> float:
    """Return the mean squared error of ``DelayedVAW``, told all it asks for."""
    came = log.answered
    middle = float(log.labels[came].mean())
    labels = np.where(came, log.labels - middle, 0.0)
    rows, k = log.rows, log.rows.shape[1]
    weights = np.linalg.solve(rows[came].T @ rows[came] + np.eye(k), rows[came].T @ labels[came])
    model = bl.rivals.DelayedVAW(
        k,
        magnitude=float(np.abs(labels).max()),
        norm=float(np.linalg.norm(weights)),
        caution=caution,
    )
    return _error(model.replay(rows, labels, log.timeline) + middle, log)


def _error(values: Floats, log: Dense) -> float:
    came = log.answered
    return float(np.mean((values[came] - log.labels[came]) ** 2))


def _figure(name: str, ours: float, theirs: float, note: str) -> Result:
    return Result(name, ours / theirs, math.inf, ours, theirs, "sq. error", 0.0, note)


# --- Logs ----------------------------------------------------------------------------------------


def made() -> Iterator[Dense]:
    """Yield labels of a line, with noise of a third: 10 and 50 columns, delays of 20 and 500."""
    for k, late in ((10, 20), (10, 500), (50, 20), (50, 500)):
        rng = np.random.default_rng(k)
        rows = rng.standard_normal((5000, k))
        labels = rows @ (rng.standard_normal(k) / math.sqrt(k)) + rng.standard_normal(5000) / 3.0
        timeline = bl.delays.geometric(5000, mean=late, seed=k)
        yield Dense(f"a line in {k}, delay {late}", rows, labels, timeline, "made up")


def recorded() -> Iterator[Dense]:
    """Yield the logs with numbers as labels whose columns are not too many."""
    for case in cases():
        if case.loss == "squared" and len(case.log) <= 60_000:
            yield dense(case)


def dense(case: Case) -> Dense:
    """Return a log in columns: all numbers, and words as long as there is room."""
    columns = {"constant": np.ones(len(case.log))}
    words = []
    for name, cells in case.log.features.items():
        if cells.dtype.kind == "O":
            words.append((len(set(cells.tolist())), name))
        else:
            numbers = np.nan_to_num(np.asarray(cells, dtype=np.float64))
            columns[name] = numbers / (float(numbers.std()) or 1.0)
    for levels, name in sorted(words):
        cells = case.log.features[name]
        if len(columns) + levels <= MOST:
            columns |= {f"{name}={v}": (cells == v).astype(float) for v in sorted(set(cells))}
    labels = np.nan_to_num(case.target)
    rows = np.ascontiguousarray(np.column_stack(list(columns.values())))
    return Dense(case.name, rows, labels, case.log.timeline, case.delays)
