"""``belated audit``: what it reads, writes and says."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from belated.audits import audit
from belated.audits.result import LABELLED, Audit, Felt
from belated.datasets import flights
from belated.errors import BelatedError, LogError
from belated.logs.files import is_parquet, is_piped
from belated.logs.log import SECONDS
from belated.report.command import is_flights, reading, refuse_reading, report

MOST_REPLAYED = 200_000
"""Rows of a log of which a quick replay is made."""
Price = Callable[[argparse.Namespace], tuple[Felt | None, tuple[str, ...]]]
"""Replays what the arguments name; says what its lateness cost in error, and what is odd there."""


def run(arguments: argparse.Namespace, price: Price) -> None:
    """Audit a log as the arguments say; with labels, also say what lateness cost in error."""
    report(arguments, lambda given: _priced(given, price))


def _priced(arguments: argparse.Namespace, price: Price) -> Audit:
    kind = kind_of(arguments.log)
    has_labels = kind in LABELLED
    if kind is None:
        has_labels = arguments.target is not None or arguments.silence is not None
    if not has_labels:
        _refuse_idle(arguments, kind)
    found = _found(arguments, kind)
    is_read_twice = has_labels and not is_piped(arguments.log)
    if not is_read_twice or found.rounds > MOST_REPLAYED:
        return found
    try:
        felt, odd = price(arguments)
        return replace(found, felt=felt, notes=(*found.notes, *odd))
    except BelatedError as error:
        return replace(found, notes=(*found.notes, f"no cost in error, as {error}"))


def kind_of(log: str) -> str | None:
    """Return the class of the model whose log this is; None: it is no log of a store."""
    if not is_parquet(log):
        return None
    from belated.store.parquet import exported

    found = exported(log)
    return None if found is None else found.kind


def _refuse_idle(arguments: argparse.Namespace, kind: str | None) -> None:
    """Refuse what is about labels, where there are none."""
    names = ("ignore", "known") if kind else ("deadline", "answered_only", "ignore", "known")
    idle = [f"--{name.replace('_', '-')}" for name in names if getattr(arguments, name)]
    if not idle:
        return
    those = f"audit: {' and '.join(idle)} {'is' if len(idle) == 1 else 'are'}"
    if kind:
        raise LogError(
            f"{those} about the features of labels, and {arguments.log} is the log of a model of "
            f"kind {kind}, which has none; leave out {' and '.join(idle)}"
        )
    raise LogError(f"{those} about labels; give --target, or --silence")


def _found(arguments: argparse.Namespace, kind: str | None) -> Audit:
    """Return the audit of what was named: the flights, or a file."""
    if is_flights(arguments.log):
        if arguments.target is not None or arguments.silence is not None:
            raise LogError("audit: flights has its target already; give no column for it")
        refuse_reading(arguments, "audit")
        return audit(flights(), ties=arguments.ties)
    if arguments.answered_only and (arguments.silence is not None or arguments.deadline):
        raise LogError("audit: --answered-only goes without --silence and --deadline")
    deadline = arguments.deadline if kind or arguments.silence is not None else None
    found = _counted(arguments, deadline)
    if found.deadline is None and found.answered and not is_piped(arguments.log):
        found = _with_silence(arguments, found)
    return replace(found, is_told=arguments.answered_only or arguments.silence is not None)


def _with_silence(arguments: argparse.Namespace, found: Audit) -> Audit:
    """Count as the replay does: silence without a deadline is one after the longest wait."""
    is_of_model = arguments.silence is None and found.has_silence and found.kind in LABELLED
    if arguments.answered_only or (arguments.silence is None and not is_of_model):
        return found
    why = "silence counts after the longest that an answer took, as there is no deadline in time"
    counted = _counted(arguments, _longest(found))
    return replace(counted, notes=(*found.notes, *([why] if is_of_model else [])))


def _counted(arguments: argparse.Namespace, deadline: Any) -> Audit:
    return audit(
        arguments.log,
        target=arguments.target,
        deadline=deadline,
        answered_only=arguments.answered_only,
        ties=arguments.ties,
        progress=None,
        **reading(arguments),
    )


def _longest(found: Audit) -> float | timedelta:
    """Return the longest that an answer took, which is the deadline where nobody says one."""
    if not (found.is_calendar or found.is_epoch):
        return found.wait.longest
    length = timedelta(seconds=found.wait.longest * SECONDS[found.unit or "s"])
    return length + timedelta(microseconds=1)  # which is what a length of time is rounded to
