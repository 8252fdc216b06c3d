"""D-FTBL: blocks of rounds around one point, which moves when a block ends."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from belated.arrays import Code, Floats
from belated.domains import Domain
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import method
from belated.kernels.learners.state import State
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.learner.program import Program
from belated.rivals.exploring import Exploring, estimate, play_around, settle_inside
from belated.rivals.shared import check_curvature, cube_root, log

_LENGTH = F.MINE  # rounds of a block
_ALPHA = F.MINE + 1  # weight of the regulariser
# The method's own region: the sum of all estimates, and for strongly convex losses that of the
# points y_1, y_2, ..., followed by their number.


@leaf
def _ends_block(s: State) -> bool:
    """Tell whether a block is complete."""
    rounds = s.n[N.ROUNDS]
    return bool(rounds > 0 and rounds % int(s.f[_LENGTH]) == 0)


@leaf
def _lead(code: Code, s: State) -> None:
    """At the end of a block y = Pi(-(sum of the estimates) / alpha)."""
    if _ends_block(s):
        for i in range(s.z.size):
            s.z[i] = -s.own[i] / s.f[_ALPHA]
        settle_inside(code, s)
        s.f[F.ETA] = 1.0 / s.f[_ALPHA]


@leaf
def _lead_from_mean(code: Code, s: State) -> None:
    """At the end of block m, y = Pi(mean(y_1, ..., y_m) - (sum of the estimates) eta).

    eta = 1 / (lambda L m), with L rounds in a block.
    """
    if not _ends_block(s):
        return
    k = s.z.size
    s.own[2 * k] += 1.0
    blocks = s.own[2 * k]
    bend = s.f[F.CURVATURE] * s.f[_LENGTH] * blocks
    for i in range(k):
        s.own[k + i] += s.z[i]
        s.z[i] = s.own[k + i] / blocks - s.own[i] / bend
    settle_inside(code, s)
    s.f[F.ETA] = 1.0 / bend


@leaf
def _learn(code: Code, s: State, entry: int, ticket: int, values: Floats) -> None:
    """Add the estimate (k / delta) f u to the sum."""
    estimate(s, ticket, values[0], s.f[F.BREADTH])
    for i in range(s.z.size):
        s.own[i] += s.work[i]


_CONVEX = method("DFTBL", prepare=_lead, play=play_around, learn=_learn)
_CURVED = method("DFTBLStronglyConvex", prepare=_lead_from_mean, play=play_around, learn=_learn)


class _Blocks(Exploring):
    """What the two versions share."""

    reference = "Wan, Yao, Song and Zhang 2024"
    answers = "value"

    magnitude: float
    lipschitz: float
    rounds: int | None

    @property
    def smoothing(self) -> float:
        """delta."""
        raise NotImplementedError

    @property
    def block(self) -> int:
        """L = ceil((k M / (G delta))^2) rounds, at most T.

        A part in 1e9 is taken off before rounding up, so that rounding errors add no round.
        """
        noise = self.domain.dim * self.magnitude / (self.lipschitz * self.smoothing)
        return min(self._fact("rounds"), max(1, math.ceil(noise * noise * (1.0 - 1e-9))))

    @property
    def _ratio(self) -> float:
        """k M / (G r)."""
        return self.domain.dim * self.magnitude / (self.lipschitz * self._inner)


@dataclass(frozen=True, repr=False)
class DFTBL(_Blocks, module="rivals"):
    """Delayed follow-the-bandit-leader, for convex losses: blocks of L rounds around one point.

    In block m it plays y_m + delta u_t. When the block ends, y_{m+1} = Pi(-S / alpha) onto
    (1 - delta / r) K, where S = sum (k / delta) f_s u_s runs over all values f_s received so far
    and u_t is uniform on the unit sphere. delta = r min{1, sqrt(k M / (G r)) T^(-1/4)},
    L = ceil((k M / (G delta))^2) and alpha = (2 G / R) sqrt(T (d_max + 2 L)). M (``magnitude``)
    bounds the values, G (``lipschitz``) the gradients; r and R are the inner and the outer radius.
    Guarantee: expected regret O(sqrt(k) T^(3/4) + sqrt(d_max T)).
    Reference: Wan, Yao, Song and Zhang, "Improved regret for bandit convex optimization with
    delayed feedback", NeurIPS 2024.

    Differs from the paper: delta, L and alpha minimise the bound
    alpha R^2 / 2 + 2 G^2 T (d_max + 2 L) / alpha + O(G delta T), and L is at most T.

    >>> from belated import Ball
    >>> spec = DFTBL(Ball(2), magnitude=1.0, lipschitz=1.0, rounds=1024, max_delay=7)
    >>> spec.smoothing, spec.block
    (0.25, 64)
    """

    title = "D-FTBL"
    guarantee = "O(sqrt(k) T^(3/4) + sqrt(d_max T)), in expectation"

    domain: Domain
    magnitude: float
    lipschitz: float
    rounds: int | None = None
    max_delay: int | None = None

    @property
    def smoothing(self) -> float:
        """delta = r min{1, sqrt(k M / (G r)) T^(-1/4)}."""
        return self._inner * min(1.0, math.sqrt(self._ratio / math.sqrt(self._fact("rounds"))))

    def program(self) -> Program:
        """Return what the kernels run; the method's own region is the sum of the estimates."""
        waiting = self._fact("rounds") * (self._fact("max_delay") + 2 * self.block)
        alpha = 2.0 * self.lipschitz / self._outer * math.sqrt(waiting)
        return self.compiled(
            _CONVEX,
            own=np.zeros(self.domain.dim),
            numbers={F.BREADTH: self.smoothing, _ALPHA: alpha, _LENGTH: float(self.block)},
        )


@dataclass(frozen=True, repr=False)
class DFTBLStronglyConvex(_Blocks, module="rivals"):
    """Delayed follow-the-bandit-leader, for strongly convex losses.

    In block m, of L rounds, it plays y_m + delta u_t. When the block ends,
    y_{m+1} = Pi(mean(y_1, ..., y_m) - S / (lambda L m)) onto (1 - delta / r) K, where
    S = sum (k / delta) f_s u_s runs over all values f_s received so far and u_t is uniform on the
    unit sphere. delta = r min{1, ((k M / (G r))^2 ln(e T) / T)^(1/3)} and
    L = ceil((k M / (G delta))^2). M (``magnitude``) bounds the values, G (``lipschitz``) the
    gradients, lambda is the curvature of the losses, r the inner radius.
    Guarantee: expected regret O((k T)^(2/3) (ln T)^(1/3) + d_max ln T).
    Reference: Wan, Yao, Song and Zhang, "Improved regret for bandit convex optimization with
    delayed feedback", NeurIPS 2024.

    Differs from the paper: delta and L balance the terms of the bound, L is at most T, and ln(e T)
    stands for ln T, which is 0 for a single round.

    >>> from belated import Ball
    >>> spec = DFTBLStronglyConvex(Ball(1), magnitude=1.0, lipschitz=1.0, curvature=0.5, rounds=1)
    >>> spec.smoothing, spec.block
    (1.0, 1)
    """

    title = "D-FTBL, strongly convex"
    guarantee = "O((k T)^(2/3) (ln T)^(1/3) + d_max ln T), in expectation"

    domain: Domain
    magnitude: float
    lipschitz: float
    curvature: float
    rounds: int | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        check_curvature(self)

    @property
    def smoothing(self) -> float:
        """delta = r min{1, ((k M / (G r))^2 ln(e T) / T)^(1/3)}."""
        rounds, ratio = self._fact("rounds"), self._ratio
        return self._inner * min(1.0, cube_root(ratio * ratio * (1.0 + log(rounds)) / rounds))

    def program(self) -> Program:
        """Return what the kernels run."""
        return self.compiled(
            _CURVED,
            own=np.zeros(2 * self.domain.dim + 1),
            numbers={F.BREADTH: self.smoothing, _LENGTH: float(self.block)},
        )
