"""Online learning when the answers come late.

Specs say what to run and cost nothing to import; ``Learner``, ``Timeline`` and ``bounds`` are
loaded when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from belated import errors, explore, rates, smoothing
from belated._version import __version__
from belated.bases import OMD, PFTRL, DualAveraging, Leader, Portfolio
from belated.domains import Ball, Box, ConvexSet, L1Ball, Simplex
from belated.errors import (
    AlreadyObserved,
    BadFeedback,
    BelatedError,
    BusyError,
    MissingExtra,
    SnapshotError,
    SpecError,
    TimelineError,
    UnknownTicket,
    Unsupported,
)
from belated.reductions import (
    Capacity,
    Deadline,
    FirstOrder,
    FullInformation,
    OnePoint,
    Skip,
    TwoPoint,
)
from belated.spec import from_json

if TYPE_CHECKING:
    from belated import bounds, datasets, logs, ranges
    from belated.audits import audit
    from belated.evaluations import Estimate, Evaluation, evaluate
    from belated.models.chooser import ActionReport, Choice, Chooser, ChooserReport, Option
    from belated.models.intervals import Interval, Intervals, IntervalsReport
    from belated.models.knobs import Knobs, KnobsReport, Proposal
    from belated.models.learner.counters import Counters
    from belated.models.learner.learner import Decision, Learner
    from belated.models.learner.report import Certificate, Report
    from belated.models.linear import Forecast, LinearModel, LinearReport
    from belated.models.snapshots import load, restore
    from belated.problem import Problem
    from belated.replays import replay
    from belated.research import delays, losses, rivals, worlds
    from belated.research.game import Best, Game, Run, Runs, best_action, play, play_many
    from belated.research.game.decisions import DecisionRun
    from belated.service.aclient import AsyncClient
    from belated.service.client import Client
    from belated.store import open
    from belated.timeline import Timeline

_LAZY = {
    "ActionReport": "models.chooser",
    "AsyncClient": "service.aclient",
    "Best": "research.game",
    "Certificate": "models.learner.report",
    "Choice": "models.chooser",
    "Chooser": "models.chooser",
    "ChooserReport": "models.chooser",
    "Client": "service.client",
    "Counters": "models.learner.counters",
    "Decision": "models.learner.learner",
    "DecisionRun": "research.game.decisions",
    "Estimate": "evaluations",
    "Evaluation": "evaluations",
    "Forecast": "models.linear",
    "Game": "research.game",
    "Interval": "models.intervals",
    "Intervals": "models.intervals",
    "IntervalsReport": "models.intervals",
    "Knobs": "models.knobs",
    "KnobsReport": "models.knobs",
    "Learner": "models.learner.learner",
    "LinearModel": "models.linear",
    "LinearReport": "models.linear",
    "Option": "models.chooser",
    "Problem": "problem",
    "Report": "models.learner.report",
    "Run": "research.game",
    "Runs": "research.game",
    "Timeline": "timeline",
    "Proposal": "models.knobs",
    "audit": "audits",
    "best_action": "research.game",
    "bounds": "",
    "datasets": "",
    "delays": "research",
    "evaluate": "evaluations",
    "load": "models.snapshots",
    "logs": "",
    "losses": "research",
    "open": "store",
    "play": "research.game",
    "play_many": "research.game",
    "ranges": "",
    "replay": "replays",
    "restore": "models.snapshots",
    "rivals": "research",
    "worlds": "research",
}

__all__ = [
    "OMD",
    "PFTRL",
    "ActionReport",
    "AlreadyObserved",
    "AsyncClient",
    "BadFeedback",
    "Ball",
    "BelatedError",
    "Best",
    "Box",
    "BusyError",
    "Capacity",
    "Certificate",
    "Choice",
    "Chooser",
    "ChooserReport",
    "Client",
    "ConvexSet",
    "Counters",
    "Deadline",
    "Decision",
    "DecisionRun",
    "DualAveraging",
    "Estimate",
    "Evaluation",
    "FirstOrder",
    "Forecast",
    "FullInformation",
    "Game",
    "Interval",
    "Intervals",
    "IntervalsReport",
    "Knobs",
    "KnobsReport",
    "L1Ball",
    "Leader",
    "Learner",
    "LinearModel",
    "LinearReport",
    "MissingExtra",
    "OnePoint",
    "Option",
    "Portfolio",
    "Problem",
    "Proposal",
    "Report",
    "Run",
    "Runs",
    "Simplex",
    "Skip",
    "SnapshotError",
    "SpecError",
    "Timeline",
    "TimelineError",
    "TwoPoint",
    "UnknownTicket",
    "Unsupported",
    "__version__",
    "audit",
    "best_action",
    "bounds",
    "datasets",
    "delays",
    "errors",
    "evaluate",
    "explore",
    "from_json",
    "load",
    "logs",
    "losses",
    "open",
    "play",
    "play_many",
    "ranges",
    "rates",
    "replay",
    "restore",
    "rivals",
    "smoothing",
    "worlds",
]


def __getattr__(name: str) -> Any:
    """Load an engine when it is first named."""
    if name not in _LAZY:
        raise AttributeError(f"module 'belated' has no attribute {name!r}")
    module = importlib.import_module(f"belated.{_LAZY[name] or name}")
    value = getattr(module, name) if _LAZY[name] else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted(__all__)
