"""Delayed optimistic regret matching, and its plus version (Flaspohler et al.)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from belated.arrays import Code, Floats
from belated.bounds import Bound
from belated.errors import SpecError
from belated.kernels.exact import exp, ln
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import method
from belated.kernels.learners.state import State
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import kinds as K
from belated.kernels.slots import status as S
from belated.learner.program import Program
from belated.rivals.experts import (
    WEIGHT,
    Hint,
    OnArms,
    dot,
    hint_is_sound,
    hint_numbers,
    hint_weight,
    normalise,
    play_and_keep,
)
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


_DORM = method("DORM", prepare=_match, play=play_and_keep, learn=_regret)


@leaf
def _regret_plus(code: Code, s: State, entry: int, ticket: int, cost: Floats) -> None:
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
def _match_plus(code: Code, s: State) -> None:
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


_DORM_PLUS = method(
    "DORMPlus", prepare=_match_plus, play=play_and_keep, learn=_regret_plus, lose=_lose
)


class _Matching(OnArms):
    """What the two versions share."""

    reference = "Flaspohler et al. 2021"
    memory = "the play of every open ticket"
    hint: Hint

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        self._check_choice("hint", "none", "recent")

    def _program(self, number: int, numbers: dict[int, float]) -> Program:
        """Return what the kernels run; the own region is the last regret."""
        return self.compiled(
            number,
            own=np.zeros(self.arms),
            keep=self.arms,
            base=K.ENTROPY,
            numbers={**hint_numbers(self.hint), **numbers},
            moving=(WEIGHT,),
            sound=hint_is_sound,
        )


@dataclass(frozen=True, repr=False)
class DORM(_Matching, module="rivals"):
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

    guarantee = "k^(1/q) sqrt((q - 1) (T + 2 d_tot)), without hints"

    power: float = 2.0
    hint: Hint = "none"

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        if self.power < 2.0:
            raise SpecError(f"{self.kind}: power must be at least 2, got {self.power!r}")

    def program(self) -> Program:
        """Return what the kernels run; p is the sum of all regrets."""
        return self._program(_DORM, {_POWER: self.power - 1.0})

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """K^(1/q) sqrt((q - 1) (T + 2 d_tot)), or with hints (3 T + 4 d_tot)."""
        first, late = (1.0, 2.0) if self.hint == "none" else (3.0, 4.0)
        scale = self.arms ** (1.0 / self.power) * math.sqrt(self.power - 1.0)
        learning = scale * math.sqrt(first * timeline.rounds)
        total = scale * math.sqrt(first * timeline.rounds + late * timeline.total_delay)
        return self._of_unit_losses(timeline, learning, total - learning)


@dataclass(frozen=True, repr=False)
class DORMPlus(_Matching, module="rivals"):
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

    title = "DORM+"
    guarantee = "sqrt(k (T + 2 d_tot)), without hints"

    hint: Hint = "none"

    def program(self) -> Program:
        """Return what the kernels run."""
        return self._program(_DORM_PLUS, {})

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """sqrt(K (T + 2 d_tot)); None with hints."""
        if self.hint != "none":
            return None
        learning = math.sqrt(self.arms * timeline.rounds)
        total = math.sqrt(self.arms * (timeline.rounds + 2 * timeline.total_delay))
        return self._of_unit_losses(timeline, learning, total - learning)
