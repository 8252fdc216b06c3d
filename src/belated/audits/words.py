"""An audit as text for a terminal."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from belated.report.durations import humane
from belated.report.plain import WIDTH, counted, plain, remarks
from belated.tables import aligned

if TYPE_CHECKING:
    from belated.audits.counting import Quantiles
    from belated.audits.labels import Outcome
    from belated.audits.result import Audit
    from belated.logs.log import Unit

HEADS = ("guarantee", "with lateness", "without", "factor")
LABEL_HEADS = ("label", "answered", "wait: median", "90 %", "longest")
CONSTANTS = "for gradients of at most 1, a set 1 wide, and curvature 1 where losses have some"


def summary(audit: Audit) -> str:
    """Return all lines."""
    lines = [title(audit), ""]
    for text in filter(None, (audit.verdict, audit.warning)):
        lines += [*(f"  {line}" for line in textwrap.wrap(text, WIDTH)), ""]
    lines += [f"{name:<15}{text}" for name, text in facts(audit)]
    if audit.outcomes:
        lines += ["", *aligned([LABEL_HEADS, *by_label(audit.outcomes, audit.unit)])]
    lines += ["", *aligned([HEADS, *guarantees(audit)])]
    lines += [f"({CONSTANTS})"]
    return "\n".join([*lines, *remarks(audit.notes, audit.bad)])


def title(audit: Audit) -> str:
    """Say what was audited."""
    start, end = audit.at(0.0), audit.at(audit.span)
    if audit.zone is not None:
        start = start.removesuffix(f" ({audit.zone})")
    span = f"{start} to {end}"
    length = f", {audit.lasting(audit.span)}" if audit.unit is not None else ""
    return f"{audit.name}: {counted(audit.rounds, 'prediction')}, {span}{length}"


def facts(audit: Audit) -> list[tuple[str, str]]:
    """Return name and text of what was counted."""
    tally = audit.tally
    share = audit.answered / audit.rounds
    meanwhile = "meanwhile" if audit.deadline is None else "until the answer or the deadline"
    return [
        ("answered", f"{audit.answered:,} ({share:.1%}), {unanswered(audit)}"),
        ("wait", _times(audit)),
        ("delay", f"{_counts(audit.delay)} predictions {meanwhile}"),
        ("dual delay", f"{_counts(audit.dual_delay)} labels {meanwhile}"),
        (
            "backlog",
            f"mean {plain(tally.total_delay / audit.rounds, 3)}, most {tally.max_backlog:,} open, "
            f"at {audit.at(tally.busiest)}",
        ),
        ("total delay", f"{tally.total_delay:,}"),
        ("giving up", _giving_up(audit)),
    ]


def unanswered(audit: Audit) -> str:
    """Say what became of the others."""
    return f"never {audit.never:,}" if audit.deadline is None else audit.settled_by_silence


def _times(audit: Audit) -> str:
    if not audit.answered:
        return "no answer came"
    wait = audit.wait
    named = (("median", wait.median), ("90 %", wait.p90), ("99 %", wait.p99))
    parts = [f"{name} {audit.lasting(value)}" for name, value in named]
    return f"{', '.join(parts)}, longest {audit.lasting(wait.longest)}"


def _counts(found: Quantiles) -> str:
    return (
        f"median {found.median:,.0f}, 90 % {found.p90:,.0f}, 99 % {found.p99:,.0f}, "
        f"most {found.longest:,.0f}"
    )


def _giving_up(audit: Audit) -> str:
    """Say what the recommended wait costs and brings."""
    patience = audit.patience
    if not patience.pays:
        return f"on nothing: the skip trade-off is {plain(patience.forever, 3)}"
    return (
        f"after {audit.lasting(patience.limit)}, on {patience.given_up:,}: the skip trade-off is "
        f"{plain(patience.cost, 3)} instead of {plain(patience.forever, 3)}"
    )


def by_label(outcomes: tuple[Outcome, ...], unit: Unit | None) -> list[tuple[str, ...]]:
    """Return the waits of every label, the quickest first."""
    rows = []
    for outcome in outcomes:
        waits = outcome.waits
        times = (waits.quantile(0.5), waits.quantile(0.9), waits.largest)
        name = textwrap.shorten(outcome.label, 24, placeholder=" ...") or repr(outcome.label)
        rows.append((name, f"{waits.count:,}", *(humane(time, unit) for time in times)))
    return rows


def guarantees(audit: Audit) -> list[tuple[str, str, str, str]]:
    """Return name, value with lateness, value without, and their ratio if it says something."""
    rows = []
    for promise in audit.promises:
        bound = promise.bound
        factor = "says nothing yet" if bound.vacuous else plain(bound.factor, 3)
        rows.append((promise.name, plain(bound.total, 4), plain(bound.learning, 4), factor))
    return rows
