"""Worlds that are drawn from equations."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, cast

import numpy as np

from belated.research.worlds.rounds import AT_ONCE, Drawn, Lateness, World, named, plain
from belated.spec import positive, whole


class _Generated(World):
    """A world that is made of counts, the deviation of noise, and a lateness."""

    def __post_init__(self) -> None:
        """Check the numbers."""
        for field in fields(cast(Any, self)):
            if field.name != "lateness":
                check = positive if field.name == "noise" else whole
                check(self.kind, field.name, getattr(self, field.name))


@dataclass(frozen=True, repr=False)
class Linear(_Generated, module="worlds"):
    """Means that are linear in the context, one vector for each action.

    >>> world = Linear(rounds=3, dim=2, actions=2)
    >>> world
    worlds.Linear(rounds=3, dim=2, actions=2)
    >>> world.drawn(0).means.shape
    (3, 2)
    """

    rounds: int = 5000
    dim: int = 8
    actions: int = 5
    noise: float = 0.3
    lateness: Lateness = AT_ONCE

    def drawn(self, seed: int) -> Drawn:
        """Return a sequence of rounds."""
        return _linear(self, 1, seed)


@dataclass(frozen=True, repr=False)
class Switching(_Generated, module="worlds"):
    """``Linear``, but everything is drawn anew in every phase."""

    rounds: int = 5000
    dim: int = 8
    actions: int = 5
    noise: float = 0.3
    phases: int = 2
    lateness: Lateness = AT_ONCE

    def drawn(self, seed: int) -> Drawn:
        """Return a sequence of rounds."""
        return _linear(self, self.phases, seed)


@dataclass(frozen=True, repr=False)
class Logistic(_Generated, module="worlds"):
    """Rewards 0 and 1 whose log odds are linear in the context."""

    rounds: int = 5000
    dim: int = 8
    actions: int = 5
    lateness: Lateness = AT_ONCE

    def drawn(self, seed: int) -> Drawn:
        """Return a sequence of rounds."""
        rng = np.random.default_rng([2, seed])
        x = rng.normal(size=(self.rounds, self.dim))
        u = rng.normal(size=(self.actions, self.dim)) / np.sqrt(self.dim)
        b = 0.5 * rng.normal(size=self.actions)
        means = 1.0 / (1.0 + np.exp(1.0 - 1.2 * (x @ u.T + b)))
        rewards = (rng.random((self.rounds, 1)) < means).astype(np.float64)
        delays = self.lateness.drawn(rng, x[:, 0], self.actions)
        return plain(x, means, rewards, delays)


@dataclass(frozen=True, repr=False)
class Featured(_Generated, module="worlds"):
    """Actions with features: what is learned of one says something of all."""

    rounds: int = 5000
    dim: int = 8
    actions: int = 20
    width: int = 6
    noise: float = 0.3
    lateness: Lateness = AT_ONCE

    def drawn(self, seed: int) -> Drawn:
        """Return a sequence of rounds."""
        return _featured(self, np.random.default_rng([4, seed]))


@dataclass(frozen=True, repr=False)
class Changing(_Generated, module="worlds"):
    """``Featured``, but an action is there for ``stay`` rounds only, then another takes its place.

    A fifth of the actions is there at any time.
    """

    rounds: int = 5000
    dim: int = 8
    actions: int = 40
    width: int = 6
    noise: float = 0.3
    stay: int = 1000
    lateness: Lateness = AT_ONCE

    def drawn(self, seed: int) -> Drawn:
        """Return a sequence of rounds."""
        rng = np.random.default_rng([5, seed])
        drawn = _featured(self, rng)
        begin = rng.permutation(self.actions)[None, :] * self.stay * 5 / self.actions
        phase = (np.arange(self.rounds)[:, None] - begin) % (5 * self.stay)
        return drawn._replace(present=phase < self.stay)


def _linear(world: Linear | Switching, phases: int, seed: int) -> Drawn:
    rng = np.random.default_rng([1 if phases == 1 else 3, seed])
    x = rng.normal(size=(world.rounds, world.dim))
    u = rng.normal(size=(phases, world.actions, world.dim)) / np.sqrt(world.dim)
    b = 0.5 * rng.normal(size=(phases, world.actions))
    phase = np.arange(world.rounds) * phases // world.rounds
    means = 0.5 + 0.2 * (np.einsum("ti,tai->ta", x, u[phase]) + b[phase])
    rewards = means + world.noise * rng.normal(size=(world.rounds, 1))
    return plain(x, means, rewards, world.lateness.drawn(rng, x[:, 0], world.actions))


def _featured(world: Featured | Changing, rng: np.random.Generator) -> Drawn:
    x = rng.normal(size=(world.rounds, world.dim))
    z = rng.normal(size=(world.actions, world.width))
    m = rng.normal(size=(world.dim, world.width)) / np.sqrt(world.dim * world.width)
    b = 0.5 * rng.normal(size=world.width) / np.sqrt(world.width)
    means = 0.5 + 0.15 * (x @ m @ z.T + z @ b)
    rewards = means + world.noise * rng.normal(size=(world.rounds, 1))
    drawn = plain(x, means, rewards, world.lateness.drawn(rng, x[:, 0], world.actions))
    return drawn._replace(features=named("z", z))
