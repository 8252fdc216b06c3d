"""Run a study: finish its rows, then write its page and figures."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from belated._version import __version__
from belated.engine import run_jobs
from belated.research.study.plan import Cell, Plan, Row
from belated.research.study.rows import RowsFile, open_rows

if TYPE_CHECKING:
    from belated.report import Page, Section


@dataclass(frozen=True)
class Results:
    """The state of a plan: its finished rows in plan order, and the cells that failed."""

    plan: Plan
    rows: tuple[Row, ...]
    failures: tuple[tuple[Cell, str], ...]

    @classmethod
    def of(cls, plan: Plan, rows: RowsFile) -> Results:
        """Sort the outcomes in a file by the order of the plan."""
        known = [(cell, rows.outcomes[cell.key]) for cell in plan.cells]
        return cls(
            plan,
            tuple({**cell.to_dict(), **row} for cell, (row, *_) in known if row is not None),
            tuple((cell, why) for cell, (row, why, _) in known if row is None),
        )


class Files:
    """Where a study keeps what it makes: rows as JSON lines, the page, and a folder of figures."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        stem = plan.study.name + ("-quick" if plan.quick else "")
        self.rows, self.page = folder / f"{stem}.jsonl", folder / f"{stem}.html"
        self.images = folder / f"{stem}-figures"


def finish_rows(
    plan: Plan, path: Path, *, fresh: bool = False, retry: bool = False, **engine: Any
) -> Results:
    """Run what is missing in the rows of a plan, and return all of them.

    ``engine`` are arguments of ``belated.engine.run_jobs``. Every row is on disk before the next
    one is waited for. When interrupted, it says how to go on.
    """
    with open_rows(path, plan, fresh=fresh) as rows:
        todo = rows.missing(plan, retry=retry)
        try:
            run_jobs(plan.study.plain_results, todo, rows.add, title=plan.study.name, **engine)
        except KeyboardInterrupt:
            print(
                f"study: {rows.kept()} of {len(plan.cells)} cells are kept in {path}; the same "
                "command goes on from there",
                file=sys.stderr,
            )
            raise
        return Results.of(plan, rows)


QUICK = (
    "This is the quick version, with shorter games and few seeds: it shows the point, and its "
    "numbers say less than those of the full one."
)


def page_of(results: Results) -> Page:
    """Return the page of a study."""
    from belated.report import Page

    plan = results.plan
    study = plan.study
    sections = study.sections(results.rows) if results.rows else ()
    return Page(
        title=study.title,
        lead="\n\n".join((study.question, *([QUICK] if plan.quick else []))),
        sections=(*sections, *_failures(results.failures)),
        reproduce=plan.command,
        facts=_facts(results),
        numbers=study.numbers(results.rows) if results.rows else (),
    )


def _failures(failures: Sequence[tuple[Cell, str]]) -> tuple[Section, ...]:
    """Return the section that lists cells without results, where there are any."""
    from belated.report import Section, Table

    if not failures:
        return ()
    named = [", ".join(f"{name}={value}" for name, value in c.parameters) for c, _ in failures]
    rows = tuple((name, why) for name, (_, why) in zip(named, failures, strict=True))
    says = f"{len(failures)} cells have no results and are left out above."
    return (Section("Which cells failed?", None, says, Table(("cell", "why"), rows)),)


def _facts(results: Results) -> dict[str, str]:
    plan = results.plan
    seeds = sorted({row["seed"] for row in results.rows if "seed" in row})
    return {
        "version": f"belated {__version__}",
        "plan": f"{plan.mode}, {plan.digest}",
        "cells": f"{len(results.rows)} finished, {len(results.failures)} failed",
        "seeds": ", ".join(map(str, seeds)) or "none",
    }


def write_results(results: Results, files: Files) -> list[Path]:
    """Write the page and the figures; return the paths, the page first."""
    from belated.report import save_images, write_page

    page = page_of(results)
    write_page(files.page, page)
    return [files.page, *save_images(files.images, page)]
