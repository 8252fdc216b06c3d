"""Files of every kind that is read, folders of them, and the standard input."""

from __future__ import annotations

import codecs
import csv
import glob
import json
import lzma
import shlex
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, BinaryIO

from belated.errors import LogError
from belated.logs.kinds import word
from belated.logs.log import SHOWN
from belated.logs.sources import Source, array_of, arrow, check_names, of_table, reading
from belated.logs.workbooks import sheets_of

STANDARD_INPUT = "-"
BOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
OLD_BOOK, PARQUET, SQLITE = b"\xd0\xcf\x11\xe0", b"PAR1", b"SQLite f"
"""The first bytes of files; old workbooks are those of before 2007."""
CODECS = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "zip",
}
"""The first bytes of packed files."""
ENDINGS = (
    *(".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".parquet", ".pq", ".arrow"),
    *(".feather", ".ipc", ".gz", ".bz2", ".zst", ".xz", ".lz4", ".zip", *BOOKS),
)
"""The endings of files that are read from a folder."""


def file_of(given: str | Path, encoding: str | None = None) -> Source:
    """Return the source for a path: a file, a folder, a pattern such as logs/*.csv, or ``-``.

    ``encoding`` is that of text, where it is not to be recognised.
    """
    text, path = str(given), Path(given)
    if text == STANDARD_INPUT:
        return _copied(sys.stdin.buffer, "standard input", encoding)
    if is_piped(given):
        with reading(text), path.open("rb") as file:
            return _copied(file, text, encoding)
    found, none = [path], f"no file is like {text}"
    if path.is_dir():
        found = [file for file in sorted(path.rglob("*")) if _is_part(file, path)]
        none = f"the folder {text} holds no file that can be read"
    elif not path.exists() and glob.has_magic(text):
        files = map(Path, sorted(glob.glob(text, recursive=True)))
        found = [file for file in files if file.is_file()]
    if not found:
        raise LogError(f"logs: {none}")
    sources = [_one(file, str(file), encoding) for file in found]
    return sources[0] if len(sources) == 1 else _many(text, sources)


def is_piped(given: Any) -> bool:
    """Tell whether this is the standard input or the path of a pipe, which are read only once."""
    with suppress(OSError, TypeError, ValueError):
        return str(given) == STANDARD_INPUT or Path(given).is_fifo()
    return False


def is_parquet(given: Any) -> bool:
    """Tell whether this is the path of a Parquet file, by how that begins."""
    with suppress(OSError, TypeError, ValueError):
        if Path(given).is_file():  # of a pipe the start would be lost
            with Path(given).open("rb") as file:
                return file.read(len(PARQUET)) == PARQUET
    return False


def _is_part(file: Path, folder: Path) -> bool:
    """Whether a file in a folder is one of its logs; names with a dot or underscore are not."""
    is_hidden = any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
    return file.is_file() and not is_hidden and file.suffix.lower() in ENDINGS


def _copied(stream: BinaryIO, name: str, encoding: str | None) -> Source:
    """Return the source for a stream, copied to a temporary file, since a source is read twice."""
    copy = tempfile.NamedTemporaryFile(prefix="belated-")  # noqa: SIM115  # as long as the source
    shutil.copyfileobj(stream, copy)
    copy.flush()
    source = _one(Path(copy.name), name, encoding)
    source.kept = copy
    return source


def _one(path: Path, name: str, encoding: str | None) -> Source:
    """Return the source for a file, by its first bytes and the ending of its name."""
    with reading(name):
        file = _unpacked(path, name)
        start = file.start(8)
    if not start:
        raise LogError(f"logs: {name} is empty")
    if start == SQLITE:
        opened = f"bl.open({json.dumps(name)})"
        code = f'import belated as bl; {opened}.export("MODEL", "MODEL.parquet")'
        raise LogError(
            f"logs: {name} is a file of SQLite, and no log. If it is a store, export a model "
            f"first, and give the file that this writes: python -c {shlex.quote(code)}"
        )
    if start.startswith(PARQUET) or file.ending in (".parquet", ".pq"):
        kind = _parquet
    elif start.startswith(b"ARROW1") or file.ending in (".arrow", ".feather", ".ipc"):
        kind = _arrow
    elif start.startswith(OLD_BOOK) or file.ending in BOOKS:
        kind = _excel
    else:
        return _text(file, encoding)
    if encoding is not None:
        raise LogError(
            f"logs: encoding (--encoding) is for text files, and {name} is none; leave it out"
        )
    return kind(file)


# ---- bytes: unpacked, and recoded to UTF-8, each time from the start -----------------------------


@dataclass(frozen=True)
class Opener:
    """How to read a file from its start, as often as wanted."""

    name: str
    path: Path
    ending: str
    """The ending of its name, without the one that says that it is packed."""
    codec: str | None = None
    member: str = ""
    """Which file of a zip file it is."""
    encoding: str = "utf-8"

    def open(self) -> Any:
        """Return the bytes from the start on, unpacked and in UTF-8."""
        pa = arrow()
        if self.codec == "xz":
            stream = pa.PythonFile(lzma.open(self.path), mode="r")  # noqa: SIM115
        elif self.codec == "zip":
            member = zipfile.ZipFile(self.path).open(self.member)  # noqa: SIM115
            stream = pa.PythonFile(member, mode="r")
        else:
            stream = pa.input_stream(str(self.path), compression=self.codec)
        if self.encoding == "utf-8":
            return stream
        return pa.transcoding_input_stream(stream, self.encoding, "utf-8")

    def start(self, size: int) -> bytes:
        """Return the first bytes."""
        with self.open() as stream:
            return bytes(stream.read(size))

    def seekable(self) -> Any:
        """Return the file for readers that jump in it: in memory if it is packed."""
        pa = arrow()
        if self.codec is None:
            return pa.memory_map(str(self.path))
        with self.open() as stream:
            return pa.BufferReader(stream.read())


def _unpacked(path: Path, name: str) -> Opener:
    """Return how to open a file, by its first bytes."""
    with path.open("rb") as file:
        start = file.read(8)
    codec = next((codec for mark, codec in CODECS.items() if start.startswith(mark)), None)
    if codec != "zip":
        ending = path.suffix if codec is None else Path(path.stem).suffix
        return Opener(name, path, ending.lower(), codec)
    with zipfile.ZipFile(path) as archive:
        members = archive.namelist()
    if any(member.startswith("xl/workbook") for member in members):
        return Opener(name, path, ".xlsx")
    files = [m for m in members if not m.endswith("/") and not m.startswith("__MACOSX")]
    if len(files) != 1:
        raise LogError(
            f"logs: {name} holds {len(files)} files ({', '.join(files[:5]) or 'nothing'}); unpack "
            "it and give the folder, or a zip file with one"
        )
    return Opener(name, path, Path(files[0]).suffix.lower(), codec, files[0])


# ---- text: CSV and JSON lines --------------------------------------------------------------------

CHECKED = 1 << 22
"""Bytes at the start of a file from which its encoding is recognised."""
BLOCK = 1 << 21
"""Bytes of text in a batch; the reader holds some tens of batches at a time."""
START = 1 << 16
"""Bytes in which the names of the columns must stand."""
DELIMITERS = ",;\t|"
COMMENT = "#"


def _text(file: Opener, encoding: str | None) -> Source:
    """Return the source for a text file: JSON lines, or CSV."""
    with reading(file.name):
        known = _encoding_of(file) if encoding is None else _known_encoding(encoding)
        file = replace(file, encoding=known)
        start = file.start(START).decode("utf-8", errors="replace").lstrip("\ufeff \t\r\n")
        if start.startswith("["):
            raise LogError(
                f"logs: {file.name} begins like a JSON array; give JSON lines, with one object on "
                "every line"
            )
        source = _json(file) if start.startswith("{") else _csv(file)
    if encoding is None and known != "utf-8":
        said = {"cp1252": "Windows-1252 (latin-1)"}.get(known, known.upper())
        source.notes.append(f"the text is no UTF-8 and is read as {said}")
    return source


def _json(file: Opener) -> Source:
    """Return the source for JSON lines."""
    from pyarrow import json as reader

    options = reader.ReadOptions(block_size=1 << 24)
    return of_table(file.name, reader.read_json(file.open(), options))


def _known_encoding(encoding: str) -> str:
    """Return the name of an encoding of text as Python has it."""
    try:
        "a".encode(encoding)  # not all codecs are of text
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise LogError(
            f"logs: {encoding!r} is no encoding that is known; say one such as utf-8, latin-1, "
            "cp1251 or utf-16 (--encoding)"
        ) from None


def _encoding_of(file: Opener) -> str:
    """Return how a file of text is encoded: UTF-8, UTF-16 with its mark, or else Windows-1252."""
    start = file.start(CHECKED)
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    for encoding in () if 0 in start[:4096] else ("utf-8", "cp1252"):
        with suppress(UnicodeDecodeError):
            # The last character may go on behind these bytes.
            codecs.getincrementaldecoder(encoding)().decode(start)
            return encoding
    raise LogError(
        f"logs: {file.name} is neither text nor a kind of file that belated reads (CSV, JSON "
        "lines, Parquet, Arrow, Excel); if it is text, say its encoding (--encoding)"
    )


def _csv(file: Opener) -> Source:
    """Return the source for text with one row per line; every cell is read as text."""
    from pyarrow import csv as reader

    names, delimiter, above = _header(file)
    skipped, comments = len(above), sum(line.startswith(COMMENT) for line in above)
    lost: list[tuple[str, str]] = []
    numbers: list[int] = []
    """Lines without the right number of cells, by their place among all rows."""

    def note(row: Any) -> str:
        numbers.append(row.number - skipped - 2)
        lost.append((f"line {row.number}", f"has {row.actual_columns} cells, not {len(names)}"))
        return "skip"

    def read(columns: list[str] | None, rows: int) -> Iterator[Any]:
        lost.clear()
        numbers.clear()
        size = 1 << 20 if columns is None else BLOCK
        yield from reader.open_csv(
            file.open(),
            # With threads, rows that are skipped would not know their number.
            reader.ReadOptions(block_size=size, use_threads=False, skip_rows=skipped),
            reader.ParseOptions(delimiter=delimiter, invalid_row_handler=note),
            reader.ConvertOptions(
                column_types=dict.fromkeys(names, arrow().string()),
                include_columns=columns,
                strings_can_be_null=True,
                null_values=[""],
            ),
        )

    def place(row: int) -> str:
        for number in numbers:
            row += number <= row
        return f"line {row + skipped + 2}"

    lines = "1 line" if comments == 1 else f"{comments} lines"
    notes = [f"{lines} at the start that begin with {COMMENT}, left out"] if comments else []
    return Source(file.name, read, place, lost, notes)


def _header(file: Opener) -> tuple[list[str], str, list[str]]:
    """Return the names of the columns, the character between cells, and the lines above."""
    lines = file.start(START).decode("utf-8-sig", errors="replace").splitlines(keepends=True)
    above = [*takewhile(lambda at: not at.strip() or at.startswith((COMMENT, "sep=")), lines)]
    rest = [line.rstrip("\r\n") for line in lines[len(above) :]]
    if not "".join(rest[1:]).strip():
        raise LogError(f"logs: {file.name} has a header and no rows")
    told = [line.strip()[4:] for line in above if line.startswith("sep=")]
    delimiter = told[0] if told and len(told[0]) == 1 else max(DELIMITERS, key=rest[0].count)
    names = next(csv.reader([rest[0]], delimiter=delimiter), [])
    check_names(file.name, names)
    return names, delimiter, above


# ---- binary files --------------------------------------------------------------------------------


def _parquet(file: Opener) -> Source:
    """Return the source for a Parquet file."""

    def read(columns: list[str] | None, rows: int) -> Iterator[Any]:
        from pyarrow import parquet

        # Without these two, the whole file is kept in memory while it is read.
        options = {"pre_buffer": False, "buffer_size": 1 << 20}
        where = str(file.path) if file.codec is None else file.seekable()
        with parquet.ParquetFile(where, **options) as opened:
            check_names(file.name, opened.schema_arrow.names)
            yield from opened.iter_batches(batch_size=rows, columns=columns)

    return Source(file.name, read)


def _arrow(file: Opener) -> Source:
    """Return the source for a file of Arrow batches: Feather, or a stream in a file."""

    def read(columns: list[str] | None, rows: int) -> Iterator[Any]:
        ipc = arrow().ipc
        is_file = file.start(6) == b"ARROW1"
        with file.seekable() as stream:
            opened = ipc.open_file(stream) if is_file else ipc.open_stream(stream)
            check_names(file.name, opened.schema.names)
            parts = map(opened.get_batch, range(opened.num_record_batches)) if is_file else opened
            for batch in parts:
                batch.validate(full=True)  # offsets of a damaged file may lead anywhere
                yield batch if columns is None else batch.select(columns)

    return Source(file.name, read)


def _excel(file: Opener) -> Source:
    """Return the first sheet with rows as a table; its first filled row has the names."""
    name, sheets = file.name, sheets_of(file.name, file.path)
    title = next((title for title, rows in sheets.items() if len(rows) > 1), None)
    if title is None:
        raise LogError(f"logs: {name} has no rows")
    numbers, (heads, *cells) = zip(*sheets[title], strict=True)
    columns = {
        f"column {i + 1}" if head is None else word(head): list(column)
        for i, (head, *column) in enumerate(zip(heads, *cells, strict=True))
        if head is not None or any(cell is not None for cell in column)
    }
    check_names(name, [word(head) for head in heads if head is not None])
    source = of_table(name, arrow().table({n: array_of(column) for n, column in columns.items()}))
    source.place = lambda row: f"row {numbers[row + 1]} of the sheet"
    if len(sheets) > 1:
        of = f"the first of {len(sheets)} sheets"
        source.notes.append(f"only {title!r} is read, {of} that holds a table")
    return source


# ---- many files ----------------------------------------------------------------------------------


def _many(name: str, sources: list[Source]) -> Source:
    """Return the source for files with the same columns, one after the other by name."""
    counts: list[int] = []
    """Rows that were read of each."""
    lost: list[tuple[str, str]] = []
    notes: list[str] = []

    def read(columns: list[str] | None, rows: int) -> Iterator[Any]:
        first = sources[0].peek()
        notes[:] = [f"{len(sources):,} files are read, by name", *sources[0].notes]
        if columns is None:
            yield first
            return
        notes.extend(_odd_columns(name, sources, columns))
        counts.clear()
        lost.clear()
        for each in sources:
            counts.append(0)
            for batch in each.batches(columns):
                yield batch
                counts[-1] += batch.num_rows
            lost.extend((f"{each.name}, {place}", reason) for place, reason in each.lost)

    def place(row: int) -> str:
        for each, count in zip(sources, counts[:-1], strict=False):
            if row < count:
                return f"{each.name}, {each.place(row)}"
            row -= count
        last = sources[len(counts) - 1]
        return f"{last.name}, {last.place(row)}"

    return Source(name, read, place, lost, notes)


def _odd_columns(name: str, sources: list[Source], columns: list[str]) -> list[str]:
    """Refuse files that lack a column, all of them at once; note columns that are left out."""
    lacking, others, usual = [], 0, sources[0].peek().schema.names
    for source in sources[1:]:
        names = source.peek().schema.names
        gone = [repr(name) for name in columns if name not in names]
        more = [repr(name) for name in names if name not in usual]
        others += bool(more)
        if gone:
            instead = f" (but {', '.join(more[:SHOWN])})" if more else ""
            lacking.append(f"{source.name} has no {', '.join(gone)}{instead}")
    if lacking:
        raise LogError(
            f"logs: the {len(sources):,} files of {name} are read as one log, and must have the "
            f"columns of {sources[0].name}: {'; '.join(lacking[:SHOWN])}. Give the files that "
            "belong together, or rename the columns"
        )
    have = "has" if others == 1 else "have"
    said = f"{others:,} of them {have} columns that the first one has not; these are left out"
    return [said] if others else []
