"""``belated evaluate``: what it reads, writes and says."""

from __future__ import annotations

import argparse

from belated.evaluations import evaluate
from belated.evaluations.result import Evaluation
from belated.evaluations.words import show
from belated.report.command import how_read, report


def run(arguments: argparse.Namespace) -> None:
    """Evaluate a log as the arguments say."""
    report(arguments, _found, show)


def _found(arguments: argparse.Namespace) -> Evaluation:
    return evaluate(
        arguments.log,
        list(arguments.policy or ()),
        action=arguments.action,
        probability=arguments.probability,
        reward=arguments.reward,
        decided=arguments.decided,
        rewarded=arguments.rewarded,
        context=arguments.context if arguments.context is not None else "all",
        ignore=arguments.ignore or (),
        known=arguments.known or (),
        silence=arguments.silence,
        deadline=arguments.deadline,
        until=arguments.until,
        chooser=not arguments.no_chooser,
        estimator=arguments.estimator,
        against=arguments.against,
        blocks=arguments.blocks,
        slices=arguments.slice,
        progress=None,
        **how_read(arguments),
    )
