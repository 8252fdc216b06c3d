"""Values that the slots of ``code`` can have."""

from __future__ import annotations

# code[REDUCTION]: what an answer is; MANY_POINTS and COEFFICIENTS have dim + 1 numbers.
FIRST_ORDER, ONE_POINT, TWO_POINT, MANY_POINTS, COEFFICIENTS = range(5)
# code[BASE]; with OUTSIDE a Python object takes the step.
PFTRL, OMD, ENTROPY, OUTSIDE, PORTFOLIO, DUAL_AVERAGING, LEADER = range(7)
# code[DOMAIN]; with USER_SET a Python function projects.
BALL, BOX, SIMPLEX, L1, USER_SET = range(5)
# code[CHART]: x = y, x = shift + y, x = shift + scale * y clipped to [low, high].
PLAIN, SHIFTED, SCALED = range(3)
# code[RATE]; with MIXED every member of a portfolio has its own.
DELAY_ADAPTIVE, TIGHT, GRADIENT_ADAPTIVE, CURVED, CONSTANT_RATE, TABLE, NO_RATE = range(7)
ROOT, MIXED = 7, 8
# code[METHOD]: 0 for the paper's own, else the number of a method in ``methods``.
OURS = 0
# code[SMOOTHING]
NO_SMOOTHING, QUARTER_ROOT, CUBE_ROOT, INVERSE_ROOT, INVERSE, FIXED = range(6)
