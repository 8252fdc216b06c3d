"""Exploration radii delta_t and step sizes eta_n; see ``belated.rates`` for the formulas."""

from __future__ import annotations

import math

from belated.kernels import layout as at
from belated.kernels.exact import cube_root, ln
from belated.kernels.jit import leaf, switch
from belated.kernels.state import State
from belated.kernels.typing import Code, Floats


@leaf
def radius(code: Code, s: State, round_: int) -> float:
    """Return delta_t for round t = 1, 2, ... (see ``belated.smoothing`` for the formulas)."""
    t = float(s.n[at.HORIZON] if s.n[at.HORIZON] > 0 else round_)
    return s.f[at.INNER] * min(1.0, _share(code, s.f[at.BREADTH], t))


@leaf
def _quarter_root(code: Code, breadth: float, t: float) -> float:
    return breadth / math.sqrt(math.sqrt(t))  # breadth = sqrt(nu k)


@leaf
def _cube_root(code: Code, breadth: float, t: float) -> float:
    return cube_root(breadth * (1.0 + ln(t)) / t)  # breadth = (nu k)^2; ln(e t) = 1 + ln t


@leaf
def _inverse_root(code: Code, breadth: float, t: float) -> float:
    return 1.0 / math.sqrt(t)


@leaf
def _inverse(code: Code, breadth: float, t: float) -> float:
    return 1.0 / t


@leaf
def _fixed(code: Code, breadth: float, t: float) -> float:
    return breadth  # delta / r


@leaf
def _unsmoothed(code: Code, breadth: float, t: float) -> float:
    return 0.0


_share = switch(
    at.SMOOTHING,
    {
        at.NO_SMOOTHING: _unsmoothed,
        at.QUARTER_ROOT: _quarter_root,
        at.CUBE_ROOT: _cube_root,
        at.INVERSE_ROOT: _inverse_root,
        at.INVERSE: _inverse,
        at.FIXED: _fixed,
    },
)


@leaf
def delay_adaptive(code: Code, s: State, open_lags: int, norm: float) -> float:
    """The paper's rate."""
    return s.f[at.GAIN] / math.sqrt(_clutter(code, s))


@leaf
def _clutter_of_gradients(code: Code, s: State) -> float:
    return float(s.n[at.ARRIVED] + s.n[at.SUM_DUAL])


@leaf
def _clutter_of_values(code: Code, s: State) -> float:
    noise = s.f[at.NOISE] / radius(code, s, s.n[at.ROUNDS])
    s.f[at.SPREAD] += noise * noise
    return float(s.n[at.ARRIVED] + s.n[at.SUM_DUAL]) + s.f[at.SPREAD]


@leaf
def _clutter_of_pairs(code: Code, s: State) -> float:
    return float(s.n[at.ARRIVED] * s.n[at.DIM] + s.n[at.SUM_DUAL])


# What stands under the root of the paper's rate; counts stay exact integers until then.
_clutter = switch(
    at.REDUCTION,
    {
        at.FIRST_ORDER: _clutter_of_gradients,
        at.ONE_POINT: _clutter_of_values,
        at.TWO_POINT: _clutter_of_pairs,
    },
)


@leaf
def tight(code: Code, s: State, open_lags: int, norm: float) -> float:
    """The rate with the better constant."""
    return s.f[at.GAIN] / math.sqrt(0.5 * (s.n[at.ARRIVED] + 2 * s.n[at.SUM_DUAL]))


@leaf
def gradient_adaptive(code: Code, s: State, open_lags: int, norm: float) -> float:
    """The rate that follows the gradients; 0 before the first one."""
    bound = s.f[at.LIPSCHITZ] if s.f[at.LIPSCHITZ] > 0.0 else max(s.f[at.LARGEST], norm)
    s.f[at.SPREAD] += 0.5 * norm * norm + bound * open_lags * norm
    return s.f[at.GAIN] / math.sqrt(s.f[at.SPREAD]) if s.f[at.SPREAD] > 0.0 else 0.0


@leaf
def curved(code: Code, s: State, open_lags: int, norm: float) -> float:
    """1 / (curvature n)."""
    return 1.0 / (s.f[at.CURVATURE] * s.n[at.ARRIVED])


@leaf
def constant(code: Code, s: State, open_lags: int, norm: float) -> float:
    """The same step for ever."""
    return s.f[at.GAIN]


@leaf
def root(code: Code, s: State, open_lags: int, norm: float) -> float:
    """gain / sqrt(n): blind to delays."""
    return s.f[at.GAIN] / math.sqrt(float(s.n[at.ARRIVED]))


@leaf
def table(code: Code, s: State, open_lags: int, norm: float) -> float:
    """The n-th of the steps given, then the last one."""
    return s.own[min(s.n[at.ARRIVED], s.own.size) - 1]


@leaf
def no_step(code: Code, s: State, open_lags: int, norm: float) -> float:
    """A user's base chooses its own."""
    return 0.0


@leaf
def sum_up(f: Floats, eta: float, open_lags: int, norm: float) -> None:
    """Keep the newest step and the sums of Theorem 4.1, for certificates."""
    if norm > f[at.LARGEST]:
        f[at.LARGEST] = norm
    f[at.ETA] = eta
    reach = eta * norm
    f[at.LEARNED] += 0.5 * reach * norm
    f[at.DRIFTED] += reach * open_lags
