"""Compiled entries for knobs: one event, the prediction for a setting, and a whole log.

All events are one entry, as they share nearly everything that has to be compiled.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from belated.arrays import Floats, Ints
from belated.kernels.jit import entry
from belated.kernels.knobs import events
from belated.kernels.knobs import layout as L
from belated.kernels.knobs.holdout import radius
from belated.kernels.knobs.thompson import expect
from belated.kernels.knobs.views import tickets_of, views_of
from belated.kernels.slots import ints as N
from belated.kernels.stamps import stamp
from belated.kernels.vectors import vector

_FLOATS, _INTS = "float64[::1]", "int64[::1]"

Step = Callable[[Floats, Ints, int, int, float, float, Floats, Floats], int]
Look = Callable[[Floats, Ints, Floats, Floats], None]
Run = Callable[[Floats, Ints, Ints, Floats, int, Floats, Floats, Floats], int]


@functools.cache
def step() -> Step:
    """Return the entry (f, n, verb, ticket, cost, at, given, out) -> a ticket or a status."""
    sources = stamp(__name__)

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
        s = tickets_of(f, n)
        if sources:
            return events.step(s, verb, ticket, cost, at, vector(given), vector(out))
        return 0

    signature = f"{_FLOATS}, {_INTS}, int64, int64, float64, float64, {_FLOATS}, {_FLOATS}"
    return entry(knobs_step, f"int64({signature})")


@functools.cache
def look() -> Look:
    """Return the entry (f, n, place and context, out).

    It writes the mean and deviation of y there, and the radius of the comparison with the start.
    """
    sources = stamp(__name__)

    def knobs_look(f: Floats, n: Ints, given: Floats, out: Floats) -> None:
        if sources:
            expect(views_of(f, n), vector(given), vector(out))
            out[2] = radius(vector(f))

    return entry(knobs_look, f"void({_FLOATS}, {_INTS}, {_FLOATS}, {_FLOATS})")


@functools.cache
def run() -> Run:
    """Return the entry (f, n, events, costs, first, times, contexts, out) -> events done.

    Events are t for a prediction and ~t for a cost. Ticket t has cost number t - first and row
    t - first of ``contexts``, and its play goes there in ``out``. ``times`` has the time of every
    event, or one for all. It stops at an event that is refused, or when the table must grow.
    """
    sources = stamp(__name__)

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
        for i in range(log.size if sources else 0):
            event = log[i]
            row = event - first if event >= 0 else ~event - first
            verb = L.PREDICT if event >= 0 else L.OBSERVE
            at = times[i if times.size > 1 else 0]
            given = vector(contexts)[row * c : (row + 1) * c]
            play = vector(out)[row * k : (row + 1) * k]
            if event >= 0 and event != n[N.ROUNDS]:
                return i
            if events.step(s, verb, ~event, costs[row], at, given, play) < 0:
                return i
        return log.size

    signature = f"{_FLOATS}, {_INTS}, {_INTS}, {_FLOATS}, int64, {_FLOATS}, {_FLOATS}, {_FLOATS}"
    return entry(knobs_run, f"int64({signature})")
