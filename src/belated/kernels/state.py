"""The state of a linear model or of knobs as leaves take it.

``f`` and ``n`` are all there is; the other fields are views into them, made once per entry.
"""

from __future__ import annotations

from typing import NamedTuple

from belated.arrays import Floats, Ints


class State(NamedTuple):
    """The arrays and their parts; ``z``, ``p``, ``chart`` and ``own`` are empty in all models."""

    f: Floats
    """Parameters and scalars of the state."""
    n: Ints
    """Parameters and counters; see ``slots.ints``."""
    z: Floats
    p: Floats
    work: Floats
    """Passing work; no part of the state."""
    chart: Floats
    table: Ints
    """Two words per ticket: its number, and how many answers had arrived when it was issued."""
    own: Floats
    kept: Floats
    """KEEP numbers per entry of the table."""
