"""One prediction, one observation, one cancellation: the events of the paper's timeline."""

from __future__ import annotations

from collections.abc import Callable

from belated.arrays import Code, Floats
from belated.kernels.choices import switch
from belated.kernels.jit import leaf
from belated.kernels.learners.feedback import answer_size, is_cost, is_excessive, play, write_cost
from belated.kernels.learners.rates import sum_up
from belated.kernels.learners.state import State
from belated.kernels.learners.steps import hear_nothing, size_of, step, step_size
from belated.kernels.learners.tracking import WEIGHT, admit, count_weight, lose, weight
from belated.kernels.learners.uses import (
    of_answer,
    of_lags,
    of_norm,
    of_rate,
    of_step,
    of_tracking,
    of_wrapper,
)
from belated.kernels.learners.wrappers import WRAPPERS, count_round, next_overdue
from belated.kernels.slots import code as C
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import kinds as K
from belated.kernels.slots import status as S
from belated.kernels.slots import table as T
from belated.kernels.tickets import (
    close_without_answer,
    count_arrival,
    count_delay,
    forget_ghosts,
    has_room,
    is_ghost,
    lay_ghost,
    locate,
    open_ticket,
)


@leaf
def issue(code: Code, s: State, x: Floats) -> int:
    """Issue the next ticket and write its play."""
    if code[C.WRAPPER] != K.UNWRAPPED:
        forget_ghosts(s)
    ticket = s.n[N.ROUNDS]
    entry = open_ticket(s)
    if code[C.BASELINE]:
        used = s.n[N.ARRIVED] - s.n[N.SKIPPED] - s.n[N.CANCELLED]
        s.kept[entry * s.n[N.KEEP]] = s.f[F.VALUES] / used if used > 0 else 0.0
    play(of_answer(code), s, ticket, x)
    admit(of_tracking(code), s, entry)
    return ticket


@leaf
def plays_its_point(code: Code) -> bool:
    """Tell whether a play is the point z itself, so that nobody needs to write it elsewhere."""
    ours = code[C.METHOD] == K.OURS and code[C.WRAPPER] == K.UNWRAPPED
    return ours and code[C.REDUCTION] == K.FIRST_ORDER and code[C.CHART] == K.PLAIN


@leaf
def predict_its_point(s: State) -> int:
    """Issue the next ticket of a learner that plays its point."""
    if not has_room(s):
        return S.FULL
    open_ticket(s)
    return s.n[N.ROUNDS] - 1


@leaf
def find(code: Code, s: State, ticket: int) -> int:
    """Tell what an answer to a ticket would meet: USED, DROPPED, or a refusal."""
    entry = locate(s, ticket)
    if entry < 0:
        return absent(code, entry)
    return S.DROPPED if is_ghost(s, entry) else S.USED


@leaf
def absent(code: Code, status: int) -> int:
    """Return what a word about a ticket without an entry meets.

    Where few are tracked, nobody knows whether a ticket that is not was answered before, or lost.
    """
    return S.DROPPED if code[C.WEIGHED] and status == S.CLOSED else status


@leaf
def observe_ours(code: Code, s: State, ticket: int, answer: Floats) -> int:
    """Use an answer. Every check comes before the first change."""
    entry = locate(s, ticket)
    if entry < 0:
        return absent(code, entry)
    return observe_ours_at(code, s, entry, ticket, answer)


@leaf
def observe_ours_at(code: Code, s: State, entry: int, ticket: int, answer: Floats) -> int:
    """Use an answer to the ticket of an entry."""
    about = of_answer(code)
    if answer.size != answer_size(about, s):
        return S.BAD
    write_cost(about, s, entry, ticket, answer)
    cost = answer if is_cost(about) else s.work
    norm = size_of(of_norm(code), cost)
    if not norm <= F.HUGE:
        return S.BAD
    excessive = is_excessive(about, s, ticket, answer, norm)
    if excessive and s.n[N.STRICT]:
        return S.TOO_LARGE
    if excessive:
        count_excess(s, norm)
    if is_ghost(s, entry):
        s.n[N.LATE] += 1
        lay_ghost(s, entry)
        return S.DROPPED
    if code[C.BASELINE]:
        s.f[F.VALUES] += answer[0]
    if code[C.WEIGHED]:
        weigh(code, s, ticket)
        for i in range(s.work.size):
            s.work[i] = s.f[WEIGHT] * cost[i]
        cost, norm = s.work, s.f[WEIGHT] * norm
    eta = count_step(code, s, entry, cost, norm)
    if moves(code, eta, norm):
        step(of_step(code), s, cost, eta, norm)
    count_delay(s, entry, N.MAX_DELAY)
    s.table[2 * entry + 1] = T.DEAD
    return S.USED


@leaf
def count_excess(s: State, norm: float) -> None:
    """Count an answer larger than assumed, used or not: its round may have cost as much."""
    s.n[N.EXCESS] += 1
    s.f[F.LARGEST] = max(s.f[F.LARGEST], norm)


@leaf
def weigh(code: Code, s: State, ticket: int) -> None:
    """Find out what the word about a tracked ticket weighs."""
    s.f[WEIGHT] = weight(of_tracking(code), s, ticket)


@leaf
def cancel_ours(code: Code, s: State, ticket: int) -> int:
    """Close a ticket whose answer will never come."""
    entry = locate(s, ticket)
    if entry < 0:
        return absent(code, entry)
    if is_ghost(s, entry):
        lay_ghost(s, entry)
        return S.DROPPED
    close_unanswered(code, s, entry, False)
    return S.USED


@leaf
def close_unanswered(code: Code, s: State, entry: int, given_up: bool) -> None:
    """Close an open entry with zero feedback, or with what stands in for it."""
    if code[C.WEIGHED]:
        weigh(code, s, s.table[2 * entry])
    feed_nothing(code, s, entry)
    close_without_answer(s, entry, given_up)


@leaf
def _give_up_late(code: Code, s: State, entry: int) -> None:
    close_unanswered(code, s, entry, True)


@leaf
def _give_up_lost(code: Code, s: State, entry: int) -> None:
    lose(of_tracking(code), s, entry)


# Close an open entry that the wrapper has given up on.
give_up = switch(
    C.WEIGHED, {K.UNWEIGHED: _give_up_late, K.THINNED: _give_up_lost, K.COINS: _give_up_lost}
)


@leaf
def count_step(code: Code, s: State, entry: int, cost: Floats, norm: float) -> float:
    """Count an arrival and return its step size; keep the sums of Theorem 4.1 for certificates."""
    open_lags = count_arrival(of_lags(code), s, entry)
    waiting = count_weight(of_tracking(code), s, open_lags)
    eta = step_size(of_rate(code), s, waiting, norm)
    sum_up(s.f, eta, waiting, norm)
    return eta


@leaf
def moves(code: Code, eta: float, norm: float) -> bool:
    """Tell whether a step is taken: some bases hear of all costs, others need something to do."""
    return code[C.HEARS] == 1 or (norm > 0.0 and eta > 0.0)


@leaf
def _feed_zero(code: Code, s: State, entry: int) -> None:
    """A zero cost leaves z and p where they are: no step, but it counts in every sum."""
    count_step(code, s, entry, s.work, 0.0)


@leaf
def _feed_zero_heard(code: Code, s: State, entry: int) -> None:
    """A user's base and a portfolio hear of zero costs too."""
    for i in range(s.work.size):
        s.work[i] = 0.0
    count_step(code, s, entry, s.work, 0.0)
    hear_nothing(of_step(code), s)


@leaf
def _feed_bowl(code: Code, s: State, entry: int) -> None:
    """The gradient of (lambda / 2) |y|^2 at the current point, when losses are strongly convex."""
    for i in range(s.z.size):
        s.work[i] = s.f[F.CURVATURE] * s.z[i]
    norm = size_of(of_norm(code), s.work)
    eta = count_step(code, s, entry, s.work, norm)
    if code[C.HEARS]:
        s.n[N.LAG] = 0  # this gradient is not one at the point of the ticket
    if moves(code, eta, norm):
        step(of_step(code), s, s.work, eta, norm)


# Feed an entry that has no answer.
feed_nothing = switch(
    C.LOST, {K.ZERO: _feed_zero, K.HEARD_ZERO: _feed_zero_heard, K.BOWL: _feed_bowl}
)


@leaf
def _predict(code: Code, s: State, x: Floats) -> int:
    if not has_room(s):
        return S.FULL
    return issue(code, s, x)


@leaf
def _give_up_and_predict(code: Code, s: State, x: Floats) -> int:
    """Give up on what is overdue, then predict (Algorithm 3)."""
    if not has_room(s):
        return S.FULL
    count_round(of_wrapper(code), s)
    if s.n[N.ROUNDS] >= s.n[N.CALM]:
        entry = next_overdue(of_wrapper(code), s)
        while entry >= 0:
            give_up(code, s, entry)
            entry = next_overdue(of_wrapper(code), s)
    return issue(code, s, x)


_predict_wrapped = switch(
    C.WRAPPER,
    {part.code: _give_up_and_predict for part in WRAPPERS} | {K.UNWRAPPED: _predict},
)


@leaf
def predict_ours(code: Code, s: State, x: Floats) -> int:
    """Issue the next ticket and write its play to x."""
    return _predict_wrapped(code, s, x)


Predict = Callable[[Code, State, Floats], int]
Observe = Callable[[Code, State, int, Floats], int]
ObserveAt = Callable[[Code, State, int, int, Floats], int]
Cancel = Callable[[Code, State, int], int]

# Other methods are entered in ``methods``.
PREDICT: dict[int, Predict] = {K.OURS: predict_ours}
OBSERVE: dict[int, Observe] = {K.OURS: observe_ours}
OBSERVE_AT: dict[int, ObserveAt] = {K.OURS: observe_ours_at}
CANCEL: dict[int, Cancel] = {K.OURS: cancel_ours}
# Modules with leaves that nothing in this room names.
SOURCES: dict[int, tuple[str, ...]] = {K.OURS: ()}

# Issue the next ticket and write its play to x; FULL: the table must grow first.
predict = switch(C.METHOD, PREDICT)
# Use an answer.
observe = switch(C.METHOD, OBSERVE)
# The same for a ticket whose entry is known.
observe_at = switch(C.METHOD, OBSERVE_AT)
# Close a ticket whose answer will never come.
cancel = switch(C.METHOD, CANCEL)
