"""Stores: durable events from one thread and from many, recovery, and memory of open tickets.

The disk is that of the folder for temporary files. Floors are SQLite by hand in the same run: one
row of as many bytes per commit, and threads that share such commits and wake each other one by one.
Recovery is one thread at work, and is measured in processor seconds, as machines are shared.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import belated as bl
from belated.store import Store, StoredLinear
from benchmarks.timing import Result, compared

EVENTS = 1_000_000
OPEN = 1_000_000
ROW = b"x" * 52  # what an event has in the log, with its head
MEMORY = "/dev/shm"  # a disk that takes no time, where there is one: what is left is Python
SINGLES = 200
PER_THREAD = 100


def spec() -> bl.LinearModel:
    """Return the model that is stored."""
    return bl.LinearModel("logistic", silence=0, bits=18)


def features(visit: int) -> dict[str, Any]:
    """Return a row: a word, a number and a whole number."""
    return {"campaign": f"spring{visit % 50}", "price": visit % 97 * 0.5, "hour": visit % 24}


@contextmanager
def stored(disk: str | None = None) -> Iterator[tuple[Store, StoredLinear]]:
    """Return a new store with a model."""
    with (
        tempfile.TemporaryDirectory(dir=disk) as folder,
        bl.open(Path(folder) / "shop.db") as store,
    ):
        model = store.model("cvr", spec())
        yield store, model


@contextmanager
def by_hand(disk: str | None = None) -> Iterator[Callable[[], None]]:
    """Return a commit of one row with SQLite."""
    with tempfile.TemporaryDirectory(dir=disk) as folder:
        connection = sqlite3.connect(
            Path(folder) / "bare.db", isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE events (number INTEGER PRIMARY KEY, events BLOB)")

        def commit() -> None:
            connection.execute("INSERT INTO events (events) VALUES (?)", (ROW,))

        yield commit
        connection.close()


def pairs(model: StoredLinear, visits: Iterator[int], rounds: int) -> None:
    """Predict and observe, one after the other."""
    for _ in range(rounds):
        visit = next(visits)
        key = f"click-{visit}"
        model.predict(features(visit), key=key)
        model.observe(key, visit % 2)


def in_threads(threads: int, work: Callable[[], None]) -> None:
    """Run the same in many threads."""
    all_of_them = [threading.Thread(target=work) for _ in range(threads)]
    for each in all_of_them:
        each.start()
    for each in all_of_them:
        each.join()


class Shared:
    """Commits that threads share, by hand: the least that a group commit can be in Python.

    The last to come commits for all. Then each wakes the next: all woken at once would fight for
    the interpreter lock, and take up to twice as long.
    """

    def __init__(self, commit: Callable[[], None], threads: int) -> None:
        self._commit, self._threads = commit, threads
        self._waiting: list[threading.Lock] = []
        self._done: list[threading.Lock] = []

    def event(self) -> None:
        """Return after a commit that all threads share."""
        gate = threading.Lock()
        gate.acquire()
        self._waiting.append(gate)
        if len(self._waiting) < self._threads:
            gate.acquire()
        else:
            mine, self._waiting = self._waiting[:-1], []
            self._commit()
            self._done = mine
        if self._done:
            self._done.pop(0).release()


def one_thread() -> Result:
    """Return the time of an event beside that of a bare commit."""
    with stored() as (_, model), by_hand() as commit:
        visits = count()

        def bare() -> None:
            for _ in range(2 * SINGLES):
                commit()

        return compared(
            "durable event, one thread, against a bare commit",
            lambda: pairs(model, visits, SINGLES),
            bare,
            target=1.4,
            per=2 * SINGLES / 1e6,
            unit="us/event",
            repeats=11,
        )


def threads(number: int, disk: str | None = None) -> list[Result]:
    """Return the time of an event in many threads beside threads that only share commits."""
    where = "" if disk is None else ", in memory"
    with stored(disk) as (store, model), by_hand(disk) as commit:
        visits, shared = count(), Shared(commit, number)

        def share_commits() -> None:
            for _ in range(2 * PER_THREAD):
                shared.event()

        beside = compared(
            f"durable event, {number} threads{where}, shared commits",
            lambda: in_threads(number, lambda: pairs(model, visits, PER_THREAD)),
            lambda: in_threads(number, share_commits),
            target=float("inf"),
            per=2 * PER_THREAD * number / 1e6,
            unit="us/event",
            repeats=7,
        )
        share = store.writer.commits / store.writer.events
    found = [beside]
    if number == 8:
        name = f"durable event, {number} threads{where}, against 20 us"
        found.append(against(name, beside.ours, 20.0, "us/event"))
        name = f"shared commit, {number} threads{where}, against 20 us"
        found.append(against(name, beside.floor, 20.0, "us/event", target=float("inf")))
    if number == 32:
        found.append(against(f"flushes per event, {number} threads", share, 1 / 8, "flushes"))
    return found


def event_loop() -> list[Result]:
    """Return the time of an event of 32 callers in an event loop, and how they share commits."""
    with stored() as (store, model), by_hand() as commit:
        visits = count()

        async def caller() -> None:
            for _ in range(PER_THREAD):
                visit = next(visits)
                key = f"click-{visit}"
                await model.begin("predict", features(visit), key=key).committed()
                await model.begin("observe", key, visit % 2).committed()

        async def callers() -> None:
            await asyncio.gather(*(caller() for _ in range(32)))

        def bare() -> None:
            for _ in range(2 * PER_THREAD):
                commit()

        beside = compared(
            "durable event, 32 callers in an event loop, against shared bare commits",
            lambda: asyncio.run(callers()),
            bare,
            target=float("inf"),
            per=2 * PER_THREAD * 32 / 1e6,
            unit="us/event",
            repeats=7,
        )
        share = store.writer.commits / store.writer.events
    return [beside, against("flushes per event, 32 callers in a loop", share, 1 / 25, "flushes")]


def many() -> Result:
    """Return the time of an event when 8 threads commit a hundred at a time."""
    with stored() as (_, model):
        visits = count()

        def work() -> None:
            for _ in range(5):
                calls: list[tuple[str, dict[str, Any]]] = []
                for _ in range(50):
                    visit = next(visits)
                    key = f"click-{visit}"
                    calls.append(("predict", {"row": features(visit), "key": key}))
                    calls.append(("observe", {"ticket": key, "answer": visit % 2}))
                model.many(calls)

        work()
        taken = timed(lambda: in_threads(8, work), 5) / (8 * 5 * 100) * 1e6
    return against("durable event, 8 threads, 100 a call", taken, 20.0, "us/event")


def batches() -> Result:
    """Return the time of a row in ``predict_many`` and ``observe_many`` with keys and without."""
    with stored(MEMORY if os.access(MEMORY, os.W_OK) else None) as (_, model):
        visits, labels = count(), [visit % 2 for visit in range(100)]

        def with_keys() -> None:
            numbers = [next(visits) for _ in range(100)]
            keys = [f"click-{visit}" for visit in numbers]
            model.predict_many([features(visit) for visit in numbers], keys=keys)
            model.observe_many(keys, labels)

        def without() -> None:
            rows = [features(next(visits)) for _ in range(100)]
            model.observe_many(model.predict_many(rows)[0], labels)

        for _ in range(20):
            with_keys()
            without()
        name = "durable row of a batch of 100, keys over none"
        return compared(
            name, with_keys, without, target=1.5, per=200 / 1e6, unit="us/row", repeats=101
        )


def recovery() -> list[Result]:
    """Return how long a million events take to be read, and a snapshot of them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shop.db"
        with bl.open(path, snapshot_every=10 * EVENTS) as store:
            model = store.model("cvr", spec())
            for begin in range(0, EVENTS // 2, 1000):
                calls: list[tuple[str, dict[str, Any]]] = []
                for visit in range(begin, begin + 1000):
                    key = f"click-{visit}"
                    calls.append(("predict", {"row": features(visit), "key": key}))
                    late = visit - 500
                    calls.append(
                        ("observe", {"ticket": f"click-{max(late, 0)}", "answer": visit % 2})
                    )
                model.many(calls)
            events = model.history.events
        with sqlite3.connect(path) as connection:
            connection.execute("DELETE FROM snapshots")
        connection.close()
        spec().replay([features(0)], [1.0], [0, ~0])  # compiled or loaded
        whole = opened(path)
        quick = opened(path)  # closing it has written a snapshot
    return [
        against("recovery from the log alone", whole / events * 1e6, 5.0, "us/event"),
        against("recovery of a million events, snapshot", quick, 2.0, "s"),
    ]


def opened(path: Path) -> float:
    """Return how many processor seconds it takes to open a store and its model."""
    begin = process_time()
    with bl.open(path) as store:
        store.model("cvr")
        return process_time() - begin


def memory(with_keys: bool) -> Result:
    """Return what an open ticket takes beside its row: 8 bytes for each of four entries."""
    model = bl.LinearModel("logistic", silence=0, bits=12, wait=None)
    row = {"a": 1.0, "b": 2.0, "c": "x"}
    model.predict(row)
    gc.collect()
    before = resident()
    for visit in range(OPEN):
        model.predict(row, key=f"click-{visit}" if with_keys else None)
    gc.collect()
    held = (resident() - before) / OPEN - 4 * 8
    what = "with a key of 12 letters" if with_keys else "without a key"
    return against(f"open ticket, {what}", held, 250.0, "bytes")


def resident() -> int:
    """Return the memory that this process has now, in bytes, less what malloc only keeps."""
    ctypes.CDLL(None).malloc_trim(0)
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmRSS")).split()[1])


def timed(work: Callable[[], None], repeats: int) -> float:
    """Return the median of some times."""
    times = []
    for _ in range(repeats):
        begin = perf_counter()
        work()
        times.append(perf_counter() - begin)
    return median(times)


def against(name: str, ours: float, limit: float, unit: str, target: float = 1.0) -> Result:
    """Return a figure that has a limit in the place of a floor."""
    return Result(name, ours / limit, target, ours, limit, unit, 0.0)


def main() -> list[Result]:
    """Return all figures."""
    return [
        one_thread(),
        *threads(8),
        *(threads(8, MEMORY) if os.access(MEMORY, os.W_OK) else ()),
        *threads(32),
        *event_loop(),
        many(),
        batches(),
        *recovery(),
        memory(with_keys=False),
        memory(with_keys=True),
    ]
