"""The parts of ``f``, named."""

from __future__ import annotations

from typing import NamedTuple

from belated.arrays import Floats, Ints
from belated.kernels.jit import leaf, limb
from belated.kernels.knobs import layout as L
from belated.kernels.learners.state import State
from belated.kernels.slots import ints as N
from belated.kernels.vectors import vector

_sizes, _places = leaf(L.sizes), leaf(L.places)


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
    has = _sizes(k, c)
    p = _places(has, k, c)
    tilde = p.work + has.most
    solution = tilde + L.SETS * has.most
    draw = solution + has.most
    chebyshev = draw + has.most
    x = chebyshev + (has.order + 1) * k
    context = x + 4 * k
    random = context + c
    return Room(
        f=f,
        k=k,
        base=has.base,
        cosines=has.cosines,
        most=has.most,
        order=has.order,
        knobs=f[p.knobs : p.table],
        table=f[p.table : p.prior],
        points=has.points,
        prior=f[p.prior : p.members],
        members=f[p.members : p.means],
        means=f[p.means : p.a],
        a=f[p.a : p.b],
        b=f[p.b : p.solved],
        solved=f[p.solved : p.blocks],
        blocks=f[p.blocks : p.buffer],
        buffer=f[p.buffer : p.work],
        phi=f[p.work : tilde],
        tilde=f[tilde:solution],
        solution=f[solution:draw],
        draw=f[draw:chebyshev],
        chebyshev=f[chebyshev:x],
        x=f[x : x + k],
        other=f[x + k : x + 2 * k],
        low=f[x + 2 * k : x + 3 * k],
        high=f[x + 3 * k : context],
        context=f[context:random],
        random=f[random : random + k + 4],
        values=f[p.values : p.kept],
    )


@leaf
def tickets_of(f: Floats, n: Ints) -> State:
    """Name the parts that tickets are in."""
    f, n = vector(f), vector(n)
    nothing = f[:0]
    return State(
        f=f,
        n=n,
        z=nothing,
        p=nothing,
        work=nothing,
        chart=nothing,
        table=n[N.HEADER : N.HEADER + 2 * n[N.CAPACITY]],
        own=nothing,
        kept=f[n[N.KEPT_AT] : f.size],
    )
