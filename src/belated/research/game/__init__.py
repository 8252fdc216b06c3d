"""Whole games: losses, delays, regret, and what the theorems allow."""

from __future__ import annotations

from belated.research.game.best import Best, best_action
from belated.research.game.game import Game
from belated.research.game.many import Failure, Runs, play_many
from belated.research.game.run import LinearSums, Run
from belated.research.game.single import play

__all__ = [
    "Best",
    "Failure",
    "Game",
    "LinearSums",
    "Run",
    "Runs",
    "best_action",
    "play",
    "play_many",
]
