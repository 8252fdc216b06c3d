"""Every example runs, and does what it says."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import re
import runpy
from pathlib import Path

import pytest

import notebooks

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


FEWER = {"lost_answers": ["400"], "two_knobs": ["36"]}
"""What is given to an example that takes long without a compiler."""


@functools.cache
def run(example: Path) -> str:
    """Run an example as a script, with warnings as errors, and return what it prints."""
    out, err = io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        patch.setattr("sys.argv", [str(example), *FEWER.get(example.stem, [])])
        runpy.run_path(str(example), run_name="__main__")
    assert err.getvalue() == ""
    return out.getvalue()


SLOW = {"two_knobs"}
"""What takes long all the same."""


@pytest.mark.parametrize(
    "example",
    [pytest.param(each, marks=[pytest.mark.slow] * (each.stem in SLOW)) for each in EXAMPLES],
    ids=lambda path: path.stem,
)
def test_example_runs(example: Path) -> None:
    assert run(example).strip()


def test_adagrad_learns() -> None:
    text = run(Path(__file__).parent.parent / "examples" / "adagrad_base.py")
    first, last = (float(number) for number in re.findall(r"rounds +(\d\.\d+)", text))
    assert last < first / 3


@pytest.mark.compiled
@pytest.mark.needs_compiler
def test_the_notebook_of_the_paper_prints_what_it_shows() -> None:
    """``python tests/notebooks.py examples/paper.ipynb`` writes it anew."""
    notebook = json.loads((EXAMPLES[0].parent / "paper.ipynb").read_text(encoding="utf-8"))
    assert notebooks.texts(notebooks.run(notebook)) == notebooks.shown(notebook)
