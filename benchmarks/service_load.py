"""A server in a process of its own, and clients: as fast as they can, or at random times.

``python -m benchmarks.service_load ours h11`` serves models; ``floor`` in the place of ``ours``
serves a handler that parses the same bodies and answers the same JSON, on the same server library
with the same settings.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import select
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import accumulate
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, NamedTuple

import msgspec

from belated.service import Limits, Server, Settings
from belated.service.run import config

CONNECTIONS = 32
SAID = {"outcome": "applied", "ticket": "123456.c29tZXRoaW5n-xyz", "value": 0.12345678901234}


class Where(NamedTuple):
    """Where a server is."""

    port: int
    token: str
    process: int

    def used(self) -> float:
        """Return the processor seconds that the server has used, in all of its threads."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def floor(scope: Any, receive: Any, send: Any) -> None:
    """Parse a body, and answer what a model would."""
    if scope["type"] == "lifespan":
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    body = msgspec.json.decode((await receive())["body"])
    said = {"items": [SAID] * len(body["items"])} if "items" in body else SAID
    content = msgspec.json.encode(said)
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(content))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def serve(which: str, parser: Any) -> None:
    """Serve until killed, after saying where."""
    if which == "ours":
        with tempfile.TemporaryDirectory() as folder:
            limits = Limits(open=10**8)
            told = Settings(store=Path(folder) / "b.db", port=0, parser=parser, limits=limits)
            server = Server(told)
            print(server.port, server.token, flush=True)
            server.run()
        return
    import uvicorn

    listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
    print(listening.getsockname()[1], "none", flush=True)
    uvicorn.Server(config(floor, Settings(parser=parser))).run([listening])


@contextmanager
def serving(which: str, parser: str = "h11") -> Iterator[Where]:
    """Run a server in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.service_load", which, parser]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        port, token = process.stdout.readline().split()
        yield Where(int(port), token, process.pid)
    finally:
        process.terminate()
        process.wait(timeout=60)
        process.stdout.close()


def request(where: Where, path: str, body: Any) -> bytes:
    """Return the bytes of a request."""
    content = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {where.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


class _Wire(asyncio.Protocol):
    """One connection: sends the next request when the last one is answered."""

    def __init__(self, ask: Callable[[], bytes | None], done: asyncio.Future[None]) -> None:
        self._ask, self._done = ask, done
        self._got = b""
        self.times: list[float] = []
        self._sent = 0.0

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def start(self) -> None:
        """Send the next request."""
        content = self._ask()
        if content is None:
            self._transport.close()
            if not self._done.done():
                self._done.set_result(None)
            return
        self._sent = perf_counter()
        self._transport.write(content)

    def data_received(self, data: bytes) -> None:
        self._got += data
        head, found, rest = self._got.partition(b"\r\n\r\n")
        if not found:
            return
        if len(rest) < _length(head):
            return
        if not head.startswith(b"HTTP/1.1 20"):
            self._done.set_exception(RuntimeError(f"{head[:40]!r} {rest!r}"))
            self._transport.close()
            return
        self._got = b""
        self.times.append(perf_counter() - self._sent)
        self.start()


class Load(NamedTuple):
    """What a load took."""

    seconds: float
    used: float
    """Processor seconds of the server."""
    times: list[float]
    """Of every request."""


def load(where: Where, contents: Iterator[bytes]) -> Load:
    """Send requests over 32 connections, each as soon as the last one is answered."""

    async def run() -> Load:
        loop = asyncio.get_running_loop()
        wires, ends = [], []
        for _ in range(CONNECTIONS):
            done: asyncio.Future[None] = loop.create_future()
            wire = _Wire(lambda: next(contents, None), done)
            await loop.create_connection(lambda wire=wire: wire, "127.0.0.1", where.port)  # type: ignore[misc]
            wires.append(wire)
            ends.append(done)
        await asyncio.sleep(0.2)  # until all are accepted: answers must not overtake questions
        begin, before = perf_counter(), where.used()
        for wire in wires:
            wire.start()
        await asyncio.gather(*ends)
        took = perf_counter() - begin
        return Load(took, where.used() - before, [time for wire in wires for time in wire.times])

    return asyncio.run(run())


def at_random(where: Where, contents: Sequence[bytes], rate: float, seed: int) -> list[float]:
    """Send so many requests a second at random times; return how long each took.

    The times are those of a Poisson process, and do not wait for answers: a request counts from
    when it was due, also where all 32 connections were busy then. The loop never sleeps, as a timer
    would be late by more than an answer takes.
    """
    draw = random.Random(seed)
    due = list(accumulate(draw.expovariate(rate) for _ in contents))
    with ExitStack() as stack, select.epoll() as ready:
        wires = {}
        for _ in range(CONNECTIONS):
            wire = stack.enter_context(socket.create_connection(("127.0.0.1", where.port)))
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            ready.register(wire.fileno(), select.EPOLLIN)
            wires[wire.fileno()] = wire
        sleep(0.2)  # until all are accepted: answers must not overtake questions
        return _asked(ready, wires, contents, due)


def _asked(
    ready: select.epoll,
    wires: dict[int, socket.socket],
    contents: Sequence[bytes],
    due: list[float],
) -> list[float]:
    """Return how long requests took, each from when it was due."""
    took: list[float] = []
    idle, begin, sent = list(wires), perf_counter(), 0
    got, since = dict.fromkeys(wires, b""), dict.fromkeys(wires, 0.0)
    while len(took) < len(contents):
        while sent < len(contents) and idle and due[sent] <= perf_counter() - begin:
            wire = idle.pop()
            since[wire] = due[sent]
            wires[wire].sendall(contents[sent])
            sent += 1
        for wire, _ in ready.poll(0):
            got[wire] += wires[wire].recv(1 << 16)
            head, found, rest = got[wire].partition(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 20"):
                raise RuntimeError(f"{got[wire]!r}")
            if found and len(rest) >= _length(head):
                took.append(perf_counter() - begin - since[wire])
                got[wire] = b""
                idle.append(wire)
    return took


def _length(head: bytes) -> int:
    return int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])


if __name__ == "__main__":
    serve(*sys.argv[1:])
