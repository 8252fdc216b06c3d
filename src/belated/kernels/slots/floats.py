"""Slots of ``f``: parameters that never change, then scalars of the state.

After the header come z, p and scratch; then shift, scale, low and high as far as the chart has
them; then a region of the method's own (for a table of rates: the table), KEEP numbers per entry of
the table of tickets, and the float blocks of the copies.
"""

from __future__ import annotations

SIZE = 0  # radius of the set, or floor of the simplex
INNER = 1  # inner radius r
DIAMETER = 2  # D; under the entropy mirror D^2 / 2 bounds the divergence
LIPSCHITZ = 3  # G, or 0 where it is unknown
MAGNITUDE = 4  # M
CURVATURE = 5  # lambda
GAIN = 6  # numerator of the step size
NOISE = 7  # k M / G, for one-point steps
BREADTH = 8  # factor in the smoothing schedule, or the radius itself where a method has only one
ETA = 9  # current step size; 0 before the first
SPREAD = 10  # running float sum under the root of the step size
LEARNED = 11  # sum of eta |c|^2 / 2
DRIFTED = 12  # sum of eta s* |c|
LARGEST = 13  # largest |c| so far
VALUES = 14  # sum of the values used so far, for the baseline
WIDTH = 15  # largest distance between two plays, in the norm that goes with LIPSCHITZ
MINE = 16  # the first of the slots that a method names itself, MINE to MINE + 7
HEADER = 24

# Costs beyond this could overflow the running sums of squares.
HUGE = 1e100
# Answers this close to the assumed bound are not called excessive.
SLACK = 1.0 + 1e-9


def padded(dim: int) -> int:
    """Return the room that z, p and scratch take each, so that all three start on a cache line."""
    return (dim + 7) & -8
