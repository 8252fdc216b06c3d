"""Rows on disk: one JSON line per finished cell, so that a study can stop and go on at any time."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from belated._version import __version__
from belated.engine import Outcome
from belated.errors import StudyError
from belated.research.study.plan import Cell, Plan

_CAME = {"results", "failure"}


class RowsFile:
    """The rows of one plan in a file that is only ever appended to.

    ``outcomes`` holds what the file had when it was opened and what was added since. A last line
    without an end, left by a process that was killed, is cut off; its cell is missing then.
    """

    def __init__(self, file: IO[bytes], outcomes: dict[str, Outcome]) -> None:
        self._file = file
        self.outcomes = outcomes

    def add(self, cell: Cell, outcome: Outcome) -> None:
        """Append one line and wait until it is on disk."""
        failed = outcome.results is None
        came = {"failure": outcome.failure} if failed else {"results": outcome.results}
        _write(self._file, {"key": cell.key, "cell": cell.to_dict(), **came})
        self.outcomes[cell.key] = outcome

    def missing(self, plan: Plan, *, retry: bool = False) -> list[Cell]:
        """Return the cells that have no row yet; ``retry`` counts those that failed among them."""
        known = {key for key, row in self.outcomes.items() if not retry or row.results is not None}
        return [cell for cell in plan.cells if cell.key not in known]

    def kept(self) -> int:
        """Count the cells in the file itself, where an interruption may have cut ``add`` short."""
        self._file.flush()
        self._file.seek(0)
        return len({json.loads(line)["key"] for line in self._file.read().splitlines()[1:]})


@contextmanager
def open_rows(path: Path, plan: Plan, *, fresh: bool = False) -> Iterator[RowsFile]:
    """Open the file of a plan, or begin one; ``fresh`` forgets what is in it.

    Rows of another plan or version are refused, as is a file that another process writes to.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "ab+") as file:
        _lock(file, path)
        if fresh:
            file.truncate(0)
        header = {"study": plan.study.name, "version": __version__}
        header |= {"plan": plan.digest, "mode": plan.mode}
        outcomes = _read(file, path, header)
        if outcomes is None:
            file.truncate(0)
            _write(file, header)
            outcomes = {}
        yield RowsFile(file, outcomes)


def _lock(file: IO[bytes], path: Path) -> None:
    """Keep others out until the file is closed, by whatever end."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise StudyError(f"study: {path} is in use by another run of this study") from error


def _read(file: IO[bytes], path: Path, header: dict[str, str]) -> dict[str, Outcome] | None:
    """Return the outcomes in a file, or None where not even a header was finished."""
    file.seek(0)
    content = file.read()
    whole = content.rfind(b"\n") + 1
    if whole == 0:
        return None
    file.truncate(whole)
    lines = content[:whole].splitlines()
    _check_header(_parsed(lines[0], path, 1), path, header)
    rows = [_parsed(line, path, number) for number, line in enumerate(lines[1:], start=2)]
    return {row["key"]: Outcome(row.get("results"), row.get("failure", "")) for row in rows}


def _parsed(line: bytes, path: Path, number: int) -> dict[str, Any]:
    """Return what is in a line: behind the header a key, and a result or a failure."""
    try:
        data = json.loads(line)
    except ValueError:
        data = None
    if isinstance(data, dict) and (number == 1 or ("key" in data and _CAME & data.keys())):
        return data
    raise StudyError(
        f"study: line {number} of {path} is damaged; delete the line to redo its cell, or start "
        "over with --fresh"
    )


def _check_header(found: Any, path: Path, wanted: dict[str, str]) -> None:
    """Refuse rows that do not belong to this plan, and name the first difference."""
    for name, value in wanted.items():
        if found.get(name) != value:
            raise StudyError(
                f"study: {path} holds rows of another {name}, {found.get(name)!r} and not "
                f"{value!r}; choose another folder with --out, or start over with --fresh"
            )


def _write(file: IO[bytes], data: Mapping[str, Any]) -> None:
    file.write(json.dumps(data, allow_nan=False).encode() + b"\n")
    file.flush()
    os.fsync(file.fileno())
