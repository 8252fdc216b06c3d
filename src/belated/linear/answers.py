"""Labels as users give them, checked before the first of them is learned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from belated import refusals
from belated.arrays import Floats, Ints
from belated.errors import AlreadyObserved, BadFeedback
from belated.kernels.linear import entries
from belated.kernels.linear import layout as lm
from belated.kernels.slots import ints as N
from belated.kernels.slots import status as S
from belated.linear.answer_set import AnswerSet
from belated.linear.events import vector
from belated.linear.losses import LOSSES
from belated.linear.memory import ModelMemory
from belated.linear.settings import Settings

Who = str | Callable[[int], str]
"""Who refuses a label; or what says so of the one at a place."""


def _at(who: Who, place: int) -> str:
    return who if isinstance(who, str) else who(place)


def number(given: Any, who: str, name: str) -> float:
    """Return a label, an amount or a weight as a float."""
    if isinstance(given, str | bytes):
        raise BadFeedback(f"{who}: a {name} must be a number, got {given!r}")
    try:
        return float(given)
    except (TypeError, ValueError, OverflowError):
        raise BadFeedback(f"{who}: a {name} must be a number, got {given!r}") from None


def labels_of(
    labels: ArrayLike, weights: ArrayLike | None, length: int | None, who: str
) -> tuple[Floats, Floats]:
    """Return labels and weights as arrays of one length."""
    y = vector(labels, f"{who}: labels", length)
    if weights is None:
        return y, np.ones(y.size)
    return y, vector(weights, f"{who}: weights", y.size)


class Answers:
    """What a model may be told of its tickets, and the words where it may not."""

    __slots__ = ("_memory", "_settings")

    def __init__(self, settings: Settings, memory: ModelMemory) -> None:
        self._settings = settings
        self._memory = memory

    def check(
        self,
        tickets: Ints,
        labels: Floats,
        weights: Floats,
        answers: AnswerSet | None,
        who: Who,
    ) -> None:
        """Refuse labels and weights that cannot be used."""
        place = entries.bad_label(self._settings.kind)(labels)
        if place < 0:
            wrong = np.flatnonzero(~((weights > 0.0) & (weights <= lm.HUGE_WEIGHT)))
            place = int(wrong[0]) if wrong.size else -1
        if place >= 0:
            ticket, label, weight = int(tickets[place]), float(labels[place]), float(weights[place])
            raise self.refusal(S.BAD, ticket, label, weight, _at(who, place))
        weighted = np.flatnonzero(weights != 1.0)
        wrong = weighted[self._are_heard(tickets[weighted], answers)]
        if wrong.size:
            place = int(wrong[0])
            ticket, weight = int(tickets[place]), float(weights[place])
            raise self.refusal(S.TOO_LARGE, ticket, 0.0, weight, _at(who, place))

    def _are_heard(self, tickets: Ints, answers: AnswerSet | None) -> NDArray[np.bool_]:
        """Tell of tickets whether they are open and have a label so far; with silence all do."""
        if self._settings.silence is not None or not tickets.size:
            return np.ones(tickets.size, dtype=np.bool_)
        f, n = self._memory.f, self._memory.n
        found = self.found(tickets)
        entry = np.maximum(found, 0)  # those of a log that are still to be asked are not there
        labels = f[n[N.KEPT_AT] + entry * lm.KEEP + lm.LABEL]
        is_open = n[N.HEADER + 2 * entry + 1] >= 0
        heard: NDArray[np.bool_] = (found >= 0) & is_open & ~np.isnan(labels)
        if answers is not None and answers.revised:
            heard |= np.isin(tickets, list(answers.revised))
        return heard

    def found(self, tickets: Ints) -> Ints:
        """Return where tickets are in the table, or refusals."""
        status = np.empty(tickets.size, dtype=np.int64)
        entries.find()(self._memory.f, self._memory.n, np.ascontiguousarray(tickets), status)
        return status

    def check_known(self, tickets: Ints, answers: AnswerSet | None, who: Who) -> None:
        """Refuse tickets that were never handed out, or that are closed, by answers so far too."""
        status = self.found(tickets)
        if answers is not None:
            status[np.isin(tickets, list(answers.closed))] = S.CLOSED
        wrong = np.flatnonzero(status < 0)
        if wrong.size:
            place = int(wrong[0])
            refused = int(status[place]), int(tickets[place])
            raise self.refusal(*refused, 0.0, 1.0, _at(who, place))

    def check_revisable(self, who: str) -> None:
        """Refuse to change labels where the loss cannot take one back."""
        if not LOSSES[self._settings.loss].is_linear_in_label:
            raise BadFeedback(
                f"{who}: the {self._settings.loss} loss cannot take back a label that it learned; "
                "nothing has changed: use observe with the last word, or another loss"
            )

    def refusal(
        self, status: int, ticket: int, label: float, weight: float, who: str
    ) -> refusals.Refusal:
        """Return the error for a refusal of the kernels."""
        if status == S.CLOSED:
            return AlreadyObserved(f"{who}: ticket {ticket} {refusals.CLOSED_BEFORE}")
        of_ticket = refusals.of_ticket(status, ticket, self._memory.rounds, f"{who}: ")
        if of_ticket is not None:
            return of_ticket
        if status == S.TOO_LARGE:
            return BadFeedback(
                f"{who}: the label of ticket {ticket} replaces one that counted once, so its "
                f"weight must be 1, got {weight!r}; nothing has changed"
            )
        if not 0.0 < weight <= lm.HUGE_WEIGHT:
            return BadFeedback(
                f"{who}: the weight of ticket {ticket} must be positive and at most "
                f"{lm.HUGE_WEIGHT:g}, got {weight!r}; nothing has changed: to leave a label out, "
                "cancel its ticket"
            )
        return BadFeedback(
            f"{who}: labels of the {self._settings.loss} loss must be {self._settings.labels}, got "
            f"{label!r} for ticket {ticket}; nothing has changed: send a right one, or cancel the "
            "ticket"
        )
