"""Events of a learner whose base or set is a user's Python object.

The same kernels do everything but the user's part; between two of them the user's base is asked for
its next point, or the user's function to project. When user code fails, the event is undone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy as np

from belated.arrays import Floats, Ints
from belated.bases import Base, UserBase
from belated.domains import ConvexSet
from belated.kernels.learners import entries
from belated.kernels.slots import code as C
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import kinds as K
from belated.kernels.slots import status as S
from belated.learner.program import Program, checked_point, entries_of
from belated.reductions import domain_of


def saved_base(program: Program) -> bytes | None:
    """Return what a user's base saves of itself, if it can."""
    base: Any = program.base
    if program.code[C.BASE] != K.OUTSIDE or not hasattr(base, "save") or not hasattr(base, "load"):
        return None
    return bytes(base.save())


def restore_base(program: Program, saved: bytes | None) -> None:
    """Put a user's base back to what it saved."""
    if saved is not None:
        cast(Any, program.base).load(saved)


class Outside:
    """``predict``, ``observe`` and ``cancel`` with the arguments of the compiled entries."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._steps = entries.steps(program.code)
        self._observe = entries.observe(program.code)
        self._cancel = entries.cancel(program.code)
        self._out = np.empty(program.dim)

    def predict(self, f: Floats, n: Ints, x: Floats) -> int:
        """Skip what is overdue, one ticket at a time, then issue the next one."""
        if not self._steps.make_room(f, n):
            return S.FULL
        if self._program.code[C.SKIP]:
            with self._undone_on_failure(f, n) as closed:
                self._steps.start_round(f, n)
                while self._steps.skip_one(f, n):
                    closed.append((int(n[N.HEAD]), int(n[N.ARRIVED] - 1 - n[N.LAG])))
                    self._finish(f, n)
        return self._steps.issue(f, n, x)

    def observe(self, f: Floats, n: Ints, ticket: int, answer: Floats) -> int:
        """Use an answer and let the user's part finish the step."""
        with self._undone_on_failure(f, n, ticket):
            status = self._observe(f, n, ticket, answer)
            self._finish(f, n)
        return status

    def cancel(self, f: Floats, n: Ints, ticket: int) -> int:
        """Close a ticket and let the user's part finish the step."""
        with self._undone_on_failure(f, n, ticket):
            status = self._cancel(f, n, ticket)
            self._finish(f, n)
        return status

    @contextmanager
    def _undone_on_failure(
        self, f: Floats, n: Ints, ticket: int | None = None
    ) -> Iterator[list[tuple[int, int]]]:
        """Put everything back if user code fails: scalars, vectors, entries, and the base.

        Yields the list of entries to reopen, (entry, what it had seen); the one of ``ticket`` is in
        it. A base is put back when it has ``save`` and ``load``.
        """
        saved = saved_base(self._program)
        floats = f[: F.HEADER + 3 * F.padded(self._program.dim)].copy()
        header = n[: N.HEADER].copy()
        table = entries_of(n)
        closed: list[tuple[int, int]] = []
        if ticket is not None:
            entry = int(np.searchsorted(table[:, 0], ticket))
            closed += [(entry, int(seen)) for seen in table[entry : entry + 1, 1]]
        try:
            yield closed
        except BaseException:
            f[: floats.size] = floats
            n[: N.HEADER] = header
            for entry, seen in closed:
                table[entry, 1] = seen
            restore_base(self._program, saved)
            raise

    def _finish(self, f: Floats, n: Ints) -> None:
        """Ask the user's part, if the step waits for it, and put its point in place."""
        if not n[N.WAITING]:
            return
        self._steps.to_user(f, n, self._out)
        if self._program.code[C.BASE] == K.OUTSIDE:
            base = cast(UserBase, self._program.base)
            given: Any = base.update(self._out.copy(), int(n[N.LAG]), int(n[N.OPEN_LAGS]))
            who = f"{type(base).__name__}.update"
        else:
            domain = cast(ConvexSet, domain_of(cast(Base, self._program.base)))
            given = domain.project(self._out.copy())
            who = "ConvexSet: project"
        self._steps.from_user(f, n, checked_point(given, self._program.dim, who))
