"""What is counted of models and of the store, beside requests and events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from belated.service.metrics import Family

if TYPE_CHECKING:
    from belated.service.hub import Hub


def families(hub: Hub) -> list[Family]:
    """Return what is counted of models and of the store."""
    models = sorted(hub.models.copy().items())
    writer = hub.store.writer
    return [
        (
            "belated_open_tickets",
            "gauge",
            "Tickets that wait for their answers.",
            [({"model": name}, float(each.open)) for name, each in models],
        ),
        (
            "belated_rounds_total",
            "counter",
            "Predictions and choices.",
            [({"model": name}, float(each.rounds)) for name, each in models],
        ),
        ("belated_models", "gauge", "Models.", [({}, float(len(hub.names)))]),
        ("belated_commits_total", "counter", "Commits.", [({}, float(writer.commits))]),
        (
            "belated_committed_events_total",
            "counter",
            "Events in them.",
            [({}, float(writer.events))],
        ),
        (
            "belated_damaged_models",
            "gauge",
            "Models that could not be brought back.",
            [({}, float(len(hub.damaged)))],
        ),
        (
            "belated_ready",
            "gauge",
            "Whether all models are there.",
            [({}, float(hub.is_ready))],
        ),
    ]
