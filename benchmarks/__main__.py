"""Run the benchmarks: ``python -m benchmarks [name ...] [--seed-from HASH]``."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import seeds
from benchmarks.timing import Result

NAMES = (
    "audit",
    "baselines",
    "calibration",
    "capacity",
    "cold_start",
    "conversions",
    "decisions",
    "evaluation",
    "files",
    "frames",
    "games",
    "interactions",
    "intervals",
    "knobs",
    "late_labels",
    "lateness_by_label",
    "live",
    "loop",
    "matrices",
    "memory",
    "nights",
    "outliers",
    "rare",
    "service",
    "silence_real",
    "startup",
    "store",
    "timeline",
)
SAVED = Path(__file__).with_name("results.json")


def main(arguments: list[str]) -> int:
    """Run the named benchmarks, or all; print a table and save the figures as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("names", nargs="*", help=f"all if none is given: {', '.join(NAMES)}")
    parser.add_argument(
        "--seed-from",
        metavar="HASH",
        help="draw the worlds of the run that recorded this hash; default: the current commit",
    )
    told = parser.parse_args(arguments)
    unknown = set(told.names) - set(NAMES)
    if unknown:
        print(f"unknown benchmark {', '.join(sorted(unknown))}; there are: {', '.join(NAMES)}")
        return 2
    if told.seed_from is not None:
        os.environ[seeds.VARIABLE] = told.seed_from
    figures: list[dict[str, Any]] = []
    print(f"{'':<44}{'ours':>12}{'floor':>12} {'':<10}{'ratio':>7}")
    for name in told.names or NAMES:
        seeds.DRAWN.clear()
        results: list[Result] = []
        for result in importlib.import_module(f"benchmarks.bench_{name}").main():
            print(result, flush=True)
            results.append(result)
        drawn_from = {"seed_from": seeds.commit()} if seeds.DRAWN else {}
        figures += [result.to_dict() | drawn_from for result in results]
    _save(figures)
    print(f"saved to {SAVED}")
    return 0


def _save(figures: list[dict[str, Any]]) -> None:
    """Put figures in the place of older ones of the same name."""
    machine = f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}"
    known = json.loads(SAVED.read_text())["results"] if SAVED.exists() else []
    newest = {figure["name"]: figure for figure in [*known, *figures]}
    document = {"machine": machine, "results": list(newest.values())}
    SAVED.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
