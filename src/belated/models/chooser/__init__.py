"""Decisions: choose among actions now, hear the reward later."""

from belated.models.chooser.chooser import Choice, Chooser, Option
from belated.models.chooser.report import ActionReport, ChooserReport

__all__ = [
    "ActionReport",
    "Choice",
    "Chooser",
    "ChooserReport",
    "Option",
]
