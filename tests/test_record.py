"""The committed record of the studies says what its rows say."""

from __future__ import annotations

from pathlib import Path

import pytest

from belated.errors import StudyError
from belated.report.page import to_html
from belated.research.study.catalogue import STUDIES, study_named
from belated.research.study.plan import Plan, Row
from belated.research.study.runner import Results, page_of
from record_studies import as_markdown, load_rows, record, save_rows

RESULTS = Path(__file__).parents[1] / "docs" / "results"
RECORDED = [name for name in STUDIES if name != "logs"]


@pytest.mark.parametrize("name", RECORDED)
def test_every_sentence_follows_from_the_rows(name: str) -> None:
    rows = load_rows(RESULTS / f"{name}.parquet")
    assert (RESULTS / f"{name}.md").read_text(encoding="utf-8") == as_markdown(
        study_named(name), rows
    )


@pytest.mark.parametrize("name", RECORDED)
def test_the_record_is_whole(name: str) -> None:
    """One row per cell of the full plan, with the same parameters."""
    cells = [cell.to_dict() for cell in Plan(study_named(name), quick=False).cells]
    rows = load_rows(RESULTS / f"{name}.parquet")
    assert [{key: row[key] for key in cell} for cell, row in zip(cells, rows, strict=True)] == cells


@pytest.mark.parametrize("name", RECORDED)
def test_figures_are_there(name: str) -> None:
    text = (RESULTS / f"{name}.md").read_text(encoding="utf-8")
    shown = [line.partition("](")[2].rstrip(")") for line in text.splitlines() if line[:2] == "!["]
    assert shown
    assert all((RESULTS / path).stat().st_size for path in shown)


def test_rows_survive_parquet(tmp_path: Path) -> None:
    rows: list[Row] = [{"method": "Ours", "bound": None}, {"method": "OMD", "regret": -2.0}]
    save_rows(tmp_path / "x.parquet", rows)
    missing = {"bound": None, "regret": None}
    assert load_rows(tmp_path / "x.parquet") == [{**missing, **row} for row in rows]


def test_a_record_needs_rows(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="no rows of full studies"):
        record(tmp_path, tmp_path / "out")


@pytest.mark.pictures
@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDED)
def test_pages_take_at_most_one_megabyte(name: str) -> None:
    rows = tuple(load_rows(RESULTS / f"{name}.parquet"))
    page = page_of(Results(Plan(study_named(name), quick=False), rows, ()))
    assert len(to_html(page)) <= 1_000_000
