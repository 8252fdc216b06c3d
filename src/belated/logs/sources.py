"""Where rows come from: files and tables, all as batches of Arrow columns."""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from belated.errors import LogError, MissingExtra
from belated.frames import columns_of, is_frame
from belated.missing import is_missing

PEEKED = 10_000
"""Rows that are looked at before columns are chosen."""
ROWS = 1 << 17
"""Rows in a batch."""

BROKEN = (zipfile.BadZipFile, lzma.LZMAError, zlib.error, EOFError, RuntimeError)
"""The exceptions of the readers of packed files for damaged ones."""


def arrow(where: str = "reading a log") -> Any:
    """Return pyarrow, or say which extra brings it."""
    try:
        import pyarrow
        import pyarrow.compute  # loaded with it
    except ImportError:
        raise MissingExtra("pyarrow", extra="logs", where=where) from None
    return pyarrow


Read = Callable[[list[str] | None, int], Iterator[Any]]
"""Yields RecordBatches with some columns (None: all) and about so many rows, from the start."""


@dataclass
class Source:
    """Rows of named columns, which are read twice: the first ones to choose columns, and all."""

    name: str
    """The name in messages."""
    read: Read
    place: Callable[[int], str] = lambda row: f"row {row}"
    """Says where a row stands that was read."""
    lost: list[tuple[str, str]] = field(default_factory=list)
    """Place and reason of rows without the right number of cells, which no batch holds."""
    notes: list[str] = field(default_factory=list)
    """Notices about how it is read."""
    kept: Any = field(default=None, repr=False)
    """A temporary file that is deleted with the source."""

    def peek(self) -> Any:
        """Return the first rows as a RecordBatch with all columns."""
        with reading(self.name):
            for batch in self.read(None, PEEKED):
                check_names(self.name, batch.schema.names)
                if batch.num_rows:
                    return batch.slice(0, PEEKED)
        raise LogError(f"logs: {self.name} has no rows")

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield RecordBatches with these columns, of all rows."""
        with reading(self.name):
            yield from self.read(list(columns), ROWS)


def source_of(data: Any, encoding: str | None = None) -> Source:
    """Return a source for a path, a table of any common kind, or a stream of batches.

    ``encoding`` is that of text files, where it is not to be recognised.
    """
    pa = arrow()
    if isinstance(data, str | Path):
        from belated.logs.files import file_of  # which builds on this module

        return file_of(data, encoding)
    if encoding is not None:
        raise LogError(
            "logs: encoding is for text files, and these rows are in memory; leave it out"
        )
    if isinstance(data, pa.RecordBatchReader):
        return _of_stream(data)
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        return of_table("table", data)
    if is_frame(data):
        pairs = [(str(name), column) for name, column in columns_of(data, "logs", LogError)]
        check_names("DataFrame", [name for name, _ in pairs])
        return of_table("DataFrame", _table(dict(pairs)))
    if isinstance(data, Mapping):
        return of_table("columns", _table({str(name): column for name, column in data.items()}))
    if hasattr(data, "__arrow_c_stream__"):
        return of_table("DataFrame", pa.table(data))
    raise LogError(
        "logs: a log is a path, an Arrow table or stream, a DataFrame of pandas or polars, or a "
        f"dict of columns, got {type(data).__name__}"
    )


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn what goes wrong while reading a source into one error that says what it was."""
    pa = arrow()
    try:
        yield
    except FileNotFoundError:
        raise LogError(f"logs: there is no file {name}") from None
    except (pa.ArrowException, OSError, UnicodeError, *BROKEN) as error:
        text = getattr(error, "strerror", None) or str(error).partition("\n")[0]
        raise LogError(
            f"logs: cannot read {name}: {text}; is the file complete, and what its ending says?"
        ) from error


def check_names(name: str, names: Sequence[str]) -> None:
    """Refuse two columns of the same name."""
    twice = {column for column in names if list(names).count(column) > 1}
    if twice:
        raise LogError(f"logs: {name} has two columns called {sorted(twice)[0]!r}; rename one")


# ---- memory ------------------------------------------------------------------------------------


def of_table(name: str, table: Any) -> Source:
    """Return the source for an Arrow table."""

    def read(columns: list[str] | None, rows: int) -> Iterator[Any]:
        chosen = table if columns is None else table.select(columns)
        yield from chosen.to_batches(max_chunksize=8 * rows)

    return Source(name, read)


def _of_stream(reader: Any) -> Source:
    """Return the source for batches that can be read only once."""
    seen = []

    def read(columns: list[str] | None, rows: int) -> Iterator[Any]:
        if columns is None:
            for batch in reader:
                seen.append(batch)
                yield batch
            return
        if not seen:
            raise LogError("logs: a stream can be read only once; open it again")
        while seen:
            yield seen.pop(0).select(columns)
        for batch in reader:
            yield batch.select(columns)

    return Source("stream", read)


def _table(columns: Mapping[str, Any]) -> Any:
    """Return columns of any kind as an Arrow table."""
    arrays = {name: _array(column, name) for name, column in columns.items()}
    lengths = {name: len(column) for name, column in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise LogError(f"logs: columns must have the same length, got {lengths}")
    return arrow().table(arrays)


def _array(column: Any, name: str) -> Any:
    """Return one column as an Arrow array."""
    pa = arrow()
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return column
    if isinstance(column, np.ma.MaskedArray):
        return pa.array(np.asarray(column.filled()), mask=np.ma.getmaskarray(column))
    if isinstance(column, str) or np.ndim(column) != 1:
        raise LogError(f"logs: column {name!r} must have one dimension, got {column!r:.60}")
    try:
        if isinstance(column, list | tuple) or str(getattr(column, "dtype", "")) == "object":
            return array_of(list(column))
        if hasattr(column, "to_arrow"):
            return column.to_arrow()
        if column.dtype in ("M8[h]", "M8[m]"):
            column = column.astype("M8[s]")
        return pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise LogError(f"logs: column {name!r} cannot be read: {error}") from error


def array_of(items: list[Any]) -> Any:
    """Return Python objects as an array; dates as text, which may have any time zone."""
    pa = arrow()
    items = [None if is_missing(item) else item for item in items]
    if any(isinstance(item, date | np.datetime64 | str) for item in items):
        return pa.array([None if item is None else _text(item) for item in items], pa.string())
    if any(isinstance(item, float) for item in items):
        return pa.array([None if item is None else float(item) for item in items], pa.float64())
    return pa.array(items)


def _text(item: Any) -> str:
    return item.isoformat() if isinstance(item, date) else str(item)
