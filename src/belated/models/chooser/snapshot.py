"""Snapshots of choosers: that of the model, and named fields of what is around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from belated import sealed
from belated.core.component import demand
from belated.errors import SnapshotError, SpecError
from belated.explore import Exploration
from belated.models.chooser.settings import checked, checked_mode
from belated.models.linear.model import LinearModel
from belated.models.linear.snapshot import sealed_state

if TYPE_CHECKING:
    from belated.models.chooser.chooser import Chooser

_KIND = "Chooser"
_UNREADABLE = (ArithmeticError, AttributeError, LookupError, SpecError, TypeError, ValueError)


def pack(chooser: Chooser, secret: bytes | None) -> bytes:
    """Return the blob."""
    inner, state, keys, mode = chooser.model._alone("snapshot", lambda: _state_of(chooser))
    model = sealed_state(chooser.model, *inner)
    names = state.pop("actions")
    fields = {name: value for name, value in state.items() if not isinstance(value, np.ndarray)}
    about = {
        "settings": chooser._settings.to_dict(),
        "mode": mode,
        "bytes": len(model),
        "actions": names,
        "state": fields,
        **keys,
    }
    arrays = {name: value for name, value in state.items() if name not in fields}
    return sealed.seal(_KIND, about, {"model": sealed.as_words(model), **arrays}, secret)


def _state_of(chooser: Chooser) -> tuple[Any, ...]:
    """Return the states of the model, of choices and of keys, and the mode, of the same moment."""
    model = chooser.model._state_now()  # the first, as it takes back what is there for a time
    return model, chooser._choices.state(), chooser._names.state(), chooser.mode


def unpack(chooser: Chooser, blob: bytes, secret: bytes | None, decide: Any) -> None:
    """Put what a snapshot holds into a chooser, or say what is wrong with it."""
    about, arrays = sealed.unseal(_KIND, blob, None, secret)
    try:
        model = LinearModel.restore(sealed.from_words(arrays.pop("model"), about["bytes"]))
        told = dict(about["settings"])
        told["explore"] = Exploration.from_json(told["explore"])
        settings, mode = checked(**told), checked_mode(about["mode"])
        fields: dict[str, Any] = {**about["state"], "actions": about["actions"]}
        demand(not set(fields) & set(arrays), "a field that is there twice")
        chooser._connect(settings, model, mode, decide)
        chooser._choices.check({**fields, **arrays})
    except SnapshotError:
        raise
    except _UNREADABLE as error:
        raise SnapshotError(f"restore: the chooser cannot be read ({error})") from error
    chooser._choices.restore({**fields, **arrays})
    chooser._names.restore(about)
