"""Compiled entries for whole games: one learner's composition and one kind of losses."""

from __future__ import annotations

import functools
from collections.abc import Callable

from belated.arrays import Code, Floats, Ints
from belated.kernels.games.losses import view as view_loss
from belated.kernels.games.rounds import (
    REFUSAL,
    TICKET,
    give_answer,
    of_rules,
    open_book,
    play_of,
    play_round,
    writes_plays,
)
from belated.kernels.jit import entry, leaf
from belated.kernels.learners import events
from belated.kernels.learners.sets import dot
from belated.kernels.learners.state import view
from belated.kernels.learners.uses import of_all
from belated.kernels.slots import code as C
from belated.kernels.stamps import stamp
from belated.kernels.vectors import vector

_VECTOR, _MATRIX, _INTS = "float64[::1]", "float64[:, ::1]", "int64[::1]"
_BOOK = f"{_VECTOR}, {_INTS}, {_MATRIX}, {_VECTOR}, {_MATRIX}"
_GAME = f"{_VECTOR}, {_INTS}, {_VECTOR}, {_MATRIX}, {_BOOK}"

Play = Callable[..., int]


def _stamped(code: Code) -> Code:
    return (*code, stamp(__name__, *events.SOURCES[code[C.METHOD]]))


@functools.cache
def play(code: Code, rules: Code) -> Play:
    """Return the entry (f, n, q, rows, totals, marks, curve, losses, plays, timeline) -> events.

    ``timeline`` holds t for a prediction and ~t for an observation. A count below the number of
    events points at the one that was refused.
    """
    code = _stamped(code)

    def play(
        f: Floats,
        n: Ints,
        q: Floats,
        rows: Floats,
        totals: Floats,
        marks: Ints,
        curve: Floats,
        losses: Floats,
        plays: Floats,
        timeline: Ints,
    ) -> int:
        s = view(f, n)
        loss = view_loss(q, rows, s.z.size)
        book = open_book(totals, marks, curve, losses, plays, s.z.size)
        for i in range(timeline.size):
            event = timeline[i]
            if event >= 0:
                status = play_round(of_all(code), of_rules(rules), s, loss, book, event)
            else:
                status = give_answer(of_all(code), of_rules(rules), s, loss, book, ~event)
            if status < 0:
                totals[REFUSAL] = status
                return i
        return timeline.size

    return entry(play, f"int64({_GAME}, Array(int64, 1, 'C', readonly=True))")


@leaf
def _delay_of(delay_rule: Floats, x: Floats) -> int:
    """Return low + floor((high - low + 1) share), share = ((<w, x> - least) / range) in [0, 1)."""
    k = x.size
    share = (dot(delay_rule[:k], x) - delay_rule[k + 2]) / delay_rule[k + 3]
    share = min(1.0, max(0.0, share))
    low, high = delay_rule[k], delay_rule[k + 1]
    return int(min(high, low + (high - low + 1.0) * share))


@functools.cache
def play_and_delay(code: Code, rules: Code) -> Play:
    """Return the entry for delays that depend on the plays, rounds ``first`` up to ``stop``.

    After the arguments of ``play`` up to ``plays`` come ``delays`` (written), ``due`` and ``last``
    (first and last ticket due in a round, -1 for none), ``after`` (the next one due in the same
    round), and ``delay_rule``: a direction, then low, high, least and range. It returns the number
    of rounds played.
    """
    code = _stamped(code)

    def play_and_delay(
        f: Floats,
        n: Ints,
        q: Floats,
        rows: Floats,
        totals: Floats,
        marks: Ints,
        curve: Floats,
        losses: Floats,
        plays: Floats,
        delays: Ints,
        due: Ints,
        last: Ints,
        after: Ints,
        delay_rule: Floats,
        first: int,
        stop: int,
    ) -> int:
        s = view(f, n)
        k = s.z.size
        loss = view_loss(q, rows, k)
        book = open_book(totals, marks, curve, losses, plays, k)
        rule = vector(delay_rule)
        for t in range(first, stop):
            status = play_round(of_all(code), of_rules(rules), s, loss, book, t)
            if status < 0:
                totals[REFUSAL] = status
                totals[TICKET] = -1.0
                return t
            if writes_plays(of_all(code), book):
                delays[t] = _delay_of(rule, play_of(book, t)[:k])
            else:
                delays[t] = _delay_of(rule, s.z)
            arrival = t + delays[t]
            if arrival < delays.size:
                if last[arrival] < 0:
                    due[arrival] = t
                else:
                    after[last[arrival]] = t
                last[arrival] = t
            ticket = due[t]
            while ticket >= 0:
                status = give_answer(of_all(code), of_rules(rules), s, loss, book, ticket)
                if status < 0:
                    totals[REFUSAL] = status
                    totals[TICKET] = ticket
                    return t
                ticket = after[ticket]
        return stop

    calendar = f"{_INTS}, {_INTS}, {_INTS}, {_INTS}"
    return entry(play_and_delay, f"int64({_GAME}, {calendar}, {_VECTOR}, int64, int64)")
