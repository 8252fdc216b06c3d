"""The parts of every world: rounds, the lateness of their rewards, and the base of all worlds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from belated.arrays import Bools, Floats, Ints
from belated.errors import SpecError
from belated.spec import Spec, number

NEVER = 1 << 62
"""How late a reward is that never comes."""


class Drawn(NamedTuple):
    """One sequence of rounds; what depends on the action has a column for each."""

    contexts: Sequence[Mapping[str, Any]]
    names: list[str]
    """Of the actions."""
    features: list[dict[str, float]] | None
    """Of the actions."""
    present: Bools
    """Which actions can be chosen."""
    means: Floats
    """Expected rewards."""
    rewards: Floats
    delays: Ints
    """Rounds between a choice and its reward; 2^62 for never."""


@dataclass(frozen=True, repr=False)
class Lateness(Spec, module="worlds"):
    """How late rewards come, in rounds.

    ``shape`` is "constant", "geometric" or "heavy" (Pareto with exponent 1, ``mean`` being twice
    the median then). With ``by="context"`` the mean is multiplied by exp(x_0), with ``by="action"``
    by 4^(2 a / (K - 1) - 1) for action a, so that the last one is 16 times as late as the first.
    A share ``lost`` never comes.
    """

    mean: float = 0.0
    shape: Literal["constant", "geometric", "heavy"] = "geometric"
    by: Literal["nothing", "context", "action"] = "nothing"
    lost: float = 0.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not number("worlds.Lateness", "mean", self.mean) >= 0.0:
            raise SpecError(f"worlds.Lateness: mean must be at least 0, got {self.mean!r}")
        if self.shape not in ("constant", "geometric", "heavy"):
            raise SpecError(f"worlds.Lateness: no shape {self.shape!r}")
        if self.by not in ("nothing", "context", "action"):
            raise SpecError(f"worlds.Lateness: no by {self.by!r}")
        if not 0.0 <= number("worlds.Lateness", "lost", self.lost) <= 1.0:
            raise SpecError(f"worlds.Lateness: lost must be from 0 to 1, got {self.lost!r}")

    def drawn(self, rng: np.random.Generator, leading: Floats, actions: int) -> Ints:
        """Return delays; ``leading`` is the first feature of every context."""
        rounds = leading.size
        mean = np.full((rounds, actions), float(self.mean))
        if self.by == "context":
            mean *= np.exp(leading)[:, None]
        elif self.by == "action":
            mean *= 4.0 ** (2.0 * np.arange(actions) / max(actions - 1, 1) - 1.0)
        if self.shape == "geometric":
            length = mean * rng.exponential(size=(rounds, 1))
        elif self.shape == "heavy":
            length = mean * 0.5 * rng.pareto(1.0, size=(rounds, 1))
        else:
            length = mean
        delays = np.minimum(np.rint(length), NEVER).astype(np.int64)
        delays[rng.random(rounds) < self.lost] = NEVER
        return delays


AT_ONCE = Lateness()
"""No lateness at all."""


class World(Spec):
    """A kind of rounds.

    To add one: a class with ``drawn``, in ``generated`` or ``recorded``.
    """

    def drawn(self, seed: int) -> Drawn:
        """Return a sequence of rounds."""
        raise NotImplementedError


def plain(x: Floats, means: Floats, rewards: Floats, delays: Ints) -> Drawn:
    """Return rounds with numbers as contexts, in which all actions are there."""
    names = [f"action {a}" for a in range(means.shape[1])]
    present = np.ones(means.shape, dtype=np.bool_)
    return Drawn(named("x", x), names, None, present, means, rewards, delays)


def named(letter: str, rows: Floats) -> list[dict[str, float]]:
    """Return rows of numbers as dicts: the letter and the place of the column is the name."""
    names = [f"{letter}{i}" for i in range(rows.shape[1])]
    return [dict(zip(names, row, strict=True)) for row in rows.tolist()]
