"""Weighted optimistic FTRL: the newest gradient stands for all that are missing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from belated.arrays import Code
from belated.bounds import Bound
from belated.domains import Domain
from belated.errors import SpecError
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import method
from belated.kernels.learners.state import State
from belated.kernels.slots import floats as F
from belated.learner.program import Program
from belated.rivals.experts import Regularises, hint_numbers, hint_weight
from belated.rivals.odftrl import lead, receive
from belated.rivals.shared import Mirror, check_mirror, step_of
from belated.timeline import Timeline

_COPIES = F.MINE + 2  # n, or -1 for one more than there are open tickets; behind those of hints


@leaf
def _lead(code: Code, s: State) -> None:
    """One step from the start with all that was received and n times the newest."""
    copies = s.f[_COPIES]
    lead(code, s, copies if copies >= 0.0 else hint_weight(s, 0))


_METHOD = method("WOFTRL", prepare=_lead, learn=receive)


@dataclass(frozen=True, repr=False)
class WOFTRL(Regularises, module="rivals"):
    """Weighted optimistic FTRL: x_t = argmin_K <sum of received g_s + n g_last, x> + mu psi(x).

    Under a fixed delay d, told in advance, n = d + 1: the newest gradient is counted once for each
    that is missing and once for the coming one. That is ``ODFTRL`` with its hint "recent", and a
    ``strength`` mu that suits games in which all players learn: mu = 2 lambda L with
    lambda = (d + 1) (d + 2) / 2. L is ``smoothness``: gradients differ by at most L times what
    plays of all players differ; two players with payoffs in [-1, 1] have L = 2.
    psi(x) = |x - center|^2 / 2, or with ``mirror="entropy"`` on a ``Simplex`` the divergence from
    the uniform distribution. ``copies`` is another n, for comparison: up to d it diverges.
    ``lipschitz`` G, where it is given, is used by the bound, and larger gradients are counted.

    Guarantee: in games of two such players the sum of both regrets is O(d^2), whatever T is.
    Against any losses regret <= mu max psi + G^2 (3 T / 2 + 2 d_tot) / mu, or with
    ``copies`` G^2 ((n + 1/2) T + d_tot) in the place of that.
    Reference: Fujimoto, Abe and Ariu, "Learning from delayed feedback in games via extra
    prediction", NeurIPS 2025.
    Differs from the paper: any delays, n being one more than there are open tickets; that is d + 1
    where the delay is fixed.

    >>> from belated import Simplex
    >>> WOFTRL(Simplex(3), smoothness=2.0, delay=2, mirror="entropy").strength
    24.0
    """

    reference = "Fujimoto, Abe and Ariu 2025"
    guarantee = "O(d^2) for the sum of both players' regrets, in games of two"

    domain: Domain
    smoothness: float
    delay: int | None = None
    mirror: Mirror = "euclidean"
    lipschitz: float = 0.0
    copies: int | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        check_mirror(self, self.mirror)
        if self.copies is not None and self.copies > 1 << 20:
            raise SpecError(f"{self.kind}: copies must be at most 2**20, got {self.copies!r}")

    @property
    def strength(self) -> float:
        """2 lambda L = (d + 1) (d + 2) L."""
        delay = self._fact("delay")
        return (delay + 1) * (delay + 2) * self.smoothness

    def program(self) -> Program:
        """Return what the kernels run; the own region is the last gradient and the sum of all."""
        copies = -1.0 if self.copies is None else float(self.copies)
        return self.compiled(
            _METHOD,
            own=np.zeros(2 * self.domain.dim),
            base=step_of(self.mirror),
            numbers={**hint_numbers("recent"), F.ETA: 1.0 / self.strength, _COPIES: copies},
        )

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """strength max psi + G^2 (3 T / 2 + 2 d_tot) / strength; see ``ODFTRL``."""
        if self.copies is None:
            return self._regularised(timeline, 1.5, 2.0)
        return self._regularised(timeline, self.copies + 0.5, 1.0)
