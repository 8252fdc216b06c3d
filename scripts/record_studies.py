"""The record of a full run: rows in Parquet, and what they show as Markdown with figures.

``python scripts/record_studies.py FROM TO`` takes the folder that ``belated study all`` filled and
writes ``NAME.parquet``, ``NAME.md`` and the figures of every study found there. The text follows
from the rows alone, so every number in it can be traced to them.

``python scripts/record_studies.py TO --renew NAME ... --again COLUMN=VALUE ...`` brings the record
of a study up to date with its plan: cells that are no longer in it are dropped, new ones are run,
and so are those with such a value. Others keep their rows, of which a sample must come out again.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from belated.engine import Outcome, run_jobs
from belated.errors import StudyError
from belated.report import Page, Section, Table, chart_of
from belated.report.contents import Entry
from belated.report.page import file_name
from belated.report.plain import plain
from belated.research.study.catalogue import STUDIES, study_named
from belated.research.study.plan import Cell, Plan, Row, Study
from belated.research.study.record import check_rows, load_rows, save_rows, sources_of
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


def renew(name: str, target: Path, again: Sequence[tuple[str, str]] = ()) -> Path:
    """Bring a record up to date with the plan of its study; return its text."""
    plan = Plan(study_named(name), quick=False)
    rows, sources = load_rows(target / f"{name}.parquet")
    rows = [row for row in rows if not any(str(row.get(key)) == value for key, value in again)]
    tables: dict[tuple[str, ...], dict[tuple[Any, ...], Row]] = {}
    kept: dict[str, Row] = {}
    for cell in plan.cells:
        names, values = zip(*cell.parameters, strict=True)
        if names not in tables:
            tables[names] = {tuple(row.get(each) for each in names): row for row in rows}
        if values in tables[names]:
            kept[cell.key] = tables[names][values]
    whole = [cell for cell in plan.cells if cell.key in kept]
    found = check_rows(plan.study, whole, [kept[cell.key] for cell in whole], sources, 30)
    if found.differences:
        raise StudyError(f"record: {name} has changed beyond --again: {found}")

    def take(cell: Cell, outcome: Outcome) -> None:
        if outcome.results is None:
            raise StudyError(f"record: {name} failed at {cell.to_dict()}: {outcome.failure}")
        kept[cell.key] = {**cell.to_dict(), **outcome.results}

    missing = [cell for cell in plan.cells if cell.key not in kept]
    run_jobs(plan.study.plain_results, missing, take, title=name)
    return _write(Results(plan, tuple(kept[cell.key] for cell in plan.cells), ()), target)


def _write(results: Results, target: Path) -> Path:
    name = results.plan.study.name
    target.mkdir(parents=True, exist_ok=True)
    save_rows(target / f"{name}.parquet", results.rows, sources_of(results.plan.study))
    page = page_of(results)
    shutil.rmtree(target / name, ignore_errors=True)  # figures of an earlier record
    for path, section in _figures(name, page):
        if section.figure is not None:
            (target / path).parent.mkdir(exist_ok=True)
            chart_of(section.figure, titled=True).save(target / path)
    text = target / f"{name}.md"
    text.write_text(as_markdown(results.plan.study, results.rows), encoding="utf-8")
    return text


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


def main() -> None:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--renew", nargs="+", metavar="NAME", default=[])
    parser.add_argument("--again", nargs="+", metavar="COLUMN=VALUE", default=[])
    given = parser.parse_args()
    *source, target = given.folders
    again = [(key, value) for key, _, value in (each.partition("=") for each in given.again)]
    for name in given.renew:
        print(renew(name, target, again))
    for folder in source:
        print(*record(folder, target), sep="\n")


if __name__ == "__main__":
    main()
