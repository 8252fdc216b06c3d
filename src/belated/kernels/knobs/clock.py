"""The clock of knobs whose deadline is a length of time.

The length and the time now stand right before what is kept per ticket, whose last number is when it
is due. The clock never goes back and all tickets get the same time, so they are due in their order.
"""

from __future__ import annotations

from belated.arrays import Ints
from belated.kernels.jit import leaf
from belated.kernels.knobs import layout as L
from belated.kernels.slots import ints as N
from belated.kernels.state import State
from belated.kernels.tickets import forget_oldest, oldest_open

_GHOSTS = 900  # tickets past their time that are remembered: so many, and ...
_PER_OPEN = 8  # ... so many for each that is open


@leaf
def has_clock(n: Ints) -> bool:
    """Tell whether deadlines are lengths of time, and no numbers of rounds."""
    return n[N.PATIENCE] == L.BY_CLOCK


@leaf
def advance(s: State, at: float) -> None:
    """Let the clock go on to ``at``; an earlier time, or NaN, changes nothing."""
    now = s.n[N.KEPT_AT] - 1
    if at > s.f[now]:
        s.f[now] = at


@leaf
def set_due(s: State, entry: int) -> None:
    """Note when the newest ticket is due."""
    now = s.n[N.KEPT_AT] - 1
    s.kept[(entry + 1) * s.n[N.KEEP] - 1] = s.f[now] + s.f[now - 1]


@leaf
def past_due(s: State) -> int:
    """Return the entry of the oldest open ticket if it was due before now, or -1."""
    if oldest_open(s) == s.n[N.ROUNDS]:
        return -1
    head = s.n[N.HEAD]
    due = s.kept[(head + 1) * s.n[N.KEEP] - 1]
    return head if due < s.f[s.n[N.KEPT_AT] - 1] else -1


@leaf
def forget(s: State) -> None:
    """Forget the oldest of the tickets past their time, when they are too many."""
    forget_oldest(s, _GHOSTS + _PER_OPEN * (s.n[N.ROUNDS] - s.n[N.ARRIVED]))
