"""Shadows: second models that learn from the log of a stored one, and never answer callers.

A shadow is where the log says: it reads what has come since it was last looked at, and a note of
the store keeps how far it has come. So events of the stored model take no longer because of it.
"""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from belated.errors import BelatedError, SpecError
from belated.logger import LOG
from belated.models.clock import AFTER_DATES
from belated.store.database import Described, Readable
from belated.store.erasure import KeyEvents
from belated.store.events import clocked
from belated.store.kinds import KINDS, kind_of
from belated.store.rebuild import Rebuilt

if TYPE_CHECKING:
    from belated.store.store import Store

_KINDS = ("LinearModel", "Intervals", "Chooser")
_SAME = (
    *("loss", "quantile", "delta", "silence", "deadline", "needs_times", "counts_predictions"),
    *("late", "wait", "max_open"),
)
_FEW = 1000  # events that are read again quickly enough


class Shadow:
    """A shadow, and how far it has read the log."""

    def __init__(self, model: Any, length: int = 0, has_times: bool = False) -> None:
        self.model = model
        self.length = self.saved = length
        self._has_times = has_times
        self._lock = threading.Lock()

    @classmethod
    def opened(cls, kind: str, body: bytes) -> Shadow:
        head, _, snapshot = body.partition(b"\n")
        return cls(KINDS[kind].restored(snapshot), *json.loads(head))

    def body(self) -> bytes:
        snapshot: bytes = self.model.snapshot()
        return json.dumps([self.length, self._has_times]).encode() + b"\n" + snapshot

    def catch_up(self, database: Readable, about: Described, until: int | None = None) -> None:
        """Read what has been committed since, up to an event."""
        with self._lock:
            rebuilt = Rebuilt(about, self.model, self.length, self._has_times, is_shadow=True)
            try:
                rebuilt.go_on(database, until)
            finally:
                rebuilt.finish()
                self.length, self._has_times = rebuilt.length, rebuilt.has_times


class Shadows:
    """The shadows of the models of a store, by the number of the model."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[int, Shadow | None] = {}

    def begin(self, about: Described, spec: Any, present: Any) -> None:
        """Let a model see the log of another from its start."""
        if kind_of(spec) != about.kind or about.kind not in _KINDS:
            raise SpecError(
                f"shadow: {about.name!r} is a {about.kind}; a shadow is a model of the same class, "
                f"which is one of {', '.join(_KINDS)}"
            )
        kind = KINDS[about.kind]
        if spec._parts is not None:
            raise SpecError("shadow: a rule of your own (decide) cannot be kept in a store")
        for name in _differing(present, spec):
            raise SpecError(
                f"shadow: {name} must be that of {about.name!r}, as losses on other labels cannot "
                "be compared; store.rebuild builds a model with other labels from the log"
            )
        shadow = Shadow(kind.restored(spec.snapshot()))
        shadow.catch_up(self._store.reader, about)
        self._keep(about, shadow)

    def erase(self, about: Described, found: KeyEvents, rebuild: bool) -> None:
        """Close the tickets of a key, before it is erased from the log, or build a shadow anew."""
        shadow = self._found(about)
        if shadow is None:
            return
        if rebuild:
            shadow = Shadow(shadow.model.fresh())
            shadow.catch_up(found, about)
        else:
            shadow.catch_up(self._store.reader, about)
            found.cancel(shadow.model)
        self._keep(about, shadow)

    def end(self, about: Described) -> None:
        self._store.forget(_name(about), AFTER_DATES)
        self._known[about.number] = None

    def of(self, about: Described, until: int | None = None, fewest: int = _FEW) -> Any:
        """Return the shadow of a model after an event, or after all; None where there is none.

        It is kept if it has read so many events since it last was.
        """
        shadow = self._found(about)
        if shadow is None:
            return None
        try:
            shadow.catch_up(self._store.reader, about, until)
        except BaseException:  # it may have half an event
            self._known.pop(about.number, None)
            raise
        if shadow.length - shadow.saved >= fewest:
            self._keep(about, shadow)
        return shadow.model

    def add_to(self, report: Any, about: Described, present: Any, length: int) -> Any:
        """Return the report of a model after an event, with that of its shadow."""
        try:
            model = self.of(about, length)
        except BelatedError as error:
            LOG.warning("the shadow of %r cannot go on: %s", about.name, error)
            model = None
        if model is None or _differing(present, model):
            return report
        return replace(report, shadow=model.report())

    def _found(self, about: Described) -> Shadow | None:
        if about.number not in self._known:
            notes = self._store.notes(_name(about))
            self._known[about.number] = Shadow.opened(about.kind, notes[0].body) if notes else None
        return self._known[about.number]

    def _keep(self, about: Described, shadow: Shadow) -> None:
        self._store.keep(_name(about), shadow.body())
        shadow.saved = shadow.length
        self._known[about.number] = shadow


def _name(about: Described) -> str:
    return f"shadow/{about.number}/"


def _differing(model: Any, other: Any) -> list[str]:
    """Return the settings by which two models have different labels."""
    one, two = clocked(model).settings, clocked(other).settings
    return [name for name in _SAME if getattr(one, name) != getattr(two, name)]
