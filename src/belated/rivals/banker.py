"""Banker-OMD for arms: what a play invests comes back with its answer, and is invested again.

Every play x_t costs its scale c_t. What answered rounds have paid back, their savings, is spent
first; the rest, b_t, is borrowed at the uniform distribution. So the plays need no common scale
that falls with every late answer: c_t may rise and fall with the backlog.
"""

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
from belated.kernels.tickets import sum_open
from belated.learner.program import Program
from belated.learner.state import Memory
from belated.rivals.arms import EXPECTED, Bandit, drew_arms, outside, play_arm
from belated.rivals.tsallis import is_multiplier, solve
from belated.timeline import Timeline

_MULTIPLIER = F.MINE  # mu of the last play
_SCALE = F.MINE + 1  # c_t of the last play
_RANGE = F.MINE + 2  # Lhat, what losses are believed to be below
_SPREAD = F.MINE + 3  # S_t of the version for any range

# A record: the arm, its probability, c_s, x_s, and for any range Lhat_s behind them.
_OF_SCALE, _OF_PLAY = 2, 3


@leaf
def _spend(s: State, scale: float) -> None:
    """Take the savings' share of c_t, in proportion, and solve for the play.

    ``own`` is sum v_s grad Psi(z_s), then v = sum v_s. grad Psi of the uniform distribution is the
    same for all arms, so what is borrowed there changes no play.
    """
    k = s.z.size
    savings = s.own[k]
    share = min(scale / savings, 1.0) if savings > 0.0 else 1.0
    for i in range(k):
        taken = share * s.own[i]
        s.work[i] = -taken / scale
        s.own[i] -= taken
    s.own[k] = savings - scale if share < 1.0 else 0.0
    s.f[_SCALE] = scale
    s.f[F.ETA] = 1.0 / scale
    s.f[_MULTIPLIER] = solve(s.work, 1.0, 0.0, s.f[_MULTIPLIER], s.z)


@leaf
def _play(code: Code, s: State, entry: int, ticket: int, x: Floats) -> None:
    """Draw an arm, and keep x_t and c_t until the answer comes."""
    play_arm(code, s, entry, ticket, x)
    record = s.kept[entry * s.n[N.KEEP] : s.kept.size]
    record[_OF_SCALE] = s.f[_SCALE]
    for i in range(s.z.size):
        record[_OF_PLAY + i] = s.z[i]


@leaf
def _save(s: State, entry: int, loss: float) -> None:
    """Add v_s = c_s at grad Psi(z_s) = grad Psi(x_s) - lhat_s / c_s to the savings."""
    k = s.z.size
    record = s.kept[entry * s.n[N.KEEP] : s.kept.size]
    scale = record[_OF_SCALE]
    for i in range(k):
        s.own[i] -= scale / math.sqrt(record[_OF_PLAY + i])
    s.own[int(record[0])] -= loss / record[1]
    s.own[k] += scale


@leaf
def _lose(code: Code, s: State, entry: int, ticket: int) -> int:
    """Pay back what a lost round had invested, as if its loss had been 0."""
    _save(s, entry, 0.0)
    return S.USED


# ---- losses in [0, 1] --------------------------------------------------------------------------


@leaf
def _prepare(code: Code, s: State) -> None:
    """Add the open tickets to S; 1 / c_t = 1 / sqrt(t) + sigma_t sqrt(ln(S_t + 1) / S_t)."""
    waiting = float(s.n[N.ROUNDS] - s.n[N.ARRIVED])
    sum_open(s)
    inverse = 1.0 / math.sqrt(s.n[N.ROUNDS] + 1.0)
    if waiting > 0.0:
        total = float(s.n[N.PATIENCE])
        inverse += waiting * math.sqrt(ln(total + 1.0) / total)
    _spend(s, 1.0 / inverse)


@leaf
def _learn(code: Code, s: State, entry: int, ticket: int, answer: Floats) -> None:
    """Save what the round had invested, moved by its loss."""
    _save(s, entry, answer[0])


_TINF = method(
    "BankerTINF", prepare=_prepare, play=_play, exceeds=outside, learn=_learn, lose=_lose
)


# ---- losses of any range -----------------------------------------------------------------------


@leaf
def _prepare_any(code: Code, s: State) -> None:
    """S_t += (sigma_t + 1) Lhat^2; 1 / c_t = (sigma_t + 1) sqrt(ln(3 + S_t/Lhat^2)/(3 + S_t))."""
    count = s.n[N.ROUNDS] - s.n[N.ARRIVED] + 1.0
    square = s.f[_RANGE] * s.f[_RANGE]
    s.f[_SPREAD] += count * square
    total = s.f[_SPREAD]
    _spend(s, 1.0 / (count * math.sqrt(ln(3.0 + total / square) / (3.0 + total))))


@leaf
def _play_any(code: Code, s: State, entry: int, ticket: int, x: Floats) -> None:
    """Keep what losses are believed to be below, too."""
    _play(code, s, entry, ticket, x)
    s.kept[entry * s.n[N.KEEP] + _OF_PLAY + s.z.size] = s.f[_RANGE]


@leaf
def _learn_any(code: Code, s: State, entry: int, ticket: int, answer: Floats) -> None:
    """Save as before; a loss above Lhat_s is not learned from, and pays nothing back."""
    loss = answer[0]
    if loss <= s.kept[entry * s.n[N.KEEP] + _OF_PLAY + s.z.size]:
        _save(s, entry, loss)
    s.f[_RANGE] = max(s.f[_RANGE], 2.0 * loss)


@leaf
def _negative(code: Code, s: State, answer: Floats, norm: float) -> bool:
    """Tell whether a loss is below 0, by more than rounding."""
    room = F.SLACK - 1.0
    return bool(answer[0] < -room)


_SFTINF = method(
    "BankerSFTINF",
    prepare=_prepare_any,
    play=_play_any,
    exceeds=_negative,
    learn=_learn_any,
    lose=_lose,
)

# ---- specs -------------------------------------------------------------------------------------


def _is_sound(memory: Memory) -> bool:
    """Tell whether plays, scales and savings can be such."""
    k, f, is_open = memory.dim, memory.f, memory.entries[:, 1] >= 0
    records, savings = memory.records[is_open], float(memory.own[k])
    plays, arms = records[:, _OF_PLAY : _OF_PLAY + k], records[:, 0]
    scales = np.append(records[:, _OF_SCALE], f[_SCALE] if memory.rounds else 1.0)
    return (
        drew_arms(memory)
        and bool((np.append(memory.point, plays.ravel()) > 0.0).all())
        and bool((plays[np.arange(len(arms)), arms.astype(np.int64)] == records[:, 1]).all())
        and bool((scales > 0.0).all())
        and (savings > 0.0 or (savings == 0.0 and not memory.own[:k].any()))
        and is_multiplier(float(f[_MULTIPLIER]), k, 1.0, 0.0)
    )


def _is_sound_any(memory: Memory) -> bool:
    """Tell whether also the ranges can be such."""
    is_open = memory.entries[:, 1] >= 0
    believed = np.append(memory.records[is_open, -1], memory.f[_RANGE])
    return _is_sound(memory) and bool((believed >= 1.0).all()) and memory.f[_SPREAD] >= 0.0


class _Banker(Bandit):
    """What the two versions share."""

    reference = "Huang, Dai and Huang 2023"
    memory = "the play of every open ticket"
    order = "any order; a lost answer counts as zero"


@dataclass(frozen=True, repr=False)
class BankerTINF(_Banker, module="rivals"):
    """Banker-OMD with Psi(x) = -2 sum sqrt(x_i): a play is paid from what answers gave back.

    In round t with sigma_t open tickets, S_t the sum of sigma_1 to sigma_t and K = ``arms``:

    * 1 / c_t = 1 / sqrt(t) + sigma_t sqrt(ln(S_t + 1) / S_t), the last term 0 if sigma_t is;
    * u_s = v_s min{1, c_t / v} is taken from every saving v_s, v being their sum before, and
      b_t = c_t - sum u_s is borrowed;
    * grad Psi(x_t) = (sum u_s grad Psi(z_s) + b_t grad Psi(1 / K)) / c_t, up to a constant that
      makes x_t a distribution. Arm a_t is drawn from it;
    * when the loss l_s in [0, 1] of round s arrives, grad Psi(z_s) = grad Psi(x_s) - lhat_s / c_s
      with lhat_s = l_s / x_s[a_s] at a_s, and its saving is v_s = c_s.

    Nothing to tune, nothing to be told. Without delay it is Tsallis-INF, which is what
    ``ZimmertSeldin`` is then too.

    Guarantee: expected regret <= (2 sqrt(K) - 2) B + sqrt(K) sum 1 / c_t, of order
    sqrt(K T) + sqrt(K d_tot ln d_tot), if losses and delays do not depend on the draws. B = sum b_t
    is all that was ever borrowed: the largest sum of c_s over the rounds open at a play, its own
    included. Both are numbers of the delays alone.
    Reference: Huang, Dai and Huang, "Banker online mirror descent: a universal approach for delayed
    online bandit learning", ICML 2023, Algorithm 2, Theorems 4.2 and 4.6.
    Differs from the paper: savings are taken in proportion, which it allows, so that their sum and
    one mean are all that is kept of them; the guarantee is its Theorem 4.2 with our constants.

    >>> from belated import Timeline
    >>> round(BankerTINF(4).bound(Timeline.from_delays([0] * 400)).total, 1)
    117.1
    """

    title = "Banker-TINF"
    guarantee = (
        "(2 sqrt(k) - 2) B + sqrt(k) sum 1/c_t, in expectation, B the largest sum of the scales "
        "c_s of open rounds; of order sqrt(k T) + sqrt(k d_tot ln d_tot)"
    )

    def program(self) -> Program:
        """Return what the kernels run."""
        return self.compiled(
            _TINF,
            own=np.zeros(self.arms + 1),
            keep=_OF_PLAY + self.arms,
            numbers={_MULTIPLIER: -math.sqrt(self.arms)},
            moving=(_MULTIPLIER, _SCALE),
            sound=_is_sound,
        )

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """(2 sqrt(K) - 2) B + sqrt(K) sum 1 / c_t."""
        rounds = np.arange(1.0, timeline.rounds + 1.0)
        learning = self._price(np.sqrt(rounds[-1:]), 1.0 / np.sqrt(rounds))
        scales = scales_of(timeline)
        total = self._price(in_use(timeline, scales), 1.0 / scales)
        return self._of_unit_losses(timeline, learning, total - learning, EXPECTED)

    def _price(self, borrowed: Floats, inverse: Floats) -> float:
        root = math.sqrt(self.arms)
        return (2.0 * root - 2.0) * float(borrowed.max(initial=0.0)) + root * float(inverse.sum())


def scales_of(timeline: Timeline) -> Floats:
    """Return c_1 .. c_T of ``BankerTINF``, which no draw changes.

    >>> from belated import Timeline
    >>> scales_of(Timeline.from_delays([0, 0, 0, 0])).tolist()[::3]
    [1.0, 2.0]
    """
    waiting = timeline.backlog.astype(np.float64)
    total = np.maximum(np.cumsum(waiting), 1.0)  # where it is 0, nothing waits
    rounds = np.arange(1.0, timeline.rounds + 1.0)
    late = waiting * np.sqrt(np.log(total + 1.0) / total)
    return np.asarray(1.0 / (1.0 / np.sqrt(rounds) + late))


def in_use(timeline: Timeline, scales: Floats) -> Floats:
    """Return for every event the sum of the scales of the rounds that are open after it.

    >>> from belated import Timeline
    >>> in_use(Timeline.from_delays([1, 0]), np.array([2.0, 3.0])).tolist()
    [2.0, 5.0, 3.0, 0.0]
    """
    events = timeline.events
    changes = np.where(events >= 0, scales[events], -scales[~events])
    return np.asarray(np.cumsum(changes))


@dataclass(frozen=True, repr=False)
class BankerSFTINF(_Banker, module="rivals"):
    """``BankerTINF`` for losses of at least 0 whose range nobody knows.

    Lhat = 1 at first is what losses are believed to be below; when a loss l arrives,
    Lhat = max{Lhat, 2 l}. With Lhat_t as it was at play t and S_t the sum of (sigma_s + 1) Lhat_s^2
    for s up to t, 1 / c_t = (sigma_t + 1) sqrt(ln(3 + S_t / Lhat_t^2) / (3 + S_t)). A loss of round
    s above Lhat_s changes Lhat only: it is not learned from, and leaves no saving. All else is
    as in ``BankerTINF``.

    Guarantee: expected regret of order M sqrt(K (T + d_tot)), up to logarithms, M being the largest
    loss. In the mean over the draws it is at most (2 sqrt(K) - 2) B + sqrt(K) sum Lhat_t^2 / c_t
    plus the losses that were not learned from, which depend on the draws: so ``bound`` is None.
    Reference: Huang, Dai and Huang, "Banker online mirror descent: a universal approach for delayed
    online bandit learning", ICML 2023, Theorem 6.1.
    Differs from the paper: savings are taken in proportion, which it allows.

    >>> from belated import Learner
    >>> learner = Learner(BankerSFTINF(3))
    >>> [learner.observe(learner.predict().ticket, loss) for loss in (0.5, 40.0, 70.0)]
    [True, True, True]
    """

    title = "Banker-SFTINF"
    assumes = "values of at least 0"
    guarantee = (
        "of order M sqrt(k (T + d_tot)), up to logarithms, M the largest value, in expectation"
    )

    def program(self) -> Program:
        """Return what the kernels run."""
        return self.compiled(
            _SFTINF,
            own=np.zeros(self.arms + 1),
            keep=_OF_PLAY + self.arms + 1,
            numbers={_MULTIPLIER: -math.sqrt(self.arms), _RANGE: 1.0},
            moving=(_MULTIPLIER, _SCALE, _RANGE, _SPREAD),
            sound=_is_sound_any,
        )
