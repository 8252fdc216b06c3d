"""BOLD: any copy that waits for nothing plays; if all wait, one more is made."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from belated.arrays import Code, Floats
from belated.bounds import Bound
from belated.kernels.jit import leaf
from belated.kernels.learners import events
from belated.kernels.learners.methods import enter, number_of
from belated.kernels.learners.state import State
from belated.kernels.slots import ints as N
from belated.kernels.slots import status as S
from belated.kernels.tickets import has_room, locate, open_ticket
from belated.learner.program import Program
from belated.learner.state import Memory
from belated.rivals.copies import (
    CopyingRival,
    answer_copy,
    are_busy,
    cancel_copy,
    copy_of,
    has_room_for_copy,
    have_seeds,
    make_copy,
)
from belated.timeline import Timeline


@leaf
def _take(s: State) -> int:
    """Return the copy that was freed last, or a new one."""
    number = int(s.n[N.FREE])
    if number == 0:
        return make_copy(s)
    s.n[N.FREE] = copy_of(s, number).n[N.LINK]
    return number


@leaf
def _free(s: State, number: int) -> None:
    """Let a copy be the next one to play."""
    copy_of(s, number).n[N.LINK] = s.n[N.FREE]
    s.n[N.FREE] = number


@leaf
def _predict(code: Code, s: State, x: Floats) -> int:
    """Let a free copy play, and remember which."""
    if not has_room(s) or (s.n[N.FREE] == 0 and not has_room_for_copy(s)):
        return S.FULL
    number = _take(s)
    ticket = int(s.n[N.ROUNDS])
    s.kept[open_ticket(s) * s.n[N.KEEP]] = number
    events.predict_ours(code, copy_of(s, number), x)
    return ticket


@leaf
def _observe(code: Code, s: State, ticket: int, answer: Floats) -> int:
    """Pass an answer on to the copy that played, and free it."""
    entry = locate(s, ticket)
    if entry < 0:
        return entry
    number = int(s.kept[entry * s.n[N.KEEP]])
    status = answer_copy(code, s, entry, number, answer)
    if status >= 0:
        _free(s, number)
    return status


@leaf
def _cancel(code: Code, s: State, ticket: int) -> int:
    """Free the copy that played, without an answer."""
    entry = locate(s, ticket)
    if entry < 0:
        return entry
    number = int(s.kept[entry * s.n[N.KEEP]])
    status = cancel_copy(code, s, entry, number)
    _free(s, number)
    return status


_METHOD = enter(number_of("BOLD"), _predict, _observe, _cancel)


def _is_sound(memory: Memory) -> bool:
    """Tell whether every open ticket has a copy that waits, and all others are in the list."""
    numbers = memory.records[memory.entries[:, 1] >= 0, 0]
    made, number = int(memory.n[N.MADE]), int(memory.n[N.FREE])
    free: list[int] = []
    while 1 <= number <= made and len(free) < made:
        free.append(number)
        number = int(memory.copies[1][number, N.LINK])
    everybody = np.sort(np.concatenate([numbers, free]))
    return (
        number == 0
        and np.array_equal(everybody, np.arange(1, made + 1))
        and are_busy(memory, numbers)
        and have_seeds(memory)
    )


@dataclass(frozen=True, repr=False)
class BOLD(CopyingRival, module="rivals"):
    """Black-box online learning under delayed feedback.

    A copy of ``base`` plays a round and waits for its answer; meanwhile other copies play. A new
    copy is made only when all wait, so there are sigma_max + 1 of them in the end. Among those
    that are free, the one freed last plays, which concentrates the answers in few copies.

    ``base`` is FirstOrder, OnePoint or TwoPoint over PFTRL or OMD; it should not need a horizon,
    as nobody knows how many rounds a copy will get. Copies explore independently; without delay the
    first one plays alone, as the base would.

    Guarantee: (sigma_max + 1) Reg(T / (sigma_max + 1)) for a base with concave regret Reg; over
    gradient steps with rates.DelayAdaptive 1.5 G D sqrt((sigma_max + 1) T).
    Reference: Joulani, Gyorgy and Szepesvari, "Online learning under delayed feedback", ICML 2013.

    >>> from belated import OMD, Ball, FirstOrder, rates
    >>> BOLD(FirstOrder(OMD(Ball(3), rates.DelayAdaptive(1.0)))).feedback
    'gradient'
    """

    reference = "Joulani, Gyorgy and Szepesvari 2013"
    memory = "sigma_max + 1 copies of the base"
    guarantee = "(sigma_max + 1) Reg(T / (sigma_max + 1))"
    order = "any order; a lost answer is lost to its copy only"

    def program(self) -> Program:
        """Return what the kernels run; a ticket keeps the number of its copy."""
        return self.copying(_METHOD, keep=1, sound=_is_sound)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """(sigma_max + 1) Reg(T / (sigma_max + 1)), where Reg is known."""
        return self.shared_bound(timeline, timeline.max_backlog + 1)
