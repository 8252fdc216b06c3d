"""What every action is worth in a context: what ``predict`` would say of its row, and no change.

Most actions have the same features, and are taken four at a time (``alike``); other rows are taken
one by one (``single``). Each row is summed in its own order, so that bits are those of ``predict``.
"""

from __future__ import annotations

import math

from belated.arrays import Code, Floats, Ints
from belated.kernels.decisions.alike import are_alike, score_alike
from belated.kernels.decisions.crossing import cross
from belated.kernels.decisions.desk import ROOM, Actions, Context, tools_of
from belated.kernels.decisions.single import of_row, worth
from belated.kernels.jit import leaf
from belated.kernels.linear import layout as lm
from belated.kernels.slots import ints as N
from belated.kernels.slots import status as S
from belated.kernels.state import State


@leaf
def score(
    code: Code,
    s: State,
    c: Ints,
    context: Context,
    actions: Actions,
    ints: Ints,
    floats: Floats,
    marks: Ints,
    scores: Floats,
) -> int:
    """Write the predicted reward of every action, and return USED; BAD for numbers beyond use.

    ``ints`` and ``floats`` have room for ``Tools``, and for a row or a ``Desk``.
    """
    if not _fits(context, actions):
        return S.BAD
    tools = tools_of(ints, floats, marks)
    count = actions.names.size
    if count > 1 and are_alike(actions):
        score_alike(code, s, c, context, actions, ints, floats, tools, scores)
    else:
        for a in range(count):
            scores[a] = math.nan
    for a in range(count):
        if scores[a] != scores[a]:
            end = ROOM + write_row(s.n[N.COORDINATES], context, actions, a, ints, floats)
            p, others = of_row(s, c, ints[ROOM:end], floats[ROOM:end], tools)
            scores[a] = worth(code, s.f, p, others, tools)
    return S.USED


@leaf
def write_row(
    coordinates: int, context: Context, actions: Actions, a: int, ints: Ints, floats: Floats
) -> int:
    """Write the row of action a, after the tools; return its length."""
    begin, end = actions.bounds[a], actions.bounds[a + 1]
    return cross(
        coordinates,
        context.indices,
        context.values,
        context.crossed,
        actions.names[a],
        actions.indices[begin:end],
        actions.values[begin:end],
        ints[ROOM : ints.size],
        floats[ROOM : floats.size],
    )


@leaf
def _fits(context: Context, actions: Actions) -> bool:
    """Tell whether all values can be used, and all products."""
    most = 0.0
    for i in range(context.values.size):
        size = abs(context.values[i])
        if not size <= lm.HUGE_VALUE:
            return False
        if context.crossed[i]:
            most = max(most, size)
    for j in range(actions.bounds[actions.names.size]):
        size = abs(actions.values[j])
        if not (size <= lm.HUGE_VALUE and size * most <= lm.HUGE_VALUE):
            return False
    return True
