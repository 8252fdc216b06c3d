"""``belated replay``: its arguments."""

from __future__ import annotations

import argparse
from pathlib import Path

from belated.arguments import (
    Commands,
    add_kinds,
    add_known,
    add_log,
    add_output,
    add_reading,
    add_silence,
    add_times,
    whole,
)
from belated.models.linear.losses import LOSSES


def add_replay(commands: Commands) -> None:
    """Add ``replay`` to the commands of ``belated``."""
    parser = commands.add_parser(
        "replay",
        help="say how a model that knows about delays would have done on your log",
        description="Replay a log in the order of time through belated's linear model and the "
        "alternatives to it, and say what lateness costs: in the terminal, and on one page.",
    )
    add_log(parser)
    _add_columns(parser)
    _add_labels(parser)
    add_silence(parser)
    parser.add_argument(
        "--wait",
        metavar="N",
        type=whole(0),
        help="predictions that the fixed wait waits for a label (default: the median delay)",
    )
    parser.add_argument(
        "--with",
        dest="others",
        metavar="NAMES",
        default="",
        help="also replay through vw, river, or vw,river, where they are installed",
    )
    parser.add_argument(
        "--refit",
        metavar="N",
        type=whole(0),
        default=0,
        help="also models of scikit-learn that are fitted so often, on what is known by then "
        "(default: none)",
    )
    parser.add_argument(
        "--predictions",
        metavar="FILE",
        type=Path,
        help="keep every prediction of every method, as .csv or .parquet",
    )
    parser.add_argument(
        "--save",
        metavar="FILE",
        type=Path,
        help="keep the model as it is where the log ends, to go on live with LinearModel.load",
    )
    parser.add_argument("--quick", action="store_true", help="only the first 5,000 predictions")
    parser.add_argument("--year", action="store_true", help="with flights: all of 2013")
    add_output(parser, "belated-replay.html")
    parser.set_defaults(run=_replay)


def _add_columns(parser: argparse.ArgumentParser) -> None:
    columns = parser.add_argument_group(
        "columns; those of times are guessed when there is no doubt"
    )
    columns.add_argument("--target", metavar="COLUMN", help="what is to be predicted")
    add_times(columns)
    columns.add_argument(
        "--features",
        metavar="COLUMN",
        nargs="+",
        help="what is known when the prediction is made (default: all other columns)",
    )
    add_known(columns, "the prediction is made")
    columns.add_argument(
        "--key",
        metavar="COLUMN",
        help="with --save and --predictions: names rows; no feature (default: their number in the "
        "log, from 0 on)",
    )
    columns.add_argument("--weight", metavar="COLUMN", help="how often each label counts")
    columns.add_argument(
        "--slice",
        metavar="COLUMN",
        nargs="+",
        help="show losses by these columns (default: up to three with few words)",
    )
    add_kinds(columns)
    add_reading(columns)


def _add_labels(parser: argparse.ArgumentParser) -> None:
    labels = parser.add_argument_group("the target and its loss")
    labels.add_argument(
        "--loss",
        choices=list(LOSSES),
        help="what a prediction costs (default: logistic for a yes or no, else squared)",
    )
    labels.add_argument(
        "--quantile", metavar="Q", type=float, help="of quantile loss (default: 0.5)"
    )
    labels.add_argument(
        "--delta", metavar="D", type=float, help="where the Huber loss becomes linear (default: 1)"
    )
    labels.add_argument(
        "--clip", metavar=("LOW", "HIGH"), nargs=2, type=float, help="cut the target to this range"
    )
    labels.add_argument(
        "--threshold", metavar="X", type=float, help="predict whether the target is above this"
    )
    labels.add_argument(
        "--positive", metavar="VALUE", help="predict whether the target is this word or number"
    )


def _replay(arguments: argparse.Namespace) -> None:
    from belated.replays.command import run

    run(arguments)
