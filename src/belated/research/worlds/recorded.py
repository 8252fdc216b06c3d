"""Worlds that are made of data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from belated.arrays import Array, Floats, Ints
from belated.errors import SpecError
from belated.research.worlds.rounds import AT_ONCE, Drawn, Lateness, World, named

Rows = Floats | Sequence[Mapping[str, Any]]
"""A matrix, or a dict of features for every row."""


@dataclass(frozen=True, eq=False, repr=False)
class Labelled(World, module="worlds"):
    """Supervised rows as decisions: name the class, and hear later whether it was right.

    ``rows`` is a matrix or a list of dicts, ``classes`` has one for each row; ``drawn`` shuffles
    them. With ``by="context"`` rewards are the later the larger the first number of a row is.

    >>> world = Labelled([{"x": 1.0}, {"x": -1.0}], ["plus", "minus"])
    >>> world
    worlds.Labelled(<2 rows>, <2 classes>)
    >>> world.drawn(0).names
    ['minus', 'plus']
    """

    rows: Rows
    classes: Array | Sequence[Any]
    lateness: Lateness = AT_ONCE

    def __post_init__(self) -> None:
        """Check that there is a class for every row, and that numbers are finite."""
        if len(self.rows) != len(self.classes) or not len(self.rows):
            raise SpecError(
                "worlds.Labelled: there must be rows, and as many classes, got "
                f"{len(self.rows)} and {len(self.classes)}"
            )
        if not isinstance(self.rows[0], Mapping):
            x = np.asarray(self.rows, dtype=np.float64)
            if x.ndim != 2 or not x.size or not np.isfinite(x).all():
                raise SpecError(
                    "worlds.Labelled: rows must be a matrix of finite numbers, or dicts, got shape "
                    f"{x.shape}"
                )

    @classmethod
    def of(cls, pairs: Iterable[tuple[Mapping[str, Any], Any]], lateness: Lateness) -> Self:
        """Return a world from pairs (features, class), as data sets of river have them."""
        rows, classes = [], []
        for features, which in pairs:
            rows.append(dict(features))
            classes.append(str(which))
        return cls(rows, classes, lateness)

    def __repr__(self) -> str:
        """Say how much there is."""
        classes = np.unique(np.asarray(self.classes)).size
        late = "" if self.lateness == AT_ONCE else f", lateness={self.lateness!r}"
        return f"worlds.Labelled(<{len(self.rows):,} rows>, <{classes} classes>{late})"

    def drawn(self, seed: int) -> Drawn:
        """Return a sequence of rounds."""
        rng = np.random.default_rng([6, seed])
        order = rng.permutation(len(self.rows))
        contexts, first = self._contexts(order)
        names, which = np.unique(np.asarray(self.classes)[order], return_inverse=True)
        means = (which[:, None] == np.arange(names.size)).astype(np.float64)
        spread = first.std()
        leading = (first - first.mean()) / (spread if spread > 0.0 else 1.0)
        delays = self.lateness.drawn(rng, leading, names.size)
        present = np.ones(means.shape, dtype=np.bool_)
        return Drawn(contexts, [str(n) for n in names], None, present, means, means, delays)

    def _contexts(self, order: Ints) -> tuple[Sequence[Mapping[str, Any]], Floats]:
        """Return the rows in this order, and the first number of each."""
        if isinstance(self.rows[0], Mapping):
            rows = [self.rows[i] for i in order.tolist()]
            return rows, np.array([_first_number(row) for row in rows])
        x = np.asarray(self.rows, dtype=np.float64)[order]
        return named("x", x), x[:, 0]


def _first_number(row: Mapping[str, Any]) -> float:
    return next((float(v) for v in row.values() if isinstance(v, int | float)), 0.0)


@dataclass(frozen=True, eq=False, repr=False)
class Recorded(World, module="worlds"):
    """Rounds of which it is known what every action would have brought, and when.

    ``rewards`` and ``delays`` have a row for every context and a column for every action; a reward
    that is NaN says that the action was not there, and a delay is in rounds (see ``Drawn``). The
    rounds come in their order, whatever the seed.

    >>> world = Recorded([{"hour": 7.0}], ["train", "bus"], [[1.0, 0.0]], [[3, 1]])
    >>> world, world.drawn(0).means.tolist()
    (worlds.Recorded(<1 round>, <2 actions>), [[1.0, 0.0]])
    """

    contexts: Sequence[Mapping[str, Any]]
    names: Sequence[str]
    rewards: Floats
    delays: Ints

    def __post_init__(self) -> None:
        """Check that shapes agree, and that every round has an action."""
        rewards = np.asarray(self.rewards, dtype=np.float64)
        delays = np.asarray(self.delays, dtype=np.int64)
        shape = (len(self.contexts), len(self.names))
        if rewards.shape != shape or delays.shape != shape or not rewards.size:
            raise SpecError(
                "worlds.Recorded: rewards and delays must have a row for every context and a "
                f"column for every action, {shape}, got {rewards.shape} and {delays.shape}"
            )
        if np.isinf(rewards).any() or np.isnan(rewards).all(axis=1).any() or (delays < 0).any():
            raise SpecError(
                "worlds.Recorded: rewards must be finite, or NaN for actions that are not there, "
                "with one action in every round; delays must be at least 0"
            )
        object.__setattr__(self, "rewards", rewards)
        object.__setattr__(self, "delays", delays)

    def __repr__(self) -> str:
        """Say how much there is."""
        rounds = len(self.contexts)
        word = "round" if rounds == 1 else "rounds"
        return f"worlds.Recorded(<{rounds:,} {word}>, <{len(self.names)} actions>)"

    def drawn(self, seed: int) -> Drawn:
        """Return the rounds."""
        present = ~np.isnan(self.rewards)
        rewards = np.where(present, self.rewards, 0.0)
        return Drawn(self.contexts, list(self.names), None, present, rewards, rewards, self.delays)
