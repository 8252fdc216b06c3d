"""Logs as Parquet files: for people to look at, and to make the same model of again.

One row per event. The column ``event`` is what the log has, and all that ``load`` reads; the others
are there to be looked at. What else the model needs is in the metadata of the file.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby, islice, takewhile
from pathlib import Path
from typing import Any

from belated.errors import StoreError
from belated.files import StrPath
from belated.keys import Key
from belated.logs.files import is_parquet
from belated.logs.sources import arrow
from belated.store import events as of
from belated.store.database import Described, Era, Row, Saved, Source
from belated.store.kinds import KINDS
from belated.store.lines import Logged, LogLines, lines, make_line
from belated.store.tables import LARGEST

_ABOUT, _NOTE = b"belated.store", b"belated.note"
_VERSION = 3
_READABLE = (2, 3)  # 3 added what is erased
_TABLE = 20_000  # events that are written at once
_COLUMNS = {
    **dict.fromkeys(("number", "commit"), "int64"),
    "written": "float64",
    "verb": "string",
    "ticket": "int64",
    "key": "string",
    **dict.fromkeys(("at", "value"), "float64"),
    "action": "string",
    "probability": "float64",
    "features": "string",
    "event": "string",
}
_ENDINGS = ("", ".parquet", ".pq")


def _arrow(where: str) -> tuple[Any, Any]:
    found = arrow(where)
    import pyarrow.parquet

    return found, pyarrow.parquet


@contextmanager
def open_export(path: StrPath) -> Iterator[Path]:
    """Return where to write, which becomes a file of this name when all is written."""
    target = Path(path)
    if target.suffix.lower() not in _ENDINGS:  # which promise something else
        raise StoreError(
            f"export: the log is written as Parquet, and {target.name} ends in {target.suffix}; "
            f"give a name such as {target.with_suffix('.parquet').name}; polars and pandas turn "
            "that into CSV"
        )
    beside = target.with_name(f".{target.name}.part")
    try:
        yield beside
        beside.replace(target)
    except OSError as error:
        raise StoreError(f"export: {target}: {error}") from error
    finally:
        beside.unlink(missing_ok=True)


def export(
    database: Source, about: Described, path: Path, ticket: int, end: int, note: bytes
) -> int:
    """Write the log of a model from its first ``ticket`` on, up to the event before ``end``.

    Returns how many events it has. ``note`` is written into the file as it is.
    """
    pyarrow, parquet = _arrow("store.export")
    schema = pyarrow.schema(
        [(name, getattr(pyarrow, kind)()) for name, kind in _COLUMNS.items()],
        metadata={_ABOUT: _described(database, about, ticket), _NOTE: note},
    )
    count = 0
    kept = takewhile(lambda each: each[0].number < end, lines(database, about, ticket))
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        while table := [_cells(*each) for each in islice(kept, _TABLE)]:
            writer.write_table(pyarrow.Table.from_pylist(table, schema=schema))
            count += len(table)
    return count


def _cells(line: Logged, row: Row, event: of.Event) -> dict[str, Any]:
    features = None if line.features is None else json.dumps(line.features)
    shown = line._replace(key=_text_of(line.key), action=_text_of(line.action), features=features)
    return {**shown._asdict(), "commit": row.first, "event": of.encode_events(event)}


def _described(database: Source, about: Described, ticket: int) -> bytes:
    """Return what a log needs beside its events."""
    sealed = (each for each in database.snapshots(about.number) if each.length == about.base)
    return json.dumps(
        {
            "version": _VERSION,
            "kind": about.kind,
            "spec": _text(about.spec),
            "first": about.first,
            "erased": about.erased,
            "ticket": ticket,
            "rule": about.has_rule,
            "base": _text(of.unseal_snapshot(next(sealed))) if about.base > 0 else None,
            "eras": [[era.until, _text(era.spec)] for era in about.eras],
        }
    ).encode()


def _text_of(name: Key | None) -> str | None:
    """Return a key or an action as a column has it, where half of a surrogate pair is no text."""
    return None if name is None else str(name).encode("utf-8", "backslashreplace").decode()


def exported(path: StrPath) -> LogLines | None:
    """Return a log that ``export`` wrote; None: the file is something else."""
    if not is_parquet(path):
        return None
    _, parquet = _arrow("reading a log")
    try:
        about = json.loads((parquet.read_schema(path).metadata or {})[_ABOUT])
    except (KeyError, OSError, ValueError):
        return None
    with _reading(path):
        kind, spec = about["kind"], _blob(about["spec"])
        eras = [_blob(spec) for _, spec in about["eras"]]
        if kind not in KINDS or (about["base"] and not _blob(about["base"])):
            raise ValueError("another kind of model, or a base that is none")
    return LogLines(_read_lines(parquet, path), kind, spec, eras)


@contextmanager
def _reading(path: StrPath) -> Iterator[None]:
    """Say of a file that it is no log, whatever a hostile one makes of what reads it."""
    try:
        yield
    except FileNotFoundError:
        raise StoreError(f"load: there is no file {path}; nothing has changed") from None
    except Exception as error:
        raise StoreError(f"load: {path} is no log that a store has exported ({error})") from error


def _read_lines(parquet: Any, path: StrPath) -> Iterator[Logged]:
    with _reading(path):
        table = parquet.read_table(path, columns=["number", "written", "ticket", "event"])
        for number, written, ticket, text in zip(
            *(column.to_pylist() for column in table.columns), strict=True
        ):
            yield make_line(json.loads(text))._replace(
                number=number, written=written, ticket=ticket
            )


def read_note(path: StrPath) -> bytes:
    """Return the note that ``export`` has put into a file; empty where there is none."""
    _, parquet = _arrow("reading a log")
    with _reading(path):
        return bytes((parquet.read_schema(path).metadata or {}).get(_NOTE, b""))


class Loaded:
    """The log of a file as a database has it, to see where it leads before it is stored."""

    def __init__(self, path: StrPath, name: str) -> None:
        _, parquet = _arrow("store.load")
        with _reading(path):
            table = parquet.read_table(path, columns=["number", "commit", "written", "event"])
            about = json.loads(table.schema.metadata[_ABOUT])
            if about["version"] not in _READABLE or about["kind"] not in KINDS:
                raise ValueError("another version, or another kind of model")
            found = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
            first = _whole(about["first"], 0, LARGEST - len(found))
            end = first + len(found)
            erased = _whole(about.get("erased", 0), 0, end)
            if (about["base"] is None) != (max(first, erased) == 0):
                raise ValueError("a log that begins later needs a snapshot to begin with")
            spec, eras = _blob(about["spec"]), _eras(about["eras"], end)
            self.about = Described(0, name, about["kind"], spec, first, eras, bool(about["rule"]))
            if erased:
                self.about.tickets = _whole(about["ticket"], 0, LARGEST)
                self.about.erased = erased
            self.log = list(_rows(found, first))
            self.base = [Saved(0, self.about.base, _blob(about["base"]))] if about["base"] else []

    def rows(self, model: int, first: int) -> Iterator[Row]:
        return (row for row in self.log if row.first + row.size > first)

    def snapshots(self, model: int) -> Iterator[Saved]:
        return (saved._replace(blob=of.seal_snapshot(0, saved)) for saved in self.base)


def _rows(found: list[tuple[int, int, float, str]], first: int) -> Iterator[Row]:
    expected = first
    for commit, some in groupby(found, key=lambda line: line[1]):
        group = list(some)
        if [line[0] for line in group] != list(range(expected, expected + len(group))):
            raise ValueError(f"events from {expected} on are not in order, or missing")
        _whole(commit, 0, expected)
        written = float(group[0][2])
        if not math.isfinite(written):
            raise ValueError(f"event {expected} was written at {written}")
        yield of.seal_row(
            0, expected, written, ",".join(_event(line[3]) for line in group), len(group)
        )
        expected += len(group)


def _event(text: str) -> str:
    event = json.loads(text)
    if not isinstance(event, list) or not event:
        raise ValueError("what is no event")
    if event[0] not in of.NAMES:
        raise ValueError(f"{event[0]!r} is no event")
    return of.encode_events(event)


def _eras(given: Any, end: int) -> tuple[Era, ...]:
    eras, before = [], 0
    for until, spec in given:
        before = _whole(until, before + 1, end)
        eras.append(Era(before, _blob(spec)))
    return tuple(eras)


def _whole(number: Any, low: int, high: int) -> int:
    if type(number) is not int or not low <= number <= high:
        raise ValueError(f"{number!r} is no whole number from {low} to {high}")
    return number


def _text(blob: bytes) -> str:
    return base64.b64encode(blob).decode()


def _blob(text: str) -> bytes:
    return base64.b64decode(text)
