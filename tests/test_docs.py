"""The Python blocks of the documentation run, and links between pages lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import belated as bl

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def given(rounds: int = 50) -> dict[str, Any]:
    """What the pages take for granted: a log, its gradients, and what earlier pages built."""
    rng = np.random.default_rng(0)
    predicted_at = np.arange(rounds, dtype=float)
    spec = bl.Problem(bl.Ball(10), lipschitz=1.0).learner("gradient", skip=True)
    return {
        "bl": bl,
        "predicted_at": predicted_at,
        "observed_at": predicted_at + rng.exponential(5.0, rounds),
        "gradients": rng.normal(size=(rounds, 10)) / 10.0,
        "spec": spec,
        "learner": bl.Learner(spec),
    }


def blocks(page: Path) -> str:
    """All Python blocks of a page, one after the other."""
    return "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))


LONG = [pytest.mark.compiled, pytest.mark.needs_compiler]


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=LONG * (page.stem in ("README", "games", "replay")))
        for page in PAGES
    ],
)
def test_python_blocks_run(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = blocks(page)
    exec(compile(code, str(page), "exec"), given())
    assert "print(" not in code or capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert target.startswith("https://") or (page.parent / target).exists(), target


def test_every_dependency_says_why_it_is_there() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    page = (ROOT / "docs" / "dependencies.md").read_text()
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    for requirement in {re.split(r"[\[<>=]", name)[0] for group in groups for name in group}:
        assert requirement == "belated" or f"| {requirement} |" in page, requirement
