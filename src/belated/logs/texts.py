"""Logs in text files: CSV and what is like it, and JSON lines."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from belated.errors import LogError
from belated.logs.moments import ISO_DATE
from belated.logs.numerals import PLAIN
from belated.logs.sources import PEEKED, InMemory, Source, arrow, check_names, reading
from belated.logs.streams import Opener, in_utf8, told

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
