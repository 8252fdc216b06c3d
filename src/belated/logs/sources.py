"""Where rows come from: files and tables, all as batches of Arrow columns.

A source is looked at twice: :meth:`Source.peek` for its first rows, from which columns are chosen,
and :meth:`Source.batches` for the chosen columns of all rows, a batch at a time.
"""

from __future__ import annotations

import lzma
import math
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
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


BROKEN = (zipfile.BadZipFile, lzma.LZMAError, zlib.error, EOFError, NotImplementedError)
"""What goes wrong with packed files that are not what they begin like."""


def arrow(where: str) -> Any:
    """Return pyarrow, or say which extra brings it."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtra("pyarrow", extra="logs", where=where) from None
    return pyarrow


@dataclass
class Source(ABC):
    """Rows of named columns."""

    name: str
    """What messages call it."""
    lost: list[tuple[int, str]] = field(default_factory=list, init=False)
    """Rows without the right number of cells, which no batch holds: number and reason."""
    notes: list[str] = field(default_factory=list, init=False)
    """What is to be known of how it is read."""
    first_line: int | None = field(default=None, init=False)
    """The line of row 0 in a text file; None elsewhere."""

    kept: Any = field(default=None, init=False, repr=False)
    """What must live as long as the source, such as a file that goes away with it."""

    @abstractmethod
    def peek(self) -> Any:
        """Return the first rows as a RecordBatch with all columns."""

    @abstractmethod
    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield RecordBatches with these columns, of all rows."""

    def place(self, row: int) -> str:
        """Say where a row that was read stands among all, those that were lost included."""
        before = 0
        for number, _ in self.lost:
            if number - before <= row:
                before += 1
        return self._at(row + before)

    def lost_rows(self) -> list[tuple[str, str]]:
        """Return place and reason of the rows that no batch holds."""
        return [(self._at(row), reason) for row, reason in self.lost]

    def _at(self, row: int) -> str:
        return f"row {row}" if self.first_line is None else f"line {row + self.first_line}"


def source_of(data: Any, encoding: str | None = None) -> Source:
    """Return a source for a path, a table of any common kind, or a stream of batches.

    ``encoding`` is that of text files, where it is not to be recognised.
    """
    pa = arrow("reading a log")
    if isinstance(data, str | Path):
        from belated.logs.files import file_of  # which builds on this module

        return file_of(data, encoding)
    if encoding is not None:
        raise LogError(
            "logs: encoding is for text files, and these rows are in memory; leave it out"
        )
    if isinstance(data, pa.RecordBatchReader):
        return Stream("stream", data)
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        return InMemory("table", data)
    if is_frame(data):
        pairs = [(str(name), column) for name, column in columns_of(data, "logs", LogError)]
        check_names("DataFrame", [name for name, _ in pairs])
        return InMemory("DataFrame", _table(dict(pairs)))
    if isinstance(data, Mapping):
        return InMemory("columns", _table({str(name): column for name, column in data.items()}))
    if hasattr(data, "__arrow_c_stream__"):
        return InMemory("DataFrame", pa.table(data))
    raise LogError(
        "logs: a log is a path, an Arrow table or stream, a DataFrame of pandas or polars, or a "
        f"dict of columns, got {type(data).__name__}"
    )


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn what goes wrong while reading a source into one error that says what it was."""
    pa = arrow("reading a log")
    try:
        yield
    except FileNotFoundError:
        raise LogError(f"logs: there is no file {name}") from None
    except BROKEN as error:
        raise LogError(f"logs: cannot read {name}: {error}; is the file complete?") from error
    except pa.ArrowMemoryError:
        raise LogError(
            f"logs: cannot read {name}: it asks for more memory than there is; is it complete?"
        ) from None
    except (pa.ArrowException, OSError, UnicodeError) as error:
        text = getattr(error, "strerror", None) or str(error).partition("\n")[0]
        raise LogError(
            f"logs: cannot read {name}: {text}; is the file complete, and what its ending says?"
        ) from error


def check_names(name: str, names: Sequence[str]) -> None:
    """Refuse two columns of the same name."""
    twice = {column for column in names if list(names).count(column) > 1}
    if twice:
        raise LogError(f"logs: {name} has two columns called {sorted(twice)[0]!r}; rename one")


def first_rows(name: str, batches: Iterator[Any]) -> Any:
    """Return the rows that are looked at before columns are chosen."""
    for batch in batches:
        if batch.num_rows:
            return batch.slice(0, PEEKED)
    raise LogError(f"logs: {name} has no rows")


# ---- memory ------------------------------------------------------------------------------------


@dataclass
class InMemory(Source):
    """An Arrow table."""

    table: Any

    def peek(self) -> Any:
        """Return the first rows."""
        check_names(self.name, self.table.schema.names)
        return first_rows(self.name, iter(self.table.to_batches()))

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the rows."""
        return iter(self.table.select(list(columns)).to_batches(max_chunksize=8 * ROWS))


@dataclass
class Stream(Source):
    """Batches that can be read only once."""

    reader: Any
    _seen: list[Any] = field(default_factory=list, init=False)

    def peek(self) -> Any:
        """Return the first rows, which are kept for later."""
        with reading(self.name):
            for batch in self.reader:
                self._seen.append(batch)
                if batch.num_rows:
                    return batch.slice(0, PEEKED)
        raise LogError(f"logs: the {self.name} has no rows, or was read before")

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the rows, once."""
        if not self._seen:
            raise LogError("logs: a stream can be read only once; open it again")
        with reading(self.name):
            while self._seen:
                yield self._seen.pop(0).select(list(columns))
            for batch in self.reader:
                yield batch.select(list(columns))


def _table(columns: Mapping[str, Any]) -> Any:
    """Return columns of any kind as an Arrow table."""
    pa = arrow("reading a log")
    arrays = {name: _array(column, name) for name, column in columns.items()}
    lengths = {name: len(column) for name, column in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise LogError(f"logs: columns must have the same length, got {lengths}")
    return pa.table(arrays)


def _array(column: Any, name: str) -> Any:
    """Return one column as an Arrow array."""
    pa = arrow("reading a log")
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return column
    if isinstance(column, np.ma.MaskedArray):
        return pa.array(np.asarray(column.filled()), mask=np.ma.getmaskarray(column))
    if isinstance(column, np.ndarray) and column.dtype.kind == "M":
        unit = np.datetime_data(column.dtype)[0]
        column = column if unit in ("D", "s", "ms", "us", "ns") else column.astype("M8[s]")
    dtype = getattr(column, "dtype", None)
    if isinstance(column, str) or np.ndim(column) != 1:
        raise LogError(f"logs: column {name!r} must have one dimension, got {column!r:.60}")
    try:
        if isinstance(column, list | tuple) or getattr(dtype, "kind", "") == "O":
            return listed(list(column))
        if hasattr(column, "to_arrow"):
            return column.to_arrow()
        return pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise LogError(f"logs: column {name!r} cannot be read: {error}") from error


def listed(items: list[Any]) -> Any:
    """Return Python objects as an array; dates as text, which may have any time zone."""
    pa = arrow("reading a log")
    items = [None if is_missing(item) else item for item in items]
    if any(isinstance(item, date | np.datetime64 | str) for item in items):
        return pa.array([None if item is None else _text(item) for item in items], pa.string())
    if any(isinstance(item, float) for item in items):
        return pa.array([None if item is None else float(item) for item in items], pa.float64())
    return pa.array(items)


def _text(item: Any) -> str:
    if isinstance(item, float) and math.isinf(item):
        return "inf" if item > 0 else "-inf"
    return item.isoformat() if isinstance(item, date) else str(item)
