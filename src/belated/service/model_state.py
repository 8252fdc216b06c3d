"""One model as the server has it: the stored model, and what the server knows beside it."""

from __future__ import annotations

import hmac
import json
import math
import threading
from binascii import b2a_base64
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from time import time
from typing import Any, NamedTuple

from belated.errors import SpecError, StoreInUse, UnknownTicket
from belated.keys import Key
from belated.service.model_factory import described, unit_of
from belated.service.requests import Refused
from belated.service.schemas import SECONDS
from belated.service.settings import Limits
from belated.service.watch import Watch, explain_stall, told
from belated.store import Pending, StoredModel, events
from belated.store.events import clocked

LONG = 20_000
"""Products of features that take so long that other requests should not wait for them."""
_FEW, _MANY = 8, 100  # calls that others wait for; those of the first kinds may be long ones
_CLOSING = (events.OBSERVE, events.CANCEL)
_SHARED = 1 / 256  # of a product, for a feature before one that shares its coordinate
_OPTIONS = 20  # actions whose probabilities are shown
_TAIL = 100_000  # events of the log that are looked at when the server starts
_CLOSED = 20_000  # closed keys
_KEYS = 64  # keys of tickets that are kept whether or not the tickets are open
_IN_URLS = bytes.maketrans(b"+/", b"-_")  # Base64 as it may stand in a path


class Signer:
    """Signs the tickets of all models of a store with the key of the store, by keyed BLAKE2b.

    >>> signer = Signer(b"k" * 32)
    >>> ticket = signer.sign(3, 17)
    >>> signer.number(3, ticket)
    17
    """

    def __init__(self, key: bytes) -> None:
        self._keyed = blake2b(digest_size=12, key=key)  # the key is taken in once for all tickets

    def sign(self, model: int, ticket: int) -> str:
        said = self._keyed.copy()
        said.update(b"%d.%d" % (model, ticket))
        text = b2a_base64(said.digest(), newline=False).translate(_IN_URLS)
        return f"{ticket}.{text.decode()}"

    def number(self, model: int, ticket: str) -> int:
        """Return the number of a ticket, or refuse one that this store never gave."""
        number, _, _ = ticket.partition(".")
        is_plain = number.isascii() and number.isdigit() and len(number) < 19
        if not is_plain or not hmac.compare_digest(
            self.sign(model, int(number)).encode(), ticket.encode("utf-8", "surrogatepass")
        ):
            raise UnknownTicket("this ticket was never handed out by this model")
        return int(number)


class ClosedKeys:
    """The keys of a model that were closed last, and the keys of its open tickets.

    The model forgets a key as soon as its ticket is closed, also by an answer to the ticket.

    >>> keys = ClosedKeys(lambda: [])
    >>> keys.open("order-120", 7)
    >>> keys.close(7)
    >>> "order-120" in keys
    True
    >>> keys.open("order-120", 8)
    >>> "order-120" in keys
    False
    """

    def __init__(self, known: Callable[[], Iterable[tuple[Key, int]]]) -> None:
        self._known = known  # returns the keys that the model knows, and their tickets
        self._closed: OrderedDict[Key, None] = OrderedDict()
        self.tidy()

    def __contains__(self, key: object) -> bool:
        return key in self._closed

    def open(self, key: Key, ticket: int) -> None:
        self._closed.pop(key, None)
        self._tickets[key], self._keys[ticket] = ticket, key

    def close(self, which: Key | int) -> None:
        """Note that a key was closed, or the key of a ticket."""
        if isinstance(which, int):
            key = self._keys.pop(which, None)
            if key is None or self._tickets.get(key) != which:
                return
        else:
            key = which
        self._keys.pop(self._tickets.pop(key, -1), None)
        self._closed[key] = None
        if len(self._closed) > _CLOSED:
            self._closed.popitem(last=False)

    @property
    def is_crowded(self) -> bool:
        """Whether many of the tickets may have expired."""
        return len(self._keys) > self._room

    def tidy(self) -> None:
        """Forget the keys of tickets that expired; no other thread uses the model meanwhile."""
        self._tickets = dict(self._known())
        self._keys = {ticket: key for key, ticket in self._tickets.items()}
        self._room = max(_KEYS, 2 * len(self._keys))


class Measure(NamedTuple):
    """A curve of the dashboard: its name, the mean so far, and the count."""

    name: str
    mean: float | None
    over: int
    baseline: float | None = None
    """The baseline value."""
    beside: str | None = None
    """The name of the baseline; None without one."""


class ModelState:
    """A model of the server."""

    def __init__(self, stored: StoredModel, signer: Signer, limits: Limits) -> None:
        self.stored, self._signer, self._limits = stored, signer, limits
        self.name, self.kind, self.number = stored.name, stored.kind, stored.number
        self.unit: str | None = stored.read(lambda model: unit_of(stored.kind, model))
        """The unit of deadlines; None where there are none."""
        is_linear = stored.kind in ("LinearModel", "Intervals")
        pairs = clocked(self.model).settings.products if is_linear else ()
        self._interactions = sum(map(len, pairs))  # that a row may have
        self.watch = Watch()
        self.rewards = "earliest"
        """Which reward of an event counts: the earliest, or the sum of all."""
        self.closed_keys = ClosedKeys(lambda: (stored.in_memory._keys or {}).items())
        self.committed: deque[tuple[Any, Any, float]] = deque(maxlen=_TAIL)
        """Committed events that are not yet watched, with their answers and times."""
        self._most_open = limits.open  # a bound on open tickets, which was not counted yet
        self._turn = threading.Lock()
        self._asked: events.Event | None = None  # of a chooser, the newest

    @property
    def model(self) -> Any:
        """The model itself, for numbers that may be a moment old."""
        found = self.stored.in_memory
        if found is None:  # another server may write it by now, at an address to be looked up
            raise StoreInUse(f"the model {self.name!r} was released", "", self.name)
        return found

    @property
    def open(self) -> int:
        """Tickets that wait, without waiting for a commit."""
        return int(self.model.open)

    def room(self, wanted: int) -> int:
        """Return how many more tickets may be opened, of so many that are wanted.

        Open tickets are counted only where those that may be open leave too little room.
        """
        most = self._limits.open
        if self._most_open + wanted > most:
            self._most_open = self.open
        room = most - self._most_open
        self._most_open += wanted
        return room

    @property
    def rounds(self) -> int:
        """Predictions or choices, without waiting for a commit."""
        return int(self.model.rounds)

    @property
    def _deadline(self) -> float:
        """The deadline of the model in seconds; infinite if it has none in seconds.

        A ticket stays open after its deadline until the clock of the model goes on.
        """
        if self.unit != SECONDS:
            return math.inf
        return float(clocked(self.model).settings.deadline or 0.0)

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
        found, limits = self.products(verb, named), self._limits
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
        return key if signed is None else self._signer.number(self.number, signed)  # type: ignore[return-value]

    def signed(self, ticket: int) -> str:
        return self._signer.sign(self.number, ticket)

    def note(self, pending: Pending, now: float) -> None:
        for happened, answer in zip(pending.events, pending.answer, strict=True):
            for event in happened:
                self.committed.append((event, answer, now))

    # --- Looking --------------------------------------------------------------------------------

    def about(self) -> dict[str, Any]:
        """Return what the model is; waits for commits."""
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
            "events": self.stored.history.events,
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
            name = f"expected {'cost' if report['goal'] == 'min' else 'value'} at the best"
            begin, found = report["expected_at_start"], report["expected"]
            return Measure(name, found, report["observed"], begin, "at the start")
        if self.kind == "Learner":
            sure, rounds = report["certificate"], report["rounds"]
            found = float(sure["total"] / rounds) if sure is not None and rounds else None
            return Measure("regret at most, a round", found, rounds)
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
        measure, late, recent = self._sample(report, now), self._late(report), self.recent()
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
        return self.stored.read(
            lambda model: [[*each, bool(model.is_open(each[0]))] for each in drawn]
        )

    def timeline(self) -> dict[str, Any]:
        """Return the newest tickets with their times, and how old answers were."""
        recent = self.recent()
        about = {**self.watch.about(time()), "recent": recent}
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
        return f"service:watch:{self.number}"

    def kept(self) -> bytes:
        return json.dumps({"rewards": self.rewards, "watch": self.watch.kept()}).encode()

    def restore(self, note: bytes) -> None:
        about = json.loads(note)
        self.rewards = about["rewards"]
        self.watch.restore(about["watch"])

    def read_tail(self) -> None:
        """Find in the log when the newest tickets were asked for and answered, by which keys."""
        keys = self.closed_keys
        rounds, tail = self.stored.tail(_TAIL)
        newest = list(tail)
        ticket = rounds - sum(event[0] == events.PREDICT for event, _ in newest)
        for event, written in newest:
            key = events.key_of(event)
            self.committed.append((event, (ticket,), written))
            if event[0] == events.PREDICT:
                if key is not None:
                    keys.open(key, ticket)
                ticket += 1
            elif event[0] in _CLOSING:
                keys.close(events.ticket_of(event) if key is None else key)
        keys.tidy()
