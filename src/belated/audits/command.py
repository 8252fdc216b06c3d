"""``belated audit``: what it reads, writes and says."""

from __future__ import annotations

import argparse

from belated.audits import audit
from belated.audits.result import Audit
from belated.audits.words import show
from belated.datasets import flights
from belated.errors import LogError
from belated.report.command import is_flights, reading, refuse_reading, report


def run(arguments: argparse.Namespace) -> None:
    """Audit a log as the arguments say."""
    report(arguments, _found, show)


def _found(arguments: argparse.Namespace) -> Audit:
    """Return the audit of what was named: the flights, or a file."""
    if is_flights(arguments.log):
        if arguments.target is not None:
            raise LogError("audit: flights has its target already; give no column for it")
        refuse_reading(arguments, "audit")
        return audit(flights(), ties=arguments.ties)
    return audit(
        arguments.log,
        target=arguments.target,
        ties=arguments.ties,
        progress=None,
        **reading(arguments),
    )
