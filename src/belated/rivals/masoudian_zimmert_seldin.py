"""Masoudian, Zimmert and Seldin: the bandit of Zimmert and Seldin, for easy losses as well."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from belated.arrays import Code, Floats
from belated.bounds import Bound
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import method
from belated.kernels.learners.state import State
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.tickets import sum_open
from belated.learner.program import Program
from belated.learner.state import Memory
from belated.rivals.arms import EXPECTED, Bandit, drew_arms, estimate, outside, play_arm
from belated.rivals.tsallis import is_multiplier, promised, solve
from belated.timeline import Timeline

_LOGARITHM = F.MINE  # ln K
_MULTIPLIER = F.MINE + 1  # mu of the last play
_HEAD_START = F.MINE + 2  # h0
_FLOOR = F.MINE + 3  # g0


@leaf
def _prepare(code: Code, s: State) -> None:
    """Add the open tickets to S, and solve for the probabilities."""
    sum_open(s)
    a = math.sqrt(s.n[N.ROUNDS] + 1.0 + s.f[_HEAD_START])
    b = math.sqrt((s.n[N.PATIENCE] + s.f[_FLOOR]) / s.f[_LOGARITHM])
    s.f[_MULTIPLIER] = solve(s.own, a, b, s.f[_MULTIPLIER], s.z)
    if b > 0.0:
        s.f[F.ETA] = 1.0 / b


_METHOD = method(
    "MasoudianZimmertSeldin", prepare=_prepare, play=play_arm, exceeds=outside, learn=estimate
)


def _is_sound(memory: Memory) -> bool:
    """Tell whether probabilities and multiplier can be those of the last play."""
    f, rounds = memory.f, max(memory.rounds, 1)
    a = math.sqrt(rounds + f[_HEAD_START])
    b = math.sqrt((int(memory.n[N.PATIENCE]) + f[_FLOOR]) / f[_LOGARITHM])
    fits = is_multiplier(float(f[_MULTIPLIER]), memory.dim, a, b)
    return fits and bool((memory.point > 0.0).all()) and drew_arms(memory)


@dataclass(frozen=True, repr=False)
class MasoudianZimmertSeldin(Bandit, module="rivals"):
    """FTRL for arms with a head start: x_t = argmin <Lhat, x> - 2 a_t sum sqrt(x_i) + b_t h(x).

    h(x) = sum x_i ln x_i, a_t = sqrt(t + h0) and b_t = sqrt((S_t + g0) / ln K), with K = ``arms``
    and S_t the sum over rounds up to t of the tickets then open. Arm a_t is drawn from x_t, and
    Lhat[a_s] += l_s / x_s[a_s] when its loss in [0, 1] arrives. It must be told d_max
    (``max_delay``): h0 = 10 d_max + d_max^2 / (K^(1/3) ln K)^2 and
    g0 = 24^2 d_max^2 K^(2/3) ln K. Told 0 and without delay it is Tsallis-INF, which is what
    ``ZimmertSeldin`` is then too.

    Guarantee: expected regret O(sqrt(K T) + sqrt(d_tot ln K) + d_max K^(1/3) ln K) whatever the
    losses are, and where they are independent with gaps Delta_i,
    O(sum of (ln T / Delta_i + sigma_max / (Delta_i ln K)) + d_max K^(1/3) ln K). ``bound`` is
    about the first kind: 2 (sqrt(K) - 1) a_T + sqrt(K) sum 1 / a_t + b_T ln K + sum sigma_t / b_t
    (proof: ``tsallis.promised``), if losses and delays do not depend on the draws. There is none
    on delays longer than it was told.
    Reference: Masoudian, Zimmert and Seldin, "A best-of-both-worlds algorithm for bandits with
    delayed feedback", NeurIPS 2022.
    Differs from the paper: the weights are as they are commonly restated, not compared with the
    paper; the rates are its own. g0 is large (6e7 for 10 arms and d_max = 100), so that it stays
    near uniform for long.

    >>> spec = MasoudianZimmertSeldin(8, max_delay=10)
    >>> round(spec.head_start, 2), round(spec.floor)
    (105.78, 479103)
    """

    title = "Masoudian-Zimmert-Seldin"
    reference = "Masoudian, Zimmert and Seldin 2022"
    guarantee = (
        "2 (sqrt(k) - 1) a_T + sqrt(k) sum 1/a_t + b_T ln k + sum sigma_t/b_t, in expectation, a_t "
        "and b_t the weights of its regularisers; of order sqrt(k T) + sqrt(d_tot ln k) + "
        "d_max k^(1/3) ln k, and of order ln T in T where one arm is better all along"
    )

    max_delay: int | None = None

    @property
    def head_start(self) -> float:
        """h0 = 10 d_max + d_max^2 / (K^(1/3) ln K)^2."""
        late, arms = self._fact("max_delay"), float(self.arms)
        return 10.0 * late + (late / (arms ** (1.0 / 3.0) * math.log(arms))) ** 2

    @property
    def floor(self) -> float:
        """g0 = 24^2 d_max^2 K^(2/3) ln K."""
        late, arms = self._fact("max_delay"), float(self.arms)
        return (24.0 * late) ** 2 * arms ** (2.0 / 3.0) * math.log(arms)

    def program(self) -> Program:
        """Return what the kernels run; the own region is Lhat."""
        logarithm = math.log(self.arms)
        a, b = math.sqrt(1.0 + self.head_start), math.sqrt(self.floor / logarithm)
        numbers = {
            _LOGARITHM: logarithm,
            _MULTIPLIER: b * (1.0 - logarithm) - a * math.sqrt(self.arms),  # of the first round
            _HEAD_START: self.head_start,
            _FLOOR: self.floor,
        }
        return self._drawing(_METHOD, numbers, (_MULTIPLIER,), _is_sound)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """What ``tsallis.promised`` says of its weights; None on delays longer than told."""
        if timeline.max_delay > self._fact("max_delay"):
            return None
        a = np.sqrt(np.arange(1.0, timeline.rounds + 1.0) + self.head_start)
        learning, total = (
            promised(self.arms, a, self._weights(backlog), backlog)
            for backlog in (np.zeros(timeline.rounds), timeline.backlog.astype(np.float64))
        )
        return self._of_unit_losses(timeline, learning, total - learning, EXPECTED)

    def _weights(self, backlog: Floats) -> Floats:
        """b_t = sqrt((S_t + g0) / ln K)."""
        return np.asarray(np.sqrt((np.cumsum(backlog) + self.floor) / math.log(self.arms)))
