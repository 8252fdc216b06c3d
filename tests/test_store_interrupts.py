"""Interrupts of the main thread anywhere in a store, while other threads write it.

A signal is handled after a call of C code has returned, or when a function begins. A profiler is
called in the same places, and what it raises is raised there: so every place can be tried in turn.
"""

from __future__ import annotations

import _thread
import faulthandler
import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import belated as bl
from belated.errors import NotCommitted, StoreError, UnknownTicket
from belated.store import writer as of_writer
from belated.store.events import OBSERVE, PREDICT, decoded, opened_row
from belated.store.recovery import recovered

FOLDER = str(Path(of_writer.__file__).parent)
OTHERS = 3
Verb = Callable[[Any, str], Any]


class Interrupts:
    """Raises ``KeyboardInterrupt`` in this thread, at chosen places within a store."""

    def __init__(self, *places: int) -> None:
        self._left = list(places)  # how many places are passed before each
        self.raised = 0

    def __enter__(self) -> Interrupts:
        sys.settrace(self._trace)  # only to look again after an interrupt: that ends a profiler
        sys.setprofile(self._look)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        sys.setprofile(None)

    def _look(self, frame: FrameType, event: str, argument: Any) -> None:
        if event not in ("call", "c_return") or not _is_within(frame):
            return
        if self._left[0] > 0:
            self._left[0] -= 1
            return
        self._left.pop(0)
        self.raised += 1
        raise KeyboardInterrupt

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        if self.raised and self._left and sys.getprofile() is None:
            sys.setprofile(self._look)
        return self._trace


def _is_within(frame: FrameType | None) -> bool:
    """Tell whether a frame is of a store, or was called by one."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(FOLDER):
            return True
        if frame.f_code.co_filename == __file__:
            return False
        frame = frame.f_back
    return False


def one(model: Any, key: str) -> None:
    model.predict({"x": 1.0}, key=key)


def several(model: Any, key: str) -> None:
    model.many([("predict", {"features": {"x": 2.0}, "key": key})])


def begun(model: Any, key: str) -> None:
    model.begin("predict", {"x": 3.0}, key=key).result()


def told(model: Any, key: str) -> None:
    is_told = threading.Event()
    model.begin("predict", {"x": 4.0}, key=key).then(lambda error: is_told.set())
    assert is_told.wait(10.0)


def read(model: Any, key: str) -> None:
    assert model.rounds >= 0


def saved(model: Any, key: str) -> None:
    model.save()


VERBS: dict[str, Verb] = {each.__name__: each for each in (one, several, begun, told, read, saved)}


class Others:
    """Threads that write until they are told to stop, and note what was answered."""

    def __init__(self, model: Any, threads: int) -> None:
        self._model, self._is_over = model, False
        self.answered: list[str] = []
        self.failed: list[str] = []
        self.wrong: list[BaseException] = []
        self._counts = [0] * threads
        self._threads = [threading.Thread(target=self._work, args=(n,)) for n in range(threads)]
        for thread in self._threads:
            thread.start()

    def _work(self, number: int) -> None:
        while not self._is_over:
            key = f"{number}-{self._counts[number]}"
            try:
                self._model.predict({"x": float(number)}, key=key)
                self.answered.append(f"p {key}")
                if self._model.observe(key, 1.0):
                    self.answered.append(f"o {key}")
            except (NotCommitted, UnknownTicket):
                self.failed.append(key)
            except BaseException as error:
                self.wrong.append(error)
                return
            self._counts[number] += 1

    def go_on(self) -> None:
        """Return when each has done something more, or fail."""
        if self.wrong:
            raise self.wrong[0]
        before = list(self._counts)
        for _ in range(2000):
            if all(now > then for now, then in zip(self._counts, before, strict=True)):
                return
            threading.Event().wait(0.005)
        raise AssertionError("somebody waits for ever")

    def stop(self) -> None:
        """Return when all have come to their end."""
        self._is_over = True
        for thread in self._threads:
            thread.join(10.0)
            assert not thread.is_alive()
        if self.wrong:
            raise self.wrong[0]


def check(store: Any, model: Any, answered: list[str], failed: list[str]) -> None:
    """Demand that the log has what was answered, once, and not what failed; and is the state."""
    blob = model.snapshot()
    about = store._known["m"]
    events = [
        event
        for row in store._database.rows(about.number, 0)
        for event in decoded([opened_row(row)])
    ]
    keys = [f"p {event[2]}" for event in events if event[0] == PREDICT]
    keys += [f"o {event[3]}" for event in events if event[0] == OBSERVE]
    assert len(set(keys)) == len(keys)
    assert not set(answered) - set(keys)
    lost = {f"{verb} {key}" for key in failed for verb in "po"} - set(answered)
    assert not lost & set(keys)
    store._database._open().execute("DELETE FROM snapshots")
    assert recovered(store._database, about, None).model.snapshot() == blob


def tried(path: Path, verb: Verb, others: int, places: list[tuple[int, ...]]) -> int:
    """Interrupt a verb at each of some places, and return at how many it was interrupted."""
    hits = 0
    with bl.open(path, snapshot_every=50) as store:
        model = store.model("m", bl.LinearModel("squared", bits=4, wait=None))
        model.predict({"x": 0.0}, key="first")
        company = Others(model, others)
        answered: list[str] = []
        try:
            for number, place in enumerate(places):
                key, interrupts = f"main-{number}", Interrupts(*place)
                try:
                    with interrupts:
                        verb(model, key)
                    if verb not in (read, saved):
                        answered.append(f"p {key}")
                except KeyboardInterrupt:
                    hits += 1
                except StoreError:  # it stands on what was lost
                    pass
                if number % 4 == 0 or interrupts.raised > 1:
                    company.go_on()
                with suppress(NotCommitted):
                    verb(model, f"again-{number}")
        finally:
            company.stop()
        check(store, model, company.answered + answered, company.failed)
    return hits


@pytest.fixture(autouse=True)
def looking_often(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have those who wait look more often whether anyone leads; who waits for ever is shown."""
    monkeypatch.setattr(of_writer, "_LOOK", 0.01)
    faulthandler.dump_traceback_later(200.0, exit=True, file=2)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("others", [0, OTHERS])
def test_interrupts_here_and_there(tmp_path: Path, verb: str, others: int) -> None:
    places: list[tuple[int, ...]] = [(place,) for place in range(0, 60, 7)]
    places += [(place, 3) for place in range(0, 60, 20)]
    assert tried(tmp_path / "shop.db", VERBS[verb], others, places) > 0


def test_signals_at_any_time(tmp_path: Path) -> None:
    """Real ones, which also come within loops."""
    draw, is_over, caught = random.Random(1), threading.Event(), 0
    with bl.open(tmp_path / "shop.db", snapshot_every=50) as store:
        model = store.model("m", bl.LinearModel("squared", bits=4, wait=None))
        company = Others(model, OTHERS)
        answered: list[str] = []

        def interrupt() -> None:
            for _ in range(100):
                is_over.wait(draw.expovariate(200.0))
                if draw.random() < 0.3:
                    _thread.interrupt_main()
                _thread.interrupt_main()
            is_over.set()

        thread, numbers = threading.Thread(target=interrupt), count()
        thread.start()
        while not is_over.is_set():
            try:
                while not is_over.is_set():
                    key = f"main-{next(numbers)}"
                    with suppress(NotCommitted):
                        one(model, key)
                        answered.append(f"p {key}")
            except KeyboardInterrupt:
                caught += 1
        thread.join()
        company.go_on()
        company.stop()
        assert caught > 5  # several that come at once are one
        check(store, model, company.answered + answered, company.failed)


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("others", [0, 2, OTHERS])
def test_interrupts_everywhere(tmp_path: Path, verb: str, others: int) -> None:
    """At every place, and a second time soon after."""
    places: list[tuple[int, ...]] = [(place,) for place in range(160)]
    places += [(place, after) for place in range(0, 120, 4) for after in (0, 1, 2, 3, 5, 8, 13)]
    assert tried(tmp_path / "shop.db", VERBS[verb], others, places) > 20
