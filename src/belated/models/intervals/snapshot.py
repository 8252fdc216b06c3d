"""Snapshots of intervals: those of two models, and named fields of what is between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from belated import sealed
from belated.core.component import demand
from belated.errors import SnapshotError, SpecError
from belated.models.linear.model import LinearModel
from belated.models.linear.snapshot import sealed_state

if TYPE_CHECKING:
    from belated.models.intervals.intervals import Intervals

_KIND = "Intervals"
_MODELS = ("model", "scores")
_UNREADABLE = (ArithmeticError, AttributeError, LookupError, SpecError, TypeError, ValueError)


def pack(intervals: Intervals, secret: bytes | None) -> bytes:
    """Return the blob."""
    models = intervals._model, intervals._score_model
    states, state = intervals._model._alone("snapshot", lambda: _states_of(intervals))
    blobs = [sealed_state(model, *each) for model, each in zip(models, states, strict=True)]
    fields = {name: value for name, value in state.items() if not isinstance(value, np.ndarray)}
    about = {
        "coverage": intervals.coverage,
        "bytes": [len(blob) for blob in blobs],
        "state": fields,
    }
    arrays = {name: sealed.as_words(blob) for name, blob in zip(_MODELS, blobs, strict=True)}
    arrays |= {name: value for name, value in state.items() if name not in fields}
    return sealed.seal(_KIND, about, arrays, secret)


def _states_of(intervals: Intervals) -> tuple[Any, ...]:
    """Return the states of both models and what was counted, of the same moment."""
    models = intervals._model, intervals._score_model
    return [model._state_now() for model in models], intervals._coverage.state()


def unpack(blob: bytes, secret: bytes | None, intervals: Intervals) -> None:
    """Put what a snapshot holds into intervals, or say what is wrong with it."""
    about, arrays = sealed.unseal(_KIND, blob, None, secret)
    try:
        sizes = zip(_MODELS, about["bytes"], strict=True)
        inner = [sealed.from_words(arrays.pop(name), size) for name, size in sizes]
        fields: dict[str, Any] = dict(about["state"])
        demand(not set(fields) & set(arrays), "a field that is there twice")
        model, scores = (LinearModel.restore(each) for each in inner)
        intervals._join(model, scores, about["coverage"])
        state = {**fields, **arrays}
        intervals._coverage.check(state)
    except SnapshotError:
        raise
    except _UNREADABLE as error:
        raise SnapshotError(f"restore: the intervals cannot be read ({error})") from error
    rounds, score_rounds = intervals._model.rounds, intervals._score_model.rounds
    demand(state["rounds"] <= min(rounds, score_rounds), "counts")
    demand((state["tickets"] < rounds).all(), "tickets")
    demand((state["score_tickets"] < score_rounds).all(), "tickets")
    intervals._coverage.restore(state)
