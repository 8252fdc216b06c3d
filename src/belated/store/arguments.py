"""Arguments of methods as they are logged, and back: one encoding for every kind of argument.

What a model is given is what will be read from the log, where the two could differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from belated.core.decisions import Picks
from belated.core.knobs import Proposal
from belated.errors import BadFeatures, StoreError
from belated.frames import row_of
from belated.keys import check_key
from belated.models.chooser import Choice, Chooser
from belated.models.chooser.actions import names_of
from belated.models.intervals import Intervals
from belated.models.knobs import Knobs
from belated.models.linear.model import LinearModel
from belated.models.methods import METHODS, Bound, Method
from belated.store.events import Event, floats_in, floats_out, ints_in, ints_out, plain_dict

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
            event[self.played] = played_in(answer, place)

    def apply(self, model: Any, event: Event) -> None:
        """Do again what was done; what is played must be what was played."""
        answer = self.call(model, self.arguments_of(model, event))
        if not self.played:
            return
        before, now = event[self.played], played_in(answer)
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


def played_in(answer: Any, place: int = 0) -> Any:
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
    text = floats_out(values[:count])
    return features, [ints_out(indices[:count]), text] if isinstance(features, tuple) else text


def row_in(linear: Any, row: Any) -> Any:
    """Return features from a row of the log."""
    if row.__class__ is dict:
        return row if linear._settings.columns is None else cells_in(row)
    if isinstance(row, list):
        return ints_in(row[0]), floats_in(row[1])
    return floats_in(row)


def rows_of(model: Any, rows: Any, who: str) -> list[Any]:
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
    plain = None if context is None else _named_features(context, "a context", who)
    return plain, plain


def _named_features(features: Any, what: str, who: str) -> dict[str, Any]:
    if not isinstance(features, Mapping):
        raise BadFeatures(
            f"{who}: {what} is a dict of numbers and strings, got {type(features).__name__}; "
            "nothing has changed"
        )
    return plain_dict(features)


def _actions(model: Any, actions: Any, who: str) -> tuple[Any, Any]:
    """Encode a list of names, or a dict of names and features."""
    if actions is None:
        return None, None
    names = names_of(tuple(actions) if isinstance(actions, Mapping) else actions)
    if not isinstance(actions, Mapping):
        return list(names), list(names)
    menu = {
        name: _named_features(actions[name], f"action {name!r}", who) if actions[name] else None
        for name in names
    }
    return menu, menu


# --- Tickets, keys and answers --------------------------------------------------------------------


def _ticket(model: Any, ticket: Any, who: str) -> tuple[Any, Any]:
    """Encode a ticket as its number, or with a key as both."""
    number = model.ticket(ticket)
    return ticket, [number, ticket] if isinstance(ticket, str) else number


def _ticket_in(model: Any, ticket: Any) -> Any:
    if not isinstance(ticket, list):
        return ticket
    _, key = ticket
    check_key(key)
    return key


class _Gradients(list[str]):
    """What a function has answered, as it is logged."""


def _feedback(model: Any, feedback: Any, who: str) -> tuple[Any, Any]:
    """Encode an answer to a learner; of a function, the gradient that it gives."""
    if not callable(feedback):
        return feedback, feedback
    gradients = _Gradients()

    def recorded(point: Any) -> Any:
        gradient = np.array(feedback(point), dtype=np.float64)
        gradients[:] = [floats_out(gradient)]
        return gradient

    return recorded, gradients


def _feedback_out(feedback: Any) -> Any:
    if isinstance(feedback, _Gradients):
        return feedback
    array = np.asarray(feedback, dtype=np.float64)
    return float(array.reshape(-1)[0]) if array.size == 1 else floats_out(array)


def _feedback_in(model: Any, answer: Any) -> Any:
    if isinstance(answer, list):  # of a function; empty where it was not asked
        array = floats_in(answer[0]) if answer else np.zeros(0)
        return lambda point: array
    return floats_in(answer) if isinstance(answer, str) else np.array([answer])


def _setting(model: Any, setting: Any, who: str) -> tuple[Any, Any]:
    model.settings.places_of(setting, who)  # refuses what is no setting
    plain = {
        knob: value if type(value) in (str, int, float) else float(value)
        for knob, value in setting.items()
    }
    return plain, plain


_CODECS = {
    "row": Codec(_row, read=lambda model, row: row_in(clocked(model), row)),
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

_PLAIN_CELLS = frozenset({float, int, str, bool, type(None)})

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
    if type(value) in _PLAIN_CELLS:
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
