"""Settings and fixtures that all tests share.

Tests run interpreted unless NUMBA_DISABLE_JIT=0 asks for the compiler, as both give the same bits
and compiling is slow. ``CONTRIBUTING.md`` says what the marks are for.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.setdefault("NUMBA_DISABLE_JIT", "1")  # numba reads it when it is imported
INTERPRETED = os.environ["NUMBA_DISABLE_JIT"] != "0"
TESTS = Path(__file__).resolve().parent

# Jobs in the background of a script ignore interruptions, and so would all that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

for name, examples in (("few", 40), ("many", 200)):
    settings.register_profile(
        name,
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        print_blob=True,
    )
settings.load_profile("few")  # unless pytest is told --hypothesis-profile=many

Python = Callable[..., str]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what needs the compiler where there is none."""
    if INTERPRETED:
        out = [item for item in items if item.get_closest_marker("needs_compiler")]
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if not item.get_closest_marker("needs_compiler")]


@pytest.fixture(scope="session")
def python() -> Python:
    """Return a function that runs a fresh interpreter and returns what it prints.

    It takes the arguments of the interpreter and, as keywords, environment variables; None removes
    one. Warnings are not errors there, as nothing of pytest is.
    """

    def run(*arguments: str, check: bool = True, **environment: str | None) -> str:
        wanted = {**os.environ, **environment}
        done = subprocess.run(
            [sys.executable, *arguments],
            env={name: value for name, value in wanted.items() if value is not None},
            cwd=TESTS,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    return run
