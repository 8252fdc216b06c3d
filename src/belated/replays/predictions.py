"""The single predictions of a replay as a file: one row each, one column per method."""

from __future__ import annotations

import csv
import io
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from belated.arrays import Array
from belated.errors import BelatedError, MissingExtra
from belated.files import write_whole

if TYPE_CHECKING:
    from belated.replays.result import Replay

ENDINGS = (".csv", ".parquet")


def check(path: str | PathLike[str]) -> None:
    """Refuse a file of another kind, and Parquet where nothing can write it."""
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise BelatedError(
            f"replay: predictions are written as {' or '.join(ENDINGS)}, got {str(path)!r}"
        )
    if ending == ".parquet":
        _parquet()


def write(path: str | PathLike[str], replay: Replay) -> None:
    """Write the file as a whole, or not at all."""
    check(path)
    found, target = columns(replay), Path(path)
    written = _as_parquet if target.suffix.lower() == ".parquet" else _as_csv
    try:
        write_whole(target, written(found))
    except OSError as error:
        raise BelatedError(f"cannot write {target}: {error}") from error


def columns(replay: Replay) -> dict[str, Array]:
    """Return the key or number of every row, its times, its label, and what each method said."""
    task = replay.task
    log, known = task.log, task.known
    return {
        "row": np.array(list(task.keys)) if task.keys else np.arange(task.rounds),
        "predicted_at": log.predicted_at,
        "observed_at": _came(log.observed_at, log.answered),
        "label": np.where(known, task.labels, np.nan),
        **{name: method.predictions for name, method in replay.methods.items()},
    }


def _came(times: Array, answered: Array) -> Array:
    """Return when answers came, with gaps where none did."""
    if times.dtype.kind == "M":
        return np.where(answered, times, np.array("NaT", times.dtype))
    return np.where(answered, times.astype(np.float64), np.nan)


def _as_csv(found: dict[str, Array]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(found)
    cells = [[_cell(value) for value in column.tolist()] for column in map(_plain, found.values())]
    writer.writerows(zip(*cells, strict=True))
    return text.getvalue().encode()


def _plain(column: Array) -> Array:
    """Return times as text in UTC."""
    if column.dtype.kind != "M":
        return column
    texts = np.char.add(np.datetime_as_string(column), "Z")
    return np.where(np.isnat(column), "", texts)


def _cell(value: Any) -> Any:
    return "" if value is None or value != value else value


def _as_parquet(found: dict[str, Array]) -> bytes:
    arrow, parquet = _parquet()
    file = io.BytesIO()
    parquet.write_table(
        arrow.table(
            {name: arrow.array(column, from_pandas=True) for name, column in found.items()}
        ),
        file,
    )
    return file.getvalue()


def _parquet() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("pyarrow", extra="logs", where="replay: Parquet") from None
    return pyarrow, parquet
