"""``belated audit``: what it reads, writes and says."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace

from belated.audits import audit
from belated.audits.result import Audit, Felt
from belated.audits.words import show
from belated.datasets import flights
from belated.errors import BelatedError, LogError
from belated.report.command import is_flights, reading, refuse_reading, report

MOST_REPLAYED = 200_000
"""Rows of a log of which a quick replay is made."""
Price = Callable[[argparse.Namespace], Felt | None]
"""Replays what the arguments name, and says what its lateness cost in error."""


def run(arguments: argparse.Namespace, price: Price) -> None:
    """Audit a log as the arguments say; with labels, also say what lateness cost in error."""
    report(arguments, lambda given: _priced(given, price), show)


def _priced(arguments: argparse.Namespace, price: Price) -> Audit:
    found = _found(arguments)
    is_read_twice = arguments.target is not None and arguments.log != "-"
    if not is_read_twice or found.rounds > MOST_REPLAYED:
        return found
    try:
        return replace(found, felt=price(arguments))
    except BelatedError as error:
        return replace(found, notes=(*found.notes, f"no cost in error, as {error}"))


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
