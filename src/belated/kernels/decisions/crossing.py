"""The row of an action in a context: the features of both, and products of the two.

Coordinates of context and action come hashed by name. Those of the action, and those of the
products, are mixed once more, so that equal names on both sides are different features. The first
feature of an action is its name, with the value 1.
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
def of_action(feature: int, coordinates: int) -> int:
    """Return the coordinate of a feature of an action."""
    return mixed(feature, feature, _OF_ACTION, coordinates)


@leaf
def of_product(context: int, feature: int, coordinates: int) -> int:
    """Return the coordinate of the product of a feature of the context and one of an action."""
    return mixed(context, feature, _OF_PRODUCT, coordinates)


@leaf
def cross(
    coordinates: int,
    context: Ints,
    context_values: Floats,
    crossed: Ints,
    name: int,
    features: Ints,
    feature_values: Floats,
    row: Ints,
    values: Floats,
) -> int:
    """Write the row of the action with this ``name`` and these features; return its length.

    The context comes first, then the action, then every product of an entry of the context that is
    ``crossed`` with an entry of the action.
    """
    for i in range(context.size):
        row[i] = context[i]
        values[i] = context_values[i]
    count = context.size
    row[count] = of_action(name, coordinates)
    values[count] = 1.0
    count += 1
    for j in range(features.size):
        row[count] = of_action(features[j], coordinates)
        values[count] = feature_values[j]
        count += 1
    for i in range(context.size):
        if crossed[i]:
            row[count] = of_product(context[i], name, coordinates)
            values[count] = context_values[i]
            count += 1
            for j in range(features.size):
                row[count] = of_product(context[i], features[j], coordinates)
                values[count] = context_values[i] * feature_values[j]
                count += 1
    return count
