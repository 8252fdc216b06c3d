"""Interrupts wherever a signal may be handled: every such moment of a call, one after the other.

Python looks for signals when a function begins, when a loop turns back, and after a call. A tracer
is asked before every instruction and a profiler after every call of C code, so that they can raise
something in just these moments. The core is compiled: a signal waits for the end of its calls.

The garbage collector is paused meanwhile: Python drops what is raised in its callbacks, of which
hypothesis has one, and pytest takes that for a failure.
"""

from __future__ import annotations

import dis
import functools
import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import belated as bl

_OURS = str(Path(bl.__file__).parent)


@contextmanager
def without_collector() -> Iterator[None]:
    """Pause the garbage collector, whose callbacks must not be interrupted."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class Interrupts:
    """Raises an error at the place-th moment within belated, and at others so many later.

    >>> with Interrupts(KeyboardInterrupt, 10_000) as interrupts:
    ...     model = bl.LinearModel("squared", bits=4)
    >>> interrupts.raised
    0
    """

    def __init__(self, kind: type[BaseException], *places: int) -> None:
        self._kind, self._left = kind, list(places)
        self._latest: dict[FrameType, int] = {}
        self.raised = 0

    def __enter__(self) -> Interrupts:
        gc.disable()
        sys.settrace(self._begin)
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        sys.settrace(None)
        gc.enable()

    def _watch(self) -> None:
        """Go on after something was raised, which ends a tracer or a profiler."""
        if self.raised and self._left:
            if sys.gettrace() is None:
                sys.settrace(self._begin)
            if sys.getprofile() is None:
                sys.setprofile(self._profile)

    def _begin(self, frame: FrameType, event: str, argument: Any) -> Any:
        self._watch()
        if not frame.f_code.co_filename.startswith(_OURS):
            return None
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        self._moment()
        return self._look

    def _look(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "opcode":
            names, handlers = _read(frame.f_code)
            before, now = self._latest.get(frame, 0), frame.f_lasti
            self._latest[frame] = now
            after_call = names[before].startswith("CALL") and handlers(before) == handlers(now)
            if after_call or names[now].startswith("JUMP_BACKWARD"):
                self._moment()
        return self._look

    def _profile(self, frame: FrameType, event: str, argument: Any) -> None:
        self._watch()
        if event == "c_return" and frame.f_code.co_filename.startswith(_OURS):
            self._moment()

    def _moment(self) -> None:
        if not self._left:
            return
        if self._left[0] > 0:
            self._left[0] -= 1
            return
        self._left.pop(0)
        self.raised += 1
        raise self._kind("an interrupt")


@functools.cache
def _read(code: CodeType) -> tuple[dict[int, str], Callable[[int], int | None]]:
    """Return the names of instructions by their places, and what handles errors at a place."""
    read = dis.Bytecode(code)
    names = {each.offset: each.opname for each in read}
    entries: list[Any] = read.exception_entries  # type: ignore[attr-defined]

    @functools.cache
    def handler(place: int) -> int | None:
        return next((e.target for e in entries if e.start <= place < e.end), None)

    return names, handler


def interrupted(
    make: Callable[[], Any],
    act: Callable[[Any], Any],
    kind: type[BaseException] = KeyboardInterrupt,
    *more: int,
    step: int = 1,
) -> Iterator[Any]:
    """Yield what was made after an act on it was interrupted: at one moment each, until none is.

    With ``more`` it is interrupted again so many moments later.
    """
    for place in count(0, step):
        made = make()
        with Interrupts(kind, place, *more) as interrupts, suppress(kind):
            act(made)
        if not interrupts.raised:
            return
        yield made
