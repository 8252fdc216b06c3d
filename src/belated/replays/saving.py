"""What a replay leaves behind: the model, ready to go on live, and every single prediction."""

from __future__ import annotations

import csv
import io
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from belated.arrays import Array
from belated.errors import BelatedError, LogError, MissingExtra
from belated.files import write_whole
from belated.keys import Key
from belated.logs import Unit
from belated.models.linear import LinearModel
from belated.models.linear.losses import LOSSES
from belated.replays.labels import Labels
from belated.report.plain import counted

if TYPE_CHECKING:
    from belated.replays.result import Replay


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
    times = ""
    if model.settings.deadline is not None:
        of_unit = "" if unit is None else f" in {unit}"
        times = f"numbers{of_unit}, as the log has them, as at=."
        if model.settings.needs_times:
            times = "seconds since 1970 as at=, or datetimes with a time zone."
        times = f" With every event give {times}"
    return f"{waiting}. Labels are {labels}.{times}"


# ---- the single predictions of a replay as a file: one row each, one column per method -----------


def check_predictions(path: str | PathLike[str]) -> None:
    """Refuse a file of another kind, and Parquet where nothing can write it."""
    ending = Path(path).suffix.lower()
    if ending not in (".csv", ".parquet"):
        raise BelatedError(
            f"replay: predictions are written as .csv or .parquet, got {str(path)!r}"
        )
    if ending == ".parquet" and find_spec("pyarrow") is None:
        raise MissingExtra("pyarrow", extra="logs", where="replay: Parquet")


def write(path: str | PathLike[str], replay: Replay) -> None:
    """Write the key of every row, its times, its label, and what each method said; or nothing."""
    check_predictions(path)
    task, log, target = replay.task, replay.task.log, Path(path)
    is_date = log.observed_at.dtype.kind == "M"
    gap: Any = np.array("NaT", log.observed_at.dtype) if is_date else np.nan
    found: dict[str, Array] = {
        "row": np.array(list(task.keys)) if task.keys else np.arange(task.rounds),
        "predicted_at": log.predicted_at,
        "observed_at": np.where(log.answered, log.observed_at, gap),
        "label": np.where(task.known, task.labels, np.nan),
        **{name: method.predictions for name, method in replay.methods.items()},
    }
    try:
        write_whole(target, (_as_csv if target.suffix.lower() == ".csv" else _as_parquet)(found))
    except OSError as error:
        raise BelatedError(f"cannot write {target}: {error}") from error


def _as_csv(found: dict[str, Array]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(found)
    columns = [
        np.char.add(np.datetime_as_string(column), "Z") if column.dtype.kind == "M" else column
        for column in found.values()
    ]
    for row in zip(*(column.tolist() for column in columns), strict=True):
        writer.writerow(
            "" if cell is None or cell != cell or cell == "NaTZ" else cell for cell in row
        )
    return text.getvalue().encode()


def _as_parquet(found: dict[str, Array]) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    file = io.BytesIO()
    table = {name: pa.array(column, from_pandas=True) for name, column in found.items()}
    parquet.write_table(pa.table(table), file)
    return file.getvalue()
