"""Knobs in a store."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar

from belated.errors import (
    AlreadyObserved,
    BadFeatures,
    BadFeedback,
    SpecError,
    StoreError,
    UnknownTicket,
)
from belated.files import StrPath
from belated.keys import Key
from belated.models.knobs import Knobs, KnobsReport
from belated.models.knobs.knobs import Expected, Proposal
from belated.models.knobs.settings import Setting, Settings
from belated.models.moments import Time
from belated.store import events as of
from belated.store.events import Event
from belated.store.of_linear import ticked, timed
from belated.store.past import Past
from belated.store.stored import Done, resolved
from belated.store.timed import TimedModel


class StoredKnobs(TimedModel):
    """``Knobs`` in a store; see ``StoredModel``.

    The log has the settings that were played, so that knobs with other ranges can learn from it.
    """

    __slots__ = ()

    def predict(
        self,
        key: Key | None = None,
        context: Mapping[str, Any] | None = None,
        *,
        at: Time | None = None,
    ) -> Proposal:
        """Return the next ticket and the setting to play; see ``Knobs.predict``.

        Where the deadline is a length of time and ``at`` is not given, it is the time of the
        system, which is logged.
        """
        proposal: Proposal = self._done(StoredKnobs._predict, key, context, at)
        return proposal

    def _predict(
        self,
        model: Knobs,
        key: Key | None = None,
        context: Mapping[str, Any] | None = None,
        at: Time | None = None,
    ) -> Done:
        plain = None if context is None else _context_out(context)
        now = self._now(at, "predict")
        turn = model.predict(key, plain, at=now)
        return turn, [of.PREDICT, turn.setting, key, plain, now]

    def observe(self, ticket: int | Key, cost: float, *, at: Time | None = None) -> bool:
        """Learn the cost of a round, the last word on it; see ``Knobs.observe``."""
        used: bool = self._done(StoredKnobs._observe, ticket, cost, at)
        return used

    def _observe(
        self, model: Knobs, ticket: int | Key, cost: float, at: Time | None = None
    ) -> Done:
        number, name = resolved(model, ticket)
        now = self._now(at, "observe")
        used = model.observe(ticket, cost, at=now)
        return used, [of.OBSERVE, number, of.number_out(cost), name, now]

    def revise(self, ticket: int | Key, cost: float, *, at: Time | None = None) -> bool:
        """Learn the cost so far; the ticket stays open. See ``Knobs.revise``."""
        used: bool = self._done(StoredKnobs._revise, ticket, cost, at)
        return used

    def _revise(self, model: Knobs, ticket: int | Key, cost: float, at: Time | None = None) -> Done:
        number, name = resolved(model, ticket)
        now = self._now(at, "revise")
        used = model.revise(ticket, cost, at=now)
        return used, [of.REVISE, number, of.number_out(cost), name, now]

    def played(self, ticket: int | Key, actual: Setting) -> None:
        """Say what was really played, before the cost; see ``Knobs.played``."""
        self._done(StoredKnobs._played, ticket, actual)

    def _played(self, model: Knobs, ticket: int | Key, actual: Setting) -> Done:
        number, name = resolved(model, ticket)
        model.settings.places_of(actual, "played")  # refuses what is no setting
        plain = {knob: _value_out(value) for knob, value in actual.items()}
        model.played(ticket, plain)
        return None, [of.PLAYED, number, plain, name]

    def pause(self) -> None:
        """Play the last setting of the learner from now on; costs are still learned."""
        self._done(StoredKnobs._pause)

    def _pause(self, model: Knobs) -> Done:
        model.pause()
        return None, [of.PAUSE]

    def revert(self) -> None:
        """Play the start from now on; costs are still learned."""
        self._done(StoredKnobs._revert)

    def _revert(self, model: Knobs) -> Done:
        model.revert()
        return None, [of.REVERT]

    def resume(self) -> None:
        """Learn and explore again; see ``Knobs.resume``."""
        self._done(StoredKnobs._resume)

    def _resume(self, model: Knobs) -> Done:
        model.resume()
        return None, [of.RESUME]

    # --- Reading --------------------------------------------------------------------------------

    def best(self, context: Mapping[str, Any] | None = None) -> Setting:
        """Return the setting that seems best now; it changes nothing."""
        return self.read(lambda model: dict(model.best(context)))

    def expect(self, setting: Setting, context: Mapping[str, Any] | None = None) -> Expected:
        """Return what a setting is thought to cost; NaN before enough costs are in."""
        return self.read(lambda model: model.expect(setting, context))  # type: ignore[no-any-return]

    def report(self) -> KnobsReport:
        """Return counts, the best setting, what is believed in, and the comparison."""
        return self.read(lambda model: model.report())  # type: ignore[no-any-return]

    def page(self, path: StrPath) -> None:
        """Write a page, as ``Knobs.page`` does; nobody waits while it is drawn."""
        Knobs.restore(self.snapshot()).page(path)

    @property
    def mode(self) -> str:
        """Whether they are "learning", "paused" or "reverted" to the start."""
        return self.read(lambda model: str(model.mode))

    @property
    def settings(self) -> Settings:
        """What these knobs were told."""
        return self.read(lambda model: model.settings)  # type: ignore[no-any-return]

    _verbs: ClassVar[dict[str, Any]] = {
        **TimedModel._verbs,
        "predict": _predict,
        "observe": _observe,
        "revise": _revise,
        "played": _played,
        "pause": _pause,
        "resume": _resume,
        "revert": _revert,
    }


def _context_out(context: Any) -> dict[str, Any]:
    if not isinstance(context, Mapping):
        raise BadFeatures(
            f"predict: a context is a dict of numbers and texts, got {type(context).__name__}; "
            "nothing has changed"
        )
    return of.plain_dict(context)


def _value_out(value: Any) -> Any:
    """Return the value of a knob as it is logged: numbers of other kinds become floats."""
    return value if type(value) in (str, int, float) else float(value)


# --- The log --------------------------------------------------------------------------------------


def apply(model: Knobs, event: Event) -> None:
    """Do again what was done; a setting must be the one that was played."""
    verb = event[0]
    if verb == of.PREDICT:
        _, setting, key, context, at = of.padded(event, 5)
        turn = model.predict(key, context, at=at)
        if turn.setting != setting:
            raise StoreError(
                f"the log has that ticket {turn.ticket} was {setting!r}, and now it is "
                f"{turn.setting!r}"
            )
    elif verb in (of.OBSERVE, of.REVISE):
        _, ticket, cost, name, at = of.padded(event, 5)
        hear = model.observe if verb == of.OBSERVE else model.revise
        hear(of.named(ticket, name), cost, at=at)
    elif verb == of.TICK:
        model.tick(event[1])
    elif verb == of.PLAYED:
        _, ticket, setting, name = of.padded(event, 4)
        model.played(of.named(ticket, name), setting)
    elif verb == of.CANCEL:
        _, ticket, name = of.padded(event, 3)
        model.cancel(of.named(ticket, name))
    else:
        getattr(model, of.NAMES[verb])()


def play(model: Knobs, event: Event, past: Past) -> None:
    """Let knobs with other settings see what was played.

    What they have closed is passed over, and so are rounds whose setting they cannot have. No round
    is compared with the start: the coin of these knobs decided nothing.
    """
    verb = event[0]
    if verb == of.PREDICT:
        _, setting, key, context, at = of.padded(event, 5)
        if key is not None:
            past.give(key, model.rounds)
        turn = model.predict(context=_known(model, context), at=timed(model, at, past))
        _say(model, turn.ticket, setting)
    elif verb in (of.PAUSE, of.RESUME, of.REVERT):
        getattr(model, of.NAMES[verb])()
    elif verb == of.TICK:
        ticked(model, event, past)
    else:
        with suppress(AlreadyObserved, UnknownTicket, BadFeedback):
            if verb == of.CANCEL:
                model.cancel(event[1])
            elif verb == of.PLAYED:
                _say(model, event[1], event[2])
            else:
                _, ticket, cost, _, at = of.padded(event, 5)
                hear = model.observe if verb == of.OBSERVE else model.revise
                hear(ticket, cost, at=timed(model, at, past))


def _known(model: Knobs, context: Any) -> dict[str, Any] | None:
    """Return what other knobs can make of a context."""
    if context is None:
        return None
    found: dict[str, Any] = {}
    for name, value in context.items():
        with suppress(BadFeatures):
            model.settings.features({name: value})
            found[name] = value
    return found


def _say(model: Knobs, ticket: int, setting: Setting) -> None:
    """Say what was played; a setting that the knobs cannot have closes its ticket."""
    try:
        model._follow(ticket, setting)
    except SpecError:
        with suppress(AlreadyObserved, UnknownTicket):
            model.cancel(ticket)
