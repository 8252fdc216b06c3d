"""The bodies of requests and responses as msgspec structs, and times and durations in them.

The structs decode and validate what clients send, encode what they get, and are the components
of the OpenAPI description. Items that call methods of models have a struct for every method and
kind of model, made of the table of methods (``belated.models.methods``).
"""

from __future__ import annotations

import math
import re
from functools import cache, partial
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple, Union

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from belated.errors import ClockError, SpecError
from belated.models.clock import span_of
from belated.models.knobs.report import MODES
from belated.models.methods import METHODS
from belated.models.moments import NUMBERS, Moment, read_time
from belated.service.requests import validation_error
from belated.service.settings import ACTIONS, BATCH, FEATURES, TEXT
from belated.store.kinds import KINDS

NAME = "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
"""The pattern of names of models."""
Text = Annotated[str, Meta(min_length=1, max_length=TEXT)]
Name = Annotated[str, Meta(pattern=NAME)]
Cell = float | Annotated[str, Meta(max_length=TEXT)] | bool | None
Features = Annotated[dict[Annotated[str, Meta(max_length=TEXT)], Cell], Meta(max_length=FEATURES)]
Vector = Annotated[list[float], Meta(max_length=FEATURES)]
Actions = (
    Annotated[list[Text], Meta(min_length=1, max_length=ACTIONS)]
    | Annotated[dict[Text, Features | None], Meta(min_length=1, max_length=ACTIONS)]
)
Pair = Annotated[list[Annotated[str, Meta(max_length=TEXT)]], Meta(min_length=2, max_length=2)]
"""A name and a text. It is no tuple: msgspec 0.22 crashes over one in a union."""
Length = Annotated[float, Meta(ge=0)]
Key = Annotated[Text, Meta(description="A name of your own for the ticket; send a number as text.")]
Time = Annotated[
    float | str,
    Meta(
        description="Seconds since 1970 or ISO 8601. Needs the scope admin; without it, the clock "
        "of the server (UTC) gives the time."
    ),
]
Plain = dict[str, Any]
Kind = Literal["LinearModel", "Intervals", "Chooser", "Knobs", "Learner"]
AnyMode = Literal[("learn", "apprentice", *MODES)]  # type: ignore[valid-type]
Counting = Literal["earliest", "sum"]


class RequestBody(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The body of a request, which has no other members than those described."""


class ResponseBody(Struct, omit_defaults=True):
    """The body of a response."""


def _struct(base: Any, name: str, about: str = "", /, **members: Any) -> Any:
    """Return a struct with members by name: a type, or a pair of a type and a default."""
    given = [(each, *(t if isinstance(t, tuple) else (t,))) for each, t in members.items()]
    return msgspec.defstruct(
        *(name, given),
        bases=(base,),
        namespace={"__doc__": about or None},
        module=__name__,
        kw_only=any(len(each) < len(before) for before, each in pairwise(given)),
    )


_request, _response = partial(_struct, RequestBody), partial(_struct, ResponseBody)


def _maybe(type_: Any) -> Any:
    """Return the type and default of a member that may be left out."""
    return Union[type_, UnsetType], UNSET  # noqa: UP007


Duration: Any = _request(
    *("Duration", "A length of time or a number of predictions; it has exactly one member."),
    **{"seconds": _maybe(Length), **dict.fromkeys(("predictions", "units"), _maybe(Length | None))},
)
Span = Annotated[
    Length | str | Duration,
    Meta(description="Seconds, or such as P30D, PT10M, 30d or 15min, or an object with a unit."),
]

# --- Requests ---------------------------------------------------------------------------------

Create = _request(
    *("Create", "A model to be made; ``settings`` are the arguments of its class."),
    name=Name,
    kind=Kind,
    settings=(Plain, {}),
)
Rebuild = _request(
    *("Rebuild", "Settings of the new model, whose name is ``to``; others keep their values."),
    kind=(Kind | None, None),
    settings=(Plain, {}),
    to=(Name | None, None),
)
Erase = _request("Erase", "A key, and whether to unlearn it.", key=Key, rebuild=(bool, False))
SetMode = _request("SetMode", mode=Literal["learn", "apprentice"])
Rewards = _request("Rewards", rewards=Counting)
Nothing = _request("Nothing", "An empty object.")
Tick = _request("Tick", "A time up to which the clock advances.", at=(Time | None, None))
Peek = _request(
    *("Peek", "What a prediction or choice would be made for."),
    features=(Features | Vector | None, None),
    context=(Features | None, None),
    actions=(Actions | None, None),
)
Explain = _request("Explain", features=Features)
Weights = _request(
    *("Weights", "Names of features, and pairs of a name and a text that it may be."),
    names=Annotated[list[Text | Pair], Meta(max_length=FEATURES)],
)
Expect = _request(
    "Expect", "A setting of knobs, in a context.", setting=Features, context=(Features | None, None)
)
WhichChoice = _request(
    *("WhichChoice", "A choice, by its ticket or its key."),
    ticket=(str | None, None),
    key=(Key | None, None),
)
_Nested = (list[Plain] | Plain | None, None)
RankAction: Any = _request("RankAction", "An action that may be ranked.", id=Text, features=_Nested)
Rank = _request(
    *("Rank", "Actions to be ranked in a context."),
    actions=Annotated[list[RankAction], Meta(min_length=1, max_length=ACTIONS)],
    contextFeatures=_Nested,
    excludedActions=(list[str] | None, None),
    eventId=(Text | None, None),
    deferActivation=(bool | None, None),
)
Reward = _request("Reward", value=float)

# --- Responses --------------------------------------------------------------------------------

Problem = _response(
    *("Problem", "Why something was refused: a code for programs, a sentence for people."),
    code=str,
    message=str,
)
Error = _response("Error", "The body of every refusal.", error=Problem)
_RANGE = dict.fromkeys(("value", "low", "high"), _maybe(float | None))
Outcome: Any = _response(
    *("Outcome", "What became of an item."),
    outcome=Literal["applied", "late", "duplicate", "unknown", "invalid"],
    ticket=_maybe(str),
    **_RANGE,
    action=_maybe(str),
    probability=_maybe(float),
    setting=_maybe(Plain),
    play=_maybe(list[float | list[float]]),
    error=_maybe(Problem),
)
Outcomes = _response("Outcomes", items=list[Outcome])
Status = _response("Status", status=str, models=_maybe(int), damaged=_maybe(int))
Model = _response(
    "Model",
    name=str,
    kind=Kind,
    rounds=int,
    open=int,
    events=int,
    settings=Plain,
    mode=_maybe(AnyMode),
    rewards=_maybe(Counting),
)
Listed: Any = _response(
    "Listed",
    name=str,
    is_ready=bool,
    is_damaged=_maybe(bool),
    kind=_maybe(Kind),
    rounds=_maybe(int),
    open=_maybe(int),
)
Erased = _response("Erased", "How much was erased.", tickets=int, events=int)
Models = _response("Models", models=list[Listed])
CurrentMode = _response("CurrentMode", mode=AnyMode)
Ticked = _response("Ticked", open=int)
Peeked = _response(
    *("Peeked", "What would be predicted, chosen or played."),
    **_RANGE,
    options=_maybe(list[Plain]),
    setting=_maybe(Plain),
)
Explained = _response(
    *("Explained", "What a prediction is made of."),
    value=float,
    constant=float,
    parts=dict[str, float],
    open_tickets=float,
    total=float,
)
Weighed = _response("Weighed", weights=list[float])
Expected = _response(
    *("Expected", "What a setting is thought to cost; null where too few costs are known."),
    cost=float | None,
    uncertainty=float | None,
)
Ranked: Any = _response("Ranked", id=str, probability=float)
Ranking = _response(
    *("Ranking", "Ranked actions, and the one to be shown."),
    ranking=list[Ranked],
    eventId=str,
    rewardActionId=str,
)

# --- Items ------------------------------------------------------------------------------------

SECONDS, PREDICTIONS, UNITS = "seconds", "predictions", "units"
"""Units of deadlines; the last is the unit of times that were given in Python."""
_TYPES: dict[str, Any] = {
    "key": Key | None,
    "at": Time | None,
    "deadline": Span | None,
    "actions": Actions | None,
    "baseline": Text | None,
    "shown": bool,
    "weight": float,
    "answer": float,
    "setting": Features,
    "ticket": str | None,
    "row": Features | None,
}
"""The types of the arguments of methods."""
_NAMES = {"answer": "value", "amount": "value", "actual": "setting"}
"""Names in JSON of arguments that are named differently there."""


class Member(NamedTuple):
    """A member of an item, and the argument of the method that it becomes."""

    name: str
    argument: str
    kind: str
    type: Any
    default: Any = None
    """``...`` if it is required; UNSET if it may be left out but not be null."""


@cache
def verbs(kind: str) -> dict[str, Any]:
    """Return the methods that items of requests may call on models of a kind, by name."""
    found = KINDS[kind].methods.items()
    return {name: method for name, method in found if method.line.scope in ("decide", "answer")}


@cache
def members(kind: str, verb: str) -> tuple[Member, ...]:
    """Return the members of items that call a method, for models of a kind."""
    found = []
    for argument, what in verbs(kind)[verb].taken.items():
        name, type_ = _NAMES.get(argument, argument), _TYPES[what]
        default: Any = ... if what in ("answer", "setting") else None
        if what == "row" and kind in ("LinearModel", "Intervals"):
            name, type_, default = "features", Features | Vector, ...
        elif what == "row":
            name = "context"
        elif what == "answer" and kind == "Learner":
            type_ = float | list[float]
        elif what in ("weight", "shown"):
            default = UNSET
            type_ = type_ | UnsetType
        found.append(Member(name, argument, what, type_, default))
        if what == "ticket":
            found.append(Member("key", "ticket", "ticket", _TYPES["key"]))
    return tuple(found)


def _of_members(name: str, about: str, found: dict[str, Member]) -> Any:
    given = {m.name: m.type if m.default is ... else (m.type, m.default) for m in found.values()}
    return _request(name, about, **given)


@cache
def item(kind: str, verb: str) -> Any:
    return _of_members(f"{kind}{verb.capitalize()}", "", {m.name: m for m in members(kind, verb)})


@cache
def described_item(verb: str) -> Any:
    """Return the struct that describes items for all kinds of models that have a method."""
    found: dict[str, Member] = {}
    for kind in KINDS:
        for each in members(kind, verb) if verb in verbs(kind) else ():
            type_ = each.type | found[each.name].type if each.name in found else each.type
            found[each.name] = each._replace(type=type_)
    if "features" in found:  # some kinds have a context, and some nothing
        found["features"] = found["features"]._replace(default=UNSET)
    line = next(line for line in METHODS if line.name == verb)
    return _of_members(verb.capitalize(), line.about, found)


Items = _request("Items", items=Annotated[list[msgspec.Raw], Meta(max_length=BATCH)])


class MaybeItems(Struct):
    """Many items if it has this member, beside any others."""

    items: list[msgspec.Raw] | UnsetType = UNSET


@cache
def described_items(verb: str) -> Any:
    many: Any = Annotated[list[described_item(verb)], Meta(max_length=BATCH)]  # type: ignore[misc]
    return _request(f"{verb.capitalize()}Items", items=many)


# --- Values -----------------------------------------------------------------------------------

_ISO = re.compile(
    r"P(?:(\d{1,6})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,8})M)?(?:(\d{1,10}(?:\.\d{1,9})?)S)?)?\Z"
)
_BIG = 1e15
_LONGEST = 100  # characters of a time or a duration


def check_name(value: str) -> str:
    if re.fullmatch(NAME, value) is None:
        raise validation_error(
            "the name of a model is 1 to 100 letters, digits, '.', '_' and '-', and begins with a "
            "letter or a digit"
        )
    return value


def read_actions(value: Any) -> Any:
    if isinstance(value, list) and len(set(value)) < len(value):
        raise validation_error("actions: an action is there twice")
    return value


def read_span(value: Any, what: str) -> str:
    """Return a duration, such as 60, P30D, PT10M, 30d or 15min, as a text that models take.

    A text keeps every digit, which a timedelta does not.

    >>> read_span("PT10M", "doc"), read_span(Duration(seconds=1e-9), "doc")
    ('600.0s', '1e-09s')
    """
    total = value.seconds if isinstance(value, Duration) else value
    if isinstance(value, str):
        found = _ISO.match(value)
        if found is not None and any(found.groups()):
            days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
            total = 86400 * days + 3600 * hours + 60 * minutes + seconds
        else:
            try:
                total = span_of(value[:_LONGEST], what)
            except SpecError:
                total = None
    if isinstance(total, bool) or not isinstance(total, int | float):
        raise validation_error(
            f"{what} must be seconds, or a duration such as 'P30D', 'PT10M', '30d' or '15min'"
        )
    if not 0.0 <= total <= 1e9:
        raise validation_error(
            f"{what} must be at least 0, and at most 1e9 seconds, which are 31 years"
        )
    return in_seconds(float(total))


def in_seconds(length: float) -> str:
    """Return so many seconds as a text that models take as it is, to the last digit."""
    return f"{length!r}s"


def read_deadline(value: Any) -> str | float:
    """Return a deadline: a duration, or a number of predictions where its unit says so.

    A number of predictions may have a fraction or no end (null), as models made in Python have.
    """
    unit = unit_of(value)
    if unit == SECONDS:
        return read_span(value, "deadline")
    count = getattr(value, unit)
    if count is None:
        return math.inf
    return int(count) if float(count).is_integer() else float(count)


def unit_of(deadline: Any) -> str:
    """Return what a deadline is counted in; one without a unit is in seconds.

    >>> unit_of("P30D"), unit_of(Duration(predictions=100))
    ('seconds', 'predictions')
    """
    if not isinstance(deadline, Duration):
        return SECONDS
    units = [unit for unit in (SECONDS, PREDICTIONS, UNITS) if getattr(deadline, unit) is not UNSET]
    if len(units) != 1:
        raise validation_error('deadline, where it is an object, is such as {"seconds": 60}')
    return units[0]


def check_whole(deadline: str | float) -> None:
    """Refuse a number of predictions that has a fraction or no end."""
    if isinstance(deadline, float):
        raise validation_error("deadline: predictions must be a whole number of at least 0")


def read_at(value: float | str) -> Moment | None:
    """Return a time: seconds since 1970, or a text in ISO 8601."""
    if isinstance(value, str):
        try:
            return read_time(value if len(value) <= _LONGEST else "", "at")
        except ClockError:
            raise validation_error(
                "at must be seconds since 1970, or a time such as '2026-03-01T12:00:00Z'"
            ) from None
    if abs(value) >= _BIG:
        raise validation_error("at is too far away")
    return Moment(value, NUMBERS)
