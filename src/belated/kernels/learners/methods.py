"""The two events for published methods: what all share here, what differs in a method's own leaves.

A method brings six leaves, each with ``code`` and the state first:

=================================  ===========================================================
prepare(code, s)                   before a ticket is issued: whatever is done once per round
play(code, s, entry, ticket, x)    write the play of the new ticket, which has this entry
exceeds(code, s, answer, norm)     whether an answer is larger than was assumed
accepts(code, s, entry, ticket)    USED, or the refusal of an answer to this ticket
learn(code, s, entry, ticket, c)   use an answer: the cost in the chart, or the values as given
lose(code, s, entry, ticket)       USED once a lost answer is dealt with, or a refusal, unchanged
=================================  ===========================================================

Counting, checking and closing tickets are done here. When ``learn`` runs, the arrival is counted:
``n[ARRIVED]`` includes it, ``n[LAG]`` is its dual delay, ``n[OPEN_LAGS]`` what is still open.
``lose`` runs before that. Either may call ``tickets.hold``: the ticket is closed for the user, but
its record stays until ``tickets.release``.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

from belated.arrays import Code, Floats
from belated.kernels.choices import switch
from belated.kernels.jit import leaf
from belated.kernels.learners import events
from belated.kernels.learners.feedback import answer_size, chart, is_cost, write_gradient
from belated.kernels.learners.state import State
from belated.kernels.learners.steps import size_of
from belated.kernels.learners.uses import of_answer, of_chart, of_lags, of_norm
from belated.kernels.slots import code as C
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import kinds as K
from belated.kernels.slots import status as S
from belated.kernels.slots import table as T
from belated.kernels.tickets import (
    close_without_answer,
    count_arrival,
    count_delay,
    has_room,
    is_ghost,
    lay_ghost,
    locate,
    open_ticket,
)

Prepare = Callable[[Code, State], None]
Play = Callable[[Code, State, int, int, Floats], None]
Exceeds = Callable[[Code, State, Floats, float], bool]
Accepts = Callable[[Code, State, int, int], int]
Learn = Callable[[Code, State, int, int, Floats], None]

_PREPARE: dict[int, Prepare] = {}
_PLAY: dict[int, Play] = {}
_EXCEEDS: dict[int, Exceeds] = {}
_ACCEPTS: dict[int, Accepts] = {}
_LEARN: dict[int, Learn] = {}
_LOSE: dict[int, Accepts] = {}

_prepare = switch(C.METHOD, _PREPARE)
_play = switch(C.METHOD, _PLAY)
_exceeds = switch(C.METHOD, _EXCEEDS)
_accepts = switch(C.METHOD, _ACCEPTS)
_learn = switch(C.METHOD, _LEARN)
_lose = switch(C.METHOD, _LOSE)


@leaf
def nothing(code: Code, s: State) -> None:
    """Do nothing before a round."""


@leaf
def play_point(code: Code, s: State, entry: int, ticket: int, x: Floats) -> None:
    """Play the current point."""
    for i in range(s.z.size):
        x[i] = chart(of_chart(code), s, i, s.z[i])


@leaf
def is_large(code: Code, s: State, answer: Floats, norm: float) -> bool:
    """Compare a gradient with G and values with M, where something was assumed."""
    if code[C.REDUCTION] == K.FIRST_ORDER:
        return 0.0 < s.f[F.LIPSCHITZ] * F.SLACK < norm
    largest = 0.0
    for i in range(answer.size):
        largest = max(largest, abs(answer[i]))
    return 0.0 < s.f[F.MAGNITUDE] * F.SLACK < largest


@leaf
def any_order(code: Code, s: State, entry: int, ticket: int) -> int:
    """Take answers in any order."""
    return S.USED


@leaf
def forget(code: Code, s: State, entry: int, ticket: int) -> int:
    """Let a lost answer be a zero gradient, which changes nothing."""
    return S.USED


def method(
    name: str,
    *,
    learn: Learn,
    play: Play = play_point,
    prepare: Prepare = nothing,
    exceeds: Exceeds = is_large,
    accepts: Accepts = any_order,
    lose: Accepts = forget,
) -> int:
    """Enter the leaves of a method and return its number for ``code[METHOD]``."""
    number = number_of(name)
    if number in events.PREDICT:
        raise ValueError(f"there is a method with the number of {name} already")
    _PREPARE[number], _PLAY[number], _LEARN[number] = prepare, play, learn
    _EXCEEDS[number], _ACCEPTS[number], _LOSE[number] = exceeds, accepts, lose
    enter(number, predict, observe, cancel)
    events.OBSERVE_AT[number] = observe_at
    events.SOURCES[number] = _modules(learn, play, prepare, exceeds, accepts, lose)
    return number


def enter(
    number: int, predict: events.Predict, observe: events.Observe, cancel: events.Cancel
) -> int:
    """Let the events of a method be these, and return its number."""
    events.PREDICT[number], events.OBSERVE[number] = predict, observe
    events.OBSERVE_AT[number] = _locate_again
    events.CANCEL[number] = cancel
    events.SOURCES[number] = _modules(predict, observe, cancel)
    return number


def _modules(*leaves: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(sorted({leaf.__module__ for leaf in leaves}))


@leaf
def _locate_again(code: Code, s: State, entry: int, ticket: int, answer: Floats) -> int:
    return events.observe(code, s, ticket, answer)


def number_of(name: str) -> int:
    """Return a number that comes from the name, as compiled code on disk is looked up by it."""
    return zlib.crc32(name.encode()) | 1 << 32  # never OURS


@leaf
def predict(code: Code, s: State, x: Floats) -> int:
    """Issue the next ticket and write its play; FULL: the table must grow first."""
    if not has_room(s):
        return S.FULL
    _prepare(code, s)
    ticket = s.n[N.ROUNDS]
    entry = open_ticket(s)
    _play(code, s, entry, ticket, x)
    return ticket


@leaf
def observe(code: Code, s: State, ticket: int, answer: Floats) -> int:
    """Use an answer. Every check comes before the first change."""
    entry = locate(s, ticket)
    return entry if entry < 0 else observe_at(code, s, entry, ticket, answer)


@leaf
def observe_at(code: Code, s: State, entry: int, ticket: int, answer: Floats) -> int:
    """Use an answer to the ticket of an entry."""
    about = of_answer(code)
    if answer.size != answer_size(about, s):
        return S.BAD
    if code[C.REDUCTION] == K.FIRST_ORDER:
        write_gradient(about, s, answer)
    cost = s.work if code[C.REDUCTION] == K.FIRST_ORDER and not is_cost(about) else answer
    norm = size_of(of_norm(code), cost)
    if not norm <= F.HUGE:
        return S.BAD
    excessive = _exceeds(code, s, answer, norm)
    if excessive and s.n[N.STRICT]:
        return S.TOO_LARGE
    accepted = _accepts(code, s, entry, ticket)
    if accepted < 0:
        return accepted
    if excessive:
        s.n[N.EXCESS] += 1
    if is_ghost(s, entry):
        s.n[N.LATE] += 1
        lay_ghost(s, entry)
        return S.DROPPED
    count_arrival(of_lags(code), s, entry)
    count_delay(s, entry, N.MAX_DELAY)
    _learn(code, s, entry, ticket, cost)
    _close(s, entry)
    return S.USED


@leaf
def _close(s: State, entry: int) -> None:
    """Close an entry, unless the method holds it."""
    if s.table[2 * entry + 1] != T.HELD:
        s.table[2 * entry + 1] = T.DEAD


@leaf
def cancel(code: Code, s: State, ticket: int) -> int:
    """Close a ticket whose answer will never come."""
    entry = locate(s, ticket)
    if entry < 0:
        return entry
    if is_ghost(s, entry):
        lay_ghost(s, entry)
        return S.DROPPED
    accepted = _accepts(code, s, entry, ticket)
    if accepted < 0:
        return accepted
    seen = s.table[2 * entry + 1]
    lost = _lose(code, s, entry, ticket)
    if lost < 0:
        return lost
    state = s.table[2 * entry + 1]
    s.table[2 * entry + 1] = seen  # counting needs it, though the method may hold the entry
    count_arrival(of_lags(code), s, entry)
    count_delay(s, entry, N.MAX_LOST)
    s.table[2 * entry + 1] = state
    s.n[N.CANCELLED] += 1
    _close(s, entry)
    return S.USED


@leaf
def give_up(code: Code, s: State, entry: int) -> None:
    """Close an open ticket for a method that gives up; its answer, should it come, is dropped."""
    count_arrival(of_lags(code), s, entry)
    close_without_answer(s, entry, True)
