"""``belated evaluate``: what it reads, writes and says."""

from __future__ import annotations

import argparse

from belated.evaluations import Evaluation, evaluate
from belated.report.command import reading_of, report

SAME = (
    *("action", "probability", "reward", "decided", "rewarded", "silence", "deadline", "until"),
    *("estimator", "against", "blocks"),
)
"""Arguments that mean what those of the function do."""


def run(arguments: argparse.Namespace) -> None:
    """Evaluate a log as the arguments say."""
    report(arguments, _found)


def _found(given: argparse.Namespace) -> Evaluation:
    return evaluate(
        given.log,
        list(given.policy or ()),
        context="all" if given.context is None else given.context,
        ignore=given.ignore or (),
        known=given.known or (),
        chooser=not given.no_chooser,
        slices=given.slice,
        progress=None,
        **{name: getattr(given, name) for name in SAME},
        **reading_of(given),
    )
