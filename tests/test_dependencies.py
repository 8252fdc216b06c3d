"""Every dependency has its reason."""

from __future__ import annotations

import tomllib

from packaging.requirements import Requirement

from documents import ROOT


def bounds() -> dict[str, Requirement]:
    """Return the requirements of the project by name."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = pyproject["project"]
    needed = pyproject["build-system"]["requires"], project["dependencies"]
    groups = [*needed, *project["optional-dependencies"].values()]
    return {found.name: found for group in groups for found in map(Requirement, group)}


def test_every_dependency_has_its_reason() -> None:
    rows = [line.split("|") for line in (ROOT / "docs/dependencies.md").read_text().splitlines()]
    explained = {name.strip() for row in rows if len(row) > 4 for name in row[1].split(",")}
    assert bounds().keys() - {"belated"} <= explained
