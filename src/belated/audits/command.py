"""``belated audit``: what it reads, writes and says."""

from __future__ import annotations

import argparse

from belated.audits import audit
from belated.audits.result import Audit
from belated.datasets import flights
from belated.errors import LogError
from belated.logs.files import is_parquet
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
    if arguments.deadline and arguments.silence is None and kind_of(arguments.log) is None:
        raise LogError("audit: --deadline says when no answer is one; say which with --silence")
    return audit(
        arguments.log,
        target=arguments.target,
        silence=arguments.silence,
        deadline=arguments.deadline,
        answered_only=arguments.answered_only,
        ties=arguments.ties,
        progress=None,
        **reading(arguments),
    )
