"""What the methods of Flaspohler et al. (2021) share: hints, regrets, weights, tuning in turn.

A *hint* guesses the sum of all missing vectors and the coming one: h = (open + 1) * last, where
last is the vector received last and open the number of tickets still open. So the hint in use is a
number, ``WEIGHT``, times one vector, and a change of the hint is known from the two.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from belated.arrays import Code, Floats
from belated.bounds import Bound
from belated.domains import Domain, Simplex
from belated.kernels.choices import switch
from belated.kernels.exact import exp
from belated.kernels.jit import leaf
from belated.kernels.learners import events
from belated.kernels.learners.methods import Learn, Play, Prepare, method
from belated.kernels.learners.state import State
from belated.kernels.slots import code as C
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import kinds as K
from belated.kernels.slots import status as S
from belated.kernels.slots import table as T
from belated.kernels.tickets import entry_of, hold, release
from belated.learner.program import Program
from belated.learner.state import Memory
from belated.rivals.base import UNCHECKED, Rival
from belated.rivals.shared import Mirror, check_mirror, is_count, step_of
from belated.spec import whole
from belated.timeline import Timeline

Hint = Literal["none", "recent"]

# Slots of ``f`` that the methods with hints use; ``own`` begins with the vector received last.
HINTED = F.MINE  # 1 if there are hints, else 0
WEIGHT = F.MINE + 1  # the hint in use is this many times the vector received last

# Slots of ``own`` in the methods that tune themselves in turn. s.p is theta, the sum of all costs
# received; behind the slots stands the sum of those whose turn has come.
TURN = 0  # the ticket whose answer is to tune next
STRENGTH = 1  # lambda
PAID = 2  # sum of the a_s
WIDEST = 3  # largest sum of a_s over a pending set
SQUARES = 4  # sum of a_s^2 + 2 alpha b_s
IN_TURN = 5  # how many they are


# ---- hints -------------------------------------------------------------------------------------


@leaf
def hint_weight(s: State, closing: int) -> float:
    """Return open + 1 for the hint of this moment, ``closing`` tickets being as good as closed."""
    return float(s.f[HINTED] * (s.n[N.ROUNDS] - s.n[N.ARRIVED] - closing + 1))


# ---- regrets -----------------------------------------------------------------------------------


@leaf
def dot(v: Floats, w: Floats) -> float:
    """Return <v, w>."""
    total = 0.0
    for i in range(v.size):
        total += v[i] * w[i]
    return total


@leaf
def play_and_keep(code: Code, s: State, entry: int, ticket: int, x: Floats) -> None:
    """Play the current point, and keep it until the ticket is closed."""
    record = s.kept[entry * s.n[N.KEEP] : s.kept.size]
    for i in range(s.z.size):
        x[i] = s.z[i]
        record[i] = s.z[i]


@leaf
def normalise(w: Floats) -> None:
    """Divide by the sum; where all are 0, the uniform distribution."""
    total = 0.0
    for i in range(w.size):
        total += w[i]
    for i in range(w.size):
        w[i] = w[i] / total if total > 0.0 else 1.0 / w.size


# ---- exponential weights -----------------------------------------------------------------------


@leaf
def least(v: Floats) -> float:
    """Return the smallest entry."""
    smallest: float = v[0]
    for i in range(v.size):
        smallest = min(smallest, v[i])
    return smallest


@leaf
def softmin(v: Floats, strength: float, w: Floats) -> None:
    """w_i in proportion to exp(-v_i / lambda); at lambda = 0 uniform over the smallest v_i.

    w may be v itself.
    """
    lowest = least(v)
    if strength > 0.0:
        for i in range(v.size):
            w[i] = exp(-(v[i] - lowest) / strength)
    else:
        for i in range(v.size):
            w[i] = 1.0 if v[i] == lowest else 0.0
    normalise(w)


# ---- tuning in turn ----------------------------------------------------------------------------
# An answer goes into theta when it comes. What lambda learns from a round needs all costs that its
# play lacked, and all rounds before it: so that waits for its turn, in ticket order.
# A record: theta at the play, the answer (zero until it is there), lambda and PAID at the play, and
# the play itself.

Tune = Callable[[Code, State, int], None]

_TUNE: dict[int, Tune] = {}
_tune = switch(C.METHOD, _TUNE)


@leaf
def _weigh(code: Code, s: State) -> None:
    """w = softmin(theta, lambda)."""
    softmin(s.p, s.own[STRENGTH], s.z)
    if s.own[STRENGTH] > 0.0:
        s.f[F.ETA] = 1.0 / s.own[STRENGTH]


@leaf
def _play_weights(code: Code, s: State, entry: int, ticket: int, x: Floats) -> None:
    """Play the weights, and keep what they were made of."""
    k = s.z.size
    record = s.kept[entry * s.n[N.KEEP] : s.kept.size]
    for i in range(k):
        x[i] = s.z[i]
        record[i] = s.p[i]
        record[k + i] = 0.0
        record[2 * k + 2 + i] = s.z[i]
    record[2 * k] = s.own[STRENGTH]
    record[2 * k + 1] = s.own[PAID]


@leaf
def take_turns(code: Code, s: State) -> None:
    """Let answers tune lambda in ticket order, as far as they are there."""
    k = s.z.size
    while s.own[TURN] < s.n[N.ROUNDS]:
        entry = entry_of(s, int(s.own[TURN]))
        if s.table[2 * entry + 1] != T.HELD:
            return
        cost = s.kept[entry * s.n[N.KEEP] + k : s.kept.size]
        for i in range(k):
            s.own[IN_TURN + i] += cost[i]
        _tune(code, s, entry)
        release(s, entry)
        s.own[TURN] += 1.0


@leaf
def _take(code: Code, s: State, entry: int, ticket: int, cost: Floats) -> None:
    """Add an answer to theta, and hold it until its turn comes."""
    answer = s.kept[entry * s.n[N.KEEP] + s.z.size : s.kept.size]
    for i in range(s.z.size):
        answer[i] = cost[i]
        s.p[i] += cost[i]
    hold(s, entry)
    take_turns(code, s)


@leaf
def _lose(code: Code, s: State, entry: int, ticket: int) -> int:
    """Hold a zero answer until its turn comes."""
    hold(s, entry)
    take_turns(code, s)
    return S.USED


def tuned_in_turn(name: str, tune: Tune, *, prepare: Prepare, play: Play, learn: Learn) -> int:
    """Enter a method whose answers wait for their turn, and then tune something."""
    number = method(name, prepare=prepare, play=play, learn=learn, lose=_lose)
    _TUNE[number] = tune
    events.SOURCES[number] += (tune.__module__,)  # the leaves here do not name its own
    return number


def hedging(name: str, tune: Tune) -> int:
    """Enter a method that plays softmin(theta, lambda), given how an answer tunes lambda."""
    return tuned_in_turn(name, tune, prepare=_weigh, play=_play_weights, learn=_take)


@leaf
def errors(theta: Floats, seen: Floats, cost: Floats) -> tuple[float, float]:
    """Return |theta - seen| and |cost|, the largest entries: what was pending, and the answer."""
    pending = size = 0.0
    for i in range(cost.size):
        pending = max(pending, abs(theta[i] - seen[i]))
        size = max(size, abs(cost[i]))
    return pending, size


# ---- specs -------------------------------------------------------------------------------------


def hint_numbers(hint: Hint) -> dict[int, float]:
    """Return what goes to the header: the hint before any answer is zero, with weight 1."""
    hinted = float(hint == "recent")
    return {HINTED: hinted, WEIGHT: hinted}


class Regularises(Rival):
    """What rivals with a regulariser of some strength share: psi, and the bound that it gives."""

    if TYPE_CHECKING:
        lipschitz: float
        mirror: Mirror

        @property
        def strength(self) -> float:
            """lambda."""

    @property
    def _range(self) -> float:
        """The largest value of psi: R^2 / 2, or ln(dim) for the divergence from uniform."""
        if self.mirror == "entropy":
            return math.log(self.domain.dim)
        return 0.5 * self._outer**2

    def _regularised(self, timeline: Timeline, first: float, late: float) -> Bound | None:
        """lambda max psi + G^2 (first T + late d_tot) / lambda, where G is known."""
        if self.lipschitz == 0.0:
            return None
        price = self.lipschitz**2 / self.strength
        learning = self.strength * self._range + price * first * timeline.rounds
        width = 2.0 if self.mirror == "entropy" else self.domain.diameter
        trivial = self.lipschitz * width * timeline.rounds
        return self._bound(learning, price * late * timeline.total_delay, trivial=trivial)


@dataclass(frozen=True, repr=False)
class Regularised(Regularises):
    """A rival that plays in any set, with a regulariser of strength lambda and with hints."""

    reference = "Flaspohler et al. 2021"

    domain: Domain
    strength: float
    mirror: Mirror = "euclidean"
    hint: Hint = "none"
    lipschitz: float = 0.0

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        check_mirror(self, self.mirror)
        self._check_choice("hint", "none", "recent")

    def _hinted(self, number: int, vectors: int) -> Program:
        """Return the program of a method whose own region is so many vectors, all zero."""
        return self.compiled(
            number,
            own=np.zeros(vectors * self.domain.dim),
            base=step_of(self.mirror),
            numbers={**hint_numbers(self.hint), F.ETA: 1.0 / self.strength},
            moving=(WEIGHT,),
            sound=hint_is_sound,
        )


@dataclass(frozen=True, repr=False)
class OnArms(Rival):
    """A rival that plays probabilities of K = ``arms`` experts or arms."""

    arms: int

    def __post_init__(self) -> None:
        """Check the fields."""
        object.__setattr__(self, "arms", whole(self.kind, "arms", self.arms, least=2))
        super().__post_init__()

    @property
    def domain(self) -> Domain:
        """The simplex of the probabilities."""
        return Simplex(self.arms)

    def _of_unit_losses(
        self,
        timeline: Timeline,
        learning: float,
        delay: float,
        note: str = "losses in [0, 1]",
        skipped: float = 0.0,
    ) -> Bound:
        """Return a bound for losses in [0, 1]: no play can lose more than one per round."""
        rounds = float(timeline.rounds)
        return self._bound(learning, delay, note, skipped=skipped, trivial=rounds)


def waiting(timeline: Timeline) -> int:
    """Return the most rounds before a play whose turn has not come yet.

    The turn of a round comes once it and all earlier ones are answered, so these are all from the
    oldest open ticket on.

    >>> from belated import Timeline
    >>> waiting(Timeline.from_delays([2, 0, 0]))
    2
    """
    events = timeline.events
    rounds = timeline.rounds
    place = np.empty((2, rounds), dtype=np.int64)
    predicted = events >= 0
    place[0, events[predicted]] = np.flatnonzero(predicted)
    place[1, ~events[~predicted]] = np.flatnonzero(~predicted)
    turns = np.searchsorted(np.maximum.accumulate(place[1]), place[0])
    return int((np.arange(rounds) - turns).max(initial=0))


def turns_are_sound(memory: Memory) -> bool:
    """Tell whether all tickets from the next one in turn on are there, and no other."""
    turn, rounds, (numbers, states) = memory.own[TURN], memory.rounds, memory.entries.T
    is_turn = is_count(float(turn), rounds)
    in_turn = is_turn and np.array_equal(numbers, np.arange(int(turn), rounds))
    return in_turn and not (states[:1] == T.HELD).any()


def _waits_its_turn(memory: Memory) -> bool:
    """Tell whether turns are sound, and sums not negative."""
    own = memory.own
    sums = [*own[TURN:IN_TURN], *memory.records[:, 2 * memory.dim : 2 * memory.dim + 2].ravel()]
    return turns_are_sound(memory) and min(sums) >= 0.0


def hint_is_sound(memory: Memory) -> bool:
    """Tell whether the weight of the hint in use can be one."""
    weight, hinted = float(memory.f[WEIGHT]), memory.f[HINTED] > 0.0
    return is_count(weight, memory.rounds + 1) if hinted else weight == 0.0


class Hedging(OnArms):
    """A rival that plays softmin(theta, lambda) and tunes lambda in turn."""

    reference = "Flaspohler et al. 2021"
    memory = "three vectors per ticket from the oldest open one on"
    guarantee = (
        "8 m + 2 sqrt((4 + ln k) T + 2 d_tot ln k), m the most rounds from the oldest open one to "
        "a play"
    )
    order = (
        "any order; the step size stands still from the oldest open ticket on; a lost answer "
        "counts as zero"
    )
    _number: ClassVar[int]
    """What ``hedging`` gave."""

    def program(self) -> Program:
        """Return what the kernels run; p is theta."""
        own, keep = np.zeros(IN_TURN + self.arms), 3 * self.arms + 2
        return self.compiled(
            self._number, own=own, keep=keep, base=K.ENTROPY, sound=_waits_its_turn
        )

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """2 (4 m + sqrt(4 T + 2 ln K (T / 2 + d_tot))), m as ``waiting`` gives it.

        It is 2 (2 max_s sum_{j in W_s} a_j + sqrt(sum_s (a_s^2 + 2 ln K b_s))) with the symbols of
        ``DUB``; for losses in [0, 1], a_s <= 2 and b_s <= |P_s| - 1/2.
        """
        rounds, logarithm = timeline.rounds, math.log(self.arms)
        late = 2.0 * logarithm * timeline.total_delay
        learning = 2.0 * math.sqrt((4.0 + logarithm) * rounds)
        total = 8.0 * waiting(timeline) + 2.0 * math.sqrt((4.0 + logarithm) * rounds + late)
        note = f"losses in [0, 1]; {UNCHECKED}"
        return self._of_unit_losses(timeline, learning, total - learning, note)
