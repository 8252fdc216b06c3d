"""Worlds for decisions: contexts, actions, rewards and how late they come.

A world is a value; ``drawn(seed)`` gives one sequence of rounds from it. There are d features of
the context x, standard normal, K actions, and means f_a(x):

    Linear       f_a = 1/2 + 1/5 (<u_a, x> + b_a), with normal noise
    Logistic     f_a = 1 / (1 + exp(1 - 6/5 (<u_a, x> + b_a))), rewards 0 and 1
    Switching    Linear, with new u and b in every phase
    Featured     f_a = 1/2 + 3/20 (x' M z_a + <b, z_a>), actions with features z_a
    Changing     Featured, with actions that come and go
    Labelled     real rows with classes: the reward is 1 for the class of the row, 0 for others

u_a is normal with variance 1 / d in every direction, M with 1 / (d e), b with 1 / 4 (over e where
it meets features).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from belated.arrays import Array, Bools, Floats, Ints
from belated.errors import SpecError
from belated.spec import Spec, number, positive, whole

__all__ = [
    "Changing",
    "Drawn",
    "Featured",
    "Labelled",
    "Lateness",
    "Linear",
    "Logistic",
    "Switching",
    "World",
]

_NEVER = 1 << 62


class Drawn(NamedTuple):
    """One sequence of rounds; what depends on the action has a column for each."""

    contexts: list[dict[str, float]]
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
        delays = np.minimum(np.rint(length), _NEVER).astype(np.int64)
        delays[rng.random(rounds) < self.lost] = _NEVER
        return delays


class World(Spec):
    """A kind of rounds.

    To add one: a class here with ``drawn``.
    """

    def drawn(self, seed: int) -> Drawn:
        """Return a sequence of rounds."""
        raise NotImplementedError


@dataclass(frozen=True, repr=False)
class Linear(World, module="worlds"):
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
    lateness: Lateness = Lateness()

    def __post_init__(self) -> None:
        """Check the numbers."""
        _check(self, "rounds", "dim", "actions")
        positive(self.kind, "noise", self.noise)

    def drawn(self, seed: int) -> Drawn:
        """Return a sequence of rounds."""
        return _linear(self, 1, seed)


@dataclass(frozen=True, repr=False)
class Switching(World, module="worlds"):
    """``Linear``, but everything is drawn anew in every phase."""

    rounds: int = 5000
    dim: int = 8
    actions: int = 5
    noise: float = 0.3
    phases: int = 2
    lateness: Lateness = Lateness()

    def __post_init__(self) -> None:
        """Check the numbers."""
        _check(self, "rounds", "dim", "actions", "phases")
        positive(self.kind, "noise", self.noise)

    def drawn(self, seed: int) -> Drawn:
        """Return a sequence of rounds."""
        return _linear(self, self.phases, seed)


@dataclass(frozen=True, repr=False)
class Logistic(World, module="worlds"):
    """Rewards 0 and 1 whose log odds are linear in the context."""

    rounds: int = 5000
    dim: int = 8
    actions: int = 5
    lateness: Lateness = Lateness()

    def __post_init__(self) -> None:
        """Check the numbers."""
        _check(self, "rounds", "dim", "actions")

    def drawn(self, seed: int) -> Drawn:
        """Return a sequence of rounds."""
        rng = np.random.default_rng([2, seed])
        x = rng.normal(size=(self.rounds, self.dim))
        u = rng.normal(size=(self.actions, self.dim)) / np.sqrt(self.dim)
        b = 0.5 * rng.normal(size=self.actions)
        means = 1.0 / (1.0 + np.exp(1.0 - 1.2 * (x @ u.T + b)))
        rewards = (rng.random((self.rounds, 1)) < means).astype(np.float64)
        delays = self.lateness.drawn(rng, x[:, 0], self.actions)
        return _plain(x, means, rewards, delays)


@dataclass(frozen=True, repr=False)
class Featured(World, module="worlds"):
    """Actions with features: what is learned of one says something of all."""

    rounds: int = 5000
    dim: int = 8
    actions: int = 20
    width: int = 6
    noise: float = 0.3
    lateness: Lateness = Lateness()

    def __post_init__(self) -> None:
        """Check the numbers."""
        _check(self, "rounds", "dim", "actions", "width")
        positive(self.kind, "noise", self.noise)

    def drawn(self, seed: int) -> Drawn:
        """Return a sequence of rounds."""
        return _featured(self, np.random.default_rng([4, seed]))


@dataclass(frozen=True, repr=False)
class Changing(World, module="worlds"):
    """``Featured``, but an action is there for ``stay`` rounds only, then another takes its place.

    A fifth of the actions is there at any time.
    """

    rounds: int = 5000
    dim: int = 8
    actions: int = 40
    width: int = 6
    noise: float = 0.3
    stay: int = 1000
    lateness: Lateness = Lateness()

    def __post_init__(self) -> None:
        """Check the numbers."""
        _check(self, "rounds", "dim", "actions", "width", "stay")
        positive(self.kind, "noise", self.noise)

    def drawn(self, seed: int) -> Drawn:
        """Return a sequence of rounds."""
        rng = np.random.default_rng([5, seed])
        drawn = _featured(self, rng)
        begin = rng.permutation(self.actions)[None, :] * self.stay * 5 / self.actions
        phase = (np.arange(self.rounds)[:, None] - begin) % (5 * self.stay)
        return drawn._replace(present=phase < self.stay)


@dataclass(frozen=True, eq=False)
class Labelled:
    """Supervised rows as decisions: name the class, and hear later whether it was right.

    ``rows`` is a matrix, ``classes`` has one for each row; ``drawn`` shuffles them.
    """

    rows: Floats
    classes: Array
    lateness: Lateness = Lateness()

    def drawn(self, seed: int) -> Drawn:
        """Return a sequence of rounds."""
        rng = np.random.default_rng([6, seed])
        order = rng.permutation(len(self.rows))
        x = np.asarray(self.rows, dtype=np.float64)[order]
        names, which = np.unique(np.asarray(self.classes)[order], return_inverse=True)
        means = (which[:, None] == np.arange(names.size)).astype(np.float64)
        spread = x[:, 0].std()
        leading = (x[:, 0] - x[:, 0].mean()) / (spread if spread > 0.0 else 1.0)
        delays = self.lateness.drawn(rng, leading, names.size)
        return _plain(x, means, means, delays)._replace(names=[str(name) for name in names])


def _check(world: World, *names: str) -> None:
    for name in names:
        whole(world.kind, name, getattr(world, name))


def _linear(world: Linear | Switching, phases: int, seed: int) -> Drawn:
    rng = np.random.default_rng([1 if phases == 1 else 3, seed])
    x = rng.normal(size=(world.rounds, world.dim))
    u = rng.normal(size=(phases, world.actions, world.dim)) / np.sqrt(world.dim)
    b = 0.5 * rng.normal(size=(phases, world.actions))
    phase = np.arange(world.rounds) * phases // world.rounds
    means = 0.5 + 0.2 * (np.einsum("ti,tai->ta", x, u[phase]) + b[phase])
    rewards = means + world.noise * rng.normal(size=(world.rounds, 1))
    return _plain(x, means, rewards, world.lateness.drawn(rng, x[:, 0], world.actions))


def _featured(world: Featured | Changing, rng: np.random.Generator) -> Drawn:
    x = rng.normal(size=(world.rounds, world.dim))
    z = rng.normal(size=(world.actions, world.width))
    m = rng.normal(size=(world.dim, world.width)) / np.sqrt(world.dim * world.width)
    b = 0.5 * rng.normal(size=world.width) / np.sqrt(world.width)
    means = 0.5 + 0.15 * (x @ m @ z.T + z @ b)
    rewards = means + world.noise * rng.normal(size=(world.rounds, 1))
    drawn = _plain(x, means, rewards, world.lateness.drawn(rng, x[:, 0], world.actions))
    return drawn._replace(features=_named("z", z))


def _plain(x: Floats, means: Floats, rewards: Floats, delays: Ints) -> Drawn:
    names = [f"action {a}" for a in range(means.shape[1])]
    present = np.ones(means.shape, dtype=np.bool_)
    return Drawn(_named("x", x), names, None, present, means, rewards, delays)


def _named(letter: str, rows: Floats) -> list[dict[str, float]]:
    names = [f"{letter}{i}" for i in range(rows.shape[1])]
    return [dict(zip(names, row, strict=True)) for row in rows.tolist()]
