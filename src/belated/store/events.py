"""Events as they stand in the log.

An event is a JSON array, ``[verb, ...]``, without the nulls at its end; numbers are written so that
they read back the same, bit for bit. Vectors are Base64 of little-endian words. A row of the log is
what one commit wrote of one model: a byte that is the version of all this, four bytes of CRC-32
over whose it is, where it stands, how many events it has, when it was written, and the text; and
the text, which is its events with commas between them. A snapshot has such a head as well.
Nothing in it can run anything when it is read.
"""

from __future__ import annotations

import binascii
import json
import math
import numbers as abstract
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from belated.arrays import Floats, Ints
from belated.errors import BadFeatures, SnapshotError, StoreDamaged
from belated.keys import Key, check_key
from belated.models.clock import span_of
from belated.models.moments import time_of
from belated.store.database import Row, Saved

PREDICT, OBSERVE, REVISE, ADD, CANCEL, TICK, SHOWN, MODE, PREDICT_MANY, OBSERVE_MANY = range(10)
PLAYED, PAUSE, RESUME, REVERT = range(10, 14)
"""What an event is; a number never changes its meaning."""
NAMES = (
    *("predict", "observe", "revise", "add", "cancel", "tick", "shown", "mode"),
    *("predict_many", "observe_many", "played", "pause", "resume", "revert"),
)

Event = list[Any]

LoggedTime = float | str
"""A time in the log: a number, or a date as ISO 8601 text where its kind is news to the model."""

_VERSION = 2
_HEAD = struct.Struct("<BI")
_PLACE = struct.Struct("<qqqd")
_PLAIN = frozenset({float, int, str, bool, type(None)})
_TEXT = frozenset({str})
_as_tuple = tuple.__new__  # a named tuple made from a tuple takes half the time


def writing(allow_nan: bool) -> Callable[[Any], str]:
    """Return what writes JSON: the encoder of the standard library, made once and not per call."""
    encoder = json.JSONEncoder(separators=(",", ":"), check_circular=False, allow_nan=allow_nan)
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:  # a Python without it
        return encoder.encode
    text = json.encoder.encode_basestring_ascii
    pieces = make(None, encoder.default, text, None, ":", ",", False, False, allow_nan)
    return lambda document: "".join(pieces(document, 0))


_dumps = writing(allow_nan=True)


def encoded(*events: Event) -> str:
    """Return events as text, with commas between them."""
    for event in events:
        while event[-1] is None:
            event.pop()
    return _dumps(events)[1:-1]


def new_row(model: int, first: int, written: float, text: str, size: int) -> Row:
    """Return a row of the log, of so many events."""
    place = model, first, size, written
    return _as_tuple(Row, (*place, _sealed(place, text.encode("ascii"))))


def opened_row(row: Row) -> bytes:
    """Return the text of a row, or say that it is damaged."""
    body = _opened(row[:4], row.events)
    if body is None:
        raise StoreDamaged("a row of the log is damaged (checksum does not match)")
    return body


def moved_row(row: Row, model: int) -> Row:
    """Return a row as one of another model."""
    place = model, *row[1:4]
    return Row(*place, _sealed(place, opened_row(row)))


def sealed_snapshot(model: int, saved: Saved) -> bytes:
    """Return a snapshot as it is stored."""
    return _sealed((model, saved.length, 0, 0.0), saved.blob)


def opened_snapshot(saved: Saved) -> bytes:
    """Undo ``sealed_snapshot``, or say that this is another one's or damaged."""
    body = _opened((saved.model, saved.length, 0, 0.0), saved.blob)
    if body is None:
        raise SnapshotError("it is damaged, or that of another model or event")
    return body


def _sealed(place: tuple[int, int, int, float], body: bytes) -> bytes:
    return _HEAD.pack(_VERSION, zlib.crc32(body, zlib.crc32(_PLACE.pack(*place)))) + body


def _opened(place: tuple[int, int, int, float], sealed: Any) -> bytes | None:
    """Return what was sealed, or None if this is not as it was, or not where it was."""
    try:
        version, check = _HEAD.unpack_from(sealed)
        seed = zlib.crc32(_PLACE.pack(*place))
    except (TypeError, struct.error):
        return None
    if version != _VERSION:
        raise StoreDamaged(
            f"the log is of version {version}, this version of belated reads {_VERSION}"
        )
    body = bytes(sealed[_HEAD.size :])
    return body if zlib.crc32(body, seed) == check else None


def decoded(bodies: Iterable[bytes]) -> list[Event]:
    """Return the events of rows, in order."""
    try:
        return cast("list[Event]", json.loads(b"[" + b",".join(bodies) + b"]"))
    except (RecursionError, ValueError) as error:
        raise StoreDamaged(f"the log cannot be read ({error})") from error


def padded(event: Event, length: int) -> Event:
    """Return an event with the nulls that were left out."""
    return event + [None] * (length - len(event))


# --- What users give ------------------------------------------------------------------------------


def plain_dict(features: Mapping[str, Any]) -> dict[str, Any]:
    """Return features that mean the same before and after they were text."""
    if (
        features.__class__ is dict
        and _PLAIN.issuperset(map(type, features.values()))
        and _TEXT.issuperset(map(type, features))
    ):
        return features
    plain: dict[str, Any] = {}
    for name, value in features.items():
        if not isinstance(name, str):
            raise BadFeatures(f"features: names must be strings, got {name!r}; nothing has changed")
        plain[str(name)] = _plain(name, value)
    return plain


def _plain(name: str, value: Any) -> float | str | None:
    if value is None:
        return None
    if isinstance(value, str):
        return str(value)
    if isinstance(value, abstract.Real | np.bool_):
        try:
            return float(value)
        except OverflowError:
            raise BadFeatures(f"features: {name!r} is too large, got {value!r}") from None
    raise BadFeatures(
        f"features: {name!r} must be a number, a string or None, got {value!r}; nothing has changed"
    )


def span_in(deadline: Any, who: str) -> float | None:
    """Return a duration as it is logged."""
    if deadline is None:
        return None
    return span_of(deadline, f"{who}: deadline must be a duration of at least 0")


def time_in(at: LoggedTime | None) -> float | None:
    """Return a time of the log as a number.

    >>> time_in(86400.5), time_in("1970-01-02T00:00:00.5+00:00"), time_in(None)
    (86400.5, 86400.5, None)
    """
    return time_of(at, "the log") if at.__class__ is str else at  # type: ignore[return-value]


def named(ticket: int, name: Key | None) -> int | Key:
    """Undo ``resolved``: return the key that an event was told, or else its ticket."""
    if name is None:
        return ticket
    check_key(name)
    return name


# --- Vectors --------------------------------------------------------------------------------------


def floats_out(array: NDArray[Any]) -> str:
    """Return floats as text."""
    return _words(array, "<f8")


def ints_out(array: NDArray[Any]) -> str:
    """Return whole numbers as text."""
    return _words(array, "<i8")


def _words(array: NDArray[Any], kind: str) -> str:
    return binascii.b2a_base64(np.asarray(array, kind).tobytes(), newline=False).decode()


def floats_in(text: str) -> Floats:
    """Undo ``floats_out``."""
    return np.frombuffer(binascii.a2b_base64(text), "<f8").astype(np.float64)


def ints_in(text: str) -> Ints:
    """Undo ``ints_out``."""
    return np.frombuffer(binascii.a2b_base64(text), "<i8").astype(np.int64)


def number_out(number: Any) -> float:
    """Return a number that a model took, as it is logged."""
    value = float(number)
    assert not math.isnan(value)  # a model would have refused it
    return value
