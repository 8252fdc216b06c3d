"""Where rows come from: files and tables, all as batches of Arrow columns.

A source is looked at twice: :meth:`Source.peek` for its first rows, from which columns are chosen,
and :meth:`Source.batches` for the chosen columns of all rows, a batch at a time.
"""

from __future__ import annotations

import csv
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from belated.errors import LogError, MissingExtra
from belated.timeline.columns import is_nothing

PEEKED = 10_000
"""Rows that are looked at before columns are chosen."""
ROWS = 1 << 17
"""Rows in a batch."""
BLOCK = 1 << 21
"""Bytes of text in a batch; the reader holds some tens of batches at a time."""
BUFFER = 1 << 20
"""Bytes that are read at once from one column of a Parquet file."""
DELIMITERS = ",;\t|"


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
    first_line: ClassVar[int | None] = None
    """The line of row 0 in a text file; None elsewhere."""

    @abstractmethod
    def peek(self) -> Any:
        """Return the first rows as a RecordBatch with all columns."""

    @abstractmethod
    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield RecordBatches with these columns, of all rows."""


def source_of(data: Any) -> Source:
    """Return a source for a path, a table of any common kind, or a stream of batches."""
    pa = arrow("reading a log")
    if isinstance(data, str | Path):
        return _file(Path(data))
    if isinstance(data, pa.RecordBatchReader):
        return Stream("stream", data)
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        return InMemory("table", data)
    library = type(data).__module__.partition(".")[0]
    if library == "pandas" and hasattr(data, "columns"):
        columns = {str(name): data.iloc[:, i] for i, name in enumerate(data.columns)}
        _check_names("DataFrame", [str(name) for name in data.columns])
        return InMemory("DataFrame", _table(columns))
    if isinstance(data, Mapping):
        return InMemory("columns", _table({str(name): column for name, column in data.items()}))
    if library == "polars" and hasattr(data, "collect"):
        raise LogError("logs: a LazyFrame holds no rows yet; give frame.collect()")
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
    except MemoryError:  # one of Arrow's errors is both, and says nothing about the file
        raise
    except (pa.ArrowException, OSError, UnicodeError) as error:
        text = getattr(error, "strerror", None) or str(error).partition("\n")[0]
        raise LogError(
            f"logs: cannot read {name}: {text}; is the file complete, and what its ending says?"
        ) from error


def _file(path: Path) -> Source:
    """Return the source for a file, by what it begins with and how its name ends."""
    name = str(path)
    with reading(name):
        with open(path, "rb") as file:
            start = file.read(8)
        if not start:
            raise LogError(f"logs: {name} is empty")
        ending = path.suffix.lower()
        if start.startswith(b"PAR1") or ending in (".parquet", ".pq"):
            return Parquet(name)
        if start.startswith(b"ARROW1") or ending in (".arrow", ".feather", ".ipc"):
            return Ipc(name, is_stream=not start.startswith(b"ARROW1"))
        return Csv(name)


def _check_names(name: str, names: Sequence[str]) -> None:
    twice = {column for column in names if list(names).count(column) > 1}
    if twice:
        raise LogError(f"logs: {name} has two columns called {sorted(twice)[0]!r}; rename one")


# ---- text --------------------------------------------------------------------------------------


@dataclass
class Csv(Source):
    """Text with one row per line, as it is or compressed; every cell is read as text."""

    first_line = 2

    def peek(self) -> Any:
        """Return the first rows."""
        self.lost.clear()
        with reading(self.name):
            batch = next(self._reader(self._header(), block=1 << 20), None)
        self.lost.clear()
        if batch is None or not batch.num_rows:
            raise LogError(f"logs: {self.name} has a header and no rows")
        return batch.slice(0, PEEKED)

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the rows; lines with too few or too many cells are noted in ``lost``."""
        self.lost.clear()
        with reading(self.name):
            yield from self._reader(self._header(), columns)

    def _header(self) -> tuple[list[str], str]:
        """Return the names of the columns, and what stands between cells."""
        pa = arrow("reading a log")
        with pa.input_stream(self.name, compression="detect") as stream:
            text = stream.read(1 << 16).decode("utf-8-sig", errors="replace")
        line, _, rest = text.partition("\n")
        if not rest.strip():
            raise LogError(f"logs: {self.name} has a header and no rows")
        line = line.rstrip("\r")
        delimiter = max(DELIMITERS, key=line.count)
        names = next(csv.reader([line], delimiter=delimiter), [])
        _check_names(self.name, names)
        return names, delimiter

    def _reader(
        self, header: tuple[list[str], str], columns: Sequence[str] = (), block: int | None = None
    ) -> Iterator[Any]:
        """Return a reader of the columns, or of all."""
        from pyarrow import csv as reader

        pa = arrow("reading a log")
        names, delimiter = header

        def note(row: Any) -> str:
            self.lost.append((row.number - 2, f"has {row.actual_columns} cells, not {len(names)}"))
            return "skip"

        found: Iterator[Any] = reader.open_csv(
            pa.input_stream(self.name, compression="detect"),
            # With threads, rows that are skipped would not know their number.
            reader.ReadOptions(block_size=block or BLOCK, use_threads=False),
            reader.ParseOptions(delimiter=delimiter, invalid_row_handler=note),
            reader.ConvertOptions(
                column_types={name: pa.string() for name in names},
                include_columns=list(columns),
                strings_can_be_null=True,
                null_values=[""],
            ),
        )
        return found


# ---- binary files ------------------------------------------------------------------------------


@dataclass
class Parquet(Source):
    """A Parquet file."""

    def peek(self) -> Any:
        """Return the first rows."""
        return _first(self.name, self._batches(None, PEEKED))

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the rows."""
        return self._batches(list(columns), ROWS)

    def _batches(self, columns: list[str] | None, rows: int) -> Iterator[Any]:
        from pyarrow import parquet

        # Without these two, the whole file is kept in memory while it is read.
        options = {"pre_buffer": False, "buffer_size": BUFFER}
        with reading(self.name), parquet.ParquetFile(self.name, **options) as file:
            _check_names(self.name, file.schema_arrow.names)
            yield from file.iter_batches(batch_size=rows, columns=columns)


@dataclass
class Ipc(Source):
    """A file of Arrow batches, with or without a table of contents at its end."""

    is_stream: bool

    def peek(self) -> Any:
        """Return the first rows."""
        return _first(self.name, self._batches())

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the rows."""
        return (batch.select(list(columns)) for batch in self._batches())

    def _batches(self) -> Iterator[Any]:
        pa = arrow("reading a log")
        with reading(self.name), pa.memory_map(self.name) as file:
            if self.is_stream:
                yield from pa.ipc.open_stream(file)
                return
            found = pa.ipc.open_file(file)
            yield from (found.get_batch(i) for i in range(found.num_record_batches))


def _first(name: str, batches: Iterator[Any]) -> Any:
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
        _check_names(self.name, self.table.schema.names)
        return _first(self.name, iter(self.table.to_batches()))

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
            return _listed(list(column))
        if hasattr(column, "to_arrow"):
            return column.to_arrow()
        return pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise LogError(f"logs: column {name!r} cannot be read: {error}") from error


def _listed(items: list[Any]) -> Any:
    """Return Python objects as an array; dates as text, which may have any time zone."""
    pa = arrow("reading a log")
    items = [None if is_nothing(item) else item for item in items]
    if any(isinstance(item, date | np.datetime64 | str) for item in items):
        return pa.array([None if item is None else _text(item) for item in items], pa.string())
    if any(isinstance(item, float) for item in items):
        return pa.array([None if item is None else float(item) for item in items], pa.float64())
    return pa.array(items)


def _text(item: Any) -> str:
    if isinstance(item, float) and math.isinf(item):
        return "inf" if item > 0 else "-inf"
    return item.isoformat() if isinstance(item, date) else str(item)
