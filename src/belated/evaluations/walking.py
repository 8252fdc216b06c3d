"""A chooser that walks through a log: it says what it would do, and learns what was done."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from contextlib import suppress

import numpy as np

from belated.arrays import Floats
from belated.errors import AlreadyObserved, UnknownTicket
from belated.evaluations.log import DecisionLog
from belated.logs.log import SECONDS
from belated.models.chooser.actions import Actions
from belated.models.chooser.chooser import Chooser

Advance = Callable[[int], None]
"""Told how many decisions are done."""


def walk(log: DecisionLog, chooser: Chooser, advance: Advance) -> tuple[Floats, Floats]:
    """Return the probabilities that a chooser gives to all actions, and the rewards it predicts.

    It is one with the same settings that has seen nothing: what was learned before may be this log.
    Both are decisions x actions, as they were when each decision was made: from the rewards of
    logged actions that were known by then. A reward at the very time of a decision is known.
    """
    chooser = chooser.fresh()
    chooser.mode = "apprentice"  # what it plays is the logged action
    scale = 1.0 if log.unit is None else SECONDS[log.unit]
    decided = (scale * log.decided).tolist()
    known = (scale * (log.decided + log.wait)).tolist()
    rewards, actions = log.reward.tolist(), log.action.tolist()
    places = {name: i for i, name in enumerate(log.actions)}
    probabilities = np.zeros((len(log), len(places)))
    predictions = np.zeros((len(log), len(places)))
    waiting: list[tuple[float, int, float]] = []
    for i, context in enumerate(log.contexts()):
        while waiting and waiting[0][0] <= decided[i]:
            at, ticket, reward = heapq.heappop(waiting)
            with suppress(AlreadyObserved, UnknownTicket):  # given up on, and forgotten since
                chooser.observe(ticket, reward, at=at)
        menu = _menu(chooser, log.menu(i))
        for action, probability, value in chooser.peek(context, menu):
            probabilities[i, places[action]] = probability
            predictions[i, places[action]] = value
        taken = log.actions[actions[i]]
        ticket = chooser.choose(context, menu, baseline=taken, at=decided[i]).ticket
        if known[i] == known[i]:
            heapq.heappush(waiting, (known[i], ticket, rewards[i]))
        advance(i + 1)
    return probabilities, predictions


def _menu(chooser: Chooser, names: tuple[str, ...]) -> Actions:
    """Return actions with the features that the chooser has of them, if it has any."""
    given = chooser._settings.actions
    if isinstance(given, Mapping):
        return {name: given.get(name) for name in names}
    return names
