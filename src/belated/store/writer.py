"""The writer of a store: one thread that commits events, and does all else with the database.

Callers apply their events under the lock of a model, add them to the open batch, and wait. The
writer takes the open batch, writes it in one transaction, and wakes the callers. Python handles
signals in the main thread, which is never the writer: a signal interrupts a caller that waits, and
no commit.

**Group commit.** After a commit the writer expects the callers of that batch, and those that have
come meanwhile, to come again. It waits for them for a part of the time that the commit took. One
caller alone is served at once.

**Failures.** If a commit fails, so does the open batch, because its events were applied after those
that are lost. All models of both are recovered from the log before they are used again.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from belated.errors import NotCommitted, StoreClosed, StoreError
from belated.store.batch import Added, Batch, Notes, Task, make_gate, not_committed

if TYPE_CHECKING:
    from belated.store.stored import StoredModel

T = TypeVar("T")

_FAILURES = 3  # in a row, after which commits are tried only now and then
_FIRST_REST, _LONGEST_REST = 0.05, 2.0  # seconds between two tries
_SHARE = 0.5  # of the time of the last commit, to wait for expected callers
_EACH = 50e-6  # seconds for each of them
_LONGEST = 0.005  # seconds
_LOOK = 0.2  # seconds after which a caller looks whether the writer has come to its end


class Writer:
    """Commits batches in order, one at a time.

    ``write`` puts what was added to a batch on disk and returns how many events there were, or it
    raises and changes nothing. ``check_process`` raises in a process that was forked.
    """

    def __init__(
        self, write: Callable[[list[Added]], int], check_process: Callable[[], None]
    ) -> None:
        self._write, self._check_process = write, check_process
        self._lock = threading.Lock()  # around the open batch and the callers of all batches
        self._open = Batch()
        self._expected = 1  # callers
        self._until = 0.0  # when the writer stops waiting for them
        self._failures = 0  # in a row
        self._rests_until, self._reason = 0.0, ""
        self.is_closed = False
        self.commits = self.events = 0
        """Commits so far, and the events in them."""
        self._queue: SimpleQueue[Task | None] = SimpleQueue()
        self.thread = threading.Thread(
            target=_work, args=(self._queue, weakref.ref(self)), name="belated-store", daemon=True
        )
        weakref.finalize(self, self._queue.put, None)  # so that the thread ends without ``close``
        self.thread.start()

    # --- Adding ---------------------------------------------------------------------------------

    def check(self) -> None:
        """Refuse events for a moment after several failures: each costs a recovery of its model."""
        if self._rests_until and self._rests_until > monotonic():
            raise NotCommitted(
                f"the store cannot be written at the moment ({self._reason}); nothing has changed: "
                f"it is tried again within {_LONGEST_REST:g} s"
            )

    def add(
        self,
        model: StoredModel,
        text: str,
        size: int,
        notes: Notes = (),
        snapshot: bytes | None = None,
    ) -> Batch:
        """Add events or a snapshot of a locked model to the batch that the next waiter commits."""
        with self._lock:
            self._check_open()
            if model._is_stale:
                raise NotCommitted("the store could not be written meanwhile; nothing has changed")
            batch = self._open
            batch.added.append((model, model._length, size, text, notes, snapshot))
            model._length += size
            model._newest = batch
            return batch

    def add_note(self, name: str, body: bytes) -> Batch:
        with self._lock:
            self._check_open()
            self._open.added.append((None, 0, 0, "", ((name, body),), None))
            return self._open

    def _check_open(self) -> None:
        if self.is_closed:
            raise StoreClosed("the store was closed")

    # --- Waiting --------------------------------------------------------------------------------

    def wait(self, batch: Batch) -> None:
        """Return when a batch is committed, or raise ``NotCommitted``."""
        if not batch.is_done:
            self._check_caller()
            gate = make_gate()
            if self._join(batch, batch.gates, gate):
                self._call()
                gate.acquire()
        if batch.error is not None:
            raise not_committed(batch.error) from batch.error

    def future(self, batch: Batch) -> asyncio.Future[None]:
        """Return a future of the running event loop that is done when a batch is committed."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        if not self._join(batch, batch.futures, future):
            batch.resolve(future)
        elif batch.callers == self._expected or len(batch.futures) == 1:
            loop.call_soon(self._call)  # what else this round of the loop adds shares the commit
        return future

    def _join(self, batch: Batch, callers: list[Any], caller: Any) -> bool:
        with self._lock:
            if batch.is_done:
                return False
            callers.append(caller)
            batch.callers += 1
            return True

    def _call(self) -> None:
        """Wake the writer if all expected callers are here; else it wakes by itself."""
        if self._open.callers >= self._expected:
            self._queue.put(None)

    def _check_caller(self) -> None:
        self._check_process()
        if threading.current_thread() is self.thread:
            raise StoreError("the writer thread of a store cannot wait for itself")

    # --- Other work -----------------------------------------------------------------------------

    def run(self, function: Callable[[], T], is_last: bool = False) -> T:
        """Commit what was added before, run a function on the writer thread, return its result."""
        self._check_caller()
        task = Task(function, is_last)
        self._queue.put(task)  # one call, so that a signal comes before it or after it
        while not task.gate.acquire(timeout=_LOOK):
            if not (is_last and self.thread.is_alive()):  # the last task may take long
                self._check_open()
        error, task.error = task.error, None
        if error is None:
            return task.result  # type: ignore[no-any-return]
        try:
            raise error
        finally:
            del error  # its traceback has this frame

    def post(self, function: Callable[[], Any]) -> None:
        """Have a function run on the writer thread, without waiting for it."""
        self._queue.put(Task(function))

    # --- The thread -----------------------------------------------------------------------------

    def step(self, task: Task | None) -> float | None:
        """Commit if it is time, run a task, and return for how long to wait for callers."""
        with self._lock:
            callers, is_late = self._open.callers, monotonic() >= self._until
            if is_late and not callers:
                self._expected = 1
            is_due = callers and (is_late or callers >= self._expected)
        if is_due or task is not None:
            self._commit()
        if task is not None:
            if task.is_last:
                with self._lock:
                    self.is_closed = True
                self.fail(StoreClosed("the store was closed"))
            task.run()
        with self._lock:
            if self._open.callers >= self._expected:
                return 0.0
            return None if self._expected == 1 else max(self._until - monotonic(), 0.0)

    def _commit(self) -> None:
        with self._lock:
            batch, self._open = self._open, Batch()
        begin = monotonic()
        try:
            if batch.added:
                self.events += self._write(batch.added)
                self.commits += 1
                self._failures = 0
        except BaseException as error:
            self._failures += 1
            if (more := self._failures - _FAILURES) >= 0:
                rest = min(_FIRST_REST * 2.0**more, _LONGEST_REST)
                self._rests_until, self._reason = monotonic() + rest, str(error)
            self.fail(error, batch)
        else:
            with self._lock:
                batch.mark()
            batch.wake()
        now = monotonic()
        with self._lock:
            self._expected = max(batch.callers + self._open.callers, 1)
            patience = max(_SHARE * (now - begin), _EACH * self._expected)
            self._until = now + min(patience, _LONGEST)

    def fail(self, error: BaseException, batch: Batch | None = None) -> None:
        """Let the open batch fail, and one before it; only the writer thread does that."""
        with self._lock:
            later, self._open = self._open, Batch()
            failed = [later] if batch is None else [batch, later]
            for each in failed:
                each.mark(error)
        for each in failed:
            each.wake()


def _work(queue: SimpleQueue[Task | None], find: Callable[[], Writer | None]) -> None:
    """Run a writer until it is closed or forgotten: between steps nothing here refers to it."""
    patience: float | None = None
    while True:
        try:
            task = queue.get(timeout=patience)
        except Empty:
            task = None
        writer = find()
        if writer is None:
            return
        patience = writer.step(task)
        if writer.is_closed:
            return
        del writer, task
