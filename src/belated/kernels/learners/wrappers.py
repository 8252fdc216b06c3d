"""Wrappers: when a learner gives up on an answer by itself.

A wrapper brings two leaves, both for the moment before a prediction:

=============  ===================================================================================
start(s)       whatever is counted once per round
overdue(s)     the entry of the open ticket to give up on next, or -1; tickets go in their order
=============  ===================================================================================

``overdue`` is asked again until it says -1. It may set ``n[CALM]``, before which it need not be
asked. Closing, counting and forgetting are the same for all (``events``, ``tickets``), but for
``Capacity``: what it loses is not fed, and forgotten at once.
"""

from __future__ import annotations

from belated.arrays import Code
from belated.kernels import tickets
from belated.kernels.choices import switch
from belated.kernels.jit import leaf
from belated.kernels.learners import tracking
from belated.kernels.learners.state import State
from belated.kernels.parts import Part, Parts
from belated.kernels.slots import code as C
from belated.kernels.slots import kinds as K


@leaf
def _count_nothing(code: Code, s: State) -> None:
    pass


@leaf
def _sum_open(code: Code, s: State) -> None:
    tickets.sum_open(s)


@leaf
def _none(code: Code, s: State) -> int:
    return -1


@leaf
def _too_old(code: Code, s: State) -> int:
    return tickets.overdue(s)


@leaf
def _too_many(code: Code, s: State) -> int:
    return tracking.overdue(code, s)


WRAPPERS = Parts(
    "wrapper",
    Part("none", K.UNWRAPPED, start=_count_nothing, overdue=_none),
    Part("Skip", 1, start=_sum_open, overdue=_too_old),
    Part("Deadline", 2, start=_count_nothing, overdue=_too_old),
    Part("Capacity", 3, start=_count_nothing, overdue=_too_many),
)

# Count what a wrapper counts once per round.
count_round = switch(C.WRAPPER, WRAPPERS.choices("start"))
# Return the entry to give up on before the next prediction, or -1.
next_overdue = switch(C.WRAPPER, WRAPPERS.choices("overdue"))
