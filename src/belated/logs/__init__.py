"""Logs of predictions and late truths, from files and tables of any common kind.

:func:`read` brings a log into memory as a :class:`Log`; :func:`scan` reads one that may be larger,
block by block. Both take CSV, Parquet and Arrow files, Arrow tables and streams, DataFrames of
pandas and polars, and dicts of columns.

>>> log = read({"asked_at": [1, 2, 3], "answered_at": [9, 4, None]})
>>> log.timeline.summary().splitlines()[2].strip()
'answered         2 (66.7%), never 1'
"""

from __future__ import annotations

from belated.errors import LogError
from belated.logs.kinds import Kind, Kinds, Told
from belated.logs.log import BadRow, BadRows, Log, Unit
from belated.logs.reading import OnBad, Scan, read, scan
from belated.logs.rules import DateOrder

__all__ = [
    "BadRow",
    "BadRows",
    "DateOrder",
    "Kind",
    "Kinds",
    "Log",
    "LogError",
    "OnBad",
    "Scan",
    "Told",
    "Unit",
    "read",
    "scan",
]
