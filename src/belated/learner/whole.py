"""Events that are whole: an interrupt, or a lack of memory to grow, changes nothing or all.

Nothing is said of memory that is lacking for the few bytes of an answer itself.

Python handles signals when a function begins, when a loop turns back, and after a call of C code
has returned; never while C code is at work, nor between assignments without a call.

Where an event is one kernel, and a key that its ticket is to have, the key is noted before the
kernel is called, together with the number of the next ticket (``Keys.left``). Whoever finds the
note looks whether that ticket has been handed out since: if so it gets its key, and if not, nothing
has happened (``Keys.finish``).

Where more belongs to an event, all that does not need the answers of kernels is computed first and
noted, beside a list for these (``Whole.left``). Kernels are called by C code alone, which puts
their answers into that list: an interrupt finds none of them there or all. (Where the counts of one
model tell whether its kernel was called, the list is not needed, and what comes then looks at
them.) What comes then only puts into place what is noted or follows from the answers, so that it
may be interrupted and done again, until an assignment ends it (``Whole.finish``).

Either way the next event, or a snapshot, comes only after what was left is done.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import starmap
from operator import call
from typing import Any

Call = tuple[Any, ...]
"""A function of C, and its arguments."""
Left = tuple[Callable[..., Any], list[Any], tuple[Call, ...], tuple[Any, ...]]
"""What comes then, the answers so far, the calls after the first, and what was noted."""
_TRIES = 5


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

    >>> whole, answers, heard = Whole(), [], []
    >>> whole.left = lambda answers, name: heard.append((name, *answers)), answers, (), ("a",)
    >>> answers += map(max, (3,), (5,))
    >>> whole.finish()
    >>> heard, whole.left is None
    ([('a', 5)], True)
    """

    __slots__ = ("_failed", "left")

    def __init__(self) -> None:
        self.left: Left | None = None
        self._failed = 0

    def finish(self) -> Any:
        """Do what comes then, if the first call was made and not refused; return what it returns.

        Calls after the first are made again where there is no answer: that was a refusal, or there
        was no memory for it. What comes then may be interrupted, by a handler that raises anything,
        and stays to be done. What fails again and again is no interrupt, and is given up on, as
        nothing could be done with its owner any more.
        """
        if self.left is None:
            return None
        then, answers, more, noted = self.left
        found = None
        if answers:
            if more and len(answers) <= len(more):
                answers += starmap(call, more[len(answers) - 1 :])
            try:
                found = then(answers, *noted)
            except Exception:
                self._failed += 1
                if self._failed >= _TRIES:
                    self.left, self._failed = None, 0
                raise
        self.left, self._failed = None, 0
        return found
