"""What a chooser counts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

MOST_NAMES = 10_000
TRIAL_ANSWERS, TRIAL_CHOICES = 10, 100
"""An action is new until it has so many answers, or so many choices."""
OTHERS = "(others)"
"""Stands for the actions that came after so many others."""


@dataclass
class OfAction:
    """Counts of one action."""

    chosen: int = 0
    """Choices of it that were shown."""
    answered: int = 0
    """Those of which a reward was heard."""
    total: float = 0.0
    """Sum of these rewards."""


@dataclass
class Tally:
    """Counts of a chooser; expectations are over its own draws."""

    own: int = 0
    """Choices that the chooser made itself."""
    explored: float = 0.0
    """Choices of another action than the one that seemed best, in expectation."""
    compared: int = 0
    """Choices for which there was a baseline."""
    agreed: float = 0.0
    """Those in which the chooser would take the baseline, in expectation."""
    gain: float = 0.0
    """Sum of what it predicts for its own choices less what it predicts for the baseline."""
    withdrawn: int = 0
    """Choices that were never shown."""
    actions: dict[str, OfAction] = field(default_factory=dict)

    def of(self, action: str) -> tuple[str, OfAction]:
        """Return the counts of an action, new ones if it has none, and the name they stand under.

        Nothing changes.
        """
        found = self.actions.get(action)
        if found is not None:
            return action, found
        name = action if len(self.actions) < MOST_NAMES else OTHERS
        return name, self.actions.get(name) or OfAction()

    def is_new(self, action: str) -> bool:
        """Tell whether an action is on trial."""
        counts = self.actions.get(action)
        if counts is None:
            return len(self.actions) < MOST_NAMES
        return counts.answered < TRIAL_ANSWERS and counts.chosen < TRIAL_CHOICES


def heard(counts: OfAction, before: float, reward: float) -> tuple[int, float]:
    """Return how many have answered, and their sum, with a reward that replaces one if any was."""
    if math.isnan(before):
        return counts.answered + 1, counts.total + reward
    return counts.answered, counts.total + (reward - before)
