"""Linear models with late labels: one prediction, one label, one ticket closed without.

A ticket keeps its row (coordinates and standardised values), what the six experts predicted, its
label so far, what was learned of it and when it is due. When a label comes, every expert evaluates
the loss at its *current* weights. Costs are O(row) per event, and O(log open) where tickets have
deadlines.
"""

from __future__ import annotations

import math

from belated.arrays import Code, Floats, Ints
from belated.kernels import tickets
from belated.kernels.choices import only
from belated.kernels.jit import leaf
from belated.kernels.linear import censoring, experts, losses
from belated.kernels.linear import layout as lm
from belated.kernels.linear.due import first_due, pop, push
from belated.kernels.linear.ipcw import relative_weight
from belated.kernels.linear.pending_positives import record_correction, update_pending_positives
from belated.kernels.linear.rows import bad_entry, fits, fits_squeezed, leave, pool_has_room, row_of
from belated.kernels.linear.slips import look_back, note_first
from belated.kernels.linear.together import ask_first
from belated.kernels.linear.waiting import REVIEW, count_age, count_kind, review
from belated.kernels.narrow import bits_of, float_of
from belated.kernels.slots import code as C
from belated.kernels.slots import ints as N
from belated.kernels.slots import status as S
from belated.kernels.slots import table as T
from belated.kernels.state import State
from belated.kernels.tickets import of_lags

of_all = only(*range(lm.SLOTS))
_of_clock = only(lm.TIMED)
_of_loss = only(lm.LOSS)
# Tickets without a row that are remembered: so many, and so many for each that is open. What comes
# up to nine times as late as the model waits then still tells it to wait longer.
_GHOSTS = 900
_PER_OPEN = 8
# Corrections after which experts are weighed anew, where silence is a label: before the first ones
# come, all that is charged is that nothing was heard, which says little about experts.
_SETTLING = 50
_NOTHING = C.NOTHING  # nobody looks at lags here


# --- Tickets that close by themselves ------------------------------------------------------------


@leaf
def _is_heard(s: State, record: int) -> bool:
    """Tell whether a ticket has a label so far."""
    return s.kept[record + lm.LABEL] == s.kept[record + lm.LABEL]


@leaf
def _give_up(s: State, c: Ints, pool: Floats) -> None:
    """Close what has waited too long, or is too much."""
    n = s.n
    if n[N.GIVES_UP] == lm.BY_AGES and n[N.ROUNDS] % REVIEW == 0:
        review(s)
        n[N.PATIENCE] = n[N.LIMIT] * n[N.LIMIT]
        n[N.CALM] = 0
    gives_up = n[N.GIVES_UP] == lm.AFTER or n[N.LIMIT] > 0
    if gives_up and n[N.ROUNDS] >= n[N.CALM]:
        entry = tickets.overdue(s)
        while entry >= 0:
            _close_late(s, c, pool, entry)
            entry = tickets.overdue(s)
    tickets.forget_oldest(s, _GHOSTS + _PER_OPEN * (n[N.ROUNDS] - n[N.ARRIVED]))
    if n[N.MOST_OPEN] > 0:
        while n[N.ROUNDS] - n[N.ARRIVED] >= n[N.MOST_OPEN]:
            while s.table[2 * n[N.HEAD] + 1] < 0:
                n[N.HEAD] += 1
            _close_late(s, c, pool, n[N.HEAD])


@leaf
def _close_late(s: State, c: Ints, pool: Floats, entry: int) -> None:
    """Close a ticket that nothing more is expected of; what comes after all is counted as late.

    With a label so far it is settled, unless it was before.
    """
    record = entry * lm.KEEP
    _release(s, c, pool, entry)
    tickets.count_arrival(of_lags(_NOTHING), s, entry)
    censoring.reset_if_none_pending(s)
    tickets.close_without_answer(s, entry, True)
    if _is_heard(s, record):
        s.n[N.HEARD] += 1
        s.n[N.SETTLED] += int(s.kept[record + lm.DUE] > -math.inf)


@leaf
def _release(s: State, c: Ints, pool: Floats, entry: int) -> None:
    """Let the row of a ticket go; one that nothing was learned of was among the open ones."""
    record = entry * lm.KEEP
    start, count = int(s.kept[record + lm.START]), int(s.kept[record + lm.PAIRS])
    s.n[N.POOL_LIVE] -= count
    if not _is_heard(s, record):
        for j in range(start, start + count):
            index = int(pool[2 * j])
            leave(row_of(c, index), pool[2 * j + 1])


@leaf
def tick(s: State, c: Ints, pool: Floats, at: float) -> None:
    """Let the clock go on to ``at``, and close what was due before; it never goes back."""
    f, n = s.f, s.n
    n[N.APPLIED] = 0
    f[lm.CLOCK] = max(f[lm.CLOCK], at)
    while first_due(s, pool) < f[lm.CLOCK]:
        entry = tickets.locate(s, pop(s, pool))
        if entry >= 0 and s.table[2 * entry + 1] >= 0:
            if n[N.LEARNS_LATE] and _is_heard(s, entry * lm.KEEP):
                n[N.SETTLED] += 1
                s.kept[entry * lm.KEEP + lm.DUE] = -math.inf
            else:
                _close_late(s, c, pool, entry)


@leaf
def _has_room(code: Code, s: State, pool: Floats, count: int, is_last: bool) -> bool:
    """Make room for one more row.

    While answers may be taken back nothing moves, unless that is the last thing before a ticket is
    issued: then they are there for good.
    """
    n = s.n
    as_it_is = fits(s, pool, count) and 2 * tickets.tail(s) < s.table.size
    if n[N.APPLIED] == n[N.ROUNDS] + 1 and not as_it_is:
        known = n[N.ROUNDS] - n[N.ARRIVED] + n[N.GHOSTS]
        if not (is_last and fits_squeezed(s, pool, count) and 4 * known <= s.table.size):
            return False
    return pool_has_room(code, s, pool, count) and tickets.has_room(s)


# --- Predictions ---------------------------------------------------------------------------------


@leaf
def predict(
    code: Code,
    s: State,
    c: Ints,
    pool: Floats,
    indices: Ints,
    values: Floats,
    first: int,
    given: int,
    at: float,
    span: float,
) -> tuple[int, float]:
    """Issue a ticket for ``given`` entries from ``first`` on. Return it, and the prediction.

    ``at`` is the time, ``span`` how long until the ticket is due; NaN for what the model says.
    Instead of a ticket: FULL when something must grow first, BAD for an entry that cannot be used.
    """
    ask_first(c, indices, first, given)
    if bad_entry(s.n[N.COORDINATES], indices, values, first, given) >= 0:
        return S.BAD, 0.0
    count = given + s.n[N.INTERCEPT]
    if not _has_room(_of_clock(code), s, pool, count, True):
        return S.FULL, 0.0
    if code[lm.TIMED]:
        tick(s, c, pool, at if at == at else float(s.n[N.ROUNDS]))
    _give_up(s, c, pool)
    entry = tickets.open_ticket(s)
    record = entry * lm.KEEP
    kept = s.kept
    kept[record + lm.START] = s.n[N.POOL_TAIL]
    kept[record + lm.PAIRS] = count
    kept[record + lm.LABEL] = math.nan
    kept[record + lm.LEARNED] = math.nan
    kept[record + lm.DUE] = math.inf
    s.n[N.POOL_TAIL] += count
    s.n[N.POOL_LIVE] += count
    experts.issue(s, c, pool, record, indices, values, first)
    if code[lm.TIMED]:
        when = s.f[lm.CLOCK] + (span if span == span else s.f[lm.DEADLINE])
        if when < math.inf:
            kept[record + lm.DUE] = when
            push(s, pool, when, s.table[2 * entry])
    p = _shown(_of_loss(code), s, record)
    value = losses.link(_of_loss(code), p)
    kept[record + lm.SHOWN] = p
    if code[lm.SILENT]:
        silence = s.f[lm.SILENCE]  # learned as it is: nobody sent it by mistake
        ticket = s.table[2 * entry]
        if code[lm.LOSS] == lm.LOGISTIC and s.n[N.ROUNDS] >= s.f[lm.NEXT_UPDATE]:
            update_pending_positives(s)
        _learn(_of_loss(code), s, c, pool, record, ticket, silence, silence, 1.0, 1.0)
    elif s.n[N.ROUNDS] >= s.f[lm.NEXT_UPDATE]:
        found = censoring.estimate(s)
        if found.labels > 0.0:
            losses.set_correction(_of_loss(code), s.f, found)
        censoring.schedule_update(s)
    return s.table[2 * entry], value


@leaf
def peek(
    code: Code, s: State, c: Ints, pool: Floats, indices: Ints, values: Floats, given: int
) -> tuple[int, float]:
    """Return USED and what ``predict`` would, leaving everything as it was.

    The row is entered behind the table and the pool. What that changes of a coordinate is
    kept in ``work``, and put back.
    """
    ask_first(c, indices, 0, given)
    if bad_entry(s.n[N.COORDINATES], indices, values, 0, given) >= 0:
        return S.BAD, 0.0
    count = given + s.n[N.INTERCEPT]
    if not _has_room(_of_clock(code), s, pool, count, False):
        return S.FULL, 0.0
    spared = s.work[s.work.size - lm.ISSUE_CHANGES * count : s.work.size]
    for j in range(count):
        row = row_of(c, indices[j] if j < given else s.n[N.COORDINATES])
        for i in range(lm.ISSUE_CHANGES):
            spared[lm.ISSUE_CHANGES * j + i] = float_of(row[i])
    record = tickets.tail(s) * lm.KEEP
    s.kept[record + lm.START] = s.n[N.POOL_TAIL]
    s.kept[record + lm.PAIRS] = count
    experts.issue(s, c, pool, record, indices, values, 0)
    for j in range(count):
        row = row_of(c, indices[j] if j < given else s.n[N.COORDINATES])
        for i in range(lm.ISSUE_CHANGES):
            row[i] = bits_of(spared[lm.ISSUE_CHANGES * j + i])
    p = _shown(_of_loss(code), s, record)
    return S.USED, losses.link(_of_loss(code), p)


@leaf
def _shown(code: Code, s: State, record: int) -> float:
    """Return what is shown of what the experts predict."""
    issued = s.kept[record + lm.ISSUED : record + lm.MIXTURE]
    return losses.shown(code, s.f, losses.blended(code, s.f, issued, s.kept[record + lm.MIXTURE]))


# --- Labels --------------------------------------------------------------------------------------


@leaf
def observe(
    code: Code, s: State, c: Ints, pool: Floats, ticket: int, y: float, weight: float, is_last: bool
) -> int:
    """Learn a label, which closes the ticket if it is the last. All checks come before any change.

    A label that replaces an earlier one counts as often as that did, once.
    """
    entry = tickets.locate(s, ticket)
    if entry < 0:
        return entry
    if not (losses.is_label(_of_loss(code), y) and 0.0 < weight <= lm.HUGE_WEIGHT):
        return S.BAD
    replaces = s.table[2 * entry + 1] >= 0 and _is_heard(s, entry * lm.KEEP)
    if weight != 1.0 and (replaces or not is_last):
        return S.TOO_LARGE
    count_age(s.f, s.n[N.ROUNDS] - ticket - 1)
    count_kind(s.f, s.n[N.ROUNDS] - ticket - 1, y)
    if tickets.is_ghost(s, entry):
        s.n[N.LATE] += 1
        tickets.lay_ghost(s, entry)
        return S.DROPPED
    record = entry * lm.KEEP
    old = s.kept[record + lm.LABEL]
    if s.kept[record + lm.DUE] == -math.inf:  # settled, but kept
        s.n[N.LATE] += 1
    if old != y:
        if not code[lm.SILENT] and old != old:
            look_back(_of_loss(code), s, c, y)
        learned = losses.tame(_of_loss(code), s.f, y, s.kept[record + lm.LEARNED])
        s.f[lm.TAMED] += 1.0 if learned != y else 0.0
        if old != old:
            issued = s.kept[record + lm.MIXTURE]
            residual = losses.residual(_of_loss(code), s.f, issued, learned)
            censoring.record_label_age(s, ticket, residual)
            often = relative_weight(s.f, s.n[N.ROUNDS], ticket) if is_last else 1.0
            s.f[lm.AGED] += s.n[N.ROUNDS] - ticket - 1
            note_first(s, learned, weight * often, is_last)
            _learn(_of_loss(code), s, c, pool, record, ticket, y, learned, weight, often)
        else:
            _relearn(code, s, c, pool, record, ticket, y, learned)
    if is_last:
        s.n[N.POOL_LIVE] -= int(s.kept[record + lm.PAIRS])
        tickets.count_arrival(of_lags(_NOTHING), s, entry)
        tickets.count_delay(s, entry, N.MAX_DELAY)
        s.table[2 * entry + 1] = T.DEAD
    if not code[lm.SILENT]:
        censoring.reset_if_none_pending(s)
    return S.USED


@leaf
def _learn(
    code: Code,
    s: State,
    c: Ints,
    pool: Floats,
    record: int,
    ticket: int,
    y: float,
    learned: float,
    weight: float,
    often: float,
) -> None:
    """Take in the first label of a ticket: it is scored as it is, and ``learned`` as tamed.

    Base, unit and mixture count it ``often`` times its weight.
    """
    kept = s.kept
    s.f[lm.LOST] += weight * losses.loss(code, s.f, kept[record + lm.SHOWN], y)
    s.f[lm.SCORED] += weight
    experts.charge(code, s, record, ticket, learned, weight * often)
    losses.count_label(code, s.f, learned, weight * often)
    experts.learn(code, s, c, pool, record, learned, weight)
    kept[record + lm.LABEL] = y
    kept[record + lm.LEARNED] = learned


@leaf
def _relearn(
    code: Code, s: State, c: Ints, pool: Floats, record: int, ticket: int, y: float, learned: float
) -> None:
    """Put a label in the place of another; what was learned of that is taken back.

    Of a label that was tamed, and is still as far out, nothing new is learned.
    """
    f, kept = s.f, s.kept
    p, old, before = kept[record + lm.SHOWN], kept[record + lm.LABEL], kept[record + lm.LEARNED]
    f[lm.LOST] += losses.loss(_of_loss(code), f, p, y) - losses.loss(_of_loss(code), f, p, old)
    s.n[N.CORRECTED] += 1
    was_above, was_below = old > before, old < before
    stays = (was_above and y > learned) or (was_below and y < learned)
    if not stays:
        experts.recharge(s, record, ticket, before, learned)
    if code[lm.SILENT] and s.n[N.CORRECTED] == _SETTLING:
        experts.reset_expert_losses(s)
    if code[lm.SILENT] and code[lm.LOSS] == lm.LOGISTIC:
        record_correction(s, ticket, old)
    if not stays:
        losses.recount_label(_of_loss(code), f, before, learned)
        experts.correct(_of_loss(code), s, c, pool, record, before, learned)
        kept[record + lm.LEARNED] = learned
    kept[record + lm.LABEL] = y


@leaf
def cancel(s: State, c: Ints, pool: Floats, ticket: int) -> int:
    """Close a ticket that nothing more will be heard of; what was learned stays."""
    entry = tickets.locate(s, ticket)
    if entry < 0:
        return entry
    s.n[N.APPLIED] = 0
    if tickets.is_ghost(s, entry):
        tickets.lay_ghost(s, entry)
        return S.DROPPED
    _release(s, c, pool, entry)
    tickets.count_arrival(of_lags(_NOTHING), s, entry)
    censoring.reset_if_none_pending(s)
    tickets.close_without_answer(s, entry, False)
    return S.USED
