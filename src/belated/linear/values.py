"""Losses of many predictions at once, as ``predict`` gave them: behind the link."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from belated.arrays import Floats
from belated.linear.settings import Settings

_TINY = np.finfo(np.float64).tiny


def _squared(settings: Settings, v: Floats, y: Floats) -> Floats:
    return 0.5 * (v - y) * (v - y)


def _absolute(settings: Settings, v: Floats, y: Floats) -> Floats:
    return np.abs(v - y)


def _quantile(settings: Settings, v: Floats, y: Floats) -> Floats:
    away = v - y
    return np.maximum((1.0 - settings.quantile) * away, -settings.quantile * away)


def _huber(settings: Settings, v: Floats, y: Floats) -> Floats:
    size, delta = np.abs(v - y), settings.delta
    return np.where(size <= delta, 0.5 * size * size, delta * (size - 0.5 * delta))


def _logistic(settings: Settings, v: Floats, y: Floats) -> Floats:
    return -np.log(np.maximum(np.where(y == 1.0, v, 1.0 - v), _TINY))


def _hinge(settings: Settings, v: Floats, y: Floats) -> Floats:
    return np.maximum(0.0, 1.0 - y * v)


def _poisson(settings: Settings, v: Floats, y: Floats) -> Floats:
    return v - y * np.log(np.maximum(v, _TINY))


VALUES: dict[str, Callable[[Settings, Floats, Floats], Floats]] = {
    "squared": _squared,
    "absolute": _absolute,
    "quantile": _quantile,
    "huber": _huber,
    "logistic": _logistic,
    "hinge": _hinge,
    "poisson": _poisson,
}
"""By name of the loss."""
