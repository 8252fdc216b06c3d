"""Events of a linear model that are part of a larger one; see ``belated.learner.whole``.

The caller has the turn of the model, has noted the list for the answers, and finishes what is left
then. ``more`` are calls that belong to the same event: no interrupt comes between. If an event is
refused, an error is raised and the list stays empty.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable
from itertools import starmap, takewhile
from operator import call
from typing import Any

from belated.errors import AlreadyObserved, UnknownTicket
from belated.kernels.linear import direct
from belated.learner.whole import Call, together
from belated.linear.given import Entries, Row
from belated.linear.model import LinearModel
from belated.linear.times import NEVER

# Tell whether something is no refusal, without a call of Python code.
_is_ticket: Callable[[Any], bool] = (0,).__le__
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
    if model._set is not None:
        answers += starmap(call, (model._closing_call(row, *times, features), *more))
        return
    now, span = times
    quick = model._issue_now
    if quick is not None and now is NEVER and span is NEVER:
        answers += takewhile(bool, starmap(call, ((quick, *row), *more)))
        if answers:
            return
    made = starmap(call, ((model._predict, *model._base_arrays, *row, now, span), *more))
    answers += takewhile(_is_ticket, made)
    if not answers:
        if model._given.is_bad(row):  # to ask the entry again could give a ticket
            raise model._given.refusal(features, row, "predict")
        model._ready(row[2])
        answers += starmap(call, ((model._predict, *model._arrays, *row, now, span), *more))


def issue_alone(
    model: LinearModel, row: Entries, times: tuple[float, float], features: Row
) -> None:
    """Ask for a ticket where nothing else is asked: that the next one is issued says it all."""
    now, span = times
    if model._set is not None:
        together(model._closing_call(row, now, span, features))
        return
    quick = model._issue_now
    if quick is None or now is not NEVER or span is not NEVER or quick(*row) is None:
        ticket, _ = model._predict(*model._base_arrays, *row, now, span)
        if ticket < 0:
            model._retried(model._predict, ticket, (*row, now, span), features, "predict")


def hear(
    model: LinearModel,
    answers: list[Any],
    told: tuple[int, float, float],
    who: str,
    *,
    is_last: bool,
) -> None:
    """Tell a ticket, its label and when it came; errors begin with ``who``."""
    ticket, label, now = told
    quick = model._hear_now
    if quick is not None and is_last and now is NEVER and model._set is None:
        answers += takewhile(_is_said, starmap(call, ((quick, ticket, label, 1.0, None),)))
    if not answers:
        used, _, calls = model._answering(ticket, label, 1.0, now, who, is_last=is_last)
        answers += starmap(call, (as_answer(used, calls),))


def as_answer(is_used: bool, calls: tuple[Call, ...]) -> Call:
    """Return calls that return nothing as one, which returns whether an answer is used."""
    return any, starmap(call, (*calls, (operator.index, is_used)))


def forecast_call(model: LinearModel, row: Entries) -> Call:
    """Return a call for one more ticket that is not refused."""
    model._ready(row[2])
    if model._set is not None:
        return model._closing_call(row, NEVER, NEVER, row[:2])
    if model._issue_now is not None and row[2] <= direct.LONGEST:
        return model._issue_now, *row
    return model._predict, *model._base_arrays, *row, NEVER, NEVER


def label_calls(model: LinearModel, ticket: int, label: float) -> tuple[Call, ...]:
    """Return the call that tells the label of a ticket, if that can still be told."""
    try:
        used, _, calls = model._answering(ticket, label, 1.0, NEVER, "observe")
    except (AlreadyObserved, UnknownTicket):
        return ()
    return (as_answer(used, calls),)


def cancel_calls(model: LinearModel, ticket: int) -> tuple[Call, ...]:
    """Return the call that closes a ticket, if it is still open."""
    try:
        calls = model._cancelling(ticket)
    except (AlreadyObserved, UnknownTicket):
        return ()
    return ((deque, starmap(call, calls), 0),)
