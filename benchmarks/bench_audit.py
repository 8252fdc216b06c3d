"""Auditing a log of 10,000,000 rows against sorting its times and reading its file.

Any audit must read the file and at least sort, so the time beyond reading is compared with
``numpy.argsort`` of the 2T times. Memory is measured in a process of its own that may not have more
than :data:`LIMIT` bytes of data, which is less than the text it reads.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median, quantiles

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from belated.audits import audit
from benchmarks.bench_timeline import make_log
from benchmarks.timing import Result, interleaved

ROUNDS = 10_000_000
LATENCY = 10_000.0
"""Mean wait, in units of the mean time between predictions."""
NEVER = 0.01
"""Share of rows that are never answered."""
REPEATS = 5
TARGET = 5.0
LIMIT = 450_000_000
"""Bytes of data that the process may have."""

MEASURED = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_DATA, (int(sys.argv[2]), int(sys.argv[2])))
from belated.audits import audit
found = audit(sys.argv[1])
# Not getrusage, whose peak is that of the process before it became this one.
status = open("/proc/self/status").read().split()
print(json.dumps([found.rounds, int(status[status.index("VmHWM:") + 1]) * 1024]))
"""


def write_log(folder: Path) -> tuple[dict[str, Path], np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Write one log as Parquet and as text; return the files and all its times."""
    predicted, observed = (
        (1.7e18 + 1e9 * times).astype(np.int64) for times in make_log(ROUNDS, LATENCY)
    )
    lost = np.random.default_rng(1).random(ROUNDS) < NEVER
    table = pa.table(
        {
            "predicted_at": pa.array(predicted.view("datetime64[ns]")),
            "observed_at": pa.array(observed.view("datetime64[ns]"), mask=lost),
        }
    )
    files = {"Parquet": folder / "log.parquet", "CSV": folder / "log.csv"}
    parquet.write_table(table, files["Parquet"])
    csv.write_csv(table, files["CSV"])
    return files, np.concatenate([predicted, observed])


def timed(
    kind: str,
    path: Path,
    read: Callable[[], object],
    both: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> Result:
    """Return the time beyond reading, over that of sorting."""
    works: dict[str, Callable[[], object]] = {
        "ours": partial(audit, path),
        "read": read,
        "sort": partial(np.argsort, both),
    }
    times = interleaved(works, REPEATS)
    rows = zip(times["ours"], times["read"], times["sort"], strict=True)
    ratios = [(ours - reading) / sorting for ours, reading, sorting in rows]
    low, middle, high = quantiles(ratios, n=4)
    return Result(
        name=f"audit beyond reading, {kind}",
        ratio=middle,
        target=TARGET,
        ours=median(times["ours"]),
        floor=median(times["sort"]),
        unit="s",
        spread=(high - low) / 2.0 / middle,
        note=f"reading alone takes {median(times['read']):.2f} s",
    )


def limited(kind: str, path: Path) -> Result:
    """Return the peak memory of an audit in a limited process, over that limit."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(path), str(LIMIT)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"},
    )
    rounds, peak = json.loads(done.stdout)
    assert rounds == ROUNDS
    return Result(
        name=f"audit memory, {kind}",
        ratio=peak / LIMIT,
        target=1.0,
        ours=peak / 1e6,
        floor=LIMIT / 1e6,
        unit="MB",
        spread=0.0,
        note=f"the file has {path.stat().st_size / 1e6:.0f} MB",
    )


def main() -> list[Result]:
    """Return times for both formats, and memory."""
    with tempfile.TemporaryDirectory() as folder:
        files, both = write_log(Path(folder))
        readers = {"Parquet": parquet.read_table, "CSV": csv.read_csv}
        results = [
            timed(kind, path, partial(readers[kind], path), both) for kind, path in files.items()
        ]
        return results + [limited(kind, path) for kind, path in files.items()]
