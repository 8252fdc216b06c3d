"""Members: Bayesian linear models over the sums of a set, their noise and their weights.

A member of a set with sums A and b looks at some of the features. With prior precisions P (a
diagonal) and means m,

    U'U = A + s^2 P,    theta = (U'U)^-1 (b + s^2 P m)

Of an answer with features phi~ and value y~, net of its contemporaries, it expects theta' phi~ with
variance v s^2, v = 1 + c + |U'^-1 phi~|^2; e is the difference. Its weight is multiplied by the
density of Student's distribution with 6 degrees of freedom, and s^2 follows the mean of e^2 / v
over the last RECENT answers, the same for all members: the noise may depend on the setting, and
then those with short memories would seem better only because their s^2 is younger. All members of a
set are weighed with the s^2 of the one that leads it. With its own, one with more features, whose v
is larger, has the smaller e^2 / v at first, and would seem better for that alone.

Prior variances, with S2 that of the values and q = min(1, 2/k): intercept 100 S2, linear 2 S2/kq,
squares 4 S2/kq^2 with mean 2 sqrt(S2/k)/q, as a bowl is likely, products 4 S2/(kq)^2, context
2 S2/k, trends 50 S2/kq, cosines 2 S2 in all. S2 is looked at again after 16, 32, .., 512 answers.
"""

from __future__ import annotations

import math

from belated.arrays import Floats, Ints
from belated.kernels.exact import exp, ln
from belated.kernels.jit import leaf, limb
from belated.kernels.knobs import layout as L
from belated.kernels.knobs.room import Room, room_of

_LEAST_NOISE = 1e-6  # of s^2, as a part of S2
_LEAST_PIVOT = 1e-12


@leaf
def window_of(w: int) -> float:
    """Return for how many rounds answers count in a window; 0: for ever."""
    return 0.0 if w == 0 else (L.LONG if w == 1 else L.SHORT)


@leaf
def size_of(k: int, base: int, cosines: int, kind: int) -> int:
    """Return how many features a member of a type looks at."""
    return base + (cosines if kind == L.COSINES else (k + 1 if kind == L.TREND else 0))


@leaf
def triangle_at(k: int, base: int, cosines: int, g: int, kind: int) -> int:
    """Return where the triangle of a member of set g begins."""
    one, two, three = base, base + cosines, base + k + 1
    a, b, c = one * (one + 1) // 2, two * (two + 1) // 2, three * (three + 1) // 2
    return g * (a + b + c) + (0 if kind == L.QUADRATIC else (a if kind == L.COSINES else a + b))


# --- The prior -----------------------------------------------------------------------------------


@leaf
def near_of(k: int) -> float:
    """Return the square of how far from the start costs differ by S2: with many knobs, near it."""
    return min(1.0, 2.0 / k)


@limb
def write_prior(f: Floats, n: Ints) -> None:
    """Write the precisions that belong to S2, and have all members solved again."""
    r = room_of(f, n)
    k, prior = r.k, r.prior
    spread = r.f[L.SPREAD]
    near = near_of(k)
    prior[0] = 1.0 / (100.0 * spread)
    for i in range(1, r.most):
        prior[i] = k * near / (50.0 * spread)  # trends
    for i in range(1, 1 + k):
        prior[i] = k * near / (2.0 * spread)
    for i in range(1 + k, 1 + 2 * k):
        prior[i] = k * near * near / (4.0 * spread)
    products = 1 + 2 * k + k * (k - 1) // 2
    for i in range(1 + 2 * k, products):
        prior[i] = k * k * near * near / (4.0 * spread)
    for i in range(products, r.base):
        prior[i] = k / (2.0 * spread)  # context
    _write_prior_of_cosines(prior[r.base : r.base + r.cosines], k, r.order, spread)
    for g in range(L.SETS):
        r.f[L.SINCE + g] = math.inf


@leaf
def _write_prior_of_cosines(prior: Floats, k: int, order: int, spread: float) -> None:
    """2 S2 in all, in proportion to (1 + omega^2 ell^2 / 3)^-2 with omega = j pi / 2, ell = 1/2."""
    at = 0
    total = 0.0
    for i in range(k if k > 2 else order * (k - 1) + 1):
        first = 2 if k > 2 else (0 if i > 0 else 1)
        for j in range(first, order + 1 if k > 2 else order - i + 1):
            square = float(j * j) if k > 2 else float(i * i + j * j)
            prior[at] = _roughness(square)
            total += 1.0 / prior[at]
            at += 1
    for i in range(at):
        prior[i] *= total / (2.0 * spread)


@leaf
def _roughness(square: float) -> float:
    """Return (1 + omega^2 ell^2 / 3)^2 of a cosine with j^2 = square."""
    a = 1.0 + square * 0.20561675835602830  # (pi / 4)^2 / 3
    return a * a


# --- Solving -------------------------------------------------------------------------------------


@limb
def solve_due(f: Floats, n: Ints) -> None:
    """Solve the members of the sets that have heard enough since, 3 % of what they know."""
    r = room_of(f, n)
    for g in range(L.SETS):
        window = window_of(g // L.LEVELS)
        known = r.f[L.COUNT]
        if window > 0.0:
            known = min(known, window)
        if r.f[L.SINCE + g] >= 0.03 * known:
            r.f[L.SINCE + g] = 0.0
            fade = 1.0
            if window > 0.0:
                fade = exp(-max(r.f[L.LATEST] - r.f[L.ORIGIN + g // L.LEVELS], 0.0) / window)
            for kind in range(L.TYPES):
                if r.members[(L.TYPES * g + kind) * L.OF_MEMBER + L.SHARE] > 0.0:
                    _solve(f, n, g, kind, fade)


@limb
def _solve(f: Floats, n: Ints, g: int, kind: int, fade: float) -> None:
    """Write U and theta of a member."""
    r = room_of(f, n)
    m, most = size_of(r.k, r.base, r.cosines, kind), r.most
    jump = r.cosines if kind == L.TREND else 0  # trends come after the cosines
    noise = r.members[(L.TYPES * g + kind) * L.OF_MEMBER + L.NOISE]
    start = triangle_at(r.k, r.base, r.cosines, g, kind)
    u = r.solved[start : start + m * (m + 1) // 2]
    theta = r.means[(L.TYPES * g + kind) * most : (L.TYPES * g + kind) * most + m]
    bowl = 2.0 * math.sqrt(f[L.SPREAD] / r.k) / near_of(r.k)
    a0 = g * (most * (most + 1) // 2)
    at = 0
    for i in range(m):
        p = i if i < r.base else i + jump
        row = a0 + p * (2 * most - p - 1) // 2
        middle = max(i, min(r.base, m))
        for j in range(i, middle):
            u[at + j - i] = fade * r.a[row + j]
        for j in range(middle, m):
            u[at + j - i] = fade * r.a[row + jump + j]
        weight = noise * r.prior[p]
        u[at] += weight
        mean = bowl if r.k < i <= 2 * r.k else 0.0
        theta[i] = fade * r.b[g * most + p] + weight * mean
        at += m - i
    _factor(u, m)
    forward(u, theta, m)
    backward(u, theta, m)


@limb
def _factor(u: Floats, m: int) -> None:
    """Put U, with U'U = A, in the place of the upper triangle A; rows stand one after the other."""
    at = 0
    for i in range(m):
        pivot = math.sqrt(max(u[at], _LEAST_PIVOT))
        inverse = 1.0 / pivot
        u[at] = pivot
        for j in range(1, m - i):
            u[at + j] *= inverse
        row = at + m - i
        for j in range(1, m - i):
            factor = u[at + j]
            for q in range(j, m - i):
                u[row + q - j] -= factor * u[at + q]
            row += m - i - j
        at += m - i


@limb
def forward(u: Floats, z: Floats, m: int) -> None:
    """Put the solution of U'z = b in the place of b."""
    at = 0
    for i in range(m):
        value = z[i] / u[at]
        z[i] = value
        for j in range(1, m - i):
            z[i + j] -= value * u[at + j]
        at += m - i


@limb
def backward(u: Floats, z: Floats, m: int) -> None:
    """Put the solution of U z = b in the place of b."""
    at = m * (m + 1) // 2
    for back in range(m):
        i = m - 1 - back
        at -= m - i
        value = z[i]
        for j in range(1, m - i):
            value -= u[at + j] * z[i + j]
        z[i] = value / u[at]


# --- Weights -------------------------------------------------------------------------------------


@limb
def score(f: Floats, n: Ints, value: float, net: float, c: float) -> None:
    """Note what members make of an answer, which is ``net`` less c times what came beside it.

    Members without levels and those with them are looked at two by two: a solution is a chain, each
    number waiting for the one before, and two chains take little longer than one.
    """
    r = room_of(f, n)
    for w in range(L.WINDOWS):
        for kind in range(L.TYPES):
            one = L.OF_WINDOW * w + kind
            if r.members[one * L.OF_MEMBER + L.SHARE] > 0.0:
                _score_two(r, L.LEVELS * w, kind, value, net, c)


@leaf
def _score_two(r: Room, g: int, kind: int, value: float, net: float, c: float) -> None:
    """Score a member of set g, which has no levels, and the one beside it, which has."""
    most, base, y, z = r.most, r.base, r.solution, r.draw
    m = size_of(r.k, base, r.cosines, kind)
    jump = r.cosines if kind == L.TREND else 0
    one, other = L.TYPES * g + kind, L.TYPES * (g + 1) + kind
    plain, level = r.tilde[g * most : (g + 1) * most], r.tilde[(g + 1) * most : (g + 2) * most]
    a, b = r.means[one * most : one * most + m], r.means[other * most : other * most + m]
    size = m * (m + 1) // 2
    first = triangle_at(r.k, base, r.cosines, g, kind)
    second = triangle_at(r.k, base, r.cosines, g + 1, kind)
    u, v = r.solved[first : first + size], r.solved[second : second + size]
    for i in range(base):
        y[i] = plain[i]
        z[i] = level[i]
    for i in range(base, m):
        y[i] = plain[i + jump]
        z[i] = level[i + jump]
    expected, doubt, expected_net, doubt_net = 0.0, 1.0, 0.0, 1.0 + c
    at = 0
    for i in range(m):
        source = i if i < base else i + jump
        expected += a[i] * plain[source]
        expected_net += b[i] * level[source]
        p, q = y[i] / u[at], z[i] / v[at]
        doubt += p * p
        doubt_net += q * q
        for j in range(1, m - i):
            y[i + j] -= p * u[at + j]
        for j in range(1, m - i):
            z[i + j] -= q * v[at + j]
        at += m - i
    r.members[one * L.OF_MEMBER + L.ERROR] = value - expected
    r.members[one * L.OF_MEMBER + L.DOUBT] = doubt
    r.members[other * L.OF_MEMBER + L.ERROR] = net - expected_net
    r.members[other * L.OF_MEMBER + L.DOUBT] = doubt_net


@leaf
def reach(known: float) -> float:
    """Return how many deviations away a cost is believed: few at first, more after every cost.

    So a cost that is far from all others moves little, and costs that are often far, as sales are
    where most visits end without one, are soon believed as they are: s^2 follows them up to there.
    """
    return 3.0 + 0.5 * math.sqrt(known)


@leaf
def leading(members: Floats, first: int, count: int) -> int:
    """Return the member with the largest weight, of so many from the first on."""
    best = first
    for i in range(first + 1, first + count):
        if members[i * L.OF_MEMBER + L.WEIGHT] > members[best * L.OF_MEMBER + L.WEIGHT]:
            best = i
    return best


@limb
def weigh(f: Floats, members: Floats, company: float) -> None:
    """Let weights and noise follow an answer that was scored, with so many contemporaries.

    What nobody was played beside says little but where the level is, which is not asked for.
    """
    known, spread = f[L.COUNT] - f[L.PROVISIONAL], f[L.SPREAD]
    far = reach(known)
    top = -math.inf
    common = 0.0
    for i in range(L.MEMBERS):
        at = i * L.OF_MEMBER
        if i % L.TYPES == 0:
            common = members[leading(members, i, L.TYPES) * L.OF_MEMBER + L.NOISE]
        if members[at + L.SHARE] > 0.0:
            noise, doubt = members[at + L.NOISE], members[at + L.DOUBT]
            square = members[at + L.ERROR] * members[at + L.ERROR] / doubt
            level = -0.5 * ln(doubt * common) - 3.5 * ln(1.0 + square / (6.0 * common))
            level = level * (company + 0.25) / (company + 1.0) + ln(members[at + L.WEIGHT])
            members[at + L.ERROR] = level
            top = max(top, level)
            count = min(known, L.RECENT)
            felt = min(square, max(far * far * noise, spread))
            noise += (felt - noise) / (count + 3.0)
            members[at + L.NOISE] = max(noise, _LEAST_NOISE * spread)
    total = 0.0
    for i in range(L.MEMBERS):
        at = i * L.OF_MEMBER
        if members[at + L.SHARE] > 0.0:
            members[at + L.WEIGHT] = exp(members[at + L.ERROR] - top)
            total += members[at + L.WEIGHT]
    shared = 1.0 / (known + 100.0)
    for i in range(L.MEMBERS):
        at = i * L.OF_MEMBER
        own = (1.0 - shared) * members[at + L.WEIGHT] / total
        members[at + L.WEIGHT] = own + shared * members[at + L.SHARE]
