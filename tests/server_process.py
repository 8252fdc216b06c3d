"""``belated serve`` in a process of its own, and calls to it over HTTP."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import closing
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit


class Response(NamedTuple):
    """A response; status 0 where there was none."""

    status: int
    body: Any
    headers: dict[str, str]

    @property
    def code(self) -> str | None:
        """The code of a refusal."""
        return self.body["error"]["code"] if isinstance(self.body, dict) else None


class ServerProcess:
    """A server, for ``with``; ``prefix`` is a command that runs it, such as ``ip netns exec``."""

    def __init__(self, *arguments: str, token: str = "", prefix: tuple[str, ...] = ()) -> None:
        self.process = subprocess.Popen(
            [*prefix, sys.executable, "-m", "belated", "serve", "--port", "0", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "BELATED_INTERPRETED": "1"},
        )
        assert self.process.stdout is not None
        late = threading.Timer(60.0, self.process.kill)  # then its output ends
        late.start()
        first = self.process.stdout.readline().split()
        if first and not token:
            token = self.process.stdout.readline().split()[-1]
        late.cancel()
        if not first:
            raise AssertionError(f"the server did not start: {self.process.communicate()}")
        self.url, self.token = first[-1], token

    def call(
        self, method: str, path: str, body: Any = None, timeout: float = 60.0, **headers: str
    ) -> Response:
        """Send a request over a connection of its own."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        given["Authorization"] = f"Bearer {self.token}"
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(
            str(parts.hostname), int(parts.port or 0), timeout=timeout
        )
        content = None if body is None else json.dumps(body).encode()
        try:
            with closing(connection):
                connection.request(method, path, content, given)
                response = connection.getresponse()
                read = response.read()
        except (OSError, http.client.HTTPException):
            return Response(0, None, {})
        found = {name.lower(): value for name, value in response.headers.items()}
        is_json = read and found.get("content-type") == "application/json"
        return Response(response.status, json.loads(read) if is_json else read, found)

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def end(self, number: signal.Signals = signal.SIGKILL) -> int:
        """Send a signal, and return the status of the process once it has ended."""
        self.process.send_signal(number)
        code = self.process.wait(timeout=60)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        return code

    def __enter__(self) -> Self:
        """Return the server."""
        return self

    def __exit__(self, *_: object) -> None:
        """Kill the process, also one that is stopped."""
        if self.process.poll() is None:
            self.end()
