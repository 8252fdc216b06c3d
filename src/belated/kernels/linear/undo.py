"""The first answer since the last prediction: applied at once, and undone if another one arrives.

Answers between two predictions are a set; see ``belated.linear.answer_set``. Nearly always there is
one, so it is applied at once, and what it changes is kept until the next prediction. Tickets and
rows do not move meanwhile: the answer is undone before anything needs room.
"""

from __future__ import annotations

from belated.arrays import Code, Floats, Ints
from belated.kernels.jit import leaf
from belated.kernels.linear import layout as lm
from belated.kernels.linear.model import observe
from belated.kernels.linear.waiting import bucket_of
from belated.kernels.slots import ints as N
from belated.kernels.slots import status as S
from belated.kernels.state import State
from belated.kernels.tickets import locate

# ``saved``: ``f`` up to the ages, and what it has of the age of the answer; the record, then
_RECORD = lm.AGES + lm.BY_AGE
LABEL = _RECORD + lm.KEEP
WEIGHT = LABEL + 1
SAVED = LABEL + 2
# ``marks``: the header of ``n``, then
TICKET = N.HEADER
ENTRY = TICKET + 1
STATE = TICKET + 2  # what the table said of the ticket
USED = TICKET + 3
COUNT = TICKET + 4  # of the coordinates of its row, each of which has its number and its row of c
ROWS = TICKET + 5
_OF_ROW = 1 + lm.ROW


@leaf
def observe_first(
    code: Code,
    s: State,
    c: Ints,
    pool: Floats,
    ticket: int,
    y: float,
    weight: float,
    saved: Floats,
    marks: Ints,
) -> int:
    """Learn the last word on a ticket, and keep what takes it back.

    FULL: there is an answer already, or this one may change more than can be kept.
    """
    entry = locate(s, ticket)
    if entry < 0:
        return entry
    record = entry * lm.KEEP
    state = s.table[2 * entry + 1]
    start = int(s.kept[record + lm.START])
    count = int(s.kept[record + lm.PAIRS]) if state >= 0 else 0
    is_first = s.n[N.APPLIED] != s.n[N.ROUNDS] + 1
    may_slip = s.f[lm.LABELS] == lm.FIRST_LABELS  # see ``slips``
    if not is_first or may_slip or ROWS + _OF_ROW * count > marks.size:
        return S.FULL
    of_age = lm.AGES + lm.BY_AGE * bucket_of(s.n[N.ROUNDS] - ticket - 1)
    for i in range(lm.AGES):
        saved[i] = s.f[i]
    for i in range(lm.BY_AGE):
        saved[lm.AGES + i] = s.f[of_age + i]
    for i in range(N.HEADER):
        marks[i] = s.n[i]
    for i in range(lm.KEEP):
        saved[_RECORD + i] = s.kept[record + i]
    for j in range(count):
        index, at = int(pool[2 * (start + j)]), ROWS + _OF_ROW * j
        marks[at] = index
        for i in range(lm.ROW):
            marks[at + 1 + i] = c[lm.ROW * index + i]
    status = observe(code, s, c, pool, ticket, y, weight, True)
    if status >= 0:
        s.n[N.APPLIED] = s.n[N.ROUNDS] + 1
        saved[LABEL], saved[WEIGHT] = y, weight
        marks[TICKET], marks[ENTRY], marks[STATE] = ticket, entry, state
        marks[USED], marks[COUNT] = status, count
    return status


@leaf
def take_back(s: State, c: Ints, saved: Floats, marks: Ints) -> None:
    """Undo what ``observe_first`` has done."""
    entry = marks[ENTRY]
    for i in range(lm.AGES):
        s.f[i] = saved[i]
    of_age = lm.AGES + lm.BY_AGE * bucket_of(marks[N.ROUNDS] - marks[TICKET] - 1)
    for i in range(lm.BY_AGE):
        s.f[of_age + i] = saved[lm.AGES + i]
    for i in range(N.HEADER):
        s.n[i] = marks[i]
    for i in range(lm.KEEP):
        s.kept[entry * lm.KEEP + i] = saved[_RECORD + i]
    s.table[2 * entry + 1] = marks[STATE]
    for j in range(marks[COUNT]):
        at = ROWS + _OF_ROW * j
        for i in range(lm.ROW):
            c[lm.ROW * marks[at] + i] = marks[at + 1 + i]
