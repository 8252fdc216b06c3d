"""The methods that models have in common: one table for logs of stores, for HTTP and for clients.

A line says what a method is called, how its event stands in the log, and which tokens may call it.
The model defines the arguments and the result of a method: parameters are those of its
signature, and ``ARGUMENTS`` tells what each of them is. A method is added as a method of a model
and a line here.

An event is ``[code, *arguments]``, and the arguments have the order of the line. The key and the
time of a prediction, and the time of an answer, stand at the same place in all events.
"""

from __future__ import annotations

from inspect import Parameter, Signature, signature
from typing import Any, NamedTuple

_ASKED = (
    *("row", "key", "at", "deadline", "played", "actions", "baseline", "shown"),
    *("value", "version", "erased"),
)
_ANSWERED = ("ticket", "answer", "at", "weight")


class Method(NamedTuple):
    """A line of the table."""

    name: str
    code: int | None
    """The name of its events; None: it changes nothing, or is so many events of another method."""
    arguments: tuple[str, ...] = ()
    """The kinds of its arguments, in the order of the log."""
    scope: str = "read"
    """The right that a token needs to call it over HTTP."""
    about: str = ""
    """Its effect, for the documentation of HTTP."""
    single: str = ""
    """The method that does the same to one: many are so many events of it."""


METHODS = (
    Method("predict", 0, _ASKED, "decide", "Predict, and hand out a ticket for the label."),
    Method(
        "choose", 0, _ASKED, "decide", "Choose an action, and hand out a ticket for the reward."
    ),
    Method("observe", 1, _ANSWERED, "answer", "Bring the answer to a ticket: the last word."),
    Method("revise", 2, _ANSWERED, "answer", "Bring the answer so far; the ticket stays open."),
    Method("add", 3, _ANSWERED, "answer", "Add to the answer so far; the ticket stays open."),
    Method("cancel", 4, _ANSWERED, "answer", "Close a ticket of which nothing will be heard."),
    Method("tick", 5, ("at",), "admin", "Let the clock of a model go on: what is due is closed."),
    Method("shown", 6, _ANSWERED, "answer", "Say that a choice was shown that was held back."),
    Method("mode", 7, ("mode",), "admin"),
    Method("played", 8, ("ticket", "setting"), "answer", "Say which setting was really played."),
    Method("pause", 9, (), "admin", "Let knobs stand where they are; costs are still learned."),
    Method("revert", 10, (), "admin", "Let knobs go back to their start; costs are still learned."),
    Method("resume", 11, (), "admin", "Let knobs learn and explore again."),
    Method("predict_many", None, single="predict"),
    Method("choose_many", None, single="choose"),
    Method("observe_many", None, single="observe"),
    *(Method(name, None) for name in ("peek", "peek_many", "explain", "weights", "report", "page")),
    *(Method(name, None) for name in ("best", "expect", "choice", "ticket", "is_open")),
    *(Method(name, None) for name in ("answerable", "snapshot", "state")),
)
ARGUMENTS = {
    **dict.fromkeys(("context", "rows", "contexts"), "row"),
    **dict.fromkeys(("amount", "answers"), "answer"),
    "keys": "key",
    "tickets": "ticket",
    "weights": "weight",
    "actual": "setting",
}
"""The kind of parameters that have a name of their own; others are named after their kind."""


class Bound:
    """A method as one class of models has it."""

    def __init__(self, line: Method, model: type[Any]) -> None:
        self.line, self.name, self.code = line, line.name, line.code
        attribute = getattr(model, line.name)
        self.is_property = isinstance(attribute, property)
        if self.is_property:
            self.signature = Signature([Parameter(line.name, Parameter.POSITIONAL_OR_KEYWORD)])
        else:
            given = list(signature(attribute).parameters.values())[1:]
            if line.name == "tick":  # the clock of the system gives the time where none is given
                given = [each.replace(default=None) for each in given]
            self.signature = Signature(given)
        found = self.signature.parameters
        self.kinds: dict[str, str] = {name: ARGUMENTS.get(name, name) for name in found}
        """The kinds of the parameters."""
        self.taken = {name: kind for name, kind in self.kinds.items() if name not in model.CANNOT}
        """Those that the model can take."""
        self.names = {kind: name for name, kind in self.kinds.items()}
        """The name of the parameter of a kind."""
        self._positional = [
            name for name, each in found.items() if each.kind is not each.KEYWORD_ONLY
        ]
        self._right: set[tuple[Any, ...]] = set()  # numbers of arguments, and names
        self.required = {name for name, each in found.items() if each.default is each.empty}

    def call(self, model: Any, arguments: dict[str, Any]) -> Any:
        """Call the method of a model, or set its property."""
        if self.is_property:
            return setattr(model, self.name, *arguments.values())
        return getattr(model, self.name)(**arguments)

    def bind(self, given: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        """Return arguments by name, in ``named``, or raise the ``TypeError`` of a wrong call."""
        shape = (len(given), *named)
        if shape not in self._right:
            self.signature.bind(*given, **named)
            self._right.add(shape)
        for name, value in zip(self._positional, given, strict=False):
            named[name] = value
        return named
