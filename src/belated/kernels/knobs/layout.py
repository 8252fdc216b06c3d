"""The layout of the arrays of knobs.

Knobs are two arrays: ``f`` (float64: the header below, the parts that ``views`` names, then what is
kept per ticket) and ``n`` (int64: the counters of ``slots.ints`` and the table of tickets). The
place x of a knob is in [-1, 1].

A *set* is a window (how long answers count) and whether blocks of rounds have a level of their own;
it has its own sums. A *model* is a set and how many of its features are used.
"""

from __future__ import annotations

from typing import NamedTuple

MOST_KNOBS = 16
MOST_CONTEXT = 32

PREDICT, OBSERVE, REVISE, CANCEL, PLAYED, BEST, OVERRIDDEN, TICK = range(8)  # events

LIMITS = 38  # slot of n: number of constraints
BY_CLOCK = -2  # n[PATIENCE] if deadlines are lengths of time

WINDOWS = 3  # unlimited, long, short
LONG, SHORT = 1000.0, 200.0  # rounds after which an answer counts 1/e
LEVELS = 2  # without levels, with a level for every block of rounds
SETS = WINDOWS * LEVELS
FEATURES = 2  # quadratic; these and cosines
MODELS = SETS * FEATURES
PER_WINDOW = LEVELS * FEATURES  # models
LEVEL_PRECISION = 0.05  # prior precision of a level, in answers
BLOCK = 32  # rounds in a block
RING = 128  # blocks that are remembered

# Slots of ``f``.
COUNT = 0  # answers learned
PROVISIONAL = 1  # of these, answers that may be revised: only the sums include them
ANCHOR = 2  # y = (cost - ANCHOR) / UNIT
UNIT = 3  # 0 before it is known
FILLED = 4  # answers that wait for a unit
FED = 5  # answers learned before there was one: they were all equal to ANCHOR
LATEST = 6  # the latest play that was answered
MEAN = 7  # of y
SQUARES = 8  # sum of squared distances from it
TAMED = 9  # answers that were clipped
CORRECTED = 10  # costs that replaced an earlier one
SETTLED = 11  # tickets that the deadline closed with a cost
HOLD = 12  # rounds that a setting is held for
HOLDOUT = 13  # share of rounds that play the start
SILENCE = 14  # cost of a ticket without an answer; NaN: unknown
MODE = 15  # LEARNING, PAUSED or REVERTED
FRESH = 16  # 1: the setting that is held may be changed before its time
ARM = 17  # arm of the setting that is held
ALARMS = 18  # times that it reverted by itself
ALARMED = 19  # 1: it reverted by itself and was not resumed since
ANEW = 20  # first ticket that the comparison counts
COMPARED = 21  # answers of both arms
GAIN = 22  # mean of the estimates of start - learner
GAIN_SQUARES = 23  # sum of squared distances from it
BASELINE = 24  # mean cost of both arms
COST_SQUARES = 25  # sum of squared distances from it
OF_ARM = 26  # for each arm: answers, and their mean cost
STRETCH = 30  # rounds in a stretch of the history
ORIGIN = 31  # for each window: the play that its weights are relative to
SINCE = 34  # for each set: answers since it was solved
HEADER = 40
HISTORY = HEADER  # for each stretch: answers and their mean cost; then the same of the start
STRETCHES = 64
OF_STRETCH = 4

LEARNING, PAUSED, REVERTED = range(3)  # f[MODE]
LEARNER, START, ASIDE = range(3)  # arm of a ticket; ASIDE: not chosen by the coin

# Of a block: its number + 1, answers, the sum of their values, and sums of features.
NUMBER, ANSWERS, SUM, SUMS = range(4)

# Of a ticket, before its place and context: value learned (NaN: none), arm, cost so far.
LEARNED, ITS_ARM, SO_FAR, OF_TICKET = range(4)

# Of an answer that waits, before place and context.
ITS_TICKET, COST, REPLACES, IS_LAST, OF_ANSWER = range(5)

GRID = 16777216.0  # places are multiples of 1 / GRID
PAIR = 67108864.0  # two of them in one number

HUGE_COST = 1e50
LEAST_UNIT = 1e-150


class Sizes(NamedTuple):
    """How many there are of what."""

    base: int  # quadratic features: 1, x, squares, products, and those of the context
    most: int  # features in all
    order: int  # highest cosine
    points: int  # points of the grid along one knob
    waits: int  # answers that are needed for a unit
    packed: int  # numbers that place and context take per ticket


def sizes(k: int, c: int) -> Sizes:
    """Return the sizes with k knobs and c features of the context."""
    base = 1 + 2 * k + k * (k - 1) // 2 + c * (k + 1)
    cosines = 14 if k == 1 else 27 if k == 2 else 3 * k
    return Sizes(
        base=base,
        most=base + cosines,
        order=14 if k == 1 else 6 if k == 2 else 4,
        points=65 if k == 1 else 25 if k == 2 else 17,
        waits=6 + k,
        packed=(k + 1) // 2 + (c + 1) // 2,
    )
