"""``belated replay``: what it reads, writes and says."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from belated.audits.command import FLIGHTS, check_folder, write_page
from belated.datasets import flights
from belated.linear.losses import BINARY
from belated.logs import LogError
from belated.replays import replay
from belated.replays.result import Replay
from belated.replays.words import show

DELAYS = (-60.0, 180.0)
"""To what arrival delays are clipped, in minutes."""
LATE = 15.0
"""Minutes from which on a flight counts as late."""
QUICK = 5_000
"""Predictions of a quick replay."""


def run(arguments: argparse.Namespace) -> None:
    """Replay a log as the arguments say."""
    check_folder(arguments)
    found = _found(arguments)
    if arguments.json:
        print(found.to_json(indent=2))
        return
    show(found, sys.stdout)
    if not arguments.no_page:
        write_page(found, arguments.output)


def _found(arguments: argparse.Namespace) -> Replay:
    """Return the replay of what was named: the flights, or a file."""
    options: dict[str, Any] = {
        "features": arguments.features or "all",
        "loss": arguments.loss,
        "quantile": arguments.quantile,
        "delta": arguments.delta,
        "clip": None if arguments.clip is None else tuple(arguments.clip),
        "threshold": arguments.threshold,
        "positive": arguments.positive,
        "wait": arguments.wait,
        "slices": arguments.slice,
        "also": [name for name in arguments.others.split(",") if name],
        "first": QUICK if arguments.quick else None,
        "progress": None,
    }
    if arguments.log == FLIGHTS and not Path(FLIGHTS).exists():
        if arguments.target or arguments.predicted or arguments.observed or arguments.weight:
            raise LogError("replay: flights has its target and times; give no columns for them")
        return replay_flights(year=arguments.year, **options)
    return replay(
        arguments.log,
        arguments.target,
        arguments.predicted,
        arguments.observed,
        weight=arguments.weight,
        tz=arguments.tz,
        unit=arguments.unit,
        on_bad="skip" if arguments.skip_bad_rows else "error",
        **options,
    )


def replay_flights(*, year: bool = False, **options: Any) -> Replay:
    """Replay the flights: arrival delays clipped, or whether a flight is more than 15 min late."""
    is_binary = options.get("loss") in BINARY
    if is_binary and options.get("threshold") is None:
        options["threshold"] = LATE
    elif options.get("threshold") is None and options.get("clip") is None:
        options["clip"] = DELAYS
    return replay(flights(year=year), "arrival delay in minutes", **options)
