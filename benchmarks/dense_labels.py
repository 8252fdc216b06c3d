"""Delayed regression beside ``LinearModel``: dense features, dimension up to 50, squared errors.

The regression is that of Vovk, Azoury and Warmuth under late labels, after Qiu, Esposito and Zhang
(2025): with z_t the features of round t and A_t = lambda_t I + the sum of z_s z_s' up to t, pending
rounds included, it predicts z_t' A_t^-1 (sum of received y_s z_s), clipped to the range of the
labels. lambda_t grows with the possible effect of pending labels, by a factor called caution.

Both are given the same columns: a constant, numbers over their standard deviation, and every word
that leaves the dimension within the limit as one column per value. The regression is told, from the
whole log, what is unknown beforehand: the mean of the labels, how far they are from it, and the
norm of the best weights. Its caution is 4, as its theorem has it, or the best of several, chosen
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
    """Yield the error of ``LinearModel`` over that of the regression, as it comes and at best."""
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
    """Return the mean squared error of the regression, told all it asks for."""
    came = log.answered
    middle = float(log.labels[came].mean())
    labels = np.where(came, log.labels - middle, 0.0)
    rows, k = log.rows, log.rows.shape[1]
    weights = np.linalg.solve(rows[came].T @ rows[came] + np.eye(k), rows[came].T @ labels[came])
    magnitude, norm = float(np.abs(labels).max()), float(np.linalg.norm(weights))
    values = delayed_vaw(log, labels, magnitude, caution * (magnitude / norm) ** 2)
    return _error(values + middle, log)


def delayed_vaw(log: Dense, labels: Floats, magnitude: float, growth: float) -> Floats:
    """Return the predictions of the regression.

    lambda = 1 + growth * (sum of w_t times the w of all pending rounds), rounded up to a power of
    2, where w = sqrt(z' A^-1 z). An inverse is computed anew where lambda doubles.
    """
    rows, k = log.rows, log.rows.shape[1]
    gram, received, ridge, drift = np.zeros((k, k)), np.zeros(k), 1.0, 0.0
    widths: dict[int, float] = {}
    inverse, values = np.eye(k), np.empty(len(rows))
    answered = len(rows) + int(log.answered.sum())
    for event in log.timeline.events[:answered].tolist():
        if event < 0:
            received += labels[~event] * rows[~event]
            del widths[~event]
            continue
        z = rows[event]
        if 1.0 + growth * drift > ridge:
            ridge = 2.0 ** math.ceil(math.log2(1.0 + growth * drift))
            inverse = np.asarray(np.linalg.inv(ridge * np.eye(k) + gram), np.float64)
            widths = {t: math.sqrt(rows[t] @ inverse @ rows[t]) for t in widths}
        gram += np.outer(z, z)
        u = inverse @ z
        inverse -= np.outer(u, u / (1.0 + z @ u))
        width = math.sqrt(max(0.0, z @ inverse @ z))
        drift += width * sum(widths.values())
        widths[event] = width
        values[event] = np.clip(z @ inverse @ received, -magnitude, magnitude)
    return values


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
