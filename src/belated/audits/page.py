"""An audit as one HTML page that needs nothing else."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from belated._version import __version__
from belated.audits import label_page
from belated.audits.counting import EXACT
from belated.audits.intervals import IntervalLines
from belated.audits.label_page import chosen
from belated.audits.quantiles import SHARES
from belated.audits.result import Audit, Felt
from belated.audits.words import CONSTANTS, title
from belated.report import Bars, Lines, Page, Section, Series, Table, write_page
from belated.report.durations import axis, wait_axis
from belated.report.plain import counted, first_up, plain


@dataclass(frozen=True)
class _Axis:
    """Time on the page: a unit in which the log has a small number, and what the axis says."""

    scale: float
    label: str
    wait_scale: float
    wait_label: str

    @classmethod
    def of(cls, audit: Audit, span: float) -> _Axis:
        """Return the axis for a stretch of the log."""
        return cls(*axis(span, audit.unit, audit.at(0.0)), *wait_axis(audit.wait.p90, audit.unit))


def write(path: str | PathLike[str], audit: Audit) -> None:
    """Write the page."""
    axis = _Axis.of(audit, audit.span)
    whole, beginning = _whole(audit, axis), _beginning(audit)
    write_page(path, _page(audit, axis, whole, beginning))


# ---- contents ----------------------------------------------------------------------------------


def _page(audit: Audit, axis: _Axis, whole: IntervalLines, beginning: IntervalLines) -> Page:
    sections = [
        Section("What does the log look like?", whole, _says_whole(audit)),
        Section("How does it begin?", beginning, _says_beginning()),
        _waits(audit, axis),
        *_labels(audit),
        _backlog(audit, axis),
        _patience(audit, axis),
        _guarantees(audit),
    ]
    facts = {"belated": __version__, "log": title(audit)}
    if audit.notes:
        facts["notes"] = "; ".join(audit.notes)
    if audit.bad:
        facts["left out"] = str(audit.bad)
    others = f"{audit.never:,} never" if audit.deadline is None else audit.settled_by_silence
    return Page(
        f"{Path(audit.name).name}: what lateness costs",
        f"{f'{audit.experience} {audit.warning}'.rstrip()}\n\n{audit.theory}\n\n{title(audit)}. "
        f"{audit.answered:,} {'was' if audit.answered == 1 else 'were'} answered, "
        f"{others}.",
        tuple(sections),
        _command(audit),
        facts,
        _numbers(audit),
    )


def _numbers(audit: Audit) -> tuple[tuple[str, str], ...]:
    """Return what to remember: how long, how many, and what it cost, or how sure it is to come."""
    if not audit.tally.answered:
        return ()
    what = "answers" if audit.deadline is None else "labels"
    found = [
        (audit.lasting(audit.wait.median), f"until half of the {what} are known"),
        (plain(float(f"{audit.open_at_a_time:.3g}")), "answers are out at a time"),
    ]
    if audit.felt is not None:
        found.append(_felt(audit.felt))
    else:
        share = audit.answered / audit.rounds
        found.append((f"{100.0 * share:.3g} %", "of all predictions were ever answered"))
    return tuple(found)


def _felt(felt: Felt) -> tuple[str, str]:
    """Return what lateness cost in error, in a few words."""
    of = f"of the {felt.measure} is due to lateness, in a quick replay"
    if felt.is_tie and not felt.is_nothing:
        return "cannot tell", f"what share {of}"
    return "next to nothing" if felt.is_nothing else f"{100.0 * felt.share:.2g} %", of


def _command(audit: Audit) -> str:
    parts = ["belated", "audit", audit.name]
    if audit.columns is not None:
        predicted, observed = audit.columns
        parts += ["--predicted", predicted, "--observed", observed]
    if audit.target is not None:
        parts += ["--target", audit.target]
    return shlex.join([*parts, *audit.asked])


def _whole(audit: Audit, axis: _Axis) -> IntervalLines:
    every = audit.tally.stride
    what = "Every prediction" if every == 1 else f"One prediction in {every:,}"
    return _intervals(audit, axis, audit.tally.drawn, f"{what}, from asking to knowing")


def _beginning(audit: Audit) -> IntervalLines:
    rows = audit.tally.shown
    end = max(start + (0.0 if wait != wait else wait) for _, start, wait in rows)
    return _intervals(
        audit, _Axis.of(audit, end), rows, f"The first {counted(len(rows), 'prediction')}"
    )


def _intervals(
    audit: Audit, axis: _Axis, rows: Sequence[tuple[int, float, float]], name: str
) -> IntervalLines:
    ends = [None if wait != wait else (start + wait) * axis.scale for _, start, wait in rows]
    texts = [
        f"predicted {audit.at(start)}<br>"
        + ("never answered" if wait != wait else f"answered after {audit.lasting(wait)}")
        for _, start, wait in rows
    ]
    starts = [start * axis.scale for _, start, _ in rows]
    return IntervalLines(name, axis.label, [row[0] for row in rows], starts, ends, texts)


def _says_whole(audit: Audit) -> str:
    drawn = len(audit.tally.drawn)
    many = counted(audit.rounds, "prediction")
    text = f"Of {many}, {drawn:,} {'is' if drawn == 1 else 'are'} drawn."
    return f"{text} A line to the right edge is a ticket that was never answered."


def _says_beginning() -> str:
    return (
        "The delay of a ticket is the number of filled dots that stand between both ends of its "
        "line, in whatever row; its dual delay is the number of open ones, as in Figure 1 of the "
        "paper. Tickets that are not drawn count too."
    )


def _waits(audit: Audit, axis: _Axis) -> Section:
    """Show what share of answers has come after how long."""
    edges, counts, _ = audit.tally.waits.filled()
    table = _quantiles(audit)
    if not len(edges):
        return Section("How long do answers take?", None, "No answer ever came.", table)
    points = chosen(len(edges))
    shares = np.cumsum(counts) / audit.rounds
    line = Series.of("answered", edges[points] * axis.wait_scale, 100.0 * shares[points])
    figure = Lines(
        "Share of all predictions that are answered",
        axis.wait_label,
        "answered within that wait, %",
        (line,),
        log_x=True,
    )
    wait = audit.wait
    says = (
        f"Half of all answers come within {audit.lasting(wait.median)}, 99 % within "
        f"{audit.lasting(wait.p99)}; the longest took {audit.lasting(wait.longest)}. "
        f"{_others(audit)}"
    )
    return Section("How long do answers take?", figure, says, table)


def _labels(audit: Audit) -> Iterable[Section]:
    """Show waits by label, where there is something to compare."""
    if audit.outcomes:
        yield label_page.section(audit.outcomes, audit.unit, audit.warning)


def _others(audit: Audit) -> str:
    """Say what became of predictions without an answer."""
    if audit.deadline is None:
        return f"{audit.never / audit.rounds:.1%} of all predictions were never answered."
    return f"Silence counts as an answer: {audit.settled_by_silence}."


def _quantiles(audit: Audit) -> Table:
    heads = ("", "mean", *(f"{share:.0%}" for share in SHARES), "longest")
    wait = audit.wait
    times = (wait.mean, wait.median, wait.p90, wait.p99, wait.longest)
    rows = [("wait", *(audit.lasting(value) for value in times))]
    for name, found in (
        ("delay (predictions meanwhile)", audit.delay),
        ("dual delay (answers meanwhile)", audit.dual_delay),
    ):
        values = (found.mean, found.median, found.p90, found.p99, found.longest)
        rows.append((name, *(plain(value, 4) for value in values)))
    return Table(heads, tuple(rows), "Of predictions that were answered")


def _backlog(audit: Audit, axis: _Axis) -> Section:
    """Show how many tickets are open over time."""
    tally = audit.tally
    times, mean, largest = tally.backlogs.curves()
    places = times * axis.scale
    figure = Lines(
        "Open tickets over time",
        axis.label,
        "open tickets",
        (Series.of("largest", places, largest), Series.of("mean", places, mean)),
    )
    says = (
        f"When a prediction is made, {plain(tally.total_delay / audit.rounds, 3)} others are open "
        f"on average, and {tally.max_backlog:,} at most, at {audit.at(tally.busiest)}. Summed over "
        f"all predictions that is the total delay, {tally.total_delay:,}, which is also the sum of "
        "all delays, of all dual delays and of all dual backlogs."
    )
    if audit.never:
        says += " Tickets that are never answered stay open to the end of the log."
    counts = {
        "rounds": audit.rounds,
        "total delay": tally.total_delay,
        "largest delay of an answer": tally.max_answered_delay,
        "largest age without an answer": tally.max_unanswered_age if audit.never else None,
        "largest backlog": tally.max_backlog,
        "largest dual delay": tally.max_dual_delay,
    }
    rows = tuple((name, count) for name, count in counts.items() if count is not None)
    return Section(
        "How many answers are out?", figure, says, Table(("of all rounds", "count"), rows)
    )


def _patience(audit: Audit, axis: _Axis) -> Section:
    """Show what every limit on waiting costs, and the best one."""
    question, patience = "How long should one wait?", audit.patience
    worst = "That is about what is guaranteed in the worst case"
    if audit.has_labels:
        worst += (
            "; whether the error changes with the wait, a replay says (belated replay), and often "
            "it does not"
        )
    says = f"{first_up(audit.advice)}. {worst}. {_explained(audit)}"
    if not len(patience.limits):
        return Section(question, None, says)
    points = chosen(len(patience.limits))
    limits = patience.limits[points] * axis.wait_scale
    series = [Series.of("giving up after this wait", limits, patience.costs[points])]
    ends = (float(limits[0]), float(limits[-1]))
    series.append(Series("never giving up", ends, (patience.forever,) * 2, dashed=True))
    if patience.pays:
        best = patience.limit * axis.wait_scale
        series.append(Series("recommended", (best,), (patience.cost,)))
    figure = Lines(
        "The skip trade-off: rounds given up plus the root of the delays that are left",
        axis.wait_label,
        "cost",
        tuple(series),
        log_x=True,
        log_y=True,
    )
    return Section(question, figure, says)


def _explained(audit: Audit) -> str:
    patience, rounds = audit.patience, audit.patience_in_rounds
    return (
        "Giving up on a prediction costs one; waiting for it costs its delay under a root "
        f"(Theorem 6.1). Waiting for everything costs {plain(patience.forever, 4)}, the best limit "
        f"{plain(min(patience.cost, patience.forever), 4)}. By rounds instead of the clock the "
        f"least is {plain(min(rounds.cost, rounds.forever), 4)}, for giving up on delays above "
        f"{rounds.limit:,.0f}. The learner Skip comes within a constant of that without being "
        "told any limit."
    )


def _guarantees(audit: Audit) -> Section:
    """Show what each result promises, with lateness and without."""
    found = [*audit.promises, *audit.more_promises]
    rows = []
    for promise in found:
        bound = promise.bound
        name = f"{bound.name} {bound.note}".strip()
        remark = "says nothing yet" if bound.vacuous else ""
        row = (name, promise.answers, bound.total, bound.learning, bound.factor, remark)
        rows.append(row)
    names = tuple(str(row[0]) for row in rows)
    groups = (
        Series("with lateness", (), tuple(promise.bound.total for promise in found)),
        Series("without", (), tuple(promise.bound.learning for promise in found)),
    )
    figure = Bars("Guaranteed regret", names, groups, "regret at most", log_y=True)
    says = (
        f"{audit.theory} "
        if found[0].bound.vacuous
        else f"The guarantee of Corollary 5.3 is {plain(audit.factor, 3)} times what it would be "
        "if all answers came at once; with the tight rate "
        f"{plain(audit.tight_factor, 3)} times. "
    )
    says += (
        f"All numbers are {CONSTANTS}; where values come back, the dimension is 10. A result says "
        f"nothing yet where it exceeds {audit.rounds:,}, which no sequence of plays does."
    )
    if not audit.more_promises:
        says += (
            f" Results on skipping and on values need the whole timeline, and are left out for "
            f"logs of more than {EXACT:,} rounds."
        )
    heads = ("result", "answers", "with lateness", "without", "factor", "")
    return Section("What is guaranteed?", figure, says, Table(heads, tuple(rows)))
