"""The page about rivals agrees with the classes."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path

import rivals_table
from rivals_table import PAGE, methods, renewed, table, undelayed


def test_the_table_is_up_to_date() -> None:
    page = PAGE.read_text()
    assert page == renewed(page), "run: python scripts/rivals_table.py"


def test_the_script_renews_the_table(tmp_path: Path) -> None:
    page = PAGE.read_text()
    copy = tmp_path / "docs" / "rivals.md"
    copy.parent.mkdir()
    copy.write_text(page.replace("1.5 G D sqrt(T) without delay", "a guess"))
    (tmp_path / "scripts").mkdir()
    script = shutil.copy(str(rivals_table.__file__), tmp_path / "scripts")
    runpy.run_path(str(script), run_name="__main__")
    assert copy.read_text() == page


def test_methods_that_know_nothing_about_delays() -> None:
    """The guarantees, this page and README.md agree on them."""
    assert (len(methods()), len(undelayed())) == (50, 6)
    page, readme = PAGE.read_text(), (PAGE.parent.parent / "README.md").read_text()
    assert "50 published methods" in page
    assert "44 of them were made for late answers. 6 know nothing" in page
    assert ", ".join(method.title for method in undelayed()) in page
    assert "50 published methods" in readme
    assert "six of which know nothing about delays" in readme


def test_the_page_has_every_paper() -> None:
    """By its authors and its year, in one entry."""
    entries = PAGE.read_text().partition("## References")[2].split("\n* ")
    for method in methods():
        authors, year = method.reference.removeprefix("after ").rsplit(" ", 1)
        assert any(authors in entry and year in entry for entry in entries), method.reference


def test_every_method_has_a_row() -> None:
    lines = table().splitlines()
    assert len(lines) == 2 + len(methods())
    assert {line.count(" | ") for line in lines} == {7}
    for method in methods():
        assert sum(f"`{method.__name__}` | " in line for line in lines) == 1
