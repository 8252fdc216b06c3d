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
from belated.service.limits import Limits
from belated.service.refusals import Refused, refusal_of
from belated.service.tickets import Signer

ASKING = ("predict", "choose")
APPLIED, LATE, DUPLICATE, UNKNOWN, INVALID = "applied", "late", "duplicate", "unknown", "invalid"
OUTCOMES = (APPLIED, LATE, DUPLICATE, UNKNOWN, INVALID)

_ANSWER = {
    "LinearModel": {"observe": "label", "revise": "label", "add": "amount"},
    "Intervals": {"observe": "label"},
    "Chooser": {"observe": "reward", "revise": "reward", "add": "amount"},
    "Learner": {"observe": "feedback"},
    "Knobs": {"observe": "cost", "revise": "cost"},
}
"""What a verb calls the answer that is a ``value`` here."""
VERBS = {
    "LinearModel": frozenset(("predict", "observe", "revise", "add", "cancel")),
    "Intervals": frozenset(("predict", "observe", "cancel")),
    "Chooser": frozenset(("choose", "observe", "revise", "add", "cancel", "shown")),
    "Learner": frozenset(("predict", "observe", "cancel")),
    "Knobs": frozenset(("predict", "observe", "revise", "cancel", "played")),
}
_MEMBERS = {
    ("LinearModel", "predict"): frozenset(("features", "key", "deadline", "at")),
    ("Intervals", "predict"): frozenset(("features", "key", "at")),
    ("Learner", "predict"): frozenset(("key",)),
    ("Chooser", "choose"): frozenset(
        ("context", "actions", "key", "deadline", "baseline", "shown", "at")
    ),
    ("LinearModel", "observe"): frozenset(("ticket", "key", "value", "weight", "at")),
    ("Learner", "observe"): frozenset(("ticket", "key", "value")),
    ("Knobs", "predict"): frozenset(("context", "key", "at")),
    ("Knobs", "played"): frozenset(("ticket", "key", "setting")),
}
_HEARD = frozenset(("ticket", "key", "value", "at"))
_CLOSED = frozenset(("ticket", "key"))

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
        self._members = {verb: members(kind, verb) for verb in VERBS[kind]}
        self._answers = _ANSWER[kind]
        self._takes_features = kind in ("LinearModel", "Intervals")

    def check(self, verb: str) -> None:
        """Refuse a verb that models of this kind do not have."""
        if verb not in self._members:
            have = ", ".join(sorted(VERBS[self.kind]))
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
        if verb in ASKING:
            self._ask(given, named)
        else:
            named["ticket"] = self.ticket(given)
            if verb in self._answers:
                named[self._answers[verb]] = self._value(given)
            if verb == "played":
                named["actual"] = bodies.features(given.get("setting"), "setting", self._limits)
            if "weight" in given:
                named["weight"] = bodies.number(given["weight"], "weight")
        return verb, named

    def _ask(self, given: dict[str, Any], named: dict[str, Any]) -> None:
        limits = self._limits
        if given.get("key") is not None:
            named["key"] = bodies.key(given["key"], limits)
        if given.get("deadline") is not None:
            named["deadline"] = self._deadline(given["deadline"])
        if self._takes_features:
            named["features"] = bodies.row(given.get("features"), "features", limits)
            return
        if self.kind in ("Chooser", "Knobs") and given.get("context") is not None:
            named["context"] = bodies.features(given["context"], "context", limits)
        if self.kind == "Chooser":
            if given.get("actions") is not None:
                named["actions"] = bodies.actions(given["actions"], limits)
            if given.get("baseline") is not None:
                named["baseline"] = bodies.text(given["baseline"], "baseline", limits)
            if "shown" in given:
                if not isinstance(given["shown"], bool):
                    raise bodies.bad("shown must be true or false")
                named["shown"] = given["shown"]

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

    def _value(self, given: dict[str, Any]) -> Any:
        value = given.get("value")
        if self.kind == "Learner" and isinstance(value, list):
            return bodies.vector(value, "value", self._limits.batch * 1000)
        return bodies.number(value, "value")

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


def members(kind: str, verb: str) -> frozenset[str]:
    """Return what an item of a verb may have, for models of a kind."""
    if verb == "cancel":
        return _CLOSED
    if verb == "shown":
        return _CLOSED | {"at"}
    return _MEMBERS.get((kind, verb), _HEARD)


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
