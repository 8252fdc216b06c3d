"""ODFTRL whose hints are learned: a mixture of hinters, weighed by a second learner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from belated.arrays import Code, Floats
from belated.bounds import Bound
from belated.domains import Domain
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import play_point
from belated.kernels.learners.sets import norm_of
from belated.kernels.learners.state import State
from belated.kernels.learners.steps import size_of, step
from belated.kernels.learners.uses import of_norm, of_step
from belated.kernels.slots import code as C
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import kinds as K
from belated.kernels.tickets import hold
from belated.learner.program import Program
from belated.learner.state import Memory
from belated.rivals.experts import (
    IN_TURN,
    Regularises,
    normalise,
    take_turns,
    tuned_in_turn,
    turns_are_sound,
)
from belated.rivals.shared import Mirror, check_mirror, is_count, start, step_of
from belated.timeline import Timeline

# Slots of ``own`` behind TURN; then the sum of the answers whose turn has come, the last gradient
# received and the sum of all. A record is that sum, the answer, the last gradient, then _EXTRA.
_REGRETS = 1  # three of them: of no hint, of the last gradient, of the mean
_RECEIVED = 4  # how many gradients were
_HINTERS = 3
_EXTRA = 5  # the weights of the three, and the factors of the last gradient and of the sum


@leaf
def _last_at(s: State) -> Floats:
    return s.own[IN_TURN + s.z.size : IN_TURN + 2 * s.z.size]


@leaf
def _received_at(s: State) -> Floats:
    return s.own[IN_TURN + 2 * s.z.size : IN_TURN + 3 * s.z.size]


@leaf
def _factors(s: State) -> tuple[float, float]:
    """Open tickets, the new one included, for the last gradient; the mean of all as often."""
    copies = float(s.n[N.ROUNDS] - s.n[N.ARRIVED])
    return copies, copies / max(1.0, s.own[_RECEIVED])


@leaf
def _weigh(s: State, weights: Floats) -> None:
    """Put the weights of the hinters into a vector of three: regrets over their sum."""
    for j in range(_HINTERS):
        weights[j] = s.own[_REGRETS + j]
    normalise(weights)


@leaf
def _play(code: Code, s: State, entry: int, ticket: int, x: Floats) -> None:
    """One step from the start with all that was received and the hint; keep what it was made of."""
    k = s.z.size
    record = s.kept[entry * s.n[N.KEEP] : (entry + 1) * s.n[N.KEEP]]
    last, received, extra = _last_at(s), _received_at(s), record[3 * k : 3 * k + _EXTRA]
    extra[_HINTERS], extra[_HINTERS + 1] = _factors(s)
    _weigh(s, extra[:_HINTERS])
    for i in range(k):
        record[i], record[k + i], record[2 * k + i] = received[i], 0.0, last[i]
        s.work[i] = received[i] + _guess(record, extra, k, i)
        s.z[i], s.p[i] = start(code, s), 0.0
    step(of_step(code), s, s.work, s.f[F.ETA], norm_of(s.work))
    play_point(code, s, entry, ticket, x)


@leaf
def _guess(record: Floats, extra: Floats, k: int, i: int) -> float:
    """Coordinate i of the hint of a record."""
    by_last = extra[1] * extra[_HINTERS] * record[2 * k + i]
    return float(by_last + extra[2] * extra[_HINTERS + 1] * record[i])


@leaf
def _take(code: Code, s: State, entry: int, ticket: int, cost: Floats) -> None:
    """Add an answer to the sum, and hold it until its turn comes."""
    k = s.z.size
    record, last, received = entry * s.n[N.KEEP] + k, _last_at(s), _received_at(s)
    answer = s.kept[record : record + k]
    for i in range(k):
        answer[i] = last[i] = cost[i]
        received[i] += cost[i]
    s.own[_RECEIVED] += 1.0
    hold(s, entry)
    take_turns(code, s)


@leaf
def _tune(code: Code, s: State, entry: int) -> None:
    """Let the hinters regret: p_j = max(0, p_j + <c, w> - c_j), c the slope of |g| |error|."""
    k = s.z.size
    record = s.kept[entry * s.n[N.KEEP] : (entry + 1) * s.n[N.KEEP]]
    extra, error = record[3 * k : 3 * k + _EXTRA], s.work
    for i in range(k):
        missing = s.own[IN_TURN + i] - record[i]
        error[i] = _guess(record, extra, k, i) - missing
    size = size_of(of_norm(code), error)
    if size == 0.0:
        return
    along_last = along_sum = 0.0
    if code[C.BASE] == K.ENTROPY:  # the largest entry counts, whatever its sign
        place = 0
        for i in range(k):
            place = i if abs(error[i]) > abs(error[place]) else place
        sign = 1.0 if error[place] > 0.0 else -1.0
        along_last, along_sum = sign * record[2 * k + place], sign * record[place]
    else:
        for i in range(k):
            along_last += error[i] / size * record[2 * k + i]
            along_sum += error[i] / size * record[i]
    steep = size_of(of_norm(code), record[k : 2 * k])
    by_last = steep * extra[_HINTERS] * along_last
    by_mean = steep * extra[_HINTERS + 1] * along_sum
    paid = extra[1] * by_last + extra[2] * by_mean
    s.own[_REGRETS] = max(0.0, s.own[_REGRETS] + paid)
    s.own[_REGRETS + 1] = max(0.0, s.own[_REGRETS + 1] + (paid - by_last))
    s.own[_REGRETS + 2] = max(0.0, s.own[_REGRETS + 2] + (paid - by_mean))


@leaf
def _nothing(code: Code, s: State) -> None:
    """All is done when the ticket is there, whose record is filled at once."""


_METHOD = tuned_in_turn("LearnedHints", _tune, prepare=_nothing, play=_play, learn=_take)


def _is_sound(memory: Memory) -> bool:
    """Tell whether turns, regrets and weights are such."""
    own, weights = memory.own, memory.records[:, 3 * memory.dim : 3 * memory.dim + _HINTERS]
    return (
        turns_are_sound(memory)
        and bool((own[_REGRETS:_RECEIVED] >= 0.0).all())
        and is_count(float(own[_RECEIVED]), memory.rounds)
        and bool(((weights >= 0.0) & (weights <= 1.0)).all())
    )


@dataclass(frozen=True, repr=False)
class LearnedHints(Regularises, module="rivals"):
    """ODFTRL with learned hints: x_t = argmin_K <sum of received g_s + H_t w_t, x> + lambda psi(x).

    The columns of H_t are what three hinters take the missing gradients and the coming one to add
    up to: nothing, (open + 1) times the last one received, and as many times their mean. lambda is
    ``strength``, psi as in ``ODFTRL``. The weights w_t of the hinters are those of DORM+ with the
    losses |g_t| |H_t w - G_t|, where G_t is the sum of all gradients that the play of round t
    lacked, its own included: p_j <- max(0, p_j + <c_t, w_t> - c_tj), c_t their slope at w_t, and
    w is p over its sum, 1/3 each while that is zero. Norms are Euclidean, with the entropy the
    largest entry. ``lipschitz`` G, where it is given, is used by the bound, and larger gradients
    are counted.

    Guarantee: regret <= lambda max psi + (sum_t |g_t| |H_t w - G_t| + E) / lambda for every fixed
    mixture w, where E = sqrt(sum_t |r_t| (|r_t| + 2 sum_s |r_s|)) with r_t the change of p before
    it is cut off and s the rounds whose turn came between play and turn of t; and never more than
    lambda max psi + G^2 (3 T / 2 + 2 d_tot) / lambda.
    Reference: Flaspohler et al., "Online learning with optimism and delay", ICML 2021, section on
    learning to hint.
    Differs from the authors' code: any delays; hints are learned in the order of tickets, as far as
    they are answered; the slope for the largest entry looks at its size, not at its value.

    >>> from belated import Ball, Timeline
    >>> spec = LearnedHints(Ball(3), strength=20.0, lipschitz=1.0)
    >>> spec.bound(Timeline.from_delays([0] * 100)).total
    17.5
    """

    title = "ODFTRL, learned hints"
    reference = "Flaspohler et al. 2021"
    memory = "three vectors per ticket from the oldest open one on"
    guarantee = "strength max psi + G^2 (3 T/2 + 2 d_tot) / strength, and less with good hints"
    order = (
        "any order; hints learn nothing from the oldest open ticket on; a lost answer counts as "
        "zero"
    )

    domain: Domain
    strength: float
    mirror: Mirror = "euclidean"
    lipschitz: float = 0.0

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        check_mirror(self, self.mirror)

    def program(self) -> Program:
        """Return what the kernels run."""
        k = self.domain.dim
        return self.compiled(
            _METHOD,
            own=np.zeros(IN_TURN + 3 * k),
            keep=3 * k + _EXTRA,
            base=step_of(self.mirror),
            numbers={F.ETA: 1.0 / self.strength},
            sound=_is_sound,
        )

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """lambda max psi + G^2 (3 T / 2 + 2 d_tot) / lambda: no hint is longer than its guess."""
        return self._regularised(timeline, 1.5, 2.0)
