"""A log of decisions in memory, in order of time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from belated.arrays import Array, Bools, Floats, Ints
from belated.errors import LogError
from belated.logs.bad import NONE_BAD, BadRows
from belated.logs.log import Unit, as_date

MOST_ACTIONS = 200
"""More actions than this are not evaluated: hardly any would have been tried often enough."""


LEAST = 1e-12
"""Least probability that a log may hold: of what is rarer no log has ever seen anything."""
NO_PROBABILITY = f"is no probability from {LEAST:g} to 1 of what was done"


def can_be(probability: Any) -> Any:
    """Tell whether a number, or which of several, can be the probability of what was done.

    Rarer things are not done, so that such a number is a mistake, and one row with it would have
    all the weight there is.
    """
    return (probability >= LEAST) & (probability <= 1.0)


@dataclass(frozen=True, eq=False, repr=False)
class DecisionLog:
    """Decisions in the order in which they were made, and the rewards that were heard of them.

    Times are numbers in ``unit``, after the first decision; those of dates are in seconds.
    """

    name: str
    actions: tuple[str, ...]
    """Names of all actions, sorted."""
    action: Ints
    """Which one was taken."""
    probability: Floats
    """With which it was taken."""
    reward: Floats
    """NaN where nothing was heard."""
    decided: Floats
    wait: Floats
    """Time from the decision to its reward; NaN where nothing was heard."""
    context: Mapping[str, Array]
    """What was known when the decision was made, by column."""
    rows: Ints
    """The row of each decision in what was read."""
    whole: int
    """How many rows were read."""
    more: Mapping[str, Array] = field(default_factory=dict)
    """Columns that are neither, such as probabilities of another policy."""
    offered: Bools | None = None
    """Decisions x actions: which ones could be taken; None: all, always."""
    unit: Unit | None = None
    start: Any = 0.0
    """When the first decision was made."""
    is_epoch: bool = False
    """Whether times are numbers that count ``unit`` since 1970."""
    latest: float = 0.0
    """A time after the first decision up to which something would have been heard."""
    notes: tuple[str, ...] = ()
    """What is to be known of its columns."""
    bad: BadRows = NONE_BAD
    """Rows that were left out."""

    def __len__(self) -> int:
        """Return the number of decisions."""
        return len(self.action)

    @property
    def first(self) -> Any:
        """When the first decision was made: a date, where times are dates in any form."""
        return as_date(self.start, self.unit) if self.is_epoch else self.start

    @property
    def has_dates(self) -> bool:
        """Whether times are dates in any form."""
        return isinstance(self.first, np.datetime64)

    @property
    def heard(self) -> Bools:
        """Of which decisions a reward was heard."""
        return ~np.isnan(self.wait)

    @property
    def end(self) -> float:
        """The latest time of which the log knows anything."""
        latest = max(float(self.decided[-1]), self.latest)
        known = self.heard
        return (
            max(latest, float((self.decided + self.wait)[known].max())) if known.any() else latest
        )

    def contexts(self) -> Iterator[dict[str, float | str]]:
        """Yield what is known of every decision, as a chooser takes it."""
        names = list(self.context)
        columns = [column.tolist() for column in self.context.values()]
        for cells in zip(*columns, strict=True) if columns else ((),) * len(self):
            yield {
                name: cell
                for name, cell in zip(names, cells, strict=True)
                if cell is not None and cell == cell
            }

    def menu(self, i: int) -> tuple[str, ...]:
        """Return the actions that could be taken in a decision."""
        if self.offered is None:
            return self.actions
        return tuple(
            name for name, is_there in zip(self.actions, self.offered[i], strict=True) if is_there
        )

    def take(self, rows: Any) -> DecisionLog:
        """Return some of the decisions: a slice, a mask or their numbers."""
        return replace(
            self,
            action=self.action[rows],
            probability=self.probability[rows],
            reward=self.reward[rows],
            decided=self.decided[rows],
            wait=self.wait[rows],
            rows=self.rows[rows],
            context={name: column[rows] for name, column in self.context.items()},
            more={name: column[rows] for name, column in self.more.items()},
            offered=None if self.offered is None else self.offered[rows],
        )

    def __repr__(self) -> str:
        """Return what it is on one line."""
        heard = int(np.count_nonzero(self.heard))
        return (
            f"DecisionLog({self.name!r}, {len(self):,} decisions among {len(self.actions):,} "
            f"actions, {heard:,} rewards)"
        )


def check_count(actions: Sequence[str]) -> None:
    """Refuse logs with more actions than can be told apart."""
    if len(actions) > MOST_ACTIONS:
        raise LogError(
            f"evaluate: there are {len(actions):,} different actions, such as {actions[0]!r}, and "
            f"at most {MOST_ACTIONS} can be told apart; is this the column of actions? Otherwise "
            "put alike ones together"
        )
