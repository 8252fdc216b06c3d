"""SDMD: one mirror step per round with the gradients that came in."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
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
from belated.rivals.base import Rival
from belated.rivals.shared import (
    arrived,
    check_curvature,
    check_numbers,
    collect_gradient,
    descend,
    emptied,
    log,
    no_arrivals,
)

if TYPE_CHECKING:
    from belated.bounds import Bound
    from belated.timeline import Timeline


@leaf
def _step_once(code: Code, s: State) -> None:
    """Take one mirror step with the sum of the arrivals; without curvature the step is fixed."""
    if arrived(s):
        eta = s.f[F.GAIN]
        if s.f[F.CURVATURE] > 0.0:
            eta = 1.0 / (s.f[F.CURVATURE] * float(s.n[N.ARRIVED]))
        descend(code, s, s.own[: s.z.size], eta)
        emptied(s)


_METHOD = method("SDMD", prepare=_step_once, learn=collect_gradient)


@dataclass(frozen=True, repr=False)
class SDMD(Rival, module="rivals"):
    """Simplified delayed mirror descent: one mirror step per round with arrivals.

    x_{t+1} = argmin_{x in K} sum_{s in F_t} <g_s, x> + B(x; x_t) / eta_t, where F_t are the rounds
    whose gradient arrived in round t. With ``mirror="euclidean"`` B = |x - x_t|^2 / 2, with
    ``mirror="entropy"`` on a ``Simplex`` it is the Kullback-Leibler divergence, and ``lipschitz`` G
    bounds the largest entry of a gradient instead of its norm.
    eta = D / (G sqrt(T + 2 d_tot)) with D^2 = 2 max B or, with ``curvature`` lambda > 0,
    eta_t = 1 / (lambda N_t), N_t counting all gradients that arrived so far.
    Guarantee: regret <= G D sqrt(T + 2 d_tot) by the argument for one step per gradient; with
    curvature O(d_max ln T), and on Euclidean distances <= (3 G^2 / lambda) (sigma_max + 1) ln(e T).
    Reference: Wu, Huang and Liu, "Online sequential decision-making with unknown delays", WWW 2024.

    Differs from the paper: every step is solved exactly. The divergence of the entropy is unbounded
    at the border, so with curvature it runs on x_i >= 1 / (k T).

    >>> from belated import Simplex
    >>> spec = SDMD(Simplex(8), lipschitz=1.0, rounds=64, total_delay=18, mirror="entropy")
    >>> round(spec.step, 6)
    0.203933
    """

    title: ClassVar[str] = "SDMD"
    reference: ClassVar[str] = "Wu, Huang and Liu 2024"
    guarantee: ClassVar[str] = (
        "G D sqrt(T + 2 d_tot); with curvature (3 G^2/lambda) (sigma_max + 1) ln(e T)"
    )

    domain: Domain
    lipschitz: float
    rounds: int | None = None
    total_delay: int | None = None
    curvature: float = 0.0
    mirror: Literal["euclidean", "entropy"] = "euclidean"

    def __post_init__(self) -> None:
        """Check that the parts fit together."""
        check_numbers(self, "lipschitz")
        if self.mirror not in ("euclidean", "entropy"):
            raise SpecError(f"{self.kind}: mirror is 'euclidean' or 'entropy', got {self.mirror!r}")
        if self.mirror == "euclidean":
            check_curvature(self)
        elif not isinstance(self.domain, Simplex):
            raise SpecError(
                f"{self.kind}: the entropy mirror works on a Simplex, got a {self.domain.kind}; "
                "use mirror='euclidean' there"
            )

    @property
    def step(self) -> float:
        """eta = D / (G sqrt(T + 2 d_tot)); with curvature the steps fall and this is not used."""
        self._demand_facts()
        assert self.rounds is not None and self.total_delay is not None
        return self._diameter / (self.lipschitz * math.sqrt(self.rounds + 2 * self.total_delay))

    @property
    def _diameter(self) -> float:
        """D with D^2 = 2 max B."""
        if self.mirror == "euclidean":
            return self.domain.diameter
        assert isinstance(self.domain, Simplex)  # checked at construction
        return math.sqrt(2.0 * self.domain.divergence)

    @property
    def _size(self) -> float:
        """The number that a projection needs; for the entropy it is the floor."""
        size = self.domain.size
        if self.mirror == "entropy" and self.curvature > 0.0:
            assert self.rounds is not None
            size = max(size, 1.0 / (self.domain.dim * max(self.rounds, 2)))
        return size

    def _in_one_norm(self, bound: Bound, rounds: int) -> Bound:
        """Let the trivial bound have the 1-norm between two plays, which goes with the entropy."""
        if self.mirror == "euclidean" or not rounds:
            return bound
        width = 2.0 * (1.0 - self.domain.dim * self.domain.size)
        return replace(bound, trivial=self.lipschitz * width * rounds)

    def program(self) -> Program:
        """Return what the kernels run; the method's own region is the sum of the arrivals."""
        return self.compiled(
            _METHOD,
            own=no_arrivals(self.domain.dim),
            base=K.ENTROPY if self.mirror == "entropy" else K.OMD,
            numbers={F.GAIN: self.step, F.SIZE: self._size, F.DIAMETER: self._diameter},
        )

    def bound(self, timeline: Timeline) -> Bound | None:
        """G D sqrt(T + 2 d_tot), or (3 G^2 / lambda) (sigma_max + 1) ln(e T) with curvature."""
        if self.curvature == 0.0:
            scale = self.lipschitz * self._diameter
            total = scale * math.sqrt(timeline.rounds + 2 * timeline.total_delay)
            bound = self._split(timeline, total, scale * math.sqrt(timeline.rounds))
            return self._in_one_norm(bound, timeline.rounds)
        if self.mirror == "entropy":
            return None
        scale = 3.0 * self.lipschitz**2 / self.curvature * (1.0 + log(max(1, timeline.rounds)))
        return self._split(timeline, scale * (timeline.max_backlog + 1), scale)
