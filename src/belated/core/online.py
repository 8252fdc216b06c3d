# cython: infer_types=True
"""What the public events of all models share: keys, one flag, and the form of an event.

Every public method is one C call, with keys and tickets. Python handles signals and switches
threads between bytecodes, never in C code, so an event is atomic for signals and threads. A guard
refuses other calls on the same model where Python code runs within an event.
"""

from __future__ import annotations

import cython
import numpy as np

from belated import refusals
from belated.errors import BadFeedback, BelatedError, BusyError, Unsupported
from belated.frames import row_of

if not cython.compiled:
    from math import isnan

    from belated.core.numerics import plain_ticket
    from belated.core.tickets import Keys

_float = float
_NO_NUMBERS = str, bytes, complex, np.complexfloating


def busy(who):
    """Return the error for a call while another one is at work."""
    return BusyError(
        f"{who}: another call is at work here, in another thread or around this one; nothing has "
        "changed: use one thread, hold a lock around every call, or give each thread its own"
    )


def number_of(given, who, name):
    """Return a label, an amount or a weight as a float."""
    try:
        if isinstance(given, _NO_NUMBERS):
            raise TypeError
        return _float(given)
    except (TypeError, ValueError, OverflowError):
        hint = "; for the logistic loss give 1 or 0" if name == "label" else ""
        if hint and isinstance(given, str | bytes):
            hint += f"; {refusals.SEVERAL_CLASSES}"
        raise BadFeedback(f"{who}: a {name} must be a number, got {given!r}{hint}") from None


def named_error(error, who, where):
    """Return the error of one of many events, which says where that is."""
    return type(error)(f"{where}: {str(error).removeprefix(f'{who}: ')}")


class Guard:
    """Whether a model is ready for a call; a model inside of another shares the guard of it.

    ``is_ready`` is False during events, Python code and long loops.
    """

    def __init__(self):
        self.is_ready = True


class Online:
    """The public events of a model with tickets, keys and late answers.

    A model overrides ``_open``, ``_learn``, ``_answer_so_far``, ``_cancel`` and ``_ticked``, which
    run while the guard is down. ``CANNOT`` says why a model lacks a
    method or an argument, and what to do instead. ``_memory`` is the component with the state.

    ``belated.models.online`` adds settings, snapshots and reports; ``_times`` reads times.
    """

    __slots__ = ("_guard", "_keys", "_memory", "_settings", "_times")

    CANNOT: dict = {}

    def _connect(self, settings, memory, keys: Keys, guard: Guard):
        """Take settings, the component with the state, the keys of its tickets, and a guard."""
        self._settings, self._memory, self._keys, self._guard = settings, memory, keys, guard

    def _unsupported(self, who, what):
        """Return the error for a method or an argument that this model does not have."""
        return Unsupported(f"{who}: {self.CANNOT[what]}; nothing has changed")

    def _check_supported(self, who):
        """Refuse a method that this model does not have."""
        if who in self.CANNOT:
            raise self._unsupported(who, who)

    def _alone(self, who, work):
        """Do work that may let other threads in; refuse calls meanwhile."""
        guard = self._guard
        if not guard.is_ready:
            raise busy(who)
        guard.is_ready = False
        try:
            return work()
        finally:
            guard.is_ready = True

    # --- Tickets and keys ------------------------------------------------------------------------

    def ticket(self, name):
        """Return the ticket that a key stands for; a ticket stands for itself."""
        return self._keys.ticket(name)

    def is_open(self, ticket):
        """Tell whether a ticket, or that of a key, still waits for its final answer."""
        return self._keys.is_open(ticket)

    # --- One event -------------------------------------------------------------------------------

    def predict(self, row=None, *, key=None, at=None, deadline=None):
        """Open a ticket for a row, and return it with the prediction, as a named tuple.

        A row of a linear model is a dict of numbers and strings (None: missing), a pair (indices,
        values), or a vector whose positions are the coordinates; that of knobs is the context. With
        a ``key``, a string that no open ticket has, every other method takes the key in the place
        of the ticket, and snapshots keep it. ``at`` is the time; ``deadline`` is that of this
        ticket alone.
        """
        guard = self._guard
        if not guard.is_ready:
            raise busy("predict")
        guard.is_ready = False
        try:
            if row is not None and type(row) is not dict:
                row = row_of(row, "predict")
            return self._open("predict", row, key, at, deadline)
        finally:
            guard.is_ready = True

    def peek(self, row=None):
        """Return what ``predict`` would, without a ticket and without any change."""
        return self._alone("peek", lambda: self._peeked(row_of(row, "peek"), "peek"))

    def _peeked(self, row, who):
        saved = self._saved()
        try:
            return self._open(who, row, None, None, None)[1]
        finally:
            self._undo(saved)

    def observe(self, ticket, answer, *, at=None, weight=None):
        """Learn the final answer to a ticket or key, which counts ``weight`` times.

        Any order, any delay. Returns False when the ticket was closed before, by its deadline or
        because the model had given up on it, so that the answer is dropped. Raises
        ``UnknownTicket``, ``AlreadyObserved`` or ``BadFeedback``, and then nothing has changed.
        """
        return self._receive("observe", ticket, answer, at, weight, True)

    def revise(self, ticket, answer, *, at=None):
        """Set the provisional answer; the ticket stays open, and the answer may change again.

        Returns and raises what ``observe`` does.
        """
        return self._receive("revise", ticket, answer, at, None, False)

    def add(self, ticket, amount, *, at=None):
        """Add an amount to the provisional answer: an instalment, or a refund below 0.

        Before the first answer, the provisional one is that of silence. Returns and raises what
        ``observe`` does.
        """
        return self._alone("add", lambda: self._added(ticket, amount, at))

    def _added(self, ticket, amount, at):
        self._check_supported("add")
        number = self._keys.ticket(ticket)
        amount = number_of(amount, "add", "amount")
        before = self._answer_so_far(number)
        if isnan(before):
            raise BadFeedback(
                f"add: ticket {number} has no answer yet to add to; nothing has changed: revise it "
                f"first, or make the {type(self).__name__} with silence=0"
            )
        return self._learn("add", number, before + amount, at, None, False)

    def _receive(self, who, ticket, answer, at, weight, is_final):
        """Learn an answer, and forget the key if it is final."""
        guard = self._guard
        if not guard.is_ready:
            raise busy(who)
        guard.is_ready = False
        try:
            number = plain_ticket(ticket)
            if number < 0:
                number = self._keys.ticket(ticket)
            used = self._learn(who, number, answer, at, weight, is_final)
            if is_final and self._keys.ticket_of:
                self._keys.remove(ticket)
            return used
        finally:
            guard.is_ready = True

    def _learn(self, who, number, answer, at, weight, is_final):
        """Learn an answer, and return whether it was used."""
        raise self._unsupported(who, who)

    def _open(self, who, row, key, at, deadline):
        """Return what ``predict`` does."""
        raise self._unsupported(who, who)

    def _answer_so_far(self, number):
        """Return the provisional answer, NaN for none; a number where ``_learn`` will refuse."""
        raise self._unsupported("add", "add")

    def cancel(self, ticket):
        """Close a ticket without a final answer; a provisional one, also silence, stays."""
        self._alone("cancel", lambda: self._cancelled(ticket))

    def _cancelled(self, ticket):
        self._cancel(self._keys.ticket(ticket))
        self._keys.remove(ticket)

    def _cancel(self, number):
        """Close a ticket."""
        raise self._unsupported("cancel", "cancel")

    def tick(self, at):
        """Advance the clock without a prediction: tickets whose deadline has passed are closed.

        The clock never goes back; an earlier time changes nothing.
        """
        self._alone("tick", lambda: self._ticked(at))

    def _ticked(self, at):
        raise self._unsupported("tick", "tick")

    # --- Many events -----------------------------------------------------------------------------

    def predict_many(self, rows, *, keys=None, at=None, deadline=None):
        """Predict for many rows, or as often as a number says; return columns.

        Rows of a linear model are (indptr, indices, values), a matrix, or a list of what
        ``predict`` takes. The result is the same, bit for bit, as row by row. ``at`` is one time or
        that of every row. ``keys`` has the key of every row, as a list, an array or a column; None
        or NaN is that of a row without one. Where one cannot be a key, is there twice or belongs to
        a ticket that is open, nothing has changed.

        >>> import belated as bl
        >>> model = bl.LinearModel("squared")
        >>> tickets, values = model.predict_many([{"x": 1.0}, {"x": 2.0}], keys=["a", "b"])
        >>> model.observe_many(["b", "a"], [4.0, 2.0]).tolist()
        [True, True]
        """
        return self._alone("predict_many", lambda: self._predicted(rows, keys, at, deadline))

    def _predicted(self, rows, keys, at, deadline):
        begin = self._keys.tickets.rounds
        made = self._opened("predict_many", rows, keys, at, deadline)
        tickets = np.arange(begin, begin + len(made))
        return self._columns(tickets, [each[1] for each in made])

    def _columns(self, tickets, values):
        """Return the result of ``predict_many``."""
        raise NotImplementedError

    def peek_many(self, rows):
        """Return what ``predict`` would for each of many rows, without tickets or any change."""
        return self._alone("peek_many", lambda: self._peeked_at(rows))

    def _peeked_at(self, rows):
        self._check_supported("peek_many")
        listed = self._rows_given("peek_many", rows, None, None, None)[0]
        return [self._peeked(row, "peek_many") for row in listed]

    def replay(
        self,
        rows,
        answers,
        timeline,
        *,
        weights=None,
        first=0,
        at=None,
        deadlines=None,
        keys=None,
        progress=None,
    ):
        """Feed a whole log through one loop and return the predictions in ticket order.

        That of linear models releases the interpreter lock. ``rows`` holds the features of the
        predictions of this call, in order, as for ``predict_many``. Entry i of ``answers`` and
        ``weights`` belongs to ticket first + i; where a ticket is not observed they may be
        anything. ``timeline`` is a ``Timeline`` (answers that never came stay open) or an array of
        events: t for the prediction of ticket t, ~t for its answer. ``at`` has the time of every
        event, and ``deadlines`` that of every row, where they matter. ``keys`` has the key of every
        row; those of tickets that can still be answered at the end are kept. ``progress`` is called
        with the number of events done, now and then.

        The result is the same, bit for bit, as event by event. Everything is checked before the
        first event. When the run is interrupted, the model stands between two events, or where it
        was before; its ``rounds`` and ``report`` say where.
        """
        given = (rows, answers, timeline, weights, first, at, deadlines, keys)
        return self._alone("replay", lambda: self._replayed(given, keys, progress))

    def _replayed(self, given, keys, progress):
        raise self._unsupported("replay", "replay")

    def observe_many(self, tickets, answers, *, weights=None, at=None):
        """Learn many final answers; return which were used.

        ``tickets`` has tickets, keys, or both: each is what ``observe`` would take it for. ``at``
        is one time or that of each. The result is the same, bit for bit, as one by one. Where one
        is refused, nothing has changed.
        """
        return self._alone("observe_many", lambda: self._observed(tickets, answers, weights, at))

    def _observed(self, tickets, answers, weights, at):
        return self._heard_all(*self._answers_given(tickets, answers, weights, at))

    def _heard_all(self, given, answers, weights, times):
        numbers = given.tickets.tolist()
        used = self._all_or_none(
            len(answers),
            lambda i: self._learn(
                "observe_many", numbers[i], answers[i], times[i], weights[i], True
            ),
            "observe_many",
            lambda i: given.at("observe_many", i),
        )
        self._drop_keys(given.names or ())
        return np.array(used, np.bool_)

    def _drop_keys(self, names):
        """Forget keys, whose tickets are closed."""
        for name in names:
            self._keys.remove(name)

    def _opened(self, who, rows, keys, at, deadline):
        """Return what ``predict`` returns for each of many rows; all of it or nothing happens."""
        self._check_supported(who)
        rows, names, times = self._rows_given(who, rows, keys, at, deadline)
        return self._all_or_none(
            len(rows),
            lambda i: self._open(who, rows[i], names[i], times[i], deadline),
            who,
            lambda i: f"{who}: row {i}",
        )

    def _all_or_none(self, count, event, who, where):
        """Return what an event returns for each number below a count; all happen, or none."""
        saved, made = self._saved(), []
        for i in range(count):
            try:
                made.append(event(i))
            except BaseException as error:
                self._undo(saved)
                if isinstance(error, BelatedError):
                    raise named_error(error, who, where(i)) from None
                raise
        return made

    def _saved(self):
        """Return what ``_undo`` takes back."""
        return self._memory.state(), dict(self._keys.items())

    def _undo(self, saved):
        """Take back the events since ``_saved``."""
        state, keys = saved
        self._memory.restore(state)
        self._keys.replace(keys)

    # --- State -----------------------------------------------------------------------------------

    def _state_now(self):
        """Return the state and that of the keys."""
        return self._memory.state(), self._keys.state()
