"""One or two values of a loss per round, in expectation over the exploration directions."""

from __future__ import annotations

from belated import rates, smoothing
from belated.bases import PFTRL
from belated.bounds.bound import Bound, split
from belated.bounds.play import Play
from belated.domains import Domain
from belated.reductions import OnePoint, TwoPoint
from belated.timeline import Timeline


def corollary_5_7(
    timeline: Timeline,
    *,
    domain: Domain,
    lipschitz: float,
    magnitude: float,
    horizon: int | None = None,
) -> Bound:
    """Corollary 5.7, for one value of a convex loss per round, in expectation.

    D^2 / eta_T + 5 G^2 sum_n eta_n (d*_n + (k M / (G delta'_n))^2) + G D H + 6 G R delta_tot / r,
    H = sum_n (1 - eta_n / eta_{n - d*_n}), for ``OnePoint`` over P-FTRL with
    ``rates.DelayAdaptive`` and ``smoothing.Convex``, fixed at its last radius if ``horizon`` is
    given. It is O(G D (sqrt(d_tot) + T^(3/4) sqrt(nu k))) with nu = M / (G r), but with constants
    that make it vacuous below about 10^5 rounds.

    Differs from the paper: the last term has the outer radius R, as in Theorem 5.6, where the proof
    writes D, which is no smaller.

    >>> from belated import Ball
    >>> late = Timeline.from_delays([0] * 100)
    >>> corollary_5_7(late, domain=Ball(2), lipschitz=1.0, magnitude=1.0).vacuous
    True
    """
    spec = one_point(rates.DelayAdaptive(lipschitz), domain, magnitude, smoothing.Convex, horizon)
    noise = domain.dim * magnitude / lipschitz

    def value(late: Timeline) -> float:
        play = Play(late, spec)
        spread = play.weigh(play.lags + (noise / play.late_radii) ** 2)
        learning = domain.diameter**2 / play.last + 5.0 * lipschitz**2 * spread
        return learning + lipschitz * (domain.diameter * play.misalignment + 6.0 * play.bias)

    return split("Corollary 5.7", timeline, value, lipschitz * domain.diameter, EXPECTED)


def corollary_5_8(
    timeline: Timeline,
    *,
    domain: Domain,
    lipschitz: float,
    curvature: float,
    magnitude: float,
    horizon: int | None = None,
) -> Bound:
    """Corollary 5.8, for one value of a strongly convex loss per round, in expectation.

    13 G^2 sum_n eta_n (d*_n + (k M / (G delta'_n))^2) + 3 G D H + 10 G R delta_tot / r, for
    ``OnePoint`` over P-FTRL with ``rates.StronglyConvex`` and ``smoothing.StronglyConvex``.

    Differs from the paper: the smoothing has ln(e t) in place of ln t, which is 0 in the first
    round; the last term has the outer radius R, as in Theorem 5.6, where the proof writes D.

    >>> from belated import Ball
    >>> late = Timeline.from_delays([0] * 100)
    >>> bound = corollary_5_8(late, domain=Ball(1), lipschitz=2.0, curvature=1.0, magnitude=1.0)
    >>> bound.delay
    0.0
    """
    rate = rates.StronglyConvex(curvature, lipschitz)
    rates.check_curvature("corollary_5_8", curvature, domain.diameter, lipschitz)
    spec = one_point(rate, domain, magnitude, smoothing.StronglyConvex, horizon)
    noise = domain.dim * magnitude / lipschitz

    def value(late: Timeline) -> float:
        play = Play(late, spec)
        spread = play.weigh(play.lags + (noise / play.late_radii) ** 2)
        drift = 3.0 * domain.diameter * play.misalignment
        return 13.0 * lipschitz**2 * spread + lipschitz * (drift + 10.0 * play.bias)

    return split("Corollary 5.8", timeline, value, lipschitz * domain.diameter, EXPECTED)


def corollary_g_3(
    timeline: Timeline, *, domain: Domain, lipschitz: float, horizon: int | None = None
) -> Bound:
    """Corollary G.3, for two values of a convex loss per round, in expectation.

    D^2 / eta_T + 5 (c + 1) G^2 sum_n eta_n (d*_n + k) + G D H + 6 G R delta_tot / r with
    c = k / (k - 1), or 1 for k = 1, for ``TwoPoint`` over P-FTRL with ``rates.DelayAdaptive`` and
    ``smoothing.InverseRoot``. It is O(G D (sqrt(d_tot) + sqrt(T k))).

    Differs from the paper: c, left open there, comes from Poincare's inequality on the sphere;
    6 stands for its 7, which counts one G delta twice; R stands for D, as in Theorem G.2.

    >>> from belated import Ball
    >>> late = Timeline.from_delays([0] * 4000)
    >>> corollary_g_3(late, domain=Ball(2), lipschitz=1.0).vacuous
    False
    """
    rate = rates.DelayAdaptive(lipschitz)
    spec = TwoPoint(PFTRL(domain, rate), smoothing.InverseRoot(horizon))
    shape = 5.0 * (two_point_constant(domain.dim) + 1.0)

    def value(late: Timeline) -> float:
        play = Play(late, spec)
        learning = shape * lipschitz**2 * play.weigh(play.lags + float(domain.dim))
        start = domain.diameter**2 / play.last
        drift = domain.diameter * play.misalignment
        return start + learning + lipschitz * (drift + 6.0 * play.bias)

    return split("Corollary G.3", timeline, value, lipschitz * domain.diameter, EXPECTED)


def corollary_g_4(
    timeline: Timeline,
    *,
    domain: Domain,
    lipschitz: float,
    curvature: float,
    horizon: int | None = None,
) -> Bound:
    """Corollary G.4, for two values of a strongly convex loss per round, in expectation.

    13 (c + 1) G^2 sum_n eta_n (d*_n + k) + 3 G D H + 10 G R delta_tot / r with c = k / (k - 1), or
    1 for k = 1, for ``TwoPoint`` over P-FTRL with ``rates.StronglyConvex`` and
    ``smoothing.Inverse``.

    Differs from the paper: c, left open there, comes from Poincare's inequality on the sphere;
    10 stands for its 11, which counts one G delta twice; R stands for D, as in Theorem G.2.

    >>> from belated import Ball
    >>> late = Timeline.from_delays([0])
    >>> corollary_g_4(late, domain=Ball(1), lipschitz=1.0, curvature=1.0).total
    36.0
    """
    rate = rates.StronglyConvex(curvature, lipschitz)
    rates.check_curvature("corollary_g_4", curvature, domain.diameter, lipschitz)
    spec = TwoPoint(PFTRL(domain, rate), smoothing.Inverse(horizon))
    shape = 13.0 * (two_point_constant(domain.dim) + 1.0)

    def value(late: Timeline) -> float:
        play = Play(late, spec)
        learning = shape * lipschitz**2 * play.weigh(play.lags + float(domain.dim))
        drift = 3.0 * domain.diameter * play.misalignment
        return learning + lipschitz * (drift + 10.0 * play.bias)

    return split("Corollary G.4", timeline, value, lipschitz * domain.diameter, EXPECTED)


EXPECTED = "in expectation over the exploration directions"
"""The note of all these bounds."""


def one_point(
    rate: rates.Rate,
    domain: Domain,
    magnitude: float,
    schedule: type[smoothing.Convex | smoothing.StronglyConvex],
    horizon: int | None,
) -> OnePoint:
    """Return the composition of Corollaries 5.7 and 5.8."""
    spec = OnePoint(PFTRL(domain, rate), magnitude)
    if horizon is None:
        return spec
    assert rate.lipschitz is not None and domain.inner_radius  # checked at construction
    ratio = spec.magnitude / (rate.lipschitz * domain.inner_radius)
    return OnePoint(spec.base, magnitude, schedule(ratio, horizon))


def two_point_constant(dim: int) -> float:
    """Return c with E|estimate|^2 <= c k G^2 (Lemma G.1)."""
    return dim / (dim - 1.0) if dim > 1 else 1.0
