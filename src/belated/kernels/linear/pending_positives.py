"""Where silence is a label: how many corrections are still to come.

A correction that takes a rounds can have come only for the tickets that are so old, n - a of n. So
one of the age a stands for w_a = (n + 100) / (n - a + 100) of its kind, at most ten (see ``ipcw``),
one of which has come. With C the corrections so far,

    D = sum (w_a - 1)

are still to come, but no more than a quarter of the open tickets: at the end of a day most
corrections have come. The base of predictions counts D as if they had come. Otherwise it begins too
low, experts learn to add what it lacks, and have it twice when it comes. There is no theorem.
"""

from __future__ import annotations

import math

from belated.kernels.jit import leaf, limb
from belated.kernels.linear import layout as lm
from belated.kernels.linear.ipcw import full_weight
from belated.kernels.linear.waiting import bucket_of, edge_of
from belated.kernels.slots import ints as N
from belated.kernels.state import State

_UPDATES = 16  # per doubling of the tickets
_FEWEST, _MOST = 8, 256  # predictions between two updates
_OF_OPEN = 0.25  # largest share of open tickets that is still to be corrected


@leaf
def record_correction(s: State, ticket: int, old: float) -> None:
    """Count a correction by its age; one that is taken back is subtracted at its own."""
    f, rounds = s.f, s.n[N.ROUNDS]
    place = lm.AGES + lm.BY_AGE * bucket_of(rounds - ticket - 1) + lm.LABELLED
    f[place] += 1.0 if old == f[lm.SILENCE] else -1.0
    if f[lm.NEXT_UPDATE] == math.inf:
        f[lm.NEXT_UPDATE] = rounds + _FEWEST


@limb  # seldom called, and inlined it took 6 % of every event of a row with few entries
def update_pending_positives(s: State) -> None:
    """Set PENDING_POSITIVES to D, or to -D where silence is yes."""
    f, rounds = s.f, s.n[N.ROUNDS]
    came, expected = 0.0, 0.0
    for j in range(lm.BUCKETS):
        count = f[lm.AGES + lm.BY_AGE * j + lm.LABELLED]
        if count != 0.0:
            # The mean of the integer ages in the bucket: n - a tickets are at least a rounds old.
            age = min(0.5 * (edge_of(j) + edge_of(j + 1) - 1), float(rounds))
            came += count
            expected += count * full_weight(rounds, age)
    pending = min(max(expected - came, 0.0), _OF_OPEN * (rounds - s.n[N.ARRIVED]))
    f[lm.PENDING_POSITIVES] = pending if f[lm.SILENCE] == 0.0 else -pending
    f[lm.NEXT_UPDATE] = rounds + max(min(rounds // _UPDATES, _MOST), _FEWEST)
