"""Group commit: many threads share one, and each is answered when what it did is on disk.

Events are appended to the open batch, in the order in which they were applied. One of those who
wait for it leads: it commits the batch for all. Those that come while it does find the next batch
open.

**Gathering.** Who shared the last commit is expected for the next one. The last of them to come
leads: it is awake. The first waits only so long for the others (``_patience``), and then leads with
those who are there; without that, threads would fall into groups that wait for each other.

**Waking.** After a commit the leader wakes one of those who wait, which wakes the next as the first
thing it does, and so on. All woken at once would fight for the interpreter lock; one by one, the
waking of each falls into the work of the one before.

**Applying.** Calls that wait for their commit anyway are applied by the leader, all in one go; the
others sleep meanwhile. Threads that apply their own would hand the interpreter lock to each other
at every event.

**What becomes of a batch.** Every batch is open, or the last one that was taken, or done. One who
leads takes the open one, writes it and marks it done, committed or failed, all in its turn with the
database. One that fails takes the open one with it, which may stand on it: both are marked in one
step, under the lock. One who loses the connection, in its turn, lets the open one fail; but where
the last one is not done yet, that is left to whoever marks it. So nobody ever sees a batch that is
done and one before it that is not. Who waits for a batch, or is to be told of it, goes by its mark
alone; to be woken says only that it is time to look.

**Faults and interrupts.** What a database or the system says of a write (``is_fault``) is a
failure. All else that comes out of it is an interrupt: the handler of a signal may raise anything
in the main thread, after any call. Nothing here relies on what an interrupted thread still does.
What is added to a batch, taken or marked is so in one step that is not divided, as no call is in
it. Who was interrupted says only that it leads no more (``Lead.is_over``); who comes to an end
otherwise steps down, and takes down nobody but itself. Who sleeps looks now and then (``_LOOK``)
whether what it waits for is done, and whether anyone leads; if not it leads itself. Who leads first
sees to the last batch: if it is not done, the log tells what became of it. Where that cannot be
asked, or another process may have written since, those who wait are told that nobody knows.
Calls of others are applied by threads that no signal interrupts, never by the main thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from threading import get_ident
from time import monotonic, perf_counter
from typing import TYPE_CHECKING

from belated.errors import NotCommitted, StoreError
from belated.store.batches import (
    After,
    Batch,
    Notes,
    Part,
    Teller,
    closed_gate,
    done,
    lost,
    open_gate,
    safely,
)

if TYPE_CHECKING:
    from belated.store.batches import Queued
    from belated.store.entry import Entry

_MOST = 3  # in a row, after which commits are tried only now and then
_FIRST_REST, _LONGEST_REST = 0.05, 2.0  # seconds between two tries
_PATIENCE = 0.5  # of what a commit takes, for those who have not come yet
_EACH = 50e-6  # seconds for each of them, as they are woken one by one
_LONGEST = 0.005  # seconds
_LOOK = 0.2  # seconds after which one who sleeps looks whether anyone leads
_MAIN = threading.main_thread().ident  # the one thread that signals interrupt


def is_fault(error: BaseException) -> bool:
    """Tell whether an error is what a database or the system says of a write that has failed.

    All else that comes out of a write is an interrupt, after which nobody knows what is on disk:
    the handler of a signal may raise anything. A time limit is mostly a ``TimeoutError``, which is
    an ``OSError`` as well; but those of the system have a number.
    """
    return isinstance(error, StoreError) or (isinstance(error, OSError) and error.errno is not None)


class Faults:
    """Commits in a row that have failed."""

    def __init__(self) -> None:
        self.count = 0
        """How many; 0 after one that did not."""
        self._rests_until = 0.0
        self._reason = ""

    def add(self, error: Exception) -> None:
        """Note one more."""
        self.count += 1
        if self.count >= _MOST:
            rest = min(_FIRST_REST * 2.0 ** (self.count - _MOST), _LONGEST_REST)
            self._rests_until, self._reason = monotonic() + rest, str(error)

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


class Lead:
    """The time for which one thread commits for all.

    ``is_over`` is all that an interrupted one has to say, and it says that nothing more comes from
    it. To set it is the first thing that is done where an interrupt is caught, and as no call comes
    before it, a second interrupt cannot come before it either.
    """

    __slots__ = ("gate", "is_mending", "is_over")

    def __init__(self, gate: threading.Lock | None = None) -> None:
        self.gate = gate
        """Where the thread itself has waited."""
        self.is_mending = False
        """Whether it has taken over from one who was interrupted."""
        self.is_over = False


class Writer:
    """Commits batches, one at a time and in order.

    ``write`` puts all parts of a batch on disk, or raises and leaves everything as it was.
    ``is_written`` tells whether a batch is on disk, where ``write`` was interrupted, or raises
    where nobody can know. ``check_process`` raises in a process that was forked from the one that
    writes.
    """

    def __init__(
        self,
        write: Callable[[dict[Entry, Part], dict[str, bytes]], None],
        is_written: Callable[[dict[Entry, Part], dict[str, bytes]], bool],
        check_process: Callable[[], None],
    ) -> None:
        self._write, self._is_written = write, is_written
        self._check_process = check_process
        self._lock = threading.Lock()  # around the open batch, and all below
        self._open = Batch()
        self._last = done()  # that was taken; those who wait for it are being woken when it is done
        self._calls: list[Queued] = []  # to be applied by the one who leads next
        self._leader: Lead | None = None
        self._keeper: threading.Lock | None = None  # the gate of the one who waits for others
        self._applies: int | None = None  # the thread that applies calls
        self._expected = 1  # callers that may come before the open batch is committed
        self._took = 0.0  # seconds, the last commit
        self.turn = threading.Lock()
        """Held by the one who uses the database."""
        self.teller = Teller(self.settle_all)
        """Commits what nobody waits for, and tells what became of it."""
        self.faults = Faults()
        """Commits in a row that failed."""
        self.commits = 0
        """Commits so far."""
        self.events = 0
        """Events in them."""

    @property
    def is_idle(self) -> bool:
        """Whether nobody leads, and the last commit was of one caller alone."""
        return self._leader is None and self._expected == 1

    @property
    def is_broken(self) -> bool:
        """Whether one who led was interrupted, and nobody has ended yet what it has left."""
        leader = self._leader
        return leader is not None and (leader.is_over or leader.is_mending)

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
        self._check_process()
        with self._lock:
            batch = self._open
        self._wait(batch)

    def _wait(self, batch: Batch) -> None:
        """Return when a batch is done, by this thread if it is the one that leads."""
        self._check_process()
        if self._applies == get_ident():  # from within a call: nobody else can lead
            self._wake_next(self._commit())
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
                self._keep_no_more(gate)
                return False
            with self._lock:
                if not wanted.is_done and self._is_led_by(lead, is_late):
                    return True

    def _keep_no_more(self, gate: threading.Lock) -> None:
        """Let another one wait for the others, where this one did: it goes."""
        if self._keeper is gate:
            with self._lock:
                if self._keeper is gate:
                    self._keeper = None

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
        if not is_late and (here < self._expected or self._last.waiting):
            if self._keeper is None:
                self._keeper = lead.gate
            return False
        lead.is_mending = before is not None
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
            gates = [call.gate for call in self._calls] + self._open.waiting + self._last.waiting
            self._keeper = None
        for gate in gates:
            open_gate(gate)

    # --- Leading --------------------------------------------------------------------------------

    def _lead(self, lead: Lead) -> None:
        """Apply the calls that wait, commit the open batch, and lead no more."""
        if not self._last.is_done:
            self._mend()
        if self._calls and get_ident() != _MAIN:
            self._apply_all(lead)
        batch = self._commit()
        self._step_down(lead, len(batch.waiting))
        self._wake_next(batch)

    def _step_down(self, lead: Lead, others: int) -> None:
        """Lead no more, after a commit that so many ``others`` shared."""
        with self._lock:
            later = len(self._open.waiting) + len(self._calls)
            if self._leader is lead:
                self._expected = 1 + others + later
                self._leader = None
        if later and not others:
            self._call_keeper()

    def _apply_all(self, lead: Lead) -> None:
        """Apply the calls that wait; who was refused is woken at once."""
        with self._lock:
            calls, self._calls = self._calls, []
        self._applies = get_ident()
        try:
            for call in calls:
                call.run()
                if call.gate is lead.gate:
                    continue
                if call.batch is None or call.batch.is_done:  # it was refused, or changes nothing
                    open_gate(call.gate)
                else:
                    call.batch.waiting.append(call.gate)
        finally:
            self._applies = None

    def _commit(self) -> Batch:
        """Write the open batch and mark it; return it."""
        if not self._last.is_done:
            self._mend()
        fresh, error = Batch(), None
        with self.turn:
            with self._lock:
                batch = self._last = self._open
                self._open = fresh
            parts, notes = batch.parts(), batch.all_notes()
            if parts or notes:
                begin = perf_counter()
                try:
                    self._write(parts, notes)
                except Exception as raised:
                    if not is_fault(raised):
                        raise
                    error = raised
                self._took = perf_counter() - begin
            if error is None:
                self._mark_committed(batch, parts, notes)
            else:
                self.faults.add(error)
                self._mark_failed(batch, error)
        return batch

    def _mend(self) -> None:
        """See what became of the last batch: the one who took it was interrupted. The log tells.

        One who is interrupted in here leaves it to the next.
        """
        batch = self._last
        parts, notes = batch.parts(), batch.all_notes()
        with self.turn:
            try:
                is_written = self._is_written(parts, notes)
                error = StoreError("the one who committed it was interrupted")
            except StoreError as raised:
                is_written = False
                error = NotCommitted(
                    "the one who committed it was interrupted, and the event may or may not count: "
                    f"what the model says later tells ({raised})",
                    is_unknown=True,
                )
            if is_written:
                self._mark_committed(batch, parts, notes)
            else:
                self._mark_failed(batch, error)
        self._wake_next(batch)

    def _mark_committed(
        self, batch: Batch, parts: dict[Entry, Part], notes: dict[str, bytes]
    ) -> None:
        events = sum(part.size for part in parts.values())
        commits = 1 if parts or notes else 0
        # No call from here on. Models know their newest batch, and it need not know them.
        batch.is_done, batch.added, batch.notes = True, [], []
        if commits:
            self.faults.count = 0
            self.commits += 1
            self.events += events

    def _mark_failed(self, batch: Batch, error: Exception) -> None:
        """Let a batch fail, and the open one; the models of both are to be built anew."""
        fresh = Batch()
        with self._lock:
            later = self._open
            batch.spoil()
            later.spoil()
            # No call from here on. An error is there before it is asked for.
            batch.error = later.error = error
            batch.is_done = later.is_done = True
            batch.added, later.added, batch.notes, later.notes = [], [], [], []
            self._open = fresh
        self._wake_next(later)

    def fail_open(self, error: Exception) -> None:
        """Let the open batch fail, and all that is added meanwhile; the caller has the turn.

        Where the last one is not done it has failed too, or will, and takes the open one with it.
        """
        if self._last.is_done:
            self._mark_failed(self._open, error)

    # --- Not waiting ----------------------------------------------------------------------------

    def then(self, batch: Batch, after: After) -> None:
        """Have ``after`` called when a batch is committed or has failed.

        A thread of the store's own does it, and commits what nobody waits for. What ``after``
        raises is logged.
        """
        self._check_process()
        if not batch.is_done:
            if self.teller.ask(batch, after):
                return
            self._wait(batch)
        safely(after, batch.error)


def _check_sound(entry: Entry) -> None:
    if entry.is_stale:
        raise NotCommitted("the store could not be written meanwhile; nothing has changed")
