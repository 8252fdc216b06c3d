"""``Store``: models by name, each with its log."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from time import time
from typing import Any, Self, TypeVar, overload

from belated import errors
from belated.files import StrPath
from belated.keys import Key, check_key
from belated.logger import LOG
from belated.models.chooser import Chooser
from belated.models.intervals import Intervals
from belated.models.knobs import Knobs
from belated.models.learner.learner import Learner
from belated.models.linear.model import LinearModel
from belated.models.moments import Time, time_of
from belated.store.batch import Added
from belated.store.database import Described, Note, Row, Saved
from belated.store.erasure import Erased, KeyEvents, check_erased
from belated.store.events import PREDICT, Event, seal_row
from belated.store.kinds import (
    KINDS,
    StoredChooser,
    StoredIntervals,
    StoredKnobs,
    StoredLearner,
    StoredLinear,
    has_rule,
    kind_of,
)
from belated.store.lines import LogLines, Reader, lines, read_events
from belated.store.rebuild import Rebuilt, with_settings
from belated.store.recovery import first_ticket, recover_model
from belated.store.shadow import Shadows
from belated.store.stored import StoredModel, check_rule
from belated.store.tables import Tables, at
from belated.store.writer import Writer

T = TypeVar("T")

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
        self.writer = Writer(self._write, self._check_process)
        """Its thread is the only one that uses the database."""
        self.reader = Reader(database, self.writer)
        """The database, for long reads that commits interrupt."""
        self.shadows = Shadows(self)
        """Second models on the same events."""
        self._models: dict[str, StoredModel] = {}
        self.losses = 0
        """How often the connection to a shared database was lost, and all models with it."""
        self.on_lost: Callable[[], None] | None = None
        """Is called when the connection to a shared database was lost, and all models with it."""
        database.lost, database.post = self._lost, self.writer.post
        self.writer.run(self._reconcile)
        try:
            self.writer.run(database.clean)  # if a process was killed while it erased
        except errors.StoreUnavailable as error:
            LOG.warning("%s", error)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Commit what is open, save models that have many new events, and let go of the store.

        Nothing depends on it: a store that was never closed is whole as well. Once more does no
        harm, and ends what an interrupt has left.
        """
        if _forks[0] != self._process:
            return  # a store that was opened before a fork is for the other process to close
        if self.writer.is_closed:
            if self.writer.thread is not threading.current_thread():
                self.writer.thread.join()  # after an interrupt it may still close the database
            return
        try:
            with self._lock:
                if self._is_open:
                    self._save_all()
                    self.writer.run(self._mark_all)
        finally:
            self._is_open = False
            with suppress(errors.StoreClosed):  # by an earlier call that was interrupted
                self.writer.run(self._database.close, is_last=True)

    def _save_all(self) -> None:
        for stored in list(self._models.values()):
            with stored._lock:
                if stored._length - stored._saved >= _FEW and not stored._is_stale:
                    stored._save(stored._model)

    def _mark_all(self) -> None:
        """Note how long the logs are, so that it is seen if they become shorter."""
        stored = list(self._models.values())
        longer = {e._about.number: e._committed for e in stored if e._committed > e._about.length}
        if longer:
            with suppress(errors.StoreError):  # it is in the logs as well
                self._database.mark(longer)

    def check_open(self) -> None:
        """Refuse calls after the end."""
        if not self._is_open:
            raise errors.StoreClosed(f"the store {self.where} is closed")
        self._check_process()

    def _check_process(self) -> None:
        """Refuse calls in a forked process before they wait for a lock that it can never get."""
        if _forks[0] != self._process:
            raise errors.StoreError(
                f"the store {self.where} was opened by the process that this one was forked from; "
                "open a store after the fork, in the one process that uses it (gunicorn: in "
                "post_worker_init; Celery: in worker_process_init), or use belated serve"
            )

    def check(self) -> None:
        """Raise ``StoreUnavailable`` if the store cannot be written at the moment."""
        self.check_open()
        self._database.check()

    @property
    def is_shared(self) -> bool:
        """Whether other processes may write other models of the store."""
        return self._database.is_shared

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
        while True:
            stored = self._models.get(name) if spec is None and type(name) is str else None
            if stored is None:
                with self._lock:
                    stored = self._opened(name, spec)
            with stored._lock:  # and no other, so that other models are used meanwhile
                if self._models.get(name) is stored:
                    stored._open_for(spec)
                    return stored

    def _opened(self, name: str, spec: Any) -> StoredModel:
        """Return the shared handle of a model, which is put in if it is new."""
        stored = self._find(name)
        if stored is None and spec is None:
            raise self._unknown(name)
        if stored is None:
            about = Described(0, name, kind_of(spec), spec.snapshot(), 0, has_rule=has_rule(spec))
            if self.writer.run(lambda: self._add(about)):
                return self._models[name]
            stored = self._find(name)  # another process was quicker
            if stored is None:
                raise errors.StoreError(
                    f"{name!r} was made and deleted meanwhile; nothing has changed"
                )
        if spec is not None:
            self._compare(stored._about, spec)
        return stored

    def models(self) -> list[str]:
        """Return the names of all models, sorted."""
        self.check_open()
        if self._database.is_shared:
            self.writer.run(self._reconcile)
        return sorted(self._models)

    def delete(self, name: str, note: tuple[str, bytes] | None = None) -> None:
        """Remove a model with its log; there is no way back.

        ``note`` is the name and the body of a note that is kept in the same commit (see ``keep``).
        """
        self.check_open()  # before the locks, which a forked process may never get
        with self._lock, (stored := self._there(name))._lock:

            def delete() -> None:
                self._own(stored._about)
                notes = () if note is None else (Note(note[0], time(), note[1]),)
                self._database.delete(stored._about.number, notes)
                self._forget(name)

            self.writer.run(delete)
            self.shadows.end(stored._about)

    def release(self, name: str) -> None:
        """Forget a model, and let another process write it where several share a store.

        Nothing is lost: ``model`` loads it again, and so does any call on an existing handle.
        """
        self.check_open()
        with self._lock, (stored := self._there(name))._lock:

            def release() -> None:
                stored._model, stored._is_stale = None, True
                self._database.release(stored._about.number)

            self.writer.run(release)

    def _there(self, name: str) -> StoredModel:
        self.check_open()
        stored = self._find(name)
        if stored is None:
            raise self._unknown(name)
        return stored

    def _find(self, name: str) -> StoredModel | None:
        """Return the shared handle of a model, also if another process has just made it."""
        if _checked(name) not in self._models and self._database.is_shared:
            self.writer.run(self._reconcile)
        return self._models.get(name)

    def _unknown(self, name: str) -> errors.UnknownModel:
        known = sorted(self._models)
        there = ", ".join(map(repr, known[:20])) or "none"
        more = f", and {len(known) - 20} more" if len(known) > 20 else ""
        return errors.UnknownModel(f"no model {name!r} in {self.where}; there are: {there}{more}")

    def _reconcile(self) -> None:
        """Forget models that are not there any more, and read about new ones."""
        numbers = self._database.numbers()
        for name, stored in list(self._models.items()):
            if numbers.get(name) != stored._about.number:
                self._forget(name)
        for name in numbers.keys() - self._models.keys():
            about = self._database.described(numbers[name])
            if about is not None:
                if about.kind not in KINDS:
                    raise errors.StoreDamaged(f"{name!r} is a {about.kind}, which no store holds")
                self._models[name] = KINDS[about.kind].stored(self, about)

    def _forget(self, name: str) -> None:
        self._models.pop(name)._about.is_deleted = True

    def _add(self, about: Described, rows: Iterable[Row] = (), saved: Iterable[Saved] = ()) -> bool:
        number = self._database.create(about, rows, saved)
        if number is None:
            return False
        about.number = number
        self._models[about.name] = KINDS[about.kind].stored(self, about)
        return True

    def _compare(self, about: Described, spec: Any) -> None:
        """Refuse a spec that is not what a model was put in as."""
        if kind_of(spec) == about.kind and spec.snapshot() == about.spec:
            if has_rule(spec) == about.has_rule:
                return
            raise errors.SpecError(
                f"the model {about.name!r} in {self.where} was put in "
                f"{'with' if about.has_rule else 'without'} a rule of its own (decide), and this "
                "is one of the other kind; nothing has changed"
            )
        raise errors.SpecError(
            f"the model {about.name!r} in {self.where} has other settings than these; nothing has "
            f"changed: store.model({about.name!r}) returns it as it is, and "
            f"store.rebuild({about.name!r}, spec, to={about.name!r}) builds one with these "
            "settings from its log, so that nothing that was learned is lost"
        )

    # --- The log --------------------------------------------------------------------------------

    def _write(self, added: list[Added]) -> int:
        """Put a batch on disk, and return how many events it has."""
        now, count = time(), 0
        snapshots: list[Saved] = []
        notes: dict[str, Note] = {}
        texts: dict[StoredModel, list[str]] = {}
        ends: dict[StoredModel, int] = {}  # of the logs
        for stored, first, size, text, kept, snapshot in added:
            for name, body in kept:
                row = None if stored is None else at(stored._about.number, first)
                notes[name] = Note(name, now, body, row, size or None)
            if stored is None:
                continue
            if snapshot is not None:
                snapshots.append(Saved(stored._about.number, first, snapshot))
                continue
            end = ends.get(stored, stored._committed)
            if first != end:
                raise errors.StoreError(
                    f"{stored._about.name!r}: event {first} would follow event {end - 1} of the "
                    "log; it is not written"
                )
            texts.setdefault(stored, []).append(text)
            ends[stored] = end + size
        rows = [
            seal_row(stored._about.number, first, now, ",".join(texts[stored]), end - first)
            for stored, end in ends.items()
            for first in (stored._committed,)
        ]
        self._database.write(rows, snapshots, list(notes.values()))
        for stored, end in ends.items():
            count += end - stored._committed
            stored._committed = end
        return count

    def _lost(self) -> None:
        """Have all models recovered, where others may write them meanwhile."""
        self.losses += 1
        self.writer.fail(errors.StoreError(f"the connection to {self.where} was lost"))
        for stored in list(self._models.values()):
            stored._is_stale = True
        if self.on_lost is not None:
            self.on_lost()

    def recover(self, stored: StoredModel) -> None:
        """Make a model what its log says that it is, for this store alone to write.

        Its lock is held; other models are used meanwhile.
        """
        while True:
            losses = self._hold(stored._about)
            found = recover_model(self.reader, stored._about, stored._objects)
            if found.length < stored._committed:
                raise errors.StoreDamaged(
                    f"{stored._about.name!r}: the log ends before event {found.length}, and "
                    f"{stored._committed} were committed: something was taken out of it"
                )
            with suppress(_Lost):
                self._run_held(losses, partial(stored._take, found))
                return

    def _run_held(self, losses: int, function: Callable[[], T]) -> T:
        """Run something on the writer thread if no connection was lost since ``_hold``."""

        def run() -> T:
            if self.losses != losses:
                raise _Lost(f"the connection to {self.where} was lost; nothing has changed")
            return function()

        return self.writer.run(run)

    def _own(self, about: Described) -> None:
        """Become the writer of a model; the error of ``hold`` gets the name of the model."""
        try:
            self._database.hold(about.number)
        except errors.StoreInUse as error:
            error.model = about.name
            raise

    def _hold(self, about: Described) -> int:
        """Become the writer of a model; return how often connections were lost so far."""

        def hold() -> int:
            self._own(about)
            if self._database.is_shared:
                now = self._database.described(about.number)
                if now is None:
                    about.is_deleted = True
                    self._database.release(about.number)
                    raise errors.UnknownModel(f"the model {about.name!r} was deleted")
                about.take(now)
            return self.losses

        return self.writer.run(hold)

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
            stored = self._there(name)
        about = stored._about
        if kind_of(spec) != about.kind:
            raise errors.SpecError(
                f"rebuild: {name!r} is a {about.kind}, and so must be what sees its log"
            )
        if to is not None and _checked(to) != name and to in self._models:
            raise errors.SpecError(f"rebuild: there is a model {to!r}; nothing has changed")
        blob = spec.snapshot()
        rebuilt = Rebuilt(about, KINDS[about.kind].restored(blob, spec._parts))
        _check_start(about, spec, rebuilt.model)
        rebuilt.go_on(self.reader)  # and everything else goes on too
        if to is None:
            rebuilt.finish()
            return rebuilt.model
        with self._lock:
            if self._there(name) is not stored:
                raise errors.StoreError(f"rebuild: the model {name!r} was deleted meanwhile")
            with stored._lock:
                losses = self._hold(about)
                rebuilt.go_on(self.reader)  # what has come meanwhile
                rebuilt.finish()
                if check is not None:
                    check(rebuilt.model)
                saved = Saved(about.number, rebuilt.length, rebuilt.model.snapshot())
                self._run_held(losses, lambda: self._put(stored, spec, blob, saved, to))
                return self.model(to, spec)

    def respecified(self, name: str, changes: Mapping[str, Any]) -> Any:
        """Return what ``rebuild`` builds a model as: its present settings, but for some.

        With changes it has seen nothing; without, it is what the model was put in as.
        """
        about, objects = self._described(name)
        check_rule(about, objects)
        spec = KINDS[about.kind].restored(about.spec, objects)
        return with_settings(spec, changes) if changes else spec

    def _put(self, stored: StoredModel, spec: Any, blob: bytes, saved: Saved, to: str) -> None:
        """Store a model that was built from the log of another, with that log."""
        about = stored._about
        changed = replace(about, name=to, spec=blob, eras=about.eras_until(saved.length))
        changed.has_rule, changed.erased, changed.tickets = has_rule(spec), 0, None
        if to != about.name:
            rows = self._database.rows(about.number, 0)  # some at a time, as they are written
            if to in self._models or not self._add(changed, rows, [saved]):
                raise errors.SpecError(f"rebuild: there is a model {to!r}; nothing has changed")
            return
        self._restate(about, changed, saved)
        stored._objects, stored._is_stale = spec._parts, True

    def _restate(
        self,
        about: Described,
        changed: Described,
        saved: Saved | None,
        erased: tuple[Iterable[Row], Iterable[str]] | None = None,
    ) -> None:
        """Write what is known of a model anew; only the writer thread does that."""
        self._database.restate(changed, saved, erased)
        about.take(changed)

    def shadow(self, name: str, spec: Any = None) -> Any:
        """Let a second model learn from all events of a model, or return the one that does.

        ``spec`` is a ``LinearModel``, ``Intervals`` or ``Chooser`` that has seen nothing, of the
        class of the model and with the same labels. It sees the log from the start, takes the place
        of an earlier shadow, and goes on with the same tickets and keys; it never answers. Returns
        a copy of it in memory, as it is now; None where there is none. ``report`` of the model has
        that of its shadow, which is brought up to date when it is looked at.
        """
        about = self._there(name)._about
        if spec is not None:
            _check_start(about, spec, spec)
            self.shadows.begin(about, spec, self.respecified(name, {}))
        found = self.shadows.of(about)
        return None if found is None else KINDS[about.kind].restored(found.snapshot())

    def end_shadow(self, name: str) -> None:
        """Remove the shadow of a model."""
        self.shadows.end(self._there(name)._about)

    def compact(self, name: str, before: Time | int | None = None) -> int:
        """Let a snapshot stand for old events, and drop them; return how many are dropped.

        ``before`` is the time before which events were committed, or None for all of them. What is
        learned stays, to the bit; but no other model can see those events any more (``rebuild``).
        """
        self.check_open()
        when = None if before is None else time_of(before, "compact")
        with self._lock, (stored := self._there(name))._lock:
            about, objects = stored._about, stored._objects
            self.shadows.of(about, fewest=1)  # which could not read what is dropped
            losses = self._hold(about)
            until = None if when is None else self._first_since(about, when)
            if until is not None and until <= about.first:
                return 0
            if until is not None and until < about.base:  # events for readers, as a key was erased
                tickets = first_ticket(self.reader, about, objects)
                played = self.events(about, about.first, until)
                tickets += sum(event[0] == PREDICT for event, _ in played)
                changed, saved = replace(about, first=until, tickets=tickets), None
            else:
                changed, saved = self._compacted(about, objects, until)
            dropped = changed.first - about.first
            if dropped:
                self._run_held(losses, lambda: self._restate(about, changed, saved))
            return dropped

    def _compacted(
        self, about: Described, objects: Any, until: int | None
    ) -> tuple[Described, Saved]:
        """Return a model whose log begins after some events, and the snapshot of then."""
        check_rule(about, objects)
        found = recover_model(self.reader, about, objects, until)
        if found.length < about.replayed:
            raise errors.StoreError(
                f"compact: {about.name!r} got its settings at event {about.replayed}; compact it "
                "to there or further"
            )
        saved = self._saved(about, found.model, found.length, objects)
        return replace(about, first=found.length, tickets=None), saved

    def _saved(self, about: Described, model: Any, length: int, objects: Any) -> Saved:
        """Return a snapshot that is to stand for events, once it has been restored."""
        blob = model.snapshot()
        KINDS[about.kind].restored(blob, objects)
        return Saved(about.number, length, blob)

    def _first_since(self, about: Described, when: float) -> int:
        last = about.first
        for row in self.reader.rows(about.number, about.first):
            if row.written >= when:
                break
            last = row.first + row.size
        return last

    def erase(self, name: str, key: Key, *, rebuild: bool = False) -> Erased:
        """Erase all that is stored of a key and of its rows, and return what that was.

        The tickets that ever had the key are closed if they are open. Their predictions and answers
        are removed from the log, from snapshots and from the shadow; the bodies of notes that were
        committed with them are emptied. The bytes are removed from the file, too (SQLite; for
        PostgreSQL see the documentation). What the model has learned from them stays, unless
        ``rebuild`` is true: then the model is built anew from the log that is left, which must not
        be compacted. Exported files and backups are not touched (``erase_from_export``).

        Other calls of the store wait meanwhile. If it fails or is interrupted, erase the key again.
        """
        check_key(key)
        self.model(name)
        with self._lock, (stored := self._there(name))._lock:
            model, about, objects = stored._ready(), stored._about, stored._objects
            ticket = first_ticket(self.reader, about, objects)
            known = {found for each, found in model._keys.items() if each == key}
            found = KeyEvents(self.reader, about, key, ticket, known)
            names: list[str] = []
            if found.tickets:
                losses = self._hold(about)
                stored._is_stale = True  # from now on, also if this is interrupted
                changed = found.without(about, objects)
                if rebuild:
                    rebuilt = Rebuilt(changed, KINDS[about.kind].restored(changed.spec, objects))
                    rebuilt.go_on(found)
                    rebuilt.finish()
                    model, changed.erased, changed.tickets = rebuilt.model, 0, None
                    changed.eras = changed.eras_until(stored._length)
                else:
                    changed.erased, changed.tickets = stored._length, ticket
                    found.cancel(model)
                saved = self._saved(about, model, stored._length, objects)
                self.shadows.erase(about, found, rebuild)
                names = self.writer.run(
                    lambda: self._database.notes_with(about.number, found.numbers, key)
                )
                rows = found.changed.values()
                self._run_held(losses, lambda: self._restate(about, changed, saved, (rows, names)))
            self.writer.run(self._database.clean)
            check_erased(self.reader, about, key, stored._ready())
        return Erased(len(found.tickets), len(found.numbers), tuple(names))

    # --- Notes ----------------------------------------------------------------------------------

    def keep(self, name: str, body: bytes) -> None:
        """Keep a note beside the models, in the place of an older one of that name."""
        self.check_open()
        self.writer.wait(self.writer.add_note(name, body))

    def keep_first(self, name: str, body: bytes) -> bytes:
        """Keep a note unless there is one of that name; return the body of the one that is kept."""
        self.check_open()
        return self.writer.run(lambda: self._database.keep_first(Note(name, time(), body)))

    def notes(self, prefix: str = "") -> list[Note]:
        """Return the notes whose names begin so, the oldest first."""
        self.check_open()
        return self.writer.run(lambda: self._database.notes(prefix))

    def forget(self, prefix: str, before: Time) -> None:
        """Remove the notes whose names begin so, and that were kept before a time."""
        self.check_open()
        until = time_of(before, "forget")
        self.writer.run(lambda: self._database.forget(prefix, until))

    # --- Looking --------------------------------------------------------------------------------

    def log(self, name: str) -> LogLines:
        """Return what was done to a model, line by line, from the oldest event that is kept.

        The lines come once. With them goes what the model was told, as audits and replays ask it.

        Also of a model that another process writes. What is committed after the last line was
        asked for may be missing.
        """
        about, objects = self._described(name)
        ticket = first_ticket(self.reader, about, objects)
        found = (line for line, _, _ in lines(self.reader, about, ticket))
        return LogLines(found, about.kind, about.spec, [era.spec for era in about.eras])

    def _described(self, name: str) -> tuple[Described, Any]:
        """Return what is known of a model now, and what its log cannot hold."""
        self.check_open()
        with self._lock:
            stored = self._there(name)
            return replace(stored._about), stored._objects

    def events(self, about: Described, first: int, end: int) -> Iterator[tuple[Event, float]]:
        """Return the events from ``first`` to before ``end``, and when each was written."""
        for row, events in read_events(self.reader, about, first):
            if row.first >= end:
                return
            for place, event in enumerate(events, row.first):
                if first <= place < end:
                    yield event, row.written

    # --- Files ----------------------------------------------------------------------------------

    def export(self, name: str, path: StrPath, *, note: bytes = b"") -> int:
        """Write the log of a model to a Parquet file, and return how many events it has.

        One row per event, with columns to look at; ``load`` makes the same model of it again. A
        name that ends like another kind of file, such as .csv, is refused. ``note`` goes into the
        file as well, for data that is kept beside the model (``exported_note``).
        """
        from belated.store import parquet

        about, objects = self._described(name)
        ticket = first_ticket(self.reader, about, objects)
        end = self.writer.run(lambda: self._database.end(about.number))
        with parquet.open_export(path) as beside:
            count = parquet.export(self.reader, about, beside, ticket, end, note)
            now = self.writer.run(lambda: self._database.described(about.number))
            if now is None or replace(now, length=about.length) != about:
                raise errors.StoreError(
                    f"export: {name!r} was deleted, compacted, rebuilt or erased from meanwhile; "
                    "nothing is written"
                )
        return count

    @staticmethod
    def exported_note(path: StrPath) -> bytes:
        """Return the note that ``export`` has put into a file; empty where there is none."""
        from belated.store import parquet

        return parquet.read_note(path)

    def load(self, name: str, path: StrPath, spec: Any = None) -> Any:
        """Put the model that ``export`` wrote into the store, log and all, bit for bit the same.

        ``spec`` is needed where the model has what a file cannot hold, such as a rule of your own.
        """
        from belated.store import parquet

        self.check_open()
        self._check_new(name)
        loaded = parquet.Loaded(path, name)
        about = loaded.about
        if spec is not None:
            self._compare(about, spec)
        objects = None if spec is None else spec._parts
        check_rule(about, objects)
        found = recover_model(loaded, about, objects)

        def add() -> StoredModel:
            self._check_new(name)
            if not self._add(about, loaded.log, loaded.base):
                raise errors.SpecError(f"load: there is a model {name!r}; nothing has changed")
            self._own(about)
            stored = self._models[name]
            stored._objects = objects
            stored._take(found)
            return stored

        with self._lock:
            self.check_open()
            return self.writer.run(add)

    def _check_new(self, name: str) -> None:
        if _checked(name) in self._models:
            raise errors.SpecError(f"load: there is a model {name!r}; nothing has changed")

    def __repr__(self) -> str:
        return f"<Store {self.where}>"


def _checked(name: Any) -> str:
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME:
        raise errors.SpecError(f"the name of a model is a text of 1 to {_LONGEST_NAME} characters")
    if "\x00" in name or any("\ud800" <= letter <= "\udfff" for letter in name):
        raise errors.SpecError(f"the name of a model is Unicode text without nulls, got {name!r}")
    return name


def _check_start(about: Described, spec: Any, model: Any) -> None:
    """Refuse a model whose tickets are not those of the log."""
    kind = KINDS[about.kind]
    origin = about.eras[0].spec if about.eras else about.spec
    try:
        begun = kind.restored(origin, spec._parts).rounds
    except errors.SnapshotError:  # it has Python objects of its own, so they cannot be compared
        return
    if model.rounds != begun:
        raise errors.SpecError(
            f"rebuild: the model {about.name!r} was put in after {begun} predictions, so that its "
            f"tickets begin there; one that has seen {model.rounds} has others"
            if begun
            else "rebuild: the log is for a model that has seen nothing, and this one has"
        )


class _Lost(errors.StoreError):
    """The connection to a shared database was lost, and others may have written since."""
