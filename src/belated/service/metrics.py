"""Metrics of a server, collected by prometheus-client when they are asked for."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.openmetrics import exposition as openmetrics

if TYPE_CHECKING:
    from belated.service.hub import Hub

_LIMITS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
_TEXT = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counts since the start of a server, and the numbers of its models and store."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self.requests: Counter[tuple[str, str]] = Counter()
        """By route and status."""
        self.events: Counter[tuple[str, str, str]] = Counter()
        """By model, verb and outcome."""
        self._times = [0] * (len(_LIMITS) + 1)
        self._seconds = 0.0

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self.requests[route, str(status)] += 1
        self._times[bisect_left(_LIMITS, seconds)] += 1
        self._seconds += seconds

    def text(self, accept: str) -> tuple[str, bytes]:
        """Return the type and the text: OpenMetrics where a client accepts it."""
        registry = CollectorRegistry()
        registry.register(self)
        if "application/openmetrics-text" in accept:
            return openmetrics.CONTENT_TYPE_LATEST, openmetrics.generate_latest(registry)
        text: bytes = generate_latest(registry)
        return _TEXT, text

    def collect(self) -> Iterator[Any]:
        """Return all families, as prometheus-client wants them."""
        hub, writer = self._hub, self._hub.store.writer
        models = sorted(hub.models.copy().items())
        counters: list[tuple[str, str, list[str], Any]] = [
            ("requests", "Requests by route and status.", ["route", "status"], self.requests),
            ("events", "Events by outcome.", ["model", "verb", "outcome"], self.events),
            ("rounds", "Predictions.", ["model"], {(name,): each.rounds for name, each in models}),
            ("commits", "Commits.", [], {(): writer.commits}),
            ("committed_events", "Events in them.", [], {(): writer.events}),
        ]
        for name, about, labels, counts in counters:
            counter = CounterMetricFamily(f"belated_{name}", about, labels=labels)
            for values, count in sorted(counts.items()):
                counter.add_metric(values, count)
            yield counter
        waiting = GaugeMetricFamily("belated_open_tickets", "Open tickets.", labels=["model"])
        for name, each in models:
            waiting.add_metric([name], each.open)
        yield waiting
        yield GaugeMetricFamily("belated_models", "Models.", len(hub.names))
        yield GaugeMetricFamily("belated_damaged_models", "Damaged models.", len(hub.damaged))
        yield GaugeMetricFamily("belated_ready", "Whether all models are there.", hub.is_ready)
        yield self._histogram()

    def _histogram(self) -> HistogramMetricFamily:
        so_far, buckets = 0, []
        for limit, count in zip((*map(str, _LIMITS), "+Inf"), self._times, strict=True):
            so_far += count
            buckets.append((limit, so_far))
        return HistogramMetricFamily(
            "belated_request_seconds", "Time to answer.", buckets, sum_value=self._seconds
        )
