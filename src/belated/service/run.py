"""A server that runs: from its settings to a socket, and to an orderly end."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from belated.errors import MissingExtra, SpecError
from belated.files import StrPath
from belated.service import tokens as of
from belated.service.app import App
from belated.service.hub import Hub
from belated.service.journal import Form, Journal
from belated.service.limits import Limits
from belated.store import open as open_store

PORT = 8765
_GRACE = 30  # seconds that requests get to end when the server is stopped


@dataclass(frozen=True)
class Settings:
    """What ``belated serve`` is told."""

    data: StrPath = "belated.db"
    host: str = "127.0.0.1"
    port: int = PORT
    tokens: StrPath | None = None
    new_token: bool = False
    log: Form = "quiet"
    limits: Limits = field(default_factory=Limits)


class Server:
    """A server on a store, for ``with`` or for ``run``.

    ``url`` is where it is; ``token`` is what opens it where one was made just now, else None.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        uvicorn = _uvicorn()
        known = None if self.settings.tokens is None else of.read(self.settings.tokens)
        self._socket = _listening(self.settings.host, self.settings.port)
        self.host, self.port = self._socket.getsockname()[:2]
        try:
            self.store = open_store(self.settings.data)
        except BaseException:
            self._socket.close()
            raise
        self.hub = Hub(self.store, self.settings.limits, known)
        self.token = self.hub.own_token(self.settings.new_token) if known is None else None
        self.app = App(self.hub, Journal(self.settings.log))
        self.app.on_start = self._begin
        self._server: Any = uvicorn.Server(config(self.app))
        self._thread: threading.Thread | None = None
        self._is_up = threading.Event()
        self.on_ready: Callable[[], None] | None = None

    @property
    def url(self) -> str:
        """Where the server is."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    async def _begin(self) -> None:
        """Answer from now on; models are brought back meanwhile."""
        loop = asyncio.get_running_loop()
        task = loop.run_in_executor(None, self._warm)
        task.add_done_callback(lambda done: done.exception())
        self._is_up.set()

    def _warm(self) -> None:
        try:
            self.hub.warm()
        except Exception as error:
            self.app.journal.say("failed", why=str(error))
            self._server.should_exit = True
            raise
        if self.on_ready is not None:
            self.on_ready()

    def run(self) -> None:
        """Serve until a signal comes: then finish what was accepted, and close the store."""
        try:
            self._server.run([self._socket])
        finally:
            self._end()

    def _end(self) -> None:
        self.hub.close()
        self.store.close()
        self._socket.close()

    # --- In a thread ----------------------------------------------------------------------------

    def __enter__(self) -> Self:
        """Serve in a thread, and return when requests are answered."""
        self._thread = threading.Thread(target=self.run, name="belated-server", daemon=True)
        self._thread.start()
        self._is_up.wait(60.0)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop, as a signal would."""
        self.stop()

    def stop(self) -> None:
        """Finish what was accepted, and return when all is over."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(_GRACE + 30)


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that is bound, so that its port is known before anything is served."""
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(kind, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
        found.listen(1024)
    except OSError as error:
        found.close()
        raise SpecError(f"serve: {host}:{port}: {error.strerror}") from error
    return found


def config(app: Any) -> Any:
    """Return how an application is served."""
    return _uvicorn().Config(
        app,
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=False,
        lifespan="on",
        ws="none",
        timeout_graceful_shutdown=_GRACE,
        timeout_keep_alive=75,
        h11_max_incomplete_event_size=32768,
    )


def _uvicorn() -> Any:
    try:
        import uvicorn
    except ImportError as error:
        raise MissingExtra("uvicorn", extra="service", where="belated serve") from error
    return uvicorn
