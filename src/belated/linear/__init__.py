"""Linear models with late labels: predict from features now, learn when the label comes.

>>> from belated.linear import LinearModel
>>> model = LinearModel("logistic", bits=4)
>>> ticket, probability = model.predict([0.5, 2.0])
>>> probability
0.5
>>> model.observe(ticket, 1)
True
"""

from __future__ import annotations

from belated.errors import BadFeatures
from belated.linear.features import Hasher
from belated.linear.model import Forecast, LinearModel
from belated.linear.report import LinearReport
from belated.linear.rows import Rows

__all__ = ["BadFeatures", "Forecast", "Hasher", "LinearModel", "LinearReport", "Rows"]
