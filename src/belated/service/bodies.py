"""What clients send, as plain data whose types were looked at."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from belated.errors import ClockError, SpecError
from belated.keys import Key
from belated.models.clock import span_of
from belated.models.moments import NUMBERS, Moment, read_time
from belated.service.limits import Limits
from belated.service.refusals import Refused
from belated.store.events import writing

_ISO = re.compile(
    r"P(?:(\d{1,6})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,8})M)?(?:(\d{1,10}(?:\.\d{1,9})?)S)?)?\Z"
)
SECONDS, PREDICTIONS, UNITS = "seconds", "predictions", "units"
"""What deadlines are counted in; the last is the unit of times that were given in Python."""
_BIG = 1e15
_LONGEST = 100  # characters of a time or a duration
_BLANKS = " \t\n\r"  # of JSON
_is_finite = math.isfinite


def decoded(body: bytes) -> Any:
    """Return the JSON of a body, or refuse it."""
    try:
        text = body.decode()
        try:
            document, end = _scan(text, 0)
        except StopIteration:  # a blank before it, or nothing that it could be
            document = _decode(text)
        else:
            behind = text[end:].lstrip(_BLANKS) if end < len(text) else ""
            if behind:
                raise json.JSONDecodeError("Extra data", text, len(text) - len(behind))
        if b"\\u" in body:  # half of a pair can be written that way, and is no text
            json.dumps(document, ensure_ascii=False).encode()
    except RecursionError:
        raise Refused(400, "bad_json", "the body is nested too deep") from None
    except ValueError as error:  # also what is no UTF-8, or has too many digits
        raise Refused(400, "bad_json", f"the body is not JSON: {error}") from None
    return document


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


_decoder = json.JSONDecoder(parse_constant=_no_constant)
_decode = _decoder.decode
_scan = _decoder.scan_once  # type: ignore[attr-defined]  # the same, less blanks around it


def an_object(document: Any, allowed: frozenset[str]) -> dict[str, Any]:
    """Return an object that has no other members than these."""
    if document.__class__ is not dict:
        raise bad("the body must be a JSON object")
    if not allowed.issuperset(document):
        unknown = next(name for name in document if name not in allowed)
        there = ", ".join(sorted(allowed)) or "none"
        raise bad(f"no such member: {unknown!r}; there are: {there}")
    found: dict[str, Any] = document
    return found


def nothing(body: bytes) -> None:
    """Refuse a body that says anything, where nothing can be said."""
    if body:
        an_object(decoded(body), frozenset())


def bad(message: str) -> Refused:
    """Return the refusal of a body that is JSON, but not what it should be."""
    return Refused(422, "bad_request", message)


def text(value: Any, what: str, limits: Limits) -> str:
    """Return a text that is not empty and not too long."""
    if not isinstance(value, str) or not 0 < len(value) <= limits.text:
        raise bad(f"{what} must be a text of 1 to {limits.text} characters")
    return value


def key(value: Any, limits: Limits) -> Key:
    """Return a key: a text."""
    if value.__class__ in (int, float):
        raise bad("key must be a text, not a number: send an id that is a number as str(id)")
    if not isinstance(value, str) or not 0 < len(value) <= limits.text:
        raise bad(f"key must be a text of 1 to {limits.text} characters")
    return value


def number(value: Any, what: str) -> float:
    """Return a finite number."""
    kind = value.__class__  # a number of JSON is exactly one of two
    if kind is float or kind is int:
        try:
            found = float(value)
        except OverflowError:
            found = math.inf
        if math.isfinite(found):
            return found
    raise bad(f"{what} must be a finite number")


def boolean(value: Any, what: str) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise bad(f"{what} must be true or false")
    return value


def span(value: Any, what: str) -> str:
    """Return a duration, which is a number of seconds or a text such as P30D, PT10M, 30d or 15min.

    ``{"seconds": 60}``, as durations are shown, is a number of seconds as well. What is returned is
    a text that models take, as it has every digit: a timedelta has whole microseconds.

    >>> span("PT10M", "doc"), span({"seconds": 1e-9}, "doc")
    ('600.0s', '1e-09s')
    """
    if value.__class__ is dict:
        if value.keys() != {"seconds"}:
            raise bad(f'{what}, where it is an object, is such as {{"seconds": 60}}')
        value = number(value["seconds"], f"{what}: seconds")
    if isinstance(value, str):
        found = _ISO.match(value)
        if found is not None and any(found.groups()):
            days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
            total = 86400 * days + 3600 * hours + 60 * minutes + seconds
        else:
            total = _in_words(value, what)
    else:
        total = number(value, what)
    if not 0.0 <= total <= 1e9:
        raise bad(f"{what} must be at least 0, and at most 1e9 seconds, which are 31 years")
    return in_seconds(total)


def in_seconds(length: float) -> str:
    """Return so many seconds as a text that models take as it is, to the last digit."""
    return f"{length!r}s"


def deadline(value: Any) -> str | float:
    """Return a deadline: a duration, or a number of predictions where it says so.

    One with a fraction, or without an end (null), is what models may have that were made in Python,
    and is shown so; so is one in the unit of times that were given there, ``{"units": 30}``.
    """
    unit = unit_of(value)
    if unit == SECONDS:
        return span(value, "deadline")
    if value[unit] is None:
        return math.inf
    count = number(value[unit], f"deadline: {unit}")
    if count < 0:
        raise bad(f"deadline: {unit} must be a number of at least 0")
    return int(count) if count.is_integer() else count


def unit_of(deadline: Any) -> str:
    """Return what a deadline is counted in; whatever does not say so is in seconds.

    >>> unit_of("P30D"), unit_of({"predictions": 100})
    ('seconds', 'predictions')
    """
    if deadline.__class__ is not dict:
        return SECONDS
    for unit in (SECONDS, PREDICTIONS, UNITS):
        if deadline.keys() == {unit}:
            return unit
    raise bad('deadline, where it is an object, is such as {"seconds": 60} or {"predictions": 100}')


def check_whole(deadline: str | float) -> None:
    """Refuse a number of predictions that has a fraction, or is none."""
    if isinstance(deadline, float):
        raise bad("deadline: predictions must be a whole number of at least 0")


def _in_words(value: str, what: str) -> float:
    """Return the seconds of a text such as 30d, as models take it."""
    try:
        return span_of(value[:_LONGEST], what)
    except SpecError:
        raise bad(
            f"{what} must be seconds, or a duration such as 'P30D', 'PT10M', '30d' or '15min'"
        ) from None


def time(value: Any, what: str) -> Moment | None:
    """Return a time: seconds since 1970, or a text as ISO 8601 has it; None for null."""
    if value is None:
        return None
    if isinstance(value, str):
        try:
            return read_time(value if len(value) <= _LONGEST else "", what)
        except ClockError:
            raise bad(
                f"{what} must be seconds since 1970, or a time such as '2026-03-01T12:00:00Z'"
            ) from None
    found_number = number(value, what)
    if abs(found_number) >= _BIG:
        raise bad(f"{what} is too far away")
    return Moment(found_number, NUMBERS)


def row(value: Any, what: str, limits: Limits) -> dict[str, Any] | list[float]:
    """Return features: an object of numbers, texts and nulls, or a list of numbers."""
    if value.__class__ is dict:
        return features(value, what, limits)
    if value.__class__ is list:
        return vector(value, what, limits.features)
    raise bad(f"{what} must be an object of numbers and texts, or a list of numbers")


def features(value: Any, what: str, limits: Limits) -> dict[str, Any]:
    """Return an object of numbers, texts and nulls."""
    if value.__class__ is not dict:
        raise bad(f"{what} must be an object of numbers and texts")
    if len(value) > limits.features:
        raise Refused(
            422, "too_many_features", f"{what}: at most {limits.features} features, {len(value)}"
        )
    longest = limits.text
    for name, each in value.items():
        if len(name) > longest:
            raise bad(f"{what}: names have at most {longest} characters")
        kind = each.__class__
        if kind is str:
            if len(each) > longest:
                raise bad(f"{what}: {name!r} has more than {longest} characters")
        elif kind is float:
            if not _is_finite(each):
                raise bad(f"{what}: {name!r} must be a finite number")
        elif kind is bool or (kind is int and -_BIG < each < _BIG):
            value[name] = float(each)
        elif kind is int:
            value[name] = number(each, f"{what}: {name!r}")
        elif each is not None:
            raise bad(f"{what}: {name!r} must be a number, a text or null")
    found: dict[str, Any] = value
    return found


def vector(value: Any, what: str, longest: int) -> list[float]:
    """Return a list of numbers."""
    if value.__class__ is not list:
        raise bad(f"{what} must be a list of numbers")
    if len(value) > longest:
        raise Refused(422, "too_many_features", f"{what}: at most {longest} numbers")
    return [number(each, what) for each in value]


def actions(value: Any, limits: Limits) -> list[str] | dict[str, Any]:
    """Return actions: a list of names, or an object of names and features."""
    if not isinstance(value, list | dict) or not value:
        raise bad("actions must be a list of names, or an object of names and features")
    if len(value) > limits.actions:
        raise Refused(422, "too_many_actions", f"there may be {limits.actions} actions")
    for name in value:
        text(name, "the name of an action", limits)
    if isinstance(value, list):
        if len(set(value)) < len(value):
            raise bad("an action is there twice")
        return value
    return {
        name: None if each is None else features(each, f"action {name!r}", limits)
        for name, each in value.items()
    }


def plain(value: Any) -> Any:
    """Return data as JSON can hold it: what is not finite becomes null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


_encode = writing(allow_nan=False)


def encoded(document: Any) -> bytes:
    """Return data as JSON."""
    try:
        return _encode(document).encode()
    except ValueError:
        return _encode(plain(document)).encode()
