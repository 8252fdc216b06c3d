"""Two versions of belated, or two settings of one, on every real log, row by row.

``python -m benchmarks.compare_versions OLD NEW`` takes two folders that hold the package, such as
``src`` of two checkouts; ``--old`` and ``--new`` are settings of ``LinearModel`` as JSON. A row of
the table has the mean losses of both, their ratio, and its standard error from 20 blocks of time.
``--held-out`` plays the logs that no decision may rest on (``benchmarks.timed_logs``).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ROOT = Path(__file__).parent.parent
BLOCKS = 20
LARGE = ("flights, year", "flights, year, late or not", "cancellations")
"""Logs that take seconds each, which ``--small`` leaves out."""


def main() -> int:
    """Play both versions, one after the other, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare_versions")
    parser.add_argument("old", type=Path, help="the folder with the package of the old version")
    parser.add_argument("new", type=Path, help="that of the new one")
    parser.add_argument("--old", dest="old_settings", default="{}", help="settings as JSON")
    parser.add_argument("--new", dest="new_settings", default="{}", help="settings as JSON")
    parser.add_argument("--held-out", action="store_true", help="the logs that are held out")
    parser.add_argument("--small", action="store_true", help="leave out the largest logs")
    parser.add_argument("--only", default="", help="logs whose names contain this")
    told = parser.parse_args()
    old = _play(told.old, told.old_settings, told)
    new = _play(told.new, told.new_settings, told)
    print(f"{'':<34}{'rows':>9}{'old':>12}{'new':>12}{'ratio':>9}{'s.e.':>8}")
    for name in old:
        print(row(name, old[name], new[name]))
    return 0


def row(name: str, old: Floats, new: Floats) -> str:
    """Return one row of the table."""
    ratio, error = compared(old, new)
    return (
        f"{name:<34}{len(old):>9,}{old.mean():>12.5g}{new.mean():>12.5g}{ratio:>9.4f}{error:>8.4f}"
    )


def compared(old: Floats, new: Floats) -> tuple[float, float]:
    """Return the ratio of mean losses, and its standard error."""
    ratio = float(new.mean() / old.mean())
    parts = np.array([part.mean() for part in np.array_split(new - ratio * old, BLOCKS)])
    return ratio, float(parts.std(ddof=1) / np.sqrt(BLOCKS) / abs(old.mean()))


def _play(source: Path, settings: str, told: argparse.Namespace) -> dict[str, Floats]:
    """Return the losses of one version by log, from a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "losses.npz"
        paths = os.pathsep.join([str(source.resolve()), str(ROOT)])
        environment = {**os.environ, "PYTHONPATH": paths, "BELATED_INTERPRETED": "0"}
        job = {"path": str(path), "settings": settings, "held_out": told.held_out}
        job |= {"only": told.only, "small": told.small}
        command = [sys.executable, "-c", "from benchmarks.compare_versions import *; play_all()"]
        subprocess.run([*command, json.dumps(job)], env=environment, cwd=folder, check=True)
        with np.load(path) as found:
            return {name: found[name] for name in found.files}


def play_all() -> None:
    """Play all logs with the package that is imported, and save the losses."""
    job = json.loads(sys.argv[1])
    losses: dict[str, Any] = _losses(json.loads(job["settings"]), job)
    np.savez(job["path"], **losses)


def _losses(settings: dict[str, Any], job: dict[str, Any]) -> dict[str, Floats]:
    from belated.models.linear import LinearModel
    from benchmarks import silence_logs, timed_logs

    found: dict[str, Floats] = {}

    def is_left_out(name: str) -> bool:
        return job["only"] not in name or (job["small"] and name in LARGE)

    for case in timed_logs.every_case(held_out=job["held_out"]):
        if is_left_out(case.name):
            continue
        model = LinearModel(case.loss, **settings)
        rows = model.hasher.table(case.log.features)
        values = model.replay(rows, case.target, case.log.timeline)
        answered = case.log.answered
        found[case.name] = model.losses(values[answered], case.target[answered])
    for name, log in timed_logs.every_silent(held_out=job["held_out"]):
        if is_left_out(name):
            continue
        values = silence_logs.ours(log, **settings)[log.counts]
        found[name] = LinearModel("logistic").losses(values, log.labels[log.counts])
    return found


if __name__ == "__main__":
    sys.exit(main())
