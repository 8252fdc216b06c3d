"""Where silence is a label: how many are still to be corrected, and what that says of predictions.

A correction that takes a rounds can have come only for the tickets that are so old, n - a of n.
Others like it are still out, so that one of the age a stands for w_a = (n + 100) / (n - a + 100) of
them, at most ten (see ``scarcity``). With s = 1 where silence means no, and -1 where it means yes,

    C = s (number of corrections),   D = s sum (w_a - 1)

are how far corrections have moved the sum of all labels, and how far those that are still out will.
Of what is open at most a quarter, or the share that C + D is of n, is taken to be still out: at the
end of a day most of what will come has come. The base of predictions counts D as if it had come.

After 50 corrections, and once |D| is at most 0.15 |C + D|, predictions are counted too. With q
what was shown since,

    R = (C + D now) - (C + D then) - sum (q - silence),   V = sum q (1 - q),

and what is shown is moved by SHIFT = R / (V + 5 (1 + |D|)), at most 2 either way. R / V is Newton's
step towards predictions that sum to what they should have; as what was moved counts in R itself,
half of a lasting error goes. Each label that is still out counts as five that say nothing, since D
is a guess. Earlier predictions are left out: what they lacked is no reason to show too much now.

Weights and the mixture never see SHIFT. There is no theorem.
"""

from __future__ import annotations

import math

from belated.kernels.jit import leaf, limb
from belated.kernels.learners.state import State
from belated.kernels.linear import layout as lm
from belated.kernels.linear.scarcity import stands_for
from belated.kernels.linear.waiting import bucket_of, edge_of
from belated.kernels.slots import ints as N

ENOUGH = 50  # corrections before predictions are held against them
_PART = 16  # looks per doubling of the tickets
_FIRST, _REVIEW = 8, 256  # fewest and most predictions between two looks
_OF_OPEN = 0.25  # the most of what is open that is still to be corrected
_FEW_OUT = 0.15  # part of what is foreseen that may still be out when counting begins
_GUESSED = 5.0  # labels that say nothing, for each that is still out, and for one more
FARTHEST = 2.0  # that predictions are moved
_BEGUN = 1e-300  # V where counting has begun: not 0, and next to nothing


@leaf
def hear_correction(s: State, ticket: int, old: float) -> None:
    """Count a correction by its age; one that is taken back is taken off at its own."""
    f, rounds = s.f, s.n[N.ROUNDS]
    place = lm.AGES + lm.BY_AGE * bucket_of(rounds - ticket - 1) + lm.HEARD
    f[place] += 1.0 if old == f[lm.SILENCE] else -1.0
    if f[lm.AGAIN] == math.inf:
        f[lm.AGAIN] = rounds + _FIRST


@leaf
def foresee(s: State, q: float) -> None:
    """Count a probability that was shown, and look now and then at what came of all."""
    f = s.f
    if f[lm.VARIED] > 0.0:
        f[lm.FORESEEN] += q - f[lm.SILENCE]
        f[lm.VARIED] += q * (1.0 - q)
    if s.n[N.ROUNDS] >= f[lm.AGAIN]:
        _reckon(s)


@limb  # seldom called, and inlined it took 6 % of every event of a row with few entries
def _reckon(s: State) -> None:
    """Set OWED and SHIFT."""
    f, n = s.f, s.n
    rounds = n[N.ROUNDS]
    came, all_in_all = 0.0, 0.0
    for j in range(lm.BUCKETS):
        count = f[lm.AGES + lm.BY_AGE * j + lm.HEARD]
        if count != 0.0:
            age = min(0.5 * (edge_of(j) + edge_of(j + 1) - 1), float(rounds))
            came += count
            all_in_all += count * stands_for(rounds, age)
    still_open = float(rounds - n[N.ARRIVED])
    most = still_open * min(max(all_in_all, 0.0) / rounds, _OF_OPEN)
    out = min(max(all_in_all - came, 0.0), most)
    side = 1.0 - 2.0 * f[lm.SILENCE]
    f[lm.OWED] = side * out
    if f[lm.VARIED] == 0.0 and n[N.CORRECTED] >= ENOUGH and out <= _FEW_OUT * (came + out):
        f[lm.FORESEEN] = side * (came + out)
        f[lm.VARIED] = _BEGUN
    if f[lm.VARIED] > 0.0:
        missing = side * (came + out) - f[lm.FORESEEN]
        shift = missing / (f[lm.VARIED] + _GUESSED * (1.0 + out))
        f[lm.SHIFT] = min(max(shift, -FARTHEST), FARTHEST)
    f[lm.AGAIN] = rounds + max(min(rounds // _PART, _REVIEW), _FIRST)
