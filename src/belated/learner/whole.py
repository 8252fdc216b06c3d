"""Events that are whole: an interrupt, or a lack of memory, changes nothing or all.

Python handles signals when a function begins, when a loop turns back, and after a call of C code
has returned; never while C code is at work, nor between assignments without a call.

Where an event is one kernel, and a key that its ticket is to have, the key is noted before the
kernel is called, together with the number of the next ticket (``Keys.left``). Whoever finds the
note looks whether that ticket has been handed out since: if so it gets its key, and if not, nothing
has happened (``Keys.finish``).

Where there are more kernels, they are called by one function of C, which puts their answers into a
list: an interrupt finds none of them there or all. What is left to be done in Python then follows
from the answers. It may be interrupted and done again, until an assignment without a call ends it.

Either way the next event, or a snapshot, comes only after what was left is done.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import starmap, takewhile
from operator import call, is_not
from typing import Any

Call = tuple[Any, ...]
"""A function of C, and its arguments."""

is_ticket: Callable[[Any], bool] = (0,).__le__
"""Tells of (ticket, value) whether that is no refusal, without a call of Python code."""
is_status: Callable[[Any], bool] = (0).__le__
"""Tells of a status, or a ticket alone, whether it is no refusal, without a call of Python code."""
is_answer: Callable[[Any], bool] = partial(is_not, None)
"""Tells of what is called directly whether it did not decline, without a call of Python code."""
NO_KERNEL: tuple[Call] = ((int,),)
"""Calls of an event that asks no kernel."""


def together(*calls: Call) -> None:
    """Make calls of functions of C that refuse nothing, as one.

    >>> numbers = [1]
    >>> together((numbers.append, 2), (numbers.reverse,))
    >>> numbers
    [2, 1]
    """
    deque(starmap(call, calls), maxlen=0)


class Whole:
    """What was begun and has not come to its end.

    >>> whole, heard = Whole(), []
    >>> whole.ask(((max, 3, 5), (min, 3, 5)), is_status, heard.extend)
    >>> heard, whole.left is None
    ([5, 3], True)
    """

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left: tuple[tuple[Call, ...], list[Any], Callable[[list[Any]], Any]] | None = None

    def ask(
        self,
        calls: tuple[Call, ...],
        is_taken: Callable[[Any], bool] | None,
        then: Callable[[list[Any]], Any],
    ) -> Any:
        """Make calls, up to the first that is refused, and do with the answers what comes then.

        Returns what that returns, and None if the first call is refused: it has changed nothing.
        Without ``is_taken`` every answer is taken, and refusals are told then.
        Whoever does something ``then`` that cannot be done twice ends it by ``left = None``.
        """
        answers: list[Any] = []
        self.left = calls, answers, then
        made = starmap(call, calls)
        try:
            answers.extend(made if is_taken is None else takewhile(is_taken, made))
        except BaseException:
            self.finish()
            raise
        return self.finish()

    def finish(self) -> Any:
        """Do what is left of an event whose calls have been made."""
        if self.left is None:
            return None
        calls, answers, then = self.left
        found = None
        if answers:
            if len(answers) < len(calls):  # it was refused, or there was no memory for its answer
                answers.extend(starmap(call, calls[len(answers) :]))
            found = then(answers)
        self.left = None
        return found
