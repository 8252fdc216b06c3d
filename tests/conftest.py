"""Settings and fixtures that all tests share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.errors import InvalidArgument

TESTS = Path(__file__).resolve().parent

try:
    settings.get_profile("ci")
except InvalidArgument:  # a release of hypothesis from before it brought this profile
    settings.register_profile("ci", derandomize=True, deadline=None, database=None, print_blob=True)

Python = Callable[..., str]


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
