"""From specs of the paper's learners to the components of the core."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from belated import bases, domains, rates, reductions, smoothing
from belated.arrays import Floats
from belated.core import bases as core_bases
from belated.core import feedback as core_feedback
from belated.core import learner as core_learner
from belated.core import rates as core_rates
from belated.core import sets as core_sets
from belated.core import tickets as core_tickets
from belated.core import user_parts as core_user
from belated.core.bases import records_for
from belated.errors import SpecError
from belated.reductions import (
    LearnerSpec,
    Method,
    Reduction,
    Wrapper,
    domain_of,
    exploration_radius,
    inner_of,
    rate_of,
)
from belated.spec import python_objects
from belated.validation import checked_point

if TYPE_CHECKING:
    from belated.timeline import Timeline


class Setting(NamedTuple):
    """The values that the components of one learner share."""

    reduction: Reduction
    base: bases.Base | bases.UserBase
    """The base of the reduction; a user's base is a copy."""
    first: Floats
    """The first point, in x."""
    chart: core_sets.Chart
    domain: core_sets.Domain
    tickets: core_tickets.Tickets
    smoothing: core_rates.Smoothing


class Schedule(NamedTuple):
    """Step sizes and exploration radii of a spec along a timeline."""

    etas: Floats
    """eta_n, by arrival."""
    late_radii: Floats
    """delta'_n: the radius of the round in progress at the n-th arrival."""
    radii: Floats
    """delta_t, by prediction."""


def schedule_of(spec: Reduction, timeline: Timeline) -> Schedule:
    """Return the step sizes and radii of a spec whose rate does not depend on the costs."""
    setting = _setting(spec, 0)
    rate = _rate(setting, setting.base)
    return Schedule(*core_rates.schedule(rate, setting.smoothing, timeline.events))


def compose(spec: Reduction | Wrapper, seed: int, strict: bool) -> core_learner.Composition:
    """Return the player of a spec; user objects in it are copied, so learners do not share them."""
    is_thinned = isinstance(spec, reductions.Capacity) and spec.backlog is None
    reduction = inner_of(spec)
    has_baseline = isinstance(reduction, reductions.OnePoint) and reduction.baseline == "mean"
    setting = _setting(reduction, has_baseline + is_thinned)
    base = setting.base
    feedback = _feedback(setting, seed)
    return core_learner.Composition(
        setting.tickets,
        feedback,
        _base(setting, base),
        _wrapper(spec, setting.tickets, int(has_baseline), seed),
        strict,
        bool(python_objects(spec)),
    )


def _setting(reduction: Reduction, columns: int) -> Setting:
    """Return what components share; tickets keep so many floats each."""
    base = reduction.base
    if not isinstance(base, bases.Base):
        base = _copy_of(base)
    first = _first_point(base)
    chart, domain = _place(reduction, base, first.size)
    smoothing = _smoothing(reduction, first.size)
    tickets = core_tickets.Tickets(columns)
    return Setting(reduction, base, first, chart, domain, tickets, smoothing)


def _copy_of(part: Any) -> Any:
    """Return a learner's own copy of an object that a user wrote."""
    try:
        return copy.deepcopy(part)
    except Exception as error:  # of the user's own code, or of something that cannot be copied
        raise SpecError(
            f"Learner: {type(part).__name__} cannot be copied ({error}); a learner works on its "
            "own copy, so keep out of it what cannot be copied, or give it __deepcopy__"
        ) from error


def _first_point(base: bases.Base | bases.UserBase) -> Floats:
    """Return where the learner starts, in x: the centre of the set, or what a user's base says."""
    if isinstance(base, bases.Base):
        return np.array(base.domain.center, dtype=np.float64)
    domain = domain_of(base)
    dim = None if domain is None else domain.dim
    return checked_point(base.start(), dim, f"{type(base).__name__}.start")


# --- Sets ----------------------------------------------------------------------------------------


def chart_of(domain: domains.Domain) -> core_sets.Chart:
    """Return the chart of a set."""
    if isinstance(domain, domains.Box):
        return core_sets.Scale(domain.center, domain.half_widths, *domain.bounds)
    if not any(domain.origin):
        return core_sets.Chart(domain.dim)
    ones = np.ones(domain.dim)
    return core_sets.Scale(domain.origin, ones, -math.inf * ones, math.inf * ones)


def _set_of(domain: domains.Domain, chart: core_sets.Chart) -> core_sets.Domain:
    """Return a set in its chart."""
    if isinstance(domain, domains.ConvexSet):
        return core_user.UserSet(domain.dim, domain.project, chart, domain.diameter)
    return domain.in_chart()


_EXPLORING = (reductions.OnePoint, reductions.TwoPoint)


def _place(
    reduction: Reduction, base: bases.Base | bases.UserBase, dim: int
) -> tuple[core_sets.Chart, core_sets.Domain]:
    """Return chart and set; a user's base moves by itself, in x unless plays explore."""
    if isinstance(base, bases.Base):
        domain, chart = base.domain, chart_of(base.domain)
        return chart, _set_of(domain, chart)
    known = domain_of(base)
    if known is not None and isinstance(reduction, _EXPLORING):
        return chart_of(known), core_sets.Domain(dim)
    return core_sets.Chart(dim), core_sets.Domain(dim)


# --- Bases and rates -----------------------------------------------------------------------------


def _base(setting: Setting, base: bases.Base | bases.UserBase) -> core_bases.Base:
    """Return a base in the chart."""
    rate = rate_of(base)
    curvature = rate.curvature if isinstance(rate, rates.StronglyConvex) else 0.0
    common = (
        setting.chart.seen(setting.first),
        setting.domain,
        _rate(setting, base),
        setting.tickets,
        _sums(base),
        curvature,
    )
    if not isinstance(base, bases.Base):
        known = domain_of(base)
        dim = setting.first.size
        home_chart = core_sets.Chart(dim) if known is None else chart_of(known)
        home = core_sets.Domain(dim) if known is None else _set_of(known, home_chart)
        return core_user.UserBase(base, setting.chart, home, home_chart, *common)
    if isinstance(base, bases.Leader):
        return core_bases.Leader(base.reach, *common)
    if isinstance(base, bases.Portfolio):
        # No theorem ties a portfolio that is told values, or has no anchor.
        is_tied = base.anchor is not None and not isinstance(setting.reduction, _EXPLORING)
        return core_bases.Portfolio(
            [_base(setting, member) for member in base.members],
            _prior(base),
            base.anchor if is_tied else None,
            base.leash if is_tied else math.inf,
            base.reach,
            *common,
        )
    if isinstance(base, bases.OMD) and base.mirror == "entropy":
        return core_bases.EntropyOMD(*common)
    return _BASES[type(base)](*common)


_BASES: dict[type[bases.Base], Callable[..., core_bases.Base]] = {
    bases.PFTRL: core_bases.PFTRL,
    bases.OMD: core_bases.OMD,
    bases.DualAveraging: core_bases.DualAveraging,
}


def _sums(base: bases.Base | bases.UserBase) -> core_bases.Sums:
    diameter = _diameter(base)
    width = base.width if isinstance(base, bases.Base) else diameter
    rate = rate_of(base)
    return core_bases.Sums(diameter, width, 0.0 if rate is None else rate.lipschitz or 0.0)


def _diameter(base: bases.Base | bases.UserBase) -> float:
    if isinstance(base, bases.Base):
        return base.diameter
    domain = domain_of(base)
    return domain.diameter if domain is not None else 0.0


def _prior(base: bases.Portfolio) -> Floats:
    """Half of the weight for the anchor, and the same for all others; without one, for everyone."""
    count = len(base.members)
    if base.anchor is None or count == 1:
        return np.full(count, 1.0 / count)
    prior = np.full(count, 0.5 / (count - 1))
    prior[base.anchor] = 0.5
    return prior


def _rate(setting: Setting, base: bases.Base | bases.UserBase) -> core_rates.Rate:
    """Return the rate of a base."""
    tickets, spec = setting.tickets, rate_of(base)
    if isinstance(spec, rates.DelayAdaptive):
        return _delay_adaptive(setting, spec, _diameter(base))
    if isinstance(spec, rates.Tight):
        gain = spec.scale * _diameter(base) / (2.0 * spec.lipschitz)
        return core_rates.Tight(tickets, gain, 0.5)
    if isinstance(spec, rates.GradientAdaptive):
        return core_rates.GradientAdaptive(tickets, _diameter(base) / 2.0, spec.lipschitz or 0.0)
    if isinstance(spec, rates.StronglyConvex):
        return core_rates.StronglyConvex(tickets, spec.curvature)
    if isinstance(spec, rates.Constant):
        return core_rates.Constant(tickets, spec.step)
    if isinstance(spec, rates.InverseRoot):
        return core_rates.InverseRoot(tickets, spec.step, 1.0, 0.0)
    if isinstance(spec, rates.Table):
        return core_rates.Table(tickets, spec.steps)
    if isinstance(spec, rates.Custom):
        return core_user.UserRate(tickets, _copy_of(spec.rule), rates.Counts)
    if spec is None or isinstance(spec, rates.Mixed):  # others choose the steps
        return core_rates.Rate(tickets)
    raise SpecError(f"no rate of the core is known for {spec.kind}")


def _delay_adaptive(
    setting: Setting, spec: rates.DelayAdaptive, diameter: float
) -> core_rates.Rate:
    """Return the rate of Corollary 5.3, 5.7 or G.3, according to the reduction."""
    gain = spec.scale * (diameter / spec.lipschitz)
    dim = setting.first.size
    if isinstance(setting.reduction, reductions.OnePoint):
        noise = dim * setting.reduction.magnitude / spec.lipschitz
        return core_rates.DelayAdaptiveValues(setting.tickets, gain, noise, setting.smoothing)
    if isinstance(setting.reduction, reductions.TwoPoint):
        return core_rates.DelayAdaptivePairs(setting.tickets, gain, dim)
    return core_rates.DelayAdaptive(setting.tickets, gain)


# --- Feedback and wrappers -----------------------------------------------------------------------


def _feedback(setting: Setting, seed: int) -> core_feedback.Feedback:
    """Return what plays points and reads answers."""
    reduction, rate = setting.reduction, rate_of(setting.base)
    lipschitz = 0.0 if rate is None else rate.lipschitz or 0.0
    common = (setting.tickets, setting.chart, setting.smoothing, seed)
    if isinstance(reduction, reductions.OnePoint):
        has_baseline = reduction.baseline == "mean"
        return core_feedback.OnePoint(*common, reduction.magnitude, has_baseline)
    if isinstance(reduction, reductions.TwoPoint):
        return core_feedback.TwoPoint(*common, lipschitz)
    if isinstance(reduction, reductions.FirstOrder | reductions.FullInformation):
        return core_feedback.FirstOrder(setting.tickets, setting.chart, lipschitz)
    raise SpecError(f"no feedback of the core is known for {reduction.kind}")


_SMOOTHINGS: dict[type[smoothing.Smoothing], Callable[..., core_rates.Smoothing]] = {
    smoothing.Convex: core_rates.ConvexSmoothing,
    smoothing.StronglyConvex: core_rates.StronglyConvexSmoothing,
    smoothing.InverseRoot: core_rates.InverseRootSmoothing,
    smoothing.Inverse: core_rates.InverseSmoothing,
    smoothing.Constant: core_rates.ConstantSmoothing,
}


def _smoothing(reduction: Reduction, dim: int) -> core_rates.Smoothing:
    """Return the exploration radii; without exploration these are 0."""
    if not isinstance(reduction, reductions.OnePoint | reductions.TwoPoint):
        return core_rates.Smoothing(0.0)
    schedule, inner = reduction.schedule, exploration_radius(reduction)
    if isinstance(schedule, smoothing.Custom):
        return core_user.UserExploration(inner, schedule.function)
    kind = _SMOOTHINGS[type(schedule)]
    return kind(inner, schedule.breadth(dim, inner), schedule.horizon or 0)


def _wrapper(
    spec: Reduction | Wrapper, tickets: core_tickets.Tickets, column: int, seed: int
) -> core_feedback.Wrapper:
    """Return what gives up on answers; ``column`` is the first of a record that is free."""
    if isinstance(spec, reductions.Skip):
        return core_feedback.Skip(tickets, spec.forget)
    if isinstance(spec, reductions.Deadline):
        return core_feedback.Deadline(tickets, spec.rounds, spec.forget)
    if not isinstance(spec, reductions.Capacity):
        return core_feedback.Wrapper(tickets)
    if spec.backlog is None:
        gap = reductions.thinning_gap(spec.tickets)
        return core_feedback.Thinning(tickets, spec.tickets, gap, column, seed)
    chance = reductions.coin_chance(spec.tickets, spec.backlog)
    return core_feedback.Coins(tickets, spec.tickets, chance, seed)


def numbers_kept(spec: LearnerSpec) -> int:
    """Return how many numbers a learner will keep as points of the past, and in matrices."""
    if isinstance(spec, Method):
        base = getattr(spec, "base", None)
        return numbers_kept(base) if isinstance(base, Reduction) else spec.own_numbers
    base = inner_of(spec).base
    if isinstance(base, bases.Portfolio):
        count = len(base.members)
        return int(records_for(base.reach)) * (count * (base.domain.dim + 2) + 1)
    if isinstance(base, bases.Leader):
        return int(records_for(base.reach)) * (base.domain.dim + 1)
    return 0
