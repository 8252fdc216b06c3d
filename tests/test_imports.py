"""Importing belated is light, and what it promises is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import belated
from conftest import Python

HEAVY = ["numpy", "vl_convert", "pandas", "polars", "scipy", "asyncio"]
LIGHT = [
    "belated",
    "belated.errors",
    "belated.spec",
    "belated.domains",
    "belated.rates",
    "belated.smoothing",
    "belated.bases",
    "belated.reductions",
    "belated.report",
]


def loaded_by(python: Python, source: str) -> set[str]:
    """Return the packages that a fresh process has loaded after some source."""
    text = python("-c", f"{source}\nimport sys, json; print(json.dumps(sorted(sys.modules)))")
    return {name.partition(".")[0] for name in json.loads(text)}


@pytest.mark.parametrize("module", LIGHT)
def test_specs_import_nothing_heavy(module: str, python: Python) -> None:
    assert loaded_by(python, f"import {module}") & set(HEAVY) == set()


def test_specs_are_built_and_written_without_numpy(python: Python) -> None:
    names = "Ball, Box, Simplex, L1Ball, PFTRL, OMD, FirstOrder, OnePoint, TwoPoint, Skip"
    source = f"""
from belated import {names}, FullInformation, rates, smoothing, from_json
specs = [
    Skip(FirstOrder(PFTRL(Ball(3, 2.0, [0, 1, 2]), rates.Tight(1.0)))),
    OnePoint(OMD(Box([0, 1], [2, 3]), rates.Constant(0.1)), 1.0, smoothing.Convex(1.0)),
    TwoPoint(PFTRL(L1Ball(3), rates.Table([0.5, 0.2]))),
    FullInformation(OMD(Simplex(3, 0.1), rates.DelayAdaptive(1.0), "entropy")),
]
assert [from_json(spec.to_json()) for spec in specs] == specs
assert repr(specs[0]) and specs[0].learner.base.domain.diameter == 4.0
"""
    assert loaded_by(python, source) & set(HEAVY) == set()


def test_numpy_alone_is_loaded_with_a_name(python: Python) -> None:
    timeline = loaded_by(python, "import belated; belated.Timeline")
    assert "numpy" in timeline
    assert timeline.isdisjoint({"vl_convert", "pandas", "polars", "scipy"})


def test_the_analysis_of_logs_loads_no_store(python: Python) -> None:
    packages = "belated.audits, belated.evaluations, belated.replays"
    source = f"import {packages}, sys; print('belated.store' in sys.modules)"
    assert python("-c", source).strip() == "False"


TIMES = "--predicted asked --observed heard --unit s"


@pytest.mark.parametrize(
    ("command", "most"),
    [
        ("study --list", 30),
        (f"audit LOG --no-page {TIMES}", 110),
        (f"replay LOG --target y --no-page {TIMES}", 142),
    ],
)
def test_commands_load_few_modules(command: str, most: int, python: Python, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    rows = (f"{60 * i},{60 * i + 100},{i % 7},{i % 3}" for i in range(200))
    log.write_text("\n".join(["asked,heard,y,x", *rows]))
    arguments = command.replace("LOG", str(log)).split()
    source = f"""
import json, sys
from belated.cli import main
main({arguments!r})
print(json.dumps([name for name in sys.modules]))
"""
    loaded = set(json.loads(python("-c", source).splitlines()[-1]))
    own = {name for name in loaded if name.startswith("belated.")}
    assert len(own) <= most, sorted(own)
    unused = {
        "belated.store",
        "belated.service.app",
        "belated.report.page",
        "belated.research.worlds",
    }
    assert loaded.isdisjoint({*unused, "multiprocessing", "asyncio", "sqlite3", "vl_convert"})


def test_models_run_without_scipy_and_plots(python: Python) -> None:
    source = """
import sys
for name in ("vl_convert", "pandas", "polars"):
    sys.modules[name] = None
import belated as bl
learner = bl.Learner(bl.FirstOrder(bl.PFTRL(bl.Ball(1), bl.rates.DelayAdaptive(1.0))))
learner.predict(); learner.observe(0, [1.0]); learner.report(); learner.snapshot()
del sys.modules["vl_convert"], sys.modules["pandas"], sys.modules["polars"]
"""
    assert loaded_by(python, source).isdisjoint({"vl_convert", "pandas", "polars"})


@pytest.mark.parametrize("name", belated.__all__)
def test_every_public_name_resolves(name: str) -> None:
    assert getattr(belated, name) is not None


def test_dir_and_unknown_names() -> None:
    assert set(belated.__all__) <= set(dir(belated))
    assert sorted(set(belated.__all__)) == sorted(belated.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'Lerner'"):
        belated.Lerner  # noqa: B018
    with pytest.raises(ImportError):
        exec("from belated import Lerner")


def test_star_brings_every_name() -> None:
    names: dict[str, object] = {}
    exec("from belated import *", names)
    assert set(belated.__all__) <= set(names)


def test_errors_are_also_builtins() -> None:
    from belated import errors

    kinds = {
        "SpecError": ValueError,
        "TimelineError": ValueError,
        "UnknownTicket": KeyError,
        "AlreadyObserved": ValueError,
        "BadFeedback": ValueError,
        "SnapshotError": ValueError,
        "MissingExtra": ImportError,
    }
    for name, builtin in kinds.items():
        error = getattr(errors, name)
        assert issubclass(error, errors.BelatedError)
        assert issubclass(error, builtin)
    assert str(errors.UnknownTicket("plain words")) == "plain words"
    assert str(errors.BelatedError()) == ""


def test_import_is_quick(python: Python) -> None:
    """A coarse guard, far above what it takes: specs must not pull in an engine.

    The clock is that of the process, which a busy machine does not slow down as much.
    """
    script = "import time; began = time.process_time(); import belated"
    took = float(python("-c", f"{script}; print(time.process_time() - began)"))
    assert took < 0.4  # seconds
