"""The first days of conversions that come late: ours against what people do.

Months are those of :mod:`benchmarks.cold_starts`, and two logs are the purchases of CDNOW. The
losses are log losses of predictions as they were issued, of the first tenth of all rows and of all
rows. The floors are logistic regressions that are fitted every night on rows that are old enough,
and predict the running share before; and our model with fixed windows. Of several windows the
best is taken afterwards, per month and part. Figures are means over draws, spreads are standard
errors. *Files* are the same with conversions in one file a day, at night, for ours; targets are of
ours as it comes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks import silence_logs
from benchmarks.cold_starts import MONTHS, nightly
from benchmarks.seeds import seeds
from benchmarks.silence_logs import Floats, Silent
from benchmarks.timing import Result

DRAWS = 3
TARGETS = {"first tenth": 1.05, "in all": 1.0}
_TINY = 1e-12

Losses = dict[str, Floats]
"""By way: the loss of the first tenth, and of all rows."""


def main() -> Iterator[Result]:
    """Yield our losses over those of regressions and of windows."""
    for month in MONTHS:
        drawn = [month.drawn(seed) for seed in seeds("cold start", DRAWS)]
        yield from figures(f"cold start, {month.name}", [losses(given) for given in drawn])
    path = silence_logs.purchases_file()
    if path is None:
        print("purchases: not measured, as lifetimes is not installed")
        return
    for days in (90.0, 180.0):
        given = silence_logs.purchases(path, days)
        yield from figures(f"cold start, purchases in {days:g} days", [losses(given)])


def losses(given: Silent) -> Losses:
    """Return what every way loses."""
    ways = {
        "ours": silence_logs.ours(given),
        "ours, files": silence_logs.ours(nightly(given)),
        "told at once": silence_logs.at_once(given),
        "running share": given.arrivals.running_mean(),
        **silence_logs.windows(given),
        **silence_logs.regressions(given),
    }
    return {way: _parts(values, given) for way, values in ways.items()}


def _parts(values: Floats, given: Silent) -> Floats:
    q, y = np.clip(values, _TINY, 1.0 - _TINY), given.labels
    lost = -(y * np.log(q) + (1.0 - y) * np.log1p(-q))[given.counts]
    return np.array([lost[: len(lost) // 10].mean(), lost.mean()])


def figures(name: str, drawn: list[Losses]) -> Iterator[Result]:
    """Yield ours, live and from files, over the best regression and the best window."""
    means = {way: np.mean([each[way] for each in drawn], axis=0) for way in drawn[0]}
    for place, (part, target) in enumerate(TARGETS.items()):
        note = "; ".join(f"{way}: {mean[place]:.5f}" for way, mean in means.items())
        for kind in ("refits", "window"):
            ways = [way for way in means if way.startswith(kind)]
            best = min(ways, key=lambda way: float(means[way][place]))
            for who in ("ours", "ours, files"):
                ratios = [float(each[who][place] / each[best][place]) for each in drawn]
                error = float(np.std(ratios, ddof=1) / np.sqrt(len(ratios))) if ratios[1:] else 0.0
                yield Result(
                    name=f"{name}, {part}, {who} over {kind}",
                    ratio=float(np.mean(ratios)),
                    target=target if who == "ours" else np.inf,
                    ours=float(means[who][place]),
                    floor=float(means[best][place]),
                    unit="log loss",
                    spread=error,
                    note=note,
                )
                note = f"best: {best}"
