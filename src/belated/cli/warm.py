"""``belated warm``: compile what most people run, once."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from belated.arguments import Commands

if TYPE_CHECKING:
    from belated.reductions import Reduction, Skip


def add_warm(commands: Commands) -> None:
    """Add ``warm`` to the commands of ``belated``."""
    parser = commands.add_parser(
        "warm",
        help="compile the common compositions, so that the first learner starts at once",
        description="Compile the common compositions and keep them on disk; needed once per "
        "installation and user, and never required.",
    )
    parser.set_defaults(run=_warm)


def _warm(arguments: argparse.Namespace) -> None:
    begin = time.perf_counter()
    specs = list(_common_specs())
    for number, (name, spec) in enumerate(specs, start=1):
        started = time.perf_counter()
        _exercise(spec)
        seconds = time.perf_counter() - started
        print(f"[{number:>2}/{len(specs)}] {name:<42}{seconds:>6.1f} s", flush=True)
    print(f"{_where_kept(specs[0][1])}; {time.perf_counter() - begin:.1f} s in all")


def _common_specs() -> Iterator[tuple[str, Reduction | Skip]]:
    """Name what most people run: every feedback on a ball and a box, with and without skipping."""
    from belated.domains import Ball, Box
    from belated.problem import Problem

    for domain in (Ball(2), Box(0.0, 1.0, dim=2)):
        problem = Problem(domain, lipschitz=1.0, magnitude=1.0)
        for feedback in ("gradient", "value", "two-values"):
            for skip in (False, True):
                name = f"{domain.kind}, {feedback}{', skipping' if skip else ''}"
                yield name, problem.learner(feedback=feedback, skip=skip)


def _exercise(spec: Reduction | Skip) -> None:
    """Use a learner in every way once, which compiles what it needs."""
    import numpy as np

    from belated.learner.learner import Learner

    learner = Learner(spec)
    learner.cancel(learner.predict().ticket)
    width = {"FirstOrder": 2, "OnePoint": 1, "TwoPoint": 2}[getattr(spec, "learner", spec).kind]
    learner.run([1, ~1], np.zeros((1, width)), first=1)


def _where_kept(spec: Reduction | Skip) -> str:
    """Say where the compiled code is, or why it is nowhere."""
    from belated.kernels.learners import entries
    from belated.learner.program import compile_spec

    entry: Any = entries.predict(compile_spec(spec).code)
    if not hasattr(entry, "stats"):
        return "Nothing to compile: NUMBA_DISABLE_JIT is set"
    folder = entry.stats.cache_path
    if folder is None:
        return "Compiled, but not kept: set NUMBA_CACHE_DIR to a writable folder"
    return f"Kept in {folder}"
