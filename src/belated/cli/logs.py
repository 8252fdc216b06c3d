"""``belated audit``, ``replay``, ``evaluate`` and ``demo``: their arguments."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from belated.arguments import (
    Arguments,
    Commands,
    add_kinds,
    add_known,
    add_log,
    add_options,
    add_output,
    add_path,
    add_reading,
    add_silence,
    add_times,
    whole,
)
from belated.models.linear.losses import LOSSES

GUESSED = "columns; those of times are guessed when there is no doubt"
MANY: Mapping[str, Any] = {"metavar": "COLUMN", "nargs": "+"}
ANY: Mapping[str, Any] = {"metavar": "COLUMN", "nargs": "*"}


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
    target = "the labels: with ten or fewer of them, say whether lateness depends on the label"
    add_options(columns, ("target", target, {}))
    add_reading(columns)
    add_silence(parser)
    ties = ["observe-first", "predict-first"]
    about = "what comes first of two events at the same time (default: %(default)s)"
    parser.add_argument("--ties", choices=ties, default=ties[0], help=about)
    add_output(parser, "belated-audit.html")
    parser.set_defaults(run=_audit)


def _audit(arguments: argparse.Namespace) -> None:
    from belated.audits.command import run

    run(arguments)


def add_replay(commands: Commands) -> None:
    """Add ``replay`` to the commands of ``belated``."""
    parser = commands.add_parser(
        "replay",
        help="say how a model that knows about delays would have done on your log",
        description="Replay a log in the order of time through belated's linear model and the "
        "alternatives to it, and say what lateness costs: in the terminal, and on one page.",
    )
    add_log(parser)
    columns = parser.add_argument_group(GUESSED)
    add_options(columns, ("target", "what is to be predicted", {}))
    add_times(columns)
    features = "what is known when the prediction is made (default: all other columns)"
    add_options(columns, ("features", features, MANY))
    add_known(columns, "the prediction is made")
    key = (
        "with --save and --predictions: names rows; no feature (default: their number in the log, "
        "from 0 on)"
    )
    slices = "show losses by these columns (default: up to three with few words)"
    add_options(
        columns,
        ("key", key, {}),
        ("weight", "how often each label counts", {}),
        ("slice", slices, MANY),
    )
    add_kinds(columns)
    add_reading(columns)
    _add_labels(parser.add_argument_group("the target and its loss"))
    add_silence(parser)
    file = {"metavar": "FILE", "type": Path}
    window = (
        "how long the fixed window holds labels back, such as 7d (default: the best of several)"
    )
    others = "also replay through vw, river, or vw,river, where they are installed"
    refit = (
        "also models of scikit-learn that are fitted anew after so much time, such as 1d, on what "
        "is known by then (default: none)"
    )
    length = {"metavar": "LENGTH"}
    save = "keep the model as it is where the log ends, to go on live with LinearModel.load"
    add_options(
        parser,
        ("window", window, length),
        ("with", others, {"metavar": "NAMES", "dest": "others", "default": ""}),
        ("refit", refit, length),
        ("predictions", "keep every prediction of every method, as .csv or .parquet", file),
        ("save", save, file),
    )
    pairs = "auto: let the model find pairs of features (default: none)"
    parser.add_argument("--interactions", choices=["auto"], help=pairs)
    parser.add_argument("--quick", action="store_true", help="only the first 5,000 predictions")
    add_output(parser, "belated-replay.html")
    parser.set_defaults(run=_replay)


def _add_labels(labels: Arguments) -> None:
    loss = "what a prediction costs (default: logistic for a yes or no, else squared)"
    labels.add_argument("--loss", choices=list(LOSSES), help=loss)
    number = {"type": float}
    ends = {**number, "metavar": ("LOW", "HIGH"), "nargs": 2}
    delta = "where the Huber loss becomes linear (default: 1)"
    positive = "predict whether the target is this word or number"
    add_options(
        labels,
        ("quantile", "of quantile loss (default: 0.5)", {**number, "metavar": "Q"}),
        ("delta", delta, {**number, "metavar": "D"}),
        ("clip", "cut the target to this range", ends),
        ("threshold", "predict whether the target is above this", {**number, "metavar": "X"}),
        ("positive", positive, {"metavar": "VALUE"}),
    )


def _replay(arguments: argparse.Namespace) -> None:
    from belated.replays.command import run

    run(arguments)


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
    columns = parser.add_argument_group(GUESSED)
    for name, about in (
        ("action", "what was done"),
        ("probability", "with what probability it was done"),
        ("reward", "what came of it"),
    ):
        add_options(columns, (name, f"{about} (default: %(default)s)", {"default": name}))
    context = "what was known when the decision was made (default: all other columns)"
    add_options(
        columns,
        ("decided", "when each decision was made", {}),
        ("rewarded", "when its reward was known, if ever", {}),
        ("context", context, ANY),
        ("ignore", "these are no context", MANY),
    )
    add_known(columns, "the decision was made")
    slices = "show rewards by these columns (default: up to three with few words)"
    add_options(columns, ("slice", slices, ANY))
    add_reading(columns)
    silence = {"metavar": "R", "type": float}
    deadline = (
        "how long a reward may take, as 2d, 36h or 30min, or a number in the unit of the log; "
        "younger decisions do not count"
    )
    until = "when the log ends, by the time zone of the log (default: the latest time in it)"
    add_options(
        parser.add_argument_group("rewards"),
        ("silence", "the reward of what nothing was heard of", silence),
        ("deadline", deadline, {"metavar": "TIME"}),
        ("until", until, {"metavar": "TIME"}),
    )
    _add_policies(parser.add_argument_group("policies and how they are judged"))
    add_output(parser, "belated-evaluate.html")
    parser.set_defaults(run=_evaluate)


def _add_policies(policies: Arguments) -> None:
    theirs = (
        "a column with the actions of another policy, or with its probability of what was done, or "
        "what the names of several columns begin with, one for every action"
    )
    against = "the policy that others are compared with (default: %(default)s)"
    add_options(
        policies,
        ("policy", theirs, MANY),
        ("against", against, {"metavar": "POLICY", "default": "logged"}),
    )
    about = "leave out the Chooser that learns from the log"
    policies.add_argument("--no-chooser", action="store_true", help=about)
    about = "doubly robust, self-normalised, or plain inverse propensity (default: %(default)s)"
    policies.add_argument("--estimator", choices=["dr", "snips", "ips"], default="dr", help=about)
    about = "take variances from so many stretches of time, where rewards share what happens"
    add_options(policies, ("blocks", about, {"metavar": "N", "type": whole(6)}))


def _evaluate(arguments: argparse.Namespace) -> None:
    from belated.evaluations.command import run

    run(arguments)


def add_demo(commands: Commands) -> None:
    """Add ``demo`` to the commands of ``belated``."""
    parser = commands.add_parser(
        "demo",
        help="a short story: flights whose arrival is known hours later, or never",
        description="Tell a short story of late labels on two weeks of real flights: what lateness "
        "costs, a few flights live, and a replay beside the alternatives, with a page.",
    )
    add_path(parser, "--out", "FILE", "belated-demo.html", "where to write the page")
    parser.add_argument("--fast", action="store_true", help="a quarter of the flights")
    parser.set_defaults(run=_demo)


def _demo(arguments: argparse.Namespace) -> None:
    from belated.demo import tell

    tell(sys.stdout, arguments.out, fast=arguments.fast)
