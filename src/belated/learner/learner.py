"""``Learner``: predict now, observe later, in any order, or never."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from belated.arrays import Floats, Ints
from belated.errors import BadFeedback, SnapshotError, SpecError, UnknownTicket
from belated.files import StrPath, write_whole
from belated.kernels.learners import entries
from belated.kernels.slots import code as C
from belated.kernels.slots import ints as N
from belated.kernels.slots import kinds as K
from belated.kernels.slots import status as S
from belated.learner import refusals
from belated.learner.blob import pack, unpack
from belated.learner.extras import extras_of
from belated.learner.given import checked_seed, checked_ticket, events_of, numbers
from belated.learner.keys import Key, Keys
from belated.learner.program import Playable, compile_spec
from belated.learner.report import Certificate, Report, report_of
from belated.learner.turns import alone, busy
from belated.learner.user_parts import UserEvents, restore_base, saved_base, twin_of_base
from belated.timeline import Timeline

__all__ = ["Certificate", "Decision", "Learner", "Report"]

_FLOAT = np.dtype(np.float64)
_as_tuple = tuple.__new__  # a named tuple made from a tuple takes half the time
_CHUNK = 1_000_000  # events between two chances to interrupt a long run


class Decision(NamedTuple):
    """What ``predict`` returns."""

    ticket: int
    """Number to give back with the answer."""
    x: NDArray[np.float64]
    """The play: a vector, or for two-point feedback a pair of rows."""


class Learner:
    """A learner that takes its answers late.

    ``spec`` says what to run, ``seed`` fixes the exploration directions, ``strict`` refuses answers
    that are larger than was assumed instead of counting them. ``seed=None`` draws a fresh one from
    the system, so that nobody can know the directions in advance; ``learner.seed`` shows it.

    >>> import belated as bl
    >>> learner = bl.Learner(bl.Problem(bl.Ball(2), lipschitz=1.0).learner(base="pftrl"))
    >>> ticket, x = learner.predict()
    >>> later, _ = learner.predict()
    >>> learner.observe(later, [0.6, 0.8])
    True
    >>> learner.open, learner.predict().x
    (1, array([-0.6, -0.8]))

    A learner is for one thread at a time: a call while another one is at work raises ``BusyError``,
    and nothing has changed; counts and reports can be read at any time. Share one between threads
    behind a lock, or give it to one thread and talk to that through a queue; different learners in
    different threads run in parallel, since the kernels release the interpreter lock.
    """

    __slots__ = (
        *("_program", "_memory", "_turn", "_predict", "_observe", "_cancel", "_find", "_peek"),
        *("_width", "_is_pair", "_has_user_parts", "_wants_function", "_keys"),
        *("__dict__", "__weakref__"),
    )

    def __init__(self, spec: Playable, seed: int | None = 0, *, strict: bool = False) -> None:
        try:
            self._program = compile_spec(spec)
            self._memory = self._program.fresh(checked_seed(seed, "Learner"), bool(strict))
        except MemoryError as error:
            raise SpecError("Learner: the spec is too large for this machine") from error
        self._keys: Keys | None = None  # until the first one is given, and nobody pays for them
        self._turn: list[None] = [None]
        self._connect()

    def _connect(self) -> None:
        """Find the entries for this composition, and what the hot paths need at hand."""
        program = self._program
        if program.has_user_parts:
            theirs = UserEvents(program)
            self._predict: entries.Predict = theirs.predict
            self._observe: entries.Observe = theirs.observe
            self._cancel: entries.Cancel = theirs.cancel
        else:
            self._predict = entries.predict(program.code)
            self._observe = entries.observe(program.code)
            self._cancel = entries.cancel(program.code)
        if program.wants_function:  # nothing is compiled in the middle of live use
            self._find, self._peek = entries.find(program.code), entries.peek(program.code)
        self._width = int(np.prod(program.shape))
        self._is_pair = len(program.shape) == 2
        self._has_user_parts = program.has_user_parts
        self._wants_function = program.wants_function

    @property
    def spec(self) -> Playable:
        """What this learner runs."""
        return self._program.spec

    @property
    def seed(self) -> int:
        """The seed of the exploration directions."""
        return self._memory.seed

    @property
    def strict(self) -> bool:
        """Whether answers larger than assumed are refused."""
        return self._memory.strict

    @property
    def rounds(self) -> int:
        """Predictions made so far; also the next ticket."""
        return self._memory.rounds

    @property
    def open(self) -> int:
        """Tickets that still wait for their answer (not those given up on or cancelled)."""
        return self._memory.open

    def ticket(self, name: int | Key) -> int:
        """Return the ticket that a key stands for; a ticket stands for itself."""
        return checked_ticket((Keys() if self._keys is None else self._keys).ticket(name))

    def is_open(self, ticket: int | Key) -> bool:
        """Tell whether a ticket, or that of a key, still waits for its answer."""
        return (Keys() if self._keys is None else self._keys).is_open(ticket, self._memory.is_open)

    def _tracked(self, name: int | Key) -> int | None:
        """Return the ticket of a name; None for a key that a ``Capacity`` may have lost."""
        self._finish()
        try:
            return self.ticket(name)
        except UnknownTicket:
            if self._program.code[C.WEIGHED] and isinstance(name, str):
                return None
            raise

    # A keyword-only argument would make every call 30 ns longer.
    def predict(self, key: Key | None = None) -> Decision:
        """Return the next ticket and play. The play is the caller's own copy.

        With a ``key``, a string that no open ticket has, every other verb takes the key in the
        place of the ticket, and snapshots keep it.

        A key is free again as soon as its ticket is closed, also where that was given up on
        (``Skip``, ``Deadline``) or lost (``Capacity``). A late answer to the old ticket would then
        be taken for one to the new: under these give every key once.
        """
        turn = self._turn
        try:
            turn.pop()
        except IndexError:
            raise busy("predict") from None
        except BaseException:  # an interrupt, with the turn taken
            turn.append(None)
            raise
        try:
            x = np.empty(self._width)
            memory, keys = self._memory, self._keys
            if key is not None or (keys is not None and keys.left is not None):
                self._note(key)
            ticket = self._predict(memory.f, memory.n, x)
            if ticket < 0:
                ticket = self._predict_again(ticket, x)
            if key is not None:
                self._finish()
        except BaseException:
            self._finish()
            raise
        finally:
            turn.append(None)
        if self._is_pair:
            x = x.reshape(self._program.shape)
        return _as_tuple(Decision, (ticket, x))

    def _predict_again(self, status: int, x: Floats) -> int:
        """Let the table grow and return the next ticket, or raise."""
        if status == S.FULL:
            self._memory.grow()
            status = self._predict(self._memory.f, self._memory.n, x)
        if status < 0:
            raise refusals.too_early(self.spec.kind, "predict: ")
        return status

    def _note(self, key: Key | None) -> None:
        """Note the key of the next ticket, if it has one and that can be its key."""
        self._finish()
        if key is not None:
            keys, memory = Keys() if self._keys is None else self._keys, self._memory
            keys.check(key, memory.is_open)
            keys.left = key, memory.n.item(N.ROUNDS), 0
            self._keys = keys

    def _finish(self) -> None:
        """Do what is left of an event that was interrupted after its kernel."""
        if self._keys is not None:
            self._keys.finish(self._memory)

    def observe(self, ticket: int | Key, feedback: Any) -> bool:
        """Use the answer to a ticket: a gradient, a value, two values, or a gradient function.

        Any order, any delay. Returns False when the ticket had been given up on (``Skip``,
        ``Deadline``) or is not tracked (``Capacity``), so that the answer is dropped. Raises
        ``UnknownTicket``, ``AlreadyObserved`` or ``BadFeedback``, and then nothing has changed.
        """
        turn = self._turn
        try:
            turn.pop()
        except IndexError:
            raise busy("observe") from None
        except BaseException:  # an interrupt, with the turn taken
            turn.append(None)
            raise
        try:
            name, keys = ticket, self._keys
            if ticket.__class__ is not int or ticket >> 63 or keys is not None:
                found = self._tracked(ticket)
                if found is None:
                    return False
                ticket = found
            if self._wants_function:
                feedback = self._gradient_now(ticket, feedback)
            if (
                feedback.__class__ is not np.ndarray
                or feedback.dtype is not _FLOAT
                or self._has_user_parts
            ):
                feedback = self._converted(feedback)
            memory = self._memory
            try:
                status = self._observe(memory.f, memory.n, ticket, feedback)
            except TypeError:  # a view with gaps, read-only, or of another rank
                if self._has_user_parts:
                    raise
                feedback = self._converted(feedback)
                status = self._observe(memory.f, memory.n, ticket, feedback)
            if status < 0:
                raise self._refusal(status, ticket, feedback)
            if keys is not None:
                keys.drop(name)
        finally:
            turn.append(None)
        return status == S.USED

    @alone
    def cancel(self, ticket: int | Key) -> None:
        """Close a ticket whose answer will never come.

        It counts as zero feedback, as when ``Skip`` or ``Deadline`` gives up; a ticket that was
        given up on is just forgotten.
        """
        number = self._tracked(ticket)
        if number is None:
            return
        status = self._cancel(self._memory.f, self._memory.n, number)
        if status < 0:
            raise self._refusal(status, number, None, "cancel: ")
        if self._keys is not None:
            self._keys.drop(ticket)

    def report(self) -> Report:
        """Return counts, delays so far, the current rate, and the certificate."""
        return report_of(self._program, self._memory)

    @alone
    def run(
        self,
        timeline: Timeline | ArrayLike,
        feedback: ArrayLike,
        *,
        first: int = 0,
        keep: bool = True,
    ) -> NDArray[np.float64]:
        """Feed a whole log through the compiled loop and return the plays, one row per prediction.

        ``timeline`` is a ``Timeline`` (answers that never came stay open) or an array of events:
        t for the prediction of ticket t, ~t for its observation. Row i of ``feedback`` is the
        answer to ticket first + i. The result is the same, bit for bit, as event by event. Answers
        to forgotten tickets (see ``Skip``) are passed over, since a log has them in any case. With
        ``keep=False`` only the last play is kept. When an event is refused, or the run is
        interrupted, the learner is as it was before.
        """
        self._finish()
        events = events_of(timeline, "run")
        first = checked_ticket(first)
        answers = self._answers(feedback)
        begin = self.rounds
        predictions = int(np.count_nonzero(events >= 0))
        plays = np.empty((predictions if keep else 1, self._width))
        before, saved = self._memory.copy(), saved_base(self._program)
        twin = twin_of_base(self._program)
        try:
            self._run_events(events, answers, plays, first, begin)
        except BaseException:
            self._memory = before
            restore_base(self._program, saved)
            if twin is not None:
                self._program = dataclasses.replace(self._program, base=twin)
                self._connect()
            raise
        return plays.reshape(-1, *self._program.shape)

    def _run_events(
        self, events: Ints, answers: Floats, plays: Floats, first: int, begin: int
    ) -> None:
        if self._has_user_parts:
            self._run_user_parts(events, answers, plays, first, begin)
            return
        run = entries.run(self._program.code)
        balance = np.cumsum(np.where(events >= 0, 1, -1), dtype=np.int64)
        memory = self._memory
        memory.reserve(self._program.room_for(memory.known + int(balance.max(initial=0))))
        done = 0
        while done < events.size:
            part = events[done : done + _CHUNK]
            count = run(memory.f, memory.n, part, answers, plays, first, begin)
            done += count
            if count < part.size:
                self._make_room_or_raise(int(events[done]), done, answers, first)

    def _make_room_or_raise(self, event: int, position: int, answers: Floats, first: int) -> None:
        """Let the table grow if it was full, as for methods that hold answers back; else raise."""
        if event != self.rounds:
            raise self._refused_event(event, position, answers, first)
        if self._predict(self._memory.f, self._memory.n, np.empty(self._width)) != S.FULL:
            raise refusals.too_early(self.spec.kind, f"run: event {position}: ")
        self._memory.grow()

    def _run_user_parts(
        self, events: Ints, answers: Floats, plays: Floats, first: int, begin: int
    ) -> None:
        for position, event in enumerate(events.tolist()):
            row = ~event - first
            if (event >= 0 and event != self.rounds) or (event < 0 and not 0 <= row < len(answers)):
                raise self._refused_event(event, position, answers, first)
            if event >= 0:
                x = plays[min(event - begin, len(plays) - 1)]
                ticket = self._predict(self._memory.f, self._memory.n, x)
                if ticket < 0:
                    self._predict_again(ticket, x)
            else:
                status = self._observe(self._memory.f, self._memory.n, ~event, answers[row])
                if status < 0 and status != S.FORGOTTEN:
                    raise self._refused_event(event, position, answers, first)

    def _refused_event(
        self, event: int, position: int, answers: Floats, first: int
    ) -> refusals.Refusal:
        where = f"run: event {position}: "
        if event >= 0:
            return refusals.out_of_turn(self.rounds, event, where)
        ticket = ~event
        if not 0 <= ticket - first < len(answers):
            return UnknownTicket(f"{where}ticket {ticket} has no row in feedback")
        answer = answers[ticket - first]
        status = self._observe(self._memory.f, self._memory.n, ticket, answer)
        return self._refusal(status, ticket, answer, where)

    def _answers(self, feedback: ArrayLike) -> Floats:
        """Return one row per answer."""
        if self._wants_function:
            raise BadFeedback(
                f"run: {self.spec.kind} takes a gradient function per answer; call observe in a "
                "loop"
            )
        answers = np.atleast_1d(numbers(feedback, "run: feedback must be numbers", BadFeedback))
        if answers.size == 0:
            return np.empty((0, *self._program.answer))
        if answers.ndim == 1 and self._program.answer == (1,):
            answers = answers[:, None]
        if answers.ndim != 2 or answers.shape[1:] != self._program.answer:
            raise BadFeedback(
                f"run: an answer has shape {self._program.answer}, so feedback has shape "
                f"(number of answers, {self._program.answer[0]}); got {answers.shape}"
            )
        return answers

    @alone
    def snapshot(self, *, secret: bytes | None = None) -> bytes:
        """Return the whole learner as one blob; equal learners give equal blobs.

        With a ``secret``, only those who know it can write or change one unseen.
        """
        self._finish()
        saved = saved_base(self._program)
        if self._program.code[C.BASE] == K.USER_BASE and saved is None:
            name = type(self._program.base).__name__
            raise SnapshotError(f"snapshot: {name} has no save() -> bytes and load(bytes)")
        return pack(self._program, self._memory, self._keys, saved, secret)

    @classmethod
    def restore(
        cls, blob: bytes, spec: Playable | None = None, *, secret: bytes | None = None
    ) -> Self:
        """Return the learner that a snapshot holds; it goes on as if nothing had happened.

        ``spec`` is needed only when it contains Python objects, which a snapshot cannot hold.
        ``secret`` is the one that ``snapshot`` was given. Whatever the bytes are, there is a
        learner that plays in its set, or a ``SnapshotError``.

        Tickets that were handed out after the snapshot are not known to it, and their numbers are
        handed out again: an answer to one of them would be taken for another's. Keys do not have
        that problem, as a lost one is simply unknown.

        >>> import belated as bl
        >>> learner = bl.Learner(bl.FirstOrder(bl.PFTRL(bl.Ball(1), bl.rates.Tight(1.0))))
        >>> blob = learner.snapshot()
        >>> ticket, x = learner.predict(key="order-120")
        >>> learner = bl.Learner.restore(blob)
        >>> ticket, x = learner.predict(key="order-121")
        >>> learner.observe("order-120", [0.5])
        Traceback (most recent call last):
        ...
        belated.errors.UnknownTicket: no open ticket has the key 'order-120'; nothing has changed
        """
        learner = cls.__new__(cls)
        learner._program, learner._memory, learner._keys = unpack(blob, spec, secret)
        learner._turn = [None]
        learner._connect()
        return learner

    def save(self, path: StrPath, *, secret: bytes | None = None) -> None:
        """Write a snapshot to a file as a whole, or leave the file as it was."""
        write_whole(path, self.snapshot(secret=secret))

    @classmethod
    def load(
        cls, path: StrPath, spec: Playable | None = None, *, secret: bytes | None = None
    ) -> Self:
        """Return the learner that a file holds.

        Arguments, checks and what becomes of later tickets are those of ``restore``.
        """
        return cls.restore(Path(path).read_bytes(), spec, secret=secret)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...], Any]:
        """Pickle and copy by snapshot, and what subclasses add."""
        spec = self.spec if self._has_user_parts else None
        return type(self).restore, (self.snapshot(), spec), extras_of(self, Learner)

    def __repr__(self) -> str:
        """Return what runs and where it stands."""
        return f"<Learner of {self.spec!r}: {self.rounds} rounds, {self.open} open>"

    def _gradient_now(self, ticket: int, gradient: Any) -> Any:
        """Return the gradient of a late loss at the current point.

        That of a skipped ticket is only looked at, for whether it is larger than was assumed.
        """
        if not callable(gradient):
            raise BadFeedback(
                f"observe: {self.spec.kind} takes a function that gives the gradient at a point, "
                f"got {type(gradient).__name__}"
            )
        status = self._find(self._memory.f, self._memory.n, ticket)
        if status < 0:
            raise self._refusal(status, ticket, None)
        point = np.empty(self._width)
        self._peek(self._memory.f, self._memory.n, point)
        return gradient(point)

    def _converted(self, feedback: Any) -> Floats:
        """Return an answer as the vector that the kernels take."""
        wanted = self._program.answer
        answer = numbers(feedback, f"observe: an answer must be {wanted[0]} numbers", BadFeedback)
        if answer.ndim == 0:
            answer = answer.reshape(1)
        if answer.shape != wanted:
            raise refusals.of_shape(wanted, answer.shape, "observe: ")
        return answer

    def _refusal(
        self, status: int, ticket: int, answer: Floats | None, where: str = "observe: "
    ) -> refusals.Refusal:
        """Return the error for a refusal of the kernels."""
        of_ticket = refusals.of_ticket(status, ticket, self.rounds, where)
        if of_ticket is not None:
            return of_ticket
        if status == S.BAD and answer is not None and answer.shape != self._program.answer:
            return refusals.of_shape(self._program.answer, answer.shape, where)
        return refusals.of_answer(status, ticket, self.spec.kind, where)
