"""Every real log: ours against each of the methods that people have.

Logs are those of :mod:`benchmarks.timed_logs`, of which half are held out, and
:mod:`benchmarks.late_logs`; with silence, those of :mod:`benchmarks.silence_logs` too. Refits are
thirty, at equal lengths of time. Of windows, and of five settings of VW, the best is chosen
afterwards. Ratios are of mean losses, below 1 in our favour; spreads are standard errors from
blocks of time.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from belated.models.linear import LinearModel
from belated.replays.baselines import Arrivals, Feed, best, linear, matrix, table, trees
from benchmarks import late_peers as peers
from benchmarks import silence_logs, timed_logs
from benchmarks.compare_versions import compared
from benchmarks.late_logs import Case, Floats
from benchmarks.silence_logs import Silent
from benchmarks.timing import Result

FITS = 30
Ways = dict[str, Floats]
"""Predictions by method, ours first."""


def main() -> Iterator[Result]:
    """Yield a figure for each log and method."""
    for held_out in (False, True):
        for case in timed_logs.every_case(held_out=held_out):
            yield from labelled(case)
        for name, given in timed_logs.every_silent(held_out=held_out):
            yield from silent(name, given)


def labelled(case: Case) -> Iterator[Result]:
    """Yield figures of a log in which every answer is a label."""
    log, model = case.log, LinearModel(case.loss)
    rows = model.hasher.table(log.features)
    unit = np.float64 if log.predicted_at.dtype.kind == "f" else np.int64
    start = log.predicted_at[0].astype(unit)
    asked = (log.predicted_at.astype(unit) - start).astype(np.float64)
    came = (log.observed_at.astype(unit) - start).astype(np.float64)
    given = Arrivals(asked, case.target, np.where(log.answered, came, np.nan), loss=case.loss)
    known = log.answered

    def losses(values: Floats) -> Floats:
        return model.losses(values[known], case.target[known])

    def windowed(window: float) -> Floats:
        feed = given.windowed(window)
        values = LinearModel(case.loss, wait=None).replay(rows, feed.labels, feed.events)
        return given.started(values, feed)

    def cost(values: Floats) -> float:
        return float(losses(values).mean())

    inputs, is_text = table(list(log.features.values()))
    every = float(asked[-1]) / FITS
    ways = {
        "ours": model.replay(rows, case.target, log.timeline),
        "running mean": given.running_mean(),
        "fixed window": best(given.windows(), windowed, cost).predictions,
        "refitted ridge": given.refitted(matrix(rows), linear(case.loss), every),
        "refitted trees": given.refitted(inputs, trees(case.loss, is_text), every),
    }
    if peers.has("vowpalwabbit"):
        ways["VW"] = min(_vw(case), key=cost)
    yield from _figures(case.name, {way: losses(values) for way, values in ways.items()})


def _vw(case: Case) -> Iterator[Floats]:
    """Yield what VW predicts in every setting and unit, labels fed as they come."""
    texts, logistic = peers.vw_texts(case.log), case.loss == "logistic"
    for arguments in peers.VW_SETTINGS.values():
        for _, size in case.units:
            vw = peers.workspace(arguments, logistic=logistic)
            labels = peers.vw_labels(case.target / size, logistic=logistic)
            said = size * peers.vw_replay(vw, texts, labels, case.events)
            vw.finish()
            yield 1.0 / (1.0 + np.exp(-said)) if logistic else said


def silent(name: str, given: Silent) -> Iterator[Result]:
    """Yield figures of a log in which silence is a label."""
    model = LinearModel("logistic")

    def losses(values: Floats) -> Floats:
        return model.losses(values[given.counts], given.labels[given.counts])

    def least(ways: Ways) -> Floats:
        return min(ways.values(), key=lambda values: float(losses(values).mean()))

    ways = {
        "ours": silence_logs.ours(given),
        "running mean": given.arrivals.running_mean(),
        "fixed window": least(silence_logs.windows(given)),
        "refitted ridge": least(silence_logs.regressions(given)),
    }
    if peers.has("vowpalwabbit"):
        windows = (*given.windows, given.deadline)
        ways["VW"] = least({f"{w:g}": _vw_windowed(given, w) for w in windows})
    yield from _figures(name, {way: losses(values) for way, values in ways.items()})


def _vw_windowed(given: Silent, window: float) -> Floats:
    """Return what VW predicts by its defaults, both labels held back for a window."""
    feed: Feed = given.arrivals.windowed(window)
    rows = given.rows
    texts = []
    for t in range(len(rows.indptr) - 1):
        span = slice(rows.indptr[t], rows.indptr[t + 1])
        pairs = zip(rows.indices[span].tolist(), rows.values[span].tolist(), strict=True)
        texts.append("| " + " ".join(f"{i}:{x:.7g}" for i, x in pairs))
    vw = peers.workspace(logistic=True)
    labels = peers.vw_labels(feed.labels, logistic=True)
    said = peers.vw_replay(vw, texts, labels, feed.events)
    vw.finish()
    return given.arrivals.started(1.0 / (1.0 + np.exp(-said)), feed)


def _figures(name: str, losses: dict[str, Floats]) -> Iterator[Result]:
    held_out = " (held out)" if name in timed_logs.HELD_OUT else ""
    for way, theirs in losses.items():
        if way == "ours":
            continue
        ratio, error = compared(theirs, losses["ours"])
        yield Result(
            name=f"{name}{held_out}, over {way}",
            ratio=ratio,
            target=np.inf,
            ours=float(losses["ours"].mean()),
            floor=float(theirs.mean()),
            unit="loss",
            spread=error / ratio,
        )
