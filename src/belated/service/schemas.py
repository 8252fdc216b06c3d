"""The bodies of requests and responses as msgspec structs.

The structs decode and validate what clients send, encode what they get, and are the components
of the OpenAPI description. Items that call methods of models have a struct for every method and
kind of model, made of the table of methods (``belated.models.methods``).
"""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from belated.models.knobs.report import MODES
from belated.models.methods import METHODS
from belated.service.refusals import Refused
from belated.store.kinds import KINDS

BATCH, FEATURES, ACTIONS, TEXT = 1000, 1000, 1000, 500
"""Limits: items of a request, features of a row, actions of a choice, characters of a text."""
NAME = "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
"""What the name of a model looks like."""

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
Mode = Literal["learn", "apprentice"]
AnyMode = Literal[("learn", "apprentice", *MODES)]  # type: ignore[valid-type]
Counting = Literal["earliest", "sum"]


class RequestBody(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The body of a request, which has no other members than those described."""


class ResponseBody(Struct, omit_defaults=True):
    """The body of a response."""


class Duration(RequestBody):
    """A length of time or a number of predictions; it has exactly one member."""

    seconds: Length | UnsetType = UNSET
    predictions: Length | UnsetType | None = UNSET
    units: Length | UnsetType | None = UNSET


Span = Annotated[
    Length | str | Duration,
    Meta(description="Seconds, or such as P30D, PT10M, 30d or 15min, or an object with a unit."),
]

# --- Requests ---------------------------------------------------------------------------------


class Create(RequestBody):
    """A model to be made; ``settings`` are the arguments of its class."""

    name: Name
    kind: Kind
    settings: Plain = {}


class Rebuild(RequestBody):
    """Settings of the new model; those left out keep their values. ``to`` is its name."""

    kind: Kind | None = None
    settings: Plain = {}
    to: Name | None = None


class SetMode(RequestBody):
    mode: Mode


class Rewards(RequestBody):
    rewards: Counting


class Nothing(RequestBody):
    """An empty object."""


class Tick(RequestBody):
    """A time up to which the clock advances."""

    at: Time | None = None


class Peek(RequestBody):
    """What a prediction or choice would be made for."""

    features: Features | Vector | None = None
    context: Features | None = None
    actions: Actions | None = None


class Explain(RequestBody):
    features: Features


class Weights(RequestBody):
    """Names of features, and pairs of a name and a text that it may be."""

    names: Annotated[list[Text | Pair], Meta(max_length=FEATURES)]


class Expect(RequestBody):
    """A setting of knobs, in a context."""

    setting: Features
    context: Features | None = None


class WhichChoice(RequestBody):
    """A choice, by its ticket or its key."""

    ticket: str | None = None
    key: Key | None = None


class RankAction(RequestBody):
    """An action that may be ranked."""

    id: Text
    features: list[Plain] | Plain | None = None


class Rank(RequestBody):
    """Actions to be ranked in a context."""

    actions: Annotated[list[RankAction], Meta(min_length=1, max_length=ACTIONS)]
    contextFeatures: list[Plain] | Plain | None = None  # noqa: N815
    excludedActions: list[str] | None = None  # noqa: N815
    eventId: Text | None = None  # noqa: N815
    deferActivation: bool | None = None  # noqa: N815


class Reward(RequestBody):
    value: float


# --- Responses --------------------------------------------------------------------------------


class Problem(ResponseBody):
    """Why something was refused: a code for programs, a sentence for people."""

    code: str
    message: str


class Error(ResponseBody):
    """The body of every refusal."""

    error: Problem


class Outcome(ResponseBody):
    """What became of an item."""

    outcome: Literal["applied", "late", "duplicate", "unknown", "invalid"]
    ticket: str | UnsetType = UNSET
    value: float | UnsetType | None = UNSET
    low: float | UnsetType | None = UNSET
    high: float | UnsetType | None = UNSET
    action: str | UnsetType = UNSET
    probability: float | UnsetType = UNSET
    setting: Plain | UnsetType = UNSET
    play: list[float | list[float]] | UnsetType = UNSET
    error: Problem | UnsetType = UNSET


class Outcomes(ResponseBody):
    items: list[Outcome]


class Status(ResponseBody):
    status: str
    models: int | UnsetType = UNSET
    damaged: int | UnsetType = UNSET


class Model(ResponseBody):
    name: str
    kind: Kind
    rounds: int
    open: int
    events: int
    settings: Plain
    mode: AnyMode | UnsetType = UNSET
    rewards: Counting | UnsetType = UNSET


class Listed(ResponseBody):
    name: str
    is_ready: bool
    is_damaged: bool | UnsetType = UNSET
    kind: Kind | UnsetType = UNSET
    rounds: int | UnsetType = UNSET
    open: int | UnsetType = UNSET


class Models(ResponseBody):
    models: list[Listed]


class CurrentMode(ResponseBody):
    mode: AnyMode


class Ticked(ResponseBody):
    open: int


class Peeked(ResponseBody):
    """What would be predicted, chosen or played."""

    value: float | UnsetType | None = UNSET
    low: float | UnsetType | None = UNSET
    high: float | UnsetType | None = UNSET
    options: list[Plain] | UnsetType = UNSET
    setting: Plain | UnsetType = UNSET


class Explained(ResponseBody):
    """What a prediction is made of."""

    value: float
    constant: float
    parts: dict[str, float]
    open_tickets: float
    total: float


class Weighed(ResponseBody):
    weights: list[float]


class Expected(ResponseBody):
    """What a setting is thought to cost; null where too few costs are known."""

    cost: float | None
    uncertainty: float | None


class Ranked(ResponseBody):
    id: str
    probability: float


class Ranking(ResponseBody):
    """Ranked actions, and the one to be shown."""

    ranking: list[Ranked]
    eventId: str  # noqa: N815
    rewardActionId: str  # noqa: N815


# --- Items ------------------------------------------------------------------------------------

SECONDS, PREDICTIONS, UNITS = "seconds", "predictions", "units"
"""What deadlines are counted in; the last is the unit of times that were given in Python."""
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
"""What arguments are called in JSON that have a name of their own there."""
_ROWS = ("LinearModel", "Intervals")


class Member(NamedTuple):
    """A member of an item, and the argument of the method that it becomes."""

    name: str
    argument: str
    kind: str
    type: Any
    default: Any = None
    """``...`` if it is required; UNSET if it may be left out but not be null."""

    @property
    def field(self) -> tuple[Any, ...]:
        """The field of a struct."""
        return (self.name, self.type, self.default)[: 2 if self.default is ... else 3]


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
        if what == "row" and kind in _ROWS:
            name, type_, default = "features", Features | Vector, ...
        elif what == "row":
            name = "context"
        elif what == "answer" and kind == "Learner":
            type_ = float | list[float]
        elif what in ("weight", "shown"):
            default = UNSET
        found.append(Member(name, argument, what, type_, default))
        if what == "ticket":
            found.append(Member("key", "ticket", "ticket", _TYPES["key"]))
    return tuple(found)


def _struct(name: str, about: str, found: dict[str, Member]) -> Any:
    return msgspec.defstruct(
        name,
        [each.field for each in found.values()],
        bases=(RequestBody,),
        namespace={"__doc__": about},
        module=__name__,
        kw_only=True,
        forbid_unknown_fields=True,
    )


@cache
def item(kind: str, verb: str) -> Any:
    """Return the struct of an item that calls a method of models of a kind."""
    return _struct(f"{kind}{verb.capitalize()}", "", {m.name: m for m in members(kind, verb)})


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
    return _struct(verb.capitalize(), line.about, found)


class Items(RequestBody):
    items: Annotated[list[msgspec.Raw], Meta(max_length=BATCH)]


class MaybeItems(Struct):
    """Many items if it has this member, beside any others."""

    items: list[msgspec.Raw] | UnsetType = UNSET


@cache
def described_items(verb: str) -> Any:
    """Return the struct that describes many items."""
    many: Any = Annotated[list[described_item(verb)], Meta(max_length=BATCH)]  # type: ignore[misc]
    return msgspec.defstruct(
        f"{verb.capitalize()}Items", [("items", many)], bases=(RequestBody,), module=__name__
    )


# --- JSON -------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """Return what JSON can hold of values of NumPy and of mappings."""
    return value.tolist() if hasattr(value, "tolist") else dict(value)


encode = msgspec.json.Encoder(enc_hook=plain).encode
"""Writes JSON; what is not finite becomes null."""
_decoder = cache(msgspec.json.Decoder)
_PLACE = re.compile(r"(.*?)(?: - at (?:`key` in )?`\$\.?(.*)`)?\Z", re.DOTALL)


def decode(body: bytes | msgspec.Raw, type_: Any) -> Any:
    """Return a body as a struct, or refuse it."""
    try:
        return _decoder(type_).decode(body)
    except msgspec.ValidationError as error:
        raise _refusal(str(error), bytes(body), type_) from None
    except RecursionError:
        raise Refused(400, "bad_json", "the body is nested too deep") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused(400, "bad_json", f"the body is not JSON: {error}") from None


def convert(value: Any, type_: Any, what: str) -> Any:
    """Return plain data as a type of this module, or refuse it."""
    try:
        return msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        raise validation_error(f"{what}: {error}") from None


def check_name(value: str) -> str:
    """Return a name that a model may get."""
    if re.fullmatch(NAME, value) is None:
        raise validation_error(
            "the name of a model is 1 to 100 letters, digits, '.', '_' and '-', and begins with a "
            "letter or a digit"
        )
    return value


def read_actions(value: Any) -> Any:
    """Return actions, or refuse a list that has one of them twice."""
    if isinstance(value, list) and len(set(value)) < len(value):
        raise validation_error("actions: an action is there twice")
    return value


def validation_error(message: str) -> Refused:
    """Return the refusal of a body that is JSON, but not what it should be."""
    return Refused(422, "bad_request", message)


def _refusal(message: str, body: bytes, type_: Any) -> Refused:
    """Return the refusal of JSON that a struct does not allow, in words."""
    match = _PLACE.match(message)
    assert match is not None
    said, where = match[1], match[2] or ""
    if where.endswith("[...]"):
        where = where.removesuffix("[...]")
        name = _culprit(body, where.split(".")[-1])
        where += f": {name!r}" if name else ""
    if "Object contains unknown field" in said:
        there = ", ".join(sorted(type_.__struct_fields__)) or "none"
        return validation_error(
            f"no such member: {said.partition('field ')[2]}; there are: {there}"
        )
    if where == "key" and re.search(r"got `(int|float)`", said):
        return validation_error(
            "key must be a text, not a number: send an id that is a number as str(id)"
        )
    if said.startswith(("Number out of range", "Expected `float`, got")):
        return validation_error(f"{where or 'a number'} must be a finite number")
    if "of length <=" in said and where.endswith(("features", "context", "setting")):
        return Refused(422, "too_many_features", f"{where}: at most {FEATURES} features")
    if "of length <=" in said and where == "actions":
        return Refused(422, "too_many_actions", f"there may be {ACTIONS} actions")
    if "of length <=" in said and where == "items":
        return Refused(413, "batch_too_large", f"a request may have {BATCH} items")
    return validation_error(f"{where}: {said[0].lower()}{said[1:]}" if where else said.lower())


def _culprit(body: bytes, name: str) -> str | None:
    """Return the first member of an object that is no finite number, text, bool or null."""
    try:
        inner = json.loads(body)[name]
        for key, value in inner.items():
            is_number = isinstance(value, int | float) and abs(value) <= sys.float_info.max
            if not (is_number or value is None or (isinstance(value, str) and len(value) <= TEXT)):
                return str(key)
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        pass  # it is wrong elsewhere, too
    return None
