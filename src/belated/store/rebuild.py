"""Models with other settings that see an old log: tickets are the same, keys come later."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
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
from belated.store.database import Described, Era, Readable
from belated.store.events import (
    ANSWERING,
    CANCEL,
    ERASED,
    OBSERVE,
    PLAYED,
    PREDICT,
    TICK,
    Event,
    LoggedMethod,
    LoggedTime,
    at_of,
    clocked,
    is_erased,
    key_of,
    ticket_of,
)
from belated.store.kinds import KINDS, answerable, needs_times
from belated.store.lines import REFUSALS, read_events


class Rebuilt:
    """A model with other settings that sees a log, as far as it has come.

    What the model has closed already is passed over. A chooser and knobs see what was played. In a
    shadow a chooser compares its own choices with those that were played.
    """

    def __init__(
        self,
        about: Described,
        model: Any,
        length: int = 0,
        has_times: bool = False,
        *,
        is_shadow: bool = False,
    ) -> None:
        if about.first > length:
            raise StoreError(
                f"rebuild: the events of {about.name!r} before event {about.first} were compacted, "
                "so that no other model can see them"
            )
        self.model = model
        self.length = length
        """Events seen so far."""
        self.has_times = has_times
        """Whether the log has had a time so far."""
        self._about, self._kind, self._is_shadow = about, KINDS[about.kind], is_shadow
        self._keys: dict[Key, int] = dict(model._keys.items())  # given back at the end
        model._keys.replace(())
        self._written = 0.0  # when the event was committed
        self._eras = iter([*about.eras, Era(1 << 62, about.spec)])
        self._end = 0  # of the era
        self._before: Any = None  # a model with the settings of the era
        self._gave_times = False  # whether its deadline was a length of time, and the store timed

    def go_on(self, database: Readable, until: int | None = None) -> None:
        """See what has come since, up to an event."""
        for row, events in read_events(database, self._about, self.length):
            self._written = row.written
            for event in events[self.length - row.first :]:
                if self.length == until:
                    return
                self._see(event)

    def finish(self) -> None:
        """Give the keys to the tickets that can still be answered."""
        alive = answerable(self.model)
        keys = [(key, ticket) for key, ticket in self._keys.items() if ticket in alive]
        self.model._keys.replace(keys)

    def _see(self, event: Event) -> None:
        while self.length >= self._end:
            self._begin_era(*next(self._eras))
        try:
            if event[0] != ERASED:
                self._play(self._kind.of_code[event[0]], event)
            if event[0] in (OBSERVE, CANCEL):
                self._keys.pop(key_of(event), None)  # type: ignore[arg-type]
        except REFUSALS as error:
            raise StoreError(
                f"rebuild: event {self.length} of {self._about.name!r} cannot be played with these "
                f"settings: {error}"
            ) from error
        self.length += 1

    def _begin_era(self, until: int, spec: bytes) -> None:
        self._end = until
        if "tick" not in self._kind.model.CANNOT:  # a learner may not be restored without parts
            self._before = self._kind.model.restore(spec)
            self._gave_times = needs_times(self._before)

    def _play(self, method: LoggedMethod, event: Event) -> None:
        code, model = method.code, self.model
        if isinstance(model, Learner) and model._takes_function:
            raise StoreError(
                f"rebuild: {model.spec.kind} takes functions, and the log has the gradients that "
                "they gave at the points of then"
            )
        named = method.arguments_of(model, event)
        if code == PREDICT:
            key = named.pop("key", None)
            if key is not None:
                self._keys[key] = model.rounds
        elif code in ANSWERING:
            named["ticket"] = ticket_of(event)
        if code == TICK:
            at = self._timed(at_of(event))
            if at is not None:
                model.tick(at)
            return
        if method.at:
            named[method.at] = now = self._timed(at_of(event))
            if method.deadline:
                named[method.deadline] = self._own_span(named.get(method.deadline), now)
        if method.played and isinstance(model, Chooser):
            self._choose(model, named, event[method.played])
        elif method.played:
            _play_knobs(model, named, event[method.played])
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
        if is_erased(event):
            with suppress(AlreadyObserved, UnknownTicket):
                model.cancel(model.rounds - 1)

    # --- Times ----------------------------------------------------------------------------------

    def _timed(self, at: LoggedTime | None) -> LoggedTime | None:
        """Return the time of an event for the model.

        Where the log has none and the model needs one, it is when the event was written. A model
        that counts predictions has no use for any. A number alone is in the unit of the times that
        a user gives. Where the deadline was a length of time the store gave them, and nobody has
        thought of a number as one of theirs.
        """
        clock = clocked(self.model)
        settings = clock.settings
        if at is None:
            return self._written if settings.needs_times else None
        self.has_times = True
        if settings.deadline is None or settings.needs_times or clock._times.has_times:
            return at
        return None if self._gave_times or clock._times.are_counted else at

    def _own_span(self, span: float | None, now: LoggedTime | None) -> float | None:
        """Return the deadline of one ticket for the model, at a time of its clock.

        One in time says nothing to a model that counts predictions, nor the other way round: then
        it is that of all tickets.
        """
        clock = clocked(self.model)
        if clock.settings.deadline is None:
            return None
        was_length = self._gave_times or self.has_times
        is_length = now is not None or clock._times.has_times
        return span if was_length == is_length else None

    # --- What was played ------------------------------------------------------------------------

    def _choose(self, model: Chooser, named: dict[str, Any], played: Any) -> None:
        """Let a chooser see the action that was played, and learn from it with its probability."""
        menu = named.get("actions")
        offered = self._before._settings.actions if menu is None else menu
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
            played[0] if self._is_shadow else named.get("baseline"),
            named.get("shown", True),
            tuple(played),
        )


def _play_knobs(model: Knobs, named: dict[str, Any], played: Any) -> None:
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
