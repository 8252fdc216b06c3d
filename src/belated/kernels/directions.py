"""Random numbers as pure functions of (seed, stream, t), for the draws of choosers and knobs.

Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011)
maps a counter and a key to four 32-bit words. The key is the seed, the counter is (block, stream,
t), and the words go through Marsaglia's polar method into normals.
"""

from __future__ import annotations

import math

from belated.arrays import Floats
from belated.kernels.exact import ln_scaled
from belated.kernels.jit import leaf

_MASK = 0xFFFFFFFF


@leaf
def philox(c0: int, c1: int, c2: int, c3: int, k0: int, k1: int) -> tuple[int, int, int, int]:
    """Return the four words of Philox4x32-10 for a counter and a key of 32-bit words.

    Products wrap in 64 signed bits when compiled and grow when interpreted; the masked halves are
    the same either way.
    """
    for _ in range(10):
        left = 0xD2511F53 * c0
        right = 0xCD9E8D57 * c2
        c0 = ((right >> 32) & _MASK) ^ c1 ^ k0
        c2 = ((left >> 32) & _MASK) ^ c3 ^ k1
        c1 = right & _MASK
        c3 = left & _MASK
        k0 = (k0 + 0x9E3779B9) & _MASK
        k1 = (k1 + 0xBB67AE85) & _MASK
    return c0, c1, c2, c3


@leaf
def _place(u: Floats, filled: int, first: int, second: int) -> int:
    """Append the two normals of a pair of words (polar method); return how many are filled."""
    x = (first + 0.5) * 4.656612873077393e-10 - 1.0  # (w + 1/2) 2^-31 - 1, never 0
    y = (second + 0.5) * 4.656612873077393e-10 - 1.0
    s = x * x + y * y
    if s >= 1.0 or filled >= u.size:
        return filled
    factor = math.sqrt(-2.0 * ln_scaled(s, 0) / s)
    u[filled] = x * factor
    if filled + 1 < u.size:
        u[filled + 1] = y * factor
    return filled + 2


@leaf
def normals(u: Floats, stream: int, t: int, low: int, high: int) -> None:
    """Fill u with the normals number t of a stream, under the seed (low, high)."""
    block = stream - stream  # as a literal 0 it would be compiled for once more
    filled = block
    while filled < u.size:
        w0, w1, w2, w3 = philox(block, stream, t & _MASK, (t >> 32) & _MASK, low, high)
        filled = _place(u, filled, w0, w1)
        filled = _place(u, filled, w2, w3)
        block += 1
