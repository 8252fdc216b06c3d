"""A server that runs: from its settings to a socket, and to an orderly end."""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from time import monotonic, sleep
from typing import Any, Self

from belated.errors import MissingExtra, ServiceError, SpecError, StoreUnavailable
from belated.files import StrPath
from belated.service import auth
from belated.service.app import AccessLog, App, LogForwarder
from belated.service.hub import Hub
from belated.service.settings import Settings
from belated.store import open as open_store

_START = 60.0  # seconds that a server gets to begin
_FILES = 10_100  # open files: connections, the store, imports and exports
_GRACE = 30  # seconds that requests get to end when the server is stopped
_IDLE = 75  # seconds after which an idle connection is closed
_RETRY = 0.5  # seconds between two tries to load models while the database is away
_HEAD = 32 << 10  # bytes of the head of a request, where h11 parses it


class Server:
    """A server on a store, for ``with`` or for ``run``.

    ``url`` is where it is; ``token`` is what opens it where one was made just now, else None.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        uvicorn = _uvicorn()
        tokens = self.settings.tokens
        known = () if tokens is None else auth.read(tokens)
        with ExitStack() as held:  # let go of, from the last to the first, whatever fails
            self._socket = _listening(self.settings.host, self.settings.port)
            held.callback(self._socket.close)
            self.host, self.port = self._socket.getsockname()[:2]
            _make(self.settings.store)
            self.store = open_store(self.settings.store, address=self.address)
            held.callback(self.store.close)
            self.hub = Hub(self.store, self.settings.limits, known)
            held.callback(self.hub.close)
            is_own = tokens is None
            self.token = self.hub.own_token(self.settings.new_token) if is_own else None
            access_log = AccessLog(self.settings.log)
            if not access_log.is_quiet:
                held.enter_context(LogForwarder(access_log))
            self.app = App(self.hub, access_log)
            self.app.on_start = self._begin
            self.app.is_stopping = lambda: self._server.should_exit
            wrap = self.settings.middleware or (lambda app: app)
            self._server: Any = uvicorn.Server(config(wrap(self.app), self.settings))
            self._held = held.pop_all()
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._is_up = threading.Event()
        self.on_ready: Callable[[], None] | None = None

    @property
    def url(self) -> str:
        """Where the server is."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    @property
    def address(self) -> str:
        """Where other servers of the same database find this one."""
        if self.settings.advertise is not None:
            return self.settings.advertise
        is_any = self.host in ("0.0.0.0", "::")
        return f"http://{socket.getfqdn()}:{self.port}" if is_any else self.url

    async def _begin(self) -> None:
        task = asyncio.get_running_loop().run_in_executor(None, self._warm)
        task.add_done_callback(lambda done: done.exception())
        self._is_up.set()

    def _warm(self) -> None:
        while not self._server.should_exit:
            try:
                self.hub.warm()
                break
            except StoreUnavailable as error:  # a database that restarts, or drops the connection
                self.app.access_log.write("waiting", why=str(error))
                sleep(_RETRY)
            except Exception as error:
                self.app.access_log.write("failed", why=str(error))
                self._server.should_exit = True
                raise
        for name, why in self.hub.damaged.items():
            self.app.access_log.write("damaged", model=name, why=why)
        if self.on_ready is not None:
            self.on_ready()

    def run(self) -> None:
        """Serve until a signal comes: then finish what was accepted, and close the store.

        On SIGTERM it returns; on SIGINT it raises ``KeyboardInterrupt``, as anything would.

        For a process that does nothing else: garbage is collected only among objects that are made
        from now on, since a collection of all models blocks every response.
        """
        self.hub.on_loaded = leave_out
        is_main = threading.current_thread() is threading.main_thread()  # which alone gets signals
        # uvicorn raises the signals that it got once more when it has ended. What SIGTERM does by
        # itself would end the process there, with the store still open.
        before = signal.signal(signal.SIGTERM, self._on_term) if is_main else None
        gc.freeze()
        try:
            self._serve()
        finally:
            gc.unfreeze()
            if is_main:
                signal.signal(signal.SIGTERM, before)

    def _on_term(self, *_: object) -> None:
        self._server.should_exit = True

    def _serve(self) -> None:
        with self._held:
            self._server.run([self._socket])

    # --- In a thread ----------------------------------------------------------------------------

    def __enter__(self) -> Self:
        """Serve in a thread, and return when requests are answered."""
        self._thread = threading.Thread(target=self._work, name="belated-server", daemon=True)
        self._thread.start()
        until = monotonic() + _START
        while not self._is_up.wait(0.05):
            if not self._thread.is_alive() or monotonic() > until:
                self.stop()
                raise ServiceError(f"the server at {self.url} did not start") from self._failure
        return self

    def _work(self) -> None:
        try:
            self._serve()
        except BaseException as error:  # ``stop`` and ``__enter__`` raise it
            self._failure = error

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Finish what was accepted, and return when all is over; raises what went wrong at it."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(2 * _GRACE + 30)
            if self._is_up.is_set() and self._failure is not None:
                failure, self._failure = self._failure, None
                raise failure


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise SpecError(f"serve: {host}:{port}: {error.strerror}") from error


def _make(store: StrPath) -> None:
    """Make the file of a store that is not there, for its owner alone: it has the key."""
    if "://" in str(store):
        return
    with suppress(OSError):  # it is there; or the store says what is wrong
        os.close(os.open(store, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def config(app: Any, settings: Settings) -> Any:
    """Return how an application is served.

    By default uvicorn takes ``X-Forwarded-For`` from any client on this machine, which could count
    its wrong tokens under an address of its choice; only listed proxies are trusted here.
    """
    return _uvicorn().Config(
        app,
        http=settings.parser,
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=False,
        lifespan="on",
        ws="none",
        proxy_headers=bool(settings.proxy),
        forwarded_allow_ips=list(settings.proxy),
        timeout_graceful_shutdown=_GRACE,
        timeout_keep_alive=_IDLE,
        h11_max_incomplete_event_size=_HEAD,
    )


def _uvicorn() -> Any:
    try:
        import uvicorn
    except ImportError as error:
        raise MissingExtra("uvicorn", extra="service", where="belated serve") from error
    return uvicorn


def allow_connections() -> None:
    """Raise the limit of this process on open files, as far as it may and connections need it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def leave_out() -> None:
    """Leave out of later garbage collections what exists now, less the garbage in it."""
    gc.collect()
    gc.freeze()
