"""Runs tests on a core that was compiled with AddressSanitizer and UndefinedBehaviorSanitizer.

    scripts/test --sanitize            what is compiled, and tests that try to break it
    scripts/test --sanitize FILE ...   with arguments of pytest

The core is built a second time, in ``build/sanitized``; this needs gcc. Findings are printed at the
end. Each one ends its process: undefined behaviour traps, and AddressSanitizer reports the place as
``ILL``. A message alone would go to the standard error, which pytest keeps of tests that pass.
Memory comes from malloc, so that each block is watched.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "sanitized"
COMPILED = ["-m", "compiled and not slow", "tests", "--ignore=tests/test_wheel.py"]
BREAKING = [f"tests/test_{name}.py" for name in ("arrays", "forged", "growing", "signals")]


def build() -> None:
    """Compile what has changed."""
    command = [sys.executable, "setup.py", "-q", "build"]
    places = ["--build-base", str(BUILD), "--build-lib", str(BUILD / "lib")]
    flags = {"BELATED_SANITIZE": "1", "BELATED_REQUIRE_COMPILED": "1"}
    subprocess.run([*command, *places], cwd=ROOT, env={**os.environ, **flags}, check=True)


def environment(found: str) -> dict[str, str]:
    """Return the variables of a process that is watched, with its findings in files ``found.*``."""
    libraries = [
        subprocess.run(
            ["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in (
            "libasan.so",
            "libstdc++.so.6",
        )  # the second for errors of C++
    ]
    return {
        **os.environ,
        "ASAN_OPTIONS": f"detect_leaks=0:handle_sigill=2:log_path={found}",
        "BELATED_INTERPRETED": "0",
        "BELATED_REQUIRE_COMPILED": "1",
        "LD_PRELOAD": " ".join(libraries),
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": str(BUILD / "lib"),
    }


def main(arguments: list[str]) -> int:
    """Build and test, and return 0 if nothing failed and nothing was found."""
    build()
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        watched = environment(f"{folder}/finding")
        where = "from belated.core import tickets; print(tickets.__file__)"
        subprocess.run([sys.executable, "-c", where], cwd=ROOT, env=watched, check=True)
        for wanted in [arguments] if arguments else [COMPILED, ["-m", "not slow", *BREAKING]]:
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *wanted]
            failed |= subprocess.run(command, cwd=ROOT, env=watched).returncode != 0
        findings = [path.read_text() for path in sorted(Path(folder).iterdir())]
    print(*findings, f"{len(findings)} findings of sanitizers", sep="\n")
    return int(failed or bool(findings))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
