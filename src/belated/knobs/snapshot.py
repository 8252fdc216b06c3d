"""Snapshots of knobs: named fields and arrays; see ``belated.sealed`` for the bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from belated import sealed
from belated.core.component import demand
from belated.errors import SnapshotError, SpecError
from belated.knobs.settings import Settings, restored

if TYPE_CHECKING:
    from belated.knobs.knobs import Knobs

_KIND = "Knobs"
_UNREADABLE = (
    *(ArithmeticError, AttributeError, LookupError, MemoryError, SpecError, TypeError),
    ValueError,
)


def pack(knobs: Knobs, secret: bytes | None) -> bytes:
    """Return the blob."""
    state, keys = knobs._state("snapshot")
    arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    numbers = {name: value for name, value in state.items() if name not in arrays}
    about = {"settings": knobs.settings.to_dict(), "state": numbers, **keys}
    return sealed.seal(_KIND, about, arrays, secret)


def unpack(blob: bytes, secret: bytes | None, knobs: Knobs) -> None:
    """Put what a snapshot holds into knobs, or say what is wrong with it."""
    about, arrays = sealed.unseal(_KIND, blob, None, secret)
    try:
        settings, numbers = restored(about["settings"]), dict(about["state"])
        demand(not set(numbers) & set(arrays), "a field that is there twice")
        knobs._begin(settings)
        state = {**numbers, **arrays}
        knobs._tuner.check(state)
    except SnapshotError:
        raise
    except _UNREADABLE as error:
        raise SnapshotError(f"restore: the knobs cannot be read ({error})") from error
    _check_times(settings, state)
    knobs._tuner.restore(state)
    knobs._names.restore(about)


def _check_times(settings: Settings, state: dict[str, Any]) -> None:
    """Demand that there are times where there must be some, and none where rounds are counted."""
    has_times = state["kind_of_times"] > 0
    demand(not (settings.counts_predictions and has_times), "the kind of times")
    demand(has_times or not settings.needs_times or state["tickets.rounds"] == 0, "the clock")
