"""The kinds of models that a store can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from belated.errors import SpecError
from belated.models.chooser import Chooser
from belated.models.intervals import Intervals
from belated.models.knobs import Knobs
from belated.models.learner.learner import Learner
from belated.models.linear.model import LinearModel
from belated.store import stretches
from belated.store.arguments import clocked
from belated.store.events import Event
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
        if self.model is LinearModel:
            stretches.apply_all(model, events, self.apply)
            return
        for event in events:
            self.apply(model, event)

    def apply(self, model: Any, event: Event) -> None:
        """Do again what was done."""
        self._of_code[event[0]].apply(model, event)

    def play(self, model: Any, event: Event, past: Past) -> None:
        """Let a model with other settings see what was done."""
        play(self._of_code[event[0]], model, event, past)

    def rule(self, model: Any) -> Any:
        """Return the rule of the user's own that a model has, or None."""
        return model._decide if self.model is Chooser else None

    def objects(self, model: Any) -> Any:
        """Return what a snapshot cannot hold."""
        return model._parts

    def restored(self, blob: bytes, objects: Any) -> Any:
        """Return the model that a snapshot holds."""
        return self.model.restore(blob, objects)

    def needs_times(self, model: Any) -> bool:
        """Tell whether the deadline of a model is a length of time."""
        return self.model is not Learner and bool(clocked(model).settings.needs_times)

    def needed_times(self, past: Past) -> bool:
        """Tell whether the deadline of the model whose events are seen was a length of time."""
        if self.model is Learner:  # which has none, and may not be restored without its parts
            return False
        return self.needs_times(past.before(self.model.restore))

    def unname(self, model: Any, past: Past) -> None:
        """Take the keys away that a model has while it plays; they are given back at the end."""
        keys = model._keys
        past.keys = dict(keys.items())
        keys.replace(())

    def name_all(self, model: Any, past: Past) -> None:
        """Give the keys of old events to the tickets that can still be answered."""
        alive = _answerable(model)
        pairs = ((key, ticket) for key, ticket in past.keys.items() if ticket in alive)
        model._keys.replace(pairs)


def _answerable(model: Any) -> set[int]:
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
