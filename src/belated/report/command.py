"""The shared part of commands that report on a log: their input and their output files."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from belated.errors import BelatedError, LogError, MissingExtra
from belated.report.finding import Finding

FLIGHTS = "flights"
"""The name of the log that comes with belated."""


_F = TypeVar("_F", bound=Finding)


def report(arguments: argparse.Namespace, find: Callable[[argparse.Namespace], _F]) -> _F:
    """Find something out about a log, show it as the arguments say, and return it."""
    path = arguments.out
    if path is not None and (arguments.no_page or arguments.json):
        other = "--json" if arguments.json else "--no-page"
        raise BelatedError(f"--out is where the page is written, and {other} says to write none")
    has_page = not (arguments.no_page or arguments.json)
    path = path or arguments.usual_page
    if has_page:
        check_place(path, "--out")
    found = find(arguments)
    if arguments.json:
        print(found.to_json(indent=2))
        return found
    print(found)
    if has_page:
        _write_page(found, path, arguments.typed)
    return found


def check_place(path: Path, option: str) -> None:
    """Fail before the work, not after it, where a file cannot be written."""
    if not path.parent.is_dir():
        raise BelatedError(
            f"cannot write {path}: there is no folder {path.parent}; create it, or give another "
            f"path with {option}"
        )
    if path.is_dir():
        raise BelatedError(f"cannot write {path}: that is a folder; give a file with {option}")
    try:
        # Whatever is written goes to a new file first, so that the folder decides.
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        why = error.strerror or str(error)
        raise BelatedError(
            f"cannot write {path}: nothing can be written into {path.parent} ({why}); give another "
            f"path with {option}"
        ) from None


def _write_page(found: Finding, path: Path, typed: str) -> None:
    """Write the page; without what draws it say so, as the terminal has the numbers."""
    try:
        found.page(path, command=typed)
    except MissingExtra as error:
        print(f"\nNo page: {error}")
    else:
        print(f"\nPage written to {path}")


def is_flights(log: str) -> bool:
    """Whether the flights are meant, and no file of that name."""
    return log == FLIGHTS and not Path(FLIGHTS).exists()


def reading(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return how a log is to be read, as ``audit`` and ``replay`` take it."""
    times = {"predicted": arguments.predicted, "observed": arguments.observed}
    return times | reading_of(arguments)


def reading_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return how times are to be read, and what to do with rows that cannot be."""
    return {
        "dates": None if arguments.dates is None else arguments.dates.replace("-", " "),
        "tz": arguments.tz,
        "unit": arguments.unit,
        "encoding": arguments.encoding,
        "missing": tuple(arguments.missing or ()),
        "on_bad": "skip" if arguments.skip_bad_rows else "error",
    }


def refuse_reading(arguments: argparse.Namespace, who: str) -> None:
    """Refuse what says how a file is read, where the log is the one that comes with belated."""
    given = {name: value for name, value in reading(arguments).items() if value not in (None, ())}
    given.pop("on_bad")
    given |= {"skip-bad-rows": True} if arguments.skip_bad_rows else {}
    given |= told(arguments) if hasattr(arguments, "number") else {}
    if given:
        raise LogError(
            f"{who}: flights has its target and times, and is read already; leave out "
            f"{', '.join(sorted(given))}"
        )


def told(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what columns are told to become."""
    found: dict[str, Any] = {}
    for what in ("number", "text", "time", "ignore"):
        for name in getattr(arguments, what) or ():
            if found.setdefault(name, what) != what:
                raise LogError(f"--{found[name]} and --{what} both name {name!r}; give one")
    return found
