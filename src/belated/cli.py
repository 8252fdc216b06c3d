"""The ``belated`` command.

Every command is two small functions: one that adds its arguments, one that runs it. What a command
needs is imported when it runs, so ``belated --help`` is instant.

Exit codes: 0 done, 1 an error of our own (one line on stderr), 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from belated._version import __version__
from belated.errors import BelatedError
from belated.linear.losses import LOSSES
from belated.study.command import add_study_command

if TYPE_CHECKING:
    from belated.reductions import Reduction, Skip

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = _parser().parse_args(argv)
    _tolerate_plain_terminals()
    try:
        arguments.run(arguments)
        sys.stdout.flush()
    except BelatedError as error:
        print(f"belated: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("belated: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader has seen enough (belated demo | head). Python would complain when it flushes
        # the closed pipe at exit, so it gets another place to flush to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="belated", description="Online learning when the answers come late."
    )
    parser.add_argument("--version", action="version", version=f"belated {__version__}")
    commands = parser.add_subparsers(metavar="command", required=True)
    for add in (_add_demo, _add_audit, _add_replay, add_study_command, _add_warm):
        add(commands)
    return parser


def _tolerate_plain_terminals() -> None:
    """Show a substitute for what the terminal cannot, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


# ---- demo --------------------------------------------------------------------------------------


def _add_demo(commands: Commands) -> None:
    parser = commands.add_parser(
        "demo",
        help="a short story: flights whose arrival is known hours later, or never",
        description="Tell a short story of late labels on two weeks of real flights: what lateness "
        "costs, a few flights live, and a replay beside the alternatives, with a page.",
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        type=Path,
        default=Path("belated-demo.html"),
        help="where to write the page (default: %(default)s)",
    )
    parser.add_argument("--fast", action="store_true", help="a quarter of the flights")
    parser.set_defaults(run=_demo)


def _whole(text: str) -> int:
    """Read a number that is not negative."""
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"must be 0, 1, 2, ..., got {text!r}")
    return int(text)


def _demo(arguments: argparse.Namespace) -> None:
    from belated.demo import tell

    tell(sys.stdout, arguments.out, fast=arguments.fast)


# ---- audit -------------------------------------------------------------------------------------


def _add_audit(commands: Commands) -> None:
    parser = commands.add_parser(
        "audit",
        help="say what lateness costs on your log",
        description="Count a log of predictions and late answers, and say what lateness costs: in "
        "the terminal, and on one page.",
    )
    parser.add_argument(
        "log",
        metavar="LOG",
        help="CSV (also compressed), Parquet or Arrow; or flights, which comes with belated",
    )
    columns = parser.add_argument_group("columns, guessed when there is no doubt")
    columns.add_argument("--predicted", metavar="COLUMN", help="when each prediction was made")
    columns.add_argument("--observed", metavar="COLUMN", help="when its truth was known, if ever")
    columns.add_argument(
        "--tz", metavar="ZONE", help="time zone of times that name none (default: UTC)"
    )
    columns.add_argument(
        "--unit",
        choices=["ns", "us", "ms", "s", "min", "h", "d"],
        help="what one unit is, where times are numbers",
    )
    parser.add_argument(
        "--skip-bad-rows", action="store_true", help="leave them out, and say how many there were"
    )
    parser.add_argument(
        "--ties",
        choices=["observe-first", "predict-first"],
        default="observe-first",
        help="what comes first of two events at the same time (default: %(default)s)",
    )
    parser.add_argument(
        "--output",
        metavar="FILE",
        type=Path,
        default=Path("belated-audit.html"),
        help="where to write the page (default: %(default)s)",
    )
    parser.add_argument("--no-page", action="store_true", help="write no page")
    parser.add_argument("--json", action="store_true", help="write the numbers as JSON instead")
    parser.set_defaults(run=_audit)


def _audit(arguments: argparse.Namespace) -> None:
    from belated.audits.command import run

    run(arguments)


# ---- replay ------------------------------------------------------------------------------------


def _add_replay(commands: Commands) -> None:
    parser = commands.add_parser(
        "replay",
        help="say how a model that knows about delays would have done on your log",
        description="Replay a log in the order of time through belated's linear model and the "
        "alternatives to it, and say what lateness costs: in the terminal, and on one page.",
    )
    parser.add_argument(
        "log",
        metavar="LOG",
        help="CSV (also compressed), Parquet or Arrow; or flights, which comes with belated",
    )
    _add_replay_columns(parser)
    _add_replay_labels(parser)
    parser.add_argument(
        "--wait",
        metavar="N",
        type=_whole,
        help="predictions that the fixed wait waits for a label (default: the median delay)",
    )
    parser.add_argument(
        "--with",
        dest="others",
        metavar="NAMES",
        default="",
        help="also replay through vw, river, or vw,river, where they are installed",
    )
    parser.add_argument("--quick", action="store_true", help="only the first 5,000 predictions")
    parser.add_argument("--year", action="store_true", help="with flights: all of 2013")
    parser.add_argument(
        "--output",
        metavar="FILE",
        type=Path,
        default=Path("belated-replay.html"),
        help="where to write the page (default: %(default)s)",
    )
    parser.add_argument("--no-page", action="store_true", help="write no page")
    parser.add_argument("--json", action="store_true", help="write the numbers as JSON instead")
    parser.set_defaults(run=_replay)


def _add_replay_columns(parser: argparse.ArgumentParser) -> None:
    columns = parser.add_argument_group(
        "columns; those of times are guessed when there is no doubt"
    )
    columns.add_argument("--target", metavar="COLUMN", help="what is to be predicted")
    columns.add_argument("--predicted", metavar="COLUMN", help="when each prediction was made")
    columns.add_argument("--observed", metavar="COLUMN", help="when its truth was known, if ever")
    columns.add_argument(
        "--features",
        metavar="COLUMN",
        nargs="+",
        help="what is known when the prediction is made (default: all other columns)",
    )
    columns.add_argument("--weight", metavar="COLUMN", help="how often each label counts")
    columns.add_argument(
        "--slice",
        metavar="COLUMN",
        nargs="+",
        help="show losses by these columns (default: up to three with few words)",
    )
    columns.add_argument(
        "--tz", metavar="ZONE", help="time zone of times that name none (default: UTC)"
    )
    columns.add_argument(
        "--unit",
        choices=["ns", "us", "ms", "s", "min", "h", "d"],
        help="what one unit is, where times are numbers",
    )
    columns.add_argument(
        "--skip-bad-rows", action="store_true", help="leave them out, and say how many there were"
    )


def _add_replay_labels(parser: argparse.ArgumentParser) -> None:
    labels = parser.add_argument_group("the target and its loss")
    labels.add_argument(
        "--loss",
        choices=list(LOSSES),
        help="what a prediction costs (default: logistic for a yes or no, else squared)",
    )
    labels.add_argument("--quantile", metavar="Q", type=float, default=0.5, help="of quantile loss")
    labels.add_argument(
        "--delta", metavar="D", type=float, default=1.0, help="where the Huber loss becomes linear"
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


# ---- warm --------------------------------------------------------------------------------------


def _add_warm(commands: Commands) -> None:
    parser = commands.add_parser(
        "warm",
        help="compile the common compositions, so that the first learner starts at once",
        description="Compile the common compositions and keep them on disk; needed once per "
        "installation and user, and never required.",
    )
    parser.set_defaults(run=_warm)


def _warm(arguments: argparse.Namespace) -> None:
    begin = time.perf_counter()
    specs = list(_common_specs())
    for number, (name, spec) in enumerate(specs, start=1):
        started = time.perf_counter()
        _exercise(spec)
        seconds = time.perf_counter() - started
        print(f"[{number:>2}/{len(specs)}] {name:<42}{seconds:>6.1f} s", flush=True)
    print(f"{_where_kept(specs[0][1])}; {time.perf_counter() - begin:.1f} s in all")


def _common_specs() -> Iterator[tuple[str, Reduction | Skip]]:
    """Name what most people run: every feedback on a ball and a box, with and without skipping."""
    from belated.domains import Ball, Box
    from belated.problem import Problem

    for domain in (Ball(2), Box(0.0, 1.0, dim=2)):
        problem = Problem(domain, lipschitz=1.0, magnitude=1.0)
        for feedback in ("gradient", "value", "two-values"):
            for skip in (False, True):
                name = f"{domain.kind}, {feedback}{', skipping' if skip else ''}"
                yield name, problem.learner(feedback=feedback, skip=skip)


def _exercise(spec: Reduction | Skip) -> None:
    """Use a learner in every way once, which compiles what it needs."""
    import numpy as np

    from belated.learner.learner import Learner

    learner = Learner(spec)
    learner.cancel(learner.predict().ticket)
    width = {"FirstOrder": 2, "OnePoint": 1, "TwoPoint": 2}[getattr(spec, "learner", spec).kind]
    learner.run([1, ~1], np.zeros((1, width)), first=1)


def _where_kept(spec: Reduction | Skip) -> str:
    """Say where the compiled code is, or why it is nowhere."""
    from belated.kernels.learners import entries
    from belated.learner.program import compile_spec

    entry: Any = entries.predict(compile_spec(spec).code)
    if not hasattr(entry, "stats"):
        return "Nothing to compile: NUMBA_DISABLE_JIT is set"
    folder = entry.stats.cache_path
    if folder is None:
        return "Compiled, but not kept: set NUMBA_CACHE_DIR to a writable folder"
    return f"Kept in {folder}"
