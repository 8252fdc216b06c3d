"""The client for asyncio: the same verbs, awaited, and no more requests at once than it is told."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar, overload

from belated.errors import ServiceError
from belated.service import asking
from belated.service.asking import (
    Actions,
    Chosen,
    Decided,
    Expected,
    Explained,
    Item,
    Key,
    Named,
    Outcome,
    Peeked,
    Predicted,
    Ranked,
    Row,
    Span,
    Turned,
    When,
)
from belated.service.retry import RETRY_FOR, Address, Ask, Heard, Retry, checked_retry_for
from belated.service.wires import Wires

T = TypeVar("T")


class AsyncClient:
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

    async def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = None,
        timeout: float | None = None,
        retry_for: float | None = None,
    ) -> Any:
        """Send a request, again if need be, and return the answer as plain data.

        With a ``key`` it happens once, however often it is sent; a ``POST`` without gets one.
        """
        return await self.send(asking.plain(method, path, body, key, timeout, retry_for))

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

    # --- Models ---------------------------------------------------------------------------------

    async def models(self) -> list[str]:
        """Return the names of all models."""
        return await self.send(asking.models())

    async def create(self, name: str, kind: str, **settings: Any) -> AsyncRemoteModel:
        """Make a model of a kind, or return it if it is there with these settings."""
        await self.send(asking.create(name, kind, settings))
        return self.model(name)

    def model(self, name: str) -> AsyncRemoteModel:
        """Return a model; whether it is there shows when it is used."""
        return AsyncRemoteModel(self, name)

    async def load(self, name: str, exported: bytes) -> AsyncRemoteModel:
        """Make the model of an exported log, which goes on under the same keys."""
        await self.send(asking.load(name, exported))
        return self.model(name)

    async def delete(self, name: str) -> None:
        """Remove a model with its log; there is no way back."""
        await self.send(asking.delete(name))

    async def metrics(self) -> str:
        """Return the counts for Prometheus."""
        return await self.send(asking.metrics())

    async def health(self) -> bool:
        """Tell whether the server runs; it is asked once."""
        try:
            await self.send(asking.health())
        except ServiceError:
            return False
        return True

    async def ready(self) -> bool:
        """Tell whether all models are recovered; it is asked once."""
        try:
            await self.send(asking.ready())
        except ServiceError:
            return False
        return True


class AsyncRemoteModel:
    """A model of a server; see ``RemoteModel``."""

    def __init__(self, client: AsyncClient, name: str) -> None:
        self.client, self.name = client, name

    def __repr__(self) -> str:
        """Return what this is and where it is."""
        return f"<{type(self).__name__} {self.name!r} of {self.client._address.url}>"

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

    async def predict(
        self,
        features: Row | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        key: Key | None = None,
        deadline: Span | None = None,
        at: When | None = None,
    ) -> Predicted | Turned:
        """Return a ticket and a prediction; of ``Knobs``, a ticket and the setting to play.

        Linear models and intervals take ``features``, knobs an optional ``context``.
        """
        members = {"key": key, "deadline": deadline, "at": at}
        if features is None:
            return await self.client.send(asking.turn(self.name, context=context, **members))
        return await self.client.send(
            asking.predict(self.name, features, context=context, **members)
        )

    async def choose(
        self,
        context: Mapping[str, Any] | None = None,
        actions: Actions | None = None,
        *,
        key: Key | None = None,
        deadline: Span | None = None,
        baseline: str | None = None,
        shown: bool = True,
        at: When | None = None,
    ) -> Chosen:
        """Return a ticket, an action, and the probability with which it was chosen."""
        members = {"key": key, "deadline": deadline, "baseline": baseline, "at": at}
        ask = asking.choose(self.name, shown, context=context, actions=actions, **members)
        return await self.client.send(ask)

    async def decide(self, *, key: Key | None = None) -> Decided:
        """Return a ticket and the play, of a ``Learner``."""
        return await self.client.send(asking.decide(self.name, key))

    async def peek(
        self,
        features: Row | None = None,
        actions: Actions | None = None,
        *,
        context: Mapping[str, Any] | None = None,
    ) -> Peeked:
        """Return what would be predicted, chosen or played, without a ticket.

        The first argument is what ``predict`` or ``choose`` has there; a context can also be given
        by name.
        """
        ask = asking.peek(self.name, features, context=context, actions=actions)
        return await self.client.send(ask)

    async def explain(self, features: Mapping[str, Any]) -> Explained:
        """Return what each feature adds to a prediction, of a linear model or its intervals."""
        return await self.client.send(asking.explain(self.name, features))

    async def weights(self, names: Iterable[Named]) -> dict[Named, float]:
        """Return the weights of features: of a number by its name, of a text as (name, text)."""
        return await self.client.send(asking.weights(self.name, names))

    async def expect(
        self, setting: Mapping[str, Any], context: Mapping[str, Any] | None = None
    ) -> Expected:
        """Return what a setting of ``Knobs`` is thought to cost."""
        return await self.client.send(asking.expect(self.name, setting, context))

    async def choice(self, key: Key | None = None, *, ticket: str | None = None) -> Chosen:
        """Return what was chosen under a key or ticket, as long as that is known."""
        return await self.client.send(asking.choice(self.name, key, ticket))

    async def rank(
        self,
        actions: Actions,
        context: Mapping[str, Any] | None = None,
        *,
        event: str | None = None,
        excluded: Iterable[str] = (),
        deferred: bool = False,
    ) -> Ranked:
        """Return an event, the action to show, and the probabilities of all, of a ``Chooser``."""
        return await self.client.send(
            asking.rank(self.name, actions, context, event, excluded, deferred)
        )

    async def reward(self, event: str, value: float) -> Outcome:
        """Bring the reward of an event that was ranked."""
        return await self.client.send(asking.reward(self.name, event, value))

    async def activate(self, event: str) -> Outcome:
        """Say that what was ranked with ``deferred`` was shown."""
        return await self.client.send(asking.activate(self.name, event))

    async def played(
        self,
        key: Key | None = None,
        setting: Mapping[str, Any] | None = None,
        *,
        ticket: str | None = None,
    ) -> Outcome:
        """Say what was really played, before the cost."""
        return await self._tell("played", key, ticket, setting=setting)

    async def pause(self) -> str:
        """Let knobs stand where they are; return their mode."""
        return await self.client.send(asking.change(self.name, "pause"))

    async def revert(self) -> str:
        """Let knobs go back to their start; return their mode."""
        return await self.client.send(asking.change(self.name, "revert"))

    async def resume(self) -> str:
        """Let knobs learn and explore again; return their mode."""
        return await self.client.send(asking.change(self.name, "resume"))

    async def tick(self, at: When | None = None) -> int:
        """Let the clock go on, to that of the server without a time; return what is still open."""
        return await self.client.send(asking.tick(self.name, at))

    async def observe(
        self,
        key: Key | None = None,
        value: Any = None,
        *,
        ticket: str | None = None,
        weight: float | None = None,
        at: When | None = None,
    ) -> Outcome:
        """Bring the answer, the last word."""
        return await self._tell("observe", key, ticket, value=value, weight=weight, at=at)

    async def revise(
        self,
        key: Key | None = None,
        value: Any = None,
        *,
        ticket: str | None = None,
        at: When | None = None,
    ) -> Outcome:
        """Bring the answer so far; the ticket stays open."""
        return await self._tell("revise", key, ticket, value=value, at=at)

    async def add(
        self,
        key: Key | None = None,
        value: Any = None,
        *,
        ticket: str | None = None,
        at: When | None = None,
    ) -> Outcome:
        """Add to the answer so far; the ticket stays open."""
        return await self._tell("add", key, ticket, value=value, at=at)

    async def cancel(self, key: Key | None = None, *, ticket: str | None = None) -> Outcome:
        """Close a ticket of which nothing will be heard."""
        return await self._tell("cancel", key, ticket)

    async def shown(
        self, key: Key | None = None, *, ticket: str | None = None, at: When | None = None
    ) -> Outcome:
        """Say that a choice was shown that was made with ``shown=False``."""
        return await self._tell("shown", key, ticket, at=at)

    async def _tell(self, verb: str, key: Key | None, ticket: str | None, **more: Any) -> Outcome:
        return await self.client.send(asking.tell(self.name, verb, key, ticket, **more))

    async def many(self, verb: str, items: Iterable[Mapping[str, Any]]) -> list[Item]:
        """Do a verb to many items, some hundred in a request; return what came of each."""
        asks = asking.many(self.name, verb, items)
        return [said for ask in asks for said in await self.client.send(ask)]

    async def report(self) -> dict[str, Any]:
        """Return counts, delays, and how well it does."""
        return await self.client.send(asking.looked_at(self.name, "report"))

    async def timeline(self) -> dict[str, Any]:
        """Return the newest tickets with their times, and how old answers were."""
        return await self.client.send(asking.looked_at(self.name, "timeline"))

    async def live(self) -> dict[str, Any]:
        """Return what the dashboard shows."""
        return await self.client.send(asking.looked_at(self.name, "live"))

    async def mode(self, mode: str) -> str:
        """Let a chooser play its own choices ("learn"), or the baseline's ("apprentice")."""
        return await self.client.send(asking.put(self.name, "mode", mode))

    async def rewards(self, rewards: str) -> str:
        """Say which reward of an event counts: the "earliest", or the "sum" of all."""
        return await self.client.send(asking.put(self.name, "rewards", rewards))

    async def rebuild(
        self, *, kind: str | None = None, to: str | None = None, **settings: Any
    ) -> AsyncRemoteModel:
        """Build a model with other settings from the log, in its place or as ``to``.

        Settings that are not given keep their values.
        """
        await self.client.send(asking.rebuild(self.name, kind, to, settings))
        return AsyncRemoteModel(self.client, self.name if to is None else to)

    async def export(self) -> bytes:
        """Return the log as a Parquet file, which ``load`` of a client takes."""
        return await self.client.send(asking.export(self.name))

    async def evaluate(self) -> dict[str, Any]:
        """Return what other policies would have earned in the choices of a chooser.

        That is what ``bl.evaluate`` says of its log, as plain data.
        """
        return await self.client.send(asking.evaluate(self.name))

    async def about(self) -> dict[str, Any]:
        """Return what the model is."""
        return await self.client.send(asking.looked_at(self.name))
