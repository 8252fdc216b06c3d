"""One model as the server has it: the stored model, and what the server knows beside it."""

from __future__ import annotations

import json
import math
import threading
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from time import time
from typing import Any, NamedTuple

from belated.errors import SpecError
from belated.keys import Key
from belated.service.auth import Signer
from belated.service.closed_keys import ClosedKeys
from belated.service.limits import Limits
from belated.service.model_factory import described, unit_of
from belated.service.refusals import Refused
from belated.service.schemas import SECONDS
from belated.service.watch import ANSWERS, Moment, Watch, explain_stall, told
from belated.store import Pending, StoredModel, events
from belated.store.events import clocked

LONG = 20_000
"""Products of features that take so long that other requests should not wait for them."""
_FEW, _MANY = 8, 100  # calls that others wait for; those of the first kinds may be long ones
_CLOSING = (events.OBSERVE, events.CANCEL)
_SHARED = 1 / 256  # of a product, for a feature before one that shares its coordinate
_OPTIONS = 20  # actions whose probabilities are shown
_TAIL = 100_000  # events of the log that are looked at when the server starts


class Measure(NamedTuple):
    """What is drawn over time: its name, the mean so far, and over how many."""

    name: str
    mean: float | None
    over: int
    baseline: float | None = None
    """What it is to be compared with."""
    beside: str | None = None
    """What that is, in words; None where there is nothing to compare with."""


class ModelState:
    """A model of the server."""

    def __init__(self, stored: StoredModel, signer: Signer, limits: Limits) -> None:
        self.stored, self.signer, self._limits = stored, signer, limits
        self.name, self.kind, self.number = stored.name, stored.kind, stored.number
        self.unit: str | None = stored.read(lambda model: unit_of(stored.kind, model))
        """What deadlines are counted in; None where there are none."""
        self._interactions = _interactions(stored)
        self.watch = Watch()
        self.rewards = "earliest"
        """Which reward of an event counts: the earliest, or the sum of all."""
        self.closed_keys = ClosedKeys(lambda: _known_keys(stored))
        self.committed: deque[tuple[Any, Any, float]] = deque(maxlen=_TAIL)
        """Committed events that are not yet watched, with their answers and times."""
        self._turn = threading.Lock()
        self._asked: events.Event | None = None  # of a chooser, the newest

    @property
    def model(self) -> Any:
        """The model itself, for numbers that may be a moment old."""
        return self.stored.in_memory

    @property
    def open(self) -> int:
        """Tickets that wait, without waiting for a commit."""
        return int(self.model.open)

    @property
    def _deadline(self) -> float:
        """The deadline of the model in seconds; infinite if it has none in seconds.

        A ticket stays open after its deadline until the clock of the model goes on.
        """
        if self.unit != SECONDS:
            return math.inf
        return float(clocked(self.model).settings.deadline or 0.0)

    @property
    def rounds(self) -> int:
        """Predictions or choices, without waiting for a commit."""
        return int(self.model.rounds)

    def products(self, verb: str, named: dict[str, Any]) -> int:
        """Return how many numbers a call computes with, about."""
        if verb == "choose":
            return self._products_of_choice(named)
        if self.kind == "Learner":
            return int(self.model._dim)
        if verb == "predict" and self.kind != "Knobs":
            return len(named["row"]) + self._interactions
        return 1

    def _products_of_choice(self, named: dict[str, Any]) -> int:
        """Return how many products of features a choice takes.

        Features that share a coordinate count more, as each looks at those before it.
        """
        settings = self.model._settings
        actions = settings.actions if named.get("actions") is None else named["actions"]
        context, crossing = named.get("context") or {}, settings.crossing
        if isinstance(crossing, str):
            crossed = 0 if crossing == "none" else len(context)
        else:
            crossed = min(len(crossing), len(context))
        if isinstance(actions, Mapping):
            sizes = Counter(1 + len(features or ()) for features in actions.values())
        else:
            sizes = Counter({1: len(actions or ())})
        coordinates = 1 << self.model.model.settings.bits
        total = 0
        for size, count in sizes.items():
            own = (1 + crossed) * size
            row = len(context) + own
            shared = row + coordinates * math.expm1(-row / coordinates)  # expected
            total += count * (own + int(shared * row * _SHARED))
        return total

    def is_long(self, calls: int, products: int) -> bool:
        """Tell whether so many calls take so long that other requests should not wait for them."""
        return calls > (_FEW if self.kind in ("Chooser", "Knobs") else _MANY) or products > LONG

    def check_products(self, verb: str, named: dict[str, Any], before: int = 0) -> int:
        """Return how many numbers a call computes with, or refuse one that would take long."""
        found = self.products(verb, named)
        limits = self._limits
        is_slow = verb == "choose" and found > limits.choice_products
        if is_slow or before + found > limits.products:
            raise Refused(
                422,
                "too_many_products",
                f"a request may compute with {limits.products} products of features, and a choice "
                f"with {limits.choice_products}; this one needs {before + found}: features "
                "of the context times those of all actions, more with few bits; of other models "
                "features and interactions, or coordinates. Send fewer items, features or actions, "
                "set fewer interactions, or more bits",
            )
        return found

    def ticket(self, signed: str | None, key: Key | None) -> int | Key:
        """Return the ticket or key that an answer is for; exactly one of them is given."""
        if (signed is None) == (key is None):
            raise Refused(422, "bad_request", "give a ticket that was handed out, or a key")
        return key if signed is None else self.signer.number(self.number, signed)  # type: ignore[return-value]

    def note(self, pending: Pending, now: float) -> None:
        """Note committed events, to be watched later."""
        for happened, answer in zip(pending.events, pending.answer, strict=True):
            for event in happened:
                self.committed.append((event, answer, now))

    # --- Looking --------------------------------------------------------------------------------

    def about(self) -> dict[str, Any]:
        """Return what the model is; waits for commits."""
        history = self.stored.history
        modes: dict[str, Any] = {}
        if self.kind in ("Chooser", "Knobs"):
            modes["mode"] = self.stored.read(lambda model: model.mode)
        if self.kind == "Chooser":
            modes["rewards"] = self.rewards
        return {
            "name": self.name,
            "kind": self.kind,
            "rounds": self.stored.rounds,
            "open": self.stored.open,
            "events": history.events,
            **modes,
            "settings": self.stored.read(lambda model: described(self.kind, model)),
        }

    def _watch(self) -> None:
        """Watch the events that were committed since the last look."""
        while self.committed:
            event, answer, now = self.committed.popleft()
            when = told(event, now)
            if event[0] == events.PREDICT:
                self.watch.ask(answer[0], now, when)
                self._asked = event if self.kind == "Chooser" else None
            else:
                self.watch.hear(event, answer is not False, now, when)
        if self.closed_keys.is_crowded and self.stored.try_lock(0):
            try:
                self.closed_keys.tidy()
            finally:
                self.stored.unlock()

    def report(self) -> dict[str, Any]:
        """Return the report of the model; waits for commits."""
        found: dict[str, Any] = self.stored.report().to_dict()  # type: ignore[attr-defined]
        return found

    def measure(self, report: dict[str, Any]) -> Measure:
        """Return what is drawn over time."""
        if self.kind == "Chooser":
            mean, gain = report["mean_reward"], report["gain"]
            is_apprentice = report["mode"] == "apprentice"  # what is played is the baseline
            beside = "its own choices" if is_apprentice else "the baseline"
            if mean is None or gain is None or not report["answered"]:
                return Measure("mean reward", mean, report["rounds"])
            other = mean + gain if is_apprentice else mean - gain
            return Measure("mean reward", mean, report["rounds"], other, f"{beside}, predicted")
        if self.kind == "Intervals":
            counted = report["observed"] - report["unbounded"]
            return Measure("coverage", report["coverage"], counted, report["asked"], "asked for")
        if self.kind == "Knobs":
            what = "cost" if report["goal"] == "min" else "value"
            begin = report["expected_at_start"]
            name = f"expected {what} at the best"
            return Measure(name, report["expected"], report["observed"], begin, "at the start")
        if self.kind == "Learner":
            return Measure("regret at most, a round", _a_round(report), report["rounds"])
        return Measure(f"mean {report['loss']} loss", report["mean_loss"], report["observed"])

    def sample(self) -> bool:
        """Add a point to the curves if something happened, and tell whether it did."""
        with self._turn:
            self._watch()
        if self.watch.is_changed:
            self._sample(self.report(), time())
        return self.watch.is_changed

    def _sample(self, report: dict[str, Any], now: float) -> Measure:
        with self._turn:
            self._watch()
            found = self.measure(report)
            self.watch.sample(report["open"], found.mean, found.over, now, found.baseline)
        return found

    def live(self) -> dict[str, Any]:
        """Return what the dashboard shows; waits for commits."""
        report, now = self.report(), time()
        measure, late = self._sample(report, now), self._late(report)
        recent = self.recent()
        waiting = [at for _, at, _, is_open in recent if is_open and now - at <= self._deadline]
        return {
            **self.watch.about(now),
            "late": late,
            "recent": recent,
            "name": self.name,
            "kind": self.kind,
            "measure": measure.name,
            "baseline": measure.beside,
            "options": self._options(),
            "report": report,
            "why": explain_stall(self.watch, report, waiting, now, late),
        }

    def recent(self) -> list[list[Any]]:
        """Return some of the newest tickets; waits for commits.

        Each is its number, when it was asked for, when first answered or None, and whether it is
        open: those that are neither answered nor open were given up on, settled or cancelled.
        """
        with self._turn:
            self._watch()
        drawn = self.watch.recent()

        def with_state(model: Any) -> list[list[Any]]:
            return [[*each, bool(model.is_open(each[0]))] for each in drawn]

        return self.stored.read(with_state)

    def timeline(self) -> dict[str, Any]:
        """Return the newest tickets with their times, and how old answers were."""
        recent = self.recent()
        about = {**self.watch.about(), "recent": recent}
        wanted = ("now", "clock", "recent", "ages", "asked", "answered")
        return {name: about[name] for name in wanted}

    def _late(self, report: Mapping[str, Any]) -> int:
        """Return how many answers were dropped as they came too late, also before anyone watched.

        Of models that learn from late answers, and of those that do not count them, it is what was
        watched.
        """
        inner = report.get("model") or report
        if self.kind == "Intervals":
            inner = self.stored.read(lambda model: model.model.report().to_dict())
        is_learned = (
            self.kind != "Learner"
            and getattr(clocked(self.model).settings, "late", "drop") == "learn"
        )
        return self.watch.late if is_learned else int(inner.get("late", self.watch.late))

    def _options(self) -> list[dict[str, Any]] | None:
        """Return what a chooser would draw from now, in the context that came last."""
        if self._asked is None:
            return None
        context, menu = self._asked[1], self._asked[6] if len(self._asked) > 6 else None
        if self.products("choose", {"context": context, "actions": menu}) > LONG:
            return None  # it would take longer than a look should
        stored: Any = self.stored
        try:
            options = stored.peek(context, menu)[:_OPTIONS]
        except SpecError:  # of a log that was played with other settings
            return None
        return [option._asdict() for option in options]

    # --- Notes ----------------------------------------------------------------------------------

    @property
    def note_name(self) -> str:
        """Where the curves are kept."""
        return f"service:watch:{self.number}"

    def kept(self) -> bytes:
        """Return what is kept beside the model."""
        return json.dumps({"rewards": self.rewards, "watch": self.watch.kept()}).encode()

    def restore(self, note: bytes) -> None:
        """Go on from what was kept."""
        about = json.loads(note)
        self.rewards = about["rewards"]
        self.watch.restore(about["watch"])

    def read_tail(self) -> None:
        """Find in the log when the newest tickets were asked for and answered, by which keys."""
        asked: list[Moment] = []
        answers: list[tuple[events.Event, Moment]] = []
        keys = self.closed_keys
        rounds, tail = self.stored.tail(_TAIL)
        newest = list(tail)
        ticket = rounds - sum(event[0] == events.PREDICT for event, _ in newest)
        for event, written in newest:
            moment, key = Moment(written, told(event, written)), events.key_of(event)
            if event[0] == events.PREDICT:
                asked.append(moment)
                self._asked = event if self.kind == "Chooser" else None
                if key is not None:
                    keys.open(key, ticket)
                ticket += 1
                continue
            if event[0] in ANSWERS:
                answers.append((event, moment))
            if event[0] in _CLOSING:
                keys.close(events.ticket_of(event) if key is None else key)
        keys.tidy()
        self.watch.remember(rounds - len(asked), asked, answers)


def _known_keys(stored: StoredModel) -> Iterable[tuple[Key, int]]:
    """Return the keys that a model knows, and their tickets."""
    keys = stored.in_memory._keys
    return () if keys is None else keys.items()


def _interactions(stored: StoredModel) -> int:
    """Return how many interactions a row of a linear model may have."""
    if stored.kind not in ("LinearModel", "Intervals"):
        return 0
    return sum(map(len, clocked(stored.in_memory).settings.products))


def _a_round(report: Mapping[str, Any]) -> float | None:
    """Return the regret that a learner's certificate allows, a round; None without one."""
    certificate = report["certificate"]
    if certificate is None or not report["rounds"]:
        return None
    return float(certificate["total"] / report["rounds"])
