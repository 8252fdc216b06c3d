"""How a chooser draws an action: predicted rewards, probabilities, the pick."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from belated.arrays import Floats, Ints
from belated.decisions.actions import Table
from belated.decisions.distributions import are_distributions
from belated.decisions.scorer import Scorer
from belated.decisions.settings import Settings
from belated.decisions.tally import MOST_NAMES, Tally
from belated.errors import SpecError
from belated.kernels.decisions import entries
from belated.kernels.decisions.weighing import RULES
from belated.linear.features import Features
from belated.linear.model import LinearModel

Decide = Callable[[dict[str, float], int], Mapping[str, float] | Sequence[float]]
"""A rule of one's own: predicted rewards by action, and the ticket, to probabilities."""

_WORD = 0xFFFFFFFF
_NOBODY: Ints = np.empty(0, dtype=np.int64)


class Drawer:
    """Draws actions, by the rule in the settings or by one of the user's own.

    What it has found last, scores and probabilities, is in its ``scorer``.
    """

    __slots__ = ("_model", "_rule", "_seed", "_tried", "decide", "scorer")

    def __init__(self, model: LinearModel, settings: Settings, decide: Any) -> None:
        if decide is not None and not callable(decide):
            raise SpecError(f"Chooser: decide must be a function, got {decide!r}")
        explore = settings.explore
        self._model = model
        self._rule = RULES.code(explore.kind), *explore.numbers, explore.trial
        self._seed = settings.seed & _WORD, settings.seed >> 32
        self._tried: set[str] = set()
        self.decide: Decide | None = decide
        self.scorer = Scorer(model, settings)
        if decide is not None:  # now, and not in the middle of live use
            entries.scored(model.settings.code)
            entries.crossed()
            entries.picked()

    def draw(
        self,
        context: Features | None,
        table: Table,
        given: Any,
        usual: int,
        ticket: int,
        tally: Tally,
    ) -> tuple[int, int, float]:
        """Draw an action; return its place, the length of its row, the probability of the best.

        ``given`` is what the call gave as actions. The row is that of the ``usual`` action, if it
        is not negative.
        """
        if self.decide is None:
            spread, new = self._model._memory.spread, self._new(table.names, tally)
            code, amount, floor, trial = self._rule
            rule = (code, amount, floor, spread, tally.own, new, trial, ticket, *self._seed, usual)
            return self.scorer.choose(context, table, given, rule)
        scores = self.scorer.score(context, table, given)
        said = self.decide(dict(zip(table.names, scores.tolist(), strict=True)), ticket)
        p = _probabilities(said, table.names)
        self.scorer.probabilities[: p.size] = p
        place = entries.picked()(p, ticket, *self._seed)
        length = self.scorer.cross(context, table, usual if usual >= 0 else place)
        return place, length, float(p[int(scores.argmax())])

    def _new(self, names: tuple[str, ...], tally: Tally) -> Ints:
        """Return the places of actions that are on trial."""
        tried = self._tried
        if self._rule[-1] == 0.0 or tried.issuperset(names):
            return _NOBODY
        if len(tried) > MOST_NAMES:  # names that come and go; the tally knows them all the same
            tried.clear()
        tried.update(name for name in names if name not in tried and not tally.is_new(name))
        return np.array([a for a, name in enumerate(names) if name not in tried], dtype=np.int64)


def _probabilities(said: Any, names: tuple[str, ...]) -> Floats:
    """Return what a user's rule says, or refuse it."""
    given = [said.get(name) for name in names] if isinstance(said, Mapping) else said
    try:
        probabilities = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        probabilities = np.empty(0)
    if probabilities.shape != (len(names),) or not are_distributions(probabilities):
        raise SpecError(
            "choose: decide must return a probability for every action, which sum to 1; it "
            f"returned {said!r}; nothing has changed"
        )
    return probabilities
