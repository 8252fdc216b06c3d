"""Models with other settings that see an old log: tickets are the same, keys come later.

Settings that are not given keep their values (``with_settings``).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from inspect import signature
from typing import Any

from belated import errors
from belated.keys import Key
from belated.models.chooser import Chooser
from belated.models.clock import has_unit
from belated.models.intervals import Intervals
from belated.models.knobs import Knobs
from belated.models.learner.learner import Learner
from belated.models.linear.model import LinearModel
from belated.store import events as of
from belated.store.database import Described, Era, Readable
from belated.store.kinds import KINDS, answerable, kind_of, needs_times
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
            raise errors.StoreError(
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

    def _see(self, event: of.Event) -> None:
        while self.length >= self._end:
            self._begin_era(*next(self._eras))
        try:
            if event[0] != of.ERASED:
                self._play(self._kind.of_code[event[0]], event)
            if event[0] in (of.OBSERVE, of.CANCEL):
                self._keys.pop(of.key_of(event), None)  # type: ignore[arg-type]
        except REFUSALS as error:
            raise errors.StoreError(
                f"rebuild: event {self.length} of {self._about.name!r} cannot be played with these "
                f"settings: {error}"
            ) from error
        self.length += 1

    def _begin_era(self, until: int, spec: bytes) -> None:
        self._end = until
        if "tick" not in self._kind.model.CANNOT:  # a learner may not be restored without parts
            self._before = self._kind.model.restore(spec)
            self._gave_times = needs_times(self._before)

    def _play(self, method: of.LoggedMethod, event: of.Event) -> None:
        code, model = method.code, self.model
        if isinstance(model, Learner) and model._takes_function:
            raise errors.StoreError(
                f"rebuild: {model.spec.kind} takes functions, and the log has the gradients that "
                "they gave at the points of then"
            )
        named = method.arguments_of(model, event)
        if code == of.PREDICT:
            key = named.pop("key", None)
            if key is not None:
                self._keys[key] = model.rounds
        elif code in of.ANSWERING:
            named["ticket"] = of.ticket_of(event)
        if code == of.TICK:
            at = self._timed(of.at_of(event))
            if at is not None:
                model.tick(at)
            return
        if method.at:
            named[method.at] = now = self._timed(of.at_of(event))
            if method.deadline:
                named[method.deadline] = self._own_span(named.get(method.deadline), now)
        if method.played and isinstance(model, Chooser):
            self._choose(model, named, event[method.played])
        elif method.played:
            _play_knobs(model, named, event[method.played])
        elif code in of.ANSWERING:
            # Other ranges may not have the settings that knobs played.
            bad = errors.BadFeedback if isinstance(model, Knobs) else errors.UnknownTicket
            with suppress(errors.AlreadyObserved, errors.UnknownTicket, bad):
                if code == of.PLAYED:
                    _follow(model, *named.values())
                else:
                    method.call(model, named)
        else:
            method.call(model, named)
        if of.is_erased(event):
            with suppress(errors.AlreadyObserved, errors.UnknownTicket):
                model.cancel(model.rounds - 1)

    # --- Times ----------------------------------------------------------------------------------

    def _timed(self, at: of.LoggedTime | None) -> of.LoggedTime | None:
        """Return the time of an event for the model.

        Where the log has none and the model needs one, it is when the event was written. A model
        that counts predictions has no use for any. A number alone is in the unit of the times that
        a user gives. Where the deadline was a length of time the store gave them, and nobody has
        thought of a number as one of theirs.
        """
        clock = of.clocked(self.model)
        settings = clock.settings
        if at is None:
            return self._written if settings.needs_times else None
        self.has_times = True
        if settings.deadline is None or settings.needs_times or clock._times.has_times:
            return at
        return None if self._gave_times or clock._times.are_counted else at

    def _own_span(self, span: float | None, now: of.LoggedTime | None) -> float | None:
        """Return the deadline of one ticket for the model, at a time of its clock.

        One in time says nothing to a model that counts predictions, nor the other way round: then
        it is that of all tickets.
        """
        clock = of.clocked(self.model)
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
            with suppress(errors.BadFeatures):
                model.settings.features({name: value})
                named[argument][name] = value
    _follow(model, model.predict(**named).ticket, played)


def _follow(model: Knobs, ticket: int, setting: Any) -> None:
    """Say what was played; a setting that the knobs cannot have closes its ticket."""
    try:
        model._follow(ticket, setting)
    except errors.SpecError:
        with suppress(errors.AlreadyObserved, errors.UnknownTicket):
            model.cancel(ticket)


# --- Settings -------------------------------------------------------------------------------------

_INTERNAL = {"decide": "_decide"}  # arguments that are kept under another name


def with_settings(model: Any, changes: Mapping[str, Any]) -> Any:
    """Return a model that has seen nothing, with the settings of another but for ``changes``.

    >>> model = with_settings(LinearModel("logistic", bits=8, deadline="30d"), {"bits": 10})
    >>> model.settings.loss, model.settings.bits, model.settings.deadline
    ('logistic', 10, 2592000.0)
    """
    kind = KINDS[kind_of(model)].model
    names = list(signature(kind).parameters)
    if kind is Intervals:
        names = [*signature(LinearModel).parameters, "coverage"]
    unknown = [name for name in changes if name not in names]
    if unknown:
        raise errors.SpecError(
            f"rebuild: a {kind.__name__} has no setting {unknown[0]!r}; it has {', '.join(names)}"
        )
    found = {name: _value(model, name) for name in names}
    wait = changes.get("wait")
    if has_unit(wait) and wait != "adaptive" and "deadline" not in changes:
        found["deadline"] = None  # which such a wait stands for
    arguments = {**found, **changes}
    if kind is Intervals:
        coverage = arguments.pop("coverage")
        return Intervals(LinearModel(**arguments), coverage)
    return kind(**arguments)


def _value(model: Any, name: str) -> Any:
    """Return an argument as the model was given it."""
    if name == "deadline":
        return _deadline(of.clocked(model).settings)
    if name == "interactions" and isinstance(model, Chooser):
        return model._settings.crossing
    for holder in (model._settings, of.clocked(model), of.clocked(model)._settings, model):
        if hasattr(holder, _INTERNAL.get(name, name)):
            found = getattr(holder, _INTERNAL.get(name, name))
            return list(found) if isinstance(found, tuple) and name == "constraints" else found
    raise AttributeError(name)


def _deadline(settings: Any) -> Any:
    if settings.deadline is None:
        return None
    if settings.needs_times:
        return f"{settings.deadline!r}s"
    if settings.counts_predictions:
        return {"predictions": int(settings.deadline)}
    return settings.deadline
