"""``belated audit``: its arguments."""

from __future__ import annotations

import argparse

from belated.arguments import (
    Commands,
    add_known,
    add_log,
    add_output,
    add_reading,
    add_silence,
    add_times,
)


def add_audit(commands: Commands) -> None:
    """Add ``audit`` to the commands of ``belated``."""
    parser = commands.add_parser(
        "audit",
        help="say what lateness costs on your log",
        description="Count a log of predictions and late answers, and say what lateness costs: in "
        "the terminal, and on one page.",
    )
    add_log(parser)
    columns = parser.add_argument_group("columns, guessed when there is no doubt")
    add_times(columns)
    columns.add_argument(
        "--target",
        metavar="COLUMN",
        help="the labels: say what lateness cost in error, by a quick replay, and with ten or "
        "fewer of them whether lateness depends on the label",
    )
    columns.add_argument(
        "--ignore",
        metavar="COLUMN",
        nargs="+",
        help="with --target or --silence: these are no features",
    )
    add_known(columns, "the prediction is made")
    add_reading(columns)
    add_silence(parser)
    parser.add_argument(
        "--ties",
        choices=["observe-first", "predict-first"],
        default="observe-first",
        help="what comes first of two events at the same time (default: %(default)s)",
    )
    add_output(parser, "belated-audit.html")
    parser.set_defaults(run=_audit)


def _audit(arguments: argparse.Namespace) -> None:
    from belated.audits.command import run
    from belated.replays.pricing import price

    run(arguments, price)
