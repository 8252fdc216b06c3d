"""From the log to the model in use: the newest good snapshot, and what came after it."""

from __future__ import annotations

import gc
from typing import Any, NamedTuple

from belated.errors import SnapshotError, StoreDamaged
from belated.logger import LOG
from belated.store.database import Described, Source
from belated.store.events import decode_events, unseal_snapshot
from belated.store.kinds import KINDS, Kind, needs_times
from belated.store.lines import REFUSALS, chunks, unseal
from belated.store.rebuild import Rebuilt


class Recovered(NamedTuple):
    """A model as its log says that it is."""

    model: Any
    length: int
    """Events so far."""
    saved: int
    """Events before the newest good snapshot."""
    needs_times: bool
    """Whether its deadline is a length of time."""


def recover_model(
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
    return Recovered(model, length, saved, needs_times(model))


def _start(database: Source, about: Described, objects: Any, until: int | None) -> tuple[Any, int]:
    """Return the newest good snapshot, and how many events it has."""
    kind = KINDS[about.kind]
    for saved in database.snapshots(about.number):
        if until is not None and saved.length > until:
            continue
        try:
            return kind.restored(unseal_snapshot(saved), objects), saved.length
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


def _applied(
    kind: Kind, model: Any, database: Source, about: Described, first: int, until: int | None
) -> int:
    """Apply all events from ``first`` on to a model, and return how many there are in all."""
    length = first
    for some in chunks(database, about, first):
        events = decode_events(unseal(about, row) for row in some)
        start = some[0].first
        if start + len(events) != some[-1].first + some[-1].size:
            raise StoreDamaged(f"{about.name!r}: rows of the log have other events than they say")
        wanted = events[length - start : None if until is None else max(until - start, 0)]
        try:
            for event in wanted:
                kind.of_code[event[0]].apply(model, event)
        except REFUSALS as error:
            raise StoreDamaged(
                f"{about.name!r}: an event of the log, from {length} on, is refused ({error}); was "
                "it written by another version of belated?"
            ) from error
        length += len(wanted)
        if until is not None and length >= until:
            break
    return length
