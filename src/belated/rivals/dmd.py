"""DMD and SDMD: one mirror step per round, with late gradients or with late gradient functions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from belated.bounds import Bound
from belated.domains import Simplex
from belated.kernels.slots import floats as F
from belated.learner.program import Program
from belated.rivals.descent import ONCE, Tuned
from belated.rivals.shared import Mirror, check_curvature, check_mirror, log, no_arrivals, step_of
from belated.timeline import Timeline


@dataclass(frozen=True, repr=False)
class _MirrorDescent(Tuned):
    """What the two share."""

    reference = "Wu, Huang and Liu 2024"

    curvature: float = 0.0
    mirror: Mirror = "euclidean"

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        check_mirror(self, self.mirror)
        if self.mirror == "euclidean":
            check_curvature(self)

    @property
    def needs(self) -> tuple[str, ...]:
        """With curvature the steps need no facts; only the entropy, to be cut, needs T."""
        if self.curvature == 0.0:
            return self.facts()
        return ("rounds",) if self.mirror == "entropy" else ()

    @property
    def _width(self) -> float:
        """D_psi; D_psi^2 / 2 bounds the divergence."""
        if self.mirror == "entropy" and isinstance(self.domain, Simplex):
            return math.sqrt(2.0 * self.domain.divergence)
        return self.domain.diameter

    def _floor(self, rounds: int) -> float:
        """Return where the simplex is cut for the entropy with curvature."""
        raise NotImplementedError

    def program(self) -> Program:
        """Return what the kernels run; the method's own region is the sum of the arrivals."""
        numbers = {F.DIAMETER: self._width}
        if self.curvature == 0.0:
            numbers[F.GAIN] = self.step
        elif self.mirror == "entropy":
            numbers[F.SIZE] = max(self.domain.size, self._floor(self._fact("rounds")))
        return self.compiled(
            ONCE,
            own=no_arrivals(self.domain.dim),
            base=step_of(self.mirror),
            numbers=numbers,
        )


@dataclass(frozen=True, repr=False)
class DMD(_MirrorDescent, module="rivals"):
    """Delayed mirror descent on gradient functions, one step per round with arrivals F_t.

    x_{t+1} = argmin_{x in K} sum_{s in F_t} <grad f_s(x_t), x> + B_psi(x, x_t) / eta_t

    An answer is grad f_s as a function; it is asked at the current point x_t, not where f_s was
    played. ``mirror`` is "euclidean" or, on a Simplex, "entropy" (G then bounds the largest entry
    of a gradient). D_psi^2 / 2 bounds the divergence B_psi, N_t counts the arrivals, and

    * ``curvature`` = 0: eta = D_psi / (G sqrt(T + 2 d_tot));
    * ``curvature`` = lambda > 0, relative to psi: eta_t = 1 / (lambda N_t). No facts are needed
      then, except for T with the entropy, and others are refused.

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

    answers = "function"
    guarantee = "G D sqrt(T + 2 d_tot); with curvature of order d_max ln T"

    def _floor(self, rounds: int) -> float:
        # For T = 1 the cut would leave a single point, and no room for rounding.
        return min(1.0 / rounds, 1.0 - 1e-12) / self.domain.dim

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """D_psi^2 / (2 eta) + eta G^2 (T / 2 + d_tot); no constants are known with curvature."""
        return None if self.curvature > 0.0 else super()._guaranteed(timeline)


@dataclass(frozen=True, repr=False)
class SDMD(_MirrorDescent, module="rivals"):
    """Simplified delayed mirror descent: one mirror step per round with arrivals.

    x_{t+1} = argmin_{x in K} sum_{s in F_t} <g_s, x> + B(x; x_t) / eta_t, where F_t are the rounds
    whose gradient arrived in round t. With ``mirror="euclidean"`` B = |x - x_t|^2 / 2, with
    ``mirror="entropy"`` on a ``Simplex`` it is the Kullback-Leibler divergence, and ``lipschitz`` G
    bounds the largest entry of a gradient instead of its norm.
    eta = D / (G sqrt(T + 2 d_tot)) with D^2 = 2 max B or, with ``curvature`` lambda > 0,
    eta_t = 1 / (lambda N_t), N_t counting all gradients that arrived so far. With curvature no
    facts are needed, except for T with the entropy, and others are refused.
    Guarantee: regret <= D^2 / (2 eta) + eta G^2 (T / 2 + d_tot) = G D sqrt(T + 2 d_tot) by the
    argument for one step per gradient; with curvature O(d_max ln T), and on Euclidean distances
    <= (3 G^2 / lambda) (sigma_max + 1) ln(e T).
    Reference: Wu, Huang and Liu, "Online sequential decision-making with unknown delays", WWW 2024.

    Differs from the paper: every step is solved exactly. The divergence of the entropy is unbounded
    at the border, so with curvature it runs on x_i >= 1 / (k T).

    >>> from belated import Simplex
    >>> spec = SDMD(Simplex(8), lipschitz=1.0, rounds=64, total_delay=18, mirror="entropy")
    >>> round(spec.step, 6)
    0.203933
    """

    guarantee = "G D sqrt(T + 2 d_tot); with curvature (3 G^2/lambda) (sigma_max + 1) ln(e T)"

    def _floor(self, rounds: int) -> float:
        return 1.0 / (self.domain.dim * max(rounds, 2))

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """D^2 / (2 eta) + eta G^2 (T / 2 + d_tot); with curvature that of the class."""
        if self.curvature > 0.0:
            return None if self.mirror == "entropy" else self._curved_bound(timeline)
        bound = super()._guaranteed(timeline)
        if bound is None or self.mirror == "euclidean" or not timeline.rounds:
            return bound
        # The 1-norm between two plays goes with the entropy.
        width = 2.0 * (1.0 - self.domain.dim * self.domain.size)
        return replace(bound, trivial=self.lipschitz * width * timeline.rounds)

    def _curved_bound(self, timeline: Timeline) -> Bound:
        scale = 3.0 * self.lipschitz**2 / self.curvature * (1.0 + log(max(1, timeline.rounds)))
        return self._split(timeline, scale * (timeline.max_backlog + 1), scale)
