"""One model as the server has it: what is stored, and what is known beside it."""

from __future__ import annotations

import json
from array import array
from collections import OrderedDict
from collections.abc import Mapping
from time import time
from typing import Any

from belated.learner.keys import Key, Ticket
from belated.service.calls import ASKING, DUPLICATE, UNKNOWN, Call, Reader, Said
from belated.service.limits import Limits
from belated.service.specs import described
from belated.service.tickets import Signer
from belated.service.watch import ANSWERS, Watch
from belated.service.why import why
from belated.store import StoredModel, events
from belated.store.lines import key_of

_MOST = 20_000  # keys that were answered, of which it is known that they were
_CLOSING = (events.OBSERVE, events.CANCEL)
_TAIL = 100_000  # events of the log that are looked at when the server starts


class Served:
    """A model of the server."""

    def __init__(self, stored: StoredModel, signer: Signer, limits: Limits) -> None:
        self.stored = stored
        self.name, self.kind, self.number = stored.name, stored.kind, stored.number
        self.reader = Reader(self.kind, self.number, signer, limits, _unit(stored))
        self.watch = Watch()
        self.rewards = "earliest"
        """Which reward of an event counts: the earliest, or the sum of all."""
        self._closed: OrderedDict[Key, None] = OrderedDict()

    @property
    def state(self) -> Any:
        """The model itself, for numbers that may be a moment old."""
        return self.stored.state

    @property
    def open(self) -> int:
        """Tickets that wait, without waiting for a commit."""
        return int(_holder(self.stored).open)

    @property
    def rounds(self) -> int:
        """Predictions or choices, without waiting for a commit."""
        return int(_holder(self.stored).rounds)

    def products(self, named: dict[str, Any]) -> int:
        """Return how many products of features a choice takes."""
        settings = self.state._settings
        actions = settings.actions if named.get("actions") is None else named["actions"]
        features = actions.values() if isinstance(actions, Mapping) else ()
        over = len(actions or ()) + sum(len(each) for each in features if each)
        context, crossing = named.get("context") or {}, settings.crossing
        met = 0 if crossing == "none" else len(context)
        return over * (1 + met if isinstance(crossing, str) else 1 + min(met, len(crossing)))

    # --- Events ---------------------------------------------------------------------------------

    def watched(self, event: Any, answer: Any, now: float) -> None:
        """Watch an event that was applied."""
        if event[0] == events.PREDICT:
            self.watch.ask(answer[0], now)
        else:
            self.watch.hear(event, answer is not False, now)

    def said(self, call: Call, answer: Any) -> Said:
        """Return what came of a call.

        Of a key that nothing is open under, it is known for a while that it was answered.
        """
        said, (verb, named) = self.reader.said(answer), call
        key: Key | None = named.get("key" if verb in ASKING else "ticket")
        if key is None or key.__class__ is Ticket:
            return said
        if said.body["outcome"] == UNKNOWN and key in self._closed:
            message = "this key was answered or cancelled before; nothing has changed"
            error = {"code": "already_answered", "message": message}
            return Said(409, {"outcome": DUPLICATE, "error": error})
        if said.status == 200:
            if verb in ("observe", "cancel"):
                self._close(key)
            elif verb in ASKING:  # it stands for a new ticket
                self._closed.pop(key, None)
        return said

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

    def report(self) -> dict[str, Any]:
        """Return the report of the model; waits for commits."""
        found: dict[str, Any] = self.stored.report().to_dict()  # type: ignore[attr-defined]
        return found

    def measure(self, report: dict[str, Any]) -> tuple[str, float | None, int]:
        """Return what is drawn over time: its name, the mean so far, and over how many."""
        if self.kind == "Chooser":
            return "mean reward", report["mean_reward"], report["rounds"]
        if self.kind == "Intervals":
            return "coverage", report["coverage"], report["observed"]
        if self.kind == "Knobs":
            what = "cost" if report["goal"] == "min" else "value"
            return f"expected {what} at the best", report["expected"], report["observed"]
        if self.kind == "Learner":
            return "regret at most, a round", _a_round(report), report["rounds"]
        return f"mean {report['loss']} loss", report["mean_loss"], report["observed"]

    def sample(self) -> None:
        """Add a point to the curves."""
        report = self.report()
        _, mean, count = self.measure(report)
        self.watch.sample(report["open"], mean, count, time())

    def shown(self) -> dict[str, Any]:
        """Return what the dashboard shows; waits for commits."""
        report, now = self.report(), time()
        name, mean, count = self.measure(report)
        self.watch.sample(report["open"], mean, count, now)
        return {
            **self.watch.about(now),
            "name": self.name,
            "kind": self.kind,
            "measure": name,
            "report": report,
            "why": why(self.watch, report, now),
        }

    # --- Notes ----------------------------------------------------------------------------------

    @property
    def note_name(self) -> str:
        """Where the curves are kept."""
        return f"service:watch:{self.number}"

    def kept(self) -> bytes:
        """Return what is kept beside the model."""
        about = {"rewards": self.rewards, "watch": json.loads(self.watch.kept())}
        return json.dumps(about).encode()

    def restore(self, note: bytes) -> None:
        """Go on from what was kept."""
        about = json.loads(note)
        self.rewards = about["rewards"]
        self.watch.restore(json.dumps(about["watch"]).encode())

    def read_tail(self) -> None:
        """Find in the log when the newest tickets were asked for and answered, by which keys."""
        times = array("d")
        heard: list[tuple[events.Event, float]] = []
        rounds, tail = self.stored.tail(_TAIL)
        are_told = True
        for event, written in tail:
            self._note_key(event)
            if event[0] == events.PREDICT:
                times.append(written)
            elif event[0] == events.PREDICT_MANY:
                are_told = False  # whose tickets cannot be told from here
            elif event[0] in ANSWERS:
                heard.append((event, written))
        if are_told:
            self.watch.remember(rounds - len(times), times, heard)

    def _note_key(self, event: events.Event) -> None:
        """Note what an event of the log says of a key: that it is closed, or open again."""
        key = key_of(self.kind, event)
        if key is None:
            return
        if event[0] == events.PREDICT:
            self._closed.pop(key, None)
        elif event[0] in _CLOSING:
            self._close(key)

    def _close(self, key: Key) -> None:
        self._closed[key] = None
        if len(self._closed) > _MOST:
            self._closed.popitem(last=False)


def _holder(stored: StoredModel) -> Any:
    """Return what has the tickets and the keys of a model."""
    return stored.state.model if stored.kind == "Intervals" else stored.state


def _unit(stored: StoredModel) -> str | None:
    """Return what deadlines of single tickets are in; None where there are none."""
    if stored.kind not in ("LinearModel", "Chooser"):
        return None
    settings = (stored.state.model if stored.kind == "Chooser" else stored.state).settings
    if settings.deadline is None:
        return None
    return "seconds" if settings.needs_times else "predictions"


def _a_round(report: Mapping[str, Any]) -> float | None:
    """Return the regret that a learner's certificate allows, a round; None without one."""
    certificate = report["certificate"]
    if certificate is None or not report["rounds"]:
        return None
    return float(certificate["total"] / report["rounds"])
