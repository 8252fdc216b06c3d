"""What all models of a store have in common."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from inspect import signature
from time import time
from typing import Any, ClassVar, NamedTuple, TypeVar

from belated.errors import BelatedError, NotCommitted, SpecError, StoreWarning
from belated.keys import Key
from belated.missing import is_missing
from belated.models.clock import SINCE_1970, Duration
from belated.models.knobs import Knobs
from belated.models.linear.model import LinearModel
from belated.models.moments import AWARE, NUMBERS, Moment, Time, as_text, read_time
from belated.store.batches import COMMITTED, After, Batch, done
from belated.store.entry import Entry
from belated.store.events import CANCEL, Event, LoggedTime, encoded, span_in, time_in
from belated.store.queued import Queued

T = TypeVar("T")
Done = tuple[Any, Event]
"""The answer of a verb, and the event that is logged."""
Call = tuple[str, dict[str, Any]]
"""A verb and its arguments by name."""
Noted = Callable[[list[Any]], tuple[str, bytes]]
"""What came of calls, to the name and the body of a note."""
_Wanted = tuple[Callable[..., Done], dict[str, Any]]


class Pending:
    """An event that was applied and is not yet committed.

    ``result`` waits for the commit and returns the answer; ``then`` has a function called when the
    event is committed or lost, by the thread that commits, for those who must not wait themselves.
    """

    __slots__ = ("_writer", "answer", "batch", "events")

    def __init__(
        self, answer: Any, batch: Batch, writer: Any, events: Sequence[Event | None] = ()
    ) -> None:
        self._writer = writer
        self.answer = answer
        """What ``result`` returns; before the commit it counts for nothing."""
        self.batch = batch
        """What it is committed with: those that have the same one share their fate."""
        self.events = events
        """What is logged of each call; None where it was refused."""

    def result(self) -> Any:
        """Return the answer once it is committed, or raise ``NotCommitted``."""
        self._writer.settle(self.batch)
        return self.answer

    def then(self, after: After, within: float = 0.0) -> None:
        """Call ``after(None)`` when the event is committed, ``after(error)`` when it is lost.

        What it raises is logged (logger ``belated``) and goes no further. Who gives ``within``
        commits it himself if the last commit took less than so many seconds.
        """
        self._writer.then(self.batch, after, within)


class History(NamedTuple):
    """How much of a model's log there is."""

    events: int
    """Events so far."""
    first: int
    """The oldest that is kept; those before are compacted."""
    saved: int
    """Events before the newest snapshot."""


class StoredModel:
    """A model of a store: every verb that changes it is committed before it returns.

    Any number of threads may use it. What verbs take, return and refuse is what they do in memory;
    a refused call leaves nothing in the log. ``NotCommitted`` is raised where the store could not
    be written: then the call did not happen, and the model goes on from what was committed.
    """

    __slots__ = ("_entry", "_writer")

    def __init__(self, entry: Entry) -> None:
        self._entry = entry
        self._writer = entry.store.writer

    # --- Events ---------------------------------------------------------------------------------

    def _done(self, verb: Callable[..., Done], *arguments: Any) -> Any:
        """Apply a verb, and return its answer once it is committed."""
        entry, writer, answer, batch = self._entry, self._writer, None, None
        is_alone = writer.is_idle
        if not is_alone:  # others are at work, and one does it for all
            entry.store.check_open()
            writer.faults.check()
            # It may be another thread that applies it: none of the user's code, or by mistake.
            if writer.may_queue and entry.objects is None and not any(map(callable, arguments)):
                call = Queued(entry, lambda: self._applied(entry.model, verb, arguments, {}))
                writer.do(call)
                answer, batch = call.result()
        if batch is None:  # it is left to this thread, which may wait for what it needs
            answer, batch = self._begun(verb, arguments, {}, is_alone)
        if batch is not COMMITTED:
            writer.settle(batch)
        return answer

    def _begun(
        self,
        verb: Callable[..., Done],
        arguments: tuple[Any, ...],
        named: dict[str, Any],
        is_alone: bool = False,
    ) -> tuple[Any, Batch]:
        """Apply a verb under the lock, and add it to the log, so that both have one order.

        Where the caller ``is_alone`` it is committed as well.
        """
        entry = self._entry
        entry.store.check_open()  # before the lock, which nobody may give back after a fork
        self._writer.faults.check()
        with entry.lock:
            return self._applied(entry.ready(), verb, arguments, named, is_alone)

    def _applied(
        self,
        model: Any,
        verb: Callable[..., Done],
        arguments: tuple[Any, ...],
        named: dict[str, Any],
        is_alone: bool = False,
    ) -> tuple[Any, Batch]:
        """Apply a verb, and add it to the log; the lock is held."""
        entry, writer = self._entry, self._writer
        is_due = entry.length + 1 - entry.saved >= entry.store.snapshot_every
        try:
            answer, event = verb(self, model, *arguments, **named)
            text = encoded(event)
            if is_alone and not is_due:
                batch = writer.put(entry, text)
            else:
                batch = writer.add(entry, text, 1)
        except BelatedError:  # refused: nothing has changed
            raise
        except TypeError as error:
            trace = error.__traceback__
            if trace is None or trace.tb_next is not None:
                entry.is_stale = True
            raise  # else it is a wrong call, which does not get as far as the model
        except BaseException:
            entry.is_stale = True  # something came between its state and its log
            raise
        if is_due:
            self._save(model)
        return answer, batch

    def _save(self, model: Any) -> None:
        """Add a snapshot to the open batch; the lock is held."""
        entry = self._entry
        entry.saved = entry.length
        try:
            self._writer.add_snapshot(entry, model.snapshot())
        except NotCommitted:  # those who wait for their events are told
            return
        except (BelatedError, MemoryError) as error:  # the log has everything all the same
            warnings.warn(f"{self.name!r}: no snapshot: {error}", StoreWarning, stacklevel=2)
        except BaseException:  # as in ``read``
            entry.is_stale = True
            raise

    def begin(self, verb: str, *arguments: Any, **named: Any) -> Pending:
        """Apply a verb by its name, and return at once; it counts when it is committed.

        For those who must not wait: see ``Pending``.
        """
        return Pending(*self._begun(self._verb(verb), arguments, named), self._writer)

    def many(self, calls: Iterable[Call]) -> list[Any]:
        """Apply many calls in order and commit them together; return what came of each.

        A call is a verb and its arguments by name, such as ``("predict", {"features": {"hour": 7},
        "key": "a"})`` or ``("observe", {"ticket": "a", "label": 1.0})``. Where a call is refused,
        its error stands in the place of an answer, and the others go on. Where the commit fails,
        none of them has happened.
        """
        outcomes: list[Any] = self.begin_many(calls).result()
        return outcomes

    def begin_many(self, calls: Iterable[Call], note: Noted | None = None) -> Pending:
        """Apply many calls as ``many`` does, and return at once; they count when committed.

        ``note`` is called with what came of each, and returns the name and the body of a note that
        is committed with them (see ``Store.keep``). Where all are refused there is nothing to
        commit, and so no note.
        """
        entry, writer = self._entry, self._writer
        wanted = self._wanted(calls)
        entry.store.check_open()
        writer.faults.check()
        with entry.lock:
            model = entry.ready()
            outcomes: list[Any] = []
            events: list[Event | None] = []
            try:
                for verb, named in wanted:
                    try:
                        answer, event = verb(self, model, **named)
                    except BelatedError as error:
                        answer, event = error, None
                    outcomes.append(answer)
                    events.append(event)
                happened = [event for event in events if event is not None]
                if not happened:
                    return Pending(outcomes, done(), writer, events)
                notes = () if note is None else (note(outcomes),)
                batch = writer.add(entry, encoded(*happened), len(happened), notes)
            except BaseException:
                entry.is_stale = True
                raise
            if entry.length - entry.saved >= entry.store.snapshot_every:
                self._save(model)
        return Pending(outcomes, batch, writer, events)

    def _wanted(self, calls: Iterable[Call]) -> list[_Wanted]:
        """Return calls that have the right arguments, before any of them gets to the model."""
        wanted: list[_Wanted] = []
        for name, named in calls:
            verb = self._verb(name)
            if (verb, *named) not in _right:
                _check_names(verb, named)
            wanted.append((verb, named))
        return wanted

    def _verb(self, name: str) -> Callable[..., Done]:
        verb = self._verbs.get(name)
        if verb is None:
            raise SpecError(f"no such verb, {name!r}; there are: {', '.join(self._verbs)}")
        return verb

    @contextmanager
    def held(self) -> Iterator[Any]:
        """Return the model as it is in memory, and let no other thread use it meanwhile.

        It is there to be looked at; what changes it goes through the verbs.
        """
        entry = self._entry
        entry.store.check_open()
        with entry.lock:
            try:
                yield entry.ready()
            except BelatedError:
                raise
            except BaseException:  # as in ``read``
                entry.is_stale = True
                raise

    def try_lock(self, events: int) -> bool:
        """Take the lock of the model if the caller can apply so many events without waiting.

        It cannot while another thread has the lock, where the model is to be built anew from its
        log, and where a snapshot is due. Whoever gets True calls ``unlock``.
        """
        entry = self._entry
        if not entry.lock.acquire(blocking=False):
            return False
        is_due = entry.length + events - entry.saved >= entry.store.snapshot_every
        if entry.is_stale or is_due:
            entry.lock.release()
            return False
        return True

    def unlock(self) -> None:
        """Give the lock of ``try_lock`` back."""
        self._entry.lock.release()

    def tail(self, most: int) -> tuple[int, Iterator[tuple[Event, float]]]:
        """Return how many rounds there are, and the newest events of the log until then.

        Each event comes with the time when it was written, the oldest first.
        """
        entry, store = self._entry, self._entry.store
        end, rounds = self.read(lambda model: (entry.length, int(self._holder(model).rounds)))
        return rounds, store.events(entry.about, max(entry.about.first, end - most), end)

    def read(self, read: Callable[[Any], T]) -> T:
        """Return what is read of the model, once all that it stands on is committed."""
        entry = self._entry
        entry.store.check_open()  # as in ``_begun``
        while True:
            with entry.lock:
                try:
                    found, newest = read(entry.ready()), entry.newest
                except BelatedError:
                    raise
                except BaseException:  # an interrupt may have left an answer half applied
                    entry.is_stale = True
                    raise
            if newest is None or (newest.is_done and newest.error is None):
                return found
            try:
                self._writer.settle(newest)
            except NotCommitted:  # what was read has never been
                continue
            return found

    def cancel(self, ticket: int | Key) -> None:
        """Close a ticket of which nothing more will be heard."""
        self._done(StoredModel._cancel, ticket)

    def _cancel(self, model: Any, ticket: int | Key) -> Done:
        number, name = resolved(self._holder(model), ticket)
        model.cancel(ticket)
        return None, [CANCEL, number, name]

    _verbs: ClassVar[dict[str, Callable[..., Done]]] = {"cancel": _cancel}

    @staticmethod
    def _holder(model: Any) -> Any:
        """Return what has the tickets and keys of a model."""
        return model

    # --- The clock ------------------------------------------------------------------------------

    def _now(self, at: Time | None, who: str) -> LoggedTime | None:
        """Return the time of an event as it is logged; that of the system where a model needs one.

        The time of the system is a date with a time zone, UTC, unless times have been numbers.
        """
        moment = read_time(at, who)
        if moment is not None:
            return self._told(moment, who)
        if not self._entry.needs_times:
            return None
        has_numbers = self._clocked._memory.kind_of_times == NUMBERS
        return time() if has_numbers else self._told(Moment(time(), AWARE), who)

    def _tick_at(self, at: Time | None) -> LoggedTime:
        """Return the time of a tick as it is logged; that of the system where none is given."""
        moment = read_time(at, "tick")
        return self._told(Moment(time(), AWARE) if moment is None else moment, "tick")

    def _told(self, at: Moment, who: str) -> LoggedTime:
        """Return a time as it is logged; refuse a date that does not go with earlier times.

        A date is logged as a text where the number would not say to the model that it is one. Else
        it is logged as a number, as dates that the model has seen say what the number is.
        """
        if not at.is_date:
            return float(at)
        times, memory = self._clocked._times, self._clocked._memory
        times.check_date(at, who)
        is_clear = memory.kind_of_times == at.kind and at >= SINCE_1970
        return float(at) if is_clear else as_text(at)

    def _when(
        self, at: Time | None, deadline: Duration | None, who: str
    ) -> tuple[LoggedTime | None, float | None]:
        """Return the time of a prediction and the deadline of its ticket, as they are logged."""
        if is_missing(deadline):
            deadline = None
        if at is None and deadline is None and not self._entry.needs_times:
            return None, None
        now, span = self._now(at, who), span_in(deadline, who)
        if deadline is not None:
            seconds = time_in(now)
            self._clocked._times.check_unit(math.nan if seconds is None else seconds, deadline, who)
        return now, span

    @property
    def _clocked(self) -> LinearModel | Knobs:
        """The model that has the clock; the caller has the lock."""
        return clocked(self._entry.model)

    # --- State ----------------------------------------------------------------------------------

    @property
    def state(self) -> Any:
        """The model as it is in memory, for numbers that may be a moment old or never count."""
        return self._entry.model

    @property
    def kind(self) -> str:
        """The class of the model in memory, by its name."""
        return self._entry.about.kind

    @property
    def number(self) -> int:
        """The number of the model in its store, which no other ever had."""
        return self._entry.about.number

    @property
    def name(self) -> str:
        """The name of the model in its store."""
        return self._entry.about.name

    @property
    def history(self) -> History:
        """How many events there are, and how many of them are compacted."""
        entry = self._entry
        return self.read(lambda _: History(entry.length, entry.about.first, entry.saved))

    @property
    def rounds(self) -> int:
        """Predictions or choices so far; also the next ticket."""
        return self.read(lambda model: int(self._holder(model).rounds))

    @property
    def open(self) -> int:
        """Tickets that still wait for their answer."""
        return self.read(lambda model: int(self._holder(model).open))

    def ticket(self, name: int | Key) -> int:
        """Return the ticket that a key stands for; a ticket stands for itself."""
        return self.read(lambda model: int(self._holder(model).ticket(name)))

    def is_open(self, ticket: int | Key) -> bool:
        """Tell whether a ticket, or that of a key, still waits for its answer."""
        return self.read(lambda model: bool(model.is_open(ticket)))

    def snapshot(self, *, secret: bytes | None = None) -> bytes:
        """Return the whole model as one blob, for ``restore`` of its class in memory."""
        return self.read(lambda model: bytes(model.snapshot(secret=secret)))

    def save(self) -> None:
        """Write a snapshot to the store, so that the next start is quick."""
        self._entry.store.check_open()
        with self._entry.lock:
            self._save(self._entry.ready())
        self._writer.settle_all()

    def __repr__(self) -> str:
        """Return what this is and where it is."""
        about = self._entry.about
        return f"<{about.kind} {about.name!r} of {self._entry.store!r}>"


@cache
def _names(verb: Callable[..., Done]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of what a verb must be given, and of all that it takes."""
    given = list(signature(verb).parameters.values())[2:]  # after the stored model and its own
    needed = (each.name for each in given if each.default is each.empty)
    return frozenset(needed), frozenset(each.name for each in given)


_right: set[tuple[Any, ...]] = set()  # verbs with names that were seen to be right for them


def _check_names(verb: Callable[..., Done], named: dict[str, Any]) -> None:
    """Refuse a call of the wrong arguments before it, or one before it, gets to the model."""
    needed, known = _names(verb)
    if not needed <= named.keys() <= known:
        raise TypeError(
            f"{verb.__name__.lstrip('_')} takes {', '.join(known)}; got {', '.join(named)}"
        )
    _right.add((verb, *named))


def clocked(model: Any) -> LinearModel | Knobs:
    """Return the model that has the clock: itself, or the one inside."""
    found: LinearModel | Knobs = model
    if not isinstance(model, LinearModel | Knobs):
        found = model.model
    return found


def resolved(model: Any, name: Any) -> tuple[int, Any]:
    """Return the ticket of a name as it is logged, and the name where that is a key."""
    return model.ticket(name), name if isinstance(name, str) else None
