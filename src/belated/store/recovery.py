"""From the log to the model: the newest good snapshot, and what came after it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from belated.errors import BelatedError, SnapshotError, StoreDamaged, StoreError
from belated.logger import LOG
from belated.store.database import Described, Era, Readable, Row, Saved, Source
from belated.store.events import Event, decoded, opened_row, opened_snapshot
from belated.store.kinds import KINDS, Kind, answerable
from belated.store.replay_context import Past
from belated.store.tables import Tables
from belated.store.writer import Writer

T = TypeVar("T")

_ROWS = 10_000  # that are read while nothing is committed
_CHUNK = 20_000  # events that are decoded at once
# What a model says of an event, also a hostile one. All else comes from elsewhere, such as a time
# limit or a want of memory, and says nothing of the log.
_REFUSALS = BelatedError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError


class Recovered(NamedTuple):
    """A model as its log says that it is."""

    model: Any
    length: int
    """Events so far."""
    saved: int
    """Events before the newest good snapshot."""
    needs_times: bool
    """Whether its deadline is a length of time."""


def recovered(
    database: Source, about: Described, objects: Any, until: int | None = None
) -> Recovered:
    """Return the model that a log leads to, bit for bit the one that was there.

    ``until`` leaves out this event and all after it.
    """
    kind = KINDS[about.kind]
    model, saved = _start(database, about, objects, until)
    length = saved
    if length < about.replayed:  # without a snapshot of what the present settings made of them
        rebuilt = Rebuilt(about, model)
        rebuilt.go_on(database, about.replayed)
        rebuilt.finish()
        length = rebuilt.length
    was_enabled = gc.isenabled()
    gc.disable()  # there is no garbage, and looking for it takes a third of the time
    try:
        length = _applied(kind, model, database, about, length, until)
    finally:
        if was_enabled:
            gc.enable()
    if until is None and length < about.length:
        raise StoreDamaged(
            f"{about.name!r}: the log ends before event {length}, and once had {about.length}: "
            "something was taken out of it"
        )
    return Recovered(model, length, saved, kind.needs_times(model))


def _start(database: Source, about: Described, objects: Any, until: int | None) -> tuple[Any, int]:
    """Return the newest good snapshot, and how many events it has."""
    kind = KINDS[about.kind]
    for saved in database.snapshots(about.number):
        if until is not None and saved.length > until:
            continue
        try:
            return kind.restored(opened_snapshot(saved), objects), saved.length
        except SnapshotError as error:
            LOG.warning(
                "%r: the snapshot at event %d cannot be used; an older one or the log is read "
                "instead: %s",
                about.name,
                saved.length,
                error,
            )
    if about.first > 0 or (until is None and about.erased > 0):
        raise StoreDamaged(
            f"{about.name!r}: the state after event {about.base} is that of a snapshot, which "
            "cannot be used"
        )
    return kind.restored(about.spec, objects), 0


def first_ticket(database: Source, about: Described, objects: Any) -> int:
    """Return the number of tickets that were handed out before the first event that is kept."""
    if about.tickets is not None:
        return about.tickets
    return int(_start(database, about, objects, about.first)[0].rounds)


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


def _applied(
    kind: Kind, model: Any, database: Source, about: Described, first: int, until: int | None
) -> int:
    """Apply all events from ``first`` on to a model, and return how many there are in all."""
    length = first
    for some in chunks(database, about, first):
        events = decoded(opened(about, row) for row in some)
        start = some[0].first
        if start + len(events) != some[-1].first + some[-1].size:
            raise StoreDamaged(f"{about.name!r}: rows of the log have other events than they say")
        wanted = events[length - start : None if until is None else max(until - start, 0)]
        try:
            kind.apply_all(model, wanted)
        except _REFUSALS as error:
            raise StoreDamaged(
                f"{about.name!r}: an event of the log, from {length} on, is refused ({error}); was "
                "it written by another version of belated?"
            ) from error
        length += len(wanted)
        if until is not None and length >= until:
            break
    return length


def opened(about: Described, row: Row) -> bytes:
    """Return the text of a row of the log, or say which one is damaged."""
    try:
        return opened_row(row)
    except StoreDamaged as error:
        raise StoreDamaged(
            f"{about.name!r}: events {row.first} to {row.first + row.size - 1}: {error}"
        ) from None


# --- Other settings -------------------------------------------------------------------------------


class Rebuilt:
    """A model with other settings that sees a log, as far as it has come."""

    def __init__(
        self,
        about: Described,
        model: Any,
        length: int = 0,
        has_times: bool = False,
        *,
        is_shadow: bool = False,
    ) -> None:
        if about.first > length:
            raise StoreError(
                f"rebuild: the events of {about.name!r} before event {about.first} were compacted, "
                "so that no other model can see them"
            )
        self.model = model
        self.length = length
        """Events seen so far."""
        self._about = about
        self._past = Past(has_times=has_times, is_shadow=is_shadow)
        self._past.keys = dict(model._keys.items())  # given back at the end
        model._keys.replace(())
        self._specs = iter([*about.eras, Era(1 << 62, about.spec)])
        self._end = 0  # of what was played with the settings in ``past``

    @property
    def has_times(self) -> bool:
        """Whether the log has had a time so far."""
        return self._past.has_times

    def go_on(self, database: Readable, until: int | None = None) -> None:
        """See what has come since, up to an event."""
        for some in chunks(database, self._about, self.length):
            for row in some:
                self._past.written = row.written
                events = decoded([opened(self._about, row)])[self.length - row.first :]
                for event in events:
                    if self.length == until:
                        return
                    self._see(event)

    def _see(self, event: Event) -> None:
        kind = KINDS[self._about.kind]
        while self.length >= self._end:
            self._end, self._past.spec = next(self._specs)
            self._past.needs_times = kind.needed_times(self._past)
        try:
            kind.play(self.model, event, self._past)
            self._past.close(event)
        except _REFUSALS as error:
            raise StoreError(
                f"rebuild: event {self.length} of {self._about.name!r} cannot be played with these "
                f"settings: {error}"
            ) from error
        self.length += 1

    def finish(self) -> None:
        """Give the keys to the tickets that can still be answered."""
        alive, keys = answerable(self.model), self._past.keys
        self.model._keys.replace((key, keys[key]) for key in keys if keys[key] in alive)


# --- Reading --------------------------------------------------------------------------------------


class Reader:
    """Reads a database some rows at a time, on the writer thread."""

    def __init__(self, database: Tables, writer: Writer) -> None:
        self._database, self._writer = database, writer

    def rows(self, model: int, first: int) -> Iterator[Row]:
        """Return the rows of a model that hold events from ``first`` on."""
        return self._some(self._database.rows(model, first), _ROWS)

    def snapshots(self, model: int) -> Iterator[Saved]:
        """Return the snapshots of a model, the newest first."""
        return self._some(self._database.snapshots(model), 1)

    def _some(self, found: Iterator[T], most: int) -> Iterator[T]:
        while some := self._writer.run(lambda: list(islice(found, most))):
            yield from some
