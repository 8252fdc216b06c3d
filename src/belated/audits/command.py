"""``belated audit``: what it reads, writes and says."""

from __future__ import annotations

import argparse
import sys
from os import PathLike
from pathlib import Path
from typing import Protocol

from belated.audits import audit
from belated.audits.result import Audit
from belated.audits.words import show
from belated.datasets import flights
from belated.errors import BelatedError, MissingExtra

FLIGHTS = "flights"
"""What to call the log that comes with belated."""


class HasPage(Protocol):
    """What can be written as a page."""

    def page(self, path: str | PathLike[str]) -> None:
        """Write the page."""


def run(arguments: argparse.Namespace) -> None:
    """Audit a log as the arguments say."""
    check_folder(arguments)
    found = _found(arguments)
    if arguments.json:
        print(found.to_json(indent=2))
        return
    show(found, sys.stdout)
    if not arguments.no_page:
        write_page(found, arguments.output)


def check_folder(arguments: argparse.Namespace) -> None:
    """Fail before the work, not after it."""
    folder: Path = arguments.output.parent
    if not (arguments.no_page or arguments.json or folder.is_dir()):
        raise BelatedError(
            f"cannot write {arguments.output}: there is no folder {folder}; create it, or give "
            "another path with --output"
        )


def _found(arguments: argparse.Namespace) -> Audit:
    """Return the audit of what was named: the flights, or a file."""
    if arguments.log == FLIGHTS and not Path(FLIGHTS).exists():
        return audit(flights(), ties=arguments.ties)
    return audit(
        arguments.log,
        arguments.predicted,
        arguments.observed,
        tz=arguments.tz,
        unit=arguments.unit,
        on_bad="skip" if arguments.skip_bad_rows else "error",
        ties=arguments.ties,
    )


def write_page(found: HasPage, path: Path) -> None:
    """Write the page; without what draws it say so, as the terminal has the numbers."""
    try:
        found.page(path)
    except MissingExtra as error:
        print(f"\nNo page: {error}")
    else:
        print(f"\nPage written to {path}")
