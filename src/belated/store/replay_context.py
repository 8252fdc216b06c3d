"""Old events as models with other settings see them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from belated.errors import (
    AlreadyObserved,
    BadFeatures,
    BadFeedback,
    SpecError,
    StoreError,
    UnknownTicket,
)
from belated.keys import Key
from belated.models.chooser import Chooser
from belated.models.knobs import Knobs
from belated.models.learner.learner import Learner
from belated.store.arguments import LoggedMethod, clocked
from belated.store.events import (
    ANSWERING,
    CANCEL,
    OBSERVE,
    PLAYED,
    PREDICT,
    TICK,
    Event,
    LoggedTime,
    at_of,
    key_of,
    ticket_of,
)


@dataclass
class Past:
    """Of the event that is being played, and of all before it."""

    spec: bytes = b""
    """Snapshot of a model with the settings that the event was played with."""
    written: float = 0.0
    """When it was committed."""
    keys: dict[Key, int] = field(default_factory=dict)
    """Keys, and the ticket that each was given to last, until it was closed by that name."""
    needs_times: bool = False
    """Whether the deadline was a length of time, so that the store put times in."""
    has_times: bool = False
    """Whether the log has had a time so far."""
    is_shadow: bool = False
    """Whether a chooser compares its own choices with those that were played."""
    _models: dict[bytes, Any] = field(default_factory=dict)

    def close(self, event: Event) -> None:
        """Forget the key by which an event has closed a ticket, if it has."""
        if event[0] in (OBSERVE, CANCEL):
            self.keys.pop(key_of(event), None)  # type: ignore[arg-type]

    def before(self, restore: Callable[[bytes], Any]) -> Any:
        """Return a model with the settings that the event was played with."""
        found = self._models.get(self.spec)
        if found is None:
            found = self._models[self.spec] = restore(self.spec)
        return found


def play(method: LoggedMethod, model: Any, event: Event, past: Past) -> None:
    """Let a model with other settings see an event: tickets are the same, keys come later.

    What the model has closed already is passed over. A chooser and knobs see what was played.
    """
    code = method.code
    if isinstance(model, Learner) and model._takes_function:
        raise StoreError(
            f"rebuild: {model.spec.kind} takes functions, and the log has the gradients that they "
            "gave at the points of then"
        )
    named = method.arguments_of(model, event)
    if code == PREDICT:
        key = named.pop("key", None)
        if key is not None:
            past.keys[key] = model.rounds
    elif code in ANSWERING:
        named["ticket"] = ticket_of(event)
    if method.at:
        clock, at = clocked(model), at_of(event)
        if code == TICK:
            past.has_times = True
            if not _counts(clock, past):
                model.tick(at)
            return
        named[method.at] = now = _timed(clock, at, past)
        if method.deadline:
            span = _own_span(clock, named.get(method.deadline), now, past)
            named[method.deadline] = span
    if method.played:
        _PLAYED[type(model).__name__](model, named, event[method.played], past)
    elif code in ANSWERING:
        # Other ranges may not have the settings that knobs played.
        bad = BadFeedback if isinstance(model, Knobs) else UnknownTicket
        with suppress(AlreadyObserved, UnknownTicket, bad):
            if code == PLAYED:
                _follow(model, *named.values())
            else:
                method.call(model, named)
    else:
        method.call(model, named)


# --- Times ----------------------------------------------------------------------------------------


def _timed(model: Any, at: LoggedTime | None, past: Past) -> LoggedTime | None:
    """Return the time of an event for a model of other settings.

    Where the log has none and the model needs one, it is when the event was written. A model that
    counts predictions has no use for any.
    """
    if at is None:
        return past.written if model.settings.needs_times else None
    past.has_times = True
    return None if _counts(model, past) else at


def _counts(model: Any, past: Past) -> bool:
    """Tell whether a model of other settings counts predictions, whatever times the log has.

    A number alone is in the unit of the times that a user gives. Where the deadline was a length of
    time the store gave them, and nobody has thought of a number as one of theirs.
    """
    settings = model.settings
    if settings.deadline is None or settings.needs_times or model._times.has_times:
        return False
    return bool(past.needs_times or model._times.are_counted)


def _own_span(model: Any, span: float | None, now: LoggedTime | None, past: Past) -> float | None:
    """Return the deadline of one ticket for a model of other settings, at a time of its clock.

    One in time says nothing to a model that counts predictions, nor the other way round: then it is
    that of all tickets.
    """
    if model.settings.deadline is None:
        return None
    was_length = past.needs_times or past.has_times
    is_length = now is not None or model._times.has_times
    return span if was_length == is_length else None


# --- What was played ------------------------------------------------------------------------------


def _choose(model: Chooser, named: dict[str, Any], played: Any, past: Past) -> None:
    """Let a chooser see the action that was played, and learn from it with its probability."""
    menu = named.get("actions")
    offered = past.before(Chooser.restore)._settings.actions if menu is None else menu
    known = model._settings.actions
    if menu is None and isinstance(known, Mapping):  # with the features that it has of them
        theirs = offered if isinstance(offered, Mapping) else dict.fromkeys(offered)
        offered = {name: known.get(name, features) for name, features in theirs.items()}
    model._choose(
        named.get("context"),
        offered,
        None,
        named["at"],
        named["deadline"],
        played[0] if past.is_shadow else named.get("baseline"),
        named.get("shown", True),
        tuple(played),
    )


def _play_knobs(model: Knobs, named: dict[str, Any], played: Any, past: Past) -> None:
    """Let knobs see the setting that was played.

    They are given what they know of its context. No round is compared with the start: the coin of
    these knobs decided nothing.
    """
    for argument, context in named.items():
        if not isinstance(context, dict):
            continue
        named[argument] = {}
        for name, value in context.items():
            with suppress(BadFeatures):
                model.settings.features({name: value})
                named[argument][name] = value
    _follow(model, model.predict(**named).ticket, played)


def _follow(model: Knobs, ticket: int, setting: Any) -> None:
    """Say what was played; a setting that the knobs cannot have closes its ticket."""
    try:
        model._follow(ticket, setting)
    except SpecError:
        with suppress(AlreadyObserved, UnknownTicket):
            model.cancel(ticket)


_PLAYED: dict[str, Callable[[Any, dict[str, Any], Any, Past], None]] = {
    "Chooser": _choose,
    "Knobs": _play_knobs,
}
