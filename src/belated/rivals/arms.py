"""What the bandits share: drawing an arm, estimating its loss, exponential weights.

The play is the unit vector of the arm drawn, and an answer is the loss of that arm, in [0, 1]. A
record holds the arm and its probability; ``own`` begins with Lhat, the sums of the estimates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from belated.arrays import Code, Floats
from belated.kernels.directions import philox
from belated.kernels.exact import exp
from belated.kernels.jit import leaf
from belated.kernels.learners.state import State
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.learner.program import Program
from belated.learner.state import Memory
from belated.rivals.experts import OnArms, least, normalise

_STREAM = 1  # of the generator; exploration directions have stream 0
_MASK = 0xFFFFFFFF
_RAREST = 1e-30  # no word of 32 bits draws an arm of this probability
_LARGEST = 1e150  # above HUGE / _RAREST, the largest estimate, in any number of rounds


@leaf
def _draw(s: State, ticket: int) -> int:
    """Return the first arm i with z_0 + .. + z_i > U, U = (w + 1/2) 2^-32 for a random word w."""
    low, high = int(s.n[N.SEED_LOW]), int(s.n[N.SEED_HIGH])
    t = int(ticket)
    word = philox(t - t, t - t + _STREAM, t & _MASK, (t >> 32) & _MASK, low, high)[0]
    mark = (word + 0.5) * 2.3283064365386963e-10
    total = 0.0
    for i in range(s.z.size):
        total += s.z[i]
        if total > mark:
            return i
    return s.z.size - 1


@leaf
def play_arm(code: Code, s: State, entry: int, ticket: int, x: Floats) -> None:
    """Draw an arm from the probabilities z, play it, and keep which it was and how likely."""
    arm = _draw(s, ticket)
    for i in range(s.z.size):
        x[i] = 1.0 if i == arm else 0.0
    s.kept[entry * s.n[N.KEEP]] = arm
    s.kept[entry * s.n[N.KEEP] + 1] = s.z[arm]


@leaf
def estimate(code: Code, s: State, entry: int, ticket: int, answer: Floats) -> None:
    """Lhat[a_s] += loss / p_s[a_s]."""
    arm = int(s.kept[entry * s.n[N.KEEP]])
    s.own[arm] += answer[0] / s.kept[entry * s.n[N.KEEP] + 1]


@leaf
def outside(code: Code, s: State, answer: Floats, norm: float) -> bool:
    """Tell whether a loss is not in [0, 1]; the ``exceeds`` of methods for arms."""
    room = F.SLACK - 1.0
    return not -room <= answer[0] <= 1.0 + room


@leaf
def weigh(code: Code, s: State) -> None:
    """z in proportion to exp(-eta Lhat)."""
    lowest = least(s.own)
    for i in range(s.z.size):
        s.z[i] = exp(-s.f[F.ETA] * (s.own[i] - lowest))
    normalise(s.z)


EXPECTED = "losses in [0, 1], in expectation over the draws"
"""What to know about a bound."""


def drew_arms(memory: Memory) -> bool:
    """Tell whether every open ticket has an arm and its probability, and sums are not too large."""
    arm, chance = memory.records[:, :2].T
    is_open = memory.entries[:, 1] >= 0
    named = np.isin(arm[is_open], np.arange(memory.dim)).all()
    drawn = ((chance[is_open] > _RAREST) & (chance[is_open] <= 1.0)).all()
    return bool(named and drawn and (np.abs(memory.own) <= _LARGEST).all())


class Bandit(OnArms):
    """A rival that draws one of ``arms`` arms and hears its loss."""

    answers = "value"
    assumes: ClassVar[str] = "values in [0, 1]"
    """What the table says about the losses."""
    memory = "arm and probability of every open ticket"
    order = "any order; a lost answer is dropped"

    def _drawing(
        self,
        number: int,
        numbers: dict[int, float],
        moving: tuple[int, ...] = (),
        sound: Callable[[Memory], bool] | None = None,
    ) -> Program:
        """Return what the kernels run."""
        return self.compiled(
            number,
            own=np.zeros(self.arms),
            keep=2,
            numbers=numbers,
            moving=moving,
            sound=sound or drew_arms,
        )
