"""Knobs: continuous settings from late, noisy values."""

from belated.knobs.knobs import Knobs, Turn
from belated.knobs.ranges import Among, Log, Span, Whole

__all__ = ["Among", "Knobs", "Log", "Span", "Turn", "Whole"]
