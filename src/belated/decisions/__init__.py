"""Decisions: choose among actions now, hear the reward later."""

from belated.decisions.chooser import Choice, Chooser, Option
from belated.decisions.report import ActionReport, ChooserReport

__all__ = [
    "ActionReport",
    "Choice",
    "Chooser",
    "ChooserReport",
    "Option",
]
