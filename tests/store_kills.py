"""Kill a process that writes a store, again and again, and look at what is left.

    python store_kills.py FOLDER ROUNDS SEED

A child writes from several threads, and notes every event in a file once it was answered. The
parent kills it (SIGKILL) at a random moment, opens the store, and demands that every noted event is
in the log, none twice, and that the state is the one that the whole log leads to.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import belated as bl
from belated.store.events import (
    PREDICT,
    decode_events,
    key_of,
    unseal_row,
)
from belated.store.recovery import recover_model

THREADS = 4


def spec() -> bl.LinearModel:
    """Return what the children use."""
    return bl.LinearModel("squared", bits=6, wait=None)


def child(path: Path, noted: Path, run: int) -> None:
    """Write until killed."""
    store = bl.open(path, snapshot_every=40)
    model = store.model("model", spec())
    notes = os.open(noted, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def work(thread: int) -> None:
        for i in range(10**9):
            key = f"{run}-{thread}-{i}"
            model.predict({"thread": float(thread), "i": i % 5}, key=key)
            os.write(notes, f"p {key}\n".encode())
            if i % 3:
                model.observe(key, float(i % 7))
                os.write(notes, f"o {key}\n".encode())
            if i % 4 == 3:
                keys = [f"{key}-{row}" for row in range(3)]
                model.predict_many([{"row": row} for row in range(3)], keys=keys)
                os.write(notes, "".join(f"p {each}\n" for each in keys).encode())
                model.observe_many(keys[1:], [1.0, 2.0])
                os.write(notes, "".join(f"o {each}\n" for each in keys[1:]).encode())

    threads = [threading.Thread(target=work, args=(t,)) for t in range(THREADS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def killed(path: Path, noted: Path, run: int, after: float) -> None:
    """Let a child write for a while."""
    process = os.fork()
    if process == 0:
        try:
            child(path, noted, run)
        finally:
            os._exit(1)
    while not noted.exists():
        time.sleep(0.001)
        assert os.waitpid(process, os.WNOHANG) == (0, 0), "the child came to its end by itself"
    time.sleep(after)
    os.kill(process, signal.SIGKILL)
    assert os.waitpid(process, 0)[1] == signal.SIGKILL


def logged(store: Any, about: Any, first: int) -> list[str]:
    """Return what the log says, as the children note it."""
    found = []
    for row in store._database.rows(about.number, first):
        for event in decode_events([unseal_row(row)]):
            found.append(f"{'p' if event[0] == PREDICT else 'o'} {key_of(event)}")
    return found


def is_refused(path: Path) -> bool:
    """Tell whether another process may not open the store now."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            bl.open(path)
        except bl.errors.StoreInUse:
            code = 7
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 7


def main(folder: str, rounds: str, seed: str) -> None:
    """Kill so often."""
    draw = random.Random(int(seed))
    path, before, events = Path(folder) / "killed.db", 0, 0
    for run in range(int(rounds)):
        noted = Path(folder) / f"noted-{run}"
        killed(path, noted, run, draw.uniform(0.0, 0.03))
        with bl.open(path) as store:
            model = store.model("model", spec())
            about = store._models["model"]._about
            found = logged(store, about, before)
            assert len(set(found)) == len(found), f"twice in the log, run {run}"
            lost = set(noted.read_text().splitlines()) - set(found)
            assert not lost, f"lost in run {run}: {lost}"
            before = model.history.events
            events += len(found)
            if run % 8 == 0:
                blob = model.snapshot()
                database: Any = store._database
                database._open().execute("DELETE FROM snapshots")
                whole = recover_model(database, about, None)
                assert (whole.saved, whole.length) == (0, before)
                assert whole.model.snapshot() == blob, f"another state, run {run}"
            if run == 0:
                assert is_refused(path)
        noted.unlink()
    print(f"{rounds} kills, {events} events, none lost")


if __name__ == "__main__":
    main(*sys.argv[1:])
