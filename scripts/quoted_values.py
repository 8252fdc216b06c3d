"""Values that pages quote, each between marks that say where it comes from.

A page has ``<!--= EXPRESSION -->0.0257<!--/-->``: the text between the marks is the value of the
expression. A number is shown rounded to as many decimals as the page has; a text is shown as it is.
``python scripts/quoted_values.py PAGE ...`` writes the current values into pages, and the functions
of ``Sources`` are what expressions are made of.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
import textwrap
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from statistics import fmean
from typing import Any

from belated.research.study.catalogue import STUDIES, study_named
from belated.research.study.plan import Row
from belated.research.study.record import load_rows
from belated.research.study.tables import (
    by,
    exponent,
    geometric_mean,
    growth,
    mean,
    means,
    percent,
    short,
    where,
)
from rivals_table import methods, undelayed

ROOT = Path(__file__).parents[1]
MARK = re.compile(r"<!--=(?P<expression>.*?)-->(?P<shown>.*?)<!--/-->", re.DOTALL)
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_ONCE = re.compile(r"<!--once (?P<version>\d\S*)-->(?P<text>.*?)<!--/once-->", re.DOTALL)
_REFERENCE = (
    r"(?:Apache-|arXiv|Corollar(?:y|ies)|Cython|Definition|Theorem|Lemma|Figure|Fact|Python|section|\^"
    r"|\]\([^)\s]*)[ (]?"
)
_SHARE = re.compile(r"\b[01]\.\d{3,4}\b")
_MEASURED = re.compile(
    rf"(?P<reference>{_REFERENCE})?"
    r"(?P<number>\d[\d,]*\.\d+|\d[\d,]*(?= %| times\b))(?!\d| G D| d_max)"
)


def _marks(text: str, kind: re.Pattern[str] = MARK) -> Iterator[re.Match[str]]:
    """Yield the marks outside of code."""
    blank = _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    return (mark for mark in kind.finditer(text) if blank[mark.start()] != " ")


def renewed(text: str) -> str:
    """Return a page with the current values between its marks."""
    for mark in reversed([*_marks(text)]):
        value = value_of(mark["expression"])
        if not _agrees(value, mark["shown"]):
            known = isinstance(value, str)
            shown = value if known else _written(value, _decimals(mark["shown"]))
            text = text[: mark.start("shown")] + shown + text[mark.end("shown") :]
    return text


def disagreements(text: str) -> Iterator[str]:
    """Yield a sentence for every mark whose text is not the value of its expression."""
    for mark in _marks(text):
        value = value_of(mark["expression"])
        if not _agrees(value, mark["shown"]):
            line = text.count("\n", 0, mark.start()) + 1
            yield f"line {line} shows {mark['shown']!r}; {mark['expression'].strip()} is {value!r}"
        at_start = not text[: mark.start()].rpartition("\n")[2].strip()
        if at_start and "\n" not in mark["shown"]:
            line = text.count("\n", 0, mark.start()) + 1
            yield f"line {line} begins with a mark, so that it is shown as HTML; put a word first"
    for once in _marks(text, _ONCE):
        if f"version {once['version']}" not in once["text"]:
            line = text.count("\n", 0, once.start()) + 1
            yield f"line {line} begins a part that does not say 'version {once['version']}'"


def unmarked(text: str) -> list[str]:
    """Return the decimals, percentages and multiples that stand outside of marks and code."""
    text = _CODE.sub("", MARK.sub("", _ONCE.sub("", text)))
    return [found["number"] for found in _MEASURED.finditer(text) if not found["reference"]]


def value_of(expression: str) -> Any:
    """Return the value of an expression of a mark."""
    return eval(" ".join(expression.split()), dict(_NAMES))


def _agrees(value: Any, shown: str) -> bool:
    if isinstance(value, str):
        return value == shown
    return _written(value, _decimals(shown)) == shown


def _written(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}"


def _decimals(shown: str) -> int:
    return len(shown.partition(".")[2])


# ---- what expressions are made of ----------------------------------------------------------------


@cache
def _benchmarks() -> dict[str, dict[str, Any]]:
    data = json.loads((ROOT / "benchmarks" / "results.json").read_text())
    return {each["name"]: each for each in data["results"]}


def bench(name: str, field: str = "ours") -> Any:
    """Return a field of a result in ``benchmarks/results.json``: ``ours``, ``floor``, ``ratio``."""
    return _benchmarks()[name][field]


def benches(pattern: str, field: str = "ratio") -> list[Any]:
    """Return a field of all results whose whole name matches a regular expression."""
    found = [each[field] for name, each in _benchmarks().items() if re.fullmatch(pattern, name)]
    assert found, f"no result is named {pattern!r}"
    return found


def shares(pattern: str) -> list[float]:
    """Return the shares in the notes of the results with such names."""
    return [float(each) for note in benches(pattern, "note") for each in _SHARE.findall(note)]


def noted(name: str, label: str) -> float:
    """Return the number behind ``label:`` in the note of a result."""
    found = re.search(rf"(?:^|; ){re.escape(label)}: ([\d.,]+)", bench(name, "note"))
    assert found, f"the note of {name!r} has no {label!r}"
    return float(found[1].rstrip(".").replace(",", ""))


@cache
def rows(study: str) -> list[Row]:
    """Return the rows of a recorded study."""
    return load_rows(ROOT / "docs" / "results" / f"{study}.parquet")[0]


def average(study: str, column: str = "regret", **wanted: Any) -> float:
    """Return the mean of a column over the rows with these values."""
    found = mean(where(rows(study), **wanted), column)
    assert found is not None, f"{study} has no rows with {wanted}"
    return found


@cache
def _headlines(study: str) -> list[tuple[str, str]]:
    return list(study_named(study).numbers(rows(study)))


def headline(study: str, number: int) -> str:
    """Return the text of the first, second or third number of a study."""
    return _headlines(study)[number - 1][0]


def headlines(study: str) -> str:
    """Return the numbers of a study as a list."""
    lines = [f"* **{number}** {what}" for number, what in _headlines(study)]
    return _block("\n".join(lines))


def says(study: str, question: str) -> str:
    """Return what a study says in the section with this question."""
    sections = {each.question: each.says for each in study_named(study).sections(rows(study))}
    return _block(textwrap.fill(sections[question], 140, break_on_hyphens=False))


def _block(text: str) -> str:
    """Return paragraphs as they stand between marks on lines of their own."""
    return f"\n\n{text}\n\n"


def asserted(test: str, value: float) -> float:
    """Return a value that the code of a test contains, as in ``test_core.test_size``."""
    module, _, name = test.rpartition(".")
    sys.path.append(str(ROOT / "tests"))
    code = inspect.getsource(getattr(import_module(module), name))
    found = re.findall(r"(?<![\w.])\d[\d_]*(?:\.\d+)?", code)
    assert value in {float(each.replace("_", "")) for each in found}, f"{test} has no {value}"
    return value


_NAMES = {
    each.__name__: each
    for each in (
        *(
            bench,
            benches,
            noted,
            shares,
            fmean,
            rows,
            average,
            headline,
            headlines,
            says,
            asserted,
            methods,
            undelayed,
        ),
        *(by, exponent, geometric_mean, growth, mean, means, percent, short, where),
    )
} | {"STUDIES": STUDIES}


if __name__ == "__main__":
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(renewed(page.read_text(encoding="utf-8")), encoding="utf-8")
