"""The detection of old events, and the warnings where old ones come in the wrong order.

A model learns events in the order of its calls. Where many old predictions come first and their
answers afterwards, every answer seems to be as late as all of the predictions.
"""

from __future__ import annotations

import math
import sys
import warnings

MANY = 1_000
"""Predictions of which a new model says nothing."""


class OldEvents:
    """The times of the predictions of this process, to which those of answers are compared."""

    __slots__ = ("_count", "_first", "_has_warned", "_is_batch", "_latest", "before")

    def __init__(self) -> None:
        """Begin without predictions."""
        self._count, self._first, self._latest = 0, math.inf, -math.inf
        self._is_batch = self._has_warned = False
        self.before = -math.inf
        """Answers before that are old: the middle of the time of many predictions."""

    def predict(self, first: float, latest: float, count: int, before: int) -> None:
        """Take in predictions of one call, their times, and how many there were before."""
        self._first, self._latest = min(first, self._first), max(latest, self._latest)
        self._count += count
        if self._count > MANY:
            self.before = 0.5 * (self._first + self._latest)
        self._is_batch = first < latest and count > max(before, MANY)

    def answer(self, who: str) -> None:
        """Warn of old answers."""
        self._warn(f"{who}: these answers are older than many predictions before them")

    def answer_without_times(self, who: str) -> None:
        """Warn of answers without times, right after many predictions that have them."""
        if self._is_batch:
            self._warn(f"{who}: the predictions had times of their own, and the answers have none")
        self._is_batch = False

    def _warn(self, what: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            warn(
                f"{what}: if they are old, every answer looks as late as all of these predictions; "
                "use replay, or see Backfilling in docs/data.md"
            )


def warn_without_times(rows: int, before: int) -> None:
    """Warn of very many predictions in one call, none of which has a time of its own."""
    if rows > max(before, MANY):
        warn(
            f"predict_many: {rows:,} predictions in one call, after {before:,} before: if they are "
            "old and their answers come next, every answer will look as late as all of them; use "
            "replay, or give the time of every row and answer with at="
        )


def warn(message: str) -> None:
    """Warn of the line of the user that called us."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("belated."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)
