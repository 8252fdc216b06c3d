"""Metrics of a server, collected by prometheus-client when they are asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.openmetrics import exposition as openmetrics

if TYPE_CHECKING:
    from belated.service.hub import Hub

_C, _G = CounterMetricFamily, GaugeMetricFamily
LIMITS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
"""Seconds; responses are counted by how long they took."""
_TEXT = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counts since the start of a server, and the numbers of its models and store."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self.requests: Counter[tuple[str, str]] = Counter()
        """By route and status."""
        self.events: Counter[tuple[str, str, str]] = Counter()
        """By model, verb and outcome."""
        self.times = [0] * (len(LIMITS) + 1)
        """Requests by how long they took: up to each of ``LIMITS``, and longer."""
        self.seconds = 0.0

    def text(self, accept: str) -> tuple[str, bytes]:
        """Return the type and the text: OpenMetrics where a client accepts it."""
        registry = CollectorRegistry()
        registry.register(self)
        if "application/openmetrics-text" in accept:
            return openmetrics.CONTENT_TYPE_LATEST, openmetrics.generate_latest(registry)
        text: bytes = generate_latest(registry)
        return _TEXT, text

    def collect(self) -> Iterator[Any]:
        hub, writer = self._hub, self._hub.store.writer
        models = sorted(hub.models.copy().items())
        rounds = {(name,): each.rounds for name, each in models}
        waiting = {(name,): each.open for name, each in models}
        families: tuple[tuple[Any, str, str, list[str], Any], ...] = (
            (_C, "requests", "Requests by route and status.", ["route", "status"], self.requests),
            (_C, "events", "Events by outcome.", ["model", "verb", "outcome"], self.events),
            (_C, "rounds", "Predictions.", ["model"], rounds),
            (_C, "commits", "Commits.", [], {(): writer.commits}),
            (_C, "committed_events", "Events in them.", [], {(): writer.events}),
            (_G, "open_tickets", "Open tickets.", ["model"], waiting),
            (_G, "models", "Models.", [], {(): len(hub.names)}),
            (_G, "damaged_models", "Damaged models.", [], {(): len(hub.damaged)}),
            (_G, "ready", "Whether all models are there.", [], {(): hub.is_ready}),
        )
        for kind, name, about, labels, counts in families:
            family = kind(f"belated_{name}", about, labels=labels)
            for values, count in sorted(counts.items()):
                family.add_metric(values, count)
            yield family
        so_far, buckets = 0, []
        for limit, count in zip((*map(str, LIMITS), "+Inf"), self.times, strict=True):
            so_far += count
            buckets.append((limit, so_far))
        yield HistogramMetricFamily(
            "belated_request_seconds", "Time to answer.", buckets, sum_value=self.seconds
        )
