"""Rows of reports about the numbers of tickets and their delays."""

from __future__ import annotations

from typing import Any

from belated.tables import Row


def count_rows(report: Any) -> list[Row]:
    """Return the rows of rounds, and of tickets by what became of them."""
    told = (
        f"open {report.open:,}, given up {report.skipped:,} (late {report.late:,}), "
        f"cancelled {report.cancelled:,}"
    )
    return [("rounds", f"{report.rounds:,}", ""), ("observed", f"{report.observed:,}", told)]


def delay_rows(report: Any, answer: str) -> list[Row]:
    """Return the rows of delays and of the backlog; ``answer`` is a word for it with its article.

    >>> from types import SimpleNamespace as Counts
    >>> counts = Counts(total_delay=9, max_answered_delay=4, max_unanswered_age=2, max_backlog=3)
    >>> delay_rows(counts, "a label")[0]
    ('total delay', '9', 'largest 4 with a label, 2 without')
    """
    largest = f"largest {report.max_answered_delay:,} with {answer}, "
    return [
        (
            "total delay",
            f"{report.total_delay:,}",
            f"{largest}{report.max_unanswered_age:,} without",
        ),
        ("backlog", f"{report.max_backlog:,}", "at most"),
    ]
