"""The kinds of models that a store can hold."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from belated.errors import AlreadyObserved, SpecError, UnknownTicket
from belated.models.chooser import Chooser
from belated.models.intervals import Intervals
from belated.models.knobs import Knobs
from belated.models.learner.learner import Learner
from belated.models.linear.model import LinearModel
from belated.store.arguments import clocked
from belated.store.events import ERASED, Event, is_erased
from belated.store.replay_context import Past, play
from belated.store.stored import StoredModel, stored_class

if TYPE_CHECKING:  # stored models have the methods of their models

    class StoredLearner(StoredModel, Learner):  # type: ignore[misc]
        """A ``Learner`` in a store."""

    class StoredLinear(StoredModel, LinearModel):  # type: ignore[misc]
        """A ``LinearModel`` in a store."""

    class StoredIntervals(StoredModel, Intervals):  # type: ignore[misc]
        """``Intervals`` in a store."""

    class StoredChooser(StoredModel, Chooser):  # type: ignore[misc]
        """A ``Chooser`` in a store."""

    class StoredKnobs(StoredModel, Knobs):  # type: ignore[misc]
        """``Knobs`` in a store."""

else:
    StoredLearner, StoredLinear = stored_class(Learner), stored_class(LinearModel)
    StoredIntervals, StoredChooser = stored_class(Intervals), stored_class(Chooser)
    StoredKnobs = stored_class(Knobs)


class Kind:
    """How models of one class are restored, used and rebuilt."""

    def __init__(self, model: type[Any], stored: type[StoredModel]) -> None:
        self.model, self.stored, self.methods = model, stored, stored.methods
        self._of_code = {method.code: method for method in self.methods.values()}

    def apply_all(self, model: Any, events: list[Event]) -> None:
        """Do again what was done, in order."""
        for event in events:
            self._of_code[event[0]].apply(model, event)

    def play(self, model: Any, event: Event, past: Past) -> None:
        """Let a model with other settings see what was done."""
        if event[0] == ERASED:
            return
        play(self._of_code[event[0]], model, event, past)
        if is_erased(event):
            with suppress(AlreadyObserved, UnknownTicket):
                model.cancel(model.rounds - 1)

    def restored(self, blob: bytes, objects: Any = None) -> Any:
        """Return the model that a snapshot holds; ``objects`` are what a snapshot cannot hold."""
        return self.model.restore(blob, objects)

    def needs_times(self, model: Any) -> bool:
        """Tell whether the deadline of a model is a length of time."""
        return "tick" not in self.model.CANNOT and clocked(model).settings.needs_times

    def needed_times(self, past: Past) -> bool:
        """Tell whether the deadline of the model whose events are seen was a length of time."""
        if "tick" in self.model.CANNOT:  # of a learner, which may not be restored without parts
            return False
        return self.needs_times(past.before(self.model.restore))


def has_rule(model: Any) -> bool:
    """Tell whether a model has a rule of the user's own, which must be given again."""
    return getattr(model, "_decide", None) is not None


def answerable(model: Any) -> set[int]:
    """Return the tickets that can still be answered."""
    if isinstance(model, Chooser):
        return set(model._choices.open)
    if isinstance(model, Knobs):
        return set(model._tuner.tickets.answerable())
    return model._answerable() if isinstance(model, Learner) else clocked(model).answerable()


KINDS = {
    "Chooser": Kind(Chooser, StoredChooser),
    "Intervals": Kind(Intervals, StoredIntervals),
    "Knobs": Kind(Knobs, StoredKnobs),
    "Learner": Kind(Learner, StoredLearner),
    "LinearModel": Kind(LinearModel, StoredLinear),
}


def kind_of(model: Any) -> str:
    """Return the name of the kind of a model, or refuse it."""
    for name, kind in KINDS.items():
        if isinstance(model, kind.model):
            return name
    raise SpecError(
        f"a store holds a {', '.join(KINDS)}, got {type(model).__name__}: make one, and pass it"
    )
