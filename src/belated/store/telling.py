"""Telling those who do not wait what became of their batch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from belated.store.batches import After, Batch, closed_gate, open_gate, safely

_LOOK = 0.2  # seconds after which it is looked again what became of a batch that is not done


class Teller:
    """A thread of the store's own, which commits what nobody waits for and tells what became of it.

    ``settle_all`` returns when all batches that there are now are done. As one is marked together
    with those that fail with it, all that were asked for before are done then too. Where it raises
    instead, the thread looks again.
    """

    def __init__(self, settle_all: Callable[[], None]) -> None:
        self._settle_all = settle_all
        self._lock = threading.Lock()
        self._wanted = closed_gate()
        self._untold: list[Batch] = []
        self._is_stopped = False
        self.thread: threading.Thread | None = None
        """None until it is needed."""

    def ask(self, batch: Batch, after: After) -> bool:
        """Have ``after`` called when a batch is done; False after the end, when nobody can."""
        with self._lock:
            if self._is_stopped:
                return False
            if self.thread is None:
                thread = threading.Thread(target=self._work, name="belated-store", daemon=True)
                thread.start()
                self.thread = thread
            batch.after.append(after)
            self._untold.append(batch)
        open_gate(self._wanted)
        return True

    def _work(self) -> None:
        is_stopped = False
        while not is_stopped:
            self._wanted.acquire(timeout=_LOOK if self._untold else -1)  # once for all that asked
            is_stopped = self._is_stopped  # all that asked before that are in what is settled now
            with suppress(Exception):
                self._settle_all()
            self._tell()
        open_gate(self._wanted)  # for another such thread, if starting one was interrupted

    def _tell(self) -> None:
        """Tell what became of batches that are done."""
        with self._lock:
            told = [batch for batch in self._untold if batch.is_done]
            self._untold = [batch for batch in self._untold if not batch.is_done]
        for batch in told:
            while batch.after:
                safely(batch.after.pop(0), batch.error)

    def stop(self) -> None:
        """Let the thread come to its end."""
        with self._lock:
            self._is_stopped = True
            thread = self.thread
        open_gate(self._wanted)
        if thread is not None and thread is not threading.current_thread():
            thread.join()
