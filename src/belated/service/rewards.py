"""Which reward of an event counts, the earliest or the sum of all: a setting beside the model."""

from __future__ import annotations

import json
from typing import Any

from belated.errors import StoreError
from belated.models.chooser import Chooser
from belated.service import bodies
from belated.service.refusals import no_silence
from belated.service.served import Served
from belated.store import Store

EARLIEST, SUM = "earliest", "sum"


def checked(counting: Any, model: Chooser) -> str:
    """Return which rewards of a model are to count, or refuse it."""
    if counting not in (EARLIEST, SUM):
        raise bodies.bad("rewards must be 'earliest' or 'sum'")
    if counting == SUM and not may_sum(model):
        raise no_silence()
    return str(counting)


def may_sum(model: Any) -> bool:
    """Tell whether a sum of rewards has something to begin with."""
    return isinstance(model, Chooser) and model.model.settings.silence is not None


def following(served: Served | None, model: Any) -> str:
    """Return which rewards count in a model that follows another, or refuse it."""
    if served is None or not isinstance(model, Chooser):
        return EARLIEST
    return checked(served.rewards, model)


# --- Files ----------------------------------------------------------------------------------------


def note_of(served: Served) -> bytes:
    """Return what goes into an exported log beside the model."""
    return json.dumps({"rewards": served.rewards}).encode() if served.kind == "Chooser" else b""


def read(path: str, model: Any) -> str:
    """Return which rewards count in the model of a file, as ``note_of`` has put it there.

    Where it says nothing, or what such a model cannot do, it is the earliest.
    """
    try:
        found = json.loads(Store.exported_note(path))["rewards"]
    except (StoreError, ValueError, KeyError, TypeError, RecursionError):  # also of an empty one
        found = None
    return SUM if found == SUM and may_sum(model) else EARLIEST
