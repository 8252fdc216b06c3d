"""``Store``: models by name, each with its log."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from time import time
from typing import Any, Self, overload

from belated.errors import (
    SnapshotError,
    SpecError,
    StoreClosed,
    StoreDamaged,
    StoreError,
    StoreInUse,
    UnknownModel,
)
from belated.files import StrPath
from belated.models.chooser import Chooser
from belated.models.intervals import Intervals
from belated.models.knobs import Knobs
from belated.models.learner.learner import Learner
from belated.models.linear.model import LinearModel
from belated.models.moments import Time, time_of
from belated.store.batches import Part
from belated.store.database import Described, Era, Note, Row, Saved
from belated.store.entry import Entry, check_rule
from belated.store.events import Event, decoded, new_row
from belated.store.kinds import (
    KINDS,
    StoredChooser,
    StoredIntervals,
    StoredKnobs,
    StoredLearner,
    StoredLinear,
    kind_of,
)
from belated.store.lines import LogLines, lines
from belated.store.recovery import InTurns, Rebuilt, begun, opened, recovered
from belated.store.settings import with_settings
from belated.store.shadow import Shadows
from belated.store.tables import Tables
from belated.store.writer import Writer

SNAPSHOT_EVERY = 200_000
"""Events after which a model is saved, where nothing else is said."""
_forks = [0]  # since this module was loaded; to ask the system at every event takes longer
_FEW = 1000  # events that are read again quickly enough
_LONGEST_NAME = 500


def _count_fork() -> None:
    _forks[0] += 1


os.register_at_fork(after_in_child=_count_fork)


class Store:
    """Models that survive; see ``belated.store``.

    Made by ``bl.open``. Use it in a ``with`` statement, or call ``close``.
    """

    def __init__(self, database: Tables, where: str, snapshot_every: int) -> None:
        self._database = database
        self.where = where
        """The path or the URL, without secrets."""
        self.snapshot_every = snapshot_every
        """Events of a model after which a snapshot of it is written."""
        self._lock = threading.RLock()  # around the list of models
        self._process = _forks[0]
        self._is_open = True
        self.writer = Writer(self._write, self._is_written, self._check_process)
        """Commits what models did."""
        self.shadows = Shadows(self)
        """Second models on the same events."""
        self._known: dict[str, Described] = {}
        self._entries: dict[str, Entry] = {}
        self._losses = 0  # of the connection, and with it of all that was held
        self._losses_before = 0  # the last batch was written
        self.on_lost: Callable[[], None] | None = None
        """Is called when the connection to a shared database was lost, and all models with it."""
        database.lost, database.broken = self._lost, self._broken
        self._look_around()

    def __enter__(self) -> Self:
        """Return the store."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the store."""
        self.close()

    def close(self) -> None:
        """Commit what is open, save models that have many new events, and let go of the store.

        Nothing depends on it: a store that was never closed is whole as well. Once more does no
        harm, and ends what an interrupt has left.
        """
        if _forks[0] != self._process:  # it is for the other one to close
            return
        try:
            with self._lock:
                if self._is_open:
                    self._save_all()
                    self.writer.settle_all()
                    self._mark_all()
        finally:  # without the lock, which callbacks may want that are still called
            self._is_open = False
            try:
                self.writer.teller.stop()
            finally:
                with self.writer.turn:
                    self._database.close()

    def _save_all(self) -> None:
        for entry in list(self._entries.values()):
            with entry.lock:
                is_far = entry.length - entry.saved >= _FEW
                if is_far and not entry.is_stale and not entry.about.is_deleted:
                    KINDS[entry.about.kind].stored(entry)._save(entry.model)

    def _mark_all(self) -> None:
        """Note how long the logs are, so that it is seen if they become shorter."""
        longer = {
            entry.about.number: entry.committed
            for entry in list(self._entries.values())
            if entry.committed > entry.about.length and not entry.about.is_deleted
        }
        if longer:
            with suppress(StoreError), self.writer.turn:  # it is in the logs as well
                self._database.mark(longer)

    def check_open(self) -> None:
        """Refuse calls after the end."""
        if not self._is_open:
            raise StoreClosed(f"the store {self.where} is closed")
        self._check_process()

    def _check_process(self) -> None:
        """Refuse calls in a forked process before they wait for locks that nobody gives back."""
        if _forks[0] != self._process:
            raise StoreError(
                f"the store {self.where} was opened by the process that this one was forked from; "
                "open a store after the fork, in the one process that uses it (gunicorn: in "
                "post_worker_init; Celery: in worker_process_init), or use belated serve"
            )

    def check(self) -> None:
        """Raise ``StoreUnavailable`` if the store cannot be written at the moment."""
        self.check_open()
        self._database.check()

    @property
    def losses(self) -> int:
        """How often the connection to a shared database was lost, and all models with it."""
        return self._losses

    @property
    def clock(self) -> float:
        """The time that all processes agree on which share the store, in seconds since 1970."""
        return self._database.clock

    def is_alive(self, address: str) -> bool:
        """Tell whether the process at an address that has models is alive, as far as is known."""
        return self._database.is_alive(address)

    # --- Models ---------------------------------------------------------------------------------

    @overload
    def model(self, name: str, spec: LinearModel) -> StoredLinear: ...
    @overload
    def model(self, name: str, spec: Intervals) -> StoredIntervals: ...
    @overload
    def model(self, name: str, spec: Chooser) -> StoredChooser: ...
    @overload
    def model(self, name: str, spec: Knobs) -> StoredKnobs: ...
    @overload
    def model(self, name: str, spec: Learner) -> StoredLearner: ...
    @overload
    def model(self, name: str) -> Any: ...

    def model(self, name: str, spec: Any = None) -> Any:
        """Return the model of a name; where there is none, ``spec`` is put into the store.

        ``spec`` is a ``LinearModel``, ``Intervals``, ``Chooser``, ``Knobs`` or ``Learner``, and
        says what the model is: a copy of it is kept. Where there is a model of that name it must be
        what that was put in as; to go on with other settings, see ``rebuild``. Without ``spec`` the
        model must be there.
        """
        self.check_open()
        ready = self._entries.get(name) if spec is None else None
        if ready is not None and not ready.is_stale and self._is_open:
            return KINDS[ready.about.kind].stored(ready)
        while True:
            entry = self._entry(name, spec)
            with entry.lock:  # and no other, so that other models are used meanwhile
                if self._entries.get(name) is entry:
                    self._bring_back(entry, spec)
                    return KINDS[entry.about.kind].stored(entry)

    def _entry(self, name: str, spec: Any) -> Entry:
        """Return what all share who use a model; it may have to be brought back."""
        with self._lock:
            self.check_open()
            about = self._found(name)
            if about is None:
                if spec is None:
                    raise self._unknown(name)
                about = self._create(name, spec)
            elif spec is not None:
                self._compare(about, spec)
            if name not in self._entries:
                objects = None if spec is None else KINDS[about.kind].objects(spec)
                self._entries[name] = Entry(self, about, objects)
            return self._entries[name]

    def _bring_back(self, entry: Entry, spec: Any) -> None:
        """Have a model ready, or forget its entry where it never was; its lock is held."""
        try:
            if spec is not None and entry.about.has_rule:
                entry.give_rule(KINDS[entry.about.kind].objects(spec))
            entry.ready()
        except BaseException:
            if entry.model is None:
                self._entries.pop(entry.about.name, None)
            raise

    def models(self) -> list[str]:
        """Return the names of all models, sorted."""
        self.check_open()
        if self._database.is_shared:
            with self._lock:
                self._look_around()
        return sorted(self._known)

    def delete(self, name: str, note: tuple[str, bytes] | None = None) -> None:
        """Remove a model with its log; there is no way back.

        ``note`` is the name and the body of a note that is kept in the same commit (see ``keep``).
        """
        self.check_open()
        with self._lock:
            about = self._about(name)
            with self._quiet(about), self.writer.turn:
                self._own(about)
                notes = () if note is None else (Note(note[0], time(), note[1]),)
                self._database.delete(about.number, notes)
                self._forget(name)
            self.shadows.end(about)

    def release(self, name: str) -> None:
        """Forget a model, and let another process write it where several share a store.

        Nothing of it is lost: ``model`` brings it back. Calls of those who still have it bring it
        back as well.
        """
        self.check_open()
        with self._lock:
            about = self._about(name)
            with self._quiet(about), self.writer.turn:
                entry = self._entries.get(name)
                if entry is not None:
                    entry.model, entry.is_stale = None, True
                self._database.release(about.number)

    @contextmanager
    def _quiet(self, about: Described) -> Iterator[None]:
        """Let nothing happen to a model meanwhile, and all be committed that has happened."""
        entry = self._entries.get(about.name)
        with nullcontext() if entry is None else entry.lock:
            self.writer.settle_all()
            yield

    def _about(self, name: str) -> Described:
        self.check_open()
        about = self._found(name)
        if about is None:
            raise self._unknown(name)
        return about

    def _found(self, name: str) -> Described | None:
        """Return what is known of a model, also if another process has just made it."""
        if _checked(name) not in self._known and self._database.is_shared:
            self._look_around()
        return self._known.get(name)

    def _unknown(self, name: str) -> UnknownModel:
        there = _listed(self._known)
        return UnknownModel(f"no model {name!r} in {self.where}; there are: {there}")

    def _look_around(self) -> None:
        """See which models there are now."""
        with self.writer.turn:
            self._reconcile(self._database.numbers())

    def _reconcile(self, numbers: Mapping[str, int]) -> None:
        """Forget models that are not there any more, and read about new ones.

        A function of its own: a signal that comes when Python 3.13.0 repeats a loop is raised
        outside of the ``with`` around it, which then keeps the lock.
        """
        for name, known in list(self._known.items()):
            if numbers.get(name) != known.number:
                self._forget(name)
        for name in numbers.keys() - self._known.keys():
            about = self._database.described(numbers[name])
            if about is not None:
                if about.kind not in KINDS:
                    raise StoreDamaged(f"{name!r} is a {about.kind}, which no store holds")
                self._known[name] = about

    def _forget(self, name: str) -> None:
        """Forget a model that is not there any more."""
        self._known.pop(name).is_deleted = True
        self._entries.pop(name, None)

    def _create(self, name: str, spec: Any) -> Described:
        kind = kind_of(spec)
        has_rule = KINDS[kind].rule(spec) is not None
        about = Described(0, name, kind, spec.snapshot(), first=0, has_rule=has_rule)
        with self.writer.turn:
            number = self._database.create(about, (), ())
        if number is None:  # another process was quicker
            found = self._found(name)
            if found is None:
                raise StoreError(f"{name!r} was made and deleted meanwhile; nothing has changed")
            self._compare(found, spec)
            return found
        about.number = number
        self._known[name] = about
        return about

    def _compare(self, about: Described, spec: Any) -> None:
        """Refuse a spec that is not what a model was put in as."""
        if kind_of(spec) == about.kind and spec.snapshot() == about.spec:
            if (KINDS[about.kind].rule(spec) is not None) == about.has_rule:
                return
            raise SpecError(
                f"the model {about.name!r} in {self.where} was put in "
                f"{'with' if about.has_rule else 'without'} a rule of its own (decide), and this "
                "is one of the other kind; nothing has changed"
            )
        raise SpecError(
            f"the model {about.name!r} in {self.where} has other settings than these; nothing has "
            f"changed: store.model({about.name!r}) returns it as it is, and "
            f"store.rebuild({about.name!r}, spec, to={about.name!r}) builds one with these "
            "settings from its log, so that nothing that was learned is lost"
        )

    # --- The log --------------------------------------------------------------------------------

    def _write(self, parts: dict[Entry, Part], notes: dict[str, bytes]) -> None:
        """Put a batch on disk."""
        self.check_open()
        now = time()
        rows: list[Row] = []
        snapshots: list[Saved] = []
        for entry, part in parts.items():
            number = entry.about.number
            if part.size:
                _check_next(entry, part.first)
                rows.append(new_row(number, part.first, now, ",".join(part.texts), part.size))
            if part.snapshots:
                snapshots += [Saved(number, length, blob) for length, blob in part.snapshots]
        self._losses_before = self._losses
        self._database.write(rows, snapshots, [Note(n, now, body) for n, body in notes.items()])
        for entry, part in parts.items():
            entry.committed += part.size

    def _is_written(self, parts: dict[Entry, Part], notes: dict[str, bytes]) -> bool:
        """Tell whether a batch is on disk, as a whole; nobody else here has written since.

        One of snapshots alone counts as written: nothing that comes after stands on them. Models
        are only told which ones there are.
        """
        events = {entry: part.first + part.size for entry, part in parts.items() if part.size}
        if events:
            ends = {entry: self._database.end(entry.about.number) for entry in events}
            is_written = ends == events
        else:
            is_written = all(self._is_kept(name, body) for name, body in notes.items())
            for entry in parts:
                there = self._database.snapshots(entry.about.number)
                entry.saved = max((saved.length for saved in there), default=0)
        if self._losses != self._losses_before:
            raise StoreError(f"the connection to {self.where} was lost, and others may write")
        if is_written:
            for entry, end in events.items():
                entry.committed = end
        return is_written

    def _is_kept(self, name: str, body: bytes) -> bool:
        found = self._database.notes(name)
        return any(note.name == name and note.body == body for note in found)

    def _lost(self) -> None:
        """Have all models built anew, where others may write them meanwhile."""
        if not self._database.is_shared:
            return
        self._losses += 1
        self.writer.fail_open(StoreError(f"the connection to {self.where} was lost"))
        for entry in list(self._entries.values()):
            entry.is_stale = True
        if self.on_lost is not None:
            self.on_lost()

    def _broken(self, session: int | None) -> None:
        """Notice that a connection is dead; a thread that uses it notices by itself."""
        if self.writer.turn.acquire(blocking=False):
            try:
                self._database.disconnect(session)
            finally:
                self.writer.turn.release()

    def recover(self, entry: Entry) -> None:
        """Make a model what its log says that it is, for this store alone to write.

        Its lock is held; other models are used meanwhile.
        """
        while True:
            with self.writer.turn:
                losses = self._hold(entry.about)
            found = recovered(self.in_turns, entry.about, entry.objects)
            if found.length < entry.committed:
                raise StoreDamaged(
                    f"{entry.about.name!r}: the log ends before event {found.length}, and "
                    f"{entry.committed} were committed: something was taken out of it"
                )
            with self.writer.turn:  # losses are noted under this lock
                if self._losses == losses:
                    entry.take(found)
                    return

    def _own(self, about: Described) -> None:
        """Become the writer of a model; the error of ``hold`` gets the name of the model."""
        try:
            self._database.hold(about.number)
        except StoreInUse as error:
            error.model = about.name
            raise

    def _hold(self, about: Described) -> int:
        """Become the writer of a model; return how often connections were lost so far."""
        self._own(about)
        if self._database.is_shared:
            now = self._database.described(about.number)
            if now is None:
                about.is_deleted = True
                self._database.release(about.number)
                raise UnknownModel(f"the model {about.name!r} was deleted")
            about.spec, about.first, about.eras = now.spec, now.first, now.eras
            about.has_rule, about.length = now.has_rule, now.length
        return self._losses

    @property
    def in_turns(self) -> InTurns:
        """The database, for long reads that others interrupt."""
        return InTurns(self._database, self.writer.turn)

    def rebuild(
        self,
        name: str,
        spec: Any = None,
        *,
        to: str | None = None,
        check: Callable[[Any], None] | None = None,
    ) -> Any:
        """Build a model with other settings from the log of one, so that nothing is reset.

        ``spec`` is a dict of settings, where those that are not given keep their values; or a model
        of the same class that has seen nothing (or as many predictions as the model had when it was
        put in). None and ``{}`` build the model with its present settings. The new model sees all
        predictions and answers in their order and at their times, as if it had been there from the
        start; tickets and keys are the same. A chooser sees the actions that were played, with
        their probabilities, and learns from them. What it would have closed by the time of an
        answer drops the answer. Where the deadline was a length of time and that of ``spec`` is a
        number alone, it is one of predictions, and times are left out.

        Returns the model itself, in memory, and the store stays as it is. With ``to`` it is put
        into the store under that name, log and all, and returned as ``model`` would: the name of
        the model itself puts it in its place. ``check`` is given the model before that, and may
        raise, so that nothing changes.
        """
        self.check_open()
        if spec is None or isinstance(spec, Mapping):
            spec = self.respecified(name, spec or {})
        with self._lock:
            about = self._about(name)
        if kind_of(spec) != about.kind:
            raise SpecError(
                f"rebuild: {name!r} is a {about.kind}, and so must be what sees its log"
            )
        if to is not None and _checked(to) != name and to in self._known:
            raise SpecError(f"rebuild: there is a model {to!r}; nothing has changed")
        kind, blob = KINDS[about.kind], spec.snapshot()
        rebuilt = Rebuilt(about, kind.restored(blob, kind.objects(spec)))
        _check_start(about, spec, rebuilt.model)
        self.writer.settle_all()
        rebuilt.go_on(self.in_turns)  # and everything else goes on too
        if to is None:
            rebuilt.finish()
            return rebuilt.model
        with self._lock, self._quiet(about):
            if about.is_deleted:
                raise StoreError(f"rebuild: the model {name!r} was deleted meanwhile")
            with self.writer.turn:
                self._own(about)
                rebuilt.go_on(self._database)  # what has come meanwhile
            rebuilt.finish()
            if check is not None:
                check(rebuilt.model)
            return self._put(about, spec, blob, rebuilt.model.snapshot(), rebuilt.length, to)

    def respecified(self, name: str, changes: Mapping[str, Any]) -> Any:
        """Return what ``rebuild`` builds a model as: its present settings, but for some.

        With changes it has seen nothing; without, it is what the model was put in as.
        """
        self.check_open()
        with self._lock:
            about = self._about(name)
            entry = self._entries.get(name)
        objects = None if entry is None else entry.objects
        check_rule(about, objects)
        spec = KINDS[about.kind].restored(about.spec, objects)
        return with_settings(spec, changes) if changes else spec

    def _put(
        self, about: Described, spec: Any, blob: bytes, snapshot: bytes, length: int, to: str
    ) -> Any:
        """Store a model that was built from the log of another, with that log."""
        eras = (*about.eras, Era(length, about.spec)) if length > about.replayed else about.eras
        has_rule = KINDS[about.kind].rule(spec) is not None
        if to == about.name:
            with self.writer.turn:
                changed = Described(about.number, to, about.kind, blob, 0, eras, has_rule)
                self._database.respecify(changed, Saved(about.number, length, snapshot))
            about.spec, about.eras, about.has_rule = blob, eras, has_rule
            entry = self._entries.get(to)
            if entry is not None:
                entry.objects = KINDS[about.kind].objects(spec)
                entry.is_stale = True
        else:
            changed = Described(0, to, about.kind, blob, 0, eras, has_rule)
            self._copy(about, changed, length, snapshot)
        return self.model(to, spec)

    def _copy(self, source: Described, about: Described, length: int, snapshot: bytes) -> None:
        if about.name in self._known:
            raise SpecError(f"rebuild: there is a model {about.name!r}; nothing has changed")
        with self.writer.turn:
            rows = self._database.rows(source.number, 0)  # some at a time, as they are written
            number = self._database.create(about, rows, [Saved(0, length, snapshot)])
        if number is None:
            raise SpecError(f"rebuild: there is a model {about.name!r}; nothing has changed")
        about.number = number
        self._known[about.name] = about

    def shadow(self, name: str, spec: Any = None) -> Any:
        """Let a second model learn from all events of a model, or return the one that does.

        ``spec`` is a ``LinearModel``, ``Intervals`` or ``Chooser`` that has seen nothing, of the
        class of the model and with the same labels. It sees the log from the start, takes the place
        of an earlier shadow, and goes on with the same tickets and keys; it never answers. Returns
        a copy of it in memory, as it is now; None where there is none. ``report`` of the model has
        that of its shadow, which is brought up to date when it is looked at.
        """
        about = self._about(name)
        if spec is not None:
            _check_start(about, spec, spec)
            self.shadows.begin(about, spec, self.respecified(name, {}))
        found = self.shadows.of(about)
        return None if found is None else KINDS[about.kind].restored(found.snapshot(), None)

    def end_shadow(self, name: str) -> None:
        """Remove the shadow of a model."""
        self.shadows.end(self._about(name))

    def compact(self, name: str, before: Time | int | None = None) -> int:
        """Let a snapshot stand for old events, and drop them; return how many are dropped.

        ``before`` is the time before which events were committed, or None for all of them. What is
        learned stays, to the bit; but no other model can see those events any more (``rebuild``).
        """
        self.check_open()
        when = None if before is None else time_of(before, "compact")
        with self._lock:
            about = self._about(name)
            with self._quiet(about):
                return self._compacted(about, self._entries.get(name), when)

    def _compacted(self, about: Described, entry: Entry | None, when: float | None) -> int:
        self.shadows.of(about, fewest=1)  # which could not read what is dropped
        with self.writer.turn:
            losses = self._hold(about)
        until = None if when is None else self._first_since(about, when)
        objects = None if entry is None else entry.objects
        check_rule(about, objects)
        found = recovered(self.in_turns, about, objects, until)
        if found.length <= about.first:
            return 0
        if found.length < about.replayed:
            raise StoreError(
                f"compact: {about.name!r} got its settings at event {about.replayed}; compact it "
                "to there or further"
            )
        changed = replace(about, first=found.length)
        saved = Saved(about.number, found.length, found.model.snapshot())
        with self.writer.turn:
            if self._losses != losses:
                raise StoreError(f"compact: {about.name!r} was lost meanwhile; nothing has changed")
            self._database.rebase(changed, saved)
        dropped = found.length - about.first
        about.first = found.length
        return dropped

    def _first_since(self, about: Described, when: float) -> int:
        """Return the number of the first event that was committed at a time or later."""
        last = about.first
        for row in self.in_turns.rows(about.number, about.first):
            if row.written >= when:
                break
            last = row.first + row.size
        return last

    # --- Notes ----------------------------------------------------------------------------------

    def keep(self, name: str, body: bytes) -> None:
        """Keep a note beside the models, in the place of an older one of that name."""
        self.check_open()
        self.writer.settle(self.writer.add_note(name, body))

    def keep_first(self, name: str, body: bytes) -> bytes:
        """Keep a note unless there is one of that name; return the body of the one that is kept."""
        self.check_open()
        with self.writer.turn:
            return self._database.keep_first(Note(name, time(), body))

    @property
    def is_shared(self) -> bool:
        """Whether other processes may write other models of the store."""
        return self._database.is_shared

    def notes(self, prefix: str = "") -> list[Note]:
        """Return the notes whose names begin so, the oldest first."""
        self.check_open()
        with self.writer.turn:
            return self._database.notes(prefix)

    def forget(self, prefix: str, before: Time) -> None:
        """Remove the notes whose names begin so, and that were kept before a time."""
        self.check_open()
        with self.writer.turn:
            self._database.forget(prefix, time_of(before, "forget"))

    # --- Looking --------------------------------------------------------------------------------

    def log(self, name: str) -> LogLines:
        """Return what was done to a model, line by line, from the oldest event that is kept.

        The lines come once. With them goes what the model was told, as audits and replays ask it.

        Also of a model that another process writes. What is committed after the last line was
        asked for may be missing.
        """
        about, start = self._begun(name)
        found = lines(self.in_turns, about, start)
        return LogLines(found, about.kind, about.spec, [era.spec for era in about.eras])

    def _begun(self, name: str) -> tuple[Described, Any]:
        """Return what is known of a model, and what it was before the first event of its log."""
        self.check_open()
        with self._lock:
            about = replace(self._about(name))
            entry = self._entries.get(name)
        self.writer.settle_all()
        objects = None if entry is None else entry.objects
        return about, begun(self.in_turns, about, objects)

    def events(self, about: Described, first: int, end: int) -> Iterator[tuple[Event, float]]:
        """Return the events from ``first`` to before ``end``, and when each was written."""
        for row in self.in_turns.rows(about.number, first):
            if row.first >= end:
                return
            for place, event in enumerate(decoded([opened(about, row)]), row.first):
                if first <= place < end:
                    yield event, row.written

    # --- Files ----------------------------------------------------------------------------------

    def export(self, name: str, path: StrPath, *, note: bytes = b"") -> int:
        """Write the log of a model to a Parquet file, and return how many events it has.

        One row per event, with columns to look at; ``load`` makes the same model of it again. A
        name that ends like another kind of file, such as .csv, is refused. ``note`` goes into the
        file as well, for whoever keeps something beside the model (``exported_note``).
        """
        from belated.store import parquet

        about, start = self._begun(name)
        with self.writer.turn:
            end = self._database.end(about.number)
        with parquet.exporting(path) as beside:
            count = parquet.export(self.in_turns, about, beside, start, end, note)
            self._check_same(about)
        return count

    def _check_same(self, about: Described) -> None:
        """Refuse what was read of a log that was changed meanwhile."""
        with self.writer.turn:
            now = self._database.described(about.number)
        if now is None or (now.spec, now.first, now.eras) != (about.spec, about.first, about.eras):
            raise StoreError(
                f"export: {about.name!r} was deleted, compacted or rebuilt meanwhile; nothing is "
                "written"
            )

    @staticmethod
    def exported_note(path: StrPath) -> bytes:
        """Return the note that ``export`` has put into a file; empty where there is none."""
        from belated.store import parquet

        return parquet.note_in(path)

    def load(self, name: str, path: StrPath, spec: Any = None) -> Any:
        """Put the model that ``export`` wrote into the store, log and all, bit for bit the same.

        ``spec`` is needed where the model has what a file cannot hold, such as a rule of your own.
        """
        from belated.store import parquet

        self.check_open()
        self._check_new(name)
        about, rows, snapshots = parquet.loaded(path, name)
        if spec is not None:
            self._compare(about, spec)
        objects = None if spec is None else KINDS[about.kind].objects(spec)
        check_rule(about, objects)
        found = recovered(parquet.Loaded(rows, snapshots), about, objects)
        with self._lock:
            self.check_open()
            self._check_new(name)
            with self.writer.turn:
                number = self._database.create(about, rows, snapshots)
                if number is None:
                    raise SpecError(f"load: there is a model {name!r}; nothing has changed")
                about.number = number
                self._own(about)
            self._known[name] = about
            entry = self._entries[name] = Entry(self, about, objects)
            entry.take(found)
        return KINDS[about.kind].stored(entry)

    def _check_new(self, name: str) -> None:
        if _checked(name) in self._known:
            raise SpecError(f"load: there is a model {name!r}; nothing has changed")

    def __repr__(self) -> str:
        """Return where the store is."""
        return f"<Store {self.where}>"


def _checked(name: Any) -> str:
    """Refuse what cannot be the name of a model."""
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME:
        raise SpecError(f"the name of a model is a text of 1 to {_LONGEST_NAME} characters")
    if "\x00" in name or any("\ud800" <= letter <= "\udfff" for letter in name):
        raise SpecError(f"the name of a model is Unicode text without nulls, got {name!r}")
    return name


def _check_start(about: Described, spec: Any, model: Any) -> None:
    """Refuse a model whose tickets are not those of the log."""
    kind = KINDS[about.kind]
    origin = about.eras[0].spec if about.eras else about.spec
    try:
        begun = kind.restored(origin, kind.objects(spec)).rounds
    except SnapshotError:  # it has Python objects of its own, and so nobody can tell
        return
    if model.rounds != begun:
        raise SpecError(
            f"rebuild: the model {about.name!r} was put in after {begun} predictions, so that its "
            f"tickets begin there; one that has seen {model.rounds} has others"
            if begun
            else "rebuild: the log is for a model that has seen nothing, and this one has"
        )


def _listed(names: Iterable[str]) -> str:
    shown = sorted(names)
    more = f", and {len(shown) - 20} more" if len(shown) > 20 else ""
    return (", ".join(repr(name) for name in shown[:20]) + more) or "none"


def _check_next(entry: Entry, first: int) -> None:
    """Refuse to write an event that would not follow the last one of its log."""
    if first != entry.committed:
        raise StoreError(
            f"{entry.about.name!r}: event {first} would follow event {entry.committed - 1} of the "
            "log; it is not written"
        )
