"""Linear models in a store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from belated.arrays import Floats, Ints
from belated.errors import AlreadyObserved, UnknownTicket
from belated.keys import Key
from belated.models.clock import Duration
from belated.models.knobs import Knobs
from belated.models.linear.explain import Explanation
from belated.models.linear.features import Features
from belated.models.linear.given import Many, Row, refuse_table
from belated.models.linear.model import Forecast, LinearModel
from belated.models.linear.report import LinearReport
from belated.models.linear.rows import Rows
from belated.models.linear.settings import Settings
from belated.models.moments import Time
from belated.models.named import Named, listed_keys, named
from belated.store import events as of
from belated.store.cells import cells_in, cells_out
from belated.store.events import Event
from belated.store.past import Past
from belated.store.stored import Done, clocked, resolved
from belated.store.timed import CorrectedModel


class StoredLinear(CorrectedModel):
    """A ``LinearModel`` in a store; see ``StoredModel``."""

    __slots__ = ()

    def predict(
        self,
        features: Row,
        *,
        key: Key | None = None,
        at: Time | None = None,
        deadline: Duration | None = None,
    ) -> Forecast:
        """Return the next ticket and a prediction; see ``LinearModel.predict``.

        Where the deadline is a length of time and ``at`` is not given, it is the time of the
        system, which is logged.
        """
        forecast: Forecast = self._done(StoredLinear._predict, features, key, at, deadline)
        return forecast

    def _predict(
        self,
        model: LinearModel,
        features: Row,
        key: Key | None = None,
        at: Time | None = None,
        deadline: Duration | None = None,
    ) -> Done:
        if features.__class__ is dict and model.settings.columns is None:  # as nearly always
            row = given = of.plain_dict(features)
        else:
            row = row_out(model, features)
            given = as_logged(model, features, row)
        now, span = self._when(at, deadline, "predict")
        forecast = model.predict(given, key=key, at=now, deadline=span)
        return forecast, [of.PREDICT, row, key, now, span]

    def observe(
        self, ticket: int | Key, label: float, weight: float = 1.0, *, at: Time | None = None
    ) -> bool:
        """Learn the label of a ticket, the last word on it; see ``LinearModel.observe``."""
        used: bool = self._done(StoredLinear._observe, ticket, label, weight, at)
        return used

    def _observe(
        self,
        model: LinearModel,
        ticket: int | Key,
        label: float,
        weight: float = 1.0,
        at: Time | None = None,
    ) -> Done:
        number, name = resolved(model, ticket)
        now = self._now(at, "observe")
        used = model.observe(ticket, label, weight, at=now)
        counts = None if weight == 1.0 else of.number_out(weight)
        return used, [of.OBSERVE, number, of.number_out(label), name, now, counts]

    def revise(self, ticket: int | Key, label: float, *, at: Time | None = None) -> bool:
        """Learn the label so far; the ticket stays open. See ``LinearModel.revise``."""
        used: bool = self._done(StoredLinear._revise, ticket, label, at)
        return used

    def _revise(
        self, model: LinearModel, ticket: int | Key, label: float, at: Time | None = None
    ) -> Done:
        number, name = resolved(model, ticket)
        now = self._now(at, "revise")
        used = model.revise(ticket, label, at=now)
        return used, [of.REVISE, number, of.number_out(label), name, now]

    def predict_many(
        self, rows: Many, *, keys: Iterable[Key | None] | None = None, at: Time | None = None
    ) -> tuple[Ints, Floats]:
        """Predict for many rows at one time, as one event; see ``LinearModel.predict_many``."""
        found: tuple[Ints, Floats] = self._done(StoredLinear._predict_many, rows, at, keys)
        return found

    def _predict_many(
        self,
        model: LinearModel,
        rows: Many,
        at: Time | None = None,
        keys: Iterable[Key | None] | None = None,
    ) -> Done:
        if isinstance(rows, Iterable) and not isinstance(rows, tuple | np.ndarray | list | str):
            refuse_table(rows, "predict_many")
            rows = list(rows)
        plain = rows_out(model, rows)
        now = self._now(at, "predict_many")
        given = rows if model.settings.columns is None else rows_in(model, plain)
        names = None if keys is None else listed_keys(keys, "predict_many")
        answer = model.predict_many(given, keys=names, at=now)
        return answer, [of.PREDICT_MANY, plain, now, names]

    def observe_many(
        self,
        tickets: ArrayLike | Iterable[Any],
        labels: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        at: Time | None = None,
    ) -> NDArray[np.bool_]:
        """Learn many labels at one time, as one event; see ``LinearModel.observe_many``."""
        used: NDArray[np.bool_] = self._done(
            StoredLinear._observe_many, tickets, labels, weights, at
        )
        return used

    def _observe_many(
        self,
        model: LinearModel,
        tickets: ArrayLike | Iterable[Any],
        labels: ArrayLike,
        weights: ArrayLike | None = None,
        at: Time | None = None,
    ) -> Done:
        now = self._now(at, "observe_many")
        heard = named(tickets, model._keys, "observe_many")
        names = _names_out(model, heard)
        given = heard.tickets if heard.names is None else heard.names
        used = model.observe_many(given, labels, weights, at=now)
        counts = None if weights is None else of.floats_out(np.asarray(weights))
        numbers = of.ints_out(heard.tickets), of.floats_out(np.asarray(labels))
        return used, [of.OBSERVE_MANY, *numbers, now, counts, names]

    # --- Reading --------------------------------------------------------------------------------

    def peek(self, features: Row) -> float:
        """Return what ``predict`` would, without a ticket and without any change."""
        return self.read(lambda model: float(model.peek(features)))

    def peek_many(self, rows: Many) -> Floats:
        """Return what ``predict`` would for each of many rows."""
        return self.read(lambda model: model.peek_many(rows))

    def explain(self, features: Features) -> Explanation:
        """Return what each named feature adds to the prediction now, largest first."""
        return self.read(lambda model: model.explain(features))  # type: ignore[no-any-return]

    def weights(self, names: Iterable[str | tuple[str, str]]) -> dict[Any, float]:
        """Return the weights of features; see ``LinearModel.weights``."""
        wanted = list(names)
        return self.read(lambda model: model.weights(wanted))

    def report(self) -> LinearReport:
        """Return counts, delays so far, the mean loss, and how much each expert counts."""
        return self.read(lambda model: model.report())  # type: ignore[no-any-return]

    def answerable(self) -> set[int]:
        """Return the tickets whose label would not be refused: open ones, and some given up on."""
        return self.read(lambda model: model.answerable())

    @property
    def spread(self) -> float:
        """Standard deviation of the labels so far, as they were learned; 0 before the first."""
        return self.read(lambda model: float(model.spread))

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays; those of coordinates never seen are not taken from the system."""
        return self.read(lambda model: int(model.nbytes))

    @property
    def settings(self) -> Settings:
        """What the model was told."""
        return self.read(lambda model: model.settings)  # type: ignore[no-any-return]

    _verbs: ClassVar[dict[str, Any]] = {
        **CorrectedModel._verbs,
        "predict": _predict,
        "observe": _observe,
        "revise": _revise,
        "predict_many": _predict_many,
        "observe_many": _observe_many,
    }


# --- Rows -----------------------------------------------------------------------------------------


def row_out(model: LinearModel, features: Any) -> Any:
    """Return a row as it is logged: an object, a pair of texts, or the text of a vector."""
    if features.__class__ is dict or isinstance(features, Mapping):
        plain = of.plain_dict if model.settings.columns is None else cells_out
        return plain(features)
    indices, values, count = model._given.row(features)
    if isinstance(features, tuple):
        return [of.ints_out(indices[:count]), of.floats_out(values[:count])]
    return of.floats_out(values[:count])


def as_logged(model: LinearModel, features: Any, row: Any) -> Any:
    """Return features as they will be read: what is given may differ in what is not kept."""
    if model.settings.columns is None:
        return row if row.__class__ is dict else features
    return row_in(model, row)


def row_in(model: LinearModel, row: Any) -> Any:
    """Undo ``row_out``."""
    if row.__class__ is dict:
        return row if model.settings.columns is None else cells_in(row)
    if isinstance(row, list):
        return of.ints_in(row[0]), of.floats_in(row[1])
    return of.floats_in(row)


def rows_out(model: LinearModel, rows: Any) -> Any:
    """Return many rows: a list of rows, or the text of three arrays."""
    if isinstance(rows, list):
        return [row_out(model, row) for row in rows]
    sparse = model._given.rows(rows, "predict_many")
    indices = of.ints_out(sparse.indptr), of.ints_out(sparse.indices)
    return {"rows": [*indices, of.floats_out(sparse.values)]}


def rows_in(model: LinearModel, rows: Any) -> Any:
    """Undo ``rows_out``."""
    if isinstance(rows, list):
        return [row_in(model, row) for row in rows]
    indptr, indices, values = rows["rows"]
    return Rows(of.ints_in(indptr), of.ints_in(indices), of.floats_in(values))


# --- The log --------------------------------------------------------------------------------------


def _names_out(model: LinearModel, heard: Named) -> list[Key | None] | None:
    """Return the keys among what tickets were called, as they are logged."""
    if heard.names is None:
        return None
    return [name if isinstance(name, str) else None for name in heard.names]


def _names_in(model: LinearModel, tickets: str, names: list[Key | None] | None) -> Any:
    """Undo it: return what ``observe_many`` takes for these tickets."""
    numbers = of.ints_in(tickets)
    if names is None:
        return numbers
    return list(map(of.named, numbers.tolist(), names))


def apply(model: LinearModel, event: Event) -> None:
    """Do again what was done."""
    verb = event[0]
    if verb == of.PREDICT:
        _, row, key, at, span = of.padded(event, 5)
        model.predict(row_in(model, row), key=key, at=at, deadline=span)
    elif verb == of.OBSERVE:
        _, ticket, label, name, at, weight = of.padded(event, 6)
        counts = 1.0 if weight is None else weight
        model.observe(of.named(ticket, name), label, counts, at=at)
    elif verb in (of.REVISE, of.ADD):
        _, ticket, label, name, at = of.padded(event, 5)
        change = model.revise if verb == of.REVISE else model.add
        change(of.named(ticket, name), label, at=at)
    elif verb == of.CANCEL:
        _, ticket, name = of.padded(event, 3)
        model.cancel(of.named(ticket, name))
    elif verb == of.TICK:
        model.tick(event[1])
    elif verb == of.PREDICT_MANY:
        _, rows, at, keys = of.padded(event, 4)
        model.predict_many(rows_in(model, rows), keys=keys, at=at)
    else:
        _, tickets, labels, at, weights, names = of.padded(event, 6)
        counts = None if weights is None else of.floats_in(weights)
        heard = _names_in(model, tickets, names)
        model.observe_many(heard, of.floats_in(labels), counts, at=at)


def timed(model: LinearModel | Knobs, at: of.LoggedTime | None, past: Past) -> of.LoggedTime | None:
    """Return the time of an event for a model of other settings.

    Where the log has none and the model needs one, it is when the event was written. A model that
    counts predictions has no use for any.
    """
    if at is None:
        return past.written if model.settings.needs_times else None
    past.has_times = True
    return None if _counts(model, past) else at


def _counts(model: LinearModel | Knobs, past: Past) -> bool:
    """Tell whether a model of other settings counts predictions, whatever times the log has.

    A number alone is in the unit of the times that a user gives. Where the deadline was a length of
    time the store gave them, and nobody has thought of a number as one of theirs.
    """
    settings = model.settings
    if settings.deadline is None or settings.needs_times or model._times.has_times:
        return False
    return past.needs_times or model._times.are_counted


def own_span(
    model: LinearModel, span: float | None, now: of.LoggedTime | None, past: Past
) -> float | None:
    """Return the deadline of one ticket for a model of other settings, at a time of its clock.

    One in time says nothing to a model that counts predictions, nor the other way round: then it is
    that of all tickets.
    """
    if model.settings.deadline is None:
        return None
    was_length = past.needs_times or past.has_times
    is_length = now is not None or model._times.has_times
    return span if was_length == is_length else None


def ticked(model: Any, event: Event, past: Past) -> None:
    """Let the clock of a model of other settings go on, unless it counts predictions."""
    past.has_times = True
    if not _counts(clocked(model), past):
        model.tick(event[1])


def play(model: LinearModel, event: Event, past: Past) -> None:
    """Do what was done with a model of other settings: tickets are the same, keys come later.

    What it has closed already is passed over.
    """
    verb = event[0]
    if verb == of.PREDICT:
        _, row, key, at, span = of.padded(event, 5)
        if key is not None:
            past.give(key, model.rounds)
        now = timed(model, at, past)
        own = own_span(model, span, now, past)
        model.predict(row_in(model, row), at=now, deadline=own)
    elif verb == of.PREDICT_MANY:
        _, rows, at, keys = of.padded(event, 4)
        past.give_many(keys or (), model.rounds)
        model.predict_many(rows_in(model, rows), at=timed(model, at, past))
    elif verb == of.TICK:
        ticked(model, event, past)
    elif verb == of.OBSERVE_MANY:
        _, tickets, labels, at, weights = of.padded(event, 5)[:5]
        counts = np.ones(of.ints_in(tickets).size) if weights is None else of.floats_in(weights)
        given = of.ints_in(tickets).tolist(), of.floats_in(labels).tolist(), counts.tolist()
        for each in zip(*given, strict=True):
            with suppress(AlreadyObserved, UnknownTicket):
                model.observe(*each, at=timed(model, at, past))
    else:
        with suppress(AlreadyObserved, UnknownTicket):
            _hear(model, event, past)


def _hear(model: LinearModel, event: Event, past: Past) -> None:
    """Tell a model of other settings what was heard of a ticket."""
    verb, ticket = event[:2]
    if verb == of.CANCEL:
        model.cancel(ticket)
        return
    _, _, label, _, at, weight = of.padded(event, 6)
    at = timed(model, at, past)
    if verb == of.OBSERVE:
        model.observe(ticket, label, 1.0 if weight is None else weight, at=at)
    elif verb == of.REVISE:
        model.revise(ticket, label, at=at)
    else:
        model.add(ticket, label, at=at)
