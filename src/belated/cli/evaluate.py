"""``belated evaluate``: its arguments."""

from __future__ import annotations

import argparse

from belated.arguments import Commands, add_known, add_output, add_reading, whole


def add_evaluate(commands: Commands) -> None:
    """Add ``evaluate`` to the commands of ``belated``."""
    parser = commands.add_parser(
        "evaluate",
        help="say whether another policy would have done better on your log of decisions",
        description="Say what other policies would have earned in the decisions of a log, with "
        "intervals: always the same action, any of them, a Chooser that learns from the log as it "
        "goes, and yours; in the terminal, and on one page.",
    )
    parser.add_argument(
        "log",
        metavar="LOG",
        help="CSV, JSON lines, Parquet, Arrow or Excel, also compressed; a folder or pattern of "
        "such files; - for standard input; or dsjson of Vowpal Wabbit",
    )
    _add_columns(parser)
    _add_rewards(parser)
    _add_policies(parser)
    add_output(parser, "belated-evaluate.html")
    parser.set_defaults(run=_evaluate)


def _add_columns(parser: argparse.ArgumentParser) -> None:
    columns = parser.add_argument_group(
        "columns; those of times are guessed when there is no doubt"
    )
    for name, about in (
        ("action", "what was done"),
        ("probability", "with what probability it was done"),
        ("reward", "what came of it"),
    ):
        columns.add_argument(
            f"--{name}", metavar="COLUMN", default=name, help=f"{about} (default: %(default)s)"
        )
    columns.add_argument("--decided", metavar="COLUMN", help="when each decision was made")
    columns.add_argument("--rewarded", metavar="COLUMN", help="when its reward was known, if ever")
    columns.add_argument(
        "--context",
        metavar="COLUMN",
        nargs="*",
        help="what was known when the decision was made (default: all other columns)",
    )
    columns.add_argument("--ignore", metavar="COLUMN", nargs="+", help="these are no context")
    add_known(columns, "the decision was made")
    columns.add_argument(
        "--slice",
        metavar="COLUMN",
        nargs="*",
        help="show rewards by these columns (default: up to three with few words)",
    )
    add_reading(columns)


def _add_rewards(parser: argparse.ArgumentParser) -> None:
    rewards = parser.add_argument_group("rewards")
    rewards.add_argument(
        "--silence", metavar="R", type=float, help="the reward of what nothing was heard of"
    )
    rewards.add_argument(
        "--deadline",
        metavar="TIME",
        help="how long a reward may take, as 2d, 36h or 30min, or a number in the unit of the log; "
        "younger decisions do not count",
    )
    rewards.add_argument(
        "--until",
        metavar="TIME",
        help="when the log ends, by the time zone of the log (default: the latest time in it)",
    )


def _add_policies(parser: argparse.ArgumentParser) -> None:
    policies = parser.add_argument_group("policies and how they are judged")
    policies.add_argument(
        "--policy",
        metavar="COLUMN",
        nargs="+",
        help="a column with the actions of another policy, or with its probability of what was "
        "done, or what the names of several columns begin with, one for every action",
    )
    policies.add_argument(
        "--no-chooser", action="store_true", help="leave out the Chooser that learns from the log"
    )
    policies.add_argument(
        "--against",
        metavar="POLICY",
        default="logged",
        help="the policy that others are compared with (default: %(default)s)",
    )
    policies.add_argument(
        "--estimator",
        choices=["dr", "snips", "ips"],
        default="dr",
        help="doubly robust, self-normalised, or plain inverse propensity (default: %(default)s)",
    )
    policies.add_argument(
        "--blocks",
        metavar="N",
        type=whole(6),
        help="take variances from so many stretches of time, where rewards share what happens",
    )


def _evaluate(arguments: argparse.Namespace) -> None:
    from belated.evaluations.command import run

    run(arguments)
