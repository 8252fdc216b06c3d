"""The picture of the demo: intervals, backlog, regret, and the certificate beside the truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from belated.demo import race
from belated.demo.race import Run
from belated.demo.shop import LIPSCHITZ, PROMISES, Orders
from belated.errors import BelatedError, MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The palette of Okabe and Ito, which colour-blind readers can tell apart.
BLUE, ORANGE, GREEN, VERMILION, PURPLE = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7"
INK, GREY = "#1a1a1a", "#767676"
BLUES = ("#cfe3f1", "#8fbfe0", "#4a97c9")
"""Tints for the parts of one certificate, which is the blue learner's."""

COLOURS = {
    race.SKIPPING: BLUE,
    race.PATIENT: PURPLE,
    race.WAITING: ORANGE,
    race.BLIND: VERMILION,
    race.AT_ONCE: GREEN,
}
PARTS = ("learning", "delay", "unanswered")
"""The parts of a certificate, from the bottom of the stack."""
FIRST = 40
"""Orders in the first panel."""


def draw(picture: Path, world: Orders, runs: dict[str, Run]) -> None:
    """Draw the four panels and write them to a file, whose ending says the format."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine
    except ImportError:
        raise MissingExtra("matplotlib", extra="report", where="the picture") from None
    padding = ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.12, wspace=0.03, hspace=0.03)
    figure = Figure(figsize=(13.0, 8.8), layout=padding)
    figure.suptitle(
        f"{world.rounds:,} orders whose truth comes days later, out of order, or never",
        x=0.015,
        ha="left",
        fontsize=14,
    )
    (intervals, backlog), (regret, certificate) = figure.subplots(2, 2)
    _draw_intervals(intervals, world)
    _draw_backlog(backlog, world, runs)
    _draw_regret(regret, world, runs)
    _draw_certificate(certificate, world, runs[race.SKIPPING])
    try:
        figure.savefig(picture, dpi=150)
    except (OSError, ValueError) as error:
        raise BelatedError(
            f"cannot write {picture}: {error}; give another path with --out"
        ) from error


def _style(ax: Axes, title: str, ylabel: str) -> None:
    ax.set_title(title, loc="left", fontsize=11, fontweight="bold")
    ax.set_ylabel(ylabel)
    ax.spines[["top", "right"]].set_visible(False)


def _draw_intervals(ax: Axes, world: Orders) -> None:
    """Draw the first orders as in the paper's Figure 1, cut where the long tails begin."""
    timeline = world.timeline
    timeline.plot(0, FIRST, ax)
    starts = np.flatnonzero(timeline.events >= 0)
    edge = min(ax.get_xlim()[1], float(starts[min(world.rounds - 1, 5 * FIRST)]))
    ax.set_xlim(-2, edge)
    lost = np.flatnonzero(~timeline.observed[:FIRST])
    if len(lost):
        note = ax.text(edge - 4, lost[-1] - 0.15, "no answer ever came", color=GREY, fontsize=9)
        note.set(ha="right", va="bottom")
    _style(ax, f"a   The first {FIRST} orders, open from promise to truth", "ticket")


def _draw_backlog(ax: Axes, world: Orders, runs: dict[str, Run]) -> None:
    """Draw how many tickets are open: what is lost piles up, unless it is skipped."""
    labels = []
    for name in (race.PATIENT, race.SKIPPING):
        samples = runs[name].samples
        rounds = [sample.round for sample in samples]
        opened = [float(sample.open) for sample in samples]
        ax.plot(rounds, opened, color=COLOURS[name], lw=1.6)
        labels.append((opened[-1], name, COLOURS[name]))
    ax.set_ylim(bottom=0)
    _end_labels(ax, world.rounds, labels)
    _style(ax, "b   Backlog: lost answers pile up unless they are skipped", "open tickets")
    ax.set_xlabel("round")


def _draw_regret(ax: Axes, world: Orders, runs: dict[str, Run]) -> None:
    """Draw all regrets on a scale that fits all but the one that leaves it."""
    rounds = np.arange(1, world.rounds + 1)
    usual = [run for run in runs.values() if run.name != race.BLIND]
    top = 1.25 * max(float(run.regret.max()) for run in usual)
    bottom = min(0.0, *(1.1 * float(run.regret.min()) for run in usual))
    labels = []
    for run in runs.values():
        ax.plot(rounds, run.regret, color=COLOURS[run.name], lw=1.8)
        if run.final_regret <= top:
            text = f"{run.name}: {run.final_regret:,.0f}"
            labels.append((run.final_regret, text, COLOURS[run.name]))
    ax.set_ylim(bottom, top)
    _end_labels(ax, world.rounds, labels, room=0.62)
    if runs[race.BLIND].final_regret > top:
        _label_leaving(ax, runs[race.BLIND], top)
    _style(ax, "c   Regret against the best fixed promise", "cumulative regret")
    ax.set_xlabel("round")


def _label_leaving(ax: Axes, run: Run, top: float) -> None:
    """Name a curve beside the place where it leaves the panel."""
    leaves = int(np.argmax(run.regret > top))
    ax.annotate(
        f"{run.name}: leaves the panel and ends at {run.final_regret:,.0f}",
        (leaves, top),
        xytext=(8, -6),
        textcoords="offset points",
        va="top",
        color=COLOURS[run.name],
        fontsize=9,
    )


def _draw_certificate(ax: Axes, world: Orders, run: Run) -> None:
    """Stack the parts of the certificate per round, above the true regret per round."""
    ceiling = LIPSCHITZ * PROMISES.diameter
    rounds = np.arange(1, world.rounds + 1)
    ax.set_ylim(0, 1.12 * ceiling)
    ax.plot([0, world.rounds], [ceiling, ceiling], color=GREY, lw=1.0, ls="--")
    labels = [
        (ceiling, "the most that\ncan be lost", GREY),
        (0.0, f"true regret ({run.final_regret:,.0f} in all)", INK),
    ]
    # Answers still come after the last order, so the end is not the last sample.
    history = [
        *((s.round, s.certificate) for s in run.samples),
        (world.rounds, run.report.certificate),
    ]
    known = [(number, found) for number, found in history if found is not None]
    if known:
        seen = np.array([number for number, _ in known])
        parts = np.array([[getattr(c, name) for name in PARTS] for _, c in known]).T / seen
        ax.stackplot(seen, parts, colors=BLUES, lw=0)
        tops = np.cumsum(parts[:, -1])
        for name, top, part in zip(PARTS, tops, parts[:, -1], strict=True):
            total = getattr(known[-1][1], name)
            labels.append((float(top - part / 2), f"{name} ({total:,.0f} in all)", BLUE))
    ax.plot(rounds, run.regret / rounds, color=INK, lw=1.8)
    _end_labels(ax, world.rounds, labels)
    _style(ax, "d   What the skipping learner certifies, and the truth", "regret per round")
    ax.set_xlabel("round")


def _end_labels(
    ax: Axes, end: int, labels: list[tuple[float, str, str]], room: float = 0.48
) -> None:
    """Write labels at the right ends of curves, pushed apart where they would touch.

    They get their ``room`` inside the axes, as a share of the rounds; outside they would take it
    from every panel of the column.
    """
    ax.set_xlim(0, (1.0 + room) * end)
    ax.spines["bottom"].set_bounds(0, end)
    ax.set_xticks([tick for tick in ax.get_xticks() if tick <= end])
    ax.xaxis.set_major_formatter("{x:,.0f}")
    low, high = ax.get_ylim()
    previous = -np.inf
    for y, text, colour in sorted(labels):
        previous = max(y, previous + 0.05 * (high - low))
        ax.text(1.015 * end, previous, text, va="center", color=colour, fontsize=9.5)
