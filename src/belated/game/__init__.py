"""Whole games: losses, delays, regret, and what the theorems allow."""

from __future__ import annotations

from belated.game.best import Best, best_action
from belated.game.game import Game
from belated.game.many import Failure, Runs, play_many
from belated.game.one import play
from belated.game.run import LinearSums, Run

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
