"""A server that is killed under load: what it acknowledged is there, once, whatever was resent."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="uvicorn is not installed")

import belated as bl
from belated.errors import ServiceError

CLIENTS = 4
FEW = 1000


class Process:
    """``belated serve`` in a process of its own."""

    def __init__(self, folder: Path, port: int) -> None:
        command = [sys.executable, "-m", "belated", "serve", "--store", str(folder / "kill.db")]
        self._process = subprocess.Popen(
            [*command, "--port", str(port)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "BELATED_INTERPRETED": "1"},
        )
        assert self._process.stdout is not None
        late = threading.Timer(60.0, self._process.kill)  # then its output ends
        late.start()
        self.said = [self._process.stdout.readline() for _ in range(2)]
        late.cancel()
        assert all(self.said), "the server did not start"
        self.url = self.said[0].split()[-1]

    def end(self, how: signal.Signals) -> int:
        """Send a signal, and wait for the end."""
        self._process.send_signal(how)
        code = self._process.wait(timeout=60)
        assert self._process.stdout is not None
        self._process.stdout.close()
        return code


def load(url: str, token: str, name: int, told: dict[str, Any], stopping: threading.Event) -> None:
    """Predict and answer until told to stop, over every death of the server."""
    with bl.Client(url, token, retry_for=60.0, timeout=5.0) as client:
        model = client.model("value")
        place = 0
        while not stopping.is_set():
            key = f"{name}-{place}"
            place += 1
            try:
                told[key] = model.predict({"x": place % 5}, key=key).ticket
                if place % 2:
                    assert model.observe(key, 1.0)
                    told[key] = None
            except ServiceError as error:
                told[f"{key}-error"] = str(error)
                return


def more(told: dict[str, Any], count: int) -> None:
    """Wait until so many more were told."""
    target, until = len(told) + count, time.monotonic() + 60.0
    while len(told) < target:
        assert time.monotonic() < until, "nothing is answered"
        assert not {key: said for key, said in list(told.items()) if key.endswith("error")}
        time.sleep(0.005)


def snapshots(folder: Path) -> list[Any]:
    """Return the snapshots that the store has."""
    with closing(sqlite3.connect(folder / "kill.db")) as database:
        return database.execute("SELECT * FROM snapshots").fetchall()


@pytest.mark.parametrize("kills", [1, pytest.param(30, marks=pytest.mark.slow)])
def test_acknowledged_events_survive_kills_and_none_is_there_twice(
    tmp_path: Path, kills: int
) -> None:
    rng = random.Random(5)
    server = Process(tmp_path, 0)
    token, port = server.said[1].split()[-1], int(server.url.rpartition(":")[2])
    with bl.Client(server.url, token) as client:
        client.create("value", "LinearModel", bits=8, wait=None)
    told: dict[str, Any] = {}
    stopping = threading.Event()
    threads = [
        threading.Thread(target=load, args=(server.url, token, name, told, stopping))
        for name in range(CLIENTS)
    ]
    for thread in threads:
        thread.start()
    for _ in range(kills):
        more(told, rng.randrange(8, 40))
        assert server.end(signal.SIGKILL) == -signal.SIGKILL
        server = Process(tmp_path, port)
    more(told, 8)
    stopping.set()
    for thread in threads:
        thread.join()
    with bl.Client(server.url, token) as client:  # so much that a store saves it when it is closed
        client.model("value").many("predict", [{"features": {"x": 1.0}}] * FEW)
    before = snapshots(tmp_path)
    assert server.end(signal.SIGTERM) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"kill.db", "kill.db.lock"}  # and no log
    assert snapshots(tmp_path) != before
    assert not [key for key in told if key.endswith("error")]
    with bl.open(tmp_path / "kill.db") as store:
        model = store.model("value")
        assert model.rounds == len(told) + FEW
        assert model.report().observed == sum(each is None for each in told.values())
        for key, ticket in told.items():
            if ticket is not None:
                assert model.ticket(key) == ticket
        again = store.rebuild("value", bl.LinearModel("squared", bits=8, wait=None))
        assert again.snapshot() == model.snapshot()
