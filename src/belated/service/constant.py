"""What a number that knows no features would have lost: the baseline of a linear model.

It is the mean of the labels that had come when a ticket was asked for, or their quantile where the
loss asks for one; so it knows as much of late labels as the model. All of it is for the eye, as the
rest of the dashboard.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from belated.arrays import add_in_order
from belated.models.linear.losses import LOSSES
from belated.models.linear.settings import Settings

_RECENT = 1000  # labels that quantiles are of
_PARTS = 8  # labels are learned in parts of an eighth of those before
_REMEMBERED = 4000  # values of former times
_AT_ONCE = 1000  # labels between two looks; of more, those that came first are left out

Losses = Callable[[Sequence[float], Sequence[float]], Any]
"""The losses of predictions and labels."""

_Label = tuple[float, float, float, float]
"""A label, its weight, when it was asked for, and when it came."""


class Constant:
    """The mean loss so far of one number for all.

    >>> from belated.models.linear.model import LinearModel
    >>> model = LinearModel("squared")
    >>> constant = Constant(model.settings, model.losses)
    >>> constant.hear(4.0, 1.0, asked=10.0, now=20.0)
    >>> constant.hear(2.0, 1.0, asked=30.0, now=40.0)
    >>> constant.mean_loss()  # of 0, which is said first, and of 4
    5.0
    >>> constant.hear(2.0, 1.0, asked=15.0, now=50.0)  # when no label had come
    >>> constant.mean_loss()
    4.0
    """

    def __init__(self, settings: Settings, losses: Losses) -> None:
        self._losses = losses
        self._prior = LOSSES[settings.loss].prior
        self._level = {"absolute": 0.5, "huber": 0.5, "quantile": settings.quantile}.get(
            settings.loss
        )
        self._is_sign = LOSSES[settings.loss].labels.classes == (-1.0, 1.0)
        self._new: deque[_Label] = deque(maxlen=_AT_ONCE)  # that are to be looked at
        self._recent: list[float] = []
        self._count, self._sum = 0.0, 0.0  # of labels, by their weights
        self._lost = 0.0
        self._times: list[float] = [-math.inf]  # from when on each value was known
        self._values = [self._value()]

    def hear(self, label: float, weight: float, asked: float, now: float) -> None:
        """Take a label that was asked for earlier; it is looked at when somebody wants to know."""
        self._new.append((label, weight, asked, now))

    def mean_loss(self) -> float | None:
        """Return the mean loss so far; None before the first label."""
        new = [self._new.popleft() for _ in range(len(self._new))]  # more may come meanwhile
        seen = len(self._recent)
        while new:
            size = max(1, seen // _PARTS)
            part, new = new[:size], new[size:]
            self._learn(part)
            seen += len(part)
        return self._lost / self._count if self._count > 0.0 else None

    def _learn(self, part: list[_Label]) -> None:
        labels, weights, asked, came = (list(each) for each in zip(*part, strict=True))
        values = [self._at(when) for when in asked]
        self._lost += float(np.dot(self._losses(values, labels), weights))
        self._sum += float(np.dot(labels, weights))
        self._count += add_in_order(weights)
        self._recent = [*self._recent, *labels][-_RECENT:]
        self._times.append(came[-1])
        self._values.append(self._value())
        if len(self._times) > 2 * _REMEMBERED:
            del self._times[:_REMEMBERED], self._values[:_REMEMBERED]

    def _at(self, when: float) -> float:
        """Return what was said at a time, or the oldest that is remembered."""
        return self._values[max(bisect_right(self._times, when) - 1, 0)]

    def _value(self) -> float:
        """Return what is said of the next label."""
        if self._level is not None:
            return float(np.quantile(self._recent, self._level)) if self._recent else 0.0
        count = self._count + 2.0 * self._prior
        mean = (self._sum + self._prior) / count if count else 0.0
        return float(np.sign(mean)) if self._is_sign else mean

    def kept(self) -> dict[str, Any]:
        """Return what a note keeps."""
        self.mean_loss()
        return {"recent": self._recent, "sums": [self._count, self._sum, self._lost]}

    def restore(self, about: dict[str, Any]) -> None:
        """Go on from a note."""
        self._recent = list(about["recent"])
        self._count, self._sum, self._lost = about["sums"]
        self._values = [self._value()]
