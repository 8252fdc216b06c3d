"""The record of a full run: rows in Parquet, and what they show as Markdown with figures.

``python scripts/record_studies.py FROM TO`` takes the folder that ``belated study all`` filled and
writes ``NAME.parquet``, ``NAME.md`` and the figures of every study found there. The text follows
from the rows alone, so every number in it can be traced to them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from belated.errors import MissingExtra, StudyError
from belated.report import Page, Section, Table, chart_of
from belated.report.contents import Entry
from belated.report.page import file_name
from belated.report.plain import plain
from belated.research.study.catalogue import STUDIES, study_named
from belated.research.study.plan import Plan, Row, Study
from belated.research.study.rows import open_rows
from belated.research.study.runner import Files, Results, page_of


def record(source: Path, target: Path) -> list[Path]:
    """Write the record of every study that has rows in ``source``; return its texts."""
    written = []
    for name in STUDIES:
        if name == "logs":
            continue
        plan = Plan(study_named(name), quick=False)
        files = Files(source, plan)
        if files.rows.exists():
            with open_rows(files.rows, plan) as kept:
                results = Results.of(plan, kept)
            written.append(_write(results, target))
    if not written:
        raise StudyError(f"record: no rows of full studies in {source}; run belated study all")
    return written


def _write(results: Results, target: Path) -> Path:
    name = results.plan.study.name
    target.mkdir(parents=True, exist_ok=True)
    save_rows(target / f"{name}.parquet", results.rows)
    page = page_of(results)
    for path, section in _figures(name, page):
        if section.figure is not None:
            (target / path).parent.mkdir(exist_ok=True)
            chart_of(section.figure, titled=True).save(target / path)
    text = target / f"{name}.md"
    text.write_text(as_markdown(results.plan.study, results.rows), encoding="utf-8")
    return text


def save_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write rows as Parquet."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("pyarrow", extra="logs", where="the record of a study") from None
    names = dict.fromkeys(name for row in rows for name in row)  # not all rows have all columns
    table = pyarrow.table({name: [row.get(name) for row in rows] for name in names})
    parquet.write_table(table, path, compression="zstd", compression_level=19)


def load_rows(path: Path) -> list[Row]:
    """Read what ``save_rows`` wrote."""
    from pyarrow import parquet

    rows: list[Row] = parquet.read_table(path).to_pylist()
    return rows


def as_markdown(study: Study, rows: Sequence[Row]) -> str:
    """Return what the rows of a full run show."""
    plan = Plan(study, quick=False)
    page = page_of(Results(plan, tuple(rows), ()))
    lines = [
        f"# {page.title}",
        *([_numbers(page)] if page.numbers else []),
        page.lead,
        f"Made from the {len(rows):,} rows in [{study.name}.parquet]({study.name}.parquet), which "
        f"`{page.reproduce}` computes again.",
    ]
    for path, section in _figures(study.name, page):
        lines += [f"## {section.question}", section.says]
        if section.figure is not None:
            lines.append(f"![{section.figure.title}]({path})")
        if section.table is not None:
            lines.append(_table(section.table))
    return "\n\n".join(lines) + "\n"


def _numbers(page: Page) -> str:
    return "\n".join(f"* **{number}** {what}" for number, what in page.numbers)


def _figures(name: str, page: Page) -> Iterator[tuple[str, Section]]:
    """Pair every section with the place of its figure, whether it has one or not."""
    for number, section in enumerate(page.sections, start=1):
        title = section.figure.title if section.figure is not None else ""
        yield f"{name}/{number:02}-{file_name(title)}.png", section


def _table(table: Table) -> str:
    lines = [_line(table.columns), _line("---" for _ in table.columns)]
    lines += [_line(map(_cell, row)) for row in table.rows]
    return "\n".join(lines) + (f"\n\n{table.caption}" if table.caption else "")


def _cell(cell: Entry) -> str:
    if cell is None:
        return ""
    return cell if isinstance(cell, str) else plain(cell)


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    for written in record(Path(sys.argv[1]), Path(sys.argv[2])):
        print(written)
