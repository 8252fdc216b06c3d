"""Interrupts of the main thread anywhere in a store, while other threads write it."""

from __future__ import annotations

import _thread
import faulthandler
import random
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import belated as bl
from belated.errors import NotCommitted, StoreDamaged, StoreError, UnknownTicket
from belated.store import store as of_store
from belated.store import writer as of_writer
from belated.store.events import OBSERVE, PREDICT, decode_events, key_of, unseal_row
from belated.store.recovery import recover_model
from conftest import everything
from interrupts import Interrupts, without_collector

# What interrupts the giving up of a generator is dropped by Python, with a word of warning.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Exception ignored in. <generator:pytest.PytestUnraisableExceptionWarning"
)
FOLDER = str(Path(of_writer.__file__).parent)
OTHERS = 3
Verb = Callable[[Any, str], Any]


class TimeLimit(TimeoutError):
    """What the handler of an alarm raises; no error of ours, but one that many catch."""


def _is_within(frame: FrameType | None) -> bool:
    """Tell whether a frame is of a store, or was called by one, and can raise something."""
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
    model.many([("predict", {"row": {"x": 2.0}, "key": key})])


def begun(model: Any, key: str) -> None:
    model.begin("predict", {"x": 3.0}, key=key).result()


def read(model: Any, key: str) -> None:
    assert model.rounds >= 0
    model.peek({"x": 1.0})


def saved(model: Any, key: str) -> None:
    model.save()


VERBS: dict[str, Verb] = {each.__name__: each for each in (one, several, begun, read, saved)}


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
    about = store._models["m"]._about
    events = [
        event
        for row in store._database.rows(about.number, 0)
        for event in decode_events([unseal_row(row)])
    ]
    keys = [f"p {key_of(event)}" for event in events if event[0] == PREDICT]
    keys += [f"o {key_of(event)}" for event in events if event[0] == OBSERVE]
    assert len(set(keys)) == len(keys)
    assert not set(answered) - set(keys)
    lost = {f"{verb} {key}" for key in failed for verb in "po"} - set(answered)
    assert not lost & set(keys)
    check_state(store, model)


def check_state(store: Any, model: Any) -> None:
    """Demand that the model in memory is the one that its whole log leads to."""
    blob = model.snapshot()
    store._database._open().execute("DELETE FROM snapshots")
    assert recover_model(store._database, store._models["m"]._about, None).model.snapshot() == blob


@contextmanager
def failing_at_random(store: Any, share: float) -> Iterator[None]:
    """Let a share of all commits fail."""
    disk, draw = store._database, random.Random(5)
    write = disk.write

    def sometimes(*arguments: Any) -> None:
        if draw.random() < share:
            raise StoreError("the disk is full")
        write(*arguments)

    disk.write = sometimes
    yield
    disk.write = write


def tried(
    path: Path,
    verb: Verb,
    others: int,
    places: list[tuple[int, ...]],
    kind: type[BaseException] = KeyboardInterrupt,
    share: float = 0.0,
) -> int:
    """Interrupt a verb at each of some places, and return at how many it was interrupted.

    A ``share`` of all commits fails.
    """
    hits = 0
    with bl.open(path, snapshot_every=50) as store:
        model = store.model("m", bl.LinearModel("squared", bits=4, wait=None))
        model.predict({"x": 0.0}, key="first")
        with failing_at_random(store, share):
            company = Others(model, others)
            answered: list[str] = []
            try:
                for number, place in enumerate(places):
                    key, interrupts = f"main-{number}", Interrupts(kind, *place)
                    try:
                        with interrupts:
                            verb(model, key)
                        if verb not in (read, saved):
                            answered.append(f"p {key}")
                    except kind:
                        hits += 1
                    except StoreDamaged:  # which nothing here is
                        raise
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
def trying_at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have commits that fail at random tried again at once; show who waits for ever."""
    monkeypatch.setattr(of_writer, "_FAILURES", 10**9)
    faulthandler.dump_traceback_later(200.0, exit=True, file=2)
    yield
    faulthandler.cancel_dump_traceback_later()


KINDS: list[type[BaseException]] = [KeyboardInterrupt, TimeLimit]


@pytest.mark.parametrize(("kind", "share"), [(KeyboardInterrupt, 0.0), (TimeLimit, 0.3)])
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("others", [0, OTHERS])
def test_interrupts_everywhere(
    tmp_path: Path, verb: str, others: int, kind: type[BaseException], share: float
) -> None:
    """At every place (without ``--all``: at some of them), and a second time soon after."""
    step = 1 if everything() else 7
    places: list[tuple[int, ...]] = [(place,) for place in range(0, 160, step)]
    places += [(place, after) for place in range(0, 120, 4 * step) for after in (0, 2, 3, 8)]
    assert tried(tmp_path / "shop.db", VERBS[verb], others, places, kind, share) > 0


@pytest.fixture
def signals_raise() -> Iterator[None]:
    """Let signals raise KeyboardInterrupt within a store, and nothing anywhere else."""

    def interrupt(_: int, frame: FrameType | None) -> None:
        if _is_within(frame):
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    yield
    signal.signal(signal.SIGINT, before)


@without_collector()
def test_signals_at_any_time(tmp_path: Path, signals_raise: None) -> None:
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


# --- One rule each --------------------------------------------------------------------------------


def spec() -> bl.LinearModel:
    return bl.LinearModel("squared", bits=4, wait=None)


def hold(model: Any) -> None:
    with model.held() as inner:
        inner.snapshot()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "look",
    [
        lambda model: model.save(),
        lambda model: model.snapshot(),
        lambda model: model.predict([1.0]),
        lambda model: model.many([("predict", {"row": [1.0]})]),
        lambda model: model._store._save_all(),
        hold,
    ],
    ids=["save", "read", "due", "due_many", "close", "held"],
)
def test_an_interrupted_look_leaves_nothing_in_memory_that_is_not_in_the_log(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    look: Callable[[Any], Any],
    kind: type[BaseException],
) -> None:
    def halfway(model: bl.LinearModel, **_: Any) -> bytes:
        model.predict([2.0])
        raise kind("an interrupt")

    monkeypatch.setattr(of_store, "_FEW", 1)
    with bl.open(tmp_path / "shop.db", snapshot_every=3) as store:
        model = store.model("m", spec())
        for _ in range(2):
            model.predict([1.0])
        with monkeypatch.context() as patch:
            patch.setattr(bl.LinearModel, "snapshot", halfway)
            with pytest.raises(kind):
                look(model)
        assert model.rounds == model.history.events
        check_state(store, model)


@pytest.mark.parametrize("rebuild", [False, True])
def test_an_interrupted_erasure_has_happened_or_not(tmp_path: Path, rebuild: bool) -> None:
    outcomes, step = set(), 19 if everything() else 211
    with bl.open(tmp_path / "shop.db") as store:
        for place in count(0, step):
            model = store.model("m", bl.LinearModel("squared", bits=4))
            for key in ("erased", "kept"):
                model.predict({"x": float(place % 5)}, key=key)
            model.observe("kept", 1.0)
            interrupts = Interrupts(KeyboardInterrupt, place)
            with suppress(KeyboardInterrupt), interrupts:
                model.erase("erased", rebuild=rebuild)
            state, about = model.snapshot(), store._models["m"]._about
            assert recover_model(store._database, about, None).model.snapshot() == state
            outcomes.add(model.erase("erased", rebuild=rebuild).tickets)
            assert "erased" not in [line.key for line in store.log("m")]
            store.delete("m")
            if not interrupts.raised:
                break
    assert outcomes == {0, 1}


def test_a_store_whose_closing_was_interrupted_can_be_closed(tmp_path: Path) -> None:
    for place in count():
        path, interrupts = tmp_path / f"{place}.db", Interrupts(KeyboardInterrupt, place)
        store = bl.open(path)
        model = store.model("m", spec())
        model.predict([1.0])
        pending = model.begin("predict", [1.0])
        with suppress(KeyboardInterrupt), interrupts:
            store.close()
        store.close()
        assert pending.batch.is_done
        with bl.open(path) as store:
            assert store.model("m").rounds == 1 + (pending.batch.error is None)
        if not interrupts.raised:
            break
    assert place > 10


def test_a_commit_goes_on_when_its_caller_is_interrupted(
    tmp_path: Path, signals_raise: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bl.open(tmp_path / "shop.db") as store:
        model, write = store.model("m", spec()), store._database.write

        def interrupting(*arguments: Any) -> None:
            _thread.interrupt_main()
            threading.Event().wait(0.2)
            write(*arguments)

        monkeypatch.setattr(store._database, "write", interrupting)
        with pytest.raises(KeyboardInterrupt):
            model.predict([1.0])
        monkeypatch.undo()
        assert model.rounds == model.history.events == 1

        def delete() -> None:
            interrupting([], [], [])
            store._database.delete(1)

        with pytest.raises(KeyboardInterrupt):  # also what is no event happens as a whole
            store.writer.run(delete)
        assert store.writer.run(store._database.numbers) == {}
