"""Runs every check, two at a time. ``scripts/test`` calls it when .venv is ready.

A job is a few processes in a row. Those that take longest go first, and none waits for another, so
that both workers are busy until the end. What a job has to say is shown whole when it is done, with
the processor time that it took. After a failure no other job begins.

A process of pytest takes some files and is then replaced, so that none grows.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORKERS = 2
NO_TESTS = 5
"""What pytest returns when a file has no test of the wanted kind."""

LONG = (
    "theorems conformance laws rivals skip_curved certificates capacity linear naive_linear "
    "naive naive_rivals naive_simplex_rivals components best_action timeline delays bounds sets "
    "deadline excess delayed_vaw later_rivals rivals_arms rivals_promises tight_values live "
    "snapshot forged",
    "docs audit evaluate evaluate_arguments report report_in_browser study play_many store game "
    "losses portfolio leader labels intervals",
)
"""Interpreted, these test files begin first, together; then come ``FEW`` to a process.

Those of the first line need little but NumPy; what takes seconds to import is in few processes."""
LONG_COMPILED = (
    "replay replay_columns replay_save audit_labels docs labels linear label_clipping censoring "
    "chooser evaluate evaluate_arguments demo",
    "conformance laws portfolio forged game theorem_values losses baseline deadline",
    "rivals live capacity delayed_vaw knobs",
)
"""The same for the compiled pass."""
FEW, FEW_COMPILED = 50, 50

_LIVELY = [
    f"tests/test_{name}.py" for name in ("knobs", "knobs_live", "knobs_clock", "label_clipping")
]
"""Tests that reach what only happens in long or troubled lives."""


@dataclass
class Job:
    """Commands in a row, and what they took."""

    name: str
    commands: list[list[str]]
    environment: dict[str, str] = field(default_factory=dict)
    said: str = ""
    passed: bool = True
    seconds: float = 0.0
    memory: float = 0.0

    def run(self) -> None:
        """Run the commands until one fails."""
        for command in self.commands:
            with tempfile.TemporaryFile("w+") as output:
                process = subprocess.Popen(
                    command,
                    cwd=ROOT,
                    env={**os.environ, **self.environment},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                )
                _, status, used = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                output.seek(0)
                self.said += output.read()
            self.seconds += used.ru_utime + used.ru_stime
            self.memory = max(self.memory, used.ru_maxrss / 2**20)
            self.passed = process.returncode in (0, NO_TESTS)
            if not self.passed:
                return


def batches(
    files: Iterable[str], first: Iterable[str], few: int
) -> tuple[list[list[str]], list[list[str]]]:
    """Return the files of every process: those that go first, and the others a few at a time.

    >>> files = [f"tests/test_{name}.py" for name in ("audit", "cli", "game", "json", "pins")]
    >>> early, late = batches(files, ["game cli", "logs"], 2)
    >>> early
    [['tests/test_cli.py', 'tests/test_game.py']]
    >>> late
    [['tests/test_audit.py', 'tests/test_json.py']]
    """
    left = [file for file in files if file != "tests/test_pins.py"]
    early = []
    for names in first:
        wanted = {f"tests/test_{name}.py" for name in names.split()}
        found = [file for file in left if file in wanted]
        left = [file for file in left if file not in wanted]
        if found:
            early.append(found)
    each = -(-len(left) // max(1, -(-len(left) // few)))  # as many for all
    return early, [left[start : start + each] for start in range(0, len(left), each or 1)]


def jobs(everything: bool, scratch: str) -> list[Job]:
    """Return all jobs; ``everything`` asks for slow tests, and for every test compiled."""
    python = sys.executable
    tests = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests").glob("test_*.py"))

    def pytest(kind: str, batch: list[str], *options: str) -> Job:
        words = [name.removeprefix("tests/test_").removesuffix(".py") for name in batch]
        command = [python, "-m", "pytest", "-q", *options, *batch]
        mode = {"BELATED_INTERPRETED": "0" if kind == "compiled" else "1"}
        return Job(f"pytest, {kind}: {', '.join(words)}", [command], mode)

    marked = [name for name in tests if "mark.compiled" in (ROOT / name).read_text()]
    wanted = ["--hypothesis-profile=many", "--pictures"] if everything else ["-m", "not slow"]
    early, late = batches([*tests, "src/belated", "scripts"], LONG, FEW)
    if everything:
        longest = [name for names in LONG_COMPILED for name in names.split()]
        early_compiled, late_compiled = batches(tests, longest, 1)
        options = ["--pictures"]
    else:
        early_compiled, late_compiled = batches(marked, LONG_COMPILED, FEW_COMPILED)
        options = ["-m", "compiled and not slow"]
    return [
        *(pytest("interpreted", batch, *wanted) for batch in (*early, *late)),
        *(pytest("compiled", batch, *options) for batch in early_compiled),
        Job("mypy", [[python, "-m", "mypy"]]),
        _pins(python, scratch) if everything else Job("pins", [[python, "tests/pins.py"]]),
        *(pytest("compiled", batch, *options) for batch in late_compiled),
        Job(
            "ruff and the direction of imports",
            [
                [python, "-m", "ruff", "check", "."],
                [python, "-m", "ruff", "format", "--check", "."],
                [str(Path(python).with_name("lint-imports"))],
            ],
        ),
    ]


def _pins(python: str, scratch: str) -> Job:
    """Return the job of the pins with coverage, as they reach nearly all of the core.

    What happens to knobs in a live system, and to early outliers of labels, is reached by their
    tests.
    """
    coverage = [python, "-m", "coverage"]
    return Job(
        "pins, with coverage of the core",
        [
            [*coverage, "run", "tests/pins.py"],
            [*coverage, "run", "-m", "pytest", "-q", "-m", "not slow", *_LIVELY],
            [*coverage, "combine", "--quiet"],
            [*coverage, "report"],
        ],
        {"COVERAGE_FILE": f"{scratch}/coverage", "BELATED_INTERPRETED": "1"},
    )


def main(arguments: list[str]) -> int:
    """Run all jobs, and return 0 if none failed."""
    begin, failed, lock = time.monotonic(), threading.Event(), threading.Lock()

    def work(job: Job) -> None:
        if failed.is_set():
            return
        job.run()
        with lock:
            print(f"\n== {job.name} ({job.seconds:.0f} s)\n{job.said.rstrip()}", flush=True)
            if not job.passed:
                failed.set()

    with tempfile.TemporaryDirectory() as scratch:
        todo = jobs("--all" in arguments, scratch)
        with ThreadPoolExecutor(WORKERS) as workers:
            list(workers.map(work, todo))
    seconds, memory = sum(job.seconds for job in todo), max(job.memory for job in todo)
    passed = time.monotonic() - begin
    print(f"\n{passed:.0f} s, {seconds:.0f} s of processors, {memory:.2f} GiB at most in a process")
    wrong = [job.name for job in todo if not job.passed]
    print(f"Failed: {'; '.join(wrong)}" if wrong else "All checks passed.")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
