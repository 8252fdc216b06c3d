"""Run the benchmarks: ``python -m benchmarks [name ...]``."""

from __future__ import annotations

import importlib
import json
import platform
import sys
from pathlib import Path

import numpy as np

from benchmarks.timing import Result

NAMES = (
    "audit",
    "calibration",
    "capacity",
    "conversions",
    "decisions",
    "evaluation",
    "games",
    "intervals",
    "knobs",
    "late_labels",
    "lateness_by_label",
    "live",
    "loop",
    "matrices",
    "memory",
    "nights",
    "service",
    "silence_real",
    "startup",
    "store",
    "timeline",
)
SAVED = Path(__file__).with_name("results.json")


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all; print a table and save the figures as JSON."""
    if {"-h", "--help"} & set(names):
        print(f"python -m benchmarks [name ...]\n\nnames: {', '.join(NAMES)}; all if none is given")
        return 0
    unknown = set(names) - set(NAMES)
    if unknown:
        print(f"unknown benchmark {', '.join(sorted(unknown))}; there are: {', '.join(NAMES)}")
        return 2
    results: list[Result] = []
    print(f"{'':<44}{'ours':>12}{'floor':>12} {'':<10}{'ratio':>7}")
    for name in names or NAMES:
        for result in importlib.import_module(f"benchmarks.bench_{name}").main():
            print(result, flush=True)
            results.append(result)
    _save(results)
    print(f"saved to {SAVED}")
    return 0


def _save(results: list[Result]) -> None:
    """Put figures in the place of older ones of the same name."""
    machine = f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}"
    known = json.loads(SAVED.read_text())["results"] if SAVED.exists() else []
    figures = {figure["name"]: figure for figure in known}
    figures |= {result.name: result.to_dict() for result in results}
    document = {"machine": machine, "results": list(figures.values())}
    SAVED.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
