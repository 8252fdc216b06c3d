"""Group commit: many threads share one, and each is answered when what it did is on disk.

Events are appended to the open batch, in the order in which they were applied. One of those who
wait for it leads: it commits the batch for all. Those that come while it does find the next batch
open. One thread alone (``is_idle``) does everything itself, at once.

**Gathering.** Who shared the last commit is expected for the next one. The last of them to come
leads: it is awake. The first waits only so long for the others (``_patience``), and then leads with
those who are there; without that, threads would fall into groups that wait for each other.

**Waking.** After a commit the leader wakes one of those who wait, which wakes the next as the first
thing it does, and so on. All woken at once would fight for the interpreter lock; one by one, the
waking of each falls into the work of the one before.

**Applying.** Calls that wait for their commit anyway are applied by the leader, all in one go; the
others sleep meanwhile. Threads that apply their own would hand the interpreter lock to each other
at every kernel.

**Interrupts.** A signal may raise an exception in the main thread, after any call. Nothing here
relies on what an interrupted thread still does. Who sleeps looks now and then (``_LOOK``) whether
what it waits for is done, and whether anyone leads; if not it leads itself, and ends first what the
one before has left in its ``Lead``: what was being committed is looked for in the log. What is
added to a batch, or taken, is added or taken in one step that is not divided. The main thread
applies no calls but its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from threading import get_ident
from time import monotonic, perf_counter
from typing import TYPE_CHECKING

from belated.errors import NotCommitted
from belated.store.batches import (
    COMMITTED,
    After,
    Batch,
    Notes,
    Part,
    call_after,
    closed_gate,
    lost,
    open_gate,
)
from belated.store.lead import Lead

if TYPE_CHECKING:
    from belated.store.entry import Entry
    from belated.store.queued import Queued

_PATIENCE = 0.5  # of what a commit takes, for those who have not come yet
_EACH = 50e-6  # seconds for each of them, as they are woken one by one
_LONGEST = 0.005  # seconds
_LOOK = 0.2  # seconds after which one who sleeps looks whether anyone leads
_FAILURES = 3  # in a row, after which commits are tried only now and then
_FIRST_REST, _LONGEST_REST = 0.05, 2.0  # seconds between two tries
_MAIN = threading.main_thread().ident  # the one thread that signals interrupt


class Writer:
    """Commits batches, one at a time and in order.

    ``write`` puts all parts of a batch on disk, or raises and leaves everything as it was;
    ``write_one`` does that with one event of one model, which is quicker. ``is_written`` tells
    whether parts are on disk, where ``write`` was interrupted.
    """

    def __init__(
        self,
        write: Callable[[dict[Entry, Part], dict[str, bytes]], None],
        write_one: Callable[[Entry, str], None],
        is_written: Callable[[dict[Entry, Part]], bool],
    ) -> None:
        self._write, self._write_one, self._is_written = write, write_one, is_written
        self._lock = threading.Lock()  # around the open batch, and all below
        self._open = Batch()
        self._calls: list[Queued] = []  # to be applied by the one who leads next
        self._leader: Lead | None = None
        self._broken: list[Lead] = []  # of those who were interrupted, to be ended
        self._keeper: threading.Lock | None = None  # the gate of the one who waits for others
        self._applies: int | None = None  # the thread that applies calls
        self._woken = Batch()  # the last one: those who wait for it are being woken
        self._expected = 1  # callers that may come before the open batch is committed
        self._took = 0.0  # seconds, the last commit
        self.turn = threading.Lock()
        """Held by the one who uses the database."""
        self._wanted = closed_gate()  # it is opened for a commit that nobody waits for
        self._untold: list[Batch] = []  # those of which someone is to be told
        self._thread: threading.Thread | None = None
        self._is_stopped = False
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

    @property
    def is_broken(self) -> bool:
        """Whether one who led was interrupted, and nobody has ended yet what it has left."""
        leader = self._leader
        return leader is not None and (leader.is_over or bool(self._broken))

    @property
    def may_queue(self) -> bool:
        """Whether another thread may apply a call of this one."""
        return get_ident() != _MAIN

    # --- Adding ---------------------------------------------------------------------------------

    def add(self, entry: Entry, text: str, size: int, notes: Notes = ()) -> Batch:
        """Append so many events to the open batch, and notes; the caller has locked the model."""
        with self._lock:
            _check_sound(entry)
            batch = self._open
            batch.added.append((entry, entry.length, size, text, notes, None))
            entry.length += size
            entry.newest = batch
            return batch

    def add_snapshot(self, entry: Entry, blob: bytes) -> None:
        """Append a snapshot of what a model is after all of its events so far."""
        with self._lock:
            _check_sound(entry)
            self._open.added.append((entry, entry.length, 0, "", (), blob))

    def add_note(self, name: str, body: bytes) -> Batch:
        """Append a note to the open batch."""
        with self._lock:
            self._open.notes.append((name, body))
            return self._open

    # --- Alone ----------------------------------------------------------------------------------

    def put(self, entry: Entry, text: str) -> Batch:
        """Commit one event here and now, where nobody else is at work; else ``add`` it.

        The caller has locked the model, and who wants to read it waits for the commit as well.
        Where this fails, nobody else is concerned, as nobody else has used the model since.
        """
        lead = Lead()
        try:
            with self._lock:
                is_busy = self._leader or self._calls or self._open.is_used or entry.is_stale
                if not is_busy:
                    self._leader = lead
            if is_busy:
                return self.add(entry, text, 1)
            with self.turn:
                begin = perf_counter()
                self._write_one(entry, text)
                self._took = perf_counter() - begin
            self._failures = 0
            self.commits += 1
            self.events += 1
            self._step_down(0)
        except BaseException as error:
            lead.is_over = entry.is_stale = True  # first of all, as another interrupt may come
            if isinstance(error, Exception) and self._leader is lead:
                self._count_failure(error)
                self._step_down(0)
                raise lost(error) from error
            self._stir()
            raise
        return COMMITTED

    # --- Waiting --------------------------------------------------------------------------------

    def do(self, call: Queued) -> None:
        """Return when a call is committed, refused or left to the caller."""
        if self._applies == get_ident():  # from within another call
            call.is_left = True
            return
        lead = Lead(call.gate)
        try:
            with self._lock:
                self._calls.append(call)
                leads = self._is_led_by(lead, is_late=False)
            if leads or self._sleep(call, lead):
                self._lead(lead)
            elif call.batch is not None:
                self._wake_next(call.batch)
        except BaseException:
            lead.is_over = True
            with self._lock:
                if call in self._calls:
                    self._calls.remove(call)
            self._stir()
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
        """Return when a batch is done, by this thread if it is the one that leads."""
        if self._applies == get_ident():  # from within a call: nobody else can lead
            within = Lead()
            self._commit(within)
            if within.batch is not None:
                self._wake_next(within.batch)
            return
        gate = closed_gate()
        lead = Lead(gate)
        try:
            with self._lock:
                if batch.is_done:
                    return
                batch.waiting.append(gate)
                leads = self._is_led_by(lead, is_late=False)
            if leads or self._sleep(batch, lead):
                with suppress(ValueError):
                    batch.waiting.remove(gate)
                self._lead(lead)
            else:
                self._wake_next(batch)
        except BaseException:
            lead.is_over = True
            with suppress(ValueError):
                batch.waiting.remove(gate)
            self._stir()
            raise

    def _sleep(self, wanted: Batch | Queued, lead: Lead) -> bool:
        """Return when something is done, or the caller is to lead; whether it is to lead."""
        gate = lead.gate
        assert gate is not None
        while True:
            patience = self._patience() if self._keeper is gate else _LOOK
            is_late = not gate.acquire(timeout=patience)
            if wanted.is_done:
                return False
            with self._lock:
                if not wanted.is_done and self._is_led_by(lead, is_late):
                    return True

    def _patience(self) -> float:
        """Return how long to wait for those who shared the last commits."""
        missing = self._expected - len(self._calls) - len(self._open.waiting)
        return min(max(_PATIENCE * self._took, _EACH * missing), _LONGEST)

    def _is_led_by(self, lead: Lead, is_late: bool) -> bool:
        """Tell whether the caller is to lead now; the lock is held.

        It is if nobody does, and all are here who shared the last commits, or it ``is_late``.
        """
        before = self._leader
        if before is not None and not before.is_over:
            return False
        here = len(self._calls) + len(self._open.waiting)
        if not is_late and (here < self._expected or self._woken.waiting):
            if self._keeper is None:
                self._keeper = lead.gate
            return False
        if before is not None:
            self._broken.append(before)
        self._leader, self._keeper = lead, None
        return True

    def _wake_next(self, batch: Batch) -> None:
        """Wake one of those who wait for a batch that is done, who wakes the next.

        After the last of them, see that one of those who wait for the next batch leads.
        """
        try:
            gate = batch.waiting.pop(0)
        except IndexError:
            self._call_keeper()
        else:
            open_gate(gate)

    def _call_keeper(self) -> None:
        """Have one of those who wait see whether to lead, where nobody is about to."""
        if self._leader is None and self._keeper is None:
            with self._lock:
                gates = [call.gate for call in self._calls[:1]] or self._open.waiting[:1]
            for gate in gates:
                open_gate(gate)

    def _stir(self) -> None:
        """Have all who wait look for themselves: one who did something for them did not end it.

        They would also do so by and by.
        """
        with self._lock:
            gates = [call.gate for call in self._calls] + self._open.waiting
            leader = self._leader
            if leader is not None and leader.batch is not None:
                gates += leader.batch.waiting
            self._keeper = None
        for gate in gates:
            open_gate(gate)

    # --- Leading --------------------------------------------------------------------------------

    def _lead(self, lead: Lead) -> None:
        """Apply the calls that wait, commit the open batch, and lead no more."""
        if self._broken:
            self._repair()
        if self._calls and get_ident() != _MAIN:
            self._apply_all(lead)
        self._commit(lead)
        self._step_down(0 if lead.batch is None else len(lead.batch.waiting))
        if lead.batch is not None:
            self._woken = lead.batch
            self._wake_next(lead.batch)

    def _step_down(self, others: int) -> None:
        """Lead no more, after a commit that so many ``others`` shared."""
        with self._lock:
            later = len(self._open.waiting) + len(self._calls)
            self._expected = 1 + others + later
            self._leader = None
        if later and not others:
            self._call_keeper()

    def _apply_all(self, lead: Lead) -> None:
        """Apply the calls that wait; who was refused is woken at once."""
        with self._lock:
            lead.calls, self._calls = self._calls, []
        self._applies = get_ident()
        try:
            for call in lead.calls:
                call.run()
                if call.gate is lead.gate:
                    continue
                if call.batch is None:
                    open_gate(call.gate)
                else:
                    call.batch.waiting.append(call.gate)
        finally:
            self._applies = None
        lead.calls = []

    def _commit(self, lead: Lead) -> None:
        """Write the open batch, and say what became of it."""
        fresh = Batch()
        with self.turn:
            with self._lock:
                if not self._open.is_used:
                    return
                lead.batch, self._open = self._open, fresh
            batch = lead.batch
            parts, notes = batch.parts(), batch.all_notes()
            error: Exception | None = None
            if parts or notes:
                begin = perf_counter()
                try:
                    self._write(parts, notes)
                except Exception as raised:
                    error = raised
                self._took = perf_counter() - begin
        if error is not None:
            self._count_failure(error)
            self._fail(batch, error)
            return
        batch.is_done = True
        batch.added = []  # models know their newest batch, and it need not know them, or keep all
        if parts or notes:
            self._failures = 0
            self.commits += 1
            self.events += sum(part.size for part in parts.values())

    def _count_failure(self, error: Exception) -> None:
        self._failures += 1
        if self._failures >= _FAILURES:
            rest = min(_FIRST_REST * 2.0 ** (self._failures - _FAILURES), _LONGEST_REST)
            self._rests_until, self._reason = monotonic() + rest, str(error)

    def fail(self, error: Exception) -> None:
        """Let all fail that is not being committed yet; the models of it are to be built anew."""
        fresh = Batch()
        with self._lock:
            batch, self._open = self._open, fresh
        _mark(batch, error)
        self._wake_next(batch)

    def _fail(self, batch: Batch, error: Exception) -> None:
        """Let a batch fail, and what came later, as it may stand on what is lost.

        Who waits for the batch is not told yet. What comes later fails first: one that was
        interrupted in here is found by the batch that is not done.
        """
        batch.spoil()  # so that nothing more is added that stands on it
        self.fail(error)
        _mark(batch, error)

    def _repair(self) -> None:
        """End what those have left who were interrupted while they led; what is done stays done.

        One who is interrupted in here leaves it to the next.
        """
        while self._broken:
            lead = self._broken[-1]
            begun = [call for call in lead.calls if call.is_begun and not call.is_applied]
            if begun:  # nobody knows whether they are in the open batch
                self.fail(NotCommitted("the one who applied them was interrupted"))
            with self._lock:
                waiting = [call for call in lead.calls if not call.is_begun]
                self._calls[:0] = waiting
                lead.calls = begun
            for call in begun:
                call.give_up()
                open_gate(call.gate)
            batch = lead.batch
            if batch is not None:
                if not batch.is_done:
                    self._find(batch)
                self._wake_next(batch)
            self._broken.remove(lead)

    def _find(self, batch: Batch) -> None:
        """Say what became of a batch that was being committed: the log tells."""
        try:
            with self.turn:
                is_written = self._is_written(batch.parts())
        except Exception:
            is_written = False
        if is_written:
            batch.is_done = True
        else:
            self._fail(batch, NotCommitted("the one who committed it was interrupted"))

    # --- Not waiting ----------------------------------------------------------------------------

    def then(self, batch: Batch, after: After, within: float = 0.0) -> None:
        """Have ``after`` called when a batch is committed or has failed.

        A thread of the store's own does it, and commits what nobody waits for; or the caller, here
        and now, where nobody else is at it, there is no snapshot to write, and the last commit took
        less than ``within`` seconds and did not fail. What ``after`` raises is logged.
        """
        with self._lock:
            is_quick = self.is_idle and self._took < within and not batch.after
            is_quick = is_quick and not self._failures and not self.turn.locked()
            is_quick = is_quick and not batch.has_snapshot
            is_here = batch.is_done or is_quick or self._is_stopped  # then there is no other thread
            if not is_here:
                batch.after.append(after)
                self._untold.append(batch)
        if not is_here:
            self._have_thread()
            open_gate(self._wanted)
            return
        if not batch.is_done:
            self._wait(batch)
        call_after(after, batch.error)

    def _have_thread(self) -> None:
        """Start the thread of the store's own where there is none."""
        with self._lock:
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="belated-store", daemon=True)
                thread.start()
                self._thread = thread

    def _work(self) -> None:
        """Commit what nobody waits for, and tell those who want to know."""
        is_stopped = False
        while not is_stopped:
            self._wanted.acquire()  # once for all that asked meanwhile
            is_stopped = self._is_stopped  # all that asked before that are in what is settled now
            with suppress(Exception):  # which those who asked are told
                self.settle_all()
            self._tell()
        open_gate(self._wanted)  # for another such thread, if starting one was interrupted

    def _tell(self) -> None:
        """Tell what became of batches that are done."""
        with self._lock:
            told = [batch for batch in self._untold if batch.is_done]
            self._untold = [batch for batch in self._untold if not batch.is_done]
        for batch in told:
            while batch.after:
                call_after(batch.after.pop(0), batch.error)

    def stop(self) -> None:
        """Let the thread that commits what nobody waits for come to its end."""
        with self._lock:
            self._is_stopped = True
            thread = self._thread
        open_gate(self._wanted)
        if thread is not None and thread is not threading.current_thread():
            thread.join()


def _check_sound(entry: Entry) -> None:
    if entry.is_stale:
        raise NotCommitted("the store could not be written meanwhile; nothing has changed")


def _mark(batch: Batch, error: Exception) -> None:
    """Let a batch fail, and have the models of it built anew."""
    batch.spoil()
    batch.error = error
    batch.is_done = True
    batch.added = []
