"""Models over HTTP: decisions now, answers whenever, nothing lost.

``belated serve`` starts it. ``hub`` has the models and applies events, ``routes`` is the table of
what may be asked, ``app`` is the ASGI application around it, ``run`` the process. An event is
answered after it is committed (``belated.store``); requests that wait share commits.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from belated.service.aclient import AsyncClient, AsyncRemoteModel
    from belated.service.client import Client, Outbox, RemoteModel
    from belated.service.client_requests import (
        Chosen,
        Decided,
        Expected,
        Explained,
        Predicted,
        Ranked,
        Turned,
    )
    from belated.service.limits import Limits
    from belated.service.run import Server, Settings

_HOMES = {
    **dict.fromkeys(("AsyncClient", "AsyncRemoteModel"), "aclient"),
    **dict.fromkeys(
        ("Chosen", "Decided", "Expected", "Explained", "Predicted", "Ranked", "Turned"),
        "client_requests",
    ),
    **dict.fromkeys(("Client", "Outbox", "RemoteModel"), "client"),
    "Limits": "limits",
    **dict.fromkeys(("Server", "Settings"), "run"),
}

__all__ = [
    "AsyncClient",
    "AsyncRemoteModel",
    "Chosen",
    "Client",
    "Decided",
    "Expected",
    "Explained",
    "Limits",
    "Outbox",
    "Predicted",
    "Ranked",
    "RemoteModel",
    "Server",
    "Settings",
    "Turned",
]


def __getattr__(name: str) -> Any:
    """Load what is asked for: a client needs nothing of what a server does."""
    if name not in _HOMES:
        raise AttributeError(f"module 'belated.service' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"belated.service.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
