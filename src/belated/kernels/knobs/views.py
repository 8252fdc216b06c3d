"""The parts of ``f`` by name."""

from __future__ import annotations

from typing import NamedTuple

from belated.arrays import Floats, Ints
from belated.kernels.jit import leaf, limb
from belated.kernels.knobs import layout as L
from belated.kernels.slots import ints as N
from belated.kernels.state import State
from belated.kernels.vectors import vector

_sizes = leaf(L.sizes)


class Views(NamedTuple):
    """Views of ``f`` in the order in which they stand there; from ``phi`` on they are workspace."""

    f: Floats
    k: int  # number of knobs
    base: int  # quadratic features; the cosines come after them
    most: int  # features in all
    order: int  # highest cosine
    points: int  # points of the grid along one knob
    start: Floats
    step: Floats  # largest step of each knob
    levels: Floats  # values that a knob can have; 0: any
    last: Floats  # last play of the learner
    table: Floats  # points of the grid, and their cosines from order 0 on
    prior: Floats  # prior precision of each feature in units of the variance of y
    prior_weights: Floats
    weights: Floats  # posterior weight of every model
    noise: Floats  # s^2 of every set
    a: Floats
    b: Floats
    factor: Floats  # triangle U of every set, U'U = A + s^2 P
    whitened: Floats  # U'^-1 (b + s^2 P m) of every set
    blocks: Floats  # a ring of blocks, and one for answers whose block was overwritten
    buffer: Floats
    phi: Floats  # features of a play
    net: Floats  # features less the mean of the block
    expected: Floats  # prediction of every model ...
    variances: Floats  # ... and its variance in units of s^2
    scratch: Floats
    draw: Floats  # coefficients of the surface that a play minimises
    chebyshev: Floats  # cosines of every knob, from order 0 on
    x: Floats  # the place that is worked on
    low: Floats
    high: Floats
    context: Floats
    random: Floats
    values: Floats  # values of the grid
    search: Floats  # workspace of ``constrained_min``
    work: int  # where the workspace begins
    end: int  # where the constraints begin


def name_parts(f: Floats, n: Ints, has: L.Sizes) -> Views:
    """Return the views; of an empty array they are empty, and ``end`` is still right."""
    k, c = n[N.DIM], n[N.OWN]
    triangle = has.most * (has.most + 1) // 2
    knobs = L.HISTORY + L.STRETCHES * L.OF_STRETCH
    table = knobs + 4 * k
    prior = table + has.points * (has.order + 2)
    models = prior + has.most
    noise = models + 2 * L.MODELS
    a = noise + L.SETS
    b = a + L.SETS * triangle
    factor = b + L.SETS * has.most
    whitened = factor + L.SETS * triangle
    blocks = whitened + L.SETS * has.most
    buffer = blocks + (L.RING + 1) * (L.SUMS + has.most)
    phi = buffer + has.waits * (L.OF_ANSWER + k + c)
    scratch = phi + 2 * has.most + 2 * L.MODELS
    chebyshev = scratch + 2 * has.most
    x = chebyshev + (has.order + 1) * k
    context = x + 3 * k
    random = context + c
    values = random + k + 4
    search = values + has.points * (has.points if k == 2 else 1)
    end = search + 3 * k + n[L.LIMITS]
    return Views(
        f=f,
        k=k,
        base=has.base,
        most=has.most,
        order=has.order,
        points=has.points,
        start=f[knobs : knobs + k],
        step=f[knobs + k : knobs + 2 * k],
        levels=f[knobs + 2 * k : knobs + 3 * k],
        last=f[knobs + 3 * k : table],
        table=f[table:prior],
        prior=f[prior:models],
        prior_weights=f[models : models + L.MODELS],
        weights=f[models + L.MODELS : noise],
        noise=f[noise:a],
        a=f[a:b],
        b=f[b:factor],
        factor=f[factor:whitened],
        whitened=f[whitened:blocks],
        blocks=f[blocks:buffer],
        buffer=f[buffer:phi],
        phi=f[phi : phi + has.most],
        net=f[phi + has.most : phi + 2 * has.most],
        expected=f[phi + 2 * has.most : scratch - L.MODELS],
        variances=f[scratch - L.MODELS : scratch],
        scratch=f[scratch : scratch + has.most],
        draw=f[scratch + has.most : chebyshev],
        chebyshev=f[chebyshev:x],
        x=f[x : x + k],
        low=f[x + k : x + 2 * k],
        high=f[x + 2 * k : context],
        context=f[context:random],
        random=f[random:values],
        values=f[values:search],
        search=f[search:end],
        work=phi,
        end=end,
    )


def python_views(f: Floats, n: Ints) -> Views:
    """Return the views outside of kernels."""
    return name_parts(f, n, L.sizes(int(n[N.DIM]), int(n[N.OWN])))


_name_parts = leaf(name_parts)


@limb
def views_of(f: Floats, n: Ints) -> Views:
    """Name the parts of ``f``."""
    return _name_parts(vector(f), vector(n), _sizes(n[N.DIM], n[N.OWN]))


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
