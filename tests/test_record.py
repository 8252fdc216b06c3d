"""The committed record of the studies says what its rows say."""

from __future__ import annotations

from pathlib import Path

import pytest

from belated.errors import StudyError
from belated.report.page import to_html
from belated.research.study.catalogue import STUDIES, study_named
from belated.research.study.plan import Plan, Row
from belated.research.study.record import check_rows, load_rows, save_rows, sources_of
from belated.research.study.runner import Results, page_of
from record_studies import as_markdown, record, renew

RESULTS = Path(__file__).parents[1] / "docs" / "results"
RECORDED = [name for name in STUDIES if name != "logs"]


@pytest.mark.parametrize("name", RECORDED)
def test_every_sentence_follows_from_the_rows(name: str) -> None:
    rows = load_rows(RESULTS / f"{name}.parquet")[0]
    assert (RESULTS / f"{name}.md").read_text(encoding="utf-8") == as_markdown(
        study_named(name), rows
    )


@pytest.mark.parametrize("name", RECORDED)
def test_the_record_is_whole(name: str) -> None:
    """One row per cell of the full plan, with the same parameters."""
    cells = [cell.to_dict() for cell in Plan(study_named(name), quick=False).cells]
    rows = load_rows(RESULTS / f"{name}.parquet")[0]
    assert [{key: row[key] for key in cell} for cell, row in zip(cells, rows, strict=True)] == cells


@pytest.mark.parametrize("name", RECORDED)
def test_figures_are_there(name: str) -> None:
    text = (RESULTS / f"{name}.md").read_text(encoding="utf-8")
    shown = [line.partition("](")[2].rstrip(")") for line in text.splitlines() if line[:2] == "!["]
    assert shown
    assert all((RESULTS / path).stat().st_size for path in shown)


def test_rows_survive_parquet(tmp_path: Path) -> None:
    rows: list[Row] = [{"method": "Ours", "bound": None}, {"method": "OMD", "regret": -2.0}]
    save_rows(tmp_path / "x.parquet", rows, {"rates": "01234567"})
    missing = {"bound": None, "regret": None}
    wanted = [{**missing, **row} for row in rows]
    assert load_rows(tmp_path / "x.parquet") == (wanted, {"rates": "01234567"})


@pytest.mark.compiled
@pytest.mark.needs_compiler
@pytest.mark.parametrize("name", RECORDED)
def test_a_sample_of_every_record_comes_out_again(name: str) -> None:
    """Other sources lead to another sample, so over time all rows are computed again."""
    rows, sources = load_rows(RESULTS / f"{name}.parquet")
    assert sources
    study = study_named(name)
    found = check_rows(study, Plan(study, False).cells, rows, sources, 6, longest=100_000)
    assert found.checked == 6
    assert not found.differences, f"{name}: {found}; record it anew"


def test_a_row_that_does_not_come_out_is_found() -> None:
    study = study_named("delay-law")
    plan = Plan(study, False)
    rows, _ = load_rows(RESULTS / "delay-law.parquet")
    now = sources_of(study)
    assert {"research/study/delay_law", "core/tickets", "rates"} <= now.keys()
    assert not any(name.startswith("report") for name in now)
    wrong = [{**row, "regret": row["regret"] + 1.0} for row in rows]
    found = check_rows(study, plan.cells, wrong, {**now, "rates": "0"}, 1)
    assert found.changed == ["rates"]
    assert [said.split()[0] for said in found.differences.values()] == ["regret"]
    assert "1 of 704 rows computed again, 1 differ; sources changed since: rates" in str(found)


def test_a_record_needs_rows(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="no rows of full studies"):
        record(tmp_path, tmp_path / "out")


@pytest.mark.compiled
@pytest.mark.needs_compiler
def test_a_record_is_brought_up_to_date(tmp_path: Path) -> None:
    """Rows of other cells are dropped, missing ones and those that are named are run."""
    rows, sources = load_rows(RESULTS / "drift.parquet")
    stray = {**rows[0], "base": "no base"}
    seeds = [{**row, "regret": 0.0} if row["seed"] == 3 else row for row in rows[:-1]]
    save_rows(tmp_path / "drift.parquet", [stray, *seeds], sources)
    renew("drift", tmp_path, [("seed", "3")])
    found, _ = load_rows(tmp_path / "drift.parquet")
    cells = [cell.to_dict() for cell in Plan(study_named("drift"), False).cells]
    assert [{key: row[key] for key in cells[0]} for row in found] == cells
    assert [row["regret"] for row in found] == pytest.approx([row["regret"] for row in rows])
    wrong = [{**row, "regret": 0.0} for row in rows]
    save_rows(tmp_path / "drift.parquet", wrong, sources)
    with pytest.raises(StudyError, match="has changed beyond --again"):
        renew("drift", tmp_path)


@pytest.mark.pictures
@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDED)
def test_pages_take_at_most_one_megabyte(name: str) -> None:
    rows = tuple(load_rows(RESULTS / f"{name}.parquet")[0])
    page = page_of(Results(Plan(study_named(name), quick=False), rows, ()))
    assert len(to_html(page)) <= 1_000_000
