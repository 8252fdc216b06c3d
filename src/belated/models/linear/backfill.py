"""Old events in batches: predictions with their times first, and the answers with theirs later.

A model learns events in the order of its calls. Where many old predictions come in one call and
their answers in the next, every answer seems to be as late as all of the predictions. So a model
keeps batches whose rows have times of their own, and its state before them. Answers that are
earlier than some of these predictions are merged with them in the order of time, from that state
on, as ``replay`` would have done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from belated.arrays import Bools, Floats, Ints
from belated.core.online import named_error
from belated.errors import BelatedError, UnknownTicket
from belated.keys import Key
from belated.models.linear.rows import Rows
from belated.models.named import Named

if TYPE_CHECKING:
    from belated.models.linear.model import LinearModel

LEAST_SHARE = 10
"""A batch is taken for history if it is larger than a tenth of what the model has seen."""


class Batch(NamedTuple):
    """Predictions of one call, with a time for every row, or one that stands for all."""

    rows: Rows
    names: list[Key | None] | None
    times: Floats
    kind: int
    """Of the times; 0: there are none."""

    @property
    def has_times(self) -> bool:
        """Whether the rows have times that differ."""
        return self.kind > 0 and self.times.size > 1


class Backfill:
    """Batches of old predictions, the answers to them, and the state of the model before."""

    def __init__(self, model: LinearModel) -> None:
        """Take the state of a model; that of a new one is known."""
        self._before = model._state_now() if model.rounds else None
        self._begin = model.rounds
        self._keys = model._keys
        self._batches: list[Batch] = []
        self._answers: list[tuple[Ints, Floats, Floats, Floats]] = []
        self._mark: Any = None

    def is_current(self, model: LinearModel) -> bool:
        """Tell whether nothing else has happened to the model."""
        return bool(self._mark == _mark(model))

    @property
    def takes_predictions(self) -> bool:
        """Whether the next batch may be a part of it; with answers, it is complete."""
        return not self._answers

    def add_batch(self, model: LinearModel, batch: Batch) -> None:
        """Keep predictions that were made."""
        indptr, indices, values = batch.rows
        rows = Rows(indptr.copy(), indices.copy(), values.copy())
        self._batches.append(batch._replace(rows=rows))
        self.note(model)

    @property
    def ticket_of(self) -> dict[Key, int]:
        """The tickets of all keys, also of tickets that are closed by now."""
        names: dict[Key, int] = {} if self._before is None else dict(self._before[1]["keys"])
        begin = self._begin
        for batch in self._batches:
            pairs = zip(batch.names or (), range(begin, begin + batch.rows.height), strict=False)
            names |= {name: ticket for name, ticket in pairs if name is not None}
            begin += batch.rows.height
        return names

    def ticket(self, name: int | Key) -> int:
        """Return the ticket that a key stands for; a ticket stands for itself."""
        try:
            return int(self._keys.ticket(name))
        except UnknownTicket:
            found = self.ticket_of.get(name) if isinstance(name, str) else None
            if found is None:
                raise
            return found

    def observe(
        self, model: LinearModel, heard: Named, labels: Floats, weights: Floats, times: Floats
    ) -> Bools | None:
        """Merge answers, and return which were used; None: they are not too early to be learned."""
        tickets = heard.tickets
        self._check(model, heard, labels, weights)
        self._answers.append((tickets, labels, weights, np.broadcast_to(times, tickets.shape)))
        latest = max(float(batch.times.max()) for batch in self._batches)
        if not (times <= latest).any():
            return None
        try:
            return self._merge(model)[-tickets.size :]
        except BaseException as error:
            self._answers.pop()
            if isinstance(error, BelatedError):  # a label that cannot be
                raise named_error(error, "replay", "observe_many") from None
            raise

    def forget_last(self) -> None:
        """Forget the newest answers, which the model has refused."""
        self._answers.pop()

    def _check(self, model: LinearModel, heard: Named, labels: Floats, weights: Floats) -> None:
        """Refuse tickets that were answered before or never handed out, as without times."""
        closed = np.concatenate([np.empty(0, np.int64), *(answers[0] for answers in self._answers)])
        tickets = heard.tickets
        is_wrong = np.isin(tickets, closed) | (tickets < 0) | (tickets >= model.rounds)
        for place in np.flatnonzero(is_wrong).tolist():
            try:
                model._keys.ticket(tickets[place] if heard.names is None else heard.names[place])
            except UnknownTicket as error:
                raise named_error(error, "", f"observe_many: position {place}") from None
            told = tickets[place : place + 1], labels[place : place + 1], weights[place : place + 1]
            _, status = model._linear.first_refused(*told, False)
            if status < 0:
                raise model._refused(status, *told, 0, heard.at("observe_many", place))

    def note(self, model: LinearModel) -> None:
        """Remember where the model stands."""
        self._mark = _mark(model)

    def _merge(self, model: LinearModel) -> Bools:
        """Let the model learn all events in the order of time; return which answers were used.

        An answer comes before predictions at the same time, but after its own.
        """
        parts = [batch.rows for batch in self._batches]
        starts = np.concatenate([[0], np.cumsum([part.indptr[-1] for part in parts])])
        bounds = [part.indptr[1:] + start for part, start in zip(parts, starts, strict=False)]
        rows = Rows(
            np.concatenate([[0], *bounds]).astype(np.int64),
            np.concatenate([part.indices for part in parts]),
            np.concatenate([part.values for part in parts]),
        )
        asked = np.concatenate([batch.times for batch in self._batches])
        tickets, labels, weights, heard = (
            np.concatenate(column) for column in zip(*self._answers, strict=True)
        )
        places = np.searchsorted(np.maximum.accumulate(asked), heard, side="left")
        places = np.maximum(places, tickets - self._begin + 1)
        order = np.lexsort((heard, places))
        events = np.insert(
            np.arange(self._begin, self._begin + asked.size), places[order], ~tickets[order]
        )
        times = np.insert(asked, places[order], heard[order])
        first = int(tickets.min())
        by_ticket = np.zeros((2, int(tickets.max()) + 1 - first))
        by_ticket[:, tickets - first] = labels, weights
        other = model.fresh()
        if self._before is not None:
            other._linear.restore(self._before[0])
        given = (rows, by_ticket[0], events, by_ticket[1], first, times, None, None)
        used = other._replay(given, None, None).used
        other._linear.kind_of_times = model._linear.kind_of_times
        alive = other.answerable()
        model._linear.restore(other._state_now()[0])
        model._keys.restore({"keys": [[k, t] for k, t in self.ticket_of.items() if t in alive]})
        found: Bools = used[tickets - first]
        return found


def begun(model: LinearModel, batch: Batch) -> Backfill | None:
    """Return what keeps a batch that is about to be predicted; None: nothing does."""
    rows, rounds = batch.rows.height, model.rounds
    if not batch.has_times:
        return None
    before = model._backfill
    if before is not None and before.takes_predictions and before.is_current(model):
        return before
    return Backfill(model) if rows * LEAST_SHARE > rounds else None


def _mark(model: LinearModel) -> Any:
    """Return what differs after every other event."""
    linear = model._linear
    return linear.counts(), linear.answers.count, linear.clock
