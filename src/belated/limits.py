"""The largest numbers that linear models take; beyond, single precision could overflow."""

HUGE_VALUE = 1e30
"""Of a feature."""
HUGE_LABEL = 1e20
HUGE_WEIGHT = 1e15
"""Of a label."""
MOST_COLUMNS = 256
"""Names of features; where rows have more, these are words rather than columns."""
