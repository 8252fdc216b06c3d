"""The story: the log, the price of its lateness, a few flights live, and all of them replayed."""

from __future__ import annotations

import math
import os
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import TextIO

import numpy as np

from belated._version import __version__
from belated.audits import audit
from belated.audits.words import facts
from belated.datasets import flights
from belated.errors import AlreadyObserved, BadFeedback, MissingExtra
from belated.logs import Log
from belated.models.linear import LinearModel
from belated.replays import Replay
from belated.replays.command import replay_flights
from belated.replays.contenders import AT_ONCE, BEST_WINDOW, MEAN, OURS
from belated.replays.words import HEADS, advice, caption, table
from belated.report.command import check_place
from belated.report.plain import WIDTH, counted
from belated.tables import aligned

# ---- plain text for a terminal, in colour where that is welcome ----------------------------------

_BOLD, _DIM, _CODE, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[36m", "\x1b[0m"


@dataclass(frozen=True)
class Screen:
    """Where the story is written."""

    out: TextIO

    @property
    def is_coloured(self) -> bool:
        """Whether a person looks on and did not ask for plain text (no-color.org)."""
        return self.out.isatty() and not os.environ.get("NO_COLOR")

    def title(self, text: str) -> None:
        """Write a heading, set off by an empty line."""
        self._write("\n" + self._styled(_BOLD, text))

    def say(self, text: str) -> None:
        """Write a paragraph."""
        self._write(textwrap.fill(" ".join(text.split()), WIDTH))

    def code(self, source: str) -> None:
        """Write a line of Python that has just been run."""
        self._write(self._styled(_CODE, f"  >>> {source}"))

    def show(self, text: str) -> None:
        """Write lines as they are, indented; those that are too long are wrapped."""
        for line in text.splitlines():
            self._write(textwrap.fill(line, WIDTH, initial_indent="  ", subsequent_indent="  "))

    def event(self, what: str, text: str) -> None:
        """Write one thing that happened."""
        label = f"  {what:<10}"
        body = textwrap.fill(text, WIDTH - len(label), subsequent_indent=" " * len(label))
        self._write(self._styled(_DIM, label) + body)

    def progress(self, text: str) -> None:
        """Write over the current line; only for a terminal."""
        if self.out.isatty():
            self.out.write(f"\r\x1b[2K{text}")
            self.out.flush()

    def _styled(self, style: str, text: str) -> str:
        return f"{style}{text}{_PLAIN}" if self.is_coloured else text

    def _write(self, text: str) -> None:
        self.out.write(text + "\n")
        self.out.flush()


# ---- a few flights as they happen: tickets, late labels, and everything that goes wrong ----------

LANDING = 3
"""Flights that land while we watch."""


def play_live(screen: Screen, log: Log) -> LinearModel:
    """Predict a few flights by hand, and return the model."""
    model = LinearModel("squared")
    screen.code('model = bl.LinearModel("squared")')
    cancelled, landing = _cast(log)
    tickets = {row: _predict(screen, model, log, row) for row in (*landing, cancelled)}
    # They land in another order than they were to leave in.
    first, *others = sorted(landing, key=lambda row: log.observed_at[row])
    _land(screen, model, log, first, tickets[first])
    _refuse(screen, model, tickets[first], 5.0, "again")
    _refuse(screen, model, tickets[others[0]], math.nan, "broken")
    model = _move_house(screen, model, log, first)
    for row in others:
        _land(screen, model, log, row, tickets[row])
    _predict(screen, model, log, cancelled + 1)
    screen.event("never", f"ticket {tickets[cancelled]}: cancelled, so its delay is never known")
    return model


def _cast(log: Log) -> tuple[int, list[int]]:
    """Return the row of the first cancelled flight, and those of the last ones before it."""
    cancelled = int(np.argmin(log.answered))
    return cancelled, list(range(cancelled - LANDING, cancelled))


def _predict(screen: Screen, model: LinearModel, log: Log, row: int) -> int:
    ticket, minutes = model.predict(log.row(row))
    text = f"ticket {ticket}: {_name(log, row)}, we say {minutes:+.0f} min"
    screen.event("predict", f"{text} ({model.open} open)")
    return ticket


def _land(screen: Screen, model: LinearModel, log: Log, row: int, ticket: int) -> None:
    assert log.target is not None  # flights have one
    used = model.observe(ticket, float(log.target[row]))
    outcome = "learned" if used else "too late, it is dropped"
    text = f"ticket {ticket}: landed, {log.target[row]:+.0f} min; {outcome}"
    screen.event("observe", f"{text} ({model.open} open)")


def _refuse(screen: Screen, model: LinearModel, ticket: int, label: float, what: str) -> None:
    """Give a label that must be refused, and show how."""
    try:
        model.observe(ticket, label)
    except (AlreadyObserved, BadFeedback) as error:
        screen.event(what, f"{type(error).__name__}: {error}")


def _move_house(screen: Screen, model: LinearModel, log: Log, row: int) -> LinearModel:
    """Save the model, restore it, and check that both would go on alike."""
    blob = model.snapshot()
    copy = LinearModel.restore(blob)
    same = copy.peek(log.row(row)) == model.peek(log.row(row)) and copy.snapshot() == blob
    verdict = "both go on alike, to the last bit" if same else "THE TWO DIFFER"
    screen.event("snapshot", f"{len(blob):,} bytes, restored elsewhere: {verdict}")
    return copy


def _name(log: Log, row: int) -> str:
    """Say which flight it is, and when it is to leave."""
    cells = log.row(row)
    time = f"{cells['weekday']} {cells['hour']:02.0f}:{cells['minute']:02.0f}"
    return f"{cells['flight']} {cells['origin']}-{cells['dest']}, {time}"


FEW = 3_000
"""Flights with ``--fast``."""
NEW_YORK = np.timedelta64(5, "h")
"""How far the clock of New York is behind UTC in February."""
SHOWN = ("answered", "wait", "delay", "giving up")
"""The lines about the audit."""


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
    return aligned([HEADS, *table(found)])


def _alternatives(found: Replay) -> str:
    """Say what the others do, in numbers of this replay."""
    held_back, mean = found.methods[BEST_WINDOW], found.methods[MEAN]
    gain, most = (
        1.0 - loss / mean.mean_loss
        for loss in (found.methods[OURS].mean_loss, found.methods[AT_ONCE].mean_loss)
    )
    return (
        f"With a fixed window, the same model learns {counted(held_back.used, 'label')} of "
        f"{found.counted:,}, all of them late. Weather is hard to foresee: belated is {gain:.1%} "
        f"below the mean of past labels, and {most:.1%} could be had without delays."
    )


def _write(screen: Screen, page: Path, found: Replay) -> None:
    """Write the page; without what draws it say so, as the story is complete without it."""
    screen.title("Page")
    try:
        found.page(page)
    except MissingExtra:
        screen.say("No page: it needs vl-convert-python; pip install '.[report]'")
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
