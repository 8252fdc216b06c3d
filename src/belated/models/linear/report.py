"""What a linear model says about itself."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

NAMES = ("1/64", "1/16", "1/4", "1", "coin", "mean")
"""The experts: four scales, the coin, and the mean of what 1/4 has learned."""


@dataclass(frozen=True)
class LabelDelays:
    """How late one of a few labels came, in predictions."""

    label: float
    count: int
    mean_delay: float
    max_delay: int

    def __str__(self) -> str:
        """Return a row of the report."""
        return (
            f"label {self.label:<7g} {self.count:>10,}   {self.mean_delay:,.4g} predictions late "
            f"on average, at most {self.max_delay:,}"
        )


@dataclass(frozen=True)
class LinearReport:
    """Counts and delays so far, the mean loss of the predictions as they were issued, and experts.

    ``skipped`` counts tickets that were given up on without a label, ``settled`` those whose label
    so far, also that of silence, became the last word by itself; ``corrected`` counts labels that
    replaced another one, ``tamed`` those that were so far from all others that only a part was
    learned. A ticket that was given up on closes when that happens. ``total_delay`` and
    ``max_delay`` count open tickets up to now; ``max_delay`` is the larger one of
    ``max_answered_delay``, of tickets with a last word, and ``max_unanswered_age``, of those that
    are open or were closed without one. ``mean_loss`` weighs labels as they were given; it
    is None before the first one. ``by_label`` has the delays of every label that came, from the
    smallest on, where there are at most ten kinds: what comes late may be of another kind than what
    comes soon.
    """

    rounds: int
    observed: int
    open: int
    skipped: int
    settled: int
    corrected: int
    tamed: int
    cancelled: int
    late: int
    total_delay: int
    max_delay: int
    max_answered_delay: int
    max_unanswered_age: int
    max_backlog: int
    max_dual_delay: int
    loss: str
    mean_loss: float | None
    experts: dict[str, float]
    """How much each expert counts now; sums to 1."""
    by_label: tuple[LabelDelays, ...] = ()

    def _of_silence(self) -> list[str]:
        if not self.settled and not self.corrected:
            return []
        return [f"settled       {self.settled:>10,}   corrected {self.corrected:,}"]

    def _of_far_labels(self) -> list[str]:
        if not self.tamed:
            return []
        return [f"tamed         {self.tamed:>10,}   labels far from all others, learned in part"]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return dataclasses.asdict(self) | {
            "by_label": [dataclasses.asdict(kind) for kind in self.by_label]
        }

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
                f"given up {self.skipped:,} (late {self.late:,}), cancelled {self.cancelled:,}",
                *self._of_silence(),
                *self._of_far_labels(),
                f"total delay   {self.total_delay:>10,}   largest {self.max_answered_delay:,} with "
                f"a label, {self.max_unanswered_age:,} without",
                f"backlog       {self.max_backlog:>10,}   at most",
                *(str(kind) for kind in self.by_label if len(self.by_label) > 1),
                f"mean loss     {mean:>10}   {self.loss}",
                f"experts       {experts}",
            ]
        )


def report_of(loss: str, linear: Any) -> LinearReport:
    """Read the report off a model of the core."""
    shares, scored = linear.experts.mixture.shares.tolist(), linear.scored
    return LinearReport(
        **linear.counts(),
        loss=loss,
        mean_loss=linear.lost / scored if scored > 0.0 else None,
        experts=dict(zip(NAMES, shares, strict=True)),
        by_label=tuple(
            LabelDelays(label, int(count), total / count, int(largest))
            for label, count, total, largest in sorted(linear.kinds.rows())
        ),
    )
