"""Waits by label on a page: curves side by side, and a table."""

from __future__ import annotations

import numpy as np

from belated.arrays import Ints
from belated.audits.labels import Outcome
from belated.audits.words import LABEL_HEADS, by_label
from belated.logs.log import Unit
from belated.report import Lines, Section, Series, Table
from belated.report.durations import wait_axis

POINTS = 300
"""Most points of a curve on the page."""


def section(outcomes: tuple[Outcome, ...], unit: Unit | None, warning: str) -> Section:
    """Show how long the answers with each label take, side by side."""
    scale, label = wait_axis(max(each.waits.quantile(0.9) for each in outcomes), unit)
    series = []
    for outcome in outcomes:
        edges, counts, _ = outcome.waits.filled()
        places = chosen(len(edges))
        shares = 100.0 * np.cumsum(counts)[places] / outcome.waits.count
        series.append(Series.of(outcome.label or "''", edges[places] * scale, shares))
    figure = Lines(
        "Share of the answers with each label that have come",
        label,
        "come within that wait, %",
        tuple(series),
        log_x=True,
    )
    chances = ", ".join(f"{each.label} {each.later:.2f}" for each in outcomes)
    says = (
        f"{warning or 'Nothing says that lateness depends on the label.'} The chance that an "
        f"answer with this label takes longer than one with another is: {chances}; where lateness "
        "does not depend on the label it is 0.5. A warning needs a difference of 0.05, and ranks "
        "that differ by more than chance does once in a thousand logs."
    )
    table = Table(LABEL_HEADS, tuple(by_label(outcomes, unit)))
    return Section("Does lateness depend on the label?", figure, says, table)


def chosen(count: int) -> Ints:
    """Return which points of a long curve are drawn, both ends included."""
    return np.unique(np.linspace(0, count - 1, min(count, POINTS)).astype(np.int64))
