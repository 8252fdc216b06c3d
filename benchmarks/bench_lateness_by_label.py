"""Labels that decide themselves when they are known: ours against Vowpal Wabbit and a constant.

The logs are those of :mod:`benchmarks.label_worlds`, played as in ``bench_late_labels``: ours is
``LinearModel`` as it comes, VW is run in five ways, and the best is chosen afterwards. The constant
is the mean of the labels known so far, for answers with half a label of each kind. Where neither
delays nor features have anything to do with the label, nothing is better than the constant. Where
tickets are not asked evenly, the same model that is told every label at once stands beside ours;
``bias`` is by how many standard deviations of labels predictions are too large on average, and the
most that is of 500 rounds, from the first quarter of the log on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

import belated as bl
from belated.models.linear import LinearModel
from benchmarks import late_peers as peers
from benchmarks.bench_late_labels import NO_TARGET, our_error, vw_errors
from benchmarks.label_worlds import backlogs, cases, equally_late
from benchmarks.late_logs import Case
from benchmarks.timing import Result

NEARLY = 1.02  # of the constant, where that is best


def main() -> Iterator[Result]:
    """Yield our error over the best of VW, and over that of the constant."""
    has_vw = peers.has("vowpalwabbit")
    if not has_vw:
        print("vowpalwabbit is not installed, so it is left out", file=sys.stderr)
    for worlds, target in ((cases(), 1.0), (equally_late(), NEARLY)):
        for case in worlds:
            ours = our_error(case)
            if has_vw:
                yield _over_vw(case, ours)
            yield _result(f"{case.name}, constant", case, ours, constant_error(case), target, "")

    for case in backlogs():
        ours = our_error(case)
        if has_vw:
            yield _over_vw(case, ours)
        zero = np.zeros(len(case.target), dtype=np.int64)
        at_once = _said(case, bl.Timeline.from_delays(zero))
        told = float(np.mean((at_once - case.target) ** 2))
        yield _result(f"{case.name}, told at once", case, ours, told, NO_TARGET, _bias(case))


def _over_vw(case: Case, ours: float) -> Result:
    theirs = vw_errors(case)
    note = "; ".join(f"{way} ({unit}): {e:.5g}" for (way, unit), e in theirs.items())
    return _result(f"{case.name}, best VW", case, ours, min(theirs.values()), 1.0, note)


def _said(case: Case, timeline: bl.Timeline) -> NDArray[np.float64]:
    model = LinearModel(case.loss)
    rows = model.hasher.table(case.log.features)
    return model.replay(rows, case.target, timeline)


def _bias(case: Case) -> str:
    """Say how far predictions are from labels on average, after a quarter of the log."""
    above = (_said(case, case.log.timeline) - case.target) / np.std(case.target)
    later = above[len(above) // 4 :]
    parts = later.reshape(-1, 500).mean(axis=1)
    return f"bias {later.mean():+.3f}; of 500 rounds at most {parts[np.argmax(np.abs(parts))]:+.3f}"


def constant_error(case: Case) -> float:
    """Return the error of the mean of the labels so far."""
    y, answered = case.target, case.log.answered
    prior = 0.5 if case.loss == "logistic" else 0.0
    said = np.empty(len(y))
    total, count = 0.0, 0
    for event in case.events.tolist():
        if event >= 0:
            said[event] = (total + prior) / max(count + 2.0 * prior, 1.0)
        else:
            total += y[~event]
            count += 1
    p, y = said[answered], y[answered]
    if case.loss == "logistic":
        return float(np.mean(-np.log(np.where(y > 0.5, p, 1.0 - p))))
    return float(np.mean((p - y) ** 2))


def _result(name: str, case: Case, ours: float, floor: float, target: float, note: str) -> Result:
    return Result(
        name=name,
        ratio=ours / floor,
        target=target,
        ours=ours,
        floor=floor,
        unit="log loss" if case.loss == "logistic" else "sq. error",
        spread=0.0,
        note=note,
    )
