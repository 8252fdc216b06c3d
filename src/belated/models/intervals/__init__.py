"""Intervals around predictions that cover late labels as often as was asked for.

>>> from belated.models.intervals import Intervals
>>> from belated.models.linear import LinearModel
>>> intervals = Intervals(LinearModel("squared", bits=4), coverage=0.8)
>>> ticket, value, low, high = intervals.predict([0.5, 2.0])
>>> intervals.observe(ticket, 3.0)
True
"""

from __future__ import annotations

from belated.models.intervals.intervals import Interval, Intervals, Range
from belated.models.intervals.report import IntervalsReport

__all__ = ["Interval", "Intervals", "IntervalsReport", "Range"]
