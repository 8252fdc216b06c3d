"""The page about rivals agrees with the classes."""

from __future__ import annotations

import re
import runpy
import shutil
from pathlib import Path

import belated as bl
import rivals_table
from rivals_table import PAGE, methods, renewed, table, undelayed

_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven")


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
    count, unaware = len(methods()), len(undelayed())
    page, readme = PAGE.read_text(), (PAGE.parent.parent / "README.md").read_text()
    assert f"{count - unaware} of them were made for late answers. {unaware} know nothing" in page
    assert ", ".join(method.title for method in undelayed()) in page
    assert f"all but {_WORDS[unaware]} for late feedback" in (bl.rivals.__doc__ or "")
    assert f"{_WORDS[unaware]} of which know nothing about delays" in readme


def test_methods_are_counted_rightly() -> None:
    """Wherever a page or the package says how many there are, and how many are as published."""
    root, count = PAGE.parent.parent, len(methods())
    texts = [path.read_text() for path in (*root.glob("*.md"), *PAGE.parent.glob("*.md"))]
    said = re.findall(r"(\d+) (?:published )?methods", "\n".join([*texts, bl.rivals.__doc__ or ""]))
    assert len(said) >= 5
    assert set(said) == {str(count)}
    after = sum(method.reference.startswith("after ") for method in methods())
    page = PAGE.read_text()
    assert f"{count - after} are those of their papers" in page
    assert f'{after} are marked "after"' in page


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
