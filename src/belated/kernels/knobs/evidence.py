"""What answers say: sums of features and values, net of contemporaries, forgotten by play time.

Per block of 32 rounds of play time there are n, Phi = sum phi and Y = sum y. With c = 1/(n + l),

    phi~ = phi - c Phi,    y~ = y - c Y,    A += w kappa phi~ phi~',    b += w kappa phi~ y~

and kappa = 1/(1 + c), then the block takes in phi and y. That leaves out a free level per block
with precision l exactly; with l = infinity there is none. Time is u = (first play of the block -
origin)/W and w = e^u: answers count by when they were played, not by when they came, so that their
order does not matter for the sums. Trends are u (1, x).
"""

from __future__ import annotations

import math

from belated.arrays import Floats, Ints
from belated.kernels.exact import exp
from belated.kernels.jit import leaf, limb
from belated.kernels.knobs import layout as L
from belated.kernels.knobs.members import leading, reach, score, weigh, window_of, write_prior
from belated.kernels.knobs.room import Room, room_of

_MOST_VALUE = 1e9
_FAR = 64.0  # windows: e^64 in sums that are then scaled by e^-64 is still exact enough


@leaf
def growth(a: float) -> float:
    """Return e^a."""
    return exp(a) if a <= 0.0 else 1.0 / exp(-a)


@leaf
def block_of(blocks: Floats, width: int, t: int) -> int:
    """Return where the block of play t begins; -1 when it was forgotten. A new one is empty."""
    number = t // L.BLOCK
    at = (number % L.RING) * width
    held = blocks[at + L.NUMBER]
    if held > number + 1:
        return -1
    if held < number + 1:
        for i in range(width):
            blocks[at + i] = 0.0
        blocks[at + L.NUMBER] = number + 1
    return at


@limb
def learn(
    f: Floats, n: Ints, t: int, y: float, before: float, is_new: bool, is_last: bool
) -> float:
    """Take in the value of play t, whose features are written; return what was learned of it.

    One that is not new replaces ``before``, which was learned of it. Sums have the newest value;
    weights, noise and spread follow last words alone, as what is said before may mean nothing.
    """
    r = room_of(f, n)
    width = L.SUMS + r.base + r.cosines
    at = block_of(r.blocks, width, t)
    is_kept = at >= 0
    block = r.blocks[max(at, 0) : max(at, 0) + width]
    y = min(max(y, -_MOST_VALUE), _MOST_VALUE)
    if is_kept and not is_new:  # members are judged by what others said of the block
        _join(block, r.phi, -before, -1.0)
    _write_nets(f, n, at, t)
    if f[L.UNIT] > 0.0:
        y = _judge(f, n, r.members, block, is_kept, y, is_last)
    if is_kept and not is_new:
        _join(block, r.phi, before, 1.0)
        _write_nets(f, n, at, t)
    _add_to_sets(f, r, block, is_kept, t, y, before, is_new)
    if is_kept:
        _join(block, r.phi, y - before, 1.0 if is_new else 0.0)
    f[L.PROVISIONAL] += (1.0 if is_new else 0.0) - (1.0 if is_last else 0.0)
    if is_new:
        f[L.COUNT] += 1.0
        f[L.LATEST] = max(f[L.LATEST], t)
        _move_origins(f, n)
    if is_last and f[L.UNIT] > 0.0:
        _refresh(f, n)
    return y


@leaf
def _judge(
    f: Floats, n: Ints, members: Floats, block: Floats, is_kept: bool, y: float, is_last: bool
) -> float:
    """Score all members by a value, and let a last word move their weights; return it, tamed."""
    answers = block[L.ANSWERS] if is_kept else 0.0
    c = 1.0 / (answers + L.SOFT)
    score(f, n, y, y - c * block[L.SUM] if is_kept else y, c)
    y = _tame(f, members, y)
    if is_last:
        weigh(f, members, answers)
        _count(f, y)
    return y


@leaf
def _add_to_sets(
    f: Floats, r: Room, block: Floats, is_kept: bool, t: int, y: float, before: float, is_new: bool
) -> None:
    """Add play t to the sums of every set, or to b alone by how far its value has moved."""
    plain, most = r.base + r.cosines, r.most
    triangle = most * (most + 1) // 2
    answers = block[L.ANSWERS] if is_kept else 0.0
    total = block[L.SUM] if is_kept else 0.0
    for g in range(L.SETS):
        c = 1.0 / (answers + L.SOFT) if g % L.LEVELS == 1 else 0.0
        w = growth(_age(f, g, t))
        tilde, b = r.tilde[g * most : (g + 1) * most], r.b[g * most : (g + 1) * most]
        if is_new:
            a = r.a[g * triangle : (g + 1) * triangle]
            ends = most if g >= L.LEVELS else plain  # without a window there are no trends
            _add(tilde, a, b, r.base, plain, ends, w / (1.0 + c), y - c * total)
        else:
            change = w * (y - before)
            _add_value(tilde, b, change if is_kept else change / (1.0 + c))
        f[L.SINCE + g] += 1.0


@limb
def _refresh(f: Floats, n: Ints) -> None:
    """Look at the spread of values again, after so many of them."""
    known = f[L.COUNT] - f[L.PROVISIONAL]
    if known >= f[L.REFRESH]:
        f[L.REFRESH] = 2.0 * f[L.REFRESH] if f[L.REFRESH] < 512.0 else math.inf
        f[L.SPREAD] = max(f[L.SQUARES] / known, f[L.SPREAD])
        write_prior(f, n)


@limb
def _write_nets(f: Floats, n: Ints, at: int, t: int) -> None:
    """Write the features of play t, net of its contemporaries, for every set."""
    r = room_of(f, n)
    plain, most = r.base + r.cosines, r.most
    answers = r.blocks[at + L.ANSWERS] if at >= 0 else 0.0
    for g in range(L.SETS):
        c = 1.0 / (answers + L.SOFT) if g % L.LEVELS == 1 else 0.0
        tilde = r.tilde[g * most : (g + 1) * most]
        _write_net(r.phi, r.blocks, at, c, _age(f, g, t), plain, r.k, tilde)


@leaf
def _age(f: Floats, g: int, t: int) -> float:
    """Return u: how long after the origin the block of play t begins, in windows; 0 without."""
    window = window_of(g // L.LEVELS)
    if window == 0.0:
        return 0.0
    return (t // L.BLOCK * L.BLOCK - f[L.ORIGIN + g // L.LEVELS]) / window


@leaf
def _join(block: Floats, phi: Floats, y: float, times: float) -> None:
    """Add y to the sum of a block, and the features of a play so many times."""
    block[L.SUM] += y
    if times != 0.0:
        block[L.ANSWERS] += times
        for i in range(L.SUMS, block.size):
            block[i] += times * phi[i - L.SUMS]


@leaf
def _write_net(
    phi: Floats,
    blocks: Floats,
    at: int,
    c: float,
    since: float,
    plain: int,
    k: int,
    tilde: Floats,
) -> None:
    """Write features less c times the sum of those of the block at ``at``, and their trends."""
    for i in range(plain):
        tilde[i] = phi[i]
    if c > 0.0 and at >= 0:
        sums = blocks[at + L.SUMS : at + L.SUMS + plain]
        for i in range(plain):
            tilde[i] -= c * sums[i]
    for i in range(1 + k):
        tilde[plain + i] = since * tilde[i]


@leaf
def _tame(f: Floats, members: Floats, y: float) -> float:
    """Return a value that is within reach of what the leading member expects."""
    at = leading(members, 0, L.MEMBERS) * L.OF_MEMBER
    e = members[at + L.ERROR]
    far = math.sqrt(members[at + L.NOISE]) * reach(f[L.COUNT])
    if abs(e) > far:
        f[L.TAMED] += 1.0
        return y - e + (far if e > 0.0 else -far)
    return y


@leaf
def _count(f: Floats, y: float) -> None:
    """Take a value into mean and variance."""
    away = y - f[L.MEAN]
    f[L.MEAN] += away / (f[L.COUNT] - f[L.PROVISIONAL] + 1.0)
    f[L.SQUARES] += away * (y - f[L.MEAN])


@limb
def _add(
    tilde: Floats, a: Floats, b: Floats, base: int, plain: int, ends: int, w: float, y: float
) -> None:
    """A += w phi~ phi~', b += w phi~ y~; cosines never meet trends."""
    at = 0
    for i in range(ends):
        factor = w * tilde[i]
        b[i] += factor * y
        last = plain if base <= i < plain else ends
        for j in range(i, last):
            a[at + j - i] += factor * tilde[j]
        at += b.size - i


@leaf
def _add_value(tilde: Floats, b: Floats, amount: float) -> None:
    """b += phi~ amount."""
    for i in range(b.size):
        b[i] += tilde[i] * amount


@limb
def catch_up(f: Floats, n: Ints, t: int) -> None:
    """Move origins before play t is learned, if it is so far from them that e^u says nothing."""
    if _age(f, L.SETS - 1, t) > _FAR:
        f[L.LATEST] = t
        _move_origins(f, n)


@limb
def _move_origins(f: Floats, n: Ints) -> None:
    """Count time from the latest play where that is more than a window away."""
    r = room_of(f, n)
    for w in range(1, L.WINDOWS):
        away = (f[L.LATEST] - f[L.ORIGIN + w]) / window_of(w)
        if away > 1.0:
            f[L.ORIGIN + w] = f[L.LATEST]
            triangle = r.most * (r.most + 1) // 2
            for g in range(L.LEVELS * w, L.LEVELS * (w + 1)):
                a = r.a[g * triangle : (g + 1) * triangle]
                b = r.b[g * r.most : (g + 1) * r.most]
                _move_origin(a, b, r.k, r.base, r.base + r.cosines, away)
                f[L.SINCE + g] = math.inf


@leaf
def _move_origin(a: Floats, b: Floats, k: int, base: int, plain: int, away: float) -> None:
    """Scale the sums of a set, and let every trend be less by ``away`` times its feature."""
    most = b.size
    fade = exp(-away)
    for i in range(a.size):
        a[i] *= fade
    for i in range(most):
        b[i] *= fade
    for i in range(1 + k):
        b[plain + i] -= away * b[i]
    for i in range(1 + k):  # trends with trends, which need trends with features as they were
        row = (plain + i) * (2 * most - plain - i - 1) // 2
        mine = i * (2 * most - i - 1) // 2
        for j in range(i, 1 + k):
            theirs = j * (2 * most - j - 1) // 2
            crossed = a[mine + plain + j] + a[theirs + plain + i]
            a[row + plain + j] += away * (away * a[mine + j] - crossed)
    for i in range(base):  # features with trends
        mine = i * (2 * most - i - 1) // 2
        for j in range(1 + k):
            first, second = min(i, j), max(i, j)
            both = a[first * (2 * most - first - 1) // 2 + second]
            a[mine + plain + j] -= away * both
