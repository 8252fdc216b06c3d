"""Gradients, P-FTRL or OMD, and any rates that do not depend on the gradients."""

from __future__ import annotations

import numpy as np

from belated import rates
from belated.bases import OMD, PFTRL, Base
from belated.bounds.bound import Bound, split
from belated.bounds.play import Play
from belated.errors import SpecError
from belated.reductions import FirstOrder
from belated.spec import number, positive
from belated.timeline import Timeline


def theorem_e_1(
    timeline: Timeline, *, base: PFTRL, lipschitz: float | None = None, curvature: float = 0.0
) -> Bound:
    """Theorem E.1: P-FTRL with any rates that do not depend on the gradients.

    Convex: D^2 / (2 eta_T) + G^2 sum_n eta_n (s*_n + 1). With ``curvature`` lambda:
    sum_n (1/eta_n - 1/eta_{n-1} - lambda)_+ D^2 / 2 + 3 G^2 sum_n eta_n (d*_n + 1) + 3 G D H,
    H = sum_n (1 - eta_n / eta_{n - d*_n}). G is that of the base's rate unless given.

    Differs from the paper: |z_n - u|^2 is bounded by D^2, its factor by the positive part.

    >>> from belated import Ball
    >>> base = PFTRL(Ball(2), rates.Constant(0.1, lipschitz=1.0))
    >>> round(theorem_e_1(Timeline.from_delays([1, 0, 0, 0]), base=base).delay, 9)
    0.1
    """
    return _theorem_e("Theorem E.1", PFTRL, timeline, base, lipschitz, curvature)


def theorem_e_2(
    timeline: Timeline, *, base: OMD, lipschitz: float | None = None, curvature: float = 0.0
) -> Bound:
    """Theorem E.2: OMD with any rates that do not depend on the gradients.

    Convex: D^2 / (2 eta_T) + G^2 sum_n eta_n (s*_n + 1). With ``curvature`` lambda:
    sum_n (1/eta_n - 1/eta_{n-1} - lambda)_+ D^2 / 2 + 3 G^2 sum_n eta_n (s*_n + 1). Under the
    entropy mirror D^2 / 2 is the largest divergence (Theorem D.4), and losses must be convex only.

    Differs from the paper: |z_n - u|^2 is bounded by D^2, its factor by the positive part.

    >>> from belated import Ball
    >>> base = OMD(Ball(2), rates.StronglyConvex(1.0, lipschitz=2.0))
    >>> theorem_e_2(Timeline.from_delays([0, 0]), base=base, curvature=1.0).total
    18.0
    """
    return _theorem_e("Theorem E.2", OMD, timeline, base, lipschitz, curvature)


def _theorem_e(
    name: str,
    kind: type[Base],
    timeline: Timeline,
    base: Base,
    lipschitz: float | None,
    curvature: float,
) -> Bound:
    """Theorems E.1 and E.2, which differ in the drift of the strongly convex case only."""
    who = name.lower().replace(" ", "_").replace(".", "_")
    _check_base(who, kind, base, curvature)
    if lipschitz is None and base.rate.lipschitz is None:
        raise SpecError(f"{who}: no bound on the gradients is known; give lipschitz=...")
    bound = positive(who, "lipschitz", base.rate.lipschitz if lipschitz is None else lipschitz)
    bend = number(who, "curvature", curvature)
    rates.check_curvature(who, bend, base.width, bound)
    spec = FirstOrder(base)

    diameter = base.diameter

    def value(late: Timeline) -> float:
        play = Play(late, spec)
        growth = np.diff(1.0 / play.etas, prepend=0.0)
        if not bend:
            drift = bound**2 * play.weigh(play.open_lags + 1)
            return diameter**2 / (2.0 * play.last) + drift
        start = float(np.sum(np.maximum(growth - bend, 0.0))) * diameter**2 / 2.0
        if kind is OMD:
            return start + 3.0 * bound**2 * play.weigh(play.open_lags + 1)
        drift = 3.0 * bound**2 * play.weigh(play.lags + 1)
        return start + drift + 3.0 * bound * diameter * play.misalignment

    return split(name, timeline, value, bound * base.width)


def _check_base(who: str, kind: type[Base], base: Base, curvature: float) -> None:
    """Refuse bases to which Theorems E.1 and E.2 do not apply."""
    if not isinstance(base, kind):
        raise SpecError(f"{who}: base must be {kind.kind}, got {getattr(base, 'kind', base)!r}")
    if isinstance(base.rate, rates.GradientAdaptive):
        raise SpecError(
            f"{who}: rates.GradientAdaptive depends on the gradients; use gradient_adaptive"
        )
    if curvature < 0.0:
        raise SpecError(f"{who}: curvature must not be negative, got {curvature!r}")
    if curvature and isinstance(base, OMD) and base.mirror == "entropy":
        raise SpecError(f"{who}: the strongly convex case needs Euclidean distances, not entropy")
