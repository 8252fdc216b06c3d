"""A robust expert, evaluated: our model with squared loss, mixed with one with Huber loss.

**Outliers.** Two labels in 1,000 are a thousand times too large. The error is that on all other
rows, after a tenth; the floor is ``LinearModel("huber")``, which ``audit`` recommends there.

**Real logs.** The same mixture on the logs with numeric labels that decisions may rest on, over
our model with squared loss. The spread is the standard error of the ratio, over 20 stretches.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import belated as bl
from belated.models.linear import LinearModel, Rows
from benchmarks.compare_versions import compared
from benchmarks.seeds import seeds
from benchmarks.timed_logs import every_case
from benchmarks.timing import Result

Floats = NDArray[np.float64]

ROUNDS, WIDTH, DELAY, SHARE, FACTOR = 20_000, 10, 100, 0.002, 1000.0


def main() -> Iterator[Result]:
    """Yield errors with outliers, then those on real logs."""
    yield from with_outliers()
    for case in every_case():
        if case.loss != "squared" or len(case.log) > 100_000:
            continue
        ours, robust = (replayed(case, loss) for loss in ("squared", "huber"))
        answered, y = case.log.answered, case.target
        both = mixed(np.column_stack([ours, robust]), y, case.log.timeline, answered)
        old, new = ((p[answered] - y[answered]) ** 2 for p in (ours, both))
        ratio, error = compared(old, new)
        name, means = f"robust expert: {case.name}", (float(new.mean()), float(old.mean()))
        yield Result(name, ratio, math.inf, *means, "sq. error", error / ratio)


def with_outliers() -> Iterator[Result]:
    """Yield clean errors of squared loss and of the mixture, over that of Huber loss."""
    errors: list[tuple[float, float, float]] = []
    for seed in seeds("outliers", 10):
        rng = np.random.default_rng(seed)
        x, w = rng.standard_normal((ROUNDS, WIDTH)), rng.standard_normal(WIDTH)
        clean = x @ w + 3.0 + 2.0 * rng.standard_normal(ROUNDS)
        far = rng.random(ROUNDS) < SHARE
        y, timeline = np.where(far, FACTOR * clean, clean), bl.delays.constant(ROUNDS, DELAY)
        rows = Rows(WIDTH * np.arange(ROUNDS + 1), np.tile(np.arange(WIDTH), ROUNDS), x.ravel())
        ours, robust = (
            LinearModel(loss).replay(rows, y, timeline) for loss in ("squared", "huber")
        )
        both = mixed(np.column_stack([ours, robust]), y, timeline, np.full(ROUNDS, True))
        kept = ~far & (np.arange(ROUNDS) >= ROUNDS // 10)
        first, second, third = (
            float(((p - clean)[kept] ** 2).mean()) for p in (ours, both, robust)
        )
        errors.append((first, second, third))
    found = np.array(errors)
    for place, name in enumerate(("squared loss", "squared loss with a robust expert")):
        ratios = found[:, place] / found[:, 2]
        low, middle, high = np.quantile(ratios, [0.25, 0.5, 0.75]).tolist()
        ours, floor = np.median(found[:, [place, 2]], axis=0).tolist()
        spread = (high - low) / 2.0 / middle
        yield Result(f"outliers: {name}", middle, math.inf, ours, floor, "sq. error", spread)


def replayed(case: Any, loss: Any) -> Floats:
    """Return the predictions of our model with a loss."""
    model = LinearModel(loss)
    rows = model.hasher.table(case.log.features)
    return np.asarray(model.replay(rows, case.target, case.log.timeline))


def mixed(values: Floats, y: Floats, timeline: Any, answered: NDArray[np.bool_]) -> Floats:
    """Return predictions mixed by MLpol for squared loss, each label when it arrives."""
    regrets, squares, largest = np.zeros(2), np.zeros(2), 0.0
    shares, out = np.full(2, 0.5), np.zeros(len(values))
    for event in timeline.events.tolist():
        if event >= 0:
            out[event] = values[event] @ shares
        elif answered[~event]:
            row = ~event
            r = (out[row] - y[row]) * (out[row] - values[row])
            regrets, squares = regrets + r, squares + r * r
            largest = max(largest, float(np.abs(r).max()))
            weights = np.maximum(regrets, 0.0) / np.maximum(largest**2 + squares, 1e-300)
            shares = weights / weights.sum() if weights.sum() > 0.0 else np.full(2, 0.5)
    return out
