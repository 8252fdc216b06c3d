"""Slots of ``code`` that the table of tickets looks at."""

from __future__ import annotations

LAGS = 0  # whether anybody looks at lags
NOTHING = (0,)
