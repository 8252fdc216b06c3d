"""Delayed optimistic regret matching (Flaspohler et al.)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from belated.arrays import Code, Floats
from belated.errors import SpecError
from belated.kernels.exact import exp, ln
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import method
from belated.kernels.learners.state import State
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import kinds as K
from belated.learner.program import Program
from belated.rivals.experts import (
    Hint,
    OnArms,
    check_choice,
    dot,
    hint_numbers,
    hint_weight,
    normalise,
    play_and_keep,
)
from belated.spec import positive

if TYPE_CHECKING:
    from belated.bounds import Bound
    from belated.timeline import Timeline

_POWER = F.MINE + 2  # q - 1; the slots before are those of the hints


@leaf
def _match(code: Code, s: State) -> None:
    """w in proportion to max(0, sum of r_s + h)^(q - 1), the largest being divided out first."""
    z, regrets, last = s.z, s.p, s.own
    weight = hint_weight(s, 0)
    top = 0.0
    for i in range(z.size):
        z[i] = max(0.0, regrets[i] + weight * last[i])
        top = max(top, z[i])
    for i in range(z.size):
        if z[i] > 0.0:
            z[i] /= top
            if s.f[_POWER] != 1.0:
                z[i] = exp(s.f[_POWER] * ln(z[i]))
    normalise(z)


@leaf
def _regret(code: Code, s: State, entry: int, ticket: int, cost: Floats) -> None:
    """r_s = <c_s, w_s> - c_s, with the ticket's own play."""
    paid = dot(cost, s.kept[entry * s.n[N.KEEP] : entry * s.n[N.KEEP] + s.z.size])
    for i in range(s.z.size):
        s.own[i] = paid - cost[i]
        s.p[i] += s.own[i]


_METHOD = method("DORM", prepare=_match, play=play_and_keep, learn=_regret)


@dataclass(frozen=True, repr=False)
class DORM(OnArms, module="rivals"):
    """Delayed optimistic regret matching: w_t prop. to max(0, sum of received r_s + h_t)^(q - 1).

    r_s = <c_s, w_s> - c_s is what each of K = ``arms`` experts would have saved in round s, q is
    ``power``; where all are zero the play is uniform. No learning rate. ``hint="recent"`` guesses
    the missing regrets and the coming one by the last one received, h_t = (open + 1) r_last.

    Guarantee, losses in [0, 1]: regret <= sqrt((q - 1) sum_n (|r_n|^2 + 2 |r_n| |h_n - sum_m r_m|))
    in the q-norm, m running over the arrivals between play and arrival of n. That is at most
    K^(1/q) sqrt((q - 1) (T + 2 d_tot)), with hints K^(1/q) sqrt((q - 1) (3 T + 4 d_tot)); q near
    2 ln K gives sqrt(ln K) in the place of sqrt(K).
    Reference: Flaspohler et al., "Online learning with optimism and delay", ICML 2021.
    Differs from the authors' code: a round without arrivals keeps the regrets collected so far.

    >>> from belated import Timeline
    >>> DORM(4).bound(Timeline.from_delays([0] * 100)).total
    20.0
    """

    title: ClassVar[str] = "DORM"
    reference: ClassVar[str] = "Flaspohler et al. 2021"
    memory: ClassVar[str] = "the play of every open ticket"
    guarantee: ClassVar[str] = "k^(1/q) sqrt((q - 1) (T + 2 d_tot)), without hints"

    arms: int
    power: float = 2.0
    hint: Hint = "none"

    def __post_init__(self) -> None:
        """Check the numbers."""
        self._check_arms()
        power = positive(self.kind, "power", self.power)
        if power < 2.0:
            raise SpecError(f"{self.kind}: power must be at least 2, got {self.power!r}")
        object.__setattr__(self, "power", power)
        check_choice(self.kind, "hint", self.hint, ("none", "recent"))

    def program(self) -> Program:
        """Return what the kernels run; the own region is the last regret, p the sum of all."""
        return self.compiled(
            _METHOD,
            own=np.zeros(self.arms),
            keep=self.arms,
            base=K.ENTROPY,
            numbers={**hint_numbers(self.hint), _POWER: self.power - 1.0},
        )

    def bound(self, timeline: Timeline) -> Bound | None:
        """K^(1/q) sqrt((q - 1) (T + 2 d_tot)), or with hints (3 T + 4 d_tot)."""
        first, late = (1.0, 2.0) if self.hint == "none" else (3.0, 4.0)
        scale = self.arms ** (1.0 / self.power) * math.sqrt(self.power - 1.0)
        learning = scale * math.sqrt(first * timeline.rounds)
        total = scale * math.sqrt(first * timeline.rounds + late * timeline.total_delay)
        return self._of_unit_losses(timeline, learning, total - learning)
