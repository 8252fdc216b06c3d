"""What commands that report on a log share: what they read, and what they write where."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, TextIO, TypeVar

from belated.errors import BelatedError, MissingExtra

FLIGHTS = "flights"
"""What to call the log that comes with belated."""


class Finding(Protocol):
    """What a command has found out about a log."""

    def page(self, path: str | PathLike[str]) -> None:
        """Write it as a page."""

    def to_json(self, indent: int | None = None) -> str:
        """Return it as JSON."""


_F = TypeVar("_F", bound=Finding)


def report(
    arguments: argparse.Namespace,
    find: Callable[[argparse.Namespace], _F],
    show: Callable[[_F, TextIO], None],
) -> None:
    """Find something out about a log, and show it as the arguments say."""
    has_page = not (arguments.no_page or arguments.json)
    if has_page:
        check_folder(arguments.output, "--output")
    found = find(arguments)
    if arguments.json:
        print(found.to_json(indent=2))
        return
    show(found, sys.stdout)
    if has_page:
        _write_page(found, arguments.output)


def check_folder(path: Path, option: str) -> None:
    """Fail before the work, not after it."""
    if not path.parent.is_dir():
        raise BelatedError(
            f"cannot write {path}: there is no folder {path.parent}; create it, or give another "
            f"path with {option}"
        )


def _write_page(found: Finding, path: Path) -> None:
    """Write the page; without what draws it say so, as the terminal has the numbers."""
    try:
        found.page(path)
    except MissingExtra as error:
        print(f"\nNo page: {error}")
    else:
        print(f"\nPage written to {path}")


def is_flights(log: str) -> bool:
    """Whether the flights are meant, and no file of that name."""
    return log == FLIGHTS and not Path(FLIGHTS).exists()


def reading(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return how a log is to be read, as ``audit`` and ``replay`` take it."""
    return {
        "predicted": arguments.predicted,
        "observed": arguments.observed,
        "tz": arguments.tz,
        "unit": arguments.unit,
        "on_bad": "skip" if arguments.skip_bad_rows else "error",
    }
