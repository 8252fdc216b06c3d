"""How long to wait for a label: the ages at which labels came say when it is not worth it any more.

Ages count predictions. They are counted in buckets: one each up to 15, then four per doubling.
"""

from __future__ import annotations

from belated.arrays import Floats
from belated.kernels.jit import leaf
from belated.kernels.linear import layout as lm
from belated.kernels.slots import ints as N
from belated.kernels.state import State

REVIEW = 256  # predictions between two looks at the buckets
_LOST = 0.005  # share of all labels that may come later than the limit ...
_CHANCE = 0.02  # ... and chance that a ticket which reaches the limit still gets its label


@leaf
def bucket_of(age: int) -> int:
    """Return the bucket of an age."""
    if age < 16:
        return age
    shift = 2
    while age >> shift >= 8:
        shift += 1
    return min(4 * shift + (age >> shift) + 4, lm.BUCKETS - 1)


@leaf
def edge_of(bucket: int) -> int:
    """Return the smallest age of a bucket."""
    if bucket < 16:
        return bucket
    return (bucket % 4 + 4) << (bucket // 4 - 2)


@leaf
def count_age(f: Floats, age: int) -> None:
    """Count a label that came when so many predictions had been made after its own."""
    f[lm.AGES + lm.BY_AGE * bucket_of(age) + lm.CAME] += 1.0


@leaf
def count_kind(f: Floats, age: int, y: float) -> None:
    """Count a label among those that are equal, while there are few kinds."""
    kinds = int(f[lm.KINDS])
    if kinds > lm.MOST_KINDS:
        return
    kind = 0
    while kind < kinds and f[lm.OF_KINDS + lm.OF_KIND * kind] != y:
        kind += 1
    if kind == kinds:
        f[lm.KINDS] = kinds + 1.0
    if kind < lm.MOST_KINDS:
        place = lm.OF_KINDS + lm.OF_KIND * kind
        f[place] = y
        f[place + 1] += 1.0
        f[place + 2] += age
        f[place + 3] = max(f[place + 3], float(age))


@leaf
def review(s: State) -> None:
    """Set LIMIT to the age beyond which tickets are given up on, or to 0 where there is none.

    It is the smallest age above the patience such that at most 1/200 of all labels came so late,
    and these and one more are at most 1/50 of the tickets that would be ten times as old by now,
    times the share that had no label by that age. Younger ones had too little time to tell. Before
    the first label nothing is known.
    """
    f, n = s.f, s.n
    rounds = max(n[N.ROUNDS], 1)
    total = 0.0
    for bucket in range(lm.BUCKETS):
        total += f[lm.AGES + lm.BY_AGE * bucket + lm.CAME]
    limit = 0
    later = 0.0
    for i in range(lm.BUCKETS):
        bucket = lm.BUCKETS - 1 - i
        edge = edge_of(bucket)
        later += f[lm.AGES + lm.BY_AGE * bucket + lm.CAME]
        if edge <= n[N.LEAST] or later > _LOST * total or total == 0.0:
            break
        silent = 1.0 - (total - later) / rounds
        if later + 1.0 <= _CHANCE * silent * (rounds - 10 * edge):
            limit = edge
    n[N.LIMIT] = limit
