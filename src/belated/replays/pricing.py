"""What lateness cost in error on a log: a quick replay of our model, late and told at once."""

from __future__ import annotations

import argparse

import numpy as np

from belated.audits import Felt
from belated.engine import progress_bar
from belated.logs import Told
from belated.models.linear.losses import LOSSES
from belated.replays.contenders import Replayer
from belated.replays.differences import blocks, difference
from belated.replays.silence import Silence
from belated.replays.task import Asked, Labels, Task, task_of
from belated.report.command import reading

MOST = 20_000
"""Predictions that are replayed."""


def price(arguments: argparse.Namespace) -> tuple[Felt | None, tuple[str, ...]]:
    """Return what lateness cost on the log that an audit names, and what is odd of its features."""
    ignored: dict[str, Told] = dict.fromkeys(arguments.ignore or (), "ignore")
    known = tuple(arguments.known or ())
    asked = Asked(arguments.target, kinds=ignored, known=known, **reading(arguments))
    said = Silence(arguments.silence, arguments.deadline, arguments.answered_only)
    task = task_of(arguments.log, asked, Labels(), said, loss=None)
    return felt(task), task.notes[len(task.log.notes) :]


def felt(task: Task) -> Felt | None:
    """Return by what share the loss would be less without lateness; None where none is known."""
    task = task.first(MOST)
    if not task.delays.any():
        return None
    with progress_bar("replaying", 0, wanted=False) as bar:
        late, at_once = Replayer(task, 0, (), bar).pair()
    known = task.known
    count = blocks(int(np.count_nonzero(known)), task.delays)
    apart = difference(at_once.losses[known], late.losses[known], task.weights[known], count)
    if not apart.is_known or not late.mean_loss > 0.0:
        return None
    share = apart.per(late.mean_loss, task.how.lowest)
    measure = LOSSES[task.how.loss].measure
    return Felt(-share.mean, -share.high, -share.low, measure, task.rounds)
