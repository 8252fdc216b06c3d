"""What a client may ask for; limits of single bodies are part of the structs in ``schemas``."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from belated.errors import SpecError


@dataclass(frozen=True)
class Limits:
    """Bounds on requests; what goes beyond gets an answer that says which one."""

    body: int = 4 << 20
    """Bytes of a request."""
    upload: int = 256 << 20
    """Bytes of a file that is imported."""
    products: int = 1_000_000
    """Numbers that a request computes with, over all of its items: of a choice features of the
    context times those of all actions, of a linear model features and interactions, of a Learner
    coordinates."""
    choice_products: int = 250_000
    """Of these, the numbers of one choice, during which no other code runs: it takes some 50 ms."""
    bits: int = 22
    """A model has at most 2^bits coordinates."""
    models: int = 1000
    open: int = 1_000_000
    """Tickets of a model that wait for their answers."""
    evaluated: int = 100_000
    """Events of a log that is evaluated."""
    at_once: int = 2000
    """Requests that are being answered."""
    rate: float = 0.0
    """Requests per second and token; 0: any number."""
    patience: float = 30.0
    """Seconds that a body may take to come, or a MiB of one that is larger."""

    def __post_init__(self) -> None:
        """Refuse limits under which nothing could be done."""
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type == "int" and (type(value) is not int or value < 1):
                raise SpecError(
                    f"Limits: {field.name} must be a whole number of at least 1, got {value!r}"
                )
        if not (math.isfinite(self.rate) and self.rate >= 0.0):
            raise SpecError(f"Limits: rate must be at least 0 (any number), got {self.rate!r}")
        if not (math.isfinite(self.patience) and self.patience > 0.0):
            raise SpecError(f"Limits: patience must be more than 0, got {self.patience!r}")
