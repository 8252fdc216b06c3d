"""At most so many tickets are tracked: what that adds to a guarantee."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from belated import rates, smoothing
from belated.arrays import Floats
from belated.bases import PFTRL, Base
from belated.bounds.any_rates import theorem_e_1, theorem_e_2
from belated.bounds.bound import Bound, split
from belated.bounds.convex import corollary_5_3, gradient_adaptive, tight
from belated.bounds.play import Play
from belated.bounds.values import corollary_5_7, corollary_g_3, one_point, two_point_constant
from belated.domains import Domain
from belated.errors import SpecError
from belated.reductions import OnePoint, TwoPoint, coin_chance, thinning_gap
from belated.spec import whole
from belated.timeline import Timeline


def capacity(
    timeline: Timeline,
    tickets: int,
    result: Callable[..., Bound],
    *,
    backlog: int | None = None,
    **constants: Any,
) -> Bound:
    """The bound of a result where ``Capacity`` tracks at most ``tickets`` tickets, on average.

    ``result`` and ``constants`` are as in ``corollary_6_2``; the average is over what is drawn, for
    losses and delays that are fixed before. With w_t the weight of the answer to round t, which is
    at most max{1, (d_t + 1) / B}, or 1 / p under a ``backlog``:

    * ``corollary_5_3``: 3 G D sqrt(sum w_t + d_tot);
    * ``tight``: 2 G D sqrt(sum w_t / 2 + d_tot);
    * ``gradient_adaptive``: the same, as every gradient may be as large as G;
    * ``theorem_e_1``, ``theorem_e_2`` with ``rates.Constant``, for convex losses:
      D^2 / (2 eta) + eta G^2 (sum w_t / 2 + d_tot);
    * ``corollary_5_7``, ``corollary_g_3``, under a ``backlog`` only: a G D sqrt(V / p + d_tot)
      + (G D C / p) ln(p V + p^2 d_tot) + 6 G R delta_tot / r, where a = 11 and
      V = T + sum (k M / (G delta'_n))^2, or for two values a = 1 + 10 (c + 1) and V = k T.

    Each has ``skipped`` beside it: G D times the chance that C tickets are tracked already, for
    every round with a backlog of C or more. That is at most (sqrt(e) / 2)^C, as C / 2 tickets are
    expected; under a ``backlog`` (e m / C)^C e^-m with m = p times the backlog of the round, which
    needs no H that holds.

    Differs from the paper: see ``Capacity``. For values it is Theorem 5.6 or G.2 for the tracked
    rounds alone, whose losses are 1 / p times the true ones; sum eta_n d*_n <= sum eta_n s*_n, and
    H <= C ln(Q_N / Q_1) with Q_n the sum under the root of the rate, as at most C windows pass over
    an arrival.

    >>> late = Timeline.from_delays([100] * 10_000)
    >>> print(capacity(late, 400, tight, lipschitz=1.0, diameter=1.0))
    Capacity of 400 over Corollary 5.3 with the tight rate: 2,019 = learning 141.4 + delay 1,878,
    14.3 times the price without delay
      on average over which tickets are tracked
    """
    most = whole("capacity", "tickets", tickets)
    waiting = None if backlog is None else whole("capacity", "backlog", backlog, least=0)
    if result not in _FORMULAS:
        what = getattr(result, "__name__", repr(result))
        raise SpecError(
            f"capacity: a capacity is not implemented for {what}; use a result for gradients or "
            "values of convex losses"
        )
    plain = result(timeline, **constants)  # refuses what does not fit together
    value = _FORMULAS[result](_Tracker(most, waiting), **constants)
    scale = plain.trivial / timeline.rounds if timeline.rounds else 0.0
    note = _AVERAGE + (" and over exploration directions" if result in _OF_VALUES else "")
    found = split(f"Capacity of {most:,} over {plain.name}", timeline, value, scale, note)
    return dataclasses.replace(found, skipped=scale * _Tracker(most, waiting).full(timeline))


_AVERAGE = "on average over which tickets are tracked"


@dataclasses.dataclass(frozen=True)
class _Tracker:
    """The effect of a capacity on a timeline, on average."""

    tickets: int
    backlog: int | None

    @property
    def chance(self) -> float:
        """p, where coins are tossed."""
        return 1.0 if self.backlog is None else coin_chance(self.tickets, self.backlog)

    def weights(self, late: Timeline) -> Floats:
        """Return w_t, by round: 1 over the chance that an answer finds its ticket tracked."""
        if self.backlog is not None:
            return np.full(late.rounds, 1.0 / self.chance)
        gap = thinning_gap(self.tickets)
        issued = np.arange(late.rounds)
        newest = issued + late.delay
        looked = newest - newest % gap
        ahead = np.exp2(np.ceil(np.log2(looked + gap)))
        limit = (0.5 * self.tickets - gap + 1.0) / (1.0 + np.log(ahead))
        weights: Floats = np.maximum(1.0, (np.maximum(looked - issued, 0) + 1) / limit)
        return weights

    def full(self, late: Timeline) -> float:
        """Return the most rounds that are expected to find no place (Chernoff)."""
        crowded = late.backlog[late.backlog >= self.tickets]
        mean = np.full(crowded.size, 0.5 * self.tickets)
        if self.backlog is not None:
            mean = np.minimum(self.tickets, self.chance * crowded)
        return float(np.sum((math.e * mean / self.tickets) ** self.tickets * np.exp(-mean)))

    def spread(self, late: Timeline, share: float) -> float:
        """Return share times sum of w_t, and d_tot."""
        return share * float(np.sum(self.weights(late))) + late.total_delay


Value = Callable[[Timeline], float]


def _corollary_5_3(tracker: _Tracker, *, lipschitz: float, diameter: float) -> Value:
    return lambda late: 3.0 * lipschitz * diameter * math.sqrt(tracker.spread(late, 1.0))


def _tight(tracker: _Tracker, *, lipschitz: float, diameter: float, norms: object = None) -> Value:
    return lambda late: 2.0 * lipschitz * diameter * math.sqrt(tracker.spread(late, 0.5))


def _theorem_e(
    tracker: _Tracker, *, base: Base, lipschitz: float | None = None, curvature: float = 0.0
) -> Value:
    if not isinstance(base.rate, rates.Constant) or curvature:
        raise SpecError(
            "capacity: Theorems E.1 and E.2 need rates that are fixed before, and convex losses: "
            f"rates.Constant and curvature=0, got {base.rate.kind} and curvature={curvature!r}"
        )
    step, steepest = base.rate.step, lipschitz or base.rate.lipschitz
    assert steepest is not None  # or the plain result had been refused
    start = base.diameter**2 / (2.0 * step)
    return lambda late: start + step * steepest**2 * tracker.spread(late, 0.5)


def _corollary_5_7(
    tracker: _Tracker,
    *,
    domain: Domain,
    lipschitz: float,
    magnitude: float,
    horizon: int | None = None,
) -> Value:
    rate = rates.DelayAdaptive(lipschitz)
    spec = one_point(rate, domain, magnitude, smoothing.Convex, horizon)
    noise = domain.dim * magnitude / lipschitz
    return _of_values(
        tracker, spec, 11.0, lambda play: 1.0 + (noise / play.late_radii) ** 2, lipschitz
    )


def _corollary_g_3(
    tracker: _Tracker, *, domain: Domain, lipschitz: float, horizon: int | None = None
) -> Value:
    spec = TwoPoint(PFTRL(domain, rates.DelayAdaptive(lipschitz)), smoothing.InverseRoot(horizon))
    shape = 1.0 + 10.0 * (two_point_constant(domain.dim) + 1.0)
    return _of_values(
        tracker, spec, shape, lambda play: np.full(play.etas.size, float(domain.dim)), lipschitz
    )


def _of_values(
    tracker: _Tracker,
    spec: OnePoint | TwoPoint,
    shape: float,
    noise: Callable[[Play], Floats],
    lipschitz: float,
) -> Value:
    """Return the bound for values of tracked rounds, whose losses are 1 / p times the true ones."""
    if tracker.backlog is None:
        raise SpecError(
            "capacity: for values the guarantee is that of coins; give backlog=, the most answers "
            "that can be missing at any time"
        )
    p, diameter = tracker.chance, spec.base.domain.diameter  # type: ignore[union-attr]  # ours

    def value(late: Timeline) -> float:
        play = Play(late, spec)
        rough, waiting = float(np.sum(noise(play))), float(late.total_delay)
        learned = shape * math.sqrt(rough / p + waiting)
        uneven = tracker.tickets / p * math.log(max(1.0, p * rough + p * p * waiting))
        return lipschitz * (diameter * (learned + uneven) + 6.0 * play.bias)

    return value


_FORMULAS: dict[Callable[..., Bound], Callable[..., Value]] = {
    corollary_5_3: _corollary_5_3,
    tight: _tight,
    gradient_adaptive: _tight,
    theorem_e_1: _theorem_e,
    theorem_e_2: _theorem_e,
    corollary_5_7: _corollary_5_7,
    corollary_g_3: _corollary_g_3,
}
_OF_VALUES = (corollary_5_7, corollary_g_3)
