"""The two state arrays with their parts named.

``f`` and ``n`` are all there is; the other fields are views into them, made once per entry so that
a loop over a whole game does not slice again.
"""

from __future__ import annotations

from typing import NamedTuple

from belated.arrays import Floats, Ints
from belated.kernels.jit import leaf
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.vectors import vector


class State(NamedTuple):
    """One learner's state, as every leaf takes it."""

    f: Floats
    """Parameters and scalars of the state; see ``slots.floats``."""
    n: Ints
    """Parameters and counters; see ``slots.ints``."""
    z: Floats
    """Current point of the base, in the chart."""
    p: Floats
    """What the base keeps: a normal vector of the set at z, log weights, or a running sum."""
    work: Floats
    """Passing work; no part of the state."""
    chart: Floats
    """Shift, then scale, low and high, as far as the chart has them."""
    table: Ints
    """Two words per ticket: its number, and how many answers had arrived when it was issued."""
    own: Floats
    """The method's own numbers and vectors, or the table of rates."""
    kept: Floats
    """KEEP numbers per entry of the table: the baseline, or what the method wants to remember."""


_padded = leaf(F.padded)


@leaf
def view(f: Floats, n: Ints) -> State:
    """Name the parts of the state."""
    f, n = vector(f), vector(n)
    k = n[N.DIM]
    room = _padded(k)
    z = F.HEADER
    chart = z + 3 * room
    return State(
        f=f,
        n=n,
        z=f[z : z + k],
        p=f[z + room : z + room + k],
        work=f[z + 2 * room : z + 2 * room + k],
        chart=f[chart : max(chart, n[N.OWN_AT])],  # room for a copy is all zero until there is one
        table=n[N.HEADER : N.HEADER + 2 * n[N.CAPACITY]],
        own=f[n[N.OWN_AT] : n[N.KEPT_AT]],
        kept=f[n[N.KEPT_AT] : f.size],
    )
