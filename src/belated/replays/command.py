"""``belated replay``: what it reads, writes and says."""

from __future__ import annotations

import argparse
from typing import Any

from belated.datasets import flights
from belated.errors import LogError
from belated.models.linear.losses import BINARY, LOSSES
from belated.replays import replay, saving
from belated.replays.result import Replay
from belated.report.command import (
    check_place,
    is_flights,
    reading,
    refuse_reading,
    report,
    told,
)

DELAYS = (-60.0, 180.0)
"""To what arrival delays are clipped, in minutes."""
LATE = 15.0
"""Minutes from which on a flight counts as late."""
QUICK = 5_000
"""Predictions of a quick replay."""
SAME = (
    *("loss", "threshold", "positive", "window", "refit", "key"),
    *("silence", "deadline", "answered_only"),
)
"""Arguments that mean what those of the function do."""


def run(arguments: argparse.Namespace) -> None:
    """Replay a log as the arguments say."""
    if arguments.save is not None:
        check_place(arguments.save, "--save")
    elif arguments.key is not None and arguments.predictions is None:
        raise LogError(
            "replay: --key names rows in what --save and --predictions keep; give one of them too"
        )
    if arguments.predictions is not None:
        check_place(arguments.predictions, "--predictions")
        saving.check_predictions(arguments.predictions)
    found = report(arguments, _saved)
    if not arguments.json:
        _tell(arguments, found)


def _saved(arguments: argparse.Namespace) -> Replay:
    """Return the replay, its model and predictions saved where the arguments say."""
    found = _found(arguments)
    if arguments.save is not None:
        found.model.save(arguments.save)
    if arguments.predictions is not None:
        found.write_predictions(arguments.predictions)
    return found


def _tell(arguments: argparse.Namespace, found: Replay) -> None:
    """Say what was saved where, last of all."""
    if arguments.save is not None:
        task = found.task
        what = f"1 where {task.target} comes" if task.is_arrival else task.target
        words = saving.says(found.model, task.how, what, arguments.key, task.log.unit)
        print(f"\nModel saved to {arguments.save}. {words}")
    if arguments.predictions is not None:
        print(f"\nPredictions written to {arguments.predictions}.")


def _found(arguments: argparse.Namespace) -> Replay:
    """Return the replay of what was named: the flights, or a file."""
    options: dict[str, Any] = {
        "features": arguments.features or "all",
        "known": arguments.known or (),
        **_parameters(arguments),
        **{name: getattr(arguments, name) for name in SAME},
        "clip": None if arguments.clip is None else tuple(arguments.clip),
        "interactions": arguments.interactions,
        "slices": arguments.slice,
        "also": [name for name in arguments.others.split(",") if name],
        "first": QUICK if arguments.quick else None,
        "progress": None,
    }
    if is_flights(arguments.log):
        if arguments.weight:
            raise LogError("replay: flights has its weights; give no column for them")
        refuse_reading(arguments, "replay")
        return replay_flights(arguments.target, **options)
    options |= reading(arguments) | {"kinds": told(arguments)}
    return replay(arguments.log, arguments.target, weight=arguments.weight, **options)


def _parameters(arguments: argparse.Namespace) -> dict[str, float]:
    """Return the parameter of the loss; refuse one that its loss does not have."""
    found = {}
    for name in ("quantile", "delta"):
        value = getattr(arguments, name)
        if value is None:
            continue
        owners = [loss for loss, each in LOSSES.items() if each.parameter == name]
        if arguments.loss not in owners:
            raise LogError(f"replay: --{name} is of the {owners[0]} loss; say --loss {owners[0]}")
        found[name] = value
    return found


def replay_flights(target: str | None = None, **options: Any) -> Replay:
    """Replay the flights: arrival delays clipped, or whether a flight is more than 15 min late."""
    is_binary = options.get("loss") in BINARY
    if is_binary and options.get("threshold") is None:
        options["threshold"] = LATE
    elif options.get("threshold") is None and options.get("clip") is None:
        options["clip"] = DELAYS
    return replay(flights(), target, **options)
