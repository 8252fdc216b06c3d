"""The page about rivals is the one that the classes give."""

from __future__ import annotations

from pathlib import Path

from belated.rivals import Rival
from belated.rivals.table import OURS, methods, page, table, undelayed
from conftest import Python

PAGE = Path(__file__).parent.parent / "docs" / "rivals.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "run: python -m belated.rivals.table > docs/rivals.md"


def test_the_module_prints_the_page(python: Python) -> None:
    assert python("-W", "error", "-m", "belated.rivals.table") == page()


def test_who_knows_nothing_about_delays() -> None:
    """As their docstrings say, and as the page and README.md count them."""
    ignorant = {method for method in methods() if "knows nothing of delays" in _words(method)}
    assert set(undelayed()) == ignorant
    assert (len(methods()), len(ignorant)) == (50, 6)
    readme = (PAGE.parent.parent / "README.md").read_text()
    assert "50 published methods" in readme
    assert "six of which know nothing about delays" in readme


def _words(method: type[Rival]) -> str:
    return " ".join((method.__doc__ or "").split())


def test_every_method_has_a_row() -> None:
    lines = table().splitlines()
    assert len(lines) == 2 + len(OURS) + len(methods())
    assert {line.count(" | ") for line in lines} == {7}
    for method in methods():
        assert sum(f"`{method.__name__}` | " in line for line in lines) == 1
