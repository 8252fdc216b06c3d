"""Intervals in a store."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, ClassVar

from belated.errors import AlreadyObserved, UnknownTicket
from belated.keys import Key
from belated.models.intervals import Interval, Intervals, IntervalsReport, Range
from belated.models.linear.explain import Explanation
from belated.models.linear.features import Features
from belated.models.linear.given import Row
from belated.models.linear.model import LinearModel
from belated.models.moments import Time
from belated.store import events as of
from belated.store.events import Event
from belated.store.of_linear import as_logged, row_in, row_out, ticked, timed
from belated.store.past import Past
from belated.store.stored import Done, resolved
from belated.store.timed import TimedModel


class StoredIntervals(TimedModel):
    """``Intervals`` in a store; see ``StoredModel``."""

    __slots__ = ()

    @staticmethod
    def _holder(model: Intervals) -> LinearModel:
        return model.model

    def predict(self, features: Row, *, key: Key | None = None, at: Time | None = None) -> Interval:
        """Return the next ticket, a prediction, and the interval around it."""
        interval: Interval = self._done(StoredIntervals._predict, features, key, at)
        return interval

    def _predict(
        self, model: Intervals, features: Row, key: Key | None = None, at: Time | None = None
    ) -> Done:
        row = row_out(model.model, features)
        now = self._now(at, "predict")
        given = as_logged(model.model, features, row)
        return model.predict(given, key=key, at=now), [of.PREDICT, row, key, now]

    def observe(self, ticket: int | Key, label: float, *, at: Time | None = None) -> bool:
        """Learn the label of a ticket; see ``Intervals.observe``."""
        used: bool = self._done(StoredIntervals._observe, ticket, label, at)
        return used

    def _observe(
        self, model: Intervals, ticket: int | Key, label: float, at: Time | None = None
    ) -> Done:
        number, name = resolved(model.model, ticket)
        now = self._now(at, "observe")
        used = model.observe(ticket, label, at=now)
        return used, [of.OBSERVE, number, of.number_out(label), name, now]

    def peek(self, features: Row) -> Range:
        """Return what ``predict`` would, without a ticket."""
        return self.read(lambda model: model.peek(features))  # type: ignore[no-any-return]

    def explain(self, features: Features) -> Explanation:
        """Return what each named feature adds to the value now, largest first."""
        return self.read(lambda model: model.explain(features))  # type: ignore[no-any-return]

    def weights(self, names: Iterable[str | tuple[str, str]]) -> dict[Any, float]:
        """Return the weights of features in the value; see ``LinearModel.weights``."""
        wanted = list(names)
        return self.read(lambda model: model.weights(wanted))

    def report(self) -> IntervalsReport:
        """Return the coverage so far, what is guaranteed, the worst stretch and the mean width."""
        return self.read(lambda model: model.report())  # type: ignore[no-any-return]

    @property
    def coverage(self) -> float:
        """The share of labels that is to be covered."""
        return self.read(lambda model: float(model.coverage))

    _verbs: ClassVar[dict[str, Any]] = {
        **TimedModel._verbs,
        "predict": _predict,
        "observe": _observe,
    }


def apply(model: Intervals, event: Event) -> None:
    """Do again what was done."""
    verb = event[0]
    if verb == of.PREDICT:
        _, row, key, at = of.padded(event, 4)
        model.predict(row_in(model.model, row), key=key, at=at)
    elif verb == of.OBSERVE:
        _, ticket, label, name, at = of.padded(event, 5)
        model.observe(of.named(ticket, name), label, at=at)
    elif verb == of.TICK:
        model.tick(event[1])
    else:
        _, ticket, name = of.padded(event, 3)
        model.cancel(of.named(ticket, name))


def play(model: Intervals, event: Event, past: Past) -> None:
    """Do what was done with other settings; what is closed already is passed over."""
    verb = event[0]
    if verb == of.PREDICT:
        _, row, key, at = of.padded(event, 4)
        if key is not None:
            past.give(key, model.model.rounds)
        model.predict(row_in(model.model, row), at=timed(model.model, at, past))
        return
    if verb == of.TICK:
        ticked(model, event, past)
        return
    with suppress(AlreadyObserved, UnknownTicket):
        if verb == of.OBSERVE:
            _, ticket, label, _, at = of.padded(event, 5)
            model.observe(ticket, label, at=timed(model.model, at, past))
        else:
            model.cancel(event[1])
