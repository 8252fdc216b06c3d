# cython: infer_types=True
"""Whole games: a player and losses in one loop.

The answers that the player will get are kept at the end of the records of its tickets, and with
``sees_base`` also z_s, the point that the play was made from. So a game needs memory for its open
tickets, not for its rounds. ``game.pxd`` has the types.
"""

from __future__ import annotations

import cython
import numpy as np

from belated import refusals
from belated.core.online import busy
from belated.errors import TimelineError

if cython.compiled:
    from cython.cimports.cpython.exc import PyErr_CheckSignals
else:
    from belated.core.numerics import dot, floats_at, ints_at, part
    from belated.core.tickets import CLOSED, DROPPED, FORGOTTEN, UNKNOWN, USED

CHUNK = 1_000_000  # events between two chances to interrupt

# What a player is told of a loss: its gradient or values at the play, or its gradient at the point
# where the player is when the answer comes.
TOLD = ("gradient", "values", "function")
GRADIENT = cython.declare(cython.int, 0)
VALUES = cython.declare(cython.int, 1)


# --- Delays that depend on the plays -------------------------------------------------------------


class ByRule:
    """A Python function of (t, x): the delay, or None for an answer that never comes."""

    def __init__(self, rounds, rule, shape):
        self.rounds, self.rule = rounds, rule
        self.shape, self.size = shape, int(np.prod(shape))

    def delay(self, t, x):
        """Return the delay of round t, whose play is x."""
        play = np.empty(self.size)
        to: cython.p_double = floats_at(play)
        for i in range(self.size):
            to[i] = x[i]
        given = self.rule(t, play.reshape(self.shape))
        if given is None:
            return self.rounds
        if isinstance(given, bool) or not hasattr(given, "__index__") or given < 0:
            raise TimelineError(
                f"ByRule: the delay of round {t} must be a whole number from 0 on, or None, got "
                f"{given!r}"
            )
        return min(int(given), self.rounds)


# --- Games ---------------------------------------------------------------------------------------


class Game:
    """A game in progress, and its sums.

    ``met`` is the sum of f_t(x_t), of the mean over the points of a play. With ``wants_detail``,
    ``linear`` is the sum of <g_t, x_t> and ``gradients`` that of g_t, the gradient at the (first
    point of the) play. With ``sees_base``, ``stale`` is the sum of <c_n, z_s>, what the base paid
    in its game with drift, ``prompt`` that of <c_n, z_n>, and ``costs`` that of c_n. Where losses
    are adaptive ``vectors`` is the sum of a_t.

    ``curve`` has a row per mark: the sum of losses, and ``vectors`` where losses are adaptive.
    """

    def __init__(
        self,
        player,
        loss,
        told,
        marks,
        rounds,
        kind,
        wants_detail,
        sees_base,
        keeps_rounds,
        most_open,
    ):
        self.player, self.tickets, self.loss, self.kind = player, player.tickets, loss, kind
        self.followed = player if sees_base else None
        self.dim, self.told, self.own = loss.dim, TOLD.index(told), player.tickets.width
        self.wants_detail, self.sees_base, self.keeps_rounds = wants_detail, sees_base, keeps_rounds
        self.is_adaptive, self.is_running, self.rule = loss.is_adaptive, False, None
        self.stored = player.answer_size if told in ("gradient", "values") else 0
        player.tickets.widen(self.stored + self.dim * sees_base)
        player.tickets.reserve(most_open)
        self.met = self.linear = self.stale = self.prompt = 0.0
        self.mark = self.status = self.refused = 0
        self.marks, self.marks_at, self.mark_count = marks, ints_at(marks), len(marks)
        self.curve = np.zeros((len(marks), 1 + self.dim * self.is_adaptive))
        self.losses = np.empty(rounds if keeps_rounds else 0)
        self.plays = np.empty((rounds if keeps_rounds else 1, player.play_size))
        self.gradients, self.costs, self.vectors = np.zeros((3, self.dim))
        self.work_array = np.zeros((2, self.dim))
        self.curve_at, self.losses_at = floats_at(self.curve), floats_at(self.losses)
        self.play = floats_at(self.plays)
        self.gradient_sum, self.cost_sum = floats_at(self.gradients), floats_at(self.costs)
        self.vector_sum = floats_at(self.vectors)
        self.point, self.answer = floats_at(self.work_array[0]), floats_at(self.work_array[1])

    def play_timeline(self, events):
        """Play along events: t for the prediction of round t, ~t for its answer."""
        self.begin()
        self.events, self.events_at = events, ints_at(events)
        self.run(len(events))

    def play_by_rule(self, rule):
        """Play with delays that depend on the plays, and return these delays."""
        self.begin()
        self.rule, self.delays = rule, np.zeros(rule.rounds, dtype=np.int64)
        self.due, self.last, self.after = np.full((3, rule.rounds), -1, dtype=np.int64)
        self.delays_at, self.due_at = ints_at(self.delays), ints_at(self.due)
        self.last_at, self.after_at = ints_at(self.last), ints_at(self.after)
        self.run(rule.rounds)
        return self.delays

    def begin(self):
        """Refuse a second game at the same time."""
        if self.is_running:
            raise busy("play")
        self.is_running = True

    def run(self, count):
        """Play so many events, or rounds of a rule; signals come in now and then."""
        calls_python: cython.bint = (
            self.player.has_user_parts or self.loss.is_custom or self.rule is not None
        )
        done: cython.Py_ssize_t = 0
        end: cython.Py_ssize_t
        try:
            while True:  # one with a condition is repeated outside of the ``try`` in Python 3.13.0
                if done == count:
                    break
                end = min(count, done + CHUNK)
                if calls_python:
                    done = self.follow(done, end)
                else:
                    with cython.nogil:
                        done = self.follow(done, end)
                self.look_around()
        finally:
            self.is_running = False

    def look_around(self):
        """Let signals in; raise why an event was refused."""
        status, event = self.status, self.refused
        self.status = 0
        if status < 0 and event >= 0:
            raise refusals.too_early(self.kind, "play: ")
        if status < 0:
            raise refusals.of_answer(status, ~event, self.kind, "play: ")
        if cython.compiled:
            PyErr_CheckSignals()

    # --- Loops -----------------------------------------------------------------------------------

    def follow(self, start, end):
        """Play events until one is refused; return its position, or the end."""
        if self.rule is not None:
            return self.follow_rule(start, end)
        for i in range(start, end):
            event = self.events_at[i]
            status = self.play_round(event) if event >= 0 else self.give_answer(~event)
            if status < 0:
                self.status, self.refused = status, event
                return i
        return end

    def follow_rule(self, start, end):
        """Play rounds until an event is refused; return its round, or the end.

        ``due`` and ``last`` are the first and last ticket that is due in a round, ``after`` the
        next one that is due in the same round as a ticket; -1 for none.
        """
        for t in range(start, end):
            self.refused = t
            self.status = self.play_round(t)
            if self.status < 0:
                return t
            self.status = 0
            x = part(self.play, t * self.player.play_size) if self.keeps_rounds else self.play
            self.delays_at[t] = self.rule.delay(t, x)
            arrival = t + self.delays_at[t]
            if arrival < self.rule.rounds:
                if self.last_at[arrival] < 0:
                    self.due_at[arrival] = t
                else:
                    self.after_at[self.last_at[arrival]] = t
                self.last_at[arrival] = t
            ticket = self.due_at[t]
            while ticket >= 0:
                status = self.give_answer(ticket)
                if status < 0:
                    self.status, self.refused = status, ~ticket
                    return t
                ticket = self.after_at[ticket]
        return end

    # --- A round ---------------------------------------------------------------------------------

    def play_round(self, t):
        """Predict, meet the loss, and keep the answer; below 0 a refusal."""
        if t != self.tickets.rounds:
            return UNKNOWN
        x = part(self.play, t * self.player.play_size) if self.keeps_rounds else self.play
        status = self.player.predict(x)
        if status < 0:
            return status
        answer = part(self.tickets.record(self.tickets.tail() - 1), self.own)
        self.loss.draw(t, x)
        met = self.loss.both(x, answer) if self.told == GRADIENT else self.meet(x, answer)
        self.met += met
        if self.keeps_rounds:
            self.losses_at[t] = met
        if self.wants_detail:
            self.note_detail(x, answer)
        if self.is_adaptive:
            for i in range(self.dim):
                self.vector_sum[i] += self.loss.source.a[i]
        if self.mark < self.mark_count and self.marks_at[self.mark] == t + 1:
            self.pass_mark()
        return status

    def meet(self, x, answer):
        """Return the mean loss of a play's points, and write the values that are told."""
        if self.told != VALUES:
            return self.loss.value(x)
        met = 0.0
        for j in range(self.stored):
            answer[j] = self.loss.value(part(x, j * self.dim))
            met += answer[j]
        return met / self.stored

    def note_detail(self, x, answer):
        """Keep z, and add <g_t, x_t> and g_t; for a play of several points, at the first one."""
        if self.sees_base:
            for i in range(self.dim):
                answer[self.stored + i] = self.followed.base.z[i]
        gradient = answer
        if self.told != GRADIENT:
            gradient = self.point
            self.loss.gradient(x, gradient)
        self.linear += dot(gradient, x, self.dim)
        for i in range(self.dim):
            self.gradient_sum[i] += gradient[i]
        return 0

    def pass_mark(self):
        """Add a row to the curve."""
        if self.is_adaptive:
            row = self.mark * (1 + self.dim)
            for i in range(self.dim):
                self.curve_at[row + 1 + i] = self.vector_sum[i]
        else:
            row = self.mark
        self.curve_at[row] = self.met
        self.mark += 1

    # --- An answer -------------------------------------------------------------------------------

    def give_answer(self, ticket):
        """Let the player observe what is due, unless the ticket is forgotten or lost."""
        entry = self.tickets.locate(ticket)
        if entry < 0:
            is_lost: cython.bint = self.player.loses and entry == CLOSED
            return DROPPED if entry == FORGOTTEN or is_lost else entry
        if self.stored > 0:
            answer = part(self.tickets.record(entry), self.own)
            if self.sees_base:
                return self.compare_points(ticket, answer)
            return self.player.observe(ticket, answer)
        self.loss.draw(ticket, self.point)
        self.player.peek(self.point)
        self.loss.gradient(self.point, self.answer)
        return self.player.observe(ticket, self.answer)

    def compare_points(self, ticket, answer):
        """Give the answer that was kept, and compare the points of the base of then and now."""
        for i in range(self.dim):
            self.point[i] = self.followed.base.z[i]
        status = self.player.observe(ticket, answer)
        if status == USED:
            cost = self.followed.learned_cost
            self.stale += dot(cost, part(answer, self.stored), self.dim)
            self.prompt += dot(cost, self.point, self.dim)
            for i in range(self.dim):
                self.cost_sum[i] += cost[i]
        return status
