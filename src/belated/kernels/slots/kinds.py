"""Values that slots of ``code`` can have, where no table of parts gives them."""

from __future__ import annotations

# code[REDUCTION]: what an answer is; MANY_POINTS and COEFFICIENTS have dim + 1 numbers.
FIRST_ORDER, ONE_POINT, TWO_POINT, MANY_POINTS, COEFFICIENTS = range(5)
# code[CHART]: x = y, x = shift + y, x = shift + scale * y clipped to [low, high].
PLAIN, SHIFTED, SCALED = range(3)
# code[METHOD]: 0 for the paper's own, else the number of a method in ``methods``.
OURS = 0
# code[LOST]: a zero cost that moves nothing, one that the base hears of, the gradient of a bowl.
ZERO, HEARD_ZERO, BOWL = range(3)
# code[WEIGHED]: every answer counts once; it weighs more the older it is; all weigh the same.
UNWEIGHED, THINNED, COINS = range(3)

# code[WRAPPER]: a learner that never gives up on an answer by itself.
UNWRAPPED = 0

# Codes in the tables of parts that kernels ask for by name.
PFTRL, OMD, ENTROPY, USER_BASE, DUAL_AVERAGING = 0, 1, 2, 3, 5  # code[BASE]
BOX, SIMPLEX, USER_SET = 1, 2, 4  # code[DOMAIN]
