"""A few flights as they happen: tickets, late labels, and everything that goes wrong."""

from __future__ import annotations

import math

import numpy as np

from belated.demo.screen import Screen
from belated.errors import AlreadyObserved, BadFeedback
from belated.logs import Log
from belated.models.linear import LinearModel

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
