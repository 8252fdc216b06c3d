"""A server to test, and a client that is not ours."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

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
    told = Settings(data=folder / "test.db", port=0, limits=limits or Limits(), **settings)
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
