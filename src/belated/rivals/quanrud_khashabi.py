"""Quanrud and Khashabi: one projected step per round with all gradients that came in."""

from __future__ import annotations

import math
from dataclasses import dataclass

from belated.arrays import Code
from belated.bounds import Bound
from belated.domains import Domain
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import method
from belated.kernels.learners.state import State
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.learner.program import Program
from belated.learner.state import Memory
from belated.rivals.base import UNCHECKED, Rival
from belated.rivals.descent import ONCE, Tuned, collect_gradient
from belated.rivals.shared import is_doubled, no_arrivals, restart, step_with_arrivals
from belated.timeline import Timeline

# Places behind the sum of the arrivals (dim floats) and their number, for the doubling.
_SPENT, _BUDGET = 1, 2


@dataclass(frozen=True, repr=False)
class QuanrudKhashabi(Tuned, module="rivals"):
    """Delayed online gradient descent, tuned: x_{t+1} = Pi_K(x_t - eta sum_{s in F_t} g_s).

    F_t are the rounds whose gradient arrived in round t, eta = D / (G sqrt(T + 2 d_tot)).
    Guarantee: regret <= D^2 / (2 eta) + eta G^2 (T / 2 + d_tot) = G D sqrt(T + 2 d_tot).
    Reference: Quanrud and Khashabi, "Online learning with adversarial delays", NeurIPS 2015; the
    constant is that of one step per gradient, since a batch step expands into such steps.

    >>> from belated import Ball
    >>> QuanrudKhashabi(Ball(3), lipschitz=1.0, rounds=100, total_delay=22).step
    0.16666666666666666
    """

    title = "Quanrud-Khashabi"
    reference = "Quanrud and Khashabi 2015"
    guarantee = "G D sqrt(T + 2 d_tot)"

    def program(self) -> Program:
        """Return what the kernels run; the method's own region is the sum of the arrivals."""
        own = no_arrivals(self.domain.dim)
        return self.compiled(ONCE, own=own, numbers={F.GAIN: self.step})


@leaf
def _finish_round_in_epoch(code: Code, s: State) -> None:
    """Step and count the coming round; once the budget is spent, begin the next epoch with it.

    Open tickets are all of this epoch.
    """
    k = s.z.size
    step_with_arrivals(code, s, s.f[F.GAIN] / math.sqrt(s.own[k + _BUDGET]))
    s.own[k + _SPENT] += 1.0 + 2.0 * (s.n[N.ROUNDS] - s.n[N.ARRIVED])
    if s.own[k + _SPENT] > s.own[k + _BUDGET]:
        while s.own[k + _SPENT] > s.own[k + _BUDGET]:
            s.own[k + _BUDGET] *= 2.0
        s.own[k + _SPENT] = 1.0
        restart(code, s)


_DOUBLING = method(
    "QuanrudKhashabiDoubling", prepare=_finish_round_in_epoch, learn=collect_gradient
)


def _is_in_epoch(memory: Memory) -> bool:
    """Tell whether the budget is a power of two that is not spent."""
    spent, budget = memory.own[memory.dim + _SPENT], float(memory.own[memory.dim + _BUDGET])
    return is_doubled(budget) and bool(0.0 <= spent <= budget)


@dataclass(frozen=True, repr=False)
class QuanrudKhashabiDoubling(Rival, module="rivals"):
    """The same descent without being told anything: T + 2 d_tot is guessed and doubled.

    Epoch m has the budget 2^m and steps with eta = D / (G 2^(m/2)). Each prediction spends 1 + 2 x
    (open tickets of the epoch). When the budget is exceeded, m grows until what was spent fits, the
    play goes back to the centre, and answers to rounds of earlier epochs are dropped.

    Guarantee: 8 G D sqrt(T + 2 d_tot).
    Reference: Quanrud and Khashabi, "Online learning with adversarial delays", NeurIPS 2015.
    Differs from the paper: their doubling is on T + D with delays that start at 1; this bookkeeping
    counts open tickets, which sum to d_tot.

    >>> from belated import Ball
    >>> QuanrudKhashabiDoubling(Ball(3), lipschitz=2.0)
    rivals.QuanrudKhashabiDoubling(domain=Ball(dim=3), lipschitz=2.0)
    """

    title = "Quanrud-Khashabi, doubling"
    reference = "Quanrud and Khashabi 2015"
    guarantee = "8 G D sqrt(T + 2 d_tot)"
    order = (
        "any order; a lost answer counts as zero; answers to rounds before a restart are dropped"
    )

    domain: Domain
    lipschitz: float

    def program(self) -> Program:
        """Return what the kernels run; own region: no arrivals, nothing spent, a budget of 1."""
        gain = self.domain.diameter / self.lipschitz
        own = no_arrivals(self.domain.dim, 0.0, 1.0)
        return self.compiled(_DOUBLING, own=own, numbers={F.GAIN: gain}, sound=_is_in_epoch)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """8 G D sqrt(T + 2 d_tot)."""
        scale = 8.0 * self.lipschitz * self.domain.diameter
        total = scale * math.sqrt(timeline.rounds + 2 * timeline.total_delay)
        return self._split(timeline, total, scale * math.sqrt(timeline.rounds), UNCHECKED)
