"""All that intervals remember, and how an event changes it: as a whole, or not at all."""

from __future__ import annotations

import math
from typing import NamedTuple

from belated.intervals.threshold import Threshold
from belated.intervals.window import Window
from belated.kernels.linear.layout import HUGE_LABEL
from belated.learner.whole import Call, together
from belated.linear.losses import LOSSES
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
        *("most_kept", "late", "_least"),
    )

    def __init__(self, model: LinearModel, scores: LinearModel, coverage: float) -> None:
        self.model = model
        self.scores = scores
        scores._share_turn(model)  # whoever is at work on one of them is at work on both
        self.coverage = coverage
        self.threshold = Threshold(1.0 - coverage)
        self.window = Window()
        self.rounds = 0
        self.widths = 0.0
        """Sum of the half-widths of the intervals whose label has come, less unbounded ones."""
        self.late = 0
        """Labels that came when the model had given up on them, or after their deadline."""
        self.kept: dict[int, Issued] = {}
        self.most_kept = FEW
        least = LOSSES[model.settings.loss].labels.least
        self._least = least if least > -HUGE_LABEL else -math.inf  # labels of any size are no end

    def ends(self, value: float, threshold: float) -> tuple[float, float]:
        """Return the ends of an interval; below the least of all labels there are none."""
        half = max(threshold, 0.0)
        return max(value - half, self._least), value + half

    # --- What follows from the answers of both models --------------------------------------------
    #
    # These may be interrupted, and are then done again. Whatever cannot be done twice is done
    # together with the note that the event is over, by assignments without a call between them.

    def issue(self, ticket: int, value: float, twin: int, forecast: float) -> float:
        """Keep a ticket, forget others that the model has forgotten, and return its threshold."""
        rule, whole = self.threshold, self.model._whole
        threshold, top = rule.with_top(forecast)
        self.kept[ticket] = Issued(twin, value, threshold)
        if len(self.kept) > self.most_kept:
            self._tidy()
        rule.top, self.rounds, whole.left = top, self.rounds + 1, None
        return threshold

    def _tidy(self) -> None:
        """Forget the tickets that the model has forgotten."""
        alive = self.model.answerable()
        together(*(self.withdrawal_of(i) for t, i in self.kept.items() if t not in alive))
        kept = {ticket: issued for ticket, issued in self.kept.items() if ticket in alive}
        most = max(FEW, 2 * len(kept))
        self.kept, self.most_kept = kept, most

    def hear(self, ticket: int, issued: Issued, label: float, score: float, late: int) -> None:
        """Judge a label by the interval that was issued; ``late`` are those so far with it."""
        whole, widths, window = self.model._whole, self.widths, self.window
        waiting = len(self.kept) + (ticket not in self.kept)
        rule = self.threshold.twin()
        low, high = self.ends(issued.value, issued.threshold)
        is_missed = issued.threshold < 0.0 or not low <= label <= high
        rule.learn(issued.threshold, score, waiting, is_missed=is_missed)
        if issued.threshold < math.inf:  # else it says nothing
            widths += 0.5 * (high - low)
            window = window.twin()
            window.add(rule.arrived - 1, is_missed)
        self.kept.pop(ticket, None)
        self.threshold, self.window, self.widths, self.late = rule, window, widths, late
        whole.left = None

    def withdrawal_of(self, issued: Issued) -> Call:
        """Return the call that closes a ticket of the model of scores, if it is still open."""
        return self.scores._cancel, *self.scores._arrays, issued.twin

    def waiting(self) -> set[int]:
        """Return the tickets whose label may still come; with deadlines, none that is past its own.

        Without deadlines the model may give up on a ticket whose label still counts here.
        """
        model = self.model
        if model.settings.deadline is not None:
            return {ticket for ticket in self.kept if model._memory.is_open(ticket)}
        return model.answerable() & self.kept.keys()
