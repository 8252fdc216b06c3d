"""The methods that all models of a store share."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import update_wrapper
from inspect import signature
from itertools import chain
from time import time
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from belated.errors import (
    BadFeatures,
    BelatedError,
    NotCommitted,
    SpecError,
    StoreError,
    UnknownModel,
)
from belated.frames import Frame, is_frame
from belated.logger import LOG
from belated.missing import is_missing
from belated.models.clock import SINCE_1970
from belated.models.linear.model import LinearModel
from belated.models.methods import METHODS
from belated.models.moments import AWARE, NUMBERS, Moment, Time, as_text, read_time
from belated.models.named import listed_keys, named
from belated.models.online import is_column
from belated.store import events as of
from belated.store.batch import COMMITTED, Batch
from belated.store.writer import Writer
from belated.tables import report_html

if TYPE_CHECKING:
    from belated.store.database import Described
    from belated.store.erasure import Erased
    from belated.store.recovery import Recovered
    from belated.store.store import Store

T = TypeVar("T")
Call = tuple[str, dict[str, Any]]
"""A method and its arguments by name."""
Noted = Callable[[list[Any]], tuple[str, bytes]]
"""From outcomes of calls to the name and the body of a note."""
_OF_MODELS = frozenset(line.name for line in METHODS)
_LEFT_OUT = ("hasher", "model")  # of properties


class Pending:
    """Calls that were applied and are not yet committed, for callers that must not wait."""

    __slots__ = ("_writer", "answer", "batch", "events")

    def __init__(
        self, answer: Any, batch: Batch, writer: Writer, events: Sequence[list[of.Event]] = ()
    ) -> None:
        self.answer, self.batch, self._writer = answer, batch, writer
        self.events = events
        """The events of each call; none where it was refused."""

    def result(self) -> Any:
        """Return the answer once it is committed, or raise ``NotCommitted``."""
        self._writer.wait(self.batch)
        return self.answer

    def committed(self) -> asyncio.Future[None]:
        """Return a future of the running event loop: the commit, or ``NotCommitted``."""
        return self._writer.future(self.batch)


class History(NamedTuple):
    """How much of a model's log there is."""

    events: int
    """Events so far."""
    first: int
    """The oldest that is kept; those before are compacted."""
    saved: int
    """Events before the newest snapshot."""


class StoredModel:
    """A model of a store: every method that changes it is committed before it returns.

    Any number of threads may use it. Its methods take, return and refuse what those of the model in
    memory do; a refused call leaves nothing in the log. ``NotCommitted`` is raised where the store
    could not be written: then the call did not happen, and the model goes on from what was
    committed. Where a deadline is a length of time and ``at`` is not given, the time of the system
    is used, and logged.
    """

    methods: ClassVar[dict[str, of.LoggedMethod]] = {}
    """Those that change the model, by name."""

    def __init__(self, store: Store, about: Described) -> None:
        self._store, self._about, self._writer = store, about, store.writer
        self._objects: Any = None  # what a log cannot hold: a rule, a spec with Python objects
        self._lock = threading.RLock()
        self._model: Any = None
        self._is_stale = True  # it may have events that will never be committed
        self._length = 0  # events so far; also the number of the next
        self._committed = 0  # events that are on disk: the next row of the log begins there
        self._saved = 0  # events before the newest snapshot
        self._needs_times = False  # whether events without a time get that of the system
        self._newest: Batch | None = None  # where the newest event is

    _repr_html_ = report_html

    # --- Events ---------------------------------------------------------------------------------

    def _done(self, method: of.LoggedMethod, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        return self._apply([(method, method.bind(given, named))], is_single=True).result()

    def _apply(
        self,
        wanted: list[tuple[of.LoggedMethod, dict[str, Any]]],
        note: Noted | None = None,
        is_single: bool = False,
    ) -> Pending:
        """Call methods under the lock, and add them to the log, so that both have one order.

        The error of a refused call is raised if it is a single one, and else stands in the place
        of its answer.
        """
        self._store.check_open()  # before the lock, which a forked process may never get
        self._writer.check()
        answers: list[Any] = []
        events: list[list[of.Event]] = []
        with self._lock:
            model = self._ready()
            try:
                for method, arguments in wanted:
                    try:
                        answer, some = self._called(model, method, arguments)
                    except BelatedError as error:
                        if is_single or self._is_stale:  # then those before are lost as well
                            raise
                        answer, some = error, []
                    answers.append(answer)
                    events.append(some)
                batch, happened = COMMITTED, list(chain.from_iterable(events))
                if happened:
                    notes = () if note is None else (note(answers),)
                    batch = self._writer.add(
                        self, of.encode_events(*happened), len(happened), notes
                    )
            except BelatedError:  # a call of a function here could be interrupted before the mark
                if not is_single:
                    self._is_stale = True
                raise
            except BaseException:
                self._is_stale = True
                raise
            if self._length - self._saved >= self._store.snapshot_every:
                self._save(model)
        return Pending(answers[0] if is_single else answers, batch, self._writer, events)

    def _called(
        self, model: Any, method: of.LoggedMethod, arguments: dict[str, Any]
    ) -> tuple[Any, list[of.Event]]:
        """Call a method of a model; return its answer, and the events that are logged.

        ``arguments`` become what the model is given.
        """
        if method.line.single:
            return self._called_many(model, method, arguments)
        event = self._event(model, method, arguments)
        answer = method.call(model, arguments)
        try:
            method.finish(event, answer)
        except BaseException:  # the model has changed
            self._is_stale = True
            raise
        return answer, [event]

    def _called_many(
        self, model: Any, method: of.LoggedMethod, arguments: dict[str, Any]
    ) -> tuple[Any, list[of.Event]]:
        """Call a method for many at once, which is logged as one event for each."""
        single, who = self.methods[method.line.single], method.name
        as_frame = arguments.pop("as_frame", False)
        frame = self._take_frame(method, arguments, as_frame)
        columns: dict[str, list[Any]] = {}
        shared: dict[str, Any] = {}
        for name, given in arguments.items():
            kind = method.kinds[name]
            if kind == "row":
                arguments[name] = columns[kind] = of.list_rows(model, given, who)
            elif kind == "ticket":
                heard = named(given, model._keys, who)
                numbers = heard.tickets.tolist() if heard.names is None else heard.names
                arguments[name] = columns[kind] = numbers
            elif given is not None and kind == "key":
                arguments[name] = columns[kind] = listed_keys(given, who)
            elif kind == "answer" or (given is not None and kind == "weight"):
                arguments[name] = found = model._column_given(given, kind)
                columns[kind] = found.tolist() if isinstance(found, np.ndarray) else found
            else:
                shared[kind] = given
        size = len(columns["ticket"] if "ticket" in columns else columns["row"])
        if is_column(shared.get("at")):
            columns["at"] = model._times_given(who, shared.pop("at"), size)
        elif method.at:
            now = self._now(read_time(shared.get("at"), who), who, False)
            if now is not None:
                arguments["at"] = shared["at"] = now
        events, rows = [], []
        for place in range(size):
            one = {single.names[kind]: given for kind, given in shared.items()}
            for kind, column in columns.items():
                if place < len(column) and kind in single.names:
                    one[single.names[kind]] = column[place]
            try:
                events.append(self._event(model, single, one))
            except BadFeatures as error:
                raise BadFeatures(f"{who}: row {place}: {error}") from None
            rows.append(one.get(single.names.get("row", "")))
        if "row" in columns:
            arguments[method.names["row"]] = rows  # as they will be read
        answer = method.call(model, arguments)
        try:
            for place, event in enumerate(events):
                single.finish(event, answer, place)
            return (frame.of(answer) if as_frame and frame is not None else answer), events
        except BaseException:  # as in ``_called``
            self._is_stale = True
            raise

    def _take_frame(
        self, method: of.LoggedMethod, arguments: dict[str, Any], is_needed: bool
    ) -> Frame | None:
        """Replace a frame by its rows as dicts, because the log keeps names; return the frame."""
        name = method.names.get("row", "")
        if not is_needed and not is_frame(arguments.get(name)):
            return None
        frame = Frame(arguments[name], method.name)
        for other in ("keys", "at"):
            if other in arguments:
                arguments[other] = frame.taken(arguments[other], may_be_time=other == "at")
        arguments[name] = list(frame.dicts())
        return frame

    def _event(self, model: Any, method: of.LoggedMethod, arguments: dict[str, Any]) -> of.Event:
        """Return what is logged of a call, before it; ``arguments`` become what will be read."""
        event: of.Event = method.blank.copy()
        for name, place, encode in method.before:
            if name not in arguments:
                continue
            if encode is None:
                event[place] = arguments[name]
            else:
                arguments[name], event[place] = encode(model, arguments[name], method.name)
        if method.at and (
            self._needs_times or method.is_tick or not method.timed.isdisjoint(arguments)
        ):
            self._add_times(method, event, arguments)
        return event

    def _save(self, model: Any) -> None:
        """Add a snapshot to the open batch; the lock is held."""
        self._saved = self._length
        try:
            self._writer.add(self, "", 0, snapshot=model.snapshot())
        except NotCommitted:  # the callers that wait for these events get the error
            return
        except (BelatedError, MemoryError) as error:  # the log has everything all the same
            LOG.warning("%r: no snapshot was written: %s", self.name, error)
        except BaseException:  # as in ``held``
            self._is_stale = True
            raise

    def begin(self, name: str, *given: Any, **named: Any) -> Pending:
        """Call a method by its name, and return at once; it counts when it is committed.

        For callers that must not block; see ``Pending``.
        """
        method = self._method(name)
        return self._apply([(method, method.bind(given, named))], is_single=True)

    def many(self, calls: Iterable[Call]) -> list[Any]:
        """Apply many calls in order and commit them together; return what came of each.

        A call is a method and its arguments by name, such as ``("predict", {"row": {"hour":
        7}, "key": "a"})`` or ``("observe", {"ticket": "a", "answer": 1.0})``. Where a call is
        refused, its error stands in the place of an answer, and the others go on. Where the commit
        fails, none of them has happened.
        """
        outcomes: list[Any] = self.begin_many(calls).result()
        return outcomes

    def begin_many(self, calls: Iterable[Call], note: Noted | None = None) -> Pending:
        """Apply many calls as ``many`` does, and return at once; they count when committed.

        ``note`` is called with what came of each, and returns the name and the body of a note that
        is committed with them (see ``Store.keep``). Where all are refused there is nothing to
        commit, and so no note.
        """
        named = [(self._method(name), arguments) for name, arguments in calls]
        wanted = [(method, method.bind((), dict(given))) for method, given in named]
        return self._apply(wanted, note)  # all of them are right calls

    def _method(self, name: str) -> of.LoggedMethod:
        method = self.methods.get(name)
        if method is None:
            raise SpecError(f"no such method, {name!r}; there are: {', '.join(self.methods)}")
        return method

    @contextmanager
    def held(self) -> Iterator[Any]:
        """Return the model as it is in memory, and let no other thread use it meanwhile.

        It is there to be looked at; what changes it goes through the verbs.
        """
        self._store.check_open()
        with self._lock:
            try:
                yield self._ready()
            except BelatedError:
                raise
            except BaseException:  # as in ``read``
                self._is_stale = True
                raise

    def try_lock(self, events: int) -> bool:
        """Take the lock of the model if the caller can apply so many events without waiting.

        It cannot while another thread has the lock, the model must be recovered, or a snapshot is
        due. A caller that gets True calls ``unlock``.
        """
        if not self._lock.acquire(blocking=False):
            return False
        is_due = self._length + events - self._saved >= self._store.snapshot_every
        if self._is_stale or is_due:
            self._lock.release()
            return False
        return True

    def unlock(self) -> None:
        """Give the lock of ``try_lock`` back."""
        self._lock.release()

    def tail(self, most: int) -> tuple[int, Iterator[tuple[of.Event, float]]]:
        """Return how many rounds there are, and the newest events until then with their times."""
        self, store = self, self._store
        end, rounds = self.read(lambda model: (self._length, int(model.rounds)))
        return rounds, store.events(self._about, max(self._about.first, end - most), end)

    def read(self, read: Callable[[Any], T]) -> T:
        """Return what is read of the model, once all that it stands on is committed."""
        self._store.check_open()  # as in ``_apply``
        while True:
            with self._lock:  # not ``held``: an interrupt within its generator could keep the lock
                try:
                    found, newest = read(self._ready()), self._newest
                except BelatedError:
                    raise
                except BaseException:  # an interrupt may have left an answer half applied
                    self._is_stale = True
                    raise
            with suppress(NotCommitted):  # then what was read has never been
                if newest is not None:
                    self._writer.wait(newest)
                return found

    # --- The clock ------------------------------------------------------------------------------

    def _add_times(
        self, method: of.LoggedMethod, event: of.Event, arguments: dict[str, Any]
    ) -> None:
        """Put the time of an event and the deadline of its ticket where they belong."""
        at, who = arguments.get(method.at), method.name
        span = arguments.get(method.deadline)
        span = None if is_missing(span) else span
        if at is None and span is None and not (self._needs_times or method.is_tick):
            return
        now = self._now(read_time(at, who), who, method.is_tick)
        arguments[method.at] = event[method.places[method.at]] = now
        if span is not None:
            seconds, found = of.time_in(now), of.read_span(span, who)
            self._clocked._times.check_unit(math.nan if seconds is None else seconds, span, who)
            arguments[method.deadline] = event[method.places[method.deadline]] = found

    def _now(self, moment: Moment | None, who: str, is_tick: bool) -> of.LoggedTime | None:
        """Return the time of an event as it is logged; that of the system where a model needs one.

        The time of the system is a date with a time zone, UTC, unless times have been numbers.
        """
        if moment is None:
            if not (is_tick or self._needs_times):
                return None
            if not is_tick and self._clocked._memory.kind_of_times == NUMBERS:
                return time()
            moment = Moment(time(), AWARE)
        return self._told(moment, who)

    def _told(self, at: Moment, who: str) -> of.LoggedTime:
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

    @property
    def _clocked(self) -> Any:
        return of.clocked(self._model)

    # --- State ----------------------------------------------------------------------------------

    def _open_for(self, spec: Any) -> None:
        """Have the model ready, with what a spec has that a log cannot hold, if one is given."""
        before = self._objects
        is_new = self._model is None or self._about.has_rule
        if spec is not None and is_new and spec._parts is not before:
            self._objects, self._is_stale = spec._parts, True
        try:
            self._ready()
        except BaseException:  # such as a rule that does not say what the log has
            self._objects = before
            raise

    def _ready(self) -> Any:
        """Return the model as it was committed and applied; the caller has the lock."""
        if self._about.is_deleted:
            raise UnknownModel(f"the model {self._about.name!r} was deleted")
        self._store.check_open()
        if self._about.has_rule:
            check_rule(self._about, self._objects)
        if self._is_stale:
            self._store.recover(self)
        return self._model

    def _take(self, found: Recovered) -> None:
        """Go on from what the log has led to."""
        self._model, self._length, self._saved = found.model, found.length, found.saved
        if isinstance(self._model, LinearModel):
            self._model.is_logged = True
        self._committed, self._needs_times = found.length, found.needs_times
        self._newest, self._is_stale = None, False

    @property
    def in_memory(self) -> Any:
        """The model as it is in memory, for numbers that may be a moment old or never count."""
        return self._model

    @property
    def kind(self) -> str:
        """The class of the model in memory, by its name."""
        return self._about.kind

    @property
    def number(self) -> int:
        """The number of the model in its store, which no other ever had."""
        return self._about.number

    @property
    def name(self) -> str:
        """The name of the model in its store."""
        return self._about.name

    @property
    def history(self) -> History:
        """How many events there are, and how many of them are compacted."""
        return self.read(lambda _: History(self._length, self._about.first, self._saved))

    def _reported(self) -> Any:
        """Return the report of the model, with that of its shadow if it has one."""
        report, length, model = self.read(lambda found: (found.report(), self._length, found))
        return self._store.shadows.add_to(report, self._about, model, length)

    def erase(self, key: str, *, rebuild: bool = False) -> Erased:
        """Erase all that is stored of a key; see ``Store.erase``."""
        return self._store.erase(self.name, key, rebuild=rebuild)

    def save(self) -> None:
        """Write a snapshot to the store, so that the next start is quick."""
        self._store.check_open()
        with self._lock:
            self._save(self._ready())
        self._writer.run(lambda: None)

    def __repr__(self) -> str:
        about = self._about
        return f"<{about.kind} {about.name!r} of {self._store!r}>"

    if TYPE_CHECKING:

        def snapshot(self, secret: bytes | None = None) -> bytes:
            """Return the whole model as one blob, for ``restore`` of its class in memory."""

        @property
        def rounds(self) -> int:
            """Predictions or choices so far; also the next ticket."""

        @property
        def open(self) -> int:
            """Tickets that still wait for their answer."""

        def tick(self, at: Time | None = None) -> None:
            """Let the clock go on, to that of the system if no time is given."""


def check_rule(about: Described, rule: Any) -> None:
    """Refuse to go on with another rule than the one that a model was put in with."""
    if about.has_rule and rule is None:
        raise StoreError(
            f"the model {about.name!r} was put in with a rule of its own (decide), which no file "
            f"can hold: give it again, store.model({about.name!r}, Chooser(..., decide=...))"
        )


def make_stored_class(model: type[Any]) -> type[StoredModel]:
    """Return the class of stored models of a kind, which has the methods of the kind.

    Those of the table of methods that change models are committed before they return. The others,
    and properties, are read.
    """
    methods = of.logged_methods(model)
    found: dict[str, Any] = {"__slots__": (), "methods": methods, "__doc__": _ABOUT.format(model)}
    for name in dir(model):
        attribute = getattr(model, name)
        if name[0] == "_" or hasattr(StoredModel, name):
            continue
        if isinstance(attribute, property) and name not in _LEFT_OUT:
            found[name] = _property(name, attribute, methods.get(name))
        elif name in _OF_MODELS:
            found[name] = _method(name, model, methods.get(name))
    return type(f"Stored{model.__name__.removesuffix('Model')}", (StoredModel,), found)


_ABOUT = "A ``{0.__name__}`` in a store; see ``StoredModel``."


def _method(name: str, model: type[Any], method: of.LoggedMethod | None) -> Any:
    function = getattr(model, name)
    if method is not None:

        def call(self: StoredModel, *given: Any, **named: Any) -> Any:
            return self._done(method, given, named)

        given = list(signature(function).parameters.values())[:1]
        taken = method.signature.parameters.values()
        update_wrapper(call, function).__signature__ = signature(function).replace(  # type: ignore[attr-defined]
            parameters=[*given, *taken]
        )
        return call

    def look(self: StoredModel, *given: Any, **named: Any) -> Any:
        if name == "page":  # drawn from a copy, so that no other call waits
            return function(model.restore(self.snapshot()), *given, **named)
        if name == "report":
            return self._reported()
        taken = [list(each) if isinstance(each, Iterator) else each for each in given]
        return self.read(lambda found: getattr(found, name)(*taken, **named))

    return update_wrapper(look, function)


def _property(name: str, attribute: property, method: of.LoggedMethod | None) -> property:
    def get(self: StoredModel) -> Any:
        return self.read(lambda model: getattr(model, name))

    if method is None:
        return property(get, doc=attribute.__doc__)

    def put(self: StoredModel, value: Any) -> None:
        self._done(method, (value,), {})

    return property(get, put, doc=attribute.__doc__)
