"""DMD: mirror descent with late gradient functions, taken at the current point."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from belated.arrays import Code
from belated.domains import Domain, Simplex
from belated.errors import SpecError
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import method
from belated.kernels.learners.state import State
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import kinds as K
from belated.learner.program import Program
from belated.rivals.base import Feedback, Rival
from belated.rivals.quanrud_khashabi import step_with_arrivals, tuned_step
from belated.rivals.shared import check_curvature, check_numbers, collect_gradient, no_arrivals

if TYPE_CHECKING:
    from belated.bounds import Bound
    from belated.timeline import Timeline


@leaf
def _finish_round(code: Code, s: State) -> None:
    """One mirror step with the arrivals; with curvature eta = 1 / (lambda N_t)."""
    eta = s.f[F.GAIN]
    if s.f[F.CURVATURE] > 0.0 and s.n[N.ARRIVED] > 0:
        eta = 1.0 / (s.f[F.CURVATURE] * s.n[N.ARRIVED])
    step_with_arrivals(code, s, eta)


_METHOD = method("DMD", prepare=_finish_round, learn=collect_gradient)


@dataclass(frozen=True, repr=False)
class DMD(Rival, module="rivals"):
    """Delayed mirror descent on gradient functions, one step per round with arrivals F_t.

    x_{t+1} = argmin_{x in K} sum_{s in F_t} <grad f_s(x_t), x> + B_psi(x, x_t) / eta_t

    An answer is grad f_s as a function; it is asked at the current point x_t, not where f_s was
    played. ``mirror`` is "euclidean" or, on a Simplex, "entropy" (G then bounds the largest entry
    of a gradient). D_psi^2 / 2 bounds the divergence B_psi, N_t counts the arrivals, and

    * ``curvature`` = 0: eta = D_psi / (G sqrt(T + 2 d_tot));
    * ``curvature`` = lambda > 0, relative to psi: eta_t = 1 / (lambda N_t).

    Guarantee: without curvature regret <= D_psi^2 / (2 eta) + eta G^2 (T / 2 + d_tot)
    = G D_psi sqrt(T + 2 d_tot): a step with a batch of b gradients costs eta G^2 b^2 / 2, and
    b (b - 1) / 2 is what its members waited for each other. With curvature O(d_max ln T).
    Reference: Wu, Huang and Liu, "Online sequential decision-making with unknown delays", WWW 2024.
    Differs from the paper: steps are exact, and the entropy with curvature runs on
    {x_i >= 1 / (dim T)}, where its divergence is bounded.

    >>> from belated import Ball
    >>> DMD(Ball(3), lipschitz=1.0, rounds=100, total_delay=22).step
    0.16666666666666666
    """

    title: ClassVar[str] = "DMD"
    reference: ClassVar[str] = "Wu, Huang and Liu 2024"
    answers: ClassVar[Feedback] = "function"
    guarantee: ClassVar[str] = "G D sqrt(T + 2 d_tot); with curvature of order d_max ln T"

    domain: Domain
    lipschitz: float
    rounds: int | None = None
    total_delay: int | None = None
    curvature: float = 0.0
    mirror: Literal["euclidean", "entropy"] = "euclidean"

    def __post_init__(self) -> None:
        """Check the numbers and the mirror."""
        check_numbers(self, "lipschitz")
        if self.mirror not in ("euclidean", "entropy"):
            raise SpecError(f"{self.kind}: mirror is 'euclidean' or 'entropy', got {self.mirror!r}")
        if self.mirror == "euclidean":
            check_curvature(self)
        elif not isinstance(self.domain, Simplex):
            raise SpecError(
                f"{self.kind}: the entropy mirror works on a Simplex, got a {self.domain.kind}"
            )

    @property
    def _width(self) -> float:
        """D_psi."""
        if self.mirror == "entropy" and isinstance(self.domain, Simplex):
            return math.sqrt(2.0 * self.domain.divergence)
        return self.domain.diameter

    @property
    def step(self) -> float:
        """eta = D_psi / (G sqrt(T + 2 d_tot)), in use without curvature."""
        self._demand_facts()
        return tuned_step(self._width, self.lipschitz, self.rounds, self.total_delay)

    def _size(self) -> float:
        """Return the size of the set; the simplex is cut where the entropy needs it."""
        size = self.domain.size
        if self.mirror == "euclidean" or self.curvature == 0.0:
            return size
        assert self.rounds is not None  # demanded before
        # For T = 1 the cut would leave a single point, and no room for rounding.
        return max(size, min(1.0 / self.rounds, 1.0 - 1e-12) / self.domain.dim)

    def program(self) -> Program:
        """Return what the kernels run; the method's own region is the sum of the arrivals."""
        return self.compiled(
            _METHOD,
            own=no_arrivals(self.domain.dim),
            base=K.ENTROPY if self.mirror == "entropy" else K.OMD,
            numbers={F.GAIN: self.step, F.SIZE: self._size()},
        )

    def bound(self, timeline: Timeline) -> Bound | None:
        """G D_psi sqrt(T + 2 d_tot); no constants are known for strongly convex losses."""
        if self.curvature > 0.0:
            return None
        scale = self.lipschitz * self._width
        total = scale * math.sqrt(timeline.rounds + 2 * timeline.total_delay)
        return self._split(timeline, total, scale * math.sqrt(timeline.rounds))
