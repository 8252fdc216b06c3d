"""Verbs that models with a clock share, and those whose answers may change."""

from __future__ import annotations

from typing import Any, ClassVar

from belated.keys import Key
from belated.models.moments import Time
from belated.store import events as of
from belated.store.stored import Done, StoredModel, resolved


class TimedModel(StoredModel):
    """A model whose tickets may have deadlines."""

    __slots__ = ()

    def tick(self, at: Time | None = None) -> None:
        """Let the clock go on, to that of the system if no time is given: what is due is closed."""
        self._done(TimedModel._tick, at)

    def _tick(self, model: Any, at: Time | None = None) -> Done:
        now = self._tick_at(at)
        model.tick(now)
        return None, [of.TICK, now]

    _verbs: ClassVar[dict[str, Any]] = {**StoredModel._verbs, "tick": _tick}


class CorrectedModel(TimedModel):
    """A model whose answers may come in parts."""

    __slots__ = ()

    def add(self, ticket: int | Key, amount: float, *, at: Time | None = None) -> bool:
        """Add an amount to the answer so far, which is that of silence where nothing was heard."""
        used: bool = self._done(CorrectedModel._add, ticket, amount, at)
        return used

    def _add(self, model: Any, ticket: int | Key, amount: float, at: Time | None = None) -> Done:
        number, name = resolved(model, ticket)
        now = self._now(at, "add")
        used = model.add(ticket, amount, at=now)
        return used, [of.ADD, number, of.number_out(amount), name, now]

    _verbs: ClassVar[dict[str, Any]] = {**TimedModel._verbs, "add": _add}
