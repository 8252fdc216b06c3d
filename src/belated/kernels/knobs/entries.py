"""Compiled entries for knobs: one event, what is expected of a setting, and a whole log.

All events are one entry, as they share nearly everything that has to be compiled. What only reports
ask for is compiled when the first one does.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from belated.arrays import Code, Floats, Ints
from belated.kernels.jit import entry
from belated.kernels.knobs import events
from belated.kernels.knobs import layout as L
from belated.kernels.knobs.comparing import radius
from belated.kernels.knobs.plays import expect
from belated.kernels.knobs.room import tickets_of
from belated.kernels.slots import ints as N
from belated.kernels.stamps import stamp
from belated.kernels.vectors import vector

_FLOATS, _INTS = "float64[::1]", "int64[::1]"

Step = Callable[[Floats, Ints, int, int, float, float, Floats, Floats], int]
Look = Callable[[Floats, Ints, Floats, Floats], None]
Run = Callable[[Floats, Ints, Ints, Floats, int, Floats, Floats, Floats], int]


@functools.cache
def step(code: Code) -> Step:
    """Return the entry (f, n, verb, ticket, cost, at, given, out) -> a ticket or a status."""
    stamped = (*code, stamp(__name__))

    def knobs_step(
        f: Floats,
        n: Ints,
        verb: int,
        ticket: int,
        cost: float,
        at: float,
        given: Floats,
        out: Floats,
    ) -> int:
        return events.step(
            events.of_limits(stamped),
            tickets_of(f, n),
            verb,
            ticket,
            cost,
            at,
            vector(given),
            vector(out),
        )

    return entry(
        knobs_step,
        f"int64({_FLOATS}, {_INTS}, int64, int64, float64, float64, {_FLOATS}, {_FLOATS})",
    )


@functools.cache
def look() -> Look:
    """Return the entry (f, n, place and context, out).

    It writes what a place is expected to be worth, the deviation of that, and how far the mean
    difference of start and learner may be from what was found.
    """
    sources = stamp(__name__)

    def knobs_look(f: Floats, n: Ints, given: Floats, out: Floats) -> None:
        if sources:
            expect(vector(f), vector(n), vector(given), vector(out))
            out[2] = radius(vector(f))

    return entry(knobs_look, f"void({_FLOATS}, {_INTS}, {_FLOATS}, {_FLOATS})")


@functools.cache
def run(code: Code) -> Run:
    """Return the entry (f, n, events, costs, first, times, contexts, out) -> events done.

    Events are t for a prediction and ~t for a cost. Ticket t has cost number t - first and row
    t - first of ``contexts``, and its play goes there in ``out``. ``times`` has the time of every
    event, or one for all. It stops at an event that is refused, or when the table must grow.
    """
    stamped = (*code, stamp(__name__))

    def knobs_run(
        f: Floats,
        n: Ints,
        log: Ints,
        costs: Floats,
        first: int,
        times: Floats,
        contexts: Floats,
        out: Floats,
    ) -> int:
        s = tickets_of(f, n)
        k, c = n[N.DIM], n[N.OWN]
        for i in range(log.size):
            event = log[i]
            row = event - first if event >= 0 else ~event - first
            verb = L.PREDICT if event >= 0 else L.OBSERVE
            cost, at = costs[row], times[i if times.size > 1 else 0]
            given = vector(contexts)[row * c : (row + 1) * c]
            play = vector(out)[row * k : (row + 1) * k]
            if event >= 0 and event != n[N.ROUNDS]:
                return i
            code = events.of_limits(stamped)
            if events.step(code, s, verb, ~event, cost, at, given, play) < 0:
                return i
        return log.size

    return entry(
        knobs_run,
        f"int64({_FLOATS}, {_INTS}, {_INTS}, {_FLOATS}, int64, {_FLOATS}, {_FLOATS}, {_FLOATS})",
    )
