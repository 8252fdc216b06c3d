"""The code of the documentation runs as it stands, and prints what is shown."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from documents import LANGUAGES, PAGES, ROOT, blocks, run

LONG = {"replay"}
"""Pages that replay real logs, which takes a minute without a compiler."""
MARKS = [pytest.mark.compiled, pytest.mark.needs_compiler]


def cases() -> list[object]:
    """Return the pages that have code, with the marks of those that take long."""
    with_code = [page for page in PAGES if blocks(page)]
    return [
        pytest.param(page, id=page.name, marks=MARKS * (page.stem in LONG)) for page in with_code
    ]


@pytest.mark.parametrize("page", cases())
def test_code_runs_and_prints_what_is_shown(page: Path, tmp_path: Path) -> None:
    run(page, tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_have_a_language(page: Path) -> None:
    for block in blocks(page):
        assert block.language in LANGUAGES, f"{page.name}:{block.line}: what is {block.language!r}?"


def test_a_wrong_output_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    code = "x = 3\n\n\ndef f():\n    return x\n\n\nprint(f())  # {}\n"
    shown = f"```python\n{code}```\n\n```text\n{{}}\n```\n"
    for inline, below in (("3", "3"), ("...", "3")):
        page.write_text(shown.format(inline, below))
        run(page, tmp_path)
    for inline, below in (("4", "3"), ("3", "4")):
        page.write_text(shown.format(inline, below))
        with pytest.raises(AssertionError, match=r"page\.md:"):
            run(page, tmp_path)


def test_unknown_commands_are_refused_and_some_left_out(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```sh\nrm -rf /nowhere   # (network) never\nbelated study --list\n```\n")
    run(page, tmp_path)
    page.write_text("```sh\nmake love\n```\n")
    with pytest.raises(AssertionError, match="cannot run"):
        run(page, tmp_path)


def test_every_dependency_says_why_it_is_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    page = (ROOT / "docs" / "dependencies.md").read_text()
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    for requirement in {re.split(r"[\[<>=]", name)[0] for group in groups for name in group}:
        assert requirement == "belated" or f"| {requirement} |" in page, requirement
