"""What counts as probabilities of actions."""

from __future__ import annotations

import numpy as np

from belated.arrays import Bools, Floats

CLOSE = 1e-6
"""How far from 1 probabilities may sum to: those that were written down are rounded."""


def are_distributions(rows: Floats) -> Bools:
    """Tell which rows are probabilities of all actions: none negative, and the sum 1.

    >>> are_distributions(np.array([[0.5, 0.5], [0.5, 0.6], [1.5, -0.5], [np.nan, 1.0]]))
    array([ True, False, False, False])
    """
    found: Bools = (rows >= 0.0).all(axis=-1) & (np.abs(rows.sum(axis=-1) - 1.0) <= CLOSE)
    return found
