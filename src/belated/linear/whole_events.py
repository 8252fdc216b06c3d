"""Events of a linear model that are part of a larger one; see ``belated.learner.whole``.

Whoever calls has the turn of the model, has noted the list for the answers, and finishes what is
left then. ``more`` are calls that belong to the same event: they are made if the model refuses
nothing, and no interrupt comes between. What is refused is raised, and the list stays empty.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import starmap, takewhile
from operator import call
from typing import Any

import numpy as np

from belated.kernels.linear import direct, entries
from belated.kernels.slots import status as S
from belated.learner.whole import Call
from belated.linear.given import Entries, Row
from belated.linear.model import LinearModel
from belated.linear.times import NEVER

# Tell whether something is no refusal, without a call of Python code: (ticket, value), a status,
# and what a function says that is called directly, which is None where it declines.
_is_ticket: Callable[[Any], bool] = (0,).__le__
_is_status: Callable[[Any], bool] = (0).__le__
_is_said: Callable[[Any], bool] = frozenset((True, False)).__contains__


def issue(
    model: LinearModel,
    answers: list[Any],
    row: Entries,
    times: tuple[float, float],
    features: Row,
    *more: Call,
) -> None:
    """Ask for a ticket and a prediction, and make room for them where there is none.

    ``times`` are now and how long until the ticket is due, and ``features`` what the row is of.
    """
    now, span = times
    quick = model._issue_now
    if quick is not None and now is NEVER and span is NEVER:
        answers += takewhile(bool, starmap(call, ((quick, *row), *more)))
        if answers:
            return
    made = starmap(call, ((model._predict, *model._arrays, *row, now, span), *more))
    answers += takewhile(_is_ticket, made)
    if not answers:
        if model._given.is_bad(row):  # to ask the entry again could give a ticket
            raise model._given.refusal(features, row, "predict")
        model._make_room(row[2])
        answers += starmap(call, ((model._predict, *model._arrays, *row, now, span), *more))


def issue_alone(
    model: LinearModel, row: Entries, times: tuple[float, float], features: Row
) -> None:
    """Ask for a ticket where nothing else is asked: that the next one is issued says it all."""
    now, span = times
    quick = model._issue_now
    if quick is None or now is not NEVER or span is not NEVER or quick(*row) is None:
        ticket, _ = model._predict(*model._arrays, *row, now, span)
        if ticket < 0:
            model._retried(model._predict, ticket, (*row, now, span), features, "predict")


def hear(
    model: LinearModel,
    answers: list[Any],
    ticket: int,
    label: float,
    now: float,
    who: str,
    *more: Call,
) -> None:
    """Tell the label of a ticket, the last word on it."""
    quick = model._hear_now
    if quick is not None and now is NEVER:
        answers += takewhile(_is_said, starmap(call, ((quick, ticket, label, 1.0, None), *more)))
    if not answers:
        ask(model, answers, model._observe, (ticket, label, 1.0, now), who, *more)


def ask(
    model: LinearModel,
    answers: list[Any],
    entry: Callable[..., int],
    arguments: tuple[Any, ...],
    who: str,
    *more: Call,
) -> None:
    """Ask an entry about a ticket, which comes first among the arguments; a label is next."""
    made = starmap(call, ((entry, *model._arrays, *arguments), *more))
    answers += takewhile(_is_status, made)
    if not answers:
        status = entry(*model._arrays, *arguments)  # it looks first: refused again, it says why
        ticket, label, *_ = *arguments, 0.0
        raise model._answers.refusal(status, ticket, label, 1.0, who)


def forecast_call(model: LinearModel, row: Entries) -> Call:
    """Return a call for one more ticket that is not refused."""
    _make_ready(model, row[2])
    if model._issue_now is not None and row[2] <= direct.LONGEST:
        return model._issue_now, *row
    return model._predict, *model._arrays, *row, NEVER, NEVER


def label_call(model: LinearModel, ticket: int, label: float) -> Call:
    """Return a call that tells the label of a ticket."""
    if model._hear_now is not None:
        return model._hear_now, ticket, label, 1.0, None
    return model._observe, *model._arrays, ticket, label, 1.0, NEVER


def _make_ready(model: LinearModel, given: int) -> None:
    """Let grow what has no room for one more row, so that the next one is not refused for it.

    Where rows of closed tickets can make room, the entry that only looks has them do so.
    """
    if model._memory.has_room(given + model._settings.intercept):
        return
    row = np.zeros(given, dtype=np.int64), np.zeros(given), given
    status, _ = entries.peek(model._settings.code)(*model._arrays, *row)
    if status == S.FULL:
        model._make_room(given)
