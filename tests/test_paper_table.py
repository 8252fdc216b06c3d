"""The table of the paper's items names code that exists and tests that exist, and is complete."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import belated
from conftest import TESTS
from documents import ROOT

COUNTS = {
    "Table": ["1"],
    "Figure": [*"123456"],
    "Algorithm": [*"1234"],
    "Assumption": ["2.1", "2.2", "2.3", "2.4", "2.5"],
    "Definition": ["2.7", "3.1", "3.5"],
    "Remark": ["2.6", "3.3", "5.1"],
    "Fact": ["B.1", "B.2", "B.3", "B.4", "C.1", "C.2", "C.3", "C.4"],
    "Lemma": ["3.2", "3.6", "4.2", "D.2", "D.3", "D.5", "D.6", "E.4", "G.1", "G.6"],
    "Theorem": [
        *("3.4", "4.1", "5.2", "5.5", "5.6", "6.1", "D.1", "D.4", "E.1", "E.2", "E.3"),
        *("G.2", "G.5"),
    ],
    "Corollary": ["5.3", "5.4", "5.7", "5.8", "6.2", "G.3", "G.4"],
}
"""The numbered items of the paper by kind, as it numbers them."""


class Item(NamedTuple):
    """A line of the table."""

    name: str
    says: str
    code: str
    test: str
    status: str


def items() -> list[Item]:
    """Return the lines of the table."""
    lines = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8").splitlines()
    start = lines.index("|---|---|---|---|---|") + 1
    end = lines.index("", start)
    return [Item(*(cell.strip() for cell in line.split("|")[1:-1])) for line in lines[start:end]]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_the_table_has_every_item_once() -> None:
    wanted = [f"{kind} {number}" for kind, numbers in COUNTS.items() for number in numbers]
    assert sorted(item.name for item in items()) == sorted(wanted)


@pytest.mark.parametrize("item", items(), ids=lambda item: item.name)
def test_an_item_has_the_code_and_the_tests_that_it_names(item: Item) -> None:
    kind = re.split(r"[:,]", item.status)[0]
    assert kind in {"number", "built", "checked", "inside", "measured", "cited"}
    assert bool(quoted(item.code)) == bool(quoted(item.test)) == (kind != "cited")
    for name in quoted(item.code):
        assert found(name) is not None
        if kind == "number":
            assert name.startswith(("bounds.", "Timeline."))
    for name in quoted(item.test):
        module, _, function = name.partition(".")
        assert function in functions_of(TESTS / f"{module}.py")


def found(name: str) -> Any:
    """Return what a name below ``belated`` stands for; fields of dataclasses count as well."""
    place: Any = belated
    for part in name.split("."):
        if part in getattr(place, "__annotations__", {}):
            return part
        place = _attribute(place, part)
    return place


def _attribute(place: Any, part: str) -> Any:
    try:
        return getattr(place, part)
    except AttributeError:
        return import_module(f"{place.__name__}.{part}")


@cache
def functions_of(path: Path) -> set[str]:
    return set(_functions(path))


def _functions(path: Path) -> Iterator[str]:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            yield node.name


def test_every_bound_of_the_paper_is_in_the_table() -> None:
    """What ``belated.bounds`` names after the paper, the table has."""
    named = re.compile(r"(theorem|lemma|corollary)_([0-9a-g])_(\d)$")
    functions = {name for name in belated.bounds.__all__ if named.match(name)}
    assert functions <= {
        part for item in items() for part in re.findall(r"bounds\.(\w+)", item.code)
    }
