"""Counts for Prometheus, in its text format."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from belated.service.hub import Hub

_LIMITS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})

Labelled = tuple[dict[str, str], float]
"""Labels by name, and the value that has them."""


class Metrics:
    """What a server has done since it was started."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        """By route and status."""
        self.events: Counter[tuple[str, str, str]] = Counter()
        """By model, verb and outcome."""
        self._times = [0] * (len(_LIMITS) + 1)
        self._seconds = 0.0

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self.requests[route, status] += 1
        self._times[bisect_left(_LIMITS, seconds)] += 1
        self._seconds += seconds

    def text(self, hub: Hub) -> str:
        """Return all of it, and what is counted of models and of the store."""
        requests = [
            ({"route": route, "status": str(status)}, float(count))
            for (route, status), count in sorted(self.requests.items())
        ]
        events = [
            ({"model": model, "verb": verb, "outcome": outcome}, float(count))
            for (model, verb, outcome), count in sorted(self.events.items())
        ]
        models, writer = sorted(hub.models.copy().items()), hub.store.writer
        waiting = [({"model": name}, float(each.open)) for name, each in models]
        rounds = [({"model": name}, float(each.rounds)) for name, each in models]
        return "".join(
            (
                _family("requests_total", "counter", "Requests by route and status.", requests),
                _family("events_total", "counter", "Events by model, verb and outcome.", events),
                _family("open_tickets", "gauge", "Tickets that wait for their answers.", waiting),
                _family("rounds_total", "counter", "Predictions and choices.", rounds),
                _family("models", "gauge", "Models.", len(hub.names)),
                _family("commits_total", "counter", "Commits.", writer.commits),
                _family("committed_events_total", "counter", "Events in them.", writer.events),
                _family("damaged_models", "gauge", "Models that are damaged.", len(hub.damaged)),
                _family("ready", "gauge", "Whether all models are there.", hub.is_ready),
                self._histogram(),
            )
        )

    def _histogram(self) -> str:
        name, so_far = "belated_request_seconds", 0
        lines = [f"# HELP {name} Time to answer.", f"# TYPE {name} histogram"]
        for limit, count in zip((*map(str, _LIMITS), "+Inf"), self._times, strict=True):
            so_far += count
            lines.append(f'{name}_bucket{{le="{limit}"}} {so_far}')
        lines += [f"{name}_sum {self._seconds!r}", f"{name}_count {so_far}", ""]
        return "\n".join(lines)


def _family(name: str, kind: str, about: str, values: list[Labelled] | float) -> str:
    """Return what is counted under a name, with labels or without."""
    lines = [f"# HELP belated_{name} {about}", f"# TYPE belated_{name} {kind}"]
    for labels, value in values if isinstance(values, list) else [({}, float(values))]:
        said = ",".join(f'{key}="{each.translate(_ESCAPES)}"' for key, each in labels.items())
        lines.append(f"belated_{name}{'{' + said + '}' if said else ''} {value:.17g}")
    return "\n".join([*lines, ""])
