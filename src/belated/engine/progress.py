"""A progress bar on the terminal, where there is one."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from belated.errors import MissingExtra

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID


class Progress(Protocol):
    """The interface to which long work reports its progress."""

    def advance(self) -> None:
        """Count one more piece as done."""


class _Silent:
    def advance(self) -> None:
        """Say nothing."""


@contextmanager
def progress_bar(what: str, total: int, wanted: bool | None = None) -> Iterator[Progress]:
    """Show a bar with the time left on the standard error stream.

    ``wanted`` None: only on a terminal, when ``rich`` is installed.
    """
    is_there = importlib.util.find_spec("rich") is not None
    if wanted and not is_there:
        raise MissingExtra("rich", extra="progress", where="a progress bar")
    if not (sys.stderr.isatty() and is_there if wanted is None else wanted):
        yield _Silent()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # Without a thread that redraws: with a second thread, worker processes could not be forked.
    with Bar(*columns, console=Console(stderr=True), auto_refresh=False) as bar:
        yield _Rich(bar, bar.add_task(what, total=total))


@contextmanager
def row_counter(what: str, wanted: bool | None = None) -> Iterator[Callable[[int], None]]:
    """Count rows on one line of the standard error stream, from the start on.

    ``wanted`` None: only on a terminal.
    """
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield lambda rows: None
        return

    def say(text: str) -> None:
        sys.stderr.write(f"\r\x1b[2K{text}")
        sys.stderr.flush()

    say(f"{what} ...")
    try:
        yield lambda rows: say(f"{what} ... {rows:,} rows")
    finally:
        say("")


@dataclass(frozen=True)
class _Rich:
    bar: Bar
    task: TaskID

    def advance(self) -> None:
        """Count one more piece as done."""
        self.bar.advance(self.task)
        self.bar.refresh()
