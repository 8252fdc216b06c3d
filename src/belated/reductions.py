"""Reductions: they turn late feedback into the linear game that a base learner plays.

Each says what an answer is and how it becomes a cost vector. ``Skip`` and ``Deadline`` wrap a
reduction and give up on answers that take too long, ``Capacity`` waits for so many at most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from belated import rates, smoothing
from belated.bases import PFTRL, Base, Leader, Portfolio, UserBase
from belated.domains import Domain
from belated.errors import SpecError
from belated.smoothing import Smoothing
from belated.spec import Spec, positive, whole


class Reduction(Spec):
    """A way to learn from one kind of late feedback with a base learner inside."""

    if TYPE_CHECKING:

        @property
        def base(self) -> Base | UserBase:
            """The base learner: built in, or any object with ``start`` and ``update``."""


@dataclass(frozen=True, repr=False)
class FirstOrder(Reduction):
    """Answers are gradients at the played point: c_n = grad f_s(x_s) (W_OCO, Algorithm 1).

    Guarantee (Theorem 5.2): regret <= the base's regret + G times its drift; Corollaries 5.3, 5.4.

    >>> from belated import PFTRL, Ball
    >>> FirstOrder(PFTRL(Ball(2), rates.Tight(1.0))).base.domain.dim
    2
    """

    base: Base | UserBase

    def __post_init__(self) -> None:
        """Check the base."""
        _check_base(self)


@dataclass(frozen=True, repr=False)
class FullInformation(Reduction):
    """Answers are whole losses, given as their gradient function.

    When the answer arrives its gradient is taken at the **current** point: c_n = grad f_s(z_n).
    This is the setting of SOLID (Joulani, Gyorgy, Szepesvari 2016): regret in arrival order plus
    the drift of the plays, so the guarantees of ``FirstOrder`` hold with the same constants.

    >>> from belated import PFTRL, Ball
    >>> FullInformation(PFTRL(Ball(2), rates.Tight(1.0))).kind
    'FullInformation'
    """

    base: Base | UserBase

    def __post_init__(self) -> None:
        """Check the base."""
        _check_base(self)
        if isinstance(self.base, Leader):
            raise SpecError(
                "FullInformation: a Leader wants gradients at the points played, and these are "
                "taken at the current one; use PFTRL, which is the same there"
            )


@dataclass(frozen=True, repr=False)
class OnePoint(Reduction):
    """Answers are loss values: c_n = (k / delta_s) f_s(x_s) u_s (W_BCO, Algorithm 2).

    Plays x_t = (1 - delta_t / r) z + delta_t u_t with u_t uniform on the sphere. The base runs on
    the full set; only the play is shrunk. ``magnitude`` is M >= |f|. ``smoothing`` defaults to the
    schedule of Corollary 5.7, or of 5.8 under a strongly convex rate.

    ``baseline="mean"`` subtracts from a value the mean of the values observed before its ticket was
    issued. The estimate stays unbiased, since that mean does not depend on the ticket's own
    direction. This is ours, not the paper's; its constants hold with 2 M in place of M.

    Guarantee: Theorem 5.6 and Corollaries 5.7, 5.8, in expectation, with P-FTRL as the base; for
    other rates and schedules Theorem E.3 (``bounds.theorem_e_3``).

    >>> from belated import PFTRL, Box
    >>> spec = OnePoint(PFTRL(Box(0.0, 1.0), rates.DelayAdaptive(1.0)), magnitude=2.0)
    >>> spec.schedule
    smoothing.Convex(ratio=2.0)
    """

    base: Base | UserBase
    magnitude: float
    smoothing: Smoothing | None = None
    baseline: Literal["mean"] | None = None

    def __post_init__(self) -> None:
        """Check the base, its set and the smoothing."""
        _check_base(self)
        _check_exploration(self)
        object.__setattr__(self, "magnitude", positive("OnePoint", "magnitude", self.magnitude))
        if self.baseline not in (None, "mean"):
            raise SpecError(f"OnePoint: baseline is None or 'mean', got {self.baseline!r}")
        _ = self.schedule

    @classmethod
    def tight(
        cls, domain: Domain, lipschitz: float, magnitude: float, horizon: int | None = None
    ) -> OnePoint:
        """Return the learner of Corollary 5.7 with smaller steps and radii: the bound is smaller.

        Theorem E.3 without what its proof gives away (``bounds.theorem_e_3``) allows, without
        delay, D^2 / (2 eta_T) + sum_n eta_n (k M / delta_n)^2 / 2 + 6 G R delta_tot / r. Steps with
        ``scale`` a make the first two (a + 1 / 2a) D sqrt(sum_n (k M / delta_n)^2), and delays
        about (2 a + 1 / 2a) of it: a = 1/2 costs nothing without delay, and is best with. Radii
        delta_t = r sqrt(q nu k) t^(-1/4) are then best at q = (3/16) sqrt(2/3) D / R, 0.31 for
        balls and boxes, where the paper has q = 1. ``bounds.tight_one_point`` is the bound.

        >>> from belated import Ball
        >>> OnePoint.tight(Ball(2), lipschitz=1.0, magnitude=1.0).base.rate
        rates.DelayAdaptive(lipschitz=1.0, scale=0.5)
        """
        plain = cls(PFTRL(domain, rates.DelayAdaptive(lipschitz, scale=0.5)), magnitude)
        usual = plain.schedule
        assert isinstance(usual, smoothing.Convex)  # as the rate is for convex losses
        share = domain.diameter / (domain.outer_radius or domain.diameter)
        ratio = 0.1875 * math.sqrt(2.0 / 3.0) * share * usual.ratio
        return cls(plain.base, magnitude, smoothing.Convex(ratio, horizon))

    @property
    def schedule(self) -> Smoothing:
        """The smoothing in use: the one given, or the corollary's."""
        if self.smoothing is not None:
            return self.smoothing
        rate = rate_of(self.base)
        if rate is None or rate.lipschitz is None:
            raise SpecError(
                "OnePoint: the default smoothing needs the gradient bound: give lipschitz to the "
                "rate, or smoothing=..., e.g. smoothing.Convex(ratio=M / (G r))"
            )
        ratio = self.magnitude / (rate.lipschitz * exploration_radius(self))
        if isinstance(rate, rates.StronglyConvex):
            return smoothing.StronglyConvex(ratio)
        return smoothing.Convex(ratio)


@dataclass(frozen=True, repr=False)
class TwoPoint(Reduction):
    """Answers are two loss values: c_n = (k / (2 delta_s)) (f_s(x1) - f_s(x2)) u_s (Algorithm 4).

    Plays the pair (1 - delta_t / r) z +- delta_t u_t, so x has shape (2, dim); the loss of a round
    is the mean of the two. ``smoothing`` defaults to r / sqrt(t), or r / t under a strongly convex
    rate.

    Guarantee: Theorem G.2 and Corollaries G.3, G.4, in expectation, with P-FTRL as the base.

    >>> from belated import PFTRL, Ball
    >>> TwoPoint(PFTRL(Ball(2), rates.DelayAdaptive(1.0))).schedule
    smoothing.InverseRoot()
    """

    base: Base | UserBase
    smoothing: Smoothing | None = None

    def __post_init__(self) -> None:
        """Check the base, its set and the smoothing."""
        _check_base(self)
        _check_exploration(self)

    @property
    def schedule(self) -> Smoothing:
        """The smoothing in use: the one given, or the corollary's."""
        if self.smoothing is not None:
            return self.smoothing
        if isinstance(rate_of(self.base), rates.StronglyConvex):
            return smoothing.Inverse()
        return smoothing.InverseRoot()


class Wrapper(Spec):
    """A learner that gives up on answers by itself, before a prediction and oldest ticket first.

    What is given up on is closed with zero feedback, as if it had been cancelled, and its answer is
    dropped if it comes after all. ``forget`` says for how many predictions after giving up a ticket
    stays known, to tell such an answer from a wrong one. After that it is forgotten, and its memory
    is free again: its answer is an ``UnknownTicket``, as is any word about a ticket that was handed
    out before it. None keeps it until its answer comes, in 16 bytes of a table with room for two to
    four times as many, since such an answer is no error unless the caller says so.

    Under a strongly convex rate a zero loss is not admissible. Following the paper's remark the
    closing feedback is then that of h(y) = (lambda / 2) |y|^2, y being the point seen from the
    centre of the set; since that loss is known in full, its gradient is taken at the current point.
    For gradients of strongly convex losses the guarantee is then the same, but that a round given
    up on costs max over d <= D of (G d - lambda d^2 / 2) + lambda R^2 / 2, with R the outer radius
    of the set. For values no theorem covers it: a heuristic.

    Differs from the paper, which leaves the strongly convex case as a remark. The proof: the
    learner inside plays the answered losses and h in the place of those given up on, all strongly
    convex, so their regrets sum to at most what its guarantee allows on the shorter delays, if
    max(G, lambda R) bounds the gradients (P-FTRL, OMD; for ``Leader`` max(G, lambda R / sqrt(3)) is
    enough, which is G on every built-in set; see docs/paper.md). Of that sum those given up on are
    at least -lambda R^2 / 2 each, as h lies between 0 and lambda R^2 / 2. And such a loss has
    regret f(x) - f(u) <= G d - lambda d^2 / 2, d = |x - u|. (On a ``Simplex``, y is seen from 0;
    on the set that adds a constant to h, and to its gradient a vector that moves nothing.)
    """

    if TYPE_CHECKING:

        @property
        def learner(self) -> Reduction:
            """The learner inside."""

        @property
        def forget(self) -> int | None:
            """Predictions after giving up until a ticket is forgotten; None: never."""


@dataclass(frozen=True, repr=False)
class Skip(Wrapper):
    """Give up on answers that take too long, however long that is (S_skip, Algorithm 3).

    Before prediction t, with D_t the sum of the open counts so far, every open round s with
    t - s > sqrt(D_t) is closed with zero feedback; its late answer is dropped. See ``Wrapper`` for
    ``forget`` and for strongly convex rates.

    Guarantee (Theorem 6.1): regret <= regret of the learner inside on the shorter delays
    + G D |Q*|, with |Q*| + sqrt(d'_tot) <= 3 (min_Q {|Q| + sqrt(sum of the other delays)} + 1).

    A constant share of lost answers keeps D_t growing, and with it the number of open tickets:
    use ``Deadline`` where that is to be expected.

    >>> from belated import PFTRL, Ball
    >>> Skip(FirstOrder(PFTRL(Ball(2), rates.Tight(1.0)))).learner.kind
    'FirstOrder'
    """

    learner: Reduction
    forget: int | None = None

    def __post_init__(self) -> None:
        """Check what is inside, and when to forget."""
        _check_wrapper(self)


@dataclass(frozen=True, repr=False)
class Deadline(Wrapper):
    """Give up on answers that are not in after ``rounds`` further predictions.

    Before prediction t every open round s with t - s > ``rounds`` is closed with zero feedback, so
    an answer with a delay of at most ``rounds`` is used, and a later one is dropped. Delays and
    backlogs of the learner inside are at most ``rounds``, whatever share of the answers is lost,
    so its rates stay as large as with that delay. See ``Wrapper`` for ``forget`` and for strongly
    convex rates.

    Guarantee (``bounds.deadline``): regret <= regret of the learner inside on the delays
    min(d_t, ``rounds``) + G D |Q|, Q being the rounds given up on: on these rounds the learner
    inside plays a zero loss, which no comparator beats, and each costs at most G D itself.

    >>> from belated import PFTRL, Ball
    >>> Deadline(FirstOrder(PFTRL(Ball(2), rates.Tight(1.0))), rounds=100, forget=1000).rounds
    100
    """

    learner: Reduction
    rounds: int
    forget: int | None = None

    def __post_init__(self) -> None:
        """Check what is inside, how long to wait, and when to forget."""
        _check_wrapper(self)
        object.__setattr__(self, "rounds", _count("Deadline", "rounds", self.rounds))


@dataclass(frozen=True, repr=False)
class Capacity(Wrapper):
    """Track at most ``tickets`` tickets at any time; what is not tracked is lost.

    Memory and snapshots are bounded for good, however late answers are. Which tickets are tracked
    is drawn, and an answer weighs 1 over the chance that it was still waited for when it came: its
    cost is w_s times what it would be, and on average nothing is missing. The numbers drawn are a
    pure function of (seed, ticket), so replays are exact. With C = ``tickets``:

    * without ``backlog`` tickets are thinned (a Pareto scheduler): with U_s uniform on (0, 1] and
      B = (C / 2 - g + 1) / (1 + ln T), T the next power of 2, those stay with U_s (age + 1) <= B,
      which is looked at every g predictions, g the largest power of 2 up to C / 8, or 1. The
      weight is max{1, (age + 1) / B}, with the age at the last look. Nothing has to be known in
      advance, and what never comes is lost some day;
    * with ``backlog``, a public bound H on the answers missing at any time, a coin is tossed
      for every ticket (a Bernoulli scheduler): it is tracked with p = min{1, C / (8 (H + 1))},
      until its answer comes, and weighs 1 / p. Answers that never come must be cancelled.

    If C tickets are tracked, a new one is lost. In the rates w^2 stands for an arrival and w times
    the weights that still wait for s*; what is lost counts as nothing. As long as d + 1 <= B
    for all delays d (p is 1), all weights are 1, and this is the learner inside, bit for bit.

    A word about a ticket that is not tracked, because it was lost or answered before, is dropped
    unseen: ``observe`` returns False, and so it does for a key that no ticket has. Knowing better
    would need the memory that there is not. Give every key once: that of a lost ticket is free
    again, and a late answer to it would be learned for the ticket that has it then.

    Guarantee (``bounds.capacity``), on average over what is drawn, for losses and delays that are
    fixed before: that of the learner inside with sum of max{1, (d_t + 1) / B} (T / p) in the place
    of T, and G D for every round in which C tickets were tracked already. That is rare: with
    probability at most (sqrt(e) / 2)^C ((e / 8)^C). So once C is of the order of ln T, regret stays
    within logarithmic factors of unlimited memory.

    Differs from the paper (Ryabchenko, Attias, Roy 2026, arXiv 2606.11711), which has a step size
    that is fixed in advance and knows T: rates that follow the weights, and thinning by a B that
    falls with T, are ours. Its result for strongly convex losses is not implemented. Proof: given
    what happened before, the weight of a ticket (0 once it is lost) is a martingale until its
    answer comes. So <w_s g_s, x_s - u> has the mean of <g_s, x_s - u> for what found a place; a
    step eta_n w_n before an answer that will weigh w_j has the mean of eta_n w_n times the weight
    of j now, which is what the rate sums up; and w^2 has the mean of w.

    >>> from belated import PFTRL, Ball
    >>> Capacity(FirstOrder(PFTRL(Ball(2), rates.Tight(1.0))), tickets=64).tickets
    64
    """

    learner: Reduction
    tickets: int
    backlog: int | None = None

    def __post_init__(self) -> None:
        """Check what is inside, and both counts."""
        _check_inside(self)
        _check_weighed(self.learner)
        object.__setattr__(self, "tickets", _count("Capacity", "tickets", self.tickets, 1))
        if self.backlog is not None:
            object.__setattr__(self, "backlog", _count("Capacity", "backlog", self.backlog))


def thinning_gap(tickets: int) -> int:
    """Return g, predictions between two thinnings: the largest power of 2 up to C / 8, or 1."""
    return 1 << max(0, tickets.bit_length() - 4)


def coin_chance(tickets: int, backlog: int) -> float:
    """Return p, the share of tickets that are tracked under a known backlog."""
    return min(1.0, tickets / (8 * (backlog + 1)))


LONGEST = 1 << 31
"""Most predictions to wait; the square of an age must fit into a word."""


def inner_of(spec: Reduction | Wrapper) -> Reduction:
    """Return the reduction, without what is wrapped around it."""
    return spec.learner if isinstance(spec, Wrapper) else spec


def rate_of(base: Base | UserBase) -> rates.Rate | None:
    """Return the rate of a built-in base; a user's base has none that we know of."""
    return base.rate if isinstance(base, Base) else None


def domain_of(base: Base | UserBase) -> Domain | None:
    """Return the set of a base; a user's base may say its own as ``domain``."""
    return base.domain if isinstance(base, Base) else getattr(base, "domain", None)


def exploration_radius(reduction: Reduction) -> float:
    """Return the inner radius r of the set that the reduction explores."""
    domain = domain_of(reduction.base)
    assert domain is not None and domain.inner_radius  # checked at construction
    return domain.inner_radius


def _name(part: Any) -> str:
    return part.kind if isinstance(part, Spec) else repr(part)


def _count(owner: str, name: str, value: Any, least: int = 0) -> int:
    """Return a number of predictions or tickets, or refuse it by name."""
    result = whole(owner, name, value, least=least)
    if result > LONGEST:
        raise SpecError(f"{owner}: {name} must be at most {LONGEST}, got {value!r}")
    return result


def _check_wrapper(wrapper: Wrapper) -> None:
    """Refuse anything inside that is no reduction, and a number to forget by that is none."""
    _check_inside(wrapper)
    if wrapper.forget is not None:
        object.__setattr__(wrapper, "forget", _count(wrapper.kind, "forget", wrapper.forget))


def _check_inside(wrapper: Wrapper) -> None:
    """Refuse anything inside that is no reduction."""
    inside = wrapper.learner
    if isinstance(inside, Wrapper):
        raise SpecError(
            f"{wrapper.kind}: wraps FirstOrder, FullInformation, OnePoint or TwoPoint, got "
            f"{inside.kind}; there is one wrapper per learner, as two would give up by two counts"
        )
    if not isinstance(inside, Reduction):
        raise SpecError(
            f"{wrapper.kind}: wraps FirstOrder, FullInformation, OnePoint or TwoPoint, got "
            f"{_name(inside)}"
        )


def _check_weighed(inside: Reduction) -> None:
    """Refuse bases that do not know what to do with weights."""
    base = inside.base
    if isinstance(base, Portfolio | Leader):
        raise SpecError(
            f"Capacity: {base.kind} compares points of the past, which answers that weigh more "
            "than others would bend; use PFTRL or OMD"
        )
    rate = rate_of(base)
    if rate is not None and rate.is_curved:
        raise SpecError(
            f"Capacity: {rate.kind} counts answers, and weights for strongly convex losses are not "
            "implemented; use rates.Tight or another rate for convex losses"
        )


def _check_base(reduction: Reduction) -> None:
    """Refuse a base that is neither built in nor an object with start and update."""
    base = reduction.base
    if isinstance(base, Base):
        return
    if isinstance(base, type | Spec) or not isinstance(base, UserBase):
        raise SpecError(
            f"{reduction.kind}: base must be one of belated's or an object with start() and "
            f"update(cost, lag, open_lags), got {_name(base)}"
        )
    domain = domain_of(base)
    if domain is not None and not isinstance(domain, Domain):
        raise SpecError(f"{reduction.kind}: base.domain must be a belated domain, got {domain!r}")


def _rates_of(base: Base | UserBase) -> tuple[rates.Rate | None, ...]:
    if isinstance(base, Portfolio):
        return tuple(member.rate for member in base.members)
    return (rate_of(base),)


def _check_rate_for_values(who: str, rate: rates.Rate | None) -> None:
    """Refuse rates that the bandit proofs do not allow."""
    if rate is not None and rate.not_for_values:
        raise SpecError(f"{who}: {rate.kind} {rate.not_for_values}; use rates.DelayAdaptive")


def _check_exploration(reduction: OnePoint | TwoPoint) -> None:
    """Refuse sets without a known interior, and rates that the bandit proofs do not allow."""
    who, base = reduction.kind, reduction.base
    domain = domain_of(base)
    if domain is None:
        raise SpecError(
            f"{who}: a user's base must say its set as base.domain, to explore inside it"
        )
    if domain.inner_radius == 0.0:
        raise SpecError(
            f"{who}: {domain.kind} has no interior to explore; play on a Box of dim - 1 "
            "coordinates, or use FirstOrder with gradients"
        )
    if domain.inner_radius is None:
        raise SpecError(f"{who}: ConvexSet needs inner_radius, to explore inside it")
    for rate in _rates_of(base):
        _check_rate_for_values(who, rate)
    if isinstance(base, Portfolio) and base.rate.lipschitz is None:
        raise SpecError(f"{who}: a Portfolio needs lipschitz in the rate of at least one member")
    schedule = reduction.smoothing
    if schedule is not None and not isinstance(schedule, Smoothing):
        own = "; put a function of your own into smoothing.Custom" if callable(schedule) else ""
        raise SpecError(f"{who}: smoothing must come from belated.smoothing, got {schedule!r}{own}")
    if isinstance(schedule, smoothing.Constant) and schedule.radius > domain.inner_radius:
        raise SpecError(
            f"{who}: smoothing radius {schedule.radius!r} exceeds the inner radius "
            f"{domain.inner_radius!r} of the set"
        )


class Method(Spec):
    """A published method; see ``belated.research.rivals``."""

    @property
    def own_numbers(self) -> int:
        """How many numbers it keeps whatever happens, where these are more than a few vectors."""
        return 0

    def player(self, seed: int, strict: bool) -> Any:
        """Return the player of the core, or refuse a spec that lacks a number."""
        raise NotImplementedError


LearnerSpec: TypeAlias = Reduction | Wrapper | Method
"""The specs that a learner can run."""


def takes_functions(spec: LearnerSpec) -> bool:
    """Tell whether an answer is a gradient function."""
    if isinstance(spec, Method):
        return bool(getattr(spec, "feedback", "") == "function")
    return isinstance(inner_of(spec), FullInformation)
