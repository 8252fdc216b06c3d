"""The story: the log, the price of its lateness, a few flights live, and all of them replayed."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from shutil import which
from typing import TextIO

import numpy as np

from belated._version import __version__
from belated.audits import audit
from belated.audits.words import facts
from belated.datasets import flights
from belated.demo.live_rounds import play_live
from belated.demo.screen import Screen
from belated.errors import MissingExtra
from belated.logs import Log
from belated.replays import Replay
from belated.replays.command import replay_flights
from belated.replays.contenders import AT_ONCE, MEAN, OURS, WAITING
from belated.replays.words import advice, caption, columns, table
from belated.report.command import check_place
from belated.report.plain import counted
from belated.report.terminal import aligned

FEW = 3_000
"""Flights with ``--fast``."""
NEW_YORK = np.timedelta64(5, "h")
"""How far the clock of New York is behind UTC in February."""
SHOWN = ("answered", "wait", "delay", "giving up")
"""What is told of the audit."""


def tell(out: TextIO, page: Path, *, fast: bool = False) -> None:
    """Write the whole story to ``out``, and its page to a file."""
    check_place(page, "--out")
    screen = Screen(out)
    log = flights()
    if fast:
        log = log.take(slice(0, FEW))
    screen.title(f"belated {__version__}: online learning when the answers come late")
    _introduce(screen, log)
    _audit(screen, log, fast=fast)
    screen.title("A few flights, live")
    play_live(screen, log)
    found = _replay(screen, fast=fast)
    _write(screen, page, found)


def _introduce(screen: Screen, log: Log) -> None:
    last = int(str(log.predicted_at[-1] - NEW_YORK)[8:10])
    storm = ", with the snow storm of the 8th and 9th" if last > 9 else ""
    screen.say(
        f"{len(log):,} real flights from New York City, 4 to {last} February 2013{storm}. When a "
        "flight is to leave, we predict how late it will arrive. The truth comes when it lands: "
        "hours and hundreds of predictions later, out of order, and never if it was cancelled."
    )


def _audit(screen: Screen, log: Log, *, fast: bool) -> None:
    screen.title("What lateness costs in theory")
    screen.code(f"log = bl.datasets.flights(){f'.take(slice(0, {FEW:_}))' if fast else ''}")
    screen.code("found = bl.audit(log)")
    found = audit(log)
    screen.show("\n".join(f"{name:<11}{text}" for name, text in facts(found) if name in SHOWN))
    screen.say(found.verdict)


# ---- the replay --------------------------------------------------------------------------------


def _replay(screen: Screen, *, fast: bool) -> Replay:
    screen.title("All flights, replayed")
    screen.say(
        "Now the whole log, event by event in the order of time, through a linear model that knows "
        "about delays and through what else one could do. Arrival delays are clipped to an hour "
        "early and three hours late."
    )
    first = f", first={FEW:_}" if fast else ""
    screen.code(
        f'found = bl.replay(bl.datasets.flights(), "arrival delay", clip=(-60, 180){first})'
    )
    screen.progress("  replaying ...")
    found = replay_flights(first=FEW if fast else None)
    screen.progress("")
    screen.say(caption(found))
    screen.show("\n".join(_table(found)))
    screen.say(advice(found))
    screen.say(_alternatives(found))
    return found


def _table(found: Replay) -> list[str]:
    """One line per method, the least loss first."""
    return aligned([columns(found), *table(found)])


def _alternatives(found: Replay) -> str:
    """Say what the others do, in numbers of this replay."""
    waiting, mean = found.methods[WAITING], found.methods[MEAN]
    dropped = found.counted - waiting.used
    tuned = min(found.scales, key=lambda one: one.at_once)
    gain, most = (
        1.0 - loss / mean.mean_loss
        for loss in (found.methods[OURS].mean_loss, found.methods[AT_ONCE].mean_loss)
    )
    return (
        f"A fixed wait of {counted(found.wait, 'prediction')} threw {counted(dropped, 'label')} "
        "away, the slowest. AdaGrad takes every late label for a fresh one: with steps that "
        f"would give {tuned.at_once:,.0f} if labels came at once (scale {tuned.scale:g}), it has "
        f"{tuned.late:,.0f}. Weather is hard to foresee: belated is {gain:.1%} below the mean of "
        f"past labels, and {most:.1%} could be had without delays."
    )


def _write(screen: Screen, page: Path, found: Replay) -> None:
    """Write the page; without what draws it say so, as the story is complete without it."""
    screen.title("Page")
    try:
        found.page(page)
    except MissingExtra:
        screen.say("No page: it needs matplotlib; pip install '.[report]'")
    else:
        screen.say(f"Written to {page}; open it in a browser.")
    us = _called()
    screen.say(f"For a log of your own: {us} audit LOG, and {us} replay LOG --target COLUMN.")
    screen.say(f"To see a service at work in a browser: {us} serve --demo")


def _called() -> str:
    """Return how belated is called from here: by its name, or where it is if that is not known."""
    if which("belated") is not None or Path(sys.argv[0]).name != "belated":
        return "belated"
    return os.path.relpath(sys.argv[0])
