"""Predictions that have run after the last labels of a backlog, with squared loss.

When tickets are answered and none are asked, labels come in an order of their own, often the
smallest first. The last are then the largest of all: experts have followed them, and the mixture
trusts those that follow most quickly, as they were best while labels rose. But of the tickets
before the oldest open one all labels are known, and their order says nothing any more. BASE, the
mean of labels, does not depend on it. With D the mean distance of the newest open tickets'
predictions from BASE, what is shown is moved by

    - max(v, w) b e j o D.

There are two signs of a backlog, of which i tickets are open, of mean age a, the oldest is number t
of n, and k of the n - t since have a label, where labels took d, N of them and u on average.

*Open tickets are too young.* Where tickets come and go evenly, the mean age of open ones is
A = sum d^2 / (2 sum d), whatever the delays (as of lives that go on in renewal theory, Feller, "An
introduction to probability theory and its applications II", 1971). v = 3 - 4 a / A, within [0, 1].

*Labels come in bulk.* Of n - t tickets E = sum max(n - t - d, 0) / N should have a label by now.
w = max(1 - 4 (k + 1) / E, 0).

And four reasons for less: b = min(t / i, 1), as only tickets before the oldest of the i open ones
are all known; e = (64 u / n - 1) / 15 within [0, 1], which is 1 while labels took more than a
quarter of the time so far: later on, what is far from the mean of all may be a change; j = max(1 -
9 (standard error of D)^2 / D^2, 0), as rows differ; and o.

*Labels came in an order.* Of m labels between two predictions, y_1 to y_m, r is the correlation
with their places, taken with the standard deviation S of all labels,

    r = sqrt(3) (2 sum i y_i / (m (m + 1)) - sum y_i / m) / S,
    o = 2 max((m - 2) r^2 - 10 (1 - r^2), 0) / m

within [-1, 1] and [0, 1]: by chance (m - 2) r^2 / (1 - r^2) is about 1. Where labels come in any
order o is 0, and what is far from the mean is a change, or of other rows. It is that of the last
time that at least twelve came.

Where the last of so many leaves nothing open, there are no predictions to take D of. Until there
are, TRUST is 1 - e o, and each prediction goes its own way to BASE.

It ends by itself: open tickets become older, their labels come, and n grows. Other losses are left
alone, as the mean of labels is not what they should predict on average. There is no theorem.
"""

from __future__ import annotations

from typing import NamedTuple

from belated.arrays import Code, Floats
from belated.kernels.jit import leaf
from belated.kernels.learners.state import State
from belated.kernels.linear import layout as lm
from belated.kernels.linear.waiting import edge_of
from belated.kernels.slots import ints as N
from belated.kernels.tickets import tail

_NEWEST = 32.0  # open tickets that D is of
_FEWEST = 4.0  # below, nothing is moved
_YOUNG = 4.0  # v = 1 where open tickets have half of the age that they should, 0 with 3/4 of it
_IN_BULK = 4.0  # w = 0 where a quarter of the labels is there that should be
_LONG = 64.0  # times that labels take on average, after which it is no matter any more
_SHORT = 4.0  # the same, up to which it is all of the matter
_CHANCE = 9.0  # the square of three standard errors
_TELLING = 12.0  # labels between two predictions whose order says something
_BY_CHANCE = 10.0  # (m - 2) r^2 / (1 - r^2) that is no sign of an order yet
_SURELY = 2.0  # o is 1 from r^2 = 1/2 or so on


class Open(NamedTuple):
    """What is open: how many tickets, the oldest, the sum of their ages; and how far off is D."""

    tickets: float
    first: int
    ages: float
    distance: float
    by_chance: float
    """The square of D's standard error."""


@leaf
def keeps_mean(code: Code) -> bool:
    """Tell that predictions should be the mean of labels, on average."""
    return True


@leaf
def keeps_no_mean(code: Code) -> bool:
    """Tell that they should not."""
    return False


@leaf
def is_early(s: State) -> bool:
    """Tell whether e is above 0."""
    return _LONG * s.f[lm.AGED] > s.f[lm.LABELS] * s.n[N.ROUNDS]


@leaf
def told_in_turn(f: Floats, y: float) -> None:
    """Count a label with its place among those since the last prediction."""
    f[lm.BURST] += 1.0
    f[lm.BURST_SUM] += y
    f[lm.BURST_IN_TURN] += f[lm.BURST] * y


@leaf
def asked_again(f: Floats) -> None:
    """Tell whether labels since the last prediction came in an order, and count anew."""
    note_order(f)
    f[lm.BURST], f[lm.BURST_SUM], f[lm.BURST_IN_TURN] = 0.0, 0.0, 0.0


@leaf
def note_order(f: Floats) -> None:
    """Set o by the labels since the last prediction, if they are enough to tell."""
    m = f[lm.BURST]
    if m >= _TELLING and f[lm.SIZE] > 0.0:
        later = 2.0 * f[lm.BURST_IN_TURN] / (m * (m + 1.0)) - f[lm.BURST_SUM] / m
        square = min(3.0 * later * later / (f[lm.SIZE] * f[lm.SIZE]), 1.0)
        sure = max((m - 2.0) * square - _BY_CHANCE * (1.0 - square), 0.0) / m
        f[lm.IN_ORDER] = min(_SURELY * sure, 1.0)


@leaf
def trust_mean(s: State) -> None:
    """Set TRUST to 1 - e o, until it is looked at what is new, if a backlog ends with this label.

    Where few labels came, o is of an earlier time, and what is known since is to be believed.
    """
    note_order(s.f)
    if s.f[lm.BURST] >= _TELLING:
        s.f[lm.TRUST] = 1.0 - _early(s) * s.f[lm.IN_ORDER]


@leaf
def _early(s: State) -> float:
    """Return e, where it is above 0."""
    took = _LONG * s.f[lm.AGED] / (s.f[lm.LABELS] * s.n[N.ROUNDS])
    return min((took - 1.0) / (_LONG / _SHORT - 1.0), 1.0)


@leaf
def runaway(s: State) -> tuple[float, bool]:
    """Return what is to be added to every prediction, and whether there is a sign of a backlog."""
    f, rounds = s.f, s.n[N.ROUNDS]
    if f[lm.IN_ORDER] == 0.0 or not is_early(s):
        return 0.0, False
    seen = _open(s)
    if seen.tickets == 0.0:
        return 0.0, False
    young, in_bulk = _signs(f, seen, rounds)
    sign = max(young, in_bulk)
    square = seen.distance * seen.distance
    if square <= _CHANCE * seen.by_chance:
        return 0.0, sign > 0.0
    known = min(seen.first / seen.tickets, 1.0)
    sure = 1.0 - _CHANCE * seen.by_chance / square
    return -sign * known * _early(s) * sure * f[lm.IN_ORDER] * seen.distance, sign > 0.0


@leaf
def _open(s: State) -> Open:
    """Go through open tickets, the newest first."""
    f, n = s.f, s.n
    count, first, ages, newest, total, squares = 0.0, 0, 0.0, 0.0, 0.0, 0.0
    last = tail(s) - 1
    for i in range(last - n[N.HEAD] + 1):
        entry = last - i
        record = entry * lm.KEEP
        label = s.kept[record + lm.LABEL]
        if s.table[2 * entry + 1] >= 0 and label != label:
            first = s.table[2 * entry]
            ages += n[N.ROUNDS] - first - 1
            count += 1.0
            if newest < _NEWEST:
                newest += 1.0
                away = s.kept[record + lm.MIXTURE] - f[lm.BASE]
                total += away
                squares += away * away
    if newest < _FEWEST:
        return Open(count, first, ages, 0.0, 0.0)
    distance = total / newest
    variance = max(squares / newest - distance * distance, 0.0)
    return Open(count, first, ages, distance, variance / newest)


@leaf
def _signs(f: Floats, seen: Open, rounds: int) -> tuple[float, float]:
    """Return v and w."""
    since = rounds - seen.first
    labels, took, squares, expected = 0.0, 0.0, 0.0, 0.0
    for j in range(lm.BUCKETS):
        came = f[lm.AGES + lm.BY_AGE * j + lm.CAME]
        if came > 0.0:
            age = 0.5 * (edge_of(j) + edge_of(j + 1) - 1)
            labels += came
            took += came * age
            squares += came * age * age
            expected += came * max(since - age, 0.0)
    # v = 3 - 4 a / A, where a is ages / count and A is squares / (2 took).
    young = _YOUNG - 1.0 - _YOUNG * seen.ages * 2.0 * took / (seen.tickets * squares)
    has = since - seen.tickets + 1.0
    in_bulk = 1.0 - _IN_BULK * has * labels / expected if expected > 0.0 else 0.0
    return min(max(young, 0.0), 1.0), max(in_bulk, 0.0)
