"""Values between marks on pages are those of their sources, and some pages mark all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from documents import PAGES, ROOT
from quoted_values import disagreements, renewed, unmarked

COMPLETE = (
    "README.md",
    "docs/results.md",
    "docs/audit.md",
    "docs/conversions.md",
    "docs/core.md",
    "docs/decisions.md",
    "docs/evaluation.md",
    "docs/going-live.md",
    "docs/guide.md",
    "docs/intervals.md",
    "docs/knobs.md",
    "docs/linear.md",
    "docs/replay.md",
    "docs/rivals.md",
    "docs/river.md",
    "docs/service.md",
    "docs/speed.md",
    "docs/store.md",
)
"""Pages on which every decimal, percentage and multiple stands between marks."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_values_are_those_of_their_sources(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    if "<!--" in text:
        assert list(disagreements(text)) == []


@pytest.mark.parametrize("name", COMPLETE)
def test_every_measured_value_is_marked(name: str) -> None:
    assert unmarked((ROOT / name).read_text(encoding="utf-8")) == []


def test_a_wrong_value_is_found_and_renewed() -> None:
    page = "It has <!--= 2.0 / 3.0 -->0.7<!--/--> of it, <!--= short(1234.0) -->1<!--/--> in all."
    (found,) = disagreements(page)
    assert found == "line 1 shows '1'; short(1234.0) is '1,230'"
    assert list(disagreements(renewed(page))) == []
    assert "-->0.7<!--/-->" in renewed(page)
    assert "begins with a mark" in next(disagreements("<!--= 1 -->1<!--/--> thing"))


def test_values_without_marks_are_found() -> None:
    page = "Theorem 5.2 has 1.5, `0.5` and <!--= 81 -->81<!--/--> %, and 3 times 4."
    assert unmarked(page) == ["1.5", "3"]
    assert unmarked("<!--once 0.1.0-->Measured once with version 0.1.0: 1.5<!--/once-->") == []
    (found,) = disagreements("<!--once 0.1.0-->Measured once: 1.5<!--/once-->")
    assert found == "line 1 begins a part that does not say 'version 0.1.0'"
