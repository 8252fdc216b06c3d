"""Knobs: settings of a live system from costs that come late and noisy."""

from belated.knobs.knobs import Expected, Knobs, Turn
from belated.knobs.ranges import Among, Log, Span, Whole
from belated.knobs.report import Comparison, InContext, KnobsReport, Stretch

__all__ = [
    "Among",
    "Comparison",
    "Expected",
    "InContext",
    "Knobs",
    "KnobsReport",
    "Log",
    "Span",
    "Stretch",
    "Turn",
    "Whole",
]
