"""All routes: those of the methods of models, and those that handlers declare."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

from belated.models.methods import METHODS
from belated.service import handlers, personalizer, read_handlers
from belated.service.requests import DECLARED, Route


def _of_methods() -> Iterator[Route]:
    """Return the routes of the methods of models: those that items call, and all others."""
    for line in METHODS:
        about, name, path = line.about, line.name, f"/models/{{name}}/{line.name}"
        if line.scope in ("decide", "answer"):
            handler, takes = handlers.events(name), name.capitalize()
            yield Route("POST", path, line.scope, handler, about, takes, "Said", verb=name)
        elif about:
            takes, gives = ("Tick", "Ticked") if name == "tick" else ("", "Mode")
            handler = handlers.change(name)
            yield Route(
                "POST", path, line.scope, handler, about, takes or None, gives, has_key=True
            )


_MODULES = (handlers, personalizer, read_handlers)  # which declare theirs when they are loaded
ROUTES: tuple[Route, ...] = (*_of_methods(), *DECLARED)
"""Every route; the description at /openapi.json is made of the same lines."""


class Table:
    """Finds the route of a request."""

    def __init__(self, routes: tuple[Route, ...] = ROUTES) -> None:
        self._ending: dict[tuple[int, str], list[tuple[tuple[str, ...], Route]]] = {}
        """Routes by the number of their parts, and the last of these where it is fixed."""
        for route in routes:
            parts = route.parts
            last = "" if parts[-1][:1] == "{" else parts[-1]
            self._ending.setdefault((len(parts), last), []).append((parts, route))

    def find(self, method: str, path: str) -> tuple[Route | None, dict[str, str], list[str]]:
        """Return the route of a path, its named parts, and the methods that it has.

        ``path`` is as it was sent: what is encoded in it is decoded part by part, so that a name
        with a slash stays one part. Raises ``UnicodeDecodeError``.
        """
        sent = path.split("/")[1:] or [""]
        allowed = []
        for last in dict.fromkeys((sent[-1], "")):
            for parts, route in self._ending.get((len(sent), last), ()):
                pairs = list(zip(parts, sent, strict=True))
                if all(part if want[:1] == "{" else want == part for want, part in pairs):
                    if route.method == method:
                        named = {want[1:-1]: part for want, part in pairs if want[:1] == "{"}
                        return route, {n: _decoded(part) for n, part in named.items()}, [method]
                    allowed.append(route.method)
        return None, {}, allowed


def _decoded(part: str) -> str:
    return part if "%" not in part else unquote_to_bytes(part).decode()
