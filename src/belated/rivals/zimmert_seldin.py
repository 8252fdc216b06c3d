"""Zimmert and Seldin: a bandit with two regularisers that needs to know nothing of the delays."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from belated.arrays import Code, Floats
from belated.bounds import Bound
from belated.kernels.exact import ln
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import method
from belated.kernels.learners.state import State
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import status as S
from belated.kernels.tickets import entry_of
from belated.learner.program import Program
from belated.learner.state import Memory
from belated.rivals.arms import EXPECTED, Bandit, drew_arms, estimate, outside, play_arm
from belated.rivals.shared import is_count
from belated.rivals.tsallis import is_multiplier, solve
from belated.timeline import Timeline

_SKIPPING = F.MINE  # 1 with the skipping tuning, else 0
_MULTIPLIER = F.MINE + 1  # mu of the last play
_COUNTED = F.MINE + 2  # how many open tickets still count ...
_OLDEST = F.MINE + 3  # ... none before this one


@leaf
def _prepare(code: Code, s: State) -> None:
    """Add the pending rounds to D, solve for the probabilities, and stop counting what is old."""
    skipping = s.f[_SKIPPING] > 0.0
    pending = int(s.f[_COUNTED]) if skipping else s.n[N.ROUNDS] - s.n[N.ARRIVED]
    s.n[N.PATIENCE] += pending
    share = 1.0 if skipping else 2.0
    b = math.sqrt(share * s.n[N.PATIENCE] / ln(float(s.z.size)))
    a = math.sqrt(s.n[N.ROUNDS] + 1.0)
    s.f[_MULTIPLIER] = solve(s.own, a, b, s.f[_MULTIPLIER], s.z)
    if b > 0.0:
        s.f[F.ETA] = 1.0 / b
    if skipping:
        _stop_counting(s, b)
        s.f[_COUNTED] += 1.0  # the new ticket


@leaf
def _stop_counting(s: State, most: float) -> None:
    """Leave out every s with t - s > most; ages fall and ``most`` rises, so the oldest go first."""
    ticket = int(s.f[_OLDEST])
    while ticket < s.n[N.ROUNDS]:
        entry = entry_of(s, ticket)
        if entry >= 0 and s.table[2 * entry + 1] >= 0:
            if s.n[N.ROUNDS] - ticket <= most:
                break
            s.f[_COUNTED] -= 1.0
        ticket += 1
    s.f[_OLDEST] = ticket


@leaf
def _uncount(s: State, ticket: int) -> None:
    """A closed ticket counts no more."""
    if s.f[_SKIPPING] > 0.0 and ticket >= s.f[_OLDEST]:
        s.f[_COUNTED] -= 1.0


@leaf
def _learn(code: Code, s: State, entry: int, ticket: int, answer: Floats) -> None:
    """Use the loss, whether its ticket still counts or not."""
    _uncount(s, ticket)
    estimate(code, s, entry, ticket, answer)


@leaf
def _lose(code: Code, s: State, entry: int, ticket: int) -> int:
    """Drop a lost answer."""
    _uncount(s, ticket)
    return S.USED


_METHOD = method(
    "ZimmertSeldin", prepare=_prepare, play=play_arm, exceeds=outside, learn=_learn, lose=_lose
)


def _is_sound(memory: Memory) -> bool:
    """Tell whether as many open tickets count as is said, and the probabilities can be such."""
    f, numbers = memory.f, memory.entries[memory.entries[:, 1] >= 0, 0]
    oldest, counted = float(f[_OLDEST]), float(f[_COUNTED])
    counts = np.count_nonzero(numbers >= oldest) if f[_SKIPPING] > 0.0 else 0
    return (
        is_count(oldest, memory.rounds)
        and counted == counts
        and bool((memory.point > 0.0).all())
        and _multiplier_fits(memory)
        and drew_arms(memory)
    )


def _multiplier_fits(memory: Memory) -> bool:
    """Tell whether mu can be that of the last play."""
    arms, share = memory.dim, 1.0 if memory.f[_SKIPPING] > 0.0 else 2.0
    a = math.sqrt(max(memory.rounds, 1))
    b = math.sqrt(share * int(memory.n[N.PATIENCE]) / math.log(arms))
    return is_multiplier(float(memory.f[_MULTIPLIER]), arms, a, b)


@dataclass(frozen=True, repr=False)
class ZimmertSeldin(Bandit, module="rivals"):
    """FTRL for arms: x_t = argmin <Lhat, x> - 2 sqrt(t) sum sqrt(x_i) + sum x_i ln x_i / eta_t.

    Arm a_t is drawn from x_t, and Lhat[a_s] += l_s / x_s[a_s] when its loss in [0, 1] arrives. With
    K = ``arms`` and D_t the sum over rounds up to t of the tickets then open,
    1 / eta_t = sqrt(2 D_t / ln K). With ``skipping`` only tickets that still count go into D_t and
    1 / eta_t = sqrt(D_t / ln K); after the play those with t - s > 1 / eta_t stop counting, but
    their losses are used all the same. Nothing to tune, nothing to be told.

    Guarantee: expected regret <= 4 sqrt(K T) + sqrt(8 d_tot ln K), if losses and delays do not
    depend on the draws (``tsallis.promised`` has a proof). With ``skipping`` it is at most
    4 sqrt(K T) + 10 max{2 ln K, min over sets Q of rounds of |Q| + sqrt(D' ln K)}, D' being the sum
    of the delays outside Q. There at most one round stops counting per play: 1 / eta_t never falls.
    Reference: Zimmert and Seldin, "An optimal algorithm for adversarial bandits with arbitrary
    delays", AISTATS 2020.

    >>> from belated import Timeline
    >>> ZimmertSeldin(4).bound(Timeline.from_delays([0] * 400)).total
    160.0
    """

    title = "Zimmert-Seldin"
    reference = "Zimmert and Seldin 2020"
    guarantee = (
        "4 sqrt(k T) + sqrt(8 d_tot ln k), in expectation; with `skipping` 4 sqrt(k T) + "
        "10 max{2 ln k, min over sets Q of rounds of #Q + sqrt(delays outside Q times ln k)}"
    )

    skipping: bool = False

    def program(self) -> Program:
        """Return what the kernels run; the own region is Lhat."""
        first = -math.sqrt(self.arms)  # mu of the first round
        numbers = {_SKIPPING: float(self.skipping), _MULTIPLIER: first}
        return self._drawing(_METHOD, numbers, (_MULTIPLIER, _COUNTED, _OLDEST), _is_sound)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """4 sqrt(K T) + sqrt(8 d_tot ln K), or what ``skipping`` leaves of it."""
        rounds, logarithm = 4.0 * math.sqrt(self.arms * timeline.rounds), math.log(self.arms)
        if not self.skipping:
            late = math.sqrt(8.0 * timeline.total_delay * logarithm)
            return self._of_unit_losses(timeline, rounds, late, EXPECTED)
        least = 20.0 * logarithm
        late = max(0.0, 10.0 * _best_trade(timeline, logarithm) - least)
        return self._of_unit_losses(timeline, rounds + least, late, EXPECTED)


def _best_trade(timeline: Timeline, logarithm: float) -> float:
    """Return the smallest |Q| + sqrt(D' ln K); the best Q of a size has the longest delays.

    >>> from belated import Timeline
    >>> _best_trade(Timeline.from_delays([9, 0, 0, 0, 0, 0, 0, 0, 0, 0]), 1.0)
    1.0
    """
    left = np.append(0, np.cumsum(np.sort(timeline.delay)))[::-1]  # for |Q| = 0, 1, ..
    return float(np.min(np.arange(left.size) + np.sqrt(left * logarithm)))
