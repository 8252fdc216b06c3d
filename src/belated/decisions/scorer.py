"""What actions are worth in a context, by the linear model of a chooser, and one drawn by that."""

from __future__ import annotations

from typing import Any

import numpy as np

from belated.arrays import Floats, Ints
from belated.decisions.actions import Actions, Encoder, Table, refusal
from belated.decisions.settings import Settings
from belated.errors import SpecError
from belated.kernels.decisions import entries
from belated.kernels.decisions.again import IN_WORD
from belated.kernels.decisions.desk import LANES, ROOM
from belated.kernels.linear.layout import HUGE_VALUE
from belated.kernels.slots import status as S
from belated.linear.features import Features
from belated.linear.model import LinearModel

_MARKS = 128  # for every entry of a row, so that few are where another one is by chance
_FEW = 256


class Scorer:
    """Predicts rewards, draws an action and writes its row.

    Its arrays are passing work: each call overwrites what the one before has left there.
    """

    __slots__ = (
        *("_actions", "_choose", "_encoder", "_fixed", "_floats", "_given", "_ints", "_marks"),
        *("_model", "_numbers", "_places", "_room", "probabilities", "scores"),
    )

    def __init__(self, model: LinearModel, settings: Settings) -> None:
        self._model = model
        self._choose = entries.chosen(model.settings.code)
        self._encoder = Encoder(model.settings.bits, settings.crossing)
        given = settings.actions
        self._fixed = None if given is None else self._encoder.actions(given)
        if self._fixed is not None and not (np.abs(self._fixed.values) <= HUGE_VALUE).all():
            raise refusal({}, given)
        self._given = given
        self._grow(_FEW, _FEW)

    def _grow(self, row: int, actions: int) -> None:
        """Make room for rows of so many entries, and for so many actions."""
        self._room, self._actions = row, actions
        self._ints: Ints = np.zeros((1 + LANES) * row + ROOM, dtype=np.int64)
        self._floats: Floats = np.zeros(row + ROOM)
        self._places, self._numbers = self._ints[ROOM:], self._floats[ROOM:]
        marks = min(1 << (_MARKS * row).bit_length(), 1 << self._model.settings.bits)
        self._marks: Ints = np.zeros(max(marks // IN_WORD, 1), dtype=np.int64)
        self.scores: Floats = np.zeros(actions)
        self.probabilities: Floats = np.zeros(actions)

    def table(self, actions: Actions | None) -> Table:
        """Return the actions of a call, or those of all."""
        if actions is not None:
            return self._encoder.actions(actions)
        if self._fixed is None:
            raise SpecError(
                "choose: there are no actions; nothing has changed: name them in the call, or when "
                "the Chooser is made"
            )
        return self._fixed

    def choose(
        self, features: Features | None, table: Table, given: Any, rule: tuple[Any, ...]
    ) -> tuple[int, int, float]:
        """Write scores and probabilities, draw an action, and write a row.

        ``given`` is what the call gave as actions. ``rule`` and what is returned are those of
        ``entries.chosen``.
        """
        task = self._task(features, table)
        drawn = self._choose(*task, *rule, self.scores, self.probabilities)
        if drawn[0] == S.BAD:
            raise refusal(features or {}, self._given if given is None else given)
        return drawn

    def score(self, features: Features | None, table: Table, given: Any) -> Floats:
        """Return the predicted rewards alone."""
        task = self._task(features, table)
        scores = self.scores[: len(table.names)]
        if entries.scored(self._model.settings.code)(*task, scores) == S.BAD:
            raise refusal(features or {}, self._given if given is None else given)
        return scores

    def cross(self, features: Features | None, table: Table, place: int) -> int:
        """Write the row of an action, and return its length."""
        context, actions = self._encoder.context(features), table[1:5]
        coordinates = 1 << self._model.settings.bits
        cross = entries.crossed()
        return cross(coordinates, *context, *actions, place, self._ints, self._floats)

    def row(self, length: int) -> tuple[Ints, Floats, int]:
        """Return arrays that begin with the row that was written, and its length."""
        return self._places, self._numbers, length

    def _task(self, features: Features | None, table: Table) -> tuple[Any, ...]:
        """Return model, context, actions and room as the kernels take them."""
        context = self._encoder.context(features)
        row = context.length + (1 + context.length) * (1 + table.widest)
        if row > self._room or len(table.names) > self._actions:
            self._grow(2 * max(row, self._room), 2 * max(len(table.names), self._actions))
        model = self._model._arrays[:3]
        return (*model, *context, *table[1:5], self._ints, self._floats, self._marks)
