"""``belated demo``: flights whose arrival is known hours after the prediction, or never.

``story`` tells what the log is, what its lateness costs and how models would have done on it;
``live_rounds`` predicts a few flights by hand. Every number in the story is computed, and so
is the name of the best model.
"""

from __future__ import annotations

from belated.demo.story import tell

__all__ = ["tell"]
