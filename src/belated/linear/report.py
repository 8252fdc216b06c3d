"""What a linear model says about itself."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from belated.arrays import Floats, Ints
from belated.kernels.linear import layout as lm
from belated.kernels.slots import ints as N
from belated.kernels.tickets import max_backlog, total_delay
from belated.learner.program import entries_of

NAMES = ("1/64", "1/16", "1/4", "1", "coin")
"""The experts: four scales, and the coin."""


@dataclass(frozen=True)
class LinearReport:
    """Counts and delays so far, the mean loss of the predictions as they were issued, and experts.

    A ticket that was given up on closes when that happens. ``total_delay`` and ``max_delay`` count
    open tickets up to now. ``mean_loss`` weighs labels as they were given; it is None before the
    first one.
    """

    rounds: int
    observed: int
    open: int
    skipped: int
    cancelled: int
    late: int
    total_delay: int
    max_delay: int
    max_backlog: int
    max_dual_delay: int
    loss: str
    mean_loss: float | None
    experts: dict[str, float]
    """How much each expert counts now; sums to 1."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return dataclasses.asdict(self)

    def to_json(self, indent: int | None = None) -> str:
        """Return the report as JSON."""
        return json.dumps(self.to_dict(), indent=indent)

    def __str__(self) -> str:
        """Return a table that a person can read."""
        mean = "none yet" if self.mean_loss is None else f"{self.mean_loss:.4g}"
        experts = ", ".join(f"{name}: {share:.0%}" for name, share in self.experts.items())
        return "\n".join(
            [
                f"rounds        {self.rounds:>10,}",
                f"observed      {self.observed:>10,}   open {self.open:,}, "
                f"skipped {self.skipped:,}, cancelled {self.cancelled:,}, late {self.late:,}",
                f"total delay   {self.total_delay:>10,}   largest {self.max_delay:,}, "
                f"largest backlog {self.max_backlog:,}",
                f"mean loss     {mean:>10}   {self.loss}",
                f"experts       {experts}",
            ]
        )


def report_of(loss: str, f: Floats, n: Ints) -> LinearReport:
    """Read the report off the arrays of a model."""
    is_open = int(n[N.ROUNDS] - n[N.ARRIVED])
    counted = float(f[lm.COUNT])
    shares = f[lm.SHARE : lm.SHARE + lm.EXPERTS].tolist()
    return LinearReport(
        rounds=int(n[N.ROUNDS]),
        observed=int(n[N.ARRIVED] - n[N.SKIPPED] - n[N.CANCELLED]),
        open=is_open,
        skipped=int(n[N.SKIPPED]),
        cancelled=int(n[N.CANCELLED]),
        late=int(n[N.LATE]),
        total_delay=total_delay(n),
        max_delay=max(int(n[N.MAX_DELAY]), _oldest_age(n) if is_open else 0),
        max_backlog=max_backlog(n),
        max_dual_delay=int(n[N.MAX_DUAL_DELAY]),
        loss=loss,
        mean_loss=float(f[lm.LOST]) / counted if counted else None,
        experts=dict(zip(NAMES, shares, strict=True)),
    )


def _oldest_age(n: Ints) -> int:
    """Return how many predictions came after the oldest open ticket."""
    entries = entries_of(n)
    oldest = entries[np.argmax(entries[:, 1] >= 0), 0]
    return int(n[N.ROUNDS] - oldest) - 1
