"""What rounds cost over time, in so many stretches at most: they become longer with the game."""

from __future__ import annotations

from belated.arrays import Floats
from belated.kernels.jit import limb
from belated.kernels.knobs import layout as L


@limb
def remember(f: Floats, ticket: int, arm: float, delta: float) -> None:
    """Count a cost where its round belongs."""
    while ticket >= L.STRETCHES * f[L.STRETCH]:
        _double(f)
    at = L.PAST + L.OF_STRETCH * int(ticket // f[L.STRETCH])
    at += 2 if arm == L.START else 0
    f[at] += 1.0
    f[at + 1] += delta


@limb
def _double(f: Floats) -> None:
    """Join every two stretches."""
    f[L.STRETCH] *= 2.0
    for i in range(L.STRETCHES):
        for j in range(L.OF_STRETCH):
            at = L.PAST + i * L.OF_STRETCH + j
            of_two = L.PAST + 2 * i * L.OF_STRETCH + j
            is_full = 2 * i < L.STRETCHES
            f[at] = f[of_two] + f[of_two + L.OF_STRETCH] if is_full else 0.0
