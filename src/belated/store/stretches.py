"""Long stretches of the log of a linear model, through the compiled loop over whole logs.

Predictions from named features, and labels, go through ``LinearModel.replay``, which gives the same
bits as one event after the other; everything else is applied as it comes. Keys are given to tickets
when a stretch ends, and only to those that can still be answered.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from belated.errors import StoreError
from belated.keys import Key, check_key
from belated.models.linear.model import LinearModel
from belated.store.arguments import row_in
from belated.store.events import OBSERVE, PREDICT, Event, LoggedTime

_SHORT = 5000  # events for which arrays of the whole stretch are not worth it


def apply_all(
    model: LinearModel, events: list[Event], apply: Callable[[LinearModel, Event], None]
) -> None:
    """Do again what was done, event by event or many at a time."""
    begin, keys = 0, _Keys(model)
    while begin < len(events):
        end = _end(model, events, begin)
        if end - begin >= _SHORT:
            _replay(model, events[begin:end], keys)
        else:
            keys.give()
            end = max(end, begin + 1)
            for event in events[begin:end]:
                apply(model, event)
        begin = end
    keys.give()


def _end(model: LinearModel, events: list[Event], begin: int) -> int:
    """Return where a stretch ends that begins here: all with times, or all without."""
    has_times: bool | None = None
    for place in range(begin, len(events)):
        event = events[place]
        if event[0] == PREDICT:
            is_plain = event[1].__class__ is dict and len(event) < 5
        elif event[0] == OBSERVE:
            is_plain = True
        else:
            return place
        at = _time(event)
        if at.__class__ is str:  # the first date says of what kind dates are
            return place
        is_timed = at is not None
        if has_times is None:
            has_times = is_timed
            if model._times.has_times and not is_timed:  # the clock stands still, see ``_time``
                return place
        if not is_plain or is_timed is not has_times:
            return place
    return len(events)


def _time(event: Event) -> LoggedTime | None:
    """Return the time of a prediction or a label, or None where it has none."""
    return event[3] if len(event) > 3 else None


def _replay(model: LinearModel, events: list[Event], keys: _Keys) -> None:
    """Play a stretch."""
    ticket = model.rounds
    order, rows, tickets, labels, weights = [], [], [], [], []
    for event in events:
        if event[0] == PREDICT:
            order.append(ticket)
            rows.append(event[1])
            if len(event) > 2:
                keys.note(ticket, event[2])
            ticket += 1
        else:
            number, key = event[1], None
            if number.__class__ is list:
                number, key = number
            order.append(~number)
            tickets.append(number)
            labels.append(event[2])
            weights.append(event[4] if len(event) > 4 else 1.0)
            keys.forget(key)
    times = None
    if _time(events[0]) is not None:
        times = np.array([_time(event) for event in events], dtype=np.float64)
    if tickets and not 0 <= min(tickets) <= max(tickets) < ticket:
        raise StoreError("a label is of a ticket that was never there")
    numbers = np.array(tickets, dtype=np.int64)
    first = int(numbers.min(initial=model.rounds))
    answers = np.zeros(int(numbers.max(initial=first)) - first + 1)
    counts = np.ones(answers.size)
    answers[numbers - first], counts[numbers - first] = labels, weights
    model.replay(
        model.hasher.rows(row_in(model, row) for row in rows),
        answers,
        np.array(order, dtype=np.int64),
        weights=counts,
        first=first,
        at=times,
    )


class _Keys:
    """Keys that were given in a stretch, each to the ticket that had it last."""

    def __init__(self, model: LinearModel) -> None:
        self._model = model
        self._new: dict[Key, int] = {}

    def note(self, ticket: int, key: Key | None) -> None:
        """Remember the key of a ticket."""
        if key is not None:
            check_key(key)
            self._new[key] = ticket

    def forget(self, name: Key | None) -> None:
        """Forget the key by which a ticket was answered."""
        if name is not None:
            check_key(name)
            self._new.pop(name, None)
            self._model._drop_keys([name])

    def give(self) -> None:
        """Let the model know the keys of what can still be answered."""
        if self._new:
            alive = self._model.answerable()
            self._model._drop_keys(self._new)  # they are no older ones' any more, either
            self._model._give_keys(pair for pair in self._new.items() if pair[1] in alive)
            self._new.clear()
