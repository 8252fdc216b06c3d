"""Weinberger and Ordentlich: as many copies as a fixed delay needs, taking turns."""

from __future__ import annotations

from dataclasses import dataclass

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
    is_busy,
    make_copy,
)
from belated.timeline import Timeline


@leaf
def _turn(s: State, ticket: int) -> int:
    """Return the number of the copy that plays a ticket; the own region is the number of copies."""
    return ticket % int(s.own[0]) + 1


@leaf
def _predict(code: Code, s: State, x: Floats) -> int:
    """Let the copy play whose turn it is; its last answer must be in."""
    ticket = int(s.n[N.ROUNDS])
    number = _turn(s, ticket)
    is_new = number > s.n[N.MADE]
    if not is_new and is_busy(s, number):
        return S.OUT_OF_ORDER
    if not has_room(s) or (is_new and not has_room_for_copy(s)):
        return S.FULL
    if is_new:
        make_copy(s)
    open_ticket(s)
    events.predict_ours(code, copy_of(s, number), x)
    return ticket


@leaf
def _observe(code: Code, s: State, ticket: int, answer: Floats) -> int:
    """Pass an answer on to the copy that played."""
    entry = locate(s, ticket)
    if entry < 0:
        return entry
    return answer_copy(code, s, entry, _turn(s, ticket), answer)


@leaf
def _cancel(code: Code, s: State, ticket: int) -> int:
    """Let the copy that played do without its answer."""
    entry = locate(s, ticket)
    if entry < 0:
        return entry
    return cancel_copy(code, s, entry, _turn(s, ticket))


_METHOD = enter(number_of("WeinbergerOrdentlich"), _predict, _observe, _cancel)


def _is_sound(memory: Memory) -> bool:
    """Tell whether the copies that wait are those whose tickets are open."""
    copies, made = int(memory.own[0]), int(memory.n[N.MADE])
    open_now = memory.entries[memory.entries[:, 1] >= 0, 0]
    return (
        made == min(memory.rounds, copies)
        and are_busy(memory, open_now % copies + 1)
        and have_seeds(memory)
    )


@dataclass(frozen=True, repr=False)
class WeinbergerOrdentlich(CopyingRival, module="rivals"):
    """Round t is played by copy t mod (d + 1) of a learner; no answer takes longer than d rounds.

    A copy plays again d + 1 rounds later, when its answer is in, so it never meets a delay.
    ``base`` is FirstOrder, OnePoint or TwoPoint over PFTRL or OMD. Copies explore independently;
    with d = 0 there is one copy, which plays as the base would.

    Answers that come earlier, in any order, do no harm, so any d that no delay exceeds will do; a
    prediction is refused while the copy whose turn it is still waits.

    Guarantee: (d + 1) Reg(T / (d + 1)) for a base with concave regret Reg; over gradient steps with
    rates.DelayAdaptive 1.5 G D sqrt((d + 1) T).
    Reference: Weinberger and Ordentlich, "On delayed prediction of individual sequences", IEEE
    Transactions on Information Theory 2002.

    >>> from belated import OMD, Ball, FirstOrder, rates
    >>> WeinbergerOrdentlich(FirstOrder(OMD(Ball(3), rates.Tight(1.0))), delay=4).feedback
    'gradient'
    """

    title = "Weinberger-Ordentlich"
    reference = "Weinberger and Ordentlich 2002"
    memory = "copies of the base, made as they are needed, at most d + 1"
    guarantee = "(d + 1) Reg(T / (d + 1))"
    order = "any order up to the delay told; a lost answer is lost to its copy only"

    delay: int | None = None

    def program(self) -> Program:
        """Return what the kernels run; the own region is the number of copies."""
        return self.copying(_METHOD, own=(float(self._fact("delay") + 1),), sound=_is_sound)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """(d + 1) Reg(T / (d + 1)) for the delay d that it was told, where Reg is known."""
        delay = self._fact("delay")
        return None if timeline.max_delay > delay else self.shared_bound(timeline, delay + 1)
