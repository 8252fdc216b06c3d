"""``Problem``: the assumptions in one place; it picks the corollary and fills in the numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from belated import rates, smoothing
from belated.bases import OMD, PFTRL, Base, DualAveraging, Leader, Portfolio
from belated.domains import ConvexSet, Domain
from belated.errors import SpecError
from belated.reductions import (
    Capacity,
    Deadline,
    FirstOrder,
    FullInformation,
    OnePoint,
    Reduction,
    Skip,
    TwoPoint,
    Wrapper,
)
from belated.spec import Spec, number, positive, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from belated.bounds import Bound
    from belated.research.rivals import DelayedONS
    from belated.timeline import Timeline

Feedback: TypeAlias = Literal["gradient", "value", "two-values", "function"]
BaseName: TypeAlias = Literal["pftrl", "omd", "portfolio", "leader", "newton"]
RateName: TypeAlias = Literal["paper", "tight", "gradient"]


@dataclass(frozen=True, repr=False)
class Problem(Spec):
    """The known facts about the losses: the assumptions of the paper's section 2.

    ``domain`` is the set to play in, ``lipschitz`` G bounds the gradients, ``curvature`` lambda is
    the strong convexity (0: just convex), ``magnitude`` M bounds the values, and ``horizon`` T is
    the number of rounds if it is known, which fixes the exploration radius. ``exp_concavity`` alpha
    says that exp(-alpha f) is concave for every loss f, as it is with alpha = 1 / c^2 for squared
    losses (<z, x> - y)^2 / 2 whose error is at most c (0: not known). All numbers are in the chart
    of the set: on a ``Box`` a gradient counts per half-width.

    >>> from belated import Ball, Timeline
    >>> problem = Problem(Ball(3), lipschitz=1.0)
    >>> problem.learner("gradient", base="pftrl")
    FirstOrder(base=PFTRL(domain=Ball(dim=3), rate=rates.DelayAdaptive(lipschitz=1.0)))
    >>> print(problem.bound(Timeline.from_delays([3] * 1000), base="pftrl"))
    Corollary 5.3: 379.2 = learning 189.7 + delay 189.5, 2 times the price without delay

    Differs from the paper: inputs with lambda D > 2 G are refused, since no loss has such numbers
    (Fact B.1).
    """

    domain: Domain
    lipschitz: float
    curvature: float = 0.0
    magnitude: float | None = None
    horizon: int | None = None
    exp_concavity: float = 0.0

    def __post_init__(self) -> None:
        """Check every number, and that they can hold together."""
        if not isinstance(self.domain, Domain):
            raise SpecError(f"Problem: domain must be a belated domain, got {self.domain!r}")
        object.__setattr__(self, "lipschitz", positive("Problem", "lipschitz", self.lipschitz))
        for name in ("curvature", "exp_concavity"):
            value = number("Problem", name, getattr(self, name))
            if value < 0.0:
                raise SpecError(f"Problem: {name} must not be negative, got {value!r}")
            object.__setattr__(self, name, value)
        if self.magnitude is not None:
            object.__setattr__(self, "magnitude", positive("Problem", "magnitude", self.magnitude))
        if self.horizon is not None:
            object.__setattr__(self, "horizon", whole("Problem", "horizon", self.horizon))
        rates.check_curvature("Problem", self.curvature, self.domain.diameter, self.lipschitz)

    def learner(
        self,
        feedback: Feedback = "gradient",
        base: BaseName | None = None,
        skip: bool = False,
        rate: RateName | None = None,
        deadline: int | None = None,
        forget: int | None = None,
        capacity: int | None = None,
        backlog: int | None = None,
    ) -> Reduction | Wrapper | DelayedONS:
        """Return the learner of the corollary that fits, with all numbers filled in.

        ``feedback`` is what an answer holds: a gradient, one value, two values, or a whole loss as
        its gradient function. ``base`` is the base learner. Without a choice it is what did best in
        the studies (docs/results.md): for gradients of convex losses a ``Portfolio``, of strongly
        convex ones a ``Leader``; for everything else P-FTRL, the paper's. ``base="newton"`` is the
        delayed Newton step (``rivals.DelayedONS``) for gradients of exp-concave losses, whose
        regret is promised to grow like a logarithm only. ``rate`` chooses among
        ``rates.DelayAdaptive`` ("paper", the default), ``rates.Tight`` (the default under a
        ``capacity``, as its bound is smaller) and ``rates.GradientAdaptive`` for P-FTRL and OMD
        with gradients of convex losses; with one value of them, "tight" is ``OnePoint.tight``,
        which explores less. ``skip`` gives up on answers that take too long, as
        ``Skip`` says; ``deadline`` on those that are not in after so many further predictions
        (``Deadline``). ``forget`` is how many predictions later such a ticket is forgotten.
        ``capacity`` tracks at most so many tickets (``Capacity``), ``backlog`` is the bound on
        missing answers that its coins are told; then the base is P-FTRL unless it is OMD.

        >>> from belated import Box
        >>> problem = Problem(Box(0.0, 1.0), lipschitz=1.0, magnitude=2.0, horizon=1000)
        >>> problem.learner("value").smoothing
        smoothing.Convex(ratio=2.0, horizon=1000)
        """
        rate = self._rate_name(feedback, base, rate, capacity)
        self._check_choice("learner", feedback, base, rate)
        _check_giving_up("learner", skip, deadline, forget)
        _check_capacity("learner", skip, deadline, capacity, backlog)
        name = self._base_name(feedback, base, rate, capacity)
        if name == "newton":
            return self._newton(skip or deadline is not None or capacity is not None)
        if feedback == "value" and rate == "tight":
            inner: Reduction = self._tight_one_point(name)
        else:
            inner = self._reduction(feedback, self._base(name, rate))
        if capacity is not None:
            return Capacity(inner, capacity, backlog)
        if deadline is not None:
            return Deadline(inner, deadline, forget)
        return Skip(inner, forget) if skip else inner

    def bound(
        self,
        timeline: Timeline,
        feedback: Feedback = "gradient",
        base: BaseName | None = None,
        skip: bool = False,
        rate: RateName | None = None,
        deadline: int | None = None,
        forget: int | None = None,
        capacity: int | None = None,
        backlog: int | None = None,
    ) -> Bound:
        """Return the guarantee of ``learner`` with the same arguments on these delays.

        For values it holds in expectation. Compositions without a theorem are refused.

        >>> from belated import Ball, Timeline
        >>> problem = Problem(Ball(3), lipschitz=2.0, curvature=1.0)
        >>> problem.bound(Timeline.from_delays([0] * 100), base="omd").name
        'Corollary 5.4'
        """
        from belated import bounds

        rate = self._rate_name(feedback, base, rate, capacity)
        words = (feedback, base, skip, rate, deadline, forget, capacity, backlog)
        self.learner(*words)  # refuses what does not fit
        base = self._base_name(feedback, base, rate, capacity)
        obstacle = self._obstacle(feedback, base, skip, rate, deadline, capacity, backlog)
        if obstacle:
            raise SpecError(f"Problem.bound: no theorem covers this: {obstacle}")
        if base == "newton":
            promised = self._newton().bound(timeline)
            assert promised is not None  # there is one on all delays
            return promised
        result, constants = self._result(feedback, base, rate)
        if capacity is not None:
            return bounds.capacity(timeline, capacity, result, backlog=backlog, **constants)
        radius = self.domain.outer_radius
        if deadline is not None:
            return bounds.deadline(timeline, deadline, result, outer_radius=radius, **constants)
        if skip:
            return bounds.corollary_6_2(timeline, result, outer_radius=radius, **constants)
        return result(timeline, **constants)

    def explain(
        self,
        feedback: Feedback = "gradient",
        base: BaseName | None = None,
        skip: bool = False,
        rate: RateName | None = None,
        deadline: int | None = None,
        forget: int | None = None,
        capacity: int | None = None,
        backlog: int | None = None,
    ) -> str:
        """Return two sentences: which result covers ``learner`` so called, and what it says.

        >>> from belated import Ball
        >>> print(Problem(Ball(3), lipschitz=1.0).explain("gradient", base="pftrl"))
        Corollary 5.3 applies, because the answers are gradients of convex losses. The regret is at
        most 3 times lipschitz times diameter times the square root of rounds plus total delay.
        """
        rate = self._rate_name(feedback, base, rate, capacity)
        words = (feedback, base, skip, rate, deadline, forget, capacity, backlog)
        self.learner(*words)  # refuses what does not fit
        base = self._base_name(feedback, base, rate, capacity)
        obstacle = self._obstacle(feedback, base, skip, rate, deadline, capacity, backlog)
        if obstacle:
            return f"No theorem covers this composition: {obstacle}. It runs, as a heuristic."
        shape = "exp-concave" if base == "newton" else self._shape
        reason = f"the answers are {_ANSWERS[feedback]} {shape} losses"
        name, formula = _FORMULAS[self._key(feedback, base, rate)]
        if skip:
            name, reason = f"Corollary 6.2 over {name}", reason + " and late ones are given up on"
            formula += f", for the delays that skipping leaves, plus {self._price} skipped round"
        elif deadline is not None:
            name = f"Deadline over {name}"
            reason += f" and those not in after {deadline:,} predictions are given up on"
            formula += (
                f", for the delays that the deadline leaves, plus {self._price} round given up on"
            )
        elif capacity is not None:
            name = f"Capacity of {capacity:,} over {name}"
            reason += f" and at most {capacity:,} tickets are tracked"
            formula += (
                ", on average, with the weights of the answers in the place of rounds, plus "
                f"{self._price} round that is expected to find no place"
            )
        return f"{name} applies, because {reason}. {formula}."

    @property
    def _price(self) -> str:
        """The cost of a round that is given up on, in words."""
        if not self.curvature:
            return "lipschitz times diameter for every"
        return (
            "the most that a round can cost and half of curvature times outer radius squared for "
            "every"
        )

    @property
    def _shape(self) -> str:
        return "strongly convex" if self.curvature else "convex"

    def _key(self, feedback: Feedback, base: BaseName, rate: RateName) -> tuple[str, str]:
        """Return what selects the result: kind of answer, and variant."""
        if feedback == "value" and rate == "tight":
            return feedback, rate
        if feedback in ("value", "two-values"):
            return feedback, self._shape
        is_named = self.curvature or base in ("portfolio", "newton")
        return "gradient", base if is_named else rate

    def _rate_name(
        self,
        feedback: Feedback,
        base: BaseName | None,
        rate: RateName | None,
        capacity: int | None,
    ) -> RateName:
        """Return the rate that was asked for, or the one with the smaller bound."""
        if rate is not None:
            return rate
        has_choice = base in (None, "pftrl", "omd") and feedback == "gradient"
        is_tight = has_choice and capacity is not None and not self.curvature
        return "tight" if is_tight else "paper"

    def _base_name(
        self, feedback: Feedback, base: BaseName | None, rate: RateName, capacity: int | None
    ) -> BaseName:
        """Return the base that was asked for, or the one that suits."""
        if base is not None:
            return base
        if capacity is not None:
            return "pftrl"
        if feedback != "gradient" or rate != "paper" or isinstance(self.domain, ConvexSet):
            return "pftrl"
        return "leader" if self.curvature else "portfolio"

    def _newton(self, gives_up: bool = False) -> DelayedONS:
        """Return the delayed Newton step."""
        from belated.research.rivals import DelayedONS

        if gives_up:
            raise SpecError(
                "Problem.learner: base='newton' gives up on nothing; leave skip, deadline and "
                "capacity out, or choose another base"
            )
        return DelayedONS(self.domain, self.lipschitz, self.exp_concavity)

    def _base(self, name: BaseName, rate: RateName) -> Base:
        if name == "portfolio":
            return self._portfolio()
        if name == "leader":
            return Leader(self.domain, self._rate(rate))
        return (PFTRL if name == "pftrl" else OMD)(self.domain, self._rate(rate))

    def _portfolio(self) -> Portfolio:
        """Return what did best in the studies.

        D / (G sqrt(2 n)) is the classical step without delay; the tight one looks at delays. Steps
        that are too large for the worst case do well where losses come from one direction, tiny
        ones of dual averaging where they only seem to.
        """
        domain, lipschitz = self.domain, self.lipschitz
        classical = domain.diameter / (lipschitz * math.sqrt(2.0))
        return Portfolio(
            (
                PFTRL(domain, rates.Tight(lipschitz)),
                OMD(domain, rates.InverseRoot(classical, lipschitz)),
                OMD(domain, rates.InverseRoot(4.0 * classical, lipschitz)),
                DualAveraging(domain, rates.Tight(lipschitz, scale=1.0 / 32.0)),
                DualAveraging(domain, rates.Tight(lipschitz, scale=1.0 / 8.0)),
                DualAveraging(domain, rates.InverseRoot(classical, lipschitz)),
                DualAveraging(domain, rates.InverseRoot(16.0 * classical, lipschitz)),
            )
        )

    def _rate(self, name: RateName) -> rates.Rate:
        if self.curvature:
            return rates.StronglyConvex(self.curvature, self.lipschitz)
        return _RATES[name](self.lipschitz)

    def _reduction(self, feedback: Feedback, base: Base) -> Reduction:
        if feedback == "gradient":
            return FirstOrder(base)
        if feedback == "function":
            return FullInformation(base)
        if feedback == "two-values":
            return TwoPoint(base, self._pair_smoothing())
        assert self.magnitude is not None  # checked before
        plain = OnePoint(base, self.magnitude)  # refuses sets without an interior
        return plain if self.horizon is None else OnePoint(base, self.magnitude, self._fixed())

    def _tight_one_point(self, base: BaseName) -> OnePoint:
        """Return the learner from values that explores less."""
        assert self.magnitude is not None  # checked before
        if base != "pftrl":
            raise SpecError(
                "Problem.learner: rate='tight' with one value is proved for base='pftrl' only"
            )
        return OnePoint.tight(self.domain, self.lipschitz, self.magnitude, self.horizon)

    def _pair_smoothing(self) -> smoothing.Smoothing | None:
        """Return the smoothing of Corollaries G.3 and G.4 for a known horizon."""
        if self.horizon is None:
            return None
        return (smoothing.Inverse if self.curvature else smoothing.InverseRoot)(self.horizon)

    def _fixed(self) -> smoothing.Smoothing:
        """Return the smoothing of Corollaries 5.7 and 5.8 for a known horizon."""
        assert self.magnitude is not None and self.domain.inner_radius  # checked before
        ratio = self.magnitude / (self.lipschitz * self.domain.inner_radius)
        kind = smoothing.StronglyConvex if self.curvature else smoothing.Convex
        return kind(ratio, self.horizon)

    def _check_choice(self, who: str, feedback: Any, base: Any, rate: Any) -> None:
        """Refuse unknown words, a rate that would change nothing, and a missing magnitude."""
        for name, word, known in (
            ("feedback", feedback, get_args(Feedback)),
            ("base", base, (*get_args(BaseName), None)),
            ("rate", rate, get_args(RateName)),
        ):
            if word not in known:
                raise SpecError(
                    f"Problem.{who}: {name} is one of {', '.join(map(repr, known))}, got {word!r}"
                )
        is_tight_value = feedback == "value" and rate == "tight" and not self.curvature
        of_values = feedback in ("value", "two-values") and not is_tight_value
        if rate != "paper" and (self.curvature or of_values):
            raise SpecError(
                f"Problem.{who}: rate={rate!r} is for gradients of convex losses, 'tight' for one "
                f"value of them too; with feedback={feedback!r} and curvature={self.curvature!r} "
                "only rate='paper' has a theorem"
            )
        if base == "portfolio" and (rate != "paper" or self.curvature or feedback != "gradient"):
            raise SpecError(
                f"Problem.{who}: base='portfolio' is for gradients of convex losses and has its "
                "own rates; build a bl.Portfolio by hand for anything else"
            )
        if base == "leader" and (not self.curvature or feedback != "gradient"):
            raise SpecError(
                f"Problem.{who}: base='leader' is for gradients of strongly convex losses; give "
                "curvature to Problem, or use base='pftrl'"
            )
        if base == "newton" and (
            not self.exp_concavity or feedback != "gradient" or rate != "paper"
        ):
            raise SpecError(
                f"Problem.{who}: base='newton' is for gradients of exp-concave losses and has its "
                "own steps; give exp_concavity to Problem, or use base='pftrl'"
            )
        if feedback == "value" and self.magnitude is None:
            raise SpecError(
                f"Problem.{who}: feedback='value' needs a bound on the values: give magnitude to "
                "Problem"
            )

    def _obstacle(
        self,
        feedback: Feedback,
        base: BaseName,
        skip: bool,
        rate: RateName,
        deadline: int | None,
        capacity: int | None,
        backlog: int | None,
    ) -> str:
        """Say why no theorem covers a composition, or nothing."""
        if capacity is not None and feedback == "value" and rate == "tight":
            return (
                "a capacity is proved for the steps of Corollary 5.7; use rate='paper' or "
                "capacity=None"
            )
        if capacity is not None and feedback == "function":
            return (
                "under a capacity the point at which a whole loss is looked at depends on which "
                "tickets are tracked; use feedback='gradient'"
            )
        if capacity is not None and backlog is None and feedback in ("value", "two-values"):
            return (
                "for values the guarantee of a capacity is that of coins; give backlog=, the most "
                "answers that can be missing at any time"
            )
        gives_up = skip or deadline is not None
        if gives_up and self.curvature and feedback in ("value", "two-values"):
            what, without = ("skipping", "skip=False") if skip else ("a deadline", "deadline=None")
            return (
                f"{what} puts a strongly convex loss in the place of a lost one, which is proved "
                f"for gradients and not for values; use {without}, whose bound already adapts, or "
                "curvature=0"
            )
        if base == "omd" and feedback in ("value", "two-values"):
            return (
                "the results for values rest on Lemma 4.2, which holds for P-FTRL and not for OMD; "
                "use base='pftrl'"
            )
        return ""

    def _result(
        self, feedback: Feedback, base: BaseName, rate: RateName
    ) -> tuple[Callable[..., Bound], dict[str, Any]]:
        """Return the function of ``belated.bounds`` and its keywords."""
        from belated import bounds

        known: dict[str, Any] = {"lipschitz": self.lipschitz}
        if self.curvature:
            known["curvature"] = self.curvature
        if feedback in ("value", "two-values"):
            known |= {"domain": self.domain, "horizon": self.horizon}
            if feedback == "two-values":
                return (bounds.corollary_g_4 if self.curvature else bounds.corollary_g_3), known
            known["magnitude"] = self.magnitude
            if rate == "tight":
                return bounds.tight_one_point, known
            return (bounds.corollary_5_8 if self.curvature else bounds.corollary_5_7), known
        known["diameter"] = self.domain.diameter
        if base == "leader":
            return bounds.leader, known
        if self.curvature:
            return bounds.corollary_5_4, {**known, "base": base}
        if base == "portfolio":
            return bounds.portfolio, {"base": self._portfolio()}
        results: dict[RateName, Callable[..., Bound]] = {
            "paper": bounds.corollary_5_3,
            "tight": bounds.tight,
            "gradient": bounds.gradient_adaptive,
        }
        return results[rate], known


def _check_giving_up(who: str, skip: bool, deadline: int | None, forget: int | None) -> None:
    """Refuse two ways to give up at once, and forgetting where nothing is given up on."""
    if skip and deadline is not None:
        raise SpecError(
            f"Problem.{who}: skip=True and deadline={deadline!r} both say when to give up; choose "
            "one"
        )
    if forget is not None and not skip and deadline is None:
        raise SpecError(
            f"Problem.{who}: forget={forget!r} is about tickets that were given up on; give "
            "skip=True or deadline=... as well"
        )


def _check_capacity(
    who: str, skip: bool, deadline: int | None, capacity: int | None, backlog: int | None
) -> None:
    """Refuse a capacity beside another way to give up, and a backlog without a capacity."""
    if capacity is not None and (skip or deadline is not None):
        other = "skip=True" if skip else f"deadline={deadline!r}"
        raise SpecError(
            f"Problem.{who}: {other} and capacity={capacity!r} both say when to give up; choose one"
        )
    if backlog is not None and capacity is None:
        raise SpecError(
            f"Problem.{who}: backlog={backlog!r} is what the coins of a capacity are told; give "
            "capacity=... as well"
        )


_RATES: dict[RateName, Callable[[float], rates.Rate]] = {
    "paper": rates.DelayAdaptive,
    "tight": rates.Tight,
    "gradient": rates.GradientAdaptive,
}

_ANSWERS: dict[Feedback, str] = {
    "gradient": "gradients of",
    "function": "whole",
    "value": "single values of",
    "two-values": "pairs of values of",
}

_FORMULAS = {
    ("gradient", "paper"): (
        "Corollary 5.3",
        "The regret is at most 3 times lipschitz times diameter times the square root of rounds "
        "plus total delay",
    ),
    ("gradient", "tight"): (
        "Corollary 5.3 with the tight rate",
        "The regret is at most 2 times lipschitz times diameter times the square root of half the "
        "rounds plus total delay",
    ),
    ("gradient", "gradient"): (
        "Corollary 5.3 with gradient-adaptive rates",
        "The regret is at most 2 times diameter times the square root of a sum over the answers, "
        "of half the squared gradient norm plus lipschitz times open tickets times gradient norm",
    ),
    ("gradient", "portfolio"): (
        "Portfolio's guarantee",
        "The regret is at most one and a half times what the tight rate is allowed, 2 times "
        "lipschitz times diameter times the square root of half the rounds plus total delay, and "
        "lipschitz times diameter times the largest rise of the backlog, and what points that are "
        "not kept may hide",
    ),
    ("gradient", "leader"): (
        "Leader's guarantee",
        "The regret is of the order of lipschitz squared over curvature times a logarithm of the "
        "rounds plus the smaller of largest backlog times that logarithm and twice the square root "
        "of total delay, with a constant of 3 where the points played are known exactly",
    ),
    ("gradient", "newton"): (
        "The guarantee of the delayed Newton step",
        "With beta half of the smaller of exp-concavity and 1 / (4 lipschitz diameter), the regret "
        "is at most 1 / beta plus dimension / beta times a logarithm of the rounds, plus the "
        "smaller of that times 2.125 times the largest delay and 4.375 times lipschitz times "
        "diameter times the square root of total delay",
    ),
    ("gradient", "pftrl"): (
        "Corollary 5.4",
        "The regret is at most 9 times lipschitz squared over curvature times a logarithm of the "
        "rounds plus the smaller of largest backlog times that logarithm and twice the square root "
        "of total delay",
    ),
    ("gradient", "omd"): (
        "Corollary 5.4",
        "The regret is at most 3 times lipschitz squared over curvature times largest backlog plus "
        "one times a logarithm of the rounds",
    ),
    ("value", "convex"): (
        "Corollary 5.7",
        "The expected regret is of the order of lipschitz times diameter times the square root of "
        "total delay plus rounds to the power 3/4 times the square root of dimension times "
        "magnitude over lipschitz times inner radius",
    ),
    ("value", "tight"): (
        "Theorem E.3",
        "The expected regret is of the order of that of Corollary 5.7, lipschitz times diameter "
        "times the square root of total delay plus rounds to the power 3/4 times the square root "
        "of dimension times magnitude over lipschitz times inner radius, with about a third of "
        "its constant",
    ),
    ("value", "strongly convex"): (
        "Corollary 5.8",
        "The expected regret is of the order of lipschitz squared over curvature times the smaller "
        "of largest backlog times log rounds and the square root of total delay, plus rounds to "
        "the power 2/3 up to a logarithm",
    ),
    ("two-values", "convex"): (
        "Corollary G.3",
        "The expected regret is of the order of lipschitz times diameter times the square root of "
        "total delay plus the square root of rounds times dimension",
    ),
    ("two-values", "strongly convex"): (
        "Corollary G.4",
        "The expected regret is of the order of lipschitz squared over curvature times the smaller "
        "of largest backlog times log rounds and the square root of total delay, plus dimension "
        "times log rounds",
    ),
}
