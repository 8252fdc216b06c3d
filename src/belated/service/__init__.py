"""Models over HTTP: decisions now, answers whenever, nothing lost.

``belated serve`` starts it. ``hub`` has the models and applies events, ``routes`` is the table of
what may be asked, ``app`` is the ASGI application around it, ``run`` the process. An event is
answered after it is committed (``belated.store``); requests that wait share commits.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from belated.service.client import (
        AsyncClient,
        AsyncOutbox,
        AsyncRemoteModel,
        Client,
        Outbox,
        RemoteModel,
        Ticket,
    )
    from belated.service.run import Server
    from belated.service.settings import Limits, Settings

__all__ = [
    "AsyncClient",
    "AsyncOutbox",
    "AsyncRemoteModel",
    "Client",
    "Limits",
    "Outbox",
    "RemoteModel",
    "Server",
    "Settings",
    "Ticket",
]
_HOMES = {"Limits": "settings", "Server": "run", "Settings": "settings"}


def __getattr__(name: str) -> Any:
    """Load what is asked for: a client needs nothing of what a server does."""
    if name not in __all__:
        raise AttributeError(f"module 'belated.service' has no attribute {name!r}")
    home = _HOMES.get(name, "client")
    value = getattr(importlib.import_module(f"belated.service.{home}"), name)
    globals()[name] = value
    return value
