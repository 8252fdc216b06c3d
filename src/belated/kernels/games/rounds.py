"""Whole games: the learner and the losses in one loop.

What the learner will be told is kept in its own table of tickets, at the end of each ticket's
record: the answer, and with details also z_s, the point that the play was made from. So a game
needs memory for its open tickets, not for its rounds.
"""

from __future__ import annotations

from typing import NamedTuple

from belated.arrays import Code, Floats, Ints
from belated.kernels.choices import only, switch
from belated.kernels.games.losses import (
    ADAPTIVE,
    FAMILY,
    GIVEN,
    SOURCE,
    Loss,
    both,
    coefficients,
    draw,
    gradient,
    of_losses,
    value,
)
from belated.kernels.jit import leaf
from belated.kernels.learners import events
from belated.kernels.learners.feedback import answer_size, chart, is_cost
from belated.kernels.learners.sets import dot
from belated.kernels.learners.state import State
from belated.kernels.learners.uses import of_answer, of_chart
from belated.kernels.slots import code as C
from belated.kernels.slots import ints as N
from belated.kernels.slots import kinds as K
from belated.kernels.slots import status as S
from belated.kernels.tickets import locate
from belated.kernels.vectors import flat, vector

# Slots of ``rules`` after those of the losses: whether details are recorded, and what is revealed
# of the loss itself when the answer is due.
DETAIL, REVEALS = 2, 3
NOTHING, GRADIENT, ALL = range(3)  # rules[REVEALS]
of_rules = only(FAMILY, SOURCE, DETAIL, REVEALS)

# ``totals``: sums over the game, then vectors: sums of g_t, c_n and a_t, and room for two more.
LOSS = 0  # sum of f_t(x_t); of the mean over the points of a play
LINEAR = 1  # sum of <g_t, x_t>, g_t being the gradient at the play
STALE = 2  # sum of <c_n, z_s>: what the base paid in its game with drift
PROMPT = 3  # sum of <c_n, z_n>: what it would have paid without
MARK = 4  # checkpoints passed
REFUSAL = 5  # status of the event that was refused, or 0
TICKET = 6  # in a game whose delays depend on the plays: of a refused answer, or -1 for a play
TOTALS = 8


def size(dim: int) -> int:
    """Return how many numbers ``totals`` holds."""
    return TOTALS + 5 * dim + 1


class Book(NamedTuple):
    """Where a game is recorded."""

    totals: Floats
    """Sums; see above."""
    marks: Ints
    """Numbers of rounds after which a checkpoint is taken."""
    curve: Floats
    """Per checkpoint: the sum of losses, then the sum of a_t, 0 unless losses are adaptive."""
    losses: Floats
    """Loss of every round, or empty."""
    plays: Floats
    """The plays, one after another, or a single one that is written again and again."""
    width: int
    """Length of a play."""
    gradients: Floats
    """View: sum of g_t."""
    costs: Floats
    """View: sum of c_n, in the chart."""
    vectors: Floats
    """View: sum of a_t."""
    point: Floats
    """View: passing work."""
    room: Floats
    """View: passing work for coefficients, one number longer."""


@leaf
def open_book(
    totals: Floats, marks: Ints, curve: Floats, losses: Floats, plays: Floats, k: int
) -> Book:
    """Name the parts of the record."""
    width = plays.shape[1]
    totals, marks, curve = vector(totals), vector(marks), flat(curve)
    losses, plays = vector(losses), flat(plays)
    g = TOTALS
    return Book(
        totals=totals,
        marks=marks,
        curve=curve,
        losses=losses,
        plays=plays,
        width=width,
        gradients=totals[g : g + k],
        costs=totals[g + k : g + 2 * k],
        vectors=totals[g + 2 * k : g + 3 * k],
        point=totals[g + 3 * k : g + 4 * k],
        room=totals[g + 4 * k : g + 5 * k + 1],
    )


@leaf
def stored(code: Code, rules: Code, s: State) -> int:
    """Return how many numbers of an answer are stored; a revealed loss is drawn again instead."""
    return 0 if rules[REVEALS] else answer_size(of_answer(code), s)


@leaf
def _record_at(s: State, entry: int, size: int) -> int:
    """Return where the game's part of a ticket's record begins."""
    return (entry + 1) * s.n[N.KEEP] - size


@leaf
def writes_plays(code: Code, book: Book) -> bool:
    """Tell whether plays are written to the book; where they are not, they are the points z."""
    return book.losses.size > 0 or not events.plays_its_point(code)


@leaf
def play_of(book: Book, t: int) -> Floats:
    """Return where the play of a round is written."""
    start = t * book.width if book.plays.size > book.width else 0
    return book.plays[start : start + book.width]


@leaf
def play_round(code: Code, rules: Code, s: State, loss: Loss, book: Book, t: int) -> int:
    """Predict, meet the loss, and put the answer aside; a refusal is below 0."""
    if t != s.n[N.ROUNDS]:
        return S.UNKNOWN
    if writes_plays(code, book):
        x = play_of(book, t)
        status = events.predict(code, s, x)
    else:
        x = s.z
        status = events.predict_its_point(s)
    if status < 0:
        return status
    k = s.z.size
    size = stored(code, rules, s)
    width = size + k if rules[DETAIL] else size
    at_answer = _record_at(s, t + s.n[N.OFFSET], width)
    answer = s.kept[at_answer : at_answer + size]
    if rules[SOURCE] == GIVEN:  # it is used where it stands
        row = t * (k + 1)
        loss = Loss(
            q=loss.q,
            rows=loss.rows,
            a=loss.rows[row : row + k],
            m=loss.m,
            start=loss.start,
            end=loss.end,
        )
        b = loss.rows[row + k]
    else:
        b = draw(of_losses(rules), loss, t, x[:k])
    met = _meet(of_answer(code), of_losses(rules), s, loss, b, x, answer)
    book.totals[LOSS] += met
    if book.losses.size > 0:
        book.losses[t] = met
    _keep_detail(rules, code, s, loss, book, b, x, answer, at_answer + size)
    if rules[SOURCE] == ADAPTIVE:
        for i in range(k):
            book.vectors[i] += loss.a[i]
    mark = int(book.totals[MARK])
    if mark < book.marks.size and book.marks[mark] == t + 1:
        _pass_mark(of_losses(rules), book, mark)
    return status


@leaf
def _meet(
    code: Code, rules: Code, s: State, loss: Loss, b: float, x: Floats, answer: Floats
) -> float:
    """Return the loss of a play and write the answer that it will get."""
    if code[C.REDUCTION] == K.FIRST_ORDER or code[C.REDUCTION] == K.COEFFICIENTS:
        if answer.size > 0:
            return both(rules, loss, b, x, answer)
        return value(rules, loss, b, x)
    k = s.z.size
    total = 0.0
    for j in range(answer.size):
        answer[j] = value(rules, loss, b, x[j * k : (j + 1) * k])
        total += answer[j]
    return total / answer.size


@leaf
def _no_detail(
    rules: Code,
    code: Code,
    s: State,
    loss: Loss,
    book: Book,
    b: float,
    x: Floats,
    answer: Floats,
    place: int,
) -> None:
    pass


@leaf
def _detail(
    rules: Code,
    code: Code,
    s: State,
    loss: Loss,
    book: Book,
    b: float,
    x: Floats,
    answer: Floats,
    place: int,
) -> None:
    """Keep z, and add <g_t, x_t> and g_t; for a play of several points, at the first one."""
    k = s.z.size
    for i in range(k):
        s.kept[place + i] = s.z[i]
    g = answer if code[C.REDUCTION] == K.FIRST_ORDER and answer.size > 0 else book.point
    if not (code[C.REDUCTION] == K.FIRST_ORDER and answer.size > 0):
        gradient(of_losses(rules), loss, b, x[:k], g)
    book.totals[LINEAR] += dot(g, x[:k])
    for i in range(k):
        book.gradients[i] += g[i]


# Record the details of a round, if they are wanted.
_keep_detail = switch(DETAIL, {0: _no_detail, 1: _detail})


@leaf
def _pass_mark(rules: Code, book: Book, mark: int) -> None:
    """Take a checkpoint."""
    place = mark * (book.curve.size // book.marks.size)
    book.curve[place] = book.totals[LOSS]
    if rules[SOURCE] == ADAPTIVE:
        for i in range(book.vectors.size):
            book.curve[place + 1 + i] = book.vectors[i]
    book.totals[MARK] += 1.0


@leaf
def _give_stored(
    rules: Code, code: Code, s: State, loss: Loss, book: Book, entry: int, ticket: int
) -> int:
    """Give the answer that was put aside; with details, compare the points of then and now."""
    size = answer_size(of_answer(code), s)
    width = size + s.z.size if rules[DETAIL] else size
    start = _record_at(s, entry, width)
    answer = s.kept[start : start + size]
    wanted = rules[DETAIL] == 1 and code[C.METHOD] == K.OURS
    direct = is_cost(of_answer(code)) and not code[C.WEIGHED]
    prompt = 0.0
    if wanted and direct:
        prompt = dot(answer, s.z)
    elif wanted:
        for i in range(s.z.size):
            book.point[i] = s.z[i]
    status = events.observe_at(code, s, entry, ticket, answer)
    if wanted and status == S.USED:
        past = s.kept[start + size : start + size + s.z.size]
        if direct:
            _sum_drift(book, answer, past, prompt)
        else:
            _sum_drift(book, s.work, past, dot(s.work, book.point))
    return status


@leaf
def _sum_drift(book: Book, cost: Floats, past: Floats, prompt: float) -> None:
    """Add <c_n, z_s>, <c_n, z_n> and c_n."""
    book.totals[STALE] += dot(cost, past)
    book.totals[PROMPT] += prompt
    for i in range(cost.size):
        book.costs[i] += cost[i]


@leaf
def _reveal_coefficients(
    rules: Code, code: Code, s: State, loss: Loss, book: Book, entry: int, ticket: int
) -> int:
    """Reveal the loss by its coefficients."""
    draw(of_losses(rules), loss, ticket, book.point)
    coefficients(of_losses(rules), loss, book.room)
    return events.observe(code, s, ticket, book.room)


@leaf
def _reveal_gradient(
    rules: Code, code: Code, s: State, loss: Loss, book: Book, entry: int, ticket: int
) -> int:
    """Reveal the loss by its gradient at the current point."""
    b = draw(of_losses(rules), loss, ticket, book.point)
    for i in range(s.z.size):
        book.point[i] = chart(of_chart(code), s, i, s.z[i])
    fresh = book.room[: s.z.size]
    gradient(of_losses(rules), loss, b, book.point, fresh)
    return events.observe(code, s, ticket, fresh)


_give = switch(
    REVEALS, {NOTHING: _give_stored, GRADIENT: _reveal_gradient, ALL: _reveal_coefficients}
)


@leaf
def give_answer(code: Code, rules: Code, s: State, loss: Loss, book: Book, ticket: int) -> int:
    """Let the learner observe what is due for a ticket, unless it is forgotten or lost.

    A refusal is below 0.
    """
    entry = locate(s, ticket)
    if entry < 0:
        return S.DROPPED if entry == S.FORGOTTEN else events.absent(code, entry)
    return _give(rules, code, s, loss, book, entry, ticket)
