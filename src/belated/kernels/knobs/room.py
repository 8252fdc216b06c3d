"""The parts of ``f``, named."""

from __future__ import annotations

from typing import NamedTuple

from belated.arrays import Floats, Ints
from belated.kernels.jit import leaf, limb
from belated.kernels.knobs import layout as L
from belated.kernels.learners.state import State
from belated.kernels.slots import ints as N
from belated.kernels.vectors import vector

_places = leaf(L.places)


class Room(NamedTuple):
    """What every leaf takes."""

    f: Floats
    k: int
    """Knobs."""
    base: int
    """Features of quadratics; then come those of cosines, then trends."""
    cosines: int
    most: int
    """Features in all."""
    order: int
    """The highest cosine."""
    knobs: Floats
    """Of each knob: start, largest step, levels, last play."""
    table: Floats
    """Points of the grid, and the cosines there, from that of order 0 on."""
    points: int
    prior: Floats
    """Precisions of the features."""
    members: Floats
    means: Floats
    """theta of every member."""
    a: Floats
    b: Floats
    solved: Floats
    """Triangles U of every member, U'U = A + s^2 P."""
    blocks: Floats
    buffer: Floats
    phi: Floats
    """Features of a play, without trends."""
    tilde: Floats
    """For every set: the features less those of contemporaries."""
    solution: Floats
    draw: Floats
    """Coefficients that a play minimises."""
    chebyshev: Floats
    """Cosines of every knob, from that of order 0 on."""
    x: Floats
    """The play in hand."""
    other: Floats
    low: Floats
    high: Floats
    context: Floats
    random: Floats
    values: Floats
    """Of the grid."""


@limb
def room_of(f: Floats, n: Ints) -> Room:
    """Name the parts of ``f``."""
    f, n = vector(f), vector(n)
    k = n[N.DIM]
    c = n[N.OWN]
    p = _places(k, c)
    most = p.most
    at = p.work + most
    wide = L.SETS * most
    cosines = at + wide + 2 * most
    x = cosines + (p.order + 1) * k
    return Room(
        f,
        k,
        p.base,
        p.cosines,
        most,
        p.order,
        f[p.knobs : p.table],
        f[p.table : p.prior],
        p.points,
        f[p.prior : p.members],
        f[p.members : p.means],
        f[p.means : p.a],
        f[p.a : p.b],
        f[p.b : p.solved],
        f[p.solved : p.blocks],
        f[p.blocks : p.buffer],
        f[p.buffer : p.work],
        f[p.work : at],
        f[at : at + wide],
        f[at + wide : at + wide + most],
        f[at + wide + most : at + wide + 2 * most],
        f[cosines:x],
        f[x : x + k],
        f[x + k : x + 2 * k],
        f[x + 2 * k : x + 3 * k],
        f[x + 3 * k : x + 4 * k],
        f[x + 4 * k : x + 4 * k + c],
        f[x + 4 * k + c : x + 5 * k + c + 4],
        f[p.work + p.values : p.kept],
    )


@leaf
def tickets_of(f: Floats, n: Ints) -> State:
    """Name the parts that tickets are in."""
    f, n = vector(f), vector(n)
    nothing = f[:0]
    return State(
        f,
        n,
        nothing,
        nothing,
        nothing,
        nothing,
        n[N.HEADER : N.HEADER + 2 * n[N.CAPACITY]],
        nothing,
        f[n[N.KEPT_AT] : f.size],
    )
