"""Upper bounds of the dependencies whose internals are used."""

from __future__ import annotations

import tomllib
from importlib.metadata import version

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from documents import ROOT

TESTED = {
    "uvicorn": ("0.30", "0.54"),
    "httptools": ("0.6", "0.9"),
}
"""The first and the last minor version of each whose internals the code is written for."""


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


@pytest.mark.parametrize("name", TESTED)
def test_bounds_allow_the_tested_versions_and_exclude_the_next_minor(name: str) -> None:
    allowed = bounds()[name].specifier
    assert version(name) in allowed
    assert all(each in allowed for each in TESTED[name])
    major, minor = Version(TESTED[name][-1]).release
    assert f"{major}.{minor}.99" in allowed
    assert f"{major}.{minor + 1}" not in allowed
    assert f"{major}.{minor + 1}.0rc1" not in allowed


def test_the_bound_of_uvicorn_is_that_of_the_connections() -> None:
    pytest.importorskip("uvicorn", reason="uvicorn is not installed")
    from belated.service.run import KNOWN

    assert TESTED["uvicorn"] == KNOWN
