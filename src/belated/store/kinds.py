"""The kinds of models that a store can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from belated.errors import SpecError
from belated.models.chooser import Chooser
from belated.models.intervals import Intervals
from belated.models.knobs import Knobs
from belated.models.learner.learner import Learner
from belated.models.linear.model import LinearModel
from belated.store.events import LoggedMethod, clocked
from belated.store.stored import StoredModel, make_stored_class

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
    StoredLearner, StoredLinear = make_stored_class(Learner), make_stored_class(LinearModel)
    StoredIntervals, StoredChooser = make_stored_class(Intervals), make_stored_class(Chooser)
    StoredKnobs = make_stored_class(Knobs)


class Kind(NamedTuple):
    """Models of one class, in memory and in a store."""

    model: type[Any]
    stored: type[StoredModel]
    of_code: dict[int | None, LoggedMethod]
    """The methods that change a model, by the codes of their events."""

    @property
    def methods(self) -> dict[str, LoggedMethod]:
        return self.stored.methods

    def restored(self, blob: bytes, objects: Any = None) -> Any:
        """Return the model that a snapshot holds; ``objects`` are what a snapshot cannot hold."""
        return self.model.restore(blob, objects)


def needs_times(model: Any) -> bool:
    """Tell whether the deadline of a model is a length of time."""
    return "tick" not in model.CANNOT and clocked(model).settings.needs_times


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
    model.__name__: Kind(model, stored, {each.code: each for each in stored.methods.values()})
    for model, stored in (
        (Chooser, StoredChooser),
        (Intervals, StoredIntervals),
        (Knobs, StoredKnobs),
        (Learner, StoredLearner),
        (LinearModel, StoredLinear),
    )
}


def kind_of(model: Any) -> str:
    for name, kind in KINDS.items():
        if isinstance(model, kind.model):
            return name
    raise SpecError(
        f"a store holds a {', '.join(KINDS)}, got {type(model).__name__}: make one, and pass it"
    )
