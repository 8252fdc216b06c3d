"""Predict now, observe later. Every public method is one C call, with keys and tickets.

Python handles signals and switches threads between bytecodes, never inside of C code, so events are
seen by all as a whole or not at all. Parts that users write, the copies of a snapshot and the loop
over a whole log let others run in between; a flag refuses calls on the same learner then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import cython
import numpy as np

from belated import refusals
from belated.errors import BadFeedback, BusyError, UnknownTicket
from belated.validation import checked_ticket, numbers

if cython.compiled:
    from cython.cimports.cpython.exc import PyErr_CheckSignals
else:
    from belated.core.numerics import floats_at, ints_at, is_plain, new_floats, part
    from belated.core.tickets import FORGOTTEN, FULL, USED, Keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHUNK = 1_000_000  # events between two chances to interrupt a long run
RESERVED = 127  # open tickets for which every run makes room
PREDICT = cython.declare(cython.int, 0)
OBSERVE = cython.declare(cython.int, 1)
CANCEL = cython.declare(cython.int, 2)


class Decision(NamedTuple):
    """What ``predict`` returns."""

    ticket: int
    """Number to give back with the answer."""
    x: NDArray[np.float64]
    """The play: a vector, or for two-point feedback a pair of rows."""


_Decision = Decision

if not cython.compiled:

    def pair(kind, first, second):
        """Return a named tuple of two."""
        return tuple.__new__(kind, (first, second))

    def plain_ticket(name):
        """Return the ticket that a whole number stands for, or -1."""
        return name if type(name) is int and 0 <= name < 1 << 62 else -1


def busy(who):
    """Return the error for a call while another one is at work."""
    return BusyError(
        f"{who}: another call is at work here, in another thread or around this one; nothing has "
        "changed: use one thread, hold a lock around every call, or give each thread its own"
    )


class Learner:
    """The events of a learner around a player; ``belated.learner`` adds specs and snapshots."""

    # ``_is_ready`` is False while user code or a long loop runs.
    __slots__ = ("_is_ready", "_kind", "_names", "_player", "_shape", "_wants_function")

    def _begin(self, player, kind: str, shape: tuple, wants_function: bool):
        """Take a player; its plays have this shape."""
        self._player, self._kind, self._shape = player, kind, shape
        self._names, self._wants_function = Keys(player.tickets), wants_function
        self._is_ready = True

    def _state(self, who):
        """Return the state of the player and that of the keys, of the same moment.

        NumPy lets other threads in while it copies.
        """
        if not self._is_ready:
            raise busy(who)
        self._is_ready = False
        try:
            return self._player.state(), self._names.state()
        finally:
            self._is_ready = True

    def ticket(self, name):
        """Return the ticket that a key stands for; a ticket stands for itself."""
        return self._names.ticket(name)

    def is_open(self, ticket):
        """Tell whether a ticket, or that of a key, still waits for its answer."""
        return self._names.is_open(ticket)

    def predict(self, key=None):
        """Return the next ticket and play. The play is the caller's own copy.

        With a ``key``, a string that no open ticket has, every other verb takes the key in the
        place of the ticket, and snapshots keep it.

        A key is free again as soon as its ticket is closed, also where that was given up on
        (``Skip``, ``Deadline``) or lost (``Capacity``). A late answer to the old ticket would then
        be taken for one to the new: under these give every key once.
        """
        if not self._is_ready:
            raise busy("predict")
        if key is not None:
            key = self._names.check(key)
        x = new_floats(self._player.play_size)
        ticket: cython.longlong = self._predict_into(floats_at(x))
        if ticket < 0:
            raise refusals.too_early(self._kind, "predict: ")
        if key is not None:
            self._names.give(key, ticket)
        if len(self._shape) > 1:
            x = x.reshape(self._shape)
        return pair(_Decision, ticket, x)

    def observe(self, ticket, feedback):
        """Use the answer to a ticket: a gradient, a value, two values, or a gradient function.

        Any order, any delay. Returns False when the ticket had been given up on (``Skip``,
        ``Deadline``) or is not tracked (``Capacity``), so that the answer is dropped. Raises
        ``UnknownTicket``, ``AlreadyObserved`` or ``BadFeedback``, and then nothing has changed.
        """
        if not self._is_ready:
            raise busy("observe")
        status: cython.longlong
        number: cython.longlong = plain_ticket(ticket)
        if number < 0:
            found = self._find(ticket)
            if found is None:
                return False
            number = found
        if self._wants_function:
            feedback = self._gradient_now(number, feedback)
        if not is_plain(feedback, self._player.answer_size):
            feedback = self._converted(feedback)
        status = self._observe_from(number, floats_at(feedback))
        if status < 0:
            raise self._refusal(status, number, "observe: ")
        if self._names.known:
            self._names.drop(ticket)
        return status == USED

    def cancel(self, ticket):
        """Close a ticket whose answer will never come.

        It counts as zero feedback, as when ``Skip`` or ``Deadline`` gives up; a ticket that was
        given up on is just forgotten.
        """
        if not self._is_ready:
            raise busy("cancel")
        number = self._find(ticket)
        if number is None:
            return
        status: cython.longlong = self._cancel_at(number)
        if status < 0:
            raise self._refusal(status, number, "cancel: ")
        if self._names.known:
            self._names.drop(ticket)

    def run(self, timeline, feedback, *, first=0, keep=True):
        """Feed a whole log through the compiled loop and return the plays, one row per prediction.

        ``timeline`` is a ``Timeline`` (answers that never came stay open) or an array of events:
        t for the prediction of ticket t, ~t for its observation. Row i of ``feedback`` is the
        answer to ticket first + i. The result is the same, bit for bit, as event by event. Answers
        to forgotten tickets (see ``Skip``) are passed over, since a log has them in any case. With
        ``keep=False`` only the last play is kept. When an event is refused, or the run is
        interrupted, the learner is as it was before.
        """
        if not self._is_ready:
            raise busy("run")
        first = checked_ticket(first)
        self._is_ready = False
        saved = None
        try:
            events, answers = self._run_arguments(timeline, feedback)
            predictions = np.count_nonzero(events >= 0)
            plays = np.empty((predictions if keep else 1, self._player.play_size))
            saved = self._player.state()
            self._player.tickets.reserve(RESERVED)
            self._run_events(events, answers, plays, first)
            return plays.reshape(-1, *self._shape)
        except BaseException:
            if saved is not None:
                self._player.restore(saved)
            raise
        finally:
            self._is_ready = True

    # --- Events with parts of a user -------------------------------------------------------------

    def _predict_into(self, x):
        """Predict, and let the table grow where it is full."""
        ticket: cython.longlong
        if self._player.has_user_parts:
            return self._try(PREDICT, 0, x)
        ticket = self._player.predict(x)
        while ticket == FULL:
            self._player.grow()
            ticket = self._player.predict(x)
        return ticket

    def _observe_from(self, ticket, answer):
        """Observe."""
        if self._player.has_user_parts:
            return self._try(OBSERVE, ticket, answer)
        return self._player.observe(ticket, answer)

    def _cancel_at(self, ticket):
        """Cancel."""
        if self._player.has_user_parts:
            return self._try(CANCEL, ticket, floats_at(new_floats(1)))
        return self._player.cancel(ticket)

    def _try(self, event, ticket, numbers):
        """Do an event with parts of a user, and undo it if one of them raises.

        ``numbers`` are the answer, or take the play.
        """
        status: cython.longlong = FULL
        self._is_ready = False
        try:
            saved = self._player.state()
            try:
                if event == OBSERVE:
                    return self._player.observe(ticket, numbers)
                if event == CANCEL:
                    return self._player.cancel(ticket)
                while status == FULL:
                    status = self._player.predict(numbers)
                    if status == FULL:
                        self._player.grow()
                return status
            except BaseException:
                self._player.restore(saved)
                raise
        finally:
            self._is_ready = True

    def _gradient_now(self, ticket, gradient):
        """Return the gradient of a late loss at the current point.

        That of a skipped ticket is only looked at, for whether it is larger than was assumed.
        """
        if not callable(gradient):
            raise BadFeedback(
                f"observe: {self._kind} takes a function that gives the gradient at a point, "
                f"got {type(gradient).__name__}"
            )
        status: cython.longlong = self._player.look(ticket)
        if status < 0:
            raise self._refusal(status, ticket, "observe: ")
        point = new_floats(self._player.play_size)
        self._player.peek(floats_at(point))
        self._is_ready = False
        try:
            return gradient(point)
        finally:
            self._is_ready = True

    # --- Whole logs ------------------------------------------------------------------------------

    def _run_arguments(self, timeline, feedback):
        """Return events and answers, one row each, as arrays; ``belated.learner`` has it."""
        raise NotImplementedError

    def _run_events(self, events, answers, plays, first):
        """Feed all events; the first that is refused is raised, and those before it are done."""
        timeline: cython.p_longlong = ints_at(events)
        given: cython.p_double = floats_at(answers)
        taken: cython.p_double = floats_at(plays)
        count: cython.Py_ssize_t = len(events)
        rows: cython.Py_ssize_t = len(answers)
        begin: cython.longlong = self._player.tickets.rounds
        keeps_all: cython.bint = len(plays) > 1
        done: cython.Py_ssize_t = 0
        end: cython.Py_ssize_t
        while done < count:
            end = min(count, done + cython.cast(cython.Py_ssize_t, CHUNK))
            with cython.nogil:
                done = self._loop(timeline, done, end, given, rows, first, taken, begin, keeps_all)
            if done < end:
                self._grow_or_raise(events[done], done, answers, first)
            elif cython.compiled:
                PyErr_CheckSignals()

    def _loop(self, timeline, start, end, answers, rows, first, plays, begin, keeps_all):
        """Feed events until one is refused; return its number, or the end."""
        stride: cython.Py_ssize_t = self._player.play_size if keeps_all else 0
        answer_size: cython.Py_ssize_t = self._player.answer_size
        event: cython.longlong
        status: cython.longlong
        row: cython.longlong
        i: cython.Py_ssize_t
        for i in range(start, end):
            event = timeline[i]
            if event >= 0:
                if event != self._player.tickets.rounds:
                    return i
                status = self._player.predict(part(plays, (event - begin) * stride))
            else:
                row = ~event - first
                if row < 0 or row >= rows:
                    return i
                status = self._player.observe(~event, part(answers, row * answer_size))
            if status < 0 and status != FORGOTTEN:
                return i
        return end

    def _grow_or_raise(self, event, position, answers, first):
        """Let the table grow if it was full, else raise why an event was refused."""
        where = f"run: event {position}: "
        ticket: cython.longlong = ~event
        if event >= 0:
            if event != self._player.tickets.rounds:
                raise refusals.out_of_turn(self._player.tickets.rounds, event, where)
            if self._player.predict(floats_at(new_floats(self._player.play_size))) != FULL:
                raise refusals.too_early(self._kind, where)
            self._player.grow()
            return
        if not 0 <= ticket - first < len(answers):
            raise UnknownTicket(f"{where}ticket {ticket} has no row in feedback")
        answer = answers[ticket - first]
        raise self._refusal(self._player.observe(ticket, floats_at(answer)), ticket, where)

    # --- Arguments and errors --------------------------------------------------------------------

    def _find(self, name):
        """Return the ticket of a name; None for a key whose ticket may have been lost."""
        try:
            return self._names.ticket(name)
        except UnknownTicket:
            if self._player.loses and isinstance(name, str):
                return None
            raise

    def _converted(self, feedback):
        """Return an answer as a vector without gaps."""
        size = self._player.answer_size
        answer = numbers(feedback, f"observe: an answer must be {size} numbers", BadFeedback)
        if answer.ndim == 0:
            answer = answer.reshape(1)
        if answer.shape != (size,):
            raise refusals.of_shape((size,), answer.shape, "observe: ")
        return answer

    def _refusal(self, status, ticket, where):
        """Return the error for a refusal."""
        found = refusals.of_ticket(status, ticket, self._player.tickets.rounds, where)
        return found or refusals.of_answer(status, ticket, self._kind, where)
