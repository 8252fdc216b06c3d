"""What is known of old events while a model of other settings sees them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from belated.learner.keys import Key


@dataclass
class Past:
    """Of the event that is being played, and of all before it."""

    spec: bytes = b""
    """Snapshot of a model with the settings that the event was played with."""
    written: float = 0.0
    """When it was committed."""
    keys: dict[int, Key] = field(default_factory=dict)
    """Tickets and their keys."""
    _models: dict[bytes, Any] = field(default_factory=dict)

    def before(self, restore: Callable[[bytes], Any]) -> Any:
        """Return a model with the settings that the event was played with."""
        found = self._models.get(self.spec)
        if found is None:
            found = self._models[self.spec] = restore(self.spec)
        return found
