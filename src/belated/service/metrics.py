"""Counts for Prometheus, in its text format."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable

_LIMITS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})

Family = tuple[str, str, str, list[tuple[dict[str, str], float]]]
"""Name, kind, help, and values by label."""


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

    def text(self, others: Iterable[Family]) -> str:
        """Return all of it, and what others count."""
        requests = [
            ({"route": route, "status": str(status)}, float(count))
            for (route, status), count in sorted(self.requests.items())
        ]
        events = [
            ({"model": model, "verb": verb, "outcome": outcome}, float(count))
            for (model, verb, outcome), count in sorted(self.events.items())
        ]
        families: list[Family] = [
            ("belated_requests_total", "counter", "Requests by route and status.", requests),
            ("belated_events_total", "counter", "Events by model, verb and outcome.", events),
            *others,
        ]
        return "".join(map(_family, families)) + self._histogram()

    def _histogram(self) -> str:
        name, so_far = "belated_request_seconds", 0
        lines = [f"# HELP {name} Time to answer.", f"# TYPE {name} histogram"]
        for limit, count in zip((*map(str, _LIMITS), "+Inf"), self._times, strict=True):
            so_far += count
            lines.append(f'{name}_bucket{{le="{limit}"}} {so_far}')
        lines += [f"{name}_sum {self._seconds!r}", f"{name}_count {so_far}", ""]
        return "\n".join(lines)


def _family(family: Family) -> str:
    name, kind, about, values = family
    lines = [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
    for labels, value in values:
        said = ",".join(f'{key}="{each.translate(_ESCAPES)}"' for key, each in labels.items())
        lines.append(f"{name}{{{said}}} {value:.17g}" if said else f"{name} {value:.17g}")
    return "\n".join([*lines, ""])
