"""The model at the end of a replay, ready to go on live."""

from __future__ import annotations

from typing import Any

from belated.arrays import Array
from belated.errors import LogError
from belated.keys import Key
from belated.logs import Unit
from belated.models.linear import LinearModel
from belated.models.linear.losses import LOSSES
from belated.replays.labels import Labels
from belated.report.plain import counted


def keys_of(cells: Array, name: str) -> list[Key]:
    """Return the keys of rows from a column, as text.

    >>> import numpy as np
    >>> keys_of(np.array(["17", "018"], dtype=object), "id")
    ['17', '018']
    """
    texts = [_text(cell) for cell in cells.tolist()]
    if None in texts:
        raise LogError(f"replay: row {texts.index(None)} has no key: its {name!r} is empty")
    return [text for text in texts if text is not None]


def _text(cell: Any) -> str | None:
    if cell is None or cell != cell:
        return None
    is_whole = isinstance(cell, float) and cell.is_integer()
    return str(int(cell)) if is_whole else str(cell)


def says(model: LinearModel, how: Labels, target: str, key: str | None, unit: Unit | None) -> str:
    """Say how to go on with a model that was saved."""
    its = "its" if model.open == 1 else "their"
    names = f"{its} {'row number' if model.open == 1 else 'row numbers'}, from '0' on"
    names = names if key is None else f"{its} {key!r}"
    no, yes = LOSSES[how.loss].labels.classes or (0.0, 1.0)
    what = how.words(target)
    labels = f"{yes:g} where {what}, else {no:g}" if how.is_binary else what
    waiting = f"{counted(model.open, 'row')} may still get a label, under {names}"
    return f"{waiting}. Labels are {labels}.{_times(model, unit)}"


def _times(model: LinearModel, unit: Unit | None) -> str:
    """Say what times are to be, where the model looks at them."""
    if model.settings.deadline is None:
        return ""
    if model.settings.needs_times:
        return " With every event give seconds since 1970 as at=, or datetimes with a time zone."
    of_unit = "" if unit is None else f" in {unit}"
    return f" With every event give numbers{of_unit}, as the log has them, as at=."
