"""GOLD: a pool of late values, of which the oldest one is used in every round."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from belated.arrays import Code, Floats
from belated.domains import Domain
from belated.errors import SpecError
from belated.kernels.exact import exp, ln
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import method
from belated.kernels.learners.state import State
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import table as T
from belated.kernels.tickets import entry_of, hold, release
from belated.learner.program import Program
from belated.learner.state import Memory
from belated.rivals.exploring import Exploring, estimate, play_shrunk
from belated.rivals.shared import descend

# The pool is a skew heap of the tickets whose value waits. A ticket's record holds the value and
# its two children, each as ticket + 1, or 0 for none; both are younger.
_VALUE, _LEFT, _RIGHT, _KEEP = range(4)
# The method's own region: the oldest waiting ticket (as ticket + 1), and the two exponents.
_OLDEST, _RADIUS_POWER, _STEP_POWER = range(3)


@leaf
def _power(t: int, exponent: float) -> float:
    """Return t^-exponent."""
    return exp(-exponent * ln(float(t)))


@leaf
def _radius(s: State, ticket: int) -> float:
    """Return delta_t = min(r, delta t^-b)."""
    return float(min(s.f[F.INNER], s.f[F.BREADTH] * _power(ticket + 1, s.own[_RADIUS_POWER])))


@leaf
def _merged(s: State, a: int, b: int) -> int:
    """Merge two heaps and return the root; O(log) steps, amortised."""
    if a == 0 or b == 0:
        return a + b
    root = min(a, b)
    b = max(a, b)
    a = root
    while True:  # b joins the heap on the right of a, and the sides of a are exchanged
        record = entry_of(s, a - 1) * s.n[N.KEEP]
        right = int(s.kept[record + _RIGHT])
        s.kept[record + _RIGHT] = s.kept[record + _LEFT]
        if right == 0:
            s.kept[record + _LEFT] = float(b)
            return root
        a = min(right, b)
        b = max(right, b)
        s.kept[record + _LEFT] = float(a)


@leaf
def _step_once(code: Code, s: State) -> None:
    """Take the oldest value out of the pool and step with gamma_t."""
    oldest = int(s.own[_OLDEST])
    if oldest == 0:
        return
    ticket = oldest - 1
    entry = entry_of(s, ticket)
    record = entry * s.n[N.KEEP]
    rest = _merged(s, int(s.kept[record + _LEFT]), int(s.kept[record + _RIGHT]))
    s.own[_OLDEST] = float(rest)
    estimate(s, ticket, s.kept[record + _VALUE], _radius(s, ticket))
    release(s, entry)
    descend(code, s, s.work, s.f[F.GAIN] * _power(s.n[N.ROUNDS], s.own[_STEP_POWER]))


@leaf
def _play(code: Code, s: State, entry: int, ticket: int, x: Floats) -> None:
    """Play (1 - delta_t / r) x + delta_t u."""
    for i in range(_KEEP):
        s.kept[entry * s.n[N.KEEP] + i] = 0.0
    play_shrunk(code, s, ticket, _radius(s, ticket), x)


@leaf
def _learn(code: Code, s: State, entry: int, ticket: int, values: Floats) -> None:
    """Put a value into the pool."""
    s.kept[entry * s.n[N.KEEP] + _VALUE] = values[0]
    hold(s, entry)
    s.own[_OLDEST] = float(_merged(s, int(s.own[_OLDEST]), ticket + 1))


_METHOD = method("GOLD", prepare=_step_once, play=_play, learn=_learn)


def _is_sound(memory: Memory) -> bool:
    """Tell whether the heap holds every waiting value once, and older ones above younger ones."""
    numbers, held = memory.entries[:, 0].tolist(), memory.entries[:, 1] == T.HELD
    children = {
        float(ticket + 1): memory.records[entry, [_LEFT, _RIGHT]].tolist()
        for entry, ticket in enumerate(numbers)
        if held[entry]
    }
    roots = [float(memory.own[_OLDEST]), *(child for pair in children.values() for child in pair)]
    below = sorted(child for child in roots if child != 0.0)
    ordered = all(child == 0.0 or child > top for top, pair in children.items() for child in pair)
    return ordered and below == sorted(children) and not memory.records[~held, _LEFT:].any()


@dataclass(frozen=True, repr=False)
class GOLD(Exploring, module="rivals"):
    """Gradient-free online learning with delays: a pool of values, the oldest used per round.

    It plays (1 - delta_t / r) x_t + delta_t u_t. When a round ends, the values that arrived go into
    the pool, the oldest round q in it is taken out, and
    x_{t+1} = Pi_K(x_t - gamma_t (k / delta_q) f_q u_q); an empty pool changes nothing.
    u_t is uniform on the unit sphere and f_q the value that round q met. It must be told how fast
    delays grow: for delays of order t^a (``growth`` a, 0 for bounded delays),
    delta_t = min{r, delta t^-b} and gamma_t = gamma t^-c, b = min{1/4, 1/3 - a/3} and
    c = max{3/4, 2/3 + a/3}. delta is ``smoothing`` or, where that is 0, sqrt(k M r / G), and
    gamma = D delta / (k M), where M (``magnitude``) bounds the values, G (``lipschitz``) the
    gradients, and r and D are the inner radius and the diameter of the set.
    Guarantee: expected regret O(T^(3/4) + T^(2/3 + a/3)), up to logarithms (Theorem 1, which also
    has b and c).
    Reference: Heliou, Mertikopoulos and Zhou, "Gradient-free online learning in continuous games
    with delayed rewards", ICML 2020.

    Differs from the paper: losses instead of rewards, a single player, and delta and gamma, which
    the paper leaves open, balance the terms at M, G, r and D; with less exploration it often loses
    less. After a burst the pool shrinks by no more than one value per round, so that values grow
    old in it.

    >>> from belated import Ball, Learner
    >>> learner = Learner(GOLD(Ball(2), magnitude=1.0, lipschitz=1.0))
    >>> tickets = [learner.predict().ticket for _ in range(3)]
    >>> [learner.observe(ticket, 0.5) for ticket in reversed(tickets)], learner.open
    ([True, True, True], 0)
    """

    reference = "Heliou, Mertikopoulos and Zhou 2020"
    answers = "value"
    memory = "three numbers per open ticket and per value in the pool"
    guarantee = "O(T^(3/4) + T^(2/3 + a/3)), up to logarithms, in expectation"

    domain: Domain
    magnitude: float
    lipschitz: float
    growth: float = 0.0
    smoothing: float = 0.0

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        if self.growth >= 1.0:
            raise SpecError(f"{self.kind}: growth must be below 1, got {self.growth!r}")

    def program(self) -> Program:
        """Return what the kernels run."""
        k = self.domain.dim
        balance = math.sqrt(k * self.magnitude * self._inner / self.lipschitz)
        delta = self.smoothing or balance
        gamma = self.domain.diameter * delta / (k * self.magnitude)
        radius_power = min(1.0 / 4.0, 1.0 / 3.0 - self.growth / 3.0)
        step_power = max(3.0 / 4.0, 2.0 / 3.0 + self.growth / 3.0)
        return self.compiled(
            _METHOD,
            own=np.array([0.0, radius_power, step_power]),
            keep=_KEEP,
            fixed=(_RADIUS_POWER, _STEP_POWER),
            sound=_is_sound,
            numbers={F.BREADTH: delta, F.GAIN: gamma},
        )
