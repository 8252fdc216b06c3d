"""Conversions that are heard of late, and their absence never: ours against other ways to learn.

Every cell is a kind of world (:mod:`benchmarks.conversions`) and a drift, and has :data:`SEEDS`
draws. The excess is the mean of the log loss beyond that of the true probabilities, after a quarter
of the rounds. The floor is the best of the other ways, chosen afterwards and per cell. The second
figure is the mean prediction over the mean probability, as the larger of it and its inverse.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.conversions import (
    DRIFTS,
    ROUNDS,
    WORLDS,
    Floats,
    ours,
    rivals,
    without_delay,
    world,
)
from benchmarks.seeds import seeds
from benchmarks.timing import Result

SEEDS = 5
_FIRST = ROUNDS // 4
_TINY = 1e-12

Figures = dict[str, list[tuple[float, float]]]
"""Excess and calibration by way, one pair per seed."""


def main() -> Iterator[Result]:
    """Yield two figures per cell."""
    for kind in WORLDS:
        for drift in DRIFTS:
            yield from _cell(kind, drift)


def _cell(kind: str, drift: str) -> Iterator[Result]:
    found: Figures = {}
    for seed in seeds("conversions", SEEDS):
        given = world(kind, drift, seed)
        ways = [("ours", ours(given)), ("no delay", without_delay(given)), *rivals(given)]
        for name, values in ways:
            found.setdefault(name, []).append(_judged(values, given.truth))
    means = {name: np.mean(figures, axis=0) for name, figures in found.items()}
    others = {name: mean for name, mean in means.items() if name not in ("ours", "no delay")}
    best = min(others, key=lambda name: float(others[name][0]))
    yield Result(
        name=f"conversions, {kind}, {drift}, over the best",
        ratio=float(means["ours"][0] / others[best][0]),
        target=1.1,
        ours=float(means["ours"][0]),
        floor=float(others[best][0]),
        unit="excess",
        spread=_spread([a[0] / b[0] for a, b in zip(found["ours"], found[best], strict=True)]),
        note=f"best: {best}; "
        + "; ".join(f"{name}: {mean[0]:.5f} ({mean[1]:.3f})" for name, mean in means.items()),
    )
    share = float(means["ours"][1])
    yield Result(
        name=f"conversions, {kind}, {drift}, calibration",
        ratio=max(share, 1.0 / share),
        target=1.03,
        ours=share,
        floor=1.0,
        unit="of truth",
        spread=_spread([pair[1] for pair in found["ours"]]),
        note=f"without delay: {means['no delay'][1]:.3f}",
    )


def _judged(values: Floats, truth: Floats) -> tuple[float, float]:
    """Return the excess of the log loss, and the mean prediction over the mean probability."""
    p, q = truth[_FIRST:], np.clip(values[_FIRST:], _TINY, 1.0 - _TINY)
    excess = p * np.log(p / q) + (1.0 - p) * np.log((1.0 - p) / (1.0 - q))
    return float(excess.mean()), float(q.mean() / p.mean())


def _spread(ratios: list[float]) -> float:
    low, middle, high = np.quantile(ratios, [0.25, 0.5, 0.75])
    return float((high - low) / 2.0 / middle)
