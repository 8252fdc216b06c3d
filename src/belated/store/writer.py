"""Group commit: many threads share one, and each is answered when what it did is on disk.

Events are appended to the open batch, in the order in which they were applied. Whoever comes first
to wait for a batch leads: it commits the batch for all. Those that come while it does find the next
batch open, and one of them leads next. A leader waits for those that shared the last commits and
have not come yet, but no longer than half a commit takes; without that, threads would fall into two
groups that wait for each other, and there would be twice as many commits. One thread alone leads
every time, at once, and no other thread is involved.

Calls that wait for their commit anyway are also applied by the leader, all in one go: the others
sleep meanwhile, and are woken once, when they are done. Threads that apply their own would wake
each other for the interpreter lock at every kernel, which takes several times as long. Where one
thread is alone (``is_idle``), it applies its call itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from time import monotonic, perf_counter
from typing import TYPE_CHECKING

from belated.errors import NotCommitted
from belated.store.batches import COMMITTED, After, Batch, Part, call_after, lost, open_gate, tell

if TYPE_CHECKING:
    from belated.store.entry import Entry
    from belated.store.queued import Queued

_PATIENCE = 0.5  # of what a commit takes, for those who have not come yet
_LONGEST = 0.005  # seconds
_FAILURES = 3  # in a row, after which commits are tried only now and then
_FIRST_REST, _LONGEST_REST = 0.05, 2.0  # seconds between two tries


class Writer:
    """Commits batches, one at a time and in order.

    ``write`` puts all parts of a batch on disk, or raises and leaves everything as it was;
    ``write_one`` does that with one event of one model, which is quicker.
    """

    def __init__(
        self,
        write: Callable[[dict[Entry, Part], dict[str, bytes]], None],
        write_one: Callable[[Entry, str], None],
    ) -> None:
        self._write, self._write_one = write, write_one
        self._lock = threading.Lock()  # around the open batch, and all below
        self._open = Batch()
        self._calls: list[Queued] = []  # to be applied by the one who leads next
        self._taken: list[Queued] = []  # by the one who leads, and not yet applied
        self._leader: threading.Lock | None = None  # the gate of the one who leads
        self._applies: int | None = None  # the thread that applies calls
        self._expected = 1  # callers that may come before the open batch is committed
        self._all_here: threading.Lock | None = None  # where a leader waits for them
        self._took = 0.0  # seconds, the last commit
        self.turn = threading.Lock()
        """Held by the one who uses the database."""
        self._wanted = threading.Lock()  # a gate: it is opened for a commit that nobody waits for
        self._wanted.acquire()
        self._thread: threading.Thread | None = None
        self._is_stopped = False
        self._failed: list[Batch] = []  # in ``put``, and those who wait are not told yet
        self._failures = 0  # commits in a row that failed
        self._rests_until = 0.0
        self._reason = ""
        self.commits = 0
        """Commits so far."""
        self.events = 0
        """Events in them."""

    def check(self) -> None:
        """Refuse events while there is no use in trying.

        Every event that is applied and then lost has its model built anew. So after some failures
        in a row a commit is tried only now and then.
        """
        if self._rests_until and self._rests_until > monotonic():
            raise NotCommitted(
                f"the store cannot be written at the moment ({self._reason}); nothing has changed: "
                f"it is tried again within {_LONGEST_REST:g} s"
            )

    @property
    def is_idle(self) -> bool:
        """Whether nobody leads, and the last commit was of one caller alone."""
        return self._leader is None and self._expected == 1

    # --- Adding ---------------------------------------------------------------------------------

    def add(
        self, entry: Entry, text: str, size: int, notes: Iterable[tuple[str, bytes]] = ()
    ) -> Batch:
        """Append so many events to the open batch, and notes; the caller has locked the model."""
        with self._lock:
            batch = self._open
            part = self._part(entry)
            part.texts.append(text)
            part.size += size
            if notes:
                batch.notes.update(notes)
            entry.length += size
            entry.newest = batch
            return batch

    def add_snapshot(self, entry: Entry, blob: bytes) -> None:
        """Append a snapshot of what a model is after all of its events so far."""
        with self._lock:
            self._part(entry).snapshots.append((entry.length, blob))

    def add_note(self, name: str, body: bytes) -> Batch:
        """Append a note to the open batch."""
        with self._lock:
            self._open.notes[name] = body
            return self._open

    def _part(self, entry: Entry) -> Part:
        if entry.is_stale:
            raise NotCommitted("the store could not be written meanwhile; nothing has changed")
        part = self._open.parts.get(entry)
        if part is None:
            part = self._open.parts[entry] = Part(entry.length)
        return part

    # --- Alone ----------------------------------------------------------------------------------

    def put(self, entry: Entry, text: str) -> Batch:
        """Commit one event here and now, where nobody else is at work; else ``add`` it.

        The caller has locked the model, and who wants to read it waits for the commit as well. An
        interrupt may come anywhere in here, as in ``_wait``.
        """
        gate = threading.Lock()  # nobody waits at it: it says who leads
        try:
            with self._lock:
                is_busy = self._leader or self._calls or self._open.is_used or entry.is_stale
                if not is_busy:
                    self._leader = gate
            if is_busy:
                return self.add(entry, text, 1)
            with self.turn:
                begin = perf_counter()
                try:
                    self._write_one(entry, text)
                finally:
                    self._took = perf_counter() - begin
                self._failures = 0
                self.commits += 1
                self.events += 1
            with self._lock:
                self._expected = 1 + len(self._open.waiting) + len(self._calls)
                self._step_down()
        except BaseException as error:
            if self._leader is not gate:
                if self._leader is not None:
                    open_gate(self._leader)  # the interrupt may have come just before that
                raise
            self._fail_alone(entry, error)
            if isinstance(error, Exception):
                raise lost(error) from error
            raise
        return COMMITTED

    def _fail_alone(self, entry: Entry, error: BaseException) -> None:
        """Let the one event fail that is being committed, and what came later; step down.

        Who waits for that is told by ``tell_failed``.
        """
        mine = Batch()
        mine.parts[entry] = Part(entry.length)
        taken = [mine]
        with self._lock:
            self._fail_all(taken, error)
            self._failed += taken
            self._step_down()

    def tell_failed(self) -> None:
        """Tell those who wait for what failed in ``put``; the caller has locked no model."""
        with self._lock:
            failed, self._failed = self._failed, []
        tell(failed)

    # --- Waiting --------------------------------------------------------------------------------

    def do(self, call: Queued) -> None:
        """Return when a call is committed, refused or left to the caller.

        An interrupt may come anywhere in here, as in ``_wait``.
        """
        taken: list[Batch] = []
        if self._applies == threading.get_ident():  # from within another call
            call.is_left = True
            return
        try:
            with self._lock:
                self._calls.append(call)
                leads = self._leader is None
                if leads:
                    self._leader = call.gate
                else:
                    self._see_who_is_here()
            if not leads:
                call.gate.acquire()
                leads = self._leader is call.gate
            if leads:
                self._lead(None, taken)
        except BaseException as error:
            with self._lock:
                if call in self._calls:
                    self._calls.remove(call)
            self._leave(call.batch, call.gate, taken, error)
            raise

    def settle(self, batch: Batch) -> None:
        """Return when a batch is committed, or raise ``NotCommitted``."""
        if not batch.is_done:
            self._wait(batch)
        if batch.error is not None:
            raise lost(batch.error) from batch.error

    def settle_all(self) -> None:
        """Return when everything that was added before is committed or has failed."""
        with self._lock:
            batch = self._open
        self._wait(batch)

    def _wait(self, batch: Batch) -> None:
        """Return when a batch is done, by this thread if it is the one that leads.

        An interrupt may come anywhere in here. Who it hits leads no more, and waits no more.
        """
        gate = threading.Lock()
        gate.acquire()
        taken: list[Batch] = []
        if self._applies == threading.get_ident():  # from within a call: nobody else can lead
            error = self._commit(batch, taken)
            with self._lock:
                self._end(taken, error)
            tell(taken)
            return
        try:
            if self._enter(batch, gate):
                self._lead(batch, taken)
        except BaseException as error:
            self._leave(batch, gate, taken, error)
            raise

    def _enter(self, batch: Batch, gate: threading.Lock) -> bool:
        """Wait at a gate until a batch is done, or the caller leads; return whether it does."""
        with self._lock:
            if batch.is_done:
                return False
            if self._leader is None:
                self._leader = gate
                return True
            self._queue(batch, gate)
        gate.acquire()
        return self._leader is gate

    def _queue(self, batch: Batch, gate: threading.Lock) -> None:
        """Have a gate opened when a batch is done; the lock is held."""
        batch.waiting.append(gate)
        self._see_who_is_here()

    def _see_who_is_here(self) -> None:
        """Let a leader go on who waits for others, if they have come; the lock is held."""
        if self._all_here is not None and self._are_all_here:
            self._all_here.release()
            self._all_here = None

    @property
    def _are_all_here(self) -> bool:
        return len(self._open.waiting) + len(self._calls) + 1 >= self._expected

    def _leave(
        self, batch: Batch | None, gate: threading.Lock, taken: list[Batch], error: BaseException
    ) -> None:
        """Wait no more; if this one was to lead by now, another one must.

        What it took and did not commit, as far as one can know, fails.
        """
        with self._lock:
            if batch is not None and gate in batch.waiting:
                batch.waiting.remove(gate)
            if self._leader is gate:
                self._put_back()
                if taken and not taken[0].is_done:
                    self._fail_all(taken, error)
                self._step_down()
            elif self._leader is not None:
                open_gate(self._leader)  # the interrupt may have come just before that
        tell(taken)

    def _put_back(self) -> None:
        """Have calls applied by another one that were taken and not applied; the lock is held."""
        for call in self._taken:
            if call.is_begun:
                call.give_up()
                open_gate(call.gate)
        self._calls[:0] = [call for call in self._taken if not call.is_begun]
        self._taken, self._applies = [], None

    def _lead(self, mine: Batch | None, taken: list[Batch]) -> None:
        """Apply the calls that wait, commit the open batch, and let another one lead.

        The batch is ``taken`` then. ``mine`` is what the one who leads waits for; None: a call.
        """
        if self._expected > 1:
            self._wait_for_others()
        is_wanted = mine is not None
        if self._calls:
            is_wanted = self._apply_all() or is_wanted
        self._finish(taken, self._commit(mine, taken) if is_wanted else None)

    def _apply_all(self) -> bool:
        """Apply the calls that wait, and return whether there is something to commit of them.

        Their threads are woken when the open batch is done; who was refused, at once.
        """
        with self._lock:
            self._taken, self._calls = self._calls, []
            self._applies = threading.get_ident()
        for call in self._taken:
            call.run()
        added = [call.gate for call in self._taken if call.batch is not None]
        with self._lock:
            self._open.waiting += [gate for gate in added if gate is not self._leader]
        for call in self._taken:
            if call.batch is None:
                open_gate(call.gate)
        self._taken, self._applies = [], None
        return bool(added)

    def _commit(self, mine: Batch | None, taken: list[Batch]) -> Exception | None:
        """Write the open batch, which is ``taken`` then; return why that failed, if it did."""
        try:
            with self.turn:
                with self._lock:
                    if mine is None or not mine.is_done:  # by a failure of something else
                        taken.append(self._open)
                        self._open = Batch()
                if taken and (taken[0].parts or taken[0].notes):
                    begin = perf_counter()
                    try:
                        self._write(taken[0].parts, taken[0].notes)
                    finally:
                        self._took = perf_counter() - begin
                    self._failures = 0
                    self.commits += 1
                    for part in taken[0].parts.values():
                        self.events += part.size
        except Exception as error:
            if not taken:
                raise
            return error
        return None

    def _wait_for_others(self) -> None:
        """Wait for those who shared the last commits, but not for long."""
        with self._lock:
            if self._are_all_here:
                return
            gate = self._all_here = threading.Lock()
            gate.acquire()
        gate.acquire(timeout=min(_PATIENCE * self._took, _LONGEST))
        with self._lock:
            self._all_here = None

    def _finish(self, taken: list[Batch], error: BaseException | None) -> None:
        """Say what became of a batch, and step down; what was added since fails with it."""
        with self._lock:
            self._end(taken, error)
            self._step_down()
        tell(taken)

    def _end(self, taken: list[Batch], error: BaseException | None) -> None:
        """Say what became of a batch; what was added since fails with it. The lock is held."""
        if taken:
            later = len(self._open.waiting) + len(self._calls)
            self._expected = 1 + len(taken[0].waiting) + later
            if error is None:
                taken[0].is_done = True
            else:
                self._fail_all(taken, error)

    def _fail_all(self, taken: list[Batch], error: BaseException) -> None:
        """Let a batch fail, and what came later, as it may stand on what is lost."""
        self._count_failure(error)
        taken.append(self._open)
        self._open = Batch()
        self._mark(taken, error)

    def _count_failure(self, error: BaseException) -> None:
        if not isinstance(error, Exception):  # an interrupt, which says nothing of the disk
            return
        self._failures += 1
        if self._failures >= _FAILURES:
            rest = min(_FIRST_REST * 2.0 ** (self._failures - _FAILURES), _LONGEST_REST)
            self._rests_until, self._reason = monotonic() + rest, str(error)

    def fail(self, error: BaseException) -> None:
        """Let all fail that is not being committed yet; the models of it are to be built anew."""
        with self._lock:
            closed = [self._open]
            self._open = Batch()
            self._mark(closed, error)
        tell(closed)

    def _mark(self, batches: list[Batch], error: BaseException) -> None:
        for batch in batches:
            batch.error, batch.is_done = error, True
            for entry in batch.parts:
                entry.is_stale = True

    def _step_down(self) -> None:
        """Let one of those who wait lead, if there is one; the lock is held."""
        if self._open.waiting:
            self._leader = self._open.waiting.pop(0)
        else:
            self._leader = self._calls[0].gate if self._calls else None
        if self._leader is not None:
            open_gate(self._leader)

    # --- Not waiting ----------------------------------------------------------------------------

    def then(self, batch: Batch, after: After, within: float = 0.0) -> None:
        """Have ``after`` called when a batch is committed or has failed, by whoever commits it.

        That is a thread of its own; or the caller, here and now, where nobody else is at it, there
        is no snapshot to write, and the last commit took less than ``within`` seconds and did not
        fail. What ``after`` raises is logged.
        """
        with self._lock:
            is_done = batch.is_done
            if not is_done:
                batch.after.append(after)
            has_snapshot = any(part.snapshots for part in batch.parts.values())
            is_quick = self.is_idle and self._took < within and not has_snapshot
            is_quick = is_quick and not self._failures and not self.turn.locked()
            is_here = is_quick or self._is_stopped  # then there is no other thread to do it
            if not is_done and not is_here and self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="belated-store", daemon=True
                )
                self._thread.start()
        if is_done:
            call_after(after, batch.error)
        elif is_here:
            self._wait(batch)
        else:
            open_gate(self._wanted)

    def _work(self) -> None:
        """Commit what nobody waits for."""
        is_stopped = False
        while not is_stopped:
            self._wanted.acquire()  # once for all that asked meanwhile
            is_stopped = self._is_stopped  # all that asked before that are in what is settled now
            with suppress(Exception):  # which those who asked are told
                self.settle_all()

    def stop(self) -> None:
        """Let the thread that commits what nobody waits for come to its end."""
        with self._lock:
            self._is_stopped = True
            thread = self._thread
        open_gate(self._wanted)
        if thread is not None and thread is not threading.current_thread():
            thread.join()
