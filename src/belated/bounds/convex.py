"""Gradients of convex losses, with the rates of Corollary 5.3 and its variants."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from belated.arrays import Floats
from belated.bounds.bound import Bound, scale_of, split
from belated.errors import SpecError
from belated.rates import SLACK
from belated.timeline import Timeline


def corollary_5_3(timeline: Timeline, *, lipschitz: float, diameter: float) -> Bound:
    """Corollary 5.3: regret <= 3 G D sqrt(T + d_tot).

    For gradients of convex losses, P-FTRL or OMD, and ``rates.DelayAdaptive``. G bounds the
    gradients, D is the diameter of the set.

    >>> corollary_5_3(Timeline.from_delays([21] * 100), lipschitz=1.0, diameter=2.0).learning
    60.0
    """
    scale = scale_of("corollary_5_3", lipschitz, diameter)
    return split(
        "Corollary 5.3",
        timeline,
        lambda late: 3.0 * scale * math.sqrt(late.rounds + late.total_delay),
        scale,
    )


def tight(timeline: Timeline, *, lipschitz: float, diameter: float) -> Bound:
    """Corollary 5.3 with a better constant: regret <= 2 G D sqrt(T / 2 + d_tot).

    For gradients of convex losses, P-FTRL or OMD, and ``rates.Tight``.

    Differs from the paper: its proof drops a factor 1/2 in the learning term; keeping it and
    balancing the two terms again gives this.

    >>> tight(Timeline.from_delays([0] * 200), lipschitz=1.0, diameter=2.0).total
    40.0
    """
    scale = scale_of("tight", lipschitz, diameter)
    return split(
        "Corollary 5.3 with the tight rate",
        timeline,
        lambda late: 2.0 * scale * math.sqrt(0.5 * late.rounds + late.total_delay),
        scale,
    )


def gradient_adaptive(
    timeline: Timeline,
    *,
    lipschitz: float,
    diameter: float,
    norms: npt.ArrayLike | None = None,
) -> Bound:
    """Corollary 5.3 for the gradients seen: 2 D sqrt(sum_n (|c_n|^2 / 2 + G s*_n |c_n|)).

    For gradients of convex losses, P-FTRL or OMD, and ``rates.GradientAdaptive(lipschitz)``.
    ``norms`` are the |c_n| in order of arrival, one per round; where no answer came, G is safe.
    Without them every norm is taken to be G.

    Differs from the paper: |c|^2 / 2 + G s* |c| stands for G^2 (1/2 + s*) in the proof.

    >>> answered = Timeline.from_delays([0] * 4)
    >>> gradient_adaptive(answered, lipschitz=1.0, diameter=1.0, norms=[0, 0, 0, 1]).total ** 2
    2.0000000000000004
    """
    scale = scale_of("gradient_adaptive", lipschitz, diameter)
    sizes = _norms(norms, timeline.rounds, lipschitz)
    steady = float(np.sum(sizes**2)) / 2.0

    def value(late: Timeline) -> float:
        waiting = lipschitz * float(np.sum(late.dual_backlog[late.order] * sizes))
        return 2.0 * diameter * math.sqrt(steady + waiting)

    note = "" if norms is not None else "every gradient is taken to be as large as lipschitz"
    return split("Corollary 5.3 with gradient-adaptive rates", timeline, value, scale, note)


def _norms(norms: npt.ArrayLike | None, rounds: int, lipschitz: float) -> Floats:
    """Return the norms of the costs by arrival."""
    if norms is None:
        return np.full(rounds, float(lipschitz))
    sizes = np.asarray(norms, dtype=np.float64)
    if sizes.shape != (rounds,) or not (sizes >= 0.0).all() or not np.isfinite(sizes).all():
        raise SpecError(
            f"gradient_adaptive: norms must be {rounds} finite numbers of at least 0, one per "
            f"round in order of arrival, got shape {sizes.shape}"
        )
    if sizes.max(initial=0.0) > lipschitz * SLACK:
        raise SpecError(
            f"gradient_adaptive: norms must not exceed lipschitz = {lipschitz!r}, got "
            f"{sizes.max()!r}; the guarantee needs a larger lipschitz"
        )
    return sizes
