"""Gradients of strongly convex losses: ``Leader``, and P-FTRL and OMD with falling rates."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from belated import rates
from belated.arrays import Floats
from belated.bounds.bound import Bound, scale_of, split
from belated.bounds.play import ways
from belated.errors import SpecError
from belated.spec import positive, whole
from belated.timeline import Timeline


def leader(
    timeline: Timeline, *, lipschitz: float, curvature: float, diameter: float, reach: int = 61_440
) -> Bound:
    """The guarantee of ``Leader`` for gradients of strongly convex losses.

    (3 G^2 / lambda) (sum_n 1/n + sum_n s*_n / n) + lambda D sum_n min(D, way_n / 2), way_n the sum
    of 3 G / (lambda m) over the moves between the two points kept around the n-th play, without
    end beyond ``reach``.

    Differs from the paper: ``Leader`` is ours, after Qiu, Esposito and Zhang; see its docstring for
    the proof.

    >>> late = Timeline.from_delays([0])
    >>> leader(late, lipschitz=1.0, curvature=1.0, diameter=2.0).total
    3.0
    """
    scale = scale_of("leader", lipschitz, diameter)
    strength = positive("leader", "curvature", curvature)
    rates.check_curvature("leader", strength, diameter, lipschitz)
    known = whole("leader", "reach", reach)

    def value(late: Timeline) -> float:
        numbers = np.arange(1, late.rounds + 1)
        moves: Floats = 3.0 * lipschitz / (strength * numbers.astype(np.float64))
        waiting = late.dual_backlog[late.order]
        away = np.minimum(diameter, 0.5 * ways(late, moves, known))
        misread = strength * diameter * float(np.sum(away))
        return lipschitz * float(np.sum(moves * (1 + waiting))) + misread

    return split("Leader's guarantee", timeline, value, scale)


_BASES = {"pftrl": "P-FTRL", "omd": "OMD"}


def corollary_5_4(
    timeline: Timeline,
    *,
    lipschitz: float,
    curvature: float,
    base: Literal["pftrl", "omd"] = "pftrl",
    diameter: float | None = None,
) -> Bound:
    """Corollary 5.4, for gradients of strongly convex losses and ``rates.StronglyConvex``.

    P-FTRL: (9 G^2 / lambda) (min{sigma_max ln(e T), 2 sqrt(d_tot)} + ln(e T)).
    OMD: (3 G^2 / lambda) (sigma_max + 1) ln(e T).
    ``diameter`` only tells when the bound is vacuous; it is 2 G / lambda unless given (Fact B.1).

    Differs from the paper: ln(e T), as in its proof, in place of ln T, which is 0 for T = 1.

    >>> late = Timeline.from_delays([0])
    >>> corollary_5_4(late, lipschitz=1.0, curvature=1.0).total
    9.0
    >>> corollary_5_4(late, lipschitz=1.0, curvature=1.0, base="omd").total
    3.0
    """
    gain = positive("corollary_5_4", "lipschitz", lipschitz) ** 2 / positive(
        "corollary_5_4", "curvature", curvature
    )
    if base not in _BASES:
        raise SpecError(f"corollary_5_4: base is 'pftrl' or 'omd', got {base!r}")
    width = 2.0 * lipschitz / curvature if diameter is None else diameter
    rates.check_curvature("corollary_5_4", curvature, width, lipschitz)

    def value(late: Timeline) -> float:
        logarithm = _log(late.rounds)
        if base == "omd":
            return 3.0 * gain * (late.max_backlog + 1) * logarithm
        return 9.0 * gain * (_waiting(late) + logarithm)

    scale = scale_of("corollary_5_4", lipschitz, width)
    return split("Corollary 5.4", timeline, value, scale, f"for {_BASES[base]}")


def _log(rounds: int) -> float:
    """Return ln(e T)."""
    return 1.0 + math.log(rounds)


def _waiting(timeline: Timeline) -> float:
    """Return min{sigma_max ln(e T), 2 sqrt(d_tot)}, a bound on sum_n d*_n / n (Fact C.4)."""
    smooth = timeline.max_backlog * _log(timeline.rounds)
    return min(smooth, 2.0 * math.sqrt(timeline.total_delay))
