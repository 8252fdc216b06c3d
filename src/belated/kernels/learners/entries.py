"""Compiled entries for one composition, all built from the same leaves.

The codes are captured as constants, so the compiler drops every branch that the composition does
not take; dimension and numbers stay data, so one compilation serves them all. Each entry is
compiled, or loaded from the cache on disk, when it is first asked for. The first two arguments are
always the state ``f`` and ``n``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from belated.arrays import Code, Floats, Ints
from belated.kernels import tickets
from belated.kernels.jit import entry, leaf
from belated.kernels.learners import events, feedback, radii
from belated.kernels.learners.state import State, view
from belated.kernels.learners.steps import step_size
from belated.kernels.learners.uses import of_all
from belated.kernels.slots import code as C
from belated.kernels.slots import ints as N
from belated.kernels.slots import status as S
from belated.kernels.slots import table as T
from belated.kernels.stamps import stamp
from belated.kernels.vectors import flat, vector

_VECTOR = "float64[::1]"
_STATE = f"{_VECTOR}, int64[::1]"

Predict = Callable[[Floats, Ints, Floats], int]
Observe = Callable[[Floats, Ints, int, Floats], int]
Peek = Callable[[Floats, Ints, Floats], None]
Cancel = Callable[[Floats, Ints, int], int]
Schedule = Callable[[Floats, Ints, Ints, Floats, Floats, Floats], None]
Run = Callable[[Floats, Ints, Ints, Floats, Floats, int, int], int]


def _stamped(code: Code) -> Code:
    return (*code, stamp(__name__, *events.SOURCES[code[C.METHOD]]))


@functools.cache
def predict(code: Code) -> Predict:
    """Return the entry (f, n, x) -> ticket, which writes the play to x."""
    code = _stamped(code)

    def predict(f: Floats, n: Ints, x: Floats) -> int:
        return events.predict(of_all(code), view(f, n), vector(x))

    return entry(predict, f"int64({_STATE}, float64[::1])")


@functools.cache
def observe(code: Code) -> Observe:
    """Return the entry (f, n, ticket, answer) -> USED, DROPPED or a refusal."""
    code = _stamped(code)

    def observe(f: Floats, n: Ints, ticket: int, answer: Floats) -> int:
        return events.observe(of_all(code), view(f, n), ticket, vector(answer))

    return entry(observe, f"int64({_STATE}, int64, float64[::1])")


@functools.cache
def peek(code: Code) -> Peek:
    """Return the entry (f, n, x), which writes the current point to x."""
    code = _stamped(code)

    def peek(f: Floats, n: Ints, x: Floats) -> None:
        s = view(f, n)
        for i in range(s.z.size):
            x[i] = feedback.chart(of_all(code), s, i, s.z[i])

    return entry(peek, f"void({_STATE}, float64[::1])")


@functools.cache
def find(code: Code) -> Cancel:
    """Return the entry (f, n, ticket) -> USED if open, DROPPED if given up on, or a refusal."""
    code = _stamped(code)

    def find(f: Floats, n: Ints, ticket: int) -> int:
        return events.find(of_all(code), view(f, n), ticket)

    return entry(find, f"int64({_STATE}, int64)")


@functools.cache
def cancel(code: Code) -> Cancel:
    """Return the entry (f, n, ticket) -> USED, DROPPED or a refusal."""
    code = _stamped(code)

    def cancel(f: Floats, n: Ints, ticket: int) -> int:
        return events.cancel(of_all(code), view(f, n), ticket)

    return entry(cancel, f"int64({_STATE}, int64)")


@leaf
def _predict_in_order(code: Code, s: State, ticket: int, x: Floats) -> int:
    """Predict, or refuse a ticket that is not the next one."""
    if ticket != s.n[N.ROUNDS]:
        return S.UNKNOWN
    return events.predict(code, s, x)


@leaf
def _observe_from_row(
    code: Code, s: State, ticket: int, answers: Floats, row: int, width: int
) -> int:
    """Observe from a row of ``answers``, or refuse a ticket that has none there.

    A log goes on where a ticket is forgotten: nobody waits for what this answer says.
    """
    if row < 0 or (row + 1) * width > answers.size:
        return S.UNKNOWN
    status = events.observe(code, s, ticket, answers[row * width : (row + 1) * width])
    return S.DROPPED if status == S.FORGOTTEN else status


@functools.cache
def run(code: Code) -> Run:
    """Return the entry (f, n, timeline, answers, plays, first_answer, first_play) -> events done.

    ``timeline`` holds t for a prediction and ~t for an observation; ticket t has row
    t - first_answer of ``answers`` and row t - first_play of ``plays``. With a single row,
    ``plays`` keeps only the newest play. A count below the number of events points at the one that
    was refused.
    """
    code = _stamped(code)

    def run(
        f: Floats,
        n: Ints,
        timeline: Ints,
        answers: Floats,
        plays: Floats,
        first_answer: int,
        first_play: int,
    ) -> int:
        s = view(f, n)
        given, size = flat(answers), answers.shape[1]
        taken, width = flat(plays), plays.shape[1]
        keep = plays.shape[0] > 1
        for i in range(timeline.size):
            event = timeline[i]
            if event >= 0:
                row = event - first_play if keep else 0
                x = taken[row * width : (row + 1) * width]
                status = _predict_in_order(of_all(code), s, event, x)
            else:
                status = _observe_from_row(
                    of_all(code), s, ~event, given, ~event - first_answer, size
                )
            if status < 0:
                return i
        return timeline.size

    return entry(
        run, f"int64({_STATE}, int64[::1], float64[:, ::1], float64[:, ::1], int64, int64)"
    )


@functools.cache
def schedule(code: Code) -> Schedule:
    """Return the entry (f, n, timeline, etas, late_radii, radii): a run without any vectors.

    It writes eta_n and delta'_n by arrival and delta_t by prediction, as a learner would use them
    on this timeline, for rates that do not look at the costs.
    """
    code = _stamped(code)

    def schedule(
        f: Floats, n: Ints, timeline: Ints, etas: Floats, late_radii: Floats, plain_radii: Floats
    ) -> None:
        s = view(f, n)
        for i in range(timeline.size):
            event = timeline[i]
            if event >= 0:
                tickets.has_room(s)
                tickets.open_ticket(s)
                plain_radii[event] = radii.radius(of_all(code), s, event + 1)
            else:
                found = tickets.locate(s, ~event)
                open_lags = tickets.count_arrival(of_all(code), s, found)
                s.table[2 * found + 1] = T.DEAD
                arrival = n[N.ARRIVED] - 1
                etas[arrival] = step_size(of_all(code), s, open_lags, 0.0)
                late_radii[arrival] = radii.radius(of_all(code), s, n[N.ROUNDS])

    return entry(schedule, f"void({_STATE}, int64[::1], {_VECTOR}, {_VECTOR}, {_VECTOR})")
