"""FTDRL: follow the regularised leader on whole losses, here quadratic ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from belated.arrays import Code, Floats
from belated.errors import SpecError
from belated.kernels.jit import leaf
from belated.kernels.learners import methods
from belated.kernels.learners.state import State
from belated.kernels.slots import floats as F
from belated.kernels.slots import kinds as K
from belated.kernels.slots import status as S
from belated.kernels.tickets import locate
from belated.learner.program import Program, place
from belated.rivals.descent import Tuned
from belated.rivals.shared import add, into_set, start


@leaf
def _lead(code: Code, s: State) -> None:
    """x = Pi((x_1 / eta - B) / (1 / eta + C)), multiplied out by eta; own is B, then C."""
    k = s.z.size
    eta = s.f[F.GAIN] / (1.0 + s.f[F.GAIN] * s.own[k])
    for i in range(k):
        s.z[i] = eta * (start(code, s) / s.f[F.GAIN] - s.own[i])
    into_set(code, s, s.z)
    s.f[F.ETA] = eta


@leaf
def _observe_convex(code: Code, s: State, ticket: int, answer: Floats) -> int:
    """Refuse a loss with negative curvature, else go on as usual."""
    known = locate(s, ticket)
    if known < 0:
        return known
    if answer.size == s.own.size and answer[s.z.size] < 0.0:
        return S.BAD
    return methods.observe(code, s, ticket, answer)


_METHOD = methods.enter(
    methods.method("FTDRL", prepare=_lead, learn=add),
    methods.predict,
    _observe_convex,
    methods.cancel,
)


@dataclass(frozen=True, repr=False)
class FTDRL(Tuned, module="rivals"):
    """Follow the delayed regularised leader: x_{t+1} = argmin_K sum_{received s} f_s + psi.

    Here f_s(x) = <b_s, x> + (c_s / 2) |x|^2 with c_s >= 0, and an answer is (b_s, c_s), dim + 1
    numbers; psi(x) = |x - x_1|^2 / (2 eta), eta = R / (G sqrt(T + 2 d_tot)). So

    x_{t+1} = Pi_K((x_1 / eta - B) / (1 / eta + C)), B and C the sums of b_s and c_s.

    Runs on sets whose chart changes nothing: a centred Ball, a Simplex, an L1Ball.

    Guarantee: regret <= R^2 / (2 eta) + eta G^2 (T / 2 + d_tot) = G R sqrt(T + 2 d_tot), since the
    leader that knows all losses is at most eta G sigma_t away.
    Reference: Wu, Huang and Liu, "Online sequential decision-making with unknown delays", WWW 2024.
    Differs from the paper: the minimum is exact, so there is no solution error to sum up.

    >>> from belated import Ball
    >>> FTDRL(Ball(3), lipschitz=1.0, rounds=100, total_delay=22).step
    0.08333333333333333
    """

    reference = "Wu, Huang and Liu 2024"
    answers = "coefficients"
    guarantee = "G R sqrt(T + 2 d_tot)"
    order = "any order; a lost answer counts as the zero loss"

    def __post_init__(self) -> None:
        """Check the numbers, and that the coefficients need no translation."""
        super().__post_init__()
        if place(self.domain)[1] != K.PLAIN:
            raise SpecError(
                f"{self.kind}: runs on a centred Ball, a Simplex or an L1Ball, got {self.domain!r}"
            )

    @property
    def _width(self) -> float:
        return self._outer

    def program(self) -> Program:
        """Return what the kernels run; the method's own region is B, then C."""
        own = np.zeros(self.domain.dim + 1)
        return self.compiled(_METHOD, own=own, numbers={F.GAIN: self.step})
