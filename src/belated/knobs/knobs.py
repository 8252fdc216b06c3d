"""``Knobs``: turn the knobs of a live system, hear the cost later."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from belated.errors import BadFeedback
from belated.kernels.knobs import entries
from belated.kernels.knobs import layout as L
from belated.kernels.slots import status as S
from belated.knobs.settings import Setting, Settings, checked
from belated.learner import refusals
from belated.learner.given import checked_seed, checked_ticket
from belated.learner.keys import Key, Keys
from belated.learner.state import Memory
from belated.learner.turns import alone

_as_tuple = tuple.__new__
_NOTHING = np.empty(0)


class Turn(NamedTuple):
    """What ``predict`` returns."""

    ticket: int
    """Number to give back with the cost."""
    setting: Setting
    """A value for every knob."""


class Knobs:
    """Finds good settings of a live system from costs that come late, noisy, or never."""

    __slots__ = ("__dict__", "__weakref__", "_keys", "_memory", "_settings", "_step", "_turn")

    def __init__(
        self,
        knobs: Any,
        *,
        start: Setting | None = None,
        goal: str = "min",
        context: Any = None,
        hold: int = 1,
        max_step: Any = None,
        holdout: float = 0.0,
        silence: float | None = None,
        deadline: int | None = None,
        seed: int | None = 0,
    ) -> None:
        settings = checked(
            knobs=knobs,
            start=start,
            goal=goal,
            context=context,
            hold=hold,
            max_step=max_step,
            holdout=holdout,
            silence=silence,
            deadline=deadline,
            seed=checked_seed(seed, "Knobs"),
        )
        memory = settings.fresh()
        self._connect(settings, memory, Keys())
        self._step(memory.f, memory.n, L.SETUP, 0, 0.0, _NOTHING, np.empty(0))

    def _connect(self, settings: Settings, memory: Memory, keys: Keys) -> None:
        self._settings, self._memory, self._keys = settings, memory, keys
        self._step = entries.step()
        self._turn: list[None] = [None]

    @alone
    def predict(self, key: Key | None = None, context: Any = None) -> Turn:
        """Return the next ticket and the setting to play."""
        settings, memory = self._settings, self._memory
        if key is not None:
            self._keys.check(key, memory.is_open)
        given = settings.features(context) if settings.context or context else _NOTHING
        x = np.empty(len(settings.knobs))
        ticket = self._step(memory.f, memory.n, L.PREDICT, 0, 0.0, given, x)
        if ticket == S.FULL:
            memory.grow()
            ticket = self._step(memory.f, memory.n, L.PREDICT, 0, 0.0, given, x)
        if key is not None:
            self._keys.give(key, ticket)
            self._keys.tidy(memory.answerable)
        return _as_tuple(Turn, (ticket, settings.setting(x.tolist())))

    ask = predict

    @alone
    def observe(self, ticket: int | Key, cost: float) -> bool:
        """Learn the cost of a ticket, the last word on it."""
        return self._heard("observe", L.OBSERVE, ticket, cost)

    tell = observe

    def _heard(self, who: str, verb: int, ticket: int | Key, cost: Any) -> bool:
        number = self.ticket(ticket)
        if cost.__class__ is not float:
            cost = _number(cost)
        value = self._settings.cost(cost)
        memory = self._memory
        status = self._step(memory.f, memory.n, verb, number, value, _NOTHING, _NOTHING)
        if status < 0:
            raise self._refusal(status, number, f"{who}: ")
        if verb != L.REVISE:
            self._keys.drop(ticket)
        return status == S.USED

    def ticket(self, name: int | Key) -> int:
        """Return the ticket that a key stands for; a ticket stands for itself."""
        return checked_ticket(self._keys.ticket(name))

    def _refusal(self, status: int, ticket: int, where: str) -> refusals.Refusal:
        of_ticket = refusals.of_ticket(status, ticket, self._memory.rounds, where)
        if of_ticket is not None:
            return of_ticket
        return BadFeedback(
            f"{where}the cost of ticket {ticket} is not finite, or too large to compute with "
            "(1e50); nothing has changed: send a finite one, or cancel the ticket"
        )

    @property
    def rounds(self) -> int:
        """Predictions so far; also the next ticket."""
        return self._memory.rounds

    @property
    def open(self) -> int:
        """Tickets that still wait for their cost."""
        return self._memory.open

    @alone
    def best(self, context: Any = None) -> Setting:
        """Return the setting that seems best now."""
        settings, memory = self._settings, self._memory
        given = settings.features(context)
        x = np.empty(len(settings.knobs))
        self._step(memory.f, memory.n, L.BEST, 0, 0.0, given, x)
        return settings.setting(x.tolist())


def _number(value: Any) -> float:
    try:
        return math.nan if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
