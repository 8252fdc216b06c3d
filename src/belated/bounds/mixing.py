"""Gradients of convex losses and a ``Portfolio``."""

from __future__ import annotations

import math

import numpy as np

from belated import rates
from belated.bases import OMD, PFTRL, Portfolio
from belated.bounds.bound import Bound, split
from belated.bounds.play import Play, ways
from belated.errors import SpecError
from belated.reductions import FirstOrder
from belated.spec import positive
from belated.timeline import Timeline


def portfolio(timeline: Timeline, *, base: Portfolio, lipschitz: float | None = None) -> Bound:
    """The guarantee of ``Portfolio`` for gradients of convex losses, before any is seen.

    min_j {D^2 / (2 eta_T) + G^2 sum_n eta_n (s*_n + 1) + G sum_n min(2 D, way_n)}
    + 3 sqrt(2) L sqrt(T / 2 + d_tot) + 2 sqrt(2) L (max dual backlog + 1), L = G D sqrt(members),
    over the members j that are P-FTRL or OMD with rates that depend on counts only; way_n is the
    sum of G eta over the moves between the two points kept around the n-th play, or D if more than
    ``base.reach`` other answers came first. G is what the members were told, unless given.

    Differs from the paper: the portfolio is ours; see its docstring for the proof.

    >>> from belated import Ball
    >>> ball = Ball(2)
    >>> base = Portfolio([OMD(ball, rates.InverseRoot(1.0)), PFTRL(ball, rates.Tight(1.0))])
    >>> portfolio(Timeline.from_delays([0] * 10_000), base=base).vacuous
    False
    """
    known = base.rate.lipschitz if lipschitz is None else lipschitz
    if known is None:
        raise SpecError("portfolio: needs the gradient bound: give lipschitz here or to a member")
    given = positive("portfolio", "lipschitz", known)
    members = [
        each
        for each in base.members
        if isinstance(each, PFTRL | OMD) and not isinstance(each.rate, _FOLLOWING)
    ]
    if not members:
        raise SpecError(
            "portfolio: no member has a bound in advance; add a PFTRL with rates.DelayAdaptive or "
            "rates.Tight"
        )
    diameter = base.domain.diameter
    largest = given * diameter * math.sqrt(len(base.members))

    def value(late: Timeline) -> float:
        backlog = int(late.dual_backlog.max(initial=0)) + 1
        spread = 3.0 * math.sqrt(0.5 * late.rounds + late.total_delay) + 2.0 * backlog
        best = min(_member(late, each, given, base.reach) for each in members)
        return best + math.sqrt(2.0) * largest * spread

    return split("Portfolio's guarantee", timeline, value, given * diameter)


_FOLLOWING = (rates.GradientAdaptive, rates.StronglyConvex)
"""Rates without a bound in advance on linear costs that they do not know."""


def _member(late: Timeline, base: PFTRL | OMD, lipschitz: float, reach: int) -> float:
    """Theorem E.1 or E.2 for a member, and the most that it is charged too much, twice."""
    play = Play(late, FirstOrder(base))
    own = base.domain.diameter**2 / (2.0 * play.last) + lipschitz**2 * play.weigh(
        play.open_lags + 1
    )
    diameter = base.domain.diameter
    way = ways(late, lipschitz * play.etas, reach)
    most = np.where(np.isinf(way), diameter, np.minimum(2.0 * diameter, way))
    return own + lipschitz * float(np.sum(most))
