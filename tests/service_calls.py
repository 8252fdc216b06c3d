"""A server to test, and a client that is not ours."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from belated.service import Limits, Server, Settings

LINEAR = {"loss": "squared", "bits": 8}
CHOOSER = {"actions": ["blue", "green"], "silence": 0, "deadline": "PT10M", "bits": 8}


class Answer(NamedTuple):
    """What came back."""

    status: int
    body: Any
    headers: dict[str, str]


class Caller:
    """Asks a server; every request has a connection of its own."""

    def __init__(self, server: Server, token: str | None = None) -> None:
        self.server = server
        self.token = server.token if token is None else token

    def raw(self, method: str, path: str, body: bytes | None, **headers: str) -> Answer:
        """Send bytes."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token:
            given.setdefault("Authorization", f"Bearer {self.token}")
        connection = http.client.HTTPConnection(self.server.host, self.server.port, timeout=30)
        with closing(connection):
            connection.request(method, path, body, given)
            answer = connection.getresponse()
            content = answer.read()
        kind = answer.headers.get("content-type", "")
        found = json.loads(content) if kind == "application/json" and content else content
        return Answer(answer.status, found, {k.lower(): v for k, v in answer.headers.items()})

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Send JSON."""
        return self.raw(
            method, path, None if body is None else json.dumps(body).encode(), **headers
        )


@contextmanager
def serving(folder: Path, limits: Limits | None = None, **settings: Any) -> Iterator[Caller]:
    """Run a server on a free port of this machine, with two models in it."""
    told = Settings(store=folder / "test.db", port=0, limits=limits or Limits(), **settings)
    with Server(told) as server:
        caller = Caller(server)
        if settings.get("tokens") is None and server.token is not None:
            fill(caller)
        yield caller


def fill(caller: Caller) -> None:
    """Make two models."""
    for name, kind, settings in (("value", "LinearModel", LINEAR), ("layout", "Chooser", CHOOSER)):
        made = caller("POST", "/models", {"name": name, "kind": kind, "settings": settings})
        assert made.status == 201, made


class Wire:
    """A connection that stays open, for bytes as they are."""

    def __init__(self, ask: Caller) -> None:
        self._ask = ask
        self._socket = socket.create_connection((ask.server.host, ask.server.port), timeout=10)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._socket.makefile("rb")

    def head(self, method: str, path: str, size: int, **headers: str) -> bytes:
        """Return the head of a request."""
        given = {"Host": "x", "Authorization": f"Bearer {self._ask.token}", **headers}
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in given.items()]
        first = f"{method} {path} HTTP/1.1"
        return "\r\n".join([first, *lines, f"Content-Length: {size}", "", ""]).encode()

    def post(self, path: str, body: Any, **headers: str) -> bytes:
        """Return a request."""
        content = json.dumps(body).encode()
        return self.head("POST", path, len(content), **headers) + content

    def send(self, content: bytes) -> None:
        """Send bytes."""
        self._socket.sendall(content)

    def answer(self) -> Answer:
        """Return the next answer; one of the server library ends with the connection."""
        status = int(self._file.readline().split()[1])
        headers: dict[str, str] = {}
        while line := self._file.readline().strip().decode():
            name, _, value = line.partition(": ")
            headers[name.lower()] = value
        if headers.get("content-type") != "application/json":
            return Answer(status, self._file.read(), headers)
        body = self._file.read(int(headers["content-length"]))
        return Answer(status, json.loads(body), headers)

    def first(self) -> bytes:
        """Return the first line of the next answer."""
        return self._file.readline()

    def rest(self) -> bytes:
        """Return all that comes until the server hangs up."""
        return self._file.read()

    def end(self) -> None:
        """Send no more, and go on to listen."""
        self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Hang up."""
        self._file.close()
        self._socket.close()


@contextmanager
def wired(ask: Caller) -> Iterator[Wire]:
    """Return a connection."""
    wire = Wire(ask)
    try:
        yield wire
    finally:
        wire.close()


def slowly(ask: Caller, monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """Have commits wait; return what is set when one has begun, and what lets it go on."""
    database = ask.server.store._database
    write, begun, go_on = database.write, threading.Event(), threading.Event()

    def slow(*arguments: Any) -> None:
        begun.set()
        assert go_on.wait(10.0)
        write(*arguments)

    monkeypatch.setattr(database, "write", slow)
    return begun, go_on
