"""SOLID: one learner, fed with whatever arrives as soon as it arrives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from belated.rivals.descent import Tuned

GradientOrFunction = Literal["gradient", "function"]


@dataclass(frozen=True, repr=False)
class SOLID(Tuned, module="rivals"):
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

    reference = "Joulani, Gyorgy and Szepesvari 2016"
    guarantee = "G D sqrt(T + 2 d_tot)"

    feedback: GradientOrFunction = "gradient"

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        self._check_choice("feedback", "gradient", "function")
