"""What browsers get: the dashboard, from three files of this package, and the description."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from belated.service.handlers import Handler
from belated.service.hub import Hub
from belated.service.requests import Answer, Request, answer


@cache
def _file(name: str) -> bytes:
    return files("belated.service").joinpath(name).read_bytes()


def _static(name: str, kind: str) -> Handler:
    async def handle(hub: Hub, request: Request) -> Answer:
        return Answer(200, _file(name), f"{kind}; charset=utf-8")

    return handle


home = _static("dashboard.html", "text/html")
style = _static("dashboard.css", "text/css")
script = _static("dashboard.js", "text/javascript")


async def openapi(hub: Hub, request: Request) -> Answer:
    """Return the description of all routes."""
    from belated.service.openapi import description

    return answer(description(hub.limits))
