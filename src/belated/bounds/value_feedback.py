"""One or two values per round, P-FTRL, any steps and radii that do not depend on the values."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from belated.arrays import Floats, Ints
from belated.bases import PFTRL
from belated.bounds.bound import Bound, split
from belated.bounds.play import Play
from belated.bounds.values import EXPECTED, two_point_constant
from belated.domains import Domain
from belated.errors import SpecError
from belated.reductions import OnePoint, TwoPoint
from belated.spec import positive
from belated.timeline import Timeline


def theorem_e_3(timeline: Timeline, *, spec: OnePoint, lipschitz: float | None = None) -> Bound:
    """Theorem E.3: ``OnePoint`` over P-FTRL with any steps and radii, for convex losses.

    D^2 / (2 eta_T) + sum_n eta_n (V_n / 2 + G^2 d*_n + G sqrt(sum of V_m over the d*_n arrivals
    before n)) + G D H + 6 G R delta_tot / r, in expectation, where V_n = (k M / delta_n)^2 bounds
    the square of the n-th estimate (2 M with a baseline) and H is that of ``corollary_5_7``. G is
    that of the rate unless given.

    Differs from the paper: its Lemma E.4 puts 4 (G^2 d*_n + (k M / delta'_n)^2) in the place of
    the last two summands, and Theorem E.3 has V_n for V_n / 2. What stands here is the line of the
    proof before: estimates are uncorrelated, so the square of their sum is that of their squares.

    >>> from belated import Ball, rates, smoothing
    >>> base = PFTRL(Ball(1), rates.Constant(0.01, lipschitz=1.0))
    >>> spec = OnePoint(base, 1.0, smoothing.Constant(0.5))
    >>> theorem_e_3(Timeline.from_delays([0] * 100), spec=spec).total
    502.0
    """
    if not isinstance(spec, OnePoint) or not isinstance(spec.base, PFTRL):
        raise SpecError(f"theorem_e_3: spec must be a OnePoint over a PFTRL, got {spec!r}")
    largest = spec.base.domain.dim * spec.magnitude * (2.0 if spec.baseline else 1.0)
    return _any_steps("Theorem E.3", timeline, spec, lipschitz, lambda radii, _: largest / radii)


def theorem_g_5(timeline: Timeline, *, spec: TwoPoint, lipschitz: float | None = None) -> Bound:
    """Theorem G.5: ``TwoPoint`` over P-FTRL with any steps and radii, for convex losses.

    ``theorem_e_3`` with V_n = c k G^2, c = k / (k - 1), or 1 for k = 1, in expectation.

    Differs from the paper: as ``theorem_e_3`` does, and in the 6 of the last term for its 7.

    >>> from belated import Ball, rates, smoothing
    >>> base = PFTRL(Ball(1), rates.Constant(0.01, lipschitz=1.0))
    >>> spec = TwoPoint(base, smoothing.Constant(0.01))
    >>> round(theorem_g_5(Timeline.from_delays([0] * 100), spec=spec).total, 6)
    206.5
    """
    if not isinstance(spec, TwoPoint) or not isinstance(spec.base, PFTRL):
        raise SpecError(f"theorem_g_5: spec must be a TwoPoint over a PFTRL, got {spec!r}")
    dim = spec.base.domain.dim
    size = math.sqrt(two_point_constant(dim) * dim)
    return _any_steps(
        "Theorem G.5",
        timeline,
        spec,
        lipschitz,
        lambda radii, steep: np.full_like(radii, size * steep),
    )


def _any_steps(
    name: str,
    timeline: Timeline,
    spec: OnePoint | TwoPoint,
    lipschitz: float | None,
    root: Callable[[Floats, float], Floats],
) -> Bound:
    """Theorems E.3 and G.5; ``root`` bounds the size of estimates by their radii and G."""
    base = spec.base
    assert isinstance(base, PFTRL)  # checked by both
    known = base.rate.lipschitz if lipschitz is None else lipschitz
    who = name.lower().replace(" ", "_").replace(".", "_")
    if known is None:
        raise SpecError(f"{who}: no bound on the gradients is known; give lipschitz=...")
    steep, diameter = positive(who, "lipschitz", known), base.domain.diameter

    def value(late: Timeline) -> float:
        play = Play(late, spec)
        squares = root(play.radii[late.order], steep) ** 2
        walked = np.sqrt(_before(squares, play.lags))
        each = squares / 2.0 + steep * (steep * play.lags + walked)
        learning = diameter**2 / (2.0 * play.last) + play.weigh(each)
        return learning + steep * (diameter * play.misalignment + 6.0 * play.bias)

    return split(name, timeline, value, steep * diameter, EXPECTED)


def tight_one_point(
    timeline: Timeline,
    *,
    domain: Domain,
    lipschitz: float,
    magnitude: float,
    horizon: int | None = None,
) -> Bound:
    """Theorem E.3 for ``OnePoint.tight``: about a third of Corollary 5.7, in expectation.

    >>> from belated import Ball
    >>> late, known = Timeline.from_delays([5] * 1000), {"lipschitz": 1.0, "magnitude": 1.0}
    >>> from belated.bounds import corollary_5_7
    >>> usual = corollary_5_7(late, domain=Ball(2), **known).total
    >>> round(tight_one_point(late, domain=Ball(2), **known).total / usual, 2)
    0.37
    """
    spec = OnePoint.tight(domain, lipschitz, magnitude, horizon)
    return theorem_e_3(timeline, spec=spec)


def _before(squares: Floats, lags: Ints) -> Floats:
    """Return, by arrival, the sum over as many arrivals before it as its lag says."""
    total = np.concatenate([[0.0], np.cumsum(squares)])
    newest = np.arange(squares.size)
    sums: Floats = np.maximum(total[newest] - total[newest - lags], 0.0)
    return sums
