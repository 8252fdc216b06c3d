"""Vowpal Wabbit's bandits in the worlds of ``bl.worlds``: the same draws and delays."""

from __future__ import annotations

import heapq
import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from belated.research.worlds import Drawn

RULES = {
    "squarecb": "--squarecb",
    "bag 5": "--bag 5",
    "epsilon 0.05": "--epsilon 0.05",
    "cover 5": "--cover 5",
    "greedy": "--epsilon 0",
}
"""Ways to explore, by the name that they are reported under."""
RATES = {"default": "", "-l 0.05": "-l 0.05", "-l 0.2": "-l 0.2", "-l 1": "-l 1", "-l 3": "-l 3"}
"""Learning rates; 0.5 is the default."""


def workspace(arguments: str, seed: int = 1) -> Any:
    """Return a VW that is quiet, with context and actions crossed."""
    vw: Any = importlib.import_module("vowpalwabbit")
    return vw.Workspace(f"--cb_explore_adf {arguments} -q SA --random_seed {seed} --quiet")


def texts(drawn: Drawn) -> tuple[list[str], list[str]]:
    """Return contexts and actions in VW's format."""
    contexts = ["shared |S " + written(context) for context in drawn.contexts]
    features = drawn.features or [{}] * len(drawn.names)
    actions = [
        f"|A {name.replace(' ', '_')} {written(own)}"
        for name, own in zip(drawn.names, features, strict=True)
    ]
    return contexts, actions


def written(features: Mapping[str, float]) -> str:
    """Return features in VW's format."""
    return " ".join(f"{name}:{value:.7g}" for name, value in features.items())


def play(drawn: Drawn, arguments: str, seed: int) -> float:
    """Play a world with VW, rewards fed when they come; return the regret."""
    vw = workspace(arguments, seed + 1)
    rng = np.random.default_rng([7, seed])
    contexts, actions = texts(drawn)
    due: list[tuple[int, int, int, float, list[int]]] = []
    regret = 0.0
    for t in range(len(contexts)):
        while due and due[0][0] <= t:
            _, then, a, chance, present = heapq.heappop(due)
            label = f"0:{-drawn.rewards[then, a]:.7g}:{chance:.7g} "
            rows = [label + actions[b] if b == a else actions[b] for b in present]
            vw.learn([contexts[then], *rows])
        present = np.flatnonzero(drawn.present[t]).tolist()
        said = np.array(vw.predict([contexts[t], *(actions[b] for b in present)]))
        drawn_at = np.searchsorted(np.cumsum(said / said.sum()), rng.random())
        place = min(int(drawn_at), said.size - 1)
        a = present[place]
        when = t + 1 + int(drawn.delays[t, a])
        if when < len(contexts):
            heapq.heappush(due, (when, t, a, float(said[place]), present))
        regret += float(drawn.means[t, present].max() - drawn.means[t, a])
    vw.finish()
    return regret
