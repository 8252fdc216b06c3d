"""Files of a replay: the model, ready to go on live, and every single prediction."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from belated.arrays import Array
from belated.errors import BelatedError, LogError, MissingExtra
from belated.keys import Key
from belated.logs import Unit
from belated.models.linear import LinearModel
from belated.models.linear.losses import LOSSES
from belated.replays.labels import Labels
from belated.report.plain import counted

if TYPE_CHECKING:
    from belated.replays.result import Replay


def keys_of(cells: Array, name: str, start: int = 0) -> list[Key]:
    """Return the keys of rows from a column, as text; ``start`` is the number of the first row.

    >>> import numpy as np
    >>> keys_of(np.array(["17", "018"], dtype=object), "id")
    ['17', '018']
    """
    texts = [_text(cell) for cell in cells.tolist()]
    if None in texts:
        raise LogError(f"replay: row {start + texts.index(None)} has no key: its {name!r} is empty")
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
    target = Path(path)
    unfinished = target.with_name(f".{target.name}.unfinished")
    write_rows = _write_csv if target.suffix.lower() == ".csv" else _write_parquet
    try:
        try:
            write_rows(unfinished, _blocks(replay))
            unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise BelatedError(f"cannot write {target}: {error}") from error


def _blocks(replay: Replay) -> Iterator[dict[str, Array]]:
    """Yield the rows of the file in blocks."""
    task = replay.task
    start = 0
    for block in task.blocks():
        rows = slice(start, start + len(block.asked))
        ends = task.shown(block.ends)
        gap: Any = np.array("NaT", ends.dtype) if ends.dtype.kind == "M" else np.nan
        yield {
            "row": np.array(task.keys(rows.start, rows.stop)),
            "predicted_at": task.shown(block.asked),
            "observed_at": np.where(block.answered, ends, gap),
            "label": np.where(block.counts, block.labels, np.nan),
            **{name: method.said[rows] for name, method in replay.methods.items()},
        }
        start = rows.stop


def _write_csv(path: Path, blocks: Iterator[dict[str, Array]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        for number, found in enumerate(blocks):
            if not number:
                writer.writerow(found)
            columns = [
                np.char.add(np.datetime_as_string(column), "Z")
                if column.dtype.kind == "M"
                else column
                for column in found.values()
            ]
            for row in zip(*(column.tolist() for column in columns), strict=True):
                writer.writerow(
                    "" if cell is None or cell != cell or cell == "NaTZ" else cell for cell in row
                )


def _write_parquet(path: Path, blocks: Iterator[dict[str, Array]]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    tables = (
        pa.table({name: pa.array(column, from_pandas=True) for name, column in found.items()})
        for found in blocks
    )
    first = next(tables)
    with parquet.ParquetWriter(path, first.schema) as writer:
        for table in (first, *tables):
            writer.write_table(table)
