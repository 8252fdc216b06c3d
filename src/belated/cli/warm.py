"""``belated warm``: compile what most people run, once."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from belated.arguments import Commands

if TYPE_CHECKING:
    from belated.linear.losses import Loss


def add_warm(commands: Commands) -> None:
    """Add ``warm`` to the commands of ``belated``."""
    parser = commands.add_parser(
        "warm",
        help="compile what is common, so that the first model starts at once",
        description="Compile the usual linear models and choosers and keep them on disk; "
        "needed once per installation and user, and never required.",
    )
    parser.set_defaults(run=_warm)


def _warm(arguments: argparse.Namespace) -> None:
    begin = time.perf_counter()
    jobs = list(_common())
    for number, (name, exercise) in enumerate(jobs, start=1):
        started = time.perf_counter()
        exercise()
        seconds = time.perf_counter() - started
        print(f"[{number:>2}/{len(jobs)}] {name:<42}{seconds:>6.1f} s", flush=True)
    print(f"{_where_kept()}; {time.perf_counter() - begin:.1f} s in all")


def _common() -> Iterator[tuple[str, Callable[[], None]]]:
    """Name what most people run, and how to run it once."""
    from belated.linear.losses import LOSSES

    for loss in LOSSES:
        yield f"linear model, {loss}", partial(_exercise_model, loss)
    yield "chooser", _exercise_chooser


def _exercise_model(loss: str) -> None:
    """Use a linear model in every way once."""
    import numpy as np

    from belated.linear import LinearModel

    model = LinearModel(cast("Loss", loss), bits=4)
    model.peek(np.ones(2))
    model.observe(model.predict(np.ones(2)).ticket, 1.0)
    model.cancel(model.predict(np.ones(2)).ticket)
    tickets, _ = model.predict_many(np.ones((1, 2)))
    model.observe_many(tickets, np.ones(1))
    model.replay(np.ones((1, 2)), np.ones(1), [3, ~3], first=3)


def _exercise_chooser() -> None:
    """Use a chooser once."""
    from belated.decisions import Chooser

    chooser = Chooser(["a", "b"], bits=4)
    chooser.observe(chooser.choose().ticket, 1.0)


def _where_kept() -> str:
    """Say where the compiled code is, or why it is nowhere."""
    from belated.kernels.linear import entries

    entry: Any = entries.find()
    if not hasattr(entry, "stats"):
        return "Nothing to compile: NUMBA_DISABLE_JIT is set"
    folder = entry.stats.cache_path
    if folder is None:
        return "Compiled, but not kept: set NUMBA_CACHE_DIR to a writable folder"
    return f"Kept in {folder}"
