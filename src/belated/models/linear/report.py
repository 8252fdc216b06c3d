"""The report of a linear model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from belated.models.linear.changed_columns import changed_columns, column_rows
from belated.models.ticket_counts import count_rows, delay_rows
from belated.tables import Row, Table

NAMES = ("1/64", "1/16", "1/4", "1", "coin", "mean")
"""The experts: four scales, the coin, and the mean of what 1/4 has learned."""


@dataclass(frozen=True, repr=False)
class LinearReport(Table):
    """Counts and delays so far, the mean loss of the predictions as they were issued, and experts.

    ``skipped`` counts tickets that were given up on without a label, ``settled`` those whose label
    so far, also that of silence, became the last word by itself; ``corrected`` counts labels that
    replaced another one, ``clipped`` those that were so far from all others that only a part was
    learned. A ticket that was given up on closes when that happens. ``total_delay`` and
    ``max_delay`` count open tickets up to now; ``max_delay`` is the larger one of
    ``max_answered_delay``, of tickets with a last word, and ``max_unanswered_age``, of those that
    are open or were closed without one. ``mean_loss`` weighs labels as they were given; it
    is None before the first one.
    """

    rounds: int
    observed: int
    open: int
    skipped: int
    settled: int
    corrected: int
    clipped: int
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
    """How much each expert counts now, and all that see pairs together; sums to 1."""
    new_columns: dict[str, int] = field(default_factory=dict, compare=False)
    """Named features that came late, and the first row that had them; see ``gone_columns``."""
    gone_columns: dict[str, int] = field(default_factory=dict, compare=False)
    """Named features that are missing for long, and the last row that had them.

    Rows are counted since this model was made or restored: snapshots do not hold names.
    """
    shadow: LinearReport | None = field(default=None, compare=False)
    """That of the second model on the same events and labels, in a store."""

    def rows(self) -> list[Row]:
        """Return what a person reads."""
        mean = "none yet" if self.mean_loss is None else f"{self.mean_loss:.4g}"
        rows = count_rows(self)
        if self.settled or self.corrected:
            rows.append(("settled", f"{self.settled:,}", f"corrected {self.corrected:,}"))
        if self.clipped:
            advice = '; if they are errors, use loss="huber"' if self.loss == "squared" else ""
            told = f"labels far from all others, learned in part{advice}"
            rows.append(("clipped", f"{self.clipped:,}", told))
        rows += delay_rows(self, "a label")
        rows.append(("mean loss", mean, self.loss))
        experts = ", ".join(f"{name}: {share:.0%}" for name, share in self.experts.items())
        rows.append(("experts", "", experts))
        if self.shadow is not None and self.shadow.mean_loss is not None:
            told = "mean loss on the same labels"
            rows.append(("shadow", f"{self.shadow.mean_loss:.4g}", told))
        return rows + column_rows(self.new_columns, self.gone_columns)


def report_of(loss: str, linear: Any, hasher: Any) -> LinearReport:
    """Read the report off a model of the core."""
    columns = changed_columns(hasher)
    shares, scored = linear.experts.mixture.shares.tolist(), linear.scored
    pairs = {}
    if linear.pairs is not None:
        plain = linear.pairs.mixture.shares[0].item()
        shares, pairs = [plain * share for share in shares], {"pairs": 1.0 - plain}
    return LinearReport(
        **linear.counts(),
        loss=loss,
        mean_loss=linear.lost / scored if scored > 0.0 else None,
        experts=dict(zip(NAMES, shares, strict=True)) | pairs,
        new_columns=columns.new,
        gone_columns=columns.gone,
    )
