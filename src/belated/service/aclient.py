"""The client for asyncio: the same verbs, awaited, and no more requests at once than it is told."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar, overload

from belated.errors import ServiceError
from belated.service import client_requests
from belated.service.client_requests import (
    Async,
    Item,
    Key,
    ModelMethods,
    Predicted,
    Row,
    ServerMethods,
    Span,
    Turned,
    When,
)
from belated.service.retry import RETRY_FOR, Address, Ask, Heard, Retry, checked_retry_for
from belated.service.wires import Wires

T = TypeVar("T")


class AsyncClient(ServerMethods["AsyncRemoteModel"], Async):
    """A server, for code that awaits answers.

    ``at_once`` is how many requests are under way at most; others wait for their turn, so that a
    producer cannot run away from the server. ``timeout`` and ``retry_for`` are those of
    ``Client``.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = 10.0,
        retry_for: float = RETRY_FOR,
        at_once: int = 32,
    ) -> None:
        self._address = Address.of(url, token)
        self._timeout, self._retry_for = timeout, checked_retry_for(retry_for, "AsyncClient")
        self._turns = asyncio.Semaphore(at_once)
        where = self._address.host, self._address.port
        self._wires = Wires(*where, is_secure=self._address.scheme == "https")

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
        await self._wires.close()

    def __repr__(self) -> str:
        """Return what this is and where it asks; the token is a secret."""
        return f"<{type(self).__name__} of {self._address.url}>"

    # --- Requests -------------------------------------------------------------------------------

    async def send(self, ask: Ask[T]) -> T:
        """Send a request until it is answered, or has failed for long enough."""
        retry = Retry(ask, self._address, self._retry_for)
        async with self._turns:
            while (pause := retry.pause(await self._try(ask))) is not None:
                await asyncio.sleep(pause)
        return retry.result()

    async def _try(self, ask: Ask[Any]) -> Heard:
        try:
            async with asyncio.timeout(ask.timeout or self._timeout):
                reply = await self._wires.exchange(self._said(ask))
        except TimeoutError:
            return Heard(0, b"no answer in time")
        except ssl.SSLCertVerificationError as error:  # the next try would fail as well
            raise ServiceError(f"{self._address.url}: {error}") from error
        except (OSError, EOFError, ValueError) as error:
            return Heard(0, (str(error) or type(error).__name__).encode())
        told = reply.headers.get
        return Heard(reply.status, reply.body, told("retry-after"), told("belated-outcome"))

    def _said(self, ask: Ask[Any]) -> bytes:
        """Return a request as it is sent."""
        content = ask.content
        lines = [
            f"{ask.method} {self._address.path}{ask.path} HTTP/1.1",
            f"Host: {self._address.netloc}",
            f"Content-Length: {len(content)}",
            *(f"{name}: {value}" for name, value in self._address.headers(ask).items()),
        ]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + content

    def model(self, name: str) -> AsyncRemoteModel:
        """Return a model; whether it is there shows when it is used."""
        return AsyncRemoteModel(self, name)


class AsyncRemoteModel(ModelMethods["AsyncRemoteModel"], Async):
    """A model of a server; see ``ModelMethods``."""

    def __init__(self, client: AsyncClient, name: str) -> None:
        self.client: AsyncClient = client
        self.name = name

    @overload
    async def predict(
        self,
        features: Row,
        *,
        key: Key | None = None,
        deadline: Span | None = None,
        at: When | None = None,
    ) -> Predicted: ...

    @overload
    async def predict(
        self,
        *,
        context: Mapping[str, Any] | None = None,
        key: Key | None = None,
        at: When | None = None,
    ) -> Turned: ...

    async def predict(self, features: Row | None = None, **members: Any) -> Any:
        """Return a ticket and a prediction; of ``Knobs``, a ticket and the setting to play.

        Linear models and intervals take ``features``, knobs an optional ``context``.
        """
        return await self.client.send(client_requests.predict(self, features, **members))

    async def many(self, verb: str, items: Iterable[Mapping[str, Any]]) -> list[Item]:
        """Do a verb to many items, some hundred in a request; return what came of each."""
        asks = client_requests.many(self.name, verb, items)
        return [said for ask in asks for said in await self.client.send(ask)]
