"""What the tests know of one rival: its spec, its slow version, and how it should behave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from belated.reductions import LearnerSpec

Answer = Literal["gradient", "function", "coefficients", "value", "pair", "values", "arm"]


@dataclass(frozen=True)
class RivalCase:
    """One rival on one set.

    ``slow(seed)`` makes the slow version of ``spec``. ``ancestor`` is the no-delay method that it
    must equal when every answer comes at once, if that is another spec. ``in_order`` says that
    only in-order answers after exactly ``delay`` rounds are taken, ``loses`` that a ticket may be
    cancelled.
    """

    name: str
    spec: LearnerSpec
    slow: Callable[[int], Any]
    answer: Answer
    ancestor: LearnerSpec | None = None
    delay: int | None = None
    loses: bool = True
    tolerance: float = 1e-9
