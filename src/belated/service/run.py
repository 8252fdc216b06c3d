"""A server that runs: from its settings to a socket, and to an orderly end."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import os
import resource
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any, Self

from belated.errors import MissingExtra, ServiceError, SpecError
from belated.files import StrPath
from belated.service import auth
from belated.service.app import App
from belated.service.hub import Hub
from belated.service.journal import Form, Journal, Told
from belated.service.limits import BYTES, Limits
from belated.service.retry import Address
from belated.service.shortcut import Shortcut
from belated.store import open as open_store

PORT = 8765
_START = 60.0  # seconds that a server gets to begin
KNOWN = ("0.30", "0.54")
"""The first and the last version of uvicorn whose inside is known."""
PLAIN = "h11"
_SPARE = 100  # files that are not connections: the store, modules, what is imported and exported
_MOST = 10_000  # connections
_GRACE = 30  # seconds that requests get to end when the server is stopped


@dataclass(frozen=True)
class Settings:
    """What ``belated serve`` is told."""

    data: StrPath = "belated.db"
    host: str = "127.0.0.1"
    port: int = PORT
    tokens: StrPath | None = None
    advertise: str | None = None
    """Where other servers of the same database find this one; None: where it listens."""
    proxies: tuple[str, ...] = ()
    """Addresses or networks of proxies whose ``X-Forwarded-For`` is trusted; no other is read."""
    new_token: bool = False
    log: Form = "quiet"
    limits: Limits = field(default_factory=Limits)


class Server:
    """A server on a store, for ``with`` or for ``run``.

    ``url`` is where it is; ``token`` is what opens it where one was made just now, else None.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        if self.settings.advertise is not None:
            _check_advertised(self.settings.advertise)
        _check_proxies(self.settings.proxies)
        uvicorn = _uvicorn()
        known = None if self.settings.tokens is None else auth.read(self.settings.tokens)
        with ExitStack() as held:  # let go of, from the last to the first, whatever fails
            self._socket = _listening(self.settings.host, self.settings.port)
            held.callback(self._socket.close)
            self.host, self.port = self._socket.getsockname()[:2]
            _make(self.settings.data)
            self.store = open_store(self.settings.data, address=self.address)
            held.callback(self.store.close)
            self.hub = Hub(self.store, self.settings.limits, known)
            held.callback(self.hub.close)
            self.token = self.hub.own_token(self.settings.new_token) if known is None else None
            journal = Journal(self.settings.log)
            if not journal.is_quiet:
                held.enter_context(Told(journal))
            self.app = App(self.hub, journal)
            shortcut = Shortcut(self.app)
            self.app.on_start, self.app.on_stop = self._begin, partial(shortcut.end, _GRACE)
            patience, proxies = self.settings.limits.patience, self.settings.proxies
            served = config(self.app, patience, shortcut, proxies)
            self.app.is_plain = served.http == PLAIN
            if self.app.is_plain and not journal.is_quiet:
                journal.say("plain", uvicorn=uvicorn.__version__, known=KNOWN)
            self._server: Any = uvicorn.Server(served)
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
        for name, why in self.hub.damaged.items():
            self.app.journal.say("damaged", model=name, why=why)
        if self.on_ready is not None:
            self.on_ready()

    def run(self) -> None:
        """Serve until a signal comes: then finish what was accepted, and close the store.

        On SIGTERM it returns; on SIGINT it raises ``KeyboardInterrupt``, as anything would.

        For a process that does nothing else meanwhile: garbage is looked for only among what comes.
        """
        self.hub.on_loaded = leave_out
        with left_out(), self._terminated():
            self._serve()

    @contextmanager
    def _terminated(self) -> Iterator[None]:
        """Have SIGTERM stop the server, and do no more than that.

        uvicorn raises the signals that it got once more when it has ended. What SIGTERM does by
        itself would end the process there, with the store still open.
        """
        if threading.current_thread() is not threading.main_thread():  # who alone gets signals
            yield
            return
        before = signal.signal(signal.SIGTERM, self._on_term)
        try:
            yield
        finally:
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
        except BaseException as error:  # told by whoever waits for the server
            self._failure = error

    def __exit__(self, *_: object) -> None:
        """Stop, as a signal would."""
        self.stop()

    def stop(self) -> None:
        """Finish what was accepted, and return when all is over; raises what went wrong at it."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(2 * _GRACE + 30)
            if self._is_up.is_set() and self._failure is not None:
                failure, self._failure = self._failure, None
                raise failure


def _check_advertised(url: str) -> None:
    """Refuse an address that other servers could not send requests to, as they are."""
    if Address.of(url, "", "serve: --advertise").path:
        raise SpecError(f"serve: --advertise: an address is http://HOST:PORT, no path, got {url!r}")


def _check_proxies(proxies: tuple[str, ...]) -> None:
    """Refuse proxies that are neither addresses nor networks."""
    for each in proxies:
        try:
            ipaddress.ip_network(each)
        except ValueError as error:
            raise SpecError(
                "serve: --proxy: give the address or network of a proxy, such as 127.0.0.1 or "
                f"10.0.0.0/8: {error}"
            ) from None


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that is bound, so that its port is known before anything is served."""
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(kind, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
        found.listen(1024)
    except (OSError, OverflowError) as error:
        found.close()
        why = error.strerror if isinstance(error, OSError) else "a port is from 0 to 65535"
        raise SpecError(f"serve: {host}:{port}: {why}") from error
    return found


def _make(data: StrPath) -> None:
    """Make the file of a store that is not there, which nobody else may read: it has the key."""
    if "://" in str(data):
        return
    with suppress(OSError):  # it is there; or the store says what is wrong
        os.close(os.open(data, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def config(
    app: Any,
    patience: float = Limits.patience,
    shortcut: Shortcut | None = None,
    proxies: tuple[str, ...] = (),
) -> Any:
    """Return how an application is served.

    By default uvicorn takes ``X-Forwarded-For`` from any client on this machine, which could count
    its wrong tokens under an address of its choice; only listed proxies are trusted here.
    """
    return _uvicorn().Config(
        app,
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=False,
        lifespan="on",
        ws="none",
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        http=protocol(patience, shortcut),
        timeout_graceful_shutdown=_GRACE,
        timeout_keep_alive=75,
        h11_max_incomplete_event_size=BYTES,
    )


def _uvicorn() -> Any:
    try:
        import uvicorn
    except ImportError as error:
        raise MissingExtra("uvicorn", extra="service", where="belated serve") from error
    return uvicorn


# --- Connections ----------------------------------------------------------------------------------


def protocol(patience: float, shortcut: Shortcut | None = None) -> Any:
    """Return what uvicorn reads requests with; ``patience`` is how long a head may take.

    Our own connections bound heads in bytes, in number and in time, take the short way for events,
    and answer every request that they have read. They stand on the inside of uvicorn, so they are
    only for the versions that the tests were run with. With others, or without httptools, the
    parser h11 reads requests. It bounds bytes, and reads on while requests wait for those before
    them, without end; so there a connection is for one request.
    """
    if not is_known():
        return PLAIN
    try:
        from belated.service.connection import Connection
    except ImportError:  # without httptools
        return PLAIN
    return partial(Connection, patience, shortcut, most_connections())


def most_connections() -> int:
    """Return how many connections there may be, so that files can still be opened."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if soft == resource.RLIM_INFINITY else max(min(soft - _SPARE, _MOST), 1)


def allow_connections() -> None:
    """Raise the limit of this process on open files, as far as it may and connections need it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST + _SPARE if hard == resource.RLIM_INFINITY else min(_MOST + _SPARE, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def is_known() -> bool:
    """Tell whether the inside of the uvicorn that is installed is known."""
    import uvicorn

    first, last = (_numbers(each) for each in KNOWN)
    return first <= _numbers(uvicorn.__version__) <= last


def _numbers(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version, or none where it has others before them."""
    parts = version.split(".")[:2]
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else ()


# --- Garbage --------------------------------------------------------------------------------------


@contextmanager
def left_out() -> Iterator[None]:
    """Leave out all that is there now, until the end: for a process that does nothing else."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def leave_out() -> None:
    """Leave out what has come since, too, less the garbage in it."""
    gc.collect()
    gc.freeze()
