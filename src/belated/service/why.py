"""One sentence for somebody who wonders why a model does not change."""

from __future__ import annotations

import math
from typing import Any

from belated.service.watch import AGES, Watch

_QUIET = 3.0  # times the age that most answers have
_LEAST = 60.0  # seconds without an answer that nobody wonders about


def why(watch: Watch, report: dict[str, Any], now: float, late: int) -> str | None:
    """Return why nothing has changed, or None where something has just now.

    ``late`` answers were dropped. Nothing is said of pauses where events come with times of the
    past, as those are not the pauses of whoever answers.
    """
    rounds, still_open = report["rounds"], report["open"]
    heard = report.get("answered", report.get("observed", 0)) or 0
    if rounds == 0:
        return "Nothing was asked of it yet."
    if heard == 0 and late:
        return (
            f"All {late:,} answers came after their tickets were closed, and were dropped: "
            "a longer deadline, or late=learn, would let it learn from them."
        )
    if heard == 0:
        return (
            f"No answer has come yet: {still_open:,} of {rounds:,} tickets are open, and it learns "
            "from the first answer on."
        )
    if math.isnan(watch.last_answered):
        return "No answer has come since this server was started."
    quiet = now - watch.last_answered
    if watch.is_live and quiet > max(_QUIET * usual(watch), _LEAST):
        most = usual(watch)
        return (
            f"No answer has come for {spoken(quiet)}, though nine of ten take at most "
            f"{spoken(most)}: does what brings them still run?"
        )
    if report.get("mode") == "apprentice":
        return (
            "It is an apprentice: it learns from what the baseline does, and its own choices are "
            "not played until its mode is learn."
        )
    return None


def usual(watch: Watch) -> float:
    """Return an age that nine of ten answers do not exceed."""
    total, so_far = sum(watch.ages), 0
    for limit, count in zip(AGES, watch.ages, strict=False):
        so_far += count
        if so_far >= 0.9 * total:
            return limit
    return AGES[-1]


def spoken(seconds: float) -> str:
    """Return a duration in words.

    >>> spoken(90.0), spoken(7200.0), spoken(200000.0)
    ('2 minutes', '2 hours', '2 days')
    """
    for size, name in ((86400.0, "day"), (3600.0, "hour"), (60.0, "minute"), (1.0, "second")):
        if seconds >= size or size == 1.0:
            count = max(round(seconds / size), 1)
            return f"{count} {name}{'s' * (count != 1)}"
    raise AssertionError
