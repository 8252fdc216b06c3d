"""Items of requests as calls of a stored model, and what came of them as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from belated.errors import AlreadyObserved, BelatedError, UnknownTicket
from belated.keys import Key
from belated.models.chooser import Choice
from belated.models.intervals import Interval
from belated.models.knobs.knobs import Proposal
from belated.models.learner.learner import Decision
from belated.models.linear.model import Forecast
from belated.service import bodies
from belated.service.auth import Signer
from belated.service.limits import Limits
from belated.service.refusals import Refused, refusal_of
from belated.store.arguments import LoggedMethod
from belated.store.kinds import KINDS

ASKING = ("predict", "choose")
APPLIED, LATE, DUPLICATE, UNKNOWN, INVALID = "applied", "late", "duplicate", "unknown", "invalid"
OUTCOMES = (APPLIED, LATE, DUPLICATE, UNKNOWN, INVALID)

_MEMBERS = {"answer": "value", "amount": "value", "actual": "setting"}
"""What arguments are called in JSON that have a name of their own here."""
_NOT_NULL = ("answer", "setting", "weight", "shown")

Call = tuple[str, dict[str, Any]]


class Said(NamedTuple):
    """What came of an item, and the status of the answer where it came alone."""

    status: int
    body: dict[str, Any]


class Reader:
    """Reads the items of one model."""

    def __init__(
        self, kind: str, number: int, signer: Signer, limits: Limits, unit: str | None = None
    ) -> None:
        self.kind, self._number, self._signer, self._limits = kind, number, signer, limits
        self.unit = unit
        """What deadlines are counted in; None where there are none."""
        self._methods = methods(kind)
        self._members = {name: members(kind, name) for name in self._methods}
        row = bodies.row if kind in ("LinearModel", "Intervals") else bodies.features
        self._read: dict[str, Callable[[Any, str], Any]] = {
            "row": lambda value, what: row(value, what, limits),
            "key": lambda value, what: bodies.key(value, limits),
            "deadline": lambda value, what: self._deadline(value),
            "actions": lambda value, what: bodies.actions(value, limits),
            "baseline": lambda value, what: bodies.text(value, what, limits),
            "shown": bodies.boolean,
            "answer": self._answer,
            "weight": bodies.number,
            "setting": lambda value, what: bodies.features(value, what, limits),
        }

    def check(self, verb: str) -> None:
        """Refuse a verb that models of this kind do not have."""
        if verb not in self._methods:
            have = ", ".join(sorted(self._methods))
            raise Refused(
                409, "no_such_verb", f"a model of kind {self.kind} has no {verb}; it has: {have}"
            )

    def check_clock(self) -> None:
        """Refuse a time where deadlines are counted in predictions, which it would make seconds."""
        if self.unit == bodies.PREDICTIONS:
            raise Refused(
                422,
                "bad_time",
                "this model counts its deadlines in predictions, so that it has no clock and takes "
                "no times; leave 'at' out, or rebuild it with a deadline in time, such as P30D",
            )

    def call(self, verb: str, item: Any, may_date: bool) -> Call:
        """Return the call that an item stands for, or refuse it."""
        given = bodies.an_object(item, self._members[verb])
        named: dict[str, Any] = {}
        if given.get("at") is not None:
            if not may_date:
                raise Refused(
                    403, "forbidden", "times are those of the server; 'at' needs the scope admin"
                )
            self.check_clock()
            named["at"] = bodies.time(given["at"], "at")
        method = self._methods[verb]
        for name, kind in method.taken.items():
            if kind == "ticket":
                named[name] = self.ticket(given)
            elif kind != "at":
                member = _member(self.kind, name)
                value = given.get(member)
                may_lack = name not in method.required and member != "features"
                if value is None and may_lack and not (kind in _NOT_NULL and member in given):
                    continue
                named[name] = self._read[kind](value, member)
        return verb, named

    def _deadline(self, given: Any) -> str | float:
        """Return the deadline of one ticket, in the unit that those of the model have."""
        found, unit = bodies.deadline(given), bodies.unit_of(given)
        if unit == bodies.PREDICTIONS:
            bodies.check_whole(found)
        if self.unit is None:
            raise Refused(
                422,
                "bad_settings",
                "this model has no deadlines: POST /models makes one that has, with a long one for "
                "all if only some tickets have their own",
            )
        if unit != self.unit:
            raise bodies.bad(f"deadline: those of this model are in {self.unit}, not in {unit}")
        return found

    def ticket(self, given: dict[str, Any]) -> int | Key:
        """Return what an answer is for: a ticket, which is sent as a signed text, or a key."""
        ticket, key = given.get("ticket"), given.get("key")
        if (ticket is None) == (key is None):
            raise bodies.bad("give a ticket that was handed out, or a key of your own")
        if ticket is None:
            return bodies.key(key, self._limits)
        if not isinstance(ticket, str):
            raise bodies.bad("ticket must be the text that was handed out; a key goes as 'key'")
        return self._signer.number(self._number, ticket)

    def _answer(self, value: Any, what: str) -> Any:
        if self.kind == "Learner" and isinstance(value, list):
            return bodies.vector(value, what, self._limits.batch * 1000)
        return bodies.number(value, what)

    # --- What came of it ------------------------------------------------------------------------

    def said(self, answer: Any) -> Said:
        """Return what came of a call."""
        if answer is None or answer is True:
            return Said(200, {"outcome": APPLIED})
        if answer is False:
            return Said(200, {"outcome": LATE})
        if isinstance(answer, BelatedError):
            return refused(answer)
        body = {"outcome": APPLIED, "ticket": self._signer.sign(self._number, answer[0])}
        body.update(_SAID[type(answer)](answer))
        return Said(200, body)


def methods(kind: str) -> dict[str, LoggedMethod]:
    """Return the methods that items of requests may call on models of a kind, by name."""
    found = KINDS[kind].methods.items()
    return {name: method for name, method in found if method.line.scope in ("decide", "answer")}


def members(kind: str, verb: str) -> frozenset[str]:
    """Return what an item of a verb may have, for models of a kind."""
    names = {_member(kind, name) for name in KINDS[kind].methods[verb].taken}
    if kind == "Learner":  # which has no rows
        names.discard("context")
    return frozenset((*names, "key"))


def _member(kind: str, name: str) -> str:
    """Return what JSON calls an argument."""
    if name == "row":
        return "features" if kind in ("LinearModel", "Intervals") else "context"
    return _MEMBERS.get(name, name)


def already_answered() -> Refused:
    """Return what is said of a key that nothing is open under any more."""
    message = (
        "this key was answered or cancelled before, or its deadline has passed and a late answer "
        "was dropped before; nothing has changed"
    )
    return Refused(409, "already_answered", message)


def refused(error: BelatedError | Refused) -> Said:
    """Return what is said of an item that was refused."""
    outcome = INVALID
    if isinstance(error, AlreadyObserved):
        outcome = DUPLICATE
    elif isinstance(error, UnknownTicket):
        outcome = UNKNOWN
    refusal = error if isinstance(error, Refused) else refusal_of(error)
    return Said(refusal.status, {"outcome": outcome, **refusal.to_dict()})


_SAID: dict[type[Any], Callable[[Any], dict[str, Any]]] = {
    Forecast: lambda found: {"value": found.value},
    Interval: lambda found: {"value": found.value, "low": found.low, "high": found.high},
    Choice: lambda found: {"action": found.action, "probability": found.probability},
    Proposal: lambda found: {"setting": found.setting},
    Decision: lambda found: {"play": np.asarray(found.x).tolist()},
}
