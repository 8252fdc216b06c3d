"""Rare categories, and very many open tickets: ours against methods that are made for one of them.

**Rare categories.** Logs are those of :mod:`benchmarks.rare_worlds`, three made-up ones and the
flights of a year by aircraft. Ours is ``LinearModel`` as it comes. Others are Vowpal Wabbit in
five ways and a Gaussian belief per weight with four prior variances; the best of all is chosen
afterwards. Made-up logs are judged by the log loss beyond that of the true probabilities, after a
quarter.

**Open tickets.** Nothing changes in these logs. Others are AdaGrad that takes late gradients for
fresh ones, at the best of five scales, and ours that is told of every other row only; losses are
those after a tenth.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from belated.models.linear import LinearModel
from benchmarks import late_peers as peers
from benchmarks.late_logs import Case, Loss, NotInstalled
from benchmarks.rare_worlds import VARIANCES, WORLDS, Stationary, aircraft, gaussian, rare
from benchmarks.timing import Result

Floats = NDArray[np.float64]

OPEN = {100: 200_000, 1000: 300_000, 14_000: 500_000, 100_000: 1_000_000}
"""Open tickets, and rows of the log."""
SCALES = (0.01, 0.03, 0.1, 0.3, 1.0)


def main() -> Iterator[Result]:
    """Yield all figures as they are found."""
    if not peers.has("vowpalwabbit"):
        print("vowpalwabbit is not installed, so it is left out", file=sys.stderr)
    for name in WORLDS:
        case, truth = rare(name)
        yield _over_best(case, {way: _excess(v, truth) for way, v in _ways(case)}, "excess")
    try:
        case = aircraft()
    except NotInstalled as missing:
        print(f"{missing} is not installed: flights are left out", file=sys.stderr)
    else:
        yield _over_best(case, {way: _loss(case, v) for way, v in _ways(case)}, "log loss")
    losses: tuple[Loss, ...] = ("logistic", "squared")
    for loss in losses:
        for opened, rounds in OPEN.items():
            yield _with_open(loss, opened, rounds)


def _ways(case: Case) -> Iterator[tuple[str, Floats]]:
    """Yield names and predictions of all methods, ours first."""
    model = LinearModel(case.loss)
    rows = model.hasher.table(case.log.features)
    yield "ours", model.replay(rows, case.target, case.log.timeline)
    for variance in VARIANCES:
        yield f"Gaussian {variance:g}", gaussian(case, variance)
    if peers.has("vowpalwabbit"):
        texts, labels = peers.vw_texts(case.log), peers.vw_labels(case.target, logistic=True)
        for name, arguments in peers.VW_SETTINGS.items():
            vw = peers.workspace(arguments, logistic=True)
            said = peers.vw_replay(vw, texts, labels, case.events)
            vw.finish()
            yield f"VW {name}", 1.0 / (1.0 + np.exp(-said))


def _excess(values: Floats, truth: Floats) -> float:
    first = len(truth) // 4
    p, q = truth[first:], np.clip(values[first:], 1e-12, 1.0 - 1e-12)
    return float(np.mean(p * np.log(p / q) + (1.0 - p) * np.log((1.0 - p) / (1.0 - q))))


def _loss(case: Case, values: Floats) -> float:
    answered = case.log.answered
    y, p = case.target[answered], np.clip(values[answered], 1e-12, 1.0 - 1e-12)
    return float(-np.mean(np.log(np.where(y > 0.5, p, 1.0 - p))))


def _over_best(case: Case, found: dict[str, float], unit: str) -> Result:
    ours = found.pop("ours")
    note = "; ".join(f"{way}: {loss:.5g}" for way, loss in found.items())
    best = min(found.values())
    return Result(f"{case.name}, best other", ours / best, 1.0, ours, best, unit, 0.0, note)


def _with_open(loss: Loss, opened: int, rounds: int) -> Result:
    log = Stationary(loss, opened, rounds)
    first = rounds // 10
    all_told, half_told = log.ours()[first:], log.ours(every=2)[first // 2 :]
    ours = float(all_told.mean())
    others = {f"AdaGrad {s:g}": float(log.ada_grad(s)[first:].mean()) for s in SCALES}
    others["half of the labels"] = ours * float(half_told.mean() / all_told[::2].mean())
    note = "; ".join(f"{way}: {mean:.5g}" for way, mean in others.items())
    best = min(others.values())
    name = f"{opened:,} open tickets, {loss}, best other"
    return Result(name, ours / best, 1.005, ours, best, "loss", 0.0, note)
