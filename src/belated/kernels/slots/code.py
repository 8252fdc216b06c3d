"""Slots of ``code``; ``kinds`` has the values."""

from __future__ import annotations

REDUCTION, BASE, DOMAIN, CHART, RATE, SMOOTHING, BASELINE, SKIP, METHOD = range(9)
