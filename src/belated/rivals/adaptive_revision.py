"""AdaptiveRevision: AdaGrad per coordinate that takes back steps made too large by delay."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from belated.arrays import Code, Floats
from belated.domains import Domain
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import method, play_point
from belated.kernels.learners.state import State
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.learner.program import Program
from belated.learner.state import Memory
from belated.rivals.base import Rival
from belated.rivals.shared import into_set

# The own region is four vectors.
_W, _SUM, _SQUARES, _LARGEST, _VECTORS = range(5)
_OFFSET = F.MINE  # where beta is kept; alpha is GAIN


@leaf
def _project(code: Code, s: State) -> None:
    """x = Pi(w); w itself stays where it is."""
    k = s.z.size
    for i in range(k):
        s.z[i] = s.own[_W * k + i]
    into_set(code, s, s.z)


@leaf
def _play_and_remember(code: Code, s: State, entry: int, ticket: int, x: Floats) -> None:
    """Hand out x, and keep the sum of the gradients applied until now."""
    k = s.z.size
    for i in range(k):
        s.kept[entry * s.n[N.KEEP] + i] = s.own[_SUM * k + i]
    play_point(code, s, entry, ticket, x)


@leaf
def _rate(s: State, largest: float) -> float:
    return float(s.f[F.GAIN] / (s.f[_OFFSET] + math.sqrt(largest)))


@leaf
def _revise(code: Code, s: State, entry: int, ticket: int, cost: Floats) -> None:
    """w += -eta g + (eta_old - eta) b, b being what was applied since the prediction."""
    k = s.z.size
    for i in range(k):
        g = cost[i]
        b = s.own[_SUM * k + i] - s.kept[entry * s.n[N.KEEP] + i]
        old = _rate(s, s.own[_LARGEST * k + i])
        s.own[_SQUARES * k + i] += g * g + 2.0 * g * b
        s.own[_LARGEST * k + i] = max(s.own[_LARGEST * k + i], s.own[_SQUARES * k + i])
        eta = _rate(s, s.own[_LARGEST * k + i])
        s.own[_W * k + i] += (old - eta) * b - eta * g
        s.own[_SUM * k + i] += g


_METHOD = method("AdaptiveRevision", prepare=_project, play=_play_and_remember, learn=_revise)


def _is_sound(memory: Memory) -> bool:
    """Tell whether every zmax is at least its z, and 0."""
    vectors = memory.own.reshape(_VECTORS, -1)
    return bool((vectors[_LARGEST] >= np.maximum(vectors[_SQUARES], 0.0)).all())


@dataclass(frozen=True, repr=False)
class AdaptiveRevision(Rival, module="rivals"):
    """AdaGrad that revises its steps, coordinate by coordinate.

    A prediction remembers the sum of all gradients applied so far. When its own gradient g comes
    and b is the sum of those applied in between, then per coordinate

    * z += g^2 + 2 g b, and zmax is the largest z so far (z falls where g b < 0);
    * eta = alpha / (beta + sqrt(zmax)), before and after, alpha = a sqrt(2) R, beta = ``offset``;
    * w += -eta g + (eta_old - eta) b: the step, and the steps in between at the smaller rate.

    a is ``scale``, and R how far a coordinate gets from the centre: half a width on a Box, which is
    1 in its chart, and D / 2 on other sets. The play is Pi_K(w). Without delay this is diagonal
    AdaGrad.

    Guarantee: per coordinate about 2 sqrt(2) R sqrt(max_t sum of g^2 + 2 g b) with a about 1, for
    answers in order and no constraints.
    Reference: McMahan and Streeter, "Delay-tolerant algorithms for asynchronous distributed online
    learning", NeurIPS 2014.
    Differs from the paper: z starts at 0 with beta > 0, as in published code, not at 1 with
    beta = 0; projecting the play is outside their theory.

    >>> from belated import Box
    >>> AdaptiveRevision(Box(0.0, 1.0, dim=4), scale=2.0)
    rivals.AdaptiveRevision(domain=Box(low=0.0, high=1.0, dim=4), scale=2.0)
    """

    reference = "McMahan and Streeter 2014"
    memory = "one vector per open ticket"
    guarantee = "of order R sqrt(max_t sum (g^2 + 2 g b)) per coordinate"
    order = "any order, in theory in order; a lost answer counts as zero"

    domain: Domain
    scale: float = 1.0
    offset: float = 1.0

    def program(self) -> Program:
        """Return what the kernels run; w starts where the learner does, all else at 0."""
        k = self.domain.dim
        reach = 1.0 if self.domain.half_widths else self.domain.diameter / 2.0
        program = self.compiled(
            _METHOD,
            own=np.zeros(_VECTORS * k),
            keep=k,
            numbers={F.GAIN: self.scale * math.sqrt(2.0) * reach, _OFFSET: self.offset},
            sound=_is_sound,
        )
        program.own[_W * k : (_W + 1) * k] = program.first
        return program
