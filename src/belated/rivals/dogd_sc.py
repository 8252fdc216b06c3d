"""DOGD-SC: one step per round for strongly convex losses, from gradients or from values."""

from __future__ import annotations

from dataclasses import dataclass

from belated.arrays import Code, Floats
from belated.domains import Domain
from belated.kernels.jit import leaf
from belated.kernels.learners.feedback import chart
from belated.kernels.learners.methods import method
from belated.kernels.learners.state import State
from belated.kernels.learners.uses import of_chart
from belated.kernels.slots import floats as F
from belated.learner.program import Program
from belated.rivals.base import Rival
from belated.rivals.descent import ONCE
from belated.rivals.exploring import (
    Exploring,
    answers_used,
    descend_inside,
    differs,
    estimate_from_pair,
    play_pair,
    steep_pair,
)
from belated.rivals.shared import (
    arrived,
    check_curvature,
    collect,
    emptied,
    log,
    no_arrivals,
)


@leaf
def _step_once_inside(code: Code, s: State) -> None:
    """y_{t+1} = Pi(y_t - (sum of the arrivals) / (lambda N_t)), in the set shrunk to explore."""
    if arrived(s):
        eta = 1.0 / (s.f[F.CURVATURE] * answers_used(s))
        descend_inside(code, s, s.own[: s.z.size], eta)
        emptied(s)


@leaf
def _learn_from_pair(code: Code, s: State, entry: int, ticket: int, values: Floats) -> None:
    """Collect the estimate from two values."""
    estimate_from_pair(s, ticket, values)
    collect(s, s.work)


@leaf
def _play_many(code: Code, s: State, entry: int, ticket: int, x: Floats) -> None:
    """Play y, y + delta e_1, ..., y + delta e_k."""
    k = s.z.size
    for row in range(k + 1):
        for i in range(k):
            moved = s.z[i] + s.f[F.BREADTH] if row == i + 1 else s.z[i]
            x[row * k + i] = chart(of_chart(code), s, i, moved)


@leaf
def _learn_from_many(code: Code, s: State, entry: int, ticket: int, values: Floats) -> None:
    """Collect the estimate with coordinates (f(y + delta e_i) - f(y)) / delta."""
    for i in range(s.work.size):
        s.work[i] = (values[i + 1] - values[0]) / s.f[F.BREADTH]
    collect(s, s.work)


@leaf
def _steep(code: Code, s: State, values: Floats, norm: float) -> bool:
    """Tell whether a value is too far from that of y."""
    steep = False
    for i in range(1, values.size):
        steep = steep or differs(s, values[0], values[i], s.f[F.BREADTH])
    return steep


_PAIR = method(
    "DOGDSCTwoPoint",
    prepare=_step_once_inside,
    play=play_pair,
    exceeds=steep_pair,
    learn=_learn_from_pair,
)
_MANY = method(
    "DOGDSCManyPoint",
    prepare=_step_once_inside,
    play=_play_many,
    exceeds=_steep,
    learn=_learn_from_many,
)


@dataclass(frozen=True, repr=False)
class DOGDSC(Rival, module="rivals"):
    """Delayed gradient descent for strongly convex losses: one step per round with arrivals.

    x_{t+1} = Pi_K(x_t - (1 / (lambda N_t)) sum_{s in F_t} g_s), where F_t are the rounds whose
    gradient arrived in round t, N_t counts all gradients that arrived so far, and lambda is the
    curvature of the losses.
    Guarantee: regret O((G^2 / lambda) d_max ln T), G bounding the gradients.
    Reference: Wan, Tu and Zhang, "Online strongly convex optimization with unknown delays", Machine
    Learning 2022.

    >>> from belated import Ball, Learner
    >>> learner = Learner(DOGDSC(Ball(2), curvature=4.0))
    >>> _ = learner.predict(), learner.predict()
    >>> learner.observe(1, [2.0, 0.0]), learner.observe(0, [0.0, 2.0])
    (True, True)
    >>> learner.predict().x
    array([-0.25, -0.25])
    """

    title = "DOGD-SC"
    reference = "Wan, Tu and Zhang 2022"
    guarantee = "O((G^2/lambda) d_max ln T)"

    domain: Domain
    curvature: float

    def program(self) -> Program:
        """Return what the kernels run; the method's own region is the sum of the arrivals."""
        return self.compiled(ONCE, own=no_arrivals(self.domain.dim))


@dataclass(frozen=True, repr=False)
class _FromValues(Exploring):
    """What the two versions that learn from values share."""

    reference = "Wan, Tu and Zhang 2022"

    domain: Domain
    curvature: float
    lipschitz: float
    rounds: int | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        check_curvature(self)

    @property
    def smoothing(self) -> float:
        """delta = r min{1, ln(e T) / T}."""
        rounds = self._fact("rounds")
        return self._inner * min(1.0, (1.0 + log(rounds)) / rounds)

    def _program(self, number: int, points: int) -> Program:
        """Return what the kernels run; the method's own region is the sum of the arrivals."""
        own = no_arrivals(self.domain.dim)
        return self.compiled(number, own=own, numbers={F.BREADTH: self.smoothing}, points=points)


@dataclass(frozen=True, repr=False)
class DOGDSCTwoPoint(_FromValues, module="rivals"):
    """DOGD-SC from two values per round: it plays y_t + delta u_t and y_t - delta u_t.

    y_{t+1} = Pi(y_t - (1 / (lambda N_t)) sum_{s in F_t} c_s) onto (1 - delta / r) K, with the
    estimate c_s = (k / (2 delta)) (f_s(y_s + delta u_s) - f_s(y_s - delta u_s)) u_s of a gradient
    and delta = r min{1, ln(e T) / T}. F_t are the rounds whose values arrived in round t, N_t
    counts all that arrived so far, u_t is uniform on the unit sphere, r the inner radius of the
    set. G (``lipschitz``) bounds the gradients; values that differ by more than it allows are
    counted.
    Guarantee: expected regret O(d_max ln T) in d_max and T.
    Reference: Wan, Tu and Zhang, "Online strongly convex optimization with unknown delays", Machine
    Learning 2022.

    Differs from the paper: ln(e T), as ln T is 0 for a single round, and delta is a share of r, so
    that it never leaves the set.

    >>> from belated import Ball
    >>> DOGDSCTwoPoint(Ball(3), curvature=1.0, lipschitz=2.0, rounds=1).smoothing
    1.0
    """

    title = "DOGD-SC, two values"
    answers = "two values"
    guarantee = "O(d_max ln T), in expectation"

    def program(self) -> Program:
        """Return what the kernels run."""
        return self._program(_PAIR, 2)


@dataclass(frozen=True, repr=False)
class DOGDSCManyPoint(_FromValues, module="rivals"):
    """DOGD-SC from k + 1 values per round: it plays y_t, y_t + delta e_1, ..., y_t + delta e_k.

    y_{t+1} = Pi(y_t - (1 / (lambda N_t)) sum_{s in F_t} c_s) onto (1 - delta / r) K, where
    coordinate i of the estimate c_s is (f_s(y_s + delta e_i) - f_s(y_s)) / delta and
    delta = r min{1, ln(e T) / T}. F_t are the rounds whose values arrived in round t, N_t counts
    all that arrived so far, e_i is the i-th unit vector, r the inner radius of the set. G
    (``lipschitz``) bounds the gradients; values that differ by more than it allows are counted.
    There is no chance in it.
    Guarantee: regret O(d_max ln T) in d_max and T.
    Reference: Wan, Tu and Zhang, "Online strongly convex optimization with unknown delays", Machine
    Learning 2022.

    Differs from the paper: ln(e T), as ln T is 0 for a single round, and delta is a share of r, so
    that it never leaves the set.

    >>> from belated import Ball, Learner
    >>> spec = DOGDSCManyPoint(Ball(2), curvature=1.0, lipschitz=2.0, rounds=1)
    >>> Learner(spec).predict().x
    array([[0., 0.],
           [1., 0.],
           [0., 1.]])
    """

    title = "DOGD-SC, k + 1 values"
    answers = "k + 1 values"
    guarantee = "O(d_max ln T)"

    def program(self) -> Program:
        """Return what the kernels run."""
        return self._program(_MANY, self.domain.dim + 1)
