"""Snapshots of linear models: named fields and arrays; see ``belated.sealed`` for the bytes."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from belated import sealed
from belated.core.component import demand
from belated.errors import SnapshotError, SpecError
from belated.models.linear.settings import Settings, checked

if TYPE_CHECKING:
    from belated.models.linear.model import LinearModel

_KIND = "LinearModel"
_UNREADABLE = (
    *(ArithmeticError, AttributeError, LookupError, SpecError, TypeError),
    ValueError,
)


def pack(model: LinearModel, secret: bytes | None) -> bytes:
    """Return the blob; answers that are not applied are part of it, in their order."""
    return sealed_state(model, *model._state("snapshot"), secret)


def sealed_state(
    model: LinearModel, state: dict[str, Any], keys: dict[str, Any], secret: bytes | None = None
) -> bytes:
    """Return the blob of a state."""
    arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    numbers = {name: value for name, value in state.items() if name not in arrays}
    settings = model.settings
    columns = None if settings.columns is None else settings.columns.to_dict()
    told = {**dataclasses.asdict(settings), "columns": columns}
    return sealed.seal(_KIND, {"settings": told, "state": numbers, **keys}, arrays, secret)


def unpack(blob: bytes, secret: bytes | None, model: LinearModel) -> None:
    """Put what a snapshot holds into a model, or say what is wrong with it."""
    about, arrays = sealed.unseal(_KIND, blob, None, secret)
    try:
        settings, numbers = checked(**about["settings"]), dict(about["state"])
        demand(not set(numbers) & set(arrays), "a field that is there twice")
        model._take(settings)
        state = {**numbers, **arrays}
        model._linear.check(state)
        _check_times(settings, state)
        model._linear.restore(state)
    except SnapshotError:
        raise
    except MemoryError as error:
        raise SnapshotError("restore: the model is too large for this machine") from error
    except _UNREADABLE as error:
        raise SnapshotError(f"restore: the model cannot be read ({error})") from error
    model._names.restore(about)


def _check_times(settings: Settings, state: dict[str, Any]) -> None:
    """Demand that there are times where there must be some, and none where rounds are counted."""
    has_times, clock = state["kind_of_times"] > 0, state["clock"]
    demand(not (settings.counts_predictions and has_times), "the kind of times")
    # Without deadlines the clock stands still, whatever times are told.
    demand(clock > -np.inf or not has_times or settings.deadline is None, "the clock")
