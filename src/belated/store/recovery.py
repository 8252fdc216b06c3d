"""From the log to the model in use: the newest good snapshot, and what came after it."""

from __future__ import annotations

import gc
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from belated.errors import SnapshotError, StoreDamaged, StoreError, UnknownModel
from belated.logger import LOG
from belated.models.linear.model import LinearModel
from belated.store.database import Described, Source
from belated.store.events import decode_events, unseal_snapshot
from belated.store.kinds import KINDS, Kind, needs_times
from belated.store.lines import REFUSALS, chunks, unseal
from belated.store.rebuild import Rebuilt

if TYPE_CHECKING:
    from belated.store.batch import Batch
    from belated.store.store import Store


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


# --- Models that are in use -----------------------------------------------------------------------


class Entry:
    """One model of a store, shared by all that use it.

    ``is_stale`` says that the state in memory may have events that will never be committed; then it
    is recovered from the log before it is used again.
    """

    def __init__(self, store: Store, about: Described, objects: Any = None) -> None:
        self.store, self.about = store, about
        self.objects = objects
        """What a log cannot hold: a rule of the user's own, a spec with Python objects."""
        self.lock = threading.RLock()
        self.model: Any = None
        self.is_stale = True
        self.length = 0
        """Events so far; also the number of the next."""
        self.committed = 0
        """Events that are on disk: the next row of the log begins there."""
        self.saved = 0
        """Events before the newest snapshot."""
        self.needs_times = False
        """Whether events without a time get that of the system."""
        self.newest: Batch | None = None
        """Where the newest event is."""

    def open(self, spec: Any) -> None:
        """Have the model ready, with what a spec has that a log cannot hold, if one is given."""
        before = self.objects
        is_new = self.model is None or self.about.has_rule
        if spec is not None and is_new and spec._parts is not before:
            self.objects, self.is_stale = spec._parts, True
        try:
            self.ready()
        except BaseException:  # such as a rule that does not say what the log has
            self.objects = before
            raise

    def ready(self) -> Any:
        """Return the model as it was committed and applied; the caller has the lock."""
        if self.about.is_deleted:
            raise UnknownModel(f"the model {self.about.name!r} was deleted")
        self.store.check_open()
        if self.about.has_rule:
            check_rule(self.about, self.objects)
        if self.is_stale:
            self.store.recover(self)
        return self.model

    def take(self, found: Recovered) -> None:
        """Go on from what the log has led to."""
        self.model, self.length, self.saved = found.model, found.length, found.saved
        if isinstance(self.model, LinearModel):
            self.model.is_logged = True
        self.committed, self.needs_times = found.length, found.needs_times
        self.newest, self.is_stale = None, False


def check_rule(about: Described, rule: Any) -> None:
    """Refuse to go on with another rule than the one that a model was put in with."""
    if about.has_rule and rule is None:
        raise StoreError(
            f"the model {about.name!r} was put in with a rule of its own (decide), which no file "
            f"can hold: give it again, store.model({about.name!r}, Chooser(..., decide=...))"
        )
