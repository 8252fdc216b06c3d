"""The log of a model: rows, read some at a time, and lines for people to look at."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import count, islice
from typing import Any, NamedTuple, TypeVar

from belated.errors import BelatedError, StoreDamaged
from belated.keys import Key
from belated.models.knobs.settings import Settings as KnobsSettings
from belated.models.linear.settings import Settings as LinearSettings
from belated.store import events as of
from belated.store.database import Described, Readable, Row, Saved
from belated.store.events import Event, clocked
from belated.store.kinds import KINDS
from belated.store.tables import Tables
from belated.store.writer import Writer

T = TypeVar("T")

_ROWS = 10_000  # that are read while nothing is committed
_CHUNK = 20_000  # events that are decoded at once
# What a model says of an event, also a hostile one. All else comes from elsewhere, such as a time
# limit or a want of memory, and says nothing of the log.
REFUSALS = BelatedError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError

Told = LinearSettings | KnobsSettings
"""A row value, label or reward in the log."""


class Logged(NamedTuple):
    """One thing that was done to a model, as its log has it."""

    number: int
    """Number of the event."""
    written: float
    """When it was committed, in seconds since 1970."""
    verb: str
    """The method: "predict", "choose", "observe" and so on."""
    ticket: int | None = None
    key: Key | None = None
    at: float | None = None
    """The time that the model was told."""
    value: float | None = None
    """The label, reward or amount; of a prediction, what another process showed."""
    features: Any = None
    """The features or the context, as they are logged."""
    action: str | None = None
    """The action that was played; of ``Knobs`` the setting, as JSON."""
    probability: float | None = None
    offered: tuple[str, ...] | None = None
    """The actions that this choice was among; None: those of the chooser."""
    hidden: bool = False
    """Whether it was not shown at once."""
    weight: float | None = None
    """How often a label counts; None: once."""
    version: int | None = None
    """How many events the copy had seen that gave a prediction; None: the model itself gave it."""


class LogLines(Iterator[Logged]):
    """The log of a model, line by line and once, with what audits and replays ask of its model."""

    def __init__(
        self, lines: Iterator[Logged], kind: str, spec: bytes, eras: Sequence[bytes] = ()
    ) -> None:
        self._lines, self._spec, self._eras = lines, spec, eras
        self.kind = kind
        """The class of the model."""

    def __iter__(self) -> Iterator[Logged]:
        return self._lines

    def __next__(self) -> Logged:
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
        told: Told = clocked(KINDS[self.kind].restored(spec)).settings
        return told


# --- Rows -----------------------------------------------------------------------------------------


class Reader:
    """Reads a database some rows at a time, on the writer thread."""

    def __init__(self, database: Tables, writer: Writer) -> None:
        self._database, self._writer = database, writer

    def rows(self, model: int, first: int) -> Iterator[Row]:
        return self._some(self._database.rows(model, first), _ROWS)

    def snapshots(self, model: int) -> Iterator[Saved]:
        return self._some(self._database.snapshots(model), 1)

    def _some(self, found: Iterator[T], most: int) -> Iterator[T]:
        while some := self._writer.run(lambda: list(islice(found, most))):
            yield from some


def chunks(database: Readable, about: Described, first: int) -> Iterator[list[Row]]:
    """Return rows of the log with events from ``first`` on, none missing, some at a time."""
    expected, count, some = first, 0, []
    for row in database.rows(about.number, first):
        if row.first > expected or (row.first < expected and expected > first):
            raise StoreDamaged(
                f"{about.name!r}: the log goes from event {expected} to event {row.first}: "
                "something was taken out of it"
            )
        some.append(row)
        expected = row.first + row.size
        count += row.size
        if count >= _CHUNK:
            yield some
            count, some = 0, []
    if some:
        yield some


def unseal(about: Described, row: Row) -> bytes:
    """Return the text of a row of the log, or say which one is damaged."""
    try:
        return of.unseal_row(row)
    except StoreDamaged as error:
        raise StoreDamaged(
            f"{about.name!r}: events {row.first} to {row.first + row.size - 1}: {error}"
        ) from None


def read_events(
    database: Readable, about: Described, first: int
) -> Iterator[tuple[Row, list[Event]]]:
    """Return the rows of the log with events from ``first`` on, each with all of its events."""
    for some in chunks(database, about, first):
        for row in some:
            yield row, of.decode_events([unseal(about, row)])


# --- Lines ----------------------------------------------------------------------------------------


def lines(database: Readable, about: Described, ticket: int) -> Iterator[tuple[Logged, Row, Event]]:
    """Return the log of a model from the first event that is kept, and its first ticket.

    Each line comes with its row of the log and its event.
    """
    tickets = count(ticket)
    for row, events in read_events(database, about, about.first):
        for number, event in enumerate(events, row.first):
            line = make_line(event)
            if event[0] == of.PREDICT:
                line = line._replace(ticket=next(tickets))
            yield line._replace(number=number, written=row.written), row, event


def make_line(event: Event) -> Logged:
    """Return the line of one event, which does not know the ticket that it handed out."""
    code, at, key = event[0], of.time_in(of.at_of(event)), of.key_of(event)
    if code == of.PREDICT:
        _, row, _, _, _, played, menu, _, hidden, value, version, is_erased = of.padded(event, 12)
        if is_erased:
            return Logged(0, 0.0, of.NAMES[of.ERASED], at=at)
        line = Logged(0, 0.0, "predict", key=key, at=at, features=row, value=value, version=version)
        if isinstance(played, dict):
            return line._replace(action=json.dumps(played))
        if played is None:
            return line
        action, probability = played
        offered = None if menu is None else tuple(menu)
        return line._replace(
            verb="choose",
            action=action,
            probability=probability,
            offered=offered,
            hidden=bool(hidden),
        )
    line = Logged(0, 0.0, of.NAMES[code], at=at, key=key)
    if code not in of.ANSWERING:
        return line._replace(action=event[1]) if code == of.MODE else line
    line = line._replace(ticket=of.ticket_of(event))
    if code == of.PLAYED:
        return line._replace(action=json.dumps(event[2]))
    if code not in of.ANSWERS:
        return line
    _, _, value, _, weight = of.padded(event, 5)
    number = None if isinstance(value, str | list) else value
    return line._replace(value=number, weight=weight)
