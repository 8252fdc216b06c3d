"""``belated audit``: what it reads, writes and says."""

from __future__ import annotations

import argparse
from dataclasses import replace
from datetime import timedelta
from typing import Any

from belated.audits import audit
from belated.audits.result import LABELLED, Audit
from belated.datasets import flights
from belated.errors import LogError
from belated.logs.files import is_parquet, is_piped
from belated.logs.log import SECONDS
from belated.report.command import is_flights, reading, refuse_reading, report


def run(arguments: argparse.Namespace) -> None:
    """Audit a log as the arguments say."""
    report(arguments, _found)


def kind_of(log: str) -> str | None:
    """Return the class of the model whose log this is; None: it is no log of a store."""
    if not is_parquet(log):
        return None
    from belated.store.parquet import exported

    found = exported(log)
    return None if found is None else found.kind


def _found(arguments: argparse.Namespace) -> Audit:
    """Return the audit of what was named: the flights, or a file."""
    if is_flights(arguments.log):
        if arguments.target is not None or arguments.silence is not None:
            raise LogError("audit: flights has its target already; give no column for it")
        refuse_reading(arguments, "audit")
        return audit(flights(), ties=arguments.ties)
    has_silence = arguments.silence is not None
    if arguments.answered_only and (has_silence or arguments.deadline):
        raise LogError("audit: --answered-only goes without --silence and --deadline")
    if arguments.deadline and not has_silence and kind_of(arguments.log) is None:
        raise LogError("audit: --deadline says when no answer is one; say which with --silence")
    found = _counted(arguments, arguments.deadline)
    if found.deadline is None and found.answered and not is_piped(arguments.log):
        found = _with_silence(arguments, found)
    return replace(found, is_told=arguments.answered_only or has_silence)


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
