"""The log as people look at it: one line per prediction, answer, and whatever else was done."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import count, pairwise, repeat
from typing import Any, NamedTuple

from belated.keys import Key
from belated.models.knobs.settings import Settings as KnobsSettings
from belated.models.linear.settings import Settings as LinearSettings
from belated.store import events as of
from belated.store.database import Described, Readable
from belated.store.events import Event
from belated.store.kinds import KINDS
from belated.store.recovery import chunks, opened
from belated.store.stored import clocked

Told = LinearSettings | KnobsSettings
"""What a model was told."""


class Logged(NamedTuple):
    """One thing that was done to a model, as its log has it."""

    number: int
    """Number of the event; ``predict_many`` and ``observe_many`` are one for all their rows."""
    written: float
    """When it was committed, in seconds since 1970."""
    verb: str
    """What was called: "predict", "choose", "observe" and so on."""
    ticket: int | None = None
    key: Key | None = None
    at: float | None = None
    """The time that the model was told."""
    value: float | None = None
    """The label, reward or amount."""
    features: Any = None
    """The features or the context, as they are logged."""
    action: str | None = None
    """What was played; of ``Knobs`` the setting, as JSON."""
    probability: float | None = None
    offered: tuple[str, ...] | None = None
    """The actions that this choice was among; None: those of the chooser."""
    hidden: bool = False
    """Whether it was not shown at once."""
    weight: float | None = None
    """How often a label counts; None: once."""


class LogLines(Iterator[Logged]):
    """The log of a model, line by line and once, with what audits and replays ask of its model."""

    def __init__(
        self, lines: Iterator[Logged], kind: str, spec: bytes, eras: Sequence[bytes] = ()
    ) -> None:
        self._lines, self._spec, self._eras = lines, spec, eras
        self.kind = kind
        """The class of the model."""

    def __iter__(self) -> Iterator[Logged]:
        """Return the lines that are left."""
        return self._lines

    def __next__(self) -> Logged:
        """Return the next line."""
        return next(self._lines)

    def settings(self) -> Told | None:
        """Return the settings of the model that has the clock; None for a learner's."""
        return self._settings(self._spec)

    def earlier(self) -> list[Told]:
        """Return the settings that it had before ``rebuild`` gave it others."""
        return [told for spec in self._eras if (told := self._settings(spec)) is not None]

    def _settings(self, spec: bytes) -> Told | None:
        if self.kind == "Learner":  # which has no deadline, and may need parts that no file holds
            return None
        return clocked(KINDS[self.kind].restored(spec, None)).settings


def lines(database: Readable, about: Described, start: Any) -> Iterator[Logged]:
    """Return the log of a model that was ``start`` before the first event that is kept."""
    tickets = count(KINDS[about.kind].rounds(start))
    for some in chunks(database, about, about.first):
        for row in some:
            for place, event in enumerate(of.decoded([opened(about, row)])):
                for line in lines_of(about.kind, event, tickets):
                    yield line._replace(number=row.first + place, written=row.written)


def lines_of(kind: str, event: Event, tickets: Iterator[int]) -> Iterator[Logged]:
    """Return the lines of an event, which do not know yet where it stands."""
    verb = event[0]
    if verb == of.PREDICT_MANY:
        _, rows, at, _ = of.padded(event, 4)
        each = rows if isinstance(rows, list) else _pairs(rows)
        keys = keys_of(kind, event) or repeat(None, rows_in(event))
        for row, key in zip(each, keys, strict=True):
            yield Logged(0, 0.0, "predict", next(tickets), key=key, at=of.time_in(at), features=row)
    elif verb == of.OBSERVE_MANY:
        numbers, labels = of.ints_in(event[1]).tolist(), of.floats_in(event[2]).tolist()
        _, _, _, at, weights = of.padded(event, 5)[:5]
        nothing = repeat(None, len(numbers))
        counts = nothing if weights is None else of.floats_in(weights).tolist()
        keys = keys_of(kind, event) or repeat(None, len(numbers))
        for ticket, value, key, weight in zip(numbers, labels, keys, counts, strict=True):
            yield Logged(0, 0.0, "observe", ticket, key, of.time_in(at), value, weight=weight)
    elif verb == of.PREDICT:
        yield predicted(kind, event)._replace(ticket=next(tickets))
    else:
        yield done(event)


def _pairs(rows: Any) -> Iterator[list[str]]:
    """Return the rows of a table as single ones are logged: indices and values."""
    starts, indices, values = rows["rows"]
    ends, where, what = of.ints_in(starts).tolist(), of.ints_in(indices), of.floats_in(values)
    for begin, end in pairwise(ends):
        yield [of.ints_out(where[begin:end]), of.floats_out(what[begin:end])]


def rows_in(event: Event) -> int:
    """Return how many tickets a prediction hands out."""
    if event[0] == of.PREDICT:
        return 1
    rows = event[1]
    return len(rows) if isinstance(rows, list) else of.ints_in(rows["rows"][0]).size - 1


def predicted(kind: str, event: Event) -> Logged:
    """Return the line of a prediction or a choice."""
    if kind == "Learner":
        return Logged(0, 0.0, "predict", key=of.padded(event, 2)[1])
    if kind == "Knobs":
        _, setting, key, context, at = of.padded(event, 5)
        played = json.dumps(setting)
        return Logged(
            0, 0.0, "predict", key=key, at=of.time_in(at), features=context, action=played
        )
    if kind == "Chooser":
        _, context, action, probability, key, at, _, menu, _, hidden = of.padded(event, 10)
        return Logged(
            *(0, 0.0, "choose"),
            key=key,
            at=of.time_in(at),
            features=context,
            action=action,
            probability=probability,
            offered=None if menu is None else tuple(menu),
            hidden=bool(hidden),
        )
    _, row, key, at = of.padded(event, 4)[:4]
    return Logged(0, 0.0, "predict", key=key, at=of.time_in(at), features=row)


_ASKED = {"Learner": 1, "Knobs": 2, "Chooser": 4, "LinearModel": 2, "Intervals": 2}
_MANY = {of.PREDICT_MANY: 3, of.OBSERVE_MANY: 5}
_HEARD = {of.OBSERVE: 3, of.REVISE: 3, of.ADD: 3, of.CANCEL: 2, of.SHOWN: 2, of.PLAYED: 3}


def key_of(kind: str, event: Event) -> Key | None:
    """Return the key that the line of an event has, quicker than the line is made."""
    place = _ASKED[kind] if event[0] == of.PREDICT else _HEARD.get(event[0], len(event))
    return event[place] if place < len(event) else None


def keys_of(kind: str, event: Event) -> Sequence[Key | None]:
    """Return the keys of all that an event is about, in their order; empty where many have none."""
    place = _MANY.get(event[0])
    if place is None:
        return (key_of(kind, event),)
    return event[place] if place < len(event) else ()


def done(event: Event) -> Logged:
    """Return the line of what is no prediction."""
    verb = of.NAMES[event[0]]
    if event[0] in (of.OBSERVE, of.REVISE, of.ADD):
        _, ticket, value, key, at, weight = of.padded(event, 6)
        number = None if isinstance(value, str) else value
        return Logged(0, 0.0, verb, ticket, key=key, at=of.time_in(at), value=number, weight=weight)
    if event[0] in (of.CANCEL, of.SHOWN):
        _, ticket, key, at = of.padded(event, 4)
        return Logged(0, 0.0, verb, ticket, key=key, at=of.time_in(at))
    if event[0] == of.PLAYED:
        _, ticket, setting, key = of.padded(event, 4)
        return Logged(0, 0.0, verb, ticket, key=key, action=json.dumps(setting))
    if event[0] == of.TICK:
        return Logged(0, 0.0, verb, at=of.time_in(event[1]))
    return Logged(0, 0.0, verb, action=event[1] if event[0] == of.MODE else None)
