"""Frames of pandas, polars and pyarrow as rows of a linear model, against a loop over dicts.

The floor reads each row as a dict from the same frame, as one does without frames: ``to_dict`` of
pandas, ``to_dicts`` of polars, ``to_pylist`` of pyarrow. Both give the same coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from belated.frames import Frame
from belated.models.linear.features import Hasher
from belated.models.linear.rows import Rows
from benchmarks.timing import Result, compared

ROWS = 100_000
REPEATS = 7
TARGET = 0.5


def main() -> list[Result]:
    """Return the ratio of the time for every library."""
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    rng = np.random.default_rng(0)
    columns = {
        **{f"number {place}": rng.normal(size=ROWS) for place in range(4)},
        "count": rng.integers(0, 100, ROWS),
        "is new": rng.random(ROWS) < 0.5,
        **{f"word {size}": rng.integers(0, size, ROWS).astype(str) for size in (10, 1000, 10_000)},
    }
    frames: dict[str, tuple[Any, Any]] = {
        "pandas": (pd.DataFrame(columns), lambda frame: frame.to_dict("records")),
        "polars": (pl.DataFrame(columns), lambda frame: frame.to_dicts()),
        "pyarrow": (pa.table(columns), lambda frame: frame.to_pylist()),
    }
    return [
        compared(
            f"frame of {name}, 9 columns",
            partial(by_column, frame),
            partial(row_by_row, frame, dicts),
            target=TARGET,
            per=ROWS * 1e-6,
            unit="us a row",
            repeats=REPEATS,
        )
        for name, (frame, dicts) in frames.items()
    ]


def by_column(frame: Any) -> Rows:
    """Return coordinates by column."""
    return Hasher(20).table(Frame(frame, "bench").columns)


def row_by_row(frame: Any, dicts: Callable[[Any], Any]) -> Rows:
    """Return the same from dicts."""
    return Hasher(20).rows(dicts(frame))
