"""The kinds of models that a store can hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from belated.errors import SpecError
from belated.models.chooser import Chooser
from belated.models.intervals import Intervals
from belated.models.knobs import Knobs
from belated.models.learner.learner import Learner
from belated.models.linear.model import LinearModel
from belated.store import of_choosers, of_intervals, of_knobs, of_learners, of_linear, stretches
from belated.store.events import Event
from belated.store.past import Past
from belated.store.stored import StoredModel


@dataclass(frozen=True)
class Kind:
    """How models of one class are restored, used and rebuilt."""

    model: type[Any]
    stored: type[StoredModel]
    apply: Callable[[Any, Event], None]
    """Do again what was done."""
    play: Callable[[Any, Event, Past], None]
    """Let a model with other settings see what was done."""
    holder: Callable[[Any], tuple[Any, set[int]]]
    """Return what has the keys of a model, and the tickets that can still be answered."""
    objects: Callable[[Any], Any] = lambda model: None
    """Return what a snapshot cannot hold."""
    apply_all: Callable[[Any, list[Event]], None] | None = None
    """The same as ``apply`` for many events, and quicker."""

    def rule(self, model: Any) -> Any:
        """Return the rule of the user's own that a model has, or None."""
        return self.objects(model) if self.model is Chooser else None

    def apply_each(self, model: Any, events: list[Event]) -> None:
        """Do again what was done, in order."""
        if self.apply_all is not None:
            self.apply_all(model, events)
        else:
            for event in events:
                self.apply(model, event)

    def restored(self, blob: bytes, objects: Any) -> Any:
        """Return the model that a snapshot holds."""
        if objects is None:
            return self.model.restore(blob)
        if self.model is Chooser:
            return Chooser.restore(blob, decide=objects)
        return Learner.restore(blob, objects)

    def needs_times(self, model: Any) -> bool:
        """Tell whether the deadline of a model is a length of time."""
        if self.model is Learner:
            return False
        timed = model if self.model in (LinearModel, Knobs) else model.model
        return bool(timed.settings.needs_times)

    def needed_times(self, past: Past) -> bool:
        """Tell whether the deadline of the model whose events are seen was a length of time."""
        if self.model is Learner:  # which has none, and may not be restored without its parts
            return False
        return self.needs_times(past.before(self.model.restore))

    def rounds(self, model: Any) -> int:
        """Return how many predictions or choices a model has made."""
        return int(model.model.rounds if self.model is Intervals else model.rounds)

    def unname(self, model: Any, past: Past) -> None:
        """Take the keys away that a model has while it plays; they are given back at the end."""
        holder, _ = self.holder(model)
        past.keys = dict(holder._keys.items())
        holder._keys.replace(())

    def name_all(self, model: Any, past: Past) -> None:
        """Give the keys of old events to the tickets that can still be answered."""
        holder, alive = self.holder(model)
        pairs = ((key, ticket) for key, ticket in past.keys.items() if ticket in alive)
        holder._keys.replace(pairs)


KINDS = {
    "Chooser": Kind(
        Chooser,
        of_choosers.StoredChooser,
        of_choosers.apply,
        of_choosers.play,
        lambda model: (model, set(model._choices.open)),
        lambda model: model._decide,
    ),
    "Intervals": Kind(
        Intervals,
        of_intervals.StoredIntervals,
        of_intervals.apply,
        of_intervals.play,
        lambda model: (model.model, model.model.answerable()),
    ),
    "Knobs": Kind(
        Knobs,
        of_knobs.StoredKnobs,
        of_knobs.apply,
        of_knobs.play,
        lambda model: (model, model._tuner.tickets.answerable()),
    ),
    "Learner": Kind(
        Learner,
        of_learners.StoredLearner,
        of_learners.apply,
        of_learners.play,
        lambda model: (model, model._answerable()),
        lambda model: model.spec if model._has_user_parts else None,
    ),
    "LinearModel": Kind(
        LinearModel,
        of_linear.StoredLinear,
        of_linear.apply,
        of_linear.play,
        lambda model: (model, model.answerable()),
        apply_all=stretches.apply_all,
    ),
}


def kind_of(model: Any) -> str:
    """Return the name of the kind of a model, or refuse it."""
    for name, kind in KINDS.items():
        if isinstance(model, kind.model):
            return name
    raise SpecError(
        f"a store holds a {', '.join(KINDS)}, got {type(model).__name__}: make one, and pass it"
    )
