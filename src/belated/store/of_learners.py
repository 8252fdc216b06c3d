"""Learners in a store."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, ClassVar

import numpy as np

from belated.errors import AlreadyObserved, StoreError, UnknownTicket
from belated.keys import Key
from belated.models.learner.learner import Decision, Learner
from belated.models.learner.report import Report
from belated.store import events as of
from belated.store.events import Event
from belated.store.past import Past
from belated.store.stored import Done, StoredModel, resolved


class StoredLearner(StoredModel):
    """A ``Learner`` in a store; see ``StoredModel``.

    Where answers are functions, the gradient that one gave is logged, since a function cannot be.
    """

    __slots__ = ()

    def predict(self, key: Key | None = None) -> Decision:
        """Return the next ticket and play."""
        decision: Decision = self._done(StoredLearner._predict, key)
        return decision

    def _predict(self, model: Learner, key: Key | None = None) -> Done:
        return model.predict(key), [of.PREDICT, key]

    def observe(self, ticket: int | Key, feedback: Any) -> bool:
        """Use the answer to a ticket; see ``Learner.observe``."""
        used: bool = self._done(StoredLearner._observe, ticket, feedback)
        return used

    def _observe(self, model: Learner, ticket: int | Key, feedback: Any) -> Done:
        number, name = resolved(model, ticket)
        given = [feedback]
        if callable(feedback):

            def recorded(point: Any) -> Any:
                given[0] = np.array(feedback(point), dtype=np.float64)
                return given[0]

            used = model.observe(ticket, recorded)
        else:
            used = model.observe(ticket, feedback)
        return used, [of.OBSERVE, number, answer_out(given[0]), name]

    def report(self) -> Report:
        """Return counts, delays so far, the current rate, and the certificate."""
        return self.read(lambda model: model.report())  # type: ignore[no-any-return]

    @property
    def spec(self) -> Any:
        """What the learner runs."""
        return self.read(lambda model: model.spec)

    @property
    def seed(self) -> int:
        """The seed of the exploration directions."""
        return self.read(lambda model: int(model.seed))

    @property
    def strict(self) -> bool:
        """Whether answers larger than assumed are refused."""
        return self.read(lambda model: bool(model.strict))

    _verbs: ClassVar[dict[str, Any]] = {
        **StoredModel._verbs,
        "predict": _predict,
        "observe": _observe,
    }


def answer_out(feedback: Any) -> float | str:
    """Return an answer as it is logged: a number, or the text of a vector."""
    array = np.asarray(feedback, dtype=np.float64)
    return float(array.reshape(-1)[0]) if array.size == 1 else of.floats_out(array)


def _answer_in(model: Learner, answer: Any) -> Any:
    array = of.floats_in(answer) if isinstance(answer, str) else np.array([answer])
    return (lambda point: array) if model._takes_function else array


def apply(model: Learner, event: Event) -> None:
    """Do again what was done."""
    verb = event[0]
    if verb == of.PREDICT:
        model.predict(event[1] if len(event) > 1 else None)
    elif verb == of.OBSERVE:
        _, ticket, answer, name = of.padded(event, 4)
        model.observe(of.named(ticket, name), _answer_in(model, answer))
    else:
        _, ticket, name = of.padded(event, 3)
        model.cancel(of.named(ticket, name))


def play(model: Learner, event: Event, past: Past) -> None:
    """Do what was done with a learner of another spec; what it has closed is passed over."""
    if model._takes_function:
        raise StoreError(
            f"rebuild: {model.spec.kind} takes functions, and the log has the gradients that they "
            "gave at the points of then"
        )
    if event[0] == of.PREDICT:
        if len(event) > 1:
            past.give(event[1], model.rounds)
        model.predict()
    else:
        with suppress(AlreadyObserved, UnknownTicket):
            apply(model, event[: 2 if event[0] == of.CANCEL else 3])
