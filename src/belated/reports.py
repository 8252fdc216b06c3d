"""The return values of models, games and evaluations: results of single calls, and reports.

Names are loaded when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from belated.evaluations import Estimate, Evaluation
    from belated.models.chooser import ActionReport, Choice, ChooserReport, Option
    from belated.models.intervals import Interval, IntervalsReport
    from belated.models.knobs import KnobsReport, Proposal
    from belated.models.learner.learner import Decision
    from belated.models.learner.report import Certificate, Report
    from belated.models.linear import Forecast, LinearReport
    from belated.research.game import Best, Run, Runs
    from belated.research.game.decisions import DecisionRun

_HOMES = {
    "ActionReport": "models.chooser",
    "Best": "research.game",
    "Certificate": "models.learner.report",
    "Choice": "models.chooser",
    "ChooserReport": "models.chooser",
    "Decision": "models.learner.learner",
    "DecisionRun": "research.game.decisions",
    "Estimate": "evaluations",
    "Evaluation": "evaluations",
    "Forecast": "models.linear",
    "Interval": "models.intervals",
    "IntervalsReport": "models.intervals",
    "KnobsReport": "models.knobs",
    "LinearReport": "models.linear",
    "Option": "models.chooser",
    "Proposal": "models.knobs",
    "Report": "models.learner.report",
    "Run": "research.game",
    "Runs": "research.game",
}

__all__ = [
    "ActionReport",
    "Best",
    "Certificate",
    "Choice",
    "ChooserReport",
    "Decision",
    "DecisionRun",
    "Estimate",
    "Evaluation",
    "Forecast",
    "Interval",
    "IntervalsReport",
    "KnobsReport",
    "LinearReport",
    "Option",
    "Proposal",
    "Report",
    "Run",
    "Runs",
]


def __getattr__(name: str) -> Any:
    """Load what is named."""
    if name not in _HOMES:
        raise AttributeError(f"module 'belated.reports' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"belated.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted(__all__)
