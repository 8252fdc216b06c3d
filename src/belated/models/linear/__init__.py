"""Linear models with late labels: predict from features now, learn when the label comes.

Names are loaded when first used, so that ``belated.models.linear.losses`` costs nothing.

>>> from belated.models.linear import LinearModel
>>> model = LinearModel("logistic", bits=4)
>>> ticket, probability = model.predict([0.5, 2.0])
>>> probability
0.5
>>> model.observe(ticket, 1)
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from belated.errors import BadFeatures

if TYPE_CHECKING:
    from belated.models.linear.features import Hasher
    from belated.models.linear.model import Forecast, LinearModel
    from belated.models.linear.report import LinearReport
    from belated.models.linear.rows import Rows

__all__ = ["BadFeatures", "Forecast", "Hasher", "LinearModel", "LinearReport", "Rows"]

_HOMES = {
    "Forecast": "model",
    "Hasher": "features",
    "LinearModel": "model",
    "LinearReport": "report",
    "Rows": "rows",
}


def __getattr__(name: str) -> Any:
    """Load what is named."""
    if name not in _HOMES:
        raise AttributeError(f"module 'belated.models.linear' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"belated.models.linear.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
