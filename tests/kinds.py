"""Every kind of model that hands out tickets: how to make one, and what it is asked and told.

The laws (``laws.py``) hold for all of them, wherever a model is: in memory, in a store, or behind
either client of a server.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import belated as bl
from belated.errors import BelatedError

WRONG_FEEDBACK: tuple[Any, ...] = (
    None,
    math.nan,
    math.inf,
    "1",
    [1.0, 1.0],
    1j,
    np.complex128(1j),
    {},
)
NUMBERS_WANTED: tuple[Any, ...] = (
    math.nan,
    math.inf,
    -math.inf,
    "1.5",
    b"1",
    None,
    1j,
    [[1.0]],
    {},
    10**400,
)
"""What is an answer of no kind."""
WRONG_ROWS = (None, 5, "text", {"a": math.inf}, {"a": b"x"}, {"a": [1.0]}, {1.5: 1.0}, [math.inf])
"""What is a row of no kind."""


@dataclass(frozen=True)
class Kind:
    """How a model is made, and what it is asked and told."""

    name: str
    make: Callable[[], Any]
    answers: Sequence[Any] = (1.0, 0.0, 3.0, 1.0, 2.0)
    rows: Sequence[Any] = ()
    wrong_answers: Sequence[Any] = NUMBERS_WANTED
    wrong_rows: Sequence[Any] = WRONG_ROWS
    served: tuple[str, Mapping[str, Any]] | None = None
    """The kind and the settings that a server makes the same model of."""
    expires: bool = False
    """Whether tickets may close by themselves."""
    is_timed: bool = False
    """Whether every event has a time."""
    learns_late: bool = False
    """Whether a ticket that is due takes answers if silence has one."""
    lasts: int | None = None
    """After how many more predictions a ticket is due."""
    max_open: int | None = None
    order_counts: bool = False
    """Whether the order of answers between two predictions has an effect."""

    def __str__(self) -> str:
        return self.name

    def predict(self, model: Any, number: int, **given: Any) -> Any:
        """Ask for a prediction or a choice."""
        return getattr(model, self.asks)(*self.row(number), **given)

    @property
    def asks(self) -> str:
        """The method that opens a ticket."""
        return "choose" if "chooser" in self.name else "predict"

    def row(self, number: int) -> tuple[Any, ...]:
        """Return the arguments before the key."""
        return (self.rows[number % len(self.rows)],) if self.rows else ()

    def answer(self, number: int) -> Any:
        """Return an answer that is accepted."""
        return self.answers[number % len(self.answers)]

    def has(self, *methods: str) -> bool:
        """Tell whether the model has all of these methods, and supports them."""
        model = self.make()
        refused = getattr(model, "CANNOT", ())
        return all(hasattr(model, method) and method not in refused for method in methods)

    def looks(self, model: Any) -> list[Any]:
        """Ask everything that changes nothing, and return it."""
        found = [model.rounds, model.open]
        if hasattr(model, "peek"):
            found += [repr(model.peek(*self.row(number))) for number in range(3)]
        if self.has("explain") and isinstance(self.rows[0], dict):
            found.append(repr(model.explain(self.rows[0])))
        if hasattr(model, "report"):
            found.append(str(model.report()))
        return found


FIVE = {"predictions": 5}
NAMED_ROWS = ({"hour": 0.5, "shop": "n"}, {"hour": 2.0, "shop": "s", "rain": True}, {"hour": 1.0})
GRADIENTS = ([0.5, -0.25, 1.0], [0.0, 0.0, 0.0], [-1.0, 0.5, 0.25], [0.1, 0.2, 0.3])
WRONG_GRADIENTS: tuple[Any, ...] = (
    *(None, 0.5, [0.5, 0.5], [0.5] * 4, [[0.5] * 3], [0.5, math.nan, 0.5], [math.inf] * 3),
    *(["0.5"] * 3, "abc", [0.5 + 0j] * 3, {}),
)
PROBLEM = bl.Problem(bl.Ball(3), lipschitz=2.0, magnitude=2.0)
PLAIN = bl.FirstOrder(bl.PFTRL(bl.Ball(3), bl.rates.DelayAdaptive(1.0)))


def learner(name: str, spec: Any, answers: Sequence[Any] = GRADIENTS, **more: Any) -> Kind:
    """Return a kind of learner."""
    wrong = {3: WRONG_GRADIENTS, 2: (None, 0.5, [0.5] * 3, [0.5, math.nan], ["1", "1"], "ab")}
    width = len(answers[0]) if isinstance(answers[0], list) else 1
    return Kind(
        f"learner, {name}",
        lambda: bl.Learner(spec),
        answers,
        wrong_answers=wrong.get(width, WRONG_FEEDBACK),
        served=("Learner", {"spec": json.loads(spec.to_json()), "seed": 0}),
        order_counts=True,
        **more,
    )


def linear(name: str = "", answers: Any = None, bits: int = 5, **settings: Any) -> Kind:
    """Return a kind of linear model."""
    given = {"loss": "squared", "bits": bits, **settings}
    loss = given["loss"]
    default = {"logistic": (1.0, 0.0, 0.0), "hinge": (1.0, -1.0), "poisson": (0.0, 3.0, 1.0)}
    wrong: dict[str, tuple[float, ...]] = {"logistic": (0.5, 2.0), "poisson": (-1.0,)}
    limits = settings.keys() & {"deadline", "max_open", "wait"}
    return Kind(
        f"linear, {name or loss}",
        lambda: bl.LinearModel(**given),
        answers or default.get(loss, (1.0, 0.0, 3.0, 1.0, 2.0)),
        NAMED_ROWS,
        (*NUMBERS_WANTED, *wrong.get(loss, ())),
        served=("LinearModel", given),
        expires=bool(limits),
        is_timed="deadline" in settings and not isinstance(settings["deadline"], dict),
        learns_late="late" in settings,
        lasts=5 if settings.get("deadline") == FIVE else None,
        max_open=settings.get("max_open"),
    )


WRONG_CONTEXTS = (5, "text", [1.0], {"a": 1.0})
_CHOOSER: dict[str, Any] = {
    "actions": ["low", "high", "none"],
    "bits": 5,
    "silence": 0.0,
    "seed": 0,
}
_RANGES = {"price": bl.ranges.Log(10, 200), "size": bl.ranges.Categories(["s", "l"])}
_SERVED_RANGES = {
    "price": {"type": "Log", "low": 10, "high": 200},
    "size": {"type": "Categories", "values": ["s", "l"]},
}

KINDS = {
    kind.name: kind
    for kind in (
        learner("gradients", PLAIN),
        learner("portfolio", PROBLEM.learner(skip=True), expires=True),
        learner("value", PROBLEM.learner("value"), (0.5, -0.25, 1.0)),
        learner("two values", PROBLEM.learner("two-values"), ([0.5, -0.5], [1.0, 0.25])),
        learner("deadline", bl.Deadline(PLAIN, 5), expires=True, lasts=5),
        learner("forgetful", bl.Deadline(PLAIN, 5, forget=9), expires=True, lasts=5),
        linear(),
        linear(loss="logistic"),
        linear(loss="absolute"),
        linear(loss="huber", delta=0.5),
        linear(loss="quantile", quantile=0.8),
        linear(loss="hinge"),
        linear(loss="poisson"),
        linear("crossed", interactions=[["hour", "shop"]], l2=0.01, intercept=False),
        linear("pairs", interactions="auto"),
        linear("pairs, silence", loss="logistic", interactions="auto", silence=0.0, l1=0.01),
        linear("silence", loss="logistic", silence=0.0),
        linear("silence of sums", silence=0.0, deadline=FIVE),
        linear("impatient", wait={"predictions": 3}, max_open=4),
        linear("clock", silence=0.0, deadline=5.0, late="learn"),
        linear("dates", deadline="5s"),
        Kind(
            "intervals",
            lambda: bl.Intervals(bl.LinearModel("squared", bits=5), coverage=0.8),
            rows=NAMED_ROWS,
            served=("Intervals", {"bits": 5, "coverage": 0.8}),
        ),
        Kind(
            "intervals, impatient",
            lambda: bl.Intervals(bl.LinearModel("absolute", bits=5, wait={"predictions": 3})),
            rows=NAMED_ROWS,
            served=("Intervals", {"loss": "absolute", "bits": 5, "wait": {"predictions": 3}}),
            expires=True,
        ),
        Kind(
            "chooser",
            lambda: bl.Chooser(**_CHOOSER),
            rows=NAMED_ROWS,
            wrong_rows=WRONG_ROWS[1:],  # there may be no context
            served=("Chooser", _CHOOSER),
        ),
        Kind(
            "chooser, clock",
            lambda: bl.Chooser(**_CHOOSER, deadline=5.0, late="learn", max_open=6),
            rows=NAMED_ROWS,
            wrong_rows=WRONG_ROWS[1:],
            served=("Chooser", {**_CHOOSER, "deadline": 5.0, "late": "learn", "max_open": 6}),
            expires=True,
            is_timed=True,
            learns_late=True,
        ),
        Kind(
            "chooser, pairs",
            lambda: bl.Chooser(**_CHOOSER, interactions="auto"),
            rows=NAMED_ROWS,
            wrong_rows=WRONG_ROWS[1:],
            served=("Chooser", {**_CHOOSER, "interactions": "auto"}),
        ),
        Kind(
            "knobs",
            lambda: bl.Knobs(_RANGES),
            rows=(None,),
            wrong_rows=WRONG_CONTEXTS,
            served=("Knobs", {"knobs": _SERVED_RANGES, "seed": 0}),
        ),
        Kind(
            "knobs, clock",
            lambda: bl.Knobs(_RANGES, holdout=0.2, silence=1.0, deadline=5.0),
            rows=(None,),
            wrong_rows=WRONG_CONTEXTS,
            expires=True,
            is_timed=True,
        ),
    )
}


# --- Events ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Event:
    """Something that is done to a model, right or wrong."""

    verb: str
    name: Any = None
    """The key of a new ticket, or the key or the number of one that there may be."""
    number: int = 0
    """Which row or answer."""
    at: float | None = None
    wrong: Any = ...
    """A row or an answer that is to be refused."""


def life(kind: Kind, length: int = 60, seed: int = 0) -> list[Event]:
    """Return events in an arbitrary order, of which some must be refused.

    Times only grow, and now and then much, so that tickets are due.
    """
    draw = np.random.default_rng(seed)
    verbs = ["ask", "ask", "ask", "ask", "observe", "observe", "observe", "cancel", "misuse"]
    verbs += [verb for verb in ("revise", "add", "tick") if kind.has(verb)]
    if not kind.is_timed and "tick" in verbs:
        verbs.remove("tick")
    events, at, asked = [], 0.0, 0
    for number in range(length):
        at += float(draw.choice([0.0, 0.25, 1.0, 3.0]))
        verb = "ask" if number < 3 else str(draw.choice(verbs))
        newest = max(asked, 1)
        name: Any = max(0, newest - int(draw.integers(1, 12)))
        name = f"k{name}" if draw.random() < 0.6 else name
        wrong: Any = ...
        if verb == "ask":
            name = [f"k{asked}", f"k{asked}", None, f"k{asked - 3}"][int(draw.integers(4))]
            asked += 1
        elif verb == "misuse":
            verb, name, wrong = _misuse(kind, draw, name)
        time = at if kind.is_timed else None
        events.append(Event(verb, name, int(draw.integers(60)), time, wrong))
    return events


def _misuse(kind: Kind, draw: np.random.Generator, name: Any) -> tuple[str, Any, Any]:
    """Return a verb, a name and an argument of which one is wrong."""
    which = int(draw.integers(4))
    if which == 0:
        return "observe", name, kind.wrong_answers[int(draw.integers(len(kind.wrong_answers)))]
    if which == 1 and kind.rows:
        return "ask", None, kind.wrong_rows[int(draw.integers(len(kind.wrong_rows)))]
    if which == 2:
        return "ask", WRONG_KEYS[int(draw.integers(len(WRONG_KEYS)))], ...
    return "observe", WRONG_NAMES[int(draw.integers(len(WRONG_NAMES)))], ...


WRONG_KEYS: tuple[Any, ...] = (7, np.int64(9001), True, 1.5, np.float64(1.0), b"x", ("a",))
"""What is the key of no ticket."""
WRONG_NAMES: tuple[Any, ...] = (
    *(10**6, -1, -2, 2**63, -(2**63) - 1, 10**30, True, np.uint64(2**64 - 1)),
    *(1.0, None, [1], np.float64(1.0), b"1", "never", ("k1",)),
)
"""What is the key or the number of no ticket."""


def act(kind: Kind, model: Any, event: Event) -> Any:
    """Do it, and return what the model says."""
    more = {} if event.at is None else {"at": event.at}
    if event.verb == "ask":
        if event.wrong is not ...:
            return getattr(model, kind.asks)(event.wrong, key=event.name, **more)
        return kind.predict(model, event.number, key=event.name, **more)
    if event.verb == "tick":
        return model.tick(event.at)
    if event.verb == "cancel":
        return model.cancel(event.name)
    answer = kind.answer(event.number) if event.wrong is ... else event.wrong
    return getattr(model, event.verb)(event.name, answer, **more)


def outcome(kind: Kind, model: Any, event: Event) -> Any:
    """Do it, and return what the model says, or that it refuses."""
    try:
        return repr(act(kind, model, event))
    except BelatedError:  # which one depends on how long the keys of closed tickets are known
        return "refused"


class Served:
    """A model behind a client, whose methods wait as those of one in memory."""

    def __init__(self, remote: Any, wait: Callable[[Any], Any]) -> None:
        self.remote, self.wait = remote, wait

    def __getattr__(self, method: str) -> Callable[..., Any]:
        return lambda *given, **named: self.wait(getattr(self.remote, method)(*given, **named))
