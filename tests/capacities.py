"""Learners with a capacity, fast and slow, for the tests and the pins."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import belated as bl
from belated.reductions import Wrapper
from compositions import SEED, Composition, Row
from naive import NaiveConfig, NaiveLearner
from naive_capacity import NaiveTracker, TrackingConfig


@dataclass(frozen=True)
class Tracked(Composition):
    """A composition inside a capacity."""

    tickets: int
    known: int | None = None

    @property
    def name(self) -> str:
        """Name, as pytest shows it."""
        return f"{self.row}-{self.tickets}-{self.known}"

    def spec(self, dim: int | None = None) -> Wrapper:
        inner: Any = super().spec(dim)
        return bl.Capacity(inner, self.tickets, self.known)

    def config(self, seed: int = SEED) -> NaiveConfig:
        """Return the same for the reference."""
        plain = super().config(seed)
        words = {field.name: getattr(plain, field.name) for field in dataclasses.fields(plain)}
        return TrackingConfig(**words, tickets=self.tickets, known=self.known)

    def reference(self, seed: int = SEED) -> NaiveLearner:
        """Return a fresh slow learner."""
        config = self.config(seed)
        assert isinstance(config, TrackingConfig)
        return NaiveTracker(config)


CASES = [
    Tracked(Row("first", "pftrl", "ball", "tight", "", False, 2), 5),
    Tracked(Row("first", "pftrl", "shifted", "delay", "", False, 3), 19),
    Tracked(Row("first", "pftrl", "ball", "delay", "", False, 2), 1),
    Tracked(Row("first", "omd", "box", "gradient", "", False, 3), 9),
    Tracked(Row("first", "omd", "l1", "constant", "", False, 3), 20, 9),
    Tracked(Row("first", "entropy", "floored", "root", "", False, 3), 8),
    Tracked(Row("first", "dual", "ball", "table", "", False, 2), 30),
    Tracked(Row("full", "pftrl", "ball", "tight", "", False, 2), 6),
    Tracked(Row("one", "pftrl", "ball", "delay", "convex", False, 2), 12, 6),
    Tracked(Row("one", "pftrl", "box", "delay", "root", False, 2), 7),
    Tracked(Row("mean", "pftrl", "l1", "delay", "root", False, 3), 16),
    Tracked(Row("mean", "omd", "ball", "constant", "fixed", False, 2), 10, 3),
    Tracked(Row("two", "pftrl", "ball", "delay", "inverse", False, 3), 14, 7),
]
