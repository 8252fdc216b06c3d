"""Settings and fixtures that all tests share.

Tests run interpreted unless BELATED_INTERPRETED=0 asks for what is compiled: both give the same
bits, and interpreted runs check bounds. ``CONTRIBUTING.md`` says what the marks are for.
"""

from __future__ import annotations

import processor  # noqa: F401, before NumPy

# isort: split
import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.setdefault("BELATED_INTERPRETED", "1")  # read when the core is imported
INTERPRETED = os.environ["BELATED_INTERPRETED"] != "0"
TESTS = Path(__file__).resolve().parent
EMPTY_IMAGE = "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4="

# Jobs in the background of a script ignore interruptions, and so would all that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

FEW, MANY = 20, 200
for name, most in (("few", FEW), ("many", MANY)):
    settings.register_profile(
        name,
        max_examples=most,
        derandomize=True,
        deadline=None,
        database=None,
        print_blob=True,
    )
settings.load_profile("few")  # unless pytest is told --hypothesis-profile=many

Python = Callable[..., str]


def everything() -> bool:
    """Tell whether all is asked for, as hypothesis is told with its profile ``many``."""
    return settings().max_examples == MANY


def examples(few: int) -> settings:
    """Return settings for so many examples, and for more where all is asked for."""
    return settings(max_examples=few * (MANY // FEW if everything() else 1))


def shortened(rounds: int) -> int:
    """Return so many rounds where all is asked for, else a quarter of them.

    For laws and theorems, which hold for games of any length.
    """
    return rounds if everything() else rounds // 4


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what needs the compiled core where that is not in use."""
    if INTERPRETED:
        out = [item for item in items if item.get_closest_marker("needs_compiler")]
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if not item.get_closest_marker("needs_compiler")]


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what is there to stay, and look less often.

    Modules and tests make up most objects, and each of its rounds would look at them all.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let all images of pages be drawn."""
    about = "draw the images of all pages, not only of tests that are marked so"
    parser.addoption("--pictures", action="store_true", help=about)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Draw the images of a page where a test asks for it; elsewhere an empty one takes their place.

    Images and the script that draws in a browser take nearly all of the time of a page. This is no
    fixture, as pages are also written by fixtures that many tests share.
    """
    if item.config.getoption("pictures") or item.get_closest_marker("pictures"):
        return (yield)
    from belated.report import page

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "embedded", lambda figure: EMPTY_IMAGE)
        patch.setattr(page, "script", lambda: "")
        return (yield)


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
