"""Files of every kind that is read, folders of them, and the standard input."""

from __future__ import annotations

import glob
import json
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from belated.errors import LogError, MissingExtra
from belated.logs.kinds import word
from belated.logs.log import SHOWN
from belated.logs.sheet_ranges import check_ranges
from belated.logs.sources import (
    PEEKED,
    ROWS,
    InMemory,
    Source,
    arrow,
    check_names,
    first_rows,
    listed,
    reading,
)
from belated.logs.texts import Opener, opener_of, text_of

BUFFER = 1 << 20
"""Bytes that are read at once from one column of a Parquet file."""
STANDARD_INPUT = "-"
BOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
PARQUET = b"PAR1"
"""How a Parquet file begins."""
SQLITE = b"SQLite f"
"""How a file of SQLite begins, which a store is one of."""
OLD_BOOK = b"\xd0\xcf\x11\xe0"
"""How an Excel file of the old kind begins."""
ENDINGS = (
    *(".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".parquet", ".pq", ".arrow"),
    *(".feather", ".ipc", ".gz", ".bz2", ".zst", ".xz", ".lz4", ".zip", *BOOKS),
)
"""How files end that are read from a folder."""


def file_of(given: str | Path, encoding: str | None = None) -> Source:
    """Return the source for a path: a file, a folder, a pattern such as logs/*.csv, or ``-``.

    ``encoding`` is that of text, where it is not to be recognised.
    """
    text = str(given)
    if text == STANDARD_INPUT:
        return _kept(sys.stdin.buffer, "standard input", encoding)
    path = Path(given)
    if is_piped(given):
        with reading(text), path.open("rb") as file:
            return _kept(file, text, encoding)
    if path.is_dir():
        found = [file for file in sorted(path.rglob("*")) if _is_part(file, path)]
        if not found:
            raise LogError(f"logs: the folder {text} holds no file that can be read")
        return _many(text, found, encoding)
    if not path.exists() and glob.has_magic(text):
        found = [Path(file) for file in sorted(glob.glob(text, recursive=True))]
        found = [file for file in found if file.is_file()]
        if not found:
            raise LogError(f"logs: no file is like {text}")
        return _many(text, found, encoding)
    return _one(path, text, encoding)


def is_piped(given: Any) -> bool:
    """Tell whether this is the standard input or the path of a pipe, which are read only once."""
    try:
        return str(given) == STANDARD_INPUT or Path(given).is_fifo()
    except (OSError, TypeError, ValueError):
        return False


def is_parquet(given: Any) -> bool:
    """Tell whether this is the path of a Parquet file, by how that begins."""
    try:
        if not Path(given).is_file():  # of a pipe the start would be lost
            return False
        with Path(given).open("rb") as file:
            return file.read(len(PARQUET)) == PARQUET
    except (OSError, TypeError, ValueError):
        return False


def _is_part(file: Path, folder: Path) -> bool:
    """Whether a file in a folder is one of its logs; names with a dot or underscore are not."""
    parts = file.relative_to(folder).parts
    is_hidden = any(part.startswith((".", "_")) for part in parts)
    return file.is_file() and not is_hidden and file.suffix.lower() in ENDINGS


def _kept(stream: BinaryIO, name: str, encoding: str | None) -> Source:
    """Return what comes in, kept in a file, since it is looked at twice."""
    kept = tempfile.NamedTemporaryFile(prefix="belated-")  # noqa: SIM115  # as long as the source
    shutil.copyfileobj(stream, kept)
    kept.flush()
    source = _one(Path(kept.name), name, encoding)
    source.kept = kept
    return source


def _one(path: Path, name: str, encoding: str | None) -> Source:
    """Return the source for a file, by what it begins with and how its name ends."""
    with reading(name):
        opener = opener_of(path, name)
        start = opener.start(8)
    source = _binary(start, name, opener)
    if source is None:
        if not start:
            raise LogError(f"logs: {name} is empty")
        return text_of(opener, encoding)
    if encoding is not None:
        raise LogError(
            f"logs: encoding (--encoding) is for text files, and {name} is none; leave it out"
        )
    return source


def _binary(start: bytes, name: str, opener: Opener) -> Source | None:
    """Return the source for a file that is no text; None: it must be text."""
    if start == SQLITE:
        opened = f"bl.open({json.dumps(name)})"
        code = f'import belated as bl; {opened}.export("MODEL", "MODEL.parquet")'
        raise LogError(
            f"logs: {name} is a file of SQLite, and no log. If it is a store, export a model "
            f"first, and give the file that this writes: python -c {shlex.quote(code)}"
        )
    if start.startswith(PARQUET) or opener.ending in (".parquet", ".pq"):
        return Parquet(name, opener)
    if start.startswith(b"ARROW1") or opener.ending in (".arrow", ".feather", ".ipc"):
        return Ipc(name, opener, is_stream=not start.startswith(b"ARROW1"))
    if start.startswith(OLD_BOOK) or opener.ending in BOOKS:
        return _excel(name, opener)
    return None


# ---- binary files ------------------------------------------------------------------------------


@dataclass
class Parquet(Source):
    """A Parquet file."""

    opener: Opener

    def peek(self) -> Any:
        """Return the first rows."""
        return first_rows(self.name, self._batches(None, PEEKED))

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the rows."""
        return self._batches(list(columns), ROWS)

    def _batches(self, columns: list[str] | None, rows: int) -> Iterator[Any]:
        from pyarrow import parquet

        # Without these two, the whole file is kept in memory while it is read.
        options = {"pre_buffer": False, "buffer_size": BUFFER}
        with reading(self.name):
            is_packed = self.opener.packing is not None
            where = self.opener.buffer() if is_packed else str(self.opener.path)
            with parquet.ParquetFile(where, **options) as file:
                check_names(self.name, file.schema_arrow.names)
                yield from file.iter_batches(batch_size=rows, columns=columns)


@dataclass
class Ipc(Source):
    """A file of Arrow batches, with or without a table of contents at its end."""

    opener: Opener
    is_stream: bool

    def peek(self) -> Any:
        """Return the first rows."""
        return first_rows(self.name, self._batches())

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the rows."""
        return (batch.select(list(columns)) for batch in self._batches())

    def _batches(self) -> Iterator[Any]:
        pa = arrow("reading a log")
        with reading(self.name):
            is_packed = self.opener.packing is not None
            with (
                self.opener.buffer() if is_packed else pa.memory_map(str(self.opener.path)) as file
            ):
                for batch in self._of(pa, file):
                    batch.validate(full=True)  # what a broken file says may lead anywhere
                    yield batch

    def _of(self, pa: Any, file: Any) -> Iterator[Any]:
        if self.is_stream:
            yield from pa.ipc.open_stream(file)
            return
        found = pa.ipc.open_file(file)
        check_names(self.name, found.schema.names)
        yield from (found.get_batch(i) for i in range(found.num_record_batches))


def _excel(name: str, opener: Opener) -> Source:
    """Return the first sheet of an Excel file as a table."""
    try:
        import python_calamine as calamine
    except ImportError:
        raise MissingExtra(
            "python-calamine", extra="excel", where="reading an Excel file"
        ) from None
    check_ranges(opener.path, name)
    try:
        book = calamine.CalamineWorkbook.from_path(str(opener.path))
        sheets = [(title, _filled(book.get_sheet_by_name(title))) for title in book.sheet_names]
    except (calamine.CalamineError, OSError, IndexError, ValueError) as error:
        raise LogError(f"logs: cannot read {name}: {error}; is the file complete?") from None
    title, rows = next((each for each in sheets if len(each[1]) > 1), ("", []))
    if not rows:
        raise LogError(f"logs: {name} has no rows")
    source = Sheet(name, *_tabled(name, rows))
    if len(sheets) > 1:
        of = f"the first of {len(sheets)} sheets"
        source.notes.append(f"only {title!r} is read, {of} that holds a table")
    if source.above:
        many = "1 row" if source.above == 1 else f"{source.above} rows"
        source.notes.append(f"{many} above the names of the columns, left out")
    return source


Row = tuple[int, list[Any]]
"""A row of a sheet, with its number there."""


def _filled(sheet: Any) -> list[Row]:
    """Return the rows of a sheet that are not empty."""
    rows = sheet.to_python(skip_empty_area=True)
    first = (sheet.start or (0, 0))[0] + 1
    found = ((first + i, [*map(_cell, row)]) for i, row in enumerate(rows))
    return [(number, row) for number, row in found if any(cell is not None for cell in row)]


def _tabled(name: str, rows: list[Row]) -> tuple[Any, list[int], int]:
    """Return the table in a sheet, the numbers of its rows, and how many rows are above it.

    The names of the columns are in the first row of which at least half is filled, so that titles
    above do not count. Columns without a name are left out where they are empty.
    """
    counts = [sum(cell is not None for cell in row) for _, row in rows]
    width = max(counts)
    above = next(i for i, count in enumerate(counts) if 2 * count >= width)
    numbers, cells = [number for number, _ in rows[above + 1 :]], rows[above + 1 :]
    if not cells:
        raise LogError(f"logs: {name} has no rows")
    columns = {}
    heads = rows[above][1]
    names = [f"column {i + 1}" if cell is None else word(cell) for i, cell in enumerate(heads)]
    kept = [i for i, head in enumerate(heads) if head is not None or _holds(cells, i)]
    check_names(name, [names[i] for i in kept])
    for i in kept:
        columns[names[i]] = listed([row[i] for _, row in cells])
    return arrow("reading a log").table(columns), numbers, above


def _holds(rows: list[Row], place: int) -> bool:
    """Whether anything is in a column."""
    return any(row[place] is not None for _, row in rows)


@dataclass
class Sheet(InMemory):
    """A table in an Excel file."""

    numbers: list[int]
    """Where its rows stand in the sheet."""
    above: int
    """Rows that were left out above the names of the columns."""

    def _at(self, row: int) -> str:
        return f"row {self.numbers[row]} of the sheet"


def _cell(cell: Any) -> Any:
    """Return what a cell of a sheet holds; whole numbers are no fractions."""
    if cell == "":
        return None
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


# ---- many files --------------------------------------------------------------------------------


def _many(name: str, files: Sequence[Path], encoding: str | None) -> Source:
    if len(files) == 1:
        return _one(files[0], str(files[0]), encoding)
    return Many(name, [_one(file, str(file), encoding) for file in files])


@dataclass
class Many(Source):
    """Files with the same columns, one after the other by name."""

    sources: list[Source]
    rows: list[int] = field(default_factory=list, init=False)
    """Rows that were read of each."""

    def peek(self) -> Any:
        """Return the first rows."""
        first = self.sources[0].peek()
        self.notes = [f"{len(self.sources):,} files are read, by name", *self.sources[0].notes]
        return first

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the rows of all files."""
        self._check_columns(columns)
        self.rows = []
        for source in self.sources:
            self.rows.append(0)
            for batch in source.batches(columns):
                yield batch
                self.rows[-1] += batch.num_rows

    def _check_columns(self, columns: Sequence[str]) -> None:
        """Refuse files that lack a column, all of them at once."""
        lacking, usual, others = [], self.sources[0].peek().schema.names, 0
        for source in self.sources[1:]:
            names = source.peek().schema.names
            gone = [repr(name) for name in columns if name not in names]
            more = [repr(name) for name in names if name not in usual]
            others += bool(more)
            if gone:
                instead = f" (but {', '.join(more[:SHOWN])})" if more else ""
                lacking.append(f"{source.name} has no {', '.join(gone)}{instead}")
        if lacking:
            more = [f"and {len(lacking) - SHOWN:,} more"] if len(lacking) > SHOWN else []
            raise LogError(
                f"logs: the files of {self.name} do not have the same columns, and are read as one "
                f"log by those of {self.sources[0].name}: {'; '.join([*lacking[:SHOWN], *more])}. "
                "Give the files that belong together, as a folder of their own or with a pattern, "
                "or rename the columns"
            )

        have = "has" if others == 1 else "have"
        said = f"{others:,} of them {have} columns that the first one has not; these are left out"
        self.notes += [said] if others and said not in self.notes else []

    def place(self, row: int) -> str:
        """Say in which file a row stands, and where."""
        for source, count in zip(self.sources, self.rows, strict=False):
            if row < count or source is self.sources[len(self.rows) - 1]:
                return f"{source.name}, {source.place(row)}"
            row -= count
        return f"row {row}"

    def lost_rows(self) -> list[tuple[str, str]]:
        """Return the lost rows of every file."""
        return [
            (f"{source.name}, {place}", reason)
            for source in self.sources
            for place, reason in source.lost_rows()
        ]
