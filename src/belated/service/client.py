"""Clients: the verbs of models, on a server that is elsewhere.

    client = bl.Client("http://127.0.0.1:8765", token)
    cvr = client.create("cvr", "LinearModel", loss="logistic", silence=0, deadline="P30D")
    cvr.predict({"campaign": "spring"}, key="click-81f")
    cvr.observe("click-81f", 1)

What changes something is sent with a key of its own (``Idempotency-Key``), and again when no answer
came, the server was busy or could not be reached: it happens once. A client may be used by many
threads.
"""

from __future__ import annotations

import http.client
import ssl
import time
from collections.abc import Iterable, Mapping
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
from belated.service.outbox import Outbox
from belated.service.retry import RETRY_FOR, Address, Ask, Heard, Retry, checked_retry_for

T = TypeVar("T")


class Client:
    """A server, for code that waits for answers.

    ``timeout`` is how long one try may take, in seconds. A request that fails is sent again for
    ``retry_for`` seconds after its first failure (0: never), with random pauses of up to 2 seconds;
    so a client gets over the restart of a server. Raises ``ServiceError``.
    """

    def __init__(
        self, url: str, token: str, *, timeout: float = 10.0, retry_for: float = RETRY_FOR
    ) -> None:
        self._address = Address.of(url, token)
        self._timeout, self._retry_for = timeout, checked_retry_for(retry_for, "Client")
        self._idle: list[http.client.HTTPConnection] = []

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(self, *_: object) -> None:
        """Hang up."""
        self.close()

    def close(self) -> None:
        """Close all connections that nobody uses."""
        while (idle := self._one_idle()) is not None:
            idle.close()

    def __repr__(self) -> str:
        """Return what this is and where it asks; the token is a secret."""
        return f"<{type(self).__name__} of {self._address.url}>"

    # --- Requests -------------------------------------------------------------------------------

    def request(
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
        return self.send(asking.plain(method, path, body, key, timeout, retry_for))

    def send(self, ask: Ask[T]) -> T:
        """Send a request until it is answered, or has failed for long enough."""
        retry = Retry(ask, self._address, self._retry_for)
        while (pause := retry.pause(self._try(ask))) is not None:
            time.sleep(pause)
        return retry.result()

    def _try(self, ask: Ask[Any]) -> Heard:
        """Send a request over a connection that nobody uses.

        One that was idle may have died meanwhile: then it is sent again, over a new one.
        """
        try:
            idle = self._one_idle()
            if idle is not None:
                try:
                    return self._exchange(idle, ask)
                except (ConnectionError, http.client.HTTPException):
                    self.close()  # the others are as old: the server may have started anew
            return self._exchange(self._connected(), ask)
        except ssl.SSLCertVerificationError as error:  # the next try would fail as well
            raise ServiceError(f"{self._address.url}: {error}") from error
        except (OSError, http.client.HTTPException) as error:
            return Heard(0, (str(error) or type(error).__name__).encode())

    def _one_idle(self) -> http.client.HTTPConnection | None:
        try:
            return self._idle.pop()
        except IndexError:  # others may have taken it
            return None

    def _exchange(self, connection: http.client.HTTPConnection, ask: Ask[Any]) -> Heard:
        """Send a request over a connection, and return the answer."""
        connection.timeout = ask.timeout or self._timeout
        if connection.sock is not None:
            connection.sock.settimeout(connection.timeout)
        try:
            where, headers = self._address.path + ask.path, self._address.headers(ask)
            connection.request(ask.method, where, ask.content or None, headers)
            answer = connection.getresponse()
            told = answer.headers.get
            heard = Heard(
                answer.status, answer.read(), told("Retry-After"), told("Belated-Outcome")
            )
        except BaseException:  # also an interrupt: what is still to come is nobody's
            connection.close()
            raise
        self._idle.append(connection)
        return heard

    def _connected(self) -> http.client.HTTPConnection:
        """Return a new connection, which is made when it is first used."""
        where = self._address.host, self._address.port
        if self._address.scheme == "https":
            return http.client.HTTPSConnection(*where, context=ssl.create_default_context())
        return http.client.HTTPConnection(*where)

    # --- Models ---------------------------------------------------------------------------------

    def models(self) -> list[str]:
        """Return the names of all models."""
        return self.send(asking.models())

    def create(self, name: str, kind: str, **settings: Any) -> RemoteModel:
        """Make a model of a kind, or return it if it is there with these settings."""
        self.send(asking.create(name, kind, settings))
        return self.model(name)

    def model(self, name: str) -> RemoteModel:
        """Return a model; whether it is there shows when it is used."""
        return RemoteModel(self, name)

    def load(self, name: str, exported: bytes) -> RemoteModel:
        """Make the model of an exported log, which goes on under the same keys."""
        self.send(asking.load(name, exported))
        return self.model(name)

    def delete(self, name: str) -> None:
        """Remove a model with its log; there is no way back."""
        self.send(asking.delete(name))

    def metrics(self) -> str:
        """Return the counts for Prometheus."""
        return self.send(asking.metrics())

    def health(self) -> bool:
        """Tell whether the server runs; it is asked once."""
        try:
            self.send(asking.health())
        except ServiceError:
            return False
        return True

    def ready(self) -> bool:
        """Tell whether all models are recovered; it is asked once."""
        try:
            self.send(asking.ready())
        except ServiceError:
            return False
        return True


class RemoteModel:
    """A model of a server.

    The first argument of verbs that bring answers is a key of yours; a ticket that was handed out
    goes by name, as ``ticket=``.
    """

    def __init__(self, client: Client, name: str) -> None:
        self.client, self.name = client, name

    def __repr__(self) -> str:
        """Return what this is and where it is."""
        return f"<{type(self).__name__} {self.name!r} of {self.client._address.url}>"

    @overload
    def predict(
        self,
        features: Row,
        *,
        key: Key | None = None,
        deadline: Span | None = None,
        at: When | None = None,
    ) -> Predicted: ...

    @overload
    def predict(
        self,
        *,
        context: Mapping[str, Any] | None = None,
        key: Key | None = None,
        at: When | None = None,
    ) -> Turned: ...

    def predict(
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
            return self.client.send(asking.turn(self.name, context=context, **members))
        return self.client.send(asking.predict(self.name, features, context=context, **members))

    def choose(
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
        return self.client.send(ask)

    def decide(self, *, key: Key | None = None) -> Decided:
        """Return a ticket and the play, of a ``Learner``."""
        return self.client.send(asking.decide(self.name, key))

    def peek(
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
        return self.client.send(ask)

    def explain(self, features: Mapping[str, Any]) -> Explained:
        """Return what each feature adds to a prediction, of a linear model or its intervals."""
        return self.client.send(asking.explain(self.name, features))

    def weights(self, names: Iterable[Named]) -> dict[Named, float]:
        """Return the weights of features: of a number by its name, of a text as (name, text)."""
        return self.client.send(asking.weights(self.name, names))

    def expect(
        self, setting: Mapping[str, Any], context: Mapping[str, Any] | None = None
    ) -> Expected:
        """Return what a setting of ``Knobs`` is thought to cost."""
        return self.client.send(asking.expect(self.name, setting, context))

    def choice(self, key: Key | None = None, *, ticket: str | None = None) -> Chosen:
        """Return what was chosen under a key or ticket, as long as that is known."""
        return self.client.send(asking.choice(self.name, key, ticket))

    def rank(
        self,
        actions: Actions,
        context: Mapping[str, Any] | None = None,
        *,
        event: str | None = None,
        excluded: Iterable[str] = (),
        deferred: bool = False,
    ) -> Ranked:
        """Return an event, the action to show, and the probabilities of all, of a ``Chooser``."""
        return self.client.send(asking.rank(self.name, actions, context, event, excluded, deferred))

    def reward(self, event: str, value: float) -> Outcome:
        """Bring the reward of an event that was ranked."""
        return self.client.send(asking.reward(self.name, event, value))

    def activate(self, event: str) -> Outcome:
        """Say that what was ranked with ``deferred`` was shown."""
        return self.client.send(asking.activate(self.name, event))

    def played(
        self,
        key: Key | None = None,
        setting: Mapping[str, Any] | None = None,
        *,
        ticket: str | None = None,
    ) -> Outcome:
        """Say what was really played, before the cost."""
        return self._tell("played", key, ticket, setting=setting)

    def pause(self) -> str:
        """Let knobs stand where they are; return their mode."""
        return self.client.send(asking.change(self.name, "pause"))

    def revert(self) -> str:
        """Let knobs go back to their start; return their mode."""
        return self.client.send(asking.change(self.name, "revert"))

    def resume(self) -> str:
        """Let knobs learn and explore again; return their mode."""
        return self.client.send(asking.change(self.name, "resume"))

    def tick(self, at: When | None = None) -> int:
        """Let the clock go on, to that of the server without a time; return what is still open."""
        return self.client.send(asking.tick(self.name, at))

    def observe(
        self,
        key: Key | None = None,
        value: Any = None,
        *,
        ticket: str | None = None,
        weight: float | None = None,
        at: When | None = None,
    ) -> Outcome:
        """Bring the answer, the last word."""
        return self._tell("observe", key, ticket, value=value, weight=weight, at=at)

    def revise(
        self,
        key: Key | None = None,
        value: Any = None,
        *,
        ticket: str | None = None,
        at: When | None = None,
    ) -> Outcome:
        """Bring the answer so far; the ticket stays open."""
        return self._tell("revise", key, ticket, value=value, at=at)

    def add(
        self,
        key: Key | None = None,
        value: Any = None,
        *,
        ticket: str | None = None,
        at: When | None = None,
    ) -> Outcome:
        """Add to the answer so far; the ticket stays open."""
        return self._tell("add", key, ticket, value=value, at=at)

    def cancel(self, key: Key | None = None, *, ticket: str | None = None) -> Outcome:
        """Close a ticket of which nothing will be heard."""
        return self._tell("cancel", key, ticket)

    def shown(
        self, key: Key | None = None, *, ticket: str | None = None, at: When | None = None
    ) -> Outcome:
        """Say that a choice was shown that was made with ``shown=False``."""
        return self._tell("shown", key, ticket, at=at)

    def _tell(self, verb: str, key: Key | None, ticket: str | None, **more: Any) -> Outcome:
        return self.client.send(asking.tell(self.name, verb, key, ticket, **more))

    def many(self, verb: str, items: Iterable[Mapping[str, Any]]) -> list[Item]:
        """Do a verb to many items, some hundred in a request; return what came of each."""
        asks = asking.many(self.name, verb, items)
        return [said for ask in asks for said in self.client.send(ask)]

    def report(self) -> dict[str, Any]:
        """Return counts, delays, and how well it does."""
        return self.client.send(asking.looked_at(self.name, "report"))

    def timeline(self) -> dict[str, Any]:
        """Return the newest tickets with their times, and how old answers were."""
        return self.client.send(asking.looked_at(self.name, "timeline"))

    def live(self) -> dict[str, Any]:
        """Return what the dashboard shows."""
        return self.client.send(asking.looked_at(self.name, "live"))

    def mode(self, mode: str) -> str:
        """Let a chooser play its own choices ("learn"), or the baseline's ("apprentice")."""
        return self.client.send(asking.put(self.name, "mode", mode))

    def rewards(self, rewards: str) -> str:
        """Say which reward of an event counts: the "earliest", or the "sum" of all."""
        return self.client.send(asking.put(self.name, "rewards", rewards))

    def rebuild(
        self, *, kind: str | None = None, to: str | None = None, **settings: Any
    ) -> RemoteModel:
        """Build a model with other settings from the log, in its place or as ``to``.

        Settings that are not given keep their values.
        """
        self.client.send(asking.rebuild(self.name, kind, to, settings))
        return RemoteModel(self.client, self.name if to is None else to)

    def export(self) -> bytes:
        """Return the log as a Parquet file, which ``load`` of a client takes."""
        return self.client.send(asking.export(self.name))

    def evaluate(self) -> dict[str, Any]:
        """Return what other policies would have earned in the choices of a chooser.

        That is what ``bl.evaluate`` says of its log, as plain data.
        """
        return self.client.send(asking.evaluate(self.name))

    def about(self) -> dict[str, Any]:
        """Return what the model is."""
        return self.client.send(asking.looked_at(self.name))

    def outbox(self, *, most: int = 10_000, every: float = 0.1) -> Outbox:
        """Return what sends answers from a thread of its own, many at a time."""
        return Outbox(self.client.send, self.name, most, every)
