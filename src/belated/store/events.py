"""Events as they stand in the log: the one place that defines their format.

An event is a JSON array, ``[code, *arguments]``, without the nulls at its end. The table of methods
(``belated.models.methods``) has the codes and the order of arguments:

    [0, row, key, at, deadline, played, actions, baseline, hidden, value, version, erased]
    [code, ticket, answer, at, weight]      observe, revise, add, cancel, shown
    [5, at], [7, mode], [8, ticket, setting], [9], [10], [11]      tick, mode, played and so on
    [12]      in place of an answer that was erased

Numbers are written so that they read back the same, bit for bit, and vectors are Base64 of
little-endian words. A ticket is a number, or ``[number, key]`` where it was given by its key.
``played`` is the action with its probability, or the setting. ``value`` is what was shown to the
user, and ``version`` the version of the model that gave it: how many events it had seen. Both are
null where the model itself gave the prediction, at the version that is the number of the event;
they are for readers of the log, and change no model. Where ``erased`` is true, the event stands in
place of one that was erased: it hands out a ticket and closes it.

A row of the log is what one commit wrote of one model: a byte that is the version of all this, four
bytes of CRC-32 over whose it is, where it stands, how many events it has, when it was written, and
the text; and the text, which is its events with commas between them. A snapshot has such a head as
well. Rows of version 3 are read too: it lacks what is erased. Logs of other versions are refused
(``StoreDamaged``). Nothing in a log can run anything when it is read.

What a model is given is what will be read from the log, where the two could differ.
"""

from __future__ import annotations

import binascii
import json
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from belated.arrays import Floats, Ints
from belated.core.decisions import Picks
from belated.core.knobs import Proposal
from belated.errors import BadFeatures, SnapshotError, StoreDamaged, StoreError
from belated.frames import row_of
from belated.keys import Key, check_key
from belated.models.chooser import Choice, Chooser
from belated.models.chooser.actions import names_of
from belated.models.clock import span_of
from belated.models.intervals import Intervals
from belated.models.knobs import Knobs
from belated.models.linear.model import LinearModel
from belated.models.methods import METHODS, Bound, Method
from belated.models.moments import time_of
from belated.scalars import plain
from belated.store.database import Row, Saved

PREDICT, OBSERVE, REVISE, ADD, CANCEL, TICK, SHOWN, MODE, PLAYED, PAUSE, REVERT, RESUME = range(12)
"""The codes of the table of methods."""
ERASED = 12
"""The code in the place of an erased answer."""
Event = list[Any]
ANSWERS = (OBSERVE, REVISE, ADD)
ANSWERING = (*ANSWERS, CANCEL, SHOWN, PLAYED)
"""Codes of events of one ticket."""
TIMED = frozenset(line.code for line in METHODS if "at" in line.arguments)
NAMES = {
    line.code: line.name for line in METHODS if line.code is not None and line.name != "choose"
} | {ERASED: "erased"}
"""Names of events; a prediction of a chooser is a choice."""

LoggedTime = float | str
"""A time in the log: a number, or a date as ISO 8601 text where its kind is news to the model."""

_VERSION = 4
_READABLE = (3, 4)
_HEAD = struct.Struct("<BI")
_PLACE = struct.Struct("<qqqd")
_PLAIN = frozenset({float, int, str, bool, type(None)})
_TEXT = frozenset({str})
_dumps = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
_as_tuple = tuple.__new__  # a named tuple made from a tuple takes half the time


def encode_events(*events: Event) -> str:
    for event in events:
        while event[-1] is None:
            event.pop()
    return _dumps(events)[1:-1]


def seal_row(model: int, first: int, written: float, text: str, size: int) -> Row:
    place = model, first, size, written
    return _as_tuple(Row, (*place, _sealed(place, text.encode("ascii"))))


def unseal_row(row: Row) -> bytes:
    body = _opened(row[:4], row.events)
    if body is None:
        raise StoreDamaged("a row of the log is damaged (checksum does not match)")
    return body


def move_row(row: Row, model: int) -> Row:
    """Return a row as one of another model."""
    place = model, *row[1:4]
    return Row(*place, _sealed(place, unseal_row(row)))


def seal_snapshot(model: int, saved: Saved) -> bytes:
    return _sealed((model, saved.length, 0, 0.0), saved.blob)


def unseal_snapshot(saved: Saved) -> bytes:
    """Undo ``seal_snapshot``, or say that this is another one's or damaged."""
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


def decode_events(bodies: Iterable[bytes]) -> list[Event]:
    try:
        return cast("list[Event]", json.loads(b"[" + b",".join(bodies) + b"]"))
    except (RecursionError, ValueError) as error:
        raise StoreDamaged(f"the log cannot be read ({error})") from error


def erase_event(event: Event) -> Event:
    """Return what stands in place of a prediction: a ticket, its time, and what was played.

    >>> erase_event([PREDICT, {"x": 1.0}, "visit-81", 12.0])
    [0, {}, None, 12.0, None, None, None, None, None, None, None, True]
    """
    _, row, _, at, _, played, menu, *_ = padded(event, 12)
    names = dict.fromkeys(menu) if isinstance(menu, dict) else menu
    if isinstance(row, list):
        row = ["", ""]
    elif row is not None:
        row = {} if isinstance(row, dict) else encode_floats(np.zeros_like(decode_floats(row)))
    return [PREDICT, row, None, at, None, played, names, *[None] * 4, True]


def is_erased(event: Event) -> bool:
    """Tell whether an event stands in place of another."""
    return event[0] == ERASED or (event[0] == PREDICT and len(event) > 11)


def padded(event: Event, length: int) -> Event:
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


def read_span(deadline: Any, who: str) -> float | None:
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


def encode_floats(array: NDArray[Any], kind: str = "<f8") -> str:
    """Return floats as text; ``kind`` is "<i8" for whole numbers."""
    return binascii.b2a_base64(np.asarray(array, kind).tobytes(), newline=False).decode()


def decode_floats(text: str) -> Floats:
    return np.frombuffer(binascii.a2b_base64(text), "<f8").astype(np.float64)


def decode_ints(text: str) -> Ints:
    return np.frombuffer(binascii.a2b_base64(text), "<i8").astype(np.int64)


# --- Calls of methods -----------------------------------------------------------------------------

Encode = Callable[[Any, Any, str], tuple[Any, Any]]
"""Takes a model, an argument and what is called; returns what the model is given and what is
logged."""


class Codec(NamedTuple):
    """How a kind of argument is written and read; None: it is logged as it is."""

    before: Encode | None = None
    """Encodes it before the call."""
    after: Callable[[Any], Any] | None = None
    """Encodes it after the call, when the model has checked it."""
    read: Callable[[Any, Any], Any] | None = None
    """Decodes it for a model."""


class LoggedMethod(Bound):
    """A method of a class of models that changes them, and how its events are written and read."""

    def __init__(self, line: Method, model: type[Any]) -> None:
        super().__init__(line, model)
        order = line.arguments
        self.places = {n: order.index(kind) + 1 for n, kind in self.kinds.items() if kind in order}
        """Where arguments stand in an event."""
        has_choices = issubclass(model, Chooser | Knobs) and "played" in order
        self.played = order.index("played") + 1 if has_choices else 0
        """Where an event has what was played; 0 where nothing is."""
        self.blank = [line.code, *[None] * max(self.played, *self.places.values(), 0)]
        """An event without arguments."""
        codecs = {**_CODECS, **_OF_MODELS.get(model.__name__, {})}
        found = [(n, place, codecs.get(self.kinds[n])) for n, place in self.places.items()]
        self.before = [(n, place, codec.before) for n, place, codec in found if codec]
        self.after = [(place, codec.after) for _, place, codec in found if codec and codec.after]
        self._read = {n: codec.read for n, _, codec in found if codec and codec.read}
        self.at = "at" if "at" in self.taken else ""
        self.deadline = "deadline" if "deadline" in self.taken else ""
        self.is_tick = line.name == "tick"
        self.timed = {self.at, self.deadline}

    def arguments_of(self, model: Any, event: Event) -> dict[str, Any]:
        """Return the arguments of an event, by name."""
        if len(event) > len(self.line.arguments) + 1:
            raise ValueError("an event with more arguments than its method has")
        found = {}
        for name, place in self.places.items():
            if place < len(event) and event[place] is not None:
                read = self._read.get(name)
                found[name] = event[place] if read is None else read(model, event[place])
        return found

    def finish(self, event: Event, answer: Any, place: int = 0) -> None:
        """Write down what the model has checked and played; of many, at one ``place``."""
        for where, log in self.after:
            if event[where] is not None:
                event[where] = log(event[where])
        if self.played:
            event[self.played] = find_played(answer, place)

    def apply(self, model: Any, event: Event) -> None:
        """Do again what was done; what is played must be what was played."""
        answer = self.call(model, self.arguments_of(model, event))
        if not self.played:
            return
        before, now = event[self.played], find_played(answer)
        if before != now:
            raise StoreError(
                f"the log has that ticket {answer[0]} was {before!r}, and now it is {now!r}: a "
                "rule (decide) must be the same, and a function of what it is given"
            )


def logged_methods(model: type[Any]) -> dict[str, LoggedMethod]:
    """Return the methods of a class of models that change it, by name."""
    return {
        line.name: LoggedMethod(line, model)
        for line in METHODS
        if hasattr(model, line.name) and line.name not in model.CANNOT
        if line.single or line.code is not None
    }


def clocked(model: Any) -> Any:
    """Return the model that has the clock: itself, or the linear model inside."""
    return getattr(model, "model", model)


def find_played(answer: Any, place: int = 0) -> Any:
    """Return what was played, as it is logged: a setting, or an action with its probability.

    Of many, it is what was played in one ``place``.
    """
    if isinstance(answer, Choice):
        return [answer.action, answer.probability]
    if isinstance(answer, Picks):
        return [answer.actions[place], float(answer.probabilities[place])]
    return answer.setting if isinstance(answer, Proposal) else answer.settings[place]


# --- Rows -----------------------------------------------------------------------------------------


def _row(model: Any, features: Any, who: str) -> tuple[Any, Any]:
    linear = clocked(model)
    columns = linear._settings.columns
    if columns is None and features.__class__ is dict:  # as nearly always
        row = plain_dict(features)
        return row, row
    features = row_of(features, who)
    if isinstance(features, Mapping):
        named = plain_dict(features) if columns is None else cells_out(features)
        return named if columns is None else cells_in(named), named
    indices, values, count = linear._rows.row(features)
    text = encode_floats(values[:count])
    is_sparse = isinstance(features, tuple)
    return features, [encode_floats(indices[:count], "<i8"), text] if is_sparse else text


def decode_row(linear: Any, row: Any) -> Any:
    """Return features from a row of the log."""
    if row.__class__ is dict:
        return row if linear._settings.columns is None else cells_in(row)
    if isinstance(row, list):
        return decode_ints(row[0]), decode_floats(row[1])
    return decode_floats(row)


def list_rows(model: Any, rows: Any, who: str) -> list[Any]:
    """Return many rows one by one."""
    if not isinstance(model, LinearModel | Intervals):
        listed: list[Any] = model._rows_given(who, rows, None, None, None)[0]
        return listed
    if isinstance(rows, Iterable) and not isinstance(rows, tuple | np.ndarray | str):
        return list(rows)
    sparse = clocked(model)._rows.rows(rows, who)
    spans, values = pairwise(sparse.indptr.tolist()), sparse.values
    if isinstance(rows, np.ndarray):
        return [values[i:j] for i, j in spans]
    return [(sparse.indices[i:j], values[i:j]) for i, j in spans]


def _context(model: Any, context: Any, who: str) -> tuple[Any, Any]:
    context = row_of(context, who)
    plain = _named(context)
    return plain, plain


def _named(features: Any) -> Any:
    """Return features by name; what else was given is refused by the model."""
    return plain_dict(features) if isinstance(features, Mapping) else features


def _actions(model: Any, actions: Any, who: str) -> tuple[Any, Any]:
    if actions is None:
        return None, None
    names = names_of(tuple(actions) if isinstance(actions, Mapping) else actions)
    if not isinstance(actions, Mapping):
        return list(names), list(names)
    menu = {name: _named(actions[name] or None) for name in names}
    return menu, menu


# --- Tickets, keys and answers --------------------------------------------------------------------


def _ticket(model: Any, ticket: Any, who: str) -> tuple[Any, Any]:
    number = model.ticket(ticket)
    return ticket, [number, ticket] if isinstance(ticket, str) else number


def _ticket_in(model: Any, ticket: Any) -> Any:
    if not isinstance(ticket, list):
        return ticket
    _, key = ticket
    check_key(key)
    return key


class _Gradients(list[str]):
    """The answer of a user's function, as it is logged."""


def _feedback(model: Any, feedback: Any, who: str) -> tuple[Any, Any]:
    """Encode an answer to a learner; of a function, the gradient that it gives."""
    if not callable(feedback):
        return feedback, feedback
    gradients = _Gradients()

    def recorded(point: Any) -> Any:
        gradient = np.array(feedback(point), dtype=np.float64)
        gradients[:] = [encode_floats(gradient)]
        return gradient

    return recorded, gradients


def _feedback_out(feedback: Any) -> Any:
    if isinstance(feedback, _Gradients):
        return feedback
    array = np.asarray(feedback, dtype=np.float64)
    return float(array.reshape(-1)[0]) if array.size == 1 else encode_floats(array)


def _feedback_in(model: Any, answer: Any) -> Any:
    if isinstance(answer, list):  # of a function; empty where it was not asked
        array = decode_floats(answer[0]) if answer else np.zeros(0)
        return lambda point: array
    return decode_floats(answer) if isinstance(answer, str) else np.array([answer])


def _setting(model: Any, setting: Any, who: str) -> tuple[Any, Any]:
    model.settings.places_of(setting, who)  # refuses what is no setting
    plain = {
        knob: value if type(value) in (str, int, float) else float(value)
        for knob, value in setting.items()
    }
    return plain, plain


_CODECS = {
    "row": Codec(_row, read=lambda model, row: decode_row(clocked(model), row)),
    "actions": Codec(_actions),
    "ticket": Codec(_ticket, read=_ticket_in),
    "setting": Codec(_setting),
    "answer": Codec(after=float),
    "weight": Codec(after=lambda weight: None if weight == 1.0 else float(weight)),
    "shown": Codec(after=lambda shown: None if shown else True, read=lambda _, hidden: not hidden),
    **dict.fromkeys(("key", "baseline", "mode"), Codec()),
}
_OF_MODELS = {
    "Chooser": {"row": Codec(_context)},
    "Knobs": {"row": Codec(_context)},
    "Learner": {"answer": Codec(_feedback, _feedback_out, _feedback_in)},
}


# --- Cells of a log -------------------------------------------------------------------------------

# What JSON has no word for is an object of one name, such as {"datetime": "2026-03-01T12:00:00"}.

_READ_CELLS: dict[str, Callable[[Any], Any]] = {
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "datetime64": np.datetime64,
    "decimal": Decimal,
    "seconds": lambda seconds: timedelta(seconds=seconds),
}


def cells_out(cells: Mapping[str, Any]) -> dict[str, Any]:
    """Return cells for JSON, or say which of them cannot be written down."""
    for name in cells:
        if not isinstance(name, str):
            raise BadFeatures(f"features: names must be strings, got {name!r}; nothing has changed")
    return {str(name): _cell_out(name, value) for name, value in cells.items()}


def cells_in(cells: Mapping[str, Any]) -> dict[str, Any]:
    """Undo ``cells_out``."""
    return {name: _cell_in(value) for name, value in cells.items()}


def _cell_out(name: str, value: Any) -> Any:
    if type(value) in _PLAIN:
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else {"datetime64": str(value)}
    if isinstance(value, np.generic) and not isinstance(value, np.timedelta64):
        return _cell_out(name, value.item())
    if value != value:  # a time that is none
        return None
    if isinstance(value, datetime):
        return {"datetime": value.isoformat()}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    if isinstance(value, timedelta):
        return {"seconds": value.total_seconds()}
    raise BadFeatures(
        f"features: {name!r} cannot be written to a log, got {value!r}; nothing has changed"
    )


def _cell_in(value: Any) -> Any:
    if value.__class__ is not dict:
        return value
    ((kind, said),) = value.items()
    return _READ_CELLS[kind](said)
