"""Silence in real logs: ours against other ways to learn from what is never said.

Nobody knows the true probabilities here, so figures are log losses of predictions as they were
issued, against the last word on every row, over the best of the other ways, chosen afterwards and
per log. *In all* counts from the first row on; *later* counts what was asked after the first
deadline has passed, when every way has had the chance to see whole rows. The calibration is the
mean prediction over the share of ones, later, as the larger of it and its inverse. The purchases
need ``lifetimes``, whose data files are read where it is installed; more logs are those of
:mod:`benchmarks.timed_logs`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks import timed_logs
from benchmarks.silence_logs import (
    Floats,
    Silent,
    at_once,
    cancellations,
    ours,
    purchases,
    purchases_file,
    rivals,
)
from benchmarks.timing import Result

_TINY = 1e-12


def main() -> Iterator[Result]:
    """Yield three figures per log."""
    path = purchases_file()
    if path is None:
        print("purchases: not measured, as lifetimes is not installed")
    else:
        for days in (90.0, 180.0):
            yield from _figures(f"purchases within {days:g} days", purchases(path, days))
    yield from _figures("flights cancelled", cancellations())
    for name, log in timed_logs.silent():
        yield from _figures(name, log)


def _figures(name: str, given: Silent) -> Iterator[Result]:
    ways = {"ours": ours(given), "told at once": at_once(given), **dict(rivals(given))}
    later = given.counts & (given.asked >= given.asked[0] + given.deadline)
    for when, rows in (("in all", given.counts), ("later", later)):
        losses = {way: _log_loss(values, given, rows) for way, values in ways.items()}
        others = {way: loss for way, loss in losses.items() if way not in ("ours", "told at once")}
        best = min(others, key=lambda way: others[way])
        yield Result(
            name=f"{name}, {when}, over the best",
            ratio=losses["ours"] / others[best],
            target=1.02,
            ours=losses["ours"],
            floor=others[best],
            unit="log loss",
            spread=0.0,
            note=f"{int(rows.sum()):,} rows; best: {best}; "
            + "; ".join(
                f"{way}: {loss:.4f} ({_calibration(ways[way], given, rows):.3f})"
                for way, loss in losses.items()
            ),
        )
    share = _calibration(ways["ours"], given, later)
    yield Result(
        name=f"{name}, later, calibration",
        ratio=max(share, 1.0 / share),
        target=1.1,
        ours=share,
        floor=1.0,
        unit="of truth",
        spread=0.0,
        note=f"told at once: {_calibration(ways['told at once'], given, later):.3f}",
    )


def _log_loss(values: Floats, given: Silent, rows: np.ndarray) -> float:
    q, y = np.clip(values[rows], _TINY, 1.0 - _TINY), given.labels[rows]
    return float(-(y * np.log(q) + (1.0 - y) * np.log1p(-q)).mean())


def _calibration(values: Floats, given: Silent, rows: np.ndarray) -> float:
    return float(values[rows].mean() / given.labels[rows].mean())
