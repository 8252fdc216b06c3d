"""Mean costs over time, in STRETCHES stretches, which become longer with the game."""

from __future__ import annotations

from belated.arrays import Floats
from belated.kernels.jit import limb
from belated.kernels.knobs import layout as L


@limb
def record(f: Floats, ticket: int, arm: float, cost: float) -> None:
    """Include the cost of a round in its stretch."""
    while ticket >= L.STRETCHES * f[L.STRETCH]:
        f[L.STRETCH] *= 2.0
        for i in range(2 * L.STRETCHES):  # every two stretches become one
            at, first = L.HISTORY + 2 * i, L.HISTORY + 2 * (2 * i - i % 2)
            count, mean = 0.0, 0.0
            if i < L.STRETCHES:
                count = f[first] + f[first + L.OF_STRETCH]
                share = f[first + L.OF_STRETCH] / max(count, 1.0)
                mean = f[first + 1] + share * (f[first + L.OF_STRETCH + 1] - f[first + 1])
            f[at] = count
            f[at + 1] = mean
    at = L.HISTORY + L.OF_STRETCH * int(ticket // f[L.STRETCH]) + (2 if arm == L.START else 0)
    f[at] += 1.0
    f[at + 1] += (cost - f[at + 1]) / f[at]
