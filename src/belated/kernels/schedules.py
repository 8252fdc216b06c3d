"""Exploration radii delta_t and step sizes eta_n."""

from __future__ import annotations

import math

from belated.kernels import layout as at
from belated.kernels.exact import cube_root, ln
from belated.kernels.jit import leaf, switch
from belated.kernels.state import State
from belated.kernels.typing import Code


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
def _delay_adaptive(code: Code, s: State, open_lags: int, norm: float) -> float:
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
def _tight(code: Code, s: State, open_lags: int, norm: float) -> float:
    return s.f[at.GAIN] / math.sqrt(0.5 * (s.n[at.ARRIVED] + 2 * s.n[at.SUM_DUAL]))


@leaf
def _gradient_adaptive(code: Code, s: State, open_lags: int, norm: float) -> float:
    bound = s.f[at.LIPSCHITZ] if s.f[at.LIPSCHITZ] > 0.0 else max(s.f[at.LARGEST], norm)
    s.f[at.SPREAD] += 0.5 * norm * norm + bound * open_lags * norm
    return s.f[at.GAIN] / math.sqrt(s.f[at.SPREAD]) if s.f[at.SPREAD] > 0.0 else 0.0


@leaf
def _curved(code: Code, s: State, open_lags: int, norm: float) -> float:
    return 1.0 / (s.f[at.CURVATURE] * s.n[at.ARRIVED])


@leaf
def _constant(code: Code, s: State, open_lags: int, norm: float) -> float:
    return s.f[at.GAIN]


@leaf
def _table(code: Code, s: State, open_lags: int, norm: float) -> float:
    return s.own[min(s.n[at.ARRIVED], s.own.size) - 1]


@leaf
def _none(code: Code, s: State, open_lags: int, norm: float) -> float:
    return 0.0


# eta_n for the arrival just counted; 0 means: do not move (see ``belated.rates`` for the formulas).
step_size = switch(
    at.RATE,
    {
        at.DELAY_ADAPTIVE: _delay_adaptive,
        at.TIGHT: _tight,
        at.GRADIENT_ADAPTIVE: _gradient_adaptive,
        at.CURVED: _curved,
        at.CONSTANT_RATE: _constant,
        at.TABLE: _table,
        at.NO_RATE: _none,
    },
)
