"""The page about rivals is the one that the classes give."""

from __future__ import annotations

from pathlib import Path

from belated.rivals.table import OURS, methods, page, table
from conftest import Python

PAGE = Path(__file__).parent.parent / "docs" / "rivals.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "run: python -m belated.rivals.table > docs/rivals.md"


def test_the_module_prints_the_page(python: Python) -> None:
    assert python("-W", "error", "-m", "belated.rivals.table") == page()


def test_every_method_has_a_row() -> None:
    lines = table().splitlines()
    assert len(lines) == 2 + len(OURS) + len(methods())
    assert {line.count(" | ") for line in lines} == {7}
    for method in methods():
        assert sum(f"`{method.__name__}` | " in line for line in lines) == 1
