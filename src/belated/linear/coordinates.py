"""What is known of coordinates, as numbers; kernels keep it in narrow words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from belated.arrays import Floats, Ints
from belated.kernels.linear import layout as lm
from belated.kernels.linear.rows import CUT, LEAST, LOW

Words: TypeAlias = NDArray[np.uint32]


def narrowed(numbers: Floats) -> Words:
    """Return numbers as words of the memory; see ``kernels.narrow``."""
    bits = np.ascontiguousarray(numbers, dtype=np.float64).view(np.int64)
    return ((bits + (1 << 31)) >> 32).astype(np.uint32)


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Some coordinates, one entry each, and one row each of weights and energies."""

    seen: Floats
    centre: Floats
    variance: Floats
    open: Floats
    """Sum of |x| over open tickets."""
    fraction: Floats
    """theta / (G + L): the coin bets this part of what it has."""
    wealth: Floats
    """V: what the coin has, over L."""
    turnover: Floats
    """G: sum of the sizes of the coin's gradients."""
    stake: Floats
    """L: the largest of them, rounded up."""
    weights: Floats
    """w_k of the four scales."""
    average: Floats
    """Mean of the weights of the third."""
    energies: Floats
    """A of the first two scales, of the third and of the fourth."""

    @classmethod
    def of(cls, rows: Ints) -> Self:
        """Read rows of the memory."""
        counts, shared = rows.view(np.uint32), rows[:, lm.CENTRE]
        numbers = (counts.astype(np.int64) << 32).view(np.float64)
        short = shared & LOW
        stake = np.where(short > 0, ((short + LEAST) << CUT).view(np.float64), 0.0)
        return cls(
            seen=counts[:, lm.SEEN].astype(np.float64),
            centre=(shared - short).view(np.float64),
            variance=numbers[:, lm.VARIANCE],
            open=counts[:, lm.OPEN] / lm.GRAINS,
            fraction=numbers[:, lm.FRACTION],
            wealth=numbers[:, lm.WEALTH],
            turnover=numbers[:, lm.TURNOVER],
            stake=stake,
            weights=numbers[:, lm.WEIGHT : lm.WEIGHT + lm.SCALES],
            average=numbers[:, lm.AVERAGE],
            energies=numbers[:, lm.ENERGY : lm.ENERGY + lm.ENERGIES],
        )

    @property
    def coin(self) -> Floats:
        """The coin's weights."""
        return self.fraction * self.wealth

    @property
    def bets(self) -> Floats:
        """theta: minus the sum of the coin's gradients."""
        return self.fraction * (self.turnover + self.stake)
