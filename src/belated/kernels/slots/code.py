"""Slots of ``code``: what a composition is made of, and what follows from its parts' traits.

Bases, sets, rates, smoothings and wrappers have the codes of their tables (see ``parts``), the
other slots the values in ``kinds``.
"""

from __future__ import annotations

# What it is made of.
REDUCTION, BASE, DOMAIN, CHART, RATE, SMOOTHING, BASELINE, WRAPPER, METHOD = range(9)
# What follows: whether the base hears of costs that move nothing; whether anybody looks at lags;
# what is fed in the place of an answer that never comes; whether answers have weights.
HEARS, LAGS, LOST, WEIGHED = 9, 10, 11, 12
SLOTS = 13

NOTHING = (0,) * SLOTS


def pack(values: dict[int, int]) -> tuple[int, ...]:
    """Return a code with these values, and 0 in all other slots."""
    return tuple(int(values.get(slot, 0)) for slot in range(SLOTS))
