"""Interrupts of the main thread anywhere in a store, while other threads write it.

A signal is handled after a call of C code has returned, or when a function begins. A profiler is
called in the same places, and what it raises is raised there: so every place can be tried in turn.
"""

from __future__ import annotations

import _thread
import faulthandler
import gc
import random
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from _pytest import unraisableexception

import belated as bl
from belated.errors import NotCommitted, StoreDamaged, StoreError, UnknownTicket
from belated.store import batches
from belated.store import store as of_store
from belated.store import writer as of_writer
from belated.store.events import OBSERVE, PREDICT, decoded, key_of, opened_row
from belated.store.recovery import recovered
from interrupts import without_collector

# What interrupts the giving up of a generator is dropped by Python, with a word of warning.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Exception ignored in. <generator:pytest.PytestUnraisableExceptionWarning"
)
FOLDER = str(Path(of_writer.__file__).parent)
# What is raised in a callback of a weak set is dropped, and pytest reports what was dropped.
DROPS = {weakref.WeakSet.add.__code__.co_filename, unraisableexception.__file__}
OTHERS = 3
Verb = Callable[[Any, str], Any]


class TimeLimit(TimeoutError):
    """What the handler of an alarm raises; no error of ours, but one that many catch."""


class Interrupts:
    """Raises something in this thread, at chosen places within a store.

    The garbage collector is paused: Python drops what is raised in its callbacks.
    """

    def __init__(self, *places: int, kind: type[BaseException] = KeyboardInterrupt) -> None:
        self._left = list(places)  # how many places are passed before each
        self._kind = kind
        self.raised = 0

    def __enter__(self) -> Interrupts:
        gc.disable()
        sys.settrace(self._trace)  # only to look again after an interrupt: that ends a profiler
        sys.setprofile(self._look)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        sys.setprofile(None)
        gc.enable()

    def _look(self, frame: FrameType, event: str, argument: Any) -> None:
        if event not in ("call", "c_return") or not _is_within(frame):
            return
        if self._left[0] > 0:
            self._left[0] -= 1
            return
        self._left.pop(0)
        self.raised += 1
        raise self._kind("an interrupt")

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        if self.raised and self._left and sys.getprofile() is None:
            sys.setprofile(self._look)
        return self._trace


def _is_within(frame: FrameType | None) -> bool:
    """Tell whether a frame is of a store, or was called by one, and can raise something."""
    while frame is not None:
        if frame.f_code.co_filename in DROPS:
            return False
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


def told(model: Any, key: str) -> None:
    is_told, errors = threading.Event(), []

    def after(error: BaseException | None) -> None:
        errors.append(error)
        is_told.set()

    model.begin("predict", {"x": 4.0}, key=key).then(after)
    assert is_told.wait(10.0)
    if errors[0] is not None:
        raise NotCommitted("told so") from errors[0]


def read(model: Any, key: str) -> None:
    assert model.rounds >= 0
    model.peek({"x": 1.0})


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
    about = store._known["m"]
    events = [
        event
        for row in store._database.rows(about.number, 0)
        for event in decoded([opened_row(row)])
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
    assert recovered(store._database, store._known["m"], None).model.snapshot() == blob


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
                    key, interrupts = f"main-{number}", Interrupts(*place, kind=kind)
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
def looking_often(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have those who wait look more often whether anyone leads; who waits for ever is shown."""
    monkeypatch.setattr(of_writer, "_LOOK", 0.01)
    monkeypatch.setattr(batches, "_LOOK", 0.01)
    monkeypatch.setattr(of_writer, "_MOST", 10**9)  # those who fail at random go on at once
    faulthandler.dump_traceback_later(200.0, exit=True, file=2)
    yield
    faulthandler.cancel_dump_traceback_later()


KINDS: list[type[BaseException]] = [KeyboardInterrupt, TimeLimit]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.0, 0.3])
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("others", [0, OTHERS])
def test_interrupts_here_and_there(
    tmp_path: Path, verb: str, others: int, kind: type[BaseException], share: float
) -> None:
    places: list[tuple[int, ...]] = [(place,) for place in range(0, 60, 7)]
    places += [(place, 3) for place in range(0, 60, 20)]
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


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "share"), [(KeyboardInterrupt, 0.0), (TimeLimit, 0.3)])
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("others", [0, 2, OTHERS])
def test_interrupts_everywhere(
    tmp_path: Path, verb: str, others: int, kind: type[BaseException], share: float
) -> None:
    """At every place, and a second time soon after."""
    places: list[tuple[int, ...]] = [(place,) for place in range(160)]
    places += [(place, after) for place in range(0, 120, 4) for after in (0, 1, 2, 3, 5, 8, 13)]
    assert tried(tmp_path / "shop.db", VERBS[verb], others, places, kind, share) > 20


# --- One rule each --------------------------------------------------------------------------------


def spec() -> bl.LinearModel:
    return bl.LinearModel("squared", bits=4, wait=None)


class Call(threading.Thread):
    """Something done in another thread, and what came of it."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._of = work
        self.outcome: Any = None
        self.start()

    def run(self) -> None:
        try:
            self.outcome = self._of()
        except BaseException as error:
            self.outcome = error

    def ended(self) -> Any:
        """Return what came of it."""
        self.join(20.0)
        assert not self.is_alive()
        return self.outcome


def until(is_so: Callable[[], Any]) -> None:
    """Wait for something that comes by itself."""
    for _ in range(20_000):
        if is_so():
            return
        threading.Event().wait(0.001)
    raise AssertionError("it never came to that")


Write = Callable[..., None]


def once(store: Any, write: Callable[[Write], Write]) -> None:
    """Have the next commit done by what a function makes of the real one."""
    disk, real = store._database, store._database.write

    def instead(*arguments: Any) -> None:
        disk.write = real
        write(real)(*arguments)

    disk.write = instead


def raising(error: BaseException, is_written: bool = False) -> Callable[[Write], Write]:
    """Return a commit that raises, before or after it ``is_written``."""

    def made(real: Write) -> Write:
        def write(*arguments: Any) -> None:
            if is_written:
                real(*arguments)
            raise error

        return write

    return made


def read_rounds(model: Any) -> Any:
    return model.rounds


def test_what_was_lost_while_its_leader_was_interrupted_is_not_answered(tmp_path: Path) -> None:
    """The commit fails, and the interrupt comes at every place of what follows."""
    for place in count():
        path, interrupts = tmp_path / f"{place}.db", Interrupts(place)
        with bl.open(path) as store:
            one, other = store.model("one", spec()), store.model("other", spec())
            later: list[Any] = []

            def full(
                _: Write, other: Any = other, later: Any = later, now: Any = interrupts
            ) -> Any:
                later.append(other.begin("predict", [3.0]))  # into the next batch
                now.__enter__()
                raise StoreError("the disk is full")

            pending = one.begin("predict", [2.0])
            once(store, full)
            try:
                with pytest.raises((NotCommitted, KeyboardInterrupt)):
                    pending.result()
            finally:
                interrupts.__exit__()
            assert isinstance(Call(later[0].result).ended(), NotCommitted)
            assert Call(partial(read_rounds, other)).ended() == 0
        with bl.open(path) as store:
            assert store.model("other").rounds == 0
        if not interrupts.raised:
            break
    assert place > 10


@pytest.mark.parametrize("is_shared", [False, True])
@pytest.mark.parametrize("what", ["events", "note"])
def test_the_log_tells_what_became_of_an_interrupted_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_shared: bool, what: str
) -> None:
    with bl.open(tmp_path / "shop.db") as store:
        model = store.model("m", spec())
        monkeypatch.setattr(store._database, "is_shared", is_shared)
        calls: list[tuple[str, dict[str, Any]]] = [
            ("predict", {"row": {"x": 1.0}, "key": f"k{i}"}) for i in range(9)
        ]
        for is_written in (True, False):
            before = store.writer.commits, store.writer.events
            if what == "events":
                batch = model.begin_many(calls).batch
            else:
                batch = store.writer.add_note(f"n{is_written}", b"kept")
            once(store, raising(KeyboardInterrupt(), is_written))
            with pytest.raises(KeyboardInterrupt):
                store.writer.settle(batch)
            found = Call(partial(store.writer.settle, batch)).ended()
            assert (batch.added, batch.notes) == ([], [])  # it keeps nothing
            if is_written:
                assert found is None
                events = 9 if what == "events" else 0
                assert store.writer.commits == before[0] + 1
                assert store.writer.events == before[1] + events
                assert model.rounds == events
                calls = [("observe", {"ticket": "k0", "answer": 1.0})]
            else:
                assert isinstance(found, NotCommitted)
                assert "does not count" in str(found)
                assert (store.writer.commits, store.writer.events) == before
        assert [note.name for note in store.notes("n")] == (["nTrue"] if what == "note" else [])


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
        lambda model: model._entry.store._save_all(),
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


@pytest.mark.parametrize("what", ["lost", "unreadable"])
def test_where_the_log_does_not_tell_nobody_is_told_that_an_event_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    with bl.open(tmp_path / "shop.db") as store:
        model, disk = store.model("m", spec()), store._database
        if what == "lost":
            monkeypatch.setattr(disk, "is_shared", True)

        def interrupted(real: Write) -> Write:
            if what == "lost":
                disk.lost()  # with the connection, and so another process may write
            return raising(KeyboardInterrupt(), is_written=True)(real)

        def unreadable(*_: Any) -> Any:
            raise StoreError("the disk is gone")

        pending = model.begin("predict", [1.0])
        once(store, interrupted)
        with pytest.raises(KeyboardInterrupt):
            pending.result()
        with monkeypatch.context() as patch:
            if what == "unreadable":
                patch.setattr(disk, "end", unreadable)
            found = Call(pending.result).ended()
        assert isinstance(found, NotCommitted)
        assert "may or may not count" in str(found)
        assert "does not count" not in str(found)
        assert model.rounds == 1


def test_a_store_whose_closing_was_interrupted_can_be_closed(tmp_path: Path) -> None:
    for place in count():
        path, interrupts = tmp_path / f"{place}.db", Interrupts(place)
        store = bl.open(path)
        model = store.model("m", spec())
        told: list[BaseException | None] = []
        model.predict([1.0])
        model.begin("predict", [1.0]).then(told.append)
        with suppress(KeyboardInterrupt), interrupts:
            store.close()
        store.close()
        assert len(told) == 1
        with bl.open(path) as store:
            assert store.model("m").rounds == 1 + told.count(None)
        if not interrupts.raised:
            break
    assert place > 10


def test_time_limits_are_no_faults_of_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are raised as they are, whether the event is on disk or not, and others go on."""
    monkeypatch.setattr(of_writer, "_MOST", 1)
    with bl.open(tmp_path / "shop.db") as store:
        model, other = store.model("m", spec()), store.model("n", spec())
        for rounds, is_written in ((1, True), (2, True), (2, False)):
            once(store, raising(TimeLimit("too late"), is_written))
            with pytest.raises(TimeLimit):
                model.predict([1.0])
            assert Call(lambda: other.predict([1.0]).value).ended() == 0.0
            assert model.rounds == rounds


@pytest.mark.parametrize("is_written", [True, False])
def test_an_interrupted_snapshot_takes_no_event_with_it(tmp_path: Path, is_written: bool) -> None:
    """It is a shortcut, and nothing that comes after stands on it."""
    with bl.open(tmp_path / "shop.db") as store:
        model, later = store.model("m", spec()), []
        model.predict([1.0], key="a")
        model.save()
        model.predict([2.0], key="b")

        def interrupted(real: Write) -> Write:
            later.append(model.begin("predict", [3.0], key="c"))  # into the next batch
            return raising(KeyboardInterrupt(), is_written)(real)

        once(store, interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.save()
        assert Call(later[0].result).ended() == (2, 0.0)
        assert model.history == (3, 0, 2 if is_written else 1)
        state = model.snapshot()
    with bl.open(tmp_path / "shop.db") as store:
        assert store.model("m").snapshot() == state
