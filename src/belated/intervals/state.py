"""All that intervals remember."""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from belated.errors import AlreadyObserved, UnknownTicket
from belated.intervals.threshold import Threshold
from belated.intervals.window import Window
from belated.linear.model import LinearModel

FEW = 64
"""Tickets that are kept before it is looked for closed ones."""


class Issued(NamedTuple):
    """What a ticket was issued with."""

    twin: int
    """The ticket of the model of scores."""
    value: float
    threshold: float
    """Infinite where nothing was known yet."""


class State:
    """Two models, the rule that corrects the second, and the tickets whose label may come."""

    __slots__ = (
        *("model", "scores", "coverage", "threshold", "window", "rounds", "widths", "kept"),
        "most_kept",
    )

    def __init__(self, model: LinearModel, scores: LinearModel, coverage: float) -> None:
        self.model = model
        self.scores = scores
        self.coverage = coverage
        self.threshold = Threshold(1.0 - coverage)
        self.window = Window()
        self.rounds = 0
        self.widths = 0.0
        """Sum of the half-widths of the intervals whose label has come, less unbounded ones."""
        self.kept: dict[int, Issued] = {}
        self.most_kept = FEW

    def tidy(self) -> None:
        """Forget the tickets that the model has forgotten, when there may be many of them."""
        if len(self.kept) > self.most_kept:
            alive = self.model.answerable()
            for ticket in [ticket for ticket in self.kept if ticket not in alive]:
                self.forget(self.kept.pop(ticket))
            self.most_kept = max(FEW, 2 * len(self.kept))

    def waiting(self) -> set[int]:
        """Return the tickets whose label may still come; with deadlines, none that is past its own.

        Without deadlines the model may give up on a ticket whose label still counts here.
        """
        model = self.model
        if model.settings.deadline is not None:
            return {ticket for ticket in self.kept if model.is_open(ticket)}
        return model.answerable() & self.kept.keys()

    def forget(self, issued: Issued) -> None:
        """Close the ticket of the model of scores, if that has not done so by itself."""
        with suppress(UnknownTicket, AlreadyObserved):
            self.scores.cancel(issued.twin)
