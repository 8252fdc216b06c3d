"""The layout of the arrays of knobs.

Knobs are two arrays: ``f`` (float64: what follows here, then what is kept per ticket) and ``n``
(int64: the counters of ``slots.ints`` and the table of tickets). A knob has a place x in [-1, 1].

A *set* is one choice of how long answers count and whether blocks of rounds have levels of their
own; it has sums A and b. A *member* is a set and which features it looks at.
"""

from __future__ import annotations

from typing import NamedTuple

MOST_KNOBS = 16
MOST_CONTEXT = 32

# What an event is.
PREDICT, OBSERVE, REVISE, CANCEL, PLAYED, BEST, OVERRIDDEN, TICK = range(8)

LIMITS = 38  # slot of n, as linear models have coordinates: how many constraints; see ``limits``
LIMITED = 0  # slot of the code: 1 where there are constraints
BY_CLOCK = -2  # n[PATIENCE] where deadlines are lengths of time; see ``clock``

WINDOWS = 3  # how long answers count, in rounds: for ever, ...
LONG, SHORT = 3000.0, 300.0
WINDOW = (0.0, LONG, SHORT)
LEVELS = 2  # none, or one for every block of rounds
SETS = WINDOWS * LEVELS
TYPES = 3  # quadratic; and cosines; and trend
MEMBERS = SETS * TYPES
OF_WINDOW = LEVELS * TYPES  # members of a window
QUADRATIC, COSINES, TREND = range(TYPES)
SOFT = 0.05  # lambda: precision of a level, in answers
BLOCK = 32  # rounds in a block
RECENT = 300.0  # answers that noise is known from, the same for all, or quick ones seemed better
RING = 128  # blocks that are remembered
EACH = 3  # cosines of every knob, j = 2, 3, 4, where there are more than two knobs
LAST = 3  # of what knobs have (start, largest step, levels, last play), the last play

# Slots of ``f``.
COUNT = 0  # n: answers learned
FIRST = 1  # the first cost: the last word on the first ticket, until another one has a cost; or 0
SHIFT = 2  # y = (cost - FIRST - SHIFT) / UNIT ...
UNIT = 3  # ... once there is a unit; 0 before
LATEST = 4  # tau: the latest play that was answered
MEAN = 5  # of y, and ...
SQUARES = 6  # ... sum of squared distances from it
SPREAD = 7  # S2: the variance of y that the prior is made of ...
REFRESH = 8  # ... which is looked at again after so many answers
FILLED = 9  # answers that wait for a unit
FED = 10  # answers that were learned before there was one
ALARMED = 11  # 1: it reverted by itself, and was not resumed since
HOLD = 12  # rounds that a setting is held for
HOLDOUT = 13  # share of rounds that play the start
SILENCE = 14  # cost of what nothing was heard of; NaN: unknown
MODE = 15  # LEARNING, PAUSED or REVERTED
ARM = 16  # which arm the setting that is held belongs to
ALARMS = 17  # times that it reverted by itself
COMPARED = 18  # answers of both arms, and ...
GAIN = 19  # ... mean of what each says about start - learner, and ...
GAIN_SQUARES = 20  # ... sum of squared distances from it
BASELINE = 21  # mean cost of both arms, less FIRST
COST_SQUARES = 22  # sum of squared distances of costs from it
OF_ARM = 23  # of each arm: answers, and the mean cost less FIRST
ORIGIN = 27  # of each window: the play that time is counted from
SINCE = 30  # of each set: answers since its members were solved
SETTLED = 36  # tickets whose cost was that of silence
CORRECTED = 37  # costs that replaced an earlier one
TAMED = 38  # costs that were not learned as far out as they are
FRESH = 39  # 1: the setting that is held may be changed before its time
STRETCH = 40  # rounds in a stretch of the past
ANEW = 41  # the first ticket that the comparison counts
PROVISIONAL = 42  # answers whose last word is not in: they are in the sums, and in nothing else
HEADER = 43
PAST = HEADER  # of every stretch: answers and their costs less FIRST; then the same of the start
STRETCHES = 64
OF_STRETCH = 4

LEARNING, PAUSED, REVERTED = range(3)  # f[MODE]
LEARNER, START, ASIDE = range(3)  # the arm of a ticket: ASIDE is of no coin

# Of a member.
WEIGHT = 0
NOISE = 1  # s^2
ERROR = 2  # e of the newest answer
DOUBT = 3  # v of the newest answer
SHARE = 4  # its weight before anything was seen; 0: there is no such member
OF_MEMBER = 5

# Of a block: its number + 1, answers, their sum, and sums of features.
NUMBER = 0
ANSWERS = 1
SUM = 2
SUMS = 3

# Of a ticket, before its place and context: what was learned of it (NaN: nothing), its arm, and its
# cost so far, less FIRST.
LEARNED = 0
ITS_ARM = 1
SO_FAR = 2
OF_TICKET = 3

# Of an answer that waits: ticket, cost, whether it replaces another, whether it is the last word;
# then place and context.
ITS_TICKET = 0
COST = 1
REPLACES = 2
IS_LAST = 3
OF_ANSWER = 4

WIDE = 16777216.0  # places are kept as multiples of 1 / WIDE
STEP = 67108864.0  # two of them in one number

# By how much two sums of the same 16 products can differ, added up in another order: so much of the
# sizes of the products, and where these are too small for a float, so much.
SUMMING, UNDERFLOW = 4e-15, 2e-322

HUGE_COST = 1e50
FIRST_COSTS = 6  # and one for every knob: so many are waited for before there is a unit
BEYOND = 45.0  # median distances from the middle, 30 deviations of normal costs
LEAST_UNIT = 1e-150
DROWNED = 1e-12  # of the first cost: less it, costs that are so small have few digits left
ROUNDING = 1e-13  # costs that differ by no more than this part of them are equal


class Sizes(NamedTuple):
    """How many there are of what."""

    base: int
    """Features of quadratics: 1, x, squares, products, and those of the context."""
    cosines: int
    most: int
    """Features in all."""
    order: int
    """The highest cosine."""
    points: int
    """Of the grid, along one knob."""
    grid: int
    """Of the grid, in all."""
    waits: int
    """Answers before there is a unit."""
    of_set: int
    """Numbers of the solved members of a set."""
    of_block: int
    of_buffer: int
    packed: int
    """Numbers that places and context take per ticket."""


def sizes(k: int, c: int) -> Sizes:
    """Return how many there are with k knobs and c features of the context."""
    base = 1 + 2 * k + k * (k - 1) // 2 + c * (k + 1)
    cosines = 14 if k == 1 else 27 if k == 2 else EACH * k
    points = 65 if k == 1 else 25 if k == 2 else 17
    one, two, three = base, base + cosines, base + k + 1  # features of every type of member
    return Sizes(
        base=base,
        cosines=cosines,
        most=base + cosines + k + 1,
        order=14 if k == 1 else 6 if k == 2 else EACH + 1,
        points=points,
        grid=points * points if k == 2 else points,
        waits=FIRST_COSTS + k,
        of_set=(one * (one + 1) + two * (two + 1) + three * (three + 1)) // 2,
        of_block=SUMS + base + cosines,
        of_buffer=OF_ANSWER + k + c,
        packed=(k + 1) // 2 + (c + 1) // 2,
    )


class Places(NamedTuple):
    """Where it begins in ``f``."""

    knobs: int
    """Of each knob: start, largest step, levels (0: all), last play."""
    table: int
    """Points of the grid, and the cosines there."""
    prior: int
    """Precisions of the features."""
    members: int
    means: int
    """theta of every member."""
    a: int
    b: int
    solved: int
    """Triangles of the members."""
    blocks: int
    buffer: int
    work: int
    values: int
    """Values of the grid, the last part of the work."""
    kept: int
    """What is kept per ticket."""


def places(has: Sizes, k: int, c: int) -> Places:
    """Return where everything begins, given how many there are of it."""
    knobs = PAST + STRETCHES * OF_STRETCH
    table = knobs + 4 * k
    prior = table + has.points * (has.order + 2)
    members = prior + has.most
    means = members + MEMBERS * OF_MEMBER
    a = means + MEMBERS * has.most
    b = a + SETS * (has.most * (has.most + 1) // 2)
    solved = b + SETS * has.most
    blocks = solved + SETS * has.of_set
    buffer = blocks + RING * has.of_block
    work = buffer + (has.waits + 1) * has.of_buffer
    values = work + (SETS + 3) * has.most + (has.order + 1) * k + 5 * k + c + 4
    return Places(
        knobs=knobs,
        table=table,
        prior=prior,
        members=members,
        means=means,
        a=a,
        b=b,
        solved=solved,
        blocks=blocks,
        buffer=buffer,
        work=work,
        values=values,
        kept=values + has.grid + has.points,
    )
