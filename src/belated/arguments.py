"""Arguments that several commands have, so that they read and mean the same everywhere."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""The commands of ``belated``, to which one more is added."""
Arguments = argparse._ActionsContainer
"""A parser, or a group of one, to which arguments are added."""


def add_log(parser: Arguments) -> None:
    """Add the log itself."""
    parser.add_argument(
        "log",
        metavar="LOG",
        help="CSV, JSON lines, Parquet, Arrow or Excel, also compressed; a folder or pattern of "
        "such files; - for standard input; what a store or service has exported; or flights, which "
        "comes with belated",
    )


def add_options(parser: Arguments, *options: tuple[str, str, Mapping[str, Any]]) -> None:
    """Add options by name, what they are, and what else argparse is told; most name a column."""
    for name, about, more in options:
        parser.add_argument(f"--{name}", help=about, **{"metavar": "COLUMN", **more})


def add_times(parser: Arguments) -> None:
    """Add the two columns of times."""
    add_options(
        parser,
        ("predicted", "when each prediction was made", {}),
        ("observed", "when its truth was known, if ever", {}),
    )


def add_reading(parser: Arguments) -> None:
    """Add how times are to be read, and what to do with rows that cannot be."""
    parser.add_argument(
        "--tz", metavar="ZONE", help="time zone of times that name none (default: UTC)"
    )
    parser.add_argument(
        "--dates",
        choices=["day-first", "month-first"],
        help="what 5/6/2024 begins with, where the rows do not say",
    )
    parser.add_argument(
        "--unit",
        choices=["ns", "us", "ms", "s", "min", "h", "d"],
        help="what one unit is, where times are numbers",
    )
    parser.add_argument(
        "--encoding",
        metavar="NAME",
        help="how text is encoded, such as latin-1 or cp1251, where it is not recognised",
    )
    parser.add_argument(
        "--missing",
        metavar="TEXT",
        action="append",
        help="a further word, number or date that means that nothing is there, as in "
        "--missing=-999; may be given several times",
    )
    parser.add_argument(
        "--skip-bad-rows", action="store_true", help="leave them out, and say how many there were"
    )


def add_kinds(parser: Arguments) -> None:
    """Add what columns are told to become."""
    for name, about in (
        ("number", "these columns are numbers"),
        ("text", "these are words, whatever they look like"),
        ("time", "these are times, which become hour, weekday, month and trend"),
        ("ignore", "leave these out"),
    ):
        add_options(parser, (name, about, {"nargs": "+"}))


def add_known(parser: Arguments, when: str) -> None:
    """Add columns that are no answers, whatever they look like."""
    about = f"these are known when {when}, however much they look like the answer or its time"
    add_options(parser, ("known", about, {"nargs": "+"}))


def add_silence(parser: argparse.ArgumentParser) -> None:
    """Add what rows without an answer mean."""
    group = parser.add_argument_group("rows without an answer")
    silence = "the target that no answer means; scores then count every row whose deadline passed"
    deadline = (
        "with --silence: how long an answer counts, such as 30d, 12h or 90min (default: the "
        "longest that one took)"
    )
    add_options(group, ("silence", silence, {"metavar": "VALUE"}))
    add_options(group, ("deadline", deadline, {"metavar": "TIME"}))
    about = "learn and count only rows with an answer, whatever the others hold"
    group.add_argument("--answered-only", action="store_true", help=about)


def add_output(parser: argparse.ArgumentParser, default: str) -> None:
    """Add what is written: a page, no page, or JSON."""
    parser.add_argument(
        "--out", metavar="FILE", type=Path, help=f"where to write the page (default: {default})"
    )
    parser.set_defaults(usual_page=Path(default))
    parser.add_argument("--no-page", action="store_true", help="write no page")
    parser.add_argument("--json", action="store_true", help="write the numbers as JSON instead")


def add_path(parser: Arguments, name: str, metavar: str, default: str, about: str) -> None:
    """Add a path that something is written to."""
    parser.add_argument(
        name,
        metavar=metavar,
        type=Path,
        default=Path(default),
        help=f"{about} (default: %(default)s)",
    )


def whole(least: int) -> Callable[[str], int]:
    """Return what reads a whole number that is not less.

    >>> whole(1)("12")
    12
    """

    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and int(text) >= least):
            raise argparse.ArgumentTypeError(
                f"must be {least}, {least + 1}, {least + 2}, ..., got {text!r}"
            )
        return int(text)

    return read
