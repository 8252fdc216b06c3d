"""SOLID: one learner, fed with whatever arrives as soon as it arrives."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from belated.arrays import Code, Floats
from belated.domains import Domain
from belated.errors import SpecError
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import method
from belated.kernels.learners.state import State
from belated.kernels.slots import floats as F
from belated.learner.program import Program
from belated.rivals.base import Rival
from belated.rivals.quanrud_khashabi import tuned_step
from belated.rivals.shared import check_numbers, descend

if TYPE_CHECKING:
    from belated.bounds import Bound
    from belated.timeline import Timeline


@leaf
def _step_at_once(code: Code, s: State, entry: int, ticket: int, cost: Floats) -> None:
    """z_{n+1} = Pi(z_n - eta c_n)."""
    descend(code, s, cost, s.f[F.GAIN])


_METHOD = method("SOLID", learn=_step_at_once)


@dataclass(frozen=True, repr=False)
class SOLID(Rival, module="rivals"):
    """One mirror descent in arrival order: z_{n+1} = Pi_K(z_n - eta c_n), the newest z is played.

    eta = D / (G sqrt(T + 2 d_tot)). With ``feedback="gradient"`` an answer is c_n = grad f_s(x_s).
    With ``feedback="function"`` it is the gradient as a function, and c_n = grad f_s(z_n): the
    paper's own setting, where whole losses arrive.

    Guarantee: regret = what the base pays in arrival order + sum_n f_n(z_{n-d*_n}) - f_n(z_n), and
    with this step at most G D sqrt(T + 2 d_tot).
    Reference: Joulani, Gyorgy and Szepesvari, "Delay-tolerant online convex optimization: unified
    analysis and adaptive-gradient algorithms", AAAI 2016.
    Differs from the paper: a fixed step; their adaptive one needs sums that are not known online,
    and ``rates.GradientAdaptive`` stands in for it.

    >>> from belated import Ball
    >>> SOLID(Ball(3), lipschitz=1.0, rounds=100, total_delay=22).step
    0.16666666666666666
    """

    title: ClassVar[str] = "SOLID"
    reference: ClassVar[str] = "Joulani, Gyorgy and Szepesvari 2016"
    guarantee: ClassVar[str] = "G D sqrt(T + 2 d_tot)"

    domain: Domain
    lipschitz: float
    rounds: int | None = None
    total_delay: int | None = None
    feedback: Literal["gradient", "function"] = "gradient"

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_numbers(self, "lipschitz")
        if self.feedback not in ("gradient", "function"):
            raise SpecError(
                f"{self.kind}: feedback is 'gradient' or 'function', got {self.feedback!r}"
            )

    @property
    def step(self) -> float:
        """eta = D / (G sqrt(T + 2 d_tot))."""
        self._demand_facts()
        return tuned_step(self.domain.diameter, self.lipschitz, self.rounds, self.total_delay)

    def program(self) -> Program:
        """Return what the kernels run."""
        return self.compiled(_METHOD, numbers={F.GAIN: self.step})

    def bound(self, timeline: Timeline) -> Bound | None:
        """G D sqrt(T + 2 d_tot)."""
        scale = self.lipschitz * self.domain.diameter
        total = scale * math.sqrt(timeline.rounds + 2 * timeline.total_delay)
        return self._split(timeline, total, scale * math.sqrt(timeline.rounds))
