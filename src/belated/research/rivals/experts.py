"""Rivals for experts.

c_s are the costs of round s, w_s the play, with k = ``arms`` experts. See ``bl.rivals`` for
the other symbols.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

from belated.bounds import Bound
from belated.errors import SpecError
from belated.research.core import rival_experts as core
from belated.research.core.rival import Setting
from belated.research.rivals.base import UNCHECKED, Hint, Mirror, OnArms
from belated.timeline import Timeline


class DORM(OnArms):
    """Delayed optimistic regret matching: w_t prop. to max(0, sum of received r_s + h_t)^(q - 1).

    r_s = <c_s, w_s> - c_s is the saving of each expert in round s, q is ``power``; if all are zero,
    the play is uniform. There is no learning rate. ``hint="recent"`` guesses the missing regrets
    and the next one by the last one received, h_t = (open + 1) r_last.

    The guarantee is for losses in [0, 1]; q near 2 ln k gives sqrt(ln k) in place of sqrt(k).
    Differs from the authors' code: a round without arrivals keeps the regrets collected so far.
    """

    reference = "Flaspohler et al. 2021"
    mirror: ClassVar[Mirror] = "entropy"
    memory = "the play of every open ticket"
    guarantee = "k^(1/q) sqrt((q - 1) (T + 2 d_tot)), without hints"

    power: float = 2.0
    hint: Hint = "none"

    def _check(self) -> None:
        if self.power < 2.0:
            raise SpecError(f"{self.kind}: power must be at least 2, got {self.power!r}")

    def _player(self, setting: Setting) -> Any:
        return core.DORM(setting, self.hint == "recent", self.power - 1.0)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        first, late = (1.0, 2.0) if self.hint == "none" else (3.0, 4.0)
        scale = self.arms ** (1.0 / self.power) * math.sqrt(self.power - 1.0)
        learning = scale * math.sqrt(first * timeline.rounds)
        total = scale * math.sqrt(first * timeline.rounds + late * timeline.total_delay)
        return self._of_unit_losses(timeline, learning, total - learning)


class AdaHedgeD(OnArms):
    """AdaHedge with delays: w_t prop. to exp(-theta / lambda_t), theta the sum of costs received.

    lambda = 0 at the start (uniform over the smallest theta_i) and grows in ticket order. With L_s
    the sum of the costs of round s and all before it, w_s, lambda_s and theta_s those of the play,
    e = theta_s - L_s is minus the sum of all that was pending then. With largest entries as norms,
    lambda grows by max(0, min(drift, aux, hat)) / ln k:

    * drift = <c_s, w_s - softmin(L_s / lambda_s)>;
    * aux = gap(e, w_s), gap(e, w) = lambda_s ln(sum_i w_i exp(e_i / lambda_s)) - <e, w>;
    * hat = gap(a e, w') + <c_s, w_s - w'>, a = min(1, |c_s| / |e|),
      w' = softmin((L_s + a e) / lambda_s).

    Regret <= 2 ln k lambda_T; of order sqrt((d + 1) T ln k) under a fixed delay d. Nothing to tune.
    While a ticket is open, lambda does not grow by later ones, though their costs are used:
    ``cancel`` a ticket that will have no answer.
    Differs from the paper: any delays; and lambda = 0 is exact, not below 1e-8 as in their code.
    """

    reference = "Flaspohler et al. 2021"
    mirror: ClassVar[Mirror] = "entropy"
    memory = "three vectors per ticket from the oldest open one on"
    guarantee = "8 d_max + 2 sqrt((4 + ln k) T + 2 d_tot ln k)"
    order = (
        "any order; the step size stands still from the oldest open ticket on; a lost answer "
        "counts as zero"
    )

    _core = (core.AdaHedgeD,)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """2 (4 d_max + sqrt(4 T + 2 ln k (T / 2 + d_tot))).

        It is 2 (2 max_s sum_{j in W_s} a_j + sqrt(sum_s (a_s^2 + 2 ln k b_s))) of the paper, where
        for losses in [0, 1] a_s <= 2 and b_s <= |P_s| - 1/2, P_s the rounds pending at play s. W_s
        are the rounds from the oldest open one to s, at most d_max.
        """
        rounds, logarithm = timeline.rounds, math.log(self.arms)
        late = 2.0 * logarithm * timeline.total_delay
        learning = 2.0 * math.sqrt((4.0 + logarithm) * rounds)
        total = 8.0 * timeline.max_delay + 2.0 * math.sqrt((4.0 + logarithm) * rounds + late)
        note = f"losses in [0, 1]; {UNCHECKED}"
        return self._of_unit_losses(timeline, learning, total - learning, note)
