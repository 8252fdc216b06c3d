"""Plays: Thompson sampling over the members, exploring at first, the start by coin.

A window is drawn in proportion to the fourth power of its weight, a member in it by weight, and
then theta~ = theta + 0.43 s U^-1 xi with normal xi; the play is where that is least. All randomness
is a function of (seed, ticket).

Before there is a unit, plays are wide in a share 0.6 (11 + 2k + k(k-1)/2) / (t + 1) of the rounds,
as many at first as there are coefficients. All others are near the start, and the nearer the longer
nothing is heard: what D rounds in the dark can pay back is in proportion to sqrt(D), and so must be
the sum of their squared radii.
"""

from __future__ import annotations

import math

from belated.arrays import Code, Floats, Ints
from belated.kernels.directions import normals, philox
from belated.kernels.jit import leaf, limb
from belated.kernels.knobs import layout as L
from belated.kernels.knobs.features import write_features
from belated.kernels.knobs.members import (
    backward,
    forward,
    leading,
    size_of,
    triangle_at,
    window_of,
)
from belated.kernels.knobs.minimum import minimise_by_knob, minimise_on_grid
from belated.kernels.knobs.room import room_of
from belated.kernels.knobs.within import minimise_within
from belated.kernels.slots import ints as N

UNIFORM, NORMAL = 48, 49  # second words of counters, beside those of directions and choosers
_WORD = 0xFFFFFFFF
_INVERSE = 2.3283064365386963e-10  # 2^-32
_SLACK = 1e-6  # of a level: what a step lacks by rounding
_DOUBT = 0.43  # of the deviation of coefficients: what a play is drawn with
_WIDE = 0.7  # sum of the squared radii of all knobs, of wide plays
_NEAR, _NEARER = 0.3, 0.5  # radius of others in round t: min(_NEAR, _NEARER (t + 1)^(-1/4))


@leaf
def _write_uniforms(u: Floats, t: int, low: int, high: int) -> None:
    """Fill u with numbers in (0, 1) that belong to ticket t."""
    block = t - t
    filled = block
    while filled < u.size:
        w0, w1, w2, w3 = philox(block, block - block + UNIFORM, t & _WORD, t >> 32, low, high)
        for i in range(4):
            word = w0 if i == 0 else (w1 if i == 1 else (w2 if i == 2 else w3))
            if filled < u.size:
                u[filled] = (word + 0.5) * _INVERSE
            filled += 1
        block += 1


@leaf
def _pick(members: Floats, mass_of: Floats, by_window: float, by_member: float) -> int:
    """Return a member: a window by the fourth power of its weight, then one in it by weight."""
    total = 0.0
    for w in range(L.WINDOWS):
        mass = 0.0
        for i in range(L.OF_WINDOW):
            mass += members[(L.OF_WINDOW * w + i) * L.OF_MEMBER + L.WEIGHT]
        mass_of[w] = mass
        total += mass * mass * mass * mass
    left = by_window * total
    window = 0
    for w in range(L.WINDOWS):
        mass = mass_of[w]
        if left >= 0.0:
            window = w
        left -= mass * mass * mass * mass
    left = by_member * mass_of[window]
    member = L.OF_WINDOW * window
    for i in range(L.OF_WINDOW):
        weight = members[(L.OF_WINDOW * window + i) * L.OF_MEMBER + L.WEIGHT]
        if left >= 0.0 and weight > 0.0:
            member = L.OF_WINDOW * window + i
        left -= weight
    return member


@leaf
def _now(f: Floats, g: int, t: int) -> float:
    """Return u of round t in a set with a window, no more than half a window after the last one."""
    window, origin = window_of(g // L.LEVELS), f[L.ORIGIN + g // L.LEVELS]
    latest = int(f[L.LATEST]) // L.BLOCK * L.BLOCK
    return min((t // L.BLOCK * L.BLOCK - origin) / window, (latest - origin) / window + 0.5)


@limb
def _sample(f: Floats, n: Ints, member: int, t: int, amount: float) -> None:
    """Write the coefficients of a play: theta and ``amount`` times its uncertainty."""
    r = room_of(f, n)
    g, kind = member // L.TYPES, member % L.TYPES
    m, plain = size_of(r.k, r.base, r.cosines, kind), r.base + r.cosines
    theta = r.means[member * r.most : member * r.most + m]
    noise = r.solution[0:m]
    for i in range(m):
        noise[i] = 0.0
    if amount > 0.0:
        normals(noise, t - t + NORMAL, t, n[N.SEED_LOW], n[N.SEED_HIGH])
        start = triangle_at(r.k, r.base, r.cosines, g, kind)
        backward(r.solved[start : start + m * (m + 1) // 2], noise, m)
    scale = amount * math.sqrt(r.members[member * L.OF_MEMBER + L.NOISE])
    for i in range(r.base):
        r.draw[i] = theta[i] + scale * noise[i]
    for i in range(r.base, plain):
        r.draw[i] = theta[i] + scale * noise[i] if kind == L.COSINES else 0.0
    if kind == L.TREND:
        u = _now(f, g, t)
        for i in range(1 + r.k):
            r.draw[i] += u * (theta[r.base + i] + scale * noise[r.base + i])
    at = 1 + 2 * r.k + r.k * (r.k - 1) // 2
    for c in range(r.context.size):
        for i in range(1 + r.k):
            r.draw[i] += r.context[c] * r.draw[at + i]
            r.draw[at + i] = 0.0
        at += 1 + r.k


@leaf
def _reach(k: int, known: float) -> float:
    """Return how far from the start plays may be, as long as little is known: r0 (1/2 + n/3m)."""
    features = 1 + 2 * k + k * (k - 1) // 2
    return min(1.0, math.sqrt(_WIDE / k)) * (0.5 + known / (3.0 * features))


@limb
def propose(code: Code, f: Floats, n: Ints, t: int, is_best: bool) -> None:
    """Write the play of ticket t to x; or the best one, as far as is known."""
    r = room_of(f, n)
    k = r.k
    _write_uniforms(r.random, t, n[N.SEED_LOW], n[N.SEED_HIGH])
    if r.f[L.UNIT] == 0.0:
        rounds = 0.6 * (10.0 + 1 + 2 * k + k * (k - 1) // 2)
        near = min(_NEAR, _NEARER / math.sqrt(math.sqrt(t + 1.0)))
        radius = min(1.0, math.sqrt(_WIDE / k)) if r.random[3] * (t + 1.0) < rounds else near
        if is_best:
            radius = 0.0
        for i in range(k):
            start = r.knobs[i]
            r.x[i] = start + radius * (2.0 * r.random[4 + i] - 1.0 - start)
        return
    member = leading(r.members, 0, L.MEMBERS)
    if not is_best:
        member = _pick(r.members, r.solution, r.random[1], r.random[2])
    _sample(f, n, member, t, 0.0 if is_best else _DOUBT)
    reach = _reach(k, f[L.COUNT])
    for i in range(k):
        start = r.knobs[i]
        r.low[i] = max(start - reach, -1.0)
        r.high[i] = min(start + reach, 1.0)
        r.x[i] = min(max(r.knobs[L.LAST * k + i], r.low[i]), r.high[i])
    is_rough = member % L.TYPES == L.COSINES
    if code[L.LIMITED]:
        minimise_within(f, n, is_rough)
    elif k > 2:
        minimise_by_knob(f, n, is_rough)
    else:
        minimise_on_grid(f, n, is_rough)


@limb
def settle(places: Floats, knobs: Floats, is_free: bool) -> None:
    """Bring places to where settings can be: near the last play, on a level, whole in 2^-24."""
    k = places.size
    for i in range(k):
        x = places[i]
        step, levels, last = knobs[k + i], knobs[2 * k + i], knobs[L.LAST * k + i]
        if not is_free:
            x = min(max(x, last - step), last + step)
        if not x >= -1.0:
            x = -1.0
        x = min(x, 1.0)
        if levels > 1.0:
            level = math.floor(0.5 * (x + 1.0) * (levels - 1.0) + 0.5)
            if not is_free:
                here = math.floor(0.5 * (last + 1.0) * (levels - 1.0) + 0.5)
                most = math.floor(0.5 * step * (levels - 1.0) + _SLACK)
                level = min(max(level, here - most), here + most)
            x = 2.0 * level / (levels - 1.0) - 1.0
        place = math.floor((x + 1.0) * L.WIDE + 0.5)
        if levels <= 1.0 and not is_free:  # rounding takes no step that is too long
            place = max(place, -math.floor(-(last - step + 1.0) * L.WIDE))
            place = min(place, math.floor((last + step + 1.0) * L.WIDE))
        places[i] = place / L.WIDE - 1.0


@limb
def expect(f: Floats, n: Ints, given: Floats, out: Floats) -> None:
    """Write what a place in a context is expected to be worth, and the deviation of that."""
    r = room_of(f, n)
    member = leading(r.members, 0, L.MEMBERS)
    g, kind = member // L.TYPES, member % L.TYPES
    m, phi = size_of(r.k, r.base, r.cosines, kind), r.phi
    write_features(given[0 : r.k], given[r.k : given.size], r.order, r.chebyshev, phi)
    if kind == L.TREND:
        u = _now(f, g, n[N.ROUNDS])
        for i in range(1 + r.k):
            phi[r.base + i] = u * phi[i]
    theta = r.means[member * r.most : member * r.most + m]
    mean = 0.0
    for i in range(m):
        mean += theta[i] * phi[i]
    start = triangle_at(r.k, r.base, r.cosines, g, kind)
    forward(r.solved[start : start + m * (m + 1) // 2], phi, m)
    square = 0.0
    for i in range(m):
        square += phi[i] * phi[i]
    out[0] = mean
    out[1] = math.sqrt(square * r.members[member * L.OF_MEMBER + L.NOISE])
