"""Random numbers as pure functions of (seed, stream, t), for the draws of choosers.

Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011)
maps a counter and a key to four 32-bit words. The key is the seed, the counter is (block, stream,
t).
"""

from __future__ import annotations

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
