"""The plays of a composition on a timeline, as far as it follows from counts alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from belated import rates
from belated.arrays import Floats, Ints
from belated.compose import schedule_of
from belated.core.bases import PLACES
from belated.errors import SpecError
from belated.reductions import Reduction, rate_of
from belated.timeline import Timeline


class Play:
    """The sequences of a composition on a timeline, by arrival, and the sums of the proofs."""

    def __init__(self, timeline: Timeline, spec: Reduction) -> None:
        _check_rate(spec)
        self.etas, self.late_radii, self.radii = schedule_of(spec, timeline)
        self.lags: Ints = timeline.dual_delay[timeline.order]
        self.open_lags: Ints = timeline.dual_backlog[timeline.order]
        domain = spec.base.domain  # type: ignore[union-attr]  # built in, as all specs here
        self._breadth = (domain.outer_radius or domain.diameter) / (domain.inner_radius or 1.0)

    @property
    def last(self) -> float:
        """eta_T."""
        return float(self.etas[-1])

    def weigh(self, terms: npt.NDArray[Any]) -> float:
        """Return sum_n eta_n terms_n."""
        return float(np.sum(self.etas * terms))

    @property
    def misalignment(self) -> float:
        """H = sum_n (1 - eta_n / eta_{n - d*_n}) (Lemma 4.2)."""
        start = np.arange(self.etas.size) - self.lags
        return float(np.sum(1.0 - self.etas / self.etas[start]))

    @property
    def bias(self) -> float:
        """R delta_tot / r; D stands for an unknown R, which it cannot be below."""
        return self._breadth * float(np.sum(self.radii))


def _check_rate(spec: Reduction) -> None:
    """Refuse a user's rate, which may depend on the gradients."""
    if isinstance(rate_of(spec.base), rates.Custom):
        raise SpecError(
            "bounds: the steps of a rates.Custom may depend on the gradients, so no bound is known "
            "before the game; put steps that do not depend on them into rates.Table"
        )


def ways(late: Timeline, moves: Floats, reach: int) -> Floats:
    """Return, by arrival, the most that a base went between the two points kept around its play.

    ``moves`` bounds each of its moves, by arrival. Beyond the reach nothing is known.
    """
    newest = np.arange(late.rounds)
    lags = late.dual_delay[late.order]
    seen = newest - lags
    level = np.zeros_like(seen)
    while (far := (newest >> level) - (seen >> level) >= PLACES).any():
        level[far] += 1
    below = (seen >> level) << level
    above = ((seen + (1 << level) - 1) >> level) << level
    gone = np.concatenate([[0.0], np.cumsum(moves)])
    return np.where(lags > reach, np.inf, gone[above] - gone[below])
