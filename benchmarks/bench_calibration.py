"""Would a second model that recalibrates help? Probabilities as issued, against rescaled ones.

On the logs of :mod:`benchmarks.late_logs` with yes or no for a label, ``LinearModel`` predicts p as
it comes, and a recalibration makes 1 / (1 + exp(-a z - b)) of its log odds z. The pair (a, b) is
learned by Newton steps when labels come, from a prior at (1, 0) with as much weight as a hundred
labels at even odds would have; and, as what no one can know beforehand, fitted to the whole log.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from belated.models.linear import LinearModel
from belated.replays.measures import calibration
from benchmarks.late_logs import Case, NotInstalled, one_year, phishing, two_weeks
from benchmarks.timing import Result

Floats = NDArray[np.float64]

PRIOR = 25.0
STEPS = 30
"""Newton steps of the fit to the whole log, which needs far fewer."""


def main() -> Iterator[Result]:
    """Yield the log loss as issued over that of recalibrated predictions."""
    for case in _cases():
        model = LinearModel("logistic")
        rows = model.hasher.table(case.log.features)
        issued = model.replay(rows, case.target, case.log.timeline)
        answered = case.log.answered
        odds = np.log(issued) - np.log1p(-issued)
        y, z = case.target[answered], odds[answered]
        ways = {"learned": learned(odds, case)[answered], "in hindsight": fitted(z, y)}
        ours = _loss(issued[answered], y)
        for way, said in ways.items():
            other = _loss(said, y)
            note = f"issued {_ends(issued[answered], y)}; {way} {_ends(said, y)}"
            name = f"{case.name}, recalibrated {way}"
            yield Result(name, ours / other, math.inf, ours, other, "log loss", 0.0, note)


def _cases() -> Iterator[Case]:
    for make in (two_weeks, one_year, phishing):
        try:
            found = make()
        except NotInstalled as missing:
            print(f"{missing} is not installed: {make.__name__} is left out")
            continue
        yield from (case for case in found if case.loss == "logistic")


def learned(odds: Floats, case: Case) -> Floats:
    """Return what a recalibration says that learns when labels come."""
    said = np.empty(odds.size)
    point, precision = np.array([1.0, 0.0]), PRIOR * np.eye(2)
    for event in case.events.tolist():
        row = np.array([odds[max(event, ~event)], 1.0])
        chance = 1.0 / (1.0 + np.exp(-(point @ row)))
        if event >= 0:
            said[event] = chance
        else:
            precision += chance * (1.0 - chance) * np.outer(row, row)
            point -= np.linalg.solve(precision, (chance - case.target[~event]) * row)
    return said


def fitted(odds: Floats, labels: Floats) -> Floats:
    """Return what the best recalibration says that knows all labels."""
    rows = np.column_stack([odds, np.ones(odds.size)])
    point = np.array([1.0, 0.0])
    for _ in range(STEPS):
        chance = 1.0 / (1.0 + np.exp(-(rows @ point)))
        curvature = (rows * (chance * (1.0 - chance))[:, None]).T @ rows
        point -= np.linalg.solve(curvature, rows.T @ (chance - labels))
    return np.asarray(1.0 / (1.0 + np.exp(-(rows @ point))))


def _loss(said: Floats, labels: Floats) -> float:
    return float(np.mean(-np.log(np.where(labels > 0.5, said, 1.0 - said))))


def _ends(said: Floats, labels: Floats) -> str:
    """Return the lowest and the highest tenth: what was said, and what came."""
    bins = calibration(said, labels, np.ones(said.size))
    return ", ".join(f"{end.predicted:.3f} ({end.observed:.3f})" for end in (bins[0], bins[-1]))
