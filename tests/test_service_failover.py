"""Servers that share a database: another one takes over the models of one that is gone."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="uvicorn is not installed")

from postgres_server import Server as Postgres
from postgres_server import running
from server_process import Response, ServerProcess
from service_calls import LINEAR
from tcp_proxy import Proxy

LATEST = 60.0  # seconds, far more than a takeover takes
LONG_GONE = 8.0  # seconds after which the connections of a machine are dead
PREDICT = "/models/m/predict"
ROW = {"features": {"x": 1.0}}


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    """Return a database."""
    with running() as found:
        yield found


@pytest.fixture
def url(postgres: Postgres) -> Iterator[str]:
    """Return the address of an empty database."""
    yield postgres.url
    postgres.execute("DROP SCHEMA IF EXISTS belated CASCADE")


class Pair:
    """Two servers of one database: the first owns the model ``m``."""

    def __init__(
        self, url: str, owner_url: str, held: ExitStack, machine: Machine | None = None
    ) -> None:
        place = () if machine is None else ("--host", machine.there)
        prefix = () if machine is None else machine.prefix
        self.owner = held.enter_context(ServerProcess("--store", owner_url, *place, prefix=prefix))
        body = {"name": "m", "kind": "LinearModel", "settings": LINEAR}
        made = self.owner.call("POST", "/models", body)
        assert made.status == 201, made
        place = () if machine is None else ("--host", machine.here)
        self.other = held.enter_context(
            ServerProcess("--store", url, *place, token=self.owner.token)
        )
        wait_until_ready(self.other)
        self.acknowledged: list[str] = []
        """Tickets of predictions that got one."""
        self.unknown = 0
        """Predictions without a response, which may count or not."""

    def predict(self, server: ServerProcess, timeout: float = LATEST, **headers: str) -> Response:
        """Predict, and note what was said."""
        response = server.call("POST", PREDICT, ROW, timeout, **headers)
        if response.status == 200:
            self.acknowledged.append(response.body["ticket"])
        elif response.status in (0, 504):
            self.unknown += 1
        else:
            assert response.status == 503, response
        return response

    def take_over(self) -> float:
        """Ask the other server until it predicts; return how many seconds that takes."""
        begin = time.monotonic()
        while self.predict(self.other).status != 200:
            assert time.monotonic() - begin < LATEST
            time.sleep(0.05)
        return time.monotonic() - begin

    def check(self) -> None:
        """Check that what was acknowledged counts, once, and that what was refused does not."""
        rounds = self.other.call("GET", "/models/m/report").body["rounds"]
        assert len(set(self.acknowledged)) == len(self.acknowledged)
        assert 0 <= rounds - len(self.acknowledged) <= self.unknown


def wait_until_ready(server: ServerProcess, wanted: int = 200) -> float:
    """Wait until a server is ready, or not; return how many seconds that takes."""
    begin = time.monotonic()
    while server.call("GET", "/ready").status != wanted:
        assert time.monotonic() - begin < LATEST
        time.sleep(0.05)
    return time.monotonic() - begin


def killed(pair: Pair) -> float:
    """Kill the owner."""
    pair.owner.end(signal.SIGKILL)
    return pair.take_over()


def stopped(pair: Pair) -> float:
    """Stop the owner while clients predict, and let it go on afterwards."""
    pair.owner.send_signal(signal.SIGSTOP)
    with ThreadPoolExecutor(4) as pool:
        late = [pool.submit(pair.predict, pair.owner, 1.0) for _ in range(2)]
        forwarded = [pool.submit(pair.predict, pair.other) for _ in range(2)]
        seconds = pair.take_over()
        assert all(each.result().status == 200 for each in forwarded)
        assert all(each.result().status == 0 for each in late)
    pair.owner.send_signal(signal.SIGCONT)
    begin = time.monotonic()
    while pair.predict(pair.owner).status != 200:  # it forwards, once it knows
        assert time.monotonic() - begin < LATEST
        time.sleep(0.05)
    assert pair.owner.call("GET", "/models/m/report").body["rounds"] >= len(pair.acknowledged)
    wait_until_ready(pair.owner)
    return seconds


@pytest.mark.parametrize("accident", [killed, stopped])
def test_another_server_takes_over(url: str, accident: Callable[[Pair], float]) -> None:
    with ExitStack() as held:
        pair = Pair(url, url, held)
        for server in (pair.owner, pair.other):
            assert pair.predict(server).status == 200
        accident(pair)
        pair.check()


@pytest.mark.slow
def test_servers_that_stood_still_together_go_on(url: str) -> None:
    """The database has ended the sessions of both; one of them takes the model again."""
    with ExitStack() as held:
        pair = Pair(url, url, held)
        assert pair.predict(pair.owner).status == 200
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for server in (pair.other, pair.owner):
                server.send_signal(number)
            time.sleep(LONG_GONE)
        assert pair.predict(pair.owner).status == 200
        pair.check()


def swallowed(pair: Pair, proxy: Proxy) -> float:
    """Let the owner lose its network to the database."""
    proxy.swallow()
    with ThreadPoolExecutor(4) as pool:
        pool.submit(pair.predict, pair.owner)  # a commit is under way
        for _ in range(3):  # so many ask that the other server never forgets who the owner was
            pool.submit(pair.take_over)
        seconds = pair.take_over()
        wait_until_ready(pair.owner, 503)
    assert pair.predict(pair.owner).status == 503
    return seconds


def reset(pair: Pair, proxy: Proxy) -> float:
    """Reset the connections of the owner, which the database does not hear of."""
    proxy.reset()
    begin = time.monotonic()
    while pair.predict(pair.owner).status != 200:
        assert time.monotonic() - begin < LATEST
        time.sleep(0.05)
    return time.monotonic() - begin


@pytest.mark.slow
@pytest.mark.parametrize("accident", [swallowed, reset])
def test_a_server_without_its_network(
    postgres: Postgres, url: str, accident: Callable[[Pair, Proxy], float]
) -> None:
    with ExitStack() as held:
        proxy = held.enter_context(Proxy(postgres.folder))
        pair = Pair(url, proxy.url, held)
        for server in (pair.owner, pair.other):
            assert pair.predict(server).status == 200
        accident(pair, proxy)
        proxy.forward()
        wait_until_ready(pair.owner)
        assert pair.predict(pair.owner).status == 200
        pair.check()


class Machine:
    """A network namespace, which stands for another machine behind a cable."""

    def __init__(self) -> None:
        number = os.getpid() % 250
        self.name, self._link = f"belated{number}", f"belated{number}"
        self.here, self.there = f"10.213.{number}.1", f"10.213.{number}.2"
        self.prefix = ("ip", "netns", "exec", self.name)
        inner = f"{self._link}n"
        run("ip", "netns", "add", self.name)
        run("ip", "link", "add", self._link, "type", "veth", "peer", inner, "netns", self.name)
        run("ip", "address", "add", f"{self.here}/24", "dev", self._link)
        run("ip", "link", "set", self._link, "up")
        run(*self.prefix, "ip", "address", "add", f"{self.there}/24", "dev", inner)
        run(*self.prefix, "ip", "link", "set", inner, "up")

    def unplug(self) -> None:
        """Take the cable out: packets are lost, and nobody is told."""
        run("ip", "link", "set", self._link, "down")

    def plug(self) -> None:
        """Put the cable in again."""
        run("ip", "link", "set", self._link, "up")

    def remove(self) -> None:
        """Remove the machine and its cable."""
        run("ip", "link", "delete", self._link)
        run("ip", "netns", "delete", self.name)


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def machine() -> Iterator[Machine]:
    """Return another machine, where this process may make one."""
    try:
        found = Machine()
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no network namespace can be made: {error}")
    yield found
    found.remove()


def unplugged(pair: Pair, machine: Machine) -> float:
    """Unplug the machine of the owner while clients predict."""
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(pair.predict, each) for each in (pair.owner, pair.other)]
        machine.unplug()
        seconds = pair.take_over()
        time.sleep(LONG_GONE)
        machine.plug()
        for each in waiting:
            each.result()
    return seconds


@pytest.mark.slow
def test_a_server_whose_machine_is_unplugged(machine: Machine) -> None:
    with running() as postgres, ExitStack() as held:
        postgres.stop()
        postgres.start(machine.here)
        pair = Pair(postgres.url, f"postgresql://postgres@{machine.here}/postgres", held, machine)
        for server in (pair.owner, pair.other):
            assert pair.predict(server).status == 200
        unplugged(pair, machine)
        wait_until_ready(pair.owner)
        assert pair.predict(pair.owner).status == 200
        pair.check()


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 8.0])
def test_a_server_without_its_database_ends_on_sigterm(
    postgres: Postgres, url: str, seconds: float
) -> None:
    with Proxy(postgres.folder) as proxy, ExitStack() as held:
        pair = Pair(url, proxy.url, held)
        assert pair.predict(pair.owner).status == 200
        proxy.swallow()
        with ThreadPoolExecutor(3) as pool:
            waiting = [pool.submit(pair.predict, pair.owner) for _ in range(3)]
            time.sleep(seconds)
            assert pair.owner.end(signal.SIGTERM) == 0
            assert all(each.result().status != 200 for each in waiting)
        pair.take_over()
        pair.check()


@pytest.mark.slow
def test_an_owner_that_cannot_be_reached_is_no_unknown_outcome(url: str) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as deaf, ExitStack() as held:
        where = deaf.getsockname()
        for _ in range(4):  # so that the next connection waits
            full = held.enter_context(socket.socket())
            full.setblocking(False)
            full.connect_ex(where)
        advertised = f"http://127.0.0.1:{where[1]}"
        owner = held.enter_context(ServerProcess("--store", url, "--advertise", advertised))
        body = {"name": "m", "kind": "LinearModel", "settings": LINEAR}
        assert owner.call("POST", "/models", body).status == 201
        other = held.enter_context(ServerProcess("--store", url, token=owner.token))
        wait_until_ready(other)
        response = other.call("POST", PREDICT, ROW)
        assert (response.status, response.code) == (503, "owner_gone")
        assert owner.call("GET", "/models/m/report").body["rounds"] == 0


def test_a_forwarded_request_that_is_too_old_is_refused(url: str) -> None:
    with ExitStack() as held:
        pair = Pair(url, url, held)
        call = pair.owner.call
        body: Any
        for path, body in ((PREDICT, ROW), ("/models/m/tick", {}), ("/models/m/rebuild", {})):
            response = call("POST", path, body, Belated_Forwarded=f"{time.time() - 60.0}")
            assert (response.status, response.code) == (503, "too_late")
        assert call("POST", PREDICT, ROW, Belated_Forwarded="nonsense").status == 503
        assert call("GET", "/models/m/report").body["rounds"] == 0
        late = f"{time.time() + 60.0}"
        assert call("POST", PREDICT, ROW, Belated_Forwarded=late).status == 200
