"""One sentence that says why a model does not change, for the dashboard."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from belated.service.watch import AGES, Watch

_PATIENCE = 3.0  # times the age that nine of ten answers do not exceed
_SHORTEST = 60.0  # seconds; a shorter pause is never reported


def explain_stall(
    watch: Watch,
    report: dict[str, Any],
    waiting: Iterable[float],
    now: float,
    late: int,
) -> str | None:
    """Return why nothing has changed lately, or None if there is nothing to explain.

    ``waiting`` has the times at which newest tickets were asked for that still wait, and ``late``
    counts answers that were dropped. A pause is reported only while a ticket waits, and only if
    events have the present as their time: a pause in past times says nothing about today's sender.
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
    longest = usual_age(watch)
    first = min(waiting, default=now)
    quiet = now - max(first, watch.last_answered)  # for how long that one waits without an answer
    if watch.is_live and quiet > max(_PATIENCE * longest, _SHORTEST):
        return (
            f"No answer has come for {format_duration(quiet)}, though nine of ten take at most "
            f"{format_duration(longest)}: check that the job that sends labels is running"
        )
    if report.get("mode") == "apprentice":
        return (
            "It is an apprentice: it learns from what the baseline does, and its own choices are "
            "not played until its mode is learn."
        )
    return None


def usual_age(watch: Watch) -> float:
    """Return an age that nine of ten answers do not exceed."""
    total, so_far = sum(watch.ages), 0
    for limit, count in zip(AGES, watch.ages, strict=False):
        so_far += count
        if so_far >= 0.9 * total:
            return limit
    return AGES[-1]


def format_duration(seconds: float) -> str:
    """Return a duration in words.

    >>> format_duration(90.0), format_duration(7200.0), format_duration(200000.0)
    ('2 minutes', '2 hours', '2 days')
    """
    for size, name in ((86400.0, "day"), (3600.0, "hour"), (60.0, "minute"), (1.0, "second")):
        if seconds >= size or size == 1.0:
            count = max(round(seconds / size), 1)
            return f"{count} {name}{'s' * (count != 1)}"
    raise AssertionError
