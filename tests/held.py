"""How much memory a learner holds."""

from __future__ import annotations

import numpy as np

import belated as bl


def held(learner: bl.Learner) -> int:
    """Return the bytes of all arrays that change, with all the room in the table of tickets."""
    tickets = learner._player.tickets
    arrays = [
        value
        for name, value in learner._player.state().items()
        if isinstance(value, np.ndarray) and not name.startswith("tickets.")
    ]
    per_ticket = 16 + 8 * tickets.width
    return sum(array.nbytes for array in arrays) + int(per_ticket * tickets.capacity)
