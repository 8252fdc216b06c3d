"""Knobs: settings of a live system from costs that come late and noisy."""

from belated.models.knobs.knobs import Expected, Knobs, Proposal
from belated.models.knobs.report import Comparison, InContext, KnobsReport, Stretch

__all__ = [
    "Comparison",
    "Expected",
    "InContext",
    "Knobs",
    "KnobsReport",
    "Proposal",
    "Stretch",
]
