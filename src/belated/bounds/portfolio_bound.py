"""Gradients of convex losses and a ``Portfolio``."""

from __future__ import annotations

import numpy as np

from belated import rates
from belated.bases import OMD, PFTRL, DualAveraging, Portfolio
from belated.bounds.bound import Bound, split
from belated.bounds.play import Play, ways
from belated.errors import SpecError
from belated.reductions import FirstOrder
from belated.spec import positive
from belated.timeline import Timeline


def portfolio(timeline: Timeline, *, base: Portfolio, lipschitz: float | None = None) -> Bound:
    """The guarantee of ``Portfolio`` for gradients of convex losses, before any is seen.

    (1 + leash) (D^2 / (2 eta_T) + G^2 sum_n eta_n (s*_n + 1/2)) + G sum_n min(2 D, way_n)
    + G D (1 + max_{m<=n} (s*_n - s*_m)), eta_n being the rates of the anchor, which must depend on
    counts only; way_n is the sum of G eta over the moves between the two points kept around the
    n-th play, or D if more than ``base.reach`` other answers came first. G is what the members were
    told, unless given. If that is more than they were told, max s* stands for the last maximum; if
    it is less, the leash still goes by what they were told.

    Differs from the paper: the portfolio is ours; docs/paper.md has the proof.

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
    anchor = None if base.anchor is None else base.members[base.anchor]
    if anchor is None or isinstance(anchor.rate, _FOLLOWING):
        raise SpecError(
            "portfolio: no member has a bound in advance; add a PFTRL with rates.DelayAdaptive or "
            "rates.Tight"
        )
    diameter = base.domain.diameter
    told = base.rate.lipschitz or 0.0

    def value(late: Timeline) -> float:
        own, misread = _member(late, anchor, given, base.reach)
        leashed = own if told <= given else _member(late, anchor, told, base.reach)[0]
        waiting = late.dual_backlog[late.order]
        lowest = np.minimum.accumulate(waiting) if given <= told else 0
        jump = 1 + int(np.max(waiting - lowest))
        return own + base.leash * leashed + misread + given * diameter * jump

    return split("Portfolio's guarantee", timeline, value, given * diameter)


_FOLLOWING = (rates.GradientAdaptive, rates.StronglyConvex)
"""Rates without a bound in advance on linear costs that they do not know."""


def _member(
    late: Timeline, base: PFTRL | OMD | DualAveraging, lipschitz: float, reach: int
) -> tuple[float, float]:
    """Return what Theorem 4.1 allows a member, and twice the most that it is charged too much."""
    play = Play(late, FirstOrder(base))
    diameter = base.domain.diameter
    own = diameter**2 / (2.0 * play.last) + lipschitz**2 * play.weigh(play.open_lags + 0.5)
    way = ways(late, lipschitz * play.etas, reach)
    most = np.where(np.isinf(way), diameter, np.minimum(2.0 * diameter, way))
    return own, lipschitz * float(np.sum(most))
