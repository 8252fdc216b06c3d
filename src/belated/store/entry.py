"""A model that is in use: its state, its lock, and how many events it has."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from belated.errors import StoreError, UnknownModel
from belated.models.linear.model import LinearModel
from belated.store.database import Described

if TYPE_CHECKING:
    from belated.store.batch import Batch
    from belated.store.recovery import Recovered
    from belated.store.store import Store


class Entry:
    """One model of a store, shared by all that use it.

    ``is_stale`` says that the state in memory may have events that will never be committed; then it
    is recovered from the log before it is used again.
    """

    def __init__(self, store: Store, about: Described, objects: Any = None) -> None:
        self.store, self.about = store, about
        self.objects = objects
        """What a log cannot hold: a rule of the user's own, a spec with Python objects."""
        self.lock = threading.RLock()
        self.model: Any = None
        self.is_stale = True
        self.length = 0
        """Events so far; also the number of the next."""
        self.committed = 0
        """Events that are on disk: the next row of the log begins there."""
        self.saved = 0
        """Events before the newest snapshot."""
        self.needs_times = False
        """Whether events without a time get that of the system."""
        self.newest: Batch | None = None
        """Where the newest event is."""

    def open(self, spec: Any) -> None:
        """Have the model ready, with what a spec has that a log cannot hold, if one is given."""
        before = self.objects
        is_new = self.model is None or self.about.has_rule
        if spec is not None and is_new and spec._parts is not before:
            self.objects, self.is_stale = spec._parts, True
        try:
            self.ready()
        except BaseException:  # such as a rule that does not say what the log has
            self.objects = before
            raise

    def ready(self) -> Any:
        """Return the model as it was committed and applied; the caller has the lock."""
        if self.about.is_deleted:
            raise UnknownModel(f"the model {self.about.name!r} was deleted")
        self.store.check_open()
        if self.about.has_rule:
            check_rule(self.about, self.objects)
        if self.is_stale:
            self.store.recover(self)
        return self.model

    def take(self, found: Recovered) -> None:
        """Go on from what the log has led to."""
        self.model, self.length, self.saved = found.model, found.length, found.saved
        if isinstance(self.model, LinearModel):
            self.model.is_logged = True
        self.committed, self.needs_times = found.length, found.needs_times
        self.newest, self.is_stale = None, False


def check_rule(about: Described, rule: Any) -> None:
    """Refuse to go on with another rule than the one that a model was put in with."""
    if about.has_rule and rule is None:
        raise StoreError(
            f"the model {about.name!r} was put in with a rule of its own (decide), which no file "
            f"can hold: give it again, store.model({about.name!r}, Chooser(..., decide=...))"
        )
