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
from belated.errors import BelatedError
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
    from belated import bounds, datasets, logs, ranges, reports, research
    from belated.audits import audit
    from belated.evaluations import evaluate
    from belated.models.chooser import Chooser
    from belated.models.intervals import Intervals
    from belated.models.knobs import Knobs
    from belated.models.learner.counters import Counters
    from belated.models.learner.learner import Learner
    from belated.models.linear import LinearModel
    from belated.models.snapshots import load, restore
    from belated.problem import Problem
    from belated.replays import replay
    from belated.research import delays, losses, rivals, worlds
    from belated.research.game import Game, play, play_many
    from belated.service.client import AsyncClient, Client
    from belated.store import open
    from belated.timeline import Timeline

_LAZY = {
    "AsyncClient": "service.client",
    "Chooser": "models.chooser",
    "Client": "service.client",
    "Counters": "models.learner.counters",
    "Game": "research.game",
    "Intervals": "models.intervals",
    "Knobs": "models.knobs",
    "Learner": "models.learner.learner",
    "LinearModel": "models.linear",
    "Problem": "problem",
    "Timeline": "timeline",
    "audit": "audits",
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
    "reports": "",
    "research": "",
    "restore": "models.snapshots",
    "rivals": "research",
    "worlds": "research",
}

__all__ = [
    "OMD",
    "PFTRL",
    "AsyncClient",
    "Ball",
    "BelatedError",
    "Box",
    "Capacity",
    "Chooser",
    "Client",
    "ConvexSet",
    "Counters",
    "Deadline",
    "DualAveraging",
    "FirstOrder",
    "FullInformation",
    "Game",
    "Intervals",
    "Knobs",
    "L1Ball",
    "Leader",
    "Learner",
    "LinearModel",
    "OnePoint",
    "Portfolio",
    "Problem",
    "Simplex",
    "Skip",
    "Timeline",
    "TwoPoint",
    "__version__",
    "audit",
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
    "reports",
    "research",
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
