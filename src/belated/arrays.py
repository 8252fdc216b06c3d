"""The types of arrays that everything below the specs works on, and a sum."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Array: TypeAlias = NDArray[Any]
"""An array of any kind, such as a column of a log."""


def add_in_order(values: Iterable[float]) -> float:
    """Return the sum, added in order: from Python 3.12 on, ``sum`` rounds less than before.

    >>> add_in_order([1e16, 1.0, -1e16])
    0.0
    """
    total = 0.0
    for value in values:
        total += value
    return total
