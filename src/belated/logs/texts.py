"""Text files as logs, packed or not and in any encoding: CSV and its like, and JSON lines."""

from __future__ import annotations

import codecs
import csv
import lzma
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from belated.errors import LogError
from belated.logs.moments import ISO_DATE
from belated.logs.numerals import PLAIN
from belated.logs.sources import PEEKED, InMemory, Source, arrow, check_names, reading

# ---- files as streams of bytes: unpacked, and recoded to UTF-8, each time from the start ---------

CHECKED = 1 << 22
"""Bytes at the start of a file that are looked at to find out how text is encoded."""
PACKED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "zip",
}
"""How packed files begin."""
MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
EXCEL = "xl/workbook"
"""How a member of a zip file is called that makes it an Excel file."""


@dataclass(frozen=True)
class Opener:
    """How to read a file from its start, as often as wanted."""

    name: str
    """What messages call it."""
    path: Path
    ending: str
    """How its name ends, but for what says that it is packed."""
    packing: str | None = None
    member: str | None = None
    """Which file of a zip file it is."""
    encoding: str = "utf-8"

    def open(self) -> Any:
        """Return the bytes from the start on, unpacked and in UTF-8."""
        pa = arrow("reading a log")
        stream = self._unpacked()
        if self.encoding == "utf-8":
            return stream
        return pa.transcoding_input_stream(stream, self.encoding, "utf-8")

    def start(self, size: int) -> bytes:
        """Return the first bytes."""
        with self.open() as stream:
            return bytes(stream.read(size))

    def buffer(self) -> Any:
        """Return all of it in memory, for what cannot be read from a stream."""
        with self.open() as stream:
            return arrow("reading a log").BufferReader(stream.read_buffer())

    def _unpacked(self) -> Any:
        pa = arrow("reading a log")
        if self.packing is None:
            return pa.OSFile(str(self.path))
        if self.packing == "xz":
            return pa.PythonFile(lzma.open(self.path), mode="r")
        if self.packing == "zip":
            archive = zipfile.ZipFile(self.path)
            return pa.PythonFile(archive.open(self.member or ""), mode="r")
        return pa.CompressedInputStream(pa.OSFile(str(self.path)), self.packing)


def opener_of(path: Path, name: str) -> Opener:
    """Return how to open a file, by how it begins."""
    with open(path, "rb") as file:
        start = file.read(8)
    if not start:
        raise LogError(f"logs: {name} is empty")
    packing = next((kind for mark, kind in PACKED.items() if start.startswith(mark)), None)
    ending = path.suffix.lower()
    if packing is None:
        return Opener(name, path, ending)
    found = Opener(name, path, Path(path.stem).suffix.lower(), packing)
    return _member(found, path) if packing == "zip" else found


def _member(opener: Opener, path: Path) -> Opener:
    """Return the only file of a zip file; an Excel file is one itself."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.namelist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise LogError(f"logs: cannot read {opener.name}: {error}; is the file complete?") from None
    if any(member.startswith(EXCEL) for member in members):
        return replace(opener, packing=None, ending=".xlsx")
    files = [m for m in members if not m.endswith("/") and not m.startswith("__MACOSX")]
    if len(files) != 1:
        listed = ", ".join(files[:5]) or "nothing"
        raise LogError(
            f"logs: {opener.name} holds {len(files)} files ({listed}); unpack it and give the "
            "folder, or a zip file with one"
        )
    return replace(opener, member=files[0], ending=Path(files[0]).suffix.lower())


def in_utf8(opener: Opener) -> tuple[Opener, str | None]:
    """Return how to open text so that it is UTF-8, and what to say where it was not."""
    with reading(opener.name):
        start = opener.start(CHECKED)
    encoding = encoding_of(start)
    if encoding is None:
        raise LogError(
            f"logs: {opener.name} is neither text nor a kind of file that belated reads (CSV, JSON "
            "lines, Parquet, Arrow, Excel)"
        )
    if encoding == "utf-8":
        if len(start) < CHECKED and _is_cut(start):
            raise LogError(f"logs: {opener.name} ends inside a character; is the file complete?")
        return opener, None
    said = {"cp1252": "Windows-1252 (latin-1)"}.get(encoding, encoding.upper())
    return replace(opener, encoding=encoding), f"the text is no UTF-8 and is read as {said}"


def told(opener: Opener, encoding: str) -> Opener:
    """Return how to open text that is encoded as somebody says."""
    try:
        "a".encode(encoding)  # not all codecs are of text
        name = codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise LogError(
            f"logs: {encoding!r} is no encoding that is known; say one such as utf-8, latin-1, "
            "cp1251 or utf-16 (--encoding)"
        ) from None
    return replace(opener, encoding=name)


def encoding_of(start: bytes) -> str | None:
    """Return how text is encoded that begins so; None: it is no text.

    >>> encoding_of("Größe".encode()), encoding_of("Größe".encode("latin-1"))
    ('utf-8', 'cp1252')
    >>> encoding_of("a,b".encode("utf-16")), encoding_of(b"\\x00\\x01\\x02\\x03")
    ('utf-16', None)
    """
    if start[:2] in MARKS:
        return "utf-16"
    few = start[:4096]
    zeros = few[0::2].count(0), few[1::2].count(0)
    half = max(1, len(few) // 4)
    if zeros[1] > half and not zeros[0]:
        return "utf-16-le"
    if zeros[0] > half and not zeros[1]:
        return "utf-16-be"
    if 0 in few:
        return None
    for encoding in ("utf-8", "cp1252"):
        try:
            # The last character may go on behind these bytes.
            codecs.getincrementaldecoder(encoding)().decode(start)
        except UnicodeDecodeError:
            continue
        return encoding
    return "latin-1"


def _is_cut(start: bytes) -> bool:
    """Whether the last bytes of UTF-8 are no whole character."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    decoder.decode(start)
    return bool(decoder.getstate()[0])


BLOCK = 1 << 21
"""Bytes of text in a batch; the reader holds some tens of batches at a time."""
START = 1 << 16
"""Bytes in which the names of the columns must stand."""
DELIMITERS = ",;\t|"
COMMENT = "#"


def text_of(opener: Opener, encoding: str | None = None) -> Source:
    """Return the source for a text file, by what it begins with."""
    opener, note = in_utf8(opener) if encoding is None else (told(opener, encoding), None)
    with reading(opener.name):
        start = opener.start(START).decode("utf-8", errors="replace").lstrip("\ufeff \t\r\n")
    source: Source
    if start.startswith("["):
        raise LogError(
            f"logs: {opener.name} begins like a JSON array; give JSON lines, with one object on "
            "every line"
        )
    source = _json(opener) if start.startswith("{") else Csv(opener.name, opener)
    source.notes += [] if note is None else [note]
    return source


# ---- CSV ---------------------------------------------------------------------------------------


class Header(NamedTuple):
    """What stands above the rows."""

    names: list[str]
    delimiter: str
    skipped: int
    """Lines before the names."""
    comments: int


@dataclass
class Csv(Source):
    """Text with one row per line, as it is or packed; every cell is read as text."""

    opener: Opener

    def peek(self) -> Any:
        """Return the first rows."""
        self.lost.clear()
        with reading(self.name):
            header = self._header()
            self.first_line = header.skipped + 2
            batch = next(self._reader(header, block=1 << 20), None)
        self.lost.clear()
        if batch is None or not batch.num_rows:
            raise LogError(f"logs: {self.name} has a header and no rows")
        if header.comments:
            said = (
                f"1 line at the start that begins with {COMMENT} is left out"
                if header.comments == 1
                else f"{header.comments} lines at the start that begin with {COMMENT} are left out"
            )
            self.notes += [] if said in self.notes else [said]
        return batch.slice(0, PEEKED)

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the rows; lines with too few or too many cells are noted in ``lost``."""
        self.lost.clear()
        with reading(self.name):
            yield from self._reader(self._header(), columns)

    def _header(self) -> Header:
        """Return the names of the columns, and what stands between cells."""
        text = self.opener.start(START).decode("utf-8-sig", errors="replace")
        lines = text.splitlines(keepends=True)
        skipped = comments = 0
        delimiter = None
        for line in lines:
            if line.lower().startswith("sep=") and len(line.strip()) == 5:
                delimiter = line.strip()[4]
            elif line.startswith(COMMENT):
                comments += 1
            elif line.strip():
                break
            skipped += 1
        if not "".join(lines[skipped + 1 :]).strip():
            raise LogError(f"logs: {self.name} has a header and no rows")
        line = lines[skipped].rstrip("\r\n")
        delimiter = delimiter or max(DELIMITERS, key=line.count)
        names = next(csv.reader([line], delimiter=delimiter), [])
        _refuse_rows(self.name, names, lines[:skipped])
        check_names(self.name, names)
        return Header(names, delimiter, skipped, comments)

    def _reader(
        self, header: Header, columns: Sequence[str] = (), block: int | None = None
    ) -> Iterator[Any]:
        """Return a reader of the columns, or of all."""
        from pyarrow import csv as reader

        pa = arrow("reading a log")
        names = header.names

        def note(row: Any) -> str:
            number = row.number - header.skipped - 2
            self.lost.append((number, f"has {row.actual_columns} cells, not {len(names)}"))
            return "skip"

        found: Iterator[Any] = reader.open_csv(
            self.opener.open(),
            # With threads, rows that are skipped would not know their number.
            reader.ReadOptions(
                block_size=block or BLOCK, use_threads=False, skip_rows=header.skipped
            ),
            reader.ParseOptions(delimiter=header.delimiter, invalid_row_handler=note),
            reader.ConvertOptions(
                column_types={name: pa.string() for name in names},
                include_columns=list(columns),
                strings_can_be_null=True,
                null_values=[""],
            ),
        )
        return found


def _refuse_rows(name: str, names: list[str], before: list[str]) -> None:
    """Refuse a header that looks like a row."""
    rows = [cell for cell in names if re.match(PLAIN, cell) or re.match(ISO_DATE, cell)]
    if 2 * len(rows) < len(names) or not rows:
        return
    hint = "write the names of the columns on the first line"
    if any(line.startswith(COMMENT) for line in before):
        hint = f"take the {COMMENT} from the line with the names of the columns, or write one"
    shown = ", ".join(map(repr, rows[:3]))
    raise LogError(
        f"logs: {name} seems to have no header: its first line has {shown} where names of columns "
        f"should be; {hint}"
    )


# ---- JSON lines --------------------------------------------------------------------------------


def _json(opener: Opener) -> Source:
    """Return objects on lines as a table: what a column holds is known only at the end."""
    from pyarrow import json

    with reading(opener.name):
        table = json.read_json(opener.open(), json.ReadOptions(block_size=1 << 24))
    return InMemory(opener.name, table)
