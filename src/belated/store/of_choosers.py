"""Choosers in a store."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar

from belated.errors import AlreadyObserved, BadFeatures, StoreError, UnknownTicket
from belated.keys import Key
from belated.models.chooser import Choice, Chooser, ChooserReport, Option
from belated.models.chooser.actions import Actions, names_of
from belated.models.chooser.settings import Mode
from belated.models.clock import Duration
from belated.models.linear.features import Features
from belated.models.moments import Time
from belated.store import events as of
from belated.store.events import Event
from belated.store.of_linear import own_span, ticked, timed
from belated.store.past import Past
from belated.store.stored import Done, resolved
from belated.store.timed import CorrectedModel


class StoredChooser(CorrectedModel):
    """A ``Chooser`` in a store; see ``StoredModel``.

    The log has the action that was played and its probability, so that another chooser can be built
    from it, and policies can be evaluated on it. A rule of your own (``decide``) must be a function
    of what it is given: it is asked again when the log is read, and must say the same.
    """

    __slots__ = ()

    def choose(
        self,
        context: Features | None = None,
        actions: Actions | None = None,
        *,
        key: Key | None = None,
        at: Time | None = None,
        deadline: Duration | None = None,
        baseline: str | None = None,
        shown: bool = True,
    ) -> Choice:
        """Return the next ticket, an action, and the probability with which it was chosen."""
        choice: Choice = self._done(
            StoredChooser._choose, context, actions, key, at, deadline, baseline, shown
        )
        return choice

    def _choose(
        self,
        model: Chooser,
        context: Features | None = None,
        actions: Actions | None = None,
        key: Key | None = None,
        at: Time | None = None,
        deadline: Duration | None = None,
        baseline: str | None = None,
        shown: bool = True,
    ) -> Done:
        plain = None if context is None else _features_out(context, "a context")
        menu = None if actions is None else _actions_out(actions)
        now, span = self._when(at, deadline, "choose")
        hidden = None if shown else True
        choice = model.choose(
            plain, menu, key=key, at=now, deadline=span, baseline=baseline, shown=not hidden
        )
        played = choice.action, choice.probability
        return choice, [of.PREDICT, plain, *played, key, now, span, menu, baseline, hidden]

    def shown(self, ticket: int | Key, *, at: Time | None = None) -> None:
        """Say that a choice was shown that was made with ``shown=False``; its time begins now."""
        self._done(StoredChooser._shown, ticket, at)

    def _shown(self, model: Chooser, ticket: int | Key, at: Time | None = None) -> Done:
        number, name = resolved(model, ticket)
        now = self._now(at, "shown")
        model.shown(ticket, at=now)
        return None, [of.SHOWN, number, name, now]

    def observe(self, ticket: int | Key, reward: float, *, at: Time | None = None) -> bool:
        """Learn the reward of a choice, the last word on it."""
        used: bool = self._done(StoredChooser._observe, ticket, reward, at)
        return used

    def _observe(
        self, model: Chooser, ticket: int | Key, reward: float, at: Time | None = None
    ) -> Done:
        number, name = resolved(model, ticket)
        now = self._now(at, "observe")
        used = model.observe(ticket, reward, at=now)
        return used, [of.OBSERVE, number, of.number_out(reward), name, now]

    def revise(self, ticket: int | Key, reward: float, *, at: Time | None = None) -> bool:
        """Learn the reward so far; the ticket stays open, and the reward may change again."""
        used: bool = self._done(StoredChooser._revise, ticket, reward, at)
        return used

    def _revise(
        self, model: Chooser, ticket: int | Key, reward: float, at: Time | None = None
    ) -> Done:
        number, name = resolved(model, ticket)
        now = self._now(at, "revise")
        used = model.revise(ticket, reward, at=now)
        return used, [of.REVISE, number, of.number_out(reward), name, now]

    def _set_mode(self, model: Chooser, mode: Mode) -> Done:
        model.mode = mode
        return None, [of.MODE, model.mode]

    # --- Reading --------------------------------------------------------------------------------

    @property
    def mode(self) -> Mode:
        """Whether its own choices are played, or those of the baseline; setting it is logged."""
        return self.read(lambda model: model.mode)

    @mode.setter
    def mode(self, mode: Mode) -> None:
        self._done(StoredChooser._set_mode, mode)

    def peek(self, context: Features | None = None, actions: Actions | None = None) -> list[Option]:
        """Return what ``choose`` would draw from, the best first, without a ticket or a change."""
        menu = None if actions is None else _actions_out(actions)
        return self.read(lambda model: model.peek(context, menu))

    def choice(self, ticket: int | Key) -> Choice:
        """Return what was chosen under a ticket or key; see ``Chooser.choice``."""
        return self.read(lambda model: model.choice(ticket))  # type: ignore[no-any-return]

    def report(self) -> ChooserReport:
        """Return counts, what exploring takes, and the comparison with the baseline."""
        return self.read(lambda model: model.report())  # type: ignore[no-any-return]

    _verbs: ClassVar[dict[str, Any]] = {
        **CorrectedModel._verbs,
        "choose": _choose,
        "shown": _shown,
        "observe": _observe,
        "revise": _revise,
        "mode": _set_mode,
    }


def _features_out(features: Any, what: str) -> dict[str, Any]:
    if not isinstance(features, Mapping):
        raise BadFeatures(
            f"choose: {what} is a dict of numbers and strings, got {type(features).__name__}; "
            "nothing has changed"
        )
    return of.plain_dict(features)


def _actions_out(actions: Any) -> Any:
    """Return a list of names, or a dict of names and features."""
    names = names_of(actions) if not isinstance(actions, Mapping) else names_of(tuple(actions))
    if not isinstance(actions, Mapping):
        return list(names)
    return {
        name: None if not actions[name] else _features_out(actions[name], f"action {name!r}")
        for name in names
    }


# --- The log --------------------------------------------------------------------------------------


def apply(model: Chooser, event: Event) -> None:
    """Do again what was done; a choice must be the one that was made."""
    verb = event[0]
    if verb == of.PREDICT:
        _, context, action, probability, key, at, span, menu, usual, hidden = of.padded(event, 10)
        choice = model.choose(
            context, menu, key=key, at=at, deadline=span, baseline=usual, shown=not hidden
        )
        if (choice.action, choice.probability) != (action, probability):
            raise StoreError(
                f"the log has that ticket {choice.ticket} was {action!r} with probability "
                f"{probability!r}, and now it is {choice.action!r} with {choice.probability!r}: "
                "the rule (decide) must be the same, and a function of what it is given"
            )
    elif verb in (of.OBSERVE, of.REVISE, of.ADD):
        _, ticket, reward, name, at = of.padded(event, 5)
        getattr(model, of.NAMES[verb])(of.named(ticket, name), reward, at=at)
    elif verb == of.CANCEL:
        _, ticket, name = of.padded(event, 3)
        model.cancel(of.named(ticket, name))
    elif verb == of.SHOWN:
        _, ticket, name, at = of.padded(event, 4)
        model.shown(of.named(ticket, name), at=at)
    elif verb == of.TICK:
        model.tick(event[1])
    else:
        model.mode = event[1]


def play(model: Chooser, event: Event, past: Past) -> None:
    """Let a chooser with other settings see what was played; what it has closed is passed over."""
    verb = event[0]
    if verb == of.PREDICT:
        _, context, action, probability, key, at, span, menu, usual, hidden = of.padded(event, 10)
        if key is not None:
            past.give(key, model.rounds)
        now = timed(model.model, at, past)
        model._choose(
            context,
            _offered(model, menu, past),
            None,
            now,
            own_span(model.model, span, now, past),
            usual,
            not hidden,
            (action, probability),
        )
    elif verb in (of.OBSERVE, of.REVISE, of.ADD):
        _, ticket, reward, _, at = of.padded(event, 5)
        with suppress(AlreadyObserved, UnknownTicket):
            getattr(model, of.NAMES[verb])(ticket, reward, at=timed(model.model, at, past))
    elif verb == of.CANCEL:
        with suppress(AlreadyObserved, UnknownTicket):
            model.cancel(event[1])
    elif verb == of.SHOWN:
        _, ticket, _, at = of.padded(event, 4)
        with suppress(AlreadyObserved, UnknownTicket):
            model.shown(ticket, at=timed(model.model, at, past))
    elif verb == of.TICK:
        ticked(model, event, past)
    else:
        model.mode = event[1]


def _offered(model: Chooser, menu: Any, past: Past) -> Any:
    """Return the actions that were there, with the features that the chooser has of them."""
    offered = past.before(Chooser.restore)._settings.actions if menu is None else menu
    known = model._settings.actions
    if menu is not None or not isinstance(known, Mapping):
        return offered
    theirs = offered if isinstance(offered, Mapping) else dict.fromkeys(offered)
    return {name: known.get(name, features) for name, features in theirs.items()}
