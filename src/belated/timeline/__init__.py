"""The calculus of intervals: delays, backlogs and their duals, clocks, and the picture."""

from __future__ import annotations

from belated.timeline.timeline import Timeline

__all__ = ["Timeline"]
