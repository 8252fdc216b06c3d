"""A proxy in front of a database, which can fail as networks do."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
from typing import Self

_RESET = struct.pack("ii", 1, 0)  # close() sends RST


class Proxy:
    """Forwards connections from a port of this machine to a socket of PostgreSQL.

    * ``swallow``: takes what both sides send, also over new connections, and forwards nothing, as a
      network that is gone behind a machine that answers for it.
    * ``reset``: resets the connections of the clients; the server does not hear of it.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._target = f"{folder}/.s.PGSQL.5432"
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._flows = threading.Event()
        self._flows.set()
        self._is_closed = False
        threading.Thread(target=self._accept, daemon=True).start()

    def swallow(self) -> None:
        """Forward nothing any more."""
        self._flows.clear()

    def forward(self) -> None:
        """Forward again."""
        self._flows.set()

    def reset(self) -> None:
        """Reset the connections of clients, and let those to the server stay."""
        for client, _ in self._pairs:
            with contextlib.suppress(OSError):
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                os.close(client.detach())

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                with contextlib.suppress(OSError):
                    server.connect(self._target)
                self._pairs.append((client, server))
                for source, sink in ((client, server), (server, client)):
                    thread = threading.Thread(target=self._pump, args=(source, sink), daemon=True)
                    thread.start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                self._flows.wait()
                sink.sendall(data)
            self._flows.wait()
            sink.shutdown(socket.SHUT_WR)

    def __enter__(self) -> Self:
        """Return the proxy."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close all connections."""
        self._listener.close()
        self._flows.set()
        for pair in self._pairs:
            for each in pair:
                each.close()
