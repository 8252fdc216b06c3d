"""Step sizes eta_n; see ``belated.rates`` for the formulas."""

from __future__ import annotations

import math

from belated.arrays import Code, Floats
from belated.kernels.choices import switch
from belated.kernels.jit import leaf
from belated.kernels.learners.radii import radius
from belated.kernels.learners.state import State
from belated.kernels.learners.tracking import CROSSED, SQUARES, WEIGHT
from belated.kernels.parts import Part, Parts
from belated.kernels.slots import code as C
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import kinds as K


@leaf
def _counted(code: Code, s: State) -> int:
    return s.n[N.ARRIVED]


@leaf
def _counted_fed(code: Code, s: State) -> int:
    return s.n[N.ARRIVED] - s.n[N.SKIPPED]


@leaf
def _counted_weights(code: Code, s: State) -> float:
    return s.f[SQUARES]


@leaf
def _summed(code: Code, s: State) -> int:
    return s.n[N.SUM_DUAL]


@leaf
def _summed_weights(code: Code, s: State) -> float:
    return s.f[CROSSED]


# n and the sum of s*_n; with weights, which are 1 until something is lost, the sums of w^2 and
# of w times the weights that wait.
_arrivals = switch(
    C.WEIGHED,
    {K.UNWEIGHED: _counted, K.THINNED: _counted_weights, K.COINS: _counted_weights},
)
_waits = switch(
    C.WEIGHED, {K.UNWEIGHED: _summed, K.THINNED: _summed_weights, K.COINS: _summed_weights}
)
# Steps so far, this one included.
_steps = switch(C.WEIGHED, {K.UNWEIGHED: _counted, K.THINNED: _counted_fed, K.COINS: _counted_fed})


@leaf
def delay_adaptive(code: Code, s: State, open_lags: float, norm: float) -> float:
    """The paper's rate."""
    return s.f[F.GAIN] / math.sqrt(_clutter(code, s))


@leaf
def _clutter_of_gradients(code: Code, s: State) -> float:
    return float(_arrivals(code, s) + _waits(code, s))


@leaf
def _clutter_of_values(code: Code, s: State) -> float:
    noise = s.f[F.NOISE] / radius(code, s, s.n[N.ROUNDS])
    if code[C.WEIGHED]:
        noise *= s.f[WEIGHT]
    s.f[F.SPREAD] += noise * noise
    return float(_arrivals(code, s) + _waits(code, s)) + s.f[F.SPREAD]


@leaf
def _clutter_of_pairs(code: Code, s: State) -> float:
    return float(_arrivals(code, s) * s.n[N.DIM] + _waits(code, s))


# What stands under the root of the paper's rate; counts stay exact integers until then.
_clutter = switch(
    C.REDUCTION,
    {
        K.FIRST_ORDER: _clutter_of_gradients,
        K.ONE_POINT: _clutter_of_values,
        K.TWO_POINT: _clutter_of_pairs,
    },
)


@leaf
def tight(code: Code, s: State, open_lags: float, norm: float) -> float:
    """The rate with the better constant."""
    return s.f[F.GAIN] / math.sqrt(0.5 * (_arrivals(code, s) + 2 * _waits(code, s)))


@leaf
def gradient_adaptive(code: Code, s: State, open_lags: float, norm: float) -> float:
    """The rate that follows the gradients; 0 before the first one."""
    bound = s.f[F.LIPSCHITZ] if s.f[F.LIPSCHITZ] > 0.0 else max(s.f[F.LARGEST], norm)
    s.f[F.SPREAD] += 0.5 * norm * norm + bound * open_lags * norm
    return s.f[F.GAIN] / math.sqrt(s.f[F.SPREAD]) if s.f[F.SPREAD] > 0.0 else 0.0


@leaf
def curved(code: Code, s: State, open_lags: float, norm: float) -> float:
    """1 / (curvature n)."""
    return 1.0 / (s.f[F.CURVATURE] * s.n[N.ARRIVED])


@leaf
def constant(code: Code, s: State, open_lags: float, norm: float) -> float:
    """The same step for ever."""
    return s.f[F.GAIN]


@leaf
def root(code: Code, s: State, open_lags: float, norm: float) -> float:
    """gain / sqrt(n): blind to delays."""
    return s.f[F.GAIN] / math.sqrt(float(_arrivals(code, s)))


@leaf
def table(code: Code, s: State, open_lags: float, norm: float) -> float:
    """The n-th of the steps given, then the last one."""
    return s.own[min(_steps(code, s), s.own.size) - 1]


@leaf
def no_step(code: Code, s: State, open_lags: float, norm: float) -> float:
    """A user's base chooses its own."""
    return 0.0


@leaf
def sum_up(f: Floats, eta: float, open_lags: float, norm: float) -> None:
    """Keep the newest step and the sums of Theorem 4.1, for certificates."""
    if norm > f[F.LARGEST]:
        f[F.LARGEST] = norm
    f[F.ETA] = eta
    reach = eta * norm
    f[F.LEARNED] += 0.5 * reach * norm
    f[F.DRIFTED] += reach * open_lags


# ``size``: eta_n for the arrival just counted, 0 meaning: do not move. ``member_size``: the same
# for a member of a portfolio, which has no region of its own.
RATES = Parts(
    "rate",
    Part("rates.DelayAdaptive", 0, size=delay_adaptive, member_size=delay_adaptive),
    Part("rates.Tight", 1, size=tight, member_size=tight),
    Part("rates.GradientAdaptive", 2, size=gradient_adaptive, member_size=gradient_adaptive),
    Part("rates.StronglyConvex", 3, size=curved, member_size=curved),
    Part("rates.Constant", 4, size=constant, member_size=constant),
    Part("rates.Table", 5, size=table),
    Part("none", 6, size=no_step),
    Part("rates.InverseRoot", 7, size=root, member_size=root),
    Part("rates.Mixed", 8),  # of a portfolio, which has the leaf
)
