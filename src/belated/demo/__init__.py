"""``belated demo``: a shop learns from answers that come days later, out of order, or never.

``shop`` is the world, ``race`` plays five learners in it, ``story`` tells what happened and
``figure`` draws it. Every number in the story is computed, also who wins.
"""

from __future__ import annotations

from belated.demo.story import tell

__all__ = ["tell"]
