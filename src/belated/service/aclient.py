"""The client for asyncio: the same verbs, awaited, and no more requests at once than it is told."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self

from belated.errors import ServiceError
from belated.service.client import (
    AGAIN,
    COMPILING,
    SIZE,
    UNHEARD,
    Actions,
    Address,
    Chosen,
    Outcome,
    Predicted,
    Row,
    asked,
    given,
    is_gone,
    named,
    new_key,
    pause,
    refusal,
)

_Wire = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class AsyncClient:
    """A server, for code that awaits answers.

    ``at_once`` is how many requests are under way at most; others wait for their turn, so that a
    producer cannot run away from the server. ``timeout`` and ``tries`` are those of ``Client``.
    """

    def __init__(
        self, url: str, token: str, *, timeout: float = 10.0, tries: int = 6, at_once: int = 32
    ) -> None:
        self._address = Address.of(url, token)
        self._timeout, self._tries = timeout, max(tries, 1)
        self._turns = asyncio.Semaphore(at_once)
        self._idle: list[_Wire] = []

    async def __aenter__(self) -> Self:
        """Return the client."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Hang up."""
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        while self._idle:
            await _hang_up(self._idle.pop())

    # --- Requests -------------------------------------------------------------------------------

    async def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Send a request, again if need be, and return the answer as plain data."""
        content = b"" if body is None else json.dumps(body).encode()
        headers, is_lost = self._address.headers(key), False
        async with self._turns:
            for attempt in range(self._tries):
                try:
                    async with asyncio.timeout(timeout or self._timeout):
                        status, answer, after = await self._try(method, path, content, headers)
                except TimeoutError:
                    status, answer, after = 0, b"no answer in time", None
                if status and status not in AGAIN:
                    break
                is_lost = is_lost or status in UNHEARD
                if attempt + 1 < self._tries:
                    await asyncio.sleep(pause(attempt, after))
        if is_gone(method, status, is_lost):
            return None
        if status == 0:
            raise ServiceError(f"{self._address.host}:{self._address.port}: {answer.decode()}")
        if status >= 400:
            raise refusal(status, answer)
        return json.loads(answer) if answer else None

    async def _try(
        self, method: str, path: str, content: bytes, headers: dict[str, str]
    ) -> tuple[int, bytes, str | None]:
        """Return status, body and Retry-After of an answer; 0 and why where none came."""
        wire = self._idle.pop() if self._idle else None
        if wire is not None:
            found = await self._ask(wire, method, path, content, headers)
            if found[0]:
                return found
            await self.close()  # the others are as old: the server may have started anew
        return await self._ask(None, method, path, content, headers)

    async def _ask(
        self,
        wire: _Wire | None,
        method: str,
        path: str,
        content: bytes,
        headers: dict[str, str],
    ) -> tuple[int, bytes, str | None]:
        """Ask over a connection, or over a new one."""
        try:
            if wire is None:
                wire = await self._connect()
            wire[1].write(self._head(method, path, len(content), headers) + content)
            await wire[1].drain()
            status, found, body = await _answer(wire[0])
        except asyncio.CancelledError:  # it took too long
            if wire is not None:
                wire[1].close()
            raise
        except (OSError, EOFError, ValueError) as error:
            if wire is not None:
                await _hang_up(wire)
            return 0, (str(error) or type(error).__name__).encode(), None
        if found.get("connection", "").lower() == "close":
            await _hang_up(wire)
        else:
            self._idle.append(wire)
        return status, body, found.get("retry-after")

    async def _connect(self) -> _Wire:
        secure = ssl.create_default_context() if self._address.scheme == "https" else None
        return await asyncio.open_connection(self._address.host, self._address.port, ssl=secure)

    def _head(self, method: str, path: str, length: int, headers: dict[str, str]) -> bytes:
        lines = [
            f"{method} {self._address.path}{path} HTTP/1.1",
            f"Host: {self._address.host}:{self._address.port}",
            f"Content-Length: {length}",
            *(f"{name}: {value}" for name, value in headers.items()),
        ]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    # --- Models ---------------------------------------------------------------------------------

    async def models(self) -> list[str]:
        """Return the names of all models."""
        return [model["name"] for model in (await self.request("GET", "/models"))["models"]]

    async def create(self, name: str, kind: str, **settings: Any) -> AsyncRemoteModel:
        """Make a model of a kind, or return it if it is there with these settings."""
        body = {"name": name, "kind": kind, "settings": settings}
        await self.request("POST", "/models", body, key=new_key(), timeout=COMPILING)
        return self.model(name)

    def model(self, name: str) -> AsyncRemoteModel:
        """Return a model; whether it is there shows when it is used."""
        return AsyncRemoteModel(self, name)

    async def delete(self, name: str) -> None:
        """Remove a model with its log; there is no way back."""
        await self.request("DELETE", asked("", name), key=new_key())


class AsyncRemoteModel:
    """A model of a server; see ``RemoteModel``."""

    def __init__(self, client: AsyncClient, name: str) -> None:
        self.client, self.name = client, name

    async def _do(self, verb: str, body: Any) -> Any:
        return await self.client.request("POST", asked(verb, self.name), body, key=new_key())

    async def predict(
        self, features: Row, *, key: str | None = None, deadline: float | str | None = None
    ) -> Predicted:
        """Return a ticket and a prediction."""
        row = dict(features) if isinstance(features, Mapping) else list(features)
        found = await self._do("predict", given(features=row, key=key, deadline=deadline))
        return Predicted(found["ticket"], found["value"], found.get("low"), found.get("high"))

    async def choose(
        self,
        context: Mapping[str, Any] | None = None,
        actions: Actions | None = None,
        *,
        key: str | None = None,
        deadline: float | str | None = None,
        baseline: str | None = None,
        shown: bool = True,
    ) -> Chosen:
        """Return a ticket, an action, and the probability with which it was chosen."""
        body = given(
            context=context,
            actions=actions,
            key=key,
            deadline=deadline,
            baseline=baseline,
            shown=None if shown else False,
        )
        found = await self._do("choose", body)
        return Chosen(found["ticket"], found["action"], found["probability"])

    async def observe(
        self,
        key: str | None = None,
        value: Any = None,
        *,
        ticket: str | None = None,
        weight: float | None = None,
    ) -> Outcome:
        """Bring the answer, the last word."""
        return await self._tell("observe", key, ticket, value=value, weight=weight)

    async def revise(
        self, key: str | None = None, value: Any = None, *, ticket: str | None = None
    ) -> Outcome:
        """Bring the answer so far; the ticket stays open."""
        return await self._tell("revise", key, ticket, value=value)

    async def add(
        self, key: str | None = None, value: Any = None, *, ticket: str | None = None
    ) -> Outcome:
        """Add to the answer so far; the ticket stays open."""
        return await self._tell("add", key, ticket, value=value)

    async def cancel(self, key: str | None = None, *, ticket: str | None = None) -> Outcome:
        """Close a ticket of which nothing will be heard."""
        return await self._tell("cancel", key, ticket)

    async def shown(self, key: str | None = None, *, ticket: str | None = None) -> Outcome:
        """Say that a choice was shown that was made with ``shown=False``."""
        return await self._tell("shown", key, ticket)

    async def _tell(self, verb: str, key: str | None, ticket: str | None, **more: Any) -> Outcome:
        said = await self._do(verb, {**named(ticket, key), **given(**more)})
        outcome: Outcome = said["outcome"]
        return outcome

    async def many(self, verb: str, items: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Do a verb to many items, some hundred in a request; return what came of each."""
        listed = [dict(item) for item in items]
        found: list[dict[str, Any]] = []
        for begin in range(0, len(listed), SIZE):
            said = await self._do(verb, {"items": listed[begin : begin + SIZE]})
            found += said["items"]
        return found

    async def report(self) -> dict[str, Any]:
        """Return counts, delays, and how well it does."""
        found: dict[str, Any] = await self.client.request("GET", asked("report", self.name))
        return found


async def _answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    """Read an answer: its length is always said."""
    first = (await reader.readline()).split()
    if len(first) < 2:
        raise EOFError("the connection was closed")
    headers: dict[str, str] = {}
    while line := (await reader.readline()).strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    return int(first[1]), headers, await reader.readexactly(int(headers.get("content-length", 0)))


async def _hang_up(wire: _Wire) -> None:
    wire[1].close()
    try:
        await wire[1].wait_closed()
    except OSError:
        return
