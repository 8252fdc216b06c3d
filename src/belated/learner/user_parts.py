"""Events of a learner whose base or set is a user's Python object.

The same kernels do everything but the user's part; between two of them the user's base is asked for
its next point, or the user's function to project. When user code fails, the event is undone.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy as np

from belated.arrays import Floats, Ints
from belated.bases import Base, UserBase
from belated.domains import ConvexSet
from belated.kernels.learners import entries
from belated.kernels.slots import code as C
from belated.kernels.slots import kinds as K
from belated.kernels.slots import status as S
from belated.learner.program import Program, checked_point
from belated.learner.state import Memory
from belated.reductions import domain_of


def saved_base(program: Program) -> bytes | None:
    """Return what a user's base saves of itself, if it can."""
    base: Any = program.base
    if (
        program.code[C.BASE] != K.USER_BASE
        or not hasattr(base, "save")
        or not hasattr(base, "load")
    ):
        return None
    return bytes(base.save())


def restore_base(program: Program, saved: bytes | None) -> None:
    """Put a user's base back to what it saved."""
    if saved is not None:
        cast(Any, program.base).load(saved)


def twin_of_base(program: Program) -> Any:
    """Return a copy of a user's base that cannot save itself, or None."""
    is_user = program.code[C.BASE] == K.USER_BASE
    return copy.deepcopy(program.base) if is_user and saved_base(program) is None else None


class UserEvents:
    """``predict``, ``observe`` and ``cancel`` with the arguments of the compiled entries."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._steps = entries.steps(program.code)
        self._observe = entries.observe(program.code)
        self._cancel = entries.cancel(program.code)
        self._out = np.empty(program.dim)

    def predict(self, f: Floats, n: Ints, x: Floats) -> int:
        """Give up on what is overdue, one ticket at a time, then issue the next one."""
        if not self._steps.make_room(f, n):
            return S.FULL
        if self._program.code[C.WEIGHED]:  # what is lost is no business of the user's part
            while self._steps.give_up_one(f, n):
                pass
        elif self._program.code[C.WRAPPER] != K.UNWRAPPED:
            memory = Memory(f, n)
            with self._undone_on_failure(memory) as closed:
                self._steps.count_round(f, n)
                while self._steps.give_up_one(f, n):
                    closed.append(memory.newest_ghost)
                    self._finish(memory)
        return self._steps.issue(f, n, x)

    def observe(self, f: Floats, n: Ints, ticket: int, answer: Floats) -> int:
        """Use an answer and let the user's part finish the step."""
        memory = Memory(f, n)
        with self._undone_on_failure(memory, ticket):
            status = self._observe(f, n, ticket, answer)
            self._finish(memory)
        return status

    def cancel(self, f: Floats, n: Ints, ticket: int) -> int:
        """Close a ticket and let the user's part finish the step."""
        memory = Memory(f, n)
        with self._undone_on_failure(memory, ticket):
            status = self._cancel(f, n, ticket)
            self._finish(memory)
        return status

    @contextmanager
    def _undone_on_failure(
        self, memory: Memory, ticket: int | None = None
    ) -> Iterator[list[tuple[int, int]]]:
        """Put everything back if user code fails: scalars, vectors, entries, and the base.

        Yields the list of entries to reopen, (entry, what it had seen); the one of ``ticket`` is in
        it. A base is put back when it has ``save`` and ``load``.
        """
        saved = saved_base(self._program)
        before = [part.copy() for part in memory.moving]
        closed = [] if ticket is None else memory.seen_by(ticket)
        try:
            yield closed
        except BaseException:
            for part, old in zip(memory.moving, before, strict=True):
                part[:] = old
            for entry, seen in closed:
                memory.entries[entry, 1] = seen
            restore_base(self._program, saved)
            raise

    def _finish(self, memory: Memory) -> None:
        """Ask the user's part, if the step waits for it, and put its point in place."""
        if not memory.is_waiting:
            return
        self._steps.to_user(memory.f, memory.n, self._out)
        if self._program.code[C.BASE] == K.USER_BASE:
            base = cast(UserBase, self._program.base)
            given: Any = base.update(self._out.copy(), *memory.lags)
            who = f"{type(base).__name__}.update"
        else:
            domain = cast(ConvexSet, domain_of(cast(Base, self._program.base)))
            given = domain.project(self._out.copy())
            who = "ConvexSet: project"
        point = checked_point(given, self._program.dim, who)
        self._steps.from_user(memory.f, memory.n, point)
