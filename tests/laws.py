"""The laws of all models that hand out tickets, and what they are checked against.

``laws()`` returns every law of a model in memory: a function of a kind (``kinds.py``) that raises
if the kind breaks it. ``test_conformance.py`` asks them of all kinds, and asks stores and clients
to be as good as memory.
"""

from __future__ import annotations

import _testcapi  # type: ignore[import-not-found]
import copy
import errno
import json
import os
import pickle
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import count
from operator import methodcaller
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import belated as bl
from belated.errors import (
    AlreadyObserved,
    BadFeatures,
    BadFeedback,
    BadKey,
    BelatedError,
    BusyError,
    ClockError,
    SnapshotError,
    UnknownTicket,
)
from conftest import shortened
from interrupts import Interrupts
from kinds import WRONG_KEYS, WRONG_NAMES, Event, Kind, act, life, outcome

Law = Callable[[Kind], None]
_LAWS: list[Law] = []


def laws() -> list[Law]:
    """Return all laws of models in memory."""
    return list(_LAWS)


def law(check: Law) -> Law:
    _LAWS.append(check)
    return check


# --- Tickets --------------------------------------------------------------------------------------


class Book:
    """Tickets and their keys, kept by hand."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.rounds = 0
        self.open: set[int] = set()
        self.expired: set[int] = set()
        """Those that closed by themselves: their answer may still be told, once."""
        self.keys: dict[str, int] = {}

    def ticket(self, name: Any) -> int | None:
        """Return the ticket that a name stands for, if any does."""
        if isinstance(name, str):
            return self.keys.get(name)
        is_number = isinstance(name, int | np.integer) and not isinstance(name, bool)
        return int(name) if is_number and 0 <= name < self.rounds else None

    def refusals(self, event: Event) -> tuple[type[Exception] | None, ...]:
        """Return how the event may be refused; None where it may also be accepted."""
        may_be_closed = (None,) if self.kind.expires else ()
        if event.verb == "tick":
            return (None,)
        if event.verb == "ask":
            if event.name is not None and not isinstance(event.name, str):
                return (BadKey,)
            if event.wrong is not ...:
                return (BadFeatures,)
            is_open = self.keys.get(str(event.name), -1) in self.open
            return (BadKey, *may_be_closed) if is_open else (None,)
        ticket = self.ticket(event.name)
        wrong = (BadFeedback,) * (event.wrong is not ... or event.verb in ("revise", "add"))
        if ticket is None:
            return (UnknownTicket, *wrong)
        if ticket not in self.open:
            may_be_told = (None,) * (ticket in self.expired)
            return (AlreadyObserved, UnknownTicket, *wrong, *may_be_told)
        closed = (AlreadyObserved, UnknownTicket) * self.kind.expires
        return (*wrong, *closed, *(None,) * (event.wrong is ...))

    def write(self, event: Event, found: Any) -> None:
        """Write down what has happened."""
        if event.verb == "ask":
            assert found[0] == self.rounds
            if event.name is not None:
                self.keys[str(event.name)] = self.rounds
            self.open.add(self.rounds)
            self.rounds += 1
        elif event.verb != "tick":
            assert found in ((None,) if event.verb == "cancel" else (True, False))
            ticket = self.ticket(event.name) or 0
            assert found is not True or ticket in self.open
            assert found is not False or self.kind.expires
            if event.verb in ("observe", "cancel"):
                self.open.discard(ticket)
                self.expired.discard(ticket)
                if isinstance(event.name, str):
                    del self.keys[event.name]

    def check(self, model: Any) -> None:
        """Demand that a model says the same."""
        assert model.rounds == self.rounds
        names = [*range(max(0, self.rounds - 20), self.rounds), *list(self.keys)[-20:]]
        for name in names:
            ticket, is_open = self.ticket(name), model.is_open(name)
            if self.kind.expires:
                assert not is_open or ticket in self.open
                if not is_open and ticket in self.open:
                    self.open.remove(ticket)
                    self.expired.add(ticket)
            else:
                assert is_open == (ticket in self.open), name
            if is_open:
                assert model.ticket(name) == ticket
        assert model.open <= min(len(self.open), self.kind.max_open or self.rounds)
        assert self.kind.expires or model.open == len(self.open)


@law
def tickets_and_keys_are_those_of_a_book(kind: Kind) -> None:
    """Any life says of its tickets what a dict says, and what is refused changes nothing."""
    for seed in range(shortened(12)):
        model, book = kind.make(), Book(kind)
        for event in life(kind, 60, seed):
            before, refusals = model.snapshot(), book.refusals(event)
            with suppress(*(each for each in refusals if each)):
                found = act(kind, model, event)
                assert None in refusals or found is False, event
                book.write(event, found)
                book.check(model)
                continue
            assert model.snapshot() == before, event


@law
def what_is_no_name_is_refused_by_all_methods(kind: Kind) -> None:
    model = lived(kind)
    before = model.snapshot()
    for name in WRONG_NAMES:
        for verb in ("observe", "revise", "add", "cancel", "ticket", "is_open", "shown", "choice"):
            if not kind.has(verb):
                continue
            given = (kind.answer(0),) if verb in ("observe", "revise", "add") else ()
            if verb in ("is_open", "ticket") and (name == "never" or _is_number(name)):
                with suppress(UnknownTicket):  # no ticket has more than 64 bits
                    assert verb == "ticket" or not model.is_open(name)
                continue
            refusals = (UnknownTicket, BadFeedback)[: 2 if verb in ("revise", "add") else 1]
            with pytest.raises(refusals):
                getattr(model, verb)(name, *given)
    for key in WRONG_KEYS:
        with pytest.raises(BadKey, match=r"a key is a string, got .* use str\(id\)"):
            kind.predict(model, 0, key=key, **now(kind))
    assert model.snapshot() == before


def _is_number(name: Any) -> bool:
    return isinstance(name, int | np.integer) and not isinstance(name, bool)


@law
def answers_of_no_kind_are_refused_by_all_methods(kind: Kind) -> None:
    model = lived(kind)
    before = model.snapshot()
    for verb in ("observe", "revise", "add"):
        for answer in kind.wrong_answers if kind.has(verb) else ():
            with pytest.raises(BadFeedback):
                getattr(model, verb)("newest", answer, **now(kind))
            assert model.snapshot() == before, (verb, answer)
    for row in kind.wrong_rows if kind.rows else ():
        for verb in (kind.asks, "peek"):
            if hasattr(model, verb):
                with pytest.raises(BadFeatures):
                    getattr(model, verb)(row)
            assert model.snapshot() == before, (verb, row)
    if kind.is_timed:
        for at in ("soon", object(), np.inf, -np.inf, 1j):
            for call in (
                partial(kind.predict, model, 0, at=at),
                partial(model.observe, "newest", kind.answer(0), at=at),
                partial(model.tick, at),
            ):
                with pytest.raises(ClockError):
                    call()
        assert model.snapshot() == before


@law
def keys_and_tickets_of_numpy_are_those_of_python(kind: Kind) -> None:
    one, other = kind.make(), kind.make()
    for model, key, ticket in ((one, "a", 1), (other, np.str_("a"), np.int64(1))):
        for new in (key, None, "b"):
            kind.predict(model, 0, key=new, **now(kind))
        assert model.is_open(key) == model.is_open(0)
        assert model.is_open(ticket) == model.is_open(1)
        assert kind.expires or (model.is_open(key) and model.is_open(ticket))
        model.observe(key, kind.answer(0), **now(kind))
        model.cancel(ticket)
        for name in ("a", np.str_("a"), 1, np.uint8(1)):
            assert not model.is_open(name)
    assert one.snapshot() == other.snapshot()


@law
def keys_have_no_effect_on_what_is_learned(kind: Kind) -> None:
    named, bare = kind.make(), kind.make()
    for turn in range(20):
        more = now(kind, turn / 4)
        said = kind.predict(named, turn, key=f"k{turn}", **more)
        assert repr(said) == repr(kind.predict(bare, turn, **more))
        if turn % 3 == 2:
            answer = kind.answer(turn)
            assert named.observe(f"k{turn - 2}", answer, **more) == bare.observe(
                turn - 2, answer, **more
            )
    assert kind.looks(named) == kind.looks(bare)


@law
def tickets_are_open_until_they_are_due(kind: Kind) -> None:
    """A deadline closes tickets, by the clock or by predictions; late answers count only once."""
    if not kind.is_timed and kind.lasts is None:
        return
    model = kind.make()
    for key in "abc":
        kind.predict(model, 0, key=key, **now(kind, 0.0))
    for turn in range((kind.lasts or 0) - 3):
        kind.predict(model, turn)
    if kind.is_timed:
        model.tick(4.75)
    assert model.is_open("a")
    assert model.observe("a", kind.answer(0), **now(kind, 4.75))
    for turn in range((kind.lasts or 0) + 1):
        kind.predict(model, turn)
    if kind.is_timed:
        model.tick(5.25)
        model.tick(1.0)  # the clock never goes back
    assert model.is_open("b") == kind.learns_late
    assert model.observe("b", kind.answer(0), **now(kind, 5.5)) == kind.learns_late
    with pytest.raises((AlreadyObserved, UnknownTicket)):
        model.observe("b", kind.answer(0), **now(kind, 5.5))
    model.cancel("c")
    with pytest.raises((AlreadyObserved, UnknownTicket)):
        model.observe("c", kind.answer(0), **now(kind, 5.5))


# --- Lives that are the same ----------------------------------------------------------------------


def lived(kind: Kind, length: int = 40, seed: int = 1) -> Any:
    """Return a model that has lived, and whose newest ticket is open under the key newest."""
    model = kind.make()
    for event in life(kind, length, seed):
        outcome(kind, model, event)
    kind.predict(model, 0, key="newest", **now(kind))
    return model


def now(kind: Kind, at: float = 1000.0) -> dict[str, float]:
    """Return the time of an event, if it has one."""
    return {"at": at} if kind.is_timed else {}


def _saved(model: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save(path, secret=b"secret")
        return of_any_kind(model).load(path, secret=b"secret")


def of_any_kind(model: Any) -> Any:
    """Return what restores models without being told their kind, where they are of belated."""
    return type(model) if type(model).__module__.startswith("belated.research") else bl


DUPLICATES: dict[str, Callable[[Any], Any]] = {
    "restore": lambda model: type(model).restore(model.snapshot()),
    "any": lambda model: of_any_kind(model).restore(model.snapshot()),
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "save": _saved,
}


@law
def a_duplicate_goes_on_as_the_model_does(kind: Kind) -> None:
    """After every event the life goes on with a duplicate, and the original stays as it was."""
    for seed, duplicate in enumerate(DUPLICATES.values()):
        model, twin = kind.make(), kind.make()
        for event in life(kind, shortened(160), seed):
            older, blob = twin, twin.snapshot()
            twin = duplicate(twin)
            assert outcome(kind, model, event) == outcome(kind, twin, event)
            assert older.snapshot() == blob
            assert model.snapshot() == twin.snapshot()
        assert kind.looks(model) == kind.looks(twin)


@law
def looks_change_nothing(kind: Kind) -> None:
    """A model that is looked at after every event says the same as one that is not."""
    model, twin = kind.make(), kind.make()
    for event in life(kind, shortened(160), 3):
        assert outcome(kind, model, event) == outcome(kind, twin, event)
        assert kind.looks(twin) == kind.looks(twin)
    assert model.snapshot() == twin.snapshot()


@law
def a_peek_is_the_next_prediction(kind: Kind) -> None:
    model = lived(kind)
    if not hasattr(model, "peek"):
        return
    before, seen = model.snapshot(), model.peek(*kind.row(1))
    assert model.snapshot() == before
    said = kind.predict(model, 1, **now(kind))[1:]
    if kind.asks == "choose":
        assert said in [(option.action, option.probability) for option in seen]
    else:
        assert same(list(seen) if isinstance(seen, tuple) else [seen], list(said))


@law
def an_instalment_is_a_revision(kind: Kind) -> None:
    if not kind.has("revise", "add"):
        return
    one, other = lived(kind), lived(kind)
    answers = (kind.answers[1], kind.answers[0])
    for model in (one, other):
        try:
            model.revise("newest", answers[0], **now(kind))
        except BadFeedback:  # the loss cannot take a label back
            return
    assert one.add("newest", answers[1] - answers[0], **now(kind))
    assert other.revise("newest", answers[1], **now(kind))
    assert one.snapshot() == other.snapshot()
    assert one.observe("newest", answers[1], **now(kind))
    with pytest.raises(BelatedError):
        one.add("newest", 1.0, **now(kind))


@law
def the_order_of_answers_between_predictions_has_no_effect(kind: Kind) -> None:
    if kind.order_counts:
        return
    ends, size = set(), 24
    for turns in (range(size), range(size - 1, -1, -1), [*range(1, size, 2), *range(0, size, 2)]):
        model = kind.make()
        for begin in range(0, 3 * size, size):
            for ticket in range(begin, begin + size):
                kind.predict(model, ticket, **now(kind, begin / size))
            for turn in turns:
                model.observe(begin + turn, kind.answer(begin + turn), **now(kind, begin / size))
                if turn == 2:
                    kind.looks(model)
        ends.add(model.snapshot())
    assert len(ends) == 1


@law
def a_fresh_model_has_the_settings_and_no_past(kind: Kind) -> None:
    model = lived(kind)
    if kind.has("fresh"):
        assert any(name.endswith("rounds") for name in model.state())
        assert model.fresh().snapshot() == kind.make().snapshot()
    if hasattr(model, "settings"):
        assert model.settings == kind.make().settings == _saved(model).settings


@law
def reports_are_json_and_count_what_has_happened(kind: Kind) -> None:
    for model in (kind.make(), lived(kind)):
        assert repr(model)
        if not hasattr(model, "report"):
            return
        report = model.report()
        assert report == model.report()
        assert json.loads(report.to_json()) == json.loads(
            json.dumps(report.to_dict(), allow_nan=False)
        )
        assert report.rounds == model.rounds
        assert report.open == model.open or kind.expires
        assert str(report)


# --- Batches and logs -----------------------------------------------------------------------------


@law
def batches_are_single_events(kind: Kind) -> None:
    """A batch gives what its rows give one by one, and is refused as a whole."""
    many, single = kind.make(), kind.make()
    if not kind.has("observe_many"):
        return
    ask_many = getattr(many, f"{kind.asks}_many")
    for begin in range(0, 24, 4):
        rows: Any = [kind.row(begin + turn)[0] for turn in range(4)] if kind.rows else 4
        keys = [f"k{begin}", None, f"k{begin + 2}", None]
        more = now(kind, begin)
        said = ask_many(rows, keys=keys, **more)
        singly = [
            kind.predict(single, begin + turn, key=key, **more) for turn, key in enumerate(keys)
        ]
        for column, parts in zip(said, zip(*singly, strict=True), strict=True):
            assert same(list(column), list(parts))
        if kind.has("peek_many"):
            peeks: list[Any] = [single.peek(*kind.row(begin + turn)) for turn in range(4)]
            columns = many.peek_many(rows)
            if isinstance(columns, tuple):  # arrays of what the fields of the others are
                columns, peeks = columns[0], [each[0] for each in peeks]
            assert same(list(columns), peeks)
        names: list[Any] = [f"k{begin}", begin + 3, begin + 1]
        answers = [kind.answer(begin + turn) for turn in range(3)]
        before = many.snapshot()
        for wrong, told in (
            ([*names, names[0]], [*answers, answers[0]]),
            ([*names, "never"], [*answers, answers[0]]),
            ([*names, True], [*answers, answers[0]]),
            (names, answers[:2]),
            (names, [*answers[:2], kind.wrong_answers[0]]),
            ("k0", answers[:1]),
            (None, answers[:1]),
        ):
            with pytest.raises((AlreadyObserved, UnknownTicket, BadFeedback)):
                many.observe_many(wrong, told, **more)
        for wrong_keys in (["x"] * 4, ["a", "b", "c"], ["a", 1.5, "b", "c"], "abcd", keys, 5):
            if wrong_keys is not keys or not kind.expires:
                with pytest.raises(BadKey):
                    ask_many(rows, keys=wrong_keys, **more)
        for row in kind.wrong_rows if kind.rows else ():
            with pytest.raises(BadFeatures):
                ask_many([*rows, row], **more)
        assert many.snapshot() == before
        used = many.observe_many(names, answers, **more)
        assert used.tolist() == [
            single.observe(name, label, **more) for name, label in zip(names, answers, strict=True)
        ]
        assert many.snapshot() == single.snapshot()


def same(one: list[Any], other: list[Any]) -> bool:
    """Tell whether results are the same to the bit."""
    return all(
        repr(a) == repr(b) if isinstance(a, str | dict) else np.array_equal(a, b)
        for a, b in zip(one, other, strict=True)
    )


@law
def a_log_gives_what_its_events_give(kind: Kind) -> None:
    """A whole log is the same as its events, and is refused as a whole."""
    live, log = kind.make(), kind.make()
    if not kind.has("replay"):
        return
    events, at, rounds = [], [], shortened(120)
    for turn in range(rounds):
        for ticket in [turn] + [turn - late for late in (1, 4) if turn >= 4 and turn % 2]:
            time = now(kind, turn / 4)
            if ticket == turn:
                kind.predict(live, turn, **time)
            elif live.is_open(ticket):
                live.observe(ticket, kind.answer(ticket), **time)
            else:
                continue
            events.append(turn if ticket == turn else ~ticket)
            at.append(turn / 4)
    answers = [kind.answer(turn) for turn in range(rounds)]
    rows = [[kind.row(turn)[0] for turn in range(rounds if kind.rows else 0)], answers]

    def replay(events: list[int]) -> None:
        more = {"at": np.array([*at, *at[-1:] * (len(events) - len(at))])} if kind.is_timed else {}
        log.replay(*([*rows, events] if kind.rows else [events, answers]), **more)

    before = log.snapshot()
    for last in (rounds + 7, ~(rounds + 7), 0, ~-(2**63)):
        with pytest.raises((UnknownTicket, AlreadyObserved)):
            replay([*events, last])
        assert log.snapshot() == before
    replay(events)
    assert log.snapshot() == live.snapshot()


# --- Files ----------------------------------------------------------------------------------------


@law
def files_are_whole_or_as_they_were(kind: Kind) -> None:
    """What cannot be written leaves the old file, and what is no file of this kind is refused."""
    model = lived(kind)
    if not hasattr(model, "save"):
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save(str(path))
        old = path.read_bytes()
        assert old == model.snapshot() == type(model).load(path).snapshot()
        path.chmod(0o640)
        model.observe("newest", kind.answer(0), **now(kind))
        for step in ("fsync", "replace", "open"):
            failure = mock.patch.object(os, step, side_effect=OSError(errno.ENOSPC, "the disk"))
            with failure, pytest.raises(OSError, match="the disk"):
                model.save(path)
            assert path.read_bytes() == old
            assert [file.name for file in Path(folder).iterdir()] == ["model"]
        model.save(path, secret=b"secret")
        assert path.stat().st_mode & 0o777 == 0o640
        for secret in (None, b"other"):
            with pytest.raises(SnapshotError, match="secret"):
                type(model).load(path, secret=secret)
        for length in (0, 1, 40, len(old) // 2, len(old) - 1):
            path.write_bytes(old[:length])
            with pytest.raises(SnapshotError):
                type(model).load(path)
        for place in range(0, len(old), max(1, len(old) // 20)):
            broken = bytearray(old)
            broken[place] ^= 1
            with pytest.raises(SnapshotError):
                type(model).restore(bytes(broken))
        other = bl.Intervals if isinstance(model, bl.Learner) else bl.Learner
        path.write_bytes(old)
        with pytest.raises(SnapshotError, match="not of a"):
            other.load(path)
        path.unlink()
        with pytest.raises(FileNotFoundError):
            type(model).load(path)


@law
def a_lost_ticket_is_not_taken_for_another_one(kind: Kind) -> None:
    """After a restart, the key of a ticket that was lost is unknown, though its number is not."""
    model = lived(kind)
    blob = model.snapshot()
    kind.predict(model, 1, key="lost", **now(kind))
    again = type(model).restore(blob)
    kind.predict(again, 1, key="next", **now(kind))
    with pytest.raises(UnknownTicket, match="'lost'"):
        again.observe("lost", kind.answer(0), **now(kind))
    assert again.observe("next", kind.answer(0), **now(kind)) or kind.expires


@law
def duplicates_keep_what_subclasses_add(kind: Kind) -> None:
    model = kind.make()
    if type(model).__module__.startswith("belated.research"):
        return
    subclass: Any = type(f"My{type(model).__name__}", (type(model),), {"__module__": __name__})
    globals()[subclass.__name__] = subclass  # where pickle looks for it
    mine = subclass.restore(lived(kind).snapshot())
    mine.note = ["kept"]
    for duplicate in (DUPLICATES["deepcopy"], DUPLICATES["copy"], DUPLICATES["pickle"]):
        other: Any = duplicate(mine)
        assert type(other) is subclass
        assert other.note == ["kept"]
        assert other.snapshot() == mine.snapshot()


# --- Calls at the same time -----------------------------------------------------------------------


@law
def a_call_within_a_call_is_refused(kind: Kind) -> None:
    """A row that calls its model is refused, as is the call, and neither changes anything."""
    if not kind.rows or not isinstance(kind.rows[0], dict):
        return
    model, errors = lived(kind), []

    class Row(dict[str, float]):
        def items(self) -> Any:
            for call in (
                lambda: kind.predict(model, 0, **now(kind)),
                lambda: model.observe("newest", kind.answer(0), **now(kind)),
                lambda: model.cancel("newest"),
                model.snapshot,
            ):
                with pytest.raises(BusyError) as caught:
                    call()
                errors.append(caught.value)
            return super().items()

    twin = lived(kind)
    said = getattr(model, kind.asks)(Row(hour=1.0), **now(kind))
    assert repr(said) == repr(getattr(twin, kind.asks)({"hour": 1.0}, **now(kind)))
    assert len(errors) >= 4
    assert model.snapshot() == twin.snapshot()


# --- Events that are interrupted ------------------------------------------------------------------

WIDE = {f"f{number}": float(number) for number in range(60)}
"""A row that has no room in a new model."""


def events_of(kind: Kind) -> dict[str, Callable[[Any], Any]]:
    """Return calls of every method of a kind."""
    model = kind.make()
    calls: dict[str, Callable[[Any], Any]] = {
        "a key": lambda m: kind.predict(m, 1, key="new", **now(kind)),
        "no key": lambda m: kind.predict(m, 2, **now(kind)),
        "observe": lambda m: m.observe("newest", kind.answer(0), **now(kind)),
        "a number": lambda m: m.observe(np.array(m.ticket("newest")), kind.answer(0), **now(kind)),
        "cancel": lambda m: m.cancel("newest"),
        "looks": lambda m: (kind.looks(m), m.snapshot()),
    }
    if kind.is_timed:
        calls["tick"] = lambda m: m.tick(2000.0)
        calls["too late"] = lambda m: m.observe("newest", kind.answer(0), at=2000.0)
    if kind.rows and isinstance(kind.rows[0], dict):
        calls["growing"] = lambda m: getattr(m, kind.asks)(WIDE, key="new", **now(kind))
    for verb in ("revise", "add"):
        if kind.has(verb):
            calls[verb] = methodcaller(verb, "newest", 1.0, **now(kind))
    if kind.has("observe_many"):
        rows = [kind.row(turn)[0] for turn in range(3)] if kind.rows else 3
        many, keys = f"{kind.asks}_many", ["new", None, "newer"]
        calls["many"] = lambda m: getattr(m, many)(rows, keys=keys, **now(kind))
        calls["many answers"] = lambda m: m.observe_many(["newest"], [kind.answer(0)], **now(kind))
    for verb in ("pause", "revert", "resume"):
        if kind.has(verb):
            calls[verb] = methodcaller(verb)
    if hasattr(model, "played"):
        calls["played"] = lambda m: m.played("newest", {"price": 20.0, "size": "s"})
    if hasattr(model, "shown"):
        calls["held"] = lambda m: kind.predict(m, 1, key="new", shown=False, **now(kind))
    return calls


def go_on(kind: Kind, model: Any) -> bytes:
    """Answer what is open, predict and answer again; return what the model is then."""
    for ticket in range(max(0, model.rounds - 12), model.rounds):
        if model.is_open(ticket):
            with suppress(BelatedError):
                model.observe(ticket, kind.answer(ticket), **now(kind, 2000.0))
    for turn in range(3):
        kind.predict(model, turn, key="again", **now(kind, 2001.0))
        model.observe("again", kind.answer(turn), **now(kind, 2001.0))
    return bytes(model.snapshot())


def states_of(kind: Kind) -> list[Callable[[], Any]]:
    """Return makers of models in whose middle an event may come: as they are, and with answers."""
    model = lived(kind, 15)
    for turn in range(3):
        kind.predict(model, turn, key=f"late{turn}", **now(kind))
    blob, restore = model.snapshot(), type(model).restore

    def answered() -> Any:
        made = restore(blob)
        for turn in range(2):
            made.observe(f"late{turn}", kind.answer(turn), **now(kind))
        kind.looks(made)
        return made

    # A choice that is interrupted may have applied the answers before it.
    return [lambda: restore(blob), *[answered] * (kind.asks != "choose")]


def check_interrupted(kind: Kind, error: type[BaseException], step: int) -> None:
    """Demand that what was interrupted is as before or as after, and goes on like that."""
    for make in states_of(kind):
        for name, call in events_of(kind).items():
            ends = {}
            for each in (make(), whole := make()):
                if each is whole:
                    with suppress(BelatedError):
                        call(whole)
                blob = each.snapshot()
                ends[blob] = go_on(kind, each)
            for place in count(0, step):
                model = make()
                with Interrupts(error, place) as interrupts, suppress(error, BelatedError):
                    call(model)
                if not interrupts.raised:
                    break
                blob = model.snapshot()
                if name.startswith("many"):  # which has happened as far as it came
                    assert type(model).restore(blob).snapshot() == blob
                    continue
                assert blob in ends, name
                assert go_on(kind, model) == ends[blob], name


def check_memory(kind: Kind) -> None:
    """Demand that a model that finds no memory for new arrays is as it was."""
    usual, blob = np.zeros, lived(kind, 9).snapshot()
    for name, call in events_of(kind).items():
        for place in range(6):
            model, left = type(kind.make()).restore(blob), [place]

            def no_memory(*given: Any, left: list[int] = left, **named: Any) -> Any:
                left[0] -= 1
                if left[0] == -1:
                    raise MemoryError
                return usual(*given, **named)

            before = model.snapshot()
            try:
                with mock.patch.object(np, "zeros", no_memory):
                    call(model)
            except MemoryError:
                assert model.snapshot() == before, name
            except BelatedError:
                break
            go_on(kind, model)


def check_growth(kind: Kind) -> None:
    """Demand that a model goes on after there was no memory for more tickets."""
    for place in range(12):
        model = kind.make()
        for number in range(200):
            _testcapi.set_nomemory(place, place + 1)
            try:
                kind.predict(model, number, **now(kind))
            except MemoryError:
                pass
            finally:
                _testcapi.remove_mem_hooks()
        go_on(kind, model)
