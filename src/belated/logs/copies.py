"""Whether a column is another one in disguise: in another unit, shifted, turned round or rounded.

A column c is a copy of h if some line through h misses no cell by more than rounding explains:

    min_a (max_i r_i - min_i r_i) <= w,    r_i = c_i - a h_i,

where w is the coarser of the steps in which c and a h are written. The left side is convex in a,
and its least value lies close to the slope between the ends of h. Rounded up, down or to the
nearest, a cell moves by less than a step, so that every rounded copy is found. What only goes with
h misses the line by more than a step somewhere; where both are written in the same steps, a copy
has to be exact.
"""

from __future__ import annotations

import numpy as np

from belated.arrays import Array, Floats

FEWEST = 10
"""Rows from which on it is no accident that two columns go together."""
LEVELS = 6
"""Steps that a column must span, so that a line through it says something."""
LOOKED_AT = 1_000
"""Rows that are tried first: most columns are no copies, and soon show it."""
CLOSE = 1e-6
"""How exact copies of numbers without steps are, relative to their range; float32 is."""
EXACT = 1e-9
"""The same for times, of which a log has few in its range."""
ALIKE = 0.9
"""Steps are the same if the finer one is more than this share of the coarser."""
SCALES = (*(10.0**digits for digits in range(7)), 86_400.0)
"""Steps are whole after one of these: decimals, or seconds in a column of days."""
SECTIONS = 60
"""Thirds that are cut off on the way to the best slope."""


def is_copy(cells: Floats, hidden: Floats, close: float = CLOSE) -> bool:
    """Whether numbers are others rescaled, shifted or rounded; both without gaps.

    >>> took = np.random.default_rng(0).exponential(40.0, 200)
    >>> [is_copy(np.round(took / 60.0, 1), took), is_copy(1000.0 - 2.5 * took, took)]
    [True, True]
    >>> is_copy(np.round(took * np.linspace(0.98, 1.02, 200)), took)
    False
    """
    return _says_enough(cells) and _is_line(cells, hidden, close)


def is_rounded(cells: Floats, hidden: Floats) -> bool:
    """Whether numbers are others as they are or rounded, of which three different ones are enough.

    >>> is_rounded(np.array([1.0, 2.0, 5.0] * 10), np.array([1.2, 1.9, 4.6] * 10))
    True
    """
    if len(np.unique(cells)) < 3 or not _says_enough(cells):
        return False
    apart = cells - hidden
    step = _allowed(cells, hidden, 1.0, EXACT)
    return float(np.ptp(apart)) <= step and float(np.abs(apart).max()) <= step


def is_time(cells: Floats, known: Floats, hidden: Floats) -> bool:
    """Whether numbers follow a time that is hidden, and not one that is known as well."""
    if not _says_enough(cells):
        return False
    if _is_exact(cells, hidden):
        return not _is_exact(cells, known)
    return _is_line(cells, hidden, EXACT) and not _is_line(cells, known, EXACT)


def step_of(values: Array) -> float:
    """Return the step of which all differences are multiples; 0.0: there is none.

    >>> step_of(np.array([1.5, 4.0, 2.75])), step_of(np.array([300.0, 0.0, 900.0]))
    (1.25, 300.0)
    >>> step_of(np.sqrt(np.arange(9.0)))
    0.0
    """
    apart = values - values.min()
    blur = 4.0 * float(np.spacing(np.abs(values).max()))
    for scale in SCALES:
        if blur * scale > 0.01:
            return 0.0
        scaled = apart * scale
        whole = np.rint(scaled)
        if (np.abs(scaled - whole) <= blur * scale).all():
            return float(np.gcd.reduce(whole.astype(np.int64))) / scale
    return 0.0


def _says_enough(cells: Floats) -> bool:
    """Whether enough cells are not just the commonest one."""
    if len(cells) < FEWEST:
        return False
    return len(cells) - int(np.unique(cells, return_counts=True)[1].max()) >= FEWEST


def _is_exact(cells: Floats, hidden: Floats) -> bool:
    """Whether the line between the ends of hidden numbers goes through all cells."""
    if np.ptp(hidden) == 0.0:
        return False
    spread = _spread(cells, hidden, _slope(cells, hidden))
    return spread <= EXACT * float(np.ptp(cells))


def _is_line(cells: Floats, hidden: Floats, close: float) -> bool:
    """Whether some line fits; a few rows are tried first."""
    few = slice(None, None, max(1, len(cells) // LOOKED_AT))
    return _may_fit(cells[few], hidden[few], close) and _fits(cells, hidden, close)


def _may_fit(cells: Floats, hidden: Floats, close: float) -> bool:
    """Whether the line between the ends is near enough; the best one is a step away at most."""
    if np.ptp(hidden) == 0.0:
        return True
    slope = _slope(cells, hidden)
    return _spread(cells, hidden, slope) <= 2.0 * _allowed(cells, hidden, slope, close)


def _fits(cells: Floats, hidden: Floats, close: float) -> bool:
    reach = float(np.ptp(hidden))
    if reach == 0.0 or not _may_fit(cells, hidden, close):
        return False
    slope = _slope(cells, hidden)
    allowed = _allowed(cells, hidden, slope, close)
    if float(np.ptp(cells)) < LEVELS * allowed:
        return False
    low, high = slope - 2.0 * allowed / reach, slope + 2.0 * allowed / reach
    for _ in range(SECTIONS):
        third = (high - low) / 3.0
        left, right = low + third, high - third
        found = _spread(cells, hidden, left), _spread(cells, hidden, right)
        if min(found) <= allowed:
            return True
        low, high = (low, right) if found[0] <= found[1] else (left, high)
    return False


def _slope(cells: Floats, hidden: Floats) -> float:
    first, last = int(np.argmin(hidden)), int(np.argmax(hidden))
    return float((cells[last] - cells[first]) / (hidden[last] - hidden[first]))


def _spread(cells: Floats, hidden: Floats, slope: float) -> float:
    return float(np.ptp(cells - slope * hidden))


def _allowed(cells: Floats, hidden: Floats, slope: float, close: float) -> float:
    """Return by how much rounding may part a copy from its line."""
    steps = sorted((step_of(cells), abs(slope) * step_of(hidden)))
    is_rounded = steps[0] <= ALIKE * steps[1]
    return max(steps[1] * (1.0 + 1e-6) if is_rounded else 0.0, close * float(np.ptp(cells)))
