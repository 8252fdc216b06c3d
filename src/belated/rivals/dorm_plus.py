"""Delayed optimistic regret matching plus (Flaspohler et al.)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from belated.arrays import Code, Floats
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import method
from belated.kernels.learners.state import State
from belated.kernels.slots import ints as N
from belated.kernels.slots import kinds as K
from belated.kernels.slots import status as S
from belated.learner.program import Program
from belated.rivals.experts import (
    WEIGHT,
    Hint,
    OnArms,
    check_choice,
    dot,
    hint_numbers,
    hint_weight,
    normalise,
    play_and_keep,
)

if TYPE_CHECKING:
    from belated.bounds import Bound
    from belated.timeline import Timeline


@leaf
def _regret(code: Code, s: State, entry: int, ticket: int, cost: Floats) -> None:
    """p <- max(0, p + r_s + h_new - h_old)."""
    p, last = s.p, s.own
    paid = dot(cost, s.kept[entry * s.n[N.KEEP] : entry * s.n[N.KEEP] + s.z.size])
    new, old = hint_weight(s, 0), s.f[WEIGHT]
    for i in range(s.z.size):
        r = paid - cost[i]
        p[i] = max(0.0, p[i] + r + new * r - old * last[i])
        last[i] = r
    s.f[WEIGHT] = new


@leaf
def _change_hint(s: State, new: float) -> None:
    """p <- max(0, p + h_new - h_old), if the hints differ."""
    old = s.f[WEIGHT]
    s.f[WEIGHT] = new
    if new != old:
        for i in range(s.z.size):
            s.p[i] = max(0.0, s.p[i] + new * s.own[i] - old * s.own[i])


@leaf
def _match(code: Code, s: State) -> None:
    """Bring the hint up to date; w = p / sum(p)."""
    _change_hint(s, hint_weight(s, 0))
    for i in range(s.z.size):
        s.z[i] = s.p[i]
    normalise(s.z)


@leaf
def _lose(code: Code, s: State, entry: int, ticket: int) -> int:
    """No regret, and one open ticket less."""
    _change_hint(s, hint_weight(s, 1))
    return S.USED


_METHOD = method("DORMPlus", prepare=_match, play=play_and_keep, learn=_regret, lose=_lose)


@dataclass(frozen=True, repr=False)
class DORMPlus(OnArms, module="rivals"):
    """Delayed optimistic regret matching plus: p <- max(0, p + r_s + h_new - h_old).

    The play is p / sum(p), uniform while p is zero, as at the start; r_s = <c_s, w_s> - c_s is what
    each of K = ``arms`` experts would have saved in round s. There is one step for every arrival,
    and one with the hints alone in a round before which nothing arrived; no learning rate.
    ``hint="recent"`` guesses the missing regrets and the coming one by the last one received,
    h = (open + 1) r_last.

    Guarantee, losses in [0, 1], without hints: regret <= sqrt(K (T + 2 d_tot)): |p|^2 grows by at
    most 2 <p, r_n> + |r_n|^2, the p of the play is orthogonal to r_n, and p moved by at most |r_m|
    per arrival since.
    Reference: Flaspohler et al., "Online learning with optimism and delay", ICML 2021.

    >>> from belated import Timeline
    >>> DORMPlus(4).bound(Timeline.from_delays([0] * 100)).total
    20.0
    """

    title: ClassVar[str] = "DORM+"
    reference: ClassVar[str] = "Flaspohler et al. 2021"
    memory: ClassVar[str] = "the play of every open ticket"
    guarantee: ClassVar[str] = "sqrt(k (T + 2 d_tot)), without hints"

    arms: int
    hint: Hint = "none"

    def __post_init__(self) -> None:
        """Check the numbers."""
        self._check_arms()
        check_choice(self.kind, "hint", self.hint, ("none", "recent"))

    def program(self) -> Program:
        """Return what the kernels run; the own region is the last regret."""
        return self.compiled(
            _METHOD,
            own=np.zeros(self.arms),
            keep=self.arms,
            base=K.ENTROPY,
            numbers=hint_numbers(self.hint),
        )

    def bound(self, timeline: Timeline) -> Bound | None:
        """sqrt(K (T + 2 d_tot)); None with hints."""
        if self.hint != "none":
            return None
        learning = math.sqrt(self.arms * timeline.rounds)
        total = math.sqrt(self.arms * (timeline.rounds + 2 * timeline.total_delay))
        return self._of_unit_losses(timeline, learning, total - learning)
