"""Compiled entries for one family of losses and one source of its rounds.

The first two arguments are always ``q`` and ``rows`` of the loss; ``rules`` is (family, source).
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from belated.arrays import Code, Floats, Ints
from belated.kernels.games import losses
from belated.kernels.games.losses import of_losses, view
from belated.kernels.jit import entry, leaf
from belated.kernels.stamps import stamp
from belated.kernels.vectors import vector

_LOSS = "float64[::1], float64[:, ::1]"
_VECTOR = "float64[::1]"

Single = Callable[[Floats, Floats, int, Floats, Floats], float]
Fill = Callable[[Floats, Floats, int, Floats, Floats, Floats], None]
Total = Callable[[Floats, Floats, int, Floats, Floats, Floats], float]
Curve = Callable[[Floats, Floats, Floats, Ints, Floats], None]

PART = 4096
"""Rounds that are added up on their own first, so that long sums keep their digits."""


@functools.cache
def single(rules: Code) -> Single:
    """Return the entry (q, rows, t, x, out) -> f_t(x), which writes the gradient to out."""
    rules = (*rules, stamp(__name__))

    def single(q: Floats, rows: Floats, t: int, x: Floats, out: Floats) -> float:
        point, loss = vector(x), view(q, rows, x.size)
        b = losses.draw(of_losses(rules), loss, t, point)
        losses.gradient(of_losses(rules), loss, b, point, vector(out))
        return losses.value(of_losses(rules), loss, b, point)

    return entry(single, f"float64({_LOSS}, int64, {_VECTOR}, {_VECTOR})")


@functools.cache
def fill(rules: Code) -> Fill:
    """Return the entry (q, rows, start, x, vectors, targets), which writes rounds from start on."""
    rules = (*rules, stamp(__name__))

    def fill(
        q: Floats, rows: Floats, start: int, x: Floats, vectors: Floats, targets: Floats
    ) -> None:
        point, loss = vector(x), view(q, rows, x.size)
        for t in range(targets.size):
            targets[t] = losses.draw(of_losses(rules), loss, start + t, point)
            for i in range(x.size):
                vectors[t, i] = loss.a[i]

    return entry(fill, f"void({_LOSS}, int64, {_VECTOR}, float64[:, ::1], {_VECTOR})")


@leaf
def _pour(source: Floats, into: Floats) -> None:
    """Add one vector to another and empty it."""
    for i in range(source.size):
        into[i] += source[i]
        source[i] = 0.0


@functools.cache
def total(rules: Code) -> Total:
    """Return the entry (q, rows, rounds, x, out, work) -> sum of f_t(x) over t < rounds.

    It writes the sum of the gradients to ``out``; ``work`` holds two vectors.
    """
    rules = (*rules, stamp(__name__))

    def total(q: Floats, rows: Floats, rounds: int, x: Floats, out: Floats, work: Floats) -> float:
        point, loss = vector(x), view(q, rows, x.size)
        gradients, both = vector(out), vector(work)
        step, part = both[: x.size], both[x.size : both.size]
        for i in range(x.size):
            gradients[i] = part[i] = 0.0
        value = 0.0
        for first in range(0, rounds, PART):
            some = 0.0
            for t in range(first, min(first + PART, rounds)):
                b = losses.draw(of_losses(rules), loss, t, point)
                some += losses.value(of_losses(rules), loss, b, point)
                losses.gradient(of_losses(rules), loss, b, point, step)
                for i in range(x.size):
                    part[i] += step[i]
            value += some
            _pour(part, gradients)
        return value

    return entry(total, f"float64({_LOSS}, int64, {_VECTOR}, {_VECTOR}, {_VECTOR})")


@functools.cache
def curve(rules: Code) -> Curve:
    """Return the entry (q, rows, x, marks, out): out[i] = sum of f_t(x) over t < marks[i].

    Marks ascend. The sums are those of ``total``, bit for bit.
    """
    rules = (*rules, stamp(__name__))

    def curve(q: Floats, rows: Floats, x: Floats, marks: Ints, out: Floats) -> None:
        point, loss = vector(x), view(q, rows, x.size)
        value = 0.0
        some = 0.0
        t = 0
        for i in range(marks.size):
            while t < marks[i]:
                b = losses.draw(of_losses(rules), loss, t, point)
                some += losses.value(of_losses(rules), loss, b, point)
                t += 1
                if t % PART == 0:
                    value += some
                    some = 0.0
            out[i] = value + some

    return entry(curve, f"void({_LOSS}, {_VECTOR}, int64[::1], {_VECTOR})")
