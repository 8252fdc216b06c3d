"""The regret that the theorems allow a learner on given delays."""

from __future__ import annotations

from typing import Any, cast

from belated import bounds, rates
from belated.bases import OMD, PFTRL, Base, Leader, Portfolio
from belated.bounds import Bound
from belated.domains import Domain
from belated.errors import SpecError
from belated.problem import BaseName, Feedback, Problem, RateName
from belated.reductions import (
    Capacity,
    Deadline,
    FirstOrder,
    FullInformation,
    LearnerSpec,
    Method,
    OnePoint,
    Reduction,
    Skip,
    TwoPoint,
    Wrapper,
    domain_of,
    inner_of,
)
from belated.timeline import Timeline

_FEEDBACK: dict[type[Reduction], Feedback] = {
    FirstOrder: "gradient",
    FullInformation: "function",
    OnePoint: "value",
    TwoPoint: "two-values",
}
_BASES: dict[type[Base], BaseName] = {PFTRL: "pftrl", OMD: "omd", Leader: "leader"}
_RATES: dict[type[rates.Rate], RateName] = {
    rates.Tight: "tight",
    rates.GradientAdaptive: "gradient",
}


def set_of(spec: LearnerSpec) -> Domain | None:
    """Return the set that a learner plays in; None for a user's base that does not say."""
    if isinstance(spec, Reduction | Wrapper):
        return domain_of(inner_of(spec).base)
    return cast(Domain, cast(Any, spec).domain)


def wants_fixed_delays(spec: LearnerSpec) -> str:
    """Say why a guarantee does not hold where plays choose the delays, or nothing.

    For gradients nothing is random, and every step of the proofs holds for the sequences of the
    game, even if an adversary chose them.
    """
    if isinstance(spec, Method):
        return "the published guarantee is for delays that are fixed before the game"
    inner = inner_of(spec)
    if isinstance(inner, OnePoint | TwoPoint):
        return (
            "for values the guarantee is a mean over exploration directions, and delays that "
            "depend on the plays depend on those"
        )
    if isinstance(spec, Capacity):
        return (
            "the guarantee of a capacity is a mean over which tickets are tracked, and delays that "
            "depend on the plays depend on that"
        )
    return ""


def bound_of(spec: LearnerSpec, timeline: Timeline) -> Bound | None:
    """Return the guarantee of exactly this spec on these delays, or None where there is none.

    One of ours has the guarantee of the corollary whose learner it is. It is about losses that are
    as the learner was told.
    """
    if isinstance(spec, Method):
        return cast("Bound | None", cast(Any, spec).bound(timeline))
    inner = inner_of(spec)
    if not isinstance(inner.base, Base) or type(inner) not in _FEEDBACK:
        return None
    rate = inner.base.rate
    if rate.lipschitz is None:
        return None
    if isinstance(inner.base, Portfolio):
        return _bound_of_portfolio(spec, inner, inner.base, timeline)
    choice: dict[str, Any] = {
        "feedback": _FEEDBACK[type(inner)],
        "base": _BASES.get(type(inner.base)),
        "rate": _RATES.get(type(rate), "paper"),
        **_giving_up(spec),
    }
    try:
        problem = _problem(inner, inner.base, rate)
        return problem.bound(timeline, **choice) if problem.learner(**choice) == spec else None
    except SpecError:
        return None  # no corollary covers this composition


def _giving_up(spec: Reduction | Wrapper) -> dict[str, Any]:
    """Return the arguments of ``Problem.learner`` that wrap a learner like this."""
    if isinstance(spec, Capacity):
        return {"capacity": spec.tickets, "backlog": spec.backlog}
    if isinstance(spec, Deadline):
        return {"deadline": spec.rounds, "forget": spec.forget}
    return {"skip": True, "forget": spec.forget} if isinstance(spec, Skip) else {}


def _bound_of_portfolio(
    spec: Reduction | Wrapper, inner: Reduction, base: Portfolio, timeline: Timeline
) -> Bound | None:
    """Return the guarantee of a portfolio that is told gradients, if a member has one."""
    if not isinstance(inner, FirstOrder):
        return None
    try:
        if isinstance(spec, Deadline):
            return bounds.deadline(timeline, spec.rounds, bounds.portfolio, base=base)
        if isinstance(spec, Skip):
            return bounds.corollary_6_2(timeline, bounds.portfolio, base=base)
        return bounds.portfolio(timeline, base=base)
    except SpecError:
        return None  # all members follow the gradients


def _problem(inner: Reduction, base: Base, rate: rates.Rate) -> Problem:
    """Return the assumptions under which a corollary would choose such a learner."""
    assert rate.lipschitz is not None
    smoothing = inner.smoothing if isinstance(inner, OnePoint | TwoPoint) else None
    return Problem(
        base.domain,
        lipschitz=rate.lipschitz,
        curvature=rate.curvature if isinstance(rate, rates.StronglyConvex) else 0.0,
        magnitude=inner.magnitude if isinstance(inner, OnePoint) else None,
        horizon=smoothing.horizon if smoothing is not None else None,
    )
