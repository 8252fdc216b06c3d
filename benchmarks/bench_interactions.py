"""``LinearModel(interactions="auto")``: its error and its cost, on logs with late labels.

On every log of :mod:`benchmarks.late_logs`, errors are compared with those of the same model
without interactions, with all pairs of columns given by name, and with boosted trees of
scikit-learn that are fitted anew 24 times, on all labels known then, and predict the running mean
before. The spread is the standard error of the ratio, over 20 stretches of time. A target of 1.05
is that of the better of no pairs and all pairs; 1.005 is what the option may cost where pairs do
not help.

Costs are those of events with dicts, and of replays of dense rows, over the plain model.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from functools import partial
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

import belated as bl
from belated.models.linear import LinearModel, Rows
from benchmarks.late_logs import Case, cases
from benchmarks.late_peers import has
from benchmarks.timing import Result, interleaved

Floats = NDArray[np.float64]

REFITS, FEWEST = 24, 30
MOST_COLUMNS = 15
"""Columns up to which all pairs are given by name."""
MOST_ROWS = 60_000
"""Rows up to which trees are fitted."""
STRETCHES = 20
REFITTED = ("bikes per hour", "diamonds, price", "staff, dismissed")
"""Logs on which trees are to be matched."""
WIDTHS = (5, 9, 30, 100)
ROUNDS, LIVE_ROUNDS, DELAY, REPEATS = 20_000, 3_000, 100, 5


def main() -> Iterator[Result]:
    """Yield errors, then costs."""
    for case in cases():
        yield from quality(case)
    for width in WIDTHS:
        yield from cost(width)


# --- How well ------------------------------------------------------------------------------------


def quality(case: Case) -> Iterator[Result]:
    """Yield errors over those of other ways to find interactions."""
    ours, plain = losses(case, ours_on(case, "auto")), losses(case, ours_on(case, ()))
    names = list(case.log.features)
    others = {"no pairs": plain}
    if len(names) <= MOST_COLUMNS:
        others["all pairs"] = losses(case, ours_on(case, list(combinations(names, 2))))
    best = min(others, key=lambda name: float(others[name].mean()))
    if has("sklearn") and len(case.log) <= MOST_ROWS:
        others["refitted trees"] = losses(case, refitted_trees(case))
    for name, theirs in others.items():
        target = 1.05 if name == best else math.inf
        if name == "no pairs":
            target = 1.005
        elif name == "refitted trees" and case.name in REFITTED:
            target = 1.05
        yield compared(f"{case.name}, {name}", case, ours, theirs, target)


def ours_on(case: Case, interactions: Any) -> Floats:
    """Return the predictions of our model."""
    model = LinearModel(case.loss, interactions=interactions)
    rows = model.hasher.table(case.log.features)
    return np.asarray(model.replay(rows, case.target, case.log.timeline))


def losses(case: Case, values: Floats) -> Floats:
    """Return losses of rows that are answered."""
    y, p = case.target[case.log.answered], values[case.log.answered]
    if case.loss == "squared":
        return (p - y) ** 2
    return np.asarray(-np.log(np.clip(np.where(y > 0.5, p, 1.0 - p), 1e-12, 1.0)))


def compared(name: str, case: Case, ours: Floats, theirs: Floats, target: float) -> Result:
    """Return the ratio of mean losses, with its standard error in the place of the spread."""
    ratio = float(ours.mean() / theirs.mean())
    excess = np.array([part.mean() for part in np.array_split(ours - ratio * theirs, STRETCHES)])
    error = float(excess.std(ddof=1) / math.sqrt(STRETCHES) / theirs.mean())
    return Result(
        name=name,
        ratio=ratio,
        target=target,
        ours=float(ours.mean()),
        floor=float(theirs.mean()),
        unit="sq. error" if case.loss == "squared" else "log loss",
        spread=error / ratio,
        note=f"delays are {case.delays}",
    )


def refitted_trees(case: Case) -> Floats:
    """Return predictions of trees that are fitted anew on the labels that are known."""
    ensemble: Any = importlib.import_module("sklearn.ensemble")
    kind = "Classifier" if case.loss == "logistic" else "Regressor"
    inputs, words = matrix(case)
    place = {event: position for position, event in enumerate(case.events.tolist())}
    count = len(case.log)
    known_at = np.array([place.get(~row, len(place)) for row in range(count)])
    order = np.argsort(known_at, kind="stable")
    asked_at = np.array([place[row] for row in range(count)])
    heard = np.searchsorted(known_at[order], asked_at)
    sums = np.append(0.0, np.cumsum(np.nan_to_num(case.target[order])))[heard]
    prior = 0.5 if case.loss == "logistic" else 0.0
    found = (sums + prior) / np.maximum(heard + 2.0 * prior, 1.0)
    for start, end in pairwise(np.linspace(0, count, REFITS + 1).astype(int).tolist()):
        rows = order[: heard[start]]
        labels = case.target[rows]
        if len(rows) < FEWEST or np.ptp(labels) == 0.0:
            continue
        model = getattr(ensemble, f"HistGradientBoosting{kind}")(categorical_features=words or None)
        model.fit(inputs[rows], labels)
        fresh = inputs[start:end]
        is_binary = case.loss == "logistic"
        found[start:end] = model.predict_proba(fresh)[:, 1] if is_binary else model.predict(fresh)
    return np.asarray(found)


def matrix(case: Case) -> tuple[Floats, list[int]]:
    """Return columns as numbers, and which of them are words; rare words are numbers."""
    columns, words = [], []
    for place, cells in enumerate(case.log.features.values()):
        if cells.dtype == object:
            names, codes = np.unique(cells.astype(str), return_inverse=True)
            words += [place] if len(names) <= 200 else []
            columns.append(codes.astype(np.float64))
        else:
            columns.append(np.asarray(cells, dtype=np.float64))
    return np.column_stack(columns), words


# --- How fast ------------------------------------------------------------------------------------


def cost(width: int) -> Iterator[Result]:
    """Yield the time of events over that of the plain model, live and as a replay."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((ROUNDS, width))
    live = partial(_live, [{f"f{i}": v for i, v in enumerate(r)} for r in x[:LIVE_ROUNDS].tolist()])
    whole = partial(_replay, x, bl.delays.constant(ROUNDS, DELAY))
    ways = ((f"live dicts, {width}", live, 2.5), (f"replay, {width} dense", whole, math.inf))
    for name, play, target in ways:
        works = {"ours": partial(play, "auto"), "floor": partial(play, ())}
        times = interleaved(works, REPEATS)
        ratios = np.array(times["ours"]) / np.array(times["floor"])
        low, middle, high = np.quantile(ratios, [0.25, 0.5, 0.75]).tolist()
        ours, floor = (float(np.median(times[side])) for side in ("ours", "floor"))
        yield Result(name, middle, target, ours, floor, "s", (high - low) / 2.0 / middle)


def _live(rows: list[dict[str, float]], interactions: Any) -> None:
    model = LinearModel(interactions=interactions)
    predict, observe = model.predict, model.observe
    for t, row in enumerate(rows):
        predict(row)
        if t >= DELAY:
            observe(t - DELAY, row["f0"])


def _replay(x: Floats, timeline: Any, interactions: Any) -> None:
    width = x.shape[1]
    indptr, indices = width * np.arange(len(x) + 1), np.tile(np.arange(width), len(x))
    model = LinearModel(interactions=interactions)
    model.replay(Rows(indptr, indices, x.ravel()), x[:, 0].copy(), timeline)
