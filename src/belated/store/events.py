"""Events as they stand in the log.

An event is a JSON array, ``[code, *arguments]``, without the nulls at its end. The table of methods
(``belated.models.methods``) has the codes and the order of arguments. Numbers are written so that
they read back the same, bit for bit, and vectors are Base64 of little-endian words. A ticket is a
number, or ``[number, key]`` where it was given by its key. A prediction that another process gave
from a copy of the model ends with the value shown and the version of the copy, which is the number
of events that the copy had seen; both are for readers of the log, and change no model.

A row of the log is what one commit wrote of one model: a byte that is the version of all this, four
bytes of CRC-32 over whose it is, where it stands, how many events it has, when it was written, and
the text; and the text, which is its events with commas between them. A snapshot has such a head as
well. Logs of other versions are refused (``StoreDamaged``). Nothing in a log can run anything when
it is read.
"""

from __future__ import annotations

import binascii
import json
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from belated.arrays import Floats, Ints
from belated.errors import BadFeatures, SnapshotError, StoreDamaged
from belated.keys import Key
from belated.models.clock import span_of
from belated.models.methods import METHODS
from belated.models.moments import time_of
from belated.scalars import plain
from belated.store.database import Row, Saved

PREDICT, OBSERVE, REVISE, ADD, CANCEL, TICK, SHOWN, MODE, PLAYED, PAUSE, REVERT, RESUME = range(12)
"""The codes of the table of methods."""
ERASED = 12
"""What stands in place of an answer that was erased."""
Event = list[Any]
ANSWERS = (OBSERVE, REVISE, ADD)
ANSWERING = (*ANSWERS, CANCEL, SHOWN, PLAYED)
"""What is said of one ticket."""
TIMED = frozenset(line.code for line in METHODS if "at" in line.arguments)
NAMES = {
    line.code: line.name for line in METHODS if line.code is not None and line.name != "choose"
} | {ERASED: "erased"}
"""What events are called; what a chooser predicts is a choice."""

LoggedTime = float | str
"""A time in the log: a number, or a date as ISO 8601 text where its kind is news to the model."""

_VERSION = 4
_READABLE = (3, 4)  # 4 added what is erased, and the links of notes
_HEAD = struct.Struct("<BI")
_PLACE = struct.Struct("<qqqd")
_PLAIN = frozenset({float, int, str, bool, type(None)})
_TEXT = frozenset({str})
_as_tuple = tuple.__new__  # a named tuple made from a tuple takes half the time


def writing(allow_nan: bool) -> Callable[[Any], str]:
    """Return what writes JSON."""
    return json.JSONEncoder(separators=(",", ":"), check_circular=False, allow_nan=allow_nan).encode


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
    if version not in _READABLE:
        raise StoreDamaged(
            f"the log is of version {version}, this version of belated reads {_READABLE[0]} to "
            f"{_READABLE[-1]}: open it with the version of belated that wrote it"
        )
    body = bytes(sealed[_HEAD.size :])
    return body if zlib.crc32(body, seed) == check else None


def decoded(bodies: Iterable[bytes]) -> list[Event]:
    """Return the events of rows, in order."""
    try:
        return cast("list[Event]", json.loads(b"[" + b",".join(bodies) + b"]"))
    except (RecursionError, ValueError) as error:
        raise StoreDamaged(f"the log cannot be read ({error})") from error


def erased(event: Event) -> Event:
    """Return what stands in place of a prediction: a ticket, its time, and what was played.

    >>> erased([PREDICT, {"x": 1.0}, "visit-81", 12.0])
    [0, {}, None, 12.0, None, None, None, None, None, None, None, True]
    """
    _, row, _, at, _, played, menu, *_ = padded(event, 12)
    names = dict.fromkeys(menu) if isinstance(menu, dict) else menu
    if isinstance(row, list):
        row = ["", ""]
    elif row is not None:
        row = {} if isinstance(row, dict) else floats_out(np.zeros_like(floats_in(row)))
    return [PREDICT, row, None, at, None, played, names, *[None] * 4, True]


def is_erased(event: Event) -> bool:
    """Tell whether an event stands in place of another."""
    return event[0] == ERASED or (event[0] == PREDICT and len(event) > 11)


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
    found: dict[str, Any] = {}
    for name, value in features.items():
        if not isinstance(name, str):
            raise BadFeatures(f"features: names must be strings, got {name!r}; nothing has changed")
        found[str(name)] = _plain(name, value)
    return found


def _plain(name: str, value: Any) -> float | str | None:
    try:
        return plain(value)
    except (TypeError, OverflowError) as error:
        why = f"is too large, got {value!r}" if isinstance(error, OverflowError) else error
        raise BadFeatures(f"features: {name!r} {why}; nothing has changed") from None


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


# --- Places ---------------------------------------------------------------------------------------


def key_of(event: Event) -> Key | None:
    """Return the key of a prediction or answer; None where it has none.

    >>> key_of([PREDICT, {"x": 1.0}, "visit-81"]), key_of([OBSERVE, [3, "visit-81"], 1.0])
    ('visit-81', 'visit-81')
    """
    if event[0] == PREDICT:
        return event[2] if len(event) > 2 else None
    ticket = event[1] if len(event) > 1 else None
    return ticket[1] if isinstance(ticket, list) and event[0] in ANSWERING else None


def ticket_of(event: Event) -> int:
    """Return the number of the ticket that an answer is for."""
    ticket = event[1]
    if isinstance(ticket, list):
        ticket, _ = ticket
    return ticket  # type: ignore[no-any-return]


def at_of(event: Event) -> LoggedTime | None:
    """Return the time that an event was given, or None."""
    place = 1 if event[0] == TICK else 3
    return event[place] if place < len(event) and event[0] in TIMED else None


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
