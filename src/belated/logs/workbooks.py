"""The cells of Excel files, read in a process of their own: ``python -m belated.logs.workbooks``.

One cell far from all others makes the reader ask for more memory than there is, which ends its
process.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from belated.errors import LogError, MissingExtra

Rows = list[tuple[int, list[Any]]]
"""Rows with their numbers in the sheet, from 1 on."""


def sheets_of(name: str, path: Path) -> dict[str, Rows]:
    """Return the rows that are not empty of every sheet."""
    if not find_spec("python_calamine"):
        raise MissingExtra("python-calamine", extra="excel", where="reading an Excel file")
    command = [sys.executable, "-m", "belated.logs.workbooks", str(path)]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise LogError(
            f"logs: cannot read {name}: {last}; is the file complete, and is no cell far from all "
            "others?"
        )
    sheets: dict[str, Rows] = pickle.loads(done.stdout)
    return sheets


def _filled(sheet: Any) -> Rows:
    first = (sheet.start or (0, 0))[0] + 1
    rows = enumerate(sheet.to_python(skip_empty_area=True), first)
    return [(n, [*map(_cell, row)]) for n, row in rows if any(cell != "" for cell in row)]


def _cell(cell: Any) -> Any:
    """Return the value of a cell; whole numbers are no fractions."""
    if cell == "":
        return None
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


if __name__ == "__main__":
    from python_calamine import CalamineWorkbook

    book = CalamineWorkbook.from_path(sys.argv[1])
    found = {title: _filled(book.get_sheet_by_name(title)) for title in book.sheet_names}
    pickle.dump(found, sys.stdout.buffer)
