"""Games, losses, delay patterns, worlds, published methods and studies.

Names are loaded when first used. ``belated`` has the most important ones too.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from belated.research import delays, losses, rivals, worlds
    from belated.research.game import Best, Game, Run, Runs, best_action, play, play_many

_MODULES = ("delays", "losses", "rivals", "worlds")

__all__ = [
    "Best",
    "Game",
    "Run",
    "Runs",
    "best_action",
    "delays",
    "losses",
    "play",
    "play_many",
    "rivals",
    "worlds",
]


def __getattr__(name: str) -> Any:
    """Load what is named."""
    if name not in __all__:
        raise AttributeError(f"module 'belated.research' has no attribute {name!r}")
    if name in _MODULES:
        return importlib.import_module(f"belated.research.{name}")
    value = getattr(importlib.import_module("belated.research.game"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted(__all__)
