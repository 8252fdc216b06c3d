"""Rewards for choosers and live learners that are held back for a window, and come in files.

>>> held = HeldRewards(window=24.0)
>>> held.add(0, at=1.0)
>>> held.add(1, at=2.0)
>>> held.answer(1, 1.0, at=5.0)
>>> held.due(at=25.5), held.due(at=26.0)
([(0, 0.0)], [(1, 1.0)])
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def in_files(times: Floats, every: float, first: float = 0.0) -> Floats:
    """Return when the file comes that holds what happened at these times; NaN stays NaN."""
    return np.asarray(first + np.ceil((times - first) / every) * every)


@dataclass
class HeldRewards:
    """Gives every reward when its ticket is as old as the window: the answer by then, or silence.

    With ``every``, rewards come in files at ``first``, ``first + every`` and so on: each when the
    first file after the end of its window comes. Answers are told when they happen.
    """

    window: float
    silence: float = 0.0
    every: float | None = None
    first: float = 0.0
    _open: deque[tuple[float, Any]] = field(default_factory=deque)
    _answers: dict[Any, float] = field(default_factory=dict)
    _ends: dict[Any, float] = field(default_factory=dict)

    def add(self, ticket: Any, at: float) -> None:
        """Remember a ticket; ``at`` never decreases."""
        self._open.append((at + self.window, ticket))
        self._ends[ticket] = at + self.window

    def answer(self, ticket: Any, value: float, at: float) -> None:
        """Remember an answer; one after the window does not count."""
        if at <= self._ends.get(ticket, -math.inf):
            self._answers[ticket] = value

    def due(self, at: float) -> list[tuple[Any, float]]:
        """Return tickets whose window is over, in the order of time, and their rewards."""
        until = at
        if self.every is not None:
            until = self.first + math.floor((at - self.first) / self.every) * self.every
        found = []
        while self._open and self._open[0][0] <= until:
            _, ticket = self._open.popleft()
            del self._ends[ticket]
            found.append((ticket, self._answers.pop(ticket, self.silence)))
        return found
