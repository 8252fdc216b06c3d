# cython: infer_types=True
"""Predict now, observe later: players, which games drive too, and the public events around one.

Parts that users write, the copies of a snapshot and the loop over a whole log let other threads run
in between; the guard refuses their calls on the same learner then. Arguments are converted and
results allocated before the guard is looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import cython
import numpy as np

from belated import refusals
from belated.core.component import Component, section
from belated.core.online import busy
from belated.errors import BadFeedback, UnknownTicket
from belated.keys import LOST
from belated.tables import shown_as_table
from belated.validation import checked_ticket, numbers

if cython.compiled:
    from cython.cimports.cpython.exc import PyErr_CheckSignals
else:
    from belated.core.numerics import (
        floats_at,
        ints_at,
        is_plain,
        new_floats,
        pair,
        part,
        pause_collector,
        plain_ticket,
        resume_collector,
    )
    from belated.core.online import Guard, Online
    from belated.core.tickets import (
        BAD,
        CLOSED,
        DROPPED,
        FORGOTTEN,
        TOO_LARGE,
        USED,
        Keys,
    )

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHUNK = 1_000_000  # events between two chances to interrupt a long run
RESERVED = 127  # open tickets for which every run makes room
PREDICT = 0
OBSERVE = 1
CANCEL = 2

HUGE = cython.declare(cython.double, 1e100)  # sums of squares of larger costs could overflow


class Player(Component):
    """Something with open tickets that plays; learners of the paper and published methods.

    Events return a ticket, or a status of ``tickets``: USED, DROPPED, or below 0 a refusal, and
    then nothing has changed. They run without the interpreter lock; only parts written in Python
    take it. An exception of such a part leaves the state half way, so the caller restores it.
    """

    PARTS: tuple = ("tickets",)

    @property
    def rate(self):
        """The newest step size; None before the first, and where there is no step size."""
        return None

    def predict(self, x):
        """Issue the next ticket, write its play to x and return it."""
        return BAD

    def observe(self, ticket, answer):
        """Use the answer to a ticket."""
        return CLOSED

    def cancel(self, ticket):
        """Close a ticket whose answer will never come."""
        return CLOSED

    def status_of(self, ticket):
        """Return what an answer to a ticket would meet: USED, DROPPED or a refusal.

        Where few tickets are tracked (``loses``) it is not known of the others whether they were
        answered or lost, so their answers are dropped.
        """
        entry = self.tickets.locate(ticket)
        if entry >= 0:
            return DROPPED if self.tickets.is_expired(entry) else USED
        return DROPPED if self.loses and entry == CLOSED else entry

    def peek(self, x):
        """Write the current point to x, without exploration."""


class Composition(Player):
    """A learner of the paper: feedback, base and wrapper.

    Events are those of Algorithms 1 to 4. ``learned_cost`` is the cost of the newest step.
    """

    PARTS = ("tickets", "feedback", "base", "wrapper")

    def __init__(
        self, tickets, feedback, base, wrapper, strict: bool = False, has_user_parts: bool = False
    ):
        self.tickets, self.feedback, self.base, self.wrapper = tickets, feedback, base, wrapper
        self.dim, self.play_size = base.dim, feedback.play_size
        self.answer_size = feedback.answer_size
        self.strict, self.has_user_parts, self.loses = strict, has_user_parts, wrapper.weighs
        self.work_array = np.zeros(base.dim)
        self.work = self.learned_cost = floats_at(self.work_array)

    @property
    def rate(self):
        """The newest step size, or None before the first."""
        return self.base.sums.rate or None

    def verify(self, state):
        """Demand what concerns tickets and other parts together."""
        self.wrapper.verify_with(section(state, "wrapper"), section(state, "tickets"))

    def predict(self, x):
        """Give up on what is overdue (Algorithm 3), then issue the next ticket."""
        ticket = self.tickets.rounds
        if ticket + self.tickets.offset >= self.tickets.capacity and not self.tickets.make_room():
            self.tickets.grow()
        if self.wrapper.gives_up:
            self.wrapper.begin_round()
            if ticket >= self.wrapper.calm:
                entry = self.wrapper.overdue()
                while entry >= 0:
                    self.give_up(entry)
                    entry = self.wrapper.overdue()
        if self.wrapper.forgets:
            self.tickets.forget_expired(self.wrapper.forget)
        entry = self.tickets.open_next()
        if self.feedback.columns > 0:
            self.feedback.open(entry)
        if self.feedback.explores:
            self.feedback.play(ticket, self.base.z, x)
        else:
            self.feedback.chart.to_user(self.base.z, x)
        if self.wrapper.weighs and not self.wrapper.admits(entry):
            self.tickets.lose(entry)
        return ticket

    def observe(self, ticket, answer):
        """Every check comes before the first change."""
        entry = self.tickets.locate(ticket)
        if entry < 0:
            return DROPPED if self.loses and entry == CLOSED else entry
        cost = self.feedback.cost(entry, answer)
        norm = self.base.norm(cost)
        if not norm <= HUGE:
            return BAD
        if norm > self.feedback.most_norm and self.feedback.is_excessive(entry, answer):
            if self.strict:
                return TOO_LARGE
            self.tickets.excess += 1
            self.base.sums.see(norm)
        if self.tickets.seen[entry] < 0:
            self.tickets.late += 1
            self.tickets.drop_expired(entry)
            return DROPPED
        if self.feedback.columns > 0:
            self.feedback.use(answer)
        self.count(entry)
        if self.wrapper.weighs:
            norm = self.tickets.weight * norm
            for i in range(self.base.dim):
                self.work[i] = self.tickets.weight * cost[i]
            cost = self.work
        self.learned_cost = cost
        self.base.update(cost, norm)
        self.tickets.close(entry)
        return USED

    def count(self, entry):
        """Count the arrival for an open entry, and what it weighs."""
        if not self.wrapper.weighs:
            self.tickets.feed_arrival(entry)
            return
        weight = self.wrapper.weight(self.tickets.number[entry])
        open_lags = self.tickets.count_arrival(entry)
        self.tickets.count_weight(weight, self.wrapper.count_waiting(weight, open_lags))

    def feed_missing_answer(self, entry):
        """Feed an entry that has no answer: a zero cost, which counts in every sum.

        Under strong convexity it is the gradient of (lambda / 2) |y|^2 at the current point.
        """
        curvature, norm = self.base.curvature, 0.0
        self.count(entry)
        for i in range(self.base.dim):
            self.work[i] = curvature * self.base.z[i] if curvature > 0.0 else 0.0
        if curvature > 0.0:
            norm = self.base.norm(self.work)
            if self.base.hears_all:
                self.tickets.lag = 0  # this gradient is not one at the point of the ticket
        return self.base.update(self.work, norm)

    def give_up(self, entry):
        """Close an open entry that is overdue."""
        if self.wrapper.weighs:
            self.tickets.lose(entry)
        else:
            self.feed_missing_answer(entry)
            self.tickets.skip(entry)
        return 0

    def cancel(self, ticket):
        """A ticket that was given up on is just forgotten."""
        entry = self.tickets.locate(ticket)
        if entry < 0:
            return DROPPED if self.loses and entry == CLOSED else entry
        if self.tickets.is_expired(entry):
            self.tickets.drop_expired(entry)
            return DROPPED
        self.feed_missing_answer(entry)
        self.tickets.cancel(entry)
        return USED

    def peek(self, x):
        self.feedback.chart.to_user(self.base.z, x)


# --- The public events --------------------------------------------------------------------------


@shown_as_table
class Decision(NamedTuple):
    """What ``predict`` returns."""

    ticket: int
    """Number to give back with the answer."""
    x: NDArray[np.float64]
    """The play: a vector, or for two-point feedback a pair of rows."""


_Decision = Decision


class Plays(NamedTuple):
    """What ``predict_many`` returns."""

    tickets: NDArray[np.int64]
    x: NDArray[np.float64]
    """The plays, one after another."""


_CLOCK = "a Learner has no clock; bl.Deadline(learner, rounds) gives up on answers by their age"
_LINEAR = "a Learner uses an answer at once and cannot take it back; observe it when it is final"


class Learner(Online):
    """The events of a learner around a player; ``models.learner`` adds specs and snapshots."""

    __slots__ = ("_kind", "_player", "_shape", "_wants_function")

    CANNOT = {
        **dict.fromkeys(("at", "deadline", "tick"), _CLOCK),
        **dict.fromkeys(("revise", "add"), _LINEAR),
        "weight": "answers of a Learner have no weights; multiply the feedback by the weight",
        "peek_many": "a Learner has no rows, so all would be the same; use peek",
        "explain": "a Learner has no features; its spec, report() and bl.Problem.explain say more",
    }

    def _begin(self, settings, player, kind: str, shape: tuple, wants_function: bool):
        """Take settings and a player; its plays have this shape."""
        self._player, self._kind, self._shape = player, kind, shape
        self._wants_function = wants_function
        self._connect(settings, player, Keys(player.tickets), Guard())

    def predict(self, *, key=None, at=None, deadline=None):
        """Return the next ticket and play. The play is the caller's own copy.

        With a ``key``, a string that no open ticket has, every other method takes the key in the
        place of the ticket, and snapshots keep it.

        A key is free again as soon as its ticket is closed, also where that was given up on
        (``Skip``, ``Deadline``) or lost (``Capacity``). A late answer to the old ticket would then
        be taken for one to the new: under these give every key once.
        """
        if at is not None or deadline is not None:
            raise self._unsupported("predict", "at")
        x = new_floats(self._player.play_size)
        return self._decision(self._event(PREDICT, 0, floats_at(x), key, "predict"), x, "predict")

    def _open(self, who, row, key, at, deadline):
        if at is not None or deadline is not None:
            raise self._unsupported(who, "at")
        x = new_floats(self._player.play_size)
        return self._decision(self._event_alone(PREDICT, 0, floats_at(x), key), x, who)

    def _decision(self, ticket, x, who):
        """Return the result of a prediction, or raise why there is none."""
        if ticket < 0:
            raise refusals.too_early(self._kind, f"{who}: ")
        if len(self._shape) > 1:
            x = x.reshape(self._shape)
        return pair(_Decision, ticket, x)

    def peek(self):
        """Return the play of the next ``predict``, without a ticket and without any change."""
        return Online.peek(self)

    def _columns(self, tickets, values):
        return Plays(tickets, np.array(values).reshape(-1, *self._shape))

    def observe(self, ticket, answer, *, at=None, weight=None):
        """Use the answer to a ticket: a gradient, a value, two values, or a gradient function.

        Any order, any delay. Returns False when the ticket had been given up on (``Skip``,
        ``Deadline``) or is not tracked (``Capacity``), so that the answer is dropped. Raises
        ``UnknownTicket``, ``AlreadyObserved`` or ``BadFeedback``, and then nothing has changed.
        """
        if not self._guard.is_ready:
            raise busy("observe")
        if at is not None or weight is not None:
            raise self._unsupported("observe", "at" if weight is None else "weight")
        number: cython.longlong = plain_ticket(ticket)
        if number < 0:
            found = self._find(ticket)
            if found is None:
                return False
            number = found
        if self._wants_function:
            answer = self._gradient_alone(number, answer)
        elif not is_plain(answer, self._player.answer_size):
            answer = self._converted(answer, "observe")
        status = self._event(OBSERVE, number, floats_at(answer), ticket, "observe")
        if status < 0:
            raise self._refusal(status, number, "observe: ")
        return status == USED

    def _learn(self, who, number, answer, at, weight, is_final):
        if not is_final:
            raise self._unsupported(who, who)
        if at is not None or weight is not None:
            raise self._unsupported(who, "at" if weight is None else "weight")
        if number == LOST:
            return False
        if self._wants_function:
            answer = self._gradient_now(number, answer, who)
        elif not is_plain(answer, self._player.answer_size):
            answer = self._converted(answer, who)
        status = self._event_alone(OBSERVE, number, floats_at(answer), None)
        if status < 0:
            raise self._refusal(status, number, f"{who}: ")
        return status == USED

    def cancel(self, ticket):
        """Close a ticket whose answer will never come.

        It counts as zero feedback, as when ``Skip`` or ``Deadline`` gives up; a ticket that was
        given up on is just forgotten.
        """
        if not self._guard.is_ready:
            raise busy("cancel")
        number = self._find(ticket)
        if number is None:
            return
        nothing = new_floats(1)
        status = self._event(CANCEL, number, floats_at(nothing), ticket, "cancel")
        if status < 0:
            raise self._refusal(status, number, "cancel: ")

    def replay(self, timeline, answers, *, first=0, keep=True):
        """Feed a whole log through one loop and return the plays, one row per prediction.

        The loop releases the interpreter lock. ``timeline`` is a ``Timeline`` (answers that never
        came stay open) or an array of events: t for the prediction of ticket t, ~t for its
        observation. Row i of ``answers`` is the answer to ticket first + i. The result is the
        same, bit for bit, as event by event. Answers to forgotten tickets (see ``Skip``) are passed
        over, since a log has them in any case. With ``keep=False`` only the last play is kept. When
        an event is refused, or the replay is interrupted, the learner is as it was before.
        """
        first = checked_ticket(first)
        return self._alone("replay", lambda: self._replayed(timeline, answers, first, keep))

    def _replayed(self, timeline, answers, first, keep):
        events, answers = self._replay_arguments(timeline, answers)
        predictions = np.count_nonzero(events >= 0)
        plays = np.empty((predictions if keep else 1, self._player.play_size))
        saved = self._player.state()
        try:
            self._player.tickets.reserve(RESERVED)
            self._replay_events(events, answers, plays, first)
        except BaseException:
            self._player.restore(saved)
            raise
        return plays.reshape(-1, *self._shape)

    # --- One event -------------------------------------------------------------------------------

    def _event(self, event, ticket, numbers, name, who):
        """Do an event with its key, refuse calls meanwhile, and return its status.

        The collector of Python 3.11 runs where objects are made, and Python code of finalizers
        with it, so it is paused: nothing lets others in between, which would only be refused.
        """
        guard = self._guard
        if not guard.is_ready:
            raise busy(who)
        is_paused: cython.bint = not self._player.has_user_parts and pause_collector()
        guard.is_ready = False
        try:
            return self._event_alone(event, ticket, numbers, name)
        finally:
            guard.is_ready = True
            if is_paused:
                resume_collector()

    def _event_alone(self, event, ticket, numbers, name):
        """Do an event with its key, and return its status."""
        if event == PREDICT and name is not None:
            name = self._keys.check(name)
        if self._player.has_user_parts:
            status = self._do_or_undo(event, ticket, numbers)
        else:
            status = self._do(event, ticket, numbers)
        if event == PREDICT:
            if name is not None and status >= 0:
                self._keys.assign(name, status)
        elif status >= 0 and self._keys.ticket_of and self._keys.stands_for(name, ticket):
            self._keys.remove(name)
        return status

    def _do_or_undo(self, event, ticket, numbers):
        """Do an event and return its status; undo it if a part of a user raises."""
        saved = self._player.state()
        try:
            return self._do(event, ticket, numbers)
        except BaseException:
            self._player.restore(saved)
            raise

    def _do(self, event, ticket, numbers):
        """Observe ``numbers``, cancel, or write the next play to ``numbers``."""
        if event == OBSERVE:
            return self._player.observe(ticket, numbers)
        if event == CANCEL:
            return self._player.cancel(ticket)
        return self._player.predict(numbers)

    def _gradient_alone(self, ticket, gradient):
        """Return the gradient of a late loss at the current point; refuse calls meanwhile."""
        return self._alone("observe", lambda: self._gradient_now(ticket, gradient, "observe"))

    def _gradient_now(self, ticket, gradient, who):
        """Return the gradient of a late loss at the current point.

        That of a skipped ticket is only looked at, for whether it is larger than was assumed.
        """
        if not callable(gradient):
            raise BadFeedback(
                f"{who}: {self._kind} takes a function that gives the gradient at a point, "
                f"got {type(gradient).__name__}"
            )
        point = new_floats(self._player.play_size)
        status = self._player.status_of(ticket)
        if status < 0:
            raise self._refusal(status, ticket, f"{who}: ")
        self._player.peek(floats_at(point))
        answer = gradient(point)
        if is_plain(answer, self._player.answer_size):
            return answer
        return self._converted(answer, who)

    # --- Whole logs ------------------------------------------------------------------------------

    def _replay_arguments(self, timeline, feedback):
        """Return events and answers, one row each, as arrays; ``belated.models.learner`` has it."""
        raise NotImplementedError

    def _replay_events(self, events, answers, plays, first):
        """Feed all events; the first that is refused is raised, and those before it are done."""
        timeline, given, taken = ints_at(events), floats_at(answers), floats_at(plays)
        count, rows, begin = len(events), len(answers), self._player.tickets.rounds
        keeps_all: cython.bint = len(plays) > 1
        done: cython.Py_ssize_t = 0
        end: cython.Py_ssize_t
        while done < count:
            end = min(count, done + cython.cast(cython.Py_ssize_t, CHUNK))
            with cython.nogil:
                done = self._loop(timeline, done, end, given, rows, first, taken, begin, keeps_all)
            if done < end:
                self._refuse(events[done], done, answers, first)
            if cython.compiled:
                PyErr_CheckSignals()

    def _loop(self, timeline, start, end, answers, rows, first, plays, begin, keeps_all):
        """Feed events until one is refused; return its number, or the end."""
        stride = self._player.play_size if keeps_all else 0
        answer_size = self._player.answer_size
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

    def _refuse(self, event, position, answers, first):
        """Raise why an event of a log was refused."""
        where, ticket = f"replay: event {position}: ", ~event
        if event >= 0 and event != self._player.tickets.rounds:
            raise refusals.out_of_turn(self._player.tickets.rounds, event, where)
        if event >= 0:
            raise refusals.too_early(self._kind, where)
        if not 0 <= ticket - first < len(answers):
            raise UnknownTicket(f"{where}ticket {ticket} has no row in feedback")
        answer = answers[ticket - first]
        raise self._refusal(self._player.observe(ticket, floats_at(answer)), ticket, where)

    # --- Arguments and errors --------------------------------------------------------------------

    def _find(self, name):
        """Return the ticket of a name; None for a key whose ticket may have been lost."""
        try:
            return self._keys.ticket(name)
        except UnknownTicket:
            if self._player.loses and isinstance(name, str):
                return None
            raise

    def _converted(self, feedback, who):
        """Return an answer as a vector without gaps."""
        size = self._player.answer_size
        answer = numbers(feedback, f"{who}: an answer must be {size} numbers", BadFeedback)
        if answer.ndim == 0:
            answer = answer.reshape(1)
        if answer.shape != (size,):
            raise refusals.of_shape((size,), answer.shape, f"{who}: ")
        return answer

    def _refusal(self, status, ticket, where):
        """Return the error for a refusal."""
        found = refusals.of_ticket(status, ticket, self._player.tickets.rounds, where)
        return found or refusals.of_answer(status, ticket, self._kind, where)
