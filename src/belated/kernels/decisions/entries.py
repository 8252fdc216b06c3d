"""Compiled entries for choosers."""

from __future__ import annotations

import functools
from collections.abc import Callable

from belated.arrays import Floats, Ints
from belated.kernels.decisions.crossing import cross
from belated.kernels.decisions.weighing import pick, try_new, weigh
from belated.kernels.jit import entry
from belated.kernels.stamps import stamp
from belated.kernels.vectors import vector

_FLOATS, _INTS = "float64[::1]", "int64[::1]"
_ROWS = f"{_INTS}, {_INTS}, {_FLOATS}"

Cross = Callable[[int, Ints, Floats, Ints, int, Ints, Ints, Floats, Ints, Ints, Floats], None]
Weigh = Callable[[int, float, float, Floats, float, int, Floats], None]
Try = Callable[[Floats, Ints, float], None]
Pick = Callable[[Floats, int, int, int], int]


@functools.cache
def crossed() -> Cross:
    """Return the entry (coordinates, context, values, crossed, given, actions, rows).

    Actions and rows are each (indptr, indices, values); rows are written, one for every action.
    """
    sources = stamp(__name__)

    def chooser_cross(
        coordinates: int,
        context: Ints,
        context_values: Floats,
        meets: Ints,
        given: int,
        bounds: Ints,
        actions: Ints,
        action_values: Floats,
        indptr: Ints,
        indices: Ints,
        values: Floats,
    ) -> None:
        indptr[0] = 0
        for a in range(bounds.size - 1 if sources else 0):
            count = cross(
                coordinates,
                vector(context),
                vector(context_values),
                vector(meets),
                given,
                vector(actions),
                vector(action_values),
                bounds[a],
                bounds[a + 1],
                vector(indices)[indptr[a] : indices.size],
                vector(values)[indptr[a] : values.size],
            )
            indptr[a + 1] = indptr[a] + count

    context = f"int64, {_INTS}, {_FLOATS}, {_INTS}, int64"
    return entry(chooser_cross, f"void({context}, {_ROWS}, {_ROWS})")


@functools.cache
def weighed() -> Weigh:
    """Return the entry (rule, number, floor, scores, spread, rounds, probabilities)."""
    sources = stamp(__name__)

    def chooser_weigh(
        rule: int,
        number: float,
        floor: float,
        scores: Floats,
        spread: float,
        rounds: int,
        probabilities: Floats,
    ) -> None:
        if sources:
            weigh(rule, number, floor, vector(scores), spread, rounds, vector(probabilities))

    tail = f"{_FLOATS}, float64, int64, {_FLOATS}"
    return entry(chooser_weigh, f"void(int64, float64, float64, {tail})")


@functools.cache
def tried() -> Try:
    """Return the entry (probabilities, new, trial): actions that are new get their share."""
    sources = stamp(__name__)

    def chooser_try(probabilities: Floats, new: Ints, trial: float) -> None:
        if sources:
            try_new(vector(probabilities), vector(new), trial)

    return entry(chooser_try, f"void({_FLOATS}, {_INTS}, float64)")


@functools.cache
def picked() -> Pick:
    """Return the entry (probabilities, ticket, low, high) -> action; the last two are the seed."""
    sources = stamp(__name__)

    def chooser_pick(probabilities: Floats, ticket: int, low: int, high: int) -> int:
        return pick(vector(probabilities), ticket, low, high) if sources else 0

    return entry(chooser_pick, f"int64({_FLOATS}, int64, int64, int64)")
