"""Compiled entries for choosers."""

from __future__ import annotations

import functools
from collections.abc import Callable

from belated.arrays import Code, Floats, Ints
from belated.kernels.decisions import scoring
from belated.kernels.decisions.desk import actions_of, context_of
from belated.kernels.decisions.weighing import best_of, pick, try_new, weigh
from belated.kernels.jit import entry
from belated.kernels.linear import model as linear
from belated.kernels.linear.rows import state_of
from belated.kernels.slots import ints as N
from belated.kernels.stamps import stamp
from belated.kernels.vectors import vector

_FLOATS, _INTS = "float64[::1]", "int64[::1]"
_STATE = f"{_FLOATS}, {_INTS}, {_INTS}"
_CONTEXT = f"{_INTS}, {_FLOATS}, {_INTS}, int64"
_ACTIONS = f"{_INTS}, {_INTS}, {_INTS}, {_FLOATS}"

_ROOM = f"{_INTS}, {_FLOATS}, {_INTS}"

Choose = Callable[..., tuple[int, int, float]]
Score = Callable[..., int]
Cross = Callable[..., int]
Pick = Callable[[Floats, int, int, int], int]


@functools.cache
def chosen(code: Code) -> Choose:
    """Return the entry for a whole decision.

    (f, n, c, context, actions, room, rule, number, floor, spread, rounds, new, trial, ticket, low,
    high, instead, scores, probabilities) -> (action, length of its row, probability of the best).

    A context is (indices, values, crossed, how many), actions are (names, indptr, indices, values),
    room is (ints, floats, marks). Actions that are ``new`` share ``trial``; ``low`` and ``high``
    are the seed. The row, which is that of action ``instead`` if it is not negative, is in ints and
    floats after the first ``desk.ROOM``. Instead of an action: BAD.
    """
    stamped = (*code, stamp(__name__))

    def chooser_choose(
        f: Floats,
        n: Ints,
        c: Ints,
        context: Ints,
        context_values: Floats,
        crossed: Ints,
        given: int,
        names: Ints,
        bounds: Ints,
        features: Ints,
        feature_values: Floats,
        ints: Ints,
        floats: Floats,
        marks: Ints,
        rule: int,
        number: float,
        floor: float,
        spread: float,
        rounds: int,
        new: Ints,
        trial: float,
        ticket: int,
        low: int,
        high: int,
        instead: int,
        scores: Floats,
        probabilities: Floats,
    ) -> tuple[int, int, float]:
        s = state_of(f, n)
        where = context_of(context, context_values, crossed, given)
        what = actions_of(names, bounds, features, feature_values)
        work, numbers = vector(ints), vector(floats)
        r, p = vector(scores)[0 : names.size], vector(probabilities)[0 : names.size]
        status = scoring.score(
            linear.of_all(stamped), s, vector(c), where, what, work, numbers, vector(marks), r
        )
        if status < 0:
            return status, 0, 0.0
        weigh(rule, number, floor, r, spread, rounds, p)
        if new.size > 0:
            try_new(p, vector(new), trial)
        a = pick(p, ticket, low, high)
        shown = instead if instead >= 0 else a
        length = scoring.write_row(s.n[N.COORDINATES], where, what, shown, work, numbers)
        return a, length, p[best_of(r)]

    rule = f"int64, float64, float64, float64, int64, {_INTS}, float64"
    tail = f"int64, int64, int64, int64, {_FLOATS}, {_FLOATS}"
    task = f"{_STATE}, {_CONTEXT}, {_ACTIONS}, {_ROOM}"
    return entry(chooser_choose, f"Tuple((int64, int64, float64))({task}, {rule}, {tail})")


@functools.cache
def scored(code: Code) -> Score:
    """Return the entry (f, n, c, context, actions, room, scores) -> USED or BAD."""
    stamped = (*code, stamp(__name__))

    def chooser_score(
        f: Floats,
        n: Ints,
        c: Ints,
        context: Ints,
        context_values: Floats,
        crossed: Ints,
        given: int,
        names: Ints,
        bounds: Ints,
        features: Ints,
        feature_values: Floats,
        ints: Ints,
        floats: Floats,
        marks: Ints,
        scores: Floats,
    ) -> int:
        return scoring.score(
            linear.of_all(stamped),
            state_of(f, n),
            vector(c),
            context_of(context, context_values, crossed, given),
            actions_of(names, bounds, features, feature_values),
            vector(ints),
            vector(floats),
            vector(marks),
            vector(scores),
        )

    return entry(chooser_score, f"int64({_STATE}, {_CONTEXT}, {_ACTIONS}, {_ROOM}, {_FLOATS})")


@functools.cache
def crossed() -> Cross:
    """Return the entry (coordinates, context, actions, action, ints, floats) -> length of row."""
    sources = stamp(__name__)

    def chooser_cross(
        coordinates: int,
        context: Ints,
        context_values: Floats,
        meets: Ints,
        given: int,
        names: Ints,
        bounds: Ints,
        features: Ints,
        feature_values: Floats,
        a: int,
        ints: Ints,
        floats: Floats,
    ) -> int:
        return scoring.write_row(
            coordinates if sources else 0,
            context_of(context, context_values, meets, given),
            actions_of(names, bounds, features, feature_values),
            a,
            vector(ints),
            vector(floats),
        )

    return entry(chooser_cross, f"int64(int64, {_CONTEXT}, {_ACTIONS}, int64, {_INTS}, {_FLOATS})")


@functools.cache
def picked() -> Pick:
    """Return the entry (probabilities, ticket, low, high) -> action; the last two are the seed."""
    sources = stamp(__name__)

    def chooser_pick(probabilities: Floats, ticket: int, low: int, high: int) -> int:
        return pick(vector(probabilities), ticket, low, high) if sources else 0

    return entry(chooser_pick, f"int64({_FLOATS}, int64, int64, int64)")
