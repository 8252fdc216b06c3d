"""What a chooser remembers of a choice until its reward has come."""

from __future__ import annotations

import math

from belated.arrays import Floats, Ints


class Kept:
    """One choice: the ticket of the model once it was shown, the action, and what came of it."""

    __slots__ = ("action", "probability", "reward", "row", "span", "twin")

    def __init__(
        self,
        action: str,
        probability: float,
        twin: int = -1,
        reward: float = math.nan,
        row: tuple[Ints, Floats] | None = None,
        span: float = math.nan,
    ) -> None:
        self.action = action
        self.probability = probability
        self.twin = twin
        """Ticket of the model; -1 while the choice was not shown."""
        self.reward = reward
        """The reward so far; NaN before the first."""
        self.row = row
        """The features of a choice that was not shown yet."""
        self.span = span
        """The deadline of this choice alone, while it was not shown yet; NaN for that of all."""
