"""``belated evaluate``: what it reads, writes and says."""

from __future__ import annotations

import argparse

from belated.evaluations import evaluate
from belated.evaluations.result import Evaluation
from belated.report.command import reading_of, report

SAME = (
    *("action", "probability", "reward", "decided", "rewarded", "silence", "deadline", "until"),
    *("estimator", "against", "blocks"),
)
"""Arguments that mean what those of the function do."""


def run(arguments: argparse.Namespace) -> None:
    """Evaluate a log as the arguments say."""
    report(arguments, _found)


def _found(arguments: argparse.Namespace) -> Evaluation:
    return evaluate(
        arguments.log,
        list(arguments.policy or ()),
        context=arguments.context if arguments.context is not None else "all",
        ignore=arguments.ignore or (),
        known=arguments.known or (),
        chooser=not arguments.no_chooser,
        slices=arguments.slice,
        progress=None,
        **{name: getattr(arguments, name) for name in SAME},
        **reading_of(arguments),
    )
