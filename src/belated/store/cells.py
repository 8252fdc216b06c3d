"""Cells of a log, as a model with ``columns`` takes them, in JSON and back.

What JSON has no word for is an object of one name, such as {"datetime": "2026-03-01T12:00:00"}.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from belated.errors import BadFeatures

_PLAIN = frozenset({float, int, str, bool, type(None)})

_READ: dict[str, Callable[[Any], Any]] = {
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "datetime64": np.datetime64,
    "decimal": Decimal,
    "seconds": lambda seconds: timedelta(seconds=seconds),
}


def cells_out(cells: Mapping[str, Any]) -> dict[str, Any]:
    """Return cells for JSON, or say which of them cannot be written down."""
    for name in cells:
        if not isinstance(name, str):
            raise BadFeatures(f"features: names must be strings, got {name!r}; nothing has changed")
    return {str(name): _out(name, value) for name, value in cells.items()}


def cells_in(cells: Mapping[str, Any]) -> dict[str, Any]:
    """Undo ``cells_out``."""
    return {name: _in(value) for name, value in cells.items()}


def _out(name: str, value: Any) -> Any:
    if type(value) in _PLAIN:
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else {"datetime64": str(value)}
    if isinstance(value, np.generic) and not isinstance(value, np.timedelta64):
        return _out(name, value.item())
    if value != value:  # a time that is none
        return None
    if isinstance(value, datetime):
        return {"datetime": value.isoformat()}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    if isinstance(value, timedelta):
        return {"seconds": value.total_seconds()}
    raise BadFeatures(
        f"features: {name!r} cannot be written to a log, got {value!r}; nothing has changed"
    )


def _in(value: Any) -> Any:
    if value.__class__ is not dict:
        return value
    ((kind, said),) = value.items()
    return _READ[kind](said)
