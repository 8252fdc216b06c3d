"""The table of routes: what the server does, what it asks for, and what its description says."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from belated.models.methods import METHODS
from belated.service import handlers, looking, page, rank
from belated.service.handlers import PARQUET, Handler
from belated.service.requests import JSON


@dataclass(frozen=True)
class Route:
    """One line of the table."""

    method: str
    path: str
    scope: str | None
    """What a token must open; None: anybody may."""
    handler: Handler
    about: str
    takes: str | None = None
    """The schema of the body, or the type of a file."""
    gives: str | None = None
    statuses: tuple[int, ...] = (200,)
    has_key: bool = False
    """Whether an ``Idempotency-Key`` counts, apart from where events happen."""
    verb: str | None = None
    """What is done to a model, where the body is one item of it, or many."""

    @property
    def is_once(self) -> bool:
        """Whether a request that comes again with its key gets the first answer."""
        return self.has_key or self.scope in ("decide", "answer")

    @property
    def parts(self) -> tuple[str, ...]:
        """The path, split."""
        return tuple(self.path.split("/")[1:])


def _methods() -> list[Route]:
    """Return the routes of the methods of models: those that items call, and all others."""
    return [
        Route(
            *("POST", f"/models/{{name}}/{line.name}", line.scope),
            handlers.events(line.name),
            line.about,
            line.name.capitalize(),
            "Said",
            verb=line.name,
        )
        if line.scope in ("decide", "answer")
        else Route(
            *("POST", f"/models/{{name}}/{line.name}", line.scope),
            handlers.change(line.name),
            line.about,
            "Tick" if line.name == "tick" else None,
            "Ticked" if line.name == "tick" else "Mode",
            has_key=True,
        )
        for line in METHODS
        if line.about
    ]


def _ranks() -> list[Route]:
    found = []
    for start, whose in (("", "the model 'rank'"), ("/models/{name}", "a model")):
        found += [
            Route(
                "POST",
                f"{start}/rank",
                "decide",
                rank.rank,
                f"Rank actions, by {whose}.",
                "Rank",
                "Ranking",
                (201,),
            ),
            Route(
                "POST",
                f"{start}/events/{{event}}/reward",
                "answer",
                rank.reward,
                f"Bring the reward of an event of {whose}.",
                "Reward",
                None,
                (204,),
            ),
            Route(
                "POST",
                f"{start}/events/{{event}}/activate",
                "answer",
                rank.activate,
                f"Say that what {whose} ranked was shown.",
                None,
                None,
                (204,),
            ),
        ]
    return found


ROUTES: tuple[Route, ...] = (
    Route("GET", "/", None, page.home, "The dashboard.", None, "text/html"),
    Route("GET", "/dashboard.css", None, page.style, "Its style.", None, "text/css"),
    Route("GET", "/dashboard.js", None, page.script, "Its script.", None, "text/javascript"),
    Route("GET", "/health", None, handlers.health, "Whether the server runs.", None, "Status"),
    Route(
        "GET",
        "/ready",
        None,
        handlers.ready,
        "Whether all models are recovered.",
        None,
        "Status",
    ),
    Route("GET", "/openapi.json", None, page.openapi, "This description.", None, JSON),
    Route(
        "GET", "/metrics", "read", handlers.metrics, "Counts for Prometheus.", None, "text/plain"
    ),
    Route("GET", "/models", "read", handlers.list_models, "All models.", None, "Models"),
    Route(
        "POST",
        "/models",
        "admin",
        handlers.create_model,
        "Make a model; nothing happens where it is there with the same settings.",
        "Create",
        "Model",
        (200, 201),
        has_key=True,
    ),
    Route("GET", "/models/{name}", "read", handlers.show_model, "One model.", None, "Model"),
    Route(
        "DELETE",
        "/models/{name}",
        "admin",
        handlers.delete_model,
        "Remove a model with its log; there is no way back.",
        None,
        None,
        (204,),
        has_key=True,
    ),
    *_methods(),
    Route(
        "POST",
        "/models/{name}/peek",
        "read",
        looking.peek,
        "What would be predicted or chosen, without a ticket.",
        "Peek",
        "Peeked",
    ),
    Route(
        "POST",
        "/models/{name}/explain",
        "read",
        looking.explain,
        "What a prediction of a linear model is made of.",
        "Explain",
        "Explained",
    ),
    Route(
        "POST",
        "/models/{name}/weights",
        "read",
        looking.weights,
        "The weights of features of a linear model.",
        "Weights",
        "Weighed",
    ),
    Route(
        "POST",
        "/models/{name}/expect",
        "read",
        looking.expect,
        "What a setting of knobs is thought to cost.",
        "Expect",
        "Expected",
    ),
    Route(
        "POST",
        "/models/{name}/choice",
        "read",
        looking.choice,
        "The choice that a ticket or key stands for, as long as something can be heard of it.",
        "Choice",
        "Said",
    ),
    Route(
        "GET",
        "/models/{name}/report",
        "read",
        handlers.report_model,
        "Counts, delays, and how well it does.",
        None,
        "Report",
    ),
    Route(
        "GET",
        "/models/{name}/timeline",
        "read",
        handlers.timeline_model,
        "The newest tickets with their times, and how old answers were.",
        None,
        "Report",
    ),
    Route(
        "GET",
        "/models/{name}/evaluate",
        "read",
        handlers.evaluate_model,
        "What other policies would have earned in the choices of a model.",
        None,
        "Report",
    ),
    Route(
        "GET",
        "/models/{name}/live",
        "read",
        handlers.live_model,
        "What the dashboard shows of a model.",
        None,
        "Report",
    ),
    Route(
        "PUT",
        "/models/{name}/mode",
        "admin",
        handlers.set_mode,
        "Let a chooser play its own choices, or those of the baseline.",
        "SetMode",
        "Mode",
    ),
    Route(
        "PUT",
        "/models/{name}/rewards",
        "admin",
        rank.set_rewards,
        "Say which reward of an event counts: the earliest, or the sum of all.",
        "Rewards",
        "Rewards",
    ),
    Route(
        "POST",
        "/models/{name}/rebuild",
        "admin",
        handlers.rebuild_model,
        "Build a model with other settings from the log, so that nothing is reset.",
        "Rebuild",
        "Model",
        has_key=True,
    ),
    Route(
        "GET",
        "/models/{name}/export",
        "admin",
        handlers.export_model,
        "The log as a Parquet file.",
        None,
        PARQUET,
    ),
    Route(
        "POST",
        "/models/{name}/import",
        "admin",
        handlers.import_model,
        "Make the model of an exported log.",
        PARQUET,
        "Model",
        (201,),
        has_key=True,
    ),
    *_ranks(),
)
"""Every route; the description at /openapi.json is made of the same lines."""


_REMEMBERED = 1000  # paths; models are asked for again and again


class Table:
    """Finds the route of a request."""

    def __init__(self, routes: tuple[Route, ...] = ROUTES) -> None:
        self._fixed: dict[tuple[str, str], Route] = {}
        self._open: dict[tuple[str, int, tuple[str, ...]], Route] = {}
        self._masks: dict[int, set[tuple[int, ...]]] = {}
        self._found: dict[tuple[str, str], tuple[Route, dict[str, str]]] = {}  # the last ones
        for route in routes:
            mask = tuple(place for place, part in enumerate(route.parts) if part[:1] != "{")
            if len(mask) == len(route.parts):
                self._fixed[route.method, route.path] = route
            else:
                self._masks.setdefault(len(route.parts), set()).add(mask)
                told = tuple(route.parts[place] for place in mask)
                self._open[route.method, len(route.parts), told] = route

    def find(self, method: str, path: str) -> tuple[Route | None, dict[str, str], list[str]]:
        """Return the route of a path, its named parts, and the methods that it has.

        ``path`` is as it was sent: what is encoded in it is decoded part by part, so that a name
        with a slash stays one part. Raises ``UnicodeDecodeError``.
        """
        known = self._found.get((method, path))
        if known is not None:
            return known[0], dict(known[1]), [method]
        found = self._find(method, path)
        if found[0] is not None:
            if len(self._found) >= _REMEMBERED:
                self._found.clear()
            self._found[method, path] = found[0], dict(found[1])
        return found

    def _find(self, method: str, path: str) -> tuple[Route | None, dict[str, str], list[str]]:
        route = self._fixed.get((method, path))
        if route is not None:
            return route, {}, [method]
        parts = path.split("/")[1:]
        for mask in self._masks.get(len(parts), ()):
            told = tuple([parts[place] for place in mask])
            route = self._open.get((method, len(parts), told))
            if route is not None and all(parts):
                return route, _named(route, parts), [method]
        return None, {}, self._allowed(path, parts)

    def _allowed(self, path: str, parts: list[str]) -> list[str]:
        """Return the methods that a path has."""
        found = [method for method, fixed in self._fixed if fixed == path]
        for mask in self._masks.get(len(parts), ()):
            told = tuple([parts[place] for place in mask])
            found += [m for m, length, other in self._open if (length, other) == (len(parts), told)]
        return found


def _named(route: Route, parts: list[str]) -> dict[str, str]:
    """Return the named parts of a path, decoded."""
    return {
        want[1:-1]: part if "%" not in part else unquote_to_bytes(part).decode()
        for want, part in zip(route.parts, parts, strict=True)
        if want[:1] == "{"
    }
