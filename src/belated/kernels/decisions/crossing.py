"""The row of an action in a context: the features of both, and products of the two.

Coordinates of context and action come hashed by name. Those of the action, and those of the
products, are mixed once more, so that equal names on both sides are different features.
"""

from __future__ import annotations

from belated.arrays import Floats, Ints
from belated.kernels.jit import leaf

_WORD = 0xFFFFFFFF
_OF_ACTION = 1
_OF_PRODUCT = 2


@leaf
def mixed(first: int, second: int, salt: int, coordinates: int) -> int:
    """Return the coordinate of a pair; ``coordinates`` is a power of two, at most 2^30.

    A multiplication for each part, then two rounds of xor-shift and multiply. Every product stays
    below 2^63, so that compiled and interpreted agree.
    """
    z = (first * 0x45D9F3B3 + second * 0x2C1B3C6D + salt * 0x297A2D39) & _WORD
    z = ((z ^ (z >> 15)) * 0x2C1B3C6D) & _WORD
    z = ((z ^ (z >> 12)) * 0x297A2D39) & _WORD
    return int((z ^ (z >> 15)) & (coordinates - 1))


@leaf
def cross(
    coordinates: int,
    context: Ints,
    context_values: Floats,
    crossed: Ints,
    given: int,
    action: Ints,
    action_values: Floats,
    first: int,
    last: int,
    row: Ints,
    values: Floats,
) -> int:
    """Write the row of the action with entries ``first`` to ``last``; return its length.

    The context comes first, then the action, then every product of an entry of the context that is
    ``crossed`` with an entry of the action.
    """
    for i in range(given):
        row[i] = context[i]
        values[i] = context_values[i]
    count = given
    for j in range(first, last):
        row[count] = mixed(action[j], action[j], _OF_ACTION, coordinates)
        values[count] = action_values[j]
        count += 1
    for i in range(given):
        if crossed[i]:
            for j in range(first, last):
                row[count] = mixed(context[i], action[j], _OF_PRODUCT, coordinates)
                values[count] = context_values[i] * action_values[j]
                count += 1
    return count
