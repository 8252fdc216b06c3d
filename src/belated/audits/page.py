"""An audit as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from belated._version import __version__
from belated.arrays import Ints
from belated.audits.counting import EXACT, SHARES
from belated.audits.labels import Outcome
from belated.audits.result import Audit
from belated.audits.words import CONSTANTS, HEADS, LABEL_HEADS, by_label, title
from belated.logs.log import Unit
from belated.report import Bars, Lines, Page, Section, Series, Table
from belated.report.durations import axis, wait_axis
from belated.report.plain import first_up, plain

WIDE = 100.0
"""Times the median that the longest wait is, from which on an axis of ages is logarithmic."""
POINTS = 300
"""Most points of a curve on the page."""


def page_of(audit: Audit, command: str) -> Page:
    """Return what the page says."""
    labels = audit.outcomes and (label_section(audit.outcomes, audit.unit, audit.warning),)
    sections = _waits(audit), *labels, _backlog(audit), _patience(audit), _guarantees(audit)
    return Page(
        f"{Path(audit.name).name}: what lateness costs",
        f"{f'{audit.experience} {audit.warning}'.rstrip()}\n\n{audit.theory}\n\n{title(audit)}.",
        sections,
        command,
        facts_of(audit.notes, audit.bad),
        _numbers(audit),
    )


def _numbers(audit: Audit) -> tuple[tuple[str, str], ...]:
    """Return what to remember: how many answers come, how late, and how many are open."""
    if not audit.answered:
        return ()
    share, silent = (
        f"{100.0 * part / audit.rounds:.3g} %" for part in (audit.answered, audit.silent)
    )
    found = [
        (share, "of all predictions were answered"),
        (audit.lasting(audit.wait.median), "until half of the answers were there"),
    ]
    if audit.deadline is None:
        open_now = plain(float(f"{audit.open_at_a_time:.3g}"))
        return (*found, (open_now, "predictions are open at a time"))
    return (*found, (silent, f"count as silence after {audit.lasting(audit.deadline)}"))


def _waits(audit: Audit) -> Section:
    """Show what share of all predictions is answered at what age."""
    question = "How many are answered, and how late?"
    edges, counts, _ = audit.answers.filled()
    if not len(edges):
        return Section(question, None, audit.experience, _quantiles(audit))
    points, (scale, label) = chosen(len(edges)), wait_axis(audit.wait.p90, audit.unit)
    shares = 100.0 * (np.cumsum(counts) / audit.rounds)[points]
    ages = edges[points] * scale
    if audit.deadline is not None:
        ages, shares = np.append(ages, audit.deadline * scale), np.append(shares, shares[-1])
    lines = [Series.of("answered", ages, shares)]
    if audit.deadline is not None:
        ends = (0.0, float(shares[-1]))
        lines.append(Series("deadline", (audit.deadline * scale,) * 2, ends, dashed=True))
    name, y_label = "Share of all predictions that are answered, by age", "answered, %"
    median, p99, longest = map(
        audit.lasting, (audit.wait.median, audit.wait.p99, audit.wait.longest)
    )
    says = (
        f"Half of the answers came within {median}, 99 % within {p99}; the longest took {longest}. "
        f"{audit.answered / audit.rounds:.1%} of all predictions were answered. "
    )
    if audit.deadline is None:
        says += f"The other {audit.never / audit.rounds:.1%} were not."
    else:
        says += f"{first_up(audit.settled_by_silence)}: silence is no part of the line."
    is_wide = audit.wait.longest > WIDE * audit.wait.median
    figure = Lines(name, label.replace("wait", "age"), y_label, tuple(lines), log_x=is_wide)
    return Section(question, figure, says, _quantiles(audit))


def _quantiles(audit: Audit) -> Table:
    rows = []
    for name, found, text in (
        ("wait", audit.wait, audit.lasting),
        ("delay (predictions meanwhile)", audit.delay, lambda value: plain(value, 4)),
        ("dual delay (labels meanwhile)", audit.dual_delay, lambda value: plain(value, 4)),
    ):
        values = (found.mean, found.median, found.p90, found.p99, found.longest)
        rows.append((name, *map(text, values)))
    heads = ("", "mean", *(f"{share:.0%}" for share in SHARES), "longest")
    of = "Of answers that came"
    if audit.deadline is not None:
        of += "; delays are those until the answer or the deadline"
    return Table(heads, tuple(rows), of)


def facts_of(notes: Iterable[str], bad: object) -> dict[str, str]:
    """Return what is said in small print: the version, notes, and rows that were left out."""
    facts = {"belated": __version__, "notes": "; ".join(notes), "left out": str(bad) if bad else ""}
    return {name: text for name, text in facts.items() if text}


def label_section(outcomes: tuple[Outcome, ...], unit: Unit | None, warning: str) -> Section:
    """Show how long the answers with each label take, side by side."""
    scale, label = wait_axis(max(each.waits.quantile(0.9) for each in outcomes), unit)
    series = []
    for outcome in outcomes:
        edges, counts, _ = outcome.waits.filled()
        places = chosen(len(edges))
        shares = 100.0 * np.cumsum(counts)[places] / outcome.waits.count
        series.append(Series.of(outcome.label or "''", edges[places] * scale, shares))
    name = "Share of the answers with each label that have come"
    figure = Lines(name, label, "come within that wait, %", tuple(series), log_x=True)
    chances = ", ".join(f"{each.label} {each.later:.2f}" for each in outcomes)
    says = (
        f"{warning or 'Nothing says that lateness depends on the label.'} The chance that an "
        f"answer with this label takes longer than one with another is: {chances}; where lateness "
        "does not depend on the label it is 0.5. A warning needs a difference of 0.05, and ranks "
        "that differ by more than chance does once in a thousand logs."
    )
    table = Table(LABEL_HEADS, tuple(by_label(outcomes, unit)))
    return Section("Does lateness depend on the label?", figure, says, table)


def _backlog(audit: Audit) -> Section:
    """Show how many tickets are open over time."""
    tally = audit.tally
    times, mean, largest = tally.backlogs.curves()
    scale, label = axis(audit.span, audit.unit, audit.at(0.0))
    series = [
        Series.of(name, times * scale, y) for name, y in (("largest", largest), ("mean", mean))
    ]
    says = (
        f"When a prediction is made, {plain(tally.total_delay / audit.rounds, 3)} others are open "
        f"on average, and {tally.max_backlog:,} at most, at {audit.at(tally.busiest)}. Summed over "
        f"all predictions that is the total delay, {tally.total_delay:,}."
    )
    is_never = audit.never and audit.deadline is None
    if is_never:
        says += " Tickets that are never answered stay open to the end of the log."
    counts = {
        "rounds": audit.rounds,
        "total delay": tally.total_delay,
        "largest delay of an answer": tally.max_answered_delay,
        "largest age without an answer": tally.max_unanswered_age if is_never else None,
        "largest backlog": tally.max_backlog,
        "largest dual delay": tally.max_dual_delay,
    }
    rows = tuple((name, count) for name, count in counts.items() if count is not None)
    figure = Lines("Open tickets over time", label, "open tickets", tuple(series))
    table = Table(("of all rounds", "count"), rows)
    return Section("How many answers are out?", figure, says, table)


def _patience(audit: Audit) -> Section:
    """Show what every limit on waiting costs, and the best one."""
    question, patience, rounds = (
        "How long should one wait?",
        audit.patience,
        audit.patience_in_rounds,
    )
    worst = "That is about what is guaranteed in the worst case"
    if audit.has_labels:
        worst += "; what a wait does to the error, belated replay says, and often it is nothing"
    says = (
        f"{first_up(audit.advice)}. {worst}. Giving up on a prediction costs one; waiting for it "
        f"costs its delay under a root (Theorem 6.1). Waiting for everything costs "
        f"{plain(patience.forever, 4)}, the best limit by the clock "
        f"{plain(min(patience.cost, patience.forever), 4)}, and the best one by rounds "
        f"{plain(min(rounds.cost, rounds.forever), 4)}, for giving up on delays above "
        f"{rounds.limit:,.0f}. Skip comes within a constant of that without being told any limit."
    )
    if not len(patience.limits):
        return Section(question, None, says)
    points, (scale, label) = chosen(len(patience.limits)), wait_axis(audit.wait.p90, audit.unit)
    limits = patience.limits[points] * scale
    ends = (float(limits[0]), float(limits[-1]))
    series = [
        Series.of("giving up after this wait", limits, patience.costs[points]),
        Series("never giving up", ends, (patience.forever,) * 2, dashed=True),
    ]
    if patience.pays:
        series.append(Series("recommended", (patience.limit * scale,), (patience.cost,)))
    name = "The skip trade-off: rounds given up plus the root of the delays that are left"
    figure = Lines(name, label, "cost", tuple(series), log_x=True, log_y=True)
    return Section(question, figure, says)


def _guarantees(audit: Audit) -> Section:
    """Show what each result promises, with lateness and without."""
    found = [*audit.promises, *audit.more_promises]
    rows = []
    for promise in found:
        bound = promise.bound
        remark = "says nothing yet" * bound.vacuous
        rows.append(
            (promise.name, promise.answers, bound.total, bound.learning, bound.factor, remark)
        )
    names = tuple(row[0] for row in rows)
    groups = (
        Series("with lateness", (), tuple(row[2] for row in rows)),
        Series("without", (), tuple(row[3] for row in rows)),
    )
    says = (
        f"{audit.theory} All numbers are {CONSTANTS}; where values come back, the dimension is 10. "
        f"A result says nothing yet where it exceeds {audit.rounds:,}, which no sequence of plays "
        "does."
    )
    if not audit.more_promises:
        says += (
            f" Results on skipping and on values need the whole timeline, and are left out for "
            f"logs of more than {EXACT:,} rounds."
        )
    figure = Bars("Guaranteed regret", names, groups, "regret at most", log_y=True)
    heads = ("result", "answers", *HEADS[1:], "")
    return Section("What is guaranteed?", figure, says, Table(heads, tuple(rows)))


def chosen(count: int) -> Ints:
    """Return which points of a long curve are drawn, both ends included."""
    return np.unique(np.linspace(0, count - 1, min(count, POINTS)).astype(np.int64))
