"""Recorded studies: rows in Parquet, digests of their sources, and whether they still come out."""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from belated.errors import MissingExtra
from belated.research.study.plan import Cell, Row, Study, digest

_ROOT = Path(__file__).parents[2]
_SHOWING = ("report", "research/study/sections", "research/study/tables", "research/study/contest")
"""Modules that only show results; their digests are not kept."""
_CLOSE, _GAP = 1e-5, 1e-4
"""Numbers that differ by less than this part, or by less than this, are the same: processors round
differently, and the best action in hindsight is found up to a gap."""

Sources = Mapping[str, str]
"""Digests of source files by their place in the package."""


def sources_of(study: Study) -> Sources:
    """Return the digests of the module of a study and of all that it imports from belated."""
    found: dict[str, str] = {}
    todo = [Path(sys.modules[type(study).__module__].__file__ or "")]
    while todo:
        path = todo.pop()
        place = path.relative_to(_ROOT) if path.is_relative_to(_ROOT) else Path(path.name)
        name = place.with_suffix("").as_posix()
        if name not in found and not name.startswith(_SHOWING):
            pair = [path, path.with_suffix(".pxd")]
            content = b"".join(each.read_bytes() for each in pair if each.exists())
            found[name] = hashlib.sha256(content).hexdigest()[:8]
            todo += _imports(path)
    return dict(sorted(found.items()))


@cache
def _imports(path: Path) -> tuple[Path, ...]:
    """Return the files of belated that a module imports, not only for types."""
    found: list[Path] = []
    for module, names in _IMPORT.findall(path.read_text(encoding="utf-8")):
        parts = module.split(".")[1:]
        inside = [[*parts, name] for name in re.findall(r"\w+", names)]
        for place in (_ROOT.joinpath(*each) for each in (parts, *inside) if each):
            files = (place.with_suffix(".py"), place / "__init__.py")
            found += [file for file in files if file.is_file()]
    return tuple(found)


_IMPORT = re.compile(r"^from (belated[\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)


def save_rows(path: Path, rows: Sequence[Row], sources: Sources) -> None:
    """Write rows as Parquet, with the digests of the sources that they come from."""
    pyarrow, parquet = _arrow()
    names = dict.fromkeys(name for row in rows for name in row)  # not all rows have all columns
    table = pyarrow.table({name: [row.get(name) for row in rows] for name in names})
    table = table.replace_schema_metadata({"sources": json.dumps(sources)})
    parquet.write_table(table, path, compression="zstd", compression_level=19)


def load_rows(path: Path) -> tuple[list[Row], Sources]:
    """Read what ``save_rows`` wrote."""
    table = _arrow()[1].read_table(path)
    kept = (table.schema.metadata or {}).get(b"sources", b"{}")
    return table.to_pylist(), json.loads(kept)


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("pyarrow", extra="logs", where="the record of a study") from None
    return pyarrow, parquet


class Check(NamedTuple):
    """The result of computing a sample of the rows of a study again."""

    rows: int
    checked: int
    differences: dict[Cell, str]
    """The differences from the record, by cell."""
    changed: list[str]
    """Sources that are not as they were when the rows were recorded, where that is known."""

    def __str__(self) -> str:
        """Return a sentence, and the differences."""
        head = (
            f"{self.checked} of {self.rows:,} rows computed again, {len(self.differences)} differ"
        )
        changed = f"; sources changed since: {', '.join(self.changed)}" if self.changed else ""
        lines = [f"  {cell.to_dict()}: {said}" for cell, said in self.differences.items()]
        return "\n".join([head + changed, *lines])


def check_rows(
    study: Study,
    cells: Sequence[Cell],
    rows: Sequence[Row],
    sources: Sources,
    count: int,
    *,
    longest: int | None = None,
) -> Check:
    """Compute some of the recorded rows of these cells again; other sources, another sample.

    ``longest`` leaves out cells with more rounds.
    """
    now = sources_of(study)
    known = {**now, **sources} if sources else {}
    changed = sorted(name for name in known if now.get(name) != sources.get(name))
    able = [
        (digest([cell.key, now]), cell, row)
        for cell, row in zip(cells, rows, strict=True)
        if longest is None or cell["rounds"] <= longest
    ]
    sample = sorted(able, key=lambda each: each[0])[:count]
    said = {cell: _differences(row, study.plain_results(cell)) for _, cell, row in sample}
    differences = {cell: text for cell, text in said.items() if text}
    return Check(len(rows), len(sample), differences, changed)


def _differences(row: Row, results: Row) -> str:
    """Name the columns with values that do not come out as they were recorded."""
    found = []
    for name, value in results.items():
        kept = row.get(name)
        same = value == kept
        if isinstance(value, int | float) and isinstance(kept, int | float):
            same = math.isclose(value, kept, rel_tol=_CLOSE, abs_tol=_GAP)
        if not same:
            found.append(f"{name} is {value!r}, recorded {kept!r}")
    return ", ".join(found)
