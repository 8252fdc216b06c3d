"""The used ranges of the sheets of an Excel file, read before any table is made of them.

A reader makes a table of the whole range between the first and the last filled cell, so that a
single cell in the last corner asks for 17 billion cells. That allocation cannot be refused later:
it ends the process.
"""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO
from xml.parsers import expat

from belated.errors import LogError

MOST_CELLS = 50_000_000
"""Cells of the used range of a sheet; a reader takes about 32 bytes for each."""
_PIECE = 1 << 16
_DIGITS = 7  # of the number of a row
_VALUES = frozenset({"v", "is"})  # the elements of a cell that make it a filled one
# What a damaged, encrypted or other archive raises; the reader of the workbook reports it.
_UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, EOFError),
    *(NotImplementedError, RuntimeError, struct.error),
)


def check_ranges(path: Path, name: str) -> None:
    """Refuse a workbook in XML with a sheet whose used range is too large; others are not read."""
    with suppress(*_UNREADABLE), zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            with suppress(*_UNREADABLE), archive.open(member) as file:
                _Range().read(file, name, member.filename)


class _NotASheetError(Exception):
    """Raised by the first element of a part that is no sheet."""


class _Range:
    """The range of the filled cells of one sheet, as its elements come."""

    def __init__(self) -> None:
        self._is_first = True
        self._reference = ""
        self._place = (0, 0)  # row and column of the latest cell, where it does not say them
        self.rows = self.columns = (1, 0)

    def read(self, file: IO[bytes], name: str, part: str) -> None:
        """Read a part of an archive to its end, unless it is no sheet, or its range too large."""
        parser = expat.ParserCreate()
        parser.StartElementHandler = self._begin
        piece = b""
        try:
            while piece := file.read(_PIECE):
                parser.Parse(piece)
                self._check(name, part)
            parser.Parse(b"", True)
        except _NotASheetError:
            return
        except expat.ExpatError as error:
            # The reader of the workbook accepts some of what expat refuses.
            if not self._is_first or b"worksheet" in piece:
                raise LogError(
                    f"logs: {name}: {part} is damaged ({error}). Open the workbook in a "
                    "spreadsheet program and save it again, or save the table as CSV"
                ) from error

    def _begin(self, element: str, attributes: dict[str, str]) -> None:
        kind = element.rpartition(":")[2]
        if kind in _VALUES:
            self._add()
        elif kind == "c":
            self._place = (self._place[0], self._place[1] + 1)
            self._reference = attributes.get("r", "")
        elif kind == "row":
            number = attributes.get("r", "")
            is_number = number.isdecimal() and len(number) <= _DIGITS
            self._place = int(number) if is_number else self._place[0] + 1, 0
        elif self._is_first and kind != "worksheet":
            raise _NotASheetError(element)
        self._is_first = False

    def _add(self) -> None:
        """Add the latest cell, which is filled, to the range."""
        letters = self._reference.rstrip("0123456789")
        if 0 < len(letters) <= 3 and 0 < len(self._reference) - len(letters) <= _DIGITS:
            self._place = int(self._reference[len(letters) :]), _number(letters)
        row, column = self._place
        if self.rows[1] < self.rows[0]:
            self.rows, self.columns = (row, row), (column, column)
        self.rows = min(self.rows[0], row), max(self.rows[1], row)
        self.columns = min(self.columns[0], column), max(self.columns[1], column)

    def _check(self, name: str, part: str) -> None:
        """Refuse a range that is too large."""
        (first, last), (left, right) = self.rows, self.columns
        height, width = last - first + 1, right - left + 1
        if height * width > MOST_CELLS:
            corners = f"{_letters(left)}{first} to {_letters(right)}{last}"
            raise LogError(
                f"logs: {name}: the filled cells of {part} reach from {corners}, which is a table "
                f"of {height:,} rows by {width:,} columns, {height * width:,} cells; at most "
                f"{MOST_CELLS:,} cells are read. Delete the cells that stand far from the table, "
                "or save the table as CSV"
            )


@cache
def _number(letters: str) -> int:
    """Return the number of a column: A is 1, XFD 16384."""
    number = 0
    for letter in letters.upper():
        number = 26 * number + ord(letter) - 64
    return number


def _letters(number: int) -> str:
    """Undo ``_number``."""
    name = ""
    while number > 0:
        number, letter = divmod(number - 1, 26)
        name = chr(65 + letter) + name
    return name
