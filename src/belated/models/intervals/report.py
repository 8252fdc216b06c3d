"""The report of intervals."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from belated.tables import Row, Table

if TYPE_CHECKING:
    from belated.models.intervals.intervals import Intervals


@dataclass(frozen=True, repr=False)
class IntervalsReport(Table):
    """How many labels the intervals covered so far, and how many they had to cover.

    ``observed`` counts the labels that have come, also those that the model dropped, and ``late``
    those of them that came when it had given up on them, or after their deadline; ``open`` are the
    tickets whose label may still come, ``closed`` those whose label will not be heard: where the
    model has a deadline, all that are past it, until a label comes all the same. ``unbounded`` are
    the observed ones whose interval was issued before the first label, and so had no ends: they say
    nothing, and are left out of ``missed``, ``coverage`` and ``half_width``.
    ``guaranteed`` and ``at_most`` are the least and the largest coverage that the theorem allows
    after so many labels. Where the least is 0, the guarantee is vacuous. ``half_width`` is the
    mean of the intervals whose label has come.
    """

    asked: float
    rounds: int
    observed: int
    late: int
    unbounded: int
    missed: int
    open: int
    closed: int
    coverage: float | None
    guaranteed: float
    at_most: float
    half_width: float | None
    most_open: int
    shadow: IntervalsReport | None = field(default=None, compare=False)
    """That of the second intervals on the same events and labels, in a store."""

    @property
    def share_open(self) -> float:
        """How much of all predictions the coverage says nothing of as yet."""
        return self.open / self.rounds if self.rounds else 0.0

    @property
    def is_vacuous(self) -> bool:
        """Whether the guarantee says nothing so far: no label, or too few for the delays."""
        return self.guaranteed <= 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        more = {"share_open": self.share_open, "is_vacuous": self.is_vacuous}
        return dataclasses.asdict(self) | more

    def rows(self) -> list[Row]:
        """Return what a person reads."""
        left_out = ("left out", f"{self.unbounded:,}", "unbounded, from before the first label")
        rows: list[Row] = [
            ("predictions", f"{self.rounds:,}", ""),
            (
                "labels",
                f"{self.observed:,}",
                f"late {self.late:,}, open {self.open:,} ({self.share_open:.1%}), closed without "
                f"one {self.closed:,}",
            ),
            (
                "coverage",
                _shown(self.coverage, ".4f"),
                f"asked {self.asked:.4g}, {self._promise()}",
            ),
            *([left_out] if self.unbounded else []),
            ("half-width", _shown(self.half_width, ".4g"), "mean of those with a label"),
        ]
        if self.shadow is not None:
            coverage = _shown(self.shadow.coverage, ".4f")
            rows.append(("shadow", _shown(self.shadow.half_width, ".4g"), f"coverage {coverage}"))
        return rows

    def _promise(self) -> str:
        if self.is_vacuous:
            return "guaranteed nothing yet (vacuous)"
        return f"guaranteed {self.guaranteed:.4f} to {self.at_most:.4f}"


def report_of(intervals: Intervals) -> IntervalsReport:
    """Put the report together."""
    counted, asked, still_open = intervals._coverage, intervals.coverage, len(_waiting(intervals))
    threshold = counted.threshold
    arrived, missed = threshold.arrived, threshold.missed
    low, high = threshold.limits()
    return IntervalsReport(
        asked=asked,
        rounds=counted.rounds,
        observed=threshold.heard,
        late=counted.late,
        unbounded=threshold.unbounded,
        missed=missed,
        open=still_open,
        closed=counted.rounds - threshold.heard - still_open,
        coverage=1.0 - missed / arrived if arrived else None,
        guaranteed=max(asked - high / arrived, 0.0) if arrived else 0.0,
        at_most=min(asked - low / arrived, 1.0) if arrived else 1.0,
        half_width=counted.widths.total() / arrived if arrived else None,
        most_open=threshold.most_open,
    )


def _waiting(intervals: Intervals) -> set[int]:
    """Return the tickets whose label may still come; with deadlines, none that is past its own.

    Without deadlines the model may give up on a ticket whose label still counts here.
    """
    model, issued = intervals.model, set(intervals._coverage.issued)
    if model.settings.deadline is not None:
        return {ticket for ticket in issued if model.is_open(ticket)}
    return model.answerable() & issued


def _shown(value: float | None, form: str) -> str:
    return "none yet" if value is None else format(value, form)
