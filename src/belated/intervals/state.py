"""All that intervals remember, and how an event changes it: as a whole, or not at all."""

from __future__ import annotations

import math
from itertools import chain
from typing import Any, NamedTuple

from belated.intervals.threshold import Learned, Threshold
from belated.intervals.window import Added, Window
from belated.kernels.linear.layout import HUGE_LABEL
from belated.kernels.slots import ints as N
from belated.learner.keys import Key
from belated.learner.whole import Call, Whole, together
from belated.linear import whole_events
from belated.linear.losses import LOSSES
from belated.linear.model import LinearModel

FEW = 64
"""Tickets that are kept before it is looked for closed ones."""

Issue = tuple[int, float, float]
"""A ticket, its value and its threshold."""
Judged = tuple[Learned, Added | None, float, int]
"""What a label changes: threshold, window, widths, and the number of late labels."""


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
        *("most_kept", "late", "whole", "_least"),
    )

    def __init__(self, model: LinearModel, scores: LinearModel, coverage: float) -> None:
        model._finish()
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
        self.whole = Whole()
        least = LOSSES[model.settings.loss].labels.least
        self._least = least if least > -HUGE_LABEL else -math.inf  # labels of any size are no end

    def ends(self, value: float, threshold: float) -> tuple[float, float]:
        """Return the ends of an interval; below the least of all labels there are none."""
        half, least = threshold if threshold > 0.0 else 0.0, self._least
        low = value - half
        return low if low > least else least, value + half

    # --- What follows from the answers of both models --------------------------------------------
    #
    # It may be interrupted and done again: what is put into place was computed before.

    def issue(self, answers: list[Any], key: Key | None, kind: int, rounds: int) -> Issue:
        """Keep a ticket, forget others that the model has forgotten; ``rounds`` are those so far.

        ``kind`` is that of times, 0 where none was given. Returns ticket, value and threshold.
        """
        (ticket, value), (twin, forecast) = answers
        model, rule = self.model, self.threshold
        threshold, rule.top = rule.with_top(forecast)
        self.kept[ticket] = Issued(twin, value, threshold)
        if kind:
            model._base.n[N.HAS_TIMES] = kind
        if key is not None:
            model._keys.give(key, ticket)
            model._keys.tidy(model.answerable)
        if len(self.kept) > self.most_kept:
            self._tidy()
        self.rounds = rounds + 1
        return ticket, value, threshold

    def _tidy(self) -> None:
        """Forget the tickets that the model has forgotten."""
        alive = self.model.answerable()
        gone = (self.withdrawal_of(i) for t, i in self.kept.items() if t not in alive)
        together(*chain.from_iterable(gone))
        kept = {ticket: issued for ticket, issued in self.kept.items() if ticket in alive}
        most = max(FEW, 2 * len(kept))
        self.kept, self.most_kept = kept, most

    def judged(self, issued: Issued, label: float, score: float, *, is_late: bool) -> Judged:
        """Judge a label by the interval that was issued; return what changes by it."""
        threshold, widths, added = issued.threshold, self.widths, None
        low, high = self.ends(issued.value, threshold)
        is_missed = threshold < 0.0 or not low <= label <= high
        learned = self.threshold.with_score(threshold, score, len(self.kept), is_missed)
        if threshold < math.inf:  # else it says nothing
            widths += 0.5 * (high - low)
            added = self.window.with_arrival(self.threshold.arrived, is_missed)
        return learned, added, widths, self.late + is_late

    def hear(self, answers: list[Any], name: Any, ticket: int, judged: Judged | None) -> bool:
        """Put into place what was judged, if there was an interval, and close the ticket."""
        model = self.model
        if model._keys.tickets:
            model._keys.drop(name)
        if judged is not None:
            learned, added, self.widths, self.late = judged
            self.threshold.put(learned)
            if added is not None:
                self.window.put(added)
            self.kept.pop(ticket, None)
        used: bool = answers[0]
        return used

    def cancel(self, _: list[Any], name: Any, ticket: int) -> None:
        """Forget a ticket."""
        self.model._keys.drop(name)
        self.kept.pop(ticket, None)

    def withdrawal_of(self, issued: Issued) -> tuple[Call, ...]:
        """Return the call that closes a ticket of the model of scores, if it is still open."""
        return whole_events.cancel_calls(self.scores, issued.twin)

    def waiting(self) -> set[int]:
        """Return the tickets whose label may still come; with deadlines, none that is past its own.

        Without deadlines the model may give up on a ticket whose label still counts here.
        """
        model = self.model
        if model.settings.deadline is not None:
            return {ticket for ticket in self.kept if model._is_open(ticket)}
        return model.answerable() & self.kept.keys()
