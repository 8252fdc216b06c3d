"""Delayed mirror descent with hints (Flaspohler et al.)."""

from __future__ import annotations

from dataclasses import dataclass

from belated.arrays import Code, Floats
from belated.bounds import Bound
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import method
from belated.kernels.learners.sets import norm_of
from belated.kernels.learners.state import State
from belated.kernels.learners.steps import step
from belated.kernels.learners.uses import of_step
from belated.kernels.slots import floats as F
from belated.kernels.slots import status as S
from belated.learner.program import Program
from belated.rivals.experts import WEIGHT, Regularised, hint_weight
from belated.timeline import Timeline


@leaf
def _learn(code: Code, s: State, entry: int, ticket: int, cost: Floats) -> None:
    """One step with c + h_new - h_old."""
    last = s.own
    new, old = hint_weight(s, 0), s.f[WEIGHT]
    for i in range(s.z.size):
        c = cost[i]  # which may be s.work itself
        s.work[i] = c + new * c - old * last[i]
        last[i] = c
    s.f[WEIGHT] = new
    step(of_step(code), s, s.work, s.f[F.ETA], norm_of(s.work))


@leaf
def _change_hint(code: Code, s: State, new: float) -> None:
    """One step with h_new - h_old alone, if they differ."""
    old = s.f[WEIGHT]
    s.f[WEIGHT] = new
    if new != old:
        for i in range(s.z.size):
            s.work[i] = new * s.own[i] - old * s.own[i]
        step(of_step(code), s, s.work, s.f[F.ETA], norm_of(s.work))


@leaf
def _expect_more(code: Code, s: State) -> None:
    """Bring the hint up to date when one more ticket is open than at the last play."""
    _change_hint(code, s, hint_weight(s, 0))


@leaf
def _lose(code: Code, s: State, entry: int, ticket: int) -> int:
    """A zero gradient, and one open ticket less."""
    _change_hint(code, s, hint_weight(s, 1))
    return S.USED


_METHOD = method("DOOMD", prepare=_expect_more, learn=_learn, lose=_lose)


@dataclass(frozen=True, repr=False)
class DOOMD(Regularised, module="rivals"):
    """Delayed optimistic mirror descent: x <- argmin_K <g_s + h_new - h_old, x> + lambda B(x, x').

    x' is the point before. There is one such step for every gradient that arrives, and one with the
    hints alone in a round before which nothing arrived. lambda is ``strength``, and
    B(x, x') = |x - x'|^2 / 2, so that x <- Pi_K(x' - (g_s + h_new - h_old) / lambda); with
    ``mirror="entropy"`` on a ``Simplex`` it is the divergence. ``hint="recent"`` guesses all
    missing gradients and the coming one by the last one received, h = (open + 1) g_last;
    ``"none"`` is h = 0. ``lipschitz`` G, where it is given, is used by the bound, and larger
    gradients are counted.

    Guarantee, without hints: regret <= lambda max B(u, x_1) + G^2 (T / 2 + d_tot) / lambda, as for
    any mirror descent that takes gradients as they arrive.
    Reference: Flaspohler et al., "Online learning with optimism and delay", ICML 2021.
    Differs from the paper: any delays, not one fixed delay, under which the two agree.

    >>> from belated import Simplex
    >>> DOOMD(Simplex(3), strength=2.0, mirror="entropy", hint="recent").hint
    'recent'
    """

    guarantee = "strength max B + G^2 (T/2 + d_tot) / strength, without hints"

    def program(self) -> Program:
        """Return what the kernels run; the own region is the last gradient."""
        return self._hinted(_METHOD, 1)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """lambda max B + G^2 (T / 2 + d_tot) / lambda; None with hints."""
        return self._regularised(timeline, 0.5, 1.0) if self.hint == "none" else None
